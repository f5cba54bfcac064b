"""From program text to tokens, one clause at a time.

The lexer decides what a grammar cannot: `<` starts an IRI where an operand may start and is a comparison elsewhere,
`r1:` is a rule name unless a prefix r1 is declared, `and` or `div` are words of the language only between operands,
`5.` ends a clause. It reports what it cannot read and continues, so that one run shows several mistakes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from corollary.diagnostics import Diagnostic, Source, Span, catalogue
from corollary.language.literals import STANDARD_PREFIXES, EscapeError, LiteralError, typed_value, unescape
from corollary.program import Iri, Literal, Value, find_aggregate
from corollary.program.datatypes import checked_iri
from corollary.program.values import RDF

NUL_HINT = "is this a text file? Save it as UTF-8"
MAX_TOKEN_LENGTH = 1_000_000
MAX_DIGITS = 4_000
MAX_CLAUSE_TOKENS = 100_000
MAX_DEPTH = 200
MAX_ERRORS = 50

_IRI_PART = r'[^\x00-\x20<>"{}|^`\\]*'
IRI = rf"<{_IRI_PART}(?:(?:\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}}){_IRI_PART})*>"
STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"' + r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
LOCAL = r"\w(?:[\w.%-]*[\w%-])?"
LANGUAGE = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"

_SPACE = re.compile(r"[\s\ufeff]+")  # a byte-order mark is ignored, also inside concatenated texts
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|#[^\n]*|%[^\n]*", re.DOTALL)
_IRI = re.compile(IRI)
_IRI_PREFIX = re.compile(IRI.removesuffix(">"))
_STRING = re.compile(STRING)
_NUMBER = re.compile(NUMBER)
_DASHES = re.compile(r"--+(?=\s|$)")
_WORD = re.compile(r"[^\W\d_]\w*")
_WORD_CHARACTERS = re.compile(r"\w+")
_UNDERSCORED = re.compile(r"_\w*")
_QUESTION_VARIABLE = re.compile(r"\?(\w+)")
# Bounded, because they are tried at many positions; anything longer is neither a prefix nor the name of a rule.
_PREFIXED = re.compile(rf"([^\W\d_][\w-]{{0,250}})?:(?![-=])({LOCAL})?")
_RULE_NAME = re.compile(r"([^\W\d_](?:[\w-]|\.(?=\d)){0,250})\s*:(?![-=])")
_LANGUAGE = re.compile(LANGUAGE)
_DIRECTIVE = re.compile(r"@(\w*)")
_OPEN = re.compile(r"\s*\(")
_ENDS_ARGUMENT = re.compile(r"\s*(?:[,).]|:-|<-|$)")
_COMPARATOR_ARGUMENT = re.compile(r"(<=|<>|<)(?=\s*,)|(<=|<)(?=\()")

_SYMBOLS: dict[str, tuple[str, str]] = {
    **{symbol: ("COMPARE", symbol) for symbol in ("<=", ">=", "!=", "=", "<", ">")},
    **{"<>": ("COMPARE", "!="), "≠": ("COMPARE", "!="), "≤": ("COMPARE", "<="), "≥": ("COMPARE", ">=")},
    **{"+": ("PLUS", "+"), "-": ("MINUS", "-"), "*": ("STAR", "*"), "/": ("SLASH", "/"), "%": ("MODULUS", "%")},
    **{",": ("COMMA", ","), "&": ("AND", "&"), "∧": ("AND", "∧"), "!": ("NOT", "!"), "¬": ("NOT", "¬")},
    **{"(": ("LPAR", "("), ")": ("RPAR", ")"), "[": ("LSQB", "["), "]": ("RSQB", "]"), "|": ("BAR", "|")},
    **{":-": ("ARROW", ":-"), ":=": ("ARROW", ":="), "←": ("ARROW", ":-"), "?-": ("QUERY", "?-"), ".": ("END", ".")},
}
_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in sorted(_SYMBOLS, key=len, reverse=True)))
_INFIX_WORDS = {"and": "AND", "div": "DIV", "mod": "MODULUS", "as": "AS", "on": "ON", "with": "WITH"}
_NOT_WORDS = {"not", "naf"}
_OPERANDS = {"VARIABLE", "WILDCARD", "CONSTANT", "NAME", "RPAR", "RSQB"}
_OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "DIV", "MODULUS", "NOT"}
_FOREIGN_SYMBOLS = {
    "==": "write '=' for equality",
    "=<": "write '<='",
    "=>": "write '>='",
    "->": "write the head first: head :- body.",
    ";": "a clause ends with '.'; there is no 'or' in a body: write one rule for each alternative",
    "||": "there is no 'or' in a body: write one rule for each alternative",
    "&&": "write ',' or 'and' between the parts of a body",
    "∨": "there is no 'or' in a body: write one rule for each alternative",
    "\\+": "write 'not'",
    "^": "there is no power operator",
    **dict.fromkeys("“”„‘’", 'write plain quotes: "…"'),
    **dict.fromkeys("−–", "write the plain minus '-'"),
}
_FOREIGN = re.compile("|".join(re.escape(symbol) for symbol in sorted(_FOREIGN_SYMBOLS, key=len, reverse=True)))


@dataclass(frozen=True, slots=True)
class Token:
    """`type` is a terminal of the grammar, `value` its meaning: a name, a symbol, or the value of a constant."""

    type: str
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and its position; `corollary fmt` keeps them."""

    text: str
    span: Span


class Lexer:
    """Reads one source from front to back. `diagnostics` and `comments` grow as clauses are read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.position = 0
        self.prefixes = dict(STANDARD_PREFIXES)
        self.declared: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        self.error_count = 0
        self.comments: list[Comment] = []
        self._tokens: list[Token] = []

    def declare_prefix(self, name: str, iri: str) -> None:
        self.prefixes[name] = iri
        self.declared.add(name)

    def at_end(self) -> bool:
        """Skip white space and comments; return whether nothing else is left."""
        self._skip()
        return self.position >= len(self.source.text)

    def clause(self) -> list[Token] | None:
        """Return the tokens of the next clause with its full stop, or None if its text could not be read."""
        self._tokens = []
        depth, errors = _Depth(), self.error_count
        while not self.at_end() and self.error_count < MAX_ERRORS:
            token = self._token()
            if token is None:
                continue
            self._tokens.append(token)
            if token.type == "END":
                break
            if depth.exceeded_by(token):
                message = f"this expression is nested more than {MAX_DEPTH} levels deep"
                self._report(catalogue.TOO_DEEP, message, token.span, "every bracket and every operator is a level")
                self._skip_clause()
                break
            if len(self._tokens) > MAX_CLAUSE_TOKENS:
                self._report(
                    catalogue.TOO_LONG,
                    f"this clause has more than {MAX_CLAUSE_TOKENS:,} words and symbols",
                    self._tokens[0].span,
                    "is a full stop missing? Facts belong in clauses of their own or in a data file",
                )
                self._skip_clause()
                break
        return self._tokens if self.error_count == errors else None

    # -- white space ------------------------------------------------------------------------------------------------

    def _skip(self) -> None:
        text = self.source.text
        while True:
            if space := _SPACE.match(text, self.position):
                self.position = space.end()
            if not self._starts_comment():
                return
            comment = _COMMENT.match(text, self.position)
            if comment is None:
                span = self.source.span(self.position, self.position + 2)
                self._report(catalogue.UNTERMINATED_COMMENT, "this comment never ends", span, "close it with */")
                self.position = len(text)
                return
            self.comments.append(Comment(comment.group().rstrip(), self.source.span(*comment.span())))
            self.position = comment.end()

    def _starts_comment(self) -> bool:
        text, at = self.source.text, self.position
        if text.startswith(("//", "/*"), at):
            return True
        if text.startswith("#", at):
            return at == 0 or _SPACE.match(text, at - 1) is not None
        return text.startswith("%", at) and not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\r\f\v\ufeff")

    def _skip_clause(self) -> None:
        """Continue after the next full stop that ends a line (or at the end of the text)."""
        stop = re.compile(r"\.\s*(?:\n|$)").search(self.source.text, self.position)
        self.position = stop.end() if stop else len(self.source.text)

    # -- tokens -----------------------------------------------------------------------------------------------------

    def _token(self) -> Token | None:
        text, at = self.source.text, self.position
        first = text[at]
        if first != "." and self._is_complete_prefix():
            return self._missing_stop()
        if self._expects_operand():
            if first == "%" and not text.startswith("%(", at):
                self._misplaced_comment("'%' starts a comment only at the start of a line", 1)
                return None
            if text.startswith("--", at) and self._starts_dashed_comment():
                self._misplaced_comment("'--' does not start a comment", 2)
                return None
            if not self._tokens:
                if first == "@" and (match := _DIRECTIVE.match(text, at)):
                    return self._emit("DIRECTIVE", match.group(1), match.end())
                if (match := _RULE_NAME.match(text, at)) and self._is_rule_name(match):
                    return self._emit("RULE_NAME", match.group(1), match.end())
            elif first == "@":
                return self._emit("AT", "@", at + 1)
            if first == "<" and not _COMPARATOR_ARGUMENT.match(text, at):
                if match := _IRI.match(text, at):
                    return self._iri(match.group(), match.end())
                if text[at + 1 : at + 2].isalpha():
                    self._broken_iri()
                    return None
        elif text.startswith("<-", at) and not self._in_body():
            return self._emit("ARROW", ":-", at + 2)
        if first in "\"'":
            return self._string(at)
        if first.isdigit():
            return self._number()
        if first == "?" and (match := _QUESTION_VARIABLE.match(text, at)):
            return self._variable(match.group(1), match.end())
        if first == "_" and (match := _UNDERSCORED.match(text, at)):
            return self._underscored(match.group(), match.end())
        if (match := _PREFIXED.match(text, at)) and (token := self._prefixed(match)):
            return token
        if match := _WORD.match(text, at):
            return self._word(match.group(), match.end())
        if match := _FOREIGN.match(text, at):
            hint = _FOREIGN_SYMBOLS[match.group()]
            self._unexpected(f"'{match.group()}' is not part of the language", match.end(), hint)
            return None
        if match := _SYMBOL.match(text, at):
            kind, value = _SYMBOLS[match.group()]
            if value == ":=":
                self._warn_odd_arrow()
                value = ":-"
            return self._emit(kind, value, match.end())
        self._unexpected_characters()
        return None

    def _expects_operand(self) -> bool:
        last = self._tokens[-1].type if self._tokens else None
        # No comparison can follow a name in a directive directly: in `@prefix ex <http://…>` a colon is missing.
        return last not in _OPERANDS or (last == "NAME" and self._tokens[0].type == "DIRECTIVE")

    def _emit(self, kind: str, value: Value, end: int) -> Token | None:
        span = self.source.span(self.position, end)
        self.position = end
        if end - span.start > MAX_TOKEN_LENGTH:
            message = f"this word or string has {end - span.start:,} characters; the limit is {MAX_TOKEN_LENGTH:,}"
            self._report(catalogue.TOO_LONG, message, span, "load long values from a data file")
        return Token(kind, value, span)

    def _is_rule_name(self, match: re.Match[str]) -> bool:
        name = match.group(1)
        if name in self.declared:
            return False
        # `rdf:type(X, Y)` is a prefixed name even if rdf is not declared; `rdf: p(X)` names a rule.
        return name not in self.prefixes or not re.match(LOCAL, self.source.text[match.end() : match.end() + 1])

    def _string(self, quote_at: int) -> Token | None:
        text = self.source.text
        match = _STRING.match(text, quote_at)
        if match is None:
            line_end = text.find("\n", quote_at)
            line_end = len(text) if line_end < 0 else line_end
            span = self.source.span(quote_at, quote_at + 1)
            hint = f"close it with {text[quote_at]} on the same line; write \\n for a line break"
            self._report(catalogue.UNTERMINATED_STRING, "this string never ends", span, hint)
            self.position = line_end
            # A full stop at the end of the line most likely ended the clause: continue with the next one.
            ends = text[quote_at:line_end].rstrip().endswith(".")
            return Token("END", ".", span) if ends else None
        value = self._unescaped(match.group()[1:-1], quote_at)
        end = match.end()
        if tag := _LANGUAGE.match(text, end):
            return self._emit("CONSTANT", Literal(value, RDF + "langString", tag.group()[1:].lower()), tag.end())
        if not text.startswith("^^", end):
            return self._emit("CONSTANT", value, end)
        end += 2
        if iri := _IRI.match(text, end):
            datatype, end = self._unescaped(iri.group()[1:-1], end), iri.end()
        elif (name := _PREFIXED.match(text, end)) and name.group(2):
            datatype, end = self._expand(name), name.end()
        else:
            self._unexpected("a datatype must follow '^^'", end, "for example ^^xsd:date")
            return None
        try:
            return self._emit("CONSTANT", typed_value(value, datatype), end)
        except LiteralError as error:
            self._report(catalogue.BAD_LITERAL, str(error), self.source.span(quote_at, end))
            return self._emit("CONSTANT", value, end)

    def _number(self) -> Token | None:
        match = _NUMBER.match(self.source.text, self.position)
        if match is None:  # a digit of another script
            self._unexpected_characters()
            return None
        lexeme, end = match.group(), match.end()
        if len(lexeme) > MAX_DIGITS:
            message = f"this number has {len(lexeme):,} digits; the limit is {MAX_DIGITS:,}"
            span = self.source.span(self.position, end)
            self._report(catalogue.TOO_LONG, message, span)
            self.position = end
            return Token("CONSTANT", 0, span)
        if (word := _WORD_CHARACTERS.match(self.source.text, end)) is not None:
            self._unexpected(f"'{lexeme}{word.group()[:20]}' is neither a number nor a name", word.end())
            return None
        return self._emit("CONSTANT", number_value(lexeme), end)

    def _iri(self, lexeme: str, end: int) -> Token | None:
        iri = self._unescaped(lexeme[1:-1], self.position)
        return self._name_or_constant(iri, end)

    def _name_or_constant(self, iri: str, end: int) -> Token | None:
        if _OPEN.match(self.source.text, end):
            return self._emit("FUNCTOR", iri, end)
        return self._emit("CONSTANT", Iri(iri), end)

    def _prefixed(self, match: re.Match[str]) -> Token | None:
        """Return a prefixed name; None if the text is a plain word that happens to be followed by a colon."""
        prefix, local = match.group(1) or "", match.group(2)
        if prefix in self.prefixes:
            if not local and self._tokens and self._tokens[0].value == "prefix":
                return self._emit("PREFIX_NAME", prefix, match.end())
            return self._name_or_constant(self._expand(match), match.end())
        if self._tokens and self._tokens[0].type == "DIRECTIVE" and not local:
            return self._emit("PREFIX_NAME", prefix, match.end())
        if not local or ("-" in prefix and not _WORD.fullmatch(prefix)):
            return None
        return self._name_or_constant(self._expand(match), match.end())

    def _expand(self, match: re.Match[str]) -> str:
        prefix, local = match.group(1) or "", match.group(2) or ""
        if prefix not in self.prefixes:
            known = ", ".join(sorted({*STANDARD_PREFIXES, *self.declared}))
            hint = f"declare it: @prefix {prefix}: <http://…> .  (known: {known})"
            span = self.source.span(match.start(), match.start() + len(prefix) + 1)
            self._report(catalogue.UNKNOWN_PREFIX, f"the prefix '{prefix}:' is not declared", span, hint)
            self.prefixes[prefix] = f"{prefix}:"  # reported once
        return self.prefixes[prefix] + local

    def _variable(self, name: str, end: int) -> Token | None:
        return self._emit("WILDCARD", "_", end) if name == "_" else self._emit("VARIABLE", name, end)

    def _underscored(self, word: str, end: int) -> Token | None:
        text = self.source.text
        if word == "_" and text[end : end + 1] in ("'", '"') and (match := _STRING.match(text, end)):
            text_of_iri = self._unescaped(match.group()[1:-1], end)
            try:
                return self._emit("CONSTANT", checked_iri(text_of_iri), match.end())
            except LiteralError as error:
                self._report(catalogue.BAD_LITERAL, str(error), self.source.span(self.position, match.end()))
                return self._emit("CONSTANT", Iri(text_of_iri), match.end())
        if word != "_" and _OPEN.match(text, end):
            return self._emit("FUNCTOR", word, end)
        return self._variable(word, end)

    def _word(self, word: str, end: int) -> Token | None:
        text, lowered = self.source.text, word.lower()
        if not self._expects_operand():
            if lowered in _INFIX_WORDS:
                return self._emit(_INFIX_WORDS[lowered], "%" if lowered == "mod" else lowered, end)
        elif lowered in _NOT_WORDS and not self._ends_argument(end):
            return self._emit("NOT", lowered, end)
        elif lowered == "distinct" and not self._ends_argument(end) and self._is_distinct(end):
            return self._emit("DISTINCT", lowered, end)
        if _OPEN.match(text, end):
            return self._emit("FUNCTOR", word, end)
        if word in ("true", "false"):
            return self._emit("CONSTANT", word == "true", end)
        # A capital letter starts a variable in an argument; alone in a body or a head, the name is an atom without arguments.
        return self._emit("VARIABLE" if word[0].isupper() else "NAME", word, end)

    def _in_body(self) -> bool:
        return any(token.type in ("ARROW", "QUERY") for token in self._tokens)

    def _ends_argument(self, end: int) -> bool:
        """Return whether a word that ends here stands alone; `<-` is an arrow only after a head, elsewhere it starts an IRI."""
        match = _ENDS_ARGUMENT.match(self.source.text, end)
        if match is None or not match.group().endswith("<-"):
            return match is not None
        types = [token.type for token in self._tokens]
        return not self._in_body() and types.count("LPAR") == types.count("RPAR")

    def _is_distinct(self, end: int) -> bool:
        """Return whether `distinct` is the keyword, as in `count(distinct (X + Y) * 2)`; `distinct(X)` is a name elsewhere."""
        if not _OPEN.match(self.source.text, end):
            return True
        before = self._tokens[-2:]
        in_call = [token.type for token in before] == ["FUNCTOR", "LPAR"]
        return in_call and find_aggregate(str(before[0].value)) is not None

    # -- mistakes ---------------------------------------------------------------------------------------------------

    def _unescaped(self, raw: str, at: int) -> str:
        if "\\" not in raw:
            return raw
        try:
            return unescape(raw)
        except EscapeError as error:
            span = self.source.span(at + 1 + error.start, at + 1 + error.end)
            hint = "write \\\\ for a backslash" if error.end - error.start == 2 else None
            self._report(catalogue.BAD_ESCAPE, str(error), span, hint)
            return raw

    def _is_complete_prefix(self) -> bool:
        return len(self._tokens) == 3 and self._tokens[0].value == "prefix" and self._tokens[1].type == "PREFIX_NAME"

    def _missing_stop(self) -> Token:
        """Report a @prefix without its full stop; the next clause most likely follows."""
        end = self._tokens[-1].span.end
        span = self.source.span(end, end + 1)
        self._report(catalogue.UNFINISHED_CLAUSE, "this @prefix has no full stop", span, "end it with ' .'")
        name, iri = self._tokens[1].value, self._tokens[2].value
        if isinstance(iri, Iri):
            self.declare_prefix(str(name), iri.value)
        return Token("END", ".", span)

    def _starts_dashed_comment(self) -> bool:
        """Return whether '--' stands where no number can: before a clause, or with a space before an element of a body."""
        if not self._tokens:
            return True
        types = [token.type for token in self._tokens]
        is_outside = types.count("LPAR") + types.count("LSQB") == types.count("RPAR") + types.count("RSQB")
        return (
            is_outside
            and types[-1] in ("COMMA", "AND", "ARROW")
            and _DASHES.match(self.source.text, self.position) is not None
        )

    def _misplaced_comment(self, message: str, length: int) -> None:
        """Report an operator without a left operand: the rest of the line was meant as a comment."""
        span = self.source.span(self.position, self.position + length)
        self._report(catalogue.UNEXPECTED_CHARACTER, message, span, "write // here")
        end = self.source.text.find("\n", self.position)
        self.position = len(self.source.text) if end < 0 else end

    def _broken_iri(self) -> None:
        """Report a character that IRIs cannot contain, and continue after the IRI."""
        text = self.source.text
        readable = _IRI_PREFIX.match(text, self.position)
        assert readable is not None
        at = readable.end()
        if text[at : at + 1].strip("\n") == "":
            span = self.source.span(self.position, self.position + 1)
            self._report(catalogue.UNEXPECTED_CHARACTER, "this IRI never ends", span, "close it with >")
        elif text[at] == "\\":
            message = "an IRI knows the escapes \\uXXXX and \\UXXXXXXXX only"
            self._report(catalogue.BAD_ESCAPE, message, self.source.span(at, at + 2))
        else:
            message = f"{_describe(text[at])} cannot stand in an IRI"
            hint = f"write \\u{ord(text[at]):04X} for it, or is a '>' missing before it?"
            self._report(catalogue.UNEXPECTED_CHARACTER, message, self.source.span(at, at + 1), hint)
        end = re.compile("[>\n]").search(text, at)
        self.position = len(text) if end is None else end.end()

    def _unexpected(self, message: str, end: int, hint: str | None = None) -> None:
        self._report(catalogue.UNEXPECTED_CHARACTER, message, self.source.span(self.position, end), hint)
        self.position = end

    def _unexpected_characters(self) -> None:
        """Report a run of unreadable characters once, however long it is."""
        text, start = self.source.text, self.position
        end = start + 1
        while end < len(text) and not (text[end].isspace() or text[end].isalnum() or _SYMBOL.match(text, end)):
            end += 1
        shown = text[start : min(end, start + 10)]
        kind = catalogue.CONTROL_CHARACTER if ord(shown[0]) < 32 else catalogue.UNEXPECTED_CHARACTER
        hints = {"\0": NUL_HINT, ":": "head and body are separated by ':-', a prefix and a name by ':' without spaces"}
        self._report(kind, f"unexpected {_describe(shown)}", self.source.span(start, end), hints.get(shown[0]))
        self.position = end

    def _warn_odd_arrow(self) -> None:
        span = self.source.span(self.position, self.position + 2)
        self.diagnostics.append(Diagnostic(catalogue.ODD_ARROW, "':=' is read as ':-'", span, "write ':-'"))

    def _report(self, kind: catalogue.DiagnosticKind, message: str, span: Span, hint: str | None = None) -> None:
        self.error_count += 1
        self.diagnostics.append(Diagnostic(kind, message, span, hint))


class _Depth:
    """The depth of the current expression: parentheses around it and operators before it, which nest as well."""

    def __init__(self) -> None:
        self._operators = [0]
        self._total = 0

    def exceeded_by(self, token: Token) -> bool:
        if token.type in ("LPAR", "LSQB"):
            self._operators.append(0)
            self._total += 1
        elif token.type in ("RPAR", "RSQB") and len(self._operators) > 1:
            self._total -= self._operators.pop() + 1
        elif token.type in _OPERATORS:
            self._operators[-1] += 1
            self._total += 1
        elif token.type in ("COMMA", "AND", "ARROW"):
            self._total -= self._operators[-1]
            self._operators[-1] = 0
        return self._total > MAX_DEPTH


def number_value(lexeme: str) -> Value:
    """Return an integer; with a point, a decimal; with an exponent, a double."""
    if "e" in lexeme or "E" in lexeme:
        return float(lexeme)
    return Decimal(lexeme) if "." in lexeme else int(lexeme)


def _describe(characters: str) -> str:
    if characters.isprintable():
        return f"'{characters}'"
    return f"control character U+{ord(characters[0]):04X}"
