"""What the options repeat of the library, so that help need not import it, is the library's."""

from typing import get_args

from exactlearn import augmentation, imputation
from exactlearn.bayesnet import em
from exactlearn.commands import declarations, sections
from exactlearn.commands.declarations import Impute, Imputing
from exactlearn.imputation.learning import ESS
from exactlearn.imputation.methods import METHODS
from exactlearn.pdg.compile import compile as compilation
from exactlearn.pdg.model.structure_score import SIZES
from exactlearn.solvers import select

LEARNING = imputation.Learning()


def test_names():
    assert tuple(METHODS) == declarations.COMPARED
    assert set(select.SOLVERS) == set(get_args(sections.SolverName))
    assert set(augmentation.METHODS) == set(get_args(sections.MethodName))
    assert get_args(imputation.Mode) == get_args(declarations.ModeName)
    assert get_args(imputation.Learner) == get_args(sections.LearnerName)
    assert get_args(imputation.Missingness) == get_args(sections.MissingnessName)
    assert get_args(declarations.SizeName) == SIZES


def test_numbers():
    assert compilation.MAX_SIZE == declarations.MAX_SIZE
    assert em.MOST_ITERATIONS == declarations.NETWORK_ITERATIONS
    assert sections.GraphParameters.tolerance == em.TOLERANCE
    assert Imputing.networks == LEARNING.networks


def test_defaults_of_impute():
    assert Impute.mode == imputation.Imputer.mode
    assert Impute.draws == imputation.Imputer.draws
    assert Impute.missingness == LEARNING.missingness
    assert Impute.ess == ESS
    assert Impute.max_parents == LEARNING.max_parents
    assert Impute.starts == LEARNING.starts
    assert Impute.smoothing == LEARNING.alpha
