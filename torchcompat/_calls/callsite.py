"""How a function was called, found out after the call has failed: by position or by keyword, as a method or as a function.

A compiled function has its arguments by name and cannot tell `x.sum(1)` from `torch.sum(x, dim=1)`, for it is both. Its caller's bytecode
can: the instruction that called counts the arguments that were written, without a method's tensor, and names those by keyword.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from types import CodeType, FrameType

from autograd_tape import frontend
from autograd_tape.functions.words import MISSING
from autograd_tape.ops import RECORDS

_CALLS = frozenset([dis.opmap[n] for n in ("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_METHOD", "CALL_FUNCTION_KW") if n in dis.opmap])
_KEYWORDS = frozenset([dis.opmap[n] for n in ("CALL_KW", "CALL_FUNCTION_KW") if n in dis.opmap])
_NAMES, _CONST = dis.opmap.get("KW_NAMES"), dis.opmap["LOAD_CONST"]
_CACHE = dis.opmap.get("CACHE", -1)
_BETWEEN = frozenset([dis.opmap[n] for n in ("PRECALL", "CACHE") if n in dis.opmap])
_AROUND = {(frontend.__file__, "method"), (str(Path(__file__).parents[1] / "overrides.py"), "shown")}
"""What stands around functions: a method that takes a list also as several arguments, and what shows a function to modes and classes."""


def written(code: CodeType, at: int) -> tuple[int, tuple[str, ...]] | None:
    """(how many arguments are written, the names of those by keyword) of the call at an offset of bytecode; None where it is none, or
    spreads a tuple, so that nobody knows.

    >>> def f(): return g(1, x=2)
    >>> at = next(i.offset for i in dis.get_instructions(f) if i.opname.startswith("CALL"))
    >>> written(f.__code__, at)
    (2, ('x',))
    """
    text = code.co_code
    while at > 0 and text[at] == _CACHE:  # of a call that Python carries out without another frame of C
        at -= 2
    if not 0 <= at < len(text) or text[at] not in _CALLS:
        return None
    before = at - 2
    while before >= 0 and text[before] in _BETWEEN:
        before -= 2
    named = before >= 0 and (text[before] == _NAMES or text[at] in _KEYWORDS and text[before] == _CONST)
    names: object = code.co_consts[text[before + 1]] if named else ()
    return (text[at + 1], names) if isinstance(names, tuple) else None


def public_frame(name: str, package: str, code: CodeType | None) -> FrameType | None:
    """The frame of the function that a program called, of those that lead here: the outermost of a compiled function of this name, perhaps
    with an underscore, before another's or a program's own; or that of `code`, which was written by hand. None where there is none, or
    where another operation called it, unless that is one of torch's functions in Python."""
    found, frame = None, sys._getframe(2)
    start, end = f"<{name}", f": {package}>"
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<") and file.endswith(end):
            if not file.startswith(start) or file.removeprefix(start).removeprefix("_")[0] not in ": ":
                other = RECORDS.get(file[1:].partition(":")[0].partition(" ")[0])
                return found if other is None or other.in_python else None  # what is made of others answers for what it asks of them
            found = frame
        elif frame.f_code is code:
            found = frame
        elif (file, frame.f_code.co_name) in _AROUND:
            inside = getattr(frame.f_locals.get("function"), "__name__", name)
            if inside.rstrip("_") != name.rstrip("_"):  # another function, as above; what is shown to modes may be of Python
                return found if frame.f_code.co_name == "shown" else None
            found = frame
        elif "autograd_tape" not in file and "torchcompat" not in file:
            break
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return found


def name_at(frame: FrameType, names: Container[str]) -> tuple[str, str]:
    """(by which of some names a function was called that runs in a frame, the name before that), "" where nobody knows."""
    caller, before = frame.f_back, ""
    found = "", ""
    for instruction in dis.get_instructions(caller.f_code) if caller is not None else ():
        if caller is not None and instruction.offset >= caller.f_lasti:
            break
        if instruction.opname.startswith("LOAD_"):
            if instruction.argval in names:
                found = instruction.argval, before
            before = str(instruction.argval)
    return found


def given(frame: FrameType, defaults: Mapping[str, object]) -> tuple[list[object], dict[str, object], bool | None]:
    """(arguments by position, those by keyword, whether it was called as a method, None where nobody knows) of the function that runs in a
    frame.

    Args:
        frame: of the function, in which no parameter was set anew, except that a lone list may stand for what it was unpacked to.
        defaults: of its parameters.
    """
    code, values = frame.f_code, frame.f_locals
    positional = [*code.co_varnames[:code.co_argcount]]
    further = code.co_argcount + code.co_kwonlyargcount
    spread: tuple[object, ...] = ()
    if code.co_flags & inspect.CO_VARARGS:
        more = values[code.co_varnames[further]]
        spread = more if isinstance(more, tuple) else (more,)
    named = {n: values[n] for n in code.co_varnames[code.co_argcount:further]}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= values[code.co_varnames[further + bool(code.co_flags & inspect.CO_VARARGS)]]
    by_position = [*[values[n] for n in positional], *spread]

    def stands(name: str, value: object) -> bool:
        if value is MISSING or value is ... or name not in defaults:
            return value is not MISSING and value is not ...
        default = defaults[name]
        return value is not default and not (value.__class__ is default.__class__ is float and value == default)  # maybe another

    def filled(i: int) -> bool:
        return stands(positional[i], by_position[i]) if i < len(positional) else i < len(by_position)

    caller = frame.f_back
    call = None if caller is None else written(caller.f_code, caller.f_lasti)
    if call is None:
        start = next((i for i, value in enumerate(by_position) if value is ... or value is MISSING), len(by_position))
        named = dict(zip(positional[start:], by_position[start:])) | named
        count = max([i + 1 for i in range(start) if filled(i)], default=0)
        return by_position[:count], {n: v for n, v in named.items() if stands(n, v)}, None
    count, names = call
    count -= len(names)
    if count == 1 < len(spread) and positional:
        by_position = [*by_position[:len(positional)], spread]
    bound = filled(count) and (count >= len(positional) or positional[count] not in names)
    found = {n: named[n] if n in named else values[n] for n in names if n in values or n in named}
    return by_position[:count + bound], found, bool(bound)
