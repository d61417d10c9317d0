"""Contractions built from matrix products: einsum, tensordot, kron, bilinear, cross, trace, products of many matrices."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any
from collections.abc import Sequence

import numpy as np

from ...dims import broadcast_shape, wrap_dim
from ...dtypes import CPU_KINDS, FLOATING, INTEGER, SCALAR_TYPE_NAMES, Kind, c_name, default_dtype, int64
from ...errors import AutogradError, ShapeMismatchError
from ...functions.out import EXPECTED, MULTI_DOT, OutRule, TENSORDOT
from ...functions.refusals import check_elements, on_meta
from ...executors.kernels import blas, halves, matrices as kernels
from ...executors.kernels._on_demand import is_half
from ...executors.kernels.pairs import OF_UFUNC, ufunc2
from ...executors.kernels.sharing import BIG
from ...record import Sample, get_record, op
from ...warned import ignoring, warn_once
from .. import _batch as batches
from .._host import data_dependent, on_one_device
from .._samples import refuse_complex_gradient, takes_floats
from .products import alike, outer_product, same_scalar_type
from ..networks._losses import buffer
from ..reductions.sums import sum_of_products
from ...annotations import Fn, Functions
from ...tensor import TensorRef

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = "..."
F32 = CPU_KINDS[np.dtype("f4")]

_PAIRS = 1 << 15  # products of pairs from which on no matrices are multiplied
_LONG = 256  # elements of a row of one, from which on NumPy's way is as quick
_PRODUCTS = 2048  # in a Kronecker product, from which its rows are laid out first


# -- einsum -----------------------------------------------------------------------------------------------------------


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The string form of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    tensors, terms = list(operands[0:len(operands) // 2 * 2:2]), []

    def spell(sublist: Sequence[Any], name: str) -> str:
        letters = []
        for s in sublist:
            if s is Ellipsis:
                letters.append(_ELLIPSIS)
            elif not 0 <= s < len(_LETTERS):
                raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, {len(_LETTERS)})")
            else:
                letters.append(_LETTERS[s])
        return "".join(letters)

    for i in range(len(tensors)):
        terms.append(spell(operands[2 * i + 1], f"operand {i}"))
    equation = ",".join(terms)
    return (equation + "->" + spell(operands[-1], "output") if len(operands) % 2 else equation), tensors


def _parse(equation: str, n_operands: int) -> tuple[list[list[str]], list[str] | None]:
    """The labels of each operand and of the output (None where it is implied); an ellipsis is one label."""
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    terms: list[list[str]] = [[]]
    i = 0
    while i < len(left):
        c = left[i]
        if c == ",":
            terms.append([])
        elif c == ".":
            if _ELLIPSIS in terms[-1]:
                raise AutogradError(f"einsum(): found '.' for operand {len(terms) - 1} for which an ellipsis was already found")
            if left[i:i + 3] != _ELLIPSIS:
                raise AutogradError(f"einsum(): found '.' for operand {len(terms) - 1} that is not part of any ellipsis")
            terms[-1].append(_ELLIPSIS)
            i += 2
        elif c in _LETTERS:
            terms[-1].append(c)
        elif c != " ":
            raise AutogradError(f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]")
        i += 1
    if len(terms) > n_operands:
        raise AutogradError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < n_operands:
        raise AutogradError("einsum(): more operands were provided than specified in the equation")
    if arrow < 0:
        return terms, None
    output: list[str] = []
    i = arrow + 2
    while i < len(equation):
        c = equation[i]
        if c == ".":
            if _ELLIPSIS in output:
                raise AutogradError("einsum(): found '.' for output but an ellipsis (...) was already found")
            if equation[i:i + 3] != _ELLIPSIS:
                raise AutogradError("einsum(): found '.' for output that is not part of any ellipsis (...)")
            output.append(_ELLIPSIS)
            i += 2
        elif c in _LETTERS:
            if c in output:
                raise AutogradError(f"einsum(): output subscript {c} appears more than once in the output")
            output.append(c)
        elif c != " ":
            raise AutogradError(f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]")
        i += 1
    return terms, output


def _labels(terms: list[list[str]], output: list[str] | None, operands: Sequence[TensorRef]) -> tuple[list[list], list[str | int]]:
    """Labels per dimension, those of ellipses spelled out as numbers that count from the right: -1, -2, ..."""
    widest, spelled = 0, []
    for n, (term, x) in enumerate(zip(terms, operands)):
        extra = x.ndim - (len(term) - 1 if _ELLIPSIS in term else len(term))
        if _ELLIPSIS in term and extra < 0:
            raise ShapeMismatchError(f"einsum(): the number of subscripts in the equation ({len(term) - 1}) is more than the number of "
                                     f"dimensions ({x.ndim}) for operand {n}")
        if _ELLIPSIS not in term and extra:
            raise ShapeMismatchError(f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of "
                                     f"dimensions ({x.ndim}) for operand {n} and no ellipsis was given")
        spelled.append([d for label in term for d in (range(-extra, 0) if label is _ELLIPSIS or label == _ELLIPSIS else (label,))])
        widest = max(widest, extra if _ELLIPSIS in term else 0)
    batch = list(range(-widest, 0))
    if output is None:
        counts: dict[str, int] = {}
        for term in terms:
            for label in term:
                counts[label] = counts.get(label, 0) + 1
        return spelled, batch + sorted(label for label, c in counts.items() if c == 1 and label != _ELLIPSIS)
    known = {label for term in terms for label in term}
    for label in output:
        if label != _ELLIPSIS and label not in known:
            raise AutogradError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
    return spelled, [d for label in output for d in (batch if label == _ELLIPSIS else (label,))]


def _diagonal(F: Functions, x: TensorRef, labels: list[str | int], n: int) -> tuple[TensorRef, list[str | int]]:
    """Takes the diagonal over repeated labels."""
    i = 0
    while i < len(labels):
        first = labels.index(labels[i])
        if first < i:
            a, b = x.shape[first], x.shape[i]
            if a != b:
                raise ShapeMismatchError(f"einsum(): subscript {labels[i]} is repeated for operand {n} but the sizes don't match, {b} != "
                                         f"{a}")
            x = F.diagonal(x, 0, first, i)
            labels = [d for k, d in enumerate(labels) if k not in (first, i)] + [labels[i]]
            i = 0
        else:
            i += 1
    return x, labels


def _arrange(F: Functions, x: TensorRef, labels: list[Any], wanted: list[Any]) -> TensorRef:
    """The dimensions of `x` in the order `wanted`, those it does not have with size 1."""
    order = [labels.index(d) for d in wanted if d in labels]
    if order != list(range(len(order))):
        x = F.permute(x, tuple(order))
    if len(order) < len(wanted):
        sizes = iter(tuple(x.shape))
        x = F.reshape(x, tuple([next(sizes) if d in labels else 1 for d in wanted]))
    return x


def _contract(F: Functions, a: TensorRef, la: list[Any], b: TensorRef, lb: list[Any], keep: set[Any], order: list[Any]) -> tuple[TensorRef,
              list[str]]:
    """The product of two operands, summed over the labels that are not in `keep`. `order`, the output's and then the other labels,
    and dimensions of size 1 that count as the left operand's, decide the result's layout as in torch."""
    sizes_a, sizes_b, same = dict(zip(la, tuple(a.shape))), dict(zip(lb, tuple(b.shape))), a._k.dtype is b._k.dtype
    for x_is_a, labels, other in ((True, la, lb), (False, lb, la)):
        # A label of one operand only, or of size 1 in the other: summed before the product.
        sizes, others = (sizes_a, sizes_b) if x_is_a else (sizes_b, sizes_a)
        alone = [d for d in labels if d not in keep and (d not in other or sizes[d] != 1 and others[d] == 1)]
        if alone:
            x = F.sum(a if x_is_a else b, tuple([labels.index(d) for d in alone]), True)
            if x_is_a:
                a, sizes_a = x, {**sizes_a, **dict.fromkeys(alone, 1)}
            else:
                b, sizes_b = x, {**sizes_b, **dict.fromkeys(alone, 1)}
    if same and a._k.dtype is not b._k.dtype:  # the sum of integers is int64
        a, b = [F.cast(x, int64) if x._k.dtype is not int64 else x for x in (a, b)]
    every = sorted({*la, *lb}, key=order.index)
    size = {d: max(sizes_a.get(d, 1), sizes_b.get(d, 1)) if 0 not in (sizes_a.get(d, 1), sizes_b.get(d, 1)) else 0 for d in every}
    summed = [d for d in every if d not in keep and d in la and d in lb]
    if all([size[d] == 1 for d in summed]):
        product, labels = _arrange(F, a, la, every) * _arrange(F, b, lb, every), [d for d in every if d in keep]
        return F.reshape(product, tuple([size[d] for d in labels])) if len(labels) < len(every) else product, labels
    wide_a, wide_b = [{d for d, n in sizes.items() if n != 1} for sizes in (sizes_a, sizes_b)]
    batch = [d for d in every if d in keep and d in wide_a and d in wide_b]
    right = [d for d in every if d in keep and d in wide_b and d not in wide_a]
    left = [d for d in every if d in keep and d not in batch and d not in right]

    def matrices(x: TensorRef, labels: list[Any], own: list[Any], sizes: dict[Any, int], own_first: bool) -> TensorRef:
        present = [d for d in (batch + own + summed if own_first else batch + summed + own) if d in labels]
        dropped = [d for d in labels if d not in present]  # all of size 1 here
        x = _arrange(F, x, labels, present + dropped)
        rows, inner = prod([size[d] for d in own]), prod([size[d] for d in summed])
        shape = (prod([size[d] for d in batch]), *((rows, inner) if own_first else (inner, rows)))
        return F.reshape(x, shape if batch or not same else shape[1:])  # of batches, too, where they are to be refused as in torch

    product = F.matmul(matrices(a, la, left, sizes_a, True), matrices(b, lb, right, sizes_b, False))
    labels = batch + left + right
    return F.reshape(product, tuple([size[d] for d in labels])), labels


def _einsum(F: Functions, equation: str, operands: Sequence[TensorRef]) -> TensorRef:
    terms, output = _parse(equation, len(operands))
    spelled, wanted = _labels(terms, output, operands)
    xs: list[tuple[Any, list[Any]]] = []
    size: dict[Any, int] = {}
    for n, (x, labels) in enumerate(zip(operands, spelled)):
        x, labels = _diagonal(F, x, labels, n)
        for d, have in zip(labels, tuple(x.shape)):
            seen = size.setdefault(d, have)
            if seen == 1:
                size[d] = have
            elif have not in (1, seen):
                if not isinstance(d, str):  # of an ellipsis
                    raise ShapeMismatchError(f"einsum(): dimension {x.ndim + d} covered by ellipsis in operand {n}has size {have} which "
                                             f"does not broadcast with previously seen ellipsis with size {seen} for the respective "
                                             "dimension")
                raise ShapeMismatchError(f"einsum(): subscript {d} has size {have} for operand {n} which does not broadcast with "
                                         f"previously seen size {seen}")
        xs.append((x, labels))
    if len(xs) > 2:
        letters = {d: _LETTERS[i] for i, d in enumerate(size)} if len(size) <= len(_LETTERS) else None
        path = _path(xs, wanted, letters) if letters else None
    else:
        path = None
    order = wanted + sorted([d for d in size if d not in wanted], key=str)
    while len(xs) > 1:
        i, j = path.pop(0) if path else (0, 1)
        (a, la), (b, lb) = xs[i], xs[j]
        rest = [x for k, x in enumerate(xs) if k not in (i, j)]
        keep = {*wanted, *(d for _, labels in rest for d in labels)}
        product = _contract(F, a, la, b, lb, keep, order)
        xs = [*rest, product] if path is not None else [product, *rest]
    x, labels = xs[0]
    gone = [labels.index(d) for d in labels if d not in wanted]
    if gone:
        x = F.sum(x, tuple(gone))
        labels = [d for d in labels if d in wanted]
    return _arrange(F, x, labels, wanted) if labels != wanted else x


def _path(xs: list[tuple[Any, list[Any]]], wanted: list[Any], letters: dict[str, str]) -> list[tuple[int, int]] | None:
    spell = ["".join([letters[d] for d in labels]) for _, labels in xs]
    path = _cheapest(",".join(spell) + "->" + "".join([letters[d] for d in wanted if d in letters]), tuple([tuple(x.shape) for x, _ in xs]))
    return list(path) if all([len(pair) == 2 for pair in path]) else None


@lru_cache(256)
def _kernel(name: str, half: bool = False) -> Fn:
    """The kernel of an operation on arrays, or that of half precision."""
    found: Fn = get_record(name).field("half" if half else "numpy")
    return found


class _Stand:
    """What stands for a tensor of known shape while a plan is made: the number of a step whose result it is."""

    def __init__(self, plan: _Plan, at: int, shape: Sequence[int]) -> None:
        self.plan, self.at, self.shape, self.ndim = plan, at, tuple(shape), len(shape)

    _k = F32  # any, of which all are

    def __mul__(self, other: _Stand) -> _Stand:
        return self.plan.step("mul", (self.at, other.at), (), broadcast_shape(self.shape, other.shape))


class _Plan:
    """The steps of an einsum of operands of these shapes, all of one dtype, floating-point or int64, which sums of it have, too: made by
    the functions that carry it out, for which it stands in the place of a front end.

    Attributes:
        steps: (operation, the numbers of its operands among operands and results, other arguments).
        computed: how many steps there are up to the last that makes new numbers.
        any_kind: whether it does the same to elements of every dtype: sums of these are of their own.
    """

    def __init__(self, equation: str, shapes: Sequence[Sequence[int]]) -> None:
        self.steps: list[tuple[str, tuple[int, ...], tuple[Any, ...]]] = []
        self.computed, self.count = 0, len(shapes)
        stands: Any = [_Stand(self, i, shape) for i, shape in enumerate(shapes)]
        front_end: Any = self
        self.result: Any = _einsum(front_end, equation, stands)
        self.any_kind = not [name for name, _, _ in self.steps if name in ("matmul", "sum")]

    def step(self, name: str, operands: tuple[int, ...], arguments: tuple[Any, ...], shape: Sequence[int]) -> _Stand:
        self.steps.append((name, operands, arguments))
        if name in ("mul", "matmul", "sum"):
            self.computed = len(self.steps)
        return _Stand(self, self.count + len(self.steps) - 1, shape)

    def diagonal(self, x: _Stand, offset: int, first: int, second: int) -> _Stand:
        """As of tensors, and so are the others."""
        rest = [n for d, n in enumerate(x.shape) if d not in (first, second)]
        return self.step("diagonal", (x.at,), (offset, first, second), (*rest, x.shape[first]))

    def sum(self, x: _Stand, dim: tuple[int, ...], keepdim: bool = False) -> _Stand:
        shape = [1 if d in dim else n for d, n in enumerate(x.shape) if keepdim or d not in dim]
        return self.step("sum", (x.at,), (dim, keepdim), shape)

    def permute(self, x: _Stand, dims: tuple[int, ...]) -> _Stand:
        return self.step("permute", (x.at,), (dims,), [x.shape[d] for d in dims])

    def reshape(self, x: _Stand, shape: tuple[int, ...]) -> _Stand:
        return x if shape == x.shape else self.step("reshape", (x.at,), (shape,), shape)

    def matmul(self, a: _Stand, b: _Stand) -> _Stand:
        return self.step("matmul", (a.at, b.at), (), (*a.shape[:-1], b.shape[-1]))

    def carried_out(self, F: Functions, operands: Sequence[TensorRef], k: Kind) -> TensorRef:
        """The result of plain tensors: on arrays as far as new numbers are made, views of these after that, or of the tensor itself."""
        if not self.computed:
            return self.shown(F, operands[0])
        found: list[Any] = [x._data for x in operands]
        half = is_half(k.np)
        for name, at, arguments in self.steps[:self.computed]:
            x = found[at[0]]
            if name == "reshape":
                found.append(x.reshape(arguments[0]))
            elif name == "permute":
                found.append(x.transpose(arguments[0]))
            elif name == "diagonal":
                found.append(x.diagonal(*arguments))
            else:
                arrays = [x] if name == "sum" else [x, found[at[1]]]
                new = _kernel(name)(*[halves.widened(a) for a in arrays] if half else arrays, *arguments)
                found.append(halves.narrow(new, k.np) if half else new if new.__class__ is np.ndarray else np.asarray(new))
        return self.shown(F, F.wrap(found[-1], k))

    def shown(self, F: Functions, result: TensorRef) -> TensorRef:
        """What the steps behind the last new numbers show of them."""
        for name, _, arguments in self.steps[self.computed:]:
            result = getattr(F, name)(result, *arguments)
        return result


@lru_cache(256)
def _planned(equation: str, shapes: tuple[tuple[int, ...], ...]) -> _Plan | None:
    """The plan of an einsum; None where it does nothing, or ends with other numbers than those made last."""
    plan = _Plan(equation, shapes)
    last = plan.computed
    chained = all([at == (plan.count + last + i - 1,) for i, (_, at, _) in enumerate(plan.steps[last:])])
    return plan if plan.steps and (last or plan.count == 1) and chained and plan.result.at == plan.count + len(plan.steps) - 1 else None


@lru_cache(256)
def _cheapest(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, int], ...]:
    """The order of pairwise contractions that NumPy's optimizer finds cheapest; the shapes alone decide."""
    operands = [np.broadcast_to(np.zeros(()), shape) for shape in shapes]
    return tuple(np.einsum_path(equation, *operands, optimize="greedy")[0][1:])


_NO_OPERAND = ("einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
               "list")


@op("einsum(str equation, Tensor[] operands) -> Tensor", method=False, out=False)
class einsum:
    """Sums of products of elements, after Einstein's convention: repeated subscripts that the output lacks are summed over.

    Subscripts are letters, `...` stands for broadcast dimensions; einsum(a, [0, 1], b, [1, 2], [0, 2]) is the form with lists. Carried
    out as matrix products of pairs of operands.

    >>> torch.einsum("ij,jk->ik", torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
    """

    composite = "einsum(equation, list(operands))"
    home = "functional"
    lacks = {"rare rare": "bmm"}
    def function(F, *args):
        if len(args) < 2:
            raise ValueError(_NO_OPERAND)
        if isinstance(args[0], str):
            equation, operands = args[0], list(args[1:])
            if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
                operands = list(operands[0])
            if not operands:
                raise ValueError(_NO_OPERAND)
            check_elements(operands, 2)
        else:
            equation, operands = _from_sublists(args)
        k, quiet = getattr(operands[0], "_k", None), F.namespace
        if (k is quiet["Q_F32"] or k in quiet["Q_ANY"]) and not [x for x in operands if x._k is not k or x._node is not None]:
            plan = _planned(equation, tuple([x._data.shape for x in operands]))
            if plan is not None and (k is quiet["Q_F32"] or k in quiet["Q_FLOAT"] or k in quiet["Q_HALF"] or k in quiet["Q_INT64"]
                                     or plan.any_kind and (k in quiet["Q_REAL"] or not plan.computed)):
                return plan.carried_out(F, operands, k)
        return _einsum(F, equation, operands)

    def samples(rng):
        r = rng.standard_normal
        yield "ij,jk->ik", r((2, 3)), r((3, 4))
        yield "ii->i", r((3, 3))
        yield "...ij->...ji", r((2, 3, 4))
        yield "bij,bjk,kl->bil", r((2, 3, 4)), r((2, 4, 2)), r((2, 3))
        yield "i,j", r(2), r(3)
        yield "ij,ij->", r((2, 3)), r((2, 1))
        yield "bhid,bhjd->bhij", r((1, 2, 3, 2)), r((1, 2, 4, 2))
        yield "ij,k->", r((2, 3)), r(4)

    def errors(rng):
        yield ("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5))), RuntimeError, (
            "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3")
        yield ("ij->k", np.ones((2, 2))), RuntimeError, "einsum(): output subscript k does not appear in the equation for any input operand"


# -- tensordot and its like -------------------------------------------------------------------------------------------


@op("tensordot(Tensor a, Tensor b, Any dims=2) -> Tensor", method=False, out=False)
class tensordot:
    """The contraction of `dims` dimensions: the last of `a` with the first of `b`, or two lists of dimensions.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), dims=1)
    tensor([[3., 3.],
            [3., 3.]])
    """

    home = "functional"
    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_"}
    out_dtype = TENSORDOT
    def quick(a, b, dims=2):
        if a.dtype is not b.dtype or a.dtype.char not in "fdl" and not is_half(a.dtype):
            return None
        if dims.__class__ is int:
            if not 0 <= dims <= min(a.ndim, b.ndim):
                return None
            over_a, over_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
        else:
            over_a, over_b = [[wrap_dim(d, x.ndim) for d in given] for x, given in zip((a, b), dims)]
        sizes = [a.shape[d] for d in over_a]
        if 1 in sizes or sizes != [b.shape[d] for d in over_b]:
            return None
        rest_a, rest_b = [d for d in range(a.ndim) if d not in over_a], [d for d in range(b.ndim) if d not in over_b]
        shape_a, shape_b, inner = [a.shape[d] for d in rest_a], [b.shape[d] for d in rest_b], prod(sizes)
        left, right = a.transpose((*rest_a, *over_a)), b.transpose((*over_b, *rest_b))
        if prod(shape_a) == prod(shape_b) == 1:
            return np.asarray(_kernel("dot", is_half(a.dtype))(left.reshape(inner), right.reshape(inner))).reshape((*shape_a, *shape_b))
        if inner == 1 and a.size * b.size > _PAIRS and not is_half(a.dtype):
            return outer_product(left.reshape(-1), right.reshape(-1)).reshape((*shape_a, *shape_b))
        return multiplied(left.reshape(prod(shape_a), inner), right.reshape(inner, prod(shape_b))).reshape((*shape_a, *shape_b))

    def function(F, a, b, dims=2, out=None):
        if isinstance(dims, (tuple, list)):
            dims_a, dims_b = [[d] if isinstance(d, int) else list(d) for d in dims]
        elif hasattr(dims, "ndim") and dims.ndim:
            dims_a, dims_b = [[int(d) for d in row] for row in dims.numpy().reshape(2, -1)]
        else:
            n = int(dims)
            if n < 0:
                raise AutogradError(f"tensordot expects dims >= 0, but got dims={n}")
            if n > min(a.ndim, b.ndim):
                raise AutogradError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={n}")
            dims_a, dims_b = list(range(-n, 0)), list(range(n))
        if len(dims_a) != len(dims_b):
            raise AutogradError("both dimension lists should have same length")
        alike(a, b)
        shape_a, shape_b = tuple(a.shape), tuple(b.shape)
        for i, (da, db) in enumerate(zip(dims_a, dims_b)):
            wa, wb = wrap_dim(da, len(shape_a)), wrap_dim(db, len(shape_b))
            if shape_a[wa] == 1 or shape_b[wb] == 1:  # the other one is summed, as if this one were repeated
                if shape_a[wa] != 1:
                    a = F.sum(a, wa, True, dtype=a._k.dtype)
                elif shape_b[wb] != 1:
                    b = F.sum(b, wb, True, dtype=b._k.dtype)
            elif shape_a[wa] != shape_b[wb]:
                raise ShapeMismatchError(f"contracted dimensions need to match, but first has size {shape_a[wa]} in dim {da} and second "
                                         f"has size {shape_b[wb]} in dim {db}")
            dims_a[i], dims_b[i] = wa, wb
        shape_a, shape_b = tuple(a.shape), tuple(b.shape)
        rest_a = [d for d in range(len(shape_a)) if d not in dims_a]
        rest_b = [d for d in range(len(shape_b)) if d not in dims_b]
        inner = prod([shape_a[d] for d in dims_a])
        left = F.reshape(F.permute(a, (*rest_a, *dims_a)), (prod([shape_a[d] for d in rest_a]), inner))
        right = F.reshape(F.permute(b, (*dims_b, *rest_b)), (inner, prod([shape_b[d] for d in rest_b])))
        whole = left.shape[0] == right.shape[1] == 1
        product = F.dot(F.reshape(left, (inner,)), F.reshape(right, (inner,))) if whole else F.mm(left, right)
        result = F.reshape(product, (*[shape_a[d] for d in rest_a], *[shape_b[d] for d in rest_b]))
        return result if out is None else F.give("tensordot", out, result)

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((3, 4)), 1
        yield r((2, 3, 4)), r((4, 3, 2)), ([1, 2], [1, 0])
        yield r((2, 3)), r(2), 0

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((4, 5)), 1), RuntimeError, (
            "contracted dimensions need to match, but first has size 3 in dim -1 and second has size 4 in dim 0")


def _kron(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The Kronecker product of arrays in rows, each of whose products is rounded."""
    many = input.size * other.size > _PRODUCTS
    if many and (0, *other.shape)[-1] < _LONG and (found := blas.kron(input, other)) is not None:
        return found
    n = max(input.ndim, other.ndim)
    a, b = (1,) * (n - input.ndim) + input.shape, (1,) * (n - other.ndim) + other.shape
    left = input.reshape([s for size in a for s in (size, 1)])
    right = other.reshape([s for size in b for s in (1, size)])
    product = OF_UFUNC[np.multiply](left, right) if many else None
    if product is None and n and many and b[-1] < (_LONG if prod(a[:-1]) * prod(b[:-1]) > 8 else 32):
        # Rows as long as those of the result: NumPy takes its time from row to row.
        left = input.reshape(a).repeat(b[-1], -1).reshape([s for size in a[:-1] for s in (size, 1)] + [-1])
        right = np.tile(other.reshape(b), a[-1]).reshape([s for size in b[:-1] for s in (1, size)] + [-1])
    if product is None:
        product = left * right if input.size * other.size < BIG else ufunc2(np.multiply, left, right)
    return product.reshape([x * y for x, y in zip(a, b)])


@op("kron(Tensor input, Tensor other) -> Tensor")
class kron:
    """The Kronecker product: every element of `input` times all of `other`.

    >>> torch.kron(torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    tensor([ 1., 10.,  2., 20.])
    """

    def quick(input, other):
        if input.dtype is not other.dtype or not (input.flags.c_contiguous and other.flags.c_contiguous):
            return None
        if is_half(input.dtype):
            return halves.narrow(_kron(halves.widened(input), halves.widened(other)), input.dtype)
        return _kron(input, other)

    def function(F, input, other):
        n = max(input.ndim, other.ndim)
        a = (1,) * (n - input.ndim) + tuple(input.shape)
        b = (1,) * (n - other.ndim) + tuple(other.shape)
        spread_a = tuple([s for size in a for s in (size, 1)])
        spread_b = tuple([s for size in b for s in (1, size)])
        return F.reshape(F.reshape(input, spread_a) * F.reshape(other, spread_b), tuple([x * y for x, y in zip(a, b)]))

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((3, 2))
        yield rng.standard_normal((2, 3)), rng.standard_normal(2)


@takes_floats
def _check_cross(input: TensorRef, other: TensorRef, dim: int) -> None:
    if input.ndim != other.ndim:
        raise ShapeMismatchError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, input.ndim)
    a, b = input.shape[d] if input.ndim else 1, other.shape[d] if other.ndim else 1
    if a != 3 or b != 3:
        raise ShapeMismatchError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a} and {b}")
    if input.dtype is not other.dtype:
        same_scalar_type(input, other, "cross")


_FEW, _SHORT = 32768, 600  # elements up to which copies are cheaper than calls of NumPy, and where rows are of three numbers


def _cross(a: np.ndarray, b: np.ndarray, dim: int = -1) -> np.ndarray:
    if a.ndim != b.ndim:
        raise ValueError("vectors of the same rank expected")
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise ValueError("vectors of length 3 expected")
    found = kernels.cross(a, b, dim)
    if found is not None:
        return found
    # Side by side twice, of which two slices are the other components in their order.
    if a.size + b.size < (_SHORT if dim in (-1, a.ndim - 1) else _FEW):
        before = (slice(None),) * (dim if dim >= 0 else a.ndim + dim)
        second, third = (*before, slice(1, 4)), (*before, slice(2, 5))
        a, b = np.concatenate((a, a), dim), np.concatenate((b, b), dim)
        result = a[second] * b[third]
        result -= a[third] * b[second]
        return np.ascontiguousarray(result)
    a, b = a.swapaxes(0, dim), b.swapaxes(0, dim)
    result = np.empty((3, *broadcast_shape(a.shape[1:], b.shape[1:])), np.result_type(a, b))
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        np.multiply(a[j], b[k], out=result[i, ...])
        np.subtract(result[i], a[k] * b[j], out=result[i, ...])
    return np.ascontiguousarray(result.swapaxes(0, dim))


@op("linalg_cross(Tensor input, Tensor other, *, int dim=-1) -> Tensor", namespace="_internal", alias="linalg.cross", method=False,
    promotion="promote", result="same", broadcasts=True, quiet="all")
class linalg_cross:
    """The cross products of vectors of length 3 along `dim`.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """

    sharding = "along dim"
    lacks = {"bool rare": "cross"}
    out_dtype = EXPECTED
    layout = "rows"
    numpy = half = _cross
    mindspore = None
    def compose(F, input, other, dim=-1):
        d = dim % input.ndim
        a = [F.slice(input, d, i, i + 1) for i in range(3)]
        b = [F.slice(other, d, i, i + 1) for i in range(3)]
        return F.cat([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], d)
    check = _check_cross
    def vjp_input(F, grad, other, dim): return F.linalg_cross(other, grad, dim=dim)
    def vjp_other(F, grad, input, dim): return F.linalg_cross(grad, input, dim=dim)
    jvp = "bilinear"

    def batch(F, call):
        rank = call.ranks["input"]
        if rank != call.ranks["other"]:
            return NotImplemented
        return call(input=call.whole("input"), other=call.whole("other"), dim=batches.shifted(call.dim, rank))

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield Sample((rng.standard_normal((3, 2)), rng.standard_normal((3, 1))), {"dim": 0})

    def errors(rng):
        yield (np.ones((2, 2)), np.ones((2, 2))), RuntimeError, "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2"


@op("cross(Tensor input, Tensor other, int? dim=None) -> Tensor")
class cross:
    """The cross products of vectors of length 3 along `dim`, by default the first dimension of size 3.

    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """

    lacks = {"bool rare": "cross"}
    out_dtype = EXPECTED

    def quick(input, other, dim):
        if dim is None:
            dim = input.shape.index(3)
        if input.dtype is not other.dtype or input.dtype.kind not in "fiu" or not -input.ndim <= dim < input.ndim:
            return None
        return _cross(input, other, dim)

    def function(F, input, other, dim=None):
        if dim is None:
            shape = tuple(input.shape)
            if 3 not in shape:
                raise ShapeMismatchError("no dimension of size 3 in input")
            dim = shape.index(3)
        return F.linalg_cross(input, other, dim=dim)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))


@op("trace(Tensor input) -> Tensor", out=False)
class trace:
    """The sum of the diagonal of a matrix.

    >>> torch.trace(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """

    lacks = {"bool rare": "trace"}
    amp = "float32"
    quick = kernels.trace
    def function(F, input):
        if input.ndim != 2:
            raise AutogradError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
        return F.sum(F.diagonal(input))

    def samples(rng): yield (rng.standard_normal((2, 3)),)
    def errors(rng): yield (np.ones(2),), RuntimeError, "trace: expected a matrix, but got tensor with dim 1"


@op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", method=False, out=False,
    alias="=nn.functional.bilinear")
class bilinear:
    """input1^T A input2 + bias for each matrix A of `weight` (out, in1, in2); inputs (..., in1) and (..., in2).

    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2, 2))
    tensor([[4.]])
    """

    lacks = {"rare": "bmm"}
    amp = "whole"
    def function(F, input1, input2, weight, bias=None):
        given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
        if any([t.dtype is not weight.dtype for t in given.values()]):
            raise AutogradError("All tensors must have the same dtype, got " + ", ".join(
                [f"{name}: {c_name(t.dtype)}" for name, t in given.items()]))
        refuse_complex_gradient("_trilinear", input1, input2, weight)
        if input1.ndim != input2.ndim:
            raise ShapeMismatchError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
        for d in range(input1.ndim - 1):
            if input1.shape[d] != input2.shape[d]:
                raise ShapeMismatchError(f"bilinear(): input batch dimensions do not match at dim {d}: got {input1.shape[d]} and "
                                         f"{input2.shape[d]}")
        for n, x in ((1, input1), (2, input2)):
            if x.shape[-1] != weight.shape[n]:
                raise ShapeMismatchError(f"bilinear(): input{n} size does not match weight size: got {x.shape[-1]} but expected "
                                         f"{weight.shape[n]}")
        if bias is not None and bias.shape[0] != weight.shape[0]:
            raise ShapeMismatchError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
                                     f"{weight.shape[0]}")
        lead = tuple(input1.shape)[:-1]
        rows = prod(lead)
        out, n1, n2 = tuple(weight.shape)
        pairs = F.reshape(input1, (rows, n1, 1)) * F.reshape(input2, (rows, 1, n2))
        result = F.mm(F.reshape(pairs, (rows, n1 * n2)), F.transpose(F.reshape(weight, (out, n1 * n2)), 0, 1))
        result = F.reshape(result, (*lead, out))
        return result if bias is None else result + bias

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((2, 2)), r((4, 3, 2)), r(4)
        yield r((2, 1, 3)), r((2, 1, 2)), r((4, 3, 2))

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((3, 4)), np.ones((5, 3, 4))), RuntimeError, (
            "bilinear(): input batch dimensions do not match at dim 0: got 2 and 3")


# -- products of many matrices ----------------------------------------------------------------------------------------


def _cheapest_splits(sizes: Sequence[int]) -> list[list[int]]:
    """Where to split each chain of matrices so that the fewest multiplications are made (Cormen et al., chapter 15.2)."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            choices = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(choices)
            split[i][j] = i + choices.index(cost[i][j])
    return split


@lru_cache(256)
def _pairs(sizes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Which are multiplied, one pair after another, of the matrices and then the products."""
    split, count = _cheapest_splits(sizes), len(sizes) - 1
    found: list[tuple[int, int]] = []

    def product(i: int, j: int) -> int:
        if i == j:
            return i
        found.append((product(i, split[i][j]), product(split[i][j] + 1, j)))
        return count + len(found) - 1

    product(0, count - 1)
    return tuple(found)


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices; of half precision rounded."""
    found: np.ndarray = _kernel("mm", is_half(a.dtype))(a, b)
    return found


def _dots(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """The same of plain arrays, where nothing is wrong with them."""
    first, last = arrays[0], arrays[-1]
    if len(arrays) < 2 or first.dtype.kind == "b" or not 0 < first.ndim < 3 or not 0 < last.ndim < 3 or any([
            x.ndim != 2 for x in arrays[1:-1]]):
        return None
    xs = [x if x.ndim == 2 else x.reshape(1, -1) if x is first else x.reshape(-1, 1) for x in arrays]
    shape = first.shape[:first.ndim - 1] + last.shape[1:]
    multiply = _kernel("mm", is_half(first.dtype))
    for i, j in _pairs((*[len(x) for x in xs], xs[-1].shape[1])):
        xs.append(multiply(xs[i], xs[j]))
    return xs[-1] if xs[-1].shape == shape else xs[-1].reshape(shape)


def _multi_dot(F: Functions, tensors: Sequence[Any]) -> TensorRef:
    n = len(tensors)
    if n < 2:
        raise AutogradError(f"multi_dot(): expected at least 2 tensors but got {n}")
    first, last = tensors[0], tensors[-1]
    for x, which in ((first, "first"), (last, "last")):
        if x.ndim not in (1, 2):
            raise AutogradError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {x.ndim}D")
    for i, x in enumerate(tensors[1:-1], 1):
        if x.ndim != 2:
            raise AutogradError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    xs = list(tensors)
    for i, x in enumerate(xs):
        k, own = first._k, x._k
        if own.dtype is not k.dtype:
            names = [c_name(d) for d in (k.dtype, own.dtype)]
            raise AutogradError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {names[0]} and tensor {i} "
                                f"{names[1]}")
        if not on_one_device(x, first):
            raise AutogradError(f"multi_dot(): all tensors must be on the same device but tensor 0 is on {k.device} and tensor {i} on "
                                f"{own.device}")
        if i and xs[i - 1].shape[-1] != x.shape[0]:
            raise ShapeMismatchError(f"multi_dot(): tensors {i - 1} and {i} with shapes {list(xs[i - 1].shape)} and {list(x.shape)} "
                                     "cannot be multiplied")
    if first.ndim == 1:
        xs[0] = F.reshape(first, (1, first.shape[0]))
    if last.ndim == 1:
        xs[-1] = F.reshape(last, (last.shape[0], 1))
    split = _cheapest_splits([x.shape[0] for x in xs] + [xs[-1].shape[1]])

    def product(i: int, j: int) -> TensorRef:
        return xs[i] if i == j else F.mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, n - 1)
    shape = (() if first.ndim == 1 else tuple(result.shape)[:1]) + (() if last.ndim == 1 else tuple(result.shape)[1:])
    return F.reshape(result, shape) if len(shape) < 2 else result


@op("linalg_multi_dot(Tensor[] tensors) -> Tensor", namespace="_internal", alias="linalg.multi_dot", method=False)
class linalg_multi_dot:
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors.

    >>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3)])
    tensor([6.])
    """

    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_"}
    out_dtype = MULTI_DOT
    quick = _dots
    def function(F, tensors): return _multi_dot(F, tensors)

    def samples(rng):
        r = rng.standard_normal
        yield ([r((2, 3)), r((3, 4)), r((4, 2)), r((2, 3))],)
        yield ([r(3), r((3, 4)), r(4)],)

    def errors(rng):
        yield ([np.ones((2, 3))],), RuntimeError, "multi_dot(): expected at least 2 tensors but got 1"


def _warn_of_chain() -> None:
    warn_once("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
              "which accepts a list of two or more tensors rather than multiple parameters.")


@op("chain_matmul(Tensor[] matrices) -> Tensor", method=False)
class chain_matmul:
    """The product of matrices in the cheapest order.

    >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3))
    tensor([[2., 2., 2.]])
    """

    home = "functional"
    lacks = {"uint chalf float8_e8m0fnu": "addmm_impl_cpu_"}
    out_dtype = MULTI_DOT
    no_vmap = "aten::chain_matmul"
    def quick(matrices):
        if [x for x in matrices if x.ndim != 2]:
            return None
        _warn_of_chain()
        return _dots(matrices)

    def function(F, *matrices):
        check_elements(matrices, 1)
        _warn_of_chain()
        if not matrices:
            raise AutogradError("chain_matmul(): Expected one or more matrices")
        for x in matrices:
            if x.ndim != 2:
                raise AutogradError(f"Tensor dimension is {x.ndim}, expected 2 instead.")
        return matrices[0] if len(matrices) == 1 else _multi_dot(F, matrices)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), rng.standard_normal((4, 2))


@op("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", namespace="_internal", alias="linalg.vecdot", method=False)
class linalg_vecdot:
    """The dot products of vectors along `dim`, the first ones conjugated.

    >>> torch.linalg.vecdot(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """

    lacks = {"float8 chalf": "sum_cpu",
             "int bool uint": "RuntimeError: linalg.vecdot: Expected a floating point or complex tensor as input. Got {dtype}"}
    out_dtype = OutRule("linalg.vecdot: Expected out of dtype{wanted} but found {found}")
    amp = "lower"

    def quick(x, y, dim):
        found = sum_of_products(x, y, dim)
        if found is not None:
            return found
        if x.dtype is not y.dtype or x.dtype.char not in "fd" or not x.flags.c_contiguous or not y.flags.c_contiguous:
            return None
        found = _kernel("sum")(x * y if x.size < BIG else ufunc2(np.multiply, x, y), dim, False)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    def function(F, x, y, *, dim=-1):
        if x.dtype is not y.dtype:
            kinds = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (x, y)]
            raise AutogradError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {kinds[0]} and y of type "
                                f"{kinds[1]} instead")
        return F.sum((F.conj(x) if x.dtype.is_complex else x) * y, dim)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal(3)


# -- covariance -------------------------------------------------------------------------------------------------------


def _covariance(x: np.ndarray, correction: int) -> np.ndarray | None:
    """The covariance matrix of the rows of a plain array, each step of which is rounded in half precision; None where that is no matrix, or
    one of truth values."""
    if x.ndim != 2 or x.dtype.kind == "b":
        return None
    total = _kernel("sum")(halves.widened(x) if is_half(x.dtype) else x, 1, True)
    dtype = x.dtype
    if dtype.kind in "iu":
        dtype = default_dtype().np
        x, total = x.astype(dtype), total.astype(dtype)

    def rounded(a: np.ndarray) -> np.ndarray:
        return halves.widened(halves.narrow(a, dtype)) if is_half(dtype) else a

    if is_half(dtype):
        x, total = halves.widened(x), rounded(total)
    n, one = x.shape[1], x.dtype.type
    with ignoring():
        centred = rounded(x - rounded(total / one(n)))
        return halves.narrow(rounded(_kernel("matmul")(centred, centred.T)) / rounded(np.asarray(one(max(n - correction, 0)))), dtype)


def _weighted_covariance(x: np.ndarray, correction: int, counts: np.ndarray | None, factors: np.ndarray | None) -> np.ndarray | None:
    """The same of columns that are counted so many times, and have weights; None of what is refused, or of several dtypes."""
    dtype, n = x.dtype, x.shape[-1:]
    if x.ndim != 2 or dtype.char not in "fd" or not x.size or correction.__class__ is not int or counts is not None and (
            counts.dtype.char != "l" or counts.shape != n or (counts < 0).any()) or factors is not None and (
            factors.dtype is not dtype or factors.shape != n or (factors < 0).any()):
        return None
    sums, one = _kernel("sum"), dtype.type
    with ignoring():
        weights = factors if counts is None else counts if factors is None else counts.astype(dtype) * factors
        total = np.asarray(sums(weights, None, False))[()]
        wide = weights.astype(dtype, copy=False)  # type: ignore[union-attr]
        mean = sums(x * wide, 1, True) / one(total)
        less = total.dtype.type(correction)  # with a number of Python's scalars become wider
        if factors is not None and correction:
            less = less * np.asarray(sums(wide * factors, None, False))[()] / total
        divisor = total - less
        centred = x - mean
        found: np.ndarray = _kernel("matmul")(centred, (centred * wide).T) / one(divisor * 0 if divisor < 0 else divisor)
        return found


@op("cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", out=False)
class cov:
    """The covariance matrix of the rows of `input`, whose columns are observations: counted `fweights` times, weighted by `aweights`.

    >>> torch.cov(torch.tensor([[0., 2.], [0., 4.]]))
    tensor([[2., 4.],
            [4., 8.]])
    """

    lacks = {"float8 chalf": "sum_cpu"}
    reads = "fweights aweights"

    def quick(input, correction, fweights, aweights):
        if len(input) < 2:  # of one row it is a view
            return None
        plain = fweights is None and aweights is None
        return _covariance(input, correction) if plain else _weighted_covariance(input, correction, fweights, aweights)

    def function(F, input, *, correction=1, fweights=None, aweights=None):
        if input.ndim > 2:
            raise AutogradError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
        if input.dtype.name == "bool":
            raise AutogradError("cov(): bool dtype is not supported for input")
        if on_meta(input):
            data_dependent()
        n = input.shape[1] if input.ndim == 2 else prod(tuple(input.shape))
        x = input if input.ndim == 2 else F.reshape(input, (1, n))
        for name, w in (("fweights", fweights), ("aweights", aweights)):
            if w is None:
                continue
            if w.ndim > 1:
                raise AutogradError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions")
            category, kind = (INTEGER, "integral") if name == "fweights" else (FLOATING, "floating point")
            if w._k.dtype.category != category:
                raise AutogradError(f"cov(): expected {name} to have {kind} dtype but got {name} with {SCALAR_TYPE_NAMES[w.dtype.name]} "
                                    "dtype")
            if prod(tuple(w.shape)) != n:
                raise ShapeMismatchError(f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                                         f"{prod(tuple(w.shape))} != {n}")
            if (buffer(w) < 0).any():
                raise AutogradError(f"cov(): {name} cannot be negative")
        weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
        if weights is None:
            mean, total = F.sum(x, 1, True) / n, n
        else:
            total = F.sum(weights)
            mean = F.sum(x * weights, 1, True) / total
        if aweights is None or not correction:
            divisor = total - correction
        else:
            divisor = total - correction * F.sum(weights * aweights) / total
        if isinstance(divisor, int):
            divisor = max(divisor, 0)
        elif divisor.item() < 0:
            divisor = divisor * 0
        centred = x - mean
        scaled = centred if weights is None else centred * weights
        result = F.matmul(centred, F.conj(F.transpose(scaled, 0, 1)) if x.dtype.is_complex else F.transpose(scaled, 0, 1))
        divided = F.div(result, F.wrap(np.array(float(divisor), result._k.np), result._k)) if isinstance(divisor, int) else result / divisor
        return F.reshape(divided, ()) if x.shape[0] == 1 else divided

    def samples(rng):
        yield (rng.standard_normal((2, 4)),)
        yield Sample((rng.standard_normal((3, 4)),),
                     {"correction": 0, "fweights": np.array([1, 2, 1, 3]), "aweights": rng.uniform(0.5, 1, 4).astype("f4")})


@op("corrcoef(Tensor input) -> Tensor", out=False)
class corrcoef:
    """The correlation matrix of the rows of `input`, whose columns are observations.

    >>> torch.corrcoef(torch.tensor([[0., 2.], [0., 4.]]))
    tensor([[1., 1.],
            [1., 1.]])
    """

    lacks = {"float8 chalf": "sum_cpu"}

    def quick(input):
        c = None if is_half(input.dtype) else _covariance(input, 1)
        if c is None:
            return None
        if len(c) == 1:
            with ignoring():
                return np.asarray(c[0, 0] / c[0, 0])
        deviation = np.sqrt(c.diagonal())
        with ignoring():
            c /= deviation.reshape(-1, 1)
            c /= deviation
        return c

    def function(F, input):
        if input.ndim > 2:
            raise AutogradError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
        c = F.cov(input)
        if not c.ndim:
            return c / c
        deviation = F.sqrt(F.diagonal(c))
        return c / F.unsqueeze(deviation, 1) / F.unsqueeze(deviation, 0)

    def samples(rng): yield (rng.standard_normal((3, 5)),)
