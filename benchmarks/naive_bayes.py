"""Naive Bayes with a latent component: how it grows, and an iteration of EM beside dense matrices.

    python -m benchmarks.naive_bayes [--data-dir FOLDER] [--components N] [NAME]

The folder, or the environment variable EXACTLEARN_DATA, holds ``uci/*``; NAME is a table of THESIS,
Table 5.5, such as Adult. Printed are, for each number of components, the CPU seconds since the
start, the log-likelihood per row of the rows learnt from and of others, the CPU seconds of an
E-step, and by how much it is faster than products of one-hot rows and logarithms of parameters.
"""

from pathlib import Path
from time import process_time

import click
import numpy as np
from scipy.special import logsumexp

from benchmarks.measuring import least_seconds, machine
from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.bayesnet.naive_bayes import SMOOTHING, ComponentEM, NaiveBayes
from experiments.sources import thesis_split


def dense_counts(model: NaiveBayes, problem: ComponentEM) -> np.ndarray:
    """Return the expected counts by dense matrices, rows x components."""
    cells = np.hstack(
        [
            problem.codes[:, [v]] == np.arange(len(s))
            for v, s in enumerate(problem.states)
        ]
    ).astype(np.float64)
    joint = cells @ np.log(model.parameters) + np.log(model.prior)
    shares = (
        np.exp(joint - logsumexp(joint, axis=1)[:, None]) * problem.weights[:, None]
    )
    return np.vstack((shares.sum(axis=0), cells.T @ shares))


@click.command(help=__doc__)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="EXACTLEARN_DATA",
    required=True,
)
@click.option("--components", default=1000)
@click.argument("name", default="Adult")
def main(data_dir: Path, components: int, name: str) -> None:
    """Print a table."""
    split = thesis_split(name, str(data_dir), 0)
    problem, seconds = ComponentEM(split.train, SMOOTHING), 0.0
    print(machine(), end="\n\n")
    print(
        "| components | CPU s | per row | unseen, per row | E-step, CPU s | dense, ratio |"
    )
    print("|" + "---|" * 6)
    begun = process_time()
    for model in naive_bayes_models(split.train, components=components):
        seconds += process_time() - begun
        start = model.table.ravel()
        counts = problem.table(problem.e_step(0, start).counts)
        assert np.allclose(counts, dense_counts(model, problem))
        step = least_seconds(
            lambda start=start: problem.e_step(0, start), 2, process_time
        )
        dense = least_seconds(lambda m=model: dense_counts(m, problem), 1, process_time)
        own, unseen = (
            t.total(model.log_likelihood_rows(t)) / t.n_rows
            for t in (split.train, split.test)
        )
        print(
            f"| {model.n_components} | {seconds:.1f} | {own:.4f} | {unseen:.4f} | {step:.4f} |"
            f" {dense / step:.1f} |",
            flush=True,
        )
        begun = process_time()


if __name__ == "__main__":
    main()
