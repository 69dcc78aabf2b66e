"""Native optimizers, one file per algorithm."""
