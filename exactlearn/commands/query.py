"""``exactlearn query``: what a network or a decision graph says, for one case or for a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from exactlearn._runtime.interrupts import ended_by_signal
from exactlearn.commands.options import (
    F,
    option_group,
    output_options,
    pairs,
    reading_options,
    seed_option,
)


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What is asked besides posterior marginals; what is empty is not asked.

    Parameters
    ----------
    joint, map_of, entropy_of
        Variables ``A,B``.
    best, draws
        How many explanations, or rows to draw.
    seed
        Of the rows drawn.
    information
        ``A,B;C`` or ``A,B;C|D``.
    divergence
        File of a decision graph to compare with.
    sensitivity
        ``NAME=STATE``.
    """

    joint: str | None = None
    best: int | None = None
    map_of: str | None = None
    draws: int | None = None
    seed: int = 0
    entropy_of: str | None = None
    information: str | None = None
    divergence: Path | None = None
    sensitivity: tuple[str, str] | None = None

    @property
    def any(self) -> bool:
        """Whether anything is asked."""
        return self != Questions(seed=self.seed)


def question_options(command: F) -> F:
    """Add what is asked besides marginals; hands over ``questions``, a :class:`Questions`."""

    def build(
        joint: str | None,
        best: int | None,
        map_of: str | None,
        draws: int | None,
        entropy_of: str | None,
        information: str | None,
        divergence: Path | None,
        sensitivity: str | None,
        seed: int,
    ) -> Questions:
        told = pairs((sensitivity,), "--sensitivity") if sensitivity else {}
        return Questions(
            joint=joint,
            best=best,
            map_of=map_of,
            draws=draws,
            entropy_of=entropy_of,
            information=information,
            divergence=divergence,
            sensitivity=next(iter(told.items()), None),
            seed=seed,
        )

    return option_group(
        command,
        "questions",
        build,
        click.option("--joint", metavar="A,B", help="Joint posterior of variables."),
        click.option(
            "--best", type=click.IntRange(1), metavar="K", help="The K most probable explanations."
        ),
        click.option("--map", "map_of", metavar="A,B", help="Most probable states of variables."),
        click.option(
            "--draws", type=click.IntRange(1), metavar="N", help="Draw N rows given the evidence."
        ),
        click.option(
            "--entropy", "entropy_of", metavar="A,B|all", help="Entropy of variables, in nats."
        ),
        click.option(
            "--information",
            metavar="'A;B|C'",
            help="Mutual information of A and B given C, in nats; lists by commas.",
        ),
        click.option(
            "--divergence",
            type=click.Path(path_type=Path),
            metavar="MODEL",
            help="Kullback-Leibler divergence of another model from this one, in nats.",
        ),
        click.option(
            "--sensitivity",
            metavar="NAME=STATE",
            help="The parameters that a posterior probability depends on most.",
        ),
        seed_option,
    )


@click.command("query")
@click.argument("source", metavar="MODEL.bif|MODEL.pdg.json")
@output_options
@click.option(
    "--evidence",
    "-e",
    multiple=True,
    metavar="NAME=STATE",
    help="An observation; a number that is no state means the bin that holds it; repeatable.",
)
@click.option(
    "--soft",
    multiple=True,
    metavar="NAME=STATE:W,STATE:W",
    help="Soft evidence: the probability of what was seen in each state; an entry with a comma "
    "stands in double quotes; repeatable.",
)
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Variable asked for; repeatable.  [default: all without evidence]",
)
@question_options
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="TABLE",
    help="Answer each row of a table, which may have missing cells; -o writes .csv, too.",
)
@click.option("--class", "class_name", metavar="NAME", help="With --data: predict this variable.")
@reading_options
@ended_by_signal()
def command(**options: Any) -> None:
    """Answer the posterior of the targets given the evidence, exactly, and other questions.

    The model is a file or the name of a bundled network. -o writes the answer as .json. With
    --data every row is a case of its own, and all cores work.
    """
    from exactlearn.commands import _query

    _query.run(**options)
