"""Views and other changes of shape. Views never copy: a strided NumPy view is the result on every executor."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ..errors import AutogradError
from ._dims import wrap_dim
from ._record import op

_ndarray = np.ndarray


def _expand(input: np.ndarray, size: Sequence[int]) -> np.ndarray:
    shape, strides = input.shape, input.strides
    lead = len(size) - len(shape)
    if lead < 0:
        raise AutogradError(f"expand({_type_text(input)}{{{_braces(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
                            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    sizes, steps = list(size), [0] * lead
    for i, (have, step) in enumerate(zip(shape, strides)):
        want = sizes[lead + i]
        if want == -1:
            want = sizes[lead + i] = have
        if want == have:
            steps.append(step)
        elif have == 1:
            steps.append(0)
        else:
            raise AutogradError(f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton dimension "
                                f"{lead + i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")
    for i in range(lead):
        if sizes[i] < 0:
            raise AutogradError(f"The expanded size of the tensor ({sizes[i]}) isn't allowed in a leading, non-existing dimension {i}")
    if 0 in sizes:
        return np.broadcast_to(input, sizes)
    # The array constructor takes strides directly and costs a tenth of np.broadcast_to.
    base = input if input.__class__ is _ndarray else np.asarray(input)
    view = _ndarray.__new__(_ndarray, sizes, base.dtype, base, 0, steps) if base.flags.c_contiguous else np.broadcast_to(base, sizes)
    return view


def _type_text(a: np.ndarray) -> str:
    from ..dtypes import SCALAR_TYPE_NAMES, dtype_of

    return f"torch.{SCALAR_TYPE_NAMES[dtype_of(a).name].replace('Complex', 'Complex')}Tensor"


def _braces(shape: Sequence[int]) -> str:
    return str(list(shape))


@op("expand(Tensor input, int[] size, *, bool implicit=False) -> Tensor", family="view", quiet="all", varargs="size")
class expand:
    """The tensor with size-1 dimensions repeated, without copying.

    >>> torch.tensor([[1.], [2.]]).expand(2, 3)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """

    def numpy(input, size, implicit=False): return _expand(input, (size,) if size.__class__ is int else size)
    def vjp(F, grad, input_shape): return F.reduce_to_shape(grad, tuple(input_shape))

    def samples(rng):
        yield rng.standard_normal((2, 1, 3)), (2, 4, 3)
        yield rng.standard_normal((3,)), (2, 3)


def _infer(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """`size` with its -1 filled in."""
    if -1 in size:
        rest = 1
        for n in size:
            if n != -1:
                rest *= n
        if list(size).count(-1) > 1:
            raise AutogradError("only one dimension can be inferred")
        if rest == 0:
            raise AutogradError(f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 can "
                                "be any value and is ambiguous")
        if numel % rest:
            raise AutogradError(f"shape '{list(size)}' is invalid for input of size {numel}")
        return tuple([numel // rest if n == -1 else n for n in size])
    for n in size:
        if n < 0:
            raise AutogradError(f"invalid shape dimension {n} at index {list(size).index(n)} of shape {list(size)}")
    total = 1
    for n in size:
        total *= n
    if total != numel:
        raise AutogradError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return tuple(size)


@op("reshape(Tensor input, int[] shape) -> Tensor", family="view?", quiet="all", varargs="shape", out=False, node="ViewBackward0")
class reshape:
    """The same elements in another shape; a view where the strides allow it.

    >>> torch.arange(4.).reshape(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """

    def numpy(input, shape):
        try:
            return input.reshape(shape)
        except ValueError:
            return input.reshape(_infer((shape,) if shape.__class__ is int else shape, input.size))
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)

    def samples(rng):
        yield rng.standard_normal((2, 6)), (3, -1)
        yield rng.standard_normal((2, 3)), (6,)


def _view(input: np.ndarray, size: Any) -> np.ndarray:
    size = _infer((size,) if size.__class__ is int else size, input.size)
    result = input.view()
    try:
        result.shape = size
    except AttributeError:
        raise AutogradError("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                            "contiguous subspaces). Use .reshape(...) instead.") from None
    return result


@op("view(Tensor input, int[] size) -> Tensor", family="view", quiet="all", varargs="size")
class view:
    """The same elements in another shape, never a copy.

    >>> torch.arange(4.).view(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """

    numpy = _view
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)

    def samples(rng):
        yield rng.standard_normal((2, 6)), (3, -1)


@op("transpose(Tensor input, int dim0, int dim1) -> Tensor", family="view", quiet="all", alias=("swapaxes", "swapdims"))
class transpose:
    """Two dimensions exchanged.

    >>> torch.tensor([[1., 2.]]).transpose(0, 1)
    tensor([[1.],
            [2.]])
    """

    def numpy(input, dim0, dim1):
        n = input.ndim
        dim0, dim1 = wrap_dim(dim0, n), wrap_dim(dim1, n)
        return input.swapaxes(dim0, dim1) if n else input.view()
    def vjp(F, grad, dim0, dim1): return F.transpose(grad, dim0, dim1)

    def samples(rng):
        yield rng.standard_normal((2, 3, 4)), 0, -1


@op("cast(Tensor input, Any dtype) -> Tensor", method=False, quiet="all", node="ToCopyBackward0", namespace="_internal", out=False)
class cast:
    """The tensor converted to a dtype; what `Tensor.to` records."""

    def numpy(input, dtype): return input.astype(dtype.np)
    def vjp(F, grad, input): return F.cast(grad, dtype_of(input)) if hasattr(input, "_k") else grad.astype(input.dtype)


def dtype_of(tensor):  # noqa: ANN001, ANN201
    """The dtype of a tensor."""
    return tensor._k.dtype
