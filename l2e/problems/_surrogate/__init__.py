"""The paper's BBOB-surrogate-10D, and networks fitted to its functions."""
