"""Comparison of imputers on cells hidden on purpose: the protocol of ``compare`` and ``reproduce``.

Each condition is a table and a mechanism that hides cells of it; all methods complete the same
cells, in each repetition others. A method is judged by its accuracy, its logarithmic loss and its
CPU time. On every condition the method under test is compared with all its rivals, by
:class:`~exactlearn.evaluation.metrics.ClusteredTest`, and with Holm's adjustment for their number.
It *wins* where it has the best mean, and is *not beaten* where no rival is significantly better.

The record keeps of every run how many cells of each row are right, and the loss of each row, which
is what the tests need.
"""

import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite, nan
from statistics import median
from typing import Any, Literal
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.metrics import LEVEL, ClusteredTest, Comparison, JudgedCells, Mean, holm
from exactlearn.evaluation.study import Found, PlannedRun, Record, Runs
from exactlearn.imputation.imputed import Imputed

Pair = tuple[Dataset, Dataset | None]
"""An incomplete table, and its truth where that is known."""

Complete = Callable[[Dataset, int], Imputed]
"""Completes a table, with a seed; for several processes it must pickle."""

Judge = Callable[[Comparison, Dataset, Imputed, int], Comparison]
"""Adds to a comparison what else is known of a completion of a seed's table."""

Metric = Literal["accuracy", "log_loss"]

SIGNS: Mapping[Metric, int] = {"accuracy": 1, "log_loss": -1}
"""Whether more of it is better."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A table with hidden cells.

    Parameters
    ----------
    table, hidden
        Name of the table, and what hides its cells.
    draw
        Returns the incomplete table and its truth by a seed; for several processes it must pickle.
    digest
        Digest of the table's contents: a run on another table of the same name is done again.
    """

    table: str
    hidden: str
    draw: Callable[[int], Pair]
    digest: str = ""

    @property
    def name(self) -> str:
        """The name in the record, which no other condition has."""
        return f"{self.table}, {self.hidden}" if self.hidden else self.table


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A method of a study.

    Parameters
    ----------
    complete
        What it does.
    settings
        What its answers depend on beside the table and the seed; with others it is run again.
    prepare
        Called before the clock starts: what a process does once, such as importing a library.
    """

    complete: Complete
    settings: str = ""
    prepare: Callable[[], object] | None = None


@dataclass(frozen=True, kw_only=True)
class ImputationStudy:
    """Conditions, methods and repetitions.

    Parameters
    ----------
    conditions
        With different names.
    contenders
        Methods by their names.
    seeds
        One for each repetition; the same hide the same cells.
    judge
        Adds to what is known of each completion.
    """

    conditions: Sequence[Condition]
    contenders: Mapping[str, Contender]
    seeds: Sequence[int] = (0,)
    judge: Judge | None = None

    def runs(self) -> Iterator[PlannedRun]:
        """Yield the runs of a :class:`~exactlearn.evaluation.study.Study`, repetition first."""
        for seed in self.seeds:
            for condition in self.conditions:
                for method, contender in self.contenders.items():
                    work = partial(
                        completed,
                        condition.draw,
                        contender.complete,
                        method,
                        seed,
                        judge=self.judge,
                        prepare=contender.prepare,
                    )
                    settings = f"{contender.settings} {condition.digest}".strip()
                    yield PlannedRun(condition.name, str(seed), method, work, settings)

    def repetitions(self, record: Record, condition: Condition) -> list[Runs]:
        """Return for each repetition of a condition what all methods gave; only whole ones.

        A method that failed where others did not has no accuracy and no loss.
        """
        found = []
        for seed in self.seeds:
            own = record.done.get(condition.name, {}).get(str(seed), {})
            runs = {m: own[m] for m in self.contenders if m in own}
            failed = [m for m, run in runs.items() if "error" in run]
            done = [m for m, run in runs.items() if is_done(run)]
            if done and len(failed) + len(done) == len(self.contenders):
                nothing = dict.fromkeys(runs[done[0]], nan) | {
                    "status": "failed",
                    "cells": runs[done[0]]["cells"],
                    "right": None,
                    "losses": None,
                }
                found.append(runs | dict.fromkeys(failed, nothing))
        return found


def is_done(found: Found) -> bool:
    """Return whether a run has neither failed nor been cut short."""
    return "error" not in found and not found.get("unfinished")


def completed(
    draw: Callable[[int], Pair],
    complete: Complete,
    method: str,
    seed: int,
    *,
    judge: Judge | None = None,
    prepare: Callable[[], object] | None = None,
) -> Found:
    """Complete a table by a method, and compare the completion with the truth.

    Returns
    -------
    found
        The fields of :class:`Comparison`, ``cells`` (how many are judged), ``cpu_seconds``, and
        ``right`` and ``losses``, which :func:`unpacked` reads.
    """
    incomplete, truth = draw(seed)
    if prepare is not None:
        prepare()
    begun, begun_cpu = time.monotonic(), time.process_time()
    found = complete(incomplete, seed)
    cpu, seconds = time.process_time() - begun_cpu, time.monotonic() - begun
    judged = Comparison.of(method, incomplete, found, truth, seconds)
    if judge is not None:
        judged = judge(judged, incomplete, found, seed)
    known: Found = asdict(judged) | {"cpu_seconds": cpu}
    if truth is None or found.values is None:
        return known | {"cells": 0}
    cells = JudgedCells.of(incomplete, found, truth)
    rows = partial(np.bincount, cells.rows, minlength=incomplete.n_rows)
    losses = None if cells.losses is None else packed(rows(cells.losses))
    return known | {"cells": len(cells.rows), "right": packed(rows(cells.right)), "losses": losses}


def packed(numbers: NDArray[Any]) -> str:
    """Return numbers with three digits as short text."""
    return b64encode(compress(numbers.astype(np.float16).tobytes())).decode()


def unpacked(text: str) -> NDArray[np.float64]:
    """Return the numbers of :func:`packed`.

    Examples
    --------
    >>> unpacked(packed(np.array([2.0, 0.5])))
    array([2. , 0.5])
    """
    return np.frombuffer(decompress(b64decode(text)), np.float16).astype(np.float64)


_ROWS: Mapping[Metric, str] = {"accuracy": "right", "log_loss": "losses"}


def ahead(runs: Sequence[Runs], first: str, second: str, metric: Metric) -> ClusteredTest:
    """Return how far a method is ahead of another: more accuracy, or less loss.

    Parameters
    ----------
    runs
        Repetitions of one condition.
    first, second
        Two methods.
    metric
        What they are judged by; without it in a run the difference is NaN.
    """
    key, sign = _ROWS[metric], SIGNS[metric]
    if any(run[m].get(key) is None for run in runs for m in (first, second)):
        return ClusteredTest(nan, nan)
    differences = [sign * (unpacked(r[first][key]) - unpacked(r[second][key])) for r in runs]
    return ClusteredTest.of(differences, sum(run[first]["cells"] for run in runs))


def method_rows(
    condition: Condition, runs: Sequence[Runs], reference: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one row for each method of a condition: means over repetitions, standard errors, tests.

    Parameters
    ----------
    condition
        What was run.
    runs
        Its repetitions, at least one.
    reference
        The method that the others are tested against.
    """
    for method in runs[0]:
        own = [run[method] for run in runs]
        row: dict[str, Any] = {
            "table": condition.table,
            "hidden": condition.hidden,
            "method": method,
            "tables": len(runs),
            "cells": sum(found["cells"] for found in own),
            "proven": sum(found["status"] in ("optimal", "t-local") for found in own),
            "limited": sum(found["status"] == "feasible" for found in own),
        }
        for key in (
            "accuracy", "log_loss", "score", "bound", "gap", "seconds", "cpu_seconds",
            "test_log_likelihood", "cpdag_shd",
        ):  # fmt: skip
            mean = Mean.of(found[key] for found in own)
            row |= {key: mean.value, f"{key}_error": mean.error}
        if reference is not None:
            tests = {metric: ahead(runs, method, reference, metric) for metric in SIGNS}
            row |= {
                "reference": reference,
                "difference": tests["accuracy"].difference,
                "p_value": tests["accuracy"].p_value,
                "significant": tests["accuracy"].significant,
                "loss_difference": -tests["log_loss"].difference,
                "loss_p_value": tests["log_loss"].p_value,
                "loss_significant": tests["log_loss"].significant,
            }
        yield row


def verdict(
    condition: Condition, runs: Sequence[Runs], tested: str, rivals: Sequence[str], metric: Metric
) -> dict[str, Any] | None:
    """Return how a method stands against all its rivals on one condition.

    Parameters
    ----------
    condition, runs
        What was run, and its repetitions.
    tested, rivals
        The method, and those it is compared with.
    metric
        What it is judged by; rivals without it are left out.

    Returns
    -------
    verdict
        Both means, the best ``rival``, how far the method is ``ahead`` of it and the ``p_value``;
        whether it is ``best``, and ``beaten_by`` which rivals after Holm's adjustment, and
        ``beaten_unadjusted`` before it. Nothing where no rival has the metric; without it in the
        method's own runs the method is beaten by all.
    """
    means = {m: Mean.of(run[m][metric] for run in runs).value for m in (tested, *rivals)}
    rivals = [rival for rival in rivals if isfinite(means[rival])]
    if not runs or not rivals:
        return None
    tests = {rival: ahead(runs, tested, rival, metric) for rival in rivals}
    best = max(rivals, key=lambda rival: SIGNS[metric] * means[rival])
    adjusted = dict(zip(rivals, holm([tests[r].p_value for r in rivals]), strict=True))
    failed = not isfinite(means[tested])
    return {
        "table": condition.table,
        "hidden": condition.hidden,
        "metric": metric,
        "repetitions": len(runs),
        "cells": sum(run[tested]["cells"] for run in runs),
        "mean": means[tested],
        "rival": best,
        "rival_mean": means[best],
        "ahead": tests[best].difference,
        "p_value": tests[best].p_value,
        "best": not failed and tests[best].difference >= 0,
        "beaten_by": [
            r for r in rivals if failed or (tests[r].difference < 0 and adjusted[r] < LEVEL)
        ],
        "beaten_unadjusted": [
            r for r in rivals if failed or (tests[r].difference < 0 and tests[r].significant)
        ],
        "seconds": Mean.of(run[tested]["cpu_seconds"] for run in runs).value,
    }


def summary(verdicts: Sequence[Mapping[str, Any]], metric: Metric) -> dict[str, Any]:
    """Return what the verdicts by one metric come to.

    Parameters
    ----------
    verdicts
        Those of :func:`verdict`.
    metric
        Those by this.

    Returns
    -------
    summary
        Number of ``conditions``, shares in which the method is ``best``, ``not_beaten`` and
        ``not_beaten_unadjusted``, and ``worst``: its distance from the best rival where that is
        largest, negative if it is behind.
    """
    own = [found for found in verdicts if found["metric"] == metric]
    share = 1 / len(own) if own else nan
    known = [v for v in own if isfinite(v["ahead"])]
    return {
        "metric": metric,
        "conditions": len(own),
        "best": share * sum(v["best"] for v in own),
        "not_beaten": share * sum(not v["beaten_by"] for v in own),
        "not_beaten_unadjusted": share * sum(not v["beaten_unadjusted"] for v in own),
        "worst": min((v["ahead"] for v in known), default=nan),
    }


def time_ratios(repetitions: Sequence[Runs], tested: str, rival: str) -> dict[str, float]:
    """Return how many times the CPU time of another method a method takes.

    Parameters
    ----------
    repetitions
        Of all conditions.
    tested, rival
        Two methods.

    Returns
    -------
    ratios
        Of the ``total`` times; the ``median`` and the ``largest`` over the repetitions.
    """
    both = [(r[tested]["cpu_seconds"], r[rival]["cpu_seconds"]) for r in repetitions]
    times = [pair for pair in both if all(map(isfinite, pair))]
    ratios = [own / max(other, _SHORTEST) for own, other in times]
    if not ratios:
        return {"total": nan, "median": nan, "largest": nan}
    own, other = map(sum, zip(*times, strict=True))
    return {"total": own / max(other, _SHORTEST), "median": median(ratios), "largest": max(ratios)}


_SHORTEST = 1e-3
"""Seconds that the clock of a process can tell from none."""
