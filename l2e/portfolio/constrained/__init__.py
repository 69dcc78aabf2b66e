"""What the default method does with constraints."""
