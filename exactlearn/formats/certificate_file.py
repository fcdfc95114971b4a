"""Files of certificates, which prove the optimum of a parent-set selection."""

import json
import os
from pathlib import Path

from exactlearn._runtime.text_file import read_text
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
    text = read_text(Path(path))
    try:
        content = json.loads(text)
        if sorted(content) == KEYS.split() and content["format"] == FORMAT:
            return Certificate(**content)
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: expected a certificate, a JSON object: {error}") from error
    raise FormatError(
        f"{path}: expected a JSON object with the keys {KEYS} and the format {FORMAT!r}"
    )
