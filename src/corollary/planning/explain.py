"""A plan as text: the order of its operations and how each one finds its rows."""

from __future__ import annotations

from corollary.language import Printer
from corollary.planning.normal_form import AggregateSource, Compute
from corollary.planning.rule_plan import Absence, Access, Column, Range, RulePlan, Use, ValueOf, Version
from corollary.program import Atom, Comparison, Constant, Negation, Term, Variable, Wildcard


def explain_plan(plan: RulePlan, prefixes: dict[str, str] | None = None) -> list[str]:
    """One line per operation, then the head."""
    printer = Printer(prefixes)
    names: dict[int, Term] = {register: Variable(name.strip() or name) for name, register in plan.registers.items()}
    names |= dict(plan.constants)
    lines: list[str] = []
    ends = (one for one in plan.operations if isinstance(one, Compute) and one.variable.startswith("\0"))
    computed = {plan.registers[one.variable]: one.expression for one in ends}
    values = {one.register: one.term for one in plan.operations if isinstance(one, ValueOf)}
    for number, operation in enumerate(plan.operations):
        match operation:
            case Access():
                what = _source(operation.source, operation.columns, names, printer)
                way = _way(operation, names, printer, first=number == 0)
                if operation.value is not None:
                    term, other = printer.term(operation.value.term), printer.term(values[operation.value.register])
                    way = f"{'exists, ' if operation.exists else ''}index by value: {term} = {other}"
                if operation.range is not None:
                    way = _range(operation, operation.range, names, computed, printer)
                lines.append(f"{what}  [{way}]")
            case Absence():
                what = _source(operation.source, operation.columns, names, printer)
                lines.append(f"not {what}  [look-up]")
            case Compute() if plan.registers[operation.variable] in computed:
                pass  # so does the range that follows
            case Compute():
                expression = printer.term(operation.expression)
                lines.append(f"{operation.variable.strip()} := {expression}  [whole columns]")
            case ValueOf():
                pass  # the look-up that follows shows it
            case _:
                comparison = Comparison(operation.operator, operation.left, operation.right)
                shown = printer.element(Negation(comparison) if operation.negated else comparison)
                lines.append(f"{shown}  [{'test' if operation.is_simple else 'whole columns'}]")
    head = Atom(plan.head_predicate, tuple(names[register] for register in plan.head_registers))
    return [*lines, f"=> {printer.element(head)}"]


def _source(
    source: Atom | AggregateSource, columns: tuple[Column, ...], names: dict[int, Term], printer: Printer
) -> str:
    terms = tuple(Wildcard() if column.use is Use.SKIP else names[column.register] for column in columns)
    predicate = source.predicate if isinstance(source, Atom) else "groups"
    if not predicate.startswith("\0"):
        predicate = predicate.partition("\0")[0]
    return printer.element(Atom(predicate, terms))


def _range(access: Access, between: Range, names: dict[int, Term], computed: dict[int, Term], printer: Printer) -> str:
    ends = []
    for operator, end in ((">", between.lower), ("<", between.upper)):
        if end is not None:
            value = computed.get(end.register)
            shown = _shown(names[end.register], printer) if value is None else printer.term(value)
            ends.append(f"{printer.term(between.term)} {operator}{'=' if end.inclusive else ''} {shown}")
    if between.prefix is not None:
        ends.insert(0, _shown(names[access.columns[between.prefix].register], printer))
    return f"{'exists, ' if access.exists else ''}index in order: {', '.join(ends)}"


def _way(access: Access, names: dict[int, Term], printer: Printer, *, first: bool) -> str:
    version = {Version.DELTA: "new rows: ", Version.OLD: "old rows: ", Version.FULL: ""}[access.version]
    keys = access.key_columns
    if not keys or access.version is Version.DELTA:
        return version + "all rows"
    if len(keys) == len(access.columns) and not first:
        return version + "look-up"
    by = ", ".join(_shown(names[access.columns[key].register], printer) for key in keys)
    return version + (f"exists, by {by}" if access.exists else f"index by {by}")


def _shown(term: Term, printer: Printer) -> str:
    return printer.term(term) if isinstance(term, (Variable, Constant)) else "?"
