"""Factories: tensors from sizes, ranges and other tensors' metadata. They record nothing."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

import numpy as np

from ..dtypes import CPU_KINDS, DType, Device, default_dtype, int64, kind, scalar_dtype
from ..errors import ArgumentError, AutogradError
from ..tensor import LEAF, TensorRef
from ._record import op

_new = object.__new__


def size_of(size: tuple[Any, ...], name: str = "zeros") -> tuple[int, ...]:
    """The sizes passed as several arguments or as one sequence, as a tuple of int."""
    if len(size) == 1 and not isinstance(size[0], (int, np.integer, TensorRef)):
        size = size[0]
        if not isinstance(size, (tuple, list)):
            raise ArgumentError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}",
                                expected="ints", found=type(size).__name__, remedy="pass sizes as ints")
    try:
        found = tuple([operator.index(n) for n in size])
    except TypeError:
        bad, at = next((n, i) for i, n in enumerate(size) if not hasattr(n, "__index__"))
        raise ArgumentError(f"{name}(): argument 'size' must be tuple of ints, but found element of type {type(bad).__name__} at pos {at}",
                            expected="ints", found=type(bad).__name__, remedy="pass sizes as ints") from None
    for n in found:
        if n < 0:
            raise AutogradError(f"Trying to create tensor with negative dimension {n}: {list(found)}", expected="sizes of at least 0",
                                found=str(n), remedy="pass non-negative sizes")
    return found


def finish(F: Any, array: np.ndarray, dtype: DType, device: Any, requires_grad: bool, out: Any = None) -> Any:
    """A tensor over a new array, on the device asked for."""
    if out is not None:
        return F.write_out(None, out, [F.wrap(array)])
    device = getattr(F, "default_device", None) if device is None else Device(device)
    t = _new(F.Tensor)
    t._data, t._k = array, CPU_KINDS[dtype.np]
    t._v = t._base = t._node = None
    if device is not None and device.type != "cpu":
        from ..executors import executor_for

        executor_for(device)  # says what is missing where the device cannot be used
        t._k = kind(dtype, device)
        if device.type == "meta":
            from ..executors.meta import meta_array

            t._data = meta_array(array.shape, array.dtype)
    if requires_grad:
        if dtype.category < 2:
            raise AutogradError("Only Tensors of floating point and complex dtype can require gradients", expected="a floating dtype",
                                found=dtype.name, remedy="ask for a floating dtype")
        t._node = LEAF
    return t


def _allocate(name: str, allocator: Callable[..., np.ndarray]) -> Callable[[Any], Callable[..., Any]]:
    """`zeros`, `ones`, `empty`: one flat function, quick for plain sizes."""
    def make(F: Any) -> Callable[..., Any]:
        Tensor, kinds, plain = F.Tensor, CPU_KINDS, frozenset([int])

        def factory(*size: Any, out: Any = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None, names: Any = None, **keyword: Any) -> Any:
            if size and size[0].__class__ in plain and device is None and out is None and F.default_device is None:
                try:
                    d = default_dtype() if dtype is None else dtype
                    t = _new(Tensor)
                    t._data = allocator(size, d.np)
                    t._k = kinds[d.np]
                    t._v = t._base = None
                    t._node = LEAF if requires_grad and d.category > 1 else None
                    if not requires_grad or t._node is not None:
                        return t
                except (TypeError, ValueError, AttributeError):
                    pass
            try:
                shape = size_of(size if size or "size" not in keyword else (keyword["size"],), name)
                d = default_dtype() if dtype is None else dtype
                if not isinstance(d, DType):
                    raise ArgumentError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}", expected="a dtype",
                                        found=type(dtype).__name__, remedy="pass torch.float32 or another dtype")
                small = device is not None and Device(device).type == "meta"
                array = np.empty((0,) * 0 if small else shape, d.np) if small else allocator(shape, d.np)
                if small:
                    from ..executors.meta import meta_array

                    array = meta_array(shape, d.np)
                return finish(F, array, d, device, requires_grad, out)
            except AutogradError as error:
                raise F.error(error) from None

        factory.__name__ = name
        return factory

    return make


def _ones(shape: Any, dtype: np.dtype) -> np.ndarray:
    array = np.empty(shape, dtype)
    array.fill(1)
    return array


@op("zeros(int[] size) -> Tensor", method=False)
class zeros:
    """Zeros of a shape.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """

    make = _allocate("zeros", np.zeros)


@op("ones(int[] size) -> Tensor", method=False)
class ones:
    """Ones of a shape.

    >>> torch.ones(2)
    tensor([1., 1.])
    """

    make = _allocate("ones", _ones)


@op("empty(int[] size) -> Tensor", method=False)
class empty:
    """Uninitialised memory of a shape.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """

    make = _allocate("empty", np.empty)


@op("full(int[] size, Scalar fill_value) -> Tensor", method=False)
class full:
    """One value in every element.

    >>> torch.full((2,), 7)
    tensor([7, 7])
    """

    def function(F, size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, names=None):
        shape = size_of((size,) if not isinstance(size, int) else (size,), "full")
        if isinstance(fill_value, TensorRef):
            fill_value = fill_value.item()
        d = scalar_dtype(fill_value) if dtype is None else dtype
        if device is not None and Device(device).type == "meta":
            from ..executors.meta import meta_array

            return finish(F, meta_array(shape, d.np), d, device, requires_grad, out)
        return finish(F, np.full(shape, fill_value, d.np), d, device, requires_grad, out)


def _like_array(input: TensorRef, dtype: np.dtype, memory_format: Any) -> np.ndarray:
    """Uninitialised memory of the shape of `input`, with its strides where they are dense."""
    data = input._data
    name = getattr(memory_format, "name", "preserve_format")
    if name == "preserve_format":
        return np.empty_like(data, dtype) if not data.flags.c_contiguous else np.empty(data.shape, dtype)
    if name.startswith("channels_last"):
        shape = data.shape
        return np.moveaxis(np.empty((shape[0], *shape[2:], shape[1]), dtype), -1, 1)
    return np.empty(data.shape, dtype)


def _like(value: Any) -> Callable[..., Any]:
    def function(F, input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        if not isinstance(input, TensorRef):
            raise ArgumentError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}", expected="Tensor",
                                found=type(input).__name__, remedy="pass a tensor")
        d = input._k.dtype if dtype is None else dtype
        device = input._k.device if device is None else device
        if Device(device).type == "meta":
            from ..executors.meta import meta_array

            return finish(F, meta_array(input._data.shape, d.np), d, device, requires_grad)
        array = _like_array(input, d.np, memory_format)
        if value is not None:
            array.fill(value)
        return finish(F, array, d, device, requires_grad)

    return function


@op("zeros_like(Tensor input) -> Tensor", method=False)
class zeros_like:
    """Zeros with the shape, dtype, device and strides of `input`.

    >>> torch.zeros_like(torch.tensor([1, 2]))
    tensor([0, 0])
    """

    function = _like(0)


@op("ones_like(Tensor input) -> Tensor", method=False)
class ones_like:
    """Ones with the shape, dtype, device and strides of `input`.

    >>> torch.ones_like(torch.tensor([1., 2.]))
    tensor([1., 1.])
    """

    function = _like(1)


@op("empty_like(Tensor input) -> Tensor", method=False)
class empty_like:
    """Uninitialised memory with the shape, dtype, device and strides of `input`.

    >>> torch.empty_like(torch.tensor([1., 2.])).shape
    torch.Size([2])
    """

    function = _like(None)


@op("full_like(Tensor input, Scalar fill_value) -> Tensor", method=False)
class full_like:
    """One value in every element, with the shape, dtype, device and strides of `input`.

    >>> torch.full_like(torch.tensor([1., 2.]), 5)
    tensor([5., 5.])
    """

    def function(F, input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        value = fill_value.item() if isinstance(fill_value, TensorRef) else fill_value
        return _like(value)(F, input, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format)


def _new_like(allocator: Callable[..., np.ndarray], name: str) -> Callable[..., Any]:
    def function(F, input, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **keyword):
        shape = size_of(size if size or "size" not in keyword else (keyword["size"],), name)
        d = input._k.dtype if dtype is None else dtype
        device = input._k.device if device is None else device
        if Device(device).type == "meta":
            from ..executors.meta import meta_array

            return finish(F, meta_array(shape, d.np), d, device, requires_grad)
        return finish(F, allocator(shape, d.np), d, device, requires_grad)

    return function


@op("new_zeros(Tensor input, int[] size) -> Tensor", namespace="Tensor")
class new_zeros:
    """Zeros of a shape, with the dtype and device of the tensor.

    >>> torch.ones(1).new_zeros(2)
    tensor([0., 0.])
    """

    function = _new_like(np.zeros, "new_zeros")


@op("new_ones(Tensor input, int[] size) -> Tensor", namespace="Tensor")
class new_ones:
    """Ones of a shape, with the dtype and device of the tensor.

    >>> torch.zeros(1, dtype=torch.int64).new_ones(2)
    tensor([1, 1])
    """

    function = _new_like(_ones, "new_ones")


@op("new_empty(Tensor input, int[] size) -> Tensor", namespace="Tensor")
class new_empty:
    """Uninitialised memory of a shape, with the dtype and device of the tensor.

    >>> torch.ones(1).new_empty(2, 3).shape
    torch.Size([2, 3])
    """

    function = _new_like(np.empty, "new_empty")


@op("new_full(Tensor input, int[] size, Scalar fill_value) -> Tensor", namespace="Tensor")
class new_full:
    """One value in every element of a shape, with the dtype and device of the tensor.

    >>> torch.ones(1).new_full((2,), 3)
    tensor([3., 3.])
    """

    def function(F, input, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        value = fill_value.item() if isinstance(fill_value, TensorRef) else fill_value
        return _new_like(lambda s, d: np.full(s, value, d), "new_full")(F, input, size, dtype=dtype, device=device, requires_grad=requires_grad)


def _strided(shape: tuple[int, ...], stride: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if len(shape) != len(stride):
        raise AutogradError(f"mismatch in length of strides and shape", expected=f"{len(shape)} strides", found=str(len(stride)),
                            remedy="pass one stride per size")
    span = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if math.prod(shape) else 0
    flat = np.empty(span, dtype)
    item = flat.itemsize
    return np.ndarray(shape, dtype, flat, 0, tuple(s * item for s in stride)) if span else np.empty(shape, dtype)


@op("empty_strided(int[] size, int[] stride) -> Tensor", method=False)
class empty_strided:
    """Uninitialised memory of a shape with given strides.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    def function(F, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        d = default_dtype() if dtype is None else dtype
        return finish(F, _strided(size_of((size,)), size_of((stride,)), d.np), d, device, requires_grad)


@op("new_empty_strided(Tensor input, int[] size, int[] stride) -> Tensor", namespace="Tensor")
class new_empty_strided:
    """Uninitialised memory of a shape with given strides, with the dtype and device of the tensor.

    >>> torch.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    def function(F, input, size, stride, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        d = input._k.dtype if dtype is None else dtype
        return finish(F, _strided(size_of((size,)), size_of((stride,)), d.np), d, device or input._k.device, requires_grad)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (TensorRef, np.generic)) else value


@op("arange(Scalar start, Scalar end, Scalar step) -> Tensor", method=False)
class arange:
    """Numbers from start up to, not including, end.

    >>> torch.arange(3), torch.arange(1, 2.5, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000, 2.0000]))
    """

    def function(F, start=None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        if end is None:
            start, end = 0, start
        if start is None:
            start = 0
        start, end, step = _number(start), _number(end), _number(step)
        for value in (start, end, step):
            if not isinstance(value, (int, float)):
                raise ArgumentError(f"arange(): argument 'end' (position 1) must be Number, not {type(value).__name__}", expected="a number",
                                    found=type(value).__name__, remedy="pass numbers")
        if step == 0:
            raise AutogradError("step must be nonzero", expected="a step other than 0", found="0", remedy="pass another step")
        if (end - start) * step < 0:
            raise AutogradError("upper bound and lower bound inconsistent with step sign", expected="a step towards end",
                                found=f"start {start}, end {end}, step {step}", remedy="change the sign of step")
        if not all(math.isfinite(v) for v in (start, end)):
            raise AutogradError(f"unsupported range: {start} -> {end}", expected="finite bounds", found=f"{start}, {end}", remedy="pass finite bounds")
        d = dtype
        if d is None:
            d = int64 if all(isinstance(v, int) for v in (start, end, step)) else default_dtype()
        count = max(math.ceil((end - start) / step), 0) if not all(isinstance(v, int) for v in (start, end, step)) else max(-((start - end) // step), 0)
        if d.category == 1 and all(isinstance(v, int) for v in (start, end, step)):
            array = np.arange(start, start + count * step, step, dtype=np.int64)[:count].astype(d.np, copy=False)
        elif d.category == 1:
            array = (int(start) + int(step) * np.arange(count)).astype(d.np)
        else:
            # torch computes start + i * step in double and rounds once.
            array = (start + np.arange(count) * float(step)).astype(d.np)
        return finish(F, array, d, device, requires_grad, out)


@op("linspace(Scalar start, Scalar end, int steps) -> Tensor", method=False)
class linspace:
    """Evenly spaced numbers, both ends included.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """

    def function(F, start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        start, end, steps = _number(start), _number(end), _number(steps)
        if steps < 0:
            raise AutogradError("number of steps must be non-negative", expected="steps >= 0", found=str(steps), remedy="pass a count")
        complex_ends = isinstance(start, complex) or isinstance(end, complex)
        d = dtype or (default_dtype().to_complex() if complex_ends else default_dtype())
        if d.category == 1:
            step = (end - start) / (steps - 1) if steps > 1 else 0.0
            i = np.arange(steps)
            array = np.where(i < steps // 2, np.trunc(start + step * i), np.trunc(end - step * (steps - i - 1))).astype(d.np)
        else:
            work = d.np if d.itemsize >= 4 else np.dtype("f4")
            first, last = work.type(start), work.type(end)
            step = (last - first) / work.type(steps - 1) if steps > 1 else work.type(0)
            i = np.arange(steps).astype(work)
            # From both ends towards the middle, as torch does, so that the last element is exactly `end`.
            array = np.where(np.arange(steps) < steps // 2, first + step * i, last - step * (steps - 1 - i)).astype(d.np)
            if steps == 1:
                array[0] = first
        return finish(F, array, d, device, requires_grad, out)


@op("logspace(Scalar start, Scalar end, int steps, float base=10.0) -> Tensor", method=False)
class logspace:
    """Powers of a base with evenly spaced exponents.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """

    def function(F, start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        start, end = _number(start), _number(end)
        if steps < 0:
            raise AutogradError("number of steps must be non-negative", expected="steps >= 0", found=str(steps), remedy="pass a count")
        d = dtype or default_dtype()
        exponents = np.linspace(start, end, steps)
        return finish(F, np.power(float(base), exponents).astype(d.np), d, device, requires_grad, out)


@op("eye(int n, int m) -> Tensor", method=False)
class eye:
    """The identity matrix.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """

    def function(F, n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        for name, value in (("n", n), ("m", n if m is None else m)):
            if value < 0:
                raise AutogradError(f"{name} must be greater or equal to 0, got {value}", expected=f"{name} >= 0", found=str(value),
                                    remedy="pass a size")
        d = dtype or default_dtype()
        return finish(F, np.eye(n, m, dtype=d.np), d, device, requires_grad, out)


def _triangle(part: Callable[..., Any]) -> Callable[..., Any]:
    def function(F, row, col, offset=0, *, dtype=None, device=None, layout=None):
        d = dtype or int64
        return finish(F, np.stack(part(row, offset, col)).astype(d.np), d, device, False)

    return function


@op("tril_indices(int row, int col, int offset=0) -> Tensor", method=False)
class tril_indices:
    """The indices of a matrix's lower triangle, as two rows.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """

    function = _triangle(np.tril_indices)


@op("triu_indices(int row, int col, int offset=0) -> Tensor", method=False)
class triu_indices:
    """The indices of a matrix's upper triangle, as two rows.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """

    function = _triangle(np.triu_indices)


@op("one_hot(Index input, int num_classes=-1) -> Tensor", method=False, namespace="nn.functional")
class one_hot:
    """Rows of zeros with a one at each index.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """

    def function(F, input, num_classes=-1):
        data = input._data
        if data.dtype != np.int64:
            raise AutogradError("one_hot is only applicable to index tensor of type LongTensor.", expected="int64", found=data.dtype.name,
                                remedy="convert it with .long()")
        if not data.size and num_classes <= 0:
            raise AutogradError("Can not infer total number of classes from empty tensor.", expected="num_classes", found=str(num_classes),
                                remedy="pass num_classes")
        if data.size and data.min() < 0:
            raise AutogradError("Class values must be non-negative.", expected="indices >= 0", found=str(data.min()), remedy="shift the classes")
        classes = int(data.max()) + 1 if num_classes == -1 else num_classes
        if num_classes != -1 and num_classes < 1 and not data.size == 0:
            raise AutogradError("num_classes should be positive", expected="num_classes > 0", found=str(num_classes), remedy="pass a count")
        if data.size and data.max() >= classes:
            raise AutogradError("Class values must be smaller than num_classes.", expected=f"indices < {classes}", found=str(data.max()),
                                remedy="raise num_classes")
        return F.wrap((data[..., None] == np.arange(classes)).astype(np.int64), CPU_KINDS[np.dtype("i8")])


