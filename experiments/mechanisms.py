"""The random missingness mechanisms of the deletion paper, and those of `exactlearn.hide`.

``mcar:P:M`` hides each cell with probability P in a share M of the variables, drawn at random
(``mcar:0.7:0.3`` is Table 3). ``random-mar:M:K:A:B`` draws a share M of the variables, K causes of
each among the others, neighbours in the network first, and the probability for each of their
configurations from the Beta distribution with shape parameters A and B; with ``:S`` all causes
come from S variables drawn before (Van den Broeck, Mohan, Choi, Darwiche and Pearl, section 4,
appendices B and C).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactlearn import Dataset, MissingnessGraph, simulate_missingness


def hide_cells(
    dataset: Dataset, spec: str, rng: np.random.Generator, parents: Sequence[Sequence[int]]
) -> tuple[Dataset, MissingnessGraph]:
    """Hide cells of a table by any of these mechanisms, and return the missingness graph as well.

    Parameters
    ----------
    dataset, spec, rng
        As for :func:`exactlearn.simulate_missingness`.
    parents
        Parents of each variable in the network that the rows come from.
    """
    mechanism, *parts = spec.split(":")
    tables: dict[str, Any]
    if mechanism == "mcar" and len(parts) == 2:
        incomplete = _drawn(dataset.names, float(parts[1]), (), rng)
        graph = MissingnessGraph(dict.fromkeys(incomplete, ()))
        tables = dict.fromkeys(incomplete, float(parts[0]))
    elif mechanism == "random-mar":
        graph = _random_graph(dataset.names, parts, rng, parents)
        sizes = dict(zip(dataset.names, dataset.cardinalities.tolist(), strict=True))
        tables = {
            name: rng.beta(float(parts[2]), float(parts[3]), [sizes[cause] for cause in causes])
            for name, causes in graph.causes.items()
        }
    else:
        return simulate_missingness(dataset, spec, rng)[:2]
    return simulate_missingness(dataset, graph, rng, tables)[:2]


def _random_graph(
    names: Sequence[str],
    parts: Sequence[str],
    rng: np.random.Generator,
    parents: Sequence[Sequence[int]],
) -> MissingnessGraph:
    """Draw the variables that have missing cells, and the causes of each."""
    share, n_causes, _, _, *separators = map(float, parts)
    kept: Sequence[str] = ()
    if separators:
        drawn = rng.choice(len(names), int(separators[0]), replace=False)
        kept = [names[v] for v in sorted(drawn)]
    incomplete = _drawn(names, share, kept, rng)
    observed = [name for name in kept or names if name not in incomplete]
    if n_causes > len(observed):
        raise ValueError(f"{n_causes:g} causes among {len(observed)} variables: take fewer")
    arcs = {(names[u], names[v]) for v, family in enumerate(parents) for u in family}
    causes = {}
    for name in incomplete:
        shuffled = [observed[k] for k in rng.permutation(len(observed))]
        shuffled.sort(key=lambda other: not arcs & {(other, name), (name, other)})
        causes[name] = tuple(sorted(shuffled[: int(n_causes)], key=names.index))
    return MissingnessGraph(causes)


def _drawn(
    names: Sequence[str], share: float, kept: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Draw a share of the variables, without some of them, in the order of the table."""
    free = [name for name in names if name not in kept]
    return [free[k] for k in sorted(rng.choice(len(free), round(share * len(names)), False))]
