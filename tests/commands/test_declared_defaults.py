"""What the options repeat of the library, so that help need not import it, is the library's."""

import sys
from dataclasses import fields
from typing import get_args

import pytest

from exactlearn import augmentation, imputation
from exactlearn.bayesnet import em, naive_bayes
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.deletion import DELETION_METHODS
from exactlearn.commands import declarations, pipeline, sections
from exactlearn.commands.declarations import Impute, Imputing
from exactlearn.errors import OptionError
from exactlearn.formats.run_file import from_table
from exactlearn.graphs.equivalence import Kind
from exactlearn.imputation.learning import AUGMENTING, PREDICTING
from exactlearn.imputation.methods import METHODS
from exactlearn.pdg.compile import compile as compilation
from exactlearn.scoring.scores import CRITERIA
from exactlearn.solvers import strategy
from tests.command_line import run, run_json

LEARNING = imputation.Learning()


def test_names():
    assert sections.METHODS == imputation.MODES
    assert get_args(imputation.Learner) == get_args(sections.LearnerName)
    assert get_args(imputation.Missingness) == get_args(sections.MissingnessName)
    assert get_args(sections.KindName) == get_args(Kind)
    assert get_args(sections.FitMethod) == ("complete", "em", *DELETION_METHODS)


def test_numbers():
    assert declarations.Compile.max_size == compilation.MAX_SIZE
    assert declarations.LearnNb.smoothing == naive_bayes.SMOOTHING
    assert f"{em.MAX_ITERATIONS} for a network" in (declarations.Fit.__doc__ or "")
    assert sections.NetworkParameters.smoothing == SMOOTHING
    assert sections.GraphParameters.tolerance == em.TOLERANCE
    assert Imputing.networks == LEARNING.networks


def test_defaults_of_impute():
    assert Impute(source="x").chosen_method == imputation.Imputer.mode
    assert Impute.draws == imputation.Imputer.draws
    assert Impute.missingness == LEARNING.missingness
    for options in (Impute(source="x"), declarations.Compare(source="x")):
        augmenting = pipeline.settled(options, "t-local")
        common = declarations.Augment(source="x")
        for name in ("ess", "max_parents", "starts", "smoothing"):
            assert getattr(augmenting, name) == getattr(common, name)
        assert common.ess == declarations.Solve(source="x").ess == AUGMENTING.score.ess
        predicting = pipeline.settled(options, "stacked")
        assert predicting.ess == PREDICTING.score.ess
        assert predicting.max_parents == PREDICTING.max_parents
        about = " ".join((declarations.Imputing.__doc__ or "").split())
        for values in zip(AUGMENTING[1:], PREDICTING[1:], strict=True):
            assert (
                "{:g} for methods of 'augment'; {:g} for networks".format(*values)
                in about
            )


def test_compare_and_impute_search_as_augment_does():
    augmented = run_json("augment", "cancer-mcar", "--method", "t-local", "--json")
    words = ("compare", "cancer-mcar", "--methods", "t-local", "--json")
    (row,) = run_json(*words)["rows"]
    imputed = run_json("impute", "cancer-mcar", "--method", "augmentation", "--json")
    assert row["score"] == imputed["score"] == augmented["score"]
    used = {
        "criterion": "bdeu",
        "ess": 1,
        "max_parents": 3,
        "starts": 10,
        "smoothing": 0.25,
    }
    assert imputed["learning"] == used


@pytest.mark.parametrize(
    ("declared", "key", "registry"),
    [
        (sections.Selection, "solver", strategy.COMPONENT_SOLVERS),
        (sections.Search, "method", augmentation.METHODS),
        (sections.Criterion, "criterion", CRITERIA),
        (Impute, "method", METHODS),
    ],
)
def test_choices_are_the_registry_s(declared, key, registry, monkeypatch):
    choices = next(f for f in fields(declared) if f.name == key).metadata["choices"]
    known = choices()
    with monkeypatch.context() as before:  # what --help reads, which imports nothing
        before.setattr(sys, "modules", {})
        assert choices() == known
    monkeypatch.setitem(registry, "mine", next(iter(registry.values())))
    needed = {"source": "a.csv"} if declared is Impute else {}
    assert from_table({**needed, key: "mine"}, declared)
    assert "|mine]" in run("augment", "--help") + run("impute", "--help")
    with pytest.raises(
        OptionError, match=f"key '{key}': expected one of .*'mine', found the text"
    ):
        from_table({**needed, key: "yours"}, declared)
