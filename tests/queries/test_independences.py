"""Independences that decision graphs state, against the full joint and every configuration."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats.model_json import write_pdg
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import assemble
from exactlearn.pdg.model.node_functions import node_contexts
from exactlearn.queries import independences as module
from exactlearn.queries.independences import independences
from tests.command_line import run, run_json
from tests.pdg_oracle import BINARY, graph_joint, random_graph, reached


def stomach_pain():
    """THESIS, Example 3.6 and Figure 3.7(a), with the parameters of Table 3.1.

    The text below it has node 8 like node 5, the table has node 7 like node 5.
    """
    return assemble(
        ("H", "F", "D"),
        (("p", "f", "u"), ("p", "a"), ("p", "a")),
        np.array([-1, 0, 1]),
        [
            np.array([[0.3, 0.3, 0.4]]),
            np.array([[0.2, 0.8], [0.7, 0.3], [0.6, 0.4]]),
            np.array([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5], [0.1, 0.9], [0.3, 0.7]]),
        ],
        [
            np.array([[[1], [2], [0]]]),
            np.array([[[0], [0]], [[1], [2]], [[3], [4]]]),
            np.empty((5, 2, 0)),
        ],
    )


def two_trees():
    """THESIS, Figure 3.6(b), with the parameters of Table 3.2."""
    return assemble(
        tuple(f"X{k}" for k in range(8)),
        (BINARY,) * 8,
        np.array([-1, 0, 0, 1, -1, 4, 5, 5]),
        [
            np.array([[0.9, 0.1]]),
            np.array([[0.7, 0.3], [0.1, 0.9]]),
            np.array([[0.5, 0.5], [0.4, 0.6]]),
            np.array([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]),
            np.array([[0.2, 0.8]]),
            np.array([[0.2, 0.8], [0.7, 0.3]]),
            np.array([[0.6, 0.4], [0.1, 0.9]]),
            np.array([[0.5, 0.5], [0.2, 0.8]]),
        ],
        [
            np.array([[[0, 0], [1, 1]]]),
            np.array([[[1], [0]], [[1], [2]]]),
            np.empty((2, 2, 0)),
            np.empty((3, 2, 0)),
            np.array([[[1], [0]]]),
            np.array([[[1, 1], [0, 0]], [[1, 0], [1, 1]]]),
            np.empty((2, 2, 0)),
            np.empty((2, 2, 0)),
        ],
    )


def test_the_thesis_table_of_parameters_3_1():
    found = independences(stomach_pain())
    assert [row for one in found for row in one.rows()] == [
        ("0", "P(H)", "0.3 0.3 0.4"),
        ("1", "P(F | H = u)", "0.2 0.8"),
        ("2", "P(F | H = p)", "0.7 0.3"),
        ("3", "P(F | H = f)", "0.6 0.4"),
        ("4", "P(D | H = u)", "0.7 0.3"),
        ("5", "P(D | H = p, F = p)", "0.1 0.9"),
        ("6", "P(D | H = p, F = a)", "0.5 0.5"),
        ("7", "P(D | H = f, F = p)", "0.1 0.9"),
        ("8", "P(D | H = f, F = a)", "0.3 0.7"),
    ]
    # The doctor's belief on an ulcer.
    assert found[2].describe() == "D: depends on H, F"


def test_the_thesis_table_of_parameters_3_2():
    found = independences(two_trees())
    laws = [(law, numbers) for one in found for _, law, numbers in one.rows()]
    assert laws == [
        ("P(X0)", "0.9 0.1"),
        ("P(X1 | X0 = 0)", "0.7 0.3"),
        ("P(X1 | X0 = 1)", "0.1 0.9"),
        ("P(X2 | X0 = 0)", "0.5 0.5"),
        ("P(X2 | X0 = 1)", "0.4 0.6"),
        ("P(X3 | X0 = 0, X1 = 1)", "0.9 0.1"),
        ("P(X3 | X1 = 0)", "0.8 0.2"),
        ("P(X3 | X0 = 1, X1 = 1)", "0.5 0.5"),
        ("P(X4)", "0.2 0.8"),
        ("P(X5 | X4 = 1)", "0.2 0.8"),
        ("P(X5 | X4 = 0)", "0.7 0.3"),
        ("P(X6 | X4 = 1, X5 = 1)", "0.6 0.4"),
        ("P(X6 | (X4 = 0) or (X4 = 1, X5 = 0))", "0.1 0.9"),
        ("P(X7 | (X4 = 0, X5 = 0) or (X4 = 1, X5 = 1))", "0.5 0.5"),
        ("P(X7 | (X4 = 0, X5 = 1) or (X4 = 1, X5 = 0))", "0.2 0.8"),
    ]
    x4, x7 = found[4], found[7]
    # Other trees are independent without a condition (Proposition 3.8), other branches given
    # what decides the node (Proposition 3.9).
    others = ("X0", "X1", "X2", "X3")
    assert (x4.always_independent_of, x4.depends_on, x4.independent_of) == (
        others,
        (),
        (),
    )
    assert (x7.always_independent_of, x7.independent_of) == (others, ("X6",))
    assert (
        x4.describe() == "X4, with X5, X6, X7 below it: independent of X0, X1, X2, X3"
    )
    assert x7.describe() == (
        "X7: independent of X0, X1, X2, X3; given X4, X5, independent of X6"
    )
    assert (
        independences(stomach_pain(), None, "H")[0].describe()
        == "H, with F, D below it: no independence"
    )


def axes_last(joint, *groups):
    """A table with one axis for each group of variables, in order; others are summed out."""
    kept = [v for group in groups for v in group]
    rest = tuple(v for v in range(joint.ndim) if v not in kept)
    table = joint.sum(axis=rest)
    table = table.transpose(np.argsort(np.argsort(kept)))
    sizes = [
        int(np.prod([joint.shape[v] for v in group], dtype=int)) for group in groups
    ]
    return table.reshape(sizes)


def independent(joint, first, second, given):
    """Whether P(a, b, c) P(c) = P(a, c) P(b, c)."""
    table = axes_last(joint, first, second, given)
    one, other = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    return np.allclose(
        table * table.sum(axis=(0, 1), keepdims=True), one * other, atol=1e-12
    )


@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from([0.0, 0.4]))
@settings(max_examples=60)
def test_every_statement_holds(seed, n, zeros):
    graph = random_graph(np.random.default_rng(seed), n, zeros=zeros)
    joint, index = graph_joint(graph), graph.index
    for one in independences(graph):
        v, needed = index(one.variable), [index(x) for x in one.depends_on]
        own = [v, *map(index, one.below)]
        always = [index(x) for x in one.always_independent_of]
        others = [*always, *map(index, one.independent_of)]
        assert sorted([*own, *needed, *others]) == list(range(n))
        assert independent(joint, own, always, [])
        assert independent(joint, own, others, needed)
        # Each possible row reaches the node in one of whose contexts it is, and in no other.
        for row in np.argwhere(joint > 0).tolist():
            holding = [
                node.node
                for node in one.nodes
                for context in node.contexts
                if all(
                    graph.states[index(x)][row[index(x)]] in s
                    for x, s in context.items()
                )
            ]
            assert holding == [reached(graph, tuple(row))[v]]
        for node in one.nodes:
            k = node.node - int(graph.first_nodes[v])
            assert node.probabilities == tuple(graph.parameters_of(v)[k])


def needed_by_force(graph, v):
    """The ancestors that matter: rows that differ in them alone reach different nodes."""
    path = []
    u = v
    while (u := int(graph.forest[u])) >= 0:
        path.append(u)
    nodes = {u: {} for u in path}
    for row in product(*map(range, graph.cardinalities.tolist())):
        for free, found in nodes.items():
            key = tuple(row[u] for u in path if u != free)
            found.setdefault(key, set()).add(reached(graph, row)[v])
    return {
        free for free in path if any(len(found) > 1 for found in nodes[free].values())
    }


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=25)
def test_all_that_the_structure_implies_is_found(seed, n):
    graph = random_graph(np.random.default_rng(seed), n, zeros=0)
    for v, one in enumerate(independences(graph)):
        assert set(map(graph.index, one.depends_on)) == needed_by_force(graph, v)
        assert one.complete


def test_a_copy_of_a_variable_tells_what_it_does():
    """The states that a copy cannot have lead nowhere, so one of the two is enough."""
    coin, copy = np.array([0.5, 0.5]), np.eye(2)
    tables = (coin, copy, np.array([[0.9, 0.1], [0.2, 0.8]]))
    network = BayesianNetwork(("a", "b", "c"), (BINARY,) * 3, ((), (0,), (1,)), tables)
    graph = compile_network(network, forest=[-1, 0, 1])
    (found,) = independences(graph, None, "c")
    assert len(found.depends_on) == 1
    assert found.complete


def test_of_two_copies_one_stays():
    """Each alone could be left out: there are no two possible rows that differ in it alone."""
    found, complete = node_contexts(np.array([[0, -1], [-1, 1]]), 10)
    assert complete
    assert found == {0: [{0: (0,)}], 1: [{0: (1,)}]}


def test_evidence_and_limits(monkeypatch):
    graph = two_trees()
    (found,) = independences(graph, {"X1": "0"}, ["X3"])
    assert found.depends_on == ()
    assert [node.contexts for node in found.nodes] == [({},)]
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_CONFIGURATIONS", 3)
        (found,) = independences(graph, None, "X7")
    assert found.depends_on == ("X4", "X5")
    assert not found.complete
    assert "too many configurations" in found.describe()
    assert found.nodes == ()
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_CONTEXTS", 1)
        (found,) = independences(graph, None, "X7")
    assert not found.complete


def test_lists_are_cut():
    n = 9
    rng = np.random.default_rng(3)
    parity = [np.array([[0.3, 0.7]]), *(rng.dirichlet((1, 1), 2) for _ in range(n - 1))]
    after = np.array([[[0], [1]], [[1], [0]]])
    graph = assemble(
        tuple(f"x{k}" for k in range(n)), (BINARY,) * n, np.arange(n) - 1, parity,
        [after[:1], *[after] * (n - 2), np.empty((2, 2, 0))],
    )  # fmt: skip
    (found,) = independences(graph, None, "x8")
    assert all(law.endswith("or 118 more contexts)") for _, law, _ in found.rows())
    (found,) = independences(graph, None, "x1")
    assert "with x2, x3 and 5 more below it" in found.describe(2)


def test_the_command(tmp_path):
    path = tmp_path / "graph.pdg.json"
    write_pdg(two_trees(), path)
    record = run_json("query", path, "--independences")
    assert [one["variable"] for one in record["independences"]] == [
        f"X{k}" for k in range(8)
    ]
    assert record["independences"][3]["nodes"][1]["contexts"] == [{"X1": ["0"]}]
    printed = run("query", path, "--independences", "-t", "X3")
    assert (
        "X3: independent of X4, X5, X6, X7; given X0, X1, independent of X2" in printed
    )
    assert "P(X3" not in run("query", path, "--independences")
