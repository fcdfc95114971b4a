"""``exactlearn query``: what a network or a decision graph says, for one case or for a table."""

import csv
from pathlib import Path
from typing import Any

import click

from exactlearn.commands.asking import Questions, answers
from exactlearn.commands.asking_tables import answer_classes, answer_rows, read_cases
from exactlearn.commands.options import (
    option_group,
    output_options,
    pairs,
    reading_options,
    seed_option,
)
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.runs import Reading
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.instances import locate
from exactlearn.queries.evidence import Evidence
from exactlearn.queries.posteriors import query
from exactlearn.reporting.report import facts, posterior_table


def question_options(command: Any) -> Any:
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
def command(
    source: str,
    output: Output,
    evidence: tuple[str, ...],
    soft: tuple[str, ...],
    targets: tuple[str, ...],
    questions: Questions,
    data: Path | None,
    class_name: str | None,
    reading: Reading,
) -> None:
    """Answer the posterior of the targets given the evidence, exactly, and other questions.

    The model is a file or the name of a bundled network. -o writes the answer as .json. With
    --data every row is a case of its own, and all cores work.
    """
    require_suffix(output.path, (".json",) if data is None else (".json", ".csv", ".tsv"))
    if class_name is not None and data is None:
        raise OptionError("--class predicts for each row of a table: give the table by --data")
    if data is not None and (evidence or soft or questions.any):
        raise OptionError(
            "--data takes the evidence from the rows and answers posteriors only: ask the rest"
            " without it"
        )
    if class_name is not None and targets:
        raise OptionError("--class is the target: leave out --target")
    model = read_model(locate(source, ".bif"))
    if data is not None:
        table = read_cases(locate(str(data), ".csv"), reading, model, output)
        if class_name is not None:
            answer_classes(model, table, class_name, output)
        else:
            answer_rows(model, table, list(targets) or None, output)
        return
    known = _evidence(evidence, soft)
    answer = query(model, known, list(targets) or None)
    found = list(answers(model, known, questions)) if questions.any else []
    record = {
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
        **{key: value for key, value, _ in found},
    }
    output.save(record)
    likelihood = facts(probability_of_evidence=f"{answer.probability_of_evidence:.6g}")
    tables = [part for *_, table in found for part in (table, "")]
    marginals = [] if found and not targets else [posterior_table(answer.posterior), ""]
    output.answer(record, *marginals, *tables, likelihood)


def _evidence(hard: tuple[str, ...], soft: tuple[str, ...]) -> Evidence:
    """Return hard and soft evidence together.

    Raises
    ------
    OptionError
        When an entry is malformed, or a variable has both.
    """
    known: dict[str, str | dict[str, float]] = {**pairs(hard, "--evidence")}
    for name, told in pairs(soft, "--soft").items():
        if name in known:
            raise OptionError(f"--soft {name}={told}: {name!r} has hard evidence, too; give one")
        known[name] = _weights(name, told)
    return known


def _weights(name: str, told: str) -> dict[str, float]:
    weights = {}
    for entry in next(csv.reader([told])):
        state, colon, weight = entry.rpartition(":")
        try:
            weights[state] = float(weight if colon else "")
        except ValueError:
            raise OptionError(
                f"--soft {name}={told}: expected STATE:WEIGHT joined by commas, as in"
                f" '{name}=yes:0.9,no:0.1'"
            ) from None
    return weights
