"""The public door: minimize, Optimizer, and the only place where names become things."""
