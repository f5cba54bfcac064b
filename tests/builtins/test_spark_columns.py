"""Built-ins as column expressions on Spark: where they say that they are exact, they give what the oracle gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from corollary.engines.spark.algebra.column_steps import Step, Steps, exact_sql
from corollary.engines.spark.algebra.column_terms import Known, NotAColumnError
from corollary.engines.spark.algebra.profiles import ANYTHING, classes_of
from corollary.engines.spark.terms.ids import NO_COLLISIONS, ids_of
from corollary.language import parse_program, print_value
from corollary.planning import normalise
from corollary.planning.algebra import Extend, Filter, algebra_of
from corollary.program import Constant, Value
from tests.builtins.values import POOL
from tests.oracle import evaluate
from tests.services.spark_session import shared_session

pytestmark = [pytest.mark.spark, pytest.mark.compiled_plans]

INTEGERS: list[Value] = [0, 1, -1, 7, -7, 10, 12, 2**30, -(2**30) - 1, 3 * 2**40]
BOUNDS: list[Value] = [*INTEGERS, 2**61 - 1, -(2**61), 2**61, 2**62, 2**63 - 1, -(2**63), 2**63, 2**70]
TEXTS: list[Value] = [
    "",
    "abc",
    "Abc-d",
    "a-b-c",
    "straße",
    "ΑΣ",
    "😀x",
    "a😀c",
    'quo"te\\',
    "tab\t",
    "line\n",
    "not",
    "x1",
]

ARITHMETIC = [
    "Y = X + 1", "Y = X - 7", "Y = 3 - X", "Y = X * X", "Y = X * X - X * X + 1", "Y = X * 4611686018427387904", "Y = -X",
    "Y = X div 3", "Y = X div 0", "Y = 100 div X", "Y = X % 3", "Y = X % -3", "Y = 7 % X", "Y = X / 2", "Y = 12 / X",
    "Y = X + 0.5", "Y = X * 0.5e0", "Y = abs(X)", "Y = abs(X - 1) + 1", "Y = floor(X)", "Y = round(X)", "Y = ceiling(X)",
    "Y = X + 1, Y < 10", "Y = X + 1, Z = Y * Y, Z > 60", "Y = X * X, not Y > 100", "ADD(Y, 1, X)", "Y = X, Y != 7",
    "Y = func:numeric-add(X, 2)", "Y = xsd:integer(X)", "Y = X + 1, X = Y - 1", "Y = true, X = X",
]  # fmt: skip
CONDITIONS = [
    "X < 10", "X <= 2.5", "X > 2.5e0", "X >= -0.5", "X = 1.0e0", "X != 1.0e0", "X = 2.5", "X != 2.5", "3 > X", "X < 1.0e30",
    "X > 123456789012345678901234567890", "not X < 10", "not X = 1.0e0", "not X != 1", "X * 2 < 20", "not X * 2 < 20",
    "X * X = 49", "X * X != 49", "X + 1 > X", "X % 2 = 1", "not X % 2 = 1", "X div 0 = 1", "not X div 0 = 1", "X = abs(X)",
    "pred:numeric-less-than(X, 10)", "not pred:numeric-less-than(X, 10)", "pred:numeric-not-equal(X, 1.5)",
    "pred:numeric-equal(X, X)", "pred:is-literal-integer(X)", "not pred:is-literal-integer(X)",
    "pred:is-literal-not-integer(X)", "pred:is-literal-byte(X)", "pred:is-literal-not-byte(X)", "pred:is-literal-long(X)",
    "pred:is-literal-unsignedLong(X)", "pred:is-literal-decimal(X)", "pred:is-literal-double(X)", "pred:is-literal-not-double(X)",
    "pred:is-literal-string(X)", "pred:is-literal-not-string(X)", "pred:is-literal-boolean(X)", "IS_IRI(X)", "IS_NUMERIC(X)",
    "pred:is-literal-PlainLiteral(X)", "not IS_NUMERIC(X)", 'X < "b"', 'not X < "b"', 'X = "abc"', 'X != "abc"',
    "X * 0.5e0 < 5", "X * 0.5e0 != 3.5", "not X + 0.5e0 > 3", "X / 3.0e0 >= 2.5", "X / 0.0e0 > 1", "X - 0.1e0 = 0.9e0",
    "-(X * 2.0e0) < X", "X * 1.0e300 > 0", "X * 1.0e200 * 1.0e200 > X", "0.1e0 * X < 0.7", "0.1e0 * X <= 0.7e0", "X * 0.0e0 = 0",
    "pred:numeric-less-than(X * 2.0e0, 7)", "pred:numeric-equal(X, X + 0.0e0)", "func:numeric-divide(X, 2.0e0) = 3.5e0",
    "X % 2.0e0 = 1", "X + 1.0e16 = X + 1.0e16", "X < 0.1", "X <= 0.3", "0.1 < X", "X >= 0.7", "X = 0.1", "not X > 0.3",
    "X * 2.0e0 > 0.2", "-X < 0.1e0", "X != X", "X * 0.5e0 < \"a\"",
]  # fmt: skip
STRINGS = [
    "Y = length(X)", "Y = length(X) + 1, Y > 3", "Y = upper(X)", "Y = lower(X)", 'Y = concat(X, "!")', "Y = concat(X, X)",
    'Y = upper(concat(X, "q"))', "Y = substring(X, 2)", "Y = substring(X, 0, 3)", "Y = substring(X, 2, 1)",
    "Y = substring(X, -1, 9)", "Y = substring(X, 3, -1)", 'Y = func:substring-before(X, "-")', 'Y = func:substring-after(X, "-")',
    'Y = func:compare(X, "abc")', 'Y = func:string-join(X, X, "-")', "Y = upper(X), Z = length(Y), Z > 2",
    'Y = upper(X), pred:contains(Y, "B")', "Y = xsd:string(X)", "Y = length(X), pred:contains(X, X)",
    'pred:contains(X, "b"), Y = 1', 'not pred:contains(X, "b"), Y = 1', 'pred:starts-with(X, "a"), Y = 1',
    'pred:ends-with(X, "c"), Y = 1', 'upper(X) = "ABC", Y = 1', 'not upper(X) = "STRASSE", Y = 1', 'X < "b", Y = 1',
    'pred:matches(X, "^a.*c$"), Y = 1', 'pred:matches(X, "[^a-y]"), Y = 1', 'REGEX(X, "a.c"), Y = 1',
    'pred:matches(X, "\\\\d"), Y = 1', 'length(X) != 3, Y = 1', 'not length(X) != 3, Y = 1', 'pred:matches(X, "e$"), Y = 1',
    'pred:matches(X, "c-0*d"), Y = 1',
]  # fmt: skip
PAIRS = [
    "X < Y", "X = Y", "X != Y", "not X < Y", "X + Y > 3", "X * Y = 49", "X % Y = 0", "not X % Y = 0", "X - Y != 0",
    "X * Y * X > 0", "pred:numeric-less-than(X, Y)", "pred:contains(X, Y)", 'concat(X, Y) != "abc"', "X = Y + 0", "X != Y + 0",
    "not X = Y + 0", "X < length(Y)", "X * 0.5e0 < Y", "X + 0.25e0 != Y", "not X * 2.0e0 = Y * 2.0e0", "X * 1.0e0 <= Y - 1",
]  # fmt: skip
OF_ONE = [*ARITHMETIC, *(f"{body}, Y = 1" for body in CONDITIONS), *STRINGS]
DOUBLES: list[Value] = [
    0.0, -0.0, 0.1, 0.7, 1.0, 2.5, -7.0, 7.0, 0.3, 1e300, -1e300, 5e-324, 2.0**53, math.inf, -math.inf, math.nan,
]  # fmt: skip
INSIDE: list[Value] = [
    0.0, 0.1, 0.7, 1.0, 2.5, -7.0, 7.0, 0.3, 2.0**-255, -(2.0**-255), 1e75, -1e75, 2.0**53, 2.0**53 + 2, 49.0, math.pi, 99.5,
]  # fmt: skip
"""Doubles that are their own ids."""
SOME: list[Value] = [0, 7, -7, 2**61 - 1, 2**62, 1.5, 7.0, "a", "abc", True]


class Columns:
    """Bodies over columns of constants, all of them in one job."""

    def __init__(self, bodies: Sequence[str], rows: Sequence[tuple[Value, ...]], *, classes_are_known: bool) -> None:
        self.names = ("X", "Y")[: len(rows[0])]
        self.rows = rows
        columns = list(zip(*rows, strict=True))
        masks = [ANYTHING] * len(columns)
        if classes_are_known:
            masks = [sum({1 << bit for one in column for bit in _bits(one)}) for column in columns]
        self.known = {
            name: Known(f"c{place}", mask) for place, (name, mask) in enumerate(zip(self.names, masks, strict=True))
        }
        self.steps = {body: self._steps(number, body) for number, body in enumerate(bodies)}

    def _steps(self, number: int, body: str) -> list[Step] | None:
        chain = _chain(self.names, body)
        steps = Steps(dict(self.known), lambda name: f"n{number}_{name}", NO_COLLISIONS, True, self.known.__contains__)
        try:
            return [steps.step(one) for one in chain]
        except NotAColumnError:
            return None

    def run(self) -> dict[str, list[tuple[bool, bool, int | None]]]:
        """Of each body that is columns: for each row whether it is exact there, whether the row stays, and the id of `Y`."""
        columns = list(zip(*self.rows, strict=True))
        ids = {f"c{place}": pa.array(ids_of(column)) for place, column in enumerate(columns)}
        texts = {
            f"c{place}_text": pa.array([_text(one) for one in column], pa.string())
            for place, column in enumerate(columns)
        }
        order = pa.array(range(len(self.rows)), pa.int64())
        df = shared_session().createDataFrame(pa.table({"row": order, **ids, **texts})).coalesce(1)
        compiled = {body: steps for body, steps in self.steps.items() if steps is not None}
        for depth in range(max(map(len, compiled.values()))):
            now = [steps[depth] for steps in compiled.values() if depth < len(steps)]
            df = df.selectExpr("*", *(f"{one.value} AS {one.column}" for one in now if one.column and not one.checks))
        wanted = []
        for number, steps in enumerate(compiled.values()):
            filters = " AND ".join(f"({one.filter})" for one in steps if one.filter) or "TRUE"
            made = [one.column for one in steps if str(one.column).endswith("_Y") and not one.checks]
            wanted += [f"{exact_sql(steps)} AS e{number}", f"coalesce({filters}, FALSE) AS f{number}"]
            wanted += [f"{made[0] if made else 'c1'} AS y{number}"]
        found = sorted(df.selectExpr("row", *wanted).collect())
        return {
            body: [(row[f"e{number}"], row[f"f{number}"], row[f"y{number}"]) for row in found]
            for number, body in enumerate(compiled)
        }


FORESEEN = [
    "Y = X * 0.5e0, Y < 12", "Y = X + 1, Z = Y * Y, Z >= 49, X > 0", "Y = X - 0.25e0, not Y <= X * 0.5e0",
    "Y = X / 4, Y != 1.75e0", "Y = - X, Y = 7", "Y = X * 0.5e0, pred:is-literal-double(Y), Y > 0", "X < 7, Y = X * 1.0e0, Y >= 0",
]  # fmt: skip


@pytest.mark.parametrize("values", [INSIDE, DOUBLES, INTEGERS, POOL], ids=["inside", "doubles", "integers", "anything"])
def test_early_conditions_keep_every_row_that_tasks_would_keep(values: list[Value]) -> None:
    """And of doubles inside ids no other."""
    rows = [(value,) for value in values]
    mask = sum({1 << bit for value in values for bit in _bits(value)})
    table = pa.table({"row": pa.array(range(len(rows)), pa.int64()), "v0": pa.array(ids_of(values))})
    df = shared_session().createDataFrame(table)
    oracle = expected(FORESEEN, rows, "X")
    for number, body in enumerate(FORESEEN):
        names: dict[str, str] = {}
        column = lambda name, names=names: names.setdefault(name, f"v{len(names)}")  # noqa: E731
        steps = Steps({"X": Known(column("X"), mask)}, column, NO_COLLISIONS, True, lambda _: False)
        conditions = steps.early_conditions(_chain(("X",), body))
        kept = {row["row"] for row in df.where(" AND ".join(["TRUE", *conditions])).collect()}
        survivors = {row for one, row in oracle if one == number}
        assert survivors <= kept, body
        if values is INSIDE:
            assert survivors == kept, body


def _text(value: Value) -> str | None:
    """What the universe has of strings."""
    return value if isinstance(value, str) else None


def _chain(names: Sequence[str], body: str) -> list[Filter | Extend]:
    node: Any = algebra_of(normalise(parse_program(f"o(X) :- v({', '.join(names)}), {body}.").rules[0])).input
    chain: list[Filter | Extend] = []
    while isinstance(node, (Filter, Extend)):
        chain.insert(0, node)
        node = node.input
    return chain


def _bits(value: Value) -> list[int]:
    mask = classes_of(Constant(value))
    return [bit for bit in range(16) if mask >> bit & 1]


def expected(bodies: Sequence[str], rows: Sequence[tuple[Value, ...]], names: str) -> dict[tuple[Value, Value], int]:
    """The id of `Y` for each body and row that has one."""
    facts = "".join(f"v({number}, {', '.join(map(print_value, row))}).\n" for number, row in enumerate(rows))
    rules = "".join(f"o({number}, N, Y) :- v(N, {names}), {body}.\n" for number, body in enumerate(bodies))
    found = sorted(evaluate(parse_program(facts + rules))["o"], key=str)
    ids = ids_of([y.value for _, _, y in found])
    return {(body.value, row.value): int(number) for (body, row, _), number in zip(found, ids, strict=True)}


@pytest.mark.parametrize(
    ("bodies", "rows", "classes_are_known"),
    [
        pytest.param(OF_ONE[: -len(STRINGS)], [(value,) for value in INTEGERS], True, id="integers"),
        pytest.param(OF_ONE, [(value,) for value in [*POOL, *BOUNDS, *TEXTS]], False, id="anything"),
        pytest.param(STRINGS, [(value,) for value in TEXTS], True, id="strings"),
        pytest.param(OF_ONE, [(value,) for value in DOUBLES], True, id="doubles"),
        pytest.param(OF_ONE, [(value,) for value in INSIDE], True, id="doubles inside ids"),
        pytest.param(PAIRS, [(left, right) for left in SOME for right in SOME], True, id="pairs"),
        pytest.param(
            PAIRS, [(left, right) for left in INSIDE for right in INSIDE], True, id="pairs of doubles inside ids"
        ),
        pytest.param(
            PAIRS, [(left, right) for left in INTEGERS for right in INSIDE], True, id="integers and doubles inside"
        ),
        pytest.param(PAIRS, [(left, right) for left in DOUBLES for right in DOUBLES], True, id="pairs of doubles"),
        pytest.param(PAIRS, [(left, right) for left in INTEGERS for right in DOUBLES], True, id="integers and doubles"),
        pytest.param(PAIRS, [(left, right) for left in BOUNDS for right in BOUNDS], True, id="pairs of integers"),
    ],
)
def test_where_columns_are_exact_they_give_what_the_oracle_gives(
    bodies: list[str], rows: list[tuple[Value, ...]], classes_are_known: bool
) -> None:
    columns = Columns(bodies, rows, classes_are_known=classes_are_known)
    oracle = expected(bodies, rows, ", ".join(columns.names))
    for body, found in columns.run().items():
        number = bodies.index(body)
        for place, (exact, stays, value) in enumerate(found):
            is_right = (value if stays else None) == oracle.get((number, place))
            assert is_right or not exact, f"{body} of {rows[place]}: {columns.steps[body]}"


def test_small_integers_and_strings_never_leave_spark() -> None:
    integers = Columns(OF_ONE, [(value,) for value in INTEGERS[:8]], classes_are_known=True)
    strings = Columns(STRINGS, [(value,) for value in TEXTS], classes_are_known=True)
    not_columns = [body for body, steps in integers.steps.items() if steps is None and body not in STRINGS]
    assert not_columns == [
        "Y = X + 0.5",
        "Y = X * 0.5e0",
        "X / 0.0e0 > 1, Y = 1",
        "X % 2.0e0 = 1, Y = 1",
        'X * 0.5e0 < "a", Y = 1',
    ]
    doubles = Columns(PAIRS, [(value, value) for value in INSIDE], classes_are_known=True)
    others = [body for body, steps in doubles.steps.items() if steps is None]
    assert others == ["X % Y = 0", "not X % Y = 0", 'concat(X, Y) != "abc"']
    split = [
        body for body, steps in integers.steps.items() if steps and exact_sql(steps) != "TRUE" and body not in STRINGS
    ]
    assert split == ["Y = X * X - X * X + 1", "Y = X * 4611686018427387904", "Y = X / 2", "Y = 12 / X"]
    regular = [body for body, steps in strings.steps.items() if steps is None]
    assert regular == ['pred:matches(X, "\\\\d"), Y = 1']  # Java's digits are those of ASCII
