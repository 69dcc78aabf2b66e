"""Gradient estimators of meta-training: back-propagation, evolution strategies, policy gradients."""
