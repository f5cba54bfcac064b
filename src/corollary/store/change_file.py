"""Change files, which carry inserted and deleted explicit facts and rules to another knowledge base.

A change file is a line of JSON that describes the contents, and two Arrow streams: the facts, and the constants of their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.io.atomic import replacing
from corollary.language import Permissions
from corollary.language.permissions import TO_COMPARE
from corollary.program import Clause, Program, Rule, Value
from corollary.program.arities import with_arities
from corollary.program.rewrite import without_names
from corollary.store.embedded_exchange import part_of
from corollary.store.files import digest_of
from corollary.store.history import parts_between, terms_of_parts
from corollary.store.manifest import PREFIX, program_of, rule_changes
from corollary.store.parts import StoredChange, from_table, merged, to_table
from corollary.store.relations import load_relations
from corollary.store.store import Store
from corollary.store.terms import StoredTerms, codes_of_rows
from corollary.transactions import Change

FORMAT = 3  # as that of stores


@dataclass(frozen=True)
class IdRows:
    """Facts of a change file; an engine asks for their codes in its own universe."""

    ids: np.ndarray[Any, np.dtype[np.int64]]
    terms: pa.Table

    def codes_in(self, universe: Universe) -> Codes:
        return codes_of_rows(universe, self.ids, self.terms)

    def values(self) -> list[tuple[Value, ...]]:
        universe = Universe()
        codes = self.codes_in(universe)
        values = universe.values(codes.ravel().tolist())
        width = codes.shape[1]
        return [tuple(values[at * width : (at + 1) * width]) for at in range(len(codes))]

    def __len__(self) -> int:
        return len(self.ids)


def write_changes(store: Store, since: int, path: Path) -> None:
    """Write the explicit facts and rules that differ between version `since` and the current version of a store to a change
    file."""
    old, new = Store.open(store.path, since), Store.open(store.path, store.version)
    between = parts_between(old, new)
    parts = merged(part for part in between if part.owner == EXPLICIT) if between is not None else _compared(old, new)
    parts = [part for part in parts if part.change.any()]
    terms = terms_of_parts(parts, new)
    used = np.arange(terms.universe.size, dtype=np.uint32)
    gone, come = rule_changes(old.meaning.program, new.meaning.program)
    streams = [_stream(to_table(parts)), _stream(terms.new_terms([used], stored=True)[1])]
    header = {
        "corollary": "changes",
        "format": FORMAT,
        "since": since,
        "version": new.version,
        "rules added": come,
        "rules removed": gone,
        "prefixes": [row for row in new.meaning.program if row[0] == PREFIX],
        "lengths": [len(stream) for stream in streams],
    }
    body = b"".join(streams)
    header["digest"] = digest_of(json.dumps(header, sort_keys=True).encode() + body)
    with replacing(path) as aside:
        aside.write_bytes(json.dumps(header).encode() + b"\n" + body)


def _compared(old: Store, new: Store) -> list[StoredChange]:
    """Where no changes lead from one version to the other: both are read."""
    terms = StoredTerms(Universe(), new.meaning.collisions)
    sides = [load_relations(store, terms, {EXPLICIT: EXPLICIT}).relations for store in (old, new)]
    parts = []
    for relations, sign in zip(sides, (-1, 1), strict=True):
        for name, relation in relations.items():
            facts = relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
            parts.append(part_of(name, EXPLICIT, facts, np.full(len(facts), sign, np.int64), None, terms))
    return merged(parts)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class FileChange(Change):
    """A change read from a change file; its rows are encoded."""

    def with_values(self) -> Change:
        """Return this change with plain rows, for engines that have no codes."""
        insert, delete = ({name: rows.values() for name, rows in side.items()} for side in (self.insert, self.delete))
        return Change(insert, delete, self.add_rules, self.remove_rules)


def read_changes(path: Path, program: Program, permissions: Permissions, *, mixed_arities: bool) -> FileChange:
    """Return what a change file does to a knowledge base with this program. Rules that are gone already stay so."""
    file = ChangeFile.read(path)
    insert: dict[str, Any] = {}
    delete: dict[str, Any] = {}
    for part in file.parts:
        for side, wanted in ((insert, part.change > 0), (delete, part.change < 0)):
            if wanted.any():
                side[part.predicate] = IdRows(part.ids[wanted], file.terms)
    prefixes = file.header["prefixes"]
    gone = program_of([*prefixes, *file.header["rules removed"]], TO_COMPARE)
    removed = _names_of((with_arities(gone) if mixed_arities else gone).rules, program.rules)
    come = program_of([*prefixes, *file.header["rules added"]], permissions)
    missing = [row for row in prefixes if row[1] not in program.prefixes]
    added = Program((*program_of(missing, permissions).statements, *come.of_type(Clause)))
    return FileChange(insert, delete, (added,) if added.statements else (), removed)


def _names_of(gone: Iterable[Rule], there: Iterable[Rule]) -> tuple[str, ...]:
    """Return the names under which rules are there, one for each: its own, or that of another rule that is the same."""
    known: dict[Rule, list[str]] = {}
    for rule in there:
        known.setdefault(without_names(rule), []).append(rule.name)
    found = []
    for rule in sorted(gone, key=lambda rule: rule.name not in known.get(without_names(rule), ())):
        names = known.get(without_names(rule), [])
        if names:
            found.append(names.pop(names.index(rule.name) if rule.name in names else 0))
    return tuple(found)


class ChangeFile:
    """The contents of a change file, checked."""

    def __init__(self, header: dict[str, Any], facts: pa.Table, terms: pa.Table) -> None:
        self.header = header
        self._facts = facts
        self.terms = terms

    @cached_property
    def parts(self) -> list[StoredChange]:
        return list(from_table(self._facts))

    @staticmethod
    def read(path: Path) -> ChangeFile:
        try:
            line, _, body = path.read_bytes().partition(b"\n")
            header = json.loads(line)
            if header["corollary"] != "changes":
                raise ValueError
            number = header["format"]
        except OSError as error:
            raise _bad(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise _bad(f"{path} is not a change file") from None
        if number != FORMAT:
            raise _bad(f"{path} has format {number}, and this version of Corollary reads format {FORMAT}")
        digest = header.pop("digest", "")
        if digest_of(json.dumps(header, sort_keys=True).encode() + body) != digest:
            raise _bad(f"{path} is damaged: its contents are not what was written")
        split = header["lengths"][0]
        facts, terms = (pa.ipc.open_stream(stream).read_all() for stream in (body[:split], body[split:]))
        return ChangeFile(header, facts, terms)


def _bad(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_CHANGE_FILE, message)])
