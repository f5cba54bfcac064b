"""DuckDB: recursive SQL where a workload has some, otherwise its rules as SQL statements, semi-naively round by round."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.peers.duckdb_sql import STATEMENTS
from benchmarks.peers.process import main
from benchmarks.peers.simple_rules import SimpleRule, simple_rules
from benchmarks.workloads import Workload

_COLUMNS = ("x", "y", "z")


def run(workload: Workload, inputs: Path, out: Path) -> None:
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.execute("SET preserve_insertion_order = false")
    arities = _read(connection, inputs)
    relations = {predicate: f'FROM "{predicate}"' for predicate in workload.derived}
    if workload.name in STATEMENTS:
        statements, recursive = STATEMENTS[workload.name]
        for statement in statements:
            connection.execute(statement)
        relations |= recursive
    else:
        _Rounds(connection, simple_rules(workload.program), arities).run()
    for predicate, query in relations.items():
        connection.execute(f"COPY ({query}) TO '{out}/{predicate}.tsv' (FORMAT csv, DELIMITER '\t', HEADER false)")


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _read(connection: duckdb.DuckDBPyConnection, directory: Path) -> dict[str, int]:
    arities = {}
    for file in sorted(directory.iterdir()):
        if file.suffix == ".parquet":
            connection.execute(f"""CREATE TABLE "{file.stem}" AS SELECT * FROM read_parquet('{file}')""")
            described = connection.execute(f'DESCRIBE "{file.stem}"').fetchall()
            for (name, *_), column in zip(described, _COLUMNS, strict=False):
                connection.execute(f'ALTER TABLE "{file.stem}" RENAME {name} TO {column}')
            arities[file.stem] = len(described)
            continue
        with file.open(encoding="utf-8") as lines:
            cells = next(lines, "0\t0").split("\t")
        kind = "BIGINT" if cells[0].isdigit() else "VARCHAR"
        arities[file.stem] = len(cells)
        columns = ", ".join(f"'{column}': '{kind}'" for column in _COLUMNS[: len(cells)])
        source = f"read_csv('{file}', delim = '\t', header = false, auto_detect = false, columns = {{{columns}}})"
        connection.execute(f'CREATE TABLE "{file.stem}" AS SELECT * FROM {source}')
    return arities


class _Rounds:
    """Evaluates rules semi-naively. Beside table p there are new_p, what the last round gave, and next_p."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, rules: list[SimpleRule], arities: dict[str, int]) -> None:
        self._connection = connection
        self._rules = rules
        self._derived = dict.fromkeys(rule.head.predicate for rule in rules)
        kind = "VARCHAR" if any(name.startswith("src_") for name in arities) else "BIGINT"
        widths = {atom.predicate: len(atom.terms) for rule in rules for atom in (rule.head, *rule.atoms)}
        self._widths = widths
        for name, width in widths.items():
            columns = ", ".join(f"{column} {kind}" for column in _COLUMNS[:width])
            prefixes = ("", "new_", "next_") if name in self._derived else ("",)
            for prefix in prefixes:
                connection.execute(f'CREATE TABLE IF NOT EXISTS "{prefix}{name}" ({columns})')

    def run(self) -> None:
        for rule in self._rules:
            if not any(atom.predicate in self._derived for atom in rule.atoms):
                self._derive(rule, None)
        while self._turn():
            for rule in self._rules:
                for place, atom in enumerate(rule.atoms):
                    if atom.predicate in self._derived and _number(
                        self._connection, f"SELECT count(*) FROM new_{atom.predicate}"
                    ):
                        self._derive(rule, place)

    def _derive(self, rule: SimpleRule, new_at: int | None) -> None:
        """Into next_p what the rule gives, with the atom at one place taken from the last round."""
        first: dict[str, str] = {}
        conditions, tables = [], []
        for place, atom in enumerate(rule.atoms):
            tables.append(f'"{"new_" if place == new_at else ""}{atom.predicate}" t{place}')
            for column, term in zip(_COLUMNS, atom.terms, strict=False):
                if term in first:
                    conditions.append(f"{first[term]} = t{place}.{column}")
                else:
                    first[term] = f"t{place}.{column}"
        conditions += [f"{first[left]} <> {first[right]}" for left, right in rule.different]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        chosen = ", ".join(first[term] for term in rule.head.terms)
        head = rule.head.predicate
        self._connection.execute(f"INSERT INTO next_{head} SELECT DISTINCT {chosen} FROM {', '.join(tables)}{where}")

    def _turn(self) -> bool:
        """What is new in next_p goes to p and becomes new_p; False when nothing is."""
        found = 0
        for name in self._derived:
            columns = ", ".join(_COLUMNS[: self._widths[name]])
            fresh = f'SELECT DISTINCT * FROM next_{name} ANTI JOIN "{name}" USING ({columns})'
            self._connection.execute(f"CREATE OR REPLACE TABLE new_{name} AS {fresh}")
            self._connection.execute(f'INSERT INTO "{name}" FROM new_{name}')
            self._connection.execute(f"TRUNCATE next_{name}")
            found += _number(self._connection, f"SELECT count(*) FROM new_{name}")
        return found > 0


if __name__ == "__main__":
    main(run)
