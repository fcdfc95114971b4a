"""A structure from a table or from given local scores: the score, its candidates, the search.

:func:`~exactlearn.structure.learning.learn` and ``exactlearn solve`` are this, with a table before
it and parameters behind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn.augmentation import Augmentation, augment
from exactlearn.augmentation.node_relaxation import MAX_FAMILIES
from exactlearn.augmentation.task import undecided_rows
from exactlearn.errors import OptionError
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.prior import prior_in_words
from exactlearn.scoring.properties import Domain, properties
from exactlearn.scoring.scores import BDeu, ScoreLike
from exactlearn.solvers import Problem
from exactlearn.solvers.enumeration import Enumeration
from exactlearn.structure.cell_weight_choice import with_cell_weight
from exactlearn.structure.equivalence_search import (
    equivalence_search,
)
from exactlearn.structure.ess_choice import with_score
from exactlearn.structure.held_out_choice import HeldOutChoice
from exactlearn.structure.network_price import (
    NetworkPrice,
    SearchResult,
    network_price,
)
from exactlearn.structure.selection import (
    Scored,
    Scoring,
    select,
    single_arcs,
)

MAX_PROVEN_CELLS = 60
"""Most missing cells with which a proof of network and completion together is tried."""


@dataclass(frozen=True, kw_only=True)
class LearnedStructure:
    """A learned structure, with all that its proof refers to.

    Parameters
    ----------
    result
        How the search ended.
    listed
        The best networks, or classes, where a list was wanted.
    scoring
        The table and its score; ``None`` where local scores were given.
    scored
        The candidate parent sets; ``None`` where completions or classes were searched.
    choices
        How numbers that were to be chosen were: of ``ess`` and ``cell_weight_choice``, as records
        name them.
    price
        Size and true score of the network, where cells have a price.
    reason
        The method of augmentation, and why it was taken; empty without one.
    """

    result: SearchResult
    listed: Enumeration | None
    scoring: Scoring | None
    scored: Scored | None
    choices: Mapping[str, Any]
    price: NetworkPrice | None
    reason: str


def learned_structure(
    source: Scoring | Problem,
    clock: SearchControl,
    *,
    method: str = "selection",
    score: ScoreLike = "bdeu",
    ess: float | Literal["auto"] = BDeu.ess,
    size_weight: float | None = None,
    cell_weight: float | Literal["auto"] = 0.0,
    on_score: Callable[[Mapping[str, Any]], object] = lambda choices: None,
    on_scored: Callable[[Scored], object] = lambda scored: None,
    on_event: OnEvent | None = None,
    **options: Any,
) -> LearnedStructure:
    """Learn a structure.

    Parameters
    ----------
    source
        The table and its constraints; or given scores, with theirs.
    clock
        The time limit.
    method
        ``selection`` of parent sets, ``augment`` for network and completion together, or the method
        of a search over equivalence classes.
    score, ess, size_weight
        As for :func:`~exactlearn.structure.ess_choice.with_score`.
    cell_weight
        As for :func:`~exactlearn.structure.cell_weight_choice.with_cell_weight`.
    on_score
        Called with the choices of numbers, if any, when the score is known.
    on_scored
        Called with the candidate parent sets.
    on_event
        Called with the events of the search.
    options
        Further ones of the method's function: :func:`~exactlearn.structure.selection.select`,
        :func:`~exactlearn.augmentation.augment` or :func:`equivalence_search`.
    """
    scoring = None
    choices: dict[str, HeldOutChoice] = {}
    scored = None
    # The score and the candidate parent sets; Ctrl-C ends both, and leaves a network.
    with SearchControl().running():
        if isinstance(source, Problem):
            scored = Scored(problem=source, time_left=clock.remaining)
        else:
            scoring, choice = with_score(
                source,
                score,
                ess=ess,
                size_weight=size_weight,
                time_limit=clock.remaining,
            )
            scoring, choices = with_cell_weight(scoring, cell_weight, clock.remaining)
            if choice is not None:
                choices["ess"] = choice
            on_score(choices)
            if method == "selection":
                scored = scoring.within(clock.remaining)

    # The search.
    reason = ""
    listed = None
    result: SearchResult
    if scored is not None:
        on_scored(scored)
        result, listed = select(
            scored, time_limit=scored.time_left, on_event=on_event, **options
        )
    else:
        assert scoring is not None
        options |= {"time_limit": clock.remaining, "on_event": on_event}
        if method == "augment":
            result, reason = _augmented(scoring, **options)
        else:
            options |= {"method": method, "max_parents": scoring.max_parents}
            result = equivalence_search(scoring.dataset, scoring.score, **options)
    return LearnedStructure(
        result=result,
        listed=listed,
        scoring=scoring,
        scored=scored,
        choices=choices,
        price=network_price(
            getattr(scoring, "prior", None),
            result,
            scored,
            clock.left,
        ),
        reason=reason,
    )


def _augmented(scoring: Scoring, **options: Any) -> tuple[Augmentation, str]:
    """Find network and completion together; proven, if that is likely to end."""
    if scoring.scoring_time is not None:
        raise OptionError("scoring_time is for complete tables, but cells are missing")
    # Constraints as arcs; those that are not on single arcs are refused.
    dataset = scoring.dataset
    max_parents = scoring.most_parents
    required, forbidden = single_arcs(
        dataset.names, scoring.required, scoring.forbidden, scoring.constraints
    )
    # How many cells are missing decides between a proof and a climber.
    n_cells = len(dataset.missing_cells)
    method, reason = _augmentation_method(scoring, n_cells)
    result = augment(
        dataset,
        scoring.score,
        method=method,
        max_parents=max_parents,
        required=required,
        forbidden=forbidden,
        prior=scoring.prior,
        **options,
    )
    reason = f"{n_cells} cells are missing, {reason}: network and completion together, by {method}"
    return result, f"{prior_in_words(scoring.prior)}; {reason}".removeprefix("; ")


def _augmentation_method(scoring: Scoring, n_cells: int) -> tuple[str, str]:
    """Return the method of augmentation, and why: a proof, where that is likely to end."""
    dataset = scoring.dataset
    families = n_families(dataset.n_variables, scoring.most_parents)
    if n_cells > MAX_PROVEN_CELLS or families > MAX_FAMILIES:
        return "t-local", "too many for a proof"
    # A climber, too, where the bounds of the proof do not hold for the score.
    domain = Domain.of(dataset.cardinalities, dataset.row_weights)
    has_bounds = properties(scoring.score, domain).rises
    if not has_bounds or len(undecided_rows(dataset, scoring.score)):
        return "t-local", f"the score {scoring.score.name!r} lacks what a proof needs"
    return "branching", "few enough for a proof"
