"""Runs a program as `python PROGRAM` does, with torchcompat in torch's place: its own `__main__`, `sys.argv` and `sys.path`, and no frame
of ours in the traceback of what it does not catch."""

from __future__ import annotations

import importlib.machinery
import io
import os
import pkgutil
import runpy
import sys
import zipfile
from pathlib import Path
from types import CodeType, ModuleType

from ..dropin import install

OURS = {__file__, str(Path(__file__).parents[1] / "__main__.py")}


def run(arguments: list[str]) -> None:
    """A script, a folder or an archive with a `__main__`, or what `-m`, `-c` and `-` say."""
    install()
    os.environ.setdefault("TORCHCOMPAT_AS_TORCH", "always")  # programs that it starts say `import torch`, too
    main, first = ModuleType("__main__"), arguments[0]
    sys.modules["__main__"] = main
    sys.argv = list(arguments if first not in ("-m", "-c") else [first, *arguments[2:]])
    try:
        if first == "-m":
            _search_in(os.getcwd())
            runpy._run_module_as_main(arguments[1])  # type: ignore[attr-defined]  # what Python calls for its own -m
        elif first == "-c":
            _search_in("")
            _carry_out(arguments[1], "<string>", main, importlib.machinery.BuiltinImporter)
        elif first == "-":
            _search_in("")
            _carry_out(sys.stdin.read(), "<stdin>", main, importlib.machinery.BuiltinImporter)
        elif os.path.isdir(first) or zipfile.is_zipfile(first):
            _search_in(first)
            runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        else:
            path = os.path.abspath(first)
            _search_in(os.path.dirname(os.path.realpath(path)))
            main.__dict__.update(__file__=path, __cached__=None)
            with io.open_code(path) as file:
                code: CodeType | bytes | None = pkgutil.read_code(file)
            if code is None:
                with io.open_code(path) as file:
                    code = file.read()
            _carry_out(code, path, main, importlib.machinery.SourceFileLoader("__main__", path))
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename in OURS:
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        sys.excepthook = lambda *told: None  # Python ends as it does after this error, and has nothing to add
        raise


def _search_in(folder: str) -> None:
    """Puts the program's folder where Python has put its own; the packages stay to be found where they were found by that."""
    if sys.flags.safe_path:
        return
    root, replaced = str(Path(__file__).parents[2]), sys.path[:1]
    sys.path[:1] = [folder]
    if replaced == [root] and root not in sys.path:
        sys.path.append(root)


def _carry_out(code: CodeType | str | bytes, name: str, main: ModuleType, loader: object) -> None:
    if not isinstance(code, CodeType):
        code = compile(code, name, "exec", dont_inherit=True)
    main.__dict__.update(__builtins__=sys.modules["builtins"], __loader__=loader, __annotations__={})
    exec(code, main.__dict__)
