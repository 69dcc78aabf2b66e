"""The default method beyond 100 dimensions: parts whose cost and memory grow linearly with the dimension."""
