"""The programs and their data, each built like a benchmark of paper 002, whose own data of museums and Wikipedia are not here.

A scale of 1 takes minutes without modules; with a scale of 10 DAG-R has the nodes and edges of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pyarrow.parquet as pq

from benchmarks import data, ontology, rules
from benchmarks.cache import input_directory
from benchmarks.data import Row
from benchmarks.maintenance.states import Tables, named, program, tables


@dataclass(frozen=True)
class Benchmark:
    """A program with its explicit facts, and the row of the paper's tables that it stands beside."""

    published: str
    text: str
    facts: Callable[[float], Tables]


# -- DAG-R and universities --------------------------------------------------------------------------------------------


def _dag(scale: float) -> Tables:
    nodes = int(1_000 * scale)
    return tables({"r": data.graph(nodes, min(10 * nodes, nodes * (nodes - 1) // 4), seed=3, acyclic=True)})


# The transitive property is `subOrganizationOf`. Groups of researchers grow by those with whom their heads' students teach.
_UNIVERSITY_LE = """\
coauthorOf(X, Y) :- publicationAuthor(P, X), publicationAuthor(P, Y).
coauthorOf(Y, X) :- coauthorOf(X, Y).
coauthorOf(X, Z) :- coauthorOf(X, Y), coauthorOf(Y, Z).
sameGroupAs(X, A) :- advisor(X, A).
sameGroupAs(Y, X) :- sameGroupAs(X, Y).
sameGroupAs(X, Z) :- sameGroupAs(X, Y), sameGroupAs(Y, Z).
leads(A, X) :- headOf(A, _), sameGroupAs(A, X).
sameGroupAs(A, T) :- leads(A, X), teachingAssistantOf(X, C), teacherOf(T, C).
"""


def _universities(scale: float) -> Tables:
    """As many universities as the scale says; below 1 the first rows of one."""
    folder = input_directory(f"lubm-{max(1, int(scale))}") / ("full" if scale >= 1 else "sample")
    return {file.stem: pq.read_table(file) for file in sorted(folder.iterdir())}


# -- like Claros-LE ----------------------------------------------------------------------------------------------------

# Related places are cliques, as in Claros; two closures and the ordinary recursion between them share a hyper-node.
_PLACES = """\
fallsWithin(X, Y) :- src_fallsWithin(X, Y).
fallsWithin(X, Z) :- fallsWithin(X, Y), fallsWithin(Y, Z).
relatedPlaces(X, Y) :- src_relatedPlaces(X, Y).
relatedPlaces(Y, X) :- relatedPlaces(X, Y).
relatedPlaces(X, Z) :- relatedPlaces(X, Y), relatedPlaces(Y, Z).
relatedPlaces(X, Y) :- sameName(X, Y), fallsWithin(X, Z), fallsWithin(Y, Z), region(Z).
fallsWithin(X, Z) :- relatedPlaces(X, Y), settlement(X), src_fallsWithin(Y, Z), region(Z).
isComposedOf(X, Y) :- src_isComposedOf(X, Y).
isComposedOf(X, Z) :- isComposedOf(X, Y), isComposedOf(Y, Z).
foundAt(X, P) :- src_foundAt(X, P).
foundAt(X, Q) :- foundAt(X, P), fallsWithin(P, Q).
foundAt(Y, P) :- isComposedOf(X, Y), foundAt(X, P).
Place(X) :- fallsWithin(X, _).
Place(Y) :- fallsWithin(_, Y).
Place(X) :- relatedPlaces(X, _).
Object(X) :- isComposedOf(X, _).
Object(Y) :- isComposedOf(_, Y).
Object(X) :- foundAt(X, _).
"""
_CLIQUE, _REGIONS = 120, 40


def _places(scale: float) -> Tables:
    """Places in a tree whose first ones are regions, cliques of related places by sparse links, and objects with parts."""
    random = Random(17)
    places, objects = int(1_600 * scale), int(6_000 * scale)
    regions = min(_REGIONS, max(1, places // 8))
    within: list[Row] = [(place, random.randrange(max(regions, place // 3))) for place in range(regions, places)]
    related: list[Row] = []
    for first in range(regions, places, _CLIQUE):
        members = range(first + 1, min(first + _CLIQUE, places))
        related += [(place, random.randrange(first, place)) for place in members]
        related += [(random.choice(members), random.choice(members)) for _ in range(len(members) // 2)]
    names = [(random.randrange(regions, places), random.randrange(regions, places)) for _ in range(places // 80)]
    parts = [(whole, places + part) for part in range(1, objects) if (whole := places + random.randrange(part))]
    return tables(
        {
            "src_fallsWithin": within,
            "src_relatedPlaces": sorted(set(related)),
            "sameName": sorted(set(names)),
            "region": [(place,) for place in range(regions)],
            "settlement": [(place,) for place in sorted(random.sample(range(regions, places), places // 50 + 1))],
            "src_isComposedOf": parts,
            "src_foundAt": [(places + one, random.randrange(regions, places)) for one in range(0, objects, 3)],
        }
    )


# -- like DBpedia-SKOS -------------------------------------------------------------------------------------------------

# The rules of the SKOS schema; broaderTransitive and narrowerTransitive are inverse closures of one hyper-node.
_CATEGORIES = """\
broader(X, Y) :- broadMatch(X, Y).
narrower(X, Y) :- narrowMatch(X, Y).
related(X, Y) :- relatedMatch(X, Y).
broader(X, Y) :- narrower(Y, X).
narrower(X, Y) :- broader(Y, X).
related(Y, X) :- related(X, Y).
broadMatch(X, Y) :- narrowMatch(Y, X).
narrowMatch(X, Y) :- broadMatch(Y, X).
relatedMatch(Y, X) :- relatedMatch(X, Y).
broaderTransitive(X, Y) :- broader(X, Y).
narrowerTransitive(X, Y) :- narrower(X, Y).
broaderTransitive(X, Y) :- narrowerTransitive(Y, X).
narrowerTransitive(X, Y) :- broaderTransitive(Y, X).
broaderTransitive(X, Z) :- broaderTransitive(X, Y), broaderTransitive(Y, Z).
narrowerTransitive(X, Z) :- narrowerTransitive(X, Y), narrowerTransitive(Y, Z).
closeMatch(X, Y) :- exactMatch(X, Y).
closeMatch(Y, X) :- closeMatch(X, Y).
exactMatch(Y, X) :- exactMatch(X, Y).
exactMatch(X, Z) :- exactMatch(X, Y), exactMatch(Y, Z).
mappingRelation(X, Y) :- closeMatch(X, Y).
mappingRelation(X, Y) :- broadMatch(X, Y).
mappingRelation(X, Y) :- narrowMatch(X, Y).
mappingRelation(X, Y) :- relatedMatch(X, Y).
semanticRelation(X, Y) :- mappingRelation(X, Y).
semanticRelation(X, Y) :- broaderTransitive(X, Y).
semanticRelation(X, Y) :- narrowerTransitive(X, Y).
semanticRelation(X, Y) :- related(X, Y).
topConceptOf(X, S) :- hasTopConcept(S, X).
hasTopConcept(S, X) :- topConceptOf(X, S).
inScheme(X, S) :- topConceptOf(X, S).
Concept(X) :- semanticRelation(X, _).
Concept(Y) :- semanticRelation(_, Y).
"""


def _categories(scale: float) -> Tables:
    """Categories below near or very broad ones, some of them below their own narrower ones, so that there are cycles."""
    random = Random(23)
    count = int(1_200 * scale)
    broader: set[Row] = set()
    for category in range(1, count):
        for _ in range(random.choice((1, 1, 2, 3))):
            near = max(0, category - 1 - random.randrange(max(1, count // 20)))
            broader.add((category, near if random.random() < 0.8 else random.randrange(max(1, category // 20))))
    for _ in range(max(1, count // 400)):
        category = random.randrange(count // 2)
        broader.add((category, min(count - 1, category + random.randrange(1, max(2, count // 25)))))

    def some(share: int) -> list[Row]:
        return sorted({(random.randrange(count), random.randrange(count)) for _ in range(count // share)})

    matches = some(10)
    return tables(
        {
            "broader": sorted(broader),
            "related": some(4),
            "broadMatch": matches[::10],
            "relatedMatch": some(20),
            "exactMatch": matches,
            "hasTopConcept": [(-1, category) for category in range(1, count, 50)],
        }
    )


BENCHMARKS = {
    "places": Benchmark("Claros-LE", _PLACES, _places),
    "universities": Benchmark("LUBM-LE", ontology.program() + _UNIVERSITY_LE, _universities),
    "categories": Benchmark("DBpedia-SKOS", _CATEGORIES, _categories),
    "dag-r": Benchmark("DAG-R", rules.TRANSITIVE_ITSELF, _dag),
}


def text_of(name: str) -> str:
    return program(named(BENCHMARKS[name].text))
