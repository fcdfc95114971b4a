"""What ``fit`` says of an estimate in closed form: its JSON record, notes and a table."""

from typing import Any

from exactlearn.bayesnet.deletion import DeletionFit
from exactlearn.commands.output import Output

_LARGE_DEFECT = 0.1
"""Defect of the weights of a family that is worth a note."""


def deletion_record(fit: DeletionFit, *, is_complete: bool) -> dict[str, dict[str, Any]]:
    """Return the JSON record of an estimate: keys with a content for each family.

    Parameters
    ----------
    fit
        The estimate.
    is_complete
        Whether the table has no missing cells, so that every family used all rows.
    """
    keys = ("separators", "families", "rows_per_family", "replaced")
    record: dict[str, dict[str, Any]] = {key: {} for key in keys}
    unsupported = {*fit.unsupported}
    for name, family in zip(fit.model.names, fit.families, strict=True):
        if is_complete:
            continue
        record["rows_per_family"][name] = rows = _plain(family.rows)
        if name in unsupported:
            weights = family.weights.items()
            record["replaced"][name] = {k: _plain(w) for k, w in weights if k != fit.method}
        if family.separators is not None:
            record["separators"][name] = list(family.separators)
        if family.recovery is not None:
            decision = family.recovery.to_dict()
            record["families"][name] = {**decision, "rows": rows, "defect": family.defect}
    return {key: content for key, content in record.items() if content}


def _plain(weight: float) -> float:
    """Return a weight, as a whole number where it is one."""
    return int(weight) if weight.is_integer() else weight


def note_support(fit: DeletionFit, smoothing: float | None, output: Output) -> None:
    """Note what rows do not support: families without rows, and weaker estimators.

    Parameters
    ----------
    fit
        The estimate.
    smoothing
        The pseudo-count, ``None`` for the default.
    """
    network, unsupported, partly = fit.model, {*fit.unsupported}, 0
    by_factors = fit.method == "f-mcar" and smoothing != 0
    what = (
        "it is estimated from its parts, and by the smoothing prior where all of it is needed"
        if by_factors
        else "its distributions are the smoothing prior alone, uniform; '--method f-mcar' with "
        "--smoothing above 0 estimates it from its parts"
    )
    for name, parents, family in zip(network.names, network.parents, fit.families, strict=True):
        recovery = family.recovery
        if recovery is not None and not recovery.is_recoverable:
            output.note(
                f"{recovery.formula()}. It was estimated in the rows that observe it, which is "
                "biased where the graph is right; '--method em' with the graph may do better"
            )
        elif family.observed == 0 and family.weights.keys() == {"prior"}:
            cells = ", ".join([name, *(network.names[p] for p in parents)])
            output.note(
                f"No row observes the family of {name!r} ({cells}): {what}, '--method em' "
                "from all observed cells"
            )
        else:
            partly += name in unsupported
    if partly:
        method = "the missingness graph" if fit.method == "graph" else fit.method
        output.note(
            f"{partly} of {len(fit.families)} families have rows that {method} has no "
            "estimate for: a weaker estimator stands in for it, in the column 'replaced'"
        )
    _note_defects(fit, output)


def _note_defects(fit: DeletionFit, output: Output) -> None:
    """Note families whose weights, by the formula of a missingness graph, miss their sum."""
    uneven = {
        name: family.defect
        for name, family in zip(fit.model.names, fit.families, strict=True)
        if family.recovery is not None and family.defect > _LARGE_DEFECT
    }
    if uneven:
        worst = max(uneven, key=lambda name: uneven[name])
        output.note(
            f"{len(uneven)} of {len(fit.families)} families have too few rows for their formulas: "
            f"the weights of {worst!r} miss their sum by {uneven[worst]:.0%}; '--method em' with "
            "the graph uses all rows"
        )
