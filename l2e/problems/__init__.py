"""Problem families: the functions on which optimizers are trained, tested and compared."""

from l2e.problems._bbob.paper import PAPER_TEST as PAPER_TEST
from l2e.problems._bbob.paper import PAPER_TRAIN as PAPER_TRAIN
from l2e.problems._bbob.paper import paper_bbob as paper_bbob
from l2e.problems._bbob.random import random_bbob as random_bbob
from l2e.problems._bbob.random import sample_bbob as sample_bbob
from l2e.problems._bbob.suite import BBOB as BBOB
from l2e.problems._bbob.suite import bbob as bbob
from l2e.problems._lsgo.suite import LSGO as LSGO
from l2e.problems._lsgo.suite import LSGO_PAPER_TEST as LSGO_PAPER_TEST
from l2e.problems._lsgo.suite import lsgo as lsgo
from l2e.problems._lsgo.suite import official_lsgo as official_lsgo
from l2e.problems._surrogate.paper import PAPER_SURROGATE_TEST as PAPER_SURROGATE_TEST
from l2e.problems._surrogate.paper import paper_surrogate as paper_surrogate
from l2e.problems._surrogate.suite import Surrogate as Surrogate
from l2e.problems._surrogate.suite import surrogate as surrogate
from l2e.problems._uav.suite import UAV as UAV
from l2e.problems._uav.suite import drawn_uav as drawn_uav
from l2e.problems._uav.suite import official_uav as official_uav
from l2e.problems._uav.suite import uav as uav
