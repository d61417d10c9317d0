"""All of torch's dtypes: what they say of themselves, what each two become, how numbers are written in them, what is done with their
tensors."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tests.recording import Table

NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
    "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float4_e2m1fn_x2", "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16",
    *[f"{sign}int{n}" for sign in ("", "u") for n in range(1, 8)],
)
CODED = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32")
NUMBERS = NAMES[:21]

FACTS = ("d.itemsize", "d.is_floating_point", "d.is_complex", "d.is_signed", "d.to_real()", "d.to_complex()", "torch.finfo(d)",
         "torch.iinfo(d)")

MADE = """
torch.zeros(2, dtype=d)
torch.ones(2, dtype=d)
torch.full((2,), 2, dtype=d)
torch.full((), 2, dtype=d)
torch.full((2,), 1e300, dtype=d)
torch.full((2,), -1, dtype=d)
torch.full((2,), 1 + 2j, dtype=d)
torch.full((2,), float("inf"), dtype=d)
torch.empty(2, 3, dtype=d).shape
torch.empty(0, dtype=d)
torch.tensor([1, 2], dtype=d)
torch.tensor([1.5, 2.25], dtype=d)
torch.tensor(3, dtype=d)
torch.tensor([True], dtype=d)
torch.zeros_like(x)
torch.ones_like(x)
torch.full_like(x, 2)
x.new_ones(2)
torch.arange(3, dtype=d)
torch.eye(2, dtype=d)
torch.linspace(0, 1, 3, dtype=d)
torch.scalar_tensor(2, dtype=d)
torch.empty(2, dtype=d, device="meta")
torch.empty(2, dtype=d, requires_grad=True).requires_grad
torch.tensor([0.3, 7.0, -1e9]).to(d)
torch.tensor([1, 300, -5]).to(d)
torch.tensor([1 + 2j, 3]).to(d)
torch.tensor([True, False]).to(d)
x.to(torch.float32)
x.to(torch.int64)
x.to(torch.bool)
x.to(torch.complex64)
x.to(torch.bfloat16)
x.to(torch.uint16)
x.to(torch.complex32)
x.to(torch.float8_e5m2)
x[0].item()
x.tolist()
x.numpy().dtype
x.type()
x.element_size()
x.is_floating_point(), x.is_complex(), x.is_signed()
bool(x[0])
float(x[0])
int(x[0])
x.T.contiguous().shape
x.clone().dtype
x[1:].dtype
x.untyped_storage().nbytes()
x.copy_(torch.ones(2))
x.fill_(3)
x.zero_()
x + x
x * 2
x * x
x == 1
x == x
x.sum()
torch.cat([x, x]).dtype
torch.equal(x, x)
x.sin()
-x
x.abs()
torch.where(torch.tensor([True, False]), x, x).dtype
torch.stack([x]).shape
x.isnan()
x.reshape(2, 1) @ x.reshape(1, 2)
x + 1
x + 1.5
x + 1j
x + torch.ones(2)
x + torch.ones(())
x.nonzero()
x.flip(0)
x[torch.tensor([1])].shape
torch.result_type(x, 1)
torch.result_type(x, 1.5)
torch.result_type(x, 1j)
torch.result_type(x[0], torch.ones(2))
torch.result_type(x[0], torch.ones(2, dtype=torch.int32))
torch.result_type(1.5, x[0])
torch.result_type(torch.ones((), dtype=torch.complex64), x)
torch.result_type(torch.ones((), dtype=torch.float64), x)
""".strip().splitlines()


def told(function: Any) -> str:
    """What comes of a call: its text, or the error and the first line of its text."""
    try:
        return repr(function()).replace("torchcompat.", "torch.")
    except Exception as error:  # noqa: BLE001  # any exception is an outcome
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def patterns() -> dict[str, np.ndarray]:
    """Bit patterns of floating-point dtypes: all there are of 16 bits, many of 32, and numbers in and near the range of those of 8."""
    every, random = np.arange(1 << 16).astype(np.int16), np.random.RandomState(0)
    small = (random.standard_normal(60000) * 10.0 ** random.randint(-6, 6, 60000)).astype(np.float32)
    return {"float16": every, "bfloat16": every, "float32": np.concatenate([random.randint(-2**31, 2**31, 60000).astype(np.int32),
                                                                           small.view(np.int32)])}


def written(torch: Any, dtype: str) -> dict[str, str]:
    """A digest of the elements that bit patterns become, for each dtype that they are of; NaN apart where it is one of two halves."""
    found = {}
    for source, bits in patterns().items():
        numbers = torch.from_numpy(bits).view(getattr(torch, source))
        if dtype == "complex32":
            numbers = numbers.nan_to_num()
        codes = numbers.to(getattr(torch, dtype)).view(torch.uint8)
        found[source] = hashlib.sha256(codes.numpy().tobytes()).hexdigest()
    return found


def read(torch: Any, dtype: str) -> str:
    """The bits of the float32 numbers that the 256 elements are read as; of 65,536 halves of complex numbers, a digest."""
    if dtype == "complex32":
        halves = torch.from_numpy(np.arange(1 << 16).astype(np.int16)).view(torch.complex32)
        return hashlib.sha256(torch.view_as_real(halves.to(torch.complex64)).nan_to_num().numpy().tobytes()).hexdigest()
    codes = torch.from_numpy(np.arange(256).astype(np.uint8)).view(getattr(torch, dtype))
    return codes.to(torch.float32).view(torch.int32).numpy().astype(">i4").tobytes().hex()


def outcome(torch: Any, case: str) -> Any:
    """What comes of a case: "facts int4", "pairs int4", "written complex32", "made uint16"."""
    what, name = case.split()
    d = getattr(torch, name)
    if what == "facts":
        return {e: told(lambda e=e: eval(e, {"torch": torch, "d": d})) for e in FACTS}
    if what == "pairs":
        return {other: [told(lambda o=other: torch.promote_types(d, getattr(torch, o))), torch.can_cast(d, getattr(torch, other))]
                for other in NAMES}
    if what in ("written", "read"):
        return {"written": written, "read": read}[what](torch, name)
    return {e: told(lambda e=e: eval(e, {"torch": torch, "d": d, "x": x(torch, name)})) for e in MADE}


def x(torch: Any, name: str) -> Any:
    """A tensor of two elements of a dtype, ones where there are numbers."""
    d = getattr(torch, name)
    if name in NUMBERS:
        return torch.ones(2, dtype=d)
    x = torch.empty(2, dtype=d)  # since nothing fills it
    x.untyped_storage().fill_(0)
    return x


def same(expected: Any, found: Any) -> bool:
    """Whether outcomes are the same. torch has no words of its own where an assertion within it fails."""
    if isinstance(expected, str) and "INTERNAL ASSERT" in expected:
        return isinstance(found, str) and found.startswith(expected.partition(":")[0])
    return bool(expected == found)


CASES = [*[f"{what} {name}" for what in ("facts", "pairs", "made") for name in NAMES],
         *[f"{what} {name}" for what in ("written", "read") for name in CODED]]
TABLE = Table("dtypes", CASES, outcome, same=same, zipped=True)
