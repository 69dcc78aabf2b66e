"""Problem families: the functions on which optimizers are trained, tested and compared."""

from l2e.problems.bbob_paper import PAPER_TEST as PAPER_TEST
from l2e.problems.bbob_paper import PAPER_TRAIN as PAPER_TRAIN
from l2e.problems.bbob_paper import paper_bbob as paper_bbob
from l2e.problems.bbob_random import random_bbob as random_bbob
from l2e.problems.bbob_random import sample_bbob as sample_bbob
from l2e.problems.bbob_suite import BBOB as BBOB
from l2e.problems.bbob_suite import bbob as bbob
