"""What a training will cost: one step is compiled and timed, the rest is arithmetic."""

import dataclasses
import time
from typing import Any, NamedTuple

import jax

from l2e.core.traced.keys import is_key
from l2e.meta.loss import MetaLoss
from l2e.meta.train import Trainer, TrainSpec, TrainState, train_step


@dataclasses.dataclass(frozen=True)
class Quote:
    """Measured and extrapolated costs.

    **Fields:** `compile_seconds`; `step_seconds`, `step_cpu_seconds`: of one meta-step, the mean of those that take
    turns; `validation_seconds`: of one validation; `total_hours`: of the whole training; `temporary_bytes`: memory a
    step needs besides its arguments and results; `state_bytes`: of weights, optimizer state and carry; `weights`: how
    many numbers are trained.
    """

    compile_seconds: float
    step_seconds: float
    step_cpu_seconds: float
    validation_seconds: float
    total_hours: float
    temporary_bytes: int
    state_bytes: int
    weights: int

    @property
    def text(self) -> str:
        """The quote in a few lines."""
        return "\n".join(
            [
                f"weights      {self.weights:,}",
                f"compilation  {self.compile_seconds:.0f} s",
                f"one step     {self.step_seconds:.2f} s ({self.step_cpu_seconds:.2f} CPU-seconds)",
                f"validation   {self.validation_seconds:.2f} s",
                f"whole run    {self.total_hours:.2f} hours",
                f"memory       {self.temporary_bytes / 1e6:.0f} MB temporary, {self.state_bytes / 1e6:.0f} MB state",
            ]
        )


def quote(spec: TrainSpec) -> Quote:
    """Compile a step of each of the tasks that take turns, run it twice, and a validation once; nothing is kept."""
    trainer = Trainer(spec)
    state = trainer.begin(jax.random.key(0))
    with trainer.precision():
        steps = [_one_step(trainer, loss, state) for loss in trainer.losses]
    compile_seconds = sum(one.compiling for one in steps)
    step, step_cpu = (sum(one[place] for one in steps) / len(steps) for place in (1, 2))
    began = time.perf_counter()
    trainer.validate(state.weights)
    compile_seconds += time.perf_counter() - began
    began = time.perf_counter()
    trainer.validate(state.weights)
    validation = time.perf_counter() - began
    validations = -(-spec.steps // spec.validate_every)
    arrays = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
    return Quote(
        compile_seconds=compile_seconds,
        step_seconds=step,
        step_cpu_seconds=step_cpu,
        validation_seconds=validation,
        total_hours=(compile_seconds + spec.steps * step + validations * validation) / 3600,
        temporary_bytes=max(one.temporary for one in steps),
        state_bytes=sum(jax.random.key_data(a).nbytes if _is_key(a) else a.nbytes for a in arrays),
        weights=sum(leaf.size for leaf in jax.tree.leaves(state.weights)),
    )


class _Step(NamedTuple):
    """What one step took: seconds of its compilation, seconds, CPU-seconds, bytes."""

    compiling: float
    seconds: float
    cpu_seconds: float
    temporary: int


def _one_step(trainer: Trainer, loss: MetaLoss, state: TrainState) -> _Step:
    arguments: Any = (loss, trainer.spec.estimator, trainer.rule, state, trainer.work(state))
    began = time.perf_counter()
    step_function: Any = train_step
    compiled = step_function.lower(*arguments).compile()
    compiling = time.perf_counter() - began
    jax.block_until_ready(compiled(*arguments)[2])
    began, cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(compiled(*arguments)[2])
    step, step_cpu = time.perf_counter() - began, time.process_time() - cpu
    return _Step(compiling, step, step_cpu, int(compiled.compiled.memory_analysis().temp_size_in_bytes))


def _is_key(leaf: Any) -> bool:
    return is_key(leaf)
