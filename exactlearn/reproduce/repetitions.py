"""Repetitions of experiments, each done once: what is done is kept in a file."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn.errors import FormatError
from exactlearn.evaluation.metrics import Mean, PairedTest, imputation_accuracy
from exactlearn.formats.atomic import atomic_write
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS
from exactlearn.reproduce.experiment import Experiment

Done = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Experiment, repetition (its seed) and method to accuracy, status and seconds."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How often experiments are repeated, and where what is done is kept.

    Parameters
    ----------
    repetitions
        Of each experiment, with the seeds ``seed``, ``seed + 1``, ...
    seed
        The first seed.
    data
        Folder of the public data, if there is one.
    record
        File of what is done; without it everything is done anew.
    learning
        How networks are learned.
    """

    repetitions: int
    seed: int = 0
    data: Path | None = None
    record: Path | None = None
    learning: Learning = field(default_factory=Learning)

    def count(self, experiment: Experiment) -> int:
        """Return how often an experiment is repeated."""
        return min(self.repetitions, experiment.largest or self.repetitions)

    def seeds(self, experiment: Experiment) -> range:
        """Return the seeds of its repetitions."""
        return range(self.seed, self.seed + self.count(experiment))

    def load(self) -> Done:
        """Return what is done.

        Raises
        ------
        FormatError
            When the file is not a record.
        """
        if self.record is None or not self.record.exists():
            return {}
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{self.record}: no record of repetitions ({error})") from error
        if not isinstance(found, dict):
            raise FormatError(f"{self.record}: no record of repetitions; name another folder")
        return found


def repeat(plan: Plan, experiments: Sequence[Experiment], tell: Callable[[str], None]) -> Done:
    """Do what is not yet done; after each method the record is written.

    Parameters
    ----------
    plan
        How often, with what data, and where to keep it.
    experiments
        What to repeat.
    tell
        Told what begins.
    """
    done = plan.load()
    for experiment in experiments:
        for seed in plan.seeds(experiment):
            own = done.setdefault(experiment.key, {}).setdefault(str(seed), {})
            missing = [method for method in experiment.methods if method not in own]
            if not missing:
                continue
            holed, truth = experiment.draw(plan.data, np.random.default_rng(seed))
            for method in missing:
                tell(f"{experiment.key}, repetition {seed - plan.seed + 1}: {method}")
                begun = time.monotonic()
                found = METHODS[method](holed, replace(plan.learning, seed=seed))
                if found.status == "interrupted":
                    raise KeyboardInterrupt
                assert found.values is not None
                own[method] = {
                    "accuracy": imputation_accuracy(holed, found.values.tolist(), truth),
                    "status": found.status,
                    "seconds": time.monotonic() - begun,
                }
                if plan.record is not None:
                    atomic_write(plan.record, json.dumps(done, indent=1) + "\n")
    return done


def summary(plan: Plan, experiments: Sequence[Experiment], done: Done) -> list[dict[str, Any]]:
    """Return one row per experiment and method: our mean accuracy beside the published one."""
    rows = []
    for experiment in experiments:
        runs = [done[experiment.key][str(seed)] for seed in plan.seeds(experiment)]
        reference = [run[experiment.methods[0]]["accuracy"] for run in runs]
        for method in experiment.methods:
            accuracy = [run[method]["accuracy"] for run in runs]
            mean, test = Mean.of(accuracy), PairedTest.of(reference, accuracy)
            published = experiment.published.get(method)
            rows.append(
                {
                    "table": experiment.table,
                    "experiment": experiment.name,
                    "method": method,
                    "repetitions": len(runs),
                    "accuracy": mean.value,
                    "accuracy_error": mean.error,
                    "published": None if published is None else published / 100,
                    "significant": test.significant if method != experiment.methods[0] else None,
                    "seconds": Mean.of(run[method]["seconds"] for run in runs).value,
                    "note": experiment.note,
                }
            )
    return rows
