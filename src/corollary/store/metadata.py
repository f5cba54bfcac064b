"""The metadata of a version, which is everything but its facts, as rows of a table: the rules and what else the program says,
settings, predicates, marks, and how ids are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from corollary.analysis import Analysis, analyse
from corollary.diagnostics import ProgramError
from corollary.engines.spark.terms.ids import HASH_BITS, CollisionTable
from corollary.language import TRUSTED, Permissions, Printer, parse, print_rule
from corollary.program import Clause, FactBlock, InputDeclaration, PrefixDeclaration, Program, Statement
from corollary.store.manifest import Manifest

Rows = list[list[str]]

PREFIX, STATEMENT, RULE = "prefix", "statement", "rule"
_SETTING, _PREDICATE, _SALT, _MARK = "setting", "predicate", "salt", "mark"


@dataclass
class VersionMetadata:
    """The rules, settings, predicates, collisions of ids and marks of a version."""

    program: list[list[str]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    predicates: dict[str, int] = field(default_factory=dict)
    collisions: CollisionTable = field(default_factory=CollisionTable)
    marks: dict[str, Any] = field(default_factory=dict)


def rows_of_meaning(meaning: VersionMetadata) -> list[list[str]]:
    return [
        *meaning.program,
        *([_SETTING, name, json.dumps(value)] for name, value in meaning.settings.items()),
        *([_PREDICATE, name, str(arity)] for name, arity in meaning.predicates.items()),
        *([_SALT, json.dumps(form), str(salt)] for form, salt in meaning.collisions.salts.items()),
        [_SETTING, "hash bits", str(meaning.collisions.hash_bits)],
        *([_MARK, name, json.dumps(value)] for name, value in meaning.marks.items()),
    ]


def meaning_of(rows: Sequence[Sequence[str]]) -> VersionMetadata:
    meaning = VersionMetadata()
    salts, bits = {}, HASH_BITS
    for kind, name, text in rows:
        if kind in (PREFIX, STATEMENT, RULE):
            meaning.program.append([kind, name, text])
        elif kind == _SETTING and name == "hash bits":
            bits = int(text)
        elif kind == _SETTING:
            meaning.settings[name] = json.loads(text)
        elif kind == _PREDICATE:
            meaning.predicates[name] = int(text)
        elif kind == _SALT:
            datatype, canonical = json.loads(name)
            salts[datatype, canonical] = int(text)
        elif kind == _MARK:
            meaning.marks[name] = json.loads(text)
    meaning.collisions = CollisionTable(salts, bits)
    return meaning


def follow(meaning: VersionMetadata, manifest: Manifest) -> None:
    """Update the metadata with the changes that a manifest records."""
    meaning.program = manifest.program if manifest.program is not None else meaning.program
    meaning.settings = manifest.settings if manifest.settings is not None else meaning.settings
    meaning.marks = manifest.marks if manifest.marks is not None else meaning.marks
    meaning.predicates |= manifest.predicates
    if manifest.salts:
        meaning.collisions = meaning.collisions.with_salts({(one[0], one[1]): one[2] for one in manifest.salts})


def new_salts(now: CollisionTable, before: CollisionTable) -> list[list[Any]]:
    return [[*form, salt] for form, salt in now.salts.items() if before.salts.get(form) != salt]


def prefixes_of(meaning: VersionMetadata) -> dict[str, str]:
    """Return the prefixes of the program."""
    return program_of([row for row in meaning.program if row[0] == PREFIX]).prefixes


# -- programs ----------------------------------------------------------------------------------------------------------


def rows_of(analysis: Analysis) -> Rows:
    """Return kind, name and text of everything that has to be known of a program; its facts and files are stored as facts."""
    printer = Printer()
    rows: Rows = []
    prefixes = analysis.program.of_type(PrefixDeclaration)
    for declaration in prefixes:
        rows.append([PREFIX, declaration.name, "\n".join(printer.statement(declaration))])
    for statement in analysis.program.statements:
        if not isinstance(statement, (Clause, FactBlock, InputDeclaration, PrefixDeclaration)):
            rows.append([STATEMENT, "", "\n".join(printer.statement(statement))])
    rows += [[RULE, rule.name, print_rule(rule, analysis.program.prefixes)] for rule in analysis.graph.rules.values()]
    return rows


def analysis_of(rows: Sequence[Sequence[str]]) -> Analysis:
    """Return the program of these rows; raise `ProgramError` where this version of the language does not read them."""
    return analyse(program_of(rows))


def program_of(rows: Sequence[Sequence[str]], permissions: Permissions = TRUSTED) -> Program:
    names = iter([name for kind, name, _ in rows if kind == RULE])
    parsed = parse("\n".join(text for _, _, text in rows), permissions=permissions)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    return Program(tuple(_named(statement, names) for statement in parsed.program.statements))


def _named(statement: Statement, names: object) -> Statement:
    return replace(statement, name=next(names)) if isinstance(statement, Clause) else statement  # type: ignore[call-overload]


def rule_changes(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> tuple[Rows, Rows]:
    """Return the rules that went and those that came."""
    old, new = ({(row[1], row[2]) for row in rows if row[0] == RULE} for rows in (before, after))
    return [[RULE, *rule] for rule in sorted(old - new)], [[RULE, *rule] for rule in sorted(new - old)]
