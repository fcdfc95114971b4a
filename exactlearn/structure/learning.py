"""A network from a table, complete or not: the whole job by one function, with good defaults.

Of a complete table the parent sets are scored, and the best network is found and proven. Where
cells are missing, the counts are those expected under a network that structural EM learns
(:mod:`exactlearn.structure.learned_counts`): of all methods these networks predict best
(docs/incomplete-tables.md). ``missing="augment"`` looks for the network and the values of the cells
that score best together instead (:mod:`exactlearn.augmentation`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from exactlearn._runtime import executors
from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn._runtime.variable_arguments import arcs_by_index
from exactlearn.augmentation import Augmentation
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.blocks import Blocks, merge_rows
from exactlearn.data.dataset import Dataset, usable_columns
from exactlearn.errors import (
    InfeasibleError,
    OptionError,
    SolverError,
    TimeLimitWarning,
    TooLargeError,
    warn_caller,
)
from exactlearn.graphs.orientation import known_directions
from exactlearn.scoring.prior import Prior
from exactlearn.scoring.scores import BDeu, ScoreLike
from exactlearn.solvers.constraints import (
    Constraint,
    constraints_by_index,
)
from exactlearn.solvers.problem import Arc
from exactlearn.structure.learned_network import LearnedNetwork
from exactlearn.structure.network_price import SearchResult
from exactlearn.structure.selection import (
    Counts,
    Scoring,
    fitted_network,
    limits_by_name,
    proofs_in_words,
    tiers_by_index,
)
from exactlearn.structure.structure_search import LearnedStructure, learned_structure

if TYPE_CHECKING:
    import pandas as pd

Missing = Counts | Literal["augment"]

MISSING: tuple[Missing, ...] = ("expected", "augment", *get_args(get_args(Counts)[1]))
"""Ways to learn from missing cells."""

STRUCTURE_SHARE = 0.7
"""Share of a time limit for the structure where cells are missing; the rest is for parameters."""


@checked_arguments(
    missing=one_of(MISSING),
    cell_weight=NUMBERS["cell_weight"].or_word("auto"),
    **dict.fromkeys(
        ("score", "required", "forbidden", "tiers", "prior"), lambda value, name: value
    ),
)
def learn(
    data: "Dataset | pd.DataFrame | Any",
    *,
    states: Mapping[str, Sequence[str]] | None = None,
    discretise: Mapping[str, str] | Any = None,
    drop: Sequence[str] = (),
    tidy: bool = False,
    score: ScoreLike = "bdeu",
    ess: float | Literal["auto"] = BDeu.ess,
    max_parents: int | None = 3,
    max_clique: int | None = None,
    required: Collection[tuple[str, str] | Arc] = (),
    forbidden: Collection[tuple[str, str] | Arc] = (),
    tiers: Sequence[Collection[str] | Collection[int]] = (),
    constraints: Sequence[Constraint] = (),
    prior: Prior = "uniform",
    cell_weight: float | Literal["auto"] = 0.0,
    missing: Missing = "expected",
    counts: LearnedNetwork | BayesianNetwork | None = None,
    smoothing: float = SMOOTHING,
    solver: str = "auto",
    scoring_time: float | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
    cluster: Any = None,
) -> LearnedNetwork:
    """Learn a Bayesian network from a table: structure, parameters and missing cells.

    Parameters
    ----------
    data
        A :class:`Dataset`, a pandas frame or an array of values, shape (rows, variables); cells may
        be missing. Or what :func:`exactlearn.read_blocks` names, such as many files.
    states, discretise, drop
        Declared states of columns, as in ``{"smoke": ["no", "yes"]}``, bins of numeric columns, as
        in ``{"age": "frequency:5"}`` or ``{"*": "width:5"}``, and columns to leave out, of a frame
        or an array.
    tidy
        Leave out columns of a frame or an array that are constant, entirely missing or name the
        rows, and cut numbers with many values, as :meth:`Dataset.from_frame` does, with one
        warning. Without it such a table is refused. A coded table is taken as it is.
    score
        ``bdeu``, ``bic``, ``aic`` or a :class:`Score`.
    ess
        Equivalent sample size of ``bdeu``; ``auto`` chooses it by cross-validation
        (:func:`~exactlearn.structure.ess_choice.choose_ess`).
    max_parents
        Largest number of parents, or ``None`` for no limit.
    max_clique
        Configurations that the largest clique of the triangulated moral graph may have, for fast
        inference (:func:`~exactlearn.structure.bounded_cliques.bounded_cliques`); the bound of the
        result then is one for all networks of small families. Not with ``missing="augment"``.
    required, forbidden
        Arcs (parent, child) that the network must, or must not, have, by name or by index: pairs,
        or a frame of two columns. Indices count all columns but those in ``drop``; where columns of
        a frame have integer labels, an integer is a label.
    tiers
        Groups of variables in order, by name or by index: none has a parent in a later group.
    constraints
        What else it must satisfy (:mod:`exactlearn.solvers.constraints`), by name or by index.
    prior
        Prior over networks: ``uniform``, ``fair`` to each number of parents, or probabilities of
        arcs, as for :func:`exactlearn.posterior`. Scores then hold its logarithm, and the optimum
        is the most probable network.
    cell_weight
        Price in nats of each cell of the network's tables, for smaller networks: status, score,
        bound and gap are then those of the problem with the price, and ``price`` of the result
        holds the true score, what was given up of it, and the size. ``auto`` chooses the price by
        cross-validation (:mod:`exactlearn.structure.cell_weight_choice`).
    missing
        How missing cells are dealt with. ``expected``: the counts are those expected under a
        network that structural EM learns; ``augment``: network and completion that score best
        together, proven where few cells are missing, else by a climber; or the name of a deletion
        estimator of the counts, such as ``f-mar``
        (:class:`~exactlearn.scoring.deletion_counts.DeletionCounts`).
    counts
        With ``missing="expected"``: an earlier result on the same table, whose expected counts are
        taken again, so that scores can be compared; or the network that counts are to be expected
        under. Left out, it is learned without the constraints: so results with the same table,
        ``max_parents`` and seed, without a time limit, are of the same counts.
    smoothing
        Pseudo-count of each parameter of the network.
    solver
        Solver of parent-set selection, as for :func:`~exactlearn.solvers.solve`.
    scoring_time
        Seconds of a search for parent sets best first, for many variables; not for missing cells.
    time_limit
        Seconds for all; when they are over, the best network so far is returned. So it is after
        Ctrl-C.
    seed
        Seed of all that is random.
    on_event
        Called with the events of the search for the structure.
    cluster
        A Dask cluster that reads blocks and scores parent sets: ``"local"`` (a process for
        each core), ``"local:2"``, the address of a scheduler, or a ``distributed.Client``.

    Returns
    -------
    LearnedNetwork
        The network, with the proof state of its structure.

    Raises
    ------
    ArgumentError, OptionError
        When an argument is of the wrong kind, unknown or out of range.
    DataError
        When the table cannot be used.
    InfeasibleError
        When the constraints exclude every network.
    TooLargeError
        When there are too many parent sets, or missing cells of a row depend on each other too much
        for exact inference.
    SolverError
        When a limit came before any network was found that meets the constraints.

    Warns
    -----
    ColumnWarning
        Once, for all columns that are tidied.
    TimeLimitWarning
        When the equivalent sample size or the price was to be chosen, but the time was too short.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"smoke": ["no", "yes"] * 20, "cough": ["no", "yes"] * 20})
    >>> table.loc[3, "cough"] = None
    >>> found = learn(table, required=[("smoke", "cough")], seed=1)
    >>> found.arcs, found.status, found.ess
    ((('smoke', 'cough'),), 'optimal', 1.0)
    >>> found.completed.codes[3].tolist()
    [1, 1]
    """
    control = SearchControl(time_limit)
    with executors.running(cluster) as client:
        # The table, and the constraints by index in it.
        scoring = scoring_of(
            data,
            states=states,
            discretise=discretise,
            drop=drop,
            tidy=tidy,
            max_parents=max_parents,
            required=required,
            forbidden=forbidden,
            tiers=tiers,
            constraints=constraints,
            prior=prior,
            missing=missing,
            counts=counts,
            scoring_time=scoring_time,
            seed=seed,
            client=client,
        )
        dataset = scoring.dataset
        augments = missing == "augment" and not dataset.is_complete
        # The score, its candidate parent sets, and the choice among these.
        structure = learned_structure(
            scoring,
            control if dataset.is_complete else control.part(STRUCTURE_SHARE),
            score=score,
            ess=ess,
            cell_weight=cell_weight,
            method="augment" if augments else "selection",
            solver=solver,
            seed=seed,
            on_event=on_event,
            **_clique_bound(max_clique, augments),
        )
    assert structure.scoring is not None
    scoring = structure.scoring
    scored = structure.scored
    result = structure.result
    for choice in structure.choices.values():
        if not choice.folds:
            warn_caller(choice.reason, TimeLimitWarning)
    if result.parents is None:
        raise _failure(result)

    # The parameters, and the values of the missing cells.
    with SearchControl().running() as fitting:
        fitting.stage("estimating the parameters")
        network, remark = fitted_network(
            dataset,
            result.parents,
            smoothing=smoothing,
            counts=scoring.counts,
            time_limit=control.remaining,
        )
        completed = _completed(dataset, network, result)
        fitting.stage("learnt in %.1f s: %s", control.seconds, result.status)
    remarks = [*_remarks(structure, max_parents), result.message, remark]
    if completed is None:
        remarks.append(
            "exact inference is too large to complete the table by the network"
        )
    return LearnedNetwork(
        parents=result.parents,
        network=network,
        dataset=dataset,
        completed=completed,
        score=result.score,
        bound=result.bound,
        status=result.status,
        reason="; ".join(filter(None, remarks)),
        seconds=result.seconds,
        ess=scoring.score.ess if isinstance(scoring.score, BDeu) else None,
        ess_choice=structure.choices.get("ess"),
        cell_weight_choice=structure.choices.get("cell_weight_choice"),
        price=structure.price,
        left_out=dataset.left_out,
        directions=known_directions(scoring.required, scoring.ruled_out),
        clique_tree=getattr(result, "clique_tree", None),
        counts=None if dataset.is_complete else scoring.counts,
        counts_network=None if scored is None else scored.counts_network,
    )


def _remarks(structure: LearnedStructure, max_parents: int | None) -> list[str]:
    """Return the reasons for the methods taken, and the counts and limits of score and proof."""
    scored = structure.scored
    remarks = [choice.reason for choice in structure.choices.values()]
    remarks.append(structure.reason)
    if scored is not None:
        max_clique = getattr(structure.result, "max_clique", None)
        proofs = proofs_in_words(structure.result.status, max_parents, max_clique)
        remarks += [*scored.remarks, *proofs]
    return remarks


def _clique_bound(max_clique: int | None, augments: bool) -> dict[str, Any]:
    """Return the bound on cliques as an option of the search, if there is one."""
    if max_clique is None:
        return {}
    if augments:
        raise OptionError(
            "max_clique: missing='augment' takes none; pass missing='expected'"
        )
    return {"max_clique": max_clique}


def _failure(result: SearchResult) -> InfeasibleError | SolverError:
    """Return the error of a search that found no network."""
    if result.status == "infeasible":
        return InfeasibleError(result.message)
    reason = result.message or "the time was too short"
    return SolverError(f"no network was found: {reason}")


def scoring_of(
    data: Any,
    *,
    states: Mapping[str, Sequence[str]] | None = None,
    discretise: Mapping[str, str] | Any = None,
    drop: Sequence[str] = (),
    tidy: bool,
    max_parents: int | None,
    required: Collection[tuple[str, str] | Arc],
    forbidden: Collection[tuple[str, str] | Arc],
    tiers: Sequence[Collection[str] | Collection[int]],
    constraints: Sequence[Constraint] = (),
    prior: Prior,
    missing: Missing,
    counts: LearnedNetwork | BayesianNetwork | None = None,
    scoring_time: float | None = None,
    seed: int,
    client: Any = None,
) -> Scoring:
    """Return the scoring of a table's parent sets, by the arguments of :func:`learn`."""
    if isinstance(data, Blocks):
        data = merge_rows(data, cluster=client)
    # The table first: names and indices of the constraints refer to its columns.
    dataset, columns = usable_columns(data, tidy, discretise, drop, states)
    if dataset.left_out:  # an index counts these columns, too
        limits = limits_by_name(
            {
                "required": required,
                "forbidden": forbidden,
                "tiers": tiers,
                "constraints": constraints,
            },
            columns,
        )
        required, forbidden, tiers, constraints = limits.values()
    return Scoring(
        dataset=dataset,
        max_parents=max_parents,
        required=frozenset(arcs_by_index(required, "required", dataset.names)),
        forbidden=frozenset(arcs_by_index(forbidden, "forbidden", dataset.names)),
        constraints=(
            *constraints_by_index(constraints, "constraints", dataset.names),
            *([] if tiers == () else [tiers_by_index(tiers, dataset.names)]),
        ),
        prior=prior,
        counts=None if missing == "augment" else missing,
        counts_network=_counts_network(counts, dataset, missing),
        scoring_time=scoring_time,
        seed=seed,
        cluster=client,
    )


def _counts_network(
    counts: LearnedNetwork | BayesianNetwork | None, dataset: Dataset, missing: Missing
) -> BayesianNetwork | None:
    """Return the network that expected counts are to be under, or ``None`` where it is learned."""
    if counts is None:
        return None
    if missing != "expected":
        raise OptionError(
            f"counts: for missing='expected', found {missing!r}; leave counts out"
        )
    if isinstance(counts, BayesianNetwork):
        return counts.reordered(dataset)
    # Scores can be compared only where they are of the same counts.
    if counts.dataset.digest != dataset.digest:
        raise OptionError(
            "counts: expected a result that was learned from the same table, found another table; "
            "pass its counts_network, or leave counts out"
        )
    if counts.counts_network is None and not dataset.is_complete:
        method = counts.counts or "augment"
        raise OptionError(
            f"counts: expected a result with missing='expected', found one with {method!r}; leave "
            "counts out"
        )
    return counts.counts_network


def _completed(
    dataset: Dataset, network: BayesianNetwork, result: SearchResult
) -> Dataset | None:
    """Return the table with its missing cells filled in; ``None`` where that is too large."""
    if dataset.is_complete:
        return dataset
    if isinstance(result, Augmentation):
        return result.completed(dataset)
    try:
        return dataset.complete(most_probable_completion(network, dataset))
    except TooLargeError:
        return None
