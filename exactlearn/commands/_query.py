"""What ``exactlearn query`` does."""

import csv
from pathlib import Path

from exactlearn.commands._questions import answers
from exactlearn.commands._row_queries import answer_classes, answer_rows, read_cases
from exactlearn.commands.options import (
    pairs,
)
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.query import Questions
from exactlearn.commands.runs import Reading
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.instances import locate
from exactlearn.queries.evidence import Evidence
from exactlearn.queries.posteriors import query
from exactlearn.reporting.report import facts, posterior_table


def run(
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
    """Run the command with its options, of which :mod:`exactlearn.commands.query` tells."""
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
