"""``exactlearn solve``: the optimal network of a table, or of given local scores."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from exactlearn._runtime import cluster as clusters
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.answer import Answer, worst
from exactlearn.commands.arc_bootstrap import (
    GOES_ON,
    averaged,
    bootstrap_record,
    bootstrap_tables,
    with_bootstrap,
)
from exactlearn.commands.artifacts import Artifacts, supported, traced, writable
from exactlearn.commands.class_search import search_classes
from exactlearn.commands.declarations import Solve
from exactlearn.commands.k_best import (
    enumerated,
    k_best_record,
    k_best_tables,
)
from exactlearn.commands.large_tables import load_merged, place
from exactlearn.commands.output import Output, require_parent, require_records, require_suffix
from exactlearn.commands.pipeline import (
    constraints,
    directions,
    learn_complete,
    load,
    scored_problem,
    with_chosen_ess,
)
from exactlearn.commands.search import concluded, run_shown_search
from exactlearn.commands.sections import CLASS_SEARCHES
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import OptionError
from exactlearn.formats import written_suffixes
from exactlearn.formats.graph_file import read_graph
from exactlearn.formats.models import NETWORKS
from exactlearn.formats.score_table import writable_problem
from exactlearn.formats.scores import FORMATS as SCORES
from exactlearn.formats.scores import is_score_file, read_scores, score_text
from exactlearn.reporting.report import learning_record
from exactlearn.reporting.trace import Learned
from exactlearn.solvers import Problem, Result
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.structure.selection import Scored

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", re.IGNORECASE)
_OF_SCORING = ("criterion", "ess", "max_parents", "scoring_time", "counts")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def run(options: Solve, output: Output) -> Answer:
    """Run the command."""
    path = place(options.source)
    has_scores = is_score_file(path)
    if options.data is not None and not has_scores:
        raise OptionError("--data is for local scores, but a table was given; leave it out")
    writable(output, with_data=not has_scores or options.data is not None, completes=False)
    _require_writable(options)
    if options.solver in CLASS_SEARCHES:
        return search_classes(options, path, output)
    with output.progress_display(f"reading {path.name}") as display:
        data, scored, left, choice = _read(path, options, output, display.stage)
        problem = scored.problem
        is_incomplete = data is not None and not data.is_complete
        rows = data if options.data is None else _rows_of(problem, options)
        for remark in scored.remarks:
            output.note(remark[0].upper() + remark[1:])
        more = solver_keywords(options, problem.names)
        if options.certificate is not None and data is None:
            more["scores"] = score_text(path)
        if problem.stopped:  # a proof would be one about the parent sets that were scored
            more.pop("certify", None)
        if output.path is not None and suffix_of(output.path) in written_suffixes(SCORES):
            writable_problem(problem)
        output.detail(
            f"{problem.n_candidates} candidate parent sets of {problem.n_variables} variables"
        )
        listed: list[Enumeration] = []
        sampled: list[dict[str, Any]] = []

        def artifacts(learned: Learned) -> Artifacts:
            assert learned.parents is not None
            known = directions(options, problem.names)
            record = {**learning_record(problem.names, learned, known), **choice}
            if is_incomplete:
                record["counts"] = options.counts
            if options.certificate is not None and isinstance(learned, Result):
                record["certificate"] = learned.certificate and str(options.certificate)
                record["certificate_unfinished"] = not learned.is_certified
            for found in listed:
                record |= k_best_record(options, problem, found, from_data=data is not None)
            for samples in sampled:
                record = with_bootstrap(record, samples)
            return Artifacts(
                problem.names,
                learned.parents,
                record,
                rows,
                lambda: problem,
                options.smoothing,
                options.counts if is_incomplete else None,
            )

        display.stage("solving")

        def learn(on_event: OnEvent) -> Result:
            listener = scored.listener(on_event)
            if not options.lists:
                return scored.judged(learn_complete(problem, left, listener, **more))
            found = enumerated(options, problem, left, listener, **more)
            best = scored.judged(found.best)
            if problem.stopped:
                found = replace(found, best=best, status=best.status, bound=inf)
            listed.append(found)
            return best

        result = run_shown_search(output, display, learn, artifacts)
    limit = options.time_limit
    cut_short = options.certificate is not None and not result.is_certified
    if options.bootstrap is not None and result.status == "optimal" and cut_short:
        output.note("The certificate is unfinished: the bootstrap is left out")
    elif options.bootstrap is not None and data is not None and result.status in GOES_ON:
        sampled.append(bootstrap_record(replace(left, time_limit=limit), data, output))
    also = traced(result, options.trace, output)
    if options.certificate is not None:
        also.insert(0, partial(_write_certificate, result, options.certificate, output))
    if data is not None:
        also += averaged(options, data, sampled, output)
    if (sampled or (listed and not options.runner_up)) and result.parents is not None:
        support = artifacts(result).record["support"]
        also += supported(support, problem.names, options.support, output)
    ends = [found.status for found in listed] + [found["status"] for found in sampled]
    return concluded(
        output,
        problem.names,
        result,
        artifacts,
        tables=partial(_tables, options),
        also=also,
        ended=worst(result.status, *ends),
    )


def _tables(options: Solve, record: Mapping[str, Any]) -> list[Any]:
    """Return the tables of a record for people."""
    tables = k_best_tables(options, record)
    if "bootstrap" in record:
        tables += bootstrap_tables(record, with_arcs="networks" not in record)
    return tables


def _read(
    path: Path, options: Solve, output: Output, stage: Callable[[str], None]
) -> tuple[Dataset | None, Scored, Solve, dict[str, Any]]:
    """Return the data, unless only their scores are given, and the problem.

    Also the options with the time that is left, and the choice of the equivalent sample size.
    """
    if is_score_file(path):
        unset = Solve(source=options.source)
        for name in _OF_SCORING:
            if getattr(options, name) != getattr(unset, name):
                option = f"--{name.replace('_', '-')}"
                raise OptionError(f"{option} is for a table, but scores were given; leave it out")
        if options.bootstrap is not None:
            raise OptionError("--bootstrap draws rows, but scores were given: give the table")
        problem = read_scores(path)
        problem = replace(problem, **constraints(options, problem.names))
        return None, Scored(problem=problem, time_left=options.time_limit), options, {}
    with clusters.running(options.cluster) as client:
        data = load_merged(options.source, options, client)
        with SearchControl().running():  # Ctrl-C ends both, and leaves a network
            options, choice = with_chosen_ess(data, options, output.note)
            stage(f"scoring {data.n_variables} variables")
            scored, left = scored_problem(
                data, options, every=options.lists, counts=options.counts, cluster=client
            )
    return data, scored, left, choice


def _rows_of(problem: Problem, options: Solve) -> Dataset:
    """Return the columns of a table beside local scores, in the order of these."""
    assert options.data is not None
    table = load(options.data, options)
    known = dict(zip(table.names, table.states, strict=True))
    states = tuple(known.get(name, ()) for name in problem.names)
    codes = aligned_codes(table, problem.names, states)
    return Dataset(codes, problem.names, states, table.weights, lines=table.lines)


def _write_certificate(result: Result, path: Path, output: Output) -> None:
    if result.certificate is None:
        output.note(f"No certificate: {result.message or 'the solver gave none'}")
        return
    result.certificate.write(path)
    output.wrote(path)
    if not result.is_certified:
        output.note(f"Certificate unfinished: it proves the bound {result.certificate.bound}")


def solver_keywords(options: Solve, names: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`exactlearn.solvers.solve` that the options set.

    Raises
    ------
    OptionError
        When the start cannot be read, or has other variables.
    FormatError
        When the start does not follow its format.
    """
    keywords: dict[str, Any] = {"gap": options.gap}
    if options.start is not None:
        keywords["start"] = read_graph(options.start, names).parents
    if options.checkpoint is not None:
        keywords["checkpoint"] = options.checkpoint
    if options.memory_limit is not None:
        keywords["memory_limit"] = size(options.memory_limit)
    if options.threads is not None:
        keywords["threads"] = options.threads
    if options.certificate is not None:
        keywords["certify"] = True
    return keywords


def size(text: str) -> int:
    """Return a number of bytes, written as ``2GiB``, ``500MB`` or ``1000000``.

    Raises
    ------
    OptionError
        When the text is no size, or nothing.

    Examples
    --------
    >>> size("2GiB"), size("1.5 kB")
    (2147483648, 1500)
    """
    match = _SIZE.fullmatch(text.strip())
    found = _bytes(*match.groups()) if match else 0
    if not found:
        raise OptionError(f"{text!r} is no size in memory; expected one such as 2GiB or 500MB")
    return found


def _bytes(number: str, unit: str | None, binary: str | None) -> int:
    step = 1024 if binary else 1000
    return int(float(number) * step ** _POWERS[unit.lower()] if unit else float(number))


def _require_writable(options: Solve) -> None:
    """Refuse, before any work is done, files that cannot be written and sizes that are none."""
    require_records(options.support, "--support")
    require_records(options.trace, "--trace")
    require_suffix(options.averaged, tuple(NETWORKS), "--averaged")
    if options.memory_limit is not None:
        size(options.memory_limit)
    if options.certificate is not None:
        if options.certificate.is_dir():
            raise OptionError(f"--certificate {options.certificate}: expected a file, not a folder")
        require_parent(options.certificate, "--certificate")
