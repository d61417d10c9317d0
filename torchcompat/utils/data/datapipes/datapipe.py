"""The classes that pipes derive from: elements one after the other, or by number."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from autograd_tape.annotations import Fn

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import hook
from .utils.common import DILL_AVAILABLE

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T", covariant=True)


class DataChunk(list[Any]):
    """A batch of elements: a list, which knows the elements that it was made of."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The elements as text."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[Any]:
        """The elements that it was made of."""
        yield from self.items


class _Pipe:
    """What both kinds have: steps as methods, and hooks that see what is pickled."""

    functions: ClassVar[dict[str, Fn]]
    reduce_ex_hook: Fn | None = None
    getstate_hook: Fn | None = None
    str_hook: Fn | None = None
    repr_hook: Fn | None = None
    _kind: ClassVar[type[_Pipe]]

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        bound = functools.partial(function, self)
        return functools.update_wrapper(bound, function, assigned=("__doc__",))

    @classmethod
    def register_function(cls, function_name: str, function: Fn) -> None:
        """Makes a function a method of all pipes of the kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Fn, enable_df_api_tracing: bool = False) -> None:
        """Makes a step a method of all pipes of the kind: `pipe.name(...)` is `cls_to_register(pipe, ...)`.

        Raises:
            Exception: there is a method of that name.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        step = functools.partial(cls_to_register)
        cls.functions[function_name] = functools.update_wrapper(step, cls_to_register, assigned=("__doc__",))

    def __getstate__(self) -> Any:
        return self._state(self.__dict__)

    def _state(self, state: Any) -> Any:
        hook = type(self)._kind.getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self)._kind.reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Fn | None) -> None:
        """Has `hook_fn` called with what is to be pickled of a pipe; None takes it away."""
        if cls._kind.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls._kind.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Fn | None) -> None:
        """Has `hook_fn` asked how a pipe is pickled; where it raises NotImplementedError, as ever. None takes it away."""
        if cls._kind.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls._kind.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        return type(self).__qualname__ if self.repr_hook is None else self.repr_hook(self)

    def __str__(self) -> str:
        return type(self).__qualname__ if self.str_hook is None else self.str_hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Pipe, IterableDataset[T]):
    """Elements one after the other: subclasses define `__iter__`, and `reset` where a pass has state. There is one iterator at a time.

    >>> from torchcompat.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).map(abs).batch(2))
    [[0, 1], [2, 3], [4]]
    """

    functions = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hook(cls)

    def __iter__(self) -> Iterator[T]:
        return self  # of a subclass that has `__next__`

    def reset(self) -> None:
        """Called at the begin of each pass."""
        self._number_of_samples_yielded = 0


class DFIterDataPipe(IterDataPipe[Any]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[T]):
    """Elements by number: subclasses define `__getitem__` and `__len__`."""

    functions = {}


IterDataPipe._kind, MapDataPipe._kind = IterDataPipe, MapDataPipe


def _length(pipe: object, *parts: Any) -> list[int]:
    """The lengths of the pipes that a pipe is made of; TypeError where one has none."""
    if not all(hasattr(type(part), "__len__") for part in parts):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return [len(part) for part in parts]


class _DataPipeSerializationWrapper:
    """A pipe on its way to a worker, by `dill` where `pickle` cannot."""

    _datapipe: Any

    def __getstate__(self) -> tuple[bytes, bool]:
        try:
            return pickle.dumps(self._datapipe), False
        except Exception:
            if not DILL_AVAILABLE:
                raise
            import dill  # type: ignore[import-not-found,import-untyped,unused-ignore]

            return dill.dumps(self._datapipe), True

    def __setstate__(self, state: tuple[bytes, bool]) -> None:
        if state[1]:
            import dill
        self._datapipe = (dill if state[1] else pickle).loads(state[0])

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        self._datapipe = datapipe
        self._datapipe_iter: Any = None

    def __iter__(self) -> Any:
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self) -> Any:
        if self._datapipe_iter is None:
            raise AssertionError("Iterator has not been initialized; call __iter__() before __next__()")
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    def __init__(self, datapipe: MapDataPipe[Any]) -> None:
        self._datapipe = datapipe

    def __getitem__(self, idx: Any) -> Any:
        return self._datapipe[idx]


def _serializable(pipe: Any) -> Any:
    """A pipe as a loader keeps it."""
    return (_IterDataPipeSerializationWrapper if isinstance(pipe, IterDataPipe) else _MapDataPipeSerializationWrapper)(pipe)
