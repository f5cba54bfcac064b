"""The university ontology: 128 axioms in `ontology.csv`, each of which is one rule."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("ontology.csv")


@dataclass(frozen=True)
class Axiom:
    """`groups` are the sets of rules that experiments with rule changes add and remove."""

    kind: str
    first: str
    second: str
    groups: frozenset[str]

    @property
    def rule(self) -> str:
        first, second = self.first, self.second
        match self.kind:
            case "source":
                variables = ", ".join("XY"[: int(second)])
                return f"{first}({variables}) :- src_{first}({variables})."
            case "subclass":
                return f"{second}(X) :- {first}(X)."
            case "domain":
                return f"{second}(X) :- {first}(X, Y)."
            case "range":
                return f"{second}(Y) :- {first}(X, Y)."
            case "subproperty":
                return f"{second}(X, Y) :- {first}(X, Y)."
            case "inverse":
                return f"{second}(Y, X) :- {first}(X, Y)."
            case "transitive":
                return f"{first}(X, Z) :- {first}(X, Y), {first}(Y, Z)."
            case "defined":
                *classes, role, filler = second.split(" & ")
                body = [*(f"{name}(X)" for name in classes), f"{role}(X, Y)", f"{filler}(Y)"]
                return f"{first}(X) :- {', '.join(body)}."
            case _:
                raise ValueError(f"there are no axioms of the kind '{self.kind}'")


def axioms() -> list[Axiom]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return [
            Axiom(row["axiom"], row["first"], row["second"], frozenset(filter(None, row["group"].split(";"))))
            for row in csv.DictReader(file)
        ]


def program() -> str:
    return "\n".join(axiom.rule for axiom in axioms()) + "\n"


def sources() -> dict[str, int]:
    """The predicates that data files give, and their arities."""
    return {f"src_{axiom.first}": int(axiom.second) for axiom in axioms() if axiom.kind == "source"}


def derived() -> tuple[str, ...]:
    """The predicates of the ontology itself, all of which some rule derives."""
    return tuple(dict.fromkeys(rule.partition("(")[0] for rule in program().splitlines()))
