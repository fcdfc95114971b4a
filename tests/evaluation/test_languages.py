"""Sequences of models of each language."""

import numpy as np
import pytest

from exactlearn.evaluation.languages import LANGUAGES, lambdas
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.reproduce.generators import random_model


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_give_sequences(language):
    train = random_model("Rnd5", 0).drawn(400, np.random.default_rng(0))
    models = list(LANGUAGES[language](train, lambdas(400), 0))
    likelihoods = [log_likelihoods(found.model, train).mean() for found in models]
    assert max(likelihoods) > likelihoods[0]
    assert models[-1].effective_size >= models[0].effective_size
    assert all(found.seconds >= 0 for found in models)
