"""Learned optimizers of others, as peers of L2E."""

from l2e.algorithms.learned.b2opt import B2OPT as B2OPT
from l2e.algorithms.learned.dedqn import DEDQN as DEDQN
from l2e.algorithms.learned.gleet import GLEET as GLEET
from l2e.algorithms.learned.glhf import GLHF as GLHF
from l2e.algorithms.learned.rnnopt import RNNOPT as RNNOPT
