"""The workloads in SQL. Where a rule is not linear, the SQL is: recursive SQL may name the recursive table once."""

from __future__ import annotations

_CLOSURE = """
WITH RECURSIVE step(x, y) AS ({step}), closure(x, y) AS (
    SELECT x, y FROM step UNION SELECT step.x, closure.y FROM step JOIN closure ON step.y = closure.x
) {result}"""


def _closure(step: str, result: str = "SELECT * FROM closure") -> str:
    return _CLOSURE.format(step=step, result=result)


def _join(left: str, right: str) -> str:
    return f"SELECT DISTINCT l.x, r.y FROM {left} l JOIN {right} r ON l.y = r.x"


_EDGES = _closure("SELECT x, y FROM edge")
_UNDIRECTED = "SELECT x, y FROM {0} UNION SELECT y, x FROM {0}"

_SAME_GENERATION = """
WITH RECURSIVE sg(x, y) AS (
    SELECT a.y, b.y FROM par a JOIN par b ON a.x = b.x WHERE a.y <> b.y
    UNION SELECT a.y, b.y FROM sg JOIN par a ON a.x = sg.x JOIN par b ON b.x = sg.y
) SELECT * FROM sg"""

_JOIN1_TABLES = [
    f"CREATE TABLE c1 AS {_join('d1', 'd2')}",
    f"CREATE TABLE b1 AS {_join('c1', 'c2')}",
    f"CREATE TABLE b2 AS {_join('c3', 'c4')}",
    f"CREATE TABLE a AS {_join('b1', 'b2')}",
]
_COLUMNS = ("c0", "c1", "c2", "c3", "c4")
_PRODUCT = "SELECT {} FROM p a, p b, p c, p d, p e".format(
    ", ".join(f"{table}.x AS {column}" for table, column in zip("abcde", _COLUMNS, strict=True))
)
_JOIN2_TABLES = [
    f"CREATE TABLE ra AS {_PRODUCT}",
    f"CREATE TABLE rb AS {_PRODUCT}",
    f"CREATE TABLE r AS SELECT DISTINCT * FROM ra JOIN rb USING ({', '.join(_COLUMNS)})",
    f"CREATE TABLE q AS {' UNION '.join(f'SELECT {column} AS x FROM r' for column in _COLUMNS)}",
]


def _zodiac(r10: str) -> list[str]:
    different = "SELECT * FROM closure WHERE x <> y"
    return [
        f"CREATE TABLE p11 AS {_closure(_UNDIRECTED.format('p1'), different)}",
        f"CREATE TABLE p12 AS {_closure('SELECT x, y FROM p2')}",
        f"CREATE TABLE p13 AS {_UNDIRECTED.format('p3')}",
        "CREATE TABLE p14 AS SELECT * FROM p13",
        f"CREATE TABLE p20 AS SELECT * FROM p11 UNION {r10} UNION SELECT * FROM p13",
        "CREATE TABLE p21 AS SELECT * FROM p20",
        "CREATE TABLE p22 AS SELECT * FROM p21",
        """CREATE TABLE p25 AS SELECT DISTINCT a.x, b.y FROM p11 a JOIN p12 b ON a.y = b.x
           WHERE NOT EXISTS (SELECT 1 FROM p5 WHERE p5.x = b.x AND p5.y = b.y)""",
        """CREATE TABLE p26 AS SELECT DISTINCT a.x, b.x AS y FROM p12 a JOIN p13 b ON a.y = b.y
           WHERE NOT EXISTS (SELECT 1 FROM p5 WHERE p5.x = b.x AND p5.y = b.y)""",
        f"CREATE TABLE p30 AS {_join('p22', 'p21')}",
        "CREATE TABLE p31 AS SELECT DISTINCT a.x, a.y FROM p25 a WHERE EXISTS (SELECT 1 FROM p26 WHERE p26.x = a.y)",
    ]


# The closure has another name than the table of explicit facts.
_WIND_FARM = [
    f"CREATE TABLE near AS {_closure(_UNDIRECTED.format('hasNeighbour'), 'SELECT * FROM closure WHERE x <> y')}",
    "CREATE TABLE nearby AS SELECT n.x, t.y FROM near n JOIN hasAirTemperatureMeasurement t ON n.y = t.x",
    "CREATE TABLE measurementsNearby AS SELECT x, count(*) AS y FROM nearby GROUP BY x",
    "CREATE TABLE medianNearby AS SELECT x, median(y) AS y FROM nearby GROUP BY x",
    "CREATE TABLE moreThan3Neighbours AS SELECT x FROM measurementsNearby WHERE y >= 3",
    """CREATE TABLE anomaly AS SELECT t.x FROM hasAirTemperatureMeasurement t JOIN medianNearby m USING (x)
       SEMI JOIN moreThan3Neighbours USING (x) WHERE abs(t.y - m.y) > 5""",
]


def _counting_path(limit: int) -> tuple[list[str], dict[str, str]]:
    numbers = f"WITH RECURSIVE p(x, y) AS (SELECT 0, 1 UNION ALL SELECT x + 1, y + 1 FROM p WHERE x < {limit})"
    return [f"CREATE TABLE p AS {numbers} SELECT * FROM p"], {"path": _closure("SELECT x, y FROM p")}


# For each workload the statements that make tables, and queries for the relations that are no table of their name then.
STATEMENTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "tc-small": ([], {"path": _EDGES}),
    "tc-random": ([], {"path": _EDGES}),
    "tc-random-nonlinear": ([], {"path": _EDGES}),
    "tc-grid": ([], {"path": _EDGES}),
    "tc-chain": ([], {"path": _EDGES}),
    "dag-r": ([], {"r": _closure("SELECT x, y FROM r")}),
    "stc-ring": ([], {"r": _closure(_UNDIRECTED.format("r"))}),
    "sg-tree": ([], {"sg": _SAME_GENERATION}),
    "join1-data0": (_JOIN1_TABLES, {}),
    "join1-data1": (_JOIN1_TABLES, {}),
    "join2": (_JOIN2_TABLES, {}),
    "zodiac-rs1": (_WIND_FARM, {"hasNeighbour": "FROM near"}),
    "zodiac-rs2": (_zodiac("SELECT * FROM p12"), {}),
    "zodiac-rs3": (_zodiac("SELECT * FROM p12 WHERE NOT EXISTS (SELECT 1 FROM p13 WHERE p13.x = p12.y)"), {}),
    **{f"builtins-path-{limit}": _counting_path(limit) for limit in (200, 400, 800, 1000)},
}
