"""``exactlearn query``: posterior probabilities under a network or a decision graph."""

import click

from exactlearn.commands.options import output_options, pairs
from exactlearn.commands.output import Output, require_suffix
from exactlearn.evaluation.queries import query
from exactlearn.formats.model import read_model
from exactlearn.instances import locate
from exactlearn.report import facts, posterior_table


@click.command("query")
@click.argument("source", metavar="MODEL.bif|MODEL.pdg.json")
@output_options
@click.option(
    "--evidence", "-e", multiple=True, metavar="NAME=STATE", help="An observation; repeatable."
)
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Variable asked for; repeatable.  [default: all without evidence]",
)
def command(
    source: str, output: Output, evidence: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    """Answer the posterior of the targets given the evidence, exactly.

    The model is a file or the name of a bundled network. -o writes the answer as .json.
    """
    require_suffix(output.path, (".json",))
    model = read_model(locate(source, ".bif"))
    answer = query(model, pairs(evidence, "--evidence"), list(targets) or None)
    record = {
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
    }
    output.save(record)
    likelihood = facts(probability_of_evidence=f"{answer.probability_of_evidence:.6g}")
    output.answer(record, posterior_table(answer.posterior), "", likelihood)
