"""Searches that begin with what past searches of the same family of problems found."""
