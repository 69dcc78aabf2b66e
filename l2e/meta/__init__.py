"""Meta-training: tasks, objectives, guidance, gradient estimators and the training loop."""

from l2e.core.traced.problem import CallbackFunction as CallbackFunction
from l2e.meta.estimators.backprop import AbstractGradientEstimator as AbstractGradientEstimator
from l2e.meta.estimators.backprop import FullBPTT as FullBPTT
from l2e.meta.estimators.backprop import TruncatedBPTT as TruncatedBPTT
from l2e.meta.estimators.evolution import AntitheticES as AntitheticES
from l2e.meta.estimators.evolution import PersistentES as PersistentES
from l2e.meta.guides import Guidance as Guidance
from l2e.meta.guides import ProxyGradientGuide as ProxyGradientGuide
from l2e.meta.objectives import AbstractObjective as AbstractObjective
from l2e.meta.objectives import AreaUnderCurve as AreaUnderCurve
from l2e.meta.objectives import Episode as Episode
from l2e.meta.objectives import LogGap as LogGap
from l2e.meta.objectives import NormalisedImprovement as NormalisedImprovement
from l2e.meta.rollout import rollout as rollout
from l2e.meta.tasks import AbstractTaskDistribution as AbstractTaskDistribution
from l2e.meta.tasks import FunctionTasks as FunctionTasks
from l2e.meta.tasks import PaperTrainTasks as PaperTrainTasks
from l2e.meta.tasks import RandomBBOBTasks as RandomBBOBTasks
from l2e.meta.tasks import Task as Task
from l2e.meta.train import TrainInfo as TrainInfo
from l2e.meta.train import TrainSpec as TrainSpec
from l2e.meta.train import TrainState as TrainState
from l2e.meta.train import train as train
