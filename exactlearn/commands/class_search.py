"""``exactlearn solve --solver ges|kes``: search over equivalence classes, its record and tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exactlearn._runtime.control import OnEvent
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.arc_bootstrap import (
    GOES_ON,
    averaged,
    bootstrap_record,
    bootstrap_tables,
    with_bootstrap,
)
from exactlearn.commands.artifacts import Artifacts, supported, traced
from exactlearn.commands.declarations import Solve
from exactlearn.commands.k_best import class_record, support_table
from exactlearn.commands.large_tables import load_merged
from exactlearn.commands.output import Output
from exactlearn.commands.pipeline import search_equivalence_classes, with_chosen_ess
from exactlearn.commands.search import concluded, run_shown_search
from exactlearn.errors import DataError, OptionError
from exactlearn.formats import written_suffixes
from exactlearn.formats.scores import FORMATS as SCORES
from exactlearn.formats.scores import is_score_file
from exactlearn.reporting.arc_support import class_support, support_record
from exactlearn.reporting.report import (
    facts,
    learning_record,
    learning_tables,
    number,
    plain_table,
)
from exactlearn.reporting.trace import Learned
from exactlearn.structure.equivalence_search import EquivalenceSearch

SHOWN_CLASSES = 20
"""Most classes that the printed table shows."""


def search_classes(options: Solve, path: Path, output: Output) -> Answer:
    """Search, and write what was found.

    Raises
    ------
    OptionError
        When only scores are given, or wanted.
    DataError
        When cells are missing.
    """
    if is_score_file(path):
        raise OptionError(
            f"--solver {options.solver} counts families as it meets them: give the table, or solve "
            f"the scores of {path.name} with another solver"
        )
    if output.path is not None and suffix_of(output.path) in written_suffixes(SCORES):
        raise OptionError(
            f"--output {output.path}: a search over equivalence classes has no table of scores to "
            "write; take another suffix, or solver"
        )
    listed: list[EquivalenceSearch] = []
    sampled: list[dict[str, Any]] = []
    with output.progress_display(f"reading {path.name}") as display:
        data = load_merged(options.source, options)
        if not data.is_complete:
            raise DataError(
                f"{options.source}: {len(data.missing_cells)} cells are missing, but "
                f"--solver {options.solver} needs complete data; 'exactlearn solve' without "
                "it, 'augment' and 'impute' learn from missing cells"
            )
        options, choice = with_chosen_ess(data, options, output.note)

        def artifacts(learned: Learned) -> Artifacts:
            assert learned.parents is not None
            record = {**learning_record(data.names, learned), **choice}
            for found in listed:
                record |= classes_record(data.names, found)
            for samples in sampled:
                record = with_bootstrap(record, samples)
            return Artifacts(data.names, learned.parents, record, data, None, options.smoothing)

        def learn(on_event: OnEvent) -> EquivalenceSearch:
            found = search_equivalence_classes(
                data,
                options,
                threads=options.threads,
                cluster=options.cluster,
                on_event=on_event,
            )
            listed.append(found)
            return found

        display.stage("searching")
        result = run_shown_search(output, display, learn, artifacts)
    also = traced(result, options.trace, output)
    if options.bootstrap is not None and result.status in GOES_ON:
        sampled.append(bootstrap_record(options, data, output))
    also += averaged(options, data, sampled, output)
    if result.method == "kes" or sampled:
        support = artifacts(result).record["support"]
        also += supported(support, data.names, options.support, output)
    ended = sampled[0]["status"] if sampled else "done"
    return concluded(
        output,
        data.names,
        result,
        artifacts,
        tables=classes_tables,
        also=also,
        ended=None if ended == "done" else ended,
    )


def classes_record(names: tuple[str, ...], found: EquivalenceSearch) -> dict[str, Any]:
    """Return what the search adds to the record of the best network."""
    classes = [
        {"score": optimum.score, "starts": optimum.starts, **class_record(names, optimum.parents)}
        for optimum in found.optima
    ]
    return {
        "method": found.method,
        "scores": list(found.scores),
        "steps": list(found.steps),
        "sets": found.sets,
        "classes": classes,
        "support": support_record(names, class_support(found.classes)),
    }


def classes_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a record for people."""
    tables = learning_tables(record)
    samples = bootstrap_tables(record, with_arcs=False) if "bootstrap" in record else []
    if len(record.get("scores", ())) < 2:
        return tables + (["", *support_table(record["support"]), *samples] if samples else [])
    classes, arcs = record["classes"], record["support"]
    best = classes[0]["score"]
    rows = [
        (
            str(rank),
            number(found["score"]),
            number(found["score"] - best),
            str(found["starts"]),
            str(len(found["directed"])),
            str(len(found["undirected"])),
        )
        for rank, found in enumerate(classes[:SHOWN_CLASSES], 1)
    ]
    head = ("rank", "score", "difference", "starts", "arcs", "edges")
    tables += [
        "",
        facts(classes=str(len(classes)), starts=str(len(record["scores"]))),
        plain_table(head, rows, right=head),
    ]
    if len(classes) > SHOWN_CLASSES:
        tables.append(f"... and {len(classes) - SHOWN_CLASSES} more; -o or --json has all")
    return [*tables, "", *support_table(arcs), *samples]
