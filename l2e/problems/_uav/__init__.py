"""Path planning for a drone: terrains, what a path over them costs, and the problems made of both."""
