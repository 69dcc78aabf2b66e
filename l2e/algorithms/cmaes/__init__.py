"""CMA-ES with IPOP and BIPOP restarts."""

from l2e.algorithms.cmaes.method import CMAES as CMAES
