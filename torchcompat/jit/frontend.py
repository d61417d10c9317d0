"""The source of what is scripted: found, looked through for what scripted programs cannot have, and shown."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import traceback
from collections.abc import Callable
from typing import Any

from autograd_tape import warned
from autograd_tape.errors import AutogradError

from torchcompat._calls.absent import absences as _absences

from . import _code
from ._state import Error

Fn = Callable[..., Any]


class FrontendError(Exception):
    """Something is wrong with a source.

    Attributes:
        msg: what.
    """

    def __init__(self, source_range: str, msg: str) -> None:
        self.source_range, self.msg = source_range, msg
        super().__init__(msg)

    def __str__(self) -> str:
        return f"{self.msg}:\n{self.source_range}"


class NotSupportedError(FrontendError):
    """Something that scripted programs cannot have."""


class UnsupportedNodeError(NotSupportedError):
    """A form of Python that scripted programs cannot have."""


class FrontendTypeError(FrontendError):
    """Something is of a type that it must not be of."""


def source(obj: Any) -> tuple[str, str, int]:
    """(the source of a function or class, its file, its first line). OSError: it is not there."""
    try:
        lines, first = inspect.getsourcelines(obj)
        return "".join(lines), inspect.getsourcefile(obj) or "", first
    except (OSError, TypeError) as error:
        raise OSError(f"Can't get source for {obj}. TorchScript requires source access in order to carry out compilation, make sure "
                      f"original "
                      ".py files are available.") from error


@functools.lru_cache(256)
def _parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def tree(function: object) -> tuple[ast.FunctionDef, str, str, int]:
    """(the definition of a function, its source, its file, its first line).

    Raises:
        OSError: the source is not there.
        RuntimeError: it is no definition alone.
    """
    text, file, first = source(function)
    try:
        body = _parsed(text).body
    except SyntaxError:
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise RuntimeError(f"Expected a single top-level function: {file}:{first}")
    return body[0], text, file, first


_WORDS: dict[type, tuple[str, int]] = {
    ast.Try: ("try blocks", 3), ast.Lambda: ("Lambda", 1), ast.Import: ("import statements", 6), ast.ImportFrom: ("import statements", 4),
    ast.Yield: ("Yield", 1), ast.YieldFrom: ("YieldFrom", 1), ast.Await: ("Await", 1), ast.AsyncFor: ("async for loops", 1),
    ast.AsyncWith: ("async with statements", 1), ast.AsyncFunctionDef: ("async function definitions", 1), ast.Global: ("global "
                                                                                                                       "variables", 6),
    ast.Nonlocal: ("nonlocal variables", 8), ast.ClassDef: ("class definitions", 5), ast.Set: ("Set", 1), ast.SetComp: ("SetComp", 1),
    ast.NamedExpr: ("NamedExpr", 1), ast.Match: ("Match", 1)}


def _marked(text: str, file: str, first: int, row: int, column: int, length: int) -> str:
    """A source with a mark under a part of it."""
    lines = textwrap.dedent(text).rstrip("\n").split("\n")
    offset = 0
    while lines and lines[0].lstrip().startswith("@"):
        lines, first, offset = lines[1:], first + 1, offset + 1
    row -= offset
    shift = len(text) - len(text.lstrip(" "))
    shown = [" " * shift + line if line else line for line in lines]
    shown = shown[:row + 2]
    shown.insert(row, " " * (column + shift) + "~" * length + " <--- HERE")
    return f'  File "{file}", line {first + row - 1}\n' + "\n".join(shown) + "\n"


def check(function: object) -> None:
    """Whether a function of a program could be scripted.

    Raises:
        NotSupportedError: something in it cannot.
        OSError: its source is not there.
        RuntimeError: it is no definition alone.
    """
    if (getattr(function, "__module__", None) or "").partition(".")[0] == "torchcompat":
        return
    node, text, file, first = tree(function)
    stars = [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
    if stars or any([d is not None for d in node.args.kw_defaults]):
        where = stars[0] if stars else node.args.kwonlyargs[0]
        raise NotSupportedError(_marked(text, file, first, where.lineno, where.col_offset - bool(stars),
                                        (where.end_col_offset or 0) - where.col_offset + bool(stars)),
                                "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults")
    for inner in ast.walk(node):
        words = _WORDS.get(type(inner))
        if words is not None:
            assert isinstance(inner, (ast.stmt, ast.expr))
            raise UnsupportedNodeError(_marked(text, file, first, inner.lineno, inner.col_offset, words[1]), f"{words[0]} aren't supported")


# -- errors of programs -----------------------------------------------------------------------------------------------------------------


def told(error: Exception, method: object) -> Exception:
    """The error that a scripted function raises for what went wrong in it."""
    if isinstance(error, _code.Refused):
        return RuntimeError(str(error))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*warned.roots, "<"))]
    shown = ""
    for frame in frames[1:] if len(frames) > 1 else frames:
        line = frame.line or ""
        shown += f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {line}\n    {"~" * len(line)} <--- HERE\n'
    own = isinstance(error, (RuntimeError, AutogradError, IndexError, TypeError)) or not frames
    raised = bool(frames) and (frames[-1].line or "").lstrip().startswith("raise")
    kind: type[Exception]
    if isinstance(error, Error):
        kind, message = Error, f"RuntimeError: {error}" if not str(error).split(":")[0].isidentifier() else f"builtins.{error}"
    elif isinstance(error, AssertionError):
        kind, message = Error, f"RuntimeError: AssertionError: {error}"
    elif own and not raised:
        kind, message = RuntimeError, f"{type(error).__name__}: {error}"
    else:
        kind, message = Error, f"builtins.{type(error).__name__}: {error}"
    return kind(f"The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
                f"last):\n{shown}"
                f"{message}\n")


# -- programs ---------------------------------------------------------------------------------------------------------------------------


def as_method(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function as the method `forward`."""
    given = node.args
    args = ast.arguments(posonlyargs=[], args=[ast.arg("self"), *given.args], kwonlyargs=given.kwonlyargs, kw_defaults=given.kw_defaults,
                         defaults=given.defaults)
    return ast.fix_missing_locations(ast.FunctionDef("forward", args, node.body, [], node.returns))


def printed(node: ast.FunctionDef, own: bool, kind: str | None = None) -> str:
    """A function as files have it; `kind` is the class that `self` is of."""
    given = node.args
    params = []
    first = len(given.args) - len(given.defaults)
    for i, a in enumerate([*given.args, *given.kwonlyargs]):
        default = given.defaults[i - first] if first <= i < len(given.args) else None
        if i >= len(given.args):
            default = given.kw_defaults[i - len(given.args)]
        if own and not i:
            params.append("self" if kind is None else f"self: {kind}")
        else:
            shown = "Tensor" if a.annotation is None else ast.unparse(a.annotation)
            params.append(f"{a.arg}: {shown}" + ("" if default is None else f"={ast.unparse(default)}"))
    back = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    body = textwrap.indent("\n".join([ast.unparse(s) for s in node.body]), "    ")
    lines = [f"{line}" for line in body.split("\n")]
    lines = [" " * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() for line in lines]
    return f"def {node.name}(" + ",\n    ".join(params) + f"){back}:\n" + "\n".join(lines) + "\n"


def operations(node: ast.FunctionDef) -> list[str]:
    """The operations that are called, in order, by name."""
    found = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            path = ast.unparse(inner.func)
            found.append(path.replace("ops.prim.", "prim::") if path.startswith("ops.prim.") else
                         path.replace("torch.", "aten::", 1) if path.startswith("torch.") else path)
    return found


def read_source(text: str, unit: _code.Unit, home: str) -> list[_code.Function]:
    """The functions of a source in TorchScript's language. RuntimeError: it is none."""
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except SyntaxError as error:
        raise RuntimeError(f"{error}") from None
    found = []
    for node in body:
        if not isinstance(node, ast.FunctionDef):
            raise RuntimeError(f"expected def but found {type(node).__name__}")
        function = _code.Function(node, unit, home)
        function.check()
        found.append(function)
        unit.known.setdefault(function.name, function)
    return found


_absences(__name__)
