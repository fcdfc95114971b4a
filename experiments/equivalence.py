"""THESIS, Figures 4.6 to 4.9: starts of KES for eleven k, with the exact optimum beside them.

A repetition is 100 starts of each k; ten are the thesis's 1,000. All learn from the same 20,000
rows, by BIC, with any number of parents; the exact optimum is over all networks with few parents,
which the best classes do not exceed.

Ten copies of a four-cycle ``X - Y - Z - U - X`` that no network states have 2^10 inclusion-optimal
classes, each of a choice for each copy: ``Y`` and ``U`` adjacent, with 19 parameters, or ``X`` and
``Z``, with 23 (Example 4.1). The joint distribution is the only one with given marginals of the
four edges, found by iterative proportional fitting.
"""

from functools import lru_cache, partial
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactlearn import BIC, Dataset, candidate_parent_sets, equivalence_search, solve
from experiments.record import NOTHING_KEPT, Parts, Row
from experiments.report import Tables
from experiments.runner import Grid
from experiments.sources import network

COPIES = 10
STARTS = 100

PARTS = 4
"""Parts of the starts of a run, each with a seed of its own."""

EXACT_SECONDS = 900.0
"""Time limit of the exact solver, whose bound is the line where it does not end."""

REACHED = 1e-3
"""Below the optimum by no more than this counts as reached, in nats."""


def starts(
    *,
    method: str,
    seed: int,
    data: str,
    source: str,
    max_parents: int,
    marginals: tuple[float, float] = (0.0, 0.0),
    rows: int = 20_000,
    drawn: int = 0,
    parts: Parts = NOTHING_KEPT,
) -> list[Row]:
    """Do 100 starts of KES, one run of GES, or find the optimum; return a row for each start.

    Parameters
    ----------
    method, seed, data
        ``exact``, ``ges 1`` and ``ges 2`` (phases; once, in the first repetition), or ``kes K``.
    source, marginals
        A network, or the marginals of a four-cycle, see `four_cycle`.
    max_parents
        Of the exact optimum.
    rows, drawn
        How many rows, and the seed that draws them.
    parts
        Keeps the parts of the exact search, and of the starts some at a time.
    """
    kind, _, value = method.partition(" ")
    if kind != "kes" and seed != drawn:
        return []
    dataset = _rows(source, tuple(marginals), rows, drawn, data)
    begun = process_time()
    if kind == "exact":
        problem = candidate_parent_sets(dataset, BIC(), max_parents=max_parents)
        result = solve(problem, time_limit=EXACT_SECONDS, checkpoint=parts.checkpoint)
        return [{"score": result.score, "bound": result.bound, "rank": 1}]
    if kind == "ges":
        scores = list(
            equivalence_search(dataset, BIC(), method="ges", phases=int(value)).scores
        )
    else:
        kes = partial(_kes_scores, dataset, float(value))
        seeds = range(seed * PARTS, (seed + 1) * PARTS)
        scores = [
            s for part in seeds for s in parts(f"seed {part}", partial(kes, part))
        ]
    seconds = (process_time() - begun + parts.seconds) / len(scores)
    return [
        {"score": s, "rank": k, "seconds": seconds}
        for k, s in enumerate(sorted(scores), 1)
    ]


def _kes_scores(dataset: Dataset, greediness: float, seed: int) -> list[float]:
    """Return the scores of the starts of KES that are one part of a run."""
    options: dict[str, Any] = {"greediness": greediness, "restarts": STARTS // PARTS}
    return list(
        equivalence_search(dataset, BIC(), method="kes", seed=seed, **options).scores
    )


def four_cycle(x_y: float, y_z: float) -> NDArray[np.float64]:
    """Return the joint distribution of X, Y, U and Z with marginals of this form.

    Parameters
    ----------
    x_y
        Probability of ``X = 0, Y = 0``; ``Y`` is likely the last bit of ``X``, ``U`` the first.
    y_z
        Probability of ``Y = Z = 0``, and of ``U = Z = 0``.

    Examples
    --------
    >>> joint = four_cycle(0.22, 0.35)  # Table 4.1
    >>> joint.sum(axis=(2, 3)).round(6)[:, 0].tolist(), joint.sum(axis=(0, 2)).round(6).tolist()
    ([0.22, 0.03, 0.22, 0.03], [[0.35, 0.15], [0.15, 0.35]])
    """
    pair = np.array([[y_z, 0.5 - y_z], [0.5 - y_z, y_z]])
    last = np.array([[x_y, 0.25 - x_y], [0.25 - x_y, x_y]] * 2)
    first = last[[0, 2, 1, 3]]
    joint = np.full((4, 2, 2, 2), 1 / 32)
    for _ in range(2000):
        joint *= (last / joint.sum(axis=(2, 3)))[:, :, None, None]
        joint *= (first / joint.sum(axis=(1, 3)))[:, None, :, None]
        joint *= (pair / joint.sum(axis=(0, 2)))[None, :, None, :]
        joint *= (pair / joint.sum(axis=(0, 1)))[None, None, :, :]
    return joint


@lru_cache(1)
def _rows(
    source: str, marginals: tuple[float, float], rows: int, drawn: int, data: str
) -> Dataset:
    """Draw rows of a network, or of independent copies of a four-cycle."""
    rng = np.random.default_rng(drawn)
    if not any(marginals):
        return network(source, data).sample(rows, rng)
    joint = four_cycle(*marginals)
    cells = rng.choice(joint.size, (rows, COPIES), p=joint.reshape(-1) / joint.sum())
    codes = np.stack(np.unravel_index(cells, joint.shape), axis=2).reshape(rows, -1)
    names = tuple(f"{name}{copy}" for copy in range(COPIES) for name in "XYUZ")
    states = [tuple(map(str, range(size))) for size in joint.shape]
    return Dataset(codes.astype(np.int8), names, tuple(states * COPIES))


def scores(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return for each case and method worst, median and best score, and shares of the starts.

    ``above GES`` is the share of starts that score more than GES in one phase, ``optimum`` that of
    those that reach the exact optimum.
    """
    found = []
    for (case, method), own in frame.groupby(["case", "method"], sort=False):
        known = frame[frame["case"] == case].groupby("method")["score"].max()
        score = own["score"]
        row = {"case": case, "method": method, "starts": len(own)}
        row |= {"scores": score.round(6).nunique(), "worst": score.min()}
        row |= {
            "median": score.median(),
            "best": score.max(),
            "seconds": own["seconds"].mean(),
        }
        if "ges 1" in known:
            row["above GES"] = (score > known["ges 1"] + REACHED).mean()
        if "exact" in known:
            row["optimum"] = (score > known["exact"] - REACHED).mean()
        found.append(row)
    return {"starts": pd.DataFrame(found).set_index(["case", "method"])}
