"""The Yield index of a rule, to look at: its facts and entries as text (paper 003)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from corollary.analysis.constraints import Elements

_LIMIT = 20


@dataclass(frozen=True)
class IndexedAtom:
    """An atom of the body and the facts of its predicate.

    `matches` are part of an instance of the rule, `dummies` wait for a partner, and `filtered` ones do not pass a constant,
    a comparison or a location, so they are not indexed. Facts of a negated atom match if they forbid something.
    """

    name: str
    matches: tuple[str, ...]
    dummies: tuple[str, ...]
    filtered: tuple[str, ...]


@dataclass(frozen=True)
class YieldEntry:
    """A semantic entry (Fire, Type, KEY, Root, Pointer).

    `facts` are those of the atom `root` with this key. The entry fires if a fact of the atom `pointer` matches them, apart
    from their other partners. `matches` are these facts; `dummies` have the right key but wait for partners of their own.
    Under a negation, `dummies` are the facts that forbid a match.
    """

    fire: bool
    type: str
    key: tuple[str, ...]
    root: str
    pointer: str
    facts: tuple[str, ...]
    matches: tuple[str, ...]
    dummies: tuple[str, ...]


@dataclass(frozen=True)
class YieldLink:
    """The semantic entries between two atoms, in both directions; `data_index` is where their keys are."""

    condition: str
    type: str
    one: str
    other: str
    data_index: str
    entries: tuple[YieldEntry, ...]


@dataclass(frozen=True)
class IndexWork:
    """Accesses: to entries of indexes, to facts, and to facts in vain."""

    index: int
    tuples: int
    wasted: int


@dataclass(frozen=True, repr=False)
class YieldEntries:
    """The Yield index of a rule over the visible facts.

    `construction` is the cost of building it, `activation` that of finding all instances, whose heads are `instances`.
    """

    rule: str
    text: str
    sce: Elements
    mce: Elements
    atoms: tuple[IndexedAtom, ...]
    links: tuple[YieldLink, ...]
    construction: IndexWork
    activation: IndexWork
    instances: tuple[str, ...]
    is_used: bool
    """Whether the knowledge base follows changes of this rule with the Yield index at present."""

    @property
    def entries(self) -> tuple[YieldEntry, ...]:
        """The semantic entries of all links."""
        return tuple(entry for link in self.links for entry in link.entries)

    @property
    def summary(self) -> str:
        """The number of entries, of those that fire, and of instances."""
        entries, instances = len(self.entries), len(self.instances)
        fired = sum(entry.fire for entry in self.entries)
        return f"{fired} of {entries} semantic entries fire, {instances} instance{'' if instances == 1 else 's'}"

    def as_dict(self) -> dict[str, object]:
        """Return the object that `corollary yield --format json` prints for a rule."""
        return {
            "rule": self.rule,
            "text": self.text,
            "is_used": self.is_used,
            "sce": [str(one) for one in self.sce],
            "mce": [{"element": str(one), "type": one.type} for one in self.mce],
            "atoms": [asdict(atom) for atom in self.atoms],
            "links": [asdict(link) for link in self.links],
            "accesses": {"construction": asdict(self.construction), "activation": asdict(self.activation)},
            "instances": list(self.instances),
        }

    def to_json(self) -> str:
        """Return the index as the text of a JSON object."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def __repr__(self) -> str:
        return f"<YieldEntries of {self.rule}: {self.summary}>"

    def __str__(self) -> str:
        return self.shown()

    def shown(self, limit: int | None = _LIMIT) -> str:
        """Return the index as text, with at most this many entries of each link and instances; None shows all."""
        return "\n".join(self._lines(limit))

    def _lines(self, limit: int | None) -> Iterator[str]:
        yield f"{self.rule}: {self.text}"
        yield "" if self.is_used else "(not in use: changes of this rule are followed without the index)\n"
        yield f"SCE  {', '.join(map(str, self.sce)) or 'none'}"
        yield f"MCE  {', '.join(f'{one} ({one.type})' for one in self.mce) or 'none'}"
        yield ""
        sizes = [(atom.name, len(atom.matches), len(atom.dummies), len(atom.filtered)) for atom in self.atoms]
        yield from _table(("atom", "matches", "dummies", "filtered out"), sizes)
        for link in self.links:
            yield ""
            yield f"{link.condition} ({link.type}), data index on {link.data_index}"
            rows = [
                (
                    "T" if entry.fire else "F",
                    ", ".join(entry.key) or "-",
                    _of(entry.root, entry.facts),
                    _of(entry.pointer, _pointed(entry)),
                )
                for entry in link.entries[:limit]
            ]
            yield from _table(("fire", "key", "root", "pointer"), rows, "  ")
            yield from _more(len(link.entries), limit, "entries")
        yield ""
        work = [
            (name, one.index, one.tuples, one.wasted)
            for name, one in (("construction", self.construction), ("activation", self.activation))
        ]
        yield from _table(("accesses", "index", "tuples", "in vain"), work)
        yield ""
        yield f"instances: {len(self.instances)}"
        yield from (f"  {head}" for head in self.instances[:limit])
        yield from _more(len(self.instances), limit, "instances")


def _of(atom: str, facts: Sequence[str]) -> str:
    """Return the facts of an atom, with its name in front if they alone do not tell it."""
    if not facts:
        return f"{atom}: none"
    return f"{atom}: {', '.join(facts)}" if "[" in atom else ", ".join(facts)


def _pointed(entry: YieldEntry) -> list[str]:
    word = "forbidden by" if entry.pointer.startswith("not ") else "dummy"
    return [*entry.matches, *(f"{word} {fact}" for fact in entry.dummies)]


def _more(count: int, limit: int | None, what: str) -> Iterator[str]:
    if limit is not None and count > limit:
        yield f"  … and {count - limit:,} more {what}"


def _table(names: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "") -> Iterator[str]:
    written = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*written, strict=True)]
    for row in written:
        yield (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
