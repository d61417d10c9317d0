"""Calls on sparse tensors: expressions over a few tensors, made anew for each, and functions whose gradients are looked at."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

from tests.recording import Table


def tensors(torch: Any) -> dict[str, Any]:
    """What expressions may name: x and y are not in order, z is; h has dense dimensions; c, r, b, e are compressed."""
    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    v = torch.tensor([3.0, 4.0, 5.0])
    d = torch.arange(6.0).reshape(2, 3) + 1
    n = torch.tensor([[0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -3.0], [0.0, 4.0, 5.0, 0.0]], dtype=torch.float64)
    return {
        "torch": torch, "F": torch.nn.functional, "i": i, "v": v, "d": d, "n": n, "io": io, "pickle": pickle, "copy": copy,
        "x": torch.sparse_coo_tensor(i, v.clone(), (2, 3)),
        "y": torch.sparse_coo_tensor([[1, 0, 1, 1], [1, 2, 0, 1]], [1.0, -2.0, 0.5, 7.0], (2, 3)),
        "z": torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.25, -1.5, 0.5], (2, 3)).coalesce(),
        "h": torch.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]], (3, 2)),
        "k": torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [2, -3, 4], (2, 3)),
        "q": torch.sparse_coo_tensor(i, torch.tensor([1 + 2j, 3j, -1.5]), (2, 3)),
        "s": torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0], [0, 2, 1]], [1.0, 2.0, 3.0], (2, 2, 3)),
        "o": torch.sparse_coo_tensor((2, 3)), "one": torch.sparse_coo_tensor([[0]], [2.0], (1,)),
        "t0": torch.sparse_coo_tensor(torch.zeros(0, 2, dtype=torch.int64), torch.tensor([2.0, 3.0]), ()),
        "c": n.to_sparse_csr(), "r": n.to_sparse_csc(), "b": n.to_sparse_bsr((2, 2)), "e": n.to_sparse_bsc((2, 2)),
        "c2": torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3)),
    }


def described(value: Any) -> Any:
    """A result as JSON has it."""
    if hasattr(value, "layout") and hasattr(value, "dtype"):
        name = value.grad_fn.name() if value.grad_fn is not None else None
        head = [str(value.layout), str(value.dtype), list(value.shape), bool(value.requires_grad), name]
        value = value.detach()
        if str(value.layout) == "torch.strided":
            return [*head, numbers(value)]
        if str(value.layout) == "torch.sparse_coo":
            return [*head, value.is_coalesced(), numbers(value._indices()), list(value._values().shape), numbers(value._values())]
        by_rows = str(value.layout) in ("torch.sparse_csr", "torch.sparse_bsr")
        parts = (value.crow_indices(), value.col_indices()) if by_rows else (value.ccol_indices(), value.row_indices())
        return [*head, str(parts[0].dtype), *[numbers(p) for p in parts], list(value.values().shape), numbers(value.values())]
    if isinstance(value, (tuple, list)):
        return [described(v) for v in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def numbers(t: Any) -> Any:
    """The elements, in one list."""
    t = t.detach().resolve_conj().resolve_neg() if hasattr(t, "resolve_conj") else t
    if t.dtype.is_complex:
        return [[z.real, z.imag] for z in t.reshape(-1).tolist()]
    return t.reshape(-1).tolist()


def told(error: Exception) -> list[str]:
    """An error: its type and what torch says before it lists backends and versions."""
    text = str(error).split("This could be because")[0].split("\n")[0].split(" INTERNAL ASSERT FAILED")[0]
    return ["error", type(error).__name__, text.strip()]


CALLS = r"""
x
y.coalesce()
repr(x)
repr(z)
repr(h)
repr(k)
repr(q)
repr(o)
repr(t0)
repr(x.double())
repr(x.requires_grad_())
repr(x.requires_grad_() * 2)
str(x)
repr(torch.nn.Parameter(x))
repr(torch.eye(40).to_sparse())
repr(c)
repr(r)
repr(b)
repr(e)
repr(c2)
repr(c.requires_grad_())
x.layout
d.layout
c.layout
(x.is_sparse, d.is_sparse, c.is_sparse, x.is_sparse_csr, c.is_sparse_csr, b.is_sparse_csr)
(x.sparse_dim(), x.dense_dim(), h.sparse_dim(), h.dense_dim(), d.sparse_dim(), d.dense_dim(), c.sparse_dim(), c.dense_dim())
(x._nnz(), y._nnz(), c._nnz(), b._nnz(), x._dimI(), h._dimV())
(x.shape, x.size(), x.size(1), x.dim(), x.ndim, x.numel(), len(x), x.element_size(), x.itemsize)
(x.type(), c.type(), x.dtype, x.device, x.is_floating_point(), q.is_complex())
x.stride()
c.stride()
x.is_contiguous()
c.is_contiguous()
x.contiguous()
x.storage_offset()
x.data_ptr()
x.untyped_storage()
x.nbytes
x.numpy()
x.tolist()
x.item()
one.item()
torch.sparse_coo_tensor(size=(1,)).item()
float(one)
bool(one)
bool(x)
x.is_pinned()
x.is_shared()
x.indices()
x.values()
x._indices()
x._values()
z.indices()
z.values()
d.indices()
d.values()
d.coalesce()
d._values()
d._indices()
d._nnz()
d._dimI()
d.crow_indices()
d.ccol_indices()
x.crow_indices()
c.crow_indices()
c.col_indices()
c.row_indices()
r.ccol_indices()
r.row_indices()
b.crow_indices()
b.values()
c.indices()
c.values()
c.coalesce()
d.is_coalesced()
c.is_coalesced()
(x.is_coalesced(), z.is_coalesced(), y.coalesce().is_coalesced())
x._coalesced_(True).is_coalesced()
x.coalesce() is x
z.coalesce() is z
h.coalesce()
k.coalesce()
q.coalesce()
torch.sparse_coo_tensor([[0, 0]], [True, False]).coalesce()
torch.sparse_coo_tensor([[0, 0]], torch.tensor([1.5, 2.5], dtype=torch.float16)).coalesce()
torch.sparse_coo_tensor([[0, 0]], torch.tensor([1.5, 2.5], dtype=torch.bfloat16)).coalesce()
x.to_dense()
h.to_dense()
t0.to_dense()
o.to_dense()
k.to_dense()
q.to_dense()
s.to_dense()
d.to_dense()
x.to_dense(torch.float64)
d.to_dense(torch.float64)
c.to_dense()
r.to_dense()
b.to_dense()
e.to_dense()
d.to_sparse()
n.to_sparse()
n.to_sparse(1)
d.to_sparse(0)
d.to_sparse(3)
x.to_sparse()
x.to_sparse(1)
x.to_sparse(2)
torch.tensor(3.).to_sparse()
torch.tensor([True, False]).to_sparse()
n.half().to_sparse()
n.bfloat16().to_sparse()
n.to(torch.complex64).to_sparse()
torch.zeros(2, 0).to_sparse()
n.to_sparse(layout=torch.sparse_csr)
n.to_sparse(layout=torch.strided)
d.to_sparse(layout=torch.sparse_bsr)
d.to_sparse(layout=torch.sparse_bsr, blocksize=(2, 3))
d.to_sparse(blocksize=(2, 3))
d.to_sparse(2, layout=torch.sparse_coo)
n.to_sparse_csr()
n.to_sparse_csc()
n.to_sparse_bsr((2, 2))
n.to_sparse_bsr(2)
n.to_sparse_bsc((1, 2))
d.to_sparse_bsr((2, 2))
d.to_sparse_csr(dense_dim=1)
torch.ones(2, 3, 2).to_sparse_csr(dense_dim=1)
torch.stack([n, n]).to_sparse_csr()
torch.stack([n, n]).to_sparse_bsr((2, 2))
torch.stack([d, d]).to_sparse_csr()
d[0].to_sparse_csr()
x.to_sparse_csr()
y.to_sparse_csr()
x.to_sparse_csc()
z.to_sparse_bsr((1, 3))
z.to_sparse_bsr((2, 2))
c.to_sparse()
r.to_sparse()
b.to_sparse()
e.to_sparse()
c.to_sparse_csc()
c.to_sparse_csr() is c
c.to_sparse_bsr((2, 2))
b.to_sparse_csr()
b.to_sparse_bsc((2, 2))
x.sparse_mask(z)
d.sparse_mask(x)
d.sparse_mask(z)
d.sparse_mask(d)
x.sparse_mask(d)
n.sparse_mask(c)
c.sparse_mask(c)
d.sparse_mask(h)
torch.sparse_coo_tensor(i, v)
torch.sparse_coo_tensor(i, v, (2, 4))
torch.sparse_coo_tensor(i.int(), v, (2, 3))
torch.sparse_coo_tensor(i.float(), v, (2, 3))
torch.sparse_coo_tensor(i, v, (2, 3, 1))
torch.sparse_coo_tensor(i, v[:2], (2, 3))
torch.sparse_coo_tensor(i[0], v)
torch.sparse_coo_tensor(i - 1, v)
torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)
torch.sparse_coo_tensor(i - 1, v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor(i, v, (-1, 3))
torch.sparse_coo_tensor([[0, 0]], [1., 2.], (2,), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor(i, v, (2, 3), is_coalesced=True)
torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.complex64)
torch.sparse_coo_tensor(i, v, (2, 3), requires_grad=True)
torch.sparse_coo_tensor(i, v.int(), (2, 3), requires_grad=True)
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor((2, 3), dtype=torch.int32)
torch.sparse_coo_tensor(size=(2, 3))
torch.sparse_coo_tensor((2, -3))
torch.sparse_coo_tensor(torch.zeros(0, 1), torch.tensor([2.]), ())
torch.sparse_coo_tensor(torch.zeros(2, 0), torch.zeros(0))
torch.sparse_coo_tensor(torch.zeros(2, 0), torch.zeros(0), (3,))
torch.sparse_coo_tensor([[0, 1]], [1, 2])
torch.sparse_coo_tensor([[0, 1]], [[1, 2], [3, 4]])
torch.sparse_coo_tensor([[0, 1]], [1.])
torch.sparse_coo_tensor([[0]], 1.)
torch.sparse_coo_tensor(1, 2)
torch.sparse_coo_tensor(i, torch.ones(3, 2), (2, 3, 4))
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.])
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], (2, 4), dtype=torch.float64)
torch.sparse_csr_tensor(torch.tensor([0, 1, 3], dtype=torch.int32), torch.tensor([2, 0, 2], dtype=torch.int32), v, (2, 3))
torch.sparse_csc_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.])
torch.sparse_bsr_tensor([0, 1], [0], [[[1., 2.], [3., 4.]]])
torch.sparse_bsc_tensor([0, 1], [0], [[[1., 2.], [3., 4.]]], (2, 2))
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], layout=torch.sparse_csr)
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.])
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 2, 0], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 2], [2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([1, 1, 3], [2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([0, 3], [2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 0], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([0, 2, 1], [2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [-2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.empty((2, 3), layout=torch.sparse_coo)
torch.zeros((2, 3), layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_coo, dtype=torch.float64)
torch.ones((2, 3), layout=torch.sparse_coo)
torch.full((2, 3), 2., layout=torch.sparse_coo)
torch.zeros((2, 3), layout=torch.sparse_csr)
torch.zeros_like(x)
torch.zeros_like(h)
torch.empty_like(x)
torch.ones_like(x)
torch.zeros_like(d, layout=torch.sparse_coo)
torch.zeros_like(x, layout=torch.strided)
torch.rand_like(x)
torch.zeros_like(c)
torch.ones_like(c)
x.new_zeros(2, 2)
x.new_empty((2, 2))
x.new_ones(2, 2)
x + x
x + y
y + x
z + z
x + z
h + h
k + k
x + x.double()
x + 1
1 + x
x + d
d + x
d + y
d.double() + x
d - x
x - d
x - y
torch.add(x, y, alpha=2)
torch.sub(x, y, alpha=2)
torch.add(d, y, alpha=-3)
x + h
x + torch.sparse_coo_tensor((2, 2))
d + torch.sparse_coo_tensor((2, 2))
x + o
o + o
s + s
q + q
x * 2
2 * x
x * 2.5
k * 2.5
k * 2
x * torch.tensor(2.)
x * torch.tensor(2., dtype=torch.float64)
x * d
d * x
x * d[0]
x * torch.ones(2, 1)
x * torch.ones(2, 2, 3)
x * torch.ones(2)
x * y
z * z
x * z
y * y
h * h
h * torch.arange(6.).reshape(3, 2)
x * torch.sparse_coo_tensor([[0]], [2.], (3,))
x * o
x / 2
k / 2
x / torch.tensor(2.)
2 / x
x / d
x / x
d / x
x // 2
x.div(2, rounding_mode="floor")
x.div(2, rounding_mode="trunc")
x.div(2.5)
x % 2
x ** 2
x ** 0
x ** 0.5
x ** x
2 ** x
x.square()
y.square()
-x
-y
+x
abs(y)
y.abs()
y.neg()
y.sin()
y.asin()
y.asinh()
y.atan()
y.atanh()
y.sinh()
y.tan()
y.tanh()
y.sqrt()
y.erf()
y.erfinv()
y.expm1()
y.log1p()
y.floor()
y.ceil()
y.round()
y.trunc()
y.frac()
y.sign()
y.sgn()
y.relu()
F.relu(y)
y.isnan()
y.isinf()
y.isposinf()
y.isneginf()
y.signbit()
y.nan_to_num(0)
y.deg2rad()
y.rad2deg()
y.positive()
q.conj_physical()
q.abs()
q.sgn()
k.sin()
k.sign()
k.abs()
y.cos()
y.exp()
y.log()
y.sigmoid()
y.reciprocal()
y.clamp(0, 1)
y.gelu() if hasattr(y, "gelu") else F.gelu(y)
c.sin()
c.abs()
c.neg()
c.sqrt()
c.relu()
c.cos()
c.sign()
c.isnan()
b.sin()
x.sum()
y.sum()
x.sum(0)
y.sum(1)
x.sum(-1)
x.sum((0, 1))
x.sum(0, keepdim=True)
x.sum(2)
x.sum((0, 0))
x.sum(dtype=torch.int64)
x.sum(0, dtype=torch.float64)
k.sum()
k.sum(0)
h.sum(0)
h.sum(1)
s.sum((0, 2))
torch.sparse.sum(x)
torch.sparse.sum(y, 0)
torch.sparse.sum(y, (0, 1))
torch.sparse.sum(h, 1)
torch.sparse.sum(h, 0)
torch.sparse.sum(h, (0, 1))
torch.sparse.sum(s, (0, 2))
torch.sparse.sum(x, dtype=torch.float64)
torch.sparse.sum(x, (0,), dtype=torch.float64)
torch.sparse.sum(d)
torch.sparse.sum(k)
c.sum()
c.sum(0)
c.sum(0, keepdim=True)
c.sum(1, keepdim=True)
x.mean()
x.prod()
x.max()
x.any()
x.all()
x.any(0)
x.norm()
y.norm(1)
y.norm(float("inf"))
x.norm(2, 0)
x.std()
x.argmax()
x.cumsum(0)
x.mm(d.t())
y.mm(d.t())
x @ d.t()
x @ d[0]
x.mv(d[0])
x.matmul(d.t())
d.t() @ x
d @ x.t()
x @ x.t()
y @ x.t()
x.mm(x.t())
x.mm(torch.ones(2, 2))
x.mv(torch.ones(2))
x.mm(torch.ones(3))
x.mm(d.t().double())
x @ torch.ones(2, 3, 2)
d[0] @ x.t()
k.mm(torch.ones(3, 2, dtype=torch.int64))
q.mm(torch.ones(3, 2, dtype=torch.complex64))
o.mm(d.t())
s.bmm(torch.ones(2, 3, 2))
torch.bmm(s, torch.arange(12.).reshape(2, 3, 2))
x.bmm(d)
s @ torch.ones(2, 3, 2)
torch.sparse.mm(x, d.t())
torch.sparse.mm(d, x.t())
torch.sparse.mm(x, y.t())
torch.sparse.mm(d, d.t())
torch.sparse.mm(x, torch.ones(3))
torch.sparse.addmm(torch.ones(2, 2), x, d.t(), beta=2, alpha=3)
torch.sparse.addmm(torch.ones(2), x, d.t())
torch.sparse.addmm(torch.ones(3, 3), x, d.t())
torch.addmm(torch.ones(2, 2), x, d.t(), beta=2, alpha=3)
torch.addmm(x, d, d.t())
torch.hspmm(x, d.t())
torch.smm(x, d.t())
x.smm(d.t())
torch.sspaddmm(torch.sparse_coo_tensor((2, 2)), x, d.t())
torch.sspaddmm(torch.eye(2).to_sparse(), x, d.t(), beta=2, alpha=0.5)
torch.sspaddmm(x, x, d.t())
F.linear(d, x)
F.linear(x, d)
torch.einsum('ij,jk->ik', x, d.t())
torch.dot(x[0], x[0])
c @ n
c.mm(n)
n @ c
c @ n[0]
c.mv(n[0])
r @ n
b @ n
c @ c
torch.addmm(n, c, n)
torch.sparse.mm(c, n)
torch.sparse.mm(c, n, "sum")
torch.sparse.mm(c, n, "mean")
torch.sparse.mm(c, n, "amax")
torch.sparse.mm(c, n, "amin")
torch.sparse.mm(c, n, "max")
torch.sparse.sampled_addmm(c, n, n)
torch.sparse.sampled_addmm(c, n, n, beta=0.5, alpha=2.)
torch.sparse.sampled_addmm(n, n, n)
torch.sparse.spdiags(torch.arange(9.).reshape(3, 3) + 1, torch.tensor([0, -1, 2]), (3, 3))
torch.sparse.spdiags(torch.arange(9.).reshape(3, 3) + 1, torch.tensor([0, -1, 2]), (4, 5))
torch.sparse.spdiags(torch.ones(3), torch.tensor(1), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3), layout=torch.sparse_csr)
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 0]), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0]), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3, 3))
torch.sparse.softmax(y, 1)
torch.sparse.softmax(y, 0)
torch.sparse.softmax(h, 1)
torch.sparse.softmax(h, 0)
torch.sparse.log_softmax(y, 1)
torch.sparse.log_softmax(s, 2)
torch.sparse.softmax(x, 1, dtype=torch.float64)
torch.sparse.softmax(x, 2)
torch.sparse.softmax(d, 1)
x.softmax(1)
F.softmax(x, 1)
x.t()
z.t()
x.T
x.mT
x.H
q.H
x.adjoint()
x.transpose(0, 1)
h.transpose(0, 1)
s.transpose(0, 2)
s.permute(2, 0, 1)
x.permute(1, 0)
x.permute(0)
x.permute(0, 1)
x.transpose(0, 5)
x.t_()
c.t()
r.t()
b.t()
c.transpose(0, 1)
x.unsqueeze(0)
z.unsqueeze(1)
h.unsqueeze(2)
x.unsqueeze(5)
x.squeeze(0)
x.view(3, 2)
x.reshape(3, 2)
x.flatten()
x.expand(2, 2, 3)
x[0]
y[1]
x[-1]
x[0, 2]
y[1, 1]
x[:, 1]
h[0]
h[0, 1]
h[:, 1]
s[0]
s[1, 0]
x[5]
x[0, 5]
x[0:1]
x[...]
x[None]
x[torch.tensor([0])]
x[d > 2]
c[0]
c[0, 1]
b[0]
x.select(0, 1)
x.select(1, 2)
x.select(0, 7)
y.index_select(0, torch.tensor([1, 0, 1]))
y.index_select(1, torch.tensor([0, 2]))
z.index_select(1, torch.tensor([2, 0]))
h.index_select(1, torch.tensor([1]))
h.index_select(0, torch.tensor([2, 0]))
x.index_select(0, torch.tensor([5]))
x.index_select(0, torch.tensor([0.]))
x.narrow_copy(0, 1, 1)
h.narrow_copy(1, 0, 1)
x.narrow_copy(0, 1, 5)
x.narrow(0, 0, 1)
x.split(1)
x.chunk(2)
x.unbind()
list(x)
torch.cat([x, y])
torch.cat([x, y], 1)
torch.cat([h, h], 1)
torch.cat([z, z])
torch.cat([x, d])
torch.cat([x, x[0]])
torch.cat([x, x], 2)
torch.stack([x, y])
torch.stack([x, y], 2)
torch.stack([h, h], 1)
torch.hstack([x, y])
torch.vstack([x, y])
x.clone()
x.clone(memory_format=torch.contiguous_format)
z.clone().is_coalesced()
x.detach()
x.data
x.double()
x.half()
x.int()
x.bool()
x.to(torch.float64)
x.to(torch.complex64)
x.to("cpu") is x
x.to(x.dtype) is x
x.cpu() is x
c.double() is c
c.float()
x.type(torch.float64)
x.zero_()
x.fill_(1)
x.mul_(2)
x.add_(y)
x.add_(d)
x.sub_(y)
x.div_(2)
z.neg_()
z.abs_()
z.sqrt_()
z.relu_()
x.tanh_()
x.log1p_()
z.mul_(2).is_coalesced()
x.add_(x.double())
x.int().add_(x)
x.int().div_(2)
d.add_(x)
d.add_(y, alpha=2)
d.sub_(x)
d.mul_(x)
d.double().add_(x)
d.t().add_(x.t())
d.copy_(x)
x.copy_(y)
x.copy_(d)
x.copy_(torch.sparse_coo_tensor((3, 3)))
x.requires_grad_().add_(x)
x.requires_grad_().mul_(2)
x.sparse_resize_((4, 4), 2, 0)
x.sparse_resize_((1, 1), 2, 0)
x.sparse_resize_((4, 4), 1, 1)
x.sparse_resize_and_clear_((4, 4), 2, 0)
x.sparse_resize_and_clear_((4, 4), 1, 1)
x.resize_as_sparse_(y)
o.resize_as_sparse_(h)
x.resize_as_sparse_(d)
d.sparse_resize_((4, 4), 2, 0)
x.resize_(3, 3)
x.equal(x)
torch.equal(x, d)
torch.allclose(x, x)
x == x
x > 0
x.sort()
x.topk(1)
x.where(x, x)
x.masked_fill(d > 2, 0)
x.tril()
x.flip(0)
x.roll(1)
x.repeat(2, 2)
x.dot(x)
x.cross(x)
x.isclose(x)
x.bernoulli_()
x.uniform_()
x.index_add_(0, torch.tensor([0]), x)
x.gather(0, torch.zeros(1, 1, dtype=torch.int64))
x.lerp(x, 0.5)
x.addcmul(x, x)
x.conj()
q.conj()
x.real
q.real
q.imag
copy.deepcopy(x)
copy.deepcopy(z.requires_grad_())
copy.copy(x)
copy.deepcopy(c)
copy.deepcopy(b)
copy.deepcopy(x.requires_grad_() * 2)
pickle.loads(pickle.dumps(x))
pickle.loads(pickle.dumps(z))
pickle.loads(pickle.dumps(c))
pickle.loads(pickle.dumps(e))
(lambda f: (torch.save(x, f), f.seek(0), torch.load(f))[2])(io.BytesIO())
(lambda f: (torch.save({"a": z, "b": [c, b]}, f), f.seek(0), [torch.load(f)["a"]])[2])(io.BytesIO())
(lambda f: (torch.save(c, f), f.seek(0), torch.load(f))[2])(io.BytesIO())
(lambda f: (torch.save(r, f), f.seek(0), torch.load(f, weights_only=False))[2])(io.BytesIO())
c + c
c + n
n + c
c - c
c * 2
c / 2
c * c
c * n
n * c
b * 2
b + b
c.zero_()
c.mul_(2)
c.clone()
c.detach()
c ** 2
c == c
c.cumsum(0)
c.view(2, 8)
c[0:1]
torch.sparse.check_sparse_tensor_invariants.is_enabled()
"""
"""One a line. What an expression changes is its own."""

GRADIENTS = r"""
x.to_dense()
z.to_dense()
h.to_dense()
x.to_dense(masked_grad=False)
h.to_dense(masked_grad=False)
x.coalesce()
x.coalesce().values()
z.values()
d.to_sparse()
n.to_sparse(1)
torch.sparse_coo_tensor(i, v, (2, 3))
torch.sparse_coo_tensor(i, v, (2, 3)).to_dense()
x + y
x - y
torch.add(x, y, alpha=2)
d + x
d - x
torch.add(d, x, alpha=2)
x * 2
x * y
z * z
x * d
d * x
x / 2
-x
x.abs()
x.relu()
x ** 2
x.square()
x.log1p()
x.sin()
x.tanh()
x.sum()
x.sum(0)
torch.sparse.sum(x)
torch.sparse.sum(y, 0)
torch.sparse.sum(h, 1)
torch.sparse.sum(h, 0)
torch.sparse.sum(s, (0, 2))
x.mm(d.t())
x @ d.t()
x @ d[0]
x.mv(d[0])
d @ x.t()
torch.sparse.mm(x, d.t())
torch.sparse.mm(z, d.t())
torch.sparse.mm(d, x.t())
torch.mm(x, y.t())
torch.sparse.mm(x, y.t())
torch.sparse.mm(z, z.t())
torch.addmm(torch.ones(2, 2), x, d.t())
torch.sparse.addmm(d[:, :2], x, d.t(), beta=2, alpha=3)
torch.sparse.addmm(d[0, :2], x, d.t(), beta=2, alpha=3)
s.bmm(torch.ones(2, 3, 2))
x.t()
x.transpose(0, 1)
x.permute(1, 0)
torch.cat([x, y])
torch.stack([x, y])
x[0]
x[0, 2]
x.index_select(1, torch.tensor([0, 2]))
x.unsqueeze(0)
torch.sparse.softmax(y, 1)
torch.sparse.log_softmax(y, 1)
torch.sparse.log_softmax(h, 1)
d.sparse_mask(x.detach())
x.sparse_mask(z.detach())
x.clone()
x.double()
x.norm()
x.to_sparse_csr()
F.linear(d, x)
(x * 2).to_dense() * d
torch.sparse.mm(x * 2, d.t() * 3)
torch.sparse.mm(torch.sparse_coo_tensor(i, v, (2, 3)), d.t())
c.to_dense()
b.to_dense()
r.to_dense()
c.values()
c @ n
torch.sparse.mm(c, n)
torch.sparse.mm(c, n, "sum")
torch.sparse.mm(c, n, "mean")
torch.sparse.mm(c, n, "amax")
torch.sparse.mm(c, n, "amin")
c.mv(n[0])
c * 2
c * c
c + c
c.abs()
c.sum()
c.t()
c.to_sparse()
c.to_sparse_csc()
n.to_sparse_csr()
n.to_sparse_bsr((2, 2))
torch.sparse.sampled_addmm(c, n, n, beta=2., alpha=3.)
torch.addmm(n, c, n)
c.clone()
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3))
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)).to_dense()
F.embedding(torch.tensor([1, 1, 0]), d, sparse=True)
F.embedding(torch.tensor([1, 1, 0]), d, sparse=True) + d[:1]
F.embedding(torch.tensor([1, 1, 0]), d * 2, sparse=True)
F.embedding(torch.tensor([1, 1, 0]), d.relu(), sparse=True)
F.embedding(torch.tensor([1, 1, 0]), d, sparse=True) * F.embedding(torch.tensor([0, 1, 0]), d, sparse=True)
F.embedding(torch.tensor([1, 1, 0]), d, padding_idx=1, sparse=True)
F.embedding(torch.tensor([1, 1, 0]), d, scale_grad_by_freq=True, sparse=True)
F.embedding(torch.tensor([[1, 1], [0, 1]]), d, sparse=True)
F.embedding_bag(torch.tensor([[1, 1], [0, 1]]), d, mode="sum", sparse=True)
F.embedding_bag(torch.tensor([[1, 1], [0, 1]]), d, sparse=True)
F.embedding_bag(torch.tensor([1, 1, 0, 1]), d, torch.tensor([0, 3]), sparse=True, mode="sum")
F.embedding_bag(torch.tensor([[1, 1], [0, 1]]), d, sparse=True, mode="max")
torch.gather(d, 1, torch.tensor([[0], [2]]), sparse_grad=True)
torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3))
"""
"""Expressions whose gradients with respect to the floating-point tensors that they name are looked at, twice accumulated."""


def called(torch: Any, expression: str) -> Any:
    """What an expression gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = tensors(torch)
        try:
            return described(eval(expression, names))
        except Exception as error:  # what torch says of it is the outcome
            return told(error)


def differentiated(torch: Any, expression: str) -> Any:
    """What an expression gives, and the gradients of its sum with weights, after one and after two backward passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = tensors(torch)
        code = compile(expression, "<case>", "eval")
        leaves = [names[name].requires_grad_() for name in code.co_names if name in ("x", "y", "z", "h", "s", "d", "n", "v", "c", "b", "r")]
        try:
            found = []
            for _ in range(2):
                result = eval(code, names)
                loss = result
                if str(result.layout) != "torch.strided":
                    loss = torch.sparse.sum(result) if str(result.layout) == "torch.sparse_coo" else result.to_dense()
                if loss.ndim:
                    loss = (loss * torch.arange(1, 1 + loss.numel(), dtype=loss.dtype).reshape(loss.shape)).sum()
                loss.backward()
                found.append([described(result), *[described(leaf.grad) for leaf in leaves]])
            return found
        except Exception as error:
            return told(error)


OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9}, {"maximize": True}, {"weight_decay": 0.1}, {"momentum": 0.9, "nesterov": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}, {"weight_decay": 0.1}, {"maximize": True}],
    "SparseAdam": [{}, {"betas": (0.5, 0.7), "eps": 1e-3}, {"maximize": True}, {"lr": -1.0}, {"eps": -1.0}, {"betas": (1.0, 0.5)}],
    **{name: [{}] for name in ("Adam", "AdamW", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")},
}


def stepped(torch: Any, case: str) -> Any:
    """Parameters and state after three steps of an optimizer with sparse gradients of a table, or what it says of them."""
    name, _, at = case.partition(" ")
    p = torch.nn.Parameter(torch.arange(10.0, dtype=torch.float64).reshape(5, 2))
    try:
        optimizer = getattr(torch.optim, name)([p], **{"lr": 0.1, **OPTIMIZERS[name][int(at)]})
        for rows in ([1, 3, 1], [0, 1], [3]):
            optimizer.zero_grad()
            (torch.nn.functional.embedding(torch.tensor(rows), p, sparse=True) ** 2).sum().backward()
            optimizer.step()
    except Exception as error:
        return [told(error), described(p)]
    state = optimizer.state[p]
    return [described(p), {key: described(value) for key, value in sorted(state.items())}]


def lines(text: str) -> list[str]:
    """The expressions."""
    return list(dict.fromkeys(text.strip().splitlines()))


SPARSE_CALLS = Table("sparse_calls", lines(CALLS), called, tolerance=(1e-5, 1e-6), digits=7, zipped=True)
SPARSE_GRADIENTS = Table("sparse_gradients", lines(GRADIENTS), differentiated, tolerance=(1e-5, 1e-6), digits=7, zipped=True)
SPARSE_OPTIMIZERS = Table("sparse_optimizers", [f"{name} {i}" for name, options in OPTIMIZERS.items() for i in range(len(options))],
                          stepped, tolerance=(1e-6, 1e-9), digits=9)
