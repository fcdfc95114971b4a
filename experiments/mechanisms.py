"""The random missingness mechanisms of the papers, and those of `exactlearn.hide`.

``mnar:P:S`` hides a share P of all the cells, of any variables, all of state index S, one staying
in each variable (Adel and de Campos' SPECT experiment); ``mnar:P`` draws the index among those that
have enough cells. ``mnar-states:P`` hides every cell with a probability that its own state sets, P
on the average over the rows of each variable: the log-odds of the states of a variable are drawn
from the standard normal distribution, and shifted by what gives P.

``mcar:P:M`` hides each cell with probability P in a share M of the variables, drawn at random
(``mcar:0.7:0.3`` is Table 3). ``random-mar:M:K:A:B`` draws a share M of the variables, K causes of
each among the others, neighbours in the network first, and the probability for each of their
configurations from the Beta distribution with shape parameters A and B; with ``:S`` all causes
come from S variables drawn before (Van den Broeck, Mohan, Choi, Darwiche and Pearl, section 4,
appendices B and C).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from exactlearn import Dataset, MissingnessGraph, simulate_missingness


def hide_cells(
    dataset: Dataset,
    spec: str,
    rng: np.random.Generator,
    parents: Sequence[Sequence[int]] = (),
) -> tuple[Dataset, MissingnessGraph]:
    """Hide cells of a table by any of these mechanisms, and return the missingness graph as well.

    Parameters
    ----------
    dataset, spec, rng
        As for :func:`exactlearn.simulate_missingness`.
    parents
        Parents of each variable in the network that the rows come from, for ``random-mar``.
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
            name: rng.beta(
                float(parts[2]), float(parts[3]), [sizes[cause] for cause in causes]
            )
            for name, causes in graph.causes.items()
        }
    elif mechanism == "mnar-states":
        tables = _tables_by_states(dataset, float(parts[0]), rng)
        graph = MissingnessGraph({name: (name,) for name in tables})
    elif mechanism == "mnar" and "." in parts[0]:
        graph = MissingnessGraph({name: (name,) for name in dataset.names})
        state = int(parts[1]) if len(parts) > 1 else None
        return _share_of_one_state(dataset, float(parts[0]), rng, state), graph
    else:
        return simulate_missingness(dataset, spec, rng)[:2]
    return simulate_missingness(dataset, graph, rng, tables)[:2]


def _tables_by_states(
    dataset: Dataset, share: float, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Draw the probability that a cell is hidden, for each state of each variable."""
    tables = {}
    for v, name in enumerate(dataset.names):
        cells = dataset.codes[:, v][dataset.codes[:, v] >= 0]
        log_odds = rng.standard_normal(dataset.cardinalities[v])
        # The mean lies between the probabilities of the least and the largest log-odds.
        shift = np.log(share / (1 - share))
        reach = np.abs(log_odds).max() + 1
        if len(cells):
            shift = brentq(
                lambda x, odds=log_odds, own=cells: expit(odds + x)[own].mean() - share,
                shift - reach,
                shift + reach,
            )
        tables[name] = expit(log_odds + shift)
    return tables


def _share_of_one_state(
    dataset: Dataset, share: float, rng: np.random.Generator, state: int | None
) -> Dataset:
    """Hide a share of the cells, all of one state, one staying in each variable."""
    codes = dataset.codes.copy()
    states = np.arange(int(dataset.cardinalities.max()))[:, None, None]
    room = np.maximum((codes == states).sum(axis=1) - 1, 0).sum(axis=1)
    size = round(share * int((codes >= 0).sum()))
    if state is None:
        enough = np.flatnonzero(room >= size)
        state = int(rng.choice(enough)) if len(enough) else int(np.argmax(room))
    if room[state] < size:
        raise ValueError(
            f"{size} cells of state {state}, {room[state]} can be hidden: take fewer"
        )
    free = codes == state
    for v in np.flatnonzero(free.any(axis=0)):
        free[rng.choice(np.flatnonzero(free[:, v])), v] = False
    codes.flat[rng.choice(np.flatnonzero(free), size, replace=False)] = -1
    return replace(dataset, codes=codes)


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
        raise ValueError(
            f"{n_causes:g} causes among {len(observed)} variables: take fewer"
        )
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
    return [
        free[k] for k in sorted(rng.choice(len(free), round(share * len(names)), False))
    ]
