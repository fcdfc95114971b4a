"""Standard errors by the observed information, against a numeric Hessian and closed forms."""

import numpy as np
import pytest
from scipy.special import softmax

import exactlearn as el
from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import full_counts
from exactlearn.bayesnet.em_variances import MOST_PARAMETERS, em_standard_errors
from exactlearn.bayesnet.row_completion import observed_log_likelihood_rows
from exactlearn.errors import TooLargeError

PARENTS = ((), (0,), (0, 1))


def drawn(seed: int, rows: int, share: float) -> el.Dataset:
    """Return rows of a random network, a share of whose cells is missing."""
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, 3), np.int8)
    for v, ps in enumerate(PARENTS):
        table = rng.dirichlet(np.full(2, 10.0), size=(2,) * len(ps))
        codes[:, v] = rng.random(rows) < table[(*codes[:, list(ps)].T, 1)]
    codes[rng.random(codes.shape) < share] = -1
    return el.Dataset(codes, ("a", "b", "c"), (("0", "1"),) * 3)


def by_hessian(dataset: el.Dataset, network: el.BayesianNetwork) -> list[np.ndarray]:
    """Return standard errors by differences of the log-likelihood in the free logits."""
    shapes = [table.shape for table in network.tables]
    logits = np.concatenate([np.log(t[..., 1] / t[..., 0]).ravel() for t in network.tables])

    def tables(free):
        parts = np.split(free, np.cumsum([t[..., 0].size for t in network.tables])[:-1])
        full = (np.stack([np.zeros_like(p), p], axis=-1) for p in parts)
        return tuple(softmax(f.reshape(s), axis=-1) for f, s in zip(full, shapes, strict=True))

    def value(free):
        other = el.BayesianNetwork(network.names, network.states, network.parents, tables(free))
        return dataset.total(observed_log_likelihood_rows(other, dataset))

    n, step = len(logits), 1e-3
    moves = step * np.eye(n)
    hessian = np.array(
        [
            [
                value(logits + a + b) - value(logits + a - b)
                - value(logits - a + b) + value(logits - a - b)
                for b in moves
            ]
            for a in moves
        ]
    ) / (4 * step**2)  # fmt: skip
    variances = np.diag(np.linalg.inv(-hessian))
    parts = np.split(variances, np.cumsum([t[..., 0].size for t in network.tables])[:-1])
    return [
        np.sqrt(part.reshape(t.shape[:-1]))[..., np.newaxis] * t * t[..., ::-1]
        for part, t in zip(parts, network.tables, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
def test_errors_are_those_of_the_hessian_of_the_log_likelihood(seed, share):
    data = drawn(seed, 400, share)
    found = el.fit_em(data, PARENTS, smoothing=0.0, tolerance=1e-12, iterations=10**4).model
    expected = by_hessian(data, found)
    for own, other in zip(em_standard_errors(data, found, smoothing=0.0), expected, strict=True):
        assert own == pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_errors_of_complete_rows_are_those_of_frequencies(smoothing):
    data = drawn(1, 200, 0.0)
    found = el.fit_em(data, PARENTS, smoothing=smoothing).model
    errors = em_standard_errors(data, found, smoothing=smoothing)
    for v, (own, table) in enumerate(zip(errors, found.tables, strict=True)):
        rows = full_counts(data, v, PARENTS[v]).sum(axis=-1, keepdims=True)
        expected = table * (1 - table) * rows / (rows + 2 * smoothing) ** 2
        assert own == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_errors_are_largest_where_no_row_determines_a_parameter():
    codes = drawn(2, 200, 0.2).codes.copy()
    codes[:, 1] = -1
    data = el.Dataset(codes, ("a", "b", "c"), (("0", "1"),) * 3)
    found = el.fit_em(data, PARENTS).model
    errors = em_standard_errors(data, found)
    assert errors[1] == pytest.approx(np.sqrt(found.tables[1] * (1 - found.tables[1])))
    assert errors[0].max() < 0.1


def test_a_search_that_is_over_has_no_errors():
    data = drawn(3, 50, 0.1)
    found = el.fit_em(data, PARENTS).model
    with SearchControl().running() as control:
        control.stop()
        assert em_standard_errors(data, found) is None


def test_too_many_parameters_are_refused():
    states = tuple(map(str, range(MOST_PARAMETERS + 1)))
    network = el.BayesianNetwork(("a",), (states,), ((),), (np.full(len(states), 1 / len(states)),))
    data = el.Dataset(np.zeros((2, 1), np.int16), ("a",), (states,))
    with pytest.raises(TooLargeError, match="expected at most 5000"):
        em_standard_errors(data, network)
