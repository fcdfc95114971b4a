"""One object of every public class, for tests that walk over all of them."""

from functools import lru_cache

import numpy as np

import exactlearn as el
from exactlearn.evaluation.bootstrap import ArcStrengths
from exactlearn.imputation.learning import Imputed
from exactlearn.instances import path
from exactlearn.pdg.learn.hybrid import learn_hybrid
from exactlearn.scoring.candidate_search import Budget


@lru_cache(maxsize=1)
def public_objects():
    """Return an object of every public class, by the name of the class, and others by their own."""
    network, table = el.read_network("asia"), el.read_dataset("asia-mnar")
    complete = el.read_dataset("asia-mnar-complete")
    small = el.read_dataset("cancer-mcar").part(slice(12))
    problem = el.candidate_parent_sets(complete, "bdeu", max_parents=2)
    result = el.solve(problem, certify=True)
    augmentation = el.augment(small, "bdeu", max_parents=1)
    em = el.fit_em(table, network.parents)
    graph = el.compile_network(network)
    naive = el.learn_naive_bayes(complete)
    found = [
        *(el.AIC(), el.BIC(), el.BDeu(2.0), el.PenalisedLikelihood(0.5)),
        *(network, table, problem, result, augmentation, em, graph, naive.model),
        el.query(network, {"smoke": "yes"}),
        el.read_blocks(path("asia-mnar-complete.csv")),
        Budget(tables=100),
        result.certificate,
        el.fit_deletion(table, network.parents, method="f-mar"),
        el.choose_ess(complete, time_limit=0.5),
        el.equivalence_search(complete, "bdeu"),
        el.Imputer("posterior", network=network),
        el.Learning(),
        el.MissingnessGraph.parse("lung <- smoke; dysp <- missing(lung)"),
        network.structure,
        el.graphs.cpdag(network.parents),
        el.best_solutions(small, "bdeu", 2, max_parents=1),
        el.choose_smoothing(complete, network.parents),
        el.structural_em(table, "bdeu", max_parents=2),
        el.graphs.compare_structures(network.parents, result.parents),
        el.learn(table, max_parents=1, ess=1.0),
        el.query_rows(network, table, "lung"),
        el.classify(network, table, "lung"),
        el.enumerate_networks(problem, k=3),
        el.learned_counts(table).counts,
        *el.independences(graph),
        learn_hybrid(network, complete, size_weights=[0.1]),
        ArcStrengths.of(network.names, [el.graphs.cpdag(network.parents)]),
        el.posterior(el.read_dataset("cancer-mcar-complete"), max_parents=1),
        el.cross_validate(complete, ["independent"], 2),
        Imputed.of(np.full((len(table.missing_cells), 2), 0.5)),
    ]
    return {type(each).__name__: each for each in found}
