"""Network parts that know nothing of optimisation: spectrally bounded maps, attention, selective block, router."""

from l2e.nn.attention import SelfAttention as SelfAttention
from l2e.nn.router import Router as Router
from l2e.nn.selective import ParallelSelective as ParallelSelective
from l2e.nn.spectral import WEIGHTS as WEIGHTS
from l2e.nn.spectral import SpectralLinear as SpectralLinear
from l2e.nn.spectral import as_dtype as as_dtype
from l2e.nn.spectral import spectral_bound as spectral_bound
