"""Links the object files that LLVM writes for x86-64 and ELF, without LLVM: they are copied, and their addresses filled in.

The compiler's model of code knows nothing of distances, so that all its objects ask for is absolute addresses of 64 bits. An object that
asks for anything else is refused, and linked by LLVM itself, as on other systems. Every number of a file is compared with the file's and
its sections' sizes before it is followed. Code is writable before it is executable, never both.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from functools import cache

__all__ = ["Refused", "link"]

_HEADER, _SECTION = struct.Struct("<4s5B7xHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS, _REL = 1, 2, 4, 8, 9
_WRITE, _ALLOC, _EXECUTE, _TLS = 1, 2, 4, 0x400
_COMMON, _RESERVED = 0xFFF2, 0xFF00
_ABSOLUTE_64 = 1

#: What makes and frees the compiler's arrays in between, and finds the strides of one in order by another shape, in the names of what
#: does it here (see `_entry`).
ALLOCATE, RESHAPE = "autograd_tape_allocate", "autograd_tape_reshape"
_INSTEAD = {"NRT_MemInfo_call_dtor": "free", "NRT_MemInfo_alloc_aligned": ALLOCATE, "NRT_MemInfo_alloc_safe_aligned": ALLOCATE,
            "numba_attempt_nocopy_reshape": RESHAPE}


class Refused(Exception):
    """An object that this module does not understand, or a system on which it cannot link."""


@cache
def _process() -> ctypes.CDLL:
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        raise Refused("objects of another system")
    return ctypes.CDLL(None)


def _outside(name: str) -> int:
    """The address of a function of the process: of Python, or of the C library."""
    try:
        found = (ctypes.pythonapi if name.startswith(("Py", "_Py")) else _process())[name]
    except AttributeError:
        raise Refused(f"{name} is not there") from None
    return ctypes.cast(found, ctypes.c_void_p).value or 0


class _Section:
    """A section of the file, and where it is in memory."""

    def __init__(self, content: bytes, at: int) -> None:
        _, self.kind, self.flags, _, start, self.size, self.link, self.info, self.align, _ = _SECTION.unpack_from(content, at)
        if self.kind != _NOBITS and start + self.size > len(content):
            raise Refused("a section is beyond the end")
        if self.align & (self.align - 1) or self.align > mmap.PAGESIZE or self.size > 1 << 30:
            raise Refused("an alignment or a size that no section has")
        self.bytes = content[start : start + self.size] if self.kind != _NOBITS else b""
        #: Whether it is loaded; tables for unwinding (of another kind) are for debuggers and exceptions, of which there are none.
        self.loaded = bool(self.flags & _ALLOC) and self.kind in (_PROGBITS, _NOBITS)
        self.offset = self.address = 0


def link(content: bytes, symbol: str) -> tuple[int, list[mmap.mmap]]:
    """The address of ``symbol`` in an object file that is now in memory, and the memory; ``Refused`` for what is not understood."""
    try:
        return _link(content, symbol)
    except (struct.error, IndexError, ValueError, OverflowError, OSError) as error:
        raise Refused(str(error)) from error


def _link(content: bytes, symbol: str) -> tuple[int, list[mmap.mmap]]:
    process = _process()
    magic, bits, order, _, _, _, kind, machine, _, _, _, sections_at, _, _, _, _, each, count, _ = _HEADER.unpack_from(content)
    if (magic, bits, order, kind, machine, each) != (b"\x7fELF", 2, 1, _RELOCATABLE, _X86_64, _SECTION.size):
        raise Refused("objects of another kind")
    sections = [_Section(content, sections_at + i * each) for i in range(count)]
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1 or any(s.flags & _TLS or s.kind == _REL or (s.flags & _ALLOC and s.kind in (14, 15, 16)) for s in sections):
        raise Refused("sections of a kind that compiled kernels have not")
    names = sections[tables[0].link].bytes
    symbols = [_SYMBOL.unpack_from(tables[0].bytes, at) for at in range(0, tables[0].size, _SYMBOL.size)]

    parts = [[s for s in sections if s.loaded and not s.flags & _WRITE], [s for s in sections if s.loaded and s.flags & _WRITE]]
    ends = []
    for part in parts:
        end = 0
        for section in part:
            section.offset = -(-end // max(section.align, 1)) * max(section.align, 1)
            end = section.offset + section.size
        ends.append(end)
    common: dict[int, int] = {}
    for i, (_, _, _, where, align, size) in enumerate(symbols):
        if where == _COMMON:
            if not 0 < align <= mmap.PAGESIZE or size > 1 << 20:
                raise Refused("a common symbol's size")
            common[i] = -(-ends[1] // align) * align
            ends[1] = common[i] + size
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = [mmap.mmap(-1, max(end, 1), flags=private) for end in ends]
    bases = [ctypes.addressof(ctypes.c_char.from_buffer(part)) for part in memory]
    for part, into, base in zip(parts, memory, bases, strict=True):
        for section in part:
            section.address = base + section.offset
            into[section.offset : section.offset + len(section.bytes)] = section.bytes

    def name_of(start: int) -> str:
        return names[start : names.index(0, start)].decode()

    def address(i: int) -> int:
        start, _, _, where, value, _ = symbols[i]
        if i in common:
            return bases[1] + common[i]
        if where == 0:
            name = name_of(start)
            name = _INSTEAD.get(name, name)
            return defined[name] if name in defined else _outside(name)
        if where >= _RESERVED or not sections[where].loaded or value > sections[where].size:
            raise Refused("a symbol that is nowhere")
        return sections[where].address + value

    defined = {name_of(s[0]): address(i) for i, s in enumerate(symbols) if s[3] and s[0] and s[3] != 0xFFF1 and (
        s[3] == _COMMON or sections[s[3]].loaded)}
    known: dict[int, int] = {}
    for table in sections:
        if table.kind == _RELA and sections[table.info].loaded:
            into = sections[table.info]
            place = memory[1 if into.flags & _WRITE else 0]
            for at, info, addend in _RELOCATION.iter_unpack(table.bytes):
                if info & 0xFFFFFFFF != _ABSOLUTE_64 or at + 8 > into.size or into.kind == _NOBITS:
                    raise Refused("a relocation that is no absolute address")
                if info >> 32 not in known:
                    known[info >> 32] = address(info >> 32)
                struct.pack_into("<Q", place, into.offset + at, known[info >> 32] + addend & (1 << 64) - 1)
    code = [s for s in parts[0] if s.flags & _EXECUTE and s.address <= defined.get(symbol, 0) < s.address + s.size]
    if not code:
        raise Refused("no such function")
    if process.mprotect(ctypes.c_void_p(bases[0]), ctypes.c_size_t(max(ends[0], 1)), 5):  # read and execute
        raise Refused("the system lets nobody execute what was written")
    return defined[symbol], memory
