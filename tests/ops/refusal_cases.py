"""Calls with complex numbers, numbers that do not fit, and dtypes that torch has no kernel for:
which are refused, and in which words."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

CALLS = """
F.bilinear(z, z, w)
F.bilinear(z, z, w, torch.ones(3, dtype=C64))
torch.native_dropout(z, 0.0, True)
torch.native_dropout(z, 0.0, False)
F.dropout(z, 0.0)
F.dropout(z, 0.5).shape
F.dropout(z, 0.5, False)
torch.native_dropout(z, 0.5, True)[0].shape
F.alpha_dropout(z, 0.5, True).shape
F.dropout1d(z3, 0.5).shape
torch.select_scatter(z, z[0], 0, 1)
torch.slice_scatter(z, z[:1], 0, 1, 2)
torch.select_scatter(z, z[0].real, 0, 1)
torch.select_scatter(z.real, z[0], 0, 1)
torch.diagonal_scatter(z, z[0])
F.soft_margin_loss(z, z)
F.soft_margin_loss(z, torch.ones(2, 2))
F.local_response_norm(z3, 2)
F.local_response_norm(z4, 2)
torch.convolution(z4, z4, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
F.conv2d(z4, z4)
F.conv2d(z4, z4.real)
torch.convolution(z4, z4.real, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
F.conv_transpose2d(z4, z4)
torch.convolution(z4, z4, torch.ones(1, dtype=C64), (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
float(z[0, 0])
int(z[0, 0])
float(z[1, 0])
int(z[1, 0])
complex(z[0, 0])
[1, 2, 3][z[1, 0]]
bool(z[0, 0])
float(z)
round(z[0, 0])
__import__('math').floor(z[0, 0])
hex(z[0, 0])
z.float()
z.int()
z.bool()
z.half()
torch.ones(2).fill_(1j)
torch.ones(2).fill_(1 + 0j)
torch.ones(2).fill_(torch.tensor(1j))
torch.ones(2, dtype=torch.int32).fill_(1j)
torch.fill(torch.ones(2), 1j)
torch.full_like(torch.ones(2), 1j)
torch.full((2,), 1j, dtype=torch.float32)
torch.ones(2).masked_fill(torch.tensor([True, False]), 1j)
torch.ones(2).index_fill(0, torch.tensor([0]), 1j)
torch.ones(2).__setitem__(0, 1j)
torch.ones(2).add_(1j)
torch.ones(2).mul_(z[0])
torch.ones(2, dtype=torch.bool).fill_(1j)
torch.ones(2, dtype=torch.int32).fill_(1e+30)
torch.ones(2, dtype=torch.float16).fill_(1e+30)
torch.ones(2, dtype=torch.uint8).fill_(-1)
torch.ones(2, dtype=torch.int8).fill_(300)
torch.ones(2).new_full((2,), 1j)
torch.ones(2).scatter(0, torch.tensor([0]), 1j)
torch.where(torch.tensor([True, False]), torch.ones(2), 1j)
torch.ones(2).pow_(1j)
torch.ones(2).lerp(torch.ones(2), 1j)
torch.ones(2).addcmul(torch.ones(2), torch.ones(2), value=1j)
torch.ones(2).add(torch.ones(2), alpha=1j)
F.interpolate(torch.ones(1, 1, 2, 2), size=2, mode='x')
""".strip().splitlines()

MODES = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
INTERPOLATIONS = """
F.interpolate(z3 if m in ('linear',) else z4, scale_factor=2, mode=m)
F.interpolate(torch.ones(2, 2), scale_factor=2, mode=m)
F.interpolate(torch.ones((1, 1, 2) if m == 'linear' else (1, 1, 2, 2), dtype=torch.int64), scale_factor=2, mode=m)
F.interpolate(torch.ones((1, 1, 2) if m == 'linear' else (1, 1, 2, 2), dtype=torch.bool), scale_factor=2, mode=m)
F.interpolate(torch.ones((1, 1, 2) if m == 'linear' else (1, 1, 2, 2), dtype=torch.uint8), scale_factor=2, mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), size=2, scale_factor=2, mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), size=2, mode=m, align_corners=True)
F.interpolate(torch.ones(1, 1, 2, 2), size=(2, 2, 2), mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=(2.0, 2.0, 2.0), mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), size=2, mode=m, antialias=True)
F.interpolate(torch.ones(1, 1, 2, 2), size=0, mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=-1.0, mode=m)
F.interpolate(torch.ones(1, 1, 2, 2), size=2, mode=m, recompute_scale_factor=True)
F.interpolate(torch.ones(1, 0, 2, 2), size=2, mode=m)
F.interpolate(torch.ones(1, 1, 2, 2, 2), size=2, mode=m).shape
F.interpolate(torch.ones(1, 1, 2), size=2, mode=m).shape
F.interpolate(torch.ones(1, 2), size=2, mode=m).shape
F.interpolate(torch.ones(1, 1, 0, 2), size=2, mode=m)
""".strip().splitlines()

DTYPES = ("bool", "int32", "float16", "complex64", "uint16", "float8_e5m2", "complex32")
IN_DTYPES = """
torch.flip(x, (0,))
torch.flip(x, (0, 1))
torch.flip(x[:, :1], (0, 1))
torch.flip(x[:0], (1,))
torch.fliplr(x)
torch.fliplr(x[None])
torch.flipud(x)
torch.rot90(x)
torch.count_nonzero(x)
torch.count_nonzero(x, 1)
torch.std(x)
torch.diff(x)
torch.diff(x, 0)
torch.searchsorted(x[0], x[0])
torch.searchsorted(x[0, :0], x[0, :0]) if x.dtype != torch.complex32 else 0
torch.linalg.svd(x[:0, :0])
torch.linalg.svdvals(x[:0, :0])
torch.svd(x[:0, :0])
torch.linalg.eigh(x[:, :3])
torch.linalg.eigh(x[:0, :0])
torch.linalg.eigvalsh(x[:0, :0])
torch.mm(x, x.T)
torch.mm(x[:0], x.T)
F.linear(x[:0], x)
torch.median(x)
torch.div(x, x, rounding_mode='trunc')
F.conv3d(x[None, None, None], x[None, None, None])
torch.polygamma(2, x)
torch.linalg.matrix_power(x[:, :3], 0) if 'float8' not in str(x.dtype) else 0
torch.index_select(x, 0, torch.tensor([0]))
torch.index_select(x[0], 0, torch.tensor([0]))
torch.index_select(x[0, 0], 0, torch.tensor([0]))
torch.isin(x[0], x[0])
torch.isin(x[0], x[0].repeat(10))
torch.isin(x[0], 1)
torch.unravel_index(x, (5, 6))
torch.trapezoid(x)
torch.trapezoid(x, x)
torch.pdist(x)
torch.pdist(x[:1]) if 'float8' not in str(x.dtype) else 0
torch.histogram(x, x[0, :1].repeat(2))
torch.hash_tensor(x)
torch._unsafe_masked_index(x, torch.ones(2, dtype=torch.bool), [torch.tensor([0, 1]), torch.tensor([0, 1])], 0)
torch.bitwise_left_shift(x, x)
x << 1
x >> x
torch.full_like(x, -8.5) if 'float' not in str(x.dtype) else 0
torch.full_like(x, -8)
x.new_full((2,), -1.5) if 'float' not in str(x.dtype) else 0
torch.bernoulli(x)
x.clone().bernoulli_(0.5)
x.clone().geometric_(0.5)
x.clone().exponential_()
x.clone().cauchy_()
x.clone().log_normal_()
x.clone().normal_()
x.clone().uniform_()
x.clone().random_()
torch.normal(x, x)
torch.normal(x, 1.0)
torch.normal(0.0, x)
torch.multinomial(x, 1)
torch.randint_like(x, 2)
torch.rrelu(x, 0, 1, True)
torch.rrelu(x, 0, 1, False)
torch.dropout(x, 0.5, True)
torch.feature_dropout(x, 0.5, True)
torch.alpha_dropout(x, 0.5, True)
torch.feature_alpha_dropout(x, 0.5, True)
F.fractional_max_pool2d(x[None, None], 2, output_size=1)
F.adaptive_avg_pool1d(x[None], 2)
F.hardtanh(x)
""".strip().splitlines()
"""Of `x`, three rows of four ones in one of the dtypes."""

CASES = CALLS + [call.replace("mode=m", f"mode={mode!r}").replace("m ==", f"{mode!r} ==").replace("m in", f"{mode!r} in")
                 for call in INTERPOLATIONS for mode in MODES] + [f"{dtype}: {call}" for call in IN_DTYPES for dtype in DTYPES]


def outcome(torch: Any, call: str) -> str:
    """"carried out", or the error and its text."""
    z = torch.tensor([[1 + 2j, 3 - 1j], [2.5, -3j]])
    names = {"torch": torch, "F": torch.nn.functional, "z": z, "z3": z[None], "z4": z[None, None], "C64": torch.complex64,
             "w": torch.ones(3, 2, 2, dtype=torch.complex64)}
    dtype, _, rest = call.partition(": ")
    if dtype in DTYPES:
        names["x"], call = torch.ones(3, 4).to(getattr(torch, dtype)), rest
    try:
        eval(call, names)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "carried out"


TABLE = Table("refusals", CASES, outcome)
