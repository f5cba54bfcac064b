"""A program as rows of a table, and back: its rules by name, and what else it says. Its facts and files are stored as facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corollary.analysis import Analysis, analyse
from corollary.language import Printer, parse, print_rule
from corollary.program import Clause, Facts, InputDeclaration, PrefixDeclaration, Program, Statement

Rows = list[list[str]]

PREFIX, STATEMENT, RULE = "prefix", "statement", "rule"


def rows_of(analysis: Analysis) -> Rows:
    """Kind, name and text of everything that has to be known of a program."""
    printer = Printer()
    rows: Rows = []
    prefixes = analysis.program.of_type(PrefixDeclaration)
    for declaration in prefixes:
        rows.append([PREFIX, declaration.name, "\n".join(printer.statement(declaration))])
    for statement in analysis.program.statements:
        if not isinstance(statement, (Clause, Facts, InputDeclaration, PrefixDeclaration)):
            rows.append([STATEMENT, "", "\n".join(printer.statement(statement))])
    rows += [[RULE, rule.name, print_rule(rule, analysis.program.prefixes)] for rule in analysis.graph.rules.values()]
    return rows


def analysis_of(rows: Sequence[Sequence[str]]) -> Analysis:
    """The program of these rows; raises `ProgramError` where this version of the language does not read them."""
    return analyse(program_of(rows))


def program_of(rows: Sequence[Sequence[str]]) -> Program:
    names = iter([name for kind, name, _ in rows if kind == RULE])
    parsed = parse("\n".join(text for _, _, text in rows))
    if parsed.errors:
        from corollary.diagnostics import ProgramError

        raise ProgramError(parsed.diagnostics)
    return Program(tuple(_named(statement, names) for statement in parsed.program.statements))


def _named(statement: Statement, names: object) -> Statement:
    return replace(statement, name=next(names)) if isinstance(statement, Clause) else statement  # type: ignore[call-overload]


def rule_changes(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> tuple[Rows, Rows]:
    """The rules that went and those that came."""
    old, new = ({(row[1], row[2]) for row in rows if row[0] == RULE} for rows in (before, after))
    return [[RULE, *rule] for rule in sorted(old - new)], [[RULE, *rule] for rule in sorted(new - old)]
