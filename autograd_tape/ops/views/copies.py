"""Views that are copied, `view_copy` and its like: what a view shows, in memory of its own and in rows. Each is made of the record of its
view, whose kernel, gradient and batching rule are its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...dims import wrap_dim
from ...errors import AutogradError, IndexRangeError, ShapeMismatchError
from ...executors.kernels.sharing import copy
from ...executors.meta import meta_array
from ...functions.out import CASTS, EXPECTED, OutRule
from ...record import Record, get_record, op
from ...strided import owner_of, storage_offset as start_of, strided
from .. import _batch as batches
from .._host import on_host
from ..data.rearrange import placed
from ..networks._losses import constant
from .parts import _as_strided


_FEW = 512  # elements that NumPy copies in any order as quickly

_DOC = """`{view}` in memory of its own.

>>> torch.{view}_copy({example}){one}._is_view()
False
"""


def _each(result: Any, made: Callable[[np.ndarray], np.ndarray]) -> Any:
    return [made(part) for part in result] if isinstance(result, list) else made(result)


def _in_rows(part: np.ndarray) -> np.ndarray:
    return np.array(part, order="C") if part.size < _FEW or part.flags.c_contiguous else copy(part)


def _without_data(part: np.ndarray) -> np.ndarray:
    return meta_array(part.shape, part.dtype)


def copy_of(name: str, example: str, said: str = "", anywhere: bool = False, before: bool = False, out_list: str | None = None,
            out_dtype: OutRule = EXPECTED) -> Record:
    """The record of a view's copy.

    Args:
        name: of the view.
        example: the arguments of a call, for its documentation.
        said: what the copy is named after, where that is another name.
        anywhere: whether elements may lie where a view does not reach them.
        before: whether what is copied is the tensor, since the elements of the view are parts of its elements.
        out_list, out_dtype: see `Record`.
    """
    view = get_record(name)
    kernel = view.field("numpy")

    def numpy(input: np.ndarray, *arguments: Any) -> Any:
        if (before or anywhere) and not input.flags.c_contiguous:
            return kernel(copy(input), *arguments)
        return _each(kernel(input, *arguments), _in_rows)

    def meta(input: np.ndarray, *arguments: Any) -> Any:
        return _each(kernel(meta_array(input.shape, input.dtype) if anywhere else input, *arguments), _without_data)

    def redirect(*arguments: Any) -> Any:
        found = view.field("redirect")(*arguments)
        return None if found is None else (f"_{found[0]}_copy", found[1])

    given = ("vjp", "samples", "saved_as", "amp", *(() if anywhere else ("errors",)))
    fields = {field: view.body.__dict__[field] for field in given if field in view.body.__dict__}
    fields |= {"__module__": __name__, "__doc__": _DOC.format(view=said or name, example=example, one="[0]" if view.returns_list else ""),
               "numpy": numpy, "meta": meta, "jvp": "linear", "moves": True,
               "batch": view.field("batch") or batches.view, "compose": on_host(numpy), "out_dtype": out_dtype, "out_list": out_list}
    if view.field("redirect") is not None:
        fields["redirect"] = redirect
    if view.field("nodes") is not None:
        fields["nodes"] = {condition: f"{node}_copy" for condition, node in view.field("nodes").items()}
    body = type(f"{said or name}_copy", (), fields)
    _, _, rest = view.schema.partition("(")
    node = view.node_name if view.node_name == "NotImplemented" else f"{view.node_name}_copy"
    return op(f"{said or name}_copy({rest}", quiet="all", method=False, namespace=view.namespace if not said and name != "slice" else "",
              node=node, dtypes=view.dtypes, complex=view.complex)(body)


for _name, _example in {
        "diagonal": "torch.eye(2)", "expand": "torch.ones(2), (3, 2)", "permute": "torch.eye(2), (1, 0)", "select": "torch.eye(2), 0, 1",
        "slice": "torch.ones(3), 0, 1", "squeeze": "torch.ones(1, 2)", "t": "torch.eye(2)",
        "transpose": "torch.eye(2), 0, 1", "unfold": "torch.ones(3), 0, 2, 1", "unsqueeze": "torch.ones(2), 0"}.items():
    copy_of(_name, _example)
copy_of("view_as_real", "torch.ones(2) * 1j", before=True)
copy_of("view", "torch.ones(2, 3).T, (6,)", anywhere=True)
copy_of("view_as_complex", "torch.eye(2)", anywhere=True)
copy_of("view_dtype", "torch.eye(2), torch.int32", said="_view_dtype", anywhere=True)
copy_of("split_equal", "torch.ones(3), 2", said="split", out_list="split_copy_Tensor_out()", out_dtype=CASTS)
copy_of("split_with_sizes", "torch.ones(3), [1, 2]", out_list="split_with_sizes_copy_out")
copy_of("unbind", "torch.eye(2)", out_list="unbind_copy_int_out")


@op("alias_copy(Tensor input) -> Tensor", quiet="all", method=False, node="AliasBackward0_copy")
class alias_copy:
    """The tensor in memory of its own.

    >>> torch.alias_copy(torch.ones(2))
    tensor([1., 1.])
    """

    moves = True
    out_dtype = EXPECTED
    sharding = "*a -> *a"
    numpy = _in_rows
    compose = on_host(_in_rows)
    def shape(input): return input
    def vjp(F, grad): return grad
    jvp = "linear"
    batch = batches.as_is
    def samples(rng): yield (rng.standard_normal((3, 2)).T,)


def _range(shape: Sequence[int], dim: int, start: Any, length: int) -> tuple[slice, ...]:
    """The index of `length` positions of a dimension from `start` on; torch's errors where they are not there."""
    if not len(shape):
        raise AutogradError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= len(shape):
        raise AutogradError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message "
                            "be improved?  If so, please report an enhancement request to PyTorch.)")
    d, first = wrap_dim(dim, len(shape)), int(start)
    n = shape[d]
    if not -n <= first <= n:
        raise IndexRangeError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    first += n if first < 0 else 0
    if length < 0 or first + length > n:
        raise AutogradError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return (*(slice(None),) * d, slice(first, first + length))


_kept_range = lru_cache(1024, typed=True)(_range)


def _narrow_copy(input: np.ndarray, dim: int, start: Any, length: int) -> np.ndarray:
    return _in_rows(input[(_kept_range if start.__class__ is int else _range)(input.shape, dim, start, length)])


@op("narrow_copy(Tensor input, int dim, Any start, int length) -> Tensor", quiet="all")
class narrow_copy:
    """`narrow` in memory of its own.

    >>> torch.narrow_copy(torch.arange(5.), 0, 1, 3)
    tensor([1., 2., 3.])
    """

    moves = True
    out_dtype = EXPECTED
    sharding = "along dim"
    numpy = _narrow_copy
    compose = on_host(_narrow_copy)
    def meta(input, dim, start, length): return _without_data(input[_range(input.shape, dim, start, length)])

    def vjp(F, grad, input_shape, dim, start, length):
        return F.basic_index_backward(grad, input_shape, _range(input_shape, dim, start, length))
    jvp = "linear"

    def samples(rng): yield rng.standard_normal((2, 5)), -1, 1, 3
    def errors(rng): yield (np.ones((3, 4)), 0, 2, 3), RuntimeError, "start (2) + length (3) exceeds dimension size (3)."


@op("as_strided_copy(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor", method=False)
class as_strided_copy:
    """`as_strided` in memory of its own.

    >>> torch.as_strided_copy(torch.arange(6.), (2, 2), (1, 2), 1)
    tensor([[1., 3.],
            [2., 4.]])
    """

    out_dtype = EXPECTED
    def quick(input, size, stride, storage_offset): return _in_rows(_as_strided(input, size, stride, storage_offset))

    def function(F, input, size, stride, storage_offset=None):
        return F.alias_copy(F.as_strided(input, size, stride, storage_offset))

    def samples(rng): yield rng.standard_normal((2, 3)), (2, 2), (1, 2), 1


def _is_storage(a: np.ndarray) -> bool:
    """Whether an array is all that there is of its memory, in order."""
    return a.flags.c_contiguous and (a.base is None or a.nbytes == owner_of(a).nbytes)


@op("as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor", out=False)
class as_strided_scatter:
    """A copy of the tensor with `src` where `as_strided` shows it.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """

    def quick(input, src, size, stride, storage_offset):
        in_order = _is_storage(input) or _is_storage(input.T)
        return placed(input, src, "as_strided", (size, stride, storage_offset)) if in_order and 0 not in stride else None

    def function(F, input, src, size, stride, storage_offset=None):
        shown = F.as_strided(input, size, stride, storage_offset)
        if tuple(src.shape) != tuple(shown.shape):
            raise ShapeMismatchError("expected src to have a size equal to the slice of self. src size = "
                                     f"{list(src.shape)}, slice size = {list(shown.shape)}", expected=str(list(shown.shape)),
                                     found=str(list(src.shape)))
        if any([n > 1 and not step for n, step in zip(size, stride)]):
            raise AutogradError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                                "Please clone() the tensor before performing the operation.")
        data, count = input._data, prod(size)
        if not count:
            return F.clone(input)
        if data.__class__ is np.ndarray and input._k.special is None and src._k is input._k and _is_storage(data):
            return F.place_view(input, src, "as_strided", (size, stride, storage_offset))
        start = start_of(data)
        at, steps = start if storage_offset is None else storage_offset, [s // data.itemsize for s in data.strides]
        first = min(start, at)
        reach = max([place + sum([(n - 1) * s for n, s in zip(*geometry)]) for place, geometry in (
            (start, (data.shape, steps)), (at, (size, stride)))]) + 1
        memory = np.full(reach - first, -1)  # which element of `src` goes to each place
        strided(memory, size, [8 * s for s in stride], 8 * (at - first))[...] = np.arange(count).reshape(size)
        index = np.array(strided(memory, data.shape, [8 * s for s in steps], 8 * (start - first)), order="K")
        source = src if src._k.dtype is input._k.dtype else F.cast(src, input._k.dtype)
        return F.where(constant(F, input, index >= 0), F.take(source, constant(F, input, np.maximum(index, 0))), input)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((2, 2)), (2, 2), (1, 2), 1
    def errors(rng): yield (np.ones((2, 3)), np.ones(3), (2,), (1,)), RuntimeError, (
        "expected src to have a size equal to the slice of self. src size = [3], slice size = [2]")
