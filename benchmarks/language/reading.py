"""How fast program text is read: bulk facts of every kind of constant, and rules."""

from __future__ import annotations

from benchmarks.throughput import Work, task
from corollary.diagnostics import Source
from corollary.language import parse_program
from corollary.program import Program

MANY = 1_000_000
SOME = 50_000
WITHIN_A_SECOND = float(SOME)


def _reading(text: str, items: int) -> tuple[int, Work]:
    def read() -> Program:
        return parse_program(Source(text))

    program = read()
    found = len(program.rules) or sum(len(facts.rows) for facts in program.facts)
    assert found == items, f"{found} of {items} were read"
    return items, read


@task("language", "integers", target=400_000)
def integers() -> tuple[int, Work]:
    return _reading("".join(f"edge({k}, {k * 7919 % MANY}).\n" for k in range(MANY)), MANY)


@task("language", "strings", target=WITHIN_A_SECOND)
def strings() -> tuple[int, Work]:
    return _reading("".join(f'name(p{k}, "Person {k}", city_{k % 100}).\n' for k in range(SOME)), SOME)


@task("language", "IRIs", target=WITHIN_A_SECOND)
def iris() -> tuple[int, Work]:
    prefix = "@prefix ex: <http://example.org/> .\n"
    facts = (f"triple(ex:s{k}, <http://example.org/p{k % 20}>, <http://example.org/o{k}>).\n" for k in range(SOME))
    return _reading(prefix + "".join(facts), SOME)


@task("language", "mixed with comments", target=WITHIN_A_SECOND)
def mixed() -> tuple[int, Work]:
    kinds = (
        "edge({k}, {k}).  // from the map\n",
        "# a sensor\ntemperature(t{k}, {k}.5).\n",
        "label(t{k}, 'turbine {k}') .\n",
        "/* checked */ ok(t{k}, true).\n",
    )
    return _reading("".join(kinds[k % len(kinds)].format(k=k) for k in range(SOME)), SOME)


@task("language", "typed literals", target=WITHIN_A_SECOND)
def typed_literals() -> tuple[int, Work]:
    return _reading(
        "".join(
            f'seen(s{k}, "2026-01-{k % 28 + 1:02}T10:{k % 60:02}:00"^^xsd:dateTime, "{k}"^^xsd:int).\n'
            for k in range(SOME)
        ),
        SOME,
    )


@task("language", "function terms, lists", target=WITHIN_A_SECOND)
def constructed() -> tuple[int, Work]:
    return _reading("".join(f"shape(s{k}, point({k}, {k}), [a, {k}, f(b)]).\n" for k in range(SOME)), SOME)


@task("language", "rules", unit="rules")
def rules() -> tuple[int, Work]:
    count = 5_000
    text = "".join(
        f"p{k}(X, Z) :- p{k // 2}(X, Y), q{k}(Y, Z, {k}), not r(X, _), Y != Z, D = Y - Z, D > {k}.\n"
        for k in range(count)
    )
    return _reading(text, count)
