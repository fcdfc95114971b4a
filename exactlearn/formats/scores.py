"""Files of local scores, in the format that the suffix says, and certificates of an optimum.

``.jkl`` and ``.scores`` are two suffixes of the text format of GOBNILP::

    # comment
    number of variables
    name  number of candidates
    score  number of parents  names of the parents
    ...

Each variable has one header line, followed by its candidates in any order, at least one. Lines
that begin with ``#`` and blank lines may stand anywhere. Scores are maximised, and written with as
many digits as it takes to read the same number again. Where a name has blanks or begins with ``#``,
the first line is ``# names are percent-encoded``, and all names are, as in a URL: ``blood%20type``.

``.lp``, ``.mps`` and ``.cip`` are the integer program for other solvers, which is only written::

    max  sum_c s_c x_c     sum over the candidates of v of x_c = 1  for every variable v
                           p_u + 1 <= p_v + n (1 - sum of the x_c of v that have the parent u)

``x3_0_5`` is 1 when variable 3 has the parents 0 and 5, and ``x3`` when it has none; the first
variable of the scores is 0. ``p3`` is the position of variable 3 in an order that all arcs follow
(Miller, Tucker and Zemlin 1960). Cluster inequalities, which bound far better, are too many.
"""

import os
import re
import string
from array import array
from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from math import isfinite, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import (
    atomic_write,
    read_json,
    read_lines,
    suffix_of,
    temporary_folder,
)
from exactlearn._runtime.offsets import offsets
from exactlearn.errors import FormatError, InfeasibleError, OptionError
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.content import CERTIFICATE, SCORES, expecting
from exactlearn.solvers.certificate import FORMAT, Certificate
from exactlearn.solvers.certificate_checker import ENCODED, KEYS, LONGEST, NUMBER
from exactlearn.solvers.problem import Problem

LONGEST_COUNT = 9
"""Most digits of a count; a longer one can only be a mistake."""

_KEPT = "".join(set(string.punctuation) - set("#%"))
"""Letters beside letters and digits that stay as they are where names are encoded."""

_SHOWN = 80
"""Letters of a broken line that a message shows."""


@checked_arguments()
def read_scores(path: str | os.PathLike[str]) -> Problem:
    """Read candidate parent sets with their scores from a file of any known format.

    Parameters
    ----------
    path
        A file ending in ``.jkl`` or ``.scores``; ``.gz`` may follow.

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
    file = Path(path)
    expected = (
        f"a file of local scores, ending in {', '.join(FORMATS)} ('.gz' may follow)"
    )
    with expecting(file, SCORES, FORMATS):
        return format_of(file, FORMATS, expected).read(file)


@checked_arguments()
def write_scores(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the candidates that the problem's constraints allow, in one step.

    Parameters
    ----------
    problem
        The problem.
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
    file = Path(path)
    if suffix_of(file) in PROGRAMS:
        _write_program(problem, file)
    else:
        writer_of(file, FORMATS, "a file of local scores")(problem, file)


def is_score_file(path: Path) -> bool:
    """Return whether a file holds local scores, by its suffix."""
    return suffix_of(path) in FORMATS


def _write_program(problem: Problem, path: Path) -> None:
    """Write the candidates that the constraints allow as an integer program, in one step.

    Raises
    ------
    OptionError, InfeasibleError
        When the problem is not one of candidates alone, or the file cannot be written.
    """
    from pyscipopt import Model, quicksum  # takes long to import

    problem = writable_problem(problem)
    n = problem.n_variables
    model = Model("parent_sets")
    # The position of each variable in an order.
    positions = [model.addVar(f"p{v}", lb=0, ub=n - 1) for v in range(n)]
    # One candidate for each variable.
    with_arc = defaultdict(list)
    for child, candidates in enumerate(pairwise(problem.first.tolist())):
        selections = []
        for candidate in range(*candidates):
            parents = problem.parent_set(candidate)
            name = "_".join(map(str, (child, *parents)))
            score = float(problem.scores[candidate])
            selection = model.addVar(f"x{name}", vtype="B", obj=score)
            selections.append(selection)
            for parent in parents:
                with_arc[parent, child].append(selection)
        model.addCons(quicksum(selections) == 1)
    # A parent stands before its child.
    for (parent, child), selections in with_arc.items():
        order = positions[parent] - positions[child]
        model.addCons(order + n * quicksum(selections) <= n - 1)
    model.setMaximize()
    with TemporaryDirectory(dir=temporary_folder()) as folder:
        program = Path(folder) / f"program{suffix_of(path)}"
        model.writeProblem(str(program), verbose=False)
        atomic_write(path, program.read_bytes())


def read_jkl(path: Path) -> Problem:
    """Read candidate parent sets with their scores. See :func:`read_scores`."""
    return _Reader(os.fspath(path), read_lines(path)).problem()


def parse_jkl(text: str, source: str = "score text") -> Problem:
    """Read candidate parent sets from text; errors name ``source``. See :func:`read_scores`.

    Examples
    --------
    >>> problem = parse_jkl("2; a 1; -3.5 0; b 2; -1.0 1 a; -2.5 0".replace("; ", chr(10)))
    >>> dict(problem.candidates(1))
    {(0,): -1.0, (): -2.5}
    """
    return _Reader(source, text.encode()).problem()


def write_jkl(problem: Problem, path: Path) -> None:
    """Write candidate parent sets. See :func:`write_scores`."""
    atomic_write(path, format_jkl(problem))


def format_jkl(problem: Problem) -> str:
    """Return the text that :func:`write_jkl` writes."""
    kept = writable_problem(problem)
    if "" in kept.names:
        raise OptionError(
            "a score file cannot hold a variable without a name; give it one"
        )
    # The first line says so where names are encoded.
    names: Sequence[str] = kept.names
    lines = [str(kept.n_variables)]
    if not all(map(_is_plain, names)):
        names = [quote(name, safe=_KEPT) for name in names]
        lines.insert(0, ENCODED.decode())
    # Each variable has a header, and a line for each candidate.
    parents = [names[parent] for parent in kept.members.tolist()]
    scores = kept.scores.tolist()
    ends = kept.member_first.tolist()
    for name, (first, last) in zip(names, pairwise(kept.first.tolist()), strict=True):
        lines.append(f"{name} {last - first}")
        for candidate in range(first, last):
            family = parents[ends[candidate] : ends[candidate + 1]]
            lines.append(" ".join([repr(scores[candidate]), str(len(family)), *family]))
    return "\n".join(lines) + "\n"


def _is_plain(name: str) -> bool:
    """Return whether a name can stand in a line as it is."""
    text = name.encode()
    return text.split() == [text] and not name.startswith("#") and "\0" not in name


class _Reader:
    """Reads a text line by line.

    Attributes
    ----------
    number, line
        The line that was read last, which is empty at the end.
    codes
        Numbers of the names, in the order in which they are seen first.
    scores, sizes, members
        The scores of all candidates, the numbers of their parents, and the codes of these.
    """

    def __init__(self, source: str, data: bytes) -> None:
        self.source = source
        self.data = data
        self.lines = enumerate(BytesIO(data), 1)
        self.number = 0
        self.line = b""
        self.codes: defaultdict[bytes, int] = defaultdict()
        self.codes.default_factory = self.codes.__len__
        self.scores = array("d")
        self.sizes = array("q")
        self.members = array("q")

    def problem(self) -> Problem:
        """Return the problem that the text describes."""
        n = self._count("the number of variables alone on a line", 0)
        if n == 0:
            raise self._fault("expected at least one variable")
        counts: dict[int, int] = {}  # of candidates, by the codes of the variables
        for variable in range(1, n + 1):
            header = f"the header 'name count' of variable {variable} of {n}"
            count = self._count(header, 1)
            label = self.line.split()[0]
            name = label.decode()
            child = self.codes[label]
            if child in counts:
                raise self._fault(f"variable {name!r} stands here twice; rename one")
            if count == 0:
                raise self._fault(
                    f"variable {name!r} has no candidates; expected at least one, such as the "
                    "empty parent set (or the count above is too small)",
                    1,
                )
            counts[child] = count
            self._read_candidates(name, child, count)
        if self._next():
            raise self._fault(f"expected the end after {n} variables; check the counts")
        return self._assembled(counts)

    def _assembled(self, counts: dict[int, int]) -> Problem:
        """Return the problem of the candidates that were read, their parents in order."""
        # The index of each name among the variables, -1 where it is none.
        labels = [*self.codes]
        index = np.full(len(labels), -1)
        index[[*counts]] = np.arange(len(counts))
        for code in np.flatnonzero(index < 0)[:1].tolist():
            self._refuse_parent(labels[code])
        names = [labels[code].decode() for code in counts]
        if self.data.split(b"\n", 1)[0] == ENCODED:
            names = [*map(unquote, names)]
        # Behind multiples of n, the parents of all candidates are sorted at once.
        offset = np.repeat(np.arange(len(self.sizes)), self.sizes) * len(names)
        members = np.sort(offset + index[np.array(self.members)]) - offset
        try:
            return Problem(
                names=tuple(names),
                first=offsets(np.array([*counts.values()])),
                scores=np.array(self.scores),
                member_first=offsets(np.array(self.sizes)),
                members=members.astype(np.int32),
            )
        except OptionError as error:  # scores whose totals may overflow
            raise FormatError(f"{self.source}: {error}") from error

    def _refuse_parent(self, label: bytes) -> None:
        """Raise the error for a parent that is no variable, where it stands first."""
        self.lines = enumerate(BytesIO(self.data), 1)
        # The text is read again, up to the line that names it.
        fields = self._next()
        while label not in fields[2:]:
            fields = self._next()
        raise self._fault(
            f"parent {label.decode()!r} is not a variable here; expected a name of a header",
            fields.index(label, 2),
        )

    def _next(self) -> list[bytes]:
        """Go to the next line that holds anything; return its fields, none at the end."""
        for self.number, self.line in self.lines:  # noqa: B020
            fields = self.line.split()
            if fields and not fields[0].startswith(b"#"):
                return fields
        self.number += 1
        self.line = b""
        return []

    def _count(self, what: str, at: int) -> int:
        """Go to the next line and return its last field, which must be a whole number."""
        fields = self._next()
        if len(fields) != at + 1:
            raise self._fault(f"expected {what}", min(at, max(0, len(fields) - 1)))
        if not _is_count(fields[at]):
            raise self._fault(f"expected {what}, a whole number", at)
        return int(fields[at])

    def _read_candidates(self, name: str, child: int, count: int) -> None:
        """Read the candidates of a variable."""
        families: set[frozenset[int]] = set()
        for candidate in range(1, count + 1):
            fields = self._next()
            if not fields:
                raise self._fault(
                    f"expected candidate {candidate} of {count} of variable {name!r}"
                )
            # The score, and the number of parents.
            score = _number(fields[0])
            if not isfinite(score):
                raise self._fault(
                    "expected a finite score (or a count above is too large)"
                )
            size = len(fields) - 2
            if size < 0 or not _is_count(fields[1]):
                raise self._fault("expected the number of parents", min(1, size + 1))
            if int(fields[1]) != size:
                raise self._fault(
                    f"expected {int(fields[1])} parents on this line, found {size}", 1
                )
            # The parents: others than the variable, all different, and not given before.
            parents = [self.codes[label] for label in fields[2:]]
            family = frozenset(parents)
            if child in family:
                message = f"variable {name!r} is its own parent; drop this candidate"
                raise self._fault(message, 2 + parents.index(child))
            if len(family) < size:
                raise self._fault("a parent stands here twice; name it once", 2)
            if family in families:
                message = "this parent set stood before for this variable; keep one of the two"
                raise self._fault(message, 2)
            families.add(family)
            self.scores.append(score)
            self.sizes.append(size)
            self.members.extend(parents)

    def _fault(self, message: str, field: int = 0) -> FormatError:
        """Return the error at a field of the line, or at the end of the file."""
        if not self.line:
            return FormatError(
                f"{self.source}, line {self.number}, column 1: {message}, found the end of the "
                "file; is it cut off, or a count too large?"
            )
        # Columns count letters, fields stand in bytes.
        starts = [match.start() for match in re.finditer(rb"\S+", self.line)]
        column = len(self.line[: starts[min(field, len(starts) - 1)]].decode()) + 1
        text = self.line.decode().strip()
        return FormatError(
            f"{self.source}, line {self.number}, column {column}: {message}; found "
            f"{text[:_SHOWN]!r}{'...' if len(text) > _SHOWN else ''}"
        )


def _number(text: bytes) -> float:
    """Return the number that a text writes as the checker of certificates reads it, else NaN."""
    is_number = len(text) <= LONGEST and NUMBER.fullmatch(text.decode())
    return float(text) if is_number else nan


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) <= LONGEST_COUNT


def writable_problem(problem: Problem) -> Problem:
    """Return the candidates that the constraints allow, which is what a score file holds.

    Raises
    ------
    OptionError
        When the problem has constraints on the whole network, or no variables.
    InfeasibleError
        When the constraints leave a variable without candidates, or had it none.
    """
    for constraint in problem.overall_constraints[:1]:
        raise OptionError(
            f"a score file cannot hold the constraint '{constraint.describe(problem.names)}', "
            "which concerns the whole network; write the scores without it, and give it "
            "when solving"
        )
    if not problem.names:
        raise OptionError("a score file needs a variable, but the problem has none")
    # A file without constraints has only the candidates that these allow.
    kept = problem.select(problem.allowed)
    bare = np.flatnonzero(np.diff(kept.first) == 0)
    if len(bare):
        raise InfeasibleError(
            f"variable {problem.names[bare[0]]!r} has no candidate parent set that the constraints "
            "allow; drop one of its constraints, or allow more parents"
        )
    return kept


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate without checking what it proves.

    Raises
    ------
    OptionError
        When the file cannot be read.
    FormatError
        When it is no JSON object with a certificate's keys.
    """
    with expecting(Path(path), CERTIFICATE):
        content = read_json(Path(path))
        is_object = isinstance(content, dict) and sorted(content) == KEYS.split()
        if is_object and content["format"] == FORMAT:
            return Certificate(**content)
        raise FormatError(
            f"{path}: expected a JSON object with the keys {KEYS} and the format {FORMAT!r}"
        )


FORMATS = dict.fromkeys((".jkl", ".scores"), Format(read_jkl, write_jkl))
"""Formats by the suffix of the file."""

PROGRAMS = (".lp", ".mps", ".cip")
"""Suffixes of the integer program for other solvers."""
