"""The file that makes a directory a knowledge base: what it is, its format, and its identity."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from corollary.store.files import write_exclusively
from corollary.store.manifest import FORMAT, check_format
from corollary.store.problems import damaged, naming_what_cannot_be_read

MARKER = "corollary.json"
_KIND = "knowledge base"


def write_marker(path: Path) -> None:
    marker = {"corollary": _KIND, "format": FORMAT, "identity": uuid.uuid4().hex}
    write_exclusively(path / MARKER, json.dumps(marker).encode() + b"\n")


def read_marker(path: Path) -> dict[str, Any]:
    """What a directory says of itself; raises where that is nothing that this version can read."""
    file = path / MARKER
    with naming_what_cannot_be_read(file):
        data = file.read_bytes()
    try:
        marker = json.loads(data)
    except ValueError:
        marker = None
    if not isinstance(marker, dict) or marker.get("corollary") != _KIND or not isinstance(marker.get("format"), int):
        raise damaged(file, "is damaged: it does not say that this is a knowledge base")
    check_format(marker["format"], file)
    return marker
