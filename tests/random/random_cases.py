"""Programs that draw random numbers.

A program is a seed and a list of calls on one generator; what is recorded of each call is its dtype, shape and bytes (of
a large result their digest), and at the end of the program the digest of the generator's state.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Any

import numpy as np

from tests.recording import Table

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")


def programs() -> list[tuple[int, list[dict[str, Any]]]]:
    sizes = [0, 1, 5, 15, 16, 17, 100, 623, 2000]
    continuous = [
        {"call": name, "size": size, "dtype": dtype, "args": args}
        for size in sizes
        for dtype in FLOATS
        for name, args in (
            ("uniform", [0.0, 1.0]),
            ("uniform", [-0.3, 0.7]),
            ("normal", [0.0, 1.0]),
            ("normal", [1.3, 0.7]),
            ("exponential", [1.5]),
            ("cauchy", [0.5, 1.5]),
            ("log_normal", [0.3, 0.8]),
            ("geometric", [0.3]),
            ("bernoulli", [0.3]),
            ("bernoulli_of", []),
        )
    ]
    discrete = [
        {"call": "random", "size": size, "dtype": dtype, "args": args}
        for size in (0, 1, 7, 700)
        for dtype in FLOATS + INTEGERS
        for args in ([], [0, 2], [None])
        if not (dtype == "bool" and args == [None])
    ]
    wide = [
        {"call": "random", "size": 9, "dtype": dtype, "args": args}
        for dtype, args in (
            ("int64", [-(2**40), 2**62]), ("int64", [-(2**63), None]), ("int64", [0, 2**28]), ("int64", [0, 2**28 - 1]),
            ("int32", [-(2**31), 2**31 - 1]), ("float32", [0, 2**24]), ("float64", [-(2**53), 2**53]),
            ("float16", [0, 2047]), ("bfloat16", [-255, 255]), ("int8", [-128, 127]), ("int64", [5, None]),
            ("float32", [-(2**63), None]), ("uint8", [3, None]), ("float16", [2, None]),
        )
    ]  # fmt: skip
    other = [
        *({"call": "randperm", "size": n, "dtype": d, "args": []} for n in (0, 1, 2, 10, 1000) for d in ("int64", "int32")),
        *({"call": "complex_normal", "size": n, "dtype": d, "args": []} for n in (3, 8, 21) for d in ("complex64", "complex128")),
        *({"call": "complex_uniform", "size": n, "dtype": d, "args": []} for n in (3, 21) for d in ("complex64", "complex128")),
        *({"call": "scattered_normal", "size": n, "dtype": d, "args": [0.5, 2.0]} for n in (3, 40) for d in FLOATS),
        *(
            {"call": "multinomial", "size": n, "dtype": d, "args": [rows, count, replacement]}
            for n in (4, 30)
            for d in ("float32", "float64", "bfloat16")
            for rows in (0, 3)
            for count, replacement in ((1, False), (1, True), (4, False), (4, True), (50, True))
        ),
        *(
            {"call": call, "size": n, "dtype": d, "args": []}
            for n in (1, 7, 200, 3000)
            for call in ("poisson", "binomial", "standard_gamma", "dirichlet")
            for d in ("float32", "float64")
        ),
        *(
            {"call": "trunc_normal", "size": n, "dtype": d, "args": args}
            for n in (5, 100)
            for d in ("float32", "float64")
            for args in ([0.0, 1.0, -2.0, 2.0], [0.0, 0.02, -2.0, 2.0], [0.0, 1.0, 1.0, 3.0], [1.0, 2.0, 0.5, 1.5])
        ),
    ]  # fmt: skip
    mixed = [
        {"call": "uniform", "size": 5, "dtype": "float32", "args": [0.0, 1.0]},
        {"call": "normal", "size": 3, "dtype": "float32", "args": [0.0, 1.0]},
        {"call": "normal", "size": 20, "dtype": "float32", "args": [0.0, 1.0]},
        {"call": "random", "size": 7, "dtype": "int64", "args": [0, 10]},
        {"call": "normal", "size": 4, "dtype": "float64", "args": [0.0, 1.0]},
        {"call": "randperm", "size": 11, "dtype": "int64", "args": []},
        {"call": "bernoulli_of", "size": 13, "dtype": "float32", "args": []},
        {"call": "bernoulli", "size": 13, "dtype": "float32", "args": [0.8]},
        {"call": "normal", "size": 33, "dtype": "float64", "args": [0.0, 1.0]},
        {"call": "log_normal", "size": 3, "dtype": "float32", "args": [1.0, 2.0]},
        {"call": "uniform", "size": 7, "dtype": "float64", "args": [-1.0, 1.0]},
    ]
    large = [
        {"call": name, "size": 300_007, "dtype": dtype, "args": args}
        for name, dtype, args in (
            ("uniform", "float32", [0.0, 1.0]), ("uniform", "float64", [-2.0, 3.0]), ("normal", "float32", [0.0, 1.0]),
            ("normal", "float64", [0.5, 2.0]), ("normal", "bfloat16", [0.0, 1.0]), ("exponential", "float32", [1.0]),
            ("log_normal", "float64", [0.0, 1.0]), ("cauchy", "float32", [0.0, 1.0]), ("random", "int64", [-3, 1000]),
            ("randperm", "int64", []), ("geometric", "float32", [0.1]), ("bernoulli", "float32", [0.5]),
        )
    ]  # fmt: skip
    seeds = [0, 1, -1, -7, 2**32, 2**32 + 5, 2**63, 2**64 - 1, 67280421310721]
    return [
        (42, continuous), (7, discrete), (8, wide), (9, other), (10, mixed), (10, mixed * 60), (11, large),
        *((seed, mixed[:4]) for seed in seeds),
    ]  # fmt: skip


def parameters(size: int) -> np.ndarray:
    """Rates, counts and shapes from below 1 to above 10."""
    return (np.arange(size) % 40 + 1) / 4.0


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode() if len(data) <= 24 else "sha256:" + hashlib.sha256(data).hexdigest()[:24]


def run_on_torch(torch: Any, calls: list[dict[str, Any]], generator: Any) -> list[str]:
    """What calls draw from a generator."""
    def run(call: str, size: int, dtype: str, args: list[Any]) -> Any:
        kind = getattr(torch, dtype)
        out = torch.empty(size, dtype=kind)
        if call == "random":
            return out.random_(*args, generator=generator) if len(args) != 1 else out.random_(1, None, generator=generator)
        if call == "randperm":
            return torch.randperm(size, dtype=kind, generator=generator)
        if call == "bernoulli_of":
            return torch.bernoulli(torch.arange(size, dtype=torch.float64).div(max(size, 1)).to(kind), generator=generator)
        if call == "complex_normal":
            return torch.randn(size, dtype=kind, generator=generator)
        if call == "complex_uniform":
            return torch.rand(size, dtype=kind, generator=generator)
        if call == "scattered_normal":
            return torch.empty(size, 2, dtype=kind)[:, 0].normal_(*args, generator=generator)
        if call == "multinomial":
            rows, count, replacement = args
            shape = (rows, size) if rows else (size,)
            weights = (torch.arange(max(rows, 1) * size, dtype=torch.float64) % 7 + 1).to(kind).reshape(shape)
            return torch.multinomial(weights, count, replacement, generator=generator)
        spread = torch.from_numpy(parameters(size)).to(kind)
        if call == "poisson":
            return torch.poisson(spread * 3, generator=generator)
        if call == "binomial":
            return torch.binomial(torch.floor(spread * 9), torch.frac(spread * 0.37), generator=generator)
        if call == "standard_gamma":
            return torch._standard_gamma(spread, generator=generator)
        if call == "dirichlet":
            return torch._sample_dirichlet(spread.reshape(-1, 1).expand(-1, 3).contiguous(), generator=generator)
        if call == "trunc_normal":
            return torch.nn.init.trunc_normal_(out, *args, generator=generator)
        return getattr(out, call + "_")(*args, generator=generator)

    results = []
    for call in calls:
        value = run(**call).contiguous()
        results.append(encode(bytes(value.view(torch.uint8).numpy()) if value.numel() else b""))
    return results


PROGRAMS = {str(i): program for i, program in enumerate(programs())}


def outcome(torch: Any, name: str) -> dict[str, Any]:
    """The results of a program, and the generator after it."""
    seed, calls = PROGRAMS[name]
    generator = torch.Generator().manual_seed(seed)
    results = run_on_torch(torch, calls, generator)
    return {"results": results, "state": encode(bytes(generator.get_state().numpy())), "initial_seed": generator.initial_seed()}


def state(torch: Any, name: str) -> dict[str, Any]:
    """A generator's state in the middle of a block, and what is drawn next."""
    generator = torch.Generator().manual_seed(3)
    torch.randn(5, generator=generator)
    packed = base64.b64encode(zlib.compress(bytes(generator.get_state().numpy()), 9)).decode()
    return {"state": packed, "next": torch.randn(3, generator=generator).tolist()}


TABLE = Table("random", PROGRAMS, outcome)
STATE_TABLE = Table("random_state", ["state"], state)
