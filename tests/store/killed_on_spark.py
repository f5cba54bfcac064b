"""Changes a store on Spark and dies with SIGKILL at the n-th call that matters to the disk; run as a program.

The script of changes is that of `killed`: what a version has to contain follows from its number.
"""

from __future__ import annotations

import sys
from pathlib import Path

from corollary import KnowledgeBase
from corollary.store import store as store_module
from corollary.store import tables as tables_module
from tests.store.killed import PROGRAM, change, die_at, is_compacted


def main(place: Path, step: int) -> None:
    store_module._FOLD_VERSIONS, store_module._INLINE_ROWS, tables_module._LEAST_TO_REWRITE = 4, 5, 30
    if not place.exists():
        KnowledgeBase.create(place, PROGRAM, engine="spark", master="local[2]").close()
    kb = KnowledgeBase.open(place, engine="spark", master="local[2]")
    kb.count("path")
    die_at(step)
    while True:
        version = kb.version + 1
        if is_compacted(version):
            kb.compact()
        else:
            kb.apply(change(version))
        assert kb.version == version
        print(version, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
