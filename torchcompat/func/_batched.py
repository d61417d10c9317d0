"""BatchedTensor: one example's view of a tensor that holds all examples of a vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.errors import AutogradError
from autograd_tape.strided import storage_offset

from .._tensor import Tensor
from .._memory.layout import contiguous_format

if TYPE_CHECKING:
    from torchcompat._memory.layout import memory_format

_new = object.__new__
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


class ValuesError(AutogradError, RuntimeError):
    """The values of a tensor inside vmap were asked for: there is one value per example."""

    builtin = RuntimeError


def _without_storage(*args: object, **kwargs: object) -> Any:
    raise NotImplementedError("Cannot access storage of BatchedTensorImpl")


def _refused(*args: object, **kwargs: object) -> Any:
    raise ValuesError(NO_STORAGE)


class Outline:
    """What an example has in the place of an array: its geometry. Whoever reads values gets an error, not the number of some one example:
    operations deal with whole batches (see `_batching`)."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    shape, strides = property(lambda self: self._array.shape), property(lambda self: self._array.strides)
    dtype, flags = property(lambda self: self._array.dtype), property(lambda self: self._array.flags)
    ndim, size = property(lambda self: self._array.ndim), property(lambda self: self._array.size)
    itemsize, nbytes = property(lambda self: self._array.itemsize), property(lambda self: self._array.nbytes)
    offset = property(lambda self: storage_offset(self._array))
    # Where Python would find its own answer, and all that an array has besides.
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reduce_ex__ = __getitem__ = __getattr__ = _refused
    __hash__ = object.__hash__


class BatchedTensor(Tensor):
    """One example of `value`, whose dimension `bdim` counts the examples of a vmap level.

    Its metadata is that of the example; history and version are those of `value`, so that the tape sees whole batches only.
    """

    __slots__ = ("_level", "_value", "_bdim")
    _level: Any
    _value: Any
    _bdim: int

    @property
    def _node(self) -> Any:
        return self._value._node

    @_node.setter
    def _node(self, node: object) -> None:
        self._value._node = node

    @property
    def _v(self) -> Any:
        return self._value._v

    @_v.setter
    def _v(self, version: object) -> None:
        self._value._v = version

    def detach(self) -> Tensor:
        """The example without history."""
        return batched(self._level, self._value.detach(), self._bdim)

    @property  # type: ignore[misc]  # an example's memory is not replaced
    def data(self) -> Tensor:
        """The example without history, and with a version counter of its own."""
        return batched(self._level, self._value.data, self._bdim)

    def item(self) -> Any:
        """Raises: there is one value per example."""
        raise RuntimeError("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
                           "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside "
                           "PyTorch internals, please file a bug report.")

    def __bool__(self) -> bool:
        raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
                           "that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")

    def __index__(self) -> int:
        return self.item()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Raises: there is one array per example."""
        raise RuntimeError(NO_STORAGE)

    def tolist(self) -> Any:
        """Raises: there is one list per example."""
        raise RuntimeError(NO_STORAGE)

    untyped_storage = storage = _typed_storage = is_shared = share_memory_ = __deepcopy__ = __reduce_ex__ = _without_storage

    def data_ptr(self) -> int:
        """Raises: there is one address per example."""
        raise RuntimeError(NO_STORAGE)

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not value and not self._value.requires_grad:
            return
        raise RuntimeError("You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside "
                           "of a function being transformed by a functorch transform. This is unsupported, please attempt to use the "
                           "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function "
                           "being transformed instead.")

    def backward(self, gradient: object = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: object = None) -> None:
        """Raises, as torch does."""
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                           "functorch.vjp instead or call backward() outside of functorch transforms.")

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Whether the elements of an example lie in order of rows; other formats are not known."""
        if memory_format is not None and memory_format.name != "contiguous_format":
            raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")
        return super().is_contiguous()

    def contiguous(self, memory_format: memory_format | None = None) -> Tensor:
        """Itself, or a copy in order of rows, where the elements of an example do not lie so."""
        return self if self.is_contiguous(memory_format) else self.clone(memory_format=contiguous_format)

    def new_empty_strided(self, size: Any, stride: Any, **options: object) -> Tensor:
        """An unset tensor for each example, one behind the other."""
        size, stride = tuple(size), tuple(stride)
        reach = 0 if 0 in size else 1 + sum([(n - 1) * s for n, s in zip(size, stride)])
        count = self._value.size(self._bdim)
        return batched(self._level, self._value.new_empty_strided((count, *size), (reach, *stride), **options), 0)

    def resize_(self, *sizes: Any, size: Sequence[int] | None = None, memory_format: memory_format | None = None) -> Tensor:
        """Changes the shape of each example in place, the batch being laid out anew over its memory."""
        sizes = sizes if size is None else (size,)
        size = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        if self._bdim:
            raise RuntimeError("NYI: resizing an example of a batch whose examples do not lie one behind the other")
        self._value.resize_((self._value.shape[0], *size))
        self._data = batched(self._level, self._value, 0)._data
        return self

    def _become(self, view: Any) -> None:
        """Takes the shape of a view of itself, in place."""
        self._value, self._bdim, self._data = view._value, view._bdim, view._data

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: object = None) -> str:  # type: ignore[override]  # checkers drop the names of dunder parameters
        value = "\n".join(["    " + line for line in repr(self._value).splitlines()])
        return f"BatchedTensor(lvl={self._level.number}, bdim={self._bdim}, value=\n{value}\n)"


def batched(level: Any, value: Tensor, bdim: int) -> BatchedTensor:
    """One example of `value` at a vmap level."""
    data = value._data
    if data.__class__ is Outline:
        data = data._array
    elif data.__class__ is not np.ndarray:
        data = data.geometry
    t = _new(BatchedTensor)
    t._level, t._value, t._bdim = level, value, bdim % data.ndim
    if data.shape[bdim]:
        t._data = Outline(data[(slice(None),) * t._bdim + (0, ...)])
    else:
        t._data = Outline(np.empty(data.shape[:t._bdim] + data.shape[t._bdim + 1:], data.dtype))
    t._k = value._k
    t._base = None
    return t
