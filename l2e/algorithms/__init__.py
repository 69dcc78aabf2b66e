"""Search algorithms in JAX: classical ones here, the paper's in `l2e.algorithms.l2e`, its peers in `.learned`."""

from l2e.algorithms.cmaes import CMAES as CMAES
from l2e.algorithms.cmaes.limited_memory import LMMAES as LMMAES
from l2e.algorithms.cmaes.separable import SepCMAES as SepCMAES
from l2e.algorithms.de import DE as DE
from l2e.algorithms.lshade import LSHADE as LSHADE
from l2e.algorithms.pso import PSO as PSO
from l2e.algorithms.random_search import RandomSearch as RandomSearch
from l2e.algorithms.sahlpso import SAHLPSO as SAHLPSO
