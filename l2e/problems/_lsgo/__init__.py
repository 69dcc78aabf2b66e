"""The CEC'2013 suite for large-scale global optimization in JAX, with official or generated data."""
