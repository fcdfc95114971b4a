"""Groups of options that several commands share, and the sections of a run file.

Nothing here imports more than click: ``--help`` is to be quick.
"""

import csv
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from exactlearn.commands.declare import (
    Declared,
    names_by_commas,
    option,
    pairs,
    registered,
)
from exactlearn.data import ALL_VALUES, MISSING_SYMBOLS

LearnerName = Literal[
    "structural-em",
    "structural-em-hard",
    "exact",
    "branching",
    "gadget",
    "t-local",
    "mode",
]
MissingnessName = Literal["ignored", "learned"]

METHODS = (
    "stacked",
    "averaged",
    "posterior",
    "mpe",
    "multiple",
    "augmentation",
    "mode",
)
"""Methods of an imputer, as in :mod:`exactlearn.imputation.methods`."""

IMPUTERS = (
    *("branching", "exact", "gadget", "t-local"),
    *("structural-em", "structural-em-hard", "posterior-average"),
    *("knn", "iterative", "logistic", "mice", "forest", "boosted"),
)
"""The other methods of completing a table there."""

FitMethod = Literal[
    "complete",
    "em",
    "cca",
    "aca",
    "d-mcar",
    "f-mcar",
    "d-mar",
    "f-mar",
    "id-mar",
    "if-mar",
]
PosteriorCountsName = Literal[
    "auto",
    "average",
    "expected",
    "d-mcar",
    "f-mcar",
    "d-mar",
    "f-mar",
    "id-mar",
    "if-mar",
]
CountsName = Literal[
    "expected", "d-mcar", "f-mcar", "d-mar", "f-mar", "id-mar", "if-mar", "node-average"
]
KindName = Literal["dag", "pattern", "cpdag"]

PRIORS = ("uniform", "fair")
"""Names of priors over networks, as in :mod:`exactlearn.scoring.prior`."""

CRITERIA = ("bdeu", "bic", "aic", "penalised")
"""Names of scores, as in :mod:`exactlearn.scoring.scores`."""

SOLVERS = ("scip", "order-graph", "root", "dynamic", "ordering")
"""Names of component solvers, as in :mod:`exactlearn.solvers.strategy`."""

AUGMENTATIONS = ("branching", "exact", "gadget", "t-local", "mode")
"""Methods of augmentation, as in :mod:`exactlearn.augmentation.augment`."""

CLASS_SEARCHES = ("ges", "kes")
"""Solvers that search equivalence classes instead of selecting parent sets: of ``solve`` only."""

MAX_SMOOTHING = 1e12
"""Largest pseudo-count of a cell; sums of larger ones may overflow."""


def _state_lists(entries: tuple[str, ...], flag: str) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(next(csv.reader([text])))
        for name, text in pairs(entries, flag).items()
    }


def _tiers(text: str, flag: str) -> tuple[str, ...]:
    return tuple(text.split(";")) if text else ()


class Reading(Declared):
    """Options for reading a table.

    Parameters
    ----------
    missing
        Symbol of a missing cell; repeatable.  [default: '?', empty, 'NA']
    header
        Whether the first line has the names of the columns; with --no-header it is a row.
    names
        Names of the columns, in place of X0, X1, ... with --no-header, else of the first
        line's; one with a comma stands in double quotes.
    separator
        Separator of columns, if not found out.
    arities
        The first line after the names holds the number of states of each column, as for GOBNILP,
        pygobnilp and blip; or it is a row, if it may be both.
    decimal
        Decimal mark of numbers, '.' or ','.
    drop
        Leave a column out; repeatable.
    discretise
        Cut a numeric column into bins, as in 'age=frequency:5' or 'age=width:5'; '*' stands for
        all numeric columns with more than 20 values; repeatable.
    categorical
        Columns of which each number is a state, however many there are.
    tidy
        Leave out columns that are constant, missing, without a name or different in every row,
        and cut numbers with more than 20 values into five bins.
    states
        Declare a column's states, for those that no row has; one with a comma stands in double
        quotes; repeatable.
    weights
        Column with the weight of each row.
    """

    groups: ClassVar = {"Table": "*"}

    missing: tuple[str, ...] = option(MISSING_SYMBOLS, metavar="SYMBOL")
    header: bool = option(True, flags=("--no-header",), hidden=True)
    names: tuple[str, ...] = option((), in_files=True)
    separator: str | None = option(None, in_files=True)
    arities: bool | None = option(None, flags=("--arities/--no-arities",), hidden=True)
    decimal: str = option(".", choices=lambda: (".", ","), hidden=True)
    drop: tuple[str, ...] = option((), metavar="NAME")
    discretise: Mapping[str, str] = option({}, metavar="NAME=METHOD:BINS", read=pairs)
    categorical: tuple[str, ...] = option(
        (), metavar="A,B,...", read=names_by_commas, once=True, hidden=True
    )
    tidy: bool = False
    states: Mapping[str, tuple[str, ...]] = option(
        {}, metavar="NAME=A,B,C", read=_state_lists
    )
    weights: str | None = option(None, metavar="NAME", hidden=True)

    @property
    def keywords(self) -> dict[str, Any]:
        """These options as keywords of `read_dataset`."""
        keywords = {name: getattr(self, name) for name in Reading.known()}
        del keywords["categorical"]
        # no names: those of the first line, or X0, X1, ...
        keywords["names"] = self.names or None
        keywords["states"] = self.declared_states
        return keywords

    @property
    def declared_states(self) -> dict[str, tuple[str, ...]]:
        """The declared states of each column, also where each value is declared to be one."""
        return {**dict.fromkeys(self.categorical, ALL_VALUES), **self.states}


class ModelReading(Declared):
    """Options for reading the network that a command is about.

    Parameters
    ----------
    normalise
        Divide each row of a network's tables by its sum: for files with counts or percentages.
    """

    normalise: bool = False


class NetworkReading(Declared):
    """Options for reading a network that an option names.

    Parameters
    ----------
    normalise
        Divide each row of that network's tables by its sum: for files with counts or percentages.
    """

    normalise: bool = option(False, only="network")


class OnCluster(Declared):
    """Options of a computation on a cluster.

    Parameters
    ----------
    cluster
        Compute on a Dask cluster: 'local' starts a process for each core, 'local:2' two; or the
        address of a scheduler, whose workers see the same files. Results do not depend on it.
        Needs exactlearn[scale].
    """

    groups: ClassVar = {"Search": "cluster"}

    cluster: str | None = option(None, metavar="local|ADDRESS", hidden=True)


class Clustered(Reading, OnCluster):
    """A table that may be read in blocks."""


class Criterion(Declared):
    """Section ``[score]``: the score to maximise.

    Parameters
    ----------
    criterion
        Score to maximise.
    ess
        Equivalent sample size of bdeu. auto: the smallest whose networks predict held-out rows
        as well as the best one's, up to one standard error, by cross-validation.
    max_parents
        Most parents of a variable, or 'none' for no limit.
    size_weight
        Weight lambda of the size in (1-lambda) log-likelihood - lambda size, which penalised needs;
        0 to 1.
    scoring_time
        Search parent sets best first for so many seconds instead of scoring all: for many
        variables. The result is optimal over those found, which depend on the machine.
    """

    groups: ClassVar = {"Score": "*"}

    criterion: str = option(
        "bdeu",
        flags=("--score",),
        choices=registered("scoring.scores.CRITERIA", *CRITERIA),
    )
    ess: float | Literal["auto"] = option(1.0, only="criterion=bdeu")
    max_parents: int | Literal["none"] = 3
    size_weight: float | None = option(None, only="criterion=penalised", hidden=True)
    scoring_time: float | None = None

    @property
    def most_parents(self) -> int | None:
        """The largest number of parents as a number, or ``None`` for no limit."""
        return None if self.max_parents == "none" else self.max_parents

    def most_parents_among(self, n_variables: int) -> int:
        """Return the largest number of parents of one of so many variables."""
        return (
            max(0, n_variables - 1) if self.max_parents == "none" else self.max_parents
        )


class Random(Declared):
    """Options of random choices.

    Parameters
    ----------
    seed
        Seed of everything random.
    """

    groups: ClassVar = {"Search": "*"}

    seed: int = 0


class Constrained(Declared):
    """Constraints on the network, as options and as keys of a file of constraints.

    Parameters
    ----------
    required
        Arc that must be there; repeatable.
    forbidden
        Arc that must not; repeatable.
    required_adjacent
        Variables with an arc between them, in either direction, as 'A - B'.
    forbidden_adjacent
        Variables with no arc between them, as 'A - B'.
    required_ancestors
        Variables with a directed path from the first to the second, as 'A -> B'.
    forbidden_ancestors
        Variables with no such path, as 'A -> B'.
    tiers
        Groups of variables: none has a parent in a later group.
    max_parents_of
        Most parents of one variable.
    independent
        Variables A and B that the network must separate, given C and D, as 'A, B | C, D'.
    """

    groups: ClassVar = {"Constraints": "*"}

    required: tuple[str, ...] = option((), metavar="'A->B'")
    forbidden: tuple[str, ...] = option((), metavar="'A->B'")
    required_adjacent: tuple[str, ...] = option((), in_files=True)
    forbidden_adjacent: tuple[str, ...] = option((), in_files=True)
    required_ancestors: tuple[str, ...] = option((), in_files=True)
    forbidden_ancestors: tuple[str, ...] = option((), in_files=True)
    tiers: tuple[str, ...] = option((), metavar="'A,B;C;D'", read=_tiers, once=True)
    max_parents_of: Mapping[str, int] = option({}, in_files=True, least=0)
    independent: tuple[str, ...] = option((), in_files=True)


class Limited(Constrained, Random):
    """Constraints, limit and seed.

    Parameters
    ----------
    constraints
        TOML file with these and more constraints: required, forbidden, tiers, and as lists
        required_adjacent and forbidden_adjacent ('A - B'), required_ancestors and
        forbidden_ancestors ('A -> B'), independent ('A, B | C, D'); as numbers
        max_parents_of for single variables. Options add to its lists, and replace its tiers.
    time_limit
        Wall time in seconds.
    """

    groups: ClassVar = {"Search": "time_limit", "Constraints": "constraints"}

    constraints: str | None = option(None, reads=True, metavar="FILE.toml")
    time_limit: float | None = None


class Selection(Limited):
    """Options of parent-set selection.

    Parameters
    ----------
    solver
        Solver of parent-set selection.
    """

    groups: ClassVar = {"Search": "solver"}

    solver: str = option(
        "auto",
        choices=registered("solvers.strategy.COMPONENT_SOLVERS", "auto", *SOLVERS),
    )


class Climbing(Selection):
    """Options of the search for network and completion, but for the method.

    Parameters
    ----------
    t
        t-local: cells that may change in one step.
    starts
        Starts. t-local: the most frequent states and then random ones, improved by hard EM
        first. structural EM: the network of deletion counts, and then those of random
        completions. hard structural EM: the most frequent states, and then random ones.
    """

    groups: ClassVar = {"Search": "*"}

    t: int = 1
    starts: int = 10


class Search(Climbing):
    """Section ``[search]``: the search for network and completion.

    Complete data are solved exactly whatever the method.

    Parameters
    ----------
    method
        How missing cells are completed.
    """

    groups: ClassVar = {"Search": "*"}

    method: str = option(
        "branching",
        choices=registered("augmentation.augment.METHODS", *AUGMENTATIONS),
    )


class NetworkParameters(Declared):
    """Section ``[network]``: parameters of a network, by EM where cells are missing.

    Parameters
    ----------
    smoothing
        Pseudo-count of every cell of a table.
    """

    groups: ClassVar = {"Search": "*"}

    smoothing: float = option(0.25, least=0, most=MAX_SMOOTHING)


class GraphParameters(Declared):
    """Section ``[decision_graph]``: EM refinement of the compiled graph on the incomplete data.

    Parameters
    ----------
    iterations
        Largest number of EM iterations.
    tolerance
        EM ends when the smoothed log-likelihood gains less than this per row.
    smoothing
        Pseudo-counts for each parameter: together, rows of the graph that EM starts from. cv:
        as many as predict held-out rows best, by cross-validation.
    """

    groups: ClassVar = {"Search": "*"}

    iterations: int = 100
    tolerance: float = 1e-06
    smoothing: float | Literal["cv"] = option(
        "cv", metavar="NUMBER|cv", least=0, most=MAX_SMOOTHING
    )


class CompleteLearning(Reading, Criterion, Selection):
    """Options of learning a network from a complete table."""


SELECTION = tuple(
    name for name in Selection.known() if name not in ("seed", "time_limit")
)
"""Options that say which network is selected, and how."""


class IncompleteLearning(CompleteLearning, Climbing, NetworkParameters):
    """Options of learning from missing cells."""
