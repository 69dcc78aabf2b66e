"""Network parts that know nothing of optimisation: spectral bounds, attention, selective block, path weights."""

from l2e.algorithms.nn.attention import SelfAttention as SelfAttention
from l2e.algorithms.nn.paths import PathWeights as PathWeights
from l2e.algorithms.nn.selective import ParallelSelective as ParallelSelective
from l2e.algorithms.nn.selective import StateOutput as StateOutput
from l2e.algorithms.nn.spectral import WEIGHTS as WEIGHTS
from l2e.algorithms.nn.spectral import Spectral as Spectral
from l2e.algorithms.nn.spectral import SpectralLinear as SpectralLinear
from l2e.algorithms.nn.spectral import as_dtype as as_dtype
from l2e.algorithms.nn.spectral import normalised as normalised
from l2e.algorithms.nn.spectral import spectral_bound as spectral_bound
