"""Exact and hybrid learning of Bayesian networks and probabilistic decision graphs.

The public names are loaded on first use, so that ``import exactlearn`` and
``exactlearn --help`` cost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exactlearn._runtime.ascent import EMResult
    from exactlearn.augmentation.augment import augment, gadget_problem
    from exactlearn.augmentation.local_search.coordinate_ascent import cell_losses
    from exactlearn.augmentation.ranking import Ranking, best_solutions
    from exactlearn.augmentation.result import Augmentation
    from exactlearn.bayesnet.complete_data import fit_complete
    from exactlearn.bayesnet.component_em import fit_naive_bayes
    from exactlearn.bayesnet.component_growth import learn_naive_bayes
    from exactlearn.bayesnet.deletion import DeletionFit, fit_deletion
    from exactlearn.bayesnet.em import fit_em
    from exactlearn.bayesnet.graph_deletion import fit_by_missingness_graph
    from exactlearn.bayesnet.indicators import fit_with_indicators
    from exactlearn.bayesnet.naive_bayes import NaiveBayes
    from exactlearn.bayesnet.network import BayesianNetwork
    from exactlearn.bayesnet.recoverability import recoverability
    from exactlearn.bayesnet.row_completion import (
        draw_completions,
        most_probable_completion,
        posterior_cells,
    )
    from exactlearn.bayesnet.smoothing_choice import SmoothingChoice, choose_smoothing
    from exactlearn.commands.report import report
    from exactlearn.data.blocks import Blocks, merge_rows
    from exactlearn.data.dataset import Dataset
    from exactlearn.data.discretisation import discretise
    from exactlearn.data.missingness import hide, simulate_missingness
    from exactlearn.data.missingness_graph import MissingnessGraph
    from exactlearn.errors import ColumnWarning, ExactlearnError, TimeLimitWarning
    from exactlearn.evaluation.bootstrap import ArcStrengths, bootstrap
    from exactlearn.evaluation.cross_validation import CrossValidation, cross_validate
    from exactlearn.evaluation.models import effective_size
    from exactlearn.evaluation.random_queries import random_queries
    from exactlearn.evaluation.sl_curves import sl_curves
    from exactlearn.formats.bif import read_bif, write_bif
    from exactlearn.formats.graph_file import read_graph, write_graph
    from exactlearn.formats.jkl import read_jkl, write_jkl
    from exactlearn.formats.libraries import from_pgmpy, from_pyagrum, to_pgmpy, to_pyagrum
    from exactlearn.formats.missingness_file import read_missingness, write_missingness
    from exactlearn.formats.models import read_network, write_network
    from exactlearn.formats.naive_bayes_json import read_naive_bayes, write_naive_bayes
    from exactlearn.formats.pdg_json import read_pdg, write_pdg
    from exactlearn.formats.scores import read_scores, write_scores
    from exactlearn.formats.table import read_dataset, write_dataset
    from exactlearn.formats.table_blocks import read_blocks
    from exactlearn.graphs.comparison import StructureComparison, compare_structures
    from exactlearn.graphs.consistent_extension import completed_pattern, consistent_extension
    from exactlearn.graphs.d_separation import d_separated
    from exactlearn.graphs.dag import markov_blanket
    from exactlearn.graphs.equivalence import (
        PartiallyDirectedGraph,
        covered_edges,
        cpdag,
        pattern,
        structural_hamming_distance,
    )
    from exactlearn.graphs.inclusion_boundary import (
        expected_distinct_models,
        inclusion_boundary,
        inclusion_boundary_size,
    )
    from exactlearn.graphs.named_graph import NamedGraph
    from exactlearn.imputation import Imputer, Learning
    from exactlearn.imputation.methods import impute
    from exactlearn.pdg.compile.compile import compile_network
    from exactlearn.pdg.inference.complete_rows import sample_rows
    from exactlearn.pdg.learn.forest_population import learn_direct
    from exactlearn.pdg.learn.hybrid import learn_hybrid, smallest_as_likely
    from exactlearn.pdg.learn.methods import learn_pdg
    from exactlearn.pdg.learn.network_starts import structural_em_rounds
    from exactlearn.pdg.learn.refine import refine
    from exactlearn.pdg.learn.structural_em import structural_em_graph
    from exactlearn.pdg.learn.structure_search import learn_on_forest
    from exactlearn.pdg.model.auxiliary_network import to_network
    from exactlearn.pdg.model.decision_graph import DecisionGraph
    from exactlearn.queries.explanations import most_probable_explanations, most_probable_states
    from exactlearn.queries.independences import independences
    from exactlearn.queries.information import entropy, kl_divergence, mutual_information
    from exactlearn.queries.posteriors import Answer, joint_posterior, query
    from exactlearn.queries.sensitivity import sensitivity
    from exactlearn.queries.table_queries import classify, query_rows
    from exactlearn.scoring.candidate_identification import Budget
    from exactlearn.scoring.candidates import candidate_parent_sets
    from exactlearn.scoring.scores import AIC, BIC, BDeu, PenalisedLikelihood, Score, score_family
    from exactlearn.scoring.sparse_candidates import sparse_candidates
    from exactlearn.solvers import Problem, Result, solve
    from exactlearn.solvers.certificates.certificate import Certificate
    from exactlearn.solvers.enumeration.networks import enumerate_classes, enumerate_networks
    from exactlearn.structure.equivalence_search import EquivalenceSearch, equivalence_search
    from exactlearn.structure.ess_choice import ESSChoice, choose_ess
    from exactlearn.structure.learned_counts import learned_counts
    from exactlearn.structure.learning import LearnedNetwork, learn
    from exactlearn.structure.result import StructuralEM
    from exactlearn.structure.structural_em import structural_em

__version__ = "0.1.0"

_HOME = {
    "AIC": "exactlearn.scoring.scores",
    "ArcStrengths": "exactlearn.evaluation.bootstrap",
    "Answer": "exactlearn.queries.posteriors",
    "Augmentation": "exactlearn.augmentation.result",
    "BDeu": "exactlearn.scoring.scores",
    "BIC": "exactlearn.scoring.scores",
    "BayesianNetwork": "exactlearn.bayesnet.network",
    "Blocks": "exactlearn.data.blocks",
    "Budget": "exactlearn.scoring.candidate_identification",
    "Certificate": "exactlearn.solvers.certificates.certificate",
    "ColumnWarning": "exactlearn.errors",
    "CrossValidation": "exactlearn.evaluation.cross_validation",
    "Dataset": "exactlearn.data.dataset",
    "DecisionGraph": "exactlearn.pdg.model.decision_graph",
    "DeletionFit": "exactlearn.bayesnet.deletion",
    "EMResult": "exactlearn._runtime.ascent",
    "ESSChoice": "exactlearn.structure.ess_choice",
    "EquivalenceSearch": "exactlearn.structure.equivalence_search",
    "ExactlearnError": "exactlearn.errors",
    "Imputer": "exactlearn.imputation",
    "LearnedNetwork": "exactlearn.structure.learning",
    "Learning": "exactlearn.imputation",
    "MissingnessGraph": "exactlearn.data.missingness_graph",
    "NaiveBayes": "exactlearn.bayesnet.naive_bayes",
    "NamedGraph": "exactlearn.graphs.named_graph",
    "PartiallyDirectedGraph": "exactlearn.graphs.equivalence",
    "PenalisedLikelihood": "exactlearn.scoring.scores",
    "Problem": "exactlearn.solvers",
    "Ranking": "exactlearn.augmentation.ranking",
    "Result": "exactlearn.solvers",
    "Score": "exactlearn.scoring.scores",
    "SmoothingChoice": "exactlearn.bayesnet.smoothing_choice",
    "StructuralEM": "exactlearn.structure.result",
    "StructureComparison": "exactlearn.graphs.comparison",
    "TimeLimitWarning": "exactlearn.errors",
    "augment": "exactlearn.augmentation.augment",
    "best_solutions": "exactlearn.augmentation.ranking",
    "bootstrap": "exactlearn.evaluation.bootstrap",
    "candidate_parent_sets": "exactlearn.scoring.candidates",
    "cell_losses": "exactlearn.augmentation.local_search.coordinate_ascent",
    "choose_ess": "exactlearn.structure.ess_choice",
    "choose_smoothing": "exactlearn.bayesnet.smoothing_choice",
    "classify": "exactlearn.queries.table_queries",
    "compare_structures": "exactlearn.graphs.comparison",
    "compile_network": "exactlearn.pdg.compile.compile",
    "completed_pattern": "exactlearn.graphs.consistent_extension",
    "consistent_extension": "exactlearn.graphs.consistent_extension",
    "covered_edges": "exactlearn.graphs.equivalence",
    "cpdag": "exactlearn.graphs.equivalence",
    "cross_validate": "exactlearn.evaluation.cross_validation",
    "d_separated": "exactlearn.graphs.d_separation",
    "discretise": "exactlearn.data.discretisation",
    "draw_completions": "exactlearn.bayesnet.row_completion",
    "effective_size": "exactlearn.evaluation.models",
    "entropy": "exactlearn.queries.information",
    "enumerate_classes": "exactlearn.solvers.enumeration.networks",
    "enumerate_networks": "exactlearn.solvers.enumeration.networks",
    "equivalence_search": "exactlearn.structure.equivalence_search",
    "expected_distinct_models": "exactlearn.graphs.inclusion_boundary",
    "fit_by_missingness_graph": "exactlearn.bayesnet.graph_deletion",
    "fit_complete": "exactlearn.bayesnet.complete_data",
    "fit_deletion": "exactlearn.bayesnet.deletion",
    "fit_em": "exactlearn.bayesnet.em",
    "fit_naive_bayes": "exactlearn.bayesnet.component_em",
    "fit_with_indicators": "exactlearn.bayesnet.indicators",
    "from_pgmpy": "exactlearn.formats.libraries",
    "from_pyagrum": "exactlearn.formats.libraries",
    "gadget_problem": "exactlearn.augmentation.augment",
    "hide": "exactlearn.data.missingness",
    "impute": "exactlearn.imputation.methods",
    "inclusion_boundary": "exactlearn.graphs.inclusion_boundary",
    "inclusion_boundary_size": "exactlearn.graphs.inclusion_boundary",
    "independences": "exactlearn.queries.independences",
    "joint_posterior": "exactlearn.queries.posteriors",
    "kl_divergence": "exactlearn.queries.information",
    "learn": "exactlearn.structure.learning",
    "learn_direct": "exactlearn.pdg.learn.forest_population",
    "learn_hybrid": "exactlearn.pdg.learn.hybrid",
    "learn_naive_bayes": "exactlearn.bayesnet.component_growth",
    "learn_on_forest": "exactlearn.pdg.learn.structure_search",
    "learn_pdg": "exactlearn.pdg.learn.methods",
    "learned_counts": "exactlearn.structure.learned_counts",
    "markov_blanket": "exactlearn.graphs.dag",
    "merge_rows": "exactlearn.data.blocks",
    "most_probable_completion": "exactlearn.bayesnet.row_completion",
    "most_probable_explanations": "exactlearn.queries.explanations",
    "most_probable_states": "exactlearn.queries.explanations",
    "mutual_information": "exactlearn.queries.information",
    "pattern": "exactlearn.graphs.equivalence",
    "posterior_cells": "exactlearn.bayesnet.row_completion",
    "query": "exactlearn.queries.posteriors",
    "query_rows": "exactlearn.queries.table_queries",
    "random_queries": "exactlearn.evaluation.random_queries",
    "read_bif": "exactlearn.formats.bif",
    "read_blocks": "exactlearn.formats.table_blocks",
    "read_dataset": "exactlearn.formats.table",
    "read_graph": "exactlearn.formats.graph_file",
    "read_jkl": "exactlearn.formats.jkl",
    "read_missingness": "exactlearn.formats.missingness_file",
    "read_naive_bayes": "exactlearn.formats.naive_bayes_json",
    "read_network": "exactlearn.formats.models",
    "read_pdg": "exactlearn.formats.pdg_json",
    "read_scores": "exactlearn.formats.scores",
    "recoverability": "exactlearn.bayesnet.recoverability",
    "refine": "exactlearn.pdg.learn.refine",
    "report": "exactlearn.commands.report",
    "sample_rows": "exactlearn.pdg.inference.complete_rows",
    "score_family": "exactlearn.scoring.scores",
    "sensitivity": "exactlearn.queries.sensitivity",
    "simulate_missingness": "exactlearn.data.missingness",
    "sl_curves": "exactlearn.evaluation.sl_curves",
    "smallest_as_likely": "exactlearn.pdg.learn.hybrid",
    "solve": "exactlearn.solvers",
    "sparse_candidates": "exactlearn.scoring.sparse_candidates",
    "structural_em": "exactlearn.structure.structural_em",
    "structural_em_graph": "exactlearn.pdg.learn.structural_em",
    "structural_em_rounds": "exactlearn.pdg.learn.network_starts",
    "structural_hamming_distance": "exactlearn.graphs.equivalence",
    "to_network": "exactlearn.pdg.model.auxiliary_network",
    "to_pgmpy": "exactlearn.formats.libraries",
    "to_pyagrum": "exactlearn.formats.libraries",
    "write_bif": "exactlearn.formats.bif",
    "write_dataset": "exactlearn.formats.table",
    "write_graph": "exactlearn.formats.graph_file",
    "write_jkl": "exactlearn.formats.jkl",
    "write_missingness": "exactlearn.formats.missingness_file",
    "write_naive_bayes": "exactlearn.formats.naive_bayes_json",
    "write_network": "exactlearn.formats.models",
    "write_pdg": "exactlearn.formats.pdg_json",
    "write_scores": "exactlearn.formats.scores",
}

__all__ = [
    "AIC",
    "BIC",
    "Answer",
    "ArcStrengths",
    "Augmentation",
    "BDeu",
    "BayesianNetwork",
    "Blocks",
    "Budget",
    "Certificate",
    "ColumnWarning",
    "CrossValidation",
    "Dataset",
    "DecisionGraph",
    "DeletionFit",
    "EMResult",
    "ESSChoice",
    "EquivalenceSearch",
    "ExactlearnError",
    "Imputer",
    "LearnedNetwork",
    "Learning",
    "MissingnessGraph",
    "NaiveBayes",
    "NamedGraph",
    "PartiallyDirectedGraph",
    "PenalisedLikelihood",
    "Problem",
    "Ranking",
    "Result",
    "Score",
    "SmoothingChoice",
    "StructuralEM",
    "StructureComparison",
    "TimeLimitWarning",
    "augment",
    "best_solutions",
    "bootstrap",
    "candidate_parent_sets",
    "cell_losses",
    "choose_ess",
    "choose_smoothing",
    "classify",
    "compare_structures",
    "compile_network",
    "completed_pattern",
    "consistent_extension",
    "covered_edges",
    "cpdag",
    "cross_validate",
    "d_separated",
    "discretise",
    "draw_completions",
    "effective_size",
    "entropy",
    "enumerate_classes",
    "enumerate_networks",
    "equivalence_search",
    "expected_distinct_models",
    "fit_by_missingness_graph",
    "fit_complete",
    "fit_deletion",
    "fit_em",
    "fit_naive_bayes",
    "fit_with_indicators",
    "from_pgmpy",
    "from_pyagrum",
    "gadget_problem",
    "hide",
    "impute",
    "inclusion_boundary",
    "inclusion_boundary_size",
    "independences",
    "joint_posterior",
    "kl_divergence",
    "learn",
    "learn_direct",
    "learn_hybrid",
    "learn_naive_bayes",
    "learn_on_forest",
    "learn_pdg",
    "learned_counts",
    "markov_blanket",
    "merge_rows",
    "most_probable_completion",
    "most_probable_explanations",
    "most_probable_states",
    "mutual_information",
    "pattern",
    "posterior_cells",
    "query",
    "query_rows",
    "random_queries",
    "read_bif",
    "read_blocks",
    "read_dataset",
    "read_graph",
    "read_jkl",
    "read_missingness",
    "read_naive_bayes",
    "read_network",
    "read_pdg",
    "read_scores",
    "recoverability",
    "refine",
    "report",
    "sample_rows",
    "score_family",
    "sensitivity",
    "simulate_missingness",
    "sl_curves",
    "smallest_as_likely",
    "solve",
    "sparse_candidates",
    "structural_em",
    "structural_em_graph",
    "structural_em_rounds",
    "structural_hamming_distance",
    "to_network",
    "to_pgmpy",
    "to_pyagrum",
    "write_bif",
    "write_dataset",
    "write_graph",
    "write_jkl",
    "write_missingness",
    "write_naive_bayes",
    "write_network",
    "write_pdg",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
