"""The half of the core that needs JAX: traceable problems, native algorithms, compiled loops."""

import jax

from l2e.core.box import Box

jax.tree_util.register_dataclass(Box, data_fields=["lower", "upper"], meta_fields=[])
