"""Where machine code is kept between processes: one file each, verified when it is read, in a folder of bounded size.

A file's name is that of the kernel; the folder's, a digest of all that decides what machine code it becomes: the sources
(of the helpers too, which are inlined), the versions of Python and the libraries, the processor, the compiler's options.
So a file is good for everybody who looks for it, and old folders are removed when a new one is begun.

A file that is damaged is removed and made again; a folder that cannot be read or written costs the compilation only.
What is written appears under its name when it is complete, so any number of processes may read and write at once.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from ._on_demand import note_compiled

__all__ = ["KEPT", "Store", "cache_dir"]

#: Folders of machine code that are kept, the latest ones.
KEPT = 6
_MAGIC = b"autograd_tape machine code 1\n"
_DIGEST = hashlib.sha256().digest_size
_said: set[str] = set()


def base_dir() -> str:
    """The folder of all versions: ``AUTOGRAD_TAPE_CACHE_DIR``, or ``autograd_tape`` in the user's cache."""
    base = os.environ.get("AUTOGRAD_TAPE_CACHE_DIR")
    return base or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "autograd_tape")


@cache
def _version() -> str:
    """A digest of all that decides what the sources are compiled to."""
    import llvmlite
    import numba
    import numpy
    from numba.core.registry import cpu_target

    config: Any = numba.config
    digest = hashlib.sha256()
    here = Path(__file__).parent
    random = [here.parents[1] / "random" / name for name in ("polynomials.py", "rejection.py")]
    for path in [here / "_kernel.py", *random, *sorted((here / "compiled").glob("*.py"))]:
        digest.update(path.read_bytes())
    options = config.BOUNDSCHECK, config.OPT, config.DEBUGINFO_DEFAULT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE
    versions = sys.version, platform.machine(), numba.__version__, llvmlite.__version__, numpy.__version__
    digest.update(repr((versions, cpu_target.target_context.codegen().magic_tuple(), options)).encode())
    return digest.hexdigest()[:12]


def cache_dir() -> str:
    """The folder of this version's machine code."""
    return os.path.join(base_dir(), f"kernels-{_version()}")


def _say(kind: str, detail: str) -> None:
    """Each kind of message once a process."""
    if kind not in _said:
        _said.add(kind)
        write = getattr(sys.modules.get("tqdm"), "tqdm", None)  # whose progress bar may stand on the line, and then makes way
        line = f"autograd_tape: {kind} ({detail})"
        write.write(line, file=sys.stderr) if write else print(line, file=sys.stderr, flush=True)


class Store:
    """The machine code of one function, as the compiler's dispatcher asks for it and gives it away.

    Args:
        name: of the function, the dtype included.
        generated: source that is in no file, and so not in the name of the folder.
        needed: called before the function is compiled, for what only its compilation needs.
    """

    def __init__(self, name: str, generated: str = "", needed: Callable[[], object] = lambda: None) -> None:
        self.path = os.path.join(cache_dir(), name + (f".{hashlib.sha256(generated.encode()).hexdigest()[:12]}" if generated else ""))
        self.needed, self.began = needed, 0.0

    def load_overload(self, signature: object, target: Any) -> Any:
        """The compiled function, or None."""
        from numba.core.compiler import CompileResult

        target.refresh()
        payload = self._read()
        if payload is None:
            _say("compiling CPU kernels", f"first use only, cached in {os.path.dirname(self.path)}")
            self.began = perf_counter()
            self.needed()
            return None
        return CompileResult._rebuild(target, *pickle.loads(payload))

    def save_overload(self, signature: object, compiled: Any) -> None:
        """Keep a compiled function, if the folder lets us."""
        from numba.core.serialize import dumps

        note_compiled(perf_counter() - self.began)

        payload = dumps(compiled._reduce())
        try:
            self._write(_MAGIC + self._digest(payload) + payload)
        except OSError as error:
            _say("machine code is not cached", str(error))

    def _digest(self, payload: bytes) -> bytes:
        """Of the content and the name, lest a file be taken for another."""
        return hashlib.sha256(os.path.basename(self.path).encode() + b"\n" + payload).digest()

    def _read(self) -> bytes | None:
        """The payload of the file, or None if there is none, or none that is good."""
        try:
            with open(self.path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say("cached machine code cannot be read", str(error))
            return None
        start = len(_MAGIC) + _DIGEST
        if content.startswith(_MAGIC) and content[len(_MAGIC) : start] == self._digest(payload := content[start:]):
            return payload
        _say("cached machine code is damaged, and replaced", self.path)
        return None

    def _write(self, content: bytes) -> None:
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            _evict(os.path.dirname(folder))
        part = f"{self.path}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            with open(part, "wb") as file:
                file.write(content)
            os.replace(part, self.path)
        except BaseException:  # an interrupt too: nothing half-written stays
            if os.path.exists(part):
                os.remove(part)
            raise


def _evict(base: str) -> None:
    """Removes all folders of machine code but the latest ones."""
    folders = [entry for entry in os.scandir(base) if entry.name.startswith("kernels-") and entry.is_dir(follow_symlinks=False)]
    folders.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
    for entry in folders[KEPT:]:
        shutil.rmtree(entry.path, ignore_errors=True)
