"""Views: the same memory under another shape and other strides. A strided NumPy view is the result on every executor."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from ...dims import broadcast_shape, wrap_dim
from ...dtypes import DType, Device, bfloat16, bool_, converted, float16
from ...errors import ArgumentError, AutogradError
from ...executors.kernels import halves
from ...executors.kernels.sharing import copy
from ...executors.meta import elementwise_strides, meta_array
from ...record import RECORDS, Sample, no_derivative, op
from ...strided import channels_last_strides, contiguous_strides, copy_like, empty_strided, storage_offset, strided, view_strides
from ...tensor import as_dtype
from ...warned import warn_once
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import on_host
from ...annotations import Arguments, Functions
from .._batch import BatchedCall

if TYPE_CHECKING:
    from ...tensor import TensorRef

_ndarray = np.ndarray


_plans: dict[Arguments, tuple[Sequence[int], Sequence[int]]] = {}


def _expand(input: np.ndarray, size: Sequence[int]) -> np.ndarray:
    try:
        sizes, steps = _plans[input.shape, input.strides, size]
        if input.flags.c_contiguous:
            return _ndarray(sizes, input.dtype, input, 0, steps)
    except (KeyError, TypeError):  # of a list, or of what has no memory
        sizes, steps = _expanded(input, size)
        if len(_plans) > 1000:
            _plans.clear()
        _plans[input.shape, input.strides, tuple(size)] = sizes, steps
    return strided(input if input.__class__ is _ndarray else np.asarray(input), sizes, steps)


def _cannot_expand(shape: Sequence[int], size: Sequence[int]) -> AutogradError:
    """What is wrong with expanding `shape` to `size`, told of the last dimension of which something is."""
    lead = len(size) - len(shape)
    for i in range(len(size) - 1, -1, -1):
        if i < lead and size[i] < 0:
            return AutogradError(f"The expanded size of the tensor ({size[i]}) isn't allowed in a leading, non-existing dimension {i}")
        if i >= lead and size[i] not in (-1, shape[i - lead]) and shape[i - lead] != 1:
            break
    return AutogradError(f"The expanded size of the tensor ({size[i]}) must match the existing size ({shape[i - lead]}) at non-singleton "
                         f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")


def _expanded(input: np.ndarray, size: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The sizes and strides (in bytes) of `input` expanded to `size`."""
    shape, strides = input.shape, input.strides
    if not shape and (not size or min(size) >= 0):
        return tuple(size), (0,) * len(size)
    lead = len(size) - len(shape)
    if lead > 0 and min(size[:lead]) < 0:
        raise _cannot_expand(shape, size)
    if lead < 0:
        raise AutogradError(f"expand({_type_text(input)}{{{_braces(shape)}}}, size={list(size)}): the number of sizes provided "
                            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    sizes, steps = list(size), [0] * lead
    i = lead
    for have, step in zip(shape, strides):
        want = sizes[i]
        if want == have:
            steps.append(step)
        elif want == -1:
            sizes[i] = have
            steps.append(step)
        elif have == 1:
            steps.append(0)
        else:
            raise _cannot_expand(shape, size)
        i += 1
    if lead and 1 in sizes[:lead]:
        for i in range(lead - 1, -1, -1):
            if sizes[i] == 1:
                steps[i] = sizes[i + 1] * steps[i + 1]
    return tuple(sizes), tuple(steps)


def _type_text(a: np.ndarray) -> str:
    from ...dtypes import SCALAR_TYPE_NAMES, dtype_of

    return f"torch.{SCALAR_TYPE_NAMES[dtype_of(a).name]}Tensor"


def _braces(shape: Sequence[int]) -> str:
    return str(list(shape))


@op("expand(Tensor input, int[] size, *, bool implicit=False) -> Tensor", family="view", quiet="all", result="same", varargs="size")
class expand:
    """The tensor with size-1 dimensions repeated, without copying.

    >>> torch.tensor([[1.], [2.]]).expand(2, 3)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """

    def numpy(input, size, implicit=False): return _expand(input, (size,) if size.__class__ is int else size)
    mindspore = None
    def vjp(F, grad, input_shape): return F.reduce_to_shape(grad, tuple(input_shape))

    def batch(F, call):
        """New dimensions come after that of the batch."""
        x, size = call.input, tuple(call.values["size"])
        lead = len(size) - call.ranks["input"]
        if lead < 0:
            return NotImplemented
        if any(n == -1 for n in size[:lead]):
            return NotImplemented
        for _ in range(lead):
            x = F.unsqueeze(x, 1)
        return call(input=x, size=(call.size, *size))

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
        if rest == 0 and numel == 0:
            raise AutogradError(f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
                                f"can "
                                "be any value and is ambiguous")
        if rest == 0 or numel % rest:
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


def _reshape(input: np.ndarray, shape: Sequence[int] | list[int]) -> np.ndarray:
    try:
        if input.flags.c_contiguous:
            result = input.reshape(shape)
            # NumPy takes any negative size for -1.
            if result.shape == shape or shape == -1 or min(shape) >= -1:
                return result
    except (ValueError, TypeError):
        pass  # sizes that NumPy does not take: -1 beside others to infer, or an error that is torch's to word
    size, strides = _laid(input, shape)
    return input.reshape(size) if strides is None else strided(input, size, strides)


def _laid(input: np.ndarray, size: int | Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The sizes with what is to be inferred, and the strides (in bytes) of a view of these; None where there is none."""
    size = (size,) if size.__class__ is int else tuple(size)  # type: ignore[arg-type]  # of several
    # What is kept does not tell numbers from integers.
    return (_kept_plan if sum(size).__class__ is int else _plan)(input.shape, input.strides, size)


def _plan(shape: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    size = _infer(size, prod(shape))
    return size, None if 0 in shape else view_strides(shape, strides, size)


_kept_plan = lru_cache(1024)(_plan)


@op("reshape(Tensor input, int[] shape) -> Tensor", family="view?", quiet="all", result="same", varargs="shape", out=False,
    node="ViewBackward0")
class reshape:
    """The same elements in another shape; a view where the strides allow it.

    >>> torch.arange(4.).reshape(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """

    composite = "reshape"
    sharding = "reshape shape"
    numpy = _reshape
    copied = "UnsafeViewBackward0"
    def unfold(F, input): return F.unsafe_view(F.clone(input), tuple(input.shape))
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)
    def batch(F, call): return _sizes_of_batch(F, call, "shape")
    def put_back(F, base, new, nr, shape): return in_shape(F, new, base.shape)

    def decompose(F, input, shape):
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if sizes.count(-1) == 1:
            known = prod([n for n in sizes if n != -1])
            sizes = tuple([input.numel() // known if n == -1 and known else n for n in sizes])
        if -1 in sizes or prod(sizes) != input.numel():
            return F.view(input, sizes)  # which says what is wrong
        return in_shape(F, input, sizes)


    def samples(rng):
        yield rng.standard_normal((2, 6)), (3, -1)
        yield rng.standard_normal((2, 3)), (6,)
        yield rng.standard_normal(()), (1, 1)

    def errors(rng):
        yield (np.ones((2, 3)), (5,)), RuntimeError, "shape '[5]' is invalid for input of size 6"
        yield (np.ones((2, 3)), (-1, -1)), RuntimeError, "only one dimension can be inferred"


def _view(input: np.ndarray, size: Sequence[int]) -> np.ndarray:
    try:
        if input.flags.c_contiguous:
            result = input.reshape(size)
            if result.shape == size or size == -1 or min(size) >= -1:
                return result
    except (ValueError, TypeError):
        pass  # sizes that NumPy does not take: -1 beside others to infer, or an error that is torch's to word
    size, strides = _laid(input, size)
    if not input.size:
        return input.reshape(size)
    if strides is None:
        raise AutogradError("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                            "contiguous subspaces). Use .reshape(...) instead.")
    return strided(input, size, strides)


def can_view(input: TensorRef, shape: Sequence[int]) -> bool:
    """Whether a tensor can take a shape without a copy."""
    view = input._data.view()
    try:
        view.shape = tuple(shape)
    except AttributeError:
        return False
    return True


def in_shape(F: Functions, t: TensorRef, shape: Sequence[int]) -> TensorRef:
    """A view of a tensor in another shape, or of a copy of it."""
    return F.view(t if can_view(t, shape) else F.clone(t, memory_format="torch.contiguous_format"), tuple(shape))


def _sizes_of_batch(F: Functions, call: BatchedCall, key: str) -> TensorRef:
    """A new shape of each example."""
    size = call.values[key]
    size = (size,) if isinstance(size, int) else tuple(size)
    if -1 in size and not call.size:
        known, total = prod([n for n in size if n != -1]), prod(call.input.shape[1:])
        if size.count(-1) > 1 or not known or total % known:
            return NotImplemented
        size = tuple([total // known if n == -1 else n for n in size])
    return call(**{key: (call.size, *size)})


@op("view(Tensor input, int[] size) -> Tensor", family="view", quiet="all", result="same", varargs="size")
class view:
    """The same elements in another shape, never a copy; with a dtype, the same bytes read as another dtype.

    >>> torch.arange(4.).view(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    >>> torch.tensor([1.]).view(torch.int32)
    tensor([1065353216], dtype=torch.int32)
    """

    sharding = "reshape size"
    numpy = _view
    keywords = {"dtype": "view_dtype"}
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)
    def batch(F, call): return _sizes_of_batch(F, call, "size")
    def put_back(F, base, new, nr, size): return in_shape(F, new, base.shape)

    def redirect(input, size):
        if isinstance(size, (list, tuple)) and len(size) == 1:
            size = size[0]
        # Bytes read as another dtype have no derivative: the view is one of the values alone.
        return ("view_dtype", (input.detach(), size)) if isinstance(size, (DType, type, np.dtype)) else None

    def samples(rng):
        yield rng.standard_normal((2, 6)), (3, -1)

    def errors(rng):
        yield (np.ones((2, 3)), (5,)), RuntimeError, "shape '[5]' is invalid for input of size 6"
        yield (np.ones((2, 3)), (-2, 6)), RuntimeError, "invalid shape dimension -2 at index 0 of shape [-2, 6]"
        yield (np.ones((3, 2)).T, (6,)), RuntimeError, (
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead.")


@op("unsafe_view(Tensor input, int[] size) -> Tensor", namespace="_internal", method=False, out=False)
class unsafe_view:
    """What an operation has just made, in another shape: nobody else has it, so that it counts as no view."""

    sharding = "reshape size"
    aten = "_unsafe_view"
    numpy = _view
    def compose(F, input, size): return F.reshape(input, size)
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)
    def batch(F, call): return _sizes_of_batch(F, call, "size")
    jvp = "linear"
    def samples(rng): yield rng.standard_normal((2, 6)), (3, 4)


def _view_dtype(input: np.ndarray, dtype: DType | np.dtype) -> np.ndarray:
    have, want = input.itemsize, as_dtype(dtype).np.itemsize
    if have == want:
        return input.view(as_dtype(dtype).np)
    # NumPy's strides of arrays without elements are none.
    step = [s // have for s in input.strides] if input.size else contiguous_strides(input.shape)
    if not input.ndim:
        raise AutogradError(f"self.dim() cannot be 0 to view {_dtype_text(input)} as {_dtype_text(dtype)} (different element sizes)")
    if step[-1] != 1:
        raise AutogradError(f"self.stride(-1) must be 1 to view {_dtype_text(input)} as {_dtype_text(dtype)} (different element sizes), "
                            f"but got {step[-1]}")
    if want > have:
        ratio = want // have
        if input.shape[-1] % ratio:
            raise AutogradError(f"self.size(-1) must be divisible by {ratio} to view {_dtype_text(input)} as {_dtype_text(dtype)} "
                                f"(different element sizes), but got {input.shape[-1]}")
        if storage_offset(input) % ratio:
            raise AutogradError(f"self.storage_offset() must be divisible by {ratio} to view {_dtype_text(input)} as {_dtype_text(dtype)} "
                                f"(different element sizes), but got {storage_offset(input)}")
        for i, n in enumerate(step[:-1]):
            if n % ratio:
                raise AutogradError(f"self.stride({i}) must be divisible by {ratio} to view {_dtype_text(input)} as {_dtype_text(dtype)} "
                                    f"(different element sizes), but got {n}")
    if not input.size:
        return np.empty((*input.shape[:-1], input.shape[-1] * have // want), as_dtype(dtype).np)
    return input.view(as_dtype(dtype).np)


def _dtype_text(x: Any) -> str:
    from ...dtypes import SCALAR_TYPE_NAMES, dtype_of

    return SCALAR_TYPE_NAMES[(dtype_of(x) if isinstance(x, np.ndarray) else as_dtype(x)).name]


@op("view_dtype(Tensor input, Any dtype) -> Tensor", family="view", quiet="all", method=False, namespace="_internal",
    node="NotImplemented")
class view_dtype:
    """The same bytes read as another dtype."""

    def sharding(call):
        same = call["input"].dtype.itemsize == as_dtype(call["dtype"]).np.itemsize
        return call.letters("*a -> *a" if same else "*a B -> *a B", linear="")

    numpy = _view_dtype
    def samples(rng):
        yield rng.integers(0, 9, (2, 3)), np.dtype(np.float64)
        yield rng.integers(0, 9, (2, 4)), DType.by_name["complex128"]
    vjp = no_derivative("view.dtype")
    def batch(F, call): return call() if call.ranks["input"] else NotImplemented

    def bits(conj, neg):
        which = "conjugate view tensors" if conj else "tensors with negative bit set"
        return f"torch.Tensor.view is not supported for {which} when converting to a different dtype." if conj or neg else (conj, neg)



@op("view_as(Tensor input, Tensor other) -> Tensor", method=True, out=False)
class view_as:
    """`input` viewed in the shape of `other`.

    >>> torch.arange(4.).view_as(torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """

    def shown(input, other): return _view(input, other.shape)
    def function(F, input, other): return F.view(input, other._data.shape)
    def samples(rng): yield rng.standard_normal((2, 3)), np.zeros(6, np.int64)


@op("reshape_as(Tensor input, Tensor other) -> Tensor", out=False)
class reshape_as:
    """`input` in the shape of `other`.

    >>> torch.arange(4.).reshape_as(torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """

    def shown(input, other): return _in_order(input, other.shape)
    def function(F, input, other): return F.reshape(input, other._data.shape)
    def samples(rng): yield rng.standard_normal((3, 2)).T, np.zeros(6, np.int64)


@op("expand_as(Tensor input, Tensor other) -> Tensor", out=False)
class expand_as:
    """`input` expanded to the shape of `other`.

    >>> torch.zeros(3).expand_as(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """

    composite = "expand_as"
    def shown(input, other): return _expand(input, other.shape)
    def function(F, input, other): return F.expand(input, other._data.shape)
    def samples(rng): yield rng.standard_normal(3), np.zeros((2, 3), np.int64)


@op("broadcast_to(Tensor input, int[] size) -> Tensor", varargs="size", out=False)
class broadcast_to:
    """`input` expanded to `size`.

    >>> torch.broadcast_to(torch.tensor([1., 2.]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """

    shown = _expand
    def function(F, input, size): return F.expand(input, size)
    def samples(rng): yield rng.standard_normal((2, 1)), (2, 3)


_common_shape = lru_cache(1024)(broadcast_shape)


@op("broadcast_tensors(Tensor[] tensors) -> Tensor[]", method=False, out=False)
class broadcast_tensors:
    """The tensors, expanded to their common shape.

    >>> [t.shape for t in torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """

    home = "functional"
    def shown(tensors):
        shape = _common_shape(*[a.shape for a in tensors])
        return [a if a.shape == shape else _expand(a, shape) for a in tensors]

    def function(F, *tensors):
        shape = _common_shape(*[t._data.shape for t in tensors])
        return F.list_type(RECORDS["broadcast_tensors"])([t if t._data.shape == shape else F.expand(t, shape) for t in tensors])

    def samples(rng): yield rng.standard_normal((2, 1)), rng.standard_normal(3)

    def errors(rng):
        yield (np.ones((3, 4)), np.ones(5)), RuntimeError, (
            "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1")


# -- dimensions exchanged -----------------------------------------------------------------------------------------------


def _in_order(input: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """A view in another shape of elements that lie in order."""
    return input.reshape(shape) if input.flags.c_contiguous else None


def _transpose(input: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    try:
        return input.swapaxes(dim0, dim1)
    except ValueError:
        wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
        return input.view()


@op("transpose(Tensor input, int dim0, int dim1) -> Tensor", family="view", quiet="all", result="same", alias=("swapaxes", "swapdims"))
class transpose:
    """Two dimensions exchanged.

    >>> torch.tensor([[1., 2.]]).transpose(0, 1)
    tensor([[1.],
            [2.]])
    """

    numpy = _transpose
    def vjp(F, grad, dim0, dim1): return F.transpose(grad, dim0, dim1)
    def batch(F, call): return batches.view(F, call) if call.ranks["input"] else F.view(call.input, tuple(call.input.shape))
    aten = ".int"
    def put_back(F, base, new, nr, dim0, dim1): return F.transpose(new, dim0, dim1)

    def samples(rng):
        yield rng.standard_normal((2, 3, 4)), 0, -1
        yield rng.standard_normal(()), 0, -1

    def errors(rng):
        yield (np.ones((2, 3)), 0, 2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"


def _t(input: np.ndarray) -> np.ndarray:
    if input.ndim > 2:
        raise AutogradError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.transpose()


@op("t(Tensor input) -> Tensor", family="view", quiet="all", result="same")
class t:
    """A matrix transposed; a vector or number as it is.

    >>> torch.tensor([[1., 2.]]).t()
    tensor([[1.],
            [2.]])
    """

    numpy = _t
    def vjp(F, grad): return F.t(grad)

    def batch(F, call):
        """The two dimensions of an example."""
        return F.transpose(call.input, 1, 2) if call.ranks["input"] == 2 else F.view(call.input, tuple(call.input.shape)) \
            if call.ranks["input"] < 2 else NotImplemented
    def put_back(F, base, new, nr): return F.t(new)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield (rng.standard_normal(3),)
    def errors(rng): yield (np.ones((1, 2, 3)),), RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"


@op("adjoint(Tensor input) -> Tensor", out=False)
class adjoint:
    """Matrices transposed, and conjugated where complex.

    >>> torch.tensor([[1., 2.]]).adjoint().shape
    torch.Size([2, 1])
    """

    def shown(input): return input.swapaxes(-2, -1) if input.ndim > 1 and input.dtype.kind != "c" else None

    def function(F, input):
        n = len(input._data.shape)
        if n == 1:
            raise AutogradError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
        if n == 0:
            warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
            return F.conj(input) if input.dtype.is_complex else input
        swapped = F.transpose(input, -2, -1)
        return F.conj(swapped) if input._k.dtype.is_complex else swapped

    def samples(rng): yield (rng.standard_normal((2, 3)),)
    def errors(rng): yield (np.ones(3),), RuntimeError, (
        "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")


def _permute(input: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    try:
        return input.transpose(dims)
    except (ValueError, TypeError):
        dims = (dims,) if dims.__class__ is int else dims
        if len(dims) != input.ndim:
            raise AutogradError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                                f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}") from None
        if len({wrap_dim(d, input.ndim) for d in dims}) < len(dims):
            raise AutogradError("permute(): duplicate dims are not allowed.") from None
        raise


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    n = len(dims)
    found = [0] * n
    for i, d in enumerate(dims):
        found[d % n] = i
    return tuple(found)


@op("permute(Tensor input, int[] dims) -> Tensor", family="view", quiet="all", result="same", varargs="dims")
class permute:
    """The dimensions in another order.

    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """

    numpy = _permute
    def vjp(F, grad, dims): return F.permute(grad, _inverse((dims,) if dims.__class__ is int else dims))

    def batch(F, call):
        """All dimensions."""
        rank = call.ranks["input"]
        if len(call.dims) != rank:
            return NotImplemented
        return call(dims=(0, *[batches.shifted(d, rank) for d in call.dims]))

    def put_back(F, base, new, nr, dims):
        order = [d % len(dims) for d in dims]
        return F.permute(new, tuple([order.index(d) for d in range(len(dims))]))


    def samples(rng):
        yield rng.standard_normal((2, 3, 4)), (2, 0, 1)
        yield rng.standard_normal((2, 3, 4)), (-1, 0, -2)

    def errors(rng):
        yield (np.ones((2, 3)), (0, 0)), RuntimeError, "permute(): duplicate dims are not allowed."


_INTS = {int}


@lru_cache(1024)
def _moved(given_s: tuple[int, ...], given_d: tuple[int, ...], n: int) -> tuple[int, ...]:
    """The order of `n` dimensions of which some were moved to other places."""
    if len(given_s) != len(given_d):
        raise AutogradError(f"movedim: Invalid source or destination dims: source ({list(given_s)} dims) should contain the same "
                            f"number "
                            f"of dims as destination ({list(given_d)} dims)")
    sources, targets = [wrap_dim(d, n) for d in given_s], [wrap_dim(d, n) for d in given_d]
    for name, dims, given in (("source", sources, given_s), ("destination", targets, given_d)):
        if len(set(dims)) < len(dims):
            raise AutogradError(f"movedim: repeated dim in `{name}` ({list(given)})")
    order: list[int] = [-1] * n
    for s, d in zip(sources, targets):
        order[d] = s
    rest = iter([d for d in range(n) if d not in sources])
    return tuple([next(rest) if d < 0 else d for d in order])


@op("movedim(Tensor input, Any source, Any destination) -> Tensor", alias="moveaxis", out=False)
class movedim:
    """Dimensions moved to other places, the rest kept in order.

    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """

    composite = "movedim.int"
    def shown(input, source, destination):
        if source.__class__ is int and destination.__class__ is int and input.ndim:
            return input.transpose(_moved((source,), (destination,), input.ndim))
        if source.__class__ is tuple and destination.__class__ is tuple and {*map(type, source), *map(type, destination)} == _INTS:
            return input.transpose(_moved(source, destination, input.ndim))

    def function(F, input, source, destination):
        n = len(input._data.shape)
        if source.__class__ is int and destination.__class__ is int and -n <= source < n and -n <= destination < n:
            return F.permute(input, _moved((source,), (destination,), n))
        given_s, given_d = [tuple(d) if isinstance(d, (list, tuple)) else (d,) for d in (source, destination)]
        if {*map(type, given_s), *map(type, given_d)} == _INTS:
            order = _moved(given_s, given_d, n)
        else:
            order = _moved.__wrapped__(given_s, given_d, n)  # what is no integer may not be told from one
        return F.permute(input, order) if n else F.view(input, ())

    def samples(rng):
        yield rng.standard_normal((2, 3, 4)), 0, -1
        yield rng.standard_normal((2, 3, 4)), (0, 1), (2, 0)

    def errors(rng):
        yield (np.ones((3, 4)), (0, 1), (0, 0)), RuntimeError, "movedim: repeated dim in `destination` ([0, 0])"


# -- dimensions of size one ---------------------------------------------------------------------------------------------


def _squeeze(input: np.ndarray, dim: Any) -> np.ndarray:
    if dim is None:
        return input.squeeze()
    shape = input.shape
    n = len(shape)
    if dim.__class__ is int:
        dim = wrap_dim(dim, n)
        return input.squeeze(dim) if n and shape[dim] == 1 else input.view()
    if not _INTS.issuperset(map(type, dim)):  # what is kept does not tell numbers from integers
        raise TypeError("dimensions are integers")
    return input.squeeze(_of_size_one(shape, tuple(dim)))


@lru_cache(1024)
def _of_size_one(shape: tuple[int, ...], dim: tuple[int, ...]) -> tuple[int, ...]:
    n = len(shape)
    dims = [wrap_dim(d, n) for d in dim]
    if len(set(dims)) < len(dims):
        raise AutogradError(f"dim {next(d for i, d in enumerate(dims) if d in dims[:i])} appears multiple times in the list of dims")
    return tuple([d for d in dims if n and shape[d] == 1])


@op("squeeze(Tensor input, int[]? dim=None) -> Tensor", varargs="dim", family="view", quiet="all", result="same")
class squeeze:
    """Without the dimensions of size one, or without the given ones where they are.

    >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """

    def sharding(call):
        """Those of size one in the whole; parts may have others."""
        shape, plan = call.shape("input"), call.viewed()
        dims = tuple([d for d in call.dims("dim", len(shape)) if shape[d] == 1]) if call["dim"] != () else ()
        plan.arguments = lambda device, values: {**values, "dim": dims}
        return plan

    nodes = {"dim.__class__ is int": "SqueezeBackward1", "dim is not None": "SqueezeBackward2"}
    numpy = _squeeze
    def vjp(F, grad, input_shape): return F.reshape(grad, input_shape)

    def batch(F, call):
        """The named dimensions, or all of size 1, but never that of the batch."""
        rank, dim = call.ranks["input"], call.dim
        if dim is None:
            dims = tuple([i for i, n in enumerate(call.input.shape) if i and n == 1])
        else:
            if not rank and isinstance(dim, int):
                raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got [{dim}]")  # as torch words it
            dims = tuple([batches.shifted(d, rank) for d in ((dim,) if isinstance(dim, int) else dim)])
            dims = dims if rank else ()
        return call(dim=dims) if dims else F.view(call.input, tuple(call.input.shape))
    def aten(dim, **_): return ".default" if dim is None else ".dim(input, dim)" if isinstance(dim, int) else ".dims"

    def put_back(F, base, new, nr, dim):
        return F.unsqueeze(new, dim) if isinstance(dim, int) and new.ndim < base.ndim else in_shape(F, new, base.shape)


    def samples(rng):
        yield (rng.standard_normal((1, 2, 1)),)
        yield rng.standard_normal((1, 2, 1)), -1
        yield rng.standard_normal((1, 2, 1)), (0, 1)
        yield rng.standard_normal((1, 2, 1)), 1

    def errors(rng):
        yield (np.ones((2, 3)), 4), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 4)"


_in_rows: dict[tuple[tuple[int, ...], tuple[int, ...], int], tuple[int, ...] | None] = {}
"""The sizes of rows with a dimension put in, where NumPy gives them torch's strides. The strides of several elements tell their size."""


def _unsqueeze(input: np.ndarray, dim: int) -> np.ndarray:
    if input.flags.c_contiguous and dim.__class__ is int:
        try:
            sizes = _in_rows[input.shape, input.strides, dim]
        except KeyError:
            sizes = _put_in_rows(input, dim)
        if sizes is not None:
            return input.reshape(sizes)
    sizes, steps, in_rows = _unsqueezed(input.shape, input.strides, input.itemsize, dim if dim.__class__ is int else index(dim))
    if (flags := input.flags).c_contiguous and in_rows:
        return input.reshape(sizes)
    if flags.f_contiguous and input.__class__ is _ndarray:
        return _ndarray(sizes, input.dtype, input.T, 0, steps)
    return strided(input, sizes, steps)


def _put_in_rows(input: np.ndarray, dim: int) -> tuple[int, ...] | None:
    shape, strides = input.shape, input.strides
    sizes, _, in_rows = _unsqueezed(shape, strides, input.itemsize, dim)
    if len(_in_rows) > 1000:
        _in_rows.clear()
    _in_rows[shape, strides, dim] = kept = sizes if in_rows and (not shape or input.size > 1) else None
    return kept


@lru_cache(1024)
def _unsqueezed(shape: tuple[int, ...], strides: tuple[int, ...], item: int, dim: int) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """The sizes and strides (in bytes) with a dimension put in, and whether NumPy knows them, of rows."""
    n = len(shape)
    d = wrap_dim(dim, n + 1)
    sizes, steps = (*shape[:d], 1, *shape[d:]), (*strides[:d], shape[d] * strides[d] if d < n else item, *strides[d:])
    return sizes, steps, steps == contiguous_strides(sizes, item) if 0 not in shape else 1 not in shape


@op("unsqueeze(Tensor input, int dim) -> Tensor", family="view", quiet="all", result="same")
class unsqueeze:
    """With a dimension of size one put in.

    >>> torch.zeros(2, 3).unsqueeze(1).shape
    torch.Size([2, 1, 3])
    """

    numpy = _unsqueeze
    def vjp(F, grad, dim): return F.squeeze(grad, dim)
    batch = batches.of_result
    def put_back(F, base, new, nr, dim): return F.squeeze(new, dim)

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal((3, 2)).T, -1
        yield rng.standard_normal(()), 0

    def errors(rng):
        yield (np.ones((2, 3)), 4), IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 4)"


@lru_cache(1024)
def _joined(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...] | None:
    """The sizes with some dimensions joined into one, if there are several."""
    n = len(shape)
    start, end = start_dim + n if start_dim < 0 else start_dim, end_dim + n if end_dim < 0 else end_dim
    return (*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:]) if 0 <= start < end < n else None


@op("flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor", out=False)
class flatten:
    """Some dimensions joined into one.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """

    composite = "flatten.using_ints"
    def shown(input, start_dim, end_dim):
        if input.flags.c_contiguous and (sizes := _joined(input.shape, start_dim, end_dim)) is not None:
            return input.reshape(sizes)

    def function(F, input, start_dim=0, end_dim=-1):
        shape = input._data.shape
        if start_dim == 0 and end_dim == -1 and len(shape) > 1:
            return F.reshape(input, (input._data.size,))
        n = len(shape)
        start, end = wrap_dim(start_dim, n), wrap_dim(end_dim, n)
        if start > end:
            raise AutogradError("flatten() has invalid args: start_dim cannot come after end_dim")
        if n == 0:
            return F.reshape(input, (1,))
        if start == end:
            return input
        size = 1
        for i in shape[start:end + 1]:
            size *= i
        return F.reshape(input, (*shape[:start], size, *shape[end + 1:]))

    def samples(rng):
        yield rng.standard_normal((2, 3, 4)), 1
        yield rng.standard_normal((3, 2)).T, 0, 1
        yield (rng.standard_normal(()),)

    def errors(rng): yield (np.ones((3, 4)), 1, 0), RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"


def _split(shape: Sequence[int], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with one dimension split into several."""
    d = wrap_dim(dim, len(shape))
    if not sizes:
        raise AutogradError("unflatten: sizes must be non-empty")
    n = shape[d]
    known, total = [s for s in sizes if s != -1], 1
    for s in known:
        total *= s
    if len(sizes) - len(known) > 1:
        raise AutogradError("only one dimension can be inferred")
    if total != n if len(known) == len(sizes) else not total or n % total:
        raise AutogradError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({n}) in the input "
                            f"tensor")
    return (*shape[:d], *(sizes if len(known) == len(sizes) else _infer(sizes, n)), *shape[d + 1:])


_kept_split = lru_cache(1024)(_split)


@op("unflatten(Tensor input, int dim, int[] sizes) -> Tensor", out=False)
class unflatten:
    """One dimension split into several.

    >>> torch.zeros(2, 12).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """

    composite = "unflatten.int"
    def shown(input, dim, sizes):
        if sum(sizes).__class__ is int:  # what is kept does not tell numbers from integers
            return _view(input, _kept_split(input.shape, dim, tuple(sizes)))

    def function(F, input, dim, sizes):
        return F.view(input, _split(input._data.shape, dim, (sizes,) if isinstance(sizes, int) else tuple(sizes)))

    def samples(rng): yield rng.standard_normal((2, 6)), 1, (3, -1)

    def errors(rng):
        yield (np.ones((3, 4)), 0, (2, 2)), RuntimeError, (
            "unflatten: Provided sizes [2, 2] don't multiply up to the size of dim 0 (3) in the input tensor")


@op("ravel(Tensor input) -> Tensor", out=False)
class ravel:
    """All elements in one dimension.

    >>> torch.zeros(2, 3).ravel().shape
    torch.Size([6])
    """

    def shown(input): return _in_order(input, (input.size,))

    def function(F, input):
        data = input._data
        return F.reshape(input if data.flags.c_contiguous else F.contiguous(input), (data.size,))
    def samples(rng): yield (rng.standard_normal((2, 3)),)


# -- copies -----------------------------------------------------------------------------------------------------------------


def _format_strides(input: np.ndarray, memory_format: object) -> tuple[int, ...] | None:
    """Strides (in elements) of `input`'s shape in a memory format; None for row-major."""
    name = str(memory_format).rpartition(".")[2]
    if memory_format is None or name in ("contiguous_format", "preserve_format"):
        return None
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(name)
    if rank is None:
        raise ArgumentError(f"unsupported memory format {memory_format}")
    if input.ndim != rank:
        raise AutogradError(f"required rank {rank} tensor to use {name} format")
    return channels_last_strides(input.shape)


def _clone(input: np.ndarray, memory_format: str | None) -> np.ndarray:
    if memory_format is None or str(memory_format) == "torch.preserve_format":
        return copy_like(input)
    return _laid_out(input, _format_strides(input, memory_format))


def _laid_out(input: np.ndarray, strides: tuple[int, ...] | None) -> np.ndarray:
    if strides is None:
        return copy(input)
    result = empty_strided(input.shape, strides, input.dtype)
    np.copyto(result, input)
    return result


@op("clone(Tensor input, *, Any memory_format=None) -> Tensor", quiet="all", out=False)
class clone:
    """A copy, with the same strides where these are dense.

    >>> torch.tensor([1., 2.]).clone()
    tensor([1., 2.])
    """

    sharding = "*a -> *a"
    numpy = _clone
    compose = on_host(numpy)

    def meta(input, memory_format=None):
        if memory_format is None or str(memory_format) == "torch.preserve_format":
            return meta_array(input.shape, input.dtype, elementwise_strides(input.shape, [input], input.itemsize))
        steps = _format_strides(input, memory_format)
        return meta_array(input.shape, input.dtype, None if steps is None else tuple([n * input.itemsize for n in steps]))
    def vjp(F, grad): return grad
    jvp = "linear"

    def batch(F, call):
        wanted = getattr(call.memory_format, "name", "preserve_format")
        if wanted not in ("preserve_format", "contiguous_format"):
            raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                               f"torch.contiguous_format (got {wanted.title().replace('_', '')})")
        return call()

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield (rng.standard_normal((3, 2)).T,)


@op("contiguous(Tensor input, *, Any memory_format=None) -> Tensor", out=False)
class contiguous:
    """The tensor itself where its memory is in order already, else a copy that is.

    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """

    composite = (lambda *args: "contiguous" if args[1] is None else None)
    def function(F, input, *, memory_format=None):
        data = input._data
        if data.flags.c_contiguous and (memory_format is None or str(memory_format).endswith("preserve_format")):
            return input
        name = str(memory_format)
        if name.endswith("preserve_format"):
            raise AutogradError("preserve memory format is unsupported by the contiguous operator")
        strides = _format_strides(data, memory_format)
        if strides is None:
            return input if data.flags.c_contiguous else F.clone(input, memory_format="torch.contiguous_format")
        item = data.itemsize
        if all([n == 1 or s == want * item for n, s, want in zip(data.shape, data.strides, strides)]):
            return input
        return F.clone(input, memory_format=memory_format)

    def samples(rng):
        yield (rng.standard_normal((3, 2)).T,)
        yield Sample((rng.standard_normal((2, 3, 2, 2)),), {"memory_format": "torch.channels_last"})


@op("ones_for(Tensor like, int[] shape) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class ones_for:
    """Ones of a shape, of the dtype of a tensor."""

    def sharding(call): return call.alone()
    def numpy(like, shape): return np.ones(shape, like.dtype)
    def shape(like, shape): return tuple(shape)
    compose = on_host(numpy)
    def samples(rng): yield rng.standard_normal(2), (2, 3)


@op("zeros_for(Tensor like, int[] shape) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class zeros_for:
    """Zeros of a shape, of the dtype of a tensor."""

    def sharding(call): return call.alone()
    def numpy(like, shape): return np.zeros(shape, like.dtype)
    def shape(like, shape): return tuple(shape)
    compose = on_host(numpy)
    def samples(rng): yield rng.standard_normal(2), (2, 3)


def _restored(grad: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A gradient in the dtype of its tensor: of a real one the real part."""
    if grad.dtype == dtype:
        return grad
    return converted(grad.real if grad.dtype.kind == "c" and dtype.kind != "c" else grad, dtype)


_HALVES = (float16, bfloat16)


_MANY = 4096  # numbers, of which a comparison is faster than a conversion


def _converted(input: np.ndarray, dtype: DType) -> np.ndarray:
    input = input if input.flags.c_contiguous else copy_like(input)
    own = input.dtype.char
    if input.size >= halves.CAST and (own in "eE" or dtype in _HALVES):
        return halves.cast(input, dtype.np)
    if dtype is bool_ and own in "fdilhbB" and input.size >= _MANY:
        return np.not_equal(input, 0)  # in a third of the time
    return input.astype(dtype.np) if input.dtype.isbuiltin == 1 and not dtype.group and dtype is not float16 else converted(input, dtype.np)


@op("cast(Tensor input, Any dtype) -> Tensor", method=False, quiet="all", node="ToCopyBackward0", namespace="_internal", out=False)
class cast:
    """The tensor converted to a dtype; what `Tensor.to` records."""

    composite = "to.dtype"
    shown_as = "to"
    any_dtype = True
    sharding = "*a -> *a"
    meta_layout = "input"
    saved_as = {"input_dtype": None}

    def numpy(input, dtype): return _converted(input, dtype)
    shape = shapes.like_first
    def samples(rng):
        yield rng.integers(0, 9, 3), DType.by_name["float64"]
        yield rng.standard_normal(3), DType.by_name["complex128"]
    compose = on_host(numpy)

    def vjp(F, grad, input_dtype):
        if hasattr(grad, "_k"):
            if grad._k.dtype.is_complex and not input_dtype.is_complex:
                grad = F.real(grad)
            return grad if grad._k.dtype is input_dtype else F.cast(grad, input_dtype)
        return _restored(grad, input_dtype.np)
    jvp = "linear"
    batch = batches.as_is
    aten = "_to_copy(input, dtype=dtype)"
    known_as = "to"


def _like_clone(input: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return meta_array(input.shape, dtype, elementwise_strides(input.shape, [input], dtype.itemsize) if input.ndim > 1 else None)


@op("transfer(Tensor input, Any dtype, str device, str source) -> Tensor", quiet="none", method=False, node="ToCopyBackward0",
    namespace="_internal", out=False)
class transfer:
    """The tensor on another device, `source` being its own, and as another dtype; what `Tensor.to` records between devices. Memory is
    never shared between them."""

    any_dtype = True
    saved_as = {"input_dtype": None, "device": None, "source": None}

    def numpy(input, dtype, device, source):
        if input.__class__ is not np.ndarray:
            input = input.whole()
        return _converted(input, dtype)

    def sharding(call): return call.letters("*a -> *a")
    shape = shapes.like_first
    def meta(input, dtype, device, source): return _like_clone(input, dtype.np)
    def place(values): return values["input"]._k.device if values["device"] == values["source"] else Device(values["device"])
    def samples(rng):
        yield rng.standard_normal((2, 3)) + 1j, DType.by_name["complex128"], "cpu", "cpu"
        yield rng.integers(0, 9, 3), DType.by_name["float64"], "cpu", "cpu"
    compose = on_host(numpy)

    def vjp(F, grad, input_dtype, device, source):
        if device == "meta" and source != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return F.transfer(grad, input_dtype, source, device) if hasattr(grad, "_k") else _restored(grad, input_dtype.np)
    batch = batches.as_is
    aten = "_to_copy(input, dtype=dtype, device=device)"
    known_as = "to"


def dtype_of(tensor):
    """The dtype of a tensor."""
    return tensor._k.dtype
