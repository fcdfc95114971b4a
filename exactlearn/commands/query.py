"""``exactlearn query``: what a network or a decision graph says, for one case or for a table."""

import csv

from exactlearn._runtime.control import ended_by_signal
from exactlearn.commands.declarations import Query
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.questions import answers
from exactlearn.commands.row_queries import answer_classes, answer_rows, read_cases
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.instances import locate
from exactlearn.queries.evidence import Evidence
from exactlearn.queries.posteriors import query
from exactlearn.reporting.report import facts, posterior_table


@ended_by_signal()
def run(options: Query, output: Output) -> None:
    """Run the command."""
    data, class_name, targets = options.data, options.class_, list(options.targets)
    require_suffix(output.path, (".json",) if data is None else (".json", ".csv", ".tsv"))
    if class_name is not None and data is None:
        raise OptionError("--class predicts for each row of a table: give the table by --data")
    if data is not None and (options.evidence or options.soft or options.asks_more):
        raise OptionError(
            "--data takes the evidence from the rows and answers posteriors only: ask the rest"
            " without it"
        )
    if class_name is not None and targets:
        raise OptionError("--class is the target: leave out --target")
    model = read_model(locate(options.source, ".bif"))
    if data is not None:
        table = read_cases(locate(str(data), ".csv"), options, model, output)
        if class_name is not None:
            answer_classes(model, table, class_name, output)
        else:
            answer_rows(model, table, targets or None, output)
        return
    known = _evidence(options)
    answer = query(model, known, targets or None)
    found = list(answers(model, known, options)) if options.asks_more else []
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


def _evidence(options: Query) -> Evidence:
    """Return hard and soft evidence together.

    Raises
    ------
    OptionError
        When an entry is malformed, or a variable has both.
    """
    known: dict[str, str | dict[str, float]] = {**options.evidence}
    for name, told in options.soft.items():
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
