"""The steps of the declared pipeline that learn: table, score, constraints, network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, OnEvent, SearchControl, is_interrupted
from exactlearn.commands.declarations import Augment, CountsName, Imputing, Solve
from exactlearn.commands.declared_constraints import declared_constraints, pair
from exactlearn.commands.sections import (
    CLASS_SEARCHES,
    CompleteLearning,
    Criterion,
    IncompleteLearning,
    Reading,
    Selection,
)
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.formats.table import read_dataset
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.orientation import known_directions
from exactlearn.queries.evidence import Model
from exactlearn.scoring.candidate_identification import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.deletion_enumeration import DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts
from exactlearn.scoring.scores import Score, parse_score
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.constraints import Constraint, ForbiddenAdjacency, Tiers
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import Status

if TYPE_CHECKING:
    from exactlearn.augmentation import Augmentation
    from exactlearn.imputation.learning import Learning
    from exactlearn.scoring.local_models import LocalModels
    from exactlearn.structure.learned_counts import LearnedCounts

SCORING_SHARE = 0.8
"""Share of a time limit after which scoring is stopped, so that a network is found in the rest."""

LEAST_SCORING = 1.0
"""Seconds that scoring may take whatever the time limit."""

ESS_SHARE = 0.3
"""Share of a time limit in which the equivalent sample size is chosen."""

AFTER_INTERRUPT = 0.5
"""Seconds in which a network is found after Ctrl-C has stopped the scoring."""


Options = TypeVar("Options", bound=CompleteLearning)


class Arcs(TypedDict):
    """Arcs that every network must, or must not, have, as pairs of variable indices."""

    required: frozenset[Arc]
    forbidden: frozenset[Arc]


class Constraints(Arcs):
    """All constraints of a problem."""

    constraints: tuple[Constraint, ...]


def load(path: Path, reading: Reading) -> Dataset:
    """Read a table as declared."""
    return read_dataset(
        path,
        missing=reading.missing,
        header=reading.header,
        separator=reading.separator,
        states=reading.states or None,
        drop=reading.drop,
        discretise=reading.discretise or None,
        weights=reading.weights,
    )


def load_truth(path: Path, reading: Reading) -> Dataset:
    """Read the table that completions are compared with; its states are the ones it has."""
    return load(path, replace(reading, states={}))


def load_for(path: Path, reading: Reading, model: Model | Dataset) -> Dataset:
    """Read a table for a model, or for the table that one is learnt from.

    Its variables are in the model's order, with the model's states.

    Raises
    ------
    DataError
        When a variable of the model is absent, or a row has a state that the model does not know.
    """
    states = dict(zip(model.names, model.states, strict=True))
    dataset = load(path, replace(reading, states={**reading.states, **states}))
    codes = aligned_codes(dataset, model.names, model.states)
    return Dataset(codes, model.names, model.states, dataset.weights)


def load_test(path: Path, reading: Reading, model: Model | Dataset) -> Dataset:
    """Read rows that nothing is learnt from, as `load_for`; numbers go into the model's bins."""
    return load_for(path, replace(reading, discretise={}), model)


def score_of(criterion: Criterion) -> Score:
    """Return the declared score, whose equivalent sample size is chosen."""
    assert criterion.ess != "auto", "with_chosen_ess chooses it"
    return parse_score(criterion.criterion, ess=criterion.ess, lambda_=criterion.lambda_)


def with_chosen_ess(
    dataset: Dataset, options: Options, tell: Callable[[str], None]
) -> tuple[Options, dict[str, Any]]:
    """Choose the equivalent sample size where it is to be chosen: also where none is declared.

    Without one it is chosen where cells are missing, as the networks of a fixed one predict worse
    (docs/incomplete-tables.md), and the default of complete tables otherwise.

    Parameters
    ----------
    dataset
        What is learned from.
    options
        What is declared.
    tell
        Called with a line that says why the value was chosen.

    Returns
    -------
    options, record
        The options with a number, and with the time that is left; what the record says of it.

    Raises
    ------
    OptionError
        When the score has no equivalent sample size.
    KeyboardInterrupt
        After Ctrl-C, unless it ends a search that this is a part of.
    """
    if options.ess is None:
        predicts = options.criterion == "bdeu" and not dataset.is_complete
        options = replace(options, ess="auto" if predicts else Criterion.ess)
    if options.ess != "auto":
        return options, {}
    if options.criterion != "bdeu":
        raise OptionError(
            f"--ess auto is for --criterion bdeu, found {options.criterion!r}; leave one of the "
            "two out"
        )
    from exactlearn.structure.ess_choice import choose_ess  # takes long to import

    begun, limit = monotonic(), options.time_limit
    with SearchControl().running() as control:
        choice = choose_ess(
            dataset,
            max_parents=options.most_parents,
            seed=options.seed,
            time_limit=None if limit is None else ESS_SHARE * limit,
        )
    if control.is_stopped and not is_interrupted():
        raise KeyboardInterrupt
    tell(choice.reason)
    left = None if limit is None else max(0.0, limit - (monotonic() - begun))
    return replace(options, ess=choice.ess, time_limit=left), {"ess": choice.to_dict()}


def arcs(entries: Sequence[str], names: Sequence[str]) -> tuple[Arc, ...]:
    """Return arcs written ``A -> B`` as pairs of variable indices.

    Raises
    ------
    OptionError
        When an entry is no arc between two of the variables.

    Examples
    --------
    >>> arcs(["b -> a"], ["a", "b"])
    ((1, 0),)
    """
    return tuple(pair(entry, "->", "arc", names) for entry in entries)


def constraints(search: Selection, names: Sequence[str]) -> Constraints:
    """Return the declared constraints as keywords of :class:`Problem`.

    Raises
    ------
    OptionError
        When an entry is not of its form, or names no variable.
    InfeasibleError
        When required arcs close a directed cycle.
    """
    required, forbidden = arcs(search.required, names), arcs(search.forbidden, names)
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in set(required):
        parents[child].append(parent)
    try:
        topological_order(parents, names)
    except OptionError as error:
        raise InfeasibleError(f"required arcs: {error}") from None
    return Constraints(
        required=frozenset(required),
        forbidden=frozenset(forbidden),
        constraints=declared_constraints(search, names),
    )


def arc_constraints(search: Selection, names: Sequence[str]) -> Arcs:
    """Return the declared constraints, which must be on single arcs, as arcs.

    Raises
    ------
    OptionError
        As :func:`constraints`, and when one is not on single arcs: networks are not completed
        under those.
    InfeasibleError
        As :func:`constraints`.
    """
    found = constraints(search, names)
    for constraint in found["constraints"]:
        if not isinstance(constraint, Tiers | ForbiddenAdjacency):
            raise OptionError(
                f"'{constraint.describe(names)}' cannot be honoured while missing cells are "
                "completed; there, arcs, forbidden adjacencies and tiers can. Complete the table "
                "first (augment -o completed.csv), and solve that with the constraint"
            )
    ruled_out = (c.forbidden_arcs for c in found["constraints"])
    return Arcs(required=found["required"], forbidden=found["forbidden"].union(*ruled_out))


def directions(search: Selection, names: Sequence[str]) -> frozenset[Arc]:
    """Return the directions that the declared constraints on single arcs leave to adjacencies."""
    found = constraints(search, names)
    ruled_out = (c.forbidden_arcs for c in found["constraints"])
    return known_directions(found["required"], found["forbidden"].union(*ruled_out))


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A problem, and what is left of the time limit after its scoring.

    Parameters
    ----------
    problem
        Candidates and constraints; ``stopped`` where not all parent sets were scored.
    search
        How to solve it, in the time that is left.
    models
        The families' local models, unless all are tables.
    limit
        The time limit of scoring and solving together.
    interrupted
        Whether Ctrl-C ended the scoring.
    """

    problem: Problem
    search: Selection
    models: "LocalModels | None" = None
    limit: float | None = None
    interrupted: bool = False

    def judged(self, result: Result) -> Result:
        """Return the result of the problem as one of the data.

        Where scoring was stopped, no bound is known, and nothing is proven.
        """
        if not self.problem.stopped:
            return result
        cause = "Ctrl-C" if self.interrupted else f"the time limit of {self.limit:g} s"
        said = [f"{cause} stopped the scoring: {self.problem.stopped}; no bound is known"]
        if result.parents is None:
            said.append("no network of the parent sets scored was found to meet the constraints")
        ended: Status = "interrupted" if self.interrupted else "feasible"
        return replace(
            result,
            status=result.status if result.status == "interrupted" else ended,
            bound=inf,
            message="; ".join(said),
        )

    def listener(self, on_event: OnEvent) -> OnEvent:
        """Return the listener to events of the problem, as those of the data."""
        if not self.problem.stopped:
            return on_event
        return lambda event: on_event(event._replace(bound=inf))


def scored_problem(
    dataset: Dataset,
    options: CompleteLearning,
    *,
    every: bool = False,
    counts: CountsName | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Scored:
    """Score as :func:`learning_problem` within a part of the time limit, or until Ctrl-C."""
    begun, limit = monotonic(), options.time_limit
    with SearchControl().running() as control:
        problem, models = _scored_families(
            dataset,
            options,
            every=every,
            counts=counts,
            tell=tell,
            scoring_limit=None if limit is None else max(LEAST_SCORING, SCORING_SHARE * limit),
            control=control,
        )
    if control.is_stopped:
        options = replace(options, time_limit=AFTER_INTERRUPT)
    elif limit is not None:
        options = replace(options, time_limit=max(0.0, limit - (monotonic() - begun)))
    return Scored(
        problem=problem,
        search=options,
        models=models,
        limit=limit,
        interrupted=control.is_stopped,
    )


def learning_problem(dataset: Dataset, options: CompleteLearning) -> Problem:
    """Return the candidate parent sets of a complete table with the declared constraints.

    Raises
    ------
    OptionError
        When one variable is allowed more parents than all are.
    """
    return _scored_families(dataset, options)[0]


def _scored_families(
    dataset: Dataset,
    options: CompleteLearning,
    *,
    every: bool = False,
    counts: CountsName | None = None,
    tell: Callable[[str], None] = lambda text: None,
    scoring_limit: float | None = None,
    control: SearchControl = UNLIMITED,
) -> tuple[Problem, "LocalModels | None"]:
    """Return the candidate parent sets of a table and their local models, unless all are tables.

    Parameters
    ----------
    dataset, options
        What is declared.
    every
        Keep parent sets that are never part of a best network, for other networks than that.
    counts
        How the counts of families with missing cells are estimated; without it there are none.
    tell
        Called with a line that says what score, bound and proof refer to, if not to the table.
    scoring_limit, control
        What stops the scoring, as in :func:`candidate_parent_sets`.

    Raises
    ------
    OptionError
        When one variable is allowed more parents than all are.
    """
    _require_parent_sets(options)
    found = constraints(options, dataset.names)
    for name, most in options.max_parents_of.items():
        if options.most_parents is not None and most > options.most_parents:
            raise OptionError(
                f"max_parents_of: {name!r} may have {most} parents, but no variable more than "
                f"max_parents = {options.max_parents}; raise that, or lower this"
            )
    declared, required = found["constraints"], found["required"]
    # A set that is dominated by a subset is of no use where arcs may always be taken away; and a
    # conflict of several constraints is named rightly only where none of them chose the candidates.
    prune = not every and all(c.removable for c in declared) and not (declared and required)
    ruled_out = [c.forbidden_arcs for c in declared if prune]
    deadline = None if scoring_limit is None else monotonic() + scoring_limit
    seconds = options.scoring_time
    if seconds is not None and scoring_limit is not None:
        seconds = min(seconds, scoring_limit)
    estimated: DeletionCounts | ExpectedCounts | None = None
    if counts == "expected" and not dataset.is_complete:
        learned = _learned_counts(dataset, options, found, scoring_limit, tell)
        if not learned.counts.finished:
            alone = learned.problem(dataset, score_of(options))
            reason = "the parent sets are those of the network that structural EM found"
            return replace(alone, complete=False, stopped=reason, **found), None
        estimated = learned.counts
    elif counts is not None and counts != "expected":
        estimated = DeletionCounts(counts)
    problem = candidate_parent_sets(
        dataset,
        score_of(options),
        max_parents=options.most_parents,
        budget=Budget(seconds=seconds) if seconds else None,
        counts=estimated,
        required=() if declared else required,
        forbidden=found["forbidden"].union(*ruled_out) if prune or not declared else (),
        prune=prune,
        time_limit=None if deadline is None else max(0.0, deadline - monotonic()),
        control=control,
    )
    models = _local_models(dataset, options, estimated)
    if models is not None:
        problem = models.problem(
            problem,
            prune=prune,
            required=required,
            forbidden=found["forbidden"].union(*(c.forbidden_arcs for c in declared)),
            time_limit=None if deadline is None else max(0.0, deadline - monotonic()),
            control=control,
        )
    return replace(problem, **found), models


def _learned_counts(
    dataset: Dataset,
    options: CompleteLearning,
    found: Constraints,
    limit: float | None,
    tell: Callable[[str], None],
) -> "LearnedCounts":
    """Return expected counts under a network that keeps the constraints on single arcs."""
    from exactlearn.structure.learned_counts import learned_counts  # takes long to import

    learned = learned_counts(
        dataset,
        max_parents=options.most_parents_among(dataset.n_variables),
        required=found["required"],
        forbidden=found["forbidden"].union(*(c.forbidden_arcs for c in found["constraints"])),
        seed=options.seed,
        time_limit=limit,
    )
    limited = "" if learned.status == "converged" else " that was cut short"
    tell(
        "Cells are missing: score, bound and proof are those of expected counts, under a network "
        f"by structural EM{limited}; see --counts, and 'exactlearn augment' to fill cells in"
    )
    return learned


def _local_models(
    dataset: Dataset,
    options: CompleteLearning,
    counts: DeletionCounts | ExpectedCounts | None,
) -> "LocalModels | None":
    """Return the declared local models of families, unless all are tables."""
    if not isinstance(options, Solve) or options.local_models == "table":
        return None
    from exactlearn.scoring.local_models import LocalModels  # takes long to import

    if isinstance(counts, DeletionCounts) and not dataset.is_complete:
        raise OptionError(
            f"--local-models {options.local_models} takes expected counts of missing cells, not "
            f"those of --counts {options.counts}; leave one of them out"
        )
    return LocalModels(
        dataset,
        score_of(options),
        options.local_models,
        table_parents=options.most_parents,
        log_linear_parents=options.log_linear_parents,
        counts=counts if isinstance(counts, ExpectedCounts) else None,
    )


def _require_parent_sets(search: Selection) -> None:
    """Refuse a solver that selects no parent sets."""
    if search.solver in CLASS_SEARCHES:
        raise OptionError(
            f"solver {search.solver!r} searches equivalence classes of complete data, without "
            "parent sets: give it to 'exactlearn solve', or to a step [solve] of a run file"
        )


def learn_complete(
    problem: Problem, search: Selection, on_event: OnEvent | None = None, **more: Any
) -> Result:
    """Solve parent-set selection as declared, with ``more`` options of :func:`solve`."""
    return solve(
        problem,
        solver=search.solver,
        time_limit=search.time_limit,
        seed=search.seed,
        on_event=on_event,
        **more,
    )


class IncompleteOptions(Arcs):
    """How network and completion are learned, as keywords of :func:`augment` and `Learning`."""

    score: Score
    max_parents: int
    t: int
    starts: int
    solver: str
    time_limit: float | None
    seed: int


def incomplete_options(dataset: Dataset, options: IncompleteLearning) -> IncompleteOptions:
    """Return what is declared for learning from a table with missing cells.

    Raises
    ------
    OptionError
        When a scoring time is given: only complete data are searched best first; and as
        :func:`arc_constraints`.
    InfeasibleError
        As :func:`arc_constraints`.
    """
    _require_parent_sets(options)
    if options.scoring_time is not None:
        raise OptionError(
            "scoring_time is for complete data, but cells are missing; leave it out, and lower "
            "max_parents if there are too many families"
        )
    return IncompleteOptions(
        score=score_of(options),
        max_parents=options.most_parents_among(dataset.n_variables),
        t=options.t,
        starts=options.starts,
        solver=options.solver,
        time_limit=options.time_limit,
        seed=options.seed,
        **arc_constraints(options, dataset.names),
    )


def learn_incomplete(
    dataset: Dataset,
    options: Augment,
    on_event: OnEvent | None = None,
    *,
    start: NDArray[np.int64] | None = None,
) -> "Augmentation":
    """Learn network and completion together as declared, from a completion if one is given.

    Raises
    ------
    OptionError, InfeasibleError
        As :func:`incomplete_options`.
    """
    from exactlearn.augmentation import augment  # takes long to import

    how = incomplete_options(dataset, options)
    return augment(dataset, method=options.method, start=start, on_event=on_event, **how)


def learning(dataset: Dataset, options: Imputing, on_event: OnEvent) -> "Learning":
    """Return the declared options as those of an imputer's learning.

    Raises
    ------
    OptionError, InfeasibleError
        As :func:`incomplete_options`.
    """
    from exactlearn.imputation.learning import Learning  # takes long to import

    how = incomplete_options(dataset, options)
    return Learning(
        learner=options.learner,
        networks=options.networks,
        alpha=options.smoothing,
        missingness=options.missingness,
        on_event=on_event,
        **how,
    )
