"""Kinds of files, recognised by their content, so that a message names what takes a file.

A reader that fails says in place of a fault in line 1 that the file is of another kind; a reader of
tables asks first, as most texts are tables of some columns. Only the start of a file is looked at.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from exactlearn._runtime.files import binary_kind, opened, suffix_of
from exactlearn.errors import FormatError, OptionError

RUN_FILE = "a run file or a file of constraints"
SCORES = "a file of local scores"
CERTIFICATE = "a certificate"
RECORD = "the record of a command"
JSON = "a file of JSON"
PARQUET = "a Parquet file"
STATES = "the list of the states of a table"

MARKS = (",", "\t", ";", "|")
"""Separators of tables that texts of other kinds do not have alike in each line."""

_HEAD = 2**13
"""Bytes at the start of a file by which its kind is recognised."""

_TABLE_LINES = 4
"""Lines of a table that are compared."""


class Kind(NamedTuple):
    """A kind of file.

    Parameters
    ----------
    name
        What the file is.
    pattern
        What the text of such a file begins with.
    takers
        The commands and functions that read it.
    suffixes
        Suffixes by which it is read, the first one for advice; none where any will do.
    """

    name: str
    pattern: str
    takers: str
    suffixes: tuple[str, ...] = ()


_NETWORK_TAKERS = (
    "'exactlearn query', 'compile', 'fit', 'simulate' and 'convert', and read_network"
)
_MODEL_TAKERS = "'exactlearn query', 'evaluate' and 'convert', and read_model"
_DOWNLOAD = "fetch the file itself, not the page that shows it"
_SAVE = "open it in a program that reads it, and save it as .net, .bif or .xmlbif"
_COMMENTS = r"(?i)(?:\s|//[^\n]*\n|%[^\n]*\n|/\*(?s:.*?)\*/)*+"
_XML = r"(?i)\s*(?:<[?!](?s:.*?))?"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_REMARKS = r"(?:\s|#[^\n]*\n)*"
_ENTRY = r"(?:[\w.-]+[ \t]*=[ \t]*[^\s=][^\n]*|\[\[?[\w.-]+\]\]?[ \t]*)"

_FOREIGN = {
    "a network in XDSL, the format of GeNIe": rf"{_XML}<smile\b",
    "a network in ProbModelXML, the format of OpenMarkov": rf"{_XML}<ProbModelXML\b",
    "a network in XBN, the format of MSBNx": rf"{_XML}<AnalysisNotebook\b",
    "a network in DNE, the format of Netica": rf"{_COMMENTS}bnet\s+\w+\s*\{{",
    "a network in DSC, the format of MSBN": rf"{_COMMENTS}belief\s+network\b",
    "a network in DSL, a former format of GeNIe": rf"{_COMMENTS}net\s+\w+\s*\{{",
    "an object-oriented network of HUGIN": rf"{_COMMENTS}class\s+\w+\s*\{{",
    "a network in UAI, a format without names": r"\s*(?:BAYES|MARKOV)\s+\d+\s",
}
"""Networks in formats that are not read, each with the begin of its text."""

KINDS = (
    Kind(
        "a network in BIF",
        rf"{_COMMENTS}(?:network\b[^\n{{]*|variable\s+[^\s{{]+)\s*\{{",
        _NETWORK_TAKERS,
        (".bif",),
    ),
    Kind(
        "a network in XMLBIF",
        rf"{_XML}<BIF\b",
        _NETWORK_TAKERS,
        (".xmlbif", ".bifxml", ".xml"),
    ),
    Kind(
        "a network in the net language",
        rf"{_COMMENTS}(?:net|(?:discrete\s+)?node\s+\w+)\s*\{{",
        _NETWORK_TAKERS,
        (".net",),
    ),
    *(Kind(name, pattern, _SAVE) for name, pattern in _FOREIGN.items()),
    Kind(
        "a decision graph",
        r'\s*\{\s*"format"\s*:\s*"exactlearn decision graph"',
        _MODEL_TAKERS,
        (".pdg.json",),
    ),
    Kind(
        "a naive Bayes model",
        r'\s*\{\s*"format"\s*:\s*"exactlearn naive Bayes"',
        _MODEL_TAKERS,
        (".nb.json",),
    ),
    Kind(
        STATES,
        r'\s*\{\s*"format"\s*:\s*"exactlearn states"',
        "read_dataset, with the table of the same name without .states.json",
    ),
    Kind(
        CERTIFICATE,
        r'\s*\{\s*"bound"\s*:\s*"[^"]*",\s*"clusters"',
        "'exactlearn verify'",
    ),
    Kind(
        RECORD,
        r'\s*\{\s*"(?:status|made_by|posterior|effective_size|log_likelihood)"\s*:',
        "'exactlearn report' and 'run', and if it has 'parents' also with 'graph'",
        (".json",),
    ),
    Kind(
        "a graph",
        r'\s*\{\s*"(?:kind|variables|arcs|edges|parents)"\s*:',
        "'exactlearn graph' and read_graph",
        (".json",),
    ),
    Kind(
        JSON,
        r'\s*(?:\{\s*["}]|\[\s*[\[{])',
        "'exactlearn report' if it is a record, and with 'graph' if it is a graph",
        (".json", ".pdg.json", ".nb.json"),
    ),
    Kind(
        "a web page", r"(?i)\s*<(?:!doctype\s+html|html|head|body|table)\b", _DOWNLOAD
    ),
    Kind(
        "a file of XML",
        r"\s*<\?xml\b",
        "write it in one of the formats of docs/files.md",
    ),
    Kind(
        RUN_FILE,
        rf"{_REMARKS}{_ENTRY}\n{_REMARKS}{_ENTRY}",
        "'exactlearn run', and --constraints",
    ),
    Kind(
        SCORES,
        rf"(?:\s|#[^\n]*\n)*\d+\s*\n\s*\S+ +\d+\s*\n\s*{_NUMBER} +\d+(?: +\S+)*\s*\n",
        "'exactlearn solve' and 'convert', and read_scores",
        (".jkl", ".scores"),
    ),
)
"""Kinds of text in the order in which they are tried."""

TABLE = Kind(
    "a table",
    "",
    "'exactlearn solve', 'augment', 'compare' and 'impute', and read_dataset",
)
"""What a text of no other kind is taken for whose first lines have as many fields each."""


def kind_of(head: bytes) -> Kind | None:
    """Return the kind of a file by its first bytes, unpacked; nothing where it is none of these.

    Examples
    --------
    >>> kind_of(b"network asia {").name, kind_of(b"a,b; 1,2".replace(b"; ", bytes([10]))).name
    ('a network in BIF', 'a table')
    """
    if binary := binary_kind(head):
        name, advice = binary
        return Kind(name, "", advice)
    # A text of a known kind.
    text = head[:_HEAD].decode("utf-8-sig", errors="replace").replace("\r", "\n")
    for kind in KINDS:
        if re.match(kind.pattern, text):
            return kind
    # A table: each of the first lines has the same mark as often.
    lines = [line for line in text.splitlines()[:_TABLE_LINES] if line.strip()]
    if len(lines) > 1:
        for mark in MARKS:
            counts = {line.count(mark) for line in lines}
            if len(counts) == 1 and 0 not in counts:
                return TABLE
    return None


def kind_of_file(path: Path) -> Kind | None:
    """Return the kind of a file, unpacked from gzip; nothing where it is none, or not readable."""
    try:
        if not path.is_file():  # a pipe is read once only
            return None
        with opened(path) as content:
            return kind_of(content.read1(_HEAD))
    except (OSError, FormatError, OptionError):
        return None


def refusal(path: Path, expected: str, kind: Kind) -> FormatError:
    """Return the error for a file of another kind than expected."""
    # The commands that read it, or another way out.
    advice = kind.takers
    if advice.startswith(("'", "-")):
        advice = f"read it with {advice}"
        if kind.suffixes and suffix_of(path) not in kind.suffixes:
            advice += f", and let its name end in {kind.suffixes[0]}"
    return FormatError(f"{path}: expected {expected}, found {kind.name}; {advice}")


def require_table(path: Path, head: bytes) -> None:
    """Refuse the text of another kind than a table.

    Raises
    ------
    FormatError
        When the content is that of another kind.
    """
    kind = kind_of(head)
    if kind is not None and kind is not TABLE:
        raise refusal(path, TABLE.name, kind)


def require_kind(path: Path, expected: str) -> None:
    """Refuse a file that is of another kind than expected, if of any.

    Raises
    ------
    FormatError
        When the content is that of another kind.
    """
    kind = kind_of_file(path)
    if kind is not None and kind.name != expected:
        raise refusal(path, expected, kind)


@contextmanager
def expecting(
    path: Path, expected: str, suffixes: Collection[str] = ()
) -> Iterator[None]:
    """Name the kind of a file that a reader refuses where it is another than the reader's.

    Parameters
    ----------
    path
        The file.
    expected
        What the reader takes: the name of a kind, or a description of several.
    suffixes
        Suffixes that the reader takes: of a file of such a kind and suffix it says more itself.

    Raises
    ------
    FormatError
        In place of the reader's error, where the content is of another kind.
    """
    try:
        yield
    except (FormatError, OptionError) as error:
        kind = kind_of_file(path)
        if kind is None or kind.name == expected:
            raise
        # The reader says more of a file of its own suffix, and of JSON with other keys.
        suffix = suffix_of(path)
        is_own_suffix = suffix in kind.suffixes and suffix in suffixes
        if is_own_suffix or (kind.name == JSON and expected in (CERTIFICATE, RECORD)):
            raise
        raise refusal(path, expected, kind) from error
