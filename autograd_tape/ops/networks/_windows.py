"""What windows are asked for, and torch's errors where they cannot be: checked once for each geometry."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from collections.abc import Sequence


from ...errors import AutogradError, IndexRangeError, ShapeMismatchError
from ...executors.kernels import pooling as fused

Ints = Sequence[int]


def output_sizes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> tuple[int, ...]:
    return tuple([fused.pool_output_size(*v, ceil_mode) for v in zip(size, kernel, stride, padding, dilation)])


ONES = ((), (1,), (1, 1), (1, 1, 1))


def sizes_of(value: int | Sequence[int], n: int, function: str, name: str) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * n
    value = tuple([int(v) for v in value])
    if len(value) == 1:
        return value * n
    if len(value) != n:
        kind = {2: "a tuple of two ints", 3: "a tuple of three ints"}.get(n, "one int")
        if n == 1:
            raise AutogradError(f"{function}() argument '{name}' should contain one int (got {len(value)})")
        raise AutogradError(f"{function}: {name} must either be a single int, or {kind}")
    return value


def stride_of(value: int | Sequence[int] | None, kernel: tuple[int, ...], n: int, function: str) -> tuple[int, ...]:
    return kernel if value is None or isinstance(value, (tuple, list)) and not len(value) else sizes_of(value, n, function, "stride")


@lru_cache(512, typed=True)
def unpooled_size(n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any) -> tuple[int, ...]:
    """The size that windows come from which give maxima of a shape."""
    name = f"max_unpool{n}d"
    kernel = sizes_of(kernel_size, n, name, "kernel_size")
    stride, padding = stride_of(stride, kernel, n, name), sizes_of(padding, n, name, "padding")
    return tuple([(m - 1) * s - 2 * p + k for m, k, s, p in zip(shape[len(shape) - n:], kernel, stride, padding)])


def _check_rank(shape: tuple[int, ...], n: int, function: str) -> None:
    if len(shape) in (n + 1, n + 2):
        return
    if n == 1:
        if function == "max_pool1d":
            raise ShapeMismatchError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                                     f"{list(shape)}")
        raise ShapeMismatchError(f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
                                 "checking "
                                 f"arguments for {function})")
    if n == 2 and function == "avg_pool2d" and len(shape) < 3:
        raise IndexRangeError(f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got -3)")
    raise ShapeMismatchError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")


def _check_window(shape: tuple[int, ...], n: int, function: str, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
                  dilation: tuple[int, ...], ceil_mode: bool) -> None:
    size = shape[len(shape) - n:]
    if function == "max_pool1d":
        for value, what, low in ((kernel[0], "kernel_size", 1), (stride[0], "stride", 1), (padding[0], "padding", 0),
                                 (dilation[0], "dilation", 1)):
            if value < low:
                raise AutogradError(f"max_pool1d() {what} must be {'greater than zero' if low else 'non-negative'}, but got {value}")
        if 2 * padding[0] > kernel[0]:
            raise AutogradError(f"max_pool1d() padding should be at most half of kernel size, but got padding={padding[0]} and "
                                f"kernel_size={kernel[0]}")
    if min(stride) < 1:
        raise AutogradError("stride should not be zero")
    if min(kernel) < 1:
        raise AutogradError("kernel size should be greater than zero, but got " + " ".join(
            [f"k{a}: {k}" for a, k in zip("THW"[3 - n:], kernel)]))
    if min(dilation) < 1:
        raise AutogradError("dilation should be greater than zero, but got " + " ".join(
            [f"dilation{a}: {d}" for a, d in zip("THW"[3 - n:], dilation)]))
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise AutogradError(f"pad must be non-negative, but got pad: {p}")
        if 2 * p > d * (k - 1) + 1:
            raise AutogradError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    if function != "max_pool1d":
        _check_not_empty(shape, n, function)
    out = output_sizes(size, kernel, stride, padding, dilation, ceil_mode)
    if min(out) < 1:
        if function == "max_pool1d":
            raise ShapeMismatchError(f"max_pool1d() Invalid computed output size: {out[0]}")
        channels = shape[len(shape) - n - 1]
        lead = (1,) if n == 1 else ()
        shown = ["x".join(map(str, (channels, *lead, *s))) for s in (size, out)]
        raise ShapeMismatchError(f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small")


def _check_not_empty(shape: tuple[int, ...], n: int, function: str) -> None:
    """Only a batch may be empty."""
    inner, shown = shape[len(shape) - n - 1:], list(shape)
    if 0 not in inner:
        return
    if n == 3:
        name = "max_pool3d_with_indices_out_cpu_template" if function.startswith("max") else function
        raise ShapeMismatchError(f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
                                 f"{shown} and non-batch dimension {0 if function.startswith('max') else inner.index(0)} has length zero!")
    if function == "max_pool1d":
        raise ShapeMismatchError(f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                                 f"{shown}")
    if n == 1:  # torch puts a dimension of size 1 before the last, and pools in two
        shown.insert(-1, 1)
    raise ShapeMismatchError(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shown}")


@lru_cache(512, typed=True)
def max_geometry(n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                  indices: bool) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride, padding and dilation, checked."""
    name = f"max_pool{n}d"
    kernel = sizes_of(kernel_size, n, name, "kernel_size")
    stride = stride_of(stride, kernel, n, name)
    padding, dilation = sizes_of(padding, n, name, "padding"), sizes_of(dilation, n, name, "dilation")
    _check_rank(shape, n, name)
    if name == "max_pool1d" and not indices:
        _check_not_empty(shape, n, name)
    _check_window(shape, n, "max" if indices and n == 1 else name, kernel, stride, padding, dilation, ceil_mode)
    return kernel, stride, padding, dilation


@lru_cache(512, typed=True)
def avg_geometry(n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
                  by_zero: bool) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride and padding, checked."""
    name = f"avg_pool{n}d"
    kernel = sizes_of(kernel_size, n, name, "kernel_size")
    stride, padding = stride_of(stride, kernel, n, name), sizes_of(padding, n, name, "padding")
    _check_rank(shape, n, name)
    if by_zero:
        raise AutogradError("divisor must be not zero")
    _check_window(shape, n, name, kernel, stride, padding, (1,) * n, ceil_mode)
    return kernel, stride, padding


@lru_cache(512, typed=True)
def max_plan(n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
              indices: bool) -> fused.Plan:
    """What `fused.maxima` takes of arguments that are checked."""
    return fused.max_plan(shape, *max_geometry(n, shape, kernel_size, stride, padding, dilation, ceil_mode, indices), ceil_mode)


@lru_cache(512, typed=True)
def avg_plan(n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool,
              divisor: int | None) -> tuple[fused.Plan, tuple[Any, ...]]:
    """What `fused.means` and `_mean` take of arguments that are checked."""
    geometry = (*avg_geometry(n, shape, kernel_size, stride, padding, ceil_mode, divisor == 0), ceil_mode, include, divisor)
    return fused.mean_plan(shape, *geometry), geometry


def settled(*given: Any) -> tuple[Any, ...]:
    """Arguments that may be numbers or many of them, as keys that stand for nothing else; `TypeError` for what the checks shall see."""
    if _NUMBERS.issuperset(map(type, given)):
        return given
    found = []
    for value in given:
        if value is not None and value.__class__ is not int:
            value = (value,) if value.__class__ not in (tuple, list) else tuple(value)
            if not _INT.issuperset(map(type, value)):
                raise TypeError
        found.append(value)
    return tuple(found)


def as_keys(*given: Any) -> list[Any]:
    """As `settled`, of sizes whose classes the frame of a quick way has looked at."""
    return [tuple(v) if v.__class__ is list else v for v in given]


_INT, _NUMBERS = frozenset([int]), frozenset([int, type(None)])


def adaptive_size(shape: tuple[int, ...], output_size: Any, n: int, function: str, meta: bool = False) -> tuple[int, ...]:
    given = isinstance(output_size, (tuple, list))
    if n == 1 or not given:
        value = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        if n == 1 and len(value) != 1:
            raise AutogradError(f"{function}() argument 'output_size' should contain one int (got {len(value)})")
        output_size = tuple(value) * n
    if len(output_size) != n:
        what = "(): internal error: output_size.size() must be" if "max" in function else ": output_size must be"
        raise AutogradError(f"{function}{what} {n}")
    if n == 1:
        _check_rank(shape, 1, function)
    elif given and len(shape) <= n:
        raise ValueError(f"Input dimension should be at least {n + 1}")
    elif len(shape) not in (n + 1, n + 2):
        colon = ":" if "max" in function else ""
        raise ShapeMismatchError(f"{function}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(shape)}")
    size = tuple([have if want is None else int(want) for have, want in zip(shape[len(shape) - n:], output_size)])
    if min(size) < 0:
        full = (1, *size) if n == 1 else size
        if "max" in function:
            raise AutogradError(f"Trying to create tensor with negative dimension {min(size)}: "
                                f"{[*shape[:len(shape) - n], *full]}")
        shown = ", ".join(map(str, full[:2])) + "".join([f",{v}" for v in full[2:]])
        raise AutogradError(f"{function.replace('1d', '2d')}: elements of output_size must be greater than or equal to 0 but received "
                            f"{{{shown}}}")
    if "max" in function or not meta:
        _check_cells(shape, n, function)
    return size


@lru_cache(512, typed=True)
def adaptive_plan(shape: tuple[int, ...], output_size: Any, n: int, function: str) -> tuple[fused.Plan | None, tuple[int, ...]]:
    """What kernels of few numbers take of checked arguments, where there is something to see; and the size."""
    size = adaptive_size(shape, output_size, n, function)
    return None if 0 in size or size == (1, 1) else fused.cell_plan(shape, size), size


def settled_size(given: Any) -> Any:
    """As `settled`; `None` among sizes keeps what is there."""
    if given.__class__ is int:
        return given
    if given.__class__ not in (tuple, list) or any([v is not None and v.__class__ is not int for v in given]):
        raise TypeError
    return tuple(given)


def _check_cells(shape: tuple[int, ...], n: int, function: str) -> None:
    """Only a batch may be empty, and, for means in one or two dimensions, the channels."""
    first = len(shape) - n - ("max" in function) if n < 3 else 1
    if 0 not in shape[first:]:
        return
    d = first + shape[first:].index(0)
    if function == "adaptive_avg_pool1d":  # carried out in two
        shape, d, function = (*shape[:-1], 1, shape[-1]), d + 1, "adaptive_avg_pool2d"
    raise ShapeMismatchError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                             f"{list(shape)} with dimension {d} being empty")
