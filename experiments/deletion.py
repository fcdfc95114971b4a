"""DEL, Tables 1 to 8 and Figures 3 and 5: parameters by deletion, beside EM.

Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian network
parameter learning from incomplete data". Rows are drawn from a network, cells are hidden by a
random mechanism, and the parameters of the network's structure are estimated from what is left.
They are judged by the divergence from the network (ALARM, fire alarm) and by the log-likelihood of
complete rows drawn anew. Time is CPU time of the estimate. EM is exact, as the paper's EM-JT; its
EM-BP, by loopy belief propagation, is left out, as exactlearn has no approximate inference. All
estimators have the paper's pseudo-count, Dirichlet(2), which is 1, and beside it the default of
`exactlearn`, 1/4.
"""

from functools import lru_cache, partial
from time import process_time
from typing import Any

import numpy as np

from exactlearn import (
    BayesianNetwork,
    Dataset,
    fit_deletion,
    fit_em,
    kl_divergence,
)
from experiments import generators, sources
from experiments.mechanisms import hide_cells
from experiments.record import NOTHING_KEPT, Parts, Row

TEST_ROWS = 10_000
"""Complete rows that an estimate is judged by."""

GRID = "Grid 90-20-1"


def parameters(
    *,
    method: str,
    seed: int,
    data: str,
    network: str,
    rows: int,
    hidden: str,
    limit: float,
    divergence: bool = False,
    smoothings: tuple[float, ...] = (1.0, 0.25),
    parts: Parts = NOTHING_KEPT,
) -> list[Row]:
    """Estimate the parameters of a network, with each pseudo-count.

    Parameters
    ----------
    method, seed, data
        As for all runs; the names of methods are the paper's.
    network, rows, hidden
        What rows are drawn from, how many, and how cells are hidden (`hide_cells`).
    limit
        Seconds of CPU time that an estimate may take; EM returns its best then.
    divergence
        Whether to compute the divergence, which large networks are too hard for.
    smoothings
        The pseudo-counts.
    parts
        Keeps the row of each pseudo-count.
    """
    truth, table, separators, test = _drawn(network, rows, hidden, seed, data)

    def judged(smoothing: float) -> Row:
        """Return the row of a pseudo-count."""
        begun = process_time()
        estimate = _estimated(method, truth, table, separators, smoothing, seed, limit)
        seconds = process_time() - begun
        row: Row = {"label": f"pseudo-count {smoothing:g}", "seconds": seconds}
        if "EM" not in method and seconds > limit:
            row["error"] = f"beyond the limit of {limit:g} s"
        else:
            row["log_likelihood"] = float(estimate.log_likelihood_rows(test).mean())
            row |= {"kl": kl_divergence(truth, estimate)} if divergence else {}
        return row

    return [parts(f"pseudo-count {x:g}", partial(judged, x)) for x in smoothings]


def _estimated(
    method: str,
    truth: BayesianNetwork,
    table: Dataset,
    separators: tuple[str, ...],
    smoothing: float,
    seed: int,
    limit: float,
) -> BayesianNetwork:
    if "EM" in method:
        if method == "F-MAR + EM":
            first = fit_deletion(
                table, truth.parents, method="f-mar", smoothing=smoothing
            ).model
        start: Any = (
            {"start": first} if method == "F-MAR + EM" else {"starts": int(method[3:])}
        )
        how: dict[str, Any] = {
            "smoothing": smoothing,
            "time_limit": limit,
            "seed": seed,
            **start,
        }
        return fit_em(table, truth.parents, **how).model
    name: Any = method.lower()
    given = separators if name.startswith("i") else None
    how = {"method": name, "separators": given, "smoothing": smoothing}
    return fit_deletion(table, truth.parents, **how).model


@lru_cache(1)
def _drawn(
    name: str, rows: int, hidden: str, seed: int, data: str
) -> tuple[BayesianNetwork, Dataset, tuple[str, ...], Dataset]:
    """Return a network, incomplete rows of it, the causes of missing cells, and complete rows."""
    if name == GRID:
        network = generators.ratio_grid(20, 0.9, seed=1)
    elif name == "fire alarm":
        network = generators.fire_alarm()
    else:
        network = sources.network(name.lower(), data)
    rng = np.random.default_rng([seed, rows])
    table, graph = hide_cells(network.sample(rows, rng), hidden, rng, network.parents)
    causes = {cause for own in graph.causes.values() for cause in own}
    separators = tuple(variable for variable in network.names if variable in causes)
    return network, table, separators, network.sample(TEST_ROWS, rng)
