"""Deletion estimators, against the paper's table of rows, plain loops, and simulation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from exactlearn.bayesnet.complete_data import fit_complete, full_counts, smoothed
from exactlearn.bayesnet.deletion import DELETION_METHODS, fit_deletion
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.separators import learned_separators
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import DataError, OptionError, TooLargeError
from tests.network_oracle import random_network

SEEDS = st.integers(0, 10**6)
METHODS = st.sampled_from(DELETION_METHODS)
AGGREGATIONS = ("mean", "inverse-variance")


# The paper's Tables 9 to 11: 36 rows over X, Y, W, Z in blocks of four, (W, Z) in order in each.
BLOCKS = [(0, 0), (0, 1), (1, 0), (1, 1), (0, -1), (1, -1), (-1, 0), (-1, 1), (-1, -1)]
TABLE_9 = [(x, y, w, z) for x, y in BLOCKS for w, z in product((0, 1), repeat=2)]
WEIGHTS = np.random.default_rng(1).integers(1, 50, 36).astype(float)
PAPER = Dataset(np.array(TABLE_9), ("X", "Y", "W", "Z"), (("0", "1"),) * 4, WEIGHTS)


def weight(*rows: int) -> float:
    """Return the weight of rows, by their numbers in Table 9."""
    return float(WEIGHTS[np.array(rows) - 1].sum())


def conditional(joint: np.ndarray) -> np.ndarray:
    return joint / joint.sum(axis=-1, keepdims=True)


def x_given_w(method: str):
    """Estimate P(X | W) from Table 9 without smoothing."""
    fit = fit_deletion(
        PAPER, [(2,), (), (), ()], method=method, smoothing=0.0, aggregation="mean"
    )
    return fit.model.tables[0], fit.families[0]


def test_table_10_listwise_deletion_uses_rows_1_to_16():
    listed = {(0, 0): (1, 2, 5, 6), (0, 1): (9, 10, 13, 14),
              (1, 0): (3, 4, 7, 8), (1, 1): (11, 12, 15, 16)}  # fmt: skip
    joint = np.array([[weight(*listed[w, x]) for x in (0, 1)] for w in (0, 1)])
    table, family = x_given_w("cca")
    np.testing.assert_allclose(table, conditional(joint), rtol=1e-14)
    assert family.rows == weight(*range(1, 17))


DIRECT = {(0, 0): (1, 2, 5, 6, 17, 18), (0, 1): (9, 10, 13, 14, 21, 22),
          (1, 0): (3, 4, 7, 8, 19, 20), (1, 1): (11, 12, 15, 16, 23, 24)}  # fmt: skip


@pytest.mark.parametrize("method", ["aca", "d-mcar"])
def test_table_10_direct_deletion_uses_rows_1_to_24(method):
    joint = np.array([[weight(*DIRECT[w, x]) for x in (0, 1)] for w in (0, 1)])
    table, family = x_given_w(method)
    np.testing.assert_allclose(table, conditional(joint), rtol=1e-14)
    assert family.rows == family.observed == weight(*range(1, 25))


def test_table_10_factored_deletion_uses_all_rows():
    direct = np.array([[weight(*DIRECT[w, x]) for x in (0, 1)] for w in (0, 1)])
    with_w = [[r for r in range(1, 37) if TABLE_9[r - 1][2] == w] for w in (0, 1)]
    assert with_w[1] == [
        3,
        4,
        7,
        8,
        11,
        12,
        15,
        16,
        19,
        20,
        23,
        24,
        27,
        28,
        31,
        32,
        35,
        36,
    ]
    p_w = np.array([weight(*rows) for rows in with_w]) / weight(*range(1, 37))
    w_first = conditional(direct) * p_w[:, np.newaxis]  # P(x | w, ob) P(w)
    x_first = direct / direct.sum()  # P(w | x, ob) P(x | ob)
    table, family = x_given_w("f-mcar")
    np.testing.assert_allclose(table, conditional((w_first + x_first) / 2), rtol=1e-14)
    assert family.rows == weight(*range(1, 37))


def places(block: int, wz: int) -> int:
    """Return the number of the row of a block of Table 9 with a configuration of (W, Z)."""
    return 4 * block + wz + 1


def test_table_11_direct_deletion_weights_rows_1_to_16_by_all():
    joint = np.zeros((2, 2))
    for wz in range(4):
        cells = np.array(
            [[weight(places(2 * x + y, wz)) for y in (0, 1)] for x in (0, 1)]
        )
        joint += cells / cells.sum() * weight(*(places(b, wz) for b in range(9)))
    fit = fit_deletion(PAPER, [(), (0,), (), ()], method="d-mar", smoothing=0.0)
    np.testing.assert_allclose(fit.model.tables[1], conditional(joint), rtol=1e-13)
    assert fit.families[1].rows == weight(*range(1, 37))
    assert fit.families[1].observed == weight(*range(1, 17))
    assert fit.unsupported == ()


def test_table_11_factored_deletion():
    """Rows 5-8, 13-16, 29-32 for y, rows 9-16, 21-24 for x; both factorisations, their mean."""
    joint = np.zeros((2, 2))
    for wz in range(4):
        cells = np.array(
            [[weight(places(2 * x + y, wz)) for y in (0, 1)] for x in (0, 1)]
        )
        p_x = np.array(
            [weight(*(places(b, wz) for b in bs)) for bs in ((0, 1, 4), (2, 3, 5))]
        )
        p_y = np.array(
            [weight(*(places(b, wz) for b in bs)) for bs in ((0, 2, 6), (1, 3, 7))]
        )
        x_first = conditional(cells) * (p_x / p_x.sum())[:, np.newaxis]
        y_first = cells / cells.sum(axis=0) * (p_y / p_y.sum())
        joint += (x_first + y_first) / 2 * weight(*(places(b, wz) for b in range(9)))
    fit = fit_deletion(
        PAPER, [(), (0,), (), ()], method="f-mar", smoothing=0.0, aggregation="mean"
    )
    np.testing.assert_allclose(fit.model.tables[1], conditional(joint), rtol=1e-13)
    assert fit.families[1].rows == weight(*range(1, 37))


@pytest.mark.parametrize(
    ("method", "mean"),
    [("cca", 31 / 11), ("aca", 31 / 11), ("d-mcar", 31 / 11), ("d-mar", 68 / 22),
     ("f-mar", 68 / 22)],
)  # fmt: skip
def test_wind_velocities_of_the_lecture(method, mean):
    """Freiburg slides, Figure 5: velocities that depend on the height, as does what is missing."""
    velocities = {0: "-2-3131-2", 1: "-4-3", 2: "-4-5--3--"}
    codes = [
        [-1 if v == "-" else int(v) - 1, height]
        for height, vs in velocities.items()
        for v in vs
    ]
    data = Dataset(np.array(codes), ("v", "h"), (tuple("12345"), tuple("012")))
    fit = fit_deletion(data, [(), (0,)], method=method, smoothing=0.0)
    assert fit.model.tables[0] @ [1, 2, 3, 4, 5] == pytest.approx(mean, rel=1e-14)


# The brute-force twin: dictionaries and loops over rows.


def loop_weights(rows, variables):
    """Return the weight of each configuration of some variables in the rows that observe them."""
    found: dict[tuple[int, ...], float] = {}
    for codes, w in rows:
        key = tuple(codes[v] for v in variables)
        if min(key, default=0) >= 0 and w > 0:
            found[key] = found.get(key, 0.0) + w
    return found


def loop_direct(rows, variables, data, aggregation):
    found = loop_weights(rows, variables)
    total = sum(found.values())
    return {key: w / total for key, w in found.items()} if total else None


def loop_factored(rows, variables, data, aggregation, smoothing=0.0):
    """Estimate by the lattice, node by node from above, without sharing anything."""

    def node(subset):
        if not subset:
            return {(): 1.0}, 0.0
        states = [range(len(data.states[u])) for u in subset]
        seen = dict.fromkeys(product(*states), smoothing)
        for key, w in loop_weights(rows, subset).items():
            seen[key] += w
        n = sum(seen.values())
        edges = []
        for v in subset:
            below = [u for u in subset if u != v]
            estimate, variance = node(below)
            given = {}
            for key, w in seen.items():
                rest = tuple(k for k, u in zip(key, subset, strict=True) if u != v)
                given.setdefault(rest, []).append((key, w))
            edge = {}
            for rest, cells in given.items():
                total = sum(x for _, x in cells)
                for key, w in cells:
                    edge[key] = estimate[rest] * w / total if total else 0.0
            size = np.prod([len(data.states[u]) for u in subset])
            fewer = np.prod([len(data.states[u]) for u in below])
            edges.append((edge, variance + ((size - fewer) / n if n else 0.0)))
        values = {key: [edge[key] for edge, _ in edges] for key in seen}
        variances = np.array([v for _, v in edges])
        weights = np.ones(len(edges)) / len(edges)
        if aggregation == "inverse-variance":
            weights = 1 / np.maximum(variances, 1e-30)
            weights /= weights.sum()
        if aggregation == "median":
            return {k: float(np.median(x)) for k, x in values.items()}, variances.mean()
        return {k: float(weights @ x) for k, x in values.items()}, float(
            weights @ variances
        )

    estimate, _ = node(list(variables))
    total = sum(estimate.values())
    return {key: p / total for key, p in estimate.items()} if total else None


def loop_table(data, child, parents, method, smoothing, aggregation, separators=None):
    rows = [
        (c, w)
        for c, w in zip(data.codes.tolist(), data.row_weights, strict=True)
        if w > 0
    ]
    family = [*parents, child]
    joint = np.zeros([len(data.states[v]) for v in family])
    available = sum(loop_weights(rows, family).values())
    full = [v for v in range(data.n_variables) if all(c[v] >= 0 for c, _ in rows)]
    if method == "cca":
        complete = [(c, w) for c, w in rows if min(c) >= 0]
        rows = complete or rows
        available = sum(loop_weights(rows, family).values())
    distribution = loop_factored if "f-" in method else loop_direct
    if all(v in full for v in family):
        distribution = loop_direct
    elif method in ("f-mar", "if-mar"):
        available = sum(w for _, w in rows)
    if method == "f-mcar" and not all(v in full for v in family):
        rows = [r for r in rows if max(r[0][v] for v in family) >= 0]
        for key, p in (
            (rows and loop_factored(rows, family, data, aggregation, smoothing)) or {}
        ).items():
            joint[key] += p
        smoothing = 0.0
    elif not method.endswith("-mar"):
        for key, p in (distribution(rows, family, data, aggregation) or {}).items():
            joint[key] += p
    else:
        members = [v for v in family if v not in full]
        own = [v for v in family if v in full]
        conditions = full if separators is None else sorted({*separators, *own})
        contexts = {}
        for codes, w in rows:
            contexts.setdefault(tuple(codes[v] for v in conditions), []).append(
                (codes, w)
            )
        for context in contexts.values():
            mass = sum(w for _, w in context)
            alike = [r for r in rows if all(r[0][v] == context[0][0][v] for v in own)]
            shares = distribution(context, members, data, aggregation)
            if distribution is loop_factored:
                shares = (
                    shares
                    or loop_factored(alike, members, data, aggregation, smoothing)
                    or {}
                )
            else:
                shares = shares or loop_direct(alike, members, data, aggregation) or {}
            for key, p in shares.items():
                at = dict(zip(members, key, strict=True))
                joint[tuple(at.get(v, context[0][0][v]) for v in family)] += mass * p
    if joint.any():
        joint *= (available or 1.0) / joint.sum()
    table = np.empty_like(joint)
    for where in np.ndindex(joint.shape[:-1]):
        total = joint[where].sum() + smoothing * joint.shape[-1]
        table[where] = (
            (joint[where] + smoothing) / total if total else 1 / joint.shape[-1]
        )
    return table


def incomplete(seed: int, rows: int, share: float = 0.3, n: int = 4):
    """Return a random network, and weighted rows of it, in which some variables lack cells."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n, most_parents=3)
    data = network.sample(rows, rng)
    codes = data.codes.copy()
    lacking = rng.random(codes.shape) < share
    lacking[:, rng.random(n) < 0.4] = False
    codes[lacking] = -1
    return network, replace(
        data, codes=codes, weights=rng.integers(0, 4, rows).astype(float)
    )


@given(
    SEEDS, METHODS, st.sampled_from(AGGREGATIONS), st.integers(0, 40),
    st.sampled_from([0.2, 0.5, 0.9]), st.sampled_from([0.0, 0.7]),
)  # fmt: skip
@settings(max_examples=250)
def test_tables_are_those_of_plain_loops(
    seed, method, aggregation, rows, share, smoothing
):
    network, data = incomplete(seed, rows, share)
    separators = None
    if method.startswith("i"):
        full = np.flatnonzero((data.codes[data.row_weights > 0] >= 0).all(axis=0))
        separators = [int(v) for v in full if (seed + v) % 3]
    fit = fit_deletion(
        data, network.parents, method=method, smoothing=smoothing, aggregation=aggregation,
        separators=separators,
    )  # fmt: skip
    for child, parents in enumerate(network.parents):
        expected = loop_table(
            data, child, parents, method, smoothing, aggregation, separators
        )
        np.testing.assert_allclose(
            fit.model.tables[child], expected, rtol=1e-9, atol=1e-12
        )


@given(SEEDS, st.sampled_from(["d-mar", "f-mar"]))
@settings(max_examples=40)
def test_informed_by_all_observed_variables_is_not_informed(seed, method):
    network, data = incomplete(seed, 40)
    full = np.flatnonzero((data.codes[data.row_weights > 0] >= 0).all(axis=0))
    uninformed = fit_deletion(data, network.parents, method=method)
    names = [data.names[v] for v in full]
    informed = fit_deletion(
        data, network.parents, method=f"i{method}", separators=names
    )
    assert_alike(informed.model, uninformed.model)


def assert_alike(a: BayesianNetwork, b: BayesianNetwork) -> None:
    for first, second in zip(a.tables, b.tables, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-11, atol=1e-13)


@given(SEEDS, METHODS)
@settings(max_examples=60)
def test_order_and_repetition_of_rows_change_nothing(seed, method):
    network, data = incomplete(seed, 30)
    fit = fit_deletion(data, network.parents, method=method)
    order = np.random.default_rng(seed).permutation(30)
    permuted = replace(data, codes=data.codes[order], weights=data.row_weights[order])
    assert_alike(
        fit_deletion(permuted, network.parents, method=method).model, fit.model
    )
    times = data.row_weights.astype(int)
    repeated = replace(data, codes=np.repeat(data.codes, times, axis=0), weights=None)
    again = fit_deletion(repeated, network.parents, method=method)
    assert_alike(again.model, fit.model)
    assert [f.rows for f in again.families] == [f.rows for f in fit.families]


@given(SEEDS, METHODS, st.sampled_from([0.0, 1.0]))
@settings(max_examples=40)
def test_without_missing_cells_all_are_the_smoothed_frequencies(
    seed, method, smoothing
):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    data = network.sample(25, rng)
    fit = fit_deletion(data, network.parents, method=method, smoothing=smoothing)
    assert_alike(fit.model, fit_complete(data, network.parents, smoothing=smoothing))
    assert [f.rows for f in fit.families] == [25.0] * 4
    assert fit.unsupported == ()


@given(SEEDS)
@settings(max_examples=20)
def test_available_cases_have_two_names(seed):
    network, data = incomplete(seed, 30)
    for method in ("aca", "d-mcar"):
        fit = fit_deletion(data, network.parents, method=method, smoothing=0.5)
        for v, (table, parents) in enumerate(
            zip(fit.model.tables, network.parents, strict=True)
        ):
            assert (
                table.tolist() == smoothed(full_counts(data, v, parents), 0.5).tolist()
            )


def chain() -> BayesianNetwork:
    """Return b -> a, b -> c, with strong arcs."""
    tables = (
        np.array([[0.9, 0.1], [0.2, 0.8]]),
        np.array([0.6, 0.4]),
        np.array([[0.7, 0.3], [0.1, 0.9]]),
    )
    return BayesianNetwork(("a", "b", "c"), (("n", "y"),) * 3, ((1,), (), (1,)), tables)


def largest_error(method: str, mechanism: str, **options) -> float:
    """Return the largest error of a parameter of the chain in 200,000 rows."""
    rng = np.random.default_rng(0)
    data = chain().sample(200_000, rng)
    codes = data.codes.copy()
    rate = 0.3 if mechanism == "mcar" else np.where(data.codes[:, 0] == 0, 0.8, 0.2)
    for v in (1, 2):
        codes[rng.random(data.n_rows) < rate, v] = -1
    data = replace(data, codes=codes)
    fit = fit_deletion(data, chain().parents, method=method, smoothing=0.0, **options)
    pairs = zip(fit.model.tables, chain().tables, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


@pytest.mark.parametrize("method", DELETION_METHODS)
def test_all_are_consistent_under_mcar(method):
    assert largest_error(method, "mcar") < 0.008


@pytest.mark.parametrize("method", DELETION_METHODS)
def test_those_for_mar_alone_are_consistent_under_mar(method):
    error = largest_error(method, "mar")
    assert error < 0.008 if method.endswith("-mar") else error > 0.03


def test_table_11_informed_deletion_sums_over_w_alone():
    """Rows 1-16 by W, weighted by all rows with that W."""
    joint = np.zeros((2, 2))
    for w in (0, 1):
        rows = [
            [[places(2 * x + y, 2 * w + z) for z in (0, 1)] for y in (0, 1)]
            for x in (0, 1)
        ]
        cells = np.array([[weight(*zs) for zs in ys] for ys in rows])
        joint += (
            cells
            / cells.sum()
            * weight(*(places(b, 2 * w + z) for b in range(9) for z in (0, 1)))
        )
    graph = MissingnessGraph({"X": ("W",), "Y": ("W",)})
    for separators in (["W"], [2], graph):
        fit = fit_deletion(
            PAPER,
            [(), (0,), (), ()],
            method="id-mar",
            smoothing=0.0,
            separators=separators,
        )
        np.testing.assert_allclose(fit.model.tables[1], conditional(joint), rtol=1e-13)
        assert fit.families[1].rows == weight(*range(1, 37))
        assert fit.families[1].separators == ("W",)


@pytest.mark.parametrize("method", ["id-mar", "if-mar"])
def test_a_set_that_does_not_separate_is_inconsistent(method):
    """In the chain under MAR the cells of b and c depend on a, which {} leaves out."""
    assert largest_error(method, "mar", separators=[]) > 0.03


def test_learned_separators_are_the_causes():
    rng = np.random.default_rng(3)
    network = random_network(rng, 7)
    data = network.sample(20_000, rng)
    codes = data.codes.copy()
    driven = {5: (0, 2), 6: ()}
    for v, causes in driven.items():
        rate = 0.2 + sum(0.3 * (data.codes[:, c] == 0) for c in causes)
        codes[rng.random(data.n_rows) < rate, v] = -1
    data = replace(data, codes=codes)
    for v, causes in driven.items():
        assert learned_separators(data, v, np.arange(5)) == frozenset(causes)


@given(SEEDS, st.integers(0, 40))
@settings(max_examples=60)
def test_learned_separators_are_those_of_plain_loops(seed, rows):
    _, data = incomplete(seed, rows, n=5)
    data = data.part(data.row_weights > 0)
    full = [v for v in range(5) if (data.codes[:, v] >= 0).all()]
    n = max(float(data.row_weights.sum()), 1.0)

    def score(v, chosen):
        counts: dict[tuple[int, ...], np.ndarray] = {}
        for codes, w in zip(data.codes.tolist(), data.row_weights, strict=True):
            cell = counts.setdefault(tuple(codes[u] for u in chosen), np.zeros(2))
            cell[int(codes[v] < 0)] += w
        fit = sum(float(xlogy(c, c / c.sum()).sum()) for c in counts.values())
        return fit - 0.5 * np.log(n) * len(counts)

    for v in set(range(5)) - set(full):
        chosen: list[int] = []
        while True:
            scores = {u: score(v, [*chosen, u]) for u in full if u not in chosen}
            best = max(scores, key=lambda u: scores[u], default=-1)
            if best < 0 or scores[best] <= score(v, chosen) + 1e-9:
                break
            chosen.append(best)
        found = learned_separators(data, v, np.array(full, int))
        assert score(v, sorted(found)) == pytest.approx(
            score(v, chosen), rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize(
    ("method", "separators", "kind", "message"),
    [
        ("d-mar", ["a"], OptionError, "'d-mar' takes none; use 'id-mar'"),
        ("id-mar", ["aa"], OptionError, "separators: no variable 'aa'.*did you mean 'a'"),
        ("id-mar", [7], OptionError, "no variable 7; expected a name, or an index from 0 to 2"),
        ("if-mar", ["b"], OptionError,
         r"separator 'b' has 2 missing cells, the first in row 2 \(index 1\)"),
        ("id-mar", MissingnessGraph({"b": ("c",), "c": ()}), OptionError,
         "separator 'c' has 1 missing cells"),
        ("id-mar", MissingnessGraph({"b": ("a",)}), DataError,
         r"'c', row 3 \(index 2\): a missing cell"),
        ("id-mar", MissingnessGraph({"b": (), "c": (), "x": ()}), OptionError,
         "'x' is no variable"),
    ],
)  # fmt: skip
def test_unusable_separators_are_refused(method, separators, kind, message):
    data = table([[0, 0, 0], [0, -1, 0], [1, -1, -1]])
    with pytest.raises(kind, match=message):
        fit_deletion(data, [(), (), ()], method=method, separators=separators)


def test_causes_through_other_indicators_separate():
    graph = MissingnessGraph({"b": ("a",), "c": ()}, {"c": ("b",)})
    data = table([[0, 0, 0], [1, -1, -1], [0, 0, 0], [1, 1, 1]])
    fit = fit_deletion(data, [(), (), ()], method="id-mar", separators=graph)
    assert [f.separators for f in fit.families] == [None, ("a",), ("a",)]


def test_pseudo_counts_support_a_family_that_no_row_observes():
    """Of P(b | a) the rows say nothing, of P(a) and P(b) they do."""
    data = table([[0, -1]] * 6 + [[1, -1]] * 2 + [[-1, 0]] * 6 + [[-1, 1]] * 2)
    fit = fit_deletion(
        data, [(), (0,)], method="f-mcar", smoothing=1.0, aggregation="mean"
    )
    p = np.array([0.7, 0.3])  # with the pseudo-counts
    joint = (np.outer(p, [0.5, 0.5]) + np.outer([0.5, 0.5], p)) / 2
    np.testing.assert_allclose(fit.model.tables[1], conditional(joint), rtol=1e-14)
    assert fit.families[1].weights == {"prior": 16.0}
    assert fit.unsupported == ("b",)


def test_factored_deletion_uses_what_direct_deletion_drops():
    """Under MCAR, the error of F-MCAR is smaller on the average over tables."""
    errors = {"d-mcar": 0.0, "f-mcar": 0.0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = chain().sample(200, rng)
        codes = data.codes.copy()
        codes[rng.random(codes.shape) < 0.5] = -1
        for method in errors:
            fit = fit_deletion(
                replace(data, codes=codes), chain().parents, method=method
            )
            for a, b in zip(fit.model.tables, chain().tables, strict=True):
                errors[method] += float(((a - b) ** 2).sum())
    assert errors["f-mcar"] < errors["d-mcar"]


def table(codes) -> Dataset:
    codes = np.array(codes)
    return Dataset(
        codes, tuple("abc"[: codes.shape[1]]), (("n", "y"),) * codes.shape[1]
    )


@pytest.mark.parametrize("method", DELETION_METHODS)
def test_a_family_that_no_row_observes_is_reported(method):
    """The prior alone estimates it."""
    data = table([[0, -1], [1, -1], [-1, 0], [-1, 0]])
    fit = fit_deletion(data, [(), (0,)], method=method, smoothing=0.0)
    assert fit.model.tables[1].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert "b" in fit.unsupported
    assert fit.families[1].weights == {"prior": 4.0}
    assert fit.families[1].observed == 0.0


@pytest.mark.parametrize(
    ("method", "weaker"),
    [
        ("d-mar", "d-mcar"),
        ("f-mar", "f-mcar"),
        ("id-mar", "d-mcar"),
        ("if-mar", "f-mcar"),
    ],
)
def test_unsupported_contexts_take_the_next_weaker_estimator(method, weaker):
    data = table(
        [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, -1]]
    )  # no row has b = 1 and observes c
    options = {"separators": ["b"]} if method.startswith("i") else {}
    fit = fit_deletion(data, [(), (), (0,)], method=method, smoothing=0.0, **options)
    assert fit.families[2].weights == {method: 3.0, weaker: 1.0}
    assert fit.unsupported == ("c",)
    np.testing.assert_allclose(fit.model.tables[2][0], [2 / 3, 1 / 3], rtol=1e-14)


def test_no_complete_row_falls_back_to_available_cases():
    data = table([[0, 0, -1], [0, 1, -1], [-1, 0, 1]])
    fit = fit_deletion(data, [(), (), ()], method="cca", smoothing=0.0)
    assert fit.model.tables[1].tolist() == [2 / 3, 1 / 3]
    assert [dict(f.weights) for f in fit.families] == [
        {"aca": 2.0},
        {"aca": 3.0},
        {"aca": 1.0},
    ]


@pytest.mark.parametrize("method", DELETION_METHODS)
@pytest.mark.parametrize("codes", [np.zeros((0, 2)), np.full((3, 2), -1)])
def test_nothing_observed_gives_the_prior(method, codes):
    fit = fit_deletion(
        table(codes.astype(int)), [(), (0,)], method=method, smoothing=0.0
    )
    assert [t.ravel().tolist() for t in fit.model.tables] == [[0.5, 0.5], [0.5] * 4]


@pytest.mark.parametrize(
    ("parents", "options", "kind", "message"),
    [
        (
            [(), ()],
            {"method": "d-mcra"},
            OptionError,
            "'d-mcra'; did you mean 'd-mcar'",
        ),
        (
            [(), ()],
            {"aggregation": "max"},
            OptionError,
            "'max'; expected one of 'mean', 'inverse",
        ),
        (
            [(), ()],
            {"smoothing": -1.0},
            OptionError,
            "'smoothing': expected a number from 0",
        ),
        ([(), (1,)], {}, DataError, "other than its own"),
    ],
)
def test_unusable_input_is_refused(parents, options, kind, message):
    with pytest.raises(kind, match=message):
        fit_deletion(table([[0, -1]]), parents, **options)


def test_a_lattice_beyond_memory_is_refused():
    n = 20
    codes = np.repeat(np.array([[0], [-1]], np.int8), n, axis=1)
    data = Dataset(codes, tuple(f"x{v}" for v in range(n)), (("n", "y"),) * n)
    parents = [() for _ in range(n - 1)] + [tuple(range(n - 1))]
    with pytest.raises(TooLargeError, match="the factorisations of x0, x1"):
        fit_deletion(data, parents, method="f-mcar")
