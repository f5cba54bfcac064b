"""Reads the rules of `benchmarks.rules`: atoms over variables, negation, comparison. Enough to hand them to other engines."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ATOM = re.compile(r"(not )?(\w+)\(([^)]*)\)$")


@dataclass(frozen=True)
class Atom:
    predicate: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class SimpleRule:
    head: Atom
    atoms: tuple[Atom, ...]
    different: tuple[tuple[str, str], ...]


def simple_rules(program: str) -> list[SimpleRule]:
    """Rules with positive atoms and `X != Y` only; raises `ValueError` for others."""
    return [_rule(text) for text in re.findall(r"[^.]+(?=\.)", program)]


def _rule(text: str) -> SimpleRule:
    head, _, body = text.strip().partition(" :- ")
    atoms: list[Atom] = []
    different: list[tuple[str, str]] = []
    for part in re.split(r",\s*(?![^(]*\))", body):
        left, operator, right = part.partition(" != ")
        if operator:
            different.append((left.strip(), right.strip()))
        else:
            atoms.append(_atom(part))
    return SimpleRule(_atom(head), tuple(atoms), tuple(different))


def _atom(text: str) -> Atom:
    match = _ATOM.match(text.strip())
    if match is None or match[1]:
        raise ValueError(f"not a simple atom: {text}")
    return Atom(match[2], tuple(term.strip() for term in match[3].split(",")))
