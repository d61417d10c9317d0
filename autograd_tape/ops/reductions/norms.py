"""Norms of vectors and matrices, and the distances and similarities made from them."""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import Any
from collections.abc import Sequence

import numpy as np

from ...dims import broadcast_shape, normalize_dims, wrap_dim
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, DType, float32, promote, result_dtype
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import folds, loops
from ...executors.kernels._on_demand import HAS_VECTORS, LazyModule, state
from ...executors.kernels.elementwise import takes_half, with_number
from ...executors.kernels.handy import Exact, Handy
from ...executors.kernels.halves import recast, widened
from ...executors.kernels.norm import length_gradients
from ...executors.kernels.pairs import halved, ufunc2
from ...executors.kernels.reduce import add
from ...executors.kernels.sharing import share_rows
from ...functions.out import EXPECTED, OutRule
from ...record import Sample, op
from ...tensor import as_dtype, TensorRef
from .. import _batch as batches
from .. import _shapes as shapes
from .._precision import in_single, is_half
from ..elementwise.arithmetic import real_part_of
from ...warned import warn_once, ignoring
from ..networks._losses import buffer, constant
from .extremes import _amax
from .sums import _sum, finish
from ...annotations import Dims, Fn, Functions, Values


# -- norms ------------------------------------------------------------------------------------------------------------


def _vector_norm(x: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> Any:
    if (kept := _KEPT.get(ord)) is not None:
        return kept(x, dim, keepdim)
    if dim is None and not keepdim and HAS_VECTORS and 1 < x.size < _FEW_APART and x.dtype.char in "fd" and x.flags.c_contiguous and (
            ord and -inf < ord < inf):
        power, root = _exponents(x.dtype, ord)
        with ignoring():
            return np.add.reduce(np.abs(x) ** power, None) ** root
    return _long_norm(x, ord, dim, keepdim)


@lru_cache(100)
def _exponents(dtype: np.dtype, ord: float) -> tuple[Any, Any]:
    """An exponent and its inverse as numbers of a dtype, of which NumPy's conversions are longer."""
    return dtype.type(ord), dtype.type(1 / ord)


def _long_norm(x: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> np.ndarray:
    x = folds.closely(x)
    if ord == 2 or ord == 1:
        found = folds.fold(x, dim, keepdim, folds.SQUARES, folds.ROOT) if ord == 2 else folds.fold(x, dim, keepdim, folds.MAGNITUDES)
        if found is not None:
            return found
    if is_half(x):
        return recast(np.asarray(_vector_norm(widened(x), ord, dim, keepdim)), x.dtype)
    axes = normalize_dims(dim, x.ndim)
    if ord and (x.size == 1 if axes is None else _alone(x.shape, axes)):  # nothing is added up, nor does a power overflow
        size = np.abs(x, order="C")
        return size if keepdim else size.reshape(shapes.reduced(x.shape, axes))
    if (powers := _powers(x, ord)) is not None and (total := folds.fold(powers, dim, keepdim)) is not None:
        return (total if total.ndim else total[()]) ** total.dtype.type(1 / ord)  # NumPy's scalars take half the time
    if ord == 2 and x.dtype.kind != "c":
        return np.sqrt(add(x * x, axes, None, keepdim))
    size = np.abs(x)
    if ord == 2:
        return np.sqrt(add(size * size, axes, None, keepdim))
    if ord == 1:
        return add(size, axes, None, keepdim)
    if ord == inf:
        return np.maximum.reduce(size, axes, None, None, keepdim)
    if ord == -inf:
        return np.minimum.reduce(size, axes, None, None, keepdim)
    if ord == 0:
        return add(size != 0, axes, size.dtype, keepdim)
    if ord < 0 and not x.size:  # which NumPy knows to be infinite
        _check_identity(x.shape, ord, dim)
    with ignoring():
        total = add(size ** size.dtype.type(ord) if powers is None else powers, axes, None, keepdim)
        return total ** size.dtype.type(1 / ord)


_KEPT: dict[float, Fn] = {
    1: folds.kept(lambda x, dim, keepdim: _long_norm(x, 1, dim, keepdim),
                  lambda x, dim, keepdim: folds.way_to_fold(x, dim, keepdim, folds.MAGNITUDES)),
    2: folds.kept(lambda x, dim, keepdim: _long_norm(x, 2, dim, keepdim),
                  lambda x, dim, keepdim: folds.way_to_fold(x, dim, keepdim, folds.SQUARES, folds.ROOT))}


def _powers(size: np.ndarray, ord: float) -> np.ndarray | None:
    """Powers of the magnitudes of numbers by machine code, None where NumPy is to serve. The C library's of float32, which it calls for
    each number, are next to the truth, as are products in double precision."""
    if ord != 3 and ord != 1.5 or HAS_VECTORS:
        return None
    size = size if size.flags.forc and size.flags.behaved else np.abs(size)  # which lies closely
    char, third, rows = size.dtype.char, ord == 3, size if size.flags.c_contiguous else size.T
    if not (third and char in "fd" or char == "f") or not rows.flags.carray:
        return None
    run = _raised.over(char, rows.size)
    if run is None:
        return None
    found = np.empty(rows.shape, rows.dtype)
    run(rows.size, 1, rows, found, third)
    return found if rows is size else found.T


_raised = Exact("lengths", "powers")


def _quickly(x: np.ndarray, ord: float, dim: Dims, keepdim: bool) -> np.ndarray | None:
    """The norm of plain numbers, as a quick way gives it; None of other arguments."""
    if x.size and x.dtype.char in "fdEe" and keepdim.__class__ is bool and (ord.__class__ is float or ord.__class__ is int):
        return np.asarray(finish(_vector_norm(x, ord, dim, keepdim), x))
    return None


_FEW_APART = 128  # elements whose differences are NumPy's


def _alone(shape: Sequence[int], axes: tuple[int, ...] | None) -> bool:
    """Whether each result is of one element."""
    return prod(shape if axes is None else [shape[i] for i in axes]) == 1


def _check_identity(shape: Sequence[int], ord: float, dim: Dims) -> None:
    """Raises torch's error where the norm of nothing is asked for that has no value: the largest or smallest of no elements."""
    if ord >= 0 and ord != inf:
        return
    axes, without = normalize_dims(dim, len(shape)), "because this dimension is empty and the operation does not have an identity"
    if axes is None:
        if 0 in shape:
            raise AutogradError(f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not "
                                "have an identity")
    elif (empty := next((d for d in axes if not shape[d]), None)) is not None:
        raise AutogradError(f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {empty}{without}")


def _kept(F: Functions, reduced: Values, shape: Sequence[int], dim: Dims, keepdim: bool) -> Values:
    """A reduction's result (or its cotangent) with the reduced dimensions back, of size 1."""
    if keepdim:
        return reduced
    axes = normalize_dims(dim, len(shape))
    return F.reshape(reduced, tuple([1 if axes is None or i in axes else n for i, n in enumerate(shape)]))


@in_single(again=lambda F, x, ord, dim, keepdim: F.linalg_vector_norm(x, ord, dim, keepdim), steps=True)
def _vector_norm_grad(F: Functions, grad: Any, x: Any, result: Any, ord: float, dim: Dims, keepdim: bool) -> Any:
    """What is 0 / 0 where the norm or an element is 0 counts as 0, as in torch; half precision is rounded where torch rounds it."""
    shape = tuple(x.shape)
    if ord == 2 and x.__class__ is np.ndarray and (found := length_gradients(grad, x, result, dim)) is not None:
        return found
    g, n = _kept(F, grad, shape, dim, keepdim), _kept(F, result, shape, dim, keepdim)
    if ord == 2:
        if isinstance(x, TensorRef):  # its own gradient there is NaN, as in torch
            return F.masked_fill(x / n, F.eq(n, 0), 0) * g
        return x / F.masked_fill(n, F.eq(n, 0), inf) * g  # not x * (g / n), which overflows for small norms
    if ord == 0:
        return None
    if ord == 1:
        return g * F.sgn(x)
    if ord in (inf, -inf):
        hit = F.cast_like(F.eq(F.abs(x), n), n)
        axes = normalize_dims(dim, len(shape))
        return F.sgn(x) * (g / F.sum(hit, tuple(range(len(shape))) if axes is None else axes, True) * hit)
    base, rest = (F.sgn(x), ord - 1) if ord < 2 else (x, ord - 2)
    power = base * F.masked_fill(F.pow(F.abs(x), rest), F.eq(x, 0), 0)
    if ord < 1:
        return power * g * F.pow(n, 1 - ord)
    return power * (g / F.pow(F.masked_fill(n, F.eq(n, 0), inf), ord - 1))


def _check_floating(name: str, x: TensorRef, dtype: DType | None = None) -> None:
    """Raises where a tensor has no norm, or none in a dtype, which has to hold all its numbers, complex ones if they are."""
    own = x._k.dtype
    if own.category < FLOATING:
        raise AutogradError(f"{name}: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE_NAMES[own.name]}",
                            remedy="convert it with .float()")
    if dtype is None or dtype is own:
        return
    given = SCALAR_TYPE_NAMES[dtype.name]
    if dtype.category < FLOATING:
        raise AutogradError(f"{name}: dtype should be floating point or complex, but got {given}")
    if dtype.is_complex is not own.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise AutogradError(f"{name}: dtype should be {kind} for {kind} inputs, but got {given}")
    if result_dtype([(own, 1), (dtype, 1)]) is not dtype:
        raise AutogradError(f"{name}: the dtype of the input ({SCALAR_TYPE_NAMES[own.name]}) should be convertible without narrowing to "
                            f"the specified dtype ({given})")


def _check_dtype(own: DType, wanted: DType) -> None:
    """Raises torch's error where the norm of a vector cannot be computed in a dtype."""
    name, found = "linalg.vector_norm", SCALAR_TYPE_NAMES[wanted.name]
    if wanted.category < FLOATING:
        raise AutogradError(f"{name}: dtype should be floating point or complex, but got {found}")
    if own.is_complex is not wanted.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise AutogradError(f"{name}: dtype should be {kind} for {kind} inputs, but got {found}")
    if promote(own, wanted) is not wanted:
        raise AutogradError(f"{name}: the dtype of the input ({SCALAR_TYPE_NAMES[own.name]}) should be convertible without narrowing to "
                            f"the specified dtype ({found})")


@op("linalg_vector_norm(Tensor x, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    namespace="_internal", alias="linalg.vector_norm", method=False)
class linalg_vector_norm:
    """(sum |x|^ord)^(1/ord) over all elements or along dimensions; inf, -inf and 0 are the largest, the smallest, and the number of
    elements that are not 0.

    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
    """

    words = {"input": "x"}
    lacks = {"float8": "norm_cpu"}
    layout = "rows"
    sharding = "along dim or composed"
    out_dtype = EXPECTED
    numpy = takes_half(_vector_norm)
    def shape(x, ord, dim, keepdim): return shapes.reduced(x, dim, keepdim)
    def compose(F, x, ord, dim, keepdim):
        size = F.abs(x)
        if abs(ord) == inf or ord and _alone(x.shape, normalize_dims(dim, x.ndim)):
            return (F.amax if ord > 0 else F.amin)(size, dim, keepdim)
        if ord == 0:
            return F.sum(F.where(F.ne(size, 0), F.ones_for(size, size.shape), 0), dim, keepdim)
        if ord == 1:
            return F.sum(size, dim, keepdim)
        return F.sqrt(F.sum(size * size, dim, keepdim)) if ord == 2 else F.pow(F.sum(F.pow(size, ord), dim, keepdim), 1 / ord)
    def check(x, ord, dim, keepdim, dtype):
        _check_floating("linalg.vector_norm", x)
        if dtype is not None:
            _check_dtype(x.dtype, dtype)
        _check_identity(x.shape, ord, dim)
    vjp_x = _vector_norm_grad

    def samples(rng):
        r = rng.standard_normal
        yield (r((2, 3)),)
        yield r((2, 3)), 1, 1, True
        yield r((2, 3, 2)), 3, (0, 2)
        yield r((2, 3)), inf, 0
        yield r((2, 3)), 1.5, -1
        yield r((2, 3)), 0.5, -1

    def errors(rng):
        yield (np.ones(3, np.int64),), RuntimeError, (
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long")


def _scales(norm: np.ndarray, maxnorm: float) -> np.ndarray:
    """What each part is multiplied by, of their norms."""
    kind = norm.dtype
    if kind.char in "fd" and (run := _shrinking.over(kind.char, norm.size)) is not None:
        scale = np.empty(norm.shape, kind)
        run(norm.size, 1, norm, scale, maxnorm, _LITTLE)
        return scale
    most, little, one = [np.asarray(v, kind) for v in (maxnorm, _LITTLE, 1)]
    return np.where(norm > maxnorm, most / (norm + little), one)


def _part_lengths(input: np.ndarray, p: float, dim: int) -> np.ndarray:
    """The norms of the parts along `dim`."""
    others = 1 - dim % 2 if input.ndim == 2 else _within(input.ndim, dim)  # of several dimensions more is looked at
    return _vector_norm(input, float(p), others, True)


def _renorm(input: np.ndarray, p: float, dim: int, maxnorm: float) -> np.ndarray:
    _check_renorm(input, p, maxnorm)
    norm = _part_lengths(input, p, dim)
    kind, d, shape = norm.dtype, dim % input.ndim, input.shape
    if kind.char in "fd" and kind is input.dtype and input.flags.carray and norm.flags.carray and input.size:
        inner = prod(shape[d + 1:])
        if inner >= _LINE and (_shrunk.of(kind.char, norm.size) is not None or input.size >= state.cheap):
            found = np.empty(shape, kind)
            outer = prod(shape[:d])
            _shrunk.share(kind.char, outer * shape[d], inner, 1, input, norm, found, outer, shape[d], inner, maxnorm, _LITTLE)
            return found
    with ignoring():
        scale = _scales(norm, maxnorm)
        return ufunc2(np.multiply, input, scale) if input.dtype is kind and kind.char in "fd" else input * scale


def _renorm_over(a: np.ndarray, p: float, dim: int, maxnorm: float) -> bool:
    if a.itemsize == 2:
        return False
    _check_renorm(a, p, maxnorm)
    norm = _part_lengths(a, p, dim)
    if a.dtype is not norm.dtype:
        return False
    with ignoring():
        scale = _scales(norm, maxnorm)
        if a.size < _FEW or a.shape[-1] >= _LONG and a.strides[-1] == a.itemsize:
            np.multiply(a, scale, a)
        else:  # NumPy begins each line anew
            a[...] = ufunc2(np.multiply, a, scale)
    return True


_FEW, _LONG = 32, 64  # elements that NumPy multiplies by a column; and of rows, for each of which it takes its time
_shrinking, _shrunk = Exact("lengths", "shrinking"), Handy("lengths", "shrunk")
#: Elements that lie side by side from which on a loop over them is worth its beginning.
_LINE = 8
#: What guards against dividing by zero, as in torch.
_LITTLE = 1e-7


def _check_renorm(input: Values, p: float, maxnorm: float) -> None:
    if isinstance(p, complex):
        raise AutogradError("renorm: p must be real-valued")
    if p <= 0:
        raise AutogradError("renorm: non-positive-norm not supported", expected="p > 0", found=str(p))
    if isinstance(maxnorm, complex):
        raise AutogradError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise AutogradError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise AutogradError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")


@lru_cache(1024)
def _within(ndim: int, dim: int) -> tuple[int, ...]:
    """The dimensions of a part along `dim`."""
    return tuple([i for i in range(ndim) if i != wrap_dim(dim, ndim)])


@op("renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor", inplace=True, complex="explicit")
class renorm:
    """Each part along `dim` scaled down to a p-norm of at most `maxnorm`.

    >>> torch.renorm(torch.tensor([[3., 4.], [0., 1.]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """

    lacks = {"float8": "RuntimeError: Promotion for Float8 Types is not supported, attempted to promote {dtype} and Float"}
    out_dtype = EXPECTED
    layout = "rows"
    sharding = "composed"
    numpy = _renorm
    store_all = _renorm_over
    shape = shapes.like_first
    batch = batches.composed
    def check(input, p, dim, maxnorm):
        _check_renorm(input, p, maxnorm)
        wrap_dim(dim, input.ndim)
        _check_floating("linalg.vector_norm", input)

    def compose(F, input, p, dim, maxnorm):
        norm = F.linalg_vector_norm(input, float(p), _within(input.ndim, dim), True)
        return input * F.where(F.gt(norm, maxnorm), maxnorm / (norm + 1e-7), 1.0)

    @in_single
    def vjp(F, grad, input, p, dim, maxnorm):  # that of x * maxnorm / |x| where the norm is larger
        axes = _within(input.ndim, dim)
        norm = F.linalg_vector_norm(input, float(p), axes, True)
        inverse, along = 1 / (norm + 1e-7), F.sum(real_part_of(F, F.conj(input) * grad), axes, True)
        through = _vector_norm_grad(F, along * inverse, input, norm, float(p), axes, True)
        return F.where(F.gt(norm, maxnorm), maxnorm * inverse * (grad - through), grad)

    def jvp(F, outputs, arguments, tangents):  # of half precision in float32, as torch's
        input, tangent = [F.cast(x, float32) if is_half(x) else x for x in (arguments["input"], tangents["input"])]
        p, maxnorm, axes = float(arguments["p"]), arguments["maxnorm"], _within(input.ndim, arguments["dim"])
        norm = F.linalg_vector_norm(input, p, axes, True)
        inverse = 1 / (norm + 1e-7)
        along = F.sum(real_part_of(F, F.conj(_vector_norm_grad(F, inverse, input, norm, p, axes, True)) * tangent), axes, True)
        return F.where(F.gt(norm, maxnorm), maxnorm * inverse * (tangent - input * along), tangent)

    def samples(rng):
        yield rng.standard_normal((3, 4)), 2, 0, 1.0


def _extreme(F: Functions, x: TensorRef, ord: float, dim: int, keepdim: bool) -> TensorRef:
    """The largest for a positive order, 0 where there are none, else the smallest."""
    if ord > 0 and not x.shape[dim]:
        dim %= x.ndim
        return F.zeros_for(x, (*tuple(x.shape)[:dim], *([1] if keepdim else []), *tuple(x.shape)[dim + 1:]))
    return (F.amax if ord > 0 else F.amin)(x, dim, keepdim)


def _check_precision(A: TensorRef) -> None:
    if A.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise AutogradError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {SCALAR_TYPE_NAMES[A.dtype.name]}")


def _matrix_norm(F: Functions, A: TensorRef, ord: Any, dim: Sequence[int], keepdim: bool) -> TensorRef:
    if len(dim) != 2:
        raise AutogradError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join([str(d) for d in dim])}")
    rows, columns = wrap_dim(dim[0], A.ndim), wrap_dim(dim[1], A.ndim)
    if rows == columns:
        raise AutogradError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return F.linalg_vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        _check_precision(A)
        values = F.linalg_svdvals(F.movedim(A, (rows, columns), (-2, -1)))
        result = F.sum(values, -1) if ord == "nuc" else _extreme(F, values, ord, -1, False)
        return F.movedim(F.unsqueeze(F.unsqueeze(result, -1), -1), (-2, -1), (rows, columns)) if keepdim else result
    if ord in (1, -1):
        rows, columns = columns, rows
    elif ord not in (inf, -inf):
        raise AutogradError(f"linalg.matrix_norm: Order {ord} not supported.")
    sums = F.sum(F.abs(A), columns, keepdim)
    rows -= 0 if keepdim or rows < columns else 1
    return _extreme(F, sums, ord, rows, keepdim)


def _quick_matrix_norm(A: np.ndarray, ord: object, dim: tuple[int, int], keepdim: bool) -> np.ndarray | None:
    """The norm of plain matrices that is no singular values', or the smallest; None of others."""
    if ord.__class__ is str:
        return _quickly(A, 2, dim, keepdim) if ord == "fro" else None
    if ord != 1 and ord != inf:
        return None
    along, across = dim if ord == 1 else dim[::-1]
    along, across = wrap_dim(along, A.ndim), wrap_dim(across, A.ndim)
    sums = None if along == across else _quickly(A, 1, along, True)
    return None if sums is None else np.asarray(_amax(sums, (along, across), keepdim))


@op("linalg_matrix_norm(Tensor A, Any ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    namespace="_internal", alias="linalg.matrix_norm", method=False)
class linalg_matrix_norm:
    """The norm of matrices: 'fro', 'nuc', the largest (inf, 1, 2) or smallest (-inf, -1, -2) sum of rows, sum of columns, singular value.

    >>> torch.linalg.matrix_norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """

    words = {"input": "A"}
    lacks = {"float8": "norm_cpu"}
    out_dtype = OutRule("linalg.matrix_norm expected out tensor dtype {wanted} but got: {found}")
    fused = True  # of singular values
    def quick(A, ord, dim, keepdim, dtype):
        if dtype is None and dim.__class__ is tuple and len(dim) == 2 and A.size:
            return _quick_matrix_norm(A, ord, dim, keepdim)

    def function(F, A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
        dtype = None if dtype is None else as_dtype(dtype)
        _check_floating("linalg.matrix_norm", A, dtype)
        if A.ndim < 2:
            raise AutogradError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
        return _matrix_norm(F, A if dtype is None else F.cast(A, dtype), ord, dim, keepdim)

    def samples(rng):
        for order in ("fro", "nuc", inf, -inf, 1, -1, 2, -2):
            yield rng.standard_normal((2, 3, 3)), order


@op("nuclear_norm(Tensor input, Any dim=None, bool keepdim=False) -> Tensor", method=False)
class nuclear_norm:
    """The sums of the singular values of matrices: of the last two dimensions, or of two others.

    >>> torch.nuclear_norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(7.)
    """

    out_dtype = OutRule("linalg.matrix_norm expected out tensor dtype {wanted} but got: {found}")
    fused = True

    def function(F, input, dim=None, keepdim=False):
        if isinstance(dim, bool):  # torch's signature without dimensions
            dim, keepdim = None, dim
        _check_floating("linalg.matrix_norm", input)
        _check_precision(input)
        if dim is None:
            warn_once("at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch "
                      "release. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead")
        return F.linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else (dim, dim) if isinstance(dim, int) else dim, keepdim)

    def samples(rng):
        yield (rng.standard_normal((3, 3)),)
        yield Sample((rng.standard_normal((2, 3, 4)), (2, 0)), {"keepdim": True})


@op("linalg_norm(Tensor A, Any ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", namespace="_internal",
    alias="linalg.norm", method=False)
class linalg_norm:
    """The norm of a vector or a matrix, whichever `ord` and `dim` ask for.

    >>> torch.linalg.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """

    words = {"input": "A"}
    lacks = {"float8": "norm_cpu"}
    out_dtype = OutRule("linalg.norm expected out tensor dtype {wanted} but got: {found}")
    fused = True  # of singular values
    def quick(A, ord, dim, keepdim, dtype):
        if dtype is None and (dim is None and (ord is None or A.ndim == 1) or dim.__class__ is int):
            return _quickly(A, 2 if ord is None else ord, dim, keepdim)
        if dtype is None and dim is None and A.ndim == 2 and A.size:
            return _quick_matrix_norm(A, ord, (0, 1), keepdim)

    def function(F, A, ord=None, dim=None, keepdim=False, *, dtype=None):
        dtype = None if dtype is None else as_dtype(dtype)
        _check_floating("linalg.vector_norm", A, dtype)
        A = A if dtype is None else F.cast(A, dtype)
        dims = (dim,) if isinstance(dim, int) else dim
        if dims is not None and len(dims) not in (1, 2):
            raise AutogradError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
        if ord is None:
            return F.linalg_vector_norm(A, 2, dims, keepdim)
        if dims is None:
            if A.ndim not in (1, 2):
                raise AutogradError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
            dims = (0,) if A.ndim == 1 and not isinstance(ord, str) else (0, 1)
        if isinstance(ord, str) and A.ndim < 2:
            raise AutogradError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
        if isinstance(ord, str) and len(dims) == 1:
            raise AutogradError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dims[0]}")
        if dim is None and A.ndim == 1:
            return F.linalg_vector_norm(A, ord, None, keepdim)
        return F.linalg_vector_norm(A, ord, dims, keepdim) if len(dims) == 1 else _matrix_norm(F, A, ord, dims, keepdim)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal(3), 3


@op("norm(Tensor input, Any p='fro', int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", out=False)
class norm:
    """The p-norm of all elements, or along dimensions; 'fro' is the 2-norm, 'nuc' the sum of the singular values of a matrix.

    >>> torch.norm(torch.tensor([3., 4.])), torch.norm(torch.tensor([[3., -4.]]), p=1, dim=1)
    (tensor(5.), tensor([7.]))
    """

    home = "functional"
    lacks = {"float8": "norm_cpu"}
    out_dtype = EXPECTED
    fused = True  # of singular values
    def quick(input, p, dim, keepdim, dtype):
        if dtype is None:
            return _quickly(input, 2 if p.__class__ is str and p == "fro" else p, dim, keepdim)

    def function(F, input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
        if p == "nuc":
            result = F.linalg_matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim, dtype=dtype)
            return result if out is None else F.give("norm", out, result)
        if isinstance(p, str) and p != "fro":
            raise AutogradError(f"only valid string values are 'fro' and 'nuc', found {p}")
        return F.linalg_vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype, out=out)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1, 1, True
        yield rng.standard_normal((2, 3)), 3, 0


@op("dist(Tensor input, Tensor other, Scalar p=2) -> Tensor", out=False)
class dist:
    """The p-norm of the difference.

    >>> torch.dist(torch.tensor([0., 0.]), torch.tensor([3., 4.]))
    tensor(5.)
    """

    lacks = {"uint float8": "add_stub"}
    def quick(input, other, p):
        if input.dtype is other.dtype and input.dtype.char in "fdEe":
            few = input.size < _FEW_APART > other.size  # of which NumPy's own loop begins sooner
            apart = np.subtract(input, other) if few else (halved if input.itemsize == 2 else ufunc2)(np.subtract, input, other)
            return _quickly(np.asarray(apart), p, None, False)

    def function(F, input, other, p=2):
        difference = input - other
        if difference.dtype.category < FLOATING:
            raise AutogradError("norm(): input dtype should be either floating point or complex. Got "
                                f"{SCALAR_TYPE_NAMES[difference.dtype.name]} instead.")
        return F.linalg_vector_norm(difference, p)

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal(3)
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), 3


# -- distances --------------------------------------------------------------------------------------------------------


def at_least(F: Functions, x: TensorRef, low: float) -> TensorRef:
    """max(x, low) whose gradient passes everywhere, as where torch clamps without recording it."""
    data = buffer(x)
    if data.size and data.min() >= low:
        return x
    return x + constant(F, x, np.maximum(data, data.dtype.type(low)) - data)


def _floating(x1: TensorRef, x2: TensorRef, rank1: int, rank2: int) -> DType:
    """The dtype of a computation with tensors of these many dimensions; torch's error where it is not of floating point."""
    common = result_dtype([(x1._k.dtype, rank1), (x2._k.dtype, rank2)])
    if common.category < FLOATING:
        raise AutogradError(f"expected common dtype to be floating point, yet common dtype is {SCALAR_TYPE_NAMES[common.name]}")
    return common


@op("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor", namespace="", method=False, out=False,
    alias="=nn.functional.cosine_similarity",
    complex="RuntimeError: expected common dtype to be floating point, yet common dtype is {dtype}")
class cosine_similarity:
    """sum(x1 * x2) / (|x1| |x2|) along `dim`; norms count as at least `eps`.

    >>> torch.cosine_similarity(torch.tensor([[1., 0.]]), torch.tensor([[1., 1.]]))
    tensor([0.7071])
    """

    lacks = {"float8": "norm_cpu"}
    amp = "whole"
    complex_on_meta = True
    def quick(x1, x2, dim, eps):
        if x1.dtype is x2.dtype and x1.dtype.char in "fd" and x1.shape == x2.shape and x1.size and x1.ndim and (
                x1.flags.c_contiguous and x2.flags.c_contiguous):
            low, wrapped = x1.dtype.type(eps), wrap_dim(dim, x1.ndim)
            units = []
            for x in (x1, x2):
                norm = _vector_norm(x, 2, wrapped, True)
                if not np.minimum.reduce(norm, None) >= low:  # as `at_least` has it
                    norm = norm + (np.maximum(norm, low) - norm)
                units.append(ufunc2(np.divide, x, norm))
            return np.asarray(finish(_sum(ufunc2(np.multiply, *units), wrapped, False), x1))

    def function(F, x1, x2, dim=1, eps=1e-8):
        common = _floating(x1, x2, x1.ndim, x2.ndim)
        shape = broadcast_shape(tuple(x1.shape), tuple(x2.shape))
        wrap_dim(dim, len(shape))
        a, b = [x if tuple(x.shape) == shape else F.expand(x, shape) for x in (x1, x2)]
        a, b = [x if x._k.dtype is common else F.cast(x, common) for x in (a, b)]
        unit_a = a / at_least(F, F.linalg_vector_norm(a, 2, dim, True), eps)
        unit_b = b / at_least(F, F.linalg_vector_norm(b, 2, dim, True), eps)
        return F.sum(unit_a * unit_b, dim)

    def batch(F, call):
        """One dimension of both after broadcasting."""
        _floating(call.x1, call.x2, call.ranks["x1"], call.ranks["x2"])
        rank = max(call.ranks.values())
        if rank:
            return call(**batches.aligned(F, call, rank), dim=batches.shifted(call.dim, rank))
        batches.shifted(call.dim, 0)
        return call(x1=F.unsqueeze(call.whole("x1"), 1), x2=F.unsqueeze(call.whole("x2"), 1), dim=1)

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal((1, 3)), 0

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 3)), 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"


def quick_distance(x1: np.ndarray, x2: np.ndarray, p: float, eps: float, keepdim: bool) -> np.ndarray | None:
    """|x1 - x2 + eps| of order `p` over the last dimension, of plain numbers; None of other arguments."""
    if x1.dtype is not x2.dtype or x1.dtype.char not in "fdeEl" or not (x1.ndim and x2.ndim) or not (
            x1.flags.c_contiguous and x2.flags.c_contiguous or x1.flags.forc and x1.strides == x2.strides):
        return None
    d = halved(np.subtract, x1, x2) if x1.itemsize == 2 else ufunc2(np.subtract, x1, x2)
    if d.itemsize == 2:
        return _quickly(with_number(np.add, d, eps, False), p, -1, keepdim)
    d = d if d.dtype.kind == "f" else d.astype(np.float32)
    return _quickly(np.add(d, d.dtype.type(eps), d), p, -1, keepdim)


@op("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-6, bool keepdim=False) -> Tensor", namespace="", method=False,
    out=False, alias="=nn.functional.pairwise_distance")
class pairwise_distance:
    """|x1 - x2 + eps| of order `p` over the last dimension.

    >>> torch.pairwise_distance(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.]]))
    tensor([5.0000])
    """

    lacks = {"uint float8": "add_stub"}
    def function(F, x1, x2, p=2.0, eps=1e-6, keepdim=False):
        return F.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)

    quick = quick_distance
    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal(3), 1.0


def _rounded(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return widened(recast(x, dtype))


def _distances_in_steps(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Those distances in half precision, rounded where torch rounds them: squared norms are columns of the matrices that it multiplies."""
    half, (a, b) = x1.dtype, [widened(x) for x in (x1, x2)]
    norms = [_rounded(np.add.reduce(_rounded(x * x, half), -1, keepdims=True), half) for x in (a, b)]
    ones = [np.ones_like(x) for x in norms]
    product = np.matmul(np.concatenate([a * -2, norms[0], ones[0]], -1), np.concatenate([b, ones[1], norms[1]], -1).swapaxes(-2, -1))
    with ignoring():
        return recast(np.sqrt(np.maximum(_rounded(product, half), 0)), half)


@op("euclidean_distance(Tensor x1, Tensor x2) -> Tensor", namespace="_internal", method=False, out=False, node="EuclideanDistBackward0")
class euclidean_distance:
    """The distances of all pairs of rows (..., n, d) and (..., m, d), by one matrix product: |a|^2 + |b|^2 - 2 a b."""

    sharding = "*b m D, *b n D -> *b m n"
    def numpy(x1, x2):
        squares = (x1 * x1).sum(-1, keepdims=True) + (x2 * x2).sum(-1, keepdims=True).swapaxes(-2, -1)
        squares -= 2 * np.matmul(x1, x2.swapaxes(-2, -1))
        np.maximum(squares, 0, out=squares)
        return np.sqrt(squares, squares)
    half = _distances_in_steps
    def compose(F, x1, x2):
        squares = F.sum(x1 * x1, -1, True) + F.transpose(F.sum(x2 * x2, -1, True), -2, -1)
        return F.sqrt(F.clamp_min(squares - 2 * F.matmul(x1, F.transpose(x2, -2, -1)), 0))
    def vjp_x1(F, grad, x1, x2, result):
        ratio = F.masked_fill(grad / result, F.eq(result, 0), 0)
        return F.reduce_to_shape(x1 * F.sum(ratio, -1, True) - F.matmul(ratio, x2), tuple(x1.shape))
    def vjp_x2(F, grad, x1, x2, result):
        ratio = F.transpose(F.masked_fill(grad / result, F.eq(result, 0), 0), -2, -1)
        return F.reduce_to_shape(x2 * F.sum(ratio, -1, True) - F.matmul(ratio, x1), tuple(x2.shape))
    batch = batches.two_matrices
    def samples(rng): yield rng.standard_normal((2, 3, 2)), rng.standard_normal((4, 2))


def _distance(F: Functions, difference: TensorRef, p: float) -> TensorRef:
    """The norm over the last dimension; unlike a vector's, that of order 0 has a gradient, zero."""
    return F.linalg_vector_norm(difference, p, -1) if p else F.sum(F.abs(F.sign(difference)), -1)


_pairs = loops.Loop(loops.distances, 2)
_PAIRS = LazyModule("loops")


#: Distances of float32 whose squares are neither infinite nor denormal, with some to spare.
_NEAREST, _FARTHEST = np.float32(1e-15), np.float32(1e19)


def _is_beyond(distances: np.ndarray) -> bool:
    """Whether some of float32 that were computed in double precision have squares that single precision, in which torch adds them up, does
    not hold."""
    if not distances.size:
        return False
    if np.fmax.reduce(distances, None) > _FARTHEST:
        return True
    return bool(np.fmin.reduce(distances, None) < _NEAREST and ((distances < _NEAREST) & (distances > 0)).any())


def _pair_distances(x: np.ndarray, z: np.ndarray, p: float, triangle: bool) -> np.ndarray | None:
    """The distances of order 0, 1, 2 or infinity of rows (..., n, d) and (..., m, d), or in a `triangle` of each row of a matrix with those
    after it; None where there is no loop for them."""
    n, m, dim = x.shape[-2], z.shape[-2], x.shape[-1]
    if p not in (0, 1, 2, inf) or not (x.size and z.size):
        return None
    if triangle and n < 2:
        return np.empty(0, x.dtype)
    batch = x.shape[:-2]
    if z.shape[:-2] != batch:
        batch = broadcast_shape(batch, z.shape[:-2])
        x, z = np.broadcast_to(x, (*batch, n, dim)), np.broadcast_to(z, (*batch, m, dim))
    rows = x.size // dim
    work = (n * (n - 1) // 2 if triangle else prod(batch) * n * m) * dim
    if state.short < work < state.fused:
        return None
    out = np.empty(n * (n - 1) // 2 if triangle else (*batch, n, m), x.dtype)
    arguments = np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(z).reshape(-1), out.reshape(-1), rows, n, m, dim, p, int(triangle)
    if work <= state.short:
        _pairs(x.dtype.char, rows, work, *arguments)
        if p == 2 and x.dtype.char == "f" and _is_beyond(out):
            return None
    else:
        share_rows(_PAIRS.many_distances, x.dtype.char, rows, max(out.size // rows, 1) * dim, 1, *arguments)
    return out


def _cross_distances(x1: np.ndarray, x2: np.ndarray, p: float) -> np.ndarray:
    """The distances of rows (..., n, d) and (..., m, d)."""
    found = _pair_distances(x1, x2, p, False)
    return _lengths(x1[..., :, None, :] - x2[..., None, :, :], p) if found is None else found


def _lengths(apart: np.ndarray, p: float) -> np.ndarray:
    if not apart.shape[-1]:
        return np.zeros(apart.shape[:-1], apart.dtype)
    if apart.shape[-1] == 1 and p not in (0, 1, inf):  # whose powers overflow here, where those of a vector's one number do not
        apart = np.concatenate([apart, np.zeros_like(apart)], -1)
    return np.asarray(_vector_norm(apart, p, (-1,), False) if p else add(np.abs(np.sign(apart)), (-1,)))


_of_pairs, _of_rows = Handy("loops", "pull_pairs"), Handy("loops", "pull_rows")


def _machine(kernel: Handy, char: str, work: int, p: float) -> Fn | None:
    """What computes gradients of distances: few of those whose powers are no matter of the C library have NumPy's bits."""
    return kernel.surely(char) if work >= state.fused else kernel.of(char, work) if p in (1, 2, inf) else None


def _kind(p: float) -> int:
    """What `pull_pairs` calls an order."""
    return 1 if p == 1 else 2 if p == 2 else 3 if p == inf else 4 if p < 2 else 5


def _pull(d: np.ndarray, grad: np.ndarray, distances: np.ndarray, p: float) -> np.ndarray:
    """The gradients of distances for differences, in torch's steps; a distance of 0 has none."""
    if p == 1:
        return grad * np.sign(d)
    if p == inf:
        off = np.abs(np.abs(d) - distances)
        return grad * np.sign(d) * np.where(off == off, off == 0, off)
    if p == 2:
        found = grad * d / distances
    else:
        powers = [np.power(a, b, dtype=np.float64).astype(d.dtype) for a, b in ((np.abs(d), p - (1 if p < 2 else 2)), (distances, p - 1))]
        found = (np.sign(d) if p < 2 else d) * powers[0] * grad / powers[1]
        if p < 1:
            found[d == 0] = 0
    return np.where(distances == 0, d.dtype.type(0), found)


def _pdist_backward(grad: np.ndarray, input: np.ndarray, distances: np.ndarray, p: float) -> np.ndarray:
    (n, dim), char = input.shape, input.dtype.char
    out = np.zeros((n, dim), char)
    if not (p and grad.size and dim):
        return out
    x, g, found = np.ascontiguousarray(input), np.ascontiguousarray(grad), np.ascontiguousarray(distances)
    run = _machine(_of_pairs, char, g.size * dim, p)
    if run is not None:
        run(dim, 1, x.reshape(-1), g, found, out.reshape(-1), n, dim, _kind(p), p)
        return out
    with ignoring():
        for i in range(n - 1):
            pairs = slice(i * (2 * n - i - 1) // 2, (i + 1) * (2 * n - i - 2) // 2)
            pull = _pull(x[i] - x[i + 1:], g[pairs, None], found[pairs, None], p)
            out[i] = np.add.reduce(np.concatenate([out[i: i + 1], pull]), 0)
            out[i + 1:] -= pull
    return out


def _cdist_backward(grad: np.ndarray, x1: np.ndarray, x2: np.ndarray, distances: np.ndarray, p: float) -> np.ndarray:
    batch, (n, dim), m, char = grad.shape[:-2], x1.shape[-2:], x2.shape[-2], x1.dtype.char
    out = np.zeros((*batch, n, dim), char)
    if not (p and grad.size and dim):
        return out
    x, z = [np.ascontiguousarray(np.broadcast_to(a, (*batch, *a.shape[-2:]))) for a in (x1, x2)]
    g, found = np.ascontiguousarray(grad), np.ascontiguousarray(distances)
    if _machine(_of_rows, char, g.size * dim, p) is not None:
        rows, flat = out.size // dim, [a.reshape(-1) for a in (x, z, g, found, out)]
        _of_rows.share(char, rows, m * dim, 1, *flat, rows, n, m, dim, _kind(p), p)
        return out
    with ignoring():
        pull = _pull(x[..., :, None, :] - z[..., None, :, :], g[..., None], found[..., None], p)
        return np.add.accumulate(pull, -2)[..., -1, :] + out


_MODES = {"use_mm_for_euclid_dist_if_necessary": 25, "use_mm_for_euclid_dist": -1, "donot_use_mm_for_euclid_dist": inf}
"""From how many rows on the distances of order 2 are computed by a product of matrices."""


def _by_product(x1: TensorRef, x2: TensorRef, p: float, compute_mode: str | None) -> bool:
    return p == 2 and compute_mode in _MODES and min(x1.ndim, x2.ndim) > 1 and max(x1.shape[-2], x2.shape[-2]) > _MODES[compute_mode]


def _as_first(F: Functions, x1: TensorRef, x2: TensorRef, by_product: bool) -> TensorRef:
    """The second points of `cdist` where there are none, in the dtype of the first ones; torch's error where there are any."""
    if x1._data.size and x2._data.size:
        if by_product:
            F.matmul(x1, F.transpose(x2, -2, -1))  # which says so
        names = [SCALAR_TYPE_NAMES[x.dtype.name] for x in (x1, x2)]
        raise AutogradError(f"expected scalar type {names[0]} but found {names[1]}", remedy="convert one of them with .to(dtype)")
    return F.cast(x2, x1.dtype)


def _apart(F: Functions, x1: Values, x2: Values) -> Values:
    """The differences (..., n, m, d) of rows (..., n, d) and (..., m, d)."""
    return F.reshape(x1, (*tuple(x1.shape)[:-1], 1, x1.shape[-1])) - F.reshape(x2, (*tuple(x2.shape)[:-2], 1, *tuple(x2.shape)[-2:]))


def _from_second(F: Functions, grad: Any, x1: Any, x2: Any, distances: Any, p: float) -> Values:
    """The gradient of distances for the first points."""
    if grad.__class__ is np.ndarray and grad.dtype.char in "fd":
        return _cdist_backward(grad, x1, x2, distances, p)
    return F.sum(_pull_of(F, grad, _apart(F, x1, x2), distances, p), -2)


def _pull_of(F: Functions, grad: Values, apart: Values, distances: Values, p: float) -> Values:
    """The gradients of distances for differences, by operations."""
    return _vector_norm_grad(F, grad, apart, distances, p, -1, False) if p else apart * 0


@op("cross_distances(Tensor x1, Tensor x2, float p) -> Tensor", namespace="_internal", method=False, out=False, node="CdistBackward0")
class cross_distances:
    """The distances of order `p` of all pairs of rows (..., n, d) and (..., m, d)."""

    layout = "rows"
    sharding = "*b m D, *b n D -> *b m n"
    numpy = _cross_distances
    def shape(x1, x2, p): return (*broadcast_shape(x1[:-2], x2[:-2]), x1[-2], x2[-2])
    def compose(F, x1, x2, p): return _distance(F, _apart(F, x1, x2), p)
    def vjp_x1(F, grad, x1, x2, result, p): return F.reduce_to_shape(_from_second(F, grad, x1, x2, result, p), tuple(x1.shape))
    def vjp_x2(F, grad, x1, x2, result, p):
        turned = [F.transpose(a, -2, -1) for a in (grad, result)]
        return F.reduce_to_shape(_from_second(F, turned[0], x2, x1, turned[1], p), tuple(x2.shape))
    batch = batches.two_matrices
    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((4, 3)), 1.0
        yield rng.standard_normal((2, 2, 3)), rng.standard_normal((4, 3)), 2.0
        yield rng.standard_normal((2, 3)), rng.standard_normal((4, 3)), 3.0


@op("cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor", method=False, out=False,
    complex="RuntimeError: cdist only supports floating-point dtypes, X1 got: {dtype}")
class cdist:
    """The distances of order `p` of all pairs of rows: x1 (..., n, d), x2 (..., m, d), result (..., n, m).

    >>> torch.cdist(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """

    home = "functional"
    lacks = {"half": lambda x1, x2, p, compute_mode, **_: (
                 None if not x2._data.size or _by_product(x1, x2, p, compute_mode) else "cdist if any"),
             "float8": "cdist if any"}
    amp = "float32"
    complex_on_meta = True
    def no_forward(x1, x2, p, compute_mode):
        if min(x1.ndim, x2.ndim) < 2 or x1.shape[-1] != x2.shape[-1] or compute_mode not in _MODES:
            return None
        return "_euclidean_dist" if _by_product(x1, x2, p, compute_mode) else "_cdist_forward"

    def function(F, x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
        if compute_mode not in _MODES:
            raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
        for name, x in (("X1", x1), ("X2", x2)):
            if x.ndim < 2:
                raise AutogradError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if x1.shape[-1] != x2.shape[-1]:
            raise ShapeMismatchError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
        for name, x in (("X1", x1), ("X2", x2)):
            if x.dtype.category != FLOATING:
                raise AutogradError(f"cdist only supports floating-point dtypes, {name} got: {SCALAR_TYPE_NAMES[x.dtype.name]}")
        if p < 0:
            raise AutogradError("cdist only supports non-negative p values")
        broadcast_shape(tuple(x1.shape)[:-2], tuple(x2.shape)[:-2])
        if x1.dtype is not x2.dtype:
            x2 = _as_first(F, x1, x2, _by_product(x1, x2, p, compute_mode))
        if _by_product(x1, x2, p, compute_mode):
            return F.euclidean_distance(x1, x2)
        return F.cross_distances(x1, x2, float(p))

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((4, 3))
        yield r((2, 2, 3)), r((4, 3)), 1.0
        yield r((2, 3)), r((4, 3)), 2.0, "use_mm_for_euclid_dist"

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((4, 5))), RuntimeError, "X1 and X2 must have the same number of columns. X1: 3 X2: 5"


def _distances_behind(x: np.ndarray, p: float) -> np.ndarray:
    """The distances of each row from those behind it: by the loop, or one row after another, whose differences stay in a cache."""
    at_once = _pair_distances(x, x, p, True)
    if at_once is not None:
        return at_once
    n = len(x)
    found = np.empty(n * (n - 1) // 2, x.dtype)
    at = 0
    for i in range(n - 1):
        apart = x[i + 1:] - x[i]
        found[at:at + len(apart)] = _lengths(apart, p)
        at += len(apart)
    return found


def _ends(F: Functions, input: Values) -> tuple[Values, Values]:
    """Which rows the pairs are of."""
    first, second = np.triu_indices(input.shape[0], 1)
    return constant(F, input, first.astype(np.int64)), constant(F, input, second.astype(np.int64))


@op("distances_behind(Tensor input, float p) -> Tensor", namespace="_internal", method=False, out=False, node="PdistBackward0")
class distances_behind:
    """The distances of order `p` of each row of a matrix from those behind it."""

    sharding = "composed"
    numpy = _distances_behind
    def shape(input, p): return (input[0] * (input[0] - 1) // 2,)
    def compose(F, input, p):
        first, second = _ends(F, input)
        return _distance(F, F.index_select(input, 0, first) - F.index_select(input, 0, second), p)
    def vjp(F, grad, input, result, p):
        if grad.__class__ is np.ndarray and grad.dtype.char in "fd":
            return _pdist_backward(grad, input, result, p)
        first, second = _ends(F, input)
        pull = _pull_of(F, grad, F.index_select(input, 0, first) - F.index_select(input, 0, second), result, p)
        return F.index_add(F.index_add(F.zeros_for(grad, tuple(input.shape)), 0, first, pull), 0, second, -pull)
    batch = batches.composed
    def samples(rng):
        yield rng.standard_normal((4, 3)), 2.0
        yield rng.standard_normal((4, 3)), 1.5


@op("pdist(Tensor input, float p=2) -> Tensor", namespace="", method=False, out=False, alias="=nn.functional.pdist",
    complex="RuntimeError: pdist only supports floating-point dtypes")
class pdist:
    """The distances of order `p` of all pairs of different rows of a matrix, the upper triangle of `cdist(input, input)`.

    >>> torch.pdist(torch.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """

    lacks = {"half float8": lambda input, p: "pdist" if input.shape[0] > 1 else None,
             "int bool uint": "RuntimeError: pdist only supports floating-point dtypes"}
    complex_on_meta = True
    def no_forward(input, p): return "_pdist_forward" if input.ndim == 2 and p >= 0 else None

    def quick(input, p):
        if input.ndim == 2 and p.__class__ in (int, float) and p >= 0 and input.dtype.char in "fd":
            if len(input) == 1:  # there is none
                return np.empty(0, input.dtype)
            return _distances_behind(input, float(p))

    def function(F, input, p=2.0):
        if input.ndim != 2:
            raise AutogradError(f"pdist only supports 2D tensors, got: {input.ndim}D")
        if p < 0:
            raise AutogradError("pdist only supports non-negative p values")
        return F.distances_behind(input, float(p))

    def samples(rng): yield (rng.standard_normal((4, 3)),)


@op("normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor", namespace="nn.functional", method=False, out=False)
class normalize:
    """input / max(|input|_p, eps) along `dim`.

    >>> torch.nn.functional.normalize(torch.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """

    lacks = {"float8": "norm_cpu", "chalf": "div_cpu"}
    def function(F, input, p=2.0, dim=1, eps=1e-12, out=None):
        if isinstance(dim, int):
            wrap_dim(dim, input.ndim)
        result = input / F.clamp_min(F.linalg_vector_norm(input, p, dim, True), eps)
        return result if out is None else F.give("normalize", out, result)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1.0, 0
