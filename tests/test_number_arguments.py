"""Numbers given to public functions: taken by value, or refused by the parameter's name."""

import math
from collections.abc import Iterator
from fractions import Fraction
from inspect import Parameter, isclass, signature
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import pytest

import exactlearn as el
from exactlearn._runtime.number_arguments import COUNT, NUMBERS, SECONDS
from exactlearn.errors import ArgumentError, ExactlearnError, OptionError
from exactlearn.scoring.candidate_search import Budget
from exactlearn.solvers.constraints import MaxParents

NETWORK = el.read_network("cancer")
TABLE = el.read_dataset("cancer-mcar-complete").part(slice(40))
PROBLEM = el.candidate_parent_sets(TABLE, "bdeu", max_parents=1)
NAIVE_BAYES = el.learn_naive_bayes(TABLE, components=2).model
GRAPH = el.compile_network(NETWORK, steps=0)

REQUIRED = {
    **dict.fromkeys(
        ("data", "dataset", "frame", "table", "test", "train", "validation"), TABLE
    ),
    **dict.fromkeys(("p", "q", "model", "network"), NETWORK),
    **dict.fromkeys(("graph", "pdg"), GRAPH),
    "child": 0,
    "evidence": {},
    "forest": [-1] * 5,
    "learners": ["independent"],
    "least": -5.0,
    "method": "width",
    "missingness": el.MissingnessGraph.parse("Xray <- Smoker"),
    "name": "Cancer",
    "names": TABLE.names,
    "parents": NETWORK.parents,
    "path": "cancer-mcar",
    "problem": PROBLEM,
    "rng": np.random.default_rng(1),
    "rows": 3,
    "score": "bdeu",
    "source": "cancer-mcar.csv",
    "spec": "mcar:0.1",
    "targets": ["Cancer"],
    "values": [1.0, 2.0, 3.0],
}
"""Arguments for the parameters without default, by name."""

OTHERS = (
    Budget,
    MaxParents,
    NETWORK.sample,
    el.queries.joint_posterior,
    TABLE.drawn,
)


UNIONS = (Union, UnionType)


def is_number(annotation: Any, kind: type) -> bool:
    """Return whether a parameter is a number of this type, or that or something else."""
    return annotation is kind or (
        get_origin(annotation) in UNIONS and kind in get_args(annotation)
    )


def cases() -> Iterator[Any]:
    """Yield each public function with each of its parameters that is a number."""
    public = [getattr(el, name) for name in el.__all__]
    for function in (*public, *OTHERS):
        if not callable(function) or (
            isclass(function) and issubclass(function, Exception)
        ):
            continue
        for name, parameter in signature(function).parameters.items():
            if name not in ("child", "variable") and any(
                is_number(parameter.annotation, kind) for kind in (int, float)
            ):
                yield pytest.param(
                    function, parameter, id=f"{function.__name__}-{name}"
                )


@pytest.mark.parametrize(("function", "parameter"), list(cases()))
def test_what_is_no_such_number_is_refused_by_name(
    function: Any, parameter: Parameter
) -> None:
    is_whole = not is_number(parameter.annotation, float)
    required = {
        "most": 1,
        "variable": 0,
        "bins": 2,
        "replicates": 2,
        "k": 1,
        "size_weight": 0.5,
    }
    if function is el.fit_naive_bayes:
        required["model"] = NAIVE_BAYES
    arguments = {
        name: {**REQUIRED, **required}[name]
        for name, each in signature(function).parameters.items()
        if each.default is Parameter.empty and each.kind is not Parameter.VAR_KEYWORD
    }
    wrong = [math.nan, np.float64("nan"), -math.inf, True, np.True_, "x", [1], 1j]
    for value in [
        *wrong,
        *([1.9, -1, math.inf, 10**30, Fraction(1, 3)] if is_whole else []),
    ]:
        with pytest.raises(
            ExactlearnError, match=f"'{parameter.name}': expected .*, found"
        ):
            function(**{**arguments, parameter.name: value})


TWOS = (2.0, np.float64(2.0), np.int64(2), np.float32(2), Fraction(2))


@pytest.mark.parametrize("two", TWOS, ids=lambda two: type(two).__name__)
def test_a_number_is_taken_by_its_value(two: Any) -> None:
    assert repr(COUNT(two, "k")) == "2"
    assert repr(el.BDeu(two).ess) in ("2", "2.0")
    assert el.learn(TABLE, max_parents=two, seed=two) == el.learn(
        TABLE, max_parents=2, seed=2
    )
    assert el.Learning(starts=two).starts == 2
    networks = el.enumerate_networks(PROBLEM, k=two).networks
    assert networks == el.enumerate_networks(PROBLEM, k=2).networks
    assert (
        el.augment(TABLE, max_parents=two).parents
        == el.augment(TABLE, max_parents=2).parents
    )


def test_range_and_type_of_numbers_have_their_own_errors() -> None:
    assert SECONDS(math.inf, "time_limit") == math.inf
    assert SECONDS(10**400, "time_limit") == math.inf
    assert NUMBERS["ess"]("auto", "ess") == "auto"
    assert NUMBERS["max_parents"](None, "max_parents") is None
    for value, error in (
        (True, ArgumentError),
        ("1", ArgumentError),
        (math.nan, OptionError),
    ):
        with pytest.raises(
            error, match="argument 'ess': expected a finite number above 0"
        ):
            NUMBERS["ess"](value, "ess")


def test_no_limit_of_parents_is_no_limit_everywhere() -> None:
    few = TABLE.part(slice(12))
    every = el.augment(few, max_parents=TABLE.n_variables)
    assert el.augment(few, max_parents=None).score == every.score
    assert el.structural_em(few, "bdeu", max_parents=None).score == every.score


def test_passed_on_options_keep_the_meaning_of_their_target() -> None:
    strengths = el.bootstrap(TABLE, 2, missing="expected", max_parents=1.0)
    assert strengths.replicates == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: el.learn(TABLE, tidy="no"),
            "'tidy': expected True or False, found 'no'",
        ),
        (
            lambda: el.solve(PROBLEM, certify=1),
            "'certify': expected True or False, found '1'",
        ),
        (
            lambda: el.learn(TABLE, missing=math.nan),
            "'missing': expected one of 'expected'",
        ),
        (
            lambda: el.learn(TABLE, constraints=2),
            "'constraints': expected a list of constraints",
        ),
        (
            lambda: el.learn(TABLE, constraints=["a"]),
            "'constraints': expected constraints",
        ),
        (lambda: el.learn(TABLE, tiers=0), "'tiers': expected groups of variables"),
        (
            lambda: el.learn(TABLE, required=[(True, 1)]),
            "'required': expected the name or",
        ),
        (lambda: el.learn(TABLE, on_event=3), "'on_event': expected a function"),
        (
            lambda: el.augment(TABLE, solver="x"),
            "solver: found 'x'; expected one of 'auto'",
        ),
        (lambda: el.Learning(learner="x"), "learner: found 'x'"),
        (lambda: el.Learning(required=[3]), "'required': expected arcs"),
        (lambda: el.Imputer(learning="bic"), "'learning': expected a Learning"),
        (
            lambda: el.impute(TABLE, learning=3),
            "'learning': expected a Learning, found",
        ),
        (lambda: el.choose_ess(TABLE, counts="x"), "counts: found 'x'"),
        (
            lambda: el.choose_ess(TABLE, values=[1, math.nan]),
            "'values': expected a finite",
        ),
        (
            lambda: el.learn_pdg(TABLE, size_weights=[2]),
            "'size_weights': expected a number from 0",
        ),
        (
            lambda: el.bootstrap(TABLE, 2, max_parents=math.nan),
            "'max_parents': expected",
        ),
        (lambda: el.bootstrap(TABLE, 2, learner=3), "'learner': expected"),
        (lambda: el.cross_validate(TABLE, 3), "'learners': expected"),
        (lambda: el.sl_curves(TABLE, TABLE, languages=3), "'languages': expected"),
        (lambda: el.compile_network(NETWORK, forest=math.nan), "forest: expected"),
        (lambda: el.solve(PROBLEM, start=3), "'start': expected the parents"),
        (lambda: el.solve(PROBLEM, parameters=3), "'parameters': expected"),
        (lambda: el.Problem.from_candidates("ab", 3), "'candidates': expected"),
        (
            lambda: el.graphs.markov_blanket(NETWORK.parents, -1),
            "expected an index from 0",
        ),
        (
            lambda: el.graphs.d_separated(NETWORK.parents, [9], []),
            "expected an index from 0 to 4",
        ),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ExactlearnError, match=message):
        call()


def estimators() -> Iterator[Any]:
    """Yield each parameter of an estimator with a value that it cannot take."""
    pytest.importorskip("sklearn")
    import exactlearn.sklearn as estimators

    wrong = {
        **dict.fromkeys(("ess", "smoothing", "time_limit"), math.nan),
        **dict.fromkeys(("max_parents", "networks"), 1.9),
        **dict.fromkeys(("structure", "mode", "random_state", "tidy", "unseen"), "x"),
    }
    for estimator in (estimators.BayesianNetworkClassifier, estimators.ExactImputer):
        for name in sorted(wrong.keys() & signature(estimator).parameters.keys()):
            for value in (wrong[name], True) if name != "tidy" else ("x", math.nan):
                label = f"{estimator.__name__}-{name}-{value}"
                yield pytest.param(estimator, name, value, id=label)


@pytest.mark.parametrize(("estimator", "name", "value"), list(estimators()))
def test_estimators_validate_at_fit_and_keep_parameters(
    estimator: Any, name: str, value: Any
) -> None:
    made = estimator(**{name: value})
    with pytest.raises(ExactlearnError, match=name):
        made.fit([["a", 1], ["b", 2]] * 6, ["x", "y"] * 6)
    assert getattr(made, name) is value


def test_an_estimator_without_parents_has_none() -> None:
    estimators = pytest.importorskip("exactlearn.sklearn")
    made = estimators.BayesianNetworkClassifier(structure="exact", max_parents=0)
    made.fit([["a", 1], ["b", 2]] * 6, ["x", "y"] * 6)
    assert not any(made.network_.parents)
