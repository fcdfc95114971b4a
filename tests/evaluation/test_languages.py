"""Sequences of models of each language."""

import numpy as np
import pytest

from exactlearn.data.missingness import hide
from exactlearn.evaluation.languages import LANGUAGES, size_weights
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.reproduce.generators import random_model


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_give_sequences(language):
    train = random_model("Rnd5", 0).drawn(400, np.random.default_rng(0))
    models = list(LANGUAGES[language](train, size_weights(400), 0))
    likelihoods = [log_likelihoods(found.model, train).mean() for found in models]
    assert max(likelihoods) > likelihoods[0]
    assert models[-1].effective_size >= models[0].effective_size
    assert all(found.seconds >= 0 for found in models)


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_take_missing_cells(language):
    rng = np.random.default_rng(1)
    train = hide(random_model("Rnd5", 0).drawn(120, rng), "mcar:0.1", rng)
    for found in LANGUAGES[language](train, [0.8, 0.6], 0):
        assert np.isfinite(log_likelihoods(found.model, train)).all()
