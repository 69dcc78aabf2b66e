"""Neuroevolution: the weights of a policy that makes a robot walk."""
