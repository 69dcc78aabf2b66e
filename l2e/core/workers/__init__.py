"""Evaluations in several processes at once: one small contract, and what fulfils it."""
