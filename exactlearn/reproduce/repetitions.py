"""Repetitions of experiments, each done once: what is done is kept in a file."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from exactlearn.evaluation.metrics import Comparison
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS
from exactlearn.reporting.report import strict
from exactlearn.reproduce.experiment import Experiment
from exactlearn.reproduce.record import Done, Runs, read_record, write_record


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
    methods
        Of each experiment's methods only these; all when empty.
    """

    repetitions: int
    seed: int = 0
    data: Path | None = None
    record: Path | None = None
    learning: Learning = field(default_factory=Learning)
    methods: Sequence[str] = ()

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.seed, self.seed + self.repetitions)

    def methods_of(self, experiment: Experiment) -> list[str]:
        """Return the methods of an experiment that are wanted."""
        return [m for m in experiment.methods if not self.methods or m in self.methods]

    def load(self) -> Done:
        """Return what is done.

        Raises
        ------
        FormatError
            When the file is not a record.
        """
        return read_record(self.record)


def repeat(
    plan: Plan,
    experiments: Sequence[Experiment],
    tell: Callable[[str], None],
    done: Done | None = None,
) -> Done:
    """Do what is not yet done: the first repetition of all experiments, then the second of all.

    What was done with another learning is done again.

    Parameters
    ----------
    plan
        How often, with what data, and where to keep it; the record is written after each method.
    experiments
        What to repeat.
    tell
        Told what begins.
    done
        What is done, if it was loaded before; it grows, and keeps what is done at an interrupt.
    """
    done = plan.load() if done is None else done
    for seed in plan.seeds:
        for experiment in experiments:
            runs = done.setdefault(experiment.key, {}).setdefault(str(seed), {})
            _repeat_once(plan, experiment, seed, runs, tell, done)
    return done


def _repeat_once(
    plan: Plan,
    experiment: Experiment,
    seed: int,
    runs: Runs,
    tell: Callable[[str], None],
    done: Done,
) -> None:
    left = [
        method
        for method in plan.methods_of(experiment)
        if runs.get(method, {}).get("learning") != _told(method, plan.learning)
    ]
    if not left:
        return
    holed, truth = experiment.draw(plan.data, np.random.default_rng(seed))
    for method in left:
        tell(f"{experiment.key}, repetition {seed - plan.seed + 1}: {method}")
        begun, begun_cpu = time.monotonic(), time.process_time()
        found = experiment.complete(method, holed, replace(plan.learning, seed=seed))
        cpu = time.process_time() - begun_cpu
        if found.status == "interrupted":
            raise KeyboardInterrupt
        judged = Comparison.of(method, holed, found, truth, time.monotonic() - begun)
        runs[method] = strict(asdict(judged)) | {
            "cells": len(holed.missing_cells),
            "cpu_seconds": cpu,
            "learning": _told(method, plan.learning),
        }
        write_record(plan.record, done)


def _told(method: str, how: Learning) -> str:
    """Return what a method's answers depend on beside the table and the seed."""
    if method not in METHODS or not METHODS[method].learns_network:
        return ""
    return (
        f"{how.chosen}, {how.score}, {how.max_parents} parents, t {how.t}, {how.starts} starts, "
        f"alpha {how.alpha}, {how.networks} networks"
    )
