"""``exactlearn learn-nb``: a naive Bayes model with a latent component learnt from a table."""

from dataclasses import asdict, replace
from time import monotonic
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.component_growth import GROWTH, ComponentRow, learn_naive_bayes
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import LearnNb
from exactlearn.commands.output import Output, require_suffix, write_json
from exactlearn.commands.pipeline import load, load_for
from exactlearn.commands.progress import Checkpoint
from exactlearn.errors import OptionError
from exactlearn.formats.models import NAIVE_BAYES, write_model
from exactlearn.reporting.description import number


def run(options: LearnNb, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (*NAIVE_BAYES, ".json"))
    if options.components is not None and options.validation is not None:
        raise OptionError("--validation chooses the number of components: leave out --components")
    begun = monotonic()
    dataset = load(options.source, options)
    validation = None
    if options.validation is not None:
        validation = load_for(options.validation, options, dataset)
    control = SearchControl(options.time_limit)
    models: list[dict[str, Any]] = []

    def record(place: int, finished: bool) -> dict[str, Any]:
        status = "heuristic" if finished else control.status
        own = {"seconds": monotonic() - begun, "finished": finished, "models": models}
        return {"status": status, **models[place], "bound": None, "gap": None, **own}

    def write(model: NaiveBayes, found: dict[str, Any]) -> None:
        assert output.path is not None
        if suffix_of(output.path) in NAIVE_BAYES:
            write_model(model, output.path)
        else:
            write_json(found, output.path)

    with control.running(), output.progress_display("learning (nb)") as display:
        checkpoint = Checkpoint(display.warn)

        def on_model(model: NaiveBayes, row: ComponentRow, is_best: bool) -> None:
            models.append({k: v for k, v in asdict(row).items() if v is not None})
            display.show(f"{row.components} components  score {number(row.score)}")
            if output.path is not None and is_best:
                found = record(len(models) - 1, finished=False)
                checkpoint.keep(len(models), lambda: write(model, found))

        found = learn_naive_bayes(
            dataset,
            components=options.components,
            size_weight=options.size_weight,
            validation=validation,
            smoothing=None if options.smoothing == "cv" else options.smoothing,
            seed=options.seed,
            parameters=replace(GROWTH, most_components=options.most_components),
            on_model=on_model,
        )
    answer = record(found.best, finished=found.is_complete)
    answer["log_likelihood_per_row"] = answer["log_likelihood"] / dataset.row_weights.sum()
    answer |= {"size_weight": found.size_weight, "smoothing": found.smoothing}
    if output.path is not None:
        write(found.model, answer)
        output.wrote(output.path)
    return Answer(record=answer, status="done" if found.is_complete else control.status)
