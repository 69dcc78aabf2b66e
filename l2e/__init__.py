"""Learned evolutionary optimization: minimise black-box functions, meta-train optimizers, compare them honestly."""

from l2e import problems as problems
from l2e._ask_tell import Optimizer as Optimizer
from l2e._minimize import minimize as minimize
from l2e._result import InterruptedSearch as InterruptedSearch
from l2e._space import Box as Box
from l2e._space import box as box
from l2e._version import __version__ as __version__
from l2e.evaluator import Evaluator as Evaluator
from l2e.evaluator import ObjectiveError as ObjectiveError
from l2e.evaluator import StopSearch as StopSearch
from l2e.models import load as load
from l2e.problem import AbstractProblem as AbstractProblem
from l2e.problem import AbstractTraceableProblem as AbstractTraceableProblem
from l2e.problem import HostFunction as HostFunction
from l2e.problem import JAXFunction as JAXFunction
from l2e.solve import unroll as unroll
