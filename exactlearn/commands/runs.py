"""Run files: what a declared pipeline consists of, as frozen dataclasses.

A run file is TOML with the sections ``[data]``, ``[score]``, ``[search]``, ``[network]``,
``[decision_graph]``, ``[[queries]]`` and ``[figures]``; its keys are the fields below. The command
line builds the same classes from its options, so that a default is written down once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Literal

from exactlearn.data import MISSING_SYMBOLS
from exactlearn.errors import OptionError
from exactlearn.formats.run_file import read_declared

CriterionName = Literal["bdeu", "bic", "aic", "penalised"]
SolverName = Literal["auto", "scip", "dynamic", "order-graph", "ordering"]
MethodName = Literal["branching", "exact", "gadget", "t-local", "mode"]
LearnerName = Literal[
    "structural-em", "structural-em-hard", "exact", "branching", "gadget", "t-local", "mode"
]
MissingnessName = Literal["ignored", "learned"]
FigureFormat = Literal["svg", "png", "pdf", "dot"]

MOST_SMOOTHING = 1e12
"""Largest pseudo-count of a cell; sums of larger ones may overflow."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table is read.

    Parameters
    ----------
    missing
        Symbols of a missing cell.
    header
        Whether the first line names the variables.
    separator
        Separator of the columns; found out from the file when not set.
    drop
        Columns to leave out.
    discretise
        Numeric columns to cut into bins: name to ``frequency:5`` or ``width:5``.
    states
        States of a variable in their order, for states that no row may have.
    weights
        Column that holds the weight of each row.
    """

    missing: tuple[str, ...] = MISSING_SYMBOLS
    header: bool = True
    separator: str | None = None
    drop: tuple[str, ...] = ()
    discretise: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: str | None = None


@dataclass(frozen=True, kw_only=True)
class Data(Reading):
    """Section ``[data]``: the table, and the tables to judge what is learned by.

    Parameters
    ----------
    file
        The table; relative to the run file.
    truth
        The same table without missing cells, if known; relative to the run file.
    test
        Rows that are not learned from, if there are any, to tell the log-likelihood of; relative to
        the run file.
    """

    file: str
    truth: str | None = None
    test: str | None = None


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """Section ``[score]``: what is maximised.

    Parameters
    ----------
    criterion
        Name of the score.
    ess
        Equivalent sample size of ``bdeu``.
    lambda_
        Trade-off of ``penalised``, from 0 to 1.
    max_parents
        Largest number of parents of a variable, or ``"none"`` for no limit.
    scoring_time
        Wall time in seconds to search for candidate parent sets best first, instead of scoring
        them all: for many variables. The optimum is then one over the candidates found, which
        depend on the machine's speed.
    """

    criterion: CriterionName = "bdeu"
    ess: float = 1.0
    lambda_: float | None = None
    max_parents: int | Literal["none"] = 3
    scoring_time: float | None = None

    def __post_init__(self) -> None:
        """Refuse a negative number of parents, and no time at all."""
        if self.max_parents != "none":
            _at_least("max_parents", self.max_parents, 0)
        if self.scoring_time is not None and not self.scoring_time > 0:
            raise OptionError(f"scoring_time: expected more than 0, found {self.scoring_time}")

    @property
    def most_parents(self) -> int | None:
        """The largest number of parents as a number, or ``None`` for no limit."""
        return None if self.max_parents == "none" else self.max_parents

    def most_parents_among(self, n_variables: int) -> int:
        """Return the largest number of parents of one of so many variables."""
        return max(0, n_variables - 1) if self.max_parents == "none" else self.max_parents


@dataclass(frozen=True, kw_only=True)
class Search:
    """Section ``[search]``: how network and completion are found.

    Parameters
    ----------
    method
        How missing cells are completed; complete data are solved exactly whatever it says.
    t, starts
        For ``t-local``: how many cells may change in one step, and the number of starts.
    solver
        Solver of parent-set selection.
    time_limit
        Wall time in seconds; without limit when not set.
    seed
        Seed of everything random.
    required, forbidden
        Arcs by name, ``"A -> B"``.
    required_adjacent, forbidden_adjacent
        Pairs with an arc in either direction, or in none, ``"A - B"``.
    required_ancestors, forbidden_ancestors
        Pairs with, or without, a directed path from the first to the second, ``"A -> B"``.
    tiers
        Groups of names, ``"A, B"``: none has a parent in a later group.
    max_parents_of
        Name to largest number of parents.
    independent
        Independences that the network must state, ``"A, B | C, D"``: A and B given C and D.
    min_arcs, max_arcs
        Smallest and largest number of arcs.
    """

    method: MethodName = "branching"
    t: int = 1
    starts: int = 10
    solver: SolverName = "auto"
    time_limit: float | None = None
    seed: int = 0
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    required_adjacent: tuple[str, ...] = ()
    forbidden_adjacent: tuple[str, ...] = ()
    required_ancestors: tuple[str, ...] = ()
    forbidden_ancestors: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    max_parents_of: Mapping[str, int] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
    min_arcs: int | None = None
    max_arcs: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        _at_least("t", self.t, 1)
        _at_least("starts", self.starts, 1)
        _at_least("seed", self.seed, 0)
        if self.time_limit is not None:
            _at_least("time_limit", self.time_limit, 0)
        for name, most in self.max_parents_of.items():
            _at_least(f"max_parents_of.{name}", most, 0)
        for key, arcs in (("min_arcs", self.min_arcs), ("max_arcs", self.max_arcs)):
            if arcs is not None:
                _at_least(key, arcs, 0)


@dataclass(frozen=True, kw_only=True)
class NetworkParameters:
    """Section ``[network]``: the parameters of the learned network, by EM where cells are missing.

    Parameters
    ----------
    smoothing
        Pseudo-counts for each parameter: every cell of a conditional table gets so many.
    """

    smoothing: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a negative pseudo-count."""
        _check_smoothing(self.smoothing)


@dataclass(frozen=True, kw_only=True)
class GraphParameters:
    """Section ``[decision_graph]``: EM refinement of the compiled graph on the incomplete data.

    Parameters
    ----------
    iterations
        Largest number of EM iterations.
    tolerance
        EM ends when the smoothed log-likelihood gains less than this per row.
    smoothing
        Pseudo-counts for each parameter: all together they are rows of the graph that EM starts
        from.
    """

    iterations: int = 100
    tolerance: float = 1e-6
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        _at_least("iterations", self.iterations, 0)
        _at_least("tolerance", self.tolerance, 0)
        _check_smoothing(self.smoothing)


@dataclass(frozen=True, kw_only=True)
class Queries:
    """One entry of ``[[queries]]``: the posterior of the targets given the evidence.

    Parameters
    ----------
    targets
        Variables asked for; all without evidence when empty.
    evidence
        Variable to state.
    """

    targets: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Section ``[figures]``: the drawings of network and decision graph.

    Parameters
    ----------
    formats
        File formats; none for no figures.
    """

    formats: tuple[FigureFormat, ...] = ("svg", "png")


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run file.

    Parameters
    ----------
    data, score, search, network, decision_graph, queries, figures
        The sections.
    title
        One line for the report.
    """

    title: str = ""
    data: Data
    score: Criterion = field(default_factory=Criterion)
    search: Search = field(default_factory=Search)
    network: NetworkParameters = field(default_factory=NetworkParameters)
    decision_graph: GraphParameters = field(default_factory=GraphParameters)
    queries: tuple[Queries, ...] = ()
    figures: Figures = field(default_factory=Figures)


def read_run(path: Path) -> Run:
    """Read a run file; its data files become absolute paths.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown, missing, of the wrong type or out of range.
    """
    run = read_declared(path, Run)
    folder = path.resolve().parent
    data = replace(
        run.data,
        file=str(folder / run.data.file),
        truth=str(folder / run.data.truth) if run.data.truth else None,
        test=str(folder / run.data.test) if run.data.test else None,
    )
    return replace(run, data=data)


def _at_least(name: str, found: float, least: int) -> None:
    if not isfinite(found) or found < least:
        raise OptionError(f"{name}: expected at least {least}, found {found}")


def _check_smoothing(found: float) -> None:
    if not 0 <= found <= MOST_SMOOTHING:
        raise OptionError(f"smoothing: expected 0 to {MOST_SMOOTHING:g}, found {found}")
