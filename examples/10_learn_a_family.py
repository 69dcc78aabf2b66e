"""You have solved this before: twelve solved trusses make the thirteenth faster, and every one after it more so."""

import tempfile
from pathlib import Path

import l2e
from l2e.problems.families import truss

BUDGET = 50  # evaluations, five per dimension


def main() -> None:
    family = l2e.Family.of(truss, seeds=range(12))
    print(family.quote(6000))
    model = l2e.learn(family, budget=6000, rng=0)
    print(model)

    new = truss(1000)
    plain = l2e.minimize(new, budget=BUDGET, rng=0)
    known = l2e.minimize(new, budget=BUDGET, rng=0, model=model)
    print(f"a new truss, {BUDGET} evaluations: {plain.fun:.3f} without the model, {known.fun:.3f} with it")
    print(f"what the model did: {known.model.strategy}, {known.model.seeds} seeds; {known.model.why}")

    used = model.add(new, known, name="truss-1000")
    print(f"the model has {model.members} members now; the new one cost {used} evaluations more")

    with tempfile.TemporaryDirectory() as folder:
        path = model.save(Path(folder) / "trusses")
        again = l2e.minimize(truss(1001), budget=BUDGET, rng=0, model=path)
        print(f"another truss with the model's file: {again.fun:.3f}")


if __name__ == "__main__":
    main()
