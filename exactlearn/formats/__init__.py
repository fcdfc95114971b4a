"""Reading and writing files: one module a format, one registry for each kind of content.

=========================  ===============================  ======================================
content                    registry, by suffix              modules of the formats
=========================  ===============================  ======================================
network                    :mod:`~.models` ``NETWORKS``     :mod:`~.bif`,  :mod:`~.xmlbif`,
                                                            :mod:`~.net`
decision graph             :mod:`~.models` ``GRAPHS``       :mod:`~.model_json`
naive Bayes model          :mod:`~.models` ``NAIVE_BAYES``  :mod:`~.model_json`
table                      :mod:`~.table` ``FORMATS``       :mod:`~.delimited`,  :mod:`~.parquet`
local scores               :mod:`~.scores` ``FORMATS``      :mod:`~.scores`
graph                      :mod:`~.graph_file` ``FORMATS``  :mod:`~.graph_file`
missingness graph          (one format: text)               :mod:`~.graph_file`
certificate                (one format: JSON)               :mod:`~.scores`
run file                   (one format: TOML)               :mod:`~.run_file`
=========================  ===============================  ======================================

A new format is one module and one entry of its registry.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeGuard, TypeVar

from exactlearn._runtime.files import suffix_of
from exactlearn.errors import OptionError

C = TypeVar("C")


@dataclass(frozen=True)
class Format(Generic[C]):
    """A file format: how its content is read and written.

    Parameters
    ----------
    read
        Returns the content of a file.
    write
        Writes content to a file in one step; ``None`` for a format that is only read.
    normalises
        Whether ``read`` takes the keyword ``normalise``, to divide rows of probabilities by sums.
    """

    read: Callable[..., C]
    write: Callable[[C, Path], None] | None = None
    normalises: bool = False


def format_of(path: Path, formats: Mapping[str, Format[C]], expected: str) -> Format[C]:
    """Return the format of a file's suffix.

    Raises
    ------
    OptionError
        When no format has the suffix; says what was ``expected``.
    """
    suffix = suffix_of(path)
    if suffix not in formats:
        raise OptionError(f"{path}: expected {expected}, found '{suffix}'")
    return formats[suffix]


def writer_of(
    path: Path, formats: Mapping[str, Format[C]], expected: str
) -> Callable[[C, Path], None]:
    """Return the writer of the format of a file's suffix.

    Raises
    ------
    OptionError
        When no format that can be written has the suffix; says what was ``expected``.
    """
    suffix = suffix_of(path)
    writers = {key: file_format.write for key, file_format in formats.items()}
    write = writers.get(suffix)
    if write is None:
        suffixes = ", ".join(key for key, writer in writers.items() if writer)
        raise OptionError(
            f"{path}: expected {expected}, ending in {suffixes}, found '{suffix}'"
        )
    return write


def are_texts(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts, as JSON has it.

    Examples
    --------
    >>> are_texts(["a", "b"]), are_texts("ab")
    (True, False)
    """
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
