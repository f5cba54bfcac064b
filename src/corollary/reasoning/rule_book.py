"""The rules of a program after some were removed and others added.

Rules are addressed by name or by text. A rule that differs only in the names of its variables is the same rule: adding
it again without a name changes nothing, and either text removes it. A rule keeps its name as long as it exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from corollary.analysis import (
    Analysis,
    RuleChange,
    RuleGraph,
    check_evaluable,
    check_safety,
    check_stratification,
    delete_rules,
    insert_rules,
    predicates_of,
)
from corollary.analysis.change_plan import RuleChangePlan
from corollary.analysis.predicates import check_arities, check_functions, check_names
from corollary.analysis.queries import arity_mismatch
from corollary.analysis.suspicions import (
    ShapedRules,
    single_occurrences,
    traps_of_rules,
    undefined_functions,
    without_order,
)
from corollary.analysis.value_kinds import NO_OTHER_FACTS, OtherFacts, ValueKinds
from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.language import NOTHING, Permissions, parse
from corollary.language.permissions import TO_COMPARE, refusals_of_program
from corollary.program import Clause, Program, Query, Rule, Statement
from corollary.program.arities import with_arities
from corollary.program.rewrite import without_names

_NUMBERED = re.compile(r"r(\d+)(\.\d+)?_*")


@dataclass(frozen=True)
class RuleEdit:
    """The analysis of the program before and after the edit, the statements that were added, and those that are not rules.

    `removal` and `addition` are what it does to the hyper-nodes, in this order.
    """

    before: Analysis
    analysis: Analysis
    added: Program
    statements: tuple[Statement, ...] = ()
    removal: RuleChange | None = None
    addition: RuleChange | None = None

    @property
    def program(self) -> Program:
        return Program(self.statements)

    @property
    def plan(self) -> RuleChangePlan:
        """The hyper-nodes that the edit changes, and the order in which they are derived again."""
        return RuleChangePlan.of(self.before.graph, self.removal, self.addition, self.analysis.program.prefixes)


def edit_rules(
    analysis: Analysis,
    add: Iterable[str | Program],
    remove: Iterable[str],
    arities: dict[str, int],
    tick: Callable[[], None],
    permissions: Permissions = NOTHING,
    others: OtherFacts = NO_OTHER_FACTS,
) -> RuleEdit:
    """Remove rules and add others; raise `ProgramError` if one of them is wrong or not allowed.

    `others` are the facts that are not in the program text. `tick` is called now and then, and may stop the edit by
    raising.
    """
    prefixes = analysis.program.prefixes
    programs = [_program(one, prefixes, permissions, tick) for one in add]
    if analysis.meaning.mixed_arities:
        programs = [with_arities(one) for one in programs]
    statements = [statement for one in programs for statement in one.statements]
    gone = list(dict.fromkeys(name for one in remove for name in named_rules(one, analysis)))
    added, gone = _without_what_stays(_rules(statements, analysis.graph, gone), analysis.graph, gone)
    queries = [query for query in statements if isinstance(query, Query)]
    wrong = [*(check_evaluable(queries) if queries else ()), *check_functions(Program(tuple(statements)))]
    removal = delete_rules(analysis.graph, gone) if gone else None
    graph = removal.graph if removal is not None else analysis.graph
    wrong += [found for rule in added for found in check_safety(rule, analysis.meaning)]
    if wrong:
        raise ProgramError(wrong)
    addition = insert_rules(graph, added, check=False, tick=tick) if added else None
    graph = addition.graph if addition is not None else graph
    rest = [statement for statement in statements if not isinstance(statement, Clause)]
    new = Program((*map(_clause, added), *rest))
    wrong += _arity_mistakes(new, arities)
    if wrong:
        raise ProgramError(wrong)
    kept = [statement for statement in analysis.program.statements if not isinstance(statement, Clause)]
    program = Program.of([*kept, *_clauses(graph, analysis.program), *rest])
    kinds = ValueKinds(program, others)
    wrong += undefined_functions(kinds, added)
    edited = replace(analysis, program=program, graph=graph).knowing(arities)
    local = analysis.meaning.is_local
    if not analysis.meaning.is_well_founded and (not local or edited.lowered.has_undecided):
        wrong += check_stratification(edited.lowered, local=local)
    if wrong:
        raise ProgramError(wrong)
    removed = [analysis.graph.rules[name] for name in gone]
    diagnostics = _without_those_of(removed, analysis.diagnostics), _warnings_of(added, kinds)
    after = edited.with_diagnostics(tuple(one for part in diagnostics for one in part))
    return RuleEdit(analysis, after, new, tuple(rest), removal, addition)


def _without_those_of(rules: Sequence[Rule], diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the diagnostics that are not about the text of one of the rules."""
    places = [rule.span for rule in rules if rule.span is not None]
    for one in diagnostics:
        inside = one.span is not None and any(
            one.span.source is place.source and place.start <= one.span.start < place.end for place in places
        )
        if not inside:
            yield one


def _warnings_of(rules: Sequence[Rule], kinds: ValueKinds) -> Iterator[Diagnostic]:
    for rule in rules:
        yield from single_occurrences(rule)
    yield from traps_of_rules(ShapedRules(rules), kinds.program)
    yield from without_order(kinds, rules)


def _program(
    text: str | Program, prefixes: dict[str, str], permissions: Permissions, tick: Callable[[], None]
) -> Program:
    if isinstance(text, Program):
        if refusals := list(refusals_of_program(text, permissions)):
            raise ProgramError(refusals)
        return text
    parsed = parse(text, prefixes=prefixes, permissions=permissions, tick=tick)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    return parsed.program


def _rules(statements: Sequence[Statement], graph: RuleGraph, gone: Sequence[str]) -> list[Rule]:
    """Return the rules among the statements; unnamed ones get the next numbers, unless they exist already."""
    if not any(isinstance(statement, Clause) for statement in statements):
        return []
    numbers = [int(match[1]) for name in graph.rules if (match := _NUMBERED.fullmatch(name))]
    following = max([0, len(graph.rules), *numbers]) + 1
    heads = {head.predicate for clause in statements if isinstance(clause, Clause) for head in clause.heads}
    known = _Alike()
    for rule in graph.rules.values():
        if rule.head.predicate in heads and rule.name not in gone:
            known.add(rule)
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
                rules = [rule for rule in rules if rule not in known]
                following += bool(rules)
            for rule in rules:
                known.add(rule)
            found += rules
    return found


class _Alike:
    """Rules by the predicate of their heads, to find those that are equal up to their names and the names of variables."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Rule]] = {}  # not compared yet
        self._known: dict[str, set[Rule]] = {}

    def add(self, rule: Rule) -> None:
        self._waiting.setdefault(rule.head.predicate, []).append(rule)

    def __contains__(self, rule: Rule) -> bool:
        predicate = rule.head.predicate
        if waiting := self._waiting.pop(predicate, []):
            self._known.setdefault(predicate, set()).update(map(without_names, waiting))
        known = self._known.get(predicate)
        return known is not None and without_names(rule) in known


def named_rules(one: str, analysis: Analysis) -> list[str]:
    """Return the names of the rules that a name or a text refers to; raise `ProgramError` if there are none."""
    graph, prefixes = analysis.graph, analysis.program.prefixes
    if one in graph.rules:
        return [one]
    if several := [name for name in graph.rules if name.startswith(f"{one}.") and name[len(one) + 1 :].isdigit()]:
        return several
    parsed = parse(one, prefixes=prefixes, permissions=TO_COMPARE)
    program = with_arities(parsed.program) if analysis.meaning.mixed_arities else parsed.program
    clauses = program.of_type(Clause) if not parsed.errors else ()
    found = [_meant(clause, rule, graph) for clause, rule in _with_rules(clauses)]
    if not found or not all(found):
        message = f"there is no rule '{one.strip()}'"
        raise ProgramError([Diagnostic(catalogue.UNKNOWN_RULE, message, None, did_you_mean(one, graph.rules))])
    return [name for names in found for name in names]


def _with_rules(clauses: Iterable[Clause]) -> list[tuple[Clause, Rule]]:
    return [
        (clause, Rule(clause.name or "", head, clause.body, clause.span)) for clause in clauses for head in clause.heads
    ]


def _meant(clause: Clause, rule: Rule, graph: RuleGraph) -> list[str]:
    """Return the names of all rules equal to this one; only that one if the text names it."""
    wanted = without_names(rule)
    same = [name for name, known in graph.rules.items() if known.head.predicate == rule.head.predicate]
    found = [name for name in same if without_names(graph.rules[name]) == wanted]
    if clause.name is None:
        return found
    return [name for name in found if name == clause.name or name.startswith(f"{clause.name}.")]


def _without_what_stays(added: list[Rule], graph: RuleGraph, gone: list[str]) -> tuple[list[Rule], list[str]]:
    """Return the rules to add and the names to remove, without rules that exist under the same name or are both removed
    and added."""
    staying = {rule.name for rule in added if graph.rules.get(rule.name) == rule}
    return [rule for rule in added if rule.name not in staying], [name for name in gone if name not in staying]


def _arity_mistakes(program: Program, arities: dict[str, int]) -> list[Diagnostic]:
    wrong = [found for found in (*check_arities(program), *check_names(program)) if found.is_error]
    for name, info in predicates_of(program).items():
        known = arities.get(name)
        if info.arity is not None and known is not None and info.arity != known:
            wrong.append(arity_mismatch(name, info.arity, known))
    return wrong


def _clauses(graph: RuleGraph, before: Program) -> Iterator[Clause]:
    """Yield the rules as clauses; most are taken from the program before the edit."""
    known = {one.name: one for one in before.statements if type(one) is Clause and len(one.heads) == 1}
    for name, rule in graph.rules.items():
        clause = known.get(name)
        is_same = clause is not None and clause.heads[0] is rule.head and clause.body is rule.body
        yield clause if clause is not None and is_same else _clause(rule)


def _clause(rule: Rule) -> Clause:
    return Clause((rule.head,), rule.body, rule.name, rule.span)
