"""What public functions accept beside the types they name, and how they refuse the rest."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from exactlearn.augmentation import Augmentation
from exactlearn.errors import ArgumentError, ExactlearnError, OptionError

YES_NO = ("no", "yes")
NETWORK = el.BayesianNetwork(
    ("v1", "v4"),
    (YES_NO, YES_NO),
    ((), (0,)),
    (np.array([0.4, 0.6]), np.array([[0.1, 0.9], [0.7, 0.3]])),
)
OTHER = el.BayesianNetwork(
    ("v1", "v4"), (YES_NO, YES_NO), ((1,), ()), (np.full((2, 2), 0.5), np.full(2, 0.5))
)
FRAME = pd.DataFrame(
    {"v1": ["no", "yes", "yes", None], "v4": ["yes", "no", "no", np.nan]}
)
TABLE = el.Dataset.from_frame(FRAME)
COMPLETE = el.Dataset.from_frame(FRAME.iloc[:3])


@pytest.fixture(scope="module")
def graph():
    return el.compile_network(NETWORK, steps=0)


@pytest.fixture(scope="module")
def naive_bayes():
    return el.learn_naive_bayes(NETWORK.sample(60, np.random.default_rng(3))).model


def test_one_name_stands_for_a_list_of_it(graph):
    assert el.query(NETWORK, targets="v4") == el.query(NETWORK, targets=["v4"])
    assert el.queries.joint_posterior(graph, None, "v4") == pytest.approx(
        el.queries.joint_posterior(graph, None, ["v4"])
    )
    best = el.queries.most_probable_states(graph, None, "v4")
    assert best == el.queries.most_probable_states(graph, None, ["v4"])
    assert el.query_rows(graph, TABLE, "v4").names == ("v4",)
    cells = np.array([["a"], ["b"], ["NA"]])
    assert el.Dataset.from_frame(cells, names="v4", missing="NA").names == ("v4",)
    with pytest.raises(OptionError, match="no variable 'v5'"):
        el.query(NETWORK, targets="v5")


def test_one_symbol_or_column_is_no_list_of_letters(tmp_path):
    (tmp_path / "t.csv").write_text("ab,id\nN,1\nA,2\nNA,3\n")
    table = el.read_dataset(tmp_path / "t.csv", missing="NA", drop="id")
    assert table.names == ("ab",)
    assert table.states == (("A", "N"),)
    assert table.codes.ravel().tolist() == [1, 0, -1]


def test_frames_and_names_of_scores_are_taken():
    expected = el.augment(TABLE, el.BDeu(), max_parents=1).score
    assert el.augment(FRAME, "bdeu", max_parents=1).score == expected
    assert Augmentation.completed(
        el.augment(FRAME, "BIC", max_parents=1), FRAME
    ).is_complete
    complete = FRAME.iloc[:3]
    problem = el.candidate_parent_sets(complete, "aic", max_parents=1)
    assert problem.names == ("v1", "v4")
    assert el.score_family(complete, 1, [0], "bdeu") == (
        el.score_family(COMPLETE, 1, [0], el.BDeu())
    )
    assert el.fit_complete(complete, [(), (0,)]).names == ("v1", "v4")
    assert NETWORK.log_likelihood(complete) == NETWORK.log_likelihood(COMPLETE)
    assert el.Learning(score="bic").score == el.BIC()
    with pytest.raises(OptionError, match="unknown score 'bdue'"):
        el.augment(FRAME, "bdue")


def test_naive_bayes_queries_equal_those_of_its_network(naive_bayes):
    """The network has the latent variable as a node."""
    latent = naive_bayes.to_network()
    for evidence in ({}, {"v1": "yes"}):
        ours = el.query(naive_bayes, evidence)
        theirs = el.query(latent, evidence, list(ours.posterior))
        assert ours.log_probability_of_evidence == (
            pytest.approx(theirs.log_probability_of_evidence)
        )
        assert ours.posterior == {
            n: pytest.approx(p) for n, p in theirs.posterior.items()
        }
    with pytest.raises(OptionError, match="no variable 'v5'"):
        el.query(naive_bayes, {"v5": "yes"})
    with pytest.raises(
        ArgumentError, match="expected a BayesianNetwork, a DecisionGraph or a Na"
    ):
        el.query(TABLE)


def test_impossible_evidence_on_naive_bayes_is_refused():
    model = type(el.learn_naive_bayes(COMPLETE).model)(
        ("a",), (YES_NO,), np.array([1.0]), np.array([[1.0], [0.0]])
    )
    with pytest.raises(el.ExactlearnError, match="a=yes has probability zero"):
        el.query(model, {"a": "yes"})


def test_the_divergence_of_networks_is_that_of_their_graphs(graph):
    p = NETWORK.tables[0][:, None] * NETWORK.tables[1]
    expected = float((p * np.log(p / 0.25)).sum())
    assert el.kl_divergence(NETWORK, OTHER) == pytest.approx(expected)
    assert el.kl_divergence(graph, OTHER) == pytest.approx(expected)
    assert el.kl_divergence(NETWORK, graph) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: el.augment("t.csv", "bdeu"),
            r"'dataset': expected a Dataset, .* read_dataset",
        ),
        (lambda: el.augment(None, "bdeu"), "'dataset': expected .*, found None"),
        (lambda: el.augment(TABLE, el.BDeu), "found the class BDeu; pass BDeu"),
        (
            lambda: el.augment(TABLE, 1),
            "'score': expected a score, found '1', of type int",
        ),
        (
            lambda: el.augment(TABLE, "bdeu", required=["v1->v4"]),
            "arcs as pairs of variables",
        ),
        (
            lambda: el.augment(TABLE, "bdeu", time_limit="1"),
            "'time_limit': expected a number",
        ),
        (
            lambda: el.query("asia.bif"),
            "'model': .*found 'asia.bif', of type str; .*read_model",
        ),
        (lambda: el.query(NETWORK, ["v1"]), r"'evidence': expected a mapping"),
        (
            lambda: el.query(NETWORK, targets=[4.5]),
            "'targets': .* found '4.5', of type float",
        ),
        (
            lambda: el.queries.joint_posterior(NETWORK, {}, None),
            "'targets': .* found None",
        ),
        (
            lambda: el.refine(NETWORK, TABLE),
            "of type BayesianNetwork; .*compile_network",
        ),
        (
            lambda: el.solve(TABLE),
            "expected a Problem, found an object of type Dataset; .*candidate_parent",
        ),
        (
            lambda: el.fit_complete(TABLE, None),
            "'parents': .* found None; pass the .parents of",
        ),
        (
            lambda: el.read_network(None),
            "'path': expected the path of a file or a folder, found None",
        ),
        (lambda: el.hide(COMPLETE, "mcar:1", 1), r"'rng': .* default_rng\(seed\)"),
        (lambda: el.hide(COMPLETE, None, 1), "'spec': expected a specification"),
        (
            lambda: el.Dataset.from_frame([[1, 2]]),
            "'frame': expected a pandas DataFrame",
        ),
        (
            lambda: el.Dataset.from_frame(FRAME, discretise=2),
            "'discretise': expected a",
        ),
        (
            lambda: el.read_dataset("t.csv", states="a=b,c"),
            "'states': expected the states of",
        ),
        (lambda: el.read_dataset("t.csv", separator=1), "'separator': expected a text"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused_with_a_cure(call, message):
    with pytest.raises(TypeError, match=message) as caught:
        call()
    assert isinstance(caught.value, ExactlearnError)


def test_a_family_has_known_indices():
    with pytest.raises(OptionError, match="an index from 0 to 1"):
        el.score_family(COMPLETE, 1, [2], "bdeu")


def test_a_result_stands_for_its_network():
    fitted = el.fit_em(TABLE, [(), ()])
    assert el.query(fitted).posterior == el.query(fitted.model).posterior


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_frame_row_is_evidence_in_its_observed_cells(missing):
    known = {"v1": "yes"}
    row = pd.Series({**known, "v4": missing}, dtype=object)
    assert el.query(NETWORK, row).posterior == el.query(NETWORK, known).posterior


TWENTY_ROWS = pd.DataFrame({"a": [0, 1, 0, 1] * 5, "b": [0, 1, 1, 1] * 5})

WRONG_ARGUMENTS = {
    "negative time": (
        lambda: el.learn(TWENTY_ROWS, time_limit=-1),
        "'time_limit': expected a number from 0, found -1",
    ),
    "unknown ess": (lambda: el.learn(TWENTY_ROWS, ess="autp"), "'auto'.*'autp'"),
    "no process": (
        lambda: el.bootstrap(TWENTY_ROWS, 2, jobs=0),
        "'jobs': expected a whole number from 1, found 0",
    ),
    "no cluster": (lambda: el.learn(TWENTY_ROWS, cluster=2), "'local:2'"),
    "page of a frame": (
        lambda: el.report(TWENTY_ROWS, "page.html"),
        "DataFrame; learn from a table",
    ),
    "graph of a frame": (
        lambda: el.write_graph(TWENTY_ROWS, "graph.json"),
        "pass a network",
    ),
    "tiers as a text": (
        lambda: el.learn(TWENTY_ROWS, tiers="a;b"),
        "groups of variables",
    ),
    "list of rows": (lambda: el.learn([[0, 1], [1, 0]]), "pandas.DataFrame"),
}


@pytest.mark.parametrize("wrong", WRONG_ARGUMENTS)
def test_what_is_wrong_is_named_before_any_work(wrong):
    call, message = WRONG_ARGUMENTS[wrong]
    with pytest.raises(el.ExactlearnError, match=message):
        call()


def test_a_single_text_stands_for_a_list_a_graph_or_all_columns(tmp_path):
    learned = el.learn(TWENTY_ROWS, tiers=["b", "a"])
    assert learned == el.learn(TWENTY_ROWS, tiers=[["b"], ["a"]])
    for source in (learned, learned.network, learned.structure):
        el.write_graph(source, tmp_path / "graph.json")
        assert el.read_graph(tmp_path / "graph.json") == learned.structure
    numbers = pd.DataFrame({"x": [k + 0.1 for k in range(40)] * 2, "y": [0, 1] * 40})
    found = el.learn(numbers, discretise="frequency:2")
    assert found == el.learn(numbers, discretise={"*": "frequency:2"})


def test_a_parameter_that_there_is_not_is_named_with_the_nearest():
    with pytest.raises(ArgumentError, match="'discretize'; did you mean 'discretise'"):
        el.learn(FRAME, discretize="frequency:5")


@pytest.mark.parametrize("table", [FRAME, TABLE], ids=["frame", "table"])
def test_an_imputer_made_of_a_table_says_where_the_table_goes(table):
    with pytest.raises(ArgumentError, match=r"'mode'.*Imputer\(\)\.fit\(table\)"):
        el.Imputer(table)


@pytest.mark.parametrize(
    "function",
    [
        el.query,
        el.queries.joint_posterior,
        el.queries.most_probable_states,
        el.independences,
    ],
)
def test_evidence_stands_before_targets(function):
    assert list(signature(function).parameters)[:3] == ["model", "evidence", "targets"]
    function(NETWORK, {}, ["v1"])
    with pytest.raises(TypeError, match="'evidence': expected a mapping"):
        function(NETWORK, ["v1"], {})


def test_a_structure_is_given_in_any_form(tmp_path):
    networkx = pytest.importorskip("networkx")
    table = el.read_dataset("cancer-mcar-complete")
    network = el.read_network("cancer")
    el.write_graph(network.structure, tmp_path / "graph.json")
    forms = [
        {"Cancer": ["Pollution", "Smoker"], "Xray": "Cancer", "Dyspnoea": ["Cancer"]},
        list(network.structure.arcs),
        [(p, v) for v, ps in enumerate(network.parents) for p in ps],
        network.to_networkx(),
        el.read_graph(tmp_path / "graph.json"),
    ]
    for form in forms:
        for fit in (el.fit_em, el.fit_complete, el.fit_deletion):
            found = fit(table, form)
            assert getattr(found, "model", found).parents == network.parents
    assert el.fit_complete(table, [("Smoker", "Cancer")]).parents == (
        (),
        (),
        (1,),
        (),
        (),
    )
    five = [("Smoker", v) for v in ("Pollution", "Cancer", "Xray", "Dyspnoea")]
    found = el.fit_complete(
        table, [*five, ("Cancer", "Xray")]
    ).parents  # as many as variables
    assert found == ((1,), (), (1,), (1, 2), (1,))
    for fit in (el.fit_em, el.fit_complete, el.fit_deletion):
        for unknown in (
            networkx.DiGraph([("L", "Xray")]),
            {"Xray": "L"},
            [("L", "Xray")],
        ):
            with pytest.raises(OptionError, match="parents: no variable 'L'"):
                fit(table, unknown)
    for undirected in (networkx.Graph(five), tmp_path / "graph.json", str(tmp_path)):
        with pytest.raises(ArgumentError, match="parents of each variable"):
            el.fit_em(table, undirected)


def test_nodes_of_a_graph_are_named_as_columns_are():
    networkx = pytest.importorskip("networkx")
    rows = np.random.default_rng(0).integers(0, 2, (40, 3))
    graph = networkx.DiGraph([(2, 0), (1, 0)])
    assert el.fit_complete(rows, graph).parents == ((1, 2), (), ())
    assert el.fit_complete(pd.DataFrame(rows.astype(str)), graph).parents == (
        (1, 2),
        (),
        (),
    )
    with pytest.raises(
        TypeError, match="'parents': expected the parents of each variable"
    ):
        el.fit_complete(rows, networkx.DiGraph([(("a", "b"), 0)]))


def test_a_node_with_declared_states_and_no_column_is_latent():
    networkx = pytest.importorskip("networkx")
    frame = pd.DataFrame({"X0": ["a", "b"] * 10, "X1": ["a", "a", "a", "b"] * 5})
    states = {"L": ["0", "1", "2"]}
    arcs = [("L", "X0"), ("L", "X1")]
    whole = el.Dataset.from_frame(frame.assign(L="?"), states=states)
    expected = el.fit_em(whole, arcs)
    assert expected.model.names == ("X0", "X1", "L")
    forms = [
        arcs,
        {"X0": ["L"], "X1": "L"},
        [["L"], [2], []],
        networkx.DiGraph(arcs),
        el.NamedGraph.of(("L", "X0", "X1"), [(), (0,), (0,)]),
        expected.model,
    ]
    for table in (frame, el.Dataset.from_frame(frame)):
        for form in forms:
            fitted = el.fit_em(table, form, states=states)
            assert fitted.model == expected.model
            assert fitted.log_likelihood == expected.log_likelihood
            with pytest.raises(
                OptionError, match=r"parents: .*'L'.*states=\{'L': \['0', '1'\]\}"
            ):
                el.fit_em(table, form)
    with pytest.raises(OptionError, match="found the column 'X1'"):
        el.fit_em(frame, arcs, states={"X1": ["a", "b"]})


@pytest.mark.parametrize(
    "call",
    [
        lambda: el.Problem([{(): -1.0}]),
        lambda: el.Problem({"a": {(): -1.0}}),
        lambda: el.Problem(["a"], [{(): -1.0}]),
        lambda: el.Problem(names=("a", "b")),
        lambda: el.solve({"a": {(): -1.0}}),
        lambda: el.solve([{(): -1.0}]),
    ],
    ids=["list", "dict", "two", "names", "solve a dict", "solve a list"],
)
def test_a_wrong_problem_says_how_to_make_one(call):
    with pytest.raises(
        ExactlearnError, match=r"Problem.from_candidates\(names, tables\)"
    ):
        call()
