"""Training of the default method's gate."""
