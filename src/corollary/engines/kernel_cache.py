"""The cache of compiled kernels between processes, which is never used for other sources than those compiled.

numba identifies a compiled function by the text of its own file. But a kernel also contains constants, types and
kernels from the files that it imports: after an upgrade, or `git pull`, an old kernel would give wrong answers. So the
names of our cache files contain a digest of all files that kernels are made of, and files with another digest are
removed.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

_PACKAGE = Path(__file__).parent.parent
_WITH_KERNELS = ("engines", "io", "store")
_OWN_DECORATORS = "embedded"
_KERNEL = re.compile(rb"^from numba import|^import numba", re.M)
_IMPORT = re.compile(rb"^from (corollary[.\w]+) import", re.M)
_CACHED = re.compile(r"-([0-9a-f]{12})\.[^-]*\.nb[ic]$")
_TIDIED: set[str] = set()  # directories that are already tidy


@cache
def digest() -> str:
    """Return a digest of all files with kernels and of the files that they import.

    Files of the embedded engine may have kernels without a word of numba: their decorators come from files beside them.
    """
    texts = {path: path.read_bytes() for part in _WITH_KERNELS for path in (_PACKAGE / part).rglob("*.py")}
    kernels = {path for path, text in texts.items() if _KERNEL.search(text)}
    folders = {path.parent for path in kernels if _OWN_DECORATORS in path.parts}
    texts = {path: text for path, text in texts.items() if path in kernels or path.parent in folders}
    names = {name.decode() for text in texts.values() for name in _IMPORT.findall(text)}
    for part in (_PACKAGE.parent.joinpath(*name.split(".")) for name in names):
        for path in (part.with_suffix(".py"), part / "__init__.py"):
            if path not in texts and path.is_file():
                texts[path] = path.read_bytes()
    found = hashlib.sha256()
    for path, text in sorted(texts.items()):
        found.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + text + b"\0")
    return found.hexdigest()[:12]


def _of_ours(locator: Any) -> Any:
    """Return a locator like numba's own, but only for the files of this package."""

    class KernelLocator(locator):  # type: ignore[misc]
        def get_disambiguator(self) -> str:
            return f"{super().get_disambiguator()}-{digest()}"

        def ensure_cache_path(self) -> None:
            super().ensure_cache_path()
            folder = self.get_cache_path()
            if folder not in _TIDIED:
                _TIDIED.add(folder)
                _tidy(folder)

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            if not py_file.startswith(f"{_PACKAGE}{os.sep}"):
                return None
            return super().from_function(py_func, py_file)

    return KernelLocator


def _tidy(folder: str) -> None:
    """Remove kernels that were compiled from other sources."""
    for entry in os.scandir(folder):
        found = _CACHED.search(entry.name)
        if found is not None and found[1] != digest():
            with suppress(OSError):  # another process removes it, too
                os.unlink(entry.path)


known = caching.CacheImpl._locator_classes
known[:0] = [_of_ours(locator) for locator in known]
