"""Families that no network needs, against comparing each with all subsets of its parents."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.augmentation import FamilyRules
from exactlearn.augmentation.local_search.family_store import FamilyStore
from exactlearn.augmentation.local_search.threshold_query import undominated
from exactlearn.scoring.scores import BDeu
from tests.augmentation_oracle import random_table


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), some=st.booleans())
def test_families_are_dropped_when_some_of_the_parents_score_as_much(seed, some):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    data = random_table(rng, n, 6, 0, 2)
    forbidden = [(0, 1)] if rng.random() < 0.3 else []
    rules = FamilyRules.of(int(rng.integers(0, 4)), (), forbidden)
    store = FamilyStore.of_all(data, np.zeros(0, np.int64), BDeu(), rules)
    if some:
        store = store.select((rng.random(len(store.scores)) < 0.7) | (store.families.parents == 0))
    families = store.families
    sets = [frozenset(own[own >= 0].tolist()) for own in store.sets.members]
    bits = np.array([[sum(1 << v for v in own)] for own in sets], np.uint64)
    scores = rng.integers(0, 4, len(families.child)).astype(float)
    keep = rng.random(len(scores)) < 0.8
    found = undominated(families, bits, scores, keep)
    for f, child in enumerate(families.child):
        others = np.flatnonzero(keep & (families.child == child))
        inside = [g for g in others if sets[families.parents[g]] < sets[families.parents[f]]]
        beaten = max(scores[inside], default=-np.inf) >= scores[f]
        assert found[f] == (keep[f] and not beaten)
