"""`python -m tests.mutants --count 100` breaks the code in small ways, one at a time, and says which of them no test notices.

A mutant is a copy of the package with one change: a comparison turned around, a condition left out, a statement dropped. The
tests nearest to it run until one fails; a mutant that all of them let through has survived, and is shown. What was found out is
kept in a file, so that a run goes on where the last one ended; `--again` looks at the survivors once more.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from corollary.engines.kernel_cache import digest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "corollary"
PLACE = ROOT / "build" / "mutants"

# Those that tell most for their time come first; Spark, which has waves and jobs of its own, comes last.
NEAR = (
    ("reasoning/demand/*", "tests/demand tests/reasoning", "not slow and not spark"),
    (
        "*",
        "tests/engine_suite/test_rule_changes.py tests/engine_suite/test_changes.py tests/reasoning "
        "tests/engines/embedded/test_maintenance.py tests/engines/embedded/test_rules_come_and_go.py "
        "tests/engines/embedded/test_strategies.py tests/engines/embedded/test_budgets.py "
        "tests/engines/embedded/test_derived_anew.py tests/engines/embedded/test_maintenance_laws.py "
        "tests/engine_suite/test_limits.py tests/engine_suite/test_interrupts.py tests/knowledge_base/test_transactions.py "
        "tests/knowledge_base/test_limits.py",
        "not slow and not spark",
    ),
    (
        "*",
        "tests/engines/spark/test_spark_maintenance_parts.py tests/engines/spark/test_spark_rule_changes.py "
        "tests/engine_suite/test_rule_changes.py tests/engine_suite/test_changes.py tests/engines/spark/test_engine.py",
        "not slow and spark",
    ),
)
"""Files of the package, the tests for them, and which of those."""

LIMIT = 600  # seconds of processor time for the tests of one step; a mutant that takes longer is caught
_WAITS = 10  # times as long by the clock: then it waits for what never comes

_TURNED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OTHER: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutant:
    """Bytes `start` to `end` of a file of the package are replaced."""

    file: str
    start: int
    end: int
    text: str
    source: bytes

    @property
    def code(self) -> bytes:
        return self.source[: self.start] + self.text.encode() + self.source[self.end :]

    @property
    def key(self) -> str:
        return hashlib.sha256(self.file.encode() + b"\0" + self.code).hexdigest()[:16]

    def __str__(self) -> str:
        old = " ".join(self.source[self.start : self.end].decode().split())
        line = self.source.count(b"\n", 0, self.start) + 1
        return f"{self.file}:{line}: {old}  ->  {self.text}"


class _Sites(ast.NodeVisitor):
    """The mutants of one file. Annotations, assertions and protocols do nothing when code runs, and have none."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.found: list[Mutant] = []
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.visit(ast.parse(source))

    def _put(self, node: ast.expr | ast.stmt, text: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        self.found.append(Mutant(self.file, start, end, text, self.source))

    def _instead(self, node: ast.expr, other: ast.expr) -> None:
        self._put(node, f"({ast.unparse(other)})")

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, ast.UnaryOp | ast.Compare):  # these are turned around by themselves
            self._instead(test, ast.UnaryOp(ast.Not(), test))

    # -- statements ------------------------------------------------------------------------------------------------

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not any(ast.unparse(base).startswith("Protocol") for base in node.bases):
            self._visit_all(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_all([default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None])
        self._visit_all(node.body)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self._negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.generic_visit(node)  # one that does not end is caught by waiting: too dear

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring, or an ellipsis
            return
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._put(node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._put(node, "pass")
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._put(node, "pass")
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._put(node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._put(node, "pass")
        elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._put(node, "return None")
            self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        self._put(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._put(node, "pass")

    # -- expressions -----------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            for other in _TURNED[type(operator)]:
                operators = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                self._instead(node, ast.Compare(node.left, operators, node.comparators))
        self._visit_all([node.left, *node.comparators])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._instead(node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))
        for place in range(len(node.values)):
            left = [*node.values[:place], *node.values[place + 1 :]]
            self._instead(node, ast.BoolOp(node.op, left) if len(left) > 1 else left[0])
        self._visit_all(node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self._instead(node, node.operand)
        if isinstance(node.op, ast.Not):
            self.visit(node.operand)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if (other := _OTHER.get(type(node.op))) is not None:
            self._instead(node, ast.BinOp(node.left, other(), node.right))
        self._visit_all([node.left, node.right])

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self._visit_all([node.test, node.body, node.orelse])

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._instead(test, ast.Constant(True))
        self._visit_all([node.iter, *node.ifs])

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._instead(node, ast.Constant(not node.value))
        elif isinstance(node.value, int):
            self._instead(node, ast.Constant(node.value + 1))
            self._instead(node, ast.Constant(node.value - 1))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if not isinstance(node.value, ast.Name) or not node.value.id[0].isupper():  # a type has no code in it
            self.visit(node.slice)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # a text for people

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def mutants_of(pattern: str) -> list[Mutant]:
    """Return all mutants of the files of the package that a pattern names, each once."""
    found: dict[str, Mutant] = {}
    for path in sorted(PACKAGE.glob(pattern)):
        if path.suffix == ".py" and b"numba import" not in path.read_bytes():  # kernels would be compiled each time
            for mutant in _Sites(path.relative_to(PACKAGE).as_posix(), path.read_bytes()).found:
                found.setdefault(mutant.key, mutant)
    return list(found.values())


# -- running -----------------------------------------------------------------------------------------------------------


class Copy:
    """A copy of the package with its compiled kernels, in which one file without kernels at a time is another one."""

    def __init__(self) -> None:
        shutil.rmtree(PLACE / "corollary", ignore_errors=True)
        shutil.copytree(PACKAGE, PLACE / "corollary")
        # Python beside the kernels is part of what names compiled ones, and none of what it does: they stay.
        with (PLACE / "corollary" / "engines" / "kernel_cache.py").open("a") as file:
            file.write(f"\n\ndef digest() -> str:\n    return {digest()!r}\n")

    def failing(self, mutant: Mutant | None, limit: float = LIMIT) -> str:
        """Return the first test that fails with a mutant, or "" where all pass."""
        if mutant is None:
            return self._run("*", limit)
        path = PLACE / "corollary" / mutant.file
        try:
            path.write_bytes(mutant.code)
            self._forget(path)
            return self._run(mutant.file, limit)
        finally:
            path.write_bytes(mutant.source)
            self._forget(path)

    def _forget(self, path: Path) -> None:
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def _run(self, file: str, limit: float) -> str:
        for pattern, tests, which in NEAR:
            if (fnmatch(file, pattern) or file == "*") and (failed := self._tests(tests.split(), which, limit)):
                return failed
        return ""

    def _tests(self, tests: Sequence[str], which: str, limit: float) -> str:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", which, "-p", "no:cacheprovider"]
        command += ["--hypothesis-profile=mutants", *(test for test in tests if (ROOT / test).exists())]
        paths = os.pathsep.join((str(PLACE), str(ROOT)))
        environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
        running = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit))),
        )  # fmt: skip
        try:
            text, _ = running.communicate(timeout=_WAITS * limit)
        except subprocess.TimeoutExpired:
            return f"no end after {_WAITS * limit:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)  # and what it has started
            running.wait()
        if running.returncode in (0, 5):  # 5: no test of that kind
            return ""
        if running.returncode < 0:
            return f"signal {-running.returncode}, which may be the end of {limit:.0f} s"
        named = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return named[0] if named else text.strip().splitlines()[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--files", default="reasoning/**/*.py", help="files of the package (default reasoning/**/*.py)")
    parser.add_argument("--seed", type=int, default=0, help="which of them (default 0)")
    parser.add_argument("--count", type=int, default=100, help="how many mutants (default 100); 0 is all")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after that time")
    parser.add_argument("--again", action="store_true", help="look once more at those that survived")
    parser.add_argument("--only", default="", help="mutants whose description has this text")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    parser.add_argument("--record", type=Path, default=PLACE / "record.jsonl", help="what has been found out so far")
    options = parser.parse_args(arguments)
    mutants = [one for one in mutants_of(options.files) if options.only in str(one)]
    random.Random(options.seed).shuffle(mutants)
    mutants = mutants[: options.count or None]
    if options.list:
        print(*mutants, sep="\n")
        return 0
    options.record.parent.mkdir(parents=True, exist_ok=True)
    lines = options.record.read_text().splitlines() if options.record.exists() else []
    known: dict[str, str] = dict(map(json.loads, lines))
    copy, started = Copy(), time.monotonic()
    todo = [one for one in mutants if one.key not in known or (options.again and not known[one.key])]
    if todo and (failed := copy.failing(None)):
        print(f"without a mutant: {failed}", file=sys.stderr)
        return 2
    for mutant in todo:
        if time.monotonic() - started > options.minutes * 60:
            break
        known[mutant.key] = failed = copy.failing(mutant)
        with options.record.open("a") as file:
            file.write(json.dumps((mutant.key, failed)) + "\n")
        print(f"{f'caught by {failed}' if failed else 'SURVIVED'}: {mutant}", flush=True)
    tried = [one for one in mutants if one.key in known]
    survivors = [one for one in tried if not known[one.key]]
    if survivors:
        print("\nSurvivors:", *survivors, sep="\n  ")
    print(f"Caught {len(tried) - len(survivors)} of {len(tried)} mutants; {len(mutants) - len(tried)} not tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
