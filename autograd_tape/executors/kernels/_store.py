"""Where machine code is kept between processes: one file each, verified when it is read, in a folder of bounded size.

A file's name is that of the kernel, with a digest of the sources that decide what machine code it becomes: those of its module, of what
that imports, and of what makes machine code; the folder's is a digest of what else does: the versions of Python and the libraries, the
processor, the compiler's options.  So a file is good for everybody who looks for it, a change of one module compiles the kernels of one,
and old files and folders are removed when a new one is begun.

A file that is damaged is removed and made again; a folder that cannot be read or written costs the compilation only.
What is written appears under its name when it is complete, so any number of processes may read and write at once; of those that want the
same kernel at the same time one compiles it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any

from ...annotations import Fn
from ._entry import Code, load
from ._on_demand import note_compiled, state

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KEPT", "Store", "cache_dir", "file_name", "kept_names", "module_digest", "sources"]

#: Folders of machine code that are kept, and files of one kernel in a folder, the latest ones.
KEPT = 6
#: The modules that all machine code is made by.
_MAKERS = ("_common", "_elf", "_entry", "_kernel", "base", "team")
_IMPORTS = re.compile(rb"^\s*from \.(.*)$", re.M)
#: Seconds that a process waits for another that compiles the same.
PATIENCE = 60.0
_MAGIC = b"autograd_tape machine code 2\n"
_DIGEST = 32  # the bytes of one, by SHA-256
_said: set[str] = set()


def base_dir() -> str:
    """The folder of all versions: ``AUTOGRAD_TAPE_CACHE_DIR``, or ``autograd_tape`` in the user's cache."""
    base = os.environ.get("AUTOGRAD_TAPE_CACHE_DIR")
    return base or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "autograd_tape")


#: The compiler's options as they are, if nobody sets any: limits checked, optimization, debugging, vectors from loops and from lines.
_USUAL = (None, 3, 0, 1, 0)
#: The variables that set them; others (threads, folders, warnings) change no code.
_DECIDING = frozenset(f"NUMBA_{name}" for name in ("BOUNDSCHECK", "OPT", "DEBUGINFO", "LOOP_VECTORIZE", "SLP_VECTORIZE"))


def _options() -> tuple[object, ...]:
    """The compiler's options; it is not imported to find out that nobody sets them."""
    config: Any = sys.modules.get("numba.core.config")
    if config is None:
        if _DECIDING.isdisjoint(os.environ) and not os.path.exists(".numba_config.yaml"):
            return _USUAL
        from numba.core import config
    found = config.BOUNDSCHECK, config.OPT, config.DEBUGINFO_DEFAULT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE
    return _USUAL if found == _USUAL and repr(config.OPT) != repr("max") else (*found, repr(config.OPT))


@cache
def _places() -> dict[str, list[Path]]:
    """By module, the files of what is compiled, and of what makes machine code of it. Formulas are not among them: each has a digest of
    its own."""
    from pathlib import Path

    here = Path(__file__).parent
    own = [here / f"{name}.py" for name in ("_common", "_elf", "_entry", "_in_place", "_kernel", "loops", "selection")]
    random = [here.parents[1] / "random" / f"{name}.py" for name in ("_made", "polynomials", "rejection")]
    found: dict[str, list[Path]] = {}
    for path in [*own, *random, *sorted((here / "compiled").glob("*.py"))]:
        found.setdefault(path.stem, []).append(path)
    return found


def sources(module: str) -> list[Path]:
    """The files that decide what the loops of a module of `compiled/` become. What one imports of the package is found by the words of
    its import lines, which may be some too many."""
    places, found, ahead = dict(_places()), [], [*_MAKERS, module]
    while ahead:
        for path in places.pop(ahead.pop(), ()):
            found.append(path)
            ahead += re.findall(r"\w+", b" ".join(_IMPORTS.findall(path.read_bytes())).decode())
    return sorted(found)


@cache
def module_digest(module: str) -> str:
    """A digest of what decides the machine code of a module's kernels, beside what the folder is named by."""
    from hashlib import sha256

    return sha256(b"".join([path.read_bytes() for path in sources(module)])).hexdigest()[:12]


def file_name(name: str, variant: str, char: str, own: str = "") -> str:
    """The file of a kernel for a dtype, on systems, too, whose files are one whatever the case; `own`: of what decides its machine code
    and is in no source."""
    from hashlib import sha256

    letter = {"E": "bf16", "e": "f16", "H": "u16", "B": "u8"}.get(char, char)
    beside = f".{sha256(own.encode()).hexdigest()[:12]}" if own else ""
    return f"{name}.{variant}.{letter}{beside}.{module_digest(name.partition('.')[0])}"


@cache
def _version() -> str:
    """A digest of what decides machine code beside the sources; neither the compiler nor LLVM is imported for it."""
    from hashlib import sha256

    import numpy

    digest = sha256()
    for path in [folder / "_version.py" for name in ("numba", "llvmlite") for folder in _folders(name)]:
        digest.update(path.read_bytes())
    environment = sorted((name, value) for name, value in os.environ.items() if name.startswith(("NUMBA_CPU", "NUMBA_ENABLE")))
    versions = sys.version, platform.machine(), numpy.__version__
    digest.update(repr((versions, _processor(), environment, _options())).encode())
    return digest.hexdigest()[:12]


def _processor() -> object:
    """What decides which instructions the compiler uses: the system's description, or where it has none, LLVM's."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(1 << 14).partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    facts = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features")
    if found := [line for line in lines if line.startswith(facts)]:
        return found
    import llvmlite.binding as llvm

    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _folders(package: str) -> list[Path]:
    from pathlib import Path

    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec is not None else []


def cache_dir() -> str:
    """The folder of the machine code for this processor, of these versions."""
    return os.path.join(base_dir(), f"kernels-{_version()}")


def _say(kind: str, detail: str) -> None:
    """Each kind of message once a process."""
    if kind not in _said:
        _said.add(kind)
        write = getattr(sys.modules.get("tqdm"), "tqdm", None)  # whose progress bar may stand on the line, and then makes way
        line = f"autograd_tape: {kind} ({detail})"
        write.write(line, file=sys.stderr) if write else print(line, file=sys.stderr, flush=True)


@cache
def kept_names() -> frozenset[tuple[str, str]]:
    """The names of kernels, modules included, of which machine code was kept when this process first asked, each with its digest."""
    try:
        files = os.listdir(cache_dir())
    except OSError:
        return frozenset()
    return frozenset((name.rsplit(".", 3)[0], name.rpartition(".")[2]) for name in files)


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """While a process compiles what becomes this file, others wait for it, for some time; gives whether this one has waited. Where files
    cannot be locked nobody waits, and the same may be compiled twice."""
    try:
        import fcntl

        os.makedirs(os.path.dirname(path), exist_ok=True)
        lock = open(path + ".lock", "wb")
    except (ImportError, OSError):
        yield False
        return
    waited, end = False, monotonic() + PATIENCE
    with lock:
        while True:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which no process that is forked meanwhile holds, too
            except (BlockingIOError, PermissionError):  # as systems say that another has it
                waited = True
                if monotonic() < end:
                    sleep(0.01)
                    continue
                yield True
                return
            except OSError:  # a file system without locks
                pass
            break
        try:
            yield waited
        finally:
            with suppress(OSError):
                os.remove(lock.name)


class Store:
    """The machine code of one function, by its name, dtype included."""

    def __init__(self, name: str) -> None:
        self.name, self.path = name, os.path.join(cache_dir(), name)

    def function(self, make: Fn) -> Fn:
        """The function that was kept, or else that of the code that ``make`` compiles, which then is."""
        return self.kept() or self._made(make)

    def kept(self) -> Fn | None:
        """The function that was kept, if there is one, and whole."""
        payload = self._read()
        if payload is None:
            return None
        symbols, _, content = payload.partition(b"\n")
        symbol, *needed = symbols.decode().split()
        state.linking = True
        return load(Code(symbol, needed, content), self.name)

    def _made(self, make: Fn) -> Fn:
        with _alone(self.path) as waited:
            found = self.kept() if waited else None
            if found is not None:
                return found
            _say("compiling CPU kernels", f"first use only, cached in {os.path.dirname(self.path)}")
            began = perf_counter()
            code = make()
            self.save(code)
            note_compiled(perf_counter() - began)
        return load(code, self.name)

    def save(self, code: Code) -> None:
        """Keep machine code, if the folder lets us."""
        payload = " ".join([code.symbol, *code.needed]).encode() + b"\n" + code.content
        try:
            self._write(_MAGIC + self._digest(payload) + payload)
        except OSError as error:
            _say("machine code is not cached", str(error))

    def _digest(self, payload: bytes) -> bytes:
        """Of the content and the name, lest a file be taken for another."""
        from hashlib import sha256

        return sha256(os.path.basename(self.path).encode() + b"\n" + payload).digest()

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
            _outdate(folder, os.path.basename(self.path).rpartition(".")[0] + ".")
        except BaseException:  # an interrupt too: nothing half-written stays
            if os.path.exists(part):
                os.remove(part)
            raise


def _evict(base: str) -> None:
    """Removes all folders of machine code but the latest ones."""
    folders = [entry for entry in os.scandir(base) if entry.name.startswith("kernels-") and entry.is_dir(follow_symlinks=False)]
    folders.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
    for entry in folders[KEPT:]:
        import shutil  # with all compressions, which no other start of a process needs

        shutil.rmtree(entry.path, ignore_errors=True)


def _outdate(folder: str, name: str) -> None:
    """Removes all of a kernel's files for a dtype but the latest ones: of those that were made of other sources."""
    found = [entry for entry in os.scandir(folder) if entry.name.startswith(name) and entry.name.count(".") == name.count(".")]
    if len(found) > KEPT:
        with suppress(OSError):  # of which another process may have removed some
            for entry in sorted(found, key=lambda entry: entry.stat().st_mtime)[:-KEPT]:
                os.remove(entry.path)
