"""What others need for the same workloads: figures measured once, of engines that `--peers` cannot run.

Wall seconds and peak megabytes of whole processes that load, derive and count on a machine with 2 cores and 24 GB: they hold
all tuples in memory and write none of them. Mostly one run each, so that differences under 20 % are noise. Compiled Soufflé 2.5
had 2 threads, and the 11 to 14 seconds in which it compiles each program are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    seconds: float
    megabytes: float | None = None
    note: str = ""


SOUFFLE = {
    "tc-random": Figure(0.69, 69),
    "tc-random-nonlinear": Figure(146, 101),
    "tc-grid": Figure(11.0, 382),
    "tc-chain": Figure(0.64, 25),
    "dag-r": Figure(5.4, 384, "rewritten by hand to linear form"),
    "sg-tree": Figure(2.0, 176),
    "join1-data0": Figure(2.0, 31),
    "join1-data1": Figure(23.2, 42),
    "join2": Figure(0.55, 174),
    "zodiac-rs2": Figure(0.33, 9),
    "zodiac-rs3": Figure(0.34, 9),
    "andersen": Figure(1.5, 62),
    "andersen-large": Figure(52, 2056),
    "stc-ring": Figure(87.5, 76, "by the rules; see SOUFFLE_EQREL"),
}

# Where a relation may be declared as an equivalence, which Soufflé keeps as sets of equal nodes: at most so many seconds.
SOUFFLE_EQREL = {"stc-ring": Figure(0.01)}

SOUFFLE_INTERPRETED = {
    "tc-random": Figure(0.95, 75),
    "tc-grid": Figure(11.3, 389),
    "tc-chain": Figure(0.65, 32),
    "sg-tree": Figure(2.75, 183),
    "join1-data0": Figure(2.2, 39),
    "join1-data1": Figure(26.6, 50),
    "join2": Figure(0.77, 181),
    "zodiac-rs2": Figure(0.62, 15),
    "zodiac-rs3": Figure(0.60, 15),
    "andersen": Figure(2.1, 69),
}

# The papers' own implementations: ZodiacEdge, IRIS (run anew here up to 800) and IRIS-RDB, Mat-Mod.
ORIGINAL = {
    "zodiac-rs2": Figure(81.9, 343, "ZodiacEdge"),
    "zodiac-rs3": Figure(60.8, None, "ZodiacEdge"),
    "builtins-path-200": Figure(2.8, None, "IRIS"),
    "builtins-path-400": Figure(12.3, None, "IRIS"),
    "builtins-path-800": Figure(156, None, "IRIS"),
    "builtins-path-1000": Figure(2439, None, "IRIS-RDB"),
    "join1-data0": Figure(1068, None, "IRIS-RDB"),
    "join1-data1": Figure(16685, None, "IRIS-RDB"),
    "join2": Figure(1773, None, "IRIS-RDB"),
    "dag-r": Figure(29.6, None, "Mat-Mod"),
    "lubm-1": Figure(0.59, None, "ZodiacEdge"),
    "lubm-10": Figure(5.3, None, "ZodiacEdge"),
    "lubm-100": Figure(155, None, "ZodiacEdge"),
}

PUBLISHED = {
    "Soufflé compiled": SOUFFLE,
    "its eqrel": SOUFFLE_EQREL,
    "interpreted": SOUFFLE_INTERPRETED,
    "original": ORIGINAL,
}
