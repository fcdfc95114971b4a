"""From options to what learns: score, constraints, parent sets, networks of incomplete data."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn.commands.declarations import Imputing
from exactlearn.commands.declared_constraints import arcs, declared_constraints, with_file
from exactlearn.commands.sections import (
    CLASS_SEARCHES,
    CompleteLearning,
    Criterion,
    IncompleteLearning,
    Selection,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.orientation import known_directions
from exactlearn.scoring.scores import Score, parse_score
from exactlearn.solvers.problem import Arc
from exactlearn.structure.selection import Scoring, single_arcs

if TYPE_CHECKING:
    from exactlearn.imputation.learning import Learning


Options = TypeVar("Options", bound=CompleteLearning)


def score_of(criterion: Criterion) -> Score:
    """Return the declared score, whose equivalent sample size is chosen."""
    assert criterion.ess != "auto", "with_chosen_ess chooses it"
    return parse_score(criterion.criterion, ess=criterion.ess, size_weight=criterion.size_weight)


def with_chosen_ess(
    dataset: Dataset, options: Options, tell: Callable[[str], None]
) -> tuple[Options, dict[str, Any]]:
    """Choose the equivalent sample size where it is to be chosen.

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
    constraints(options, dataset.names)  # refused before the cross-validation, which takes long
    if options.ess != "auto":
        return options, {}
    from exactlearn.structure.ess_choice import chosen_ess  # takes long to import

    clock = SearchControl(options.time_limit)
    ess, choice = chosen_ess(
        dataset,
        "auto",
        score=options.criterion,
        max_parents=options.most_parents,
        counts=getattr(options, "counts", "expected"),
        seed=options.seed,
        time_limit=options.time_limit,
    )
    assert choice is not None
    tell(choice.reason)
    return replace(options, ess=ess, time_limit=clock.remaining), {"ess": choice.to_dict()}


def constraints(search: Selection, names: Sequence[str]) -> dict[str, Any]:
    """Return the declared constraints as keywords of :class:`Problem`.

    Raises
    ------
    OptionError
        When an entry is not of its form, or names no variable.
    InfeasibleError
        When required arcs close a directed cycle.
    """
    search = with_file(search, names)
    required, forbidden = arcs(search.required, names), arcs(search.forbidden, names)
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in set(required):
        parents[child].append(parent)
    try:
        topological_order(parents, names)
    except OptionError as error:
        raise InfeasibleError(f"required arcs: {error}") from None
    return {
        "required": frozenset(required),
        "forbidden": frozenset(forbidden),
        "constraints": declared_constraints(search, names),
    }


def directions(search: Selection, names: Sequence[str]) -> frozenset[Arc]:
    """Return the directions that the declared constraints on single arcs leave to adjacencies."""
    found = constraints(search, names)
    ruled_out = (c.forbidden_arcs for c in found["constraints"])
    return known_directions(found["required"], found["forbidden"].union(*ruled_out))


def scoring(dataset: Dataset, options: CompleteLearning, **more: Any) -> Scoring:
    """Return how the parent sets of a table are scored, as declared, with ``more`` fields.

    Raises
    ------
    OptionError
        When one variable is allowed more parents than all are.
    """
    _require_parent_sets(options)
    return Scoring(dataset=dataset, **learning_options(dataset, options), **more)


def learning_options(dataset: Dataset, options: CompleteLearning) -> dict[str, Any]:
    """Return the declared options as keywords of both `learn` and `Scoring`."""
    return {
        "score": score_of(options),
        "max_parents": options.most_parents,
        "scoring_time": options.scoring_time,
        "seed": options.seed,
        **constraints(options, dataset.names),
    }


def _require_parent_sets(search: Selection) -> None:
    """Refuse a solver that selects no parent sets."""
    if search.solver in CLASS_SEARCHES:
        raise OptionError(
            f"solver {search.solver!r} searches equivalence classes of complete data, without "
            "parent sets: give it to 'exactlearn solve', or to a step [solve] of a run file"
        )


def incomplete_options(dataset: Dataset, options: IncompleteLearning) -> dict[str, Any]:
    """Return how network and completion are learned, as keywords of `augment` and `Learning`.

    Raises
    ------
    OptionError
        When a scoring time is given, since only complete data are searched best first; when a
        constraint is not on single arcs; as :func:`constraints`.
    InfeasibleError
        As :func:`constraints`.
    """
    _require_parent_sets(options)
    if options.scoring_time is not None:
        raise OptionError(
            "scoring_time is for complete data, but cells are missing; leave it out, and lower "
            "max_parents if there are too many families"
        )
    required, forbidden = single_arcs(dataset.names, **constraints(options, dataset.names))
    alike = ("t", "starts", "solver", "time_limit", "seed")
    return {
        "score": score_of(options),
        "max_parents": options.most_parents_among(dataset.n_variables),
        **{name: getattr(options, name) for name in alike},
        "required": required,
        "forbidden": forbidden,
    }


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
        smoothing=options.smoothing,
        missingness=options.missingness,
        on_event=on_event,
        **how,
    )
