"""`python -m tests.fuzz --minutes 10` mixes everything that a knowledge base can do, and compares it with the oracle.

Each seed is a script. One that shows a difference is shrunk and printed as Python; `--seed S --minutes 0` runs one seed again.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.fuzz.drawing import FEATURES, script_of
from tests.fuzz.machine import Difference
from tests.fuzz.script import Script, Tally

_HANGS = {"embedded": 240, "spark": 1_200}  # seconds of processor time of one script, after which something hangs
_WAITS = 10  # times as long by the clock: then it waits for what never comes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5); 0 is one seed")
    parser.add_argument("--seed", type=int, default=None, help="where to start; otherwise somewhere")
    parser.add_argument(
        "--engine", default="embedded", choices=("embedded", "spark"), help="what derives; one at a time"
    )
    parser.add_argument("--without", default="", help=f"features to leave out, with commas: {', '.join(FEATURES)}")
    parser.add_argument(
        "--ignore", default="", help="kinds of differences that are known, with commas: 'version,verify*'"
    )
    parser.add_argument("--keep-going", type=Path, metavar="FOLDER", help="write each difference there and go on")
    parser.add_argument("--show", action="store_true", help="print the script of the seed and do not run it")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for making a script smaller (default 60)")
    options = parser.parse_args(arguments)
    without = frozenset(filter(None, options.without.split(",")))
    if unknown := sorted(without.difference(FEATURES)):
        parser.error(f"there is no feature {unknown[0]}; there are {', '.join(FEATURES)}")
    seed = first = options.seed if options.seed is not None else time.time_ns() % 1_000_000_000
    if options.show:
        print(script_of(seed, without, options.engine).code())
        return 0
    print(f"Scripts for {options.minutes:g} minutes, from seed {first} on", flush=True)
    tally = Tally()
    started = told = time.monotonic()
    while True:
        try:
            if not _is_right(seed, without, tally, options) and options.keep_going is None:
                print(f"FAILED at seed {seed} after {tally}; seeds {first} to {seed}", file=sys.stderr, flush=True)
                return 1
        except BaseException:
            print(f"STOPPED at seed {seed} after {tally}; seeds {first} to {seed}", file=sys.stderr, flush=True)
            raise
        now = time.monotonic()
        if now - started >= options.minutes * 60:
            break
        seed += 1
        if now - told > 30:
            told = now
            print(f"  so far {tally}, {tally.steps / (now - started):.0f} steps/s, at seed {seed}", flush=True)
    speed = tally.steps / (time.monotonic() - started)
    print(f"Ran {tally}, {speed:.0f} steps/s; seeds {first} to {seed}")
    return 1 if tally.differences else 0


def _is_right(seed: int, without: frozenset[str], tally: Tally, options: argparse.Namespace) -> bool:
    """Whether the script of a seed shows no difference, or one that is to be ignored; one that is not is told."""
    _expect_an_end(_HANGS[options.engine])
    try:
        script = script_of(seed, without, options.engine)
        script.run(tally)
    except Difference as difference:
        if any(fnmatch(difference.kind, known) for known in options.ignore.split(",")):
            tally.ignored += 1
            return True
        tally.differences += 1
        print(f"seed {seed}, step {difference.step}: {difference}"[:2_000], file=sys.stderr, flush=True)
        _expect_an_end(_HANGS[options.engine] + options.shrink)
        _tell(script, seed, options)
        return False
    finally:
        _expect_an_end(0)
    return True


def _expect_an_end(seconds: float) -> None:
    """End this process with a traceback unless this is called again within so many seconds of processor time; 0 calls it off.

    A busy machine makes everything slower by the clock, and nothing hangs then.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if seconds:
        faulthandler.dump_traceback_later(_WAITS * seconds, exit=True, file=sys.__stderr__)
    else:
        faulthandler.cancel_dump_traceback_later()


def _again(seed: int, options: argparse.Namespace) -> str:
    return f"make fuzz MINUTES=0 SEED={seed}" + (" ENGINE=spark" if options.engine == "spark" else "")


def _tell(script: Script, seed: int, options: argparse.Namespace) -> None:
    found = script.shrunk(options.shrink)
    if found is None:
        print(f"seed {seed} shows no difference when it runs again", file=sys.stderr, flush=True)
        return
    text = found[0].code(f"{found[1]}\nAgain: {_again(seed, options)}")
    if options.keep_going is None:
        print(text, flush=True)
    else:
        options.keep_going.mkdir(parents=True, exist_ok=True)
        (options.keep_going / f"{seed}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # and then ends the process, as the signal does by itself
    sys.exit(main())
