"""Certificates of an optimum as JSON files."""

import os
from pathlib import Path

from exactlearn._runtime.files import read_json
from exactlearn.errors import FormatError
from exactlearn.solvers.certificates.certificate import FORMAT, Certificate
from exactlearn.solvers.certificates.checker import KEYS


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate without checking what it proves.

    Raises
    ------
    OptionError
        When the file cannot be read.
    FormatError
        When it is no JSON object with a certificate's keys.
    """
    content = read_json(Path(path))
    if (
        isinstance(content, dict)
        and sorted(content) == KEYS.split()
        and content["format"] == FORMAT
    ):
        return Certificate(**content)
    raise FormatError(
        f"{path}: expected a JSON object with the keys {KEYS} and the format {FORMAT!r}"
    )
