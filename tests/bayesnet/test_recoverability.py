"""Recoverability: every formula against the exact distribution of what incomplete rows show."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.em import fit_with_indicators, without_indicators
from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.recoverability import recoverability
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import ArgumentError, DataError, OptionError
from tests.missingness_oracle import exact_rows, observed_rows, with_indicators
from tests.network_oracle import joint, random_network

SEEDS = st.integers(0, 10**9)


def positive_network(rng, n, **options):
    """Return a network without zeros."""
    network = random_network(rng, n, **options)
    return type(network)(
        network.names,
        network.states,
        network.parents,
        tuple(0.1 / table.shape[-1] + 0.9 * table for table in network.tables),
    )


def random_graph(rng, names, *, p_self=0.15, p_cause=0.35, p_indicator=0.35):
    """Return a missingness graph over some of the variables."""
    incomplete = [str(v) for v in rng.permutation(names) if rng.random() < 0.75]
    causes = {
        v: tuple(u for u in names if rng.random() < (p_self if u == v else p_cause))
        for v in incomplete
    }
    indicators = {
        v: tuple(u for u in incomplete[:k] if rng.random() < p_indicator)
        for k, v in enumerate(incomplete)
    }
    return MissingnessGraph(causes, indicators)


@given(SEEDS, st.integers(2, 4))
@settings(max_examples=300)
def test_recoverable_parameters_are_exact_on_all_rows(seed, n):
    """The rows are the exact distribution of the observed data."""
    rng = np.random.default_rng(seed)
    network = positive_network(rng, n, most_states=2 if n > 3 else 3)
    p_indicator = rng.choice([0.0, 0.35, 0.7])
    graph = random_graph(rng, network.names, p_indicator=p_indicator)
    rows = exact_rows(network, graph, with_indicators(network, graph, rng))
    fit = fit_by_missingness_graph(rows, network.parents, graph, smoothing=0.0)
    for truth, table, family in zip(
        network.tables, fit.model.tables, fit.families, strict=True
    ):
        if family.recovery.is_recoverable:
            np.testing.assert_allclose(
                table,
                truth,
                atol=1e-10,
                err_msg=f"{graph}\n{family.recovery.formula()}",
            )
            assert set(family.weights) == {"graph"}


def kinds(parents, text, n=None):
    names = ("a", "b", "c", "d")[: n or len(parents)]
    return [
        f.kind for f in recoverability(parents, names, MissingnessGraph.parse(text))
    ]


def test_figure_4_of_the_deletion_paper():
    """Its ratio, summed over Y for the family of X; for Y given X one propensity cancels."""
    graph = MissingnessGraph.parse("X <- Y; Y <- X")
    x, y = recoverability([(), (0,)], ("X", "Y"), graph)
    assert x.formula() == (
        "P(X) = sum over Y of P(X, Y, R_X = ob, R_Y = ob) / "
        "[P(R_X = ob | Y, R_Y = ob) P(R_Y = ob | X, R_X = ob)]"
    )
    assert y.formula() == (
        "P(Y | X) is proportional to P(Y, X, R_X = ob, R_Y = ob) / [P(R_X = ob | Y, R_Y = ob)]"
    )


def test_an_income_that_is_hidden_by_itself_is_not_recoverable():
    """The lecture's Figure 6: those with much money do not say how much."""
    graph = MissingnessGraph.parse("income <- income")
    age, income = recoverability([(), (0,)], ("age", "income"), graph)
    assert age.kind == "frequencies"
    assert income.kind == "not recoverable"
    assert income.reason == "because income masks itself (income -> R_income)"
    assert "not recoverable, because income masks itself" in income.formula()


@pytest.mark.parametrize(
    ("parents", "text", "expected"),
    [
        # A self-masked parent does no harm to its children ...
        ([(), (0,)], "a <- a", ["not recoverable", "available cases"]),
        # ... but it does where its missing cells depend on them, too.
        ([(), (0,)], "a <- a, b", ["not recoverable", "not recoverable"]),
        ([(), (0,)], "a <- b", ["separators", "separators"]),
        ([(), (0,)], "b <- a", ["frequencies", "available cases"]),
        ([(1,), ()], "b <- a", ["separators", "separators"]),
        ([(), (0,)], "a <-; b <- a", ["available cases", "available cases"]),
        ([(1,), ()], "a <-; b <- a", ["inverse probability"] * 2),
        # A self-masked cause that does not depend on the child cancels.
        (
            [(), (0,), (1,)],
            "a <- a; b <- c; c <- a",
            ["not recoverable", "inverse probability", "inverse probability"],
        ),
        ([(), (0,), (1,)], "a <- b; b <- c; c <- a", ["inverse probability"] * 3),
        ([(1,), ()], "a <-; b <- a, missing(a)", ["inverse probability"] * 2),
        ([(), ()], "a <-; b <- a", ["available cases", "available cases"]),
        (
            [(), (0,), (1,)],
            "c <- b; b <- a",
            ["frequencies", "available cases", "available cases"],
        ),
        ([(), ()], "a <- b; b <- a, missing(a)", ["available cases", "no criterion"]),
        (
            [(1,), ()],
            "a <- b; b <- a, missing(a)",
            ["inverse probability", "no criterion"],
        ),
        ([(), (0,)], "b <- a; a <- missing(b)", ["no criterion", "available cases"]),
    ],
)
def test_which_criterion_applies(parents, text, expected):
    assert kinds(parents, text) == expected


def law_of_what_is_observed(network, graph, missing):
    """Return the probability of each row that data can have, given the indicators' tables."""
    extended = with_indicators(network, graph, np.random.default_rng(0))
    n = len(network.names)
    tables = [np.stack([1 - np.array(m), np.array(m)], axis=-1) for m in missing]
    rows = exact_rows(
        network, graph, replace(extended, tables=(*extended.tables[:n], *tables))
    )
    law = defaultdict(float)
    for codes, weight in zip(rows.codes.tolist(), rows.weights, strict=True):
        law[tuple(codes)] += weight
    return law


def two_networks(parents, tables, others):
    names, states = ("a", "b")[: len(parents)], (("no", "yes"),) * len(parents)
    return [
        BayesianNetwork(names, states, parents, tuple(map(np.array, some)))
        for some in (tables, others)
    ]


def check_not_recoverable(networks, text, missing, child):
    """Check that two models show the same and have different parameters of a variable."""
    graph = MissingnessGraph.parse(text)
    one, two = (
        law_of_what_is_observed(network, graph, tables)
        for network, tables in zip(networks, missing, strict=True)
    )
    assert one.keys() == two.keys()
    assert all(abs(one[row] - two[row]) < 1e-12 for row in one)
    assert all(np.min(m) >= 0 and np.max(m) <= 1 for tables in missing for m in tables)
    assert abs(networks[0].tables[child] - networks[1].tables[child]).max() > 0.005
    parents, names = networks[0].parents, networks[0].names
    assert recoverability(parents, names, graph)[child].kind == "not recoverable"


def test_two_models_of_a_variable_that_masks_itself():
    """P(a, observed) is (0.3, 0.2) in both."""
    networks = two_networks(((),), ([0.6, 0.4],), ([0.4, 0.6],))
    check_not_recoverable(networks, "a <- a", [[[1 / 2, 1 / 2]], [[1 / 4, 2 / 3]]], 0)


def test_a_self_masked_parent_may_leave_its_child_unidentified():
    """P(a, b, a observed) is the same, and so is P(b, a missing), divided otherwise among a."""
    seen = np.array([[0.2, 0.1], [0.1, 0.15]])
    unseen = [np.array([[0.1, 0.05], [0.2, 0.1]]), np.array([[0.2, 0.05], [0.1, 0.1]])]
    models = []
    for lost in unseen:
        joint = seen + lost
        models.append(
            (joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True), lost / joint)
        )
    networks = two_networks(((), (0,)), models[0][:2], models[1][:2])
    check_not_recoverable(networks, "a <- a, b", [[model[2]] for model in models], 1)


def test_mcar_and_mar_graphs_agree_with_deletion_estimates():
    """MCAR with direct deletion, MAR with informed deletion."""
    rng = np.random.default_rng(3)
    network = positive_network(rng, 5)
    names = network.names
    data = network.sample(2000, rng)
    codes = data.codes.copy()
    codes[rng.random(len(codes)) < 0.3, 0] = -1
    mcar = fit_by_missingness_graph(
        replace(data, codes=codes), network.parents, MissingnessGraph({names[0]: ()})
    )
    direct = fit_deletion(replace(data, codes=codes), network.parents, method="d-mcar")
    for one, two in zip(mcar.model.tables, direct.model.tables, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    child = next(v for v, family in enumerate(network.parents) if family)
    parent, codes = network.parents[child][0], data.codes.copy()
    hidden = rng.random(len(codes)) < np.where(codes[:, child] == 0, 0.6, 0.1)
    codes[hidden, parent] = -1
    table, graph = (
        replace(data, codes=codes),
        MissingnessGraph({names[parent]: (names[child],)}),
    )
    mar = fit_by_missingness_graph(table, network.parents, graph, smoothing=0.0)
    how = {"method": "id-mar", "separators": [names[child]], "smoothing": 0.0}
    informed = fit_deletion(table, network.parents, **how)
    for v, family in enumerate(mar.families):
        if family.recovery.kind in ("separators", "frequencies"):
            np.testing.assert_allclose(
                mar.model.tables[v], informed.model.tables[v], rtol=1e-12
            )
    assert "separators" in {family.recovery.kind for family in mar.families}


def kl_divergence(network, estimate):
    """Return the divergence of an estimate from a network, by the full joint distributions."""
    true, found = joint(network), joint(estimate)
    return float((true * np.log(true / found)).sum())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x0 <- x1; x1 <- x0", "inverse probability"),
        ("x0 <- x1; x1 <-", "inverse probability"),
    ],
)
def test_the_estimate_is_consistent_where_available_cases_fail(text, kind):
    rng = np.random.default_rng(5)
    network = BayesianNetwork(
        ("x0", "x1"), (("0", "1"),) * 2, ((), (0,)),
        (np.array([0.4, 0.6]), np.array([[0.8, 0.2], [0.3, 0.7]])),
    )  # fmt: skip
    graph = MissingnessGraph.parse(text)
    extended = with_indicators(network, graph, rng)
    found = {}
    for rows in (1_000, 300_000):
        data = observed_rows(extended.sample(rows, rng), network, graph)
        fit = fit_by_missingness_graph(data, network.parents, graph)
        assert kind in [family.recovery.kind for family in fit.families]
        naive = fit_deletion(data, network.parents, method="aca")
        em = fit_with_indicators(data, network.parents, graph, tolerance=1e-9).model
        models = (fit.model, naive.model, without_indicators(em, graph))
        found[rows] = [kl_divergence(network, model) for model in models]
    assert found[300_000][0] < 1e-4 < found[300_000][1]
    assert found[300_000][2] < 1e-4
    assert found[300_000][0] < found[1_000][0]


GRAPHS = (
    "",
    "x0 <- x1; x1 <- x0",
    "x0 <- missing(x1); x1 <- x0",
    "x0 <- x2; x1 <-",
    "x0 <- x0, x1",
)


@given(SEEDS, st.sampled_from(GRAPHS))
@settings(max_examples=40)
def test_weights_count_rows_and_few_rows_give_distributions(seed, text):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 3)
    graph = MissingnessGraph.parse(text)
    data = network.sample(int(rng.integers(1, 12)), rng)
    codes = data.codes.copy()
    for name in graph.variables:
        codes[
            rng.random(len(codes)) < rng.choice([0.3, 1.0]), network.names.index(name)
        ] = -1
    data = replace(data, codes=codes)
    times = rng.integers(0, 3, len(codes))
    weighted = replace(data, weights=times.astype(float))
    repeated = replace(data, codes=codes.repeat(times, axis=0))
    for smoothing in (0.0, 1.0):
        one, two = (
            fit_by_missingness_graph(rows, network.parents, graph, smoothing=smoothing)
            for rows in (weighted, repeated)
        )
        for a, b in zip(one.model.tables, two.model.tables, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)
            np.testing.assert_allclose(a.sum(axis=-1), 1.0)
        for f, g in zip(one.families, two.families, strict=True):
            assert f.rows == pytest.approx(g.rows)
            assert f.weights == pytest.approx(g.weights)
            assert 0 <= f.rows <= times.sum()
            assert sum(f.weights.values()) <= times.sum() + 1e-9


def test_a_family_that_no_row_observes_is_recovered_from_others():
    """a and b are never observed together; both depend on c alone."""
    codes = [[0, -1, 0], [1, -1, 1], [-1, 0, 0], [-1, 1, 1], [0, -1, 0], [-1, 1, 0]]
    data = Dataset(np.array(codes), ("a", "b", "c"), (("0", "1"),) * 3)
    fit = fit_by_missingness_graph(
        data, [(2,), (2,), ()], "a <- c; b <- c", smoothing=0.0
    )
    np.testing.assert_allclose(fit.model.tables[1], [[0.5, 0.5], [0.0, 1.0]])
    assert fit.families[1].weights == {"graph": 3.0}


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        ("a <- d", OptionError, "'d' is no variable"),
        ("c <-", DataError, "add the statement 'a <- ...'"),
        (3, ArgumentError, "expected a MissingnessGraph or its text"),
    ],
)
def test_graphs_that_do_not_fit_the_table(graph, error, message):
    data = Dataset(
        np.array([[0, 0, 0], [-1, 1, 1]]), ("a", "b", "c"), (("0", "1"),) * 3
    )
    with pytest.raises(error, match=message):
        fit_by_missingness_graph(data, [(), (), ()], graph)
