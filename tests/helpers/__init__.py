"""Shared by tests."""
