"""THESIS, Table 5.7: decision graphs, networks and naive Bayes of seven public tables.

Each language gives a sequence of models: graphs and networks for several weights of the size,
naive Bayes with more and more components. Of each sequence the model most likely on other rows,
the best by BIC and the best by AIC are told.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import log
from time import process_time
from typing import Any

from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.bayesnet.naive_bayes import naive_bayes_models
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.learn.forest_population import learn_pdg
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.reproduce.record import finished
from exactlearn.reproduce.study import Row, Setup
from exactlearn.reproduce.thesis_figures import LANGUAGES
from exactlearn.reproduce.thesis_row import thesis_row
from exactlearn.reproduce.uci_tables import Split, uci_split
from exactlearn.scoring.scores import PenalisedLikelihood

RATES = (8.0, 4.0, 2.0, 1.0)
"""What a cell of size must gain, as a multiple of AIC's 1 (BIC's is half the logarithm of the
number of rows, and comes to them)."""

MOST_SIZE, MOST_COMPONENTS = 30_000, 100
"""Of naive Bayes: effective size, and number of components, where growth ends."""

SIGNIFICANCES = (0.01, 1.0)
"""Of the tests that forests are grown by, beside those of networks and of mutual information."""

SELECTIONS = ("best on other rows", "BIC", "AIC")

Points = list[dict[str, float]]
"""Size, free parameters, and log-likelihoods per row of each model of a sequence."""


def languages(setup: Setup) -> Iterator[Row]:
    """Repeat THESIS, Table 5.7."""
    for name, published in LANGUAGES.items():
        if setup.only not in name:
            continue
        for language, sequence in SEQUENCES.items():
            run = partial(_timed, sequence, setup, name)
            key = f"table languages: {name}"
            found = setup.record.once(key, str(setup.seed), language, run)
            for selection, theirs in zip(SELECTIONS, published[language], strict=True):
                point = selected(found["points"], selection, found["rows"])
                ours = ("languages", f"{name}, {selection}", language)
                yield thesis_row(ours, {**point, "seconds": found["seconds"]}, theirs)


def selected(points: Points, selection: str, n_rows: int) -> dict[str, float]:
    """Return the model of a sequence that is best by a criterion, the first one at a tie.

    Parameters
    ----------
    points
        The models.
    selection
        One of `SELECTIONS`; BIC and AIC are of the effective size, as in the thesis.
    n_rows
        Rows learnt from.
    """
    if selection == SELECTIONS[0]:
        return max(points, key=lambda p: p["test"])
    rate = log(n_rows) / 2 if selection == "BIC" else 1.0
    return max(points, key=lambda p: n_rows * p["train"] - rate * p["size"])


def _timed(sequence: Callable[[Split, int], Points], setup: Setup, name: str) -> dict[str, Any]:
    split = uci_split(setup.data, name, setup.seed)
    begun = process_time()
    points = sequence(split, setup.seed)
    return {
        "points": points,
        "rows": split.train.n_rows,
        "seconds": process_time() - begun,
    }


def lambdas(n_rows: int) -> list[float]:
    """Return the weights of the size, in falling order."""
    rates = sorted({*RATES, log(n_rows) / 2}, reverse=True)
    return [rate / (1 + rate) for rate in rates]


def _graphs(split: Split, seed: int) -> Points:
    found = finished(
        learn_pdg(
            split.train,
            lambdas=lambdas(split.train.n_rows),
            significances=SIGNIFICANCES,
            seed=seed,
        )
    )
    return [
        {
            "size": m.graph.effective_size,
            "train": float(log_likelihood_rows(m.graph, split.train.codes).mean()),
            "test": float(log_likelihood_rows(m.graph, split.test.codes).mean()),
        }
        for m in found.models
    ]


def _networks(split: Split, seed: int) -> Points:
    points = []
    for lambda_ in lambdas(split.train.n_rows):
        network = learnt_network(split.train, seed, score=PenalisedLikelihood(lambda_))
        points.append(
            {
                "size": float(clique_tree(network).size(network.cardinalities)),
                "train": float(network.log_likelihood_rows(split.train).mean()),
                "test": float(network.log_likelihood_rows(split.test).mean()),
            }
        )
    return points


def _components(split: Split, seed: int) -> Points:
    points: Points = []
    for model in naive_bayes_models(split.train, seed=seed):
        points.append(
            {
                "size": model.effective_size,
                "train": float(model.log_likelihood_rows(split.train).mean()),
                "test": float(model.log_likelihood_rows(split.test).mean()),
            }
        )
        if model.effective_size > MOST_SIZE or model.n_components > MOST_COMPONENTS:
            break
    return points


SEQUENCES: Mapping[str, Callable[[Split, int], Points]] = {
    "PDG": _graphs,
    "BN": _networks,
    "NB": _components,
}
"""How each language makes its sequence."""
