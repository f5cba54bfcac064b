"""Which rules a program has after some were removed and others added.

Rules are addressed by name or by text. A rule whose variables are called differently is the same rule: adding it again without
a name of its own changes nothing, and either text removes it. Names stay with their rules as long as they live.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from corollary.analysis import (
    Analysis,
    RuleGraph,
    check_evaluable,
    check_safety,
    check_stratification,
    delete_rules,
    insert_rules,
    predicates_of,
)
from corollary.analysis.predicates import check_arities, check_functions, check_names
from corollary.analysis.queries import arity_mismatch
from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.language import parse
from corollary.program import Clause, Program, Query, Rule, Statement
from corollary.program.arities import with_arities
from corollary.program.rewrite import without_names

_NUMBERED = re.compile(r"r(\d+)(\.\d+)?_*")


@dataclass(frozen=True)
class RuleEdit:
    """The analysis of the program afterwards, and what else the added texts say (facts, inputs, queries)."""

    analysis: Analysis
    statements: tuple[Statement, ...] = ()

    @property
    def program(self) -> Program:
        return Program(self.statements)


def edit_rules(
    analysis: Analysis, add: Iterable[str | Program], remove: Iterable[str], arities: dict[str, int]
) -> RuleEdit:
    """Removes rules and adds others; raises `ProgramError` when something is wrong with one of them."""
    prefixes = analysis.program.prefixes
    programs = [_program(one, prefixes) for one in add]
    if analysis.meaning.mixed_arities:
        programs = [with_arities(one) for one in programs]
    statements = [statement for one in programs for statement in one.statements]
    gone = list(dict.fromkeys(name for one in remove for name in _named(one, analysis, prefixes)))
    added, gone = _without_what_stays(_rules(statements, analysis.graph, gone), analysis.graph, gone)
    wrong = check_evaluable(query for query in statements if isinstance(query, Query))
    wrong += check_functions(Program(tuple(statements)))
    graph = delete_rules(analysis.graph, gone).graph if gone else analysis.graph
    wrong += [found for rule in added for found in check_safety(rule, analysis.meaning)]
    if wrong:
        raise ProgramError(wrong)
    graph = insert_rules(graph, added, check=False).graph if added else graph
    others = [statement for statement in statements if not isinstance(statement, Clause)]
    wrong += _arity_mistakes(Program((*(_clause(rule) for rule in added), *others)), arities)
    if wrong:
        raise ProgramError(wrong)
    kept = [statement for statement in analysis.program.statements if not isinstance(statement, Clause)]
    program = Program.of([*kept, *(_clause(rule) for rule in graph.rules.values()), *others])
    edited = replace(analysis, program=program, graph=graph).knowing(arities)
    if not analysis.meaning.is_well_founded:
        wrong += check_stratification(edited.evaluated, local=analysis.meaning.is_local)
    if wrong:
        raise ProgramError(wrong)
    return RuleEdit(edited, tuple(others))


def _program(text: str | Program, prefixes: dict[str, str]) -> Program:
    if isinstance(text, Program):
        return text
    parsed = parse(text, prefixes=prefixes)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    return parsed.program


def _rules(statements: Sequence[Statement], graph: RuleGraph, gone: Sequence[str]) -> list[Rule]:
    """The rules among the statements; those without a name get the next numbers, unless they are there already."""
    if not any(isinstance(statement, Clause) for statement in statements):
        return []
    numbers = [int(match[1]) for name in graph.rules if (match := _NUMBERED.fullmatch(name))]
    following = max([0, len(graph.rules), *numbers]) + 1
    known = {without_names(rule) for name, rule in graph.rules.items() if name not in gone}
    found: list[Rule] = []
    for clause in statements:
        if isinstance(clause, Clause):
            name = clause.name or f"r{following}"
            many = len(clause.heads) > 1
            rules = [
                Rule(f"{name}.{k}" if many else name, head, clause.body, clause.span)
                for k, head in enumerate(clause.heads, 1)
            ]
            if clause.name is None:
                rules = [rule for rule in rules if without_names(rule) not in known]
                following += bool(rules)
            known |= {without_names(rule) for rule in rules}
            found += rules
    return found


def _named(one: str, analysis: Analysis, prefixes: dict[str, str]) -> list[str]:
    """The names of the rules that a name or a text means."""
    graph = analysis.graph
    if one in graph.rules:
        return [one]
    if several := [name for name in graph.rules if name.startswith(f"{one}.") and name[len(one) + 1 :].isdigit()]:
        return several
    parsed = parse(one, prefixes=prefixes)
    program = with_arities(parsed.program) if analysis.meaning.mixed_arities else parsed.program
    rules = program.rules if not parsed.errors else ()
    by_identity = {without_names(rule): name for name, rule in graph.rules.items()} if rules else {}
    names = [by_identity.get(without_names(rule)) for rule in rules]
    if not rules or None in names:
        message = f"there is no rule '{one.strip()}'"
        raise ProgramError([Diagnostic(catalogue.UNKNOWN_RULE, message, None, did_you_mean(one, graph.rules))])
    return [name for name in names if name is not None]


def _without_what_stays(added: list[Rule], graph: RuleGraph, gone: list[str]) -> tuple[list[Rule], list[str]]:
    """A rule that is there under the same name is not added, and one that is removed and added at once stays."""
    staying = {rule.name for rule in added if graph.rules.get(rule.name) == rule}
    return [rule for rule in added if rule.name not in staying], [name for name in gone if name not in staying]


def _arity_mistakes(program: Program, arities: dict[str, int]) -> list[Diagnostic]:
    wrong = [found for found in (*check_arities(program), *check_names(program)) if found.is_error]
    for name, info in predicates_of(program).items():
        known = arities.get(name)
        if info.arity is not None and known is not None and info.arity != known:
            wrong.append(arity_mismatch(name, info.arity, known))
    return wrong


def _clause(rule: Rule) -> Clause:
    return Clause((rule.head,), rule.body, rule.name, rule.span)
