"""L2E, the method of the paper: the composite solver, its operators, gates, guides and weight schedules."""

from l2e.algorithms.l2e.contracts import AbstractGuide as AbstractGuide
from l2e.algorithms.l2e.contracts import AbstractOperator as AbstractOperator
from l2e.algorithms.l2e.contracts import AbstractRememberingOperator as AbstractRememberingOperator
from l2e.algorithms.l2e.contracts import AbstractSchedule as AbstractSchedule
from l2e.algorithms.l2e.gates import AbstractGate as AbstractGate
from l2e.algorithms.l2e.gates import FixedGate as FixedGate
from l2e.algorithms.l2e.gates import HardGate as HardGate
from l2e.algorithms.l2e.gates import SoftGate as SoftGate
from l2e.algorithms.l2e.operators import AttentionMLP as AttentionMLP
from l2e.algorithms.l2e.operators import Certified as Certified
from l2e.algorithms.l2e.operators import CoordinateFree as CoordinateFree
from l2e.algorithms.l2e.operators import Covariance as Covariance
from l2e.algorithms.l2e.operators import StructuredMamba as StructuredMamba
from l2e.algorithms.l2e.schedules import Shared as Shared
from l2e.algorithms.l2e.schedules import Staged as Staged
from l2e.algorithms.l2e.schedules import Unshared as Unshared
from l2e.algorithms.l2e.solver import L2E as L2E
from l2e.algorithms.l2e.solver import IdentityGuide as IdentityGuide
