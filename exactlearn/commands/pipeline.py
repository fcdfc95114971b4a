"""Options as arguments of the library: score, constraints, parent sets, incomplete data.

Constraints are written with the names of variables: an arc is ``A -> B``, an adjacency ``A - B``,
tiers are lists of names set apart by commas, and an independence is ``A, B | C, D``. A mark with a
space on each side divides where names hold the mark themselves; in a list, a name with a comma
stands in double quotes.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar, cast

import exactlearn as el
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.files import read_text
from exactlearn._runtime.variable_arguments import variable_index
from exactlearn.commands import sections
from exactlearn.commands.declarations import Imputing, Posterior, Solve
from exactlearn.commands.declare import flags_of
from exactlearn.commands.output import Output
from exactlearn.data.codes import repeated
from exactlearn.errors import FormatError, InfeasibleError, OptionError
from exactlearn.formats.run_file import from_table, read_declared
from exactlearn.graphs.dag import topological_order
from exactlearn.imputation import Learner
from exactlearn.instances import locate
from exactlearn.scoring.prior import PRIORS, Prior
from exactlearn.scoring.scores import parse_score
from exactlearn.solvers.constraints import (
    Constraint,
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
)
from exactlearn.solvers.problem import Arc
from exactlearn.structure.ess_choice import auto_ess, with_score
from exactlearn.structure.selection import Scoring, single_arcs
from exactlearn.structure.structure_posterior import StructurePosterior

NEED_ROWS = {
    *sections.Criterion.known(),
    *sections.Reading.known(),
    *("counts", "bootstrap", "smoothing", "max_clique", "cell_weight"),
}
"""Options that have no meaning for given local scores."""

UNPRUNED = "'exactlearn convert TABLE --unpruned -o scores.jkl' keeps all"
"""How a file has all parent sets."""

Options = TypeVar("Options", bound=sections.CompleteLearning)
Completing = TypeVar("Completing", bound=Imputing)
Learning = sections.CompleteLearning | Posterior


def score_of(criterion: sections.Criterion) -> el.Score:
    """Return the declared score, whose equivalent sample size is chosen."""
    assert criterion.ess != "auto", "with_chosen_ess chooses it"
    return parse_score(
        criterion.criterion, ess=criterion.ess, size_weight=criterion.size_weight
    )


def with_chosen_ess(
    dataset: el.Dataset, options: Options, note: Callable[[str], None]
) -> tuple[Options, dict[str, Any]]:
    """Choose the equivalent sample size where it is to be chosen.

    Parameters
    ----------
    dataset
        The table to learn from.
    options
        The declared options.
    note
        Called with a line that says why the value was chosen.

    Returns
    -------
    options, record
        The options with a number, and with the time that is left; the keys of the record about the
        choice.

    Raises
    ------
    OptionError
        When the score has no equivalent sample size.
    KeyboardInterrupt
        After Ctrl-C, unless an enclosing search handles it and ends with its best result so far.
    """
    if options.ess != "auto":
        return options, {}
    # constraints are refused before the cross-validation, which takes long
    constraints(options, dataset.names)
    clock = SearchControl(options.time_limit)
    choice = auto_ess(
        dataset,
        score=options.criterion,
        max_parents=options.most_parents,
        counts=getattr(options, "counts", "expected"),
        **options.chosen("seed time_limit"),
    )
    note(choice.reason)
    options = replace(options, ess=choice.ess, time_limit=clock.remaining)
    return options, {"ess": choice.to_dict()}


def constraints(search: sections.Limited, names: Sequence[str]) -> dict[str, Any]:
    """Return the declared constraints as keywords of :class:`Problem`.

    Raises
    ------
    OptionError
        When an entry is not of its form, or names no variable.
    InfeasibleError
        When required arcs close a directed cycle.
    """
    search = with_file(search, names)
    required = frozenset(arcs(search.required, names))
    # required arcs that close a cycle are refused before any search
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in required:
        parents[child].append(parent)
    try:
        topological_order(parents, names)
    except OptionError as error:
        raise InfeasibleError(f"required arcs: {error}") from None
    return {
        "required": required,
        "forbidden": frozenset(arcs(search.forbidden, names)),
        "constraints": declared_constraints(search, names),
    }


def prior_of(value: str) -> Prior:
    """Return a prior over networks by its name, or the beliefs of a CSV file.

    Raises
    ------
    FormatError
        When the file is no table, or a probability is no number.
    """
    if value in PRIORS:
        return value
    import pandas as pd

    path = locate(value, ".csv")
    text = StringIO(read_text(path))
    kinds = {"parent": str, "child": str, "probability": float}
    try:
        # A variable may be called NA.
        return pd.read_csv(text, dtype=kinds, keep_default_na=False)
    except ValueError as error:
        raise FormatError(
            f"{path}: expected a table with the columns parent, child and probability, found "
            f"another text ({str(error).strip()}); write a line 'smoke,lung,0.8' for each belief"
        ) from None


def scoring(dataset: el.Dataset, options: Learning, **keywords: Any) -> Scoring:
    """Return the declared scoring of a table's parent sets but its score, with further fields.

    Raises
    ------
    OptionError, InfeasibleError
        As :func:`constraints`.
    """
    return Scoring(
        dataset=dataset,
        max_parents=options.most_parents,
        **options.chosen("scoring_time seed"),
        **constraints(options, dataset.names),
        **keywords,
    )


def problem(path: Path, options: Solve | Posterior) -> el.Problem:
    """Return the problem of a file of local scores, with the declared constraints.

    Raises
    ------
    OptionError
        When an option is for a table, and would be ignored; as :func:`constraints`.
    InfeasibleError
        As :func:`constraints`.
    """
    for name, field in options.known().items():
        if name in NEED_ROWS and options.is_given(name):
            raise OptionError(
                f"{flags_of(field)[0]} is for a table, but scores were given; leave it out"
            )
    given = el.read_scores(path)
    return replace(given, **constraints(options, given.names))


def of_listed(posterior: StructurePosterior) -> str:
    """Return the remark on a posterior over networks of some parent sets only."""
    return (
        f"{posterior.unlisted} parent sets are not in the file, and count as impossible: "
        f"{UNPRUNED}"
    )


def with_declared_score(scoring: Scoring, options: Learning, output: Output) -> Scoring:
    """Return a scoring with the declared score; how its sample size was chosen is noted."""
    scoring, choice = with_score(
        scoring, options.criterion, **options.chosen("ess size_weight time_limit")
    )
    if choice is not None:
        output.note(choice.reason)
    return scoring


def incomplete_options(
    dataset: el.Dataset, options: sections.IncompleteLearning
) -> dict[str, Any]:
    """Return the declared options as keywords of `augment` and `Learning`.

    Raises
    ------
    OptionError
        When a scoring time is given, since only complete data are searched best first; when a
        constraint is not on single arcs; as :func:`constraints`.
    InfeasibleError
        As :func:`constraints`.
    """
    if options.scoring_time is not None:
        raise OptionError(
            "scoring_time is for complete data, but cells are missing; leave it out, and lower "
            "max_parents if there are too many families"
        )
    # Completion searches take arcs alone: tiers become forbidden arcs.
    required, forbidden = single_arcs(
        dataset.names, **constraints(options, dataset.names)
    )
    return {
        "score": score_of(options),
        "max_parents": options.most_parents_among(dataset.n_variables),
        **options.chosen("t starts solver time_limit seed"),
        "required": required,
        "forbidden": forbidden,
    }


def settled(options: Completing, method: str) -> Completing:
    """Return the options with the method's own values where they are left out."""
    learner = options.learner
    # methods of augmentation are learners by themselves
    if method in (*el.augmentation.METHODS, "structural-em-hard"):
        learner = cast(Learner, method)
    elif method == "augmentation":
        learner = learner or "t-local"
    defaults = el.Learning(learner=learner).own._asdict()
    score = defaults.pop("score")
    defaults["ess"] = score.ess if options.criterion == "bdeu" else None
    left_out = [name for name in defaults if getattr(options, name) is None]
    return replace(options, **{name: defaults[name] for name in left_out})


def learning(dataset: el.Dataset, options: Imputing, on_event: OnEvent) -> el.Learning:
    """Return the declared options as those of an imputer's learning.

    Raises
    ------
    OptionError, InfeasibleError
        As :func:`incomplete_options`.
    """
    return el.Learning(
        on_event=on_event,
        **options.chosen("learner networks smoothing missingness"),
        **incomplete_options(dataset, options),
    )


def declared_constraints(
    search: sections.Constrained, names: Sequence[str]
) -> tuple[Constraint, ...]:
    """Return the declared constraints other than single arcs.

    Raises
    ------
    OptionError
        When an entry is not of its form, or names no variable.

    Examples
    --------
    >>> search = sections.Constrained(required_adjacent=("b - a",))
    >>> declared_constraints(search, ["a", "b"])
    (RequiredAdjacency(a=1, b=0),)
    """
    forms = (
        (RequiredAdjacency, "-", search.required_adjacent),
        (ForbiddenAdjacency, "-", search.forbidden_adjacent),
        (RequiredAncestor, "->", search.required_ancestors),
        (ForbiddenAncestor, "->", search.forbidden_ancestors),
    )
    declared: list[Constraint] = [
        kind(*pair(entry, mark, names))
        for kind, mark, entries in forms
        for entry in entries
    ]
    # tiers and limits of parents are no lists of pairs
    if search.tiers:
        groups = tuple(_listed(tier, f"tier {tier!r}", names) for tier in search.tiers)
        if twice := repeated(names[v] for group in groups for v in group):
            raise OptionError(
                f"tiers: {twice[0]!r} stands in them twice; give each name once"
            )
        declared.append(Tiers(groups))
    for name, limit in search.max_parents_of.items():
        variable = variable_index(name.strip(), "max_parents_of", names)
        declared.append(MaxParents(variable, limit))
    declared += [independence(entry, names) for entry in search.independent]
    return tuple(declared)


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
    return tuple(pair(entry, "->", names) for entry in entries)


def with_file(search: sections.Limited, names: Sequence[str]) -> sections.Limited:
    """Return options with the constraints of the file that they name, if any, as their own.

    Lists of both are joined; of other constraints those of the options hold.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown or an entry not of its form.
    """
    if search.constraints is None:
        return search

    # An entry is checked within the file, so that the error names the file.
    def checked(table: Mapping[str, Any]) -> sections.Constrained:
        declared = from_table(table, sections.Constrained)
        arcs((*declared.required, *declared.forbidden), names)
        declared_constraints(declared, names)
        return declared

    in_file = read_declared(Path(search.constraints), checked)
    # Lists add up, without twins; a single value of the command line replaces the
    # file's.
    joined: dict[str, Any] = {}
    for key in sections.Constrained.known():
        given = getattr(search, key)
        if isinstance(given, tuple) and key != "tiers":
            joined[key] = tuple(dict.fromkeys((*given, *getattr(in_file, key))))
        elif not search.is_given(key):
            joined[key] = getattr(in_file, key)
    return replace(search, constraints=None, **joined)


def pair(entry: str, mark: str, names: Sequence[str]) -> Arc:
    """Return two variables written with a mark between them.

    Raises
    ------
    OptionError
        When the entry is no such pair, or has one variable twice.

    Examples
    --------
    >>> pair("x-ray - age", "-", ["age", "x-ray"])
    (1, 0)
    """
    ends = _split(entry, mark)
    # A name may hold the mark itself, as in x-ray: spaces then set the mark apart.
    if len(ends) != 2:
        raise OptionError(
            f"{entry[:40]!r}: expected 'A {mark} B' with the names of two variables, and spaces "
            f"around '{mark}' where names hold it"
        )
    first, second = (variable_index(end, repr(entry[:40]), names) for end in ends)
    if first == second:
        raise OptionError(f"{entry!r}: expected two different variables")
    return first, second


def independence(entry: str, names: Sequence[str]) -> Independence:
    """Return the independence that ``A, B | C, D`` states.

    Raises
    ------
    OptionError
        When the entry is of another form, names no variable, or one twice.
    """
    what = f"independence {entry[:40]!r}"
    parts = _split(entry, "|")
    sides = _listed(parts[0], what, names)
    if len(sides) != 2 or len(parts) > 2:
        raise OptionError(
            f"{what}: expected 'A, B | C, D' for A independent of B given C and D"
        )
    left, right = sides
    given = _listed(parts[1], what, names) if len(parts) == 2 else ()
    # The set is smaller where a variable stands twice, on either side.
    if len({left, right, *given}) < 2 + len(given):
        raise OptionError(f"{what}: expected each variable once")
    return Independence(frozenset({left}), frozenset({right}), frozenset(given))


def _split(entry: str, mark: str) -> list[str]:
    """Return the parts of an entry; a mark with spaces divides it, if there is one."""
    spaced = f" {mark} "
    divider = spaced if spaced in entry else mark
    return [part.strip() for part in entry.split(divider)]


def _listed(entry: str, what: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the variables that a list names; each may stand in double quotes."""
    # a name may hold commas itself
    if entry.strip() in names:
        return (variable_index(entry.strip(), what, names),)
    parts = next(csv.reader([entry], skipinitialspace=True), [])
    return tuple(variable_index(name.strip(), what, names) for name in parts)
