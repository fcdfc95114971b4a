"""``exactlearn verify``: check the proof of an optimum, with exact numbers."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

from exactlearn._runtime.files import read_text
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Verify
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import CheckError, FormatError
from exactlearn.formats.certificate_file import read_certificate
from exactlearn.solvers.certificates.certificate import Certificate
from exactlearn.solvers.certificates.checker import Unproven, verify


def run(options: Verify, output: Output) -> Answer:
    """Run the command."""
    certificate, scores = options.certificate, options.scores
    require_suffix(output.path, (".json",))
    claim, text = read_certificate(certificate), read_text(scores)
    try:
        verify(read_text(certificate), text)
    except Unproven as error:
        failed = CheckError(f"{certificate} proves nothing about {scores}: {error}")
        found = {"valid": False, "bound": None, "reason": str(error)}
        output.save(found)
        return Answer(record=found, shown="", failure=failed)
    except ValueError as error:
        raise FormatError(f"{certificate} with {scores}: {error}") from error
    record = _record(claim)
    output.save(record)
    return Answer(record=record, shown=_shown(claim, record))


def _record(claim: Certificate) -> dict[str, Any]:
    kinds = Counter(node[0] for node in claim.tree)
    return {
        "valid": True,
        "bound": float(claim.bound),
        "score": float(claim.score),
        "gap": float(claim.gap) or (0.0 if Fraction(claim.gap) == 0 else math.ulp(0.0)),
        "leaves": kinds["leaf"],
        "clusters": len(claim.clusters),
        "restrictions": claim.described_restrictions(),
    }


def _shown(claim: Certificate, record: dict[str, Any]) -> dict[str, Any]:
    optimal = Fraction(claim.gap) == 0
    verdict = "no network scores more than the one given" if optimal else "the bound holds"
    given = record["restrictions"]
    among = f", among those with: {', '.join(given)}" if given else ""
    numbers = {key: f"{record[key]:.10g}" for key in ("score", "bound", "gap")}
    shown = {key: record[key] for key in ("leaves", "clusters")}
    return {"statements": [f"Proven: {verdict}{among}."], **numbers, **shown}
