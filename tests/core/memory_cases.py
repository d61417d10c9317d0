"""Calls about sizes, memory and indices: what they give, and in what words they are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.recording import Table, attempted

CALLS = """
t.ones(3, 5).index_copy_(1, t.full((8,), 5), t.zeros(3, 8)) | t.ones(3, 5).index_copy_(1, t.full((8,), -1), t.zeros(3, 8))
t.ones(3, 5).index_add_(1, t.full((8,), 5), t.zeros(3, 8)) | t.ones(3, 5).index_fill_(1, t.full((8,), 5), 1.0)
t.ones(3, 5).index_select(1, t.tensor([9])) | t.ones(3, 5).index_select(0, t.tensor([9])) | t.ones(3, 0).index_select(0, t.tensor([5]))
t.ones(0, 3).index_select(0, t.tensor([0])) | t.ones(0, 3).index_select(1, t.tensor([0, 1])) | t.ones(5).index_select(0, t.tensor([-1]))
t.zeros(1).index_copy_(0, i(0), t.ones(())) | t.zeros(1, dtype=t.bfloat16).index_copy_(0, i(0), t.ones((), dtype=t.bfloat16))
t.zeros(()).index_copy_(0, i([0]), t.ones(1)) | t.zeros(1).index_add_(0, i(0), t.ones(())) | t.zeros(1).index_copy_(0, i(0), t.ones(2))
t.zeros(4).scatter(0, t.zeros((0, 4), dtype=t.int64), t.zeros(0, 4)) | t.ones(0, 1, 2, 0).index_fill_(0, i([0]), -1)
t.ones(0, 1, 2, 0).scatter_(0, t.zeros(0, 1, 2, 0, dtype=t.int64), t.ones(0, 1, 2, 0)) | t.ones(2, 3, 4).topk(0)[0]
t.ones(2, 3).scatter_(1, t.zeros(2, 0, dtype=t.int64), t.ones(2, 3)) | y.index_put_((at,), y[0]) | at.index_put_((at,), at)
y.index_put_((at,), y[:3]) | at.index_put_((at,), at.clone()) | at.index_put_((at.clone(),), at) | y.__setitem__(at, y[:3])
t.isclose(y, y, t.tensor(1.5), t.tensor(1.0, requires_grad=True)) | t.isclose(y, y, t.tensor(1), t.tensor(1)).shape
t.ones((t.tensor(3.0), t.tensor(4))) | t.ones(t.tensor(3.0)) | t.ones((np.float64(3.0), t.tensor(4))) | t.ones((np.array(3.0), 4))
t.ones(np.array([3, 3])) | t.ones((t.tensor([3, 3]))) | t.ones((t.tensor([3, 3]),)) | t.zeros((True, 2)) | t.zeros(2, 3.0) | t.zeros(2.0, 3)
t.zeros(2, True) | t.zeros((2, True)) | t.zeros(2, t.tensor(3.0)) | t.zeros(2, t.tensor(3)) | t.zeros([2, None]) | t.zeros(None)
t.zeros("ab")
t.zeros(((2, 3),)) | t.zeros((2,), (3,)) | t.zeros((2,), 3) | t.full((2.0,), 1) | t.rand((2, 3.0)) | t.ones(2).new_zeros((2, 3.0))
t.zeros(True)
t.empty_strided((2.0,), (1,)) | t.ones((np.int64(3), t.tensor(4))) | t.zeros(t.Size([2, 3]))
type("F", (t.FloatTensor,), {}) | y.type(t.FloatTensor) | y.int().type(t.Tensor).dtype | y.type("torch.DoubleTensor").dtype | y.type(3)
F.nll_loss(t.ones(10, 3), t.zeros(10, dtype=t.int64), weight=t.ones(4)) | t._C.TensorBase() | isinstance(y, t._C.TensorBase)
issubclass(t.nn.Parameter, t._C.TensorBase) | y._fix_weakref()
t.ones(100).untyped_storage().__sizeof__() - t.ones(0).untyped_storage().__sizeof__() | copies(t)
t.ones(2, 3, 4).permute(2, 0, 1).dim_order()
copy.deepcopy(with_grad(t)).grad.to_dense().sum().item() | t.FloatStorage(sdl=1) | t.TypedStorage("ab", dtype=t.float32)
t.FloatStorage(0, 0)
t.ones(()).dim_order() | t.ones(2, 1).expand(2, 3).dim_order() | t.ones(2, 1).expand(2, 3).dim_order(ambiguity_check=True)
t.ones(3, 3).to_sparse().dim_order() | t.ones(3, 0).dim_order() | t.ones(2, 3, 1, 1).dim_order(ambiguity_check=[])
t.ones(2, 3, 1, 1).dim_order(ambiguity_check=[t.channels_last]) | t.ones(2, 3, 1, 1).dim_order(ambiguity_check=[3])
y.set_(1) | y.set_(y, 1) | y.set_(None) | y.set_(t.ones(2, dtype=t.int)) | y.set_(t.ones(2, device="meta")) | y.set_(t.ones(4), 0, (2, 2))
y.set_()
y.set_(t.ones(2).untyped_storage(), 0, (2,), (1, 2))
t.tensor([t.tensor([1]), t.tensor([2])]) | t.tensor([t.tensor([1, 2])]) | t.tensor([t.tensor([1, 2])], dtype=t.float64)
t.tensor([t.tensor(1.5), 2], dtype=t.int32) | t.tensor([t.tensor([[1]]), 2.5]).dtype | t.tensor([[1, 2], t.tensor([1, 2])])
t.tensor([t.tensor([])]) | t.tensor([t.tensor([1j])], dtype=t.float32) | t.tensor([1, [1]]) | t.tensor([1.0, [1]]) | t.tensor([1, (1,)])
t.tensor([1, None]) | t.tensor([1.0, None]) | t.tensor([1.0, None], dtype=t.float64) | t.tensor([None], dtype=t.int8) | t.tensor([1.0, "2"])
t.tensor([1, "a"], dtype=t.float32) | t.tensor([1, "a"], dtype=t.bool) | t.tensor([1, {}], dtype=t.complex64) | t.tensor([{}])
t.tensor([1, None], dtype=t.uint64) | t.tensor([[None]], dtype=t.int64) | t.tensor([[1, 2], [1]]) | t.tensor([[1], 2]) | t.tensor([1, []])
t.tensor([np.float32(1), 2], dtype=t.int32) | t.tensor([np.bool_(1), 2]) | t.tensor([np.complex64(1), 2], dtype=t.float64)
t.tensor([np.array(1)]) | t.tensor([1, np.array(1)]) | t.tensor([1, np.array([1])]) | t.tensor([1.5, np.array([1])])
t.tensor([[1, 2], np.array([3, 4])]) | t.tensor([[1], np.array(1)]) | t.tensor([np.array([1.5])], dtype=t.int32)
t.tensor([np.array(["a"])])
t.tensor([np.array([1, 2]), np.array([1])]) | t.tensor([np.array([[1]]), [2]]) | t.as_tensor([t.tensor([1]), 2.5]) | t.FloatTensor([i([1])])
lent(t.ones(4), lambda x: x.numpy()) | lent(t.ones(4), lambda x: x[1:].numpy()) | lent(t.ones(4), np.asarray)
lent(t.from_numpy(np.ones(4))) | lent(t.as_tensor(np.ones(4))) | lent(t.tensor(np.ones(4))) | lent(t.frombuffer(bytearray(16), dtype=t.int))
lent(t.from_dlpack(t.ones(4))) | lent(t.ones(4), repr) | lent(t.ones(4), lambda x: x.sum().item()) | lent(t.ones(4), lambda x: x.tolist())
t.isclose(i(2**53), i(2**53 + 1), rtol=0, atol=0) | t.isclose(i(2**53), i(2**53 + 1)) | t.isclose(i(2**62), i(2**62 + 1), rtol=0, atol=0.5)
t.isclose(t.tensor(2 + 4j), t.tensor(1 + 8.8523607j), rtol=0.5, atol=0.5) | t.isclose(t.tensor(1j), t.tensor(complex("inf")), atol=9)
[along(t, s, d, x) for s in ((0,), (3, 0)) for d in range(len(s)) for x in ([], [0], [5], [-1], [-9], [0, 5])]
[along(t, s, d, x) for s in ((0, 3), (0, 0)) for d in range(len(s)) for x in ([], [0], [5], [-1], [-9], [0, 5])]
[along(t, s, d, x) for s in ((2, 0, 3), (3,), (2, 3)) for d in range(len(s)) for x in ([], [0], [5], [-1], [-9], [0, 5])]
[sampled(t, a, b) for a, b in (((5,) * 5, (1, 1, 1, 4, 4)), ((5,) * 4, (1, 1, 4, 4)), ((1, 2, 2), (1, 1, 1, 2)), ((2,), (2,)))]
[sampled(t, (1, 1, 2, 2), b) for b in ((1, 1, 2, 2, 2), (1, 2, 2, 3), (1, 2, 2, 2), (2, 2), (1, 2), (2, 1, 1, 2))]
[sampled(t, (1, 1, 2, 2, 2), b) for b in ((1, 1, 1, 1, 2), (1, 1, 1, 1, 3), (1, 1, 1, 3))] | sampled(t, (1, 1, 0, 2), (1, 2, 2, 2))
t.FloatStorage(3).fill_(t.FloatStorage(4)) | t.FloatStorage(3).fill_("a") | t.FloatStorage([1, 2, 3]).fill_(t.tensor(3.0)).tolist()
t.FloatStorage(3).__setitem__(slice(0, 2), [1, 2]) | t.FloatStorage(3).__setitem__(0, t.FloatStorage(1))
t.FloatStorage().fill_(t.FloatStorage(4))
[t.linalg.eigh(t.zeros(s, dtype=d)).eigenvectors.dtype is d for s in ((0, 0), (2, 0, 0), (0, 2, 2)) for d in (t.int64, t.bool, t.uint8)]
[t.add(x, x, out=t.empty(0)).stride() for x in (t.ones(1, 1, 4, 6).permute(2, 0, 1, 3), t.ones(3, 1, 2).permute(2, 1, 0), t.ones(1, 2).t())]
"""
CASES = [call.strip() for line in CALLS.split("\n") if line for call in line.split(" | ")]


def copies(torch: Any) -> list[bool]:
    """Whether copies of tensors, their storages and views share memory as the originals do."""
    x, b = torch.ones(5, 5), torch.zeros(5, 5)
    x2, (storage, other), b2, c2 = copy.deepcopy([x, [x.untyped_storage(), b.untyped_storage()], b, x.view(25)])
    x2.add_(1), b2.sub_(1)
    return [storage.data_ptr() == x2.data_ptr(), other.data_ptr() == b2.data_ptr(), bool((c2 == 2).all()), bool((x == 1).all())]


def with_grad(torch: Any) -> Any:
    """A sparse tensor with a gradient."""
    x = torch.zeros(10).to_sparse()
    x.grad = torch.ones(10).to_sparse()
    return x


def lent(x: Any, look: Callable[[Any], object] = bool) -> list[Any]:
    """Whether the memory of `x` can grow after something looked at it, and how a larger and a smaller size go."""
    held = look(x) if look is not bool else None
    found = [x.untyped_storage().resizable(), str(attempted(lambda: list(x.resize_(9).shape))), list(x.resize_(2).shape)]
    del held
    return found


def along(t: Any, shape: tuple[int, ...], dim: int, positions: list[int]) -> dict[str, str]:
    """What comes of positions along a dimension that may have no elements, or others none: a shape, or an error."""
    x, i = t.zeros(shape), t.tensor(positions, dtype=t.int64)
    part = t.zeros([len(positions) if d == dim else n for d, n in enumerate(shape)])
    calls: dict[str, Callable[[], Any]] = {
        "index_fill": lambda: x.index_fill(dim, i, 1.0), "index_fill_": lambda: x.clone().index_fill_(dim, i, 1.0),
        "tensor": lambda: x.index_fill(dim, i, t.tensor(1.0)), "index_copy": lambda: x.index_copy(dim, i, part),
        "index_add": lambda: x.index_add(dim, i, part), "mean": lambda: x.index_reduce(dim, i, part, "mean"),
        "amax": lambda: x.index_reduce(dim, i, part, "amax", include_self=False), "index_select": lambda: x.index_select(dim, i),
        "put": lambda: x.put(i, t.zeros(len(positions))), "take": lambda: x.take(i), "get": lambda: x[(slice(None),) * dim + (i,)],
        "index_put": lambda: x.index_put((i,), t.tensor(1.0)), "gather": lambda: x.gather(dim, part.long())}
    found = {name: attempted(call) for name, call in calls.items()}
    return {name: str(list(r.shape) if isinstance(r, t.Tensor) else r) for name, r in found.items()}


def sampled(t: Any, image: tuple[int, ...], grid: tuple[int, ...]) -> list[str]:
    """The shapes that `grid_sampler` and its kin give, or their errors."""
    x, places = t.zeros(image), t.zeros(grid)
    calls = [t.grid_sampler, t.grid_sampler_2d, t.grid_sampler_3d]
    found = [attempted(lambda: f(x, places, 0, 0, True)) for f in calls]
    return [str(list(r.shape) if isinstance(r, t.Tensor) else r) for r in found]


def outcome(torch: Any, case: str) -> Any:
    """Shape and strides of a tensor, other results as they are; the error and its first lines."""
    names = {"t": torch, "F": torch.nn.functional, "np": np, "y": torch.arange(6.0), "at": torch.tensor([2, 1, 0]), "copy": copy,
             "i": lambda x: torch.tensor(x, dtype=torch.int64), "copies": copies, "with_grad": with_grad, "lent": lent, "along": along,
             "sampled": sampled}
    found = attempted(lambda: eval(case, names))
    if isinstance(found, torch.Tensor):
        return [list(found.shape), list(found.stride()), found.flatten().tolist()[:4]]
    return found if isinstance(found, (dict, list, tuple, int, bool)) else str(found)


TABLE = Table("memory", CASES, outcome)
