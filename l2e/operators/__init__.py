"""Learned proposals: operators that make a population from a population, and the schedules of their weights."""

from l2e.operators.attention_mlp import AttentionMLP as AttentionMLP
from l2e.operators.certified import Certified as Certified
from l2e.operators.coordinate_free import CoordinateFree as CoordinateFree
from l2e.operators.mamba import StructuredMamba as StructuredMamba
from l2e.operators.schedules import Shared as Shared
from l2e.operators.schedules import Staged as Staged
from l2e.operators.schedules import Unshared as Unshared
