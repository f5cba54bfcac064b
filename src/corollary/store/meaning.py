"""What a version says beside its facts: rules, settings, predicates, marks, and how ids are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from corollary.engines.spark.terms.ids import HASH_BITS, CollisionTable
from corollary.store.manifest import Manifest
from corollary.store.program_rows import PREFIX, RULE, STATEMENT, program_of

_SETTING, _PREDICATE, _SALT, _MARK = "setting", "predicate", "salt", "mark"


@dataclass
class Meaning:
    """What a version says beside its facts."""

    program: list[list[str]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    predicates: dict[str, int] = field(default_factory=dict)
    collisions: CollisionTable = field(default_factory=CollisionTable)
    marks: dict[str, Any] = field(default_factory=dict)


def rows_of_meaning(meaning: Meaning) -> list[list[str]]:
    return [
        *meaning.program,
        *([_SETTING, name, json.dumps(value)] for name, value in meaning.settings.items()),
        *([_PREDICATE, name, str(arity)] for name, arity in meaning.predicates.items()),
        *([_SALT, json.dumps(form), str(salt)] for form, salt in meaning.collisions.salts.items()),
        [_SETTING, "hash bits", str(meaning.collisions.hash_bits)],
        *([_MARK, name, json.dumps(value)] for name, value in meaning.marks.items()),
    ]


def meaning_of(rows: Sequence[Sequence[str]]) -> Meaning:
    meaning = Meaning()
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


def follow(meaning: Meaning, manifest: Manifest) -> None:
    """What a version changed of it."""
    meaning.program = manifest.program if manifest.program is not None else meaning.program
    meaning.settings = manifest.settings if manifest.settings is not None else meaning.settings
    meaning.marks = manifest.marks if manifest.marks is not None else meaning.marks
    meaning.predicates |= manifest.predicates
    if manifest.salts:
        meaning.collisions = meaning.collisions.with_salts({(one[0], one[1]): one[2] for one in manifest.salts})


def new_salts(now: CollisionTable, before: CollisionTable) -> list[list[Any]]:
    return [[*form, salt] for form, salt in now.salts.items() if before.salts.get(form) != salt]


def prefixes_of(meaning: Meaning) -> dict[str, str]:
    """The prefixes of the program."""
    return program_of([row for row in meaning.program if row[0] == PREFIX]).prefixes
