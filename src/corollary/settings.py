"""The settings of a knowledge base, in one typed object.

A setting is declared once, here: its name is a keyword of `KnowledgeBase(…)`, a key of a TOML file and a name for `--set`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean

MODES = ("auto", "demand", "materialise")
INDEXES = ("auto", "yield", "hash")
SEMANTICS = ("stratified", "well-founded")
STRATIFICATIONS = ("local", "global")
UNSAFE = ("reject", "universe")
ALLOWED = ("inputs", "outputs", "functions")
"""What `allow` may have."""
ALL_BITS = 53
"""How many significant bits a double has."""
DEEPEST = 200
"""How deep terms may be nested that rules make; the text of a program may nest as deep."""
DEFAULT_ROUNDS = 1_000_000
"""How many rounds a hyper-node may take where no limit was set: so many mostly mean that its rules have no end."""


@dataclass(frozen=True)
class FollowingStrategy:
    """How recursive rules follow changes. Without `modules` each rule is followed as it is written, those of closures, too."""

    does: str
    modules: bool = False
    counts: bool = False
    """Whether it counts how often the rules derive each fact."""


_DRED_COUNTING = "DRed^c: overdeletes, and uses derivation counters to rederive"
FOLLOWING = {
    "auto": FollowingStrategy(
        "whatever is cheapest for the change: DRed, Backward/Forward, or recomputing", modules=True
    ),
    "backward-forward": FollowingStrategy("looks for another proof of a fact before its deletion spreads"),
    "dred": FollowingStrategy("DRed: overdeletes, and rederives with the rules"),
    "dred-counting": FollowingStrategy(_DRED_COUNTING, counts=True),
    "dred-counting-modules": FollowingStrategy(_DRED_COUNTING, counts=True, modules=True),
    "recompute": FollowingStrategy("derives everything again", modules=True),
}
STRATEGIES = tuple(FOLLOWING)
WITH_MODULES = tuple(name for name, one in FOLLOWING.items() if one.modules)


class StreamStrategy(StrEnum):
    """How the updates of a stream are followed."""

    AUTO = "auto"
    BF_MARKING = "bf-marking"
    BF = "bf"
    DRED_MARKING = "dred-marking"
    DRED = "dred"
    SETS = "sets"


STREAM_STRATEGIES = tuple(one.value for one in StreamStrategy)


@dataclass(frozen=True)
class Limits:
    """Limits of each operation: an operation that reaches one raises E302 and changes nothing. None means no limit.

    >>> from corollary import KnowledgeBase
    >>> KnowledgeBase("n(0). n(X + 1) :- n(X).", limits=Limits(facts=1000)).count("n")
    Traceback (most recent call last):
    corollary.diagnostics.diagnostic.ProgramError: error[E302]: there are more than 1,000 facts, and deriving is not finished
    """

    seconds: float | None = None
    """How long an operation may take."""
    facts: int | None = None
    """How many visible facts there may be."""
    rounds: int | None = DEFAULT_ROUNDS
    """How many rounds a hyper-node may take."""
    depth: int = DEEPEST
    """How deep the function terms and lists may be nested that rules make."""
    memory: int | None = None
    """How many megabytes the process may hold while an operation needs more of them."""

    def __post_init__(self) -> None:
        for one in fields(self):
            limit = getattr(self, one.name)
            if limit is None and one.name != "depth":
                continue
            is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if not is_number or math.isnan(limit) or limit < 0:
                raise ValueError(f"limits.{one.name} must be a number from 0, not {limit!r}")


_NO_LIMITS = Limits()
OPTIMISATIONS = (
    "closures", "dense-joins", "join-order", "exists", "threads", "representatives", "value-joins", "range-joins",
    "small-rounds",
    "join-condition", "constants", "duplicates", "literal-order", "subsumed-rules", "rule-order",
)  # fmt: skip
"""What `without` may leave out: the ways in which rules run, and the passes over their text."""
SEMI_NAIVE = "semi-naive"
"""Evaluating recursive rules over the facts of the last round; without it, every round runs over all facts."""
EVALUATIONS = (SEMI_NAIVE, "naive")


def _setting(
    default: Any,
    says: str,
    choices: tuple[str, ...] = (),
    *,
    between: tuple[int, int] | None = None,
    names: tuple[str, tuple[str, ...]] = ("", ()),
    stored: bool = False,
) -> Any:
    """Declare a setting. `stored` settings are saved with the derived facts and used when a knowledge base is opened.

    `names` is the word for a name in a set of names, and the names that the set may have.
    """
    known = {"says": says, "choices": choices, "between": between, "names": names, "stored": stored}
    return field(default=default, metadata=known)


@dataclass(frozen=True)
class Settings:
    """The settings of a knowledge base, with their defaults.

    >>> Settings.of(strategy="dred", limits={"facts": 1000}).limits
    Limits(seconds=None, facts=1000, rounds=1000000, depth=200, memory=None)
    >>> Settings.of(stratgy="dred")
    Traceback (most recent call last):
    ValueError: there is no setting 'stratgy': did you mean 'strategy'?
    """

    strict: bool = _setting(False, "a row of a file that does not fit is an error instead of being rejected")
    on_error: str = _setting(
        "discard",
        "what happens if arithmetic in a rule has no value",
        ("discard", "stop"),
        stored=True,
    )
    updates: bool = _setting(
        True, "facts and rules will change; with `false`, deriving is faster and a change derives everything again"
    )
    without: frozenset[str] = _setting(
        frozenset(), "optimisations to switch off", names=("optimisation", OPTIMISATIONS), stored=True
    )
    precision: int = _setting(
        ALL_BITS, "how many significant bits of doubles comparisons use", between=(1, ALL_BITS), stored=True
    )
    semantics: str = _setting("stratified", "what negation through recursion means", SEMANTICS, stored=True)
    stratification: str = _setting(
        "local", "what may separate a negation from what it depends on", STRATIFICATIONS, stored=True
    )
    unsafe: str = _setting(
        "reject",
        "what happens to a rule with an unsafe variable",
        UNSAFE,
        stored=True,
    )
    mixed_arities: bool = _setting(
        False, "one name with several numbers of arguments is several predicates, `p/1` and `p/2`", stored=True
    )
    evaluation: str = _setting(
        SEMI_NAIVE,
        "how recursive rules are derived: from the facts of the last round, or each round from all",
        EVALUATIONS,
        stored=True,
    )
    strategy: str = _setting("auto", "how recursive rules are maintained", STRATEGIES, stored=True)
    index: str | Mapping[str, str] = _setting("auto", "how changed facts find matching facts", INDEXES)
    mode: str = _setting("auto", "how queries are answered before everything has been derived", MODES)
    allow: frozenset[str] = _setting(
        frozenset(),
        "what rules that arrive at run time may contain",
        names=("permission", ALLOWED),
    )
    inputs_root: tuple[str, ...] = _setting(
        (), "folders and addresses below which an `@input` may read, instead of the folder of its program"
    )
    outputs_root: tuple[str, ...] = _setting(
        (), "folders and addresses below which an `@output` may write, instead of the folder of its program"
    )
    limits: Limits = _setting(  # noqa: RUF009  (it is immutable)
        _NO_LIMITS, "when to give up: seconds, facts, rounds, depth, memory"
    )

    @classmethod
    def of(cls, settings: Settings | None = None, /, **given: Any) -> Settings:
        """Return these settings with some replaced; raise ValueError for an unknown name or an invalid value.

        A table of limits replaces the limits that it names, a `Limits` object all of them.
        """
        if settings is not None and not isinstance(settings, cls):
            name = type(settings).__name__
            hint = "spark_settings=… takes it" if name == "SparkSettings" else "each setting is also a keyword argument"
            raise TypeError(f"settings=… takes corollary.Settings, not {name}; {hint}")
        before = settings or cls()
        if isinstance(given.get("limits"), Mapping):
            given = {**given, "limits": {**vars(before.limits), **given["limits"]}}
        return replace(before, **{name: _checked(name, value) for name, value in given.items()})

    @classmethod
    def read(cls, path: str | PathLike[str], **given: Any) -> Settings:
        """Return the settings in a TOML file, where `limits` is a table; keyword arguments override them."""
        place = Path(path)
        try:
            return cls.of(cls.of(**tomllib.loads(place.read_text(encoding="utf-8"))), **given)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ProgramError([Diagnostic(catalogue.BAD_SETTINGS, f"settings of '{place}': {reason}")]) from None

    @property
    def discards_errors(self) -> bool:
        return self.on_error == "discard"

    @property
    def left_out(self) -> frozenset[str]:
        """The names of what deriving does without: the optimisations that are off, and whatever would replace naive
        evaluation."""
        return self.without | {SEMI_NAIVE, "closures", "small-rounds"} if self.evaluation == "naive" else self.without

    def allowing(self, allow: Collection[str]) -> frozenset[str]:
        """Return the permissions of rules that arrive at run time, including those that a call
        allows. Raise ValueError for an
        unknown word."""
        return Settings.of(self, allow={*self.allow, *allow}).allow

    def stored(self) -> dict[str, Any]:
        """Return the settings that go into a store, as values for JSON."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.metadata["stored"]}
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()}


SETTINGS = {one.name: one for one in fields(Settings)}


def check_rule_names(settings: Settings, rules: Collection[str]) -> Iterator[Diagnostic]:
    """Return an error for each rule name in the setting `index` that is not the name of one of these rules."""
    for name in settings.index if isinstance(settings.index, Mapping) else ():
        if name not in rules:
            several = [rule for rule in rules if rule.startswith(f"{name}.")]
            hint = did_you_mean(name, rules) if not several else f"it has several heads: {', '.join(several)}"
            message = f"the setting index.{name} names a rule that does not exist"
            yield Diagnostic(catalogue.BAD_SETTINGS, message, hint=hint or "`corollary check` lists the names of rules")


def setting_from_text(text: str) -> tuple[str, Any]:
    """Parse a setting of the command line: `strategy=dred`, `limits.facts=1000`; the value is TOML, or a string without
    quotes."""
    name, equals, written = text.partition("=")
    if not equals:
        raise ValueError(f"'{text}' is not of the form NAME=VALUE")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        value = written
    name, dot, part = name.strip().partition(".")
    return name, {part: value} if dot else value


def settings_from_texts(texts: Iterable[str]) -> dict[str, Any]:
    """Parse several settings of the command line; the parts of one table are combined."""
    found: dict[str, Any] = {}
    for name, value in map(setting_from_text, texts):
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **value} if both else value
    return found


def _checked(name: str, value: Any) -> Any:
    known = SETTINGS.get(name)
    if known is None:
        hint = did_you_mean(name, SETTINGS) or f"there are {', '.join(SETTINGS)}"
        raise ValueError(f"there is no setting '{name}': {hint}")
    if name == "index" and isinstance(value, Mapping):
        if nested := [rule for rule, word in value.items() if isinstance(word, Mapping)]:
            raise ValueError(f'a name with a dot needs quotes in TOML: index."{nested[0]}.…"')
        return {rule: _checked(name, word) for rule, word in value.items()}
    if choices := known.metadata["choices"]:
        if value not in choices:
            hint = did_you_mean(str(value), choices) or f"there are {', '.join(choices)}"
            raise ValueError(f"there is no {name} '{value}': {hint}")
        return value
    if name == "limits":
        return _limits(value)
    if isinstance(known.default, frozenset):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{name} is a list of names, not {value!r}")
        return _known_names(frozenset(value), *known.metadata["names"])
    if isinstance(known.default, tuple):
        return _roots(name, value)
    if isinstance(known.default, bool) and not isinstance(value, bool):
        raise ValueError(f"{name} is true or false, not {value!r}")
    if known.metadata["between"]:
        low, high = known.metadata["between"]
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name} is a whole number from {low} to {high}, not {value!r}")
    return value


def _known_names(names: frozenset[str], what: str, known: tuple[str, ...]) -> frozenset[str]:
    if unknown := sorted(names.difference(known), key=str):
        hint = did_you_mean(str(unknown[0]), known) or f"there are {', '.join(known)}"
        raise ValueError(f"there is no {what} '{unknown[0]}': {hint}")
    return names


def _roots(name: str, value: Any) -> tuple[str, ...]:
    """Return one folder or address, or several, as a tuple."""
    several = [value] if isinstance(value, (str, PathLike)) else list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(one, (str, PathLike)) for one in several):
        raise ValueError(f"{name} is a folder or an address, or a list of them, not {value!r}")
    return tuple(str(one) for one in several)


def _limits(value: Any) -> Limits:
    if value is None or isinstance(value, Limits):
        return value or Limits()
    if not isinstance(value, Mapping):
        raise ValueError(f"limits has a table of its own: seconds, facts, rounds, depth, memory; not {value!r}")
    known = {one.name for one in fields(Limits)}
    for part in value:
        if part not in known:
            raise ValueError(
                f"there is no limit '{part}': {did_you_mean(part, known) or 'there are ' + ', '.join(known)}"
            )
    return Limits(**value)
