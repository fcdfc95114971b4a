"""``exactlearn verify``: check the proof of an optimum, with exact numbers."""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from exactlearn._runtime.files import read_text
from exactlearn.commands.options import output_options
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import CheckError, FormatError
from exactlearn.formats.json_file import read_certificate
from exactlearn.formats.scores import score_text
from exactlearn.reporting.report import facts
from exactlearn.solvers.certificates.certificate import Certificate
from exactlearn.solvers.certificates.checker import Unproven, verify


@click.command("verify")
@click.argument("certificate", type=click.Path(path_type=Path))
@click.argument("scores", type=click.Path(path_type=Path))
@output_options
def command(certificate: Path, scores: Path, output: Output) -> None:
    """Check that no network scores more than a certificate claims.

    CERTIFICATE is what 'solve --certificate' wrote, SCORES the file of local scores it is about
    (.jkl, .scores, .txt or .parquet). -o writes the answer as .json.

    Exit status: 0 when the claim is proven, 5 when it is not, 2 when a file cannot be read.
    """
    require_suffix(output.path, (".json",))
    told, text = read_certificate(certificate), score_text(scores)
    try:
        verify(read_text(certificate), text)
    except Unproven as error:
        output.answer({"valid": False, "bound": None, "reason": str(error)})
        raise CheckError(f"{certificate} proves nothing about {scores}: {error}") from error
    except ValueError as error:
        raise FormatError(f"{certificate} with {scores}: {error}") from error
    record = _record(told)
    output.save(record)
    output.answer(record, *_sentences(told, record))


def _record(told: Certificate) -> dict[str, Any]:
    kinds = Counter(node[0] for node in told.tree)
    return {
        "valid": True,
        "bound": float(told.bound),
        "score": float(told.score),
        "gap": float(told.gap) or (0.0 if Fraction(told.gap) == 0 else math.ulp(0.0)),
        "leaves": kinds["leaf"],
        "clusters": len(told.clusters),
        "restrictions": told.restrictions_told(),
    }


def _sentences(told: Certificate, record: dict[str, Any]) -> list[Any]:
    """Return the verdict and its facts; exact numbers as they stand in the certificate."""
    optimal = Fraction(told.gap) == 0
    verdict = "no network scores more than the one given" if optimal else "the bound holds"
    given = record["restrictions"]
    if given:
        verdict += f", among those with: {', '.join(given)}"
    return [
        f"Proven: {verdict}.",
        facts(
            score=told.score,
            bound=told.bound,
            gap=told.gap,
            leaves=str(record["leaves"]),
            clusters=str(record["clusters"]),
        ),
    ]
