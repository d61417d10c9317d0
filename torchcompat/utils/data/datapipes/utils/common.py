"""Checks of the functions that pipes are given, files by name, and streams that close when nobody reads them."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any, NoReturn

from autograd_tape import warned
from autograd_tape.annotations import Fn
from torchcompat._calls.absent import absences as _absences

__all__ = ["StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks", "validate_input_col"]

DILL_AVAILABLE = find_spec("dill") is not None


def validate_input_col(fn: Fn, input_col: Any) -> None:
    """Refuses (ValueError) a function that cannot be called with as many arguments as there are columns."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # one of a built-in function, which nobody knows
        return
    wanted = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    named = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(named, "__name__", repr(named))
    if by_keyword:
        raise ValueError(f"The function {name} takes {len(by_keyword)} non-default keyword-only parameters, which is not allowed.")
    if len(parameters) < wanted and not any_number:
        raise ValueError(f"The function {name} takes {len(parameters)} parameters, but {wanted} are required.")
    too_many = any(p.default is p.empty for p in by_position[wanted:])
    if too_many or len(by_position) < wanted and not any_number:
        raise ValueError(f"The function {name} takes {len(by_position)} positional parameters, but {wanted} are required.")


def _is_local_fn(fn: Any) -> bool:
    if hasattr(fn, "__code__"):
        return bool(fn.__code__.co_flags & inspect.CO_NESTED)
    return "<locals>" in getattr(fn, "__qualname__", type(fn).__qualname__)


def _check_unpickable_fn(fn: Any) -> None:
    """Warns of a function that pickle cannot send to a worker; TypeError for what is none."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if DILL_AVAILABLE:
        return
    fn = fn.func if isinstance(fn, functools.partial) else fn
    what = "Local" if _is_local_fn(fn) else "Lambda" if getattr(fn, "__name__", "") == "<lambda>" else None
    if what is not None:
        warned.warn(f"{what} function is not supported by pickle, please use regular python function or functools.partial instead.")


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a file's name fits one of the patterns; any does where there are none."""
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False,
                                 non_deterministic: bool = False) -> Iterator[str]:
    """The paths of the files in a folder, or the file itself, that fit the masks; in order, unless they may come in any."""
    def refuse(error: OSError) -> NoReturn:
        warned.warn(f"{error.filename} : {error.strerror}")
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for path, folders, files in os.walk(root, onerror=refuse):
        for name in files if non_deterministic else sorted(files):
            if match_masks(name, masks):
                yield os.path.join(os.path.abspath(path) if abspath else path, name)
        if not recursive:
            return
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(pathnames: Any, mode: str, encoding: str | None = None) -> Iterator[tuple[str, "StreamWrapper"]]:
    """Paths with their files, opened."""
    for path in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, f"r{mode}" if mode in ("b", "t") else mode, encoding=encoding))


class StreamWrapper:
    """A stream that is closed when nobody holds it any more, and its parent with its last child where that was asked for."""

    session_streams: dict[Any, int] = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj: Any, parent_stream: StreamWrapper | None = None, name: str | None = None) -> None:
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: object, depth: int = 0) -> None:
        """Closes the streams in a structure."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif depth <= 10 and isinstance(v, (dict, list, tuple)):
            for inner in v.values() if isinstance(v, dict) else v:
                cls.close_streams(inner, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: object, **kwargs: object) -> None:
        """Closes it, once."""
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        parent = self.__dict__.get("parent_stream")
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)
        self.closed = True

    def autoclose(self) -> None:
        """Closes it with the last of its children; now where it has none."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *vars(StreamWrapper), *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self) -> object:
        return self.file_obj

    def __setstate__(self, obj: object) -> None:
        self.__init__(obj)  # type: ignore[misc]  # all of it anew


_absences(__name__)
