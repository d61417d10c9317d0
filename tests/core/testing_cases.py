"""Comparisons of `torch.testing`, nearly all of which fail, and the tensors that it makes from a seed."""

from __future__ import annotations

import warnings
from collections import OrderedDict, UserDict
from typing import Any

import numpy as np

from tests.recording import Table, attempted

INPUTS = """
t.tensor([1., 2.]), t.tensor([1., 2.])
t.tensor([1., 2., 3.]), t.tensor([1., 4., 5.])
t.tensor([[1., 2.], [3., 4.]]), t.tensor([[1., 2.], [3.5, 0.]])
t.tensor([1., nan]), t.tensor([1., nan])
t.tensor([1., nan, 3.]), t.tensor([nan, nan, 1.])
t.tensor([inf, -inf, 1.]), t.tensor([inf, inf, 2.])
t.tensor(1.), t.tensor(2.)
t.tensor(nan), t.tensor(nan)
t.tensor(0.), t.tensor(1e-5)
t.tensor([1e-5 + 1e-9, 1.]), t.tensor([0., 1.])
t.tensor(True), t.tensor(False)
t.tensor([True, False]), t.tensor([False, False])
t.tensor([True, False]), t.tensor([True, True])
t.tensor([1, 2, 3]), t.tensor([1, 2, 0])
t.tensor([100, 3], dtype=t.int8), t.tensor([-100, 3], dtype=t.int8)
t.tensor([200, 3], dtype=t.uint8), t.tensor([3, 3], dtype=t.uint8)
t.tensor([200, 3], dtype=t.uint16), t.tensor([3, 3], dtype=t.uint16)
t.tensor([200, 3], dtype=t.uint64), t.tensor([3, 3], dtype=t.int64)
t.tensor([200, 3], dtype=t.uint32), t.tensor([100, 3], dtype=t.int8)
t.tensor([1., 2.]).half(), t.tensor([1., 2.01]).half()
t.tensor([1., 2.]).bfloat16(), t.tensor([1., 2.1]).bfloat16()
t.tensor([1., 2.]).double(), t.tensor([1., 2.000001]).double()
t.tensor([1 + 2j, 3.]), t.tensor([1 + 2j, 3 + 4j])
t.tensor([1 + 2j, 3.], dtype=t.complex128), t.tensor([1 + 2j, 3 + 4j], dtype=t.complex128)
t.tensor(1 + 2j), t.tensor(1 + 3j)
t.tensor([1., 2.]).to(t.float8_e5m2), t.tensor([1., 4.]).to(t.float8_e5m2)
t.tensor([[1., 2.]]).to(t.float8_e4m3fn), t.tensor([[1., 2.]]).to(t.float8_e4m3fn)
t.tensor([1., nan]).to(t.float8_e4m3fn), t.tensor([1., nan]).to(t.float8_e4m3fn)
t.tensor(1.).to(t.float8_e4m3fn), t.tensor(2.).to(t.float8_e4m3fn)
t.ones(0, 3), t.ones(0, 3)
t.ones(0, 3), t.ones(3, 0)
t.ones(2), t.ones(2, 1)
t.ones(2), t.ones(2).double()
t.ones(2), t.tensor([1, 2])
t.ones(2).half(), t.tensor([1, 1.01]).double()
t.ones(2), t.ones(2, device="meta")
t.ones(2, device="meta"), t.ones(2, device="meta")
t.ones(2, 3), t.ones(3, 2).t()
t.ones(2, 3).to_sparse(), t.ones(2, 3)
t.ones(2, 3).to_sparse(), t.ones(2, 3) * 2
t.tensor([[1., 0.], [0., 2.]]).to_sparse(), t.tensor([[1., 0.], [0., 3.]]).to_sparse()
t.tensor([[1., 0.], [0., 2.]]).to_sparse(), t.tensor([[1., 0.], [2., 0.]]).to_sparse()
t.tensor([[1., 0.], [0., 2.]]).to_sparse(), t.tensor([[1., 1.], [2., 0.]]).to_sparse()
t.tensor([[1., 0.], [0., 2.]]).to_sparse(), t.tensor([[1., 0.], [0., 2.]]).to_sparse(1)
t.tensor([[1., 0.], [0., 2.]]).to_sparse_csr(), t.tensor([[1., 0.], [0., 3.]]).to_sparse_csr()
t.tensor([[1., 0.], [0., 2.]]).to_sparse_csr(), t.tensor([[1., 0.], [2., 0.]]).to_sparse_csr()
t.tensor([[1., 0.], [0., 2.]]).to_sparse_csr(), t.tensor([[1., 1.], [2., 0.]]).to_sparse_csr()
t.tensor([[1., 0.], [0., 2.]]).to_sparse_csc(), t.tensor([[1., 0.], [2., 0.]]).to_sparse_csc()
t.tensor([[1., 0.], [0., 2.]]).to_sparse_csc(), t.tensor([[1., 0.], [0., 2.]]).to_sparse_csr()
t.ones(2, 4).to_sparse_bsr((1, 2)), t.ones(2, 4).to_sparse_bsr((1, 2)) * 2
t.ones(2, 4).to_sparse_bsc((1, 2)), t.ones(2, 4).to_sparse_bsc((1, 2)) * 2
t.nn.Parameter(t.ones(2)), t.ones(2)
t.nn.Parameter(t.ones(2)), t.zeros(2)
t.ones(2), np.ones(2, dtype="float32")
np.ones(2), np.zeros(2)
np.ones(2), np.array(["a", "b"])
np.float64(1.), np.float64(2.)
np.float32(1.), 1.5
np.bool_(True), False
True, 1
True, False
1, 2
1, 1.
1., 1. + 1e-8
1., 2.
1., 0.
1 + 2j, 1 + 3j
nan, nan
inf, inf
inf, -inf
1., inf
None, None
None, 1
1, None
"a", "a"
"a", "b"
object, object
{1}, {2}
[1, 2.], (1, 2.)
[1, 2.], (1, 3.)
[], []
[1], [1, 2]
[t.ones(2), [t.zeros(2)]], [t.ones(2), [t.ones(2)]]
{"a": 1, "b": [1, 2]}, {"b": [1, 3], "a": 1}
{"a": 1}, {"b": 1}
{"a": 1, "c": 1}, {"a": 1, "b": 1, "d": 2}
OrderedDict(a=t.ones(2)), UserDict(a=t.zeros(2))
{"a": "x"}, {"a": "y"}
[None], [1]
[True], [False]
{"a": [None, {3: t.ones(1)}]}, {"a": [None, {3: t.ones(2)}]}
"""
OPTIONS = """

rtol=0, atol=0
rtol=0.5, atol=0.1
rtol=0.1
atol=0.1
equal_nan=True
check_dtype=False
check_device=False
check_layout=False
check_layout=False, check_dtype=False, check_device=False
check_stride=True
allow_subclasses=False
msg="told otherwise"
msg=lambda text: f"before\\n{text}\\nbehind"
"""
MADE = """
3
2, 3
(2, 3)
[2, 3]
t.Size([4])
0
2, 0, 3
()
(7,), low=0
(7,), low=-3, high=3
(7,), low=0, high=1
(7,), low=1.5, high=4.5
(7,), low=-1e30, high=1e30
(7,), low=-inf, high=inf
(7,), low=5, high=5
(7,), low=5, high=1
(7,), low=nan
(7,), high=nan
(7,), low=1e40, high=1e41
(7,), low=300, high=1000
(7,), low=-1000, high=-600
(7,), requires_grad=True
(3, 4), noncontiguous=True
(1,), noncontiguous=True
(2, 3, 4, 5), memory_format=t.channels_last
(2, 3), memory_format=t.channels_last
(2, 3, 4, 5), memory_format=t.channels_last, noncontiguous=True
(40,), low=-1, high=2, exclude_zero=True
(4,), low=0, high=0, exclude_zero=True
40, noncontiguous=True, exclude_zero=True, requires_grad=True
(2, -1)
"""
DTYPES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex32 complex64 complex128 "
          "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu qint8").split()


def told(function: Any) -> Any:
    """What a function gives or raises, and the warnings of `torch.testing`."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = attempted(function)
    texts = [f"{w.category.__name__}: {w.message}" for w in seen if "torch.testing" in str(w.message)]
    return [found, texts] if texts else found


def compared(torch: Any, case: str) -> Any:
    """What `assert_close` says of each pair of inputs, or `assert_allclose`, with these options."""
    name, _, options = case.partition(": ")
    space = {"t": torch, "np": np, "inf": float("inf"), "nan": float("nan"), "OrderedDict": OrderedDict, "UserDict": UserDict,
             "check": getattr(torch.testing, name)}
    return [told(lambda: eval(f"check({inputs}, {options})", space)) for inputs in INPUTS.strip().splitlines()  # noqa: B023
            if name == "assert_close" or inputs.startswith("t.")]


def made(torch: Any, case: str) -> Any:
    """A tensor, as its elements, strides and facts, of each dtype."""
    def run(dtype: str) -> Any:
        torch.manual_seed(7)
        x = eval(f"t.testing.make_tensor({case}, dtype=t.{dtype}, device='cpu')", {"t": torch, "inf": float("inf"), "nan": float("nan")})
        values = x.detach().to(torch.complex128 if x.is_complex() else torch.int64 if x.dtype is torch.uint64 else torch.float64).flatten()
        return [list(x.shape), list(x.stride()), x.requires_grad, x.is_leaf, x.storage_offset(), repr(values.tolist()[:7]), str(x.dtype)]

    return [told(lambda: run(dtype)) for dtype in DTYPES]  # noqa: B023


COMPARED = Table("testing_compared", [f"assert_close: {line}" for line in OPTIONS.strip("\n").splitlines()] + [
    "assert_close: ", "assert_allclose: ", "assert_allclose: rtol=0, atol=0", "assert_allclose: rtol=1", "assert_allclose: msg='told'",
    "assert_allclose: equal_nan=False"], compared, zipped=True)
MADE_TABLE = Table("testing_made", MADE.strip().splitlines(), made, zipped=True)
