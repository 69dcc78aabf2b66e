"""COCO's BBOB functions in JAX: official instances, the paper's instances, random tasks."""
