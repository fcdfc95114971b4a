"""Files of local scores in any format, decided by the suffix.

``.jkl`` and ``.scores`` are two suffixes of one text format (:mod:`exactlearn.formats.jkl`), which
GOBNILP reads under both; ``.lp``, ``.mps`` and ``.cip`` are the integer program for other solvers,
which is only written::

    max  sum_c s_c x_c     sum over the candidates of v of x_c = 1  for every variable v
                           p_u + 1 <= p_v + n (1 - sum of the x_c of v that have the parent u)

``x3_0_5`` is 1 when variable 3 has the parents 0 and 5, and ``x3`` when it has none; the first
variable of the scores is 0. ``p3`` is the position of variable 3 in an order that all arcs follow
(Miller, Tucker and Zemlin 1960). Cluster inequalities, which bound far better, are too many.

A ``.txt`` file is one of local scores when it begins as one: a number, then a name and a number.
"""

import os
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_lines, suffix_of
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.jkl import read_jkl, writable_problem, write_jkl
from exactlearn.solvers.problem import Problem

_TEXT = Format(read_jkl, write_jkl)

FORMATS: dict[str, Format[Problem]] = {
    ".jkl": _TEXT,
    ".scores": _TEXT,
    ".txt": Format(read_jkl),
}
"""Formats by the suffix of the file."""

PROGRAMS = (".lp", ".mps", ".cip")
"""Suffixes of the integer program for other solvers."""

# A table never begins so: its second line would have another number of fields than its first.
_BEGINNING = re.compile(rb"\s*\d+[ \t]*\n\s*\S+[ \t]+\d+[ \t]*\n")
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*\n", re.MULTILINE)


@checked_arguments()
def read_scores(path: str | os.PathLike[str]) -> Problem:
    """Read candidate parent sets with their scores from a file of any known format.

    Parameters
    ----------
    path
        A file ending in ``.jkl``, ``.scores`` or ``.txt``; ``.gz`` may follow.

    Returns
    -------
    Problem
        Variables and candidates in the order of the file.

    Raises
    ------
    FormatError
        When the file does not follow its format; names file and line or row.
    OptionError
        When the suffix is another, or the file cannot be read.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> problem = el.candidate_parent_sets(table, "bic", max_parents=1)
    >>> el.write_scores(problem, "cancer.jkl")
    >>> el.read_scores("cancer.jkl") == problem
    True
    """
    expected = f"a file of local scores, ending in {', '.join(FORMATS)} ('.gz' may follow)"
    return format_of(Path(path), FORMATS, expected).read(Path(path))


@checked_arguments()
def write_scores(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the candidates that the problem's constraints allow, in one step.

    Parameters
    ----------
    problem
        A problem without choices.
    path
        A file ending in ``.jkl`` or ``.scores``, also with ``.gz``; or in ``.lp``, ``.mps`` or
        ``.cip`` for the integer program.

    Raises
    ------
    OptionError
        When the format cannot hold the problem, or the file cannot be written.
    InfeasibleError
        When the constraints leave a variable without candidates.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> problem = el.candidate_parent_sets(table, "bic", max_parents=1)
    >>> el.write_scores(problem, "cancer.scores")
    """
    if suffix_of(Path(path)) in PROGRAMS:
        _write_program(problem, Path(path))
    else:
        writer_of(Path(path), FORMATS, "a file of local scores")(problem, Path(path))


def is_score_file(path: Path) -> bool:
    """Return whether a file holds local scores: by its suffix, or else by what is inside.

    Raises
    ------
    FormatError, OptionError
        When the suffix leaves it open and the file cannot be read.
    """
    suffix = suffix_of(path)
    if suffix == ".txt":
        return _BEGINNING.match(_COMMENT.sub(b"", read_lines(path))) is not None
    return suffix in FORMATS


def _write_program(problem: Problem, path: Path) -> None:
    """Write the candidates that the constraints allow as an integer program, in one step.

    Raises
    ------
    OptionError, InfeasibleError
        When the problem is not one of candidates alone, or the file cannot be written.
    """
    from pyscipopt import Model, quicksum  # takes long to import

    problem = writable_problem(problem)
    n, model = problem.n_variables, Model("parent_sets")
    positions = [model.addVar(f"p{v}", lb=0, ub=n - 1) for v in range(n)]
    chosen, with_arc = [], defaultdict(list)
    for v, stretch in enumerate(pairwise(problem.first.tolist())):
        for c in range(*stretch):
            parents = problem.parent_set(c)
            name = "_".join(map(str, (v, *parents)))
            chosen.append(model.addVar(f"x{name}", vtype="B", obj=float(problem.scores[c])))
            for parent in parents:
                with_arc[parent, v].append(chosen[-1])
        model.addCons(quicksum(chosen[slice(*stretch)]) == 1)
    for (parent, child), candidates in with_arc.items():
        model.addCons(positions[parent] - positions[child] + n * quicksum(candidates) <= n - 1)
    model.setMaximize()
    with TemporaryDirectory() as folder:
        written = Path(folder) / f"program{suffix_of(path)}"
        model.writeProblem(str(written), verbose=False)
        atomic_write(path, written.read_bytes())
