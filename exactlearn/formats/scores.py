"""Files of local scores in any format, decided by the suffix.

``.jkl`` and ``.scores`` are two suffixes of one text format (:mod:`exactlearn.formats.jkl`), which
GOBNILP reads under both; ``.lp``, ``.mps`` and ``.cip`` are the integer program for other solvers,
which is only written (:mod:`exactlearn.formats.integer_program`). A ``.txt`` file is one of local
scores when it begins as one: a number, then a name and a number.
"""

import os
import re
from pathlib import Path

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import read_lines, read_text, suffix_of
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.integer_program import SUFFIXES as PROGRAMS
from exactlearn.formats.integer_program import write_program
from exactlearn.formats.jkl import read_jkl, write_jkl
from exactlearn.solvers.problem import Problem

_TEXT = Format(read_jkl, write_jkl)

FORMATS: dict[str, Format[Problem]] = {
    ".jkl": _TEXT,
    ".scores": _TEXT,
    ".txt": Format(read_jkl),
}
"""Formats by the suffix of the file."""


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
        write_program(problem, Path(path))
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


def score_text(path: str | os.PathLike[str]) -> str:
    """Return the local scores in a file as the text of a ``.jkl`` file, their decimals untouched.

    Parameters
    ----------
    path
        A file ending in ``.jkl``, ``.scores`` or ``.txt``; ``.gz`` may follow.

    Raises
    ------
    OptionError, FormatError
        When the file cannot be read.
    """
    return read_text(Path(path))
