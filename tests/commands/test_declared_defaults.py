"""What the options repeat of the library, so that help need not import it, is the library's."""

from typing import get_args

from exactlearn import imputation
from exactlearn.bayesnet import em
from exactlearn.commands import compare, fit, impute, learn_pdg
from exactlearn.commands.compile import MAX_SIZE
from exactlearn.commands.options import missingness_option, networks_option
from exactlearn.commands.runs import GraphParameters, LearnerName, MissingnessName
from exactlearn.imputation.learning import ESS
from exactlearn.imputation.methods import METHODS
from exactlearn.pdg.compile import compile as compilation
from exactlearn.pdg.model.structure_score import SIZES

LEARNING = imputation.Learning()


def default(option):
    def command(): ...

    return option(command).__click_params__[0].default


def test_names():
    assert tuple(METHODS) == compare.METHODS
    assert get_args(imputation.Mode) == impute.MODES
    assert get_args(imputation.Learner) == get_args(LearnerName)
    assert get_args(imputation.Missingness) == get_args(MissingnessName)
    assert SIZES == learn_pdg.SIZES


def test_numbers():
    assert compilation.MAX_SIZE == MAX_SIZE
    assert fit.NETWORK_ITERATIONS == em.MOST_ITERATIONS
    assert GraphParameters.tolerance == em.TOLERANCE
    assert default(networks_option) == LEARNING.networks
    assert default(missingness_option) == LEARNING.missingness


def test_defaults_of_impute():
    options = {option.name: option.default for option in impute.command.params}
    assert options["mode"] == imputation.Imputer.mode
    assert options["draws"] == imputation.Imputer.draws
    assert {
        "ess": ESS,
        "max_parents": LEARNING.max_parents,
        "starts": LEARNING.starts,
        "smoothing": LEARNING.alpha,
    } == impute.LEARNING_DEFAULTS
