"""Local scores of parent sets in the text format of GOBNILP, files ``.jkl`` and ``.txt``.

::

    # comment
    number of variables
    name  number of candidates
    score  number of parents  names of the parents
    ...

Each variable has one header line, followed by its candidates in any order. Lines that begin with
``#`` and blank lines may stand anywhere. Scores are maximised, and written with as many digits as
it takes to read the same number again.
"""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.atomic import atomic_write
from exactlearn.formats.text_file import read_text
from exactlearn.solvers.problem import Problem

Line = tuple[int, str]
"""Number of a line in its file, from 1, and its text."""


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
    """
    return parse_jkl(read_text(Path(path)), os.fspath(path))


def parse_jkl(text: str, source: str = "score text") -> Problem:
    """Read candidate parent sets from text; errors name ``source``. See :func:`read_jkl`.

    Examples
    --------
    >>> problem = parse_jkl("2; a 1; -3.5 0; b 2; -1.0 1 a; -2.5 0".replace("; ", chr(10)))
    >>> dict(problem.candidates(1))
    {(0,): -1.0, (): -2.5}
    """
    return _Reader(source, text).problem()


def write_jkl(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the candidates that the problem's constraints allow, in one step.

    Parameters
    ----------
    problem
        A problem without choices, whose variable names have no blanks.
    path
        File to write; compressed when its name ends in ``.gz``.

    Raises
    ------
    OptionError
        When the format cannot hold the problem, or the file cannot be written.
    """
    atomic_write(path, format_jkl(problem))


def format_jkl(problem: Problem) -> str:
    """Return the text that :func:`write_jkl` writes."""
    _require_writable(problem)
    kept = problem.select(problem.allowed)
    parents = [kept.names[p] for p in kept.members.tolist()]
    ends = kept.member_first.tolist()
    candidates = [
        " ".join([repr(score), str(end - start), *parents[start:end]])
        for score, start, end in zip(kept.scores.tolist(), ends[:-1], ends[1:], strict=True)
    ]
    lines = [str(kept.n_variables)]
    first = kept.first.tolist()
    for name, start, end in zip(kept.names, first[:-1], first[1:], strict=True):
        lines += [f"{name} {end - start}", *candidates[start:end]]
    return "\n".join(lines) + "\n"


def _require_writable(problem: Problem) -> None:
    if len(problem.options):
        raise OptionError(
            f"a score file cannot hold the {len(problem.options)} choices of this problem; "
            "write the problem of the gadget formulation, which has none"
        )
    for name in problem.names:
        if not name or name.startswith("#") or name.split() != [name]:
            raise OptionError(
                f"a score file cannot hold the variable name {name!r}: names must have no blanks "
                "and not begin with '#'; rename the variable"
            )


@dataclass(frozen=True)
class _Block:
    """One variable's header and candidate lines."""

    header: Line
    name: str
    candidates: list[Line]


class _Reader:
    """Reads a whole file: headers first, since parents may be declared later."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        numbered = enumerate(text.splitlines(), start=1)
        self.lines = [(i, line) for i, line in numbered if line.strip() and line.lstrip()[0] != "#"]
        self.end = text.count("\n") + 1

    def problem(self) -> Problem:
        """Return the problem that the file describes."""
        blocks = self._blocks()
        index = {block.name: i for i, block in enumerate(blocks)}
        scores: list[float] = []
        sets: list[list[int]] = []
        for child, block in enumerate(blocks):
            seen: set[tuple[int, ...]] = set()
            for line in block.candidates:
                score, parents = self._candidate(line, child, index)
                if tuple(parents) in seen:
                    raise self._error(line, 2, "this parent set stands here twice; drop one line")
                seen.add(tuple(parents))
                scores.append(score)
                sets.append(parents)
        return Problem(
            names=tuple(index),
            first=np.cumsum([0, *(len(block.candidates) for block in blocks)]).astype(np.int64),
            scores=np.array(scores, np.float64),
            member_first=np.cumsum([0, *map(len, sets)]).astype(np.int64),
            members=np.array([p for parents in sets for p in parents], np.int32),
        )

    def _blocks(self) -> list[_Block]:
        """Split the lines by variable."""
        if not self.lines:
            raise FormatError(f"{self.source}: expected the number of variables, found nothing")
        n = self._whole(self.lines[0], 0, "the number of variables alone on a line", 1)
        blocks: dict[str, _Block] = {}
        at = 1
        for done in range(n):
            block = self._block(at, f"variable {done + 1} of {n}")
            if block.name in blocks:
                raise self._error(
                    block.header, 0, f"variable {block.name!r} stands here twice; rename one"
                )
            blocks[block.name] = block
            at += 1 + len(block.candidates)
        if at < len(self.lines):
            raise self._error(
                self.lines[at], 0, f"expected the end after {n} variables; check the counts"
            )
        return list(blocks.values())

    def _block(self, at: int, which: str) -> _Block:
        if at >= len(self.lines):
            raise self._ended(f"the header 'name count' of {which}")
        header = self.lines[at]
        count = self._whole(header, 1, f"the header 'name count' of {which}", 2)
        candidates = self.lines[at + 1 : at + 1 + count]
        name = header[1].split()[0]
        if len(candidates) < count:
            raise self._ended(f"candidate {len(candidates) + 1} of {count} of variable {name!r}")
        return _Block(header, name, candidates)

    def _whole(self, line: Line, field: int, what: str, n_fields: int) -> int:
        """Return a field that must be a whole number, on a line of so many fields."""
        fields = line[1].split()
        if len(fields) != n_fields:
            raise self._error(line, min(field, len(fields) - 1), f"expected {what}")
        if not (fields[field].isascii() and fields[field].isdigit()):
            raise self._error(line, field, f"expected {what}, a whole number")
        return int(fields[field])

    def _candidate(self, line: Line, child: int, index: dict[str, int]) -> tuple[float, list[int]]:
        """Return the score and the increasing parents of a candidate line."""
        fields = line[1].split()
        try:
            score = float(fields[0])
            if int(fields[1]) != len(fields) - 2 or not math.isfinite(score):
                raise ValueError
            parents = sorted([index[name] for name in fields[2:]])
        except (ValueError, KeyError, IndexError):
            raise self._broken(line, index) from None
        if child in parents or len(set(parents)) < len(parents):
            raise self._error(line, 2, "a parent is the variable itself, or stands here twice")
        return score, parents

    def _broken(self, line: Line, index: dict[str, int]) -> FormatError:
        """Explain what is wrong with a candidate line."""
        fields = line[1].split()
        try:
            finite = math.isfinite(float(fields[0]))
        except ValueError:
            finite = False
        if not finite:
            return self._error(line, 0, "expected a finite score; or is a count above too large?")
        if len(fields) < 2 or not fields[1].isdecimal():
            return self._error(line, min(1, len(fields) - 1), "expected the number of parents")
        if int(fields[1]) != len(fields) - 2:
            return self._error(
                line, 1, f"expected {fields[1]} parents on this line, found {len(fields) - 2}"
            )
        unknown = next(i for i, name in enumerate(fields) if i > 1 and name not in index)
        return self._error(line, unknown, f"parent {fields[unknown]!r} is not a variable here")

    def _error(self, line: Line, field: int, message: str) -> FormatError:
        starts = [match.start() for match in re.finditer(r"\S+", line[1])]
        column = starts[min(field, len(starts) - 1)] + 1
        return FormatError(
            f"{self.source}, line {line[0]}, column {column}: {message}; found {line[1].strip()!r}"
        )

    def _ended(self, wanted: str) -> FormatError:
        return FormatError(
            f"{self.source}, line {self.end}, column 1: expected {wanted}, found the end of the "
            "file; is it cut off, or a count too large?"
        )
