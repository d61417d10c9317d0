"""Operations that move elements: views, indexing, joining, gathering and scattering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_tape.dtypes import bool_, float32, int64, uint8

from .._graph import Graph, Ints, Made, Operand, Val, refuse
from .._sizes import Dim
from .._table import row

_END = 2 ** 63 - 1


@row("reshape", "view", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "unsqueeze_", "squeeze_", "view_copy", "squeeze_copy")
def reshape(g: Graph, input: Val, shape: object = None, size: object = None, other: object = None, start_dim: int = 0,
            end_dim: int = -1, dim: object = None, sizes: object = None, args: object = None) -> Val:
    made: Val = g.reshape(input, g.result_shape(one_unknown=True))
    return made


@row("unsqueeze", "unsqueeze_copy")
def unsqueeze(g: Graph, input: Val, dim: int) -> Val:
    return g.op("Unsqueeze", input, [dim])


@row("squeeze")
def squeeze(g: Graph, input: Val, dim: Ints | None = None) -> Val:
    dims: Sequence[int] = range(input.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [d % input.rank for d in dims if input.sizes[d] == 1] if input.rank else []
    return g.op("Squeeze", input, axes) if axes else g.op("Identity", input)


@row("expand", "broadcast_to", "expand_as", "expand_copy")
def expand(g: Graph, input: Val, size: object = None, other: object = None) -> Val:
    return g.op("Expand", input, g.result_shape())


@row("broadcast_tensors")
def broadcast_tensors(g: Graph, tensors: Any) -> Made:
    return [g.op("Expand", t, g.result_shape(i)) for i, t in enumerate(tensors)]


@row("permute", "permute_copy")
def permute(g: Graph, input: Val, dims: Sequence[int]) -> Val:
    return g.op("Transpose", input, perm=[d % input.rank for d in dims]) if input.rank else input


@row("transpose", "transpose_", "transpose_copy")
def transpose(g: Graph, input: Val, dim0: int = 0, dim1: int = 0, args: tuple[int, int] | None = None) -> Val:
    dim0, dim1 = args or (dim0, dim1)
    perm = list(range(input.rank))
    if not perm:
        return input
    perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return g.op("Transpose", input, perm=perm)


@row("t", "t_", "t_copy")
def t(g: Graph, input: Val, args: object = None) -> Val:
    perm = list(range(input.rank))
    return g.op("Transpose", input, perm=[*perm[:-2], *reversed(perm[-2:])]) if perm else input


def sliced(g: Graph, x: Val, starts: Sequence[Operand], ends: Sequence[Operand], axes: Sequence[int],
           steps: Sequence[Operand] | None = None) -> Val:
    """ONNX's Slice."""
    made: Val = g.op("Slice", x, list(starts), list(ends), list(axes), None if steps is None else list(steps))
    return made


@row("select", "select_copy")
def select(g: Graph, input: Val, dim: int, index: Operand) -> Val:
    return g.op("Gather", input, g.scalar(index, int64), axis=dim)


@row("slice", "slice_copy")
def slice_(g: Graph, input: Val, dim: int = 0, start: Operand | None = None, end: Operand | None = None, step: Operand = 1) -> Val:
    return sliced(g, input, [0 if start is None else start], [_END if end is None else end], [dim], [step])


@row("narrow", "narrow_copy")
def narrow(g: Graph, input: Val, dim: int, start: Operand, length: Operand) -> Val:
    begin = g.scalar(start, int64) if isinstance(start, Val) else start
    return sliced(g, input, [begin], [begin + length], [dim])


@row("split", "split_equal", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unsafe_chunk", "unbind", "hsplit", "vsplit",
     "split_copy", "split_with_sizes_copy", "unbind_copy", "unsafe_split_with_sizes")
def split(g: Graph, input: Val | None = None, dim: int = 0, tensor: Val | None = None, split_size: object = None,
          split_sizes: object = None, split_size_or_sections: object = None, chunks: object = None,
          indices_or_sections: object = None) -> Made:
    input = tensor if input is None else input
    assert input is not None
    if g.step.name in ("hsplit", "vsplit"):
        dim = 0 if g.step.name == "vsplit" or input.rank == 1 else 1
    dim %= input.rank
    if g.step.name.startswith("unbind"):
        return [g.op("Gather", input, g.const(i, int64), axis=dim) for i in range(len(g.out))]
    found, start = [], 0
    for i in range(len(g.out)):
        last = i == len(g.out) - 1
        end = _END if last else g.result_shape(i)[dim] + start
        found.append(sliced(g, input, [start], [end], [dim]))
        start = end
    return found


@row("cat")
def cat(g: Graph, tensors: Sequence[Val], dim: int = 0) -> Val:
    kept = [t.to(g.out[0].dtype) for t in tensors if t.shape != (0,)]
    return g.op("Concat", *kept, axis=dim) if kept else tensors[0]


@row("stack")
def stack(g: Graph, tensors: Sequence[Val], dim: int = 0) -> Val:
    parts = [g.op("Unsqueeze", t.to(g.out[0].dtype), [dim]) for t in tensors]
    return g.op("Concat", *parts, axis=dim)


@row("repeat", "tile")
def repeat(g: Graph, input: Val, repeats: Ints | None = None, dims: Ints | None = None) -> Val:
    given = repeats if dims is None else dims
    times = [given] if given is None or isinstance(given, int) else list(given)
    if len(times) > input.rank:
        input = g.op("Unsqueeze", input, list(range(len(times) - input.rank)))
    else:
        times = [1] * (input.rank - len(times)) + times
    return g.op("Tile", input, times) if times else input


@row("flip")
def flip(g: Graph, input: Val, dims: Ints) -> Val:
    axes = [dims] if isinstance(dims, int) else list(dims)
    return sliced(g, input, [-1] * len(axes), [-_END] * len(axes), axes, [-1] * len(axes)) if axes else input


@row("roll")
def roll(g: Graph, input: Val, shifts: Ints, dims: Ints = ()) -> Val:
    moves, axes = [[v] if isinstance(v, (int, Dim)) else list(v) for v in (shifts, dims)]
    x = input if axes else g.op("Reshape", input, [-1])
    for shift, dim in zip(moves, axes or [0]):
        size = input.sizes[dim] if axes else None
        place = -(shift % size) if isinstance(size, int) and isinstance(shift, int) and size else -shift
        if place == 0:
            continue
        x = g.op("Concat", sliced(g, x, [place], [_END], [dim]), sliced(g, x, [0], [place], [dim]), axis=dim)
    return x if axes else g.op("Reshape", x, g.shape(input))


@row("tril", "triu")
def tril(g: Graph, input: Val, diagonal: Operand = 0) -> Val:
    if g.opset >= 14:
        x = input if input.dtype.name in ("float32", "float64", "int64") else input.to(float32 if input.dtype.is_floating_point else int64)
        return g.op("Trilu", x, g.scalar(diagonal, int64), upper=int(g.step.name == "triu")).to(input.dtype)
    rows, columns = [g.op("Range", *[g.scalar(v, int64) for v in (0, n, 1)]) for n in input.sizes[-2:]]
    away = columns - g.op("Unsqueeze", rows, [1])
    kept = away >= g.scalar(diagonal, int64) if g.step.name == "triu" else away <= g.scalar(diagonal, int64)
    if input.dtype is bool_:
        return input & kept
    return g.op("Where", kept, input, g.const(0, input.dtype), dtype=input.dtype)


@row("diagonal", "diagonal_copy")
def diagonal(g: Graph, input: Val, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Val:
    n = input.rank
    a, b = dim1 % n, dim2 % n
    x = g.op("Transpose", input, perm=[*[d for d in range(n) if d not in (a, b)], a, b])
    if offset:
        x = sliced(g, x, [abs(offset)], [_END], [n - 1 if offset > 0 else n - 2])
    size = g.result_shape()[-1]
    x = sliced(g, x, [0, 0], [size, size], [n - 2, n - 1])
    places = g.op("Unsqueeze", g.op("Range", *[g.scalar(v, int64) for v in (0, size, 1)]), [1])
    index = g.op("Expand", places, [*g.result_shape()[:-1], size, 1])
    return g.op("Squeeze", g.op("GatherElements", x, index, axis=-1), [-1])


# -- indexing ---------------------------------------------------------------------------------------------------------------------------


def _index(g: Graph, item: Any) -> Made:
    """An item of an index; lists and arrays as constants."""
    if isinstance(item, (list, np.ndarray)) and not any([isinstance(x, (Val, Dim)) for x in item]):
        array = np.asarray(item)
        return g.const(array, bool_ if array.dtype == bool else int64)
    if isinstance(item, list):
        return g.ints(item)
    return item


@row("getitem", "basic_select", "basic_slice", "basic_unsqueeze", "basic_alias")
def getitem(g: Graph, input: Val, index: Operand) -> Val:
    items: list[Any] = [_index(g, item) for item in (index if isinstance(index, tuple) else (index,))]
    taken = sum([item.rank if isinstance(item, Val) and item.dtype in (bool_, uint8) else item is not None and not isinstance(item, bool)
                 and item is not Ellipsis for item in items])
    if not any([item is Ellipsis for item in items]):
        items.append(Ellipsis)
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at:at + 1] = [slice(None)] * (input.rank - taken)
    x, axis = input, 0
    slices: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, slice) and item != slice(None):
            slices.append((0 if item.start is None else item.start, _END if item.stop is None else item.stop, axis, item.step or 1))
        if item is not None and not isinstance(item, bool):
            axis += item.rank if isinstance(item, Val) and item.dtype in (bool_, uint8) else 1
    if slices:
        x = sliced(g, x, *zip(*slices))
    axis, picked = 0, {}
    for item in items:
        if isinstance(item, (int, np.integer, Dim)) and not isinstance(item, bool):
            x = g.op("Gather", x, g.scalar(item, int64), axis=axis)
        elif isinstance(item, Val) and item.dtype in (bool_, uint8):
            found = g.op("NonZero", item.to(bool_), dtype=int64)
            for i in range(item.rank):
                picked[axis + i] = g.op("Gather", found, g.const(i, int64), axis=0)
                picked[axis + i].shape = (None,)
            axis += item.rank
        elif isinstance(item, Val):
            picked[axis] = item.to(int64)
            axis += 1
        elif item is None or item is True:
            x = g.op("Unsqueeze", x, [axis])
            if item is True:
                picked[axis] = g.const([0], int64)
            axis += 1
        elif isinstance(item, slice):
            axis += 1
        else:
            raise refuse(f"an index of {item!r} has no translation")
    return _picked(g, x, axis, picked) if picked else x if x is not input else g.op("Identity", x)


def _picked(g: Graph, x: Val, rank: int, picked: dict[int, Val]) -> Val:
    """`x` of `rank` dimensions at indices in some of them."""
    axes = list(picked)
    if len(axes) == 1:
        return g.op("Gather", x, picked[axes[0]], axis=axes[0])
    n = max([v.rank for v in picked.values()])
    zero: Any = 0
    for v in picked.values():
        zero = v * 0 + zero
    places = g.op("Concat", *[g.op("Unsqueeze", v + zero, [n]) for v in picked.values()], axis=n)
    rest = [d for d in range(rank) if d not in picked]
    found = g.op("GatherND", g.op("Transpose", x, perm=[*axes, *rest]), places)
    before = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0  # side by side, they stay where they are
    return g.op("Transpose", found, perm=[*range(n, n + before), *range(n), *range(n + before, n + len(rest))]) if before else found


def iota(g: Graph, x: Val) -> Val:
    """The numbers of the elements, in the shape of `x`."""
    made = g.op("Reshape", g.op("Range", g.const(0, int64), g.op("Size", x, dtype=int64), g.const(1, int64)), g.shape(x))
    made.shape = x.shape
    return made


def put(g: Graph, x: Val, places: Val, value: Val, reduction: str | None = None) -> Val:
    """`x` with the elements of `value`, in the shape of `places` or broadcast to it, at these numbers of elements."""
    flat = g.op("Reshape", g.op("Expand", value.to(x.dtype), g.shape(places)), [-1])
    changed = g.op("ScatterElements", g.op("Reshape", x, [-1]), g.op("Reshape", places, [-1]), flat, axis=0, reduction=reduction)
    return g.op("Reshape", changed, g.shape(x))


@row("select_scatter", "slice_scatter")
def view_scatter(g: Graph, input: Val, src: Val, dim: int = 0, index: Operand = 0, start: Operand | None = None, end: Operand | None = None,
                 step: Operand = 1 ) -> Val:
    name, numbers = g.step.name, iota(g, input)
    places = select(g, numbers, dim, index) if name == "select_scatter" else slice_(g, numbers, dim, start, end, step)
    return put(g, input, places, src)


@row("setitem")
def setitem(g: Graph, input: Val, index: Operand, value: Operand) -> Val:
    value = g.scalar(value, input.dtype)
    item = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(item, Val) and item.dtype is bool_ and item.rank == input.rank and value.shape == ():
        return g.op("Where", item, value, input, dtype=input.dtype)
    return put(g, input, getitem(g, iota(g, input), index), value)


@row("index_put")
def index_put(g: Graph, input: Val, indices: Any, values: Val, accumulate: bool = False) -> Val:
    places = getitem(g, iota(g, input), tuple([slice(None) if i is None else i for i in indices]))
    if accumulate:
        g.needs(16, g.step.known_as)
    return put(g, input, places, values, "add" if accumulate else None)


@row("index_select")
def index_select(g: Graph, input: Val, dim: int, index: Val) -> Val:
    if not input.rank:
        return input
    return g.op("Gather", input, index if index.rank else g.op("Unsqueeze", index, [0]), axis=dim)


@row("gather", "take_along_dim")
def gather(g: Graph, input: Val, dim: int | None = None, index: Val | None = None, indices: Val | None = None) -> Val:
    index = indices if index is None else index
    assert index is not None
    if dim is None:
        return g.op("GatherElements", g.op("Reshape", input, [-1]), g.op("Reshape", index, [-1]), axis=0)
    if not input.rank:
        return g.op("Expand", input, g.shape(index)) if index.rank else g.op("Identity", input)
    if g.step.name == "take_along_dim":
        shape = [a if b == 1 else b for a, b in zip(input.sizes, index.sizes)]
        index = g.op("Expand", index, [index.sizes[i] if i == dim % input.rank else n for i, n in enumerate(shape)])
        input = g.op("Expand", input, [input.sizes[i] if i == dim % input.rank else n for i, n in enumerate(shape)])
    return g.op("GatherElements", input, index.to(int64), axis=dim)


@row("take")
def take(g: Graph, input: Val, index: Val) -> Val:
    return g.op("Gather", g.op("Reshape", input, [-1]), index, axis=0)


_REDUCE = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min", None: None}


@row("scatter", "scatter_src", "scatter_value", "scatter_add", "scatter_reduce")
def scatter(g: Graph, input: Val, dim: int, index: Val, src: Operand | None = None, value: Operand | None = None, reduce: str | None = None,
            include_self: bool = True) -> Val:
    given = value if src is None else src
    if isinstance(given, Val) and given.rank:
        if given.shape != index.shape:
            given = sliced(g, given, [0] * index.rank, list(index.sizes), list(range(index.rank)))
    else:
        given = g.op("Expand", g.scalar(given, input.dtype), g.shape(index))
    how = "add" if g.step.name == "scatter_add" else _REDUCE.get(reduce, "")
    if how == "" or not include_self:
        raise refuse(f"{g.step.known_as} with reduce={reduce!r}, include_self={include_self} has no translation")
    if how is not None:
        g.needs(18 if how in ("max", "min") else 16, g.step.known_as)
    return g.op("ScatterElements", input, index, given, axis=dim, reduction=how)


@row("index_add", "index_copy", "index_fill")
def index_add(g: Graph, input: Val, dim: int, index: Val, source: Operand | None = None, value: Operand | None = None,
              alpha: Operand = 1) -> Val:
    name = g.step.name
    if name == "index_add":
        g.needs(16, g.step.known_as)
    dim %= max(input.rank, 1)
    places = g.op("Gather", iota(g, input), index, axis=dim)
    given = g.scalar(value if source is None else source, input.dtype)
    return put(g, input, places, given * alpha if alpha != 1 else given, "add" if name == "index_add" else None)


@row("masked_select")
def masked_select(g: Graph, input: Val, mask: Val) -> Val:
    both = [g.op("Expand", input, g.shape(mask)), g.op("Expand", mask, g.shape(input))]
    both[1] = g.op("Expand", mask, g.shape(both[0]))
    return g.op("Compress", g.op("Reshape", both[0], [-1]), g.op("Reshape", both[1], [-1]), axis=0)


@row("masked_scatter")
def masked_scatter(g: Graph, input: Val, mask: Val, source: Val) -> Val:
    spread = g.op("Reshape", g.op("Expand", mask, g.shape(input)), [-1])
    number = g.op("CumSum", spread.to(int64), g.const(0, int64)) - 1
    picked = g.op("Gather", g.op("Reshape", source, [-1]), g.op("Max", number, g.const(0, int64)), axis=0)
    found = g.op("Where", spread, picked, g.op("Reshape", input, [-1]), dtype=input.dtype)
    return g.op("Reshape", found, g.shape(input))


@row("unfold", "unfold_copy")
def unfold(g: Graph, input: Val, dimension: int, size: int, step: int) -> Val:
    length = input.sizes[dimension]
    starts = g.op("Range", *[g.scalar(v, int64) for v in (0, length - (size - 1), step)])
    places = g.op("Unsqueeze", starts, [1]) + g.const(np.arange(size), int64)
    found = g.op("Gather", input, places, axis=dimension)
    axis, n = dimension % input.rank, input.rank + 1
    return g.op("Transpose", found, perm=[*[d for d in range(n) if d != axis + 1], axis + 1])


@row("repeat_interleave")
def repeat_interleave(g: Graph, input: Val, repeats: Operand, dim: int | None = None, output_size: object = None) -> Val:
    if not isinstance(repeats, (int, Dim)):
        raise refuse("repeat_interleave with a tensor of repeats has no translation")
    x, axis = (g.op("Reshape", input, [-1]), 0) if dim is None else (input, dim % input.rank)
    rank = 1 if dim is None else input.rank
    x = g.op("Tile", g.op("Unsqueeze", x, [axis + 1]), [1] * (axis + 1) + [repeats] + [1] * (rank - axis - 1))
    return g.op("Reshape", x, g.result_shape(one_unknown=True))


@row("as_strided_view")
def as_strided(g: Graph, input: Val, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Val:
    places = np.full(tuple(size), storage_offset or 0)
    for axis, (n, step) in enumerate(zip(size, stride)):
        places = places + (np.arange(n) * step).reshape((-1,) + (1,) * (len(size) - axis - 1))
    return g.op("Gather", g.op("Reshape", input, [-1]), g.const(places, int64), axis=0)


@row("diag_embed")
def diag_embed(g: Graph, input: Val, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Val:
    n = input.rank + 1
    a, b = dim1 % n, dim2 % n
    size = g.result_shape()[a]
    rows, columns = [g.op("Range", *[g.scalar(v, int64) for v in (0, size, 1)]) for _ in range(2)]
    there = columns.equals(g.op("Unsqueeze", rows, [1]) + offset)
    before = [max(-offset, 0), max(offset, 0)]
    x = g.op("Pad", input, [0] * (input.rank - 1) + [before[0]] + [0] * (input.rank - 1) + [before[1]]) if offset else input
    x = g.op("Unsqueeze", x, [input.rank])  # along the rows, where it starts further down for a negative offset
    found = g.op("Where", there, x, g.const(0, input.dtype), dtype=input.dtype)
    rest = iter(range(n - 2))
    return g.op("Transpose", found, perm=[n - 2 if d == a else n - 1 if d == b else next(rest) for d in range(n)])


@row("nn_functional_unfold")
def im2col(g: Graph, input: Val, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Val:
    kernel, dilations, pads, strides = [[v, v] if isinstance(v, int) else list(v) for v in (kernel_size, dilation, padding, stride)]
    x = input if input.rank == 4 else g.op("Unsqueeze", input, [0])
    x = g.op("Pad", x, [0, 0, *pads, 0, 0, *pads]) if any(pads) else x
    for i in range(2):  # each dimension becomes two: in the window, and of the windows
        axis = 2 + 2 * i
        extent = input.sizes[input.rank - 2 + i] + 2 * pads[i] - dilations[i] * (kernel[i] - 1)
        starts = g.op("Range", *[g.scalar(v, int64) for v in (0, extent, strides[i])])
        x = g.op("Gather", x, g.op("Unsqueeze", g.const(np.arange(kernel[i]) * dilations[i], int64), [1]) + starts, axis=axis)
    x = g.op("Transpose", x, perm=[0, 1, 2, 4, 3, 5])
    x = g.op("Reshape", x, [0, input.sizes[-3] * kernel[0] * kernel[1], -1])
    return x if input.rank == 4 else g.op("Squeeze", x, [0])


@row("fold")
def fold(g: Graph, input: Val, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Val:
    g.needs(18, g.step.known_as)
    size, kernel, dilations, pads, strides = [[v, v] if isinstance(v, int) else list(v)
                                              for v in (output_size, kernel_size, dilation, padding, stride)]
    x = input if input.rank == 3 else g.op("Unsqueeze", input, [0])
    found = g.op("Col2Im", x, size, kernel, dilations=dilations, pads=pads * 2, strides=strides)
    return found if input.rank == 3 else g.op("Squeeze", found, [0])


@row("max_unpool_nd")
def max_unpool(g: Graph, input: Val, indices: Val, size: Sequence[int], n: int) -> Val:
    lead = list(range(input.rank - n))
    rows = g.op("Reshape", indices, [*[0 for _ in lead], -1])
    shape = g.result_shape()
    total: Operand = 1
    for m in shape[-n:]:
        total = m * total
    empty = g.op("Expand", g.const(0, input.dtype), [*shape[:-n], total])
    placed = g.op("ScatterElements", empty, rows, g.op("Reshape", input, [*[0 for _ in lead], -1]), axis=-1)
    return g.op("Reshape", placed, shape)


@row("unique", "unique_consecutive")
def unique(g: Graph, input: Val, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
           ) -> Made:
    if g.step.name != "unique":
        raise refuse("unique_consecutive has no translation")
    found = g.op("Unique", input, sorted=1, axis=dim, outputs=4)
    for v in found[1:]:
        v.dtype = int64
    inverse = g.op("Reshape", found[2], g.shape(input)) if dim is None else found[2]
    return [found[0], *([inverse] if return_inverse else []), *([found[3]] if return_counts else [])]
