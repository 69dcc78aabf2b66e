"""What the default method does with integers and categories."""
