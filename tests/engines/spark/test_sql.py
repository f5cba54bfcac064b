"""Rules as SQL: what the views give is what the engine derives, and no program text can get out of its quotes."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from corollary.engines.spark.algebra.sql import SqlViews
from corollary.engines.spark.algebra.sql_text import NoSql, SqlNames, constant, identifier
from corollary.language import parse_program
from corollary.planning import normalise
from corollary.program import Iri, Program, Structure, Value
from tests.engines.spark.derived import derived
from tests.oracle import Fact

NASTY = [
    "'); DROP TABLE x; --",
    "\\",
    "\\'",
    "${spark.app.name}",
    "a`b",
    "a\nb",
    "日本",
    '"',
    "--",
    "/*",
    "",
    "%s",
    "it's",
]

PROGRAMS = {
    "joins": """
        e(1, 2). e(2, 3). e(3, 1). e(4, 4). n(1, "one"). n(2, "it's"). n(3, "${spark.app.name}").
        j(X, Z) :- e(X, Y), e(Y, Z), X != Z. l(X) :- e(X, X). c(Y, 7) :- e(2, Y). t(N) :- e(X, Y), n(Y, N), X < Y.
        q(X) :- n(X, "it's"). u(X) :- n(X, "${spark.app.name}"). v(X, Y) :- e(X, X), n(Y, _). w("a\\nb", X) :- e(X, X).""",
    "recursion": """
        e(1, 2). e(2, 3). e(3, 1). e(4, 5). p(9, 9).
        p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z). sg(X, Y) :- e(A, X), e(A, Y). sg(X, Y) :- e(A, X), sg(A, B), e(B, Y).""",
    "negation": """
        e(1, 2). e(2, 3). e(3, 1). e(4, 4). n(1, "a"). n(2, "b"). z(1).
        a(X) :- e(X, Y), not e(Y, X). b(X) :- e(X, _), not n(X, _). c(X) :- e(X, _), not n(X, "a"), not e(Z, Z).
        d(X) :- e(X, _), not e(X, X). f(X) :- e(X, _), not n(7, Y). g(X) :- e(X, _), not e(X + 1, _).
        h(X) :- e(X, _), not X < 3. i(X) :- e(X, _), not e(10 div (X - 2), _). k(1) :- not z(2). l(1) :- not z(1).""",
    "computations": """
        e(1, 2). e(2, 3). e(3, 1). e(4, 4). n("Ab"). n("c").
        a(X, X + Y * 2) :- e(X, Y). b(X % 2, X div 2) :- e(X, _). c(concat(A, "!"), length(A)) :- n(A).
        d(X) :- e(X, Y), Y = X + 1. f(Z) :- e(X, Y), BIND(X - Y AS Z), Z > 0.
        g(-X, abs(-X)) :- e(X, _). h(X) :- X = 3. i(10 div (X - 1)) :- e(X, _).
        k(upper(A), lower(A)) :- n(A). l(X / 2) :- e(X, _). m(Y) :- e(X, _), Y = X, not e(Y, Y).""",
    "aggregates": """
        e(1, 2). e(1, 3). e(2, 2). e(3, 1). k(1, 5). k(2, 5). k(3, 8).
        a(X, count(Y)) :- e(X, Y). b(sum(Y), min(Y), max(Y)) :- e(X, Y). c(count(X)) :- e(X, 99). d(count(distinct V)) :- k(_, V).
        f(avg(V), median(V)) :- k(X, V). g(X, N) :- k(X, N0), AGGREGATE(e(A, B)) ON A WITH COUNT(B) AS N, A = X.
        h(sum(V)) :- k(X, V), not e(X, X). i(X, sum(Y + 1)) :- e(X, Y).""",
    "names that differ in case only": """
        P(1). p(2). Q(X) :- P(X). q(X) :- p(X). <http://example.org/a#b>(X) :- P(X). both(X, Y) :- P(X), p(Y), Q(X), q(Y).""",
    "no arguments": "go(). e(1). a(X) :- go(), e(X). b() :- e(1). c() :- e(2). d(X) :- e(X), not c(). f(X) :- e(X), not b().",
}  # fmt: skip


def rows_of(facts: set[Fact]) -> set[tuple[Value, ...]]:
    return {tuple(float(one.value) if isinstance(one.value, Decimal) else one.value for one in fact) for fact in facts}


def show(spark: SparkSession, name: str, rows: set[tuple[Value, ...]], arity: int) -> None:
    """A view as `kb.view` gives it: decoded values in the columns a1, a2 …"""
    columns = list(zip(*rows, strict=True)) or [(0,)] * arity
    kinds = [
        "string" if isinstance(c[0], str) else "bigint" if all(type(v) is int for v in c) else "double" for c in columns
    ]
    schema = ", ".join(f"a{place} {kind}" for place, kind in enumerate(kinds, 1)) or "a0 int"
    data = [
        tuple(float(v) if kind == "double" else v for v, kind in zip(row, kinds, strict=True)) or (0,) for row in rows
    ]
    spark.createDataFrame(data, schema).createOrReplaceTempView(identifier(name))


def explicit(program: Program) -> dict[str, set[tuple[Value, ...]]]:
    found: dict[str, set[tuple[Value, ...]]] = {}
    for block in program.facts:
        found.setdefault(block.predicate, set()).update(tuple(row) for row in block.rows)
    return found


@pytest.mark.spark
@pytest.mark.parametrize("title", PROGRAMS)
def test_views_give_what_the_engine_derives(spark: SparkSession, title: str) -> None:
    program = parse_program(PROGRAMS[title])
    answers = derived(spark, program)
    sql = SqlViews()
    views = sql.views(normalise(rule) for rule in program.rules)
    arities = {atom.predicate: atom.arity for rule in program.rules for atom in [rule.head]}
    arities |= {block.predicate: len(block.rows[0]) for block in program.facts}
    try:
        for predicate, name in sql.names.items():
            show(spark, name, rows_of(answers.get(predicate, set())), arities.get(predicate, 1))
        given: dict[str, set[tuple[Value, ...]]] = {name: set(rows) for name, rows in explicit(program).items()}
        for view in views:
            assert view.text is not None, view.missing
            spark.sql(view.text)
            found = [tuple(row) for row in spark.table(identifier(view.name)).collect()]
            assert len(found) == len(set(found))
            without = [() for _ in found] if arities[view.predicate] == 0 else found
            given.setdefault(view.predicate, set()).update(
                tuple(float(one) if isinstance(one, Decimal) else one for one in row) for row in without
            )
        assert {name: rows for name, rows in given.items() if rows} == {
            name: rows_of(facts) for name, facts in answers.items()
        }
    finally:
        for name in [*sql.names.values(), *(view.name for view in views)]:
            spark.catalog.dropTempView(identifier(name))


@pytest.mark.spark
def test_constants_mean_the_same_in_sql(spark: SparkSession) -> None:
    values: list[Value] = [*NASTY, 0, -5, 2**63 - 1, -(2**63), 2**70, 1.5, 1e300, True, False]
    row = spark.sql("SELECT " + ", ".join(f"{constant(value)} AS c{k}" for k, value in enumerate(values))).collect()[0]
    assert [int(one) if isinstance(one, Decimal) else one for one in row] == values
    (found,) = spark.sql(f"SELECT {constant(Decimal('-0.0125'))}").collect()[0]
    assert found == Decimal("-0.0125")


def test_no_text_of_a_program_leaves_its_quotes() -> None:
    for text in NASTY:
        assert re.fullmatch(r"'[^'\\$`]*'|decode\(X'[0-9a-f]*', 'UTF-8'\)", constant(text))
        assert re.fullmatch(r"`([^`]|``)*`", identifier(text))
    assert constant(Iri("http://example.org/'x")).startswith("decode(X'")
    with pytest.raises(NoSql):
        constant(Structure("f", (1,)))


def test_names_differ_in_more_than_case() -> None:
    names = SqlNames()
    assert [names("p"), names("P"), names("p"), names("${x}"), names("")] == ["p", "P_2", "p_3", "$ {x}", "_"]


def test_a_rule_without_counterpart_says_what_is_missing() -> None:
    program = parse_program("q(1). p(f(X)) :- q(X). r(X) :- q(X).")
    views = SqlViews().views(normalise(rule) for rule in program.rules)
    assert [view.text is None for view in views] == [True, False]
    assert views[0].missing == "structures and lists"


def test_the_view_of_a_recursive_rule_reads_what_its_predicate_has() -> None:
    program = parse_program("p(X, Z) :- e(X, Y), p(Y, Z), X != Z.")
    (view,) = SqlViews().views(normalise(rule) for rule in program.rules)
    assert view.text == (
        "CREATE OR REPLACE TEMPORARY VIEW `rule r1` AS\n"
        "SELECT DISTINCT t1.a1 AS a1, t2.a2 AS a2\n"
        "FROM `e` AS t1\n"
        "CROSS JOIN `p` AS t2\n"
        "WHERE t2.a1 = t1.a2\n"
        "  AND t1.a1 <> t2.a2"
    )
