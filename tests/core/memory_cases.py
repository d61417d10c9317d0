"""Calls about sizes, memory and indices: what they give, and in what words they are refused."""

from __future__ import annotations

import copy
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


def outcome(torch: Any, case: str) -> Any:
    """Shape and strides of a tensor, other results as they are; the error and its first lines."""
    names = {"t": torch, "F": torch.nn.functional, "np": np, "y": torch.arange(6.0), "at": torch.tensor([2, 1, 0]), "copy": copy,
             "i": lambda x: torch.tensor(x, dtype=torch.int64), "copies": copies, "with_grad": with_grad}
    found = attempted(lambda: eval(case, names))
    if isinstance(found, torch.Tensor):
        return [list(found.shape), list(found.stride()), found.flatten().tolist()[:4]]
    return found if isinstance(found, (dict, list, tuple, int, bool)) else str(found)


TABLE = Table("memory", CASES, outcome)
