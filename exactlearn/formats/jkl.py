"""Local scores of parent sets as text, in the format of GOBNILP: ``.jkl`` and ``.scores``.

::

    # comment
    number of variables
    name  number of candidates
    score  number of parents  names of the parents
    ...

Each variable has one header line, followed by its candidates in any order, at least one. Lines
that begin with ``#`` and blank lines may stand anywhere. Scores are maximised, and written with as
many digits as it takes to read the same number again. Where a name has blanks or begins with ``#``,
the first line is ``# names are percent-encoded``, and all names are, as in a URL: ``blood%20type``.
"""

import os
import re
import string
from dataclasses import dataclass
from itertools import repeat
from math import inf
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_lines
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.score_table import Fault, ScoreTable, writable_problem
from exactlearn.solvers.certificates.checker import ENCODED, LONGEST, NUMBER
from exactlearn.solvers.problem import Problem, offsets

LONGEST_COUNT = 9
"""Most digits of a count; a longer one can only be a mistake."""

_KEPT = "".join(set(string.punctuation) - set("#%"))
"""Letters beside letters and digits that stay as they are where names are encoded."""

_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)


@checked_arguments()
def read_jkl(path: str | os.PathLike[str]) -> Problem:
    """Read candidate parent sets with their scores.

    Parameters
    ----------
    path
        File to read, compressed by gzip or not.

    Returns
    -------
    Problem
        Variables and candidates in the order of the file.

    Raises
    ------
    FormatError
        When the text does not follow the format; names file, line and column.
    OptionError
        When the file cannot be read.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> problem = el.candidate_parent_sets(table, "bic", max_parents=1)
    >>> el.write_jkl(problem, "cancer.jkl")
    >>> el.read_jkl("cancer.jkl") == problem
    True
    """
    return _Reader(os.fspath(path), read_lines(Path(path))).problem()


def parse_jkl(text: str, source: str = "score text") -> Problem:
    """Read candidate parent sets from text; errors name ``source``. See :func:`read_jkl`.

    Examples
    --------
    >>> problem = parse_jkl("2; a 1; -3.5 0; b 2; -1.0 1 a; -2.5 0".replace("; ", chr(10)))
    >>> dict(problem.candidates(1))
    {(0,): -1.0, (): -2.5}
    """
    return _Reader(source, text.encode()).problem()


@checked_arguments()
def write_jkl(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the candidates that the problem's constraints allow, in one step.

    Parameters
    ----------
    problem
        A problem without choices.
    path
        File to write; compressed when its name ends in ``.gz``.

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
    >>> el.write_jkl(problem, "cancer.jkl")
    """
    atomic_write(path, format_jkl(problem))


def format_jkl(problem: Problem) -> str:
    """Return the text that :func:`write_jkl` writes."""
    kept = writable_problem(problem)
    if "" in kept.names:
        raise OptionError("a score file cannot hold a variable without a name; give it one")
    plain = all(map(_is_plain, kept.names))
    names = kept.names if plain else [quote(name, safe=_KEPT) for name in kept.names]
    parents = [names[p] for p in kept.members.tolist()]
    ends = kept.member_first.tolist()
    candidates = [
        " ".join([repr(score), str(end - start), *parents[start:end]])
        for score, start, end in zip(kept.scores.tolist(), ends[:-1], ends[1:], strict=True)
    ]
    lines = [str(kept.n_variables)] if plain else [ENCODED.decode(), str(kept.n_variables)]
    first = kept.first.tolist()
    for name, start, end in zip(names, first[:-1], first[1:], strict=True):
        lines += [f"{name} {end - start}", *candidates[start:end]]
    return "\n".join(lines) + "\n"


def _is_plain(name: str) -> bool:
    """Return whether a name can stand in a line as it is."""
    text = name.encode()
    return text.split() == [text] and not name.startswith("#") and "\0" not in name


class _BrokenOffError(Exception):
    """A header that ends the reading: where, and what is wrong with it."""

    def __init__(self, line: int, field: int, message: str) -> None:
        super().__init__(message)
        self.line, self.field, self.message = line, field, message


@dataclass
class _Headers:
    """The header lines in their order, as far as they can be made out.

    Parameters
    ----------
    index
        Variable names and their positions.
    lines
        Header line of each variable, among the lines that are not blank.
    end
        Line after the last candidate, among the lines that are not blank.
    broken
        What ended the reading before its time.
    """

    index: dict[bytes, int]
    lines: list[int]
    end: int = 1
    broken: _BrokenOffError | None = None


class _Reader:
    """Reads a whole file: headers first, since parents may be declared later.

    Fields are found by array operations; ``begins[k]`` is the first field of the ``k``-th line
    that is not blank, and ``numbers[k]`` that line's number in the file.
    """

    def __init__(self, source: str, data: bytes) -> None:
        self.source = source
        self.is_encoded = data.split(b"\n", 1)[0] == ENCODED
        self.data = _COMMENT.sub(b"", data) if b"#" in data else data
        self.fields = self.data.split()
        text = np.frombuffer(self.data, np.uint8)
        # The white space of bytes.split.
        ink = (text > 32) | (text < 9) | ((text > 13) & (text < 32))
        self.starts = np.flatnonzero(ink & ~np.concatenate([[False], ink[:-1]]))
        line_ends = np.flatnonzero(text == ord("\n"))
        line = np.searchsorted(line_ends, self.starts)
        begins = np.flatnonzero(np.diff(line, prepend=-1))
        self.begins: NDArray[np.int64] = np.append(begins, len(line))
        self.numbers = line[begins] + 1
        self.last_line = len(line_ends) + 1

    def problem(self) -> Problem:
        """Return the problem that the file describes."""
        if not self.fields:
            raise FormatError(
                f"{self.source}: expected the number of variables, found nothing; is it the file "
                "you mean?"
            )
        headers = self._headers()
        table, lines, faults = self._candidates(headers)
        if headers.broken is None or any(lines[f.row] < headers.broken.line for f in faults):
            if faults:
                fault = min(faults)
                raise self._error(int(lines[fault.row]), fault.field, fault.message)
            return table.problem()
        broken = headers.broken
        raise self._error(broken.line, broken.field, broken.message)

    def _headers(self) -> _Headers:
        headers = _Headers({}, [])
        try:
            n = self._whole(0, 0, 1, "the number of variables alone on a line")
            if n == 0:
                raise _BrokenOffError(0, 0, "expected at least one variable")
            for variable in range(n):
                self._read_header(headers, f"variable {variable + 1} of {n}")
            if headers.end < len(self.numbers):
                message = f"expected the end after {n} variables; check the counts"
                raise _BrokenOffError(headers.end, 0, message)
        except _BrokenOffError as broken:
            headers.broken = broken
        return headers

    def _read_header(self, headers: _Headers, which: str) -> None:
        """Take the header at the end of what was read, and skip its candidates."""
        line, there = headers.end, len(self.numbers)
        count = self._whole(line, 1, 2, f"the header 'name count' of {which}")
        name = self.fields[self.begins[line]]
        if name in headers.index:
            message = f"variable {name.decode()!r} stands here twice; rename one"
            raise _BrokenOffError(line, 0, message)
        if count == 0:
            message = (
                f"variable {name.decode()!r} has no candidates; expected at least one, such as the "
                "empty parent set (or the count above is too small)"
            )
            raise _BrokenOffError(line, 1, message)
        headers.index[name] = len(headers.lines)
        headers.lines.append(line)
        headers.end = min(line + 1 + count, there)
        if line + count >= there:
            message = f"expected candidate {there - line} of {count} of variable {name.decode()!r}"
            raise _BrokenOffError(there, 0, message)

    def _whole(self, line: int, field: int, width: int, what: str) -> int:
        """Return a field that must be a whole number, on a line of so many fields."""
        if line >= len(self.numbers):
            raise _BrokenOffError(line, 0, f"expected {what}")
        fields = self.fields[self.begins[line] : self.begins[line + 1]]
        if len(fields) != width:
            raise _BrokenOffError(line, min(field, len(fields) - 1), f"expected {what}")
        if not _is_count(fields[field]):
            raise _BrokenOffError(line, field, f"expected {what}, a whole number")
        return int(fields[field])

    def _candidates(self, headers: _Headers) -> tuple[ScoreTable, NDArray[np.int64], list[Fault]]:
        """Return the candidates below the headers, the line of each, and what is wrong."""
        heads = np.array(headers.lines, np.int64)
        counts = np.diff(heads, append=headers.end) - 1
        lines = np.delete(np.arange(1, headers.end), heads - 1)
        begins, widths = self.begins[lines], np.diff(self.begins)[lines]
        fields = self.fields
        score_texts = [fields[k] for k in begins.tolist()]
        scores = _numbers(score_texts)
        for k in np.flatnonzero(scores == 0.0).tolist():  # as exponents beyond all bounds make it
            if not NUMBER.fullmatch(score_texts[k].decode()):
                scores[k] = inf
        seconds = begins + np.minimum(widths - 1, 1)
        sizes = _counts([fields[k] for k in seconds.tolist()])
        sizes[widths == 1] = -1
        found = np.maximum(widths - 2, 0)
        places = np.arange(found.sum()) - np.repeat(offsets(found)[:-1] - begins - 2, found)
        texts = [fields[k] for k in places.tolist()]
        parents = np.fromiter(map(headers.index.get, texts, repeat(-1)), np.int64, len(texts))
        table = ScoreTable(
            tuple(map(self._name, headers.index)),
            np.repeat(np.arange(len(heads)), counts),
            scores,
            found,
            parents,
        )
        faults = _line_faults(scores, sizes, found)
        if headers.broken is None:
            faults += _unknown(parents, found, texts) + table.faults()
        return table, lines, faults

    def _name(self, text: bytes) -> str:
        return unquote(text.decode()) if self.is_encoded else text.decode()

    def _error(self, line: int, field: int, message: str) -> FormatError:
        """Return the error at a field of a line that is not blank, or at the end of the file."""
        if line >= len(self.numbers):
            return FormatError(
                f"{self.source}, line {self.last_line}, column 1: {message}, found the end of the "
                "file; is it cut off, or a count too large?"
            )
        at = int(self.starts[min(self.begins[line] + field, self.begins[line + 1] - 1)])
        begin = self.data.rfind(b"\n", 0, at) + 1
        end = self.data.find(b"\n", at)
        text = self.data[begin : end if end >= 0 else None].decode().strip()
        column = len(self.data[begin:at].decode()) + 1
        return FormatError(
            f"{self.source}, line {self.numbers[line]}, column {column}: {message}; found "
            f"{text[:_SHOWN]!r}{'...' if len(text) > _SHOWN else ''}"
        )


_SHOWN = 80
"""Letters of a broken line that a message shows."""


def _numbers(texts: list[bytes]) -> NDArray[np.float64]:
    """Return the numbers of many texts; infinity for one that is none."""
    try:
        return np.fromiter(map(_number, texts), np.float64, len(texts))
    except ValueError:
        return np.array([_number_or_infinity(text) for text in texts], np.float64)


def _number(text: bytes) -> float:
    if b"_" in text or len(text) > LONGEST:  # Python's numbers may have underscores
        raise ValueError
    return float(text)


def _number_or_infinity(text: bytes) -> float:
    try:
        return _number(text)
    except ValueError:
        return inf


def _counts(texts: list[bytes]) -> NDArray[np.int64]:
    """Return the whole numbers of many texts; -1 for one that is none."""
    known = {text: int(text) if _is_count(text) else -1 for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) <= LONGEST_COUNT


def _line_faults(
    scores: NDArray[np.float64], sizes: NDArray[np.int64], found: NDArray[np.int64]
) -> list[Fault]:
    """Return the first candidate of each kind whose line is broken in itself."""
    faults = []
    for row in np.flatnonzero(~np.isfinite(scores))[:1].tolist():
        message = "expected a finite score (or a count above is too large)"
        faults.append(Fault(row, 0, message))
    for row in np.flatnonzero(sizes < 0)[:1].tolist():
        faults.append(Fault(row, 1, "expected the number of parents"))
    for row in np.flatnonzero((sizes >= 0) & (sizes != found))[:1].tolist():
        message = f"expected {sizes[row]} parents on this line, found {found[row]}"
        faults.append(Fault(row, 1, message))
    return faults


def _unknown(
    parents: NDArray[np.int64], found: NDArray[np.int64], texts: list[bytes]
) -> list[Fault]:
    """Return the first candidate with a parent that is no variable of the file."""
    for at in np.flatnonzero(parents < 0)[:1].tolist():
        row = int(np.searchsorted(offsets(found), at, side="right")) - 1
        message = (
            f"parent {texts[at].decode()!r} is not a variable here; expected a name of a header"
        )
        return [Fault(row, 2 + at - int(offsets(found)[row]), message)]
    return []
