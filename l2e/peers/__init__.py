"""Learned optimizers that the paper compares with, written from their descriptions and trained here."""
