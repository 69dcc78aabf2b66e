"""Learned proposals: operators that make a population from a population."""

from l2e.algorithms.l2e.operators.attention_mlp import AttentionMLP as AttentionMLP
from l2e.algorithms.l2e.operators.certified import Certified as Certified
from l2e.algorithms.l2e.operators.coordinate_free import CoordinateFree as CoordinateFree
from l2e.algorithms.l2e.operators.covariance import Covariance as Covariance
from l2e.algorithms.l2e.operators.mamba import StructuredMamba as StructuredMamba
