"""The permissions of a text, depending on its origin.

A program that the host was started with, or that it makes itself, may read and write files (below their roots) and call
functions of the host program. Text that arrives at run time (in a stream, an update file, a change file, `apply`,
`add_rules`) may do none of that unless the host allows it; facts and cells of data never may. The reader checks before
it evaluates anything, because a fact such as `p(score(1)).` calls its function while it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from corollary.diagnostics import Diagnostic, Span, catalogue
from corollary.language.syntax import Node
from corollary.program import (
    AggregateTerm,
    FunctionDeclaration,
    FunctionTerm,
    InputDeclaration,
    OutputDeclaration,
    Program,
)
from corollary.program.atoms import AggregateOperation
from corollary.program.builtins.registry import find_condition
from corollary.program.host_functions import HOST_FUNCTIONS

_DIRECTIVES = {"input": "inputs", "output": "outputs", "function": "functions"}
_DECLARATIONS = {InputDeclaration: "input", OutputDeclaration: "output", FunctionDeclaration: "function"}


@dataclass(frozen=True)
class Permissions:
    """Whether a text may contain `@input`, `@output`, and functions of the host program.

    `functions_in_rules` allows them in rules, which reading does not evaluate, but not in facts.
    """

    inputs: bool = False
    outputs: bool = False
    functions: bool = False
    functions_in_rules: bool = False

    @classmethod
    def of(cls, allowed: Collection[str]) -> Permissions:
        """Return the permissions for the words of the setting `allow`."""
        return cls(**dict.fromkeys(allowed, True))

    def allow(self, word: str) -> bool:
        allowed: bool = getattr(self, word)
        return allowed


TRUSTED = Permissions(inputs=True, outputs=True, functions=True)
NOTHING = Permissions()
TO_COMPARE = Permissions(functions_in_rules=True)
"""The permissions of the text of a rule that is only looked up, not added."""


def refusals_of_clause(clause: Node, permissions: Permissions) -> Iterator[Diagnostic]:
    """Yield an error for each forbidden thing in a clause, before anything in it is evaluated."""
    if permissions == TRUSTED:
        return
    if clause.token.type == "DIRECTIVE":
        word = str(clause.token.value)
        if word in _DIRECTIVES and not permissions.allow(_DIRECTIVES[word]):
            yield _refused_directive(word, clause.span)
        else:
            yield from _refused_calls((child for item in clause.children for child in item.children), permissions)
        return
    if permissions.functions_in_rules and clause.kind in ("rule", "named_rule"):
        return
    parts = [clause.children] if clause.kind == "query" else [part.children for part in clause.children]
    for elements in parts:
        yield from _refused_calls(_terms_in(elements), permissions)


def refusals_of_program(program: Program, permissions: Permissions) -> Iterator[Diagnostic]:
    """Yield an error for each forbidden thing in a program that was read before."""
    for statement in program.statements if permissions != TRUSTED else ():
        word = _DECLARATIONS.get(type(statement))
        if word is not None and not permissions.allow(_DIRECTIVES[word]):
            yield _refused_directive(word, statement.span)
        if not permissions.functions:
            for name in sorted({name for name in _functions_in(statement) if _is_of_host(name)}):
                yield _refused_function(name, statement.span)


def _refused_directive(word: str, span: Span | None) -> Diagnostic:
    allowed = _DIRECTIVES[word]
    message = f"rules that arrive at run time may not have @{word}"
    return Diagnostic(catalogue.NOT_ALLOWED, message, span, _hint(allowed))


def _refused_function(name: str, span: Span | None) -> Diagnostic:
    message = f"rules that arrive at run time may not call the user-defined function '{name}'"
    return Diagnostic(catalogue.NOT_ALLOWED, message, span, _hint("functions"))


def _hint(allowed: str) -> str:
    return f'the host program can allow it: KnowledgeBase(…, allow=["{allowed}"]), or apply(…, allow=["{allowed}"])'


def _is_of_host(name: str) -> bool:
    return name in HOST_FUNCTIONS or name.lower() in HOST_FUNCTIONS


def _terms_in(elements: Collection[Node]) -> Iterator[Node]:
    """Yield the nodes of terms in heads and bodies, without the atoms around them: a predicate may have the name of a
    function."""
    for element in elements:
        while element.kind == "negated":
            element = element.children[0]
        if element.kind == "aggregation":
            call, _, *others = element.children
            yield from _terms_in(call.children)
            yield from others
        elif element.kind == "call" and not _is_of_form(element) and find_condition(str(element.token.value)) is None:
            yield from element.children
        else:
            yield element


def _is_of_form(call: Node) -> bool:
    return any(child.kind in ("alias", "operator") for child in call.children)


def _refused_calls(nodes: Iterable[Node | None], permissions: Permissions) -> Iterator[Diagnostic]:
    waiting = [] if permissions.functions else list(nodes)
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if node.kind == "call" and _is_of_host(str(node.token.value)):
            yield _refused_function(str(node.token.value), node.span)
        waiting += node.children


def _functions_in(thing: Any) -> Iterator[str]:
    """Yield the names of all functions and aggregates in a statement, nested ones included."""
    if isinstance(thing, FunctionTerm):
        yield thing.name
    elif isinstance(thing, (AggregateTerm, AggregateOperation)):
        yield thing.function
    if isinstance(thing, (tuple, list)):
        for one in thing:
            yield from _functions_in(one)
    elif is_dataclass(thing) and not isinstance(thing, (type, Span)):
        for one in fields(thing):
            yield from _functions_in(getattr(thing, one.name))
