"""Lines of text: whole columns take a short cut, which must not show."""

from corollary import Iri
from corollary.engines.embedded.values.universe import Universe
from corollary.io.formats import JSON, NTRIPLES
from corollary.io.json_lines import json_text
from corollary.io.rdf import ntriples_term


def test_columns_are_quoted_as_their_cells_are() -> None:
    json_lines = JSON.lines(["a"], target="x", predicate=None)
    triples = NTRIPLES.lines(["a", "b", "c"], target="x", predicate=None)
    for character in map(chr, [*range(0x300), 0x2028, 0x1F389]):
        text, iri = f"a{character}b", Iri(f"urn:a{character}b")
        universe = Universe()
        texts, iris, subjects = (universe.encode_values([value]) for value in (text, iri, Iri("urn:s")))
        assert json_lines.of(universe, [texts], 1).to_pylist() == [f"[{json_text(text)}]"]
        assert json_lines.of(universe, [iris], 1).to_pylist() == [f"[{json_text(iri)}]"]
        line = triples.of(universe, [subjects, subjects, texts], 1).to_pylist()
        assert line == [f"<urn:s> <urn:s> {ntriples_term(text)} ."]
