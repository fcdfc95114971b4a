"""Exact and hybrid learning of Bayesian networks and probabilistic decision graphs.

The public names are loaded on first use, so that ``import exactlearn`` and
``exactlearn --help`` cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exactlearn.augmentation import Augmentation, augment, gadget_problem
    from exactlearn.augmentation.profile import Profile, profile
    from exactlearn.augmentation.ranking import Ranking, best_pairs
    from exactlearn.candidate_identification import Budget
    from exactlearn.candidates import candidate_parent_sets
    from exactlearn.data import Dataset
    from exactlearn.discretisation import discretise
    from exactlearn.errors import ExactlearnError
    from exactlearn.evaluation.completing import (
        draw_completions,
        most_probable_completion,
        posterior_cells,
    )
    from exactlearn.evaluation.explanations import most_probable_explanations, most_probable_states
    from exactlearn.evaluation.information import entropy, kl_divergence, mutual_information
    from exactlearn.evaluation.queries import Answer, joint_posterior, query
    from exactlearn.evaluation.sensitivity import sensitivity
    from exactlearn.evaluation.table_queries import classify, query_rows
    from exactlearn.formats.bif import read_bif, write_bif
    from exactlearn.formats.jkl import read_jkl, write_jkl
    from exactlearn.formats.pdg_json import read_pdg, write_pdg
    from exactlearn.formats.scores_file import read_scores, write_scores
    from exactlearn.formats.table import read_dataset, write_dataset
    from exactlearn.imputation import Imputer, Learning
    from exactlearn.missingness import hide
    from exactlearn.naive_bayes import learn_naive_bayes
    from exactlearn.network import BayesianNetwork
    from exactlearn.parameters.complete import fit_complete
    from exactlearn.parameters.em import EMResult, fit_em
    from exactlearn.pdg.compile import compile_network
    from exactlearn.pdg.decision_graph import DecisionGraph
    from exactlearn.pdg.forest_population import learn_pdg
    from exactlearn.pdg.hybrid_learning import learn_hybrid, smallest_as_likely
    from exactlearn.pdg.learning import learn_on_forest
    from exactlearn.pdg.refine import Refinement, refine
    from exactlearn.pdg.sample import sample_rows
    from exactlearn.pdg.structural_em import structural_em_graph
    from exactlearn.pdg.structural_em_rounds import structural_em_rounds
    from exactlearn.scores import AIC, BIC, BDeu, PenalisedLikelihood, score_family
    from exactlearn.solvers import Problem, Result, solve
    from exactlearn.solvers.certificate import Certificate
    from exactlearn.solvers.enumeration import enumerate_classes, enumerate_networks
    from exactlearn.structure.result import StructuralEM
    from exactlearn.structure.structural_em import structural_em

__version__ = "0.1.0"

_HOME = {
    "AIC": "exactlearn.scores",
    "Answer": "exactlearn.evaluation.queries",
    "Augmentation": "exactlearn.augmentation",
    "BDeu": "exactlearn.scores",
    "BIC": "exactlearn.scores",
    "BayesianNetwork": "exactlearn.network",
    "Budget": "exactlearn.candidate_identification",
    "Certificate": "exactlearn.solvers.certificate",
    "Dataset": "exactlearn.data",
    "DecisionGraph": "exactlearn.pdg.decision_graph",
    "EMResult": "exactlearn.parameters.em",
    "ExactlearnError": "exactlearn.errors",
    "Imputer": "exactlearn.imputation",
    "Learning": "exactlearn.imputation",
    "PenalisedLikelihood": "exactlearn.scores",
    "Problem": "exactlearn.solvers",
    "Profile": "exactlearn.augmentation.profile",
    "Ranking": "exactlearn.augmentation.ranking",
    "Refinement": "exactlearn.pdg.refine",
    "Result": "exactlearn.solvers",
    "StructuralEM": "exactlearn.structure.result",
    "augment": "exactlearn.augmentation",
    "best_pairs": "exactlearn.augmentation.ranking",
    "candidate_parent_sets": "exactlearn.candidates",
    "classify": "exactlearn.evaluation.table_queries",
    "compile_network": "exactlearn.pdg.compile",
    "discretise": "exactlearn.discretisation",
    "draw_completions": "exactlearn.evaluation.completing",
    "entropy": "exactlearn.evaluation.information",
    "enumerate_classes": "exactlearn.solvers.enumeration",
    "enumerate_networks": "exactlearn.solvers.enumeration",
    "fit_complete": "exactlearn.parameters.complete",
    "fit_em": "exactlearn.parameters.em",
    "gadget_problem": "exactlearn.augmentation",
    "hide": "exactlearn.missingness",
    "joint_posterior": "exactlearn.evaluation.queries",
    "kl_divergence": "exactlearn.evaluation.information",
    "learn_hybrid": "exactlearn.pdg.hybrid_learning",
    "learn_naive_bayes": "exactlearn.naive_bayes",
    "learn_on_forest": "exactlearn.pdg.learning",
    "learn_pdg": "exactlearn.pdg.forest_population",
    "most_probable_completion": "exactlearn.evaluation.completing",
    "most_probable_explanations": "exactlearn.evaluation.explanations",
    "most_probable_states": "exactlearn.evaluation.explanations",
    "mutual_information": "exactlearn.evaluation.information",
    "posterior_cells": "exactlearn.evaluation.completing",
    "profile": "exactlearn.augmentation.profile",
    "query": "exactlearn.evaluation.queries",
    "query_rows": "exactlearn.evaluation.table_queries",
    "read_bif": "exactlearn.formats.bif",
    "read_dataset": "exactlearn.formats.table",
    "read_jkl": "exactlearn.formats.jkl",
    "read_pdg": "exactlearn.formats.pdg_json",
    "read_scores": "exactlearn.formats.scores_file",
    "refine": "exactlearn.pdg.refine",
    "sample_rows": "exactlearn.pdg.sample",
    "score_family": "exactlearn.scores",
    "sensitivity": "exactlearn.evaluation.sensitivity",
    "smallest_as_likely": "exactlearn.pdg.hybrid_learning",
    "solve": "exactlearn.solvers",
    "structural_em": "exactlearn.structure.structural_em",
    "structural_em_graph": "exactlearn.pdg.structural_em",
    "structural_em_rounds": "exactlearn.pdg.structural_em_rounds",
    "write_bif": "exactlearn.formats.bif",
    "write_dataset": "exactlearn.formats.table",
    "write_jkl": "exactlearn.formats.jkl",
    "write_pdg": "exactlearn.formats.pdg_json",
    "write_scores": "exactlearn.formats.scores_file",
}

__all__ = [
    "AIC",
    "BIC",
    "Answer",
    "Augmentation",
    "BDeu",
    "BayesianNetwork",
    "Budget",
    "Certificate",
    "Dataset",
    "DecisionGraph",
    "EMResult",
    "ExactlearnError",
    "Imputer",
    "Learning",
    "PenalisedLikelihood",
    "Problem",
    "Profile",
    "Ranking",
    "Refinement",
    "Result",
    "StructuralEM",
    "augment",
    "best_pairs",
    "candidate_parent_sets",
    "classify",
    "compile_network",
    "discretise",
    "draw_completions",
    "entropy",
    "enumerate_classes",
    "enumerate_networks",
    "fit_complete",
    "fit_em",
    "gadget_problem",
    "hide",
    "joint_posterior",
    "kl_divergence",
    "learn_hybrid",
    "learn_naive_bayes",
    "learn_on_forest",
    "learn_pdg",
    "most_probable_completion",
    "most_probable_explanations",
    "most_probable_states",
    "mutual_information",
    "posterior_cells",
    "profile",
    "query",
    "query_rows",
    "read_bif",
    "read_dataset",
    "read_jkl",
    "read_pdg",
    "read_scores",
    "refine",
    "sample_rows",
    "score_family",
    "sensitivity",
    "smallest_as_likely",
    "solve",
    "structural_em",
    "structural_em_graph",
    "structural_em_rounds",
    "write_bif",
    "write_dataset",
    "write_jkl",
    "write_pdg",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
