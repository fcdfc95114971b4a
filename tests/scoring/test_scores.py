import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import (
    AIC,
    BIC,
    BDeu,
    PenalisedLikelihood,
    family_score,
    parse_score,
    score_family,
)

EXTREME_SIZES = [
    5e-324,
    1e-300,
    1e-41,
    1e-39,
    1e-5,
    15.9,
    97.0,
    1e5,
    1e9,
    1e16,
    1e300,
    1.7e308,
]
"""Equivalent sample sizes on both sides of where their computation changes, and the extremes."""

SCORES = [BDeu(1), BDeu(10), BDeu(0.01), BIC(), AIC(), PenalisedLikelihood(0.3)]


def make(codes, cardinalities, weights=None):
    names = tuple(f"v{i}" for i in range(len(cardinalities)))
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in cardinalities)
    return Dataset(np.asarray(codes, np.int8), names, states, weights)


def log_rising(start: Decimal, count: int) -> Decimal:
    """Return the logarithm of the product of ``start``, ``start + 1``, ... by its factors."""
    return sum((start + i).ln() for i in range(count))


def bdeu_by_factors(counts, ess: float) -> float:
    """Return the BDeu score of a family with 60 digits, from whole counts, shape (q, r)."""
    q, r = counts.shape
    with localcontext() as context:
        context.prec = 60
        a = Decimal(ess)
        cells = sum(log_rising(a / (q * r), int(n)) for n in counts.ravel())
        return float(cells - sum(log_rising(a / q, int(n)) for n in counts.sum(axis=1)))


@pytest.mark.parametrize("ess", EXTREME_SIZES)
def test_bdeu_is_exact_with_any_equivalent_sample_size(ess):
    rng = np.random.default_rng(3)
    data = make(np.column_stack([rng.integers(0, r, 90) for r in (2, 3, 2)]), (2, 3, 2))
    problem = candidate_parent_sets(data, BDeu(ess), max_parents=2, prune=False)
    for child in range(3):
        for parents, score in problem.candidates(child):
            counts = full_counts(data, child, parents)
            expected = bdeu_by_factors(counts.reshape(-1, counts.shape[-1]), ess)
            assert score == pytest.approx(expected, rel=1e-13, abs=1e-9)
            by_family = score_family(data, child, parents, BDeu(ess))
            assert by_family == pytest.approx(expected, rel=1e-13, abs=1e-9)


@pytest.mark.parametrize("ess", [1e-300, 1e-3, 1.0, 15.9, 1e3, 1e6, 1e9, 1e13, 1e300])
def test_bdeu_of_a_million_rows_is_exact_to_a_millionth_of_a_nat(ess):
    """Of one configuration with two states: terms of equal rows cancel but for what is expected."""
    counts = np.array([300_000, 700_000])
    rising = np.log1p(np.arange(counts.sum()) / ess) if ess > 1 else None
    halves = [np.arange(n) for n in counts]
    if rising is None:
        cells = [math.fsum(np.log(ess / 2 + half)) for half in halves]
        expected = math.fsum(
            [*cells, -math.fsum(np.log(ess + np.arange(counts.sum())))]
        )
    else:
        cells = [math.fsum(np.log1p(half / (ess / 2))) for half in halves]
        expected = math.fsum([*cells, -math.fsum(rising), -counts.sum() * math.log(2)])
    found = family_score(
        counts[None].astype(float), 1.0, BDeu(ess), float(counts.sum())
    )
    assert found == pytest.approx(expected, abs=1e-6)


@st.composite
def tables(draw, n=3):
    cardinalities = draw(st.lists(st.integers(2, 4), min_size=n, max_size=n))
    rows = st.tuples(*(st.integers(0, r - 1) for r in cardinalities))
    return make(draw(st.lists(rows, min_size=1, max_size=25)), cardinalities)


def full_counts(data, child, parents):
    shape = [int(data.cardinalities[v]) for v in (*parents, child)]
    counts = np.zeros(shape)
    for row in data.codes:
        counts[tuple(row[[*parents, child]])] += 1
    return counts.reshape(-1, shape[-1])


def textbook(counts, score, n):
    """Sum the definition term by term."""
    q, r = counts.shape
    total = 0.0
    for j in range(q):
        n_j = sum(counts[j])
        if isinstance(score, BDeu):
            total += math.lgamma(score.ess / q) - math.lgamma(score.ess / q + n_j)
        for k in range(r):
            if isinstance(score, BDeu):
                total += math.lgamma(score.ess / (q * r) + counts[j, k])
                total -= math.lgamma(score.ess / (q * r))
            elif counts[j, k]:
                total += counts[j, k] * math.log(counts[j, k] / n_j)
    match score:
        case BIC():
            return total - math.log(n) / 2 * q * (r - 1)
        case AIC():
            return total - q * (r - 1)
        case PenalisedLikelihood():
            return (1 - score.size_weight) * total - score.size_weight * q * (r - 1)
    return total


@pytest.mark.parametrize("score", SCORES)
@given(data=tables(), parents=st.sampled_from([(), (1,), (2, 1)]))
def test_scores_equal_the_textbook_sum(score, data, parents):
    counts = full_counts(data, 0, parents)
    expected = textbook(counts, score, data.n_rows)
    q = float(len(counts))
    assert score_family(data, 0, parents, score) == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )
    assert family_score(counts, q, score, data.n_rows) == pytest.approx(
        expected, 1e-9, 1e-9
    )


def test_bdeu_is_the_probability_of_the_sequence():
    """Two draws from a fair urn of one ball: 1/2, then (1/2 + 1) / 2 or (1/2) / 2."""
    same, mixed = make([[0], [0]], (2,)), make([[0], [1]], (2,))
    assert score_family(same, 0, (), BDeu(1)) == pytest.approx(math.log(0.5 * 0.75))
    assert score_family(mixed, 0, (), BDeu(1)) == pytest.approx(math.log(0.5 * 0.25))


def test_states_that_no_row_has_count():
    rows = [[0, 0], [1, 1], [1, 0], [0, 1]]
    seen, declared = make(rows, (2, 2)), make(rows, (3, 4))
    assert score_family(seen, 0, (1,), AIC()) == pytest.approx(
        4 * math.log(0.5) - 2 * 1
    )
    assert score_family(declared, 0, (1,), AIC()) == pytest.approx(
        4 * math.log(0.5) - 4 * 2
    )
    # Each observed configuration has 2 draws from an urn of 1/4 ball in 3 colours.
    urn = 2 * math.log((1 / 3) * (1 / 12) / (1 / 4 + 1))
    assert score_family(declared, 0, (1,), BDeu(1)) == pytest.approx(urn)


@pytest.mark.parametrize("score", SCORES)
@given(data=tables())
def test_markov_equivalent_networks_score_the_same(score, data):
    def total(*parents):
        return sum(
            score_family(data, child, pa, score) for child, pa in enumerate(parents)
        )

    chain = total((), (0,), (1,))
    assert total((1,), (), (1,)) == pytest.approx(chain, rel=1e-9, abs=1e-9)
    assert total((1,), (2,), ()) == pytest.approx(chain, rel=1e-9, abs=1e-9)
    full = [total((), (0,), (0, 1)), total((1, 2), (2,), ()), total((2,), (0, 2), ())]
    assert full == pytest.approx(full[:1] * 3, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
@given(data=tables(), seed=st.integers(0, 9))
def test_order_of_rows_and_states_does_not_matter(score, data, seed):
    rng = np.random.default_rng(seed)
    expected = score_family(data, 0, (1, 2), score)
    codes = rng.permutation(data.codes)
    assert score_family(
        make(codes, data.cardinalities), 0, (1, 2), score
    ) == pytest.approx(expected, abs=1e-9)
    relabelled = np.stack(
        [
            rng.permutation(int(r))[codes[:, v]]
            for v, r in enumerate(data.cardinalities)
        ],
        axis=1,
    )
    assert score_family(
        make(relabelled, data.cardinalities), 0, (2, 1), score
    ) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
@given(data=tables(), draw=st.data())
def test_weights_are_repeated_rows(score, data, draw):
    repeats = st.lists(st.integers(1, 3), min_size=data.n_rows, max_size=data.n_rows)
    weights = np.array(draw.draw(repeats))
    repeated = make(np.repeat(data.codes, weights, axis=0), data.cardinalities)
    weighted = make(data.codes, data.cardinalities, weights.astype(np.float64))
    assert score_family(weighted, 0, (1,), score) == pytest.approx(
        score_family(repeated, 0, (1,), score), abs=1e-9
    )


def test_likelihood_scores_equal_a_peer(pyagrum):
    """Only BIC and log-likelihood, in base 2: the peer's log-gamma is approximate."""
    rng = np.random.default_rng(5)
    codes = np.minimum(
        rng.integers(0, (2, 3, 4, 2), (300, 4)), rng.integers(0, 4, (300, 4))
    )
    data = make(codes, (2, 3, 4, 2))
    frame = pd.DataFrame(
        {
            name: np.array(data.states[v])[codes[:, v]]
            for v, name in enumerate(data.names)
        }
    )
    net = pyagrum.BayesNet()
    for name, states in zip(data.names, data.states, strict=True):
        net.add(pyagrum.LabelizedVariable(name, name, list(states)))
    learner = pyagrum.BNLearner(frame, net)
    for choose, score in (
        (learner.useScoreBIC, BIC()),
        (learner.useScoreLog2Likelihood, PenalisedLikelihood(0)),
    ):
        choose()
        learner.useNoPrior()
        for child, size in itertools.product(range(4), range(4)):
            for parents in itertools.combinations(
                [p for p in range(4) if p != child], size
            ):
                peer = learner.score(
                    data.names[child], [data.names[p] for p in parents]
                )
                ours = score_family(data, child, parents, score)
                assert ours == pytest.approx(peer * math.log(2), rel=1e-9)


def test_names_of_scores():
    assert parse_score("BDeu", ess=3) == BDeu(3)
    assert parse_score("bic") == BIC()
    assert parse_score("aic") == AIC()
    assert parse_score("penalised", size_weight=0.5) == PenalisedLikelihood(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parse_score("bge"), "expected one of bdeu, bic, aic, penalised"),
        (lambda: parse_score("penalised"), "needs the weight lambda"),
        (lambda: BDeu(0), "above 0, found 0"),
        (lambda: BDeu(math.nan), "above 0, found nan"),
        (
            lambda: PenalisedLikelihood(1.5),
            "'size_weight': expected a number from 0 to 1, found 1.5",
        ),
    ],
)
def test_wrong_options_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_bic_of_less_than_one_row_is_refused():
    with pytest.raises(DataError, match="at least 1"):
        BIC().penalty(2, 1.0, 0.5)


def test_trade_offs_of_bic_and_aic():
    """The penalised likelihood is a positive multiple of BIC, and of AIC, for the right lambda."""
    data = make(np.random.default_rng(0).integers(0, 2, (50, 3)), (2, 2, 2))
    size_weight = math.log(50) / (2 + math.log(50))
    for parents in ((), (1,), (1, 2)):
        bic = score_family(data, 0, parents, BIC())
        assert score_family(
            data, 0, parents, PenalisedLikelihood(size_weight)
        ) == pytest.approx((1 - size_weight) * bic)
        aic = score_family(data, 0, parents, AIC())
        assert score_family(
            data, 0, parents, PenalisedLikelihood(0.5)
        ) == pytest.approx(aic / 2)
