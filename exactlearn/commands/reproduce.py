"""``exactlearn reproduce``: the tables of a paper, ours beside the published figures."""

from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import output_options


@click.command("reproduce")
@click.argument("paper", type=click.Choice(["augmentation", "imputers", "pdg"]))
@output_options
@click.option("--tables", metavar="A,B,...", help="Only these tables.")
@click.option("--only", metavar="TEXT", help="Only experiments whose name has this in it.")
@click.option("--methods", metavar="A,B,...", help="Only these methods.")
@click.option(
    "--repetitions",
    type=click.IntRange(1),
    help="Of each experiment.  [default: 100 for augmentation, 10 for imputers, 2 for pdg]",
)
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="EXACTLEARN_DATA",
    help="Folder of the public data, with 'uci' and 'lucas'.  [env: EXACTLEARN_DATA]",
)
@click.option(
    "--starts",
    type=click.IntRange(1),
    help="Of t-local and structural EM.  [default: 10 for augmentation, 1 for imputers]",
)
@click.option("--full", is_flag=True, help="pdg: leave out single rows in table1, not a tenth.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(**options: Any) -> None:
    """Repeat experiments and print our figures beside the published ones.

    augmentation: the tables of Adel and de Campos.

    imputers: six methods by networks and four baselines (the most frequent state and three imputers
    of scikit-learn) on the same hidden cells of ASIA, LUCAS, SPECT, car and votes; the notes below
    the table tell the sets and the settings.

    pdg: decision graphs of logical relations (logic), beside networks and naive Bayes (languages),
    merged from networks (hybrid, synthetic), of two incomplete tables (table1) and of rows of
    random graphs (random).

    -o names a folder; what is done is kept in it, and a later call goes on from there. 'errors off'
    is the distance from the published figure in standard errors of ours; 'ahead' is how far the
    experiment's first method is ahead of the row's on the same tables, with a star where a paired
    t-test at 5 % tells them apart; 'seconds' and 'CPU' are means over the repetitions, the latter
    of all threads together.
    """
    from exactlearn.commands import _reproduce

    _reproduce.run(**options)
