"""The options that several commands share; each group arrives as one dataclass.

A group's decorator adds its options and hands the command one argument in their place.
"""

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from exactlearn._runtime.compilation_notice import on_compilation
from exactlearn.commands.output import Output
from exactlearn.commands.runs import (
    MOST_SMOOTHING,
    Criterion,
    CriterionName,
    LearnerName,
    MissingnessName,
    NetworkParameters,
    Reading,
    Search,
    SolverName,
)
from exactlearn.data import MANY, MISSING_SYMBOLS
from exactlearn.errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])

_READING, _CRITERION, _SEARCH = Reading(), Criterion(), Search()


def pairs(entries: tuple[str, ...], option: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` entries at their first equals sign.

    Raises
    ------
    OptionError
        When an entry has no equals sign, or a name comes twice.
    """
    table: dict[str, str] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise OptionError(f"{option} {entry!r}: expected NAME=VALUE")
        if name in table:
            raise OptionError(f"{option} {entry!r}: {name!r} was given before; give it once")
        table[name] = value
    return table


def whole_numbers(entries: tuple[str, ...], option: str) -> dict[str, int]:
    """Split ``NAME=NUMBER`` entries.

    Raises
    ------
    OptionError
        When an entry is none, or a name comes twice.
    """
    told = pairs(entries, option)
    for name, value in told.items():
        if not value.strip().isdecimal():
            raise OptionError(f"{option} '{name}={value}': expected NAME=K with a whole number K")
    return {name: int(value) for name, value in told.items()}


def reading_options(command: F) -> F:
    """Add how a table is read; hands over ``reading``, a :class:`Reading`."""

    def build(
        missing: tuple[str, ...],
        no_header: bool,
        separator: str | None,
        drop: tuple[str, ...],
        discretise: tuple[str, ...],
        states: tuple[str, ...],
        weights: str | None,
    ) -> Reading:
        declared = pairs(states, "--states")
        return Reading(
            missing=missing,
            header=not no_header,
            separator=separator or None,
            drop=drop,
            discretise=pairs(discretise, "--discretise"),
            states={name: tuple(next(csv.reader([told]))) for name, told in declared.items()},
            weights=weights,
        )

    return option_group(
        command,
        "reading",
        build,
        click.option(
            "--missing",
            multiple=True,
            metavar="SYMBOL",
            default=MISSING_SYMBOLS,
            help="Symbol of a missing cell; repeatable.  [default: '?', empty, 'NA']",
        ),
        click.option("--no-header", is_flag=True, help="The first line is a row, not the names."),
        click.option("--separator", metavar="TEXT", help="Separator of columns, if not found out."),
        click.option(
            "--drop", multiple=True, metavar="NAME", help="Leave a column out; repeatable."
        ),
        click.option(
            "--discretise",
            multiple=True,
            metavar="NAME=METHOD:BINS",
            help="Cut a numeric column into bins, as in 'age=frequency:5' or 'age=width:5'; '*' "
            f"stands for all numeric columns with more than {MANY} values; repeatable.",
        ),
        click.option(
            "--states",
            multiple=True,
            metavar="NAME=A,B,C",
            help="Declare a column's states, for those that no row has; one with a comma stands "
            "in double quotes; repeatable.",
        ),
        click.option("--weights", metavar="NAME", help="Column with the weight of each row."),
    )


class _NumberOrNone(click.IntRange):
    """A whole number, or the word ``none``."""

    name = "integer or 'none'"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word."""
        return "none" if value == "none" else super().convert(value, param, ctx)


def criterion_options(command: F) -> F:
    """Add what is maximised; hands over ``criterion``, a :class:`Criterion`."""

    def build(
        criterion_name: Any,
        ess: float,
        lambda_: float | None,
        max_parents: Any,
        scoring_time: float | None,
    ) -> Criterion:
        return Criterion(
            criterion=criterion_name,
            ess=ess,
            lambda_=lambda_,
            max_parents=max_parents,
            scoring_time=scoring_time,
        )

    return option_group(
        command,
        "criterion",
        build,
        click.option(
            "--criterion",
            "criterion_name",
            type=click.Choice(get_args(CriterionName)),
            default=_CRITERION.criterion,
            show_default=True,
            help="Score to maximise.",
        ),
        click.option(
            "--ess",
            type=float,
            default=_CRITERION.ess,
            show_default=True,
            help="Equivalent sample size of bdeu.",
        ),
        click.option("--lambda", "lambda_", type=float, help="Trade-off of 'penalised', 0 to 1."),
        click.option(
            "--max-parents",
            type=_NumberOrNone(0),
            default=_CRITERION.max_parents,
            show_default=True,
            help="Most parents of a variable, or 'none' for no limit.",
        ),
        click.option(
            "--scoring-time",
            type=click.FloatRange(0, min_open=True),
            help="Search parent sets best first for so many seconds instead of scoring all: for "
            "many variables. The result is optimal over those found, which depend on the machine.",
        ),
    )


def solver_options(command: F) -> F:
    """Add solver, constraints, limit and seed; hands over ``search``, a :class:`Search`."""

    def build(
        solver: Any,
        required: tuple[str, ...],
        forbidden: tuple[str, ...],
        required_adjacent: tuple[str, ...],
        forbidden_adjacent: tuple[str, ...],
        required_ancestors: tuple[str, ...],
        forbidden_ancestors: tuple[str, ...],
        tiers: str | None,
        max_parents_of: tuple[str, ...],
        independent: tuple[str, ...],
        min_arcs: int | None,
        max_arcs: int | None,
        time_limit: float | None,
        seed: int,
    ) -> Search:
        return Search(
            solver=solver,
            required=required,
            forbidden=forbidden,
            required_adjacent=required_adjacent,
            forbidden_adjacent=forbidden_adjacent,
            required_ancestors=required_ancestors,
            forbidden_ancestors=forbidden_ancestors,
            tiers=tuple(tiers.split(";")) if tiers else (),
            max_parents_of=whole_numbers(max_parents_of, "--max-parents-of"),
            independent=independent,
            min_arcs=min_arcs,
            max_arcs=max_arcs,
            time_limit=time_limit,
            seed=seed,
        )

    return option_group(
        command,
        "search",
        build,
        click.option(
            "--solver",
            type=click.Choice(get_args(SolverName)),
            default=_SEARCH.solver,
            show_default=True,
            help="Solver of parent-set selection.",
        ),
        click.option(
            "--require", "required", multiple=True, metavar="'A->B'", help="Arc that must be there."
        ),
        click.option(
            "--forbid", "forbidden", multiple=True, metavar="'A->B'", help="Arc that must not."
        ),
        click.option(
            "--require-adjacent",
            "required_adjacent",
            multiple=True,
            metavar="'A-B'",
            help="Variables with an arc between them, in either direction.",
        ),
        click.option(
            "--forbid-adjacent",
            "forbidden_adjacent",
            multiple=True,
            metavar="'A-B'",
            help="Variables with no arc between them.",
        ),
        click.option(
            "--require-ancestor",
            "required_ancestors",
            multiple=True,
            metavar="'A->B'",
            help="Variables with a directed path from the first to the second.",
        ),
        click.option(
            "--forbid-ancestor",
            "forbidden_ancestors",
            multiple=True,
            metavar="'A->B'",
            help="Variables with no such path.",
        ),
        click.option(
            "--tiers",
            metavar="'A,B;C;D'",
            help="Groups of variables: none has a parent in a later group.",
        ),
        click.option(
            "--max-parents-of",
            multiple=True,
            metavar="NAME=K",
            help="Most parents of one variable.",
        ),
        click.option(
            "--independent",
            multiple=True,
            metavar="'A,B|C,D'",
            help="Variables A and B that the network must separate, given C and D.",
        ),
        click.option("--min-arcs", type=click.IntRange(0), help="Fewest arcs of the network."),
        click.option("--max-arcs", type=click.IntRange(0), help="Most arcs of the network."),
        click.option("--time-limit", type=click.FloatRange(0), help="Wall time in seconds."),
        seed_option,
    )


t_option = click.option(
    "--t",
    "t",
    type=click.IntRange(1),
    default=_SEARCH.t,
    show_default=True,
    help="t-local: cells that may change in one step.",
)

starts_option = click.option(
    "--starts",
    type=click.IntRange(1),
    default=_SEARCH.starts,
    show_default=True,
    help="t-local and structural EM: starts, the most frequent states and then random ones, which "
    "t-local improves by hard EM first.",
)

trace_option = click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write score and bound over time (.csv, .json), or draw them (.svg, .png, .pdf).",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=_SEARCH.seed,
    show_default=True,
    help="Seed of everything random.",
)


smoothing_option = click.option(
    "--smoothing",
    type=click.FloatRange(0, MOST_SMOOTHING),
    default=NetworkParameters.smoothing,
    show_default=True,
    help="Pseudo-count of every cell of a conditional table.",
)


learner_option = click.option(
    "--learner",
    type=click.Choice(get_args(LearnerName)),
    help="How posterior, mpe, averaged and multiple learn networks, and impute's 'augmentation' "
    "finds its completion.  [default: structural-em; t-local for augmentation]",
)

missingness_option = click.option(
    "--missingness",
    type=click.Choice(get_args(MissingnessName)),
    default="ignored",
    show_default=True,
    help="posterior, averaged, mpe and multiple: learn, or not, whether cells are missing because "
    "of their own value or another variable's.",
)

networks_option = click.option(
    "--networks",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="averaged: networks to learn, each from a bootstrap sample of the rows.",
)


def incomplete_options(command: F) -> F:
    """Add what learning from missing cells needs: ``criterion``, ``search`` and ``smoothing``.

    The :class:`Search` has ``t`` and ``starts``, too.
    """

    def build(search: Search, t: int, starts: int) -> Search:
        return replace(search, t=t, starts=starts)

    with_starts = option_group(command, "search", build, t_option, starts_option, smoothing_option)
    return criterion_options(solver_options(with_starts))


def output_options(command: F) -> F:
    """Add where results and messages go; hands over ``output``, an :class:`Output`."""

    def build(path: Path | None, as_json: bool, quiet: bool, verbose: bool, debug: bool) -> Output:
        click.get_current_context().meta["exactlearn.debug"] = debug
        output = Output(path=path, as_json=as_json, quiet=quiet, verbose=verbose)
        on_compilation(output.note_compiling)
        return output

    return option_group(
        command,
        "output",
        build,
        click.option(
            "--output",
            "-o",
            "path",
            type=click.Path(path_type=Path),
            help="File or folder to write; the suffix decides the format.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object."),
        click.option("--quiet", "-q", is_flag=True, help="Print results only."),
        click.option("--verbose", "-v", is_flag=True, help="Tell every improvement."),
        click.option("--debug", is_flag=True, help="Show the traceback of an error."),
    )


def option_group(command: F, name: str, build: Callable[..., Any], *options: Callable[[F], F]) -> F:
    """Give a command options, and hand it what ``build`` makes of them as ``name``."""
    keys = build.__code__.co_varnames[: build.__code__.co_argcount]

    @wraps(command)
    def gather(*args: Any, **kwargs: Any) -> Any:
        kwargs[name] = build(**{key: kwargs.pop(key) for key in keys})
        return command(*args, **kwargs)

    decorated: Any = gather
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
