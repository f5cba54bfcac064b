"""Manifests: a version of a store exists if its manifest does, which lists its files, its cause and its changes."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from corollary.analysis import Analysis, analyse
from corollary.diagnostics import ProgramError, catalogue
from corollary.engines.spark.terms.ids import HASH_BITS, CollisionTable
from corollary.language import TRUSTED, Permissions, Printer, parse, print_rule
from corollary.program import Clause, FactBlock, InputDeclaration, PrefixDeclaration, Program, Statement
from corollary.store.delta_folder import TableVersion
from corollary.store.files import digest_of, read_named, sync_folder, write_exclusively, write_named
from corollary.store.problems import damaged, problem

# -- metadata ----------------------------------------------------------------------------------------------------------

# The metadata of a version, which is everything but its facts, as rows of a table: the rules and what else the program says,
# settings, predicates, marks, and how ids are made.

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


# -- manifest ----------------------------------------------------------------------------------------------------------

FORMAT = 3  # 1 had literals as they were written, 2 hashed doubles: this version would take them for other constants
"""The number of the format that this version of Corollary writes, and the newest that it reads."""

_ATTEMPTS = 5
_SINGLE = re.compile(r"^(\d{10})\.json$")
_PACK = re.compile(r"^pack-(\d{10})-(\d{10})-[0-9a-f]{32}\.jsonl$")


@dataclass(frozen=True)
class Counts:
    """How much a version changed (explicit facts, visible facts of predicates, rules) and how many facts it has."""

    explicit_inserted: int = 0
    explicit_deleted: int = 0
    inserted: int = 0
    deleted: int = 0
    rules_added: int = 0
    rules_removed: int = 0


@dataclass(frozen=True)
class Manifest:
    """`folded` is the version up to which the tables have everything; what came later is in the changes of the versions."""

    version: int
    cause: str
    folded: int
    tables: dict[str, TableVersion]
    counts: Counts = field(default_factory=Counts)
    time: float = field(default_factory=time.time)
    changes: list[Any] = field(default_factory=list)
    """Changes of support, as `parts.to_json` writes them."""
    terms: list[list[Any]] = field(default_factory=list)
    """New rows of the universe."""
    files: list[str] = field(default_factory=list)
    """Files beside the manifest with more of the changes, as tables; and of the terms, where the name says so."""
    folder: str = ""
    """The folder of each table that has the files of this version."""
    is_anew: bool = False
    """Whether the tables of this version stand for themselves: the changes do not lead here from the version before."""
    program: list[list[str]] | None = None
    """The rules and what else the program says, where that changed."""
    settings: dict[str, Any] | None = None
    predicates: dict[str, int] = field(default_factory=dict)
    """Predicates that are new, with their numbers of arguments."""
    salts: list[list[Any]] = field(default_factory=list)
    """Constants that have another id than their hash, since that was taken: datatype, canonical form, salt."""
    marks: dict[str, Any] | None = None
    """What the caller wants to know of this version later, as how far it has read a stream."""

    def to_bytes(self) -> bytes:
        body = {"format": FORMAT, **_without_nothing(asdict(self))}
        text = _text(body)
        return (_text({**body, "digest": digest_of(text.encode())}) + "\n").encode()

    @staticmethod
    def of_bytes(data: bytes, file: Path) -> Manifest:
        try:
            body = json.loads(data)
            digest = body.pop("digest")
            number = body.pop("format")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise damaged(file, "is damaged: it is not a manifest", _GO_BACK) from None
        check_format(number, file)
        if digest_of(_text({"format": number, **body}).encode()) != digest:
            raise damaged(file, "is damaged: its contents are not what was written", _GO_BACK)
        tables = {name: TableVersion(**one) for name, one in body.pop("tables", {}).items()}
        counts = Counts(**body.pop("counts", {}))
        return Manifest(tables=tables, counts=counts, **body)


def check_format(number: Any, file: Path) -> None:
    """Refuse what another version of Corollary has written in another way."""
    if isinstance(number, int) and number != FORMAT:
        message = f"{file} has format {number}, and this version of Corollary reads format {FORMAT}"
        older = "publish its facts with the version that wrote it, and load them"
        hint = "a newer version of Corollary reads it" if number > FORMAT else older
        raise problem(catalogue.OTHER_FORMAT, message, hint)


_GO_BACK = "an earlier version can still be opened: version=…"
_ALWAYS = {"version", "cause", "folded", "tables", "time"}
_MAY_BE_EMPTY = {"program", "settings", "marks"}


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def _without_nothing(body: dict[str, Any]) -> dict[str, Any]:
    counts = {name: count for name, count in body.pop("counts").items() if count}
    kept = {name: one for name, one in body.items() if name in _ALWAYS or not _says_nothing(name, one)}
    return {**kept, **({"counts": counts} if counts else {})}


def _says_nothing(name: str, value: Any) -> bool:
    """A program without rules is not the same as no change of the program."""
    return value is None or (name not in _MAY_BE_EMPTY and value in ("", [], {}, False))


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise damaged(file, f"cannot be read: {error.strerror or error}", _GO_BACK) from None


class VersionFiles:
    """The manifests of a store, a file each; those of long ago stand together in packs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        """All versions, in order."""
        singles, packs = self._listed()
        found = set(singles)
        for first, last, _ in packs:
            found.update(range(first, last + 1))
        return sorted(found)

    def latest(self) -> int:
        singles, packs = self._listed()
        return max([0, *singles, *(last for _, last, _ in packs)])

    def read(self, numbers: Iterable[int]) -> list[Manifest]:
        """The manifests of these versions, in order."""
        wanted = sorted(numbers)
        for _ in range(_ATTEMPTS):
            try:
                return self._read(wanted)
            except FileNotFoundError as error:  # somebody has just packed it
                missing = error.filename
                time.sleep(0.01)
        raise damaged(missing, "is missing", _GO_BACK)

    def _read(self, wanted: list[int]) -> list[Manifest]:
        _, packs = self._listed()
        found: dict[int, Manifest] = {}
        for first, last, name in packs:
            inside = [number for number in wanted if first <= number <= last]
            if inside:
                file = self.folder / name
                lines = read_named(file).to_pybytes().splitlines()
                found |= {number: Manifest.of_bytes(lines[number - first], file) for number in inside}
        for number in wanted:
            if number not in found:
                file = self.path(number)
                found[number] = Manifest.of_bytes(_contents(file), file)
        return [found[number] for number in wanted]

    def add(self, manifest: Manifest) -> None:
        """Make a version exist. Raise `FileExistsError` if another process has already made it."""
        write_exclusively(self.path(manifest.version), manifest.to_bytes())

    def pack(self, last: int) -> None:
        """Combine the manifests up to a version into a pack, because thousands of small files take space and time."""
        singles, _ = self._listed()
        first = min(singles, default=last)
        numbers = list(range(first, last + 1))
        if len(numbers) < 2 or not set(numbers) <= set(singles):
            return
        lines = b"".join(self.path(number).read_bytes() for number in numbers)
        write_named(self.folder, f"pack-{first:010}-{last:010}", "jsonl", lines)
        sync_folder(self.folder)
        for number in numbers:
            self.path(number).unlink()

    def forget(self, numbers: Iterable[int]) -> None:
        """Remove versions."""
        gone = set(numbers)
        singles, packs = self._listed()
        for first, last, name in packs:
            kept = [number for number in range(first, last + 1) if number not in gone]
            if len(kept) <= last - first:
                lines = read_named(self.folder / name).to_pybytes().splitlines(keepends=True)
                if kept:  # the oldest go first, so these are the last ones
                    left = b"".join(lines[number - first] for number in kept)
                    write_named(self.folder, f"pack-{kept[0]:010}-{last:010}", "jsonl", left)
                    sync_folder(self.folder)
                (self.folder / name).unlink(missing_ok=True)
        for number in gone & set(singles):
            self.path(number).unlink(missing_ok=True)
        sync_folder(self.folder)

    def path(self, number: int) -> Path:
        return self.folder / f"{number:010}.json"

    def _listed(self) -> tuple[set[int], list[tuple[int, int, str]]]:
        singles: set[int] = set()
        packs: list[tuple[int, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if single := _SINGLE.match(entry.name):
                    singles.add(int(single[1]))
                elif pack := _PACK.match(entry.name):
                    packs.append((int(pack[1]), int(pack[2]), entry.name))
        return singles, packs
