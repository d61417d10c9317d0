"""TensorRef: a handle on a buffer, with its place in the graph.

This is the one tensor object of the package. `torchcompat.Tensor` derives from it; every operation record is compiled
for a tensor class and works on these slots alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NewType, Self, cast

import numpy as np

from .annotations import Fn
from .dtypes import CPU, CPU_KINDS, FLOATING, DType, Device, Kind, dtype_of, kind
from .errors import ArgumentError, DTypeError, GradientDTypeError, NoGradError, ShapeMismatchError, type_name
from .locks import cached_property
from .strided import deep_copy
from .version import Version

if TYPE_CHECKING:
    import weakref

    from .lazy import OpSpec
    from .node import AccumulateGrad, Hooks, TapeEntry

TapeId = NewType("TapeId", int)
next_id = cast("Callable[[], TapeId]", itertools.count(1).__next__)


watchers: list[None] = []
"""As many items as there are blocks, on whatever thread, that want to know of numbers read out of tensors: see `tell`."""

listeners: list[Callable[[TensorRef, str], None]] = []
"""Who is told: tapes, and transforms."""


def tell(tensor: "TensorRef", how: str) -> None:
    """Called before a number of `tensor` is given to Python, while there are watchers: a tape that records notes it, a trace and a
    transform refuse what they cannot follow."""
    for listen in listeners:
        listen(tensor, how)


class Above:
    """What tensors, executors and tapes ask of layers above their own, whose modules put their functions here."""

    set_leaf: Callable[[TensorRef, bool], None]
    """`views`: makes a leaf require grad, or not."""
    evaluate: Callable[..., np.ndarray]
    """`lazy`: the data of a tensor, computed now, by an executor if one is named."""
    bind: Callable[[TensorRef, Any], TensorRef]
    """`lazy`: gives a declared tensor its data."""
    entry_with: Fn
    operations: Callable[[], Any]
    vjp_rule: Fn
    """`manual`: an entry that saved other tensors, an executor's operations on buffers, an operation's rule by name."""
    sharded: Any = None
    """`sharding.gradients`: what is done about sharded tensors; None until there are any."""
    entry_classes: list[Callable[..., Any]] = []
    """Who may make an entry of another class: called with the class, the differentiable inputs, None for numbers, and the outputs; None
    where it is to be as it is. `sharding.gradients`, and the sparse tensors of a front end."""
    sparse_rows: Callable[..., Any] | None = None
    sparse_elements: Callable[..., Any] | None = None
    """A front end's: the gradients for a table of which few rows were looked up, and for a tensor of which few elements were; None where no
    front end has sparse tensors."""

    @cached_property
    def graph_of(self) -> Callable[[Any, Any], Any]:
        """`graph`, which is imported at its first use: a tape as a graph of these outputs."""
        found: Callable[[Any, Any], Any] = import_module(f"{__package__}.graph").Graph.from_tape
        return found

    @cached_property
    def seen(self) -> Fn:
        """That of `unfolded`, which is imported when somebody first looks at a node that stands for several of torch's."""
        found: Fn = import_module(f"{__package__}.unfolded").seen
        return found

    @cached_property
    def unfolded(self) -> Fn:
        """That of `unfolded`, likewise."""
        found: Fn = import_module(f"{__package__}.unfolded").unfolded
        return found

    @cached_property
    def take_apart(self) -> Fn:
        """That of `unfolded`, likewise."""
        found: Fn = import_module(f"{__package__}.unfolded").take_apart
        return found

    @cached_property
    def show(self) -> ModuleType:
        """The package `show`, which is imported when something is first to be shown."""
        return import_module(f"{__package__}.show")

    @cached_property
    def numpys(self) -> Fn:
        """That of `numpy`, likewise: a method of NumPy's arrays."""
        found: Fn = import_module(f"{__package__}.numpy")._protocol.numpys
        return found

    @cached_property
    def draw_sharding(self) -> Any:
        """That of `sharding.draw`, likewise."""
        return import_module(f"{__package__}.sharding.draw").draw_sharding


above = Above()


class _Leaf:
    """The type of LEAF."""

    __slots__ = ()

    blank = False  # see TapeEntry.blank

    def __repr__(self) -> str:
        return "LEAF"

    def __reduce__(self) -> str:
        return "LEAF"  # there is one, also for who copies or pickles it


LEAF: Any = _Leaf()
"""What `_node` holds for a tensor that requires grad and was made by no operation."""


def leaf_node(dtype: DType, requires_grad: bool, message: str = "Only Tensors of floating point and complex dtype can require gradients"
              ) -> _Leaf | None:
    """What `_node` holds for a tensor that no operation made: LEAF, or None where it does not require grad.

    Raises:
        GradientDTypeError: it is to require grad, but its numbers are integers or booleans, which could not hold a gradient.
    """
    if not requires_grad:
        return None
    if dtype.category < FLOATING:
        raise GradientDTypeError(message, expected="a floating-point or complex dtype", found=dtype.name,
                                 remedy="convert the tensor first")
    return LEAF


class Info:
    """What few tensors have: None, or False, where they have it not."""

    shape: tuple[int, ...] = ()                # of a tensor that has no data yet
    spec: tuple["OpSpec", int] | None = None   # the declared operation whose output it is, and which of them
    creation: str | None = None                # how a view was made that may not be changed in place
    retains_grad: bool = False
    traced: bool = False                       # whether it is an input of a trace
    hooks: dict[int, Any] | None = None        # on its gradient
    post_accumulate: dict[int, object] | None = None
    node_hooks: "Hooks | None" = None          # on the node of a leaf
    accumulate_node: "weakref.ref[AccumulateGrad] | None" = None
    tangents: dict[Any, Any] | None = None     # by level of forward mode
    followers: "weakref.WeakValueDictionary[int, TensorRef] | None" = None  # what was computed from it when asked for, by `lazy`
    shared: bool = False                       # whether several tensors have this one, each until it gets one of its own


NOTHING = Info()
"""What most tensors have."""


def info_of(tensor: "TensorRef") -> Info:
    """A tensor's rare attributes, to be set. To look at them is `getattr(tensor, "_info", NOTHING)`."""
    info: Info | None = getattr(tensor, "_info", None)
    if info is None or info.shared:
        tensor._info = info = Info() if info is None else info.__class__()
    return info


def table_of(tensor: "TensorRef", name: str, make: Callable[[], Any] = dict) -> Any:
    """One of a tensor's rare tables, made when it is first asked for."""
    info = info_of(tensor)
    table = getattr(info, name)
    if table is None:
        table = make()
        setattr(info, name, table)
    return table


def _could_be_shape(data: object) -> bool:
    """Whether these are whole numbers, one or a flat sequence of them, as sizes are."""
    return all([isinstance(n, (int, np.integer)) and not isinstance(n, bool)
                for n in (data if isinstance(data, (tuple, list)) else (data,))])


class Absent:
    """An attribute of TensorRef's that a subclass does without, as if nobody had defined it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'")


class Later:
    """An attribute that a module puts in this place when it is imported, which is when somebody first asks for it."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        import_module(f"{__package__}.{self.module}")
        if owner.__dict__.get(self.name) is self:
            raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'")
        return getattr(owner if instance is None else instance, self.name)


BUFFERS: set[Any] = {np.ndarray}
"""The classes of what tensors have their elements in: NumPy's arrays, and what else an executor computes with."""


def foreign(value: Any) -> bool:
    """Whether it is a buffer that is no NumPy array."""
    return value.__class__ is not np.ndarray and value.__class__ in BUFFERS


def buffer_of(value: Any, dtype: Any = None) -> Any:
    """A value in a buffer of a NumPy dtype: one of `BUFFERS` as it is where that has it, anything else as an array."""
    if value.__class__ not in BUFFERS:
        return np.asarray(value, dtype)
    return value if dtype is None or value.dtype == dtype else value.astype(dtype)


def zeros_of(x: "TensorRef") -> np.ndarray:
    """Zeros in a buffer of a tensor's shape and dtype, where it lies."""
    data = x._data
    return np.zeros(tuple(x.shape), x._k.np) if data is None or data.__class__ is np.ndarray else data.zeros()


LEAF_CLASSES: set[type] = set()
"""TensorRef and its subclasses: how the engine tells a leaf from an entry with one look-up."""


class TensorRef:
    """A tensor, with or without data yet: `TensorRef.of(data)` has the values it is given, `TensorRef.over(array)` shares an array's
    memory, and `TensorRef.declare(shape, dtype)` gets its data later.

    `TensorRef(data)` is `TensorRef.of(data)` where that cannot be misread: whole numbers alone, as in (2, 3), could be values or sizes.

    Raises:
        ArgumentError: `data` could be a shape, or holds no numbers.
        GradientDTypeError: integers or booleans that are to require grad.

    >>> TensorRef.of([2, 3]), TensorRef.declare((2, 3), "float32")
    (TensorRef([2, 3], dtype=int64), TensorRef(shape=(2, 3), dtype=float32))
    >>> TensorRef((2, 3))
    Traceback (most recent call last):
    ...
    autograd_tape.errors.ArgumentError: TensorRef((2, 3)) could mean these numbers or a tensor of this shape. ...
    """

    # _data  the NumPy array: buffer, shape, strides and offset in one (None until data is bound)
    # _k     the Kind: dtype, device, and whether anything about the tensor is special
    # _node  None: no gradient wanted; LEAF; a TapeEntry; or an OutputEdge of an entry with several outputs
    # _v     the Version of its memory, shared by all views of one base, or None until needed
    # _base  the tensor this one is a view of
    # _grad, _id, _info  are set on first need only
    __slots__ = ("_data", "_k", "_node", "_v", "_base", "_grad", "_id", "_info", "__weakref__")
    _tag: Literal[1] = 1  # see TapeEntry._tag
    __array_priority__ = 1000  # array * tensor is the tensor's __rmul__
    # What NumPy's arrays have, and the array API standard asks for.
    __array_ufunc__, __array_function__, __array_namespace__ = Later("numpy"), Later("numpy"), Later("array_api")
    T, mT, size, itemsize, nbytes, real, imag = [Later("numpy") for _ in range(7)]
    astype, copy, stop_gradient = Later("numpy"), Later("numpy"), Later("numpy")
    argpartition, choose, compress, conjugate, ptp, searchsorted = [Later("numpy") for _ in range(6)]

    _data: Any
    _k: Kind
    _node: Any
    _v: Version | None
    _base: "TensorRef | None"
    _grad: Any
    _id: int
    _info: Info
    _front_end: Any  # of the class: whose functions make tensors of it

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        LEAF_CLASSES.add(cls)

    def __init__(self, data: Any, dtype: Any = None, *, requires_grad: bool = False, device: Device = CPU) -> None:
        if _could_be_shape(data):
            raise ArgumentError(f"TensorRef({data!r}) could mean these numbers or a tensor of this shape",
                                expected="data that is no shape: an array, floats, nested lists", found=repr(data),
                                remedy=f"write TensorRef.of({data!r}) for the numbers, TensorRef.declare({data!r}) for the shape")
        made = TensorRef.of(data, dtype, requires_grad=requires_grad, device=device)
        self._data, self._k, self._node, self._v, self._base = made._data, made._k, made._node, None, None

    @classmethod
    def of(cls, data: Any, dtype: Any = None, *, requires_grad: bool = False, device: Device = CPU) -> "TensorRef":
        """A tensor of the values of an array, a number or nested lists: a copy, for what is computed from it goes on to be needed, and a
        change of the caller's array could not be noticed. `over` shares the memory.

        Args:
            dtype: a `DType`, its name, or a NumPy dtype; that of the data where left out.
            requires_grad: whether gradients with respect to this tensor are wanted.

        Raises:
            ArgumentError: `data` holds no numbers.
            GradientDTypeError: integers or booleans that are to require grad.
        """
        try:
            array = np.array(data, None if dtype is None else as_dtype(dtype).np, copy=True, order="K")
            known = array.dtype in CPU_KINDS or array.dtype.newbyteorder("=") in CPU_KINDS
        except ValueError:  # lists of several lengths, or of words that are to be numbers
            known = False
        if not known:
            raise ArgumentError("A tensor is made of numbers", expected="an array, a number, or nested lists of them, of one length",
                                found=f"{type(data).__name__} of {data.dtype}" if hasattr(data, "dtype") else type(data).__name__,
                                remedy="pass numbers; TensorRef.declare(shape, dtype) makes one without data") from None
        made = cls.over(array, requires_grad=requires_grad)
        if device is not CPU:
            made._k = kind(made._k.dtype, Device(device))
        return made

    @classmethod
    def declare(cls, shape: int | Sequence[int], dtype: DType | str = "float32", *, requires_grad: bool = False,
                device: Any = CPU) -> "TensorRef":
        """A tensor of a shape and dtype whose data comes later: `bind` gives it some, an `OpSpec` computes it.

        Raises:
            ArgumentError: `shape` is not made of sizes, or `dtype` is none.
            GradientDTypeError: integers or booleans that are to require grad.

        >>> x = TensorRef.declare((2, 3), "float64", requires_grad=True)
        >>> x.shape, x.has_data
        ((2, 3), False)
        """
        sizes = (shape,) if isinstance(shape, (int, np.integer)) else shape
        if not isinstance(sizes, (tuple, list)) or not all(
                [isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in sizes]):
            raise ArgumentError("A tensor is declared by its sizes", expected="non-negative ints", found=repr(shape),
                                remedy="pass a tuple of sizes; TensorRef.of(data) makes a tensor of data")
        self = cls.__new__(cls)
        self._data, self._v, self._base = None, None, None
        self._k = kind(as_dtype(dtype), Device(device))
        info_of(self).shape = tuple([int(n) for n in sizes])
        self._node = leaf_node(self._k.dtype, requires_grad)
        return self

    @classmethod
    def over(cls, array: Any, *, requires_grad: bool = False) -> "TensorRef":
        """A tensor over an array, whose memory it shares: for an array that nobody changes but by operations on the tensor. Changes of
        any other kind are not noticed, and make gradients wrong.

        >>> array = np.zeros(2)
        >>> x = TensorRef.over(array)
        >>> x.add_(1.0).numpy() is array
        True
        """
        array = buffer_of(array)
        k = CPU_KINDS.get(array.dtype) or kind(dtype_of(array)) if array.__class__ is np.ndarray else array.kind
        self = cls.__new__(cls)
        # Quiet paths tell dtypes apart by identity; unpickled arrays, for one, have dtypes of their own.
        self._data, self._k = array if array.dtype is k.np or array.dtype != k.np else array.view(k.np), k
        self._node, self._v, self._base = leaf_node(k.dtype, requires_grad), None, None
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

            self._id = next_id()
            return self._id

    hash = id

    @property
    def has_data(self) -> bool:
        """Whether a buffer is bound."""
        return self._data is not None

    @property
    def sharding(self) -> Any:
        """How it lies over a mesh, a `sharding.Sharding`; None where it is on none."""
        return getattr(self._data, "sharding", None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        if watchers:
            tell(self, "shape")
        return self._info.shape if self._data is None else self._data.shape

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
        """Whether gradients flow to this tensor; a view made without recording says what its base says.

        It can be set for leaves.

        Raises (where it is set):
            NoGradError: the tensor was computed, and so requires grad whenever one of its inputs does.
            GradientDTypeError: the tensor holds integers or booleans.
        """
        node, base = self._node, self._base
        return node is LEAF or node is not None and not node.blank or (
            base is not None and base._node is not None and not self._k.inference and self._k.dtype.category >= FLOATING)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value is not True and value is not False:
            raise ArgumentError("requires_grad must be a bool", expected="True or False", found=type(value).__name__, remedy="pass a bool")
        if not self.is_leaf:
            raise NoGradError(
                "you can only change requires_grad flags of leaf variables." + (
                    "" if value else " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."),
                expected="a leaf", found=f"the output of '{self.creator.op_name}'",  # type: ignore[union-attr]  # it was computed
                remedy="set it on what the tensor is computed from, or make a new tensor of its data")
        above.set_leaf(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> "TensorRef":
        """Sets `requires_grad`, returns the tensor. That a computed tensor requires grad may be said again.

        Raises:
            NoGradError: the tensor was computed, and is to require none.
            GradientDTypeError: the tensor holds integers or booleans.
        """
        if requires_grad:
            leaf_node(self._k.dtype, True, "only Tensors of floating point dtype can require gradients")
        if not requires_grad or self.is_leaf:
            self.requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        node = self._node
        return node is None or node is LEAF or node.blank

    @property
    def creator(self) -> "TapeEntry | None":
        """The entry that made this tensor."""
        node = self._node
        if node is None or node is LEAF:
            return None
        return node if node._tag == 0 else node.entry

    @property
    def grad(self) -> "TensorRef | None":
        """The gradient that backward passes have added up, or None. The one place that it is kept: a `GradManager` looks here.

        It can be set to a tensor or an array of this shape, which is taken in this dtype, and to None.

        Raises (where it is set):
            ShapeMismatchError: it has another shape.
            GradientDTypeError: integers and booleans have no gradient.
        """
        found = getattr(self, "_grad", None)
        if found is not None and found.__class__ is not TensorRef and self.__class__ is TensorRef:
            self._grad = found = self._front_end.own(found)  # it came by a pass of another front end
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        self._grad = None if value is None else self._as_grad(value)

    def _as_grad(self, value: Any) -> TensorRef:
        """A gradient as a tensor of this one's class, shape and dtype: an array is copied, as its caller may change it."""
        leaf_node(self._k.dtype, True, "only Tensors of floating point and complex dtype can have gradients")
        F = self._front_end
        if (value._k.np.kind == "c" if isinstance(value, TensorRef) else np.iscomplexobj(value)) and self._k.np.kind != "c":
            raise DTypeError(f"The gradient of tensor {self.id} is complex, and the tensor is not", expected=self._k.dtype.name,
                             found=str(value.dtype) if hasattr(value, "dtype") else type_name(value), remedy="pass its real part")
        if not isinstance(value, TensorRef):
            try:
                value = np.array(value, self._k.np, order="K") if value.__class__ not in BUFFERS else value.astype(self._k.np, order="K")
            except (TypeError, ValueError):
                raise ArgumentError("A gradient is made of numbers", expected="a tensor, an array or nested lists of numbers",
                                    found=type_name(value), remedy="pass an array of the tensor's shape, or None") from None
        if tuple(value.shape) != tuple(self.shape):
            raise ShapeMismatchError(f"The gradient of tensor {self.id} has the wrong shape", expected=str(tuple(self.shape)),
                                     found=str(tuple(value.shape)), remedy="give a gradient of the tensor's shape")
        if isinstance(value, TensorRef) and value._k.dtype is not self._k.dtype:
            value = F.function("cast")(value, self._k.dtype)
        return F.own(value) if isinstance(value, TensorRef) else F.wrap(value, kind(self._k.dtype, self._k.device))

    def _add_grad(self, gradient: Any) -> None:
        """Adds a gradient, an array of anybody's or a tensor with a history, to `.grad`; in its place, for others may hold that."""
        have = self.grad
        new = self._as_grad(gradient)
        self._grad = new if have is None else have + new if new.requires_grad or have.requires_grad else (
            self._front_end.wrap((have._data + new._data).astype(self._k.np, copy=False), kind(self._k.dtype, self._k.device)))
        for hook in list((getattr(self, "_info", NOTHING).post_accumulate or {}).values()):
            hook(self)

    def _keep_grad(self, gradient: TensorRef) -> None:
        """Adds what a pass gave to a computed tensor: see `retain_grad`."""
        self._add_grad(gradient if gradient.requires_grad else gradient._data)

    def numpy(self) -> np.ndarray:
        """The buffer itself, computed now if it is the output of an `OpSpec`; NoGradError where data to compute it from is missing.

        This and all that gives numbers to Python (`item`, `tolist`, `float(x)`, `bool(x)`, ...) leaves the graph: what is computed from
        them has no gradient. A trace, and a transform such as `grad`, raise where that would be wrong without a word.
        """
        return self._read("numpy()")

    def _read(self, how: str) -> np.ndarray:
        if watchers:
            tell(self, how)
        data = self._data
        if isinstance(data, (np.ndarray, np.generic)):
            return data  # type: ignore[return-value]  # of gradients without dimensions NumPy makes scalars
        return above.evaluate(self) if data is None else data.whole()

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        return self._read("item()").item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self._read("tolist()").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = dtype is not None and np.dtype(dtype).kind in "biu"  # NumPy says what it wants: numbers that have no derivative
        array = self._read("an index" if whole else "a NumPy function")
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(len(self))])

    def __bool__(self) -> bool:
        return bool(self._read("bool()"))

    def __int__(self) -> int:
        return int(self._read("int()"))

    def __index__(self) -> int:
        if self._k.np.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._read("int()").item())

    def __float__(self) -> float:
        return float(self._read("float()").item())

    def __complex__(self) -> complex:
        return complex(self._read("complex()").item())

    def __repr__(self) -> str:
        flag = ", requires_grad=True" if self.requires_grad else ""
        if self._data is None:
            return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype.name}{flag})"
        shown, place = (self._data, []) if isinstance(self._data, (np.ndarray, np.generic)) else self._data.shown()
        values = f"shape={self.shape}" if shown is None else np.array2string(shown, separator=", ")
        return f"{type(self).__name__}({', '.join([values, f'dtype={self.dtype.name}', *place])}{flag})"

    def __format__(self, spec: str) -> str:
        """As `str`; of one number without dimensions, as that number is written. To print it is not to read it: see `repr`."""
        data = self._data
        return format(data.item(), spec) if spec and isinstance(data, (np.ndarray, np.generic)) and not data.ndim else (
            object.__format__(self, spec))

    if TYPE_CHECKING:  # operators, which are installed from the records, as all methods are

        def __add__(self, other: object, /) -> Any: ...
        def __radd__(self, other: object, /) -> Any: ...
        def __sub__(self, other: object, /) -> Any: ...
        def __rsub__(self, other: object, /) -> Any: ...
        def __mul__(self, other: object, /) -> Any: ...
        def __rmul__(self, other: object, /) -> Any: ...
        def __truediv__(self, other: object, /) -> Any: ...
        def __rtruediv__(self, other: object, /) -> Any: ...
        def __floordiv__(self, other: object, /) -> Any: ...
        def __pow__(self, other: object, /) -> Any: ...
        def __rpow__(self, other: object, /) -> Any: ...
        def __matmul__(self, other: object, /) -> Any: ...
        def __mod__(self, other: object, /) -> Any: ...
        def __and__(self, other: object, /) -> Any: ...
        def __or__(self, other: object, /) -> Any: ...
        def __xor__(self, other: object, /) -> Any: ...
        def __lshift__(self, other: object, /) -> Any: ...
        def __rshift__(self, other: object, /) -> Any: ...
        def __lt__(self, other: object, /) -> Any: ...
        def __le__(self, other: object, /) -> Any: ...
        def __gt__(self, other: object, /) -> Any: ...
        def __ge__(self, other: object, /) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __getitem__(self, index: object, /) -> Any: ...
        def __setitem__(self, index: object, value: object, /) -> None: ...

    __hash__ = object.__hash__

    # -- copies ---------------------------------------------------------------------------------------------------
    # A copy is a tensor of its own: it has an id, a version and a place in graphs of its own, and neither hooks nor managers.

    def _replica(self, data: np.ndarray | None) -> Self:
        """A leaf like this tensor over other memory."""
        t = object.__new__(type(self))
        t._data, t._k, t._node = data, kind(self._k.dtype, self._k.device, self._k.special, self._k.inference), None
        t._v = t._base = None
        if self.requires_grad:
            t._node = LEAF
        if data is None:
            info_of(t).shape = self.shape
        t.__dict__.update(self.__dict__) if hasattr(self, "__dict__") else None
        return t

    def _refuse_copy(self, what: str) -> None:
        if not self.is_leaf or self._data is None and self._info.spec is not None:
            creator = self.creator
            raise NoGradError(f"Only leaves support {what}: of a computed tensor the history would be lost", expected="a leaf",
                              found="the output of " + (f"'{creator.op_name}'" if creator is not None else "an OpSpec"),
                              remedy="copy its data: TensorRef.of(x.numpy())")

    def __copy__(self) -> Self:
        """Another leaf over the same memory, which shares its version.

        Raises:
            NoGradError: the tensor was computed.
        """
        self._refuse_copy("copy.copy()")
        t = self._replica(self._data)
        t._v = Version.of(self)
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Another leaf over a copy of the memory, with a copy of the gradient. Tensors that share memory share the copy's.

        Raises:
            NoGradError: the tensor was computed.
        """
        self._refuse_copy("copy.deepcopy()")
        from copy import deepcopy

        # A buffer without data may be larger than all memory, and is never written to.
        dataless = self._data is None or self._k.device.type == "meta"
        t = self._replica(self._data if dataless else deep_copy(self._data, memo))
        memo[id(self)] = t
        if getattr(self, "_grad", None) is not None:
            t._grad = deepcopy(self._grad, memo)
        if hasattr(self, "__dict__"):
            t.__dict__.update(deepcopy(self.__dict__, memo))
        return t

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled are a leaf's numbers, dtype, device, and whether it requires grad.

        Raises:
            NoGradError: the tensor was computed.
        """
        self._refuse_copy("pickling")
        if self.sharding is not None:
            raise TypeError("a sharded tensor is not in one place: gather() it first")
        data = None if self._data is None else self._data.tobytes()
        return unpickled, (type(self), data, self.shape, self._k.dtype.name, str(self._k.device), self.requires_grad,
                           dict(getattr(self, "__dict__", {})))


def unpickled(cls: type, data: bytes | None, shape: tuple[int, ...], dtype: str, device: str, requires_grad: bool,
              further: dict[str, list[str]] ) -> TensorRef:
    """A tensor from what was pickled of it."""
    t = TensorRef.declare(shape, dtype, requires_grad=requires_grad, device=device)
    if data is not None:
        t._data = np.frombuffer(bytearray(data), t._k.np).reshape(shape)
    if cls is not TensorRef:
        plain, t = t, object.__new__(cls)
        for name in ("_data", "_k", "_node", "_v", "_base", "_id", "_info"):
            if hasattr(plain, name):
                setattr(t, name, getattr(plain, name))
        t.__dict__.update(further)
    return t


LEAF_CLASSES.add(TensorRef)


def as_dtype(value: DType | np.dtype | str) -> DType:
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
