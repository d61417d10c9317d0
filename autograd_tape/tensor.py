"""TensorRef: a handle on a buffer, with its place in the graph.

This is the one tensor object of the package. `torchcompat.Tensor` derives from it; every operation record is compiled
for a tensor class and works on these slots alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import CPU, CPU_KINDS, DType, Device, Kind, dtype_of, kind
from .errors import ArgumentError

if TYPE_CHECKING:
    from .tape import TapeEntry


class _Leaf:
    """The type of LEAF."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Any = _Leaf()
"""What `_node` holds for a tensor that requires grad and was made by no operation."""


LEAF_CLASSES: set[type] = set()
"""TensorRef and its subclasses: how the engine tells a leaf from an entry with one look-up."""


class TensorRef:
    """A tensor of a shape and dtype, with or without data yet.

    Args:
        shape: sizes, a tuple of int; or an array (or nested lists), whose data the tensor then has.
        dtype: a `DType`, its name, or a NumPy dtype; taken from the data when there is some.
        requires_grad: whether gradients with respect to this tensor are wanted.

    >>> x = TensorRef((2, 3), "float32")
    >>> x.shape, x.dtype, x.has_data
    ((2, 3), torch.float32, False)
    >>> TensorRef.of([1.0, 2.0]).numpy()
    array([1., 2.])
    """

    # _data  the NumPy array: buffer, shape, strides and offset in one (None until data is bound)
    # _k     the Kind: dtype, device, and whether anything about the tensor is special
    # _node  None: no gradient wanted; LEAF; a TapeEntry; or an OutputEdge of an entry with several outputs
    # _v     the version counter, shared by all views of one base: [version, weak references to views ...], or None until needed
    # _base  the tensor this one is a view of
    # _grad, _id, _info  are set on first need only
    __slots__ = ("_data", "_k", "_node", "_v", "_base", "_grad", "_id", "_info", "__weakref__")
    _tag = 1  # see TapeEntry._tag
    __array_priority__ = 1000  # array * tensor is the tensor's __rmul__

    _data: Any
    _k: Kind
    _node: Any
    _v: list[Any] | None
    _base: "TensorRef | None"
    _grad: Any
    _id: int
    _info: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        LEAF_CLASSES.add(cls)

    def __init__(self, shape: Any = (), dtype: Any = None, *, requires_grad: bool = False, device: Any = CPU) -> None:
        from .tape import next_id

        if isinstance(shape, int):
            shape = (shape,)
        self._v = self._base = None
        if isinstance(shape, tuple) and all(isinstance(n, int) and n >= 0 for n in shape):
            self._data = None
            self._info = {"shape": shape}
            self._k = kind(as_dtype("float32" if dtype is None else dtype), Device(device))
        else:
            array = np.asarray(shape, None if dtype is None else as_dtype(dtype).np)
            if array.dtype == object:
                raise ArgumentError("TensorRef needs a shape or numbers", expected="a tuple of sizes or an array of numbers",
                                    found=type(shape).__name__, remedy="pass a tuple of non-negative ints, or an array")
            self._data = array
            self._k = kind(dtype_of(array), Device(device))
        self._node = LEAF if requires_grad else None
        self._id = next_id()

    @classmethod
    def of(cls, data: Any, *, requires_grad: bool = False) -> "TensorRef":
        """A tensor over an array (shared, not copied) or over nested lists."""
        array = np.asarray(data)
        k = CPU_KINDS.get(array.dtype) or kind(dtype_of(array))
        self = cls.__new__(cls)
        # Quiet paths tell dtypes apart by identity; unpickled arrays, for one, have dtypes of their own.
        self._data, self._k = array if array.dtype is k.np or array.dtype != k.np else array.view(k.np), k
        self._node, self._v, self._base = (LEAF if requires_grad else None), None, None
        return self

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """The identity of this value: the id of the entry that made it, or a number of the same counter. An in-place
        operation makes a new value and so a new id."""
        node = self._node
        if node is not None and node is not LEAF:
            return node.id
        try:
            return self._id
        except AttributeError:
            from .tape import next_id

            self._id = next_id()
            return self._id

    hash = id

    @property
    def has_data(self) -> bool:
        """Whether a buffer is bound."""
        return self._data is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self._info["shape"] if self._data is None else self._data.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The data type."""
        return self._k.dtype

    @property
    def device(self) -> Device:
        """The device."""
        return self._k.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._node = LEAF if value else None

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self._node is None or self._node is LEAF

    @property
    def creator(self) -> "TapeEntry | None":
        """The entry that made this tensor."""
        node = self._node
        if node is None or node is LEAF:
            return None
        return node if node._tag == 0 else node.entry

    @property
    def grad(self) -> Any:
        """The accumulated gradient, or None."""
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._grad = value

    def numpy(self) -> np.ndarray:
        """The buffer itself, computed now if it is the output of an `OpSpec`; NoGradError where data to compute it from is missing."""
        if self._data is None:
            from .lazy import evaluate

            return evaluate(self)
        return self._data

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        return self.numpy().item()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        flag = ", requires_grad=True" if self._node is not None else ""
        if self._data is None:
            return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype.name}{flag})"
        return f"{type(self).__name__}({np.array2string(self._data, separator=', ')}, dtype={self.dtype.name}{flag})"

    __hash__ = object.__hash__


LEAF_CLASSES.add(TensorRef)


def as_dtype(value: Any) -> DType:
    """A DType from itself, its name, or anything NumPy takes for a dtype."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in DType.by_name:
        return DType.by_name[value]
    try:
        return DType.by_np[np.dtype(value)]
    except (TypeError, KeyError):
        raise ArgumentError(f"{value!r} is no dtype", expected=", ".join(DType.by_name), found=repr(value),
                            remedy="use one of the names above") from None
