"""Kills processes that change a store with SIGKILL, at random moments and at random steps of a commit; run as a program.

Everything is imported and compiled once; each process that dies is a fork, and so is each that looks at what it left behind.
The script of changes is fixed: what a version has to contain follows from its number.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from corollary import KnowledgeBase
from corollary.engines.embedded.maintenance import journal
from corollary.store import store as store_module
from corollary.store import tables as tables_module
from corollary.transactions import Change

PROGRAM = """
path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z).
far(X, count(Y)) :- path(X, Y).
lonely(X) :- node(X), not path(X, _).
"""
EXTRA = "extra: back(Y, X) :- path(X, Y)."
NODES = 12


def change(version: int) -> Change:
    """What leads to a version; some are compacted, which is no change."""
    chance = random.Random(version)
    if version % 7 == 3:
        return Change(add_rules=(EXTRA,))
    if version % 7 == 6:
        return Change(remove_rules=("extra",))
    some = [(chance.randrange(NODES), chance.choice(["ann", "bo", 3, 4.5, version % NODES])) for _ in range(6)]
    return Change(insert={"edge": some[:4], "node": [(version,)]}, delete={"edge": some[4:]})


def is_compacted(version: int) -> bool:
    return version % 7 == 5


def run_until_killed(place: Path, told: int) -> None:
    kb = KnowledgeBase.open(place)
    while True:
        version = kb.version + 1
        if is_compacted(version):
            kb.compact()
        else:
            kb.apply(change(version))
        assert kb.version == version
        os.write(told, f"{version}\n".encode())


def die_at(step: int) -> None:
    """This process kills itself at the n-th call that matters to the disk."""
    left = step

    def counting(function: Callable) -> Callable:
        def call(*arguments: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in ("fsync", "link", "replace", "unlink", "mkdir", "open"):
        setattr(os, name, counting(getattr(os, name)))


def explicit(kb: KnowledgeBase) -> set:
    return {(name, row) for name in ("edge", "node") for row in kb.facts(name)}


def check(place: Path, least: int) -> int:
    """The version that is there is whole, and one that was told is there."""
    kb = KnowledgeBase.open(place)
    assert least <= kb.version <= least + 1, f"version {least} was told, and {kb.version} is there"
    model = KnowledgeBase(PROGRAM)
    model.materialise()
    for version in range(2, kb.version + 1):
        if not is_compacted(version):
            model.apply(change(version))
    assert explicit(kb) == explicit(model), f"version {kb.version} has other explicit facts"
    assert {rule.name for rule in kb.program.rules} == {rule.name for rule in model.program.rules}
    deviations = KnowledgeBase.verify(place)
    assert not deviations, f"version {kb.version}: {deviations}"
    return kb.version


def nothing_left_behind(place: Path) -> int:
    """What those who died had written is removed when somebody compacts."""
    kb = KnowledgeBase.open(place)
    kb.compact()
    known = {manifest.folder for manifest in kb._durable.store.versions.read(kb._durable.store.versions.numbers())}
    folders = {folder.name for folder in place.glob("*/v*-*")}
    assert folders <= known, f"{folders - known} belong to no version"
    assert not list((place / "versions").glob(".aside-*"))
    return kb.version


def in_fork(act: Callable[[], int]) -> int:
    """A number that a fork finds out."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.write(writing, str(act()).encode())
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(code)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    if status:
        sys.exit(f"a look at the store failed with status {status}")
    return int(text)


def kill_one(place: Path, chance: random.Random) -> int:
    """Runs changes in a fork and kills it; gives the last version that it told."""
    reading, writing = os.pipe()
    step = chance.randrange(1, 400) if chance.random() < 0.5 else 0
    child = os.fork()
    if not child:
        try:
            if step:
                die_at(step)
            run_until_killed(place, writing)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os.close(writing)
    if not step:
        time.sleep(chance.random() * 0.5)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        told = pipe.read().split()
    if os.WTERMSIG(status) != signal.SIGKILL:
        sys.exit(f"the process ended by itself with status {status}")
    return int(told[-1]) if told else 0


def main(place: Path, kills: int, seed: int) -> None:
    store_module._FOLD_VERSIONS, store_module._INLINE_ROWS, tables_module._LEAST_TO_REWRITE = 4, 5, 30
    journal._LEAST_LARGE = 10
    warm = KnowledgeBase(PROGRAM)
    for version in (2, 3, 4, 6, 7, 8):
        warm.apply(change(version))
    in_fork(lambda: KnowledgeBase.create(place, PROGRAM).version or 0)
    chance = random.Random(seed)
    version = 1
    for number in range(kills):
        least = max(version, kill_one(place, chance))
        version = in_fork(lambda least=least: check(place, least))
        print(f"kill {number + 1}: version {version}", flush=True)
    in_fork(lambda: nothing_left_behind(place))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
