"""Matrix products: sparse by dense, dense by sparse, sparse by sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.annotations import Number
from autograd_tape.dtypes import SCALAR_TYPE_NAMES
from autograd_tape.ops.matrices.factorization import check_equation
from autograd_tape.record import get_record

from .._memory.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._tensor import Tensor, frontend
from ..overrides import overridable
from ._arithmetic import add_coo
from ._buffers import NAMES, Compressed, Coo, flat_index, is_sparse, sparse
from ._compressed import compressed_of, coordinates
from ._coo import add_rows, coalesce, in_numpy, in_order, index_tensor, summed, unraveled
from ._door import COMPRESSED, COO, composite, could_not_run, kernel, unrecorded
from ._nodes import plain, recorded, values_of, with_values
from autograd_tape.warned import ignoring

F = frontend
BOTH = (COO, COMPRESSED)


def matrix_of(x: Tensor) -> Coo:
    """The coordinates of a sparse matrix, whatever its layout."""
    b: Any = x._data
    return coordinates(b) if b.__class__ is Compressed else b


def _same_dtype(a: Tensor, b: Tensor) -> None:
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_TYPE_NAMES[a._k.dtype.name]} but found {SCALAR_TYPE_NAMES[b._k.dtype.name]}")


def by_dense(x: Coo, d: Tensor) -> Tensor:
    """A sparse matrix (m, k) times a dense one (k, n): (m, n)."""
    rows, cols = x.indices._data
    if not rows.size:
        return F.zeros((x.shape[0], d._data.shape[1]), dtype=d._k.dtype)
    if not in_numpy(d):
        return summed(F.mul(F.unsqueeze(x.values, 1), F.index_select(d, 0, index_tensor(cols))), rows, x.shape[0])
    values, dense, width = x.values._data, d._data, d._data.shape[1]
    if cols.min() < 0 or cols.max() >= len(dense):
        raise IndexError(f"index {cols.max()} is out of bounds for dimension 1 with size {len(dense)}")
    total = np.zeros((x.shape[0], width), d._k.np)
    step = max(1, 2**17 // max(width, 1))  # as many elements as stay near
    for at in range(0, len(cols), step):
        part = slice(at, at + step)
        add_rows(total, rows[part], dense.take(cols[part], 0) * values[part, None])
    return F.wrap(total, d._k)


def by_sparse(a: Coo, b: Coo) -> Coo:
    """A sparse matrix (m, k) times a sparse one (k, n): (m, n)."""
    a, b = in_order(a), in_order(b)
    (rows, cols), (brows, bcols) = a.indices._data, b.indices._data
    starts = np.searchsorted(brows, np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[cols]
    left = np.repeat(np.arange(len(rows)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts[cols], counts)
    flat = rows[left] * b.shape[1] + bcols[right]
    terms = F.mul(F.index_select(a.values, 0, index_tensor(left)), F.index_select(b.values, 0, index_tensor(right)))
    places, groups = np.unique(flat, return_inverse=True)
    shape = a.shape[0], b.shape[1]
    return Coo(shape, unraveled(places, shape), summed(terms, groups.reshape(-1), len(places)), True)


def _fits(a: Tensor, b: Tensor, name: str = "addmm") -> None:
    for t in (a, b):
        if not is_sparse(t) and t._data.__class__ is not np.ndarray:
            raise NotImplementedError("Batching rule not implemented for aten::_sparse_mm. We could not generate a fallback.")
        if t._data.ndim < 2 and not is_sparse(t):
            raise IndexError(f"Dimension out of range (expected to be in range of [-{max(t._data.ndim, 1)}, {max(t._data.ndim, 1) - 1}], "
                             "but got 1)")
    if a._data.shape[1] != b._data.shape[0]:
        raise RuntimeError(f"{name}: Argument #3 (dense): Expected dim 0 size {a._data.shape[1]}, got {b._data.shape[0]}"
                           if not is_sparse(b) else
                           f"mat1 and mat2 shapes cannot be multiplied ({a._data.shape[0]}x{a._data.shape[1]} and "
                           f"{b._data.shape[0]}x{b._data.shape[1]})")


PRODUCTS = {(strided, sparse_csr), (strided, sparse_csc), (strided, sparse_bsc), (sparse_csr, strided), (sparse_csc, strided),
            (sparse_bsr, strided), (sparse_csr, sparse_csr), (sparse_csr, sparse_csc), (sparse_csc, sparse_csr), (sparse_csc, sparse_csc)}
"""The pairs of layouts, one of them compressed, whose matrices torch multiplies."""


def _compressed_pair(result: layout, a: Tensor, b: Tensor) -> None:
    """Raises where torch has no product of two matrices, one of them compressed, that goes into such a tensor."""
    if b._data.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    for name, t in (("mat1", a), ("mat2", b)):
        if t._data.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t._data.ndim}-D tensor")
    if a._data.shape[1] != b._data.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a._data.shape[0]}x{a._data.shape[1]} and "
                           f"{b._data.shape[0]}x{b._data.shape[1]})")
    into = (strided, sparse_csr) if is_sparse(a) and is_sparse(b) else (strided,)
    if (a.layout, b.layout) not in PRODUCTS or result not in into and not result is a.layout is b.layout is sparse_csc or (
            result is strided and a.layout is sparse_csc and b.layout is sparse_csr):
        words = [NAMES.get(lay, "Strided") for lay in (result, a.layout, b.layout)]
        raise RuntimeError(f"addmm: computation on CPU is not implemented for {words[0]} + {words[1]} @ {words[2]}")


@kernel("mm", on=BOTH)
def _mm(input: Tensor, mat2: Tensor) -> Tensor:
    if any([t._data.__class__ is Compressed for t in (input, mat2)]):
        result = strided
        if is_sparse(input) and is_sparse(mat2):
            _block_free(input)
            result = sparse_csr if (input.layout, mat2.layout) in PRODUCTS else input.layout
        _compressed_pair(result, input, mat2)
        _same_dtype(*((mat2, input) if is_sparse(input) else (input, mat2)))
    else:
        _fits(input, mat2)
        _same_dtype(input, mat2)
    return _product(input, mat2)


def _block_free(x: Tensor) -> None:
    """Raises where a result would have to have blocks."""
    if x._k.special in (sparse_bsr, sparse_bsc):
        raise RuntimeError("zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                           f"{NAMES[x._k.special]}")


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices that fit, of which one or both are sparse: dense, or of coordinates, or CSR."""
    if not is_sparse(b):
        return by_dense(matrix_of(a), b)
    if not is_sparse(a):
        m = matrix_of(b)
        turned = Coo(m.shape[::-1], index_tensor(m.indices._data[::-1]), m.values)
        return F.t(by_dense(turned, F.t(a)))
    product = by_sparse(matrix_of(a), matrix_of(b))
    if a._k.special is sparse_coo and b._k.special is sparse_coo:
        return sparse(product)
    return sparse(compressed_of(product, sparse_csr))


@kernel("mv")
def _mv(input: Tensor, vec: Tensor) -> Tensor:
    if input._data.ndim != 2 or vec._data.ndim != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {input._data.ndim}Tensor Dim: "
                           f"{vec._data.ndim}")
    if input._data.shape[-1] != vec._data.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return F.squeeze(by_dense(matrix_of(input), F.unsqueeze(vec, 1)), 1)


@kernel("mv", on=(COMPRESSED,))
def _compressed_mv(input: Tensor, vec: Tensor) -> Tensor:
    return _by_vector(input, vec, 1)


def _by_vector(mat: Tensor, vec: Tensor, rank: int) -> Tensor:
    if mat._data.ndim != 2 or vec._data.ndim != 1 or rank > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {rank}, {mat._data.ndim}, {vec._data.ndim}")
    if mat._data.shape[1] != vec._data.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({mat._data.shape[0]}), mat ({mat._data.shape[0]}x{mat._data.shape[1]}), vec "
                           f"({vec._data.shape[0]})")
    if mat._k.special is sparse_bsc:
        raise RuntimeError("torch.addmv: operation not supported for mat with SparseBsc layout")
    return F.squeeze(by_dense(matrix_of(mat), F.unsqueeze(vec, 1)), 1)


@kernel("addmv", on=(COMPRESSED,))
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    return plus(input, _by_vector(mat, vec, input._data.ndim), beta, alpha)


def _no_batches(name: str) -> None:
    """Enters a product of batches, which torch has for the GPU alone."""
    def function(*args: Tensor) -> Tensor:
        mats = args[-2:] if name == "bmm" else args[1:3]
        for i, t in enumerate(mats):
            if t._data.ndim != 3:
                raise RuntimeError(f"batch{i + 1} must be a 3D tensor")
        raise could_not_run(f"{name}.out", "SparseCsrCPU")

    composite(name, on=(COMPRESSED,))(function)


_no_batches("bmm")
_no_batches("baddbmm")


@composite("triangular_solve", on=(COMPRESSED,))
def _triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
                      unitriangular: bool = False) -> tuple[Tensor, Tensor]:
    """X with A X = `input`, one row after the other; of a sparse A no copy is made."""
    if is_sparse(input):
        raise could_not_run("empty_strided", "SparseCsrCPU")
    for name, t in (("b", input), ("A", A)):
        if t._data.ndim != 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t._data.ndim} "
                               "dimensions instead")
    check_equation("triangular_solve", A, input)
    if A._k.special not in (sparse_csr, sparse_bsr):
        raise ValueError("triangular_solve: unsupported sparse layout.")
    b = coordinates(A._data)
    if transpose:
        b, upper = Coo(b.shape[::-1], index_tensor(b.indices._data[::-1]), b.values), not upper
    with unrecorded():
        solution = F.wrap(_solved(in_order(b), input._data, upper, unitriangular), input._k)

    def back(g: Tensor) -> Tensor:
        return _triangular_solve(g, F.conj_physical(A), upper is transpose, not transpose, unitriangular)[0]

    def of_matrix(g: Tensor) -> Tensor:
        raise could_not_run("triangular_solve.X", "SparseCsrCPU")

    found = recorded(solution, "TriangularSolveBackward0", (input, back), (A, of_matrix))
    return F.returned(get_record("triangular_solve"))(found, F.empty((0,), dtype=A._k.dtype))


def _solved(m: Coo, right: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """The solution of a system whose matrix counts on one side of its diagonal, from the row that has one unknown on."""
    rows, cols = m.indices._data
    x, starts, values = right.copy(), np.searchsorted(rows, np.arange(m.shape[0] + 1)), m.values._data
    with ignoring():
        for i in range(m.shape[0] - 1, -1, -1) if upper else range(m.shape[0]):
            at = slice(starts[i], starts[i + 1])
            known = cols[at] > i if upper else cols[at] < i
            x[i] -= values[at][known] @ x[cols[at][known]]
            if not unit:
                x[i] /= values[at][cols[at] == i].sum()
    return x


@composite("matmul", on=BOTH)
def _matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._data.ndim, other._data.ndim
    if a == b == 2:
        return F.mm(input, other)
    if a == 2 and b == 1:
        return F.mv(input, other)
    if a == b == 1:
        return F.dot(input, other)
    if a == 1 and b == 2:
        return F.squeeze(F.mm(F.unsqueeze(input, 0), other), 0)
    x = input if is_sparse(input) else other
    raise RuntimeError(f"expand is unsupported for {NAMES[x._k.special]} tensors")


@composite("mm_nt", on=BOTH)
def _mm_nt(input: Tensor, mat2: Tensor) -> Tensor:
    return F.mm(input, F.t(mat2))


@composite("mm_tn", on=BOTH)
def _mm_tn(input: Tensor, mat2: Tensor) -> Tensor:
    return F.mm(F.t(input), mat2)


@composite("linear", on=BOTH)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product = F.matmul(input, F.t(weight))
    return product if bias is None else F.add(product, bias)


@kernel("addmm", on=BOTH)
def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    if not any([t._data.__class__ is Compressed for t in (input, mat1, mat2)]):
        if is_sparse(input):
            raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
        if is_sparse(mat2):
            raise RuntimeError("addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got "
                               f"'mat1' with layout {NAMES.get(mat1._k.special, 'Strided')} and 'mat2' with layout Sparse")
        return plus(input, _mm(mat1, mat2), beta, alpha)
    _compressed_pair(input.layout, mat1, mat2)
    product = _product(mat1, mat2)
    if not is_sparse(input):
        return plus(input, product.to_dense() if is_sparse(product) else product, beta, alpha)
    if tuple(input.shape) != tuple(product.shape):
        raise RuntimeError(f"The expanded size of the tensor {list(product.shape)} must match the existing size {list(input.shape)}")
    if beta == 0:  # whatever is there, be it NaN
        return sparse(compressed_of(in_order(coordinates((product if alpha == 1 else F.mul(product, alpha))._data)), input.layout))
    a, b = [in_order(coordinates(t._data)) for t in (input, product)]
    total = add_coo(a.over(a.values if beta == 1 else F.mul(a.values, beta)), b, alpha)
    return sparse(compressed_of(total, input.layout))


def plus(input: Tensor, product: Tensor, beta: Number, alpha: Number) -> Tensor:
    """beta input + alpha product, the input broadcast to the product."""
    product = product if alpha == 1 else F.mul(product, alpha)
    if beta == 0:
        return product
    if is_sparse(input):
        return F.add(product, input, alpha=beta)
    shape = tuple(product.shape)
    try:
        input = F.expand(input, shape)
    except RuntimeError:
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[0]}) must match the existing size ({input.shape[0]}) at non-singleton dimension 1.  "
            f"Target sizes: {list(shape)}.  Tensor sizes: {list(input.shape)}") from None
    return F.add(product, input if beta == 1 else F.mul(input, beta))


@kernel("bmm")
def _bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if not is_sparse(input):
        turned = F.transpose(mat2, 1, 2)
        return F.transpose(_bmm(turned, F.transpose(input, 1, 2)), 1, 2)
    if is_sparse(mat2):
        raise could_not_run("bmm", "SparseCPU")
    b = input._data
    if b.sparse_dim != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {b.sparse_dim}")
    if mat2._data.ndim != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {mat2._data.ndim}")
    if b.shape[0] != mat2._data.shape[0]:
        raise RuntimeError("bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match")
    if b.shape[2] != mat2._data.shape[1]:
        raise RuntimeError("bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match")
    batch, rows, cols = b.indices._data
    n, m, k = b.shape
    flat = Coo((n * m, n * k), index_tensor(np.stack([batch * m + rows, batch * k + cols])), b.values)
    return F.reshape(by_dense(flat, F.reshape(mat2, (n * k, mat2._data.shape[2]))), (n, m, mat2._data.shape[2]))


# -- those of torch.sparse ------------------------------------------------------------------------------------------------------


def picked_product(a: Tensor, b: Tensor, like: Tensor) -> Tensor:
    """The values of a @ b where a sparse tensor has elements, from the rows and columns that they need; recorded."""
    *batch, rows, cols = matrix_of(like).indices._data
    if batch:  # one matrix below the other
        which = flat_index(np.stack(batch), like._data.shape[:len(batch)])
        rows, cols = which * a._data.shape[-2] + rows, which * b._data.shape[-1] + cols
        a, b = [F.reshape(t, (-1, t._data.shape[-1])) for t in (a, F.transpose(b, -2, -1))]
    else:
        b = F.t(b)
    return F.sum(F.mul(F.index_select(a, 0, index_tensor(rows)), F.index_select(b, 0, index_tensor(cols))), 1)


def _sampled(x: Tensor, a: Tensor, b: Tensor) -> None:
    """Raises where a product has no elements at the places of those of a sparse tensor."""
    for name, t in (("mat1", a), ("mat2", b)):
        if is_sparse(t):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {NAMES[t._k.special]}")
    if x._k.special is not sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {NAMES.get(x._k.special, 'Strided')}")
    names = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (x, a, b)]
    if names[1] != names[2]:
        raise RuntimeError(f"sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got {names[1]} and {names[2]}")
    if names[0] != names[1]:
        raise RuntimeError(f"sampled_addmm: Expected self and mat1 to have the same dtype, but got {names[0]} and {names[1]}")
    for name, t in (("mat1", a), ("mat2", b)):
        if t._data.ndim < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {t._data.ndim}-D tensor")
    batches = [list(t._data.shape[:-2]) for t in (x, a, b)]
    if batches[1] != batches[2]:
        raise RuntimeError(f"sampled_addmm: Expected mat1 and mat2 to have the same batch size, but got {batches[1]} and {batches[2]}")
    if batches[0] != batches[1]:
        raise RuntimeError(f"sampled_addmm: Expected self and mat1 to have the same batch size, but got {batches[0]} and {batches[1]}")
    if a._data.shape[-1] != b._data.shape[-2]:
        sizes = ["x".join(map(str, t._data.shape[-2:])) for t in (a, b)]
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({sizes[0]} and {sizes[1]})")
    for at, name, t in ((-2, "mat1", a), (-1, "mat2", b)):
        if x._data.shape[at] != t._data.shape[at]:
            raise RuntimeError(f"sampled_addmm: self.shape[{at}] must match {name}.shape[{at}]")


def _conjugate(t: Tensor) -> Tensor:
    return F.conj(t) if t._k.dtype.is_complex else t


def sparse_addmm(input: Any, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha mat1 @ mat2, with a gradient for a sparse `mat1` where it has elements only."""
    with unrecorded():
        product = _mm(plain(mat1), plain(mat2))
        result = plus(plain(input), product, beta, alpha) if input is not None else product if alpha == 1 else F.mul(product, alpha)

    def of_sparse(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
        g = g if alpha == 1 else g * alpha
        return with_values(mat1._data, picked_product(g, _conjugate(F.t(mat2)), mat1))

    def of_dense(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
        product = F.mm(_conjugate(F.t(mat1)), g)
        return product if alpha == 1 else product * alpha

    def of_input(g: Tensor, *_: Tensor) -> Tensor:
        g = g if beta == 1 else g * beta
        return g if tuple(g.shape) == tuple(input.shape) else F.reduce_to_shape(g, tuple(input.shape))

    return recorded(result, "SparseAddmmBackward0", (input, of_input), (mat1, of_sparse), (mat2, of_dense), saves=(mat1, mat2))


def _kept(product: Tensor, like: Tensor) -> Tensor:
    """A product that is zero where a tensor has no elements."""
    there = np.isin(product._data.flat(), like._data.flat())
    return with_values(product._data, F.mul(values_of(product), F.cast(F.wrap(there), product._k.dtype)))


def sparse_sparse_matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse matrices, whose gradients are where these have elements only."""
    def left(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return _kept(coalesce(F.mm(g, _conjugate(F.t(b)))), a)

    def right(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return _kept(coalesce(F.mm(_conjugate(F.t(a)), g)), b)

    if a._data.ndim != 2 or b._data.ndim != 2:
        name = "mat1_" if a._data.ndim != 2 else "mat2_"
        raise RuntimeError(f"Expected {name}.dim() == 2 to be true, but got false.  (Could this error message be improved?  If so, please "
                           "report an enhancement request to PyTorch.)")
    with unrecorded():
        _fits(a, b)
        if a._k.dtype is not b._k.dtype:
            raise RuntimeError(f"mat1 dtype {SCALAR_TYPE_NAMES[a._k.dtype.name]} does not match mat2 dtype "
                               f"{SCALAR_TYPE_NAMES[b._k.dtype.name]}")
        product = sparse(by_sparse(a._data, b._data))
    return recorded(product, "SparseSparseMatmulBackward0", (a, left), (b, right), saves=(a, b))


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    """The product of a sparse and a dense matrix, or of two sparse ones; the gradient of a sparse one is where it has elements only.

    Args:
        reduce: "sum", "mean", "amax" or "amin" of the terms, of a matrix of layout CSR.

    >>> import torchcompat as torch
    >>> x = torch.tensor([[0., 2.], [3., 0.]]).to_sparse().requires_grad_()
    >>> torch.sparse.mm(x, torch.ones(2, 1)).sum().backward()
    >>> x.grad
    tensor(indices=tensor([[0, 1],
                           [1, 0]]),
           values=tensor([1., 1.]),
           size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    if reduce is not None:
        return _mm_reduce(mat1, mat2, reduce)
    a, b = is_sparse(mat1), is_sparse(mat2)
    if a and b:
        if mat1._k.special is sparse_coo and mat2._k.special is sparse_coo:
            return sparse_sparse_matmul(mat1, mat2)
        _block_free(mat2)
        _compressed_pair(mat2.layout, mat1, mat2)  # torch multiplies into a matrix like the second one
        return F.mm(mat1, mat2).to_sparse(layout=mat2.layout)
    if a:
        _fits(mat1, mat2)
        return sparse_addmm(None, mat1, mat2)
    if b:
        return F.transpose(sparse_addmm(None, F.transpose(mat2, 0, 1), F.transpose(mat1, 0, 1)), 0, 1)
    return F.mm(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1.0, alpha: Number = 1.0) -> Tensor:
    """beta mat + alpha mat1 @ mat2 with a sparse `mat1`, whose gradient is where it has elements only."""
    if not is_sparse(mat1):
        return F.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    _fits(mat1, mat2)
    return sparse_addmm(mat, mat1, mat2, beta, alpha)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1.0, alpha: Number = 1.0,
                  out: Tensor | None = None) -> Tensor:
    """beta input + alpha mat1 @ mat2 where a matrix of layout CSR has elements."""
    backends = [t._k.special for t in (input, mat1, mat2) if is_sparse(t)]
    if all([lay is sparse_coo for lay in backends]):
        raise could_not_run("sparse_sampled_addmm", "SparseCPU" if backends else "CPU")
    _sampled(input, mat1, mat2)
    with unrecorded():
        terms = F.reshape(F.mul(picked_product(plain(mat1), plain(mat2), input), alpha), tuple(input._data.values.shape))
        values = terms if beta == 0 else F.add(terms, F.mul(input._data.values, beta))
        result = sparse(input._data.over(values))

    def of_input(g: Tensor, *_: Tensor) -> Tensor:
        return g if beta == 1 else g * beta

    def of_left(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
        product = F.mm(g, _conjugate(F.t(mat2)))
        return product if alpha == 1 else product * alpha

    def of_right(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
        product = F.mm(_conjugate(F.t(mat1)), g)
        return product if alpha == 1 else product * alpha

    made = recorded(result, "SparseSampledAddmmBackward0", (input, of_input), (mat1, of_left), (mat2, of_right), saves=(mat1, mat2))
    if out is None:
        return made
    out._data = made._data
    return out


def _mm_reduce(x: Tensor, d: Tensor, reduce: str) -> Tensor:
    """Each row's terms reduced: `torch.sparse.mm(x, d, reduce)`."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if x._k.special is not sparse_csr:
        raise RuntimeError("Expected self to have sparse csr layout, got " + str(x.layout)) if is_sparse(x) else could_not_run(
            "_sparse_mm_reduce_impl", "CPU")
    m = matrix_of(x)
    rows, cols = m.indices._data
    n, width = m.shape[0], d._data.shape[1]
    counts = np.bincount(rows, minlength=n)

    def per_row(t: np.ndarray) -> Tensor:
        return F.cast(F.wrap(t.reshape(-1, 1)), d._k.dtype)

    with unrecorded():
        terms = F.mul(F.unsqueeze(m.values, 1), F.index_select(plain(d), 0, index_tensor(cols)))
        if reduce in ("sum", "mean"):
            share = np.ones(len(rows)) if reduce == "sum" else 1.0 / counts[rows]
            result = summed(terms, rows, n)
            result = result if reduce == "sum" else F.div(result, per_row(np.maximum(counts, 1)))
            weight: Any = per_row(share)
        else:
            index = F.expand(F.wrap(rows.reshape(-1, 1)), (len(rows), width))
            result = F.scatter_reduce(F.zeros((n, width), dtype=d._k.dtype), 0, index, terms, reduce, include_self=False)
            chosen = terms._data == result._data[rows]
            # Of several that are the same, the first one.
            first = np.full((n, width), len(rows))
            np.minimum.at(first, rows, np.where(chosen, np.arange(len(rows))[:, None], len(rows)))
            weight = F.cast(F.wrap(np.arange(len(rows))[:, None] == first[rows]), d._k.dtype)

    def of_sparse(g: Tensor, x: Tensor, d: Tensor) -> Tensor:
        spread = F.mul(F.index_select(g, 0, index_tensor(rows)), weight)
        return with_values(x._data, F.sum(F.mul(spread, F.index_select(d, 0, index_tensor(cols))), 1))

    def of_dense(g: Tensor, x: Tensor, d: Tensor) -> Tensor:
        spread = F.mul(F.index_select(g, 0, index_tensor(rows)), weight)
        return summed(F.mul(spread, F.unsqueeze(values_of(x), 1)), cols, d._data.shape[0])

    return recorded(result, "SparseMmReduceImplBackward0", (x, of_sparse), (d, of_dense), saves=(x, d))


# -- hybrid results ---------------------------------------------------------------------------------------------------------------


@overridable
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a tensor whose rows are sparse."""
    b = in_order(mat1._data)
    _fits(mat1, mat2)
    with unrecorded():
        rows = np.unique(b.indices._data[0])
        dense = by_dense(b, plain(mat2))
        return sparse(Coo((b.shape[0], mat2._data.shape[1]), index_tensor(rows[None]), F.index_select(dense, 0, index_tensor(rows))))


@overridable
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha mat1 @ mat2, of two sparse matrices and a dense one, as a sparse one."""
    rows, cols = mat1.shape[0], mat2.shape[1]
    if input.shape[0] != rows:
        raise RuntimeError(f"sspaddmm: Argument #1: Expected dim 0 size {rows}, got {input.shape[0]}")
    if input.shape[1] != cols:
        raise RuntimeError(f"sspaddmm: Argument #1: Expected dim 1 size {cols}, got {input.shape[1]}")
    h = hspmm(mat1, mat2)._data
    there = np.repeat(h.indices._data[0], cols), np.tile(np.arange(cols), h.nnz)
    with unrecorded():
        product = Coo((rows, cols), index_tensor(np.stack(there)), F.mul(F.reshape(h.values, (-1,)), alpha), True)
        values = F.cat([F.mul(input._data.values, beta), product.values])
        return sparse(Coo((rows, cols), index_tensor(np.concatenate([input._data.indices._data, product.indices._data], 1)), values))


@overridable
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse one."""
    return sspaddmm(sparse(Coo((input.shape[0], mat2.shape[1]), index_tensor(np.zeros((2, 0))), mat2.new_zeros(0), True)), input, mat2)


dsmm, hsmm, saddmm = F.mm, hspmm, addmm
"""Old names."""
__all__ = ["addmm", "hspmm", "matrix_of", "mm", "sampled_addmm", "smm", "sparse_bsc", "sparse_bsr", "sspaddmm"]
