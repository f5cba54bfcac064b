"""Rules as SQL views (paper 001, section 2.4.3), for people who want to read them or run them in Spark SQL.

Each rule is one view over the views of the predicates in its body, which are named like the predicates and have the
columns `a1 … an` with decoded values (a predicate without arguments has one column `a0`, always 0). A recursive rule
reads the current view of its predicate: running all views once is one round, and at the fixpoint they return nothing
new.

The views compute with SQL's types. If a program distinguishes 1 from 1.0e0, or keeps more digits than Spark's decimals,
the views may differ from the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from corollary.analysis import Analysis
from corollary.analysis.lowering import UNIVERSE
from corollary.engines.spark.algebra.sql_text import NoSql, SqlNames, constant, expression, identifier
from corollary.language import print_rule
from corollary.planning import (
    Absence,
    Access,
    AggregateSource,
    Compare,
    Compute,
    NormalRule,
    NoStatistics,
    RulePlan,
    Statistics,
    Use,
    normalise,
    plan_rule,
)
from corollary.program import AggregateOperation, Atom, Constant, Variable


@dataclass(frozen=True)
class SqlView:
    """The view of one rule; `text` is None if Spark SQL has no counterpart for something, which `missing` names."""

    rule: str
    predicate: str
    name: str
    text: str | None
    missing: str | None = None


class SqlViews:
    """Views for rules; `names` has the view of every predicate."""

    def __init__(self, statistics: Statistics | None = None) -> None:
        self._statistics = statistics or NoStatistics()
        self._fresh = SqlNames()
        self.names: dict[str, str] = {}

    def view_of_predicate(self, predicate: str) -> str:
        if predicate not in self.names:
            self.names[predicate] = self._fresh(predicate)
        return self.names[predicate]

    def views(self, rules: Iterable[NormalRule]) -> list[SqlView]:
        rules = list(rules)
        for rule in rules:  # predicates get their names first
            for atom in [rule.head, *_atoms(rule)]:
                if atom.predicate != UNIVERSE:
                    self.view_of_predicate(atom.predicate)
        return [self._view(rule) for rule in rules]

    def _view(self, rule: NormalRule) -> SqlView:
        name = self._fresh(f"rule {rule.name}")
        try:
            body = self._select(rule)
        except NoSql as missing:
            return SqlView(rule.name, rule.head.predicate, name, None, str(missing))
        text = f"CREATE OR REPLACE TEMPORARY VIEW {identifier(name)} AS\n{body}"
        return SqlView(rule.name, rule.head.predicate, name, text)

    def _select(self, rule: NormalRule) -> str:
        if any(atom.predicate == UNIVERSE for atom in _atoms(rule)):
            raise NoSql("variables that range over all constants")
        plan = plan_rule(rule, self._statistics)
        body = self._body(plan)
        values = [_value(plan, register, body) for register in plan.head_registers]
        outputs = [f"{value} AS a{place}" for place, value in enumerate(values, 1)] or ["0 AS a0"]
        return "\n".join([f"SELECT DISTINCT {', '.join(outputs)}", *body.lines()])

    def _body(self, plan: RulePlan) -> _SqlBody:
        body = _SqlBody()
        for operation in plan.operations:
            match operation:
                case Access():
                    self._access(plan, operation, body)
                case Absence():
                    self._absence(plan, operation, body)
                case Compute():
                    _compute(operation, body)
                case Compare():
                    _compare(operation, body)
        return body

    def _access(self, plan: RulePlan, access: Access, body: _SqlBody) -> None:
        table = f"t{len(body.tables) + 1}"
        if access.exists:
            conditions, _ = _conditions(plan, access, table, body)
            body.where.append(f"EXISTS ({self._lookup(access.source, table, conditions)})")
            body.lookups += 1
            body.tables.append("")
            return
        conditions, bound = _conditions(plan, access, table, body)
        body.tables.append(f"{self._table(access.source)} AS {table}")
        body.where += conditions
        body.columns |= bound

    def _absence(self, plan: RulePlan, absence: Absence, body: _SqlBody) -> None:
        table = f"n{len(body.tables) + body.lookups + len(body.where) + 1}"
        conditions, _ = _conditions(plan, absence, table, body)
        body.where.append(f"NOT EXISTS ({self._lookup(absence.source, table, conditions)})")

    def _lookup(self, source: Atom | AggregateSource, table: str, conditions: list[str]) -> str:
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT 1 FROM {self._table(source)} AS {table}{where}"

    def _table(self, source: Atom | AggregateSource) -> str:
        if isinstance(source, Atom):
            return identifier(self.view_of_predicate(source.predicate))
        return self._aggregate(source)

    def _aggregate(self, source: AggregateSource) -> str:
        """Return the aggregation over the distinct bindings of all variables of the body."""
        names = source.ranged
        rule = NormalRule("aggregate", Atom("", tuple(Variable(name) for name in names)), source.body)
        plan = plan_rule(rule, self._statistics, keep_all=True)
        body = self._body(plan)
        columns = {name: f"x{place}" for place, name in enumerate(names, 1)}
        inner = [f"{body.columns[name]} AS {columns[name]}" for name in names] or ["1 AS x0"]
        distinct = "\n".join([f"SELECT DISTINCT {', '.join(inner)}", *body.lines()])
        groups = [columns[name] for name in source.group_by]
        outputs = [*groups, *(_result(operation, columns) for operation in source.operations)]
        shown = ", ".join(f"{output} AS a{place}" for place, output in enumerate(outputs, 1))
        # Without groups, SQL returns one row even for no rows; here, no binding means no group.
        by = f" GROUP BY {', '.join(groups)}" if groups else " HAVING count(1) > 0"
        return f"(SELECT {shown} FROM (\n{distinct}\n){by})"


@dataclass
class _SqlBody:
    tables: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    lookups: int = 0

    def lines(self) -> list[str]:
        tables = [table for table in self.tables if table] or ["(VALUES (0)) AS one_row(u)"]
        lines = ["FROM " + "\nCROSS JOIN ".join(tables)]
        if self.where:
            lines.append("WHERE " + "\n  AND ".join(self.where))
        return lines


def _atoms(rule: NormalRule) -> list[Atom]:
    found: list[Atom] = []
    bodies = [rule.body]
    while bodies:
        body = bodies.pop()
        found += body.negated
        for source in body.sources:
            if isinstance(source, Atom):
                found.append(source)
            else:
                bodies.append(source.body)
    return found


def _conditions(
    plan: RulePlan, access: Access | Absence, table: str, body: _SqlBody
) -> tuple[list[str], dict[str, str]]:
    """Return the conditions on a row of a table, and the columns of the variables it binds."""
    names = {register: name for name, register in plan.registers.items()}
    conditions: list[str] = []
    bound: dict[str, str] = {}
    for place, column in enumerate(access.columns, 1):
        here = f"{table}.a{place}"
        if column.use is Use.KEY:
            conditions.append(f"{here} = {_value(plan, column.register, body)}")
        elif column.use is Use.CHECK:
            conditions.append(f"{here} = {bound[names[column.register]]}")
        elif column.use is Use.BIND:
            bound[names[column.register]] = here
    return conditions, bound


def _value(plan: RulePlan, register: int, body: _SqlBody) -> str:
    for number, found in plan.constants:
        if number == register:
            return constant(found.value)
    name = next(name for name, number in plan.registers.items() if number == register)
    return body.columns[name]


def _compute(compute: Compute, body: _SqlBody) -> None:
    value = expression(compute.expression, body.columns)
    if compute.variable in body.columns:
        body.where.append(f"{body.columns[compute.variable]} = {value}")
        return
    body.columns[compute.variable] = value
    if not compute.total and not isinstance(compute.expression, (Variable, Constant)):
        body.where.append(f"{value} IS NOT NULL")


def _compare(compare: Compare, body: _SqlBody) -> None:
    left, right = (expression(side, body.columns) for side in (compare.left, compare.right))
    operator = {"!=": "<>"}.get(compare.operator, compare.operator)
    holds = f"{left} {operator} {right}"
    body.where.append(f"NOT coalesce({holds}, FALSE)" if compare.negated else holds)


def _result(operation: AggregateOperation, columns: dict[str, str]) -> str:
    function = {"sum": "try_sum"}.get(operation.function, operation.function)
    distinct = "DISTINCT " if operation.distinct else ""
    return f"{function}({distinct}{expression(operation.argument, columns)})"


def text_of_views(analysis: Analysis) -> str:
    """Return the views of all rules of a program, each after its rule as a comment."""
    rules, prefixes = analysis.graph.rules, analysis.program.prefixes
    return "\n\n".join(
        f"-- {print_rule(rules[view.rule], prefixes)}\n"
        + (f"{view.text};" if view.text is not None else f"-- has no SQL: {view.missing}")
        for view in SqlViews().views(map(normalise, analysis.limited_rules))
    )
