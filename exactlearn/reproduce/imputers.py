"""All imputers on the same hidden cells: five tables, three mechanisms, three shares.

Beside what the papers compare. The method under test is ``averaged``: the mean posterior over
networks that structural EM learns from bootstrap samples of the rows. It was chosen before, not
cell by cell.
"""

from exactlearn.imputation.learning import Learning
from exactlearn.reproduce.experiment import Experiment, Paper
from exactlearn.reproduce.sources import Source, car, draw_of, lucas, sampled, spect, spread, votes

SOURCES: dict[str, Source] = {
    "ASIA": sampled("asia"),
    "LUCAS": lucas,
    "SPECT": spect,
    "car": car,
    "votes": votes,
}
"""The tables; of ASIA 100 rows are drawn for each repetition."""

OURS = ("averaged", "posterior", "structural-em", "structural-em-hard", "t-local")
"""Methods by networks, the one under test first."""

BASELINES = ("mode", "knn", "iterative", "forest")
"""What they are compared with."""


def imputers() -> Paper:
    """Return the comparison of all imputers."""
    found = [
        Experiment(
            table=name,
            name=f"{mechanism.upper()} {100 * share:g} %",
            draw=draw_of(source, spread(f"{mechanism}:{share:g}")),
            methods=(*OURS, *BASELINES),
        )
        for name, source in SOURCES.items()
        for mechanism in ("mcar", "mar", "mnar")
        for share in (0.05, 0.1, 0.2)
    ]
    return Paper(
        experiments=tuple(found),
        repetitions=10,
        learning=Learning(learner="structural-em", starts=1),
    )
