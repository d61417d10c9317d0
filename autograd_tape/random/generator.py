"""`Generator`: torch's CPU random numbers as NumPy arrays.

Every method consumes exactly the words of the Mersenne Twister that torch 2.13 consumes for the same call and rounds as
torch rounds, so that any sequence of calls stays in step with torch.  The rules, from torch's documented distributions:

* one word makes a float32 (24 bits), float16 (11) or bfloat16 uniform, two words a float64 one (53 bits);
* 16 or more normals in contiguous memory come from Box-Muller over blocks of 16 words, fewer from Box-Muller pairs in
  float64 whose second half waits in the generator for the next call;
* integers are words modulo the range, of 64 bits when the range reaches ``2**28``.
"""

from __future__ import annotations

import functools
import math
import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from operator import index
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .. import warned
from ..dtypes import DType, c_name
from ..encodings import COMPLEX32
from ..locks import fork_safe_lock
from ..strided import by_memory
from . import kernels, rejection
from ._made import CAUCHY, CHANCE, EXPONENTIAL, GEOMETRIC
from .arguments import (
    INT64_MAX,
    INT64_MIN,
    Array,
    Shape,
    as_uint64,
    check_bounded,
    check_continuous,
    check_floating,
    check_numbers,
    check_uniform_bounds,
    check_weights,
    check_wide,
    digits_of,
    integer_bounds,
    is_plain,
    number,
    part_of,
    scalar_name,
    shape_of,
)
from .mt19937 import MT19937, Given, Way, Words
from .polynomials import F32, F64, TWO_PI, fma32, log32, sincos32
from ..warned import ignoring

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056
_AHEAD = 1 << 13  # most uniforms that are drawn before it is known how many are wanted
SKEW_LIMIT = 1 << 28  # from this range on, 32-bit words would make the modulo noticeably uneven

_SINGLE, _DOUBLE = np.dtype(F32), np.dtype(F64)
# As 0-dim arrays, which NumPy takes faster than its scalars.
_HIGH_BITS, _UNIT_HIGH, _UNIT_LOW = np.array(0x1FFFFF, np.uint32), np.array(2.0**-21), np.array(2.0**-53)
_LOW_BITS, _UNIT = np.array(0xFFFFFF, np.uint32), np.array(2.0**-24, F32)


class Generator:
    """A source of random numbers, equal to ``torch.Generator()`` on the CPU.

    >>> Generator(0).uniform((3,), "float32")
    array([0.4962566 , 0.7682218 , 0.08847743], dtype=float32)
    """

    __slots__ = ("__weakref__", "_cached", "_engine", "_lock", "_seed", "dealt")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = fork_safe_lock()
        self._seed = as_uint64(seed)
        self._engine = MT19937(self._seed)
        self.dealt = self._engine.dealt.get  # arrays that `draw` dealt under a key, to be read, not written
        self._cached: float | None = None

    # -- seeding and state ---------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed` in ``[-2**63, 2**64)``; negative seeds wrap, and only the low 32 bits seed the stream."""
        seed = as_uint64(seed)
        with self._lock:
            self._seed, self._cached = seed, None
            self._engine.seed(seed)
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system, and return it."""
        seed = int.from_bytes(os.urandom(7), "little") >> 3  # torch's own non-deterministic seeds keep to 53 bits
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from."""
        return self._seed

    def get_state(self) -> npt.NDArray[np.uint8]:
        """The state in torch's layout: 5056 bytes, good for ``torch.Generator.set_state`` and back."""
        with self._lock:
            return self._engine.export(self._seed, self._cached)

    def set_state(self, state: npt.NDArray[np.uint8]) -> Generator:
        """Continue from a state of `get_state`, of this generator, another one or torch's."""
        state = np.asarray(state)
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {state.size}"
            )
        with self._lock:
            self._seed, self._cached = self._engine.restore(state)
        return self

    def clone_state(self) -> Generator:
        """A second generator that continues as this one would."""
        return Generator().set_state(self.get_state())

    def __getstate__(self) -> npt.NDArray[np.uint8]:
        return self.get_state()

    def __setstate__(self, state: npt.NDArray[np.uint8]) -> None:
        self.__init__()  # type: ignore[misc]
        self.set_state(state)

    # -- raw words -----------------------------------------------------------------------------------------------

    def random_uint32(self, count: int) -> npt.NDArray[np.uint32]:
        """The next `count` 32-bit words."""
        with self._lock:
            return self._engine.words(count).copy()

    def random_uint64(self, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` 64-bit words; the first of two 32-bit words is the high one."""
        with self._lock:
            return self._words64(count)

    def _words64(self, count: int) -> npt.NDArray[np.uint64]:
        words = self._engine.words(2 * count)
        out = words[0::2].astype(np.uint64)
        out <<= np.uint64(32)
        out |= words[1::2]
        return out

    def _uniform64(self, count: int) -> npt.NDArray[np.float64]:
        if fast := kernels.load(count):
            words = self._engine.take(2 * count)
            out = words.view(_DOUBLE)
            fast.uniform_f64(words, out)
            return out
        words = self._engine.words(2 * count)
        out = np.bitwise_and(words[0::2], _HIGH_BITS) * _UNIT_HIGH
        out += words[1::2] * _UNIT_LOW
        return out

    def _uniform32(self, count: int) -> npt.NDArray[np.float32]:
        if fast := kernels.load(count):
            words = self._engine.take(count)
            out = words.view(_SINGLE)
            fast.uniform_f32(words, out)
            return out
        out = np.bitwise_and(self._engine.words(count), _LOW_BITS).view(np.int32).astype(F32)
        out *= _UNIT
        return out

    # -- continuous distributions ----------------------------------------------------------------------------------

    def uniform(self, shape: Shape, dtype: npt.DTypeLike = F32, low: float = 0.0, high: float = 1.0) -> Array:
        """Uniform in ``[low, high)``: ``torch.rand`` and ``Tensor.uniform_``.

        `dtype` is float16, bfloat16 (of ml_dtypes), float32, float64 or complex (both parts uniform).
        """
        if dtype is _SINGLE and low == 0.0 and high == 1.0 and shape.__class__ is tuple:
            with self._lock:
                return self._uniform32(math.prod(shape)).reshape(shape)
        shape, dtype = shape_of(shape), np.dtype(dtype)
        if dtype.kind == "c" or dtype == COMPLEX32:
            return self.uniform((*shape, 2), part_of(dtype), low, high).view(dtype).reshape(shape)
        check_floating(dtype, "uniform", "check_uniform_bounds")
        count = math.prod(shape)
        standard = low == 0.0 and high == 1.0
        if not standard:
            low, high = float(low), float(high)
            check_uniform_bounds(low, high, dtype)
        with self._lock:
            x = self._uniform64(count) if dtype == F64 else self._uniform32(count)
        if not standard:
            kind: Any = x.dtype.type
            start, stop = kind(low), kind(high)
            x = _fma(x, stop - start, start)
        x = x.astype(dtype, copy=False)
        if dtype.itemsize == 2 or not standard:
            # Rounding may reach the excluded end; torch folds that end back onto the start.
            x[x == dtype.type(high)] = dtype.type(low)  # type: ignore[call-overload]  # a floating type
        return x.reshape(shape)

    def normal(
        self, shape: Shape, dtype: npt.DTypeLike = F32, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
    ) -> Array:
        """Normal numbers: ``torch.randn`` and ``Tensor.normal_``.

        `contiguous` says whether the tensor to be filled lies in one dense piece of memory: torch draws by another
        rule where it does not.  A complex `dtype` has variance ``std ** 2`` over both parts together.
        """
        shape, dtype = shape_of(shape), np.dtype(dtype)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {number(std)}")
        if dtype.kind == "c" or dtype == COMPLEX32:
            return self.normal((*shape, 2), part_of(dtype), mean, std / math.sqrt(2), contiguous).view(dtype).reshape(shape)
        check_floating(dtype, "normal", "normal_kernel_cpu")
        count = math.prod(shape)
        with self._lock:
            if count < 16 or not contiguous:
                out = self._paired(count, dtype, mean, std)
            elif dtype == F64:
                out = self._normal_blocks64(count, float(mean), float(std))
            else:
                out = self._normal_blocks32(count, dtype, F32(mean), F32(std))
        return out.reshape(shape)

    def draw(self, count: int, way: Way, key: Any = None, shape: tuple[int, ...] = ()) -> Array | None:
        """The next `count` numbers of a way of `way_of`, to be read, not written; None where one draw at a time is for others: of odd
        numbers of normals that come in pairs, and of parts of blocks. With a key, the next arrays of their shape may be `dealt`."""
        count = index(count)  # a size of 2.0 is refused before anything has changed
        with self._lock:
            engine = self._engine
            if engine.dealt:
                engine.settle()
            words = count * way.words
            if words % way.group:
                return None
            if engine.way is way and engine.after == engine.next and (end := (at := engine.ahead_at) + count) <= engine.ahead.size:
                engine.ahead_at = end
                engine.next = engine.after = engine.next + words
                if key is not None:
                    engine.deal(key, shape, way)
                return engine.ahead[at:end]
            if not 0 < count <= _FEW or self._cached is not None and way.group == _PAIR:
                return None
            return engine.drawn(count, way)

    def fill(self, out: Array, way: Way) -> bool:
        """Whether machine code filled an array with the next numbers of a way: one in rows, of not only few."""
        if way.fill is None or out.size <= _FEW or not kernels.load(out.size) or not out.flags.carray:
            return False
        with self._lock:
            way.fill(self._engine, out)
        return True

    def _some(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """What `getattr(self, name)(shape, dtype)` draws; to be read, not written."""
        way = way_of(name, dtype)
        found = None if way is None else self.draw(math.prod(shape), way)
        numbers: Array = getattr(self, name)(shape, dtype) if found is None else found.reshape(shape)
        return numbers

    def _paired(self, count: Shape, dtype: np.dtype, mean: float, std: float) -> Array:
        """Normal numbers by the pair rule."""
        count = count if isinstance(count, int) else math.prod(count)
        return _narrow(_fma(self._normal_pairs(count), float(std), float(mean)), dtype)

    def _normal_blocks32(self, count: int, dtype: np.dtype, mean: np.float32, std: np.float32) -> Array:
        """Box-Muller over blocks of 16 words; the last 16 numbers are drawn anew where `count` is no multiple of 16."""
        whole = count // 16 * 16
        if dtype == F32 and whole != count and count < kernels.WORTH_LOADING:  # the last ones together with the others
            words = self._engine.take(count + 16)
            words[whole : whole + 16] = words[-16:]
            normals = _box_muller32(words[: whole + 16], mean, std)
            out = normals[:count].copy()  # in memory of its own size
            out[-16:] = normals[-16:]
            return out
        if dtype == F32:
            words = self._engine.take(count)
            out = words.view(_SINGLE)
            out[:whole] = _box_muller32(words[:whole], mean, std)
        else:  # the narrow types draw no words for the part that is drawn anew
            out = np.empty(count, dtype)
            out[:whole] = _box_muller32(self._engine.take(whole), mean, std)
        if whole != count:
            out[-16:] = _box_muller32(self._engine.take(16), mean, std)
        return out

    def _normal_blocks64(self, count: int, mean: float, std: float) -> Array:
        tail = 16 if count % 16 else 0
        u = self._uniform64(count + tail)
        whole = count // 16 * 16
        out = np.empty(count)
        out[:whole] = _box_muller64(u[:whole], mean, std)
        if tail:
            out[-16:] = _box_muller64(u[-16:], mean, std)
        return out

    def _normal_pairs(self, count: int) -> npt.NDArray[np.float64]:
        """Standard normals by the pair rule, one at a time, the odd one out kept for the next call."""
        out = np.empty(count)
        if not count:
            return out
        start = 0
        if self._cached is not None:
            out[0], self._cached, start = self._cached, None, 1
        needed = count - start
        if needed:
            u = self._uniform64(needed + needed % 2)
            if fast := kernels.load(count):
                pairs = np.empty_like(u)
                fast.box_muller_pairs(u, pairs)
            else:
                pairs = np.array([
                    value
                    for a, b in zip(u[0::2].tolist(), u[1::2].tolist(), strict=True)
                    for value in _pair(a, b)
                ])  # fmt: skip
            out[start:] = pairs[:needed]
            if needed % 2:
                self._cached = float(pairs[-1])
        return out

    def trunc_normal(
        self, shape: Shape, dtype: npt.DTypeLike = F32, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
    ) -> Array:
        """Normals of `mean` and `std` conditioned on ``[a, b]``: ``torch.nn.init.trunc_normal_``.

        By rejection, as torch does it: of normals where at least 0.3 of their mass lies in the interval, of uniforms
        under the density elsewhere (where a float32 logarithm decides, which may differ from torch's in the last place).
        """
        if mean < a - 2 * std or mean > b + 2 * std:
            warned.warn(
              "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
              "The distribution of values may be incorrect.")
        dtype = np.dtype(dtype)

        def below(x: float) -> float:
            return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

        kind: Any = dtype.type
        if below(b) - below(a) > 0.3:
            low, high = kind(a), kind(b)
            out = self.normal(shape, dtype, mean, std)
            while (outside := (out < low) | (out > high)).any():
                out = np.where(outside, self.normal(shape, dtype, mean, std), out)
            return out

        log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

        def rejected(x: Array) -> Array:
            density = np.square((x - kind(mean)) / kind(std)) * kind(-0.5) - kind(log_peak)
            with np.errstate(divide="ignore"):
                return np.log(self.uniform(shape, dtype)) > density

        out = self.uniform(shape, dtype, a, b)
        pending = rejected(out)
        while pending.any():
            candidates = self.uniform(shape, dtype, a, b)
            out = np.where(pending, candidates, out)
            pending &= rejected(candidates)
        return out

    def log_normal(self, shape: Shape, dtype: npt.DTypeLike = F32, mean: float = 1.0, std: float = 2.0) -> Array:
        """Exponentials of normals of `mean` and `std`: ``Tensor.log_normal_``."""
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={number(std)}")
        shape, dtype = shape_of(shape), np.dtype(dtype)
        check_floating(dtype, "log_normal_", "log_normal_cpu")
        with self._lock:
            x = _fma(self._normal_pairs(math.prod(shape)), float(std), float(mean))
        return _narrow(_libm("exp", x), dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: npt.DTypeLike = F32, rate: float = 1.0) -> Array:
        """Exponential numbers of mean ``1 / rate``: ``Tensor.exponential_``."""
        if not rate > 0.0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={number(rate)}")
        shape, dtype = shape_of(shape), np.dtype(dtype)
        check_continuous(dtype, "Exponential", "exponential_cpu", scalar_name(dtype))
        with self._lock:
            u = self._uniform64(math.prod(shape))
        np.negative(u, u)
        u = _libm("log1p", u)
        u *= -1.0 / rate
        return _narrow(u, dtype).reshape(shape)

    def cauchy(self, shape: Shape, dtype: npt.DTypeLike = F32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy numbers: ``Tensor.cauchy_``."""
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={number(sigma)}")
        shape, dtype = shape_of(shape), np.dtype(dtype)
        check_continuous(dtype, "Cauchy", "cauchy_cpu", c_name(DType.by_np[dtype]))
        with self._lock:
            u = self._uniform64(math.prod(shape))
        return _narrow(_fma(_libm("tan", math.pi * (u - 0.5)), float(sigma), float(median)), dtype).reshape(shape)

    # -- discrete distributions ------------------------------------------------------------------------------------

    def geometric(self, shape: Shape, dtype: npt.DTypeLike = F32, p: float = 0.5) -> Array:
        """Trials up to the first success, of chance `p` each: ``Tensor.geometric_`` (any real dtype)."""
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={number(p)}")
        check_numbers(np.dtype(dtype), "geometric_cpu", bools=False)
        shape = shape_of(shape)
        with self._lock:
            u = self._uniform64(math.prod(shape))
        return _narrow(np.ceil(_libm("log", u) / math.log1p(-p)), np.dtype(dtype)).reshape(shape)

    def bernoulli(self, p: float | Array, shape: Shape | None = None, dtype: npt.DTypeLike | None = None) -> Array:
        """Zeros and ones, one with chance `p`: ``torch.bernoulli``, ``Tensor.bernoulli_``, the mask of ``dropout``.

        A number `p` needs a `shape` and compares float64 uniforms (two words each); an array `p`, broadcast to `shape`,
        compares uniforms of its own precision.  `dtype` is any real dtype or bool, by default that of `p`, or float32.
        """
        if isinstance(p, np.ndarray):
            shape = p.shape if shape is None else shape_of(shape)
            if p.shape == shape and (dtype is None or dtype == p.dtype) and (tossed := self.tossed(p)) is not None:
                return tossed
            chance: float | Array = (p if p.shape == shape else np.broadcast_to(p, shape)).reshape(-1)
            plain = p.astype(F32) if p.dtype.itemsize == 2 else p
            if p.size and not (np.minimum.reduce(plain, None) >= 0 and np.maximum.reduce(plain, None) <= 1):
                raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  "
                                   "(Could this error message be improved?  If so, please report an enhancement request "
                                   "to PyTorch.)")  # fmt: skip
            dtype = p.dtype if dtype is None else dtype
            wide = p.dtype == F64
        else:
            if not 0 <= p <= 1:
                raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={number(p)}")
            shape, chance, wide = shape_of(() if shape is None else shape), float(p), True
        count = math.prod(shape)
        with self._lock:
            u = self._uniform64(count) if wide else self._uniform32(count)
        if not wide:
            chance = chance.astype(F32)  # type: ignore[union-attr]
        return (u < chance).astype(F32 if dtype is None else dtype).reshape(shape)

    def tossed(self, p: Array) -> Array | None:
        """`bernoulli` of chances by machine code; None where it is not at hand, or not all are chances."""
        char = p.dtype.char
        if char not in _CHARS or not (fast := kernels.load(p.size)):
            return None
        chances, out, fine = p if p.flags.c_contiguous else np.ascontiguousarray(p), np.empty(p.shape, p.dtype), np.empty(1, np.int64)
        run = fast.of("coins", char, "drawn")

        def toss(words: Words) -> bool:
            run(chances, words, out, fine)
            return bool(fine[0])

        with self._lock:
            return out if self._engine.attempt(2 * p.size if char == "d" else p.size, toss) else None

    def _chances(self, shape: Shape, dtype: np.dtype, p: float) -> Array:
        check_numbers(dtype, "bernoulli_scalar_cpu_")
        return self.bernoulli(p, shape, dtype)

    def randint(self, low: int, high: int, shape: Shape, dtype: npt.DTypeLike = np.int64) -> Array:
        """Integers in ``[low, high)``: ``torch.randint``."""
        return self.random(shape, dtype, low, high)

    def random(
        self, shape: Shape, dtype: npt.DTypeLike = F32, low: int | None = None, high: int | None = None
    ) -> Array:
        """``Tensor.random_``: integers in ``[low, high)``, or over the whole range of `dtype`.

        Without `low` and `high` the range is that of the dtype (``[0, max]``, for floats ``[0, 2**digits]``); with
        `low` alone it ends at the dtype's largest value; with ``low=-2**63`` it is all 64-bit integers.
        """
        shape, dtype = shape_of(shape), np.dtype(dtype)
        count = math.prod(shape)
        if high is not None:
            check_bounded(dtype)
        elif low is None:
            check_numbers(dtype, "random_kernel_cpu")
            return self._whole_range(count, dtype).reshape(shape)
        low = 0 if low is None else int(low)
        if high is None and low == INT64_MIN:
            if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
            with self._lock:
                return _narrow(self._words64(count).view(np.int64), dtype).reshape(shape)
        low, high = integer_bounds(low, high, dtype)
        spread = high - low
        with self._lock:
            if spread >= SKEW_LIMIT:
                values = self._words64(count)
                if spread < 1 << 64:
                    values %= np.uint64(spread)
                values += np.uint64(low & 0xFFFFFFFFFFFFFFFF)
                out = values.view(np.int64)
            else:
                words = self._engine.words(count)
                if fast := kernels.load(count):
                    out = np.empty(count, np.int64)
                    fast.of("integers", "l", "drawn")(words, spread, low, out)
                else:
                    out = (words % np.uint32(spread)).astype(np.int64)
                    out += low
        return _narrow(out, dtype).reshape(shape)

    def _whole_range(self, count: int, dtype: np.dtype) -> Array:
        digits = digits_of(dtype)
        with self._lock:
            if digits == 53:
                return (self._words64(count) % np.uint64((1 << 53) + 1)).astype(F64)
            if dtype == np.int64:
                return (self._words64(count) & np.uint64(INT64_MAX)).view(np.int64)
            words = self._engine.words(count)
        if dtype == np.bool_:
            return (words & np.uint32(1)).astype(np.bool_)
        if digits:
            return _narrow(words % np.uint32((1 << digits) + 1), dtype)
        return (words & np.uint32(np.iinfo(dtype).max)).astype(dtype)

    def randperm(self, n: int, dtype: npt.DTypeLike = np.int64) -> Array:
        """A permutation of ``range(n)``: ``torch.randperm``."""
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        out = np.arange(n, dtype=np.int64)
        if n < 2:
            return out.astype(dtype)
        with self._lock:
            if n >= 0xFFFFFFFF // 20:  # 32-bit words would favour the low places
                steps = self._words64(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)
                fast = None
            else:
                words = self._engine.words(n - 1)
                fast = kernels.load(n)
                if not fast:
                    steps = words % np.arange(n, 1, -1, dtype=np.uint32)
        if fast:
            fast.shuffle(words, out)
            return out.astype(dtype, copy=False)
        order = out.tolist()
        for i, step in enumerate(steps.tolist()):
            j = i + step
            order[i], order[j] = order[j], order[i]
        return np.array(order, dtype)

    def multinomial(self, weights: Array, count: int, replacement: bool = False) -> npt.NDArray[np.int64]:
        """`count` category indices per row of `weights` (1-D or 2-D, not negative): ``torch.multinomial``.

        Without replacement, and for one sample, the categories of the largest ``weight / Exp(1)`` are taken in order.
        """
        weights = np.asarray(weights)
        if (chosen := self._chosen(weights, count, replacement)) is not None:
            return chosen
        check_weights(weights, count, replacement)
        if not replacement or count == 1:
            odds = weights.astype(F32) if weights.dtype.itemsize == 2 else weights
            order = by_memory(weights)
            noise = self._some("exponential", tuple([weights.shape[d] for d in order]), weights.dtype)
            if order != tuple(range(len(order))):
                noise = noise.transpose(np.argsort(order))
            noise = noise.astype(odds.dtype, copy=False)
            if np.logical_and.reduce(noise, None):
                keys = odds / noise
            else:
                with np.errstate(divide="ignore"):
                    keys = odds / noise
            if odds is not weights:
                keys = keys.astype(weights.dtype).astype(F32)
            return _winners(keys, count)
        rows = weights.astype(F32) if weights.dtype.itemsize == 2 else weights
        below = np.add.accumulate(rows if rows.ndim == 2 else rows[None], -1)
        if below.size and not np.minimum.reduce(below[:, -1]) > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        below /= below[:, -1:]
        below[:, -1] = 1
        u = self._some("uniform", (len(below), count), np.dtype(F64))
        if (found := _searched(below, u)) is not None:
            out = found
        elif below.size * count <= _FEW:
            out = np.array([[bisect_left(row, x) for x in drawn] for row, drawn in zip(below.tolist(), u.tolist(), strict=True)], np.int64)
        elif below.size * count <= 1 << 14:
            out = np.add.reduce(below[:, None] < u[..., None], -1)
        else:
            out = np.empty(u.shape, np.int64)
            for row, drawn, indices in zip(below.astype(F64), u, out, strict=True):
                indices[:] = row.searchsorted(drawn)
        return out if weights.ndim == 2 else out[0]

    def _chosen(self, weights: Array, count: int, replacement: bool) -> npt.NDArray[np.int64] | None:
        """`multinomial` by machine code; None where it is not at hand, or there is more to say of the weights."""
        if not 0 < weights.ndim < 3 or not 0 < count or not (n := weights.shape[-1]) or (char := weights.dtype.char) not in _CHARS or not (
                fast := kernels.load(weights.size)):
            return None
        race = not replacement or count == 1
        if count > n and not replacement or n > 1 << 24:
            return None
        rows = weights.reshape(-1, n)  # of columns a copy
        if not race:
            out, fine = np.empty((len(rows), count), np.int64), np.empty(1, np.int64)
            run = fast.of("choices", char, "drawn")

            def choose(words: Words) -> bool:
                run(np.ascontiguousarray(rows), words, out, fine)
                return bool(fine[0])

            with self._lock:
                return out.reshape(*weights.shape[:-1], count) if self._engine.attempt(2 * out.size, choose) else None
        flat = weights if weights.flags.c_contiguous else weights.T  # in the order of memory
        if not flat.flags.c_contiguous:
            return None
        keys, fine = np.empty(flat.shape), np.empty(2, np.int64)
        run = fast.of("races", char, "drawn")

        def compete(words: Words) -> bool:
            run(flat, words, keys, fine)
            return bool(fine[0]) and (not fine[1] or bool((weights != 0).any(-1).all()))

        with self._lock:
            if not self._engine.attempt(2 * keys.size, compete):
                return None
        return _winners(keys if flat is weights else keys.T, count)

    # -- by rejection ----------------------------------------------------------------------------------------------

    def poisson(self, rate: Array) -> Array:
        """Poisson numbers of the rates in an array of a floating dtype: ``torch.poisson``."""
        dtype = rate.dtype
        if dtype.char not in _CHARS:
            check_floating(dtype, "poisson", "poisson_cpu")
        if not rate.flags.carray:
            rate = rate.copy()  # numbers lie in rows
        if 0 < (count := rate.size) <= _FEW and (fast := kernels.load(8 * count)):
            out, place, run = np.empty(rate.shape, dtype), np.zeros(2, np.int64), fast.of("few_poisson", dtype.char)
            with self._lock:
                engine, wanted = self._engine, 24 * count + 64  # as rates below 10 need
                if (words := engine.ahead_of(wanted, True)) is not None:
                    run(rate, words, out, place)
                    made, used = place.tolist()
                    if made == count:
                        engine.next += 2 * used
                        return out
                mark, place[:] = engine.mark(), 0  # of this block, and of the next
                run(rate, engine.lent(wanted), out, place)
                made, used = place.tolist()
                engine.rewind(mark, 2 * used if made == count else 0)
                if made == count:
                    return out
        rates = rate.astype(F64).ravel()
        few = rates.size < 32  # which Python looks through in the time of a call of NumPy
        if rates.size and not (all([r >= 0 for r in rates.tolist()]) if few else np.minimum.reduce(rates) >= 0):
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return _narrow(self._rejected("poisson", (), (rates,)), rate.dtype).reshape(rate.shape)

    def binomial(self, count: Array, chance: Array) -> Array:
        """Binomial numbers of broadcast arrays of one dtype, float32 or float64: ``torch.binomial``."""
        dtype = count.dtype
        check_wide(dtype, "binomial_cpu")
        if chance.dtype != dtype:
            raise RuntimeError(f"Found dtype {scalar_name(chance.dtype)} but expected {scalar_name(dtype)}")
        count, chance = np.broadcast_arrays(count, chance)
        chances = np.ascontiguousarray(chance).ravel()
        with ignoring():
            wide = chances.astype(F64)
            misses = -np.where(chances > 0.5, 1.0 - wide, wide).astype(dtype)
            log_misses = np.log1p(misses).astype(F64) if dtype == F32 else _libm("log1p", misses)
        out = self._rejected("binomial", (np.ascontiguousarray(count).ravel(), chances), (log_misses,))
        return out.astype(dtype).reshape(count.shape)

    def standard_gamma(self, shape_parameter: Array) -> Array:
        """Gamma numbers of scale 1, float32 or float64: ``torch._standard_gamma``."""
        dtype = shape_parameter.dtype
        check_wide(dtype, "gamma_cpu")
        out = self._gamma(shape_parameter).astype(dtype)
        return np.fmax(out, np.finfo(dtype).tiny)  # shapes below 0 may give no number

    def dirichlet(self, concentration: Array) -> Array:
        """Dirichlet vectors along the last axis, float32 or float64: ``torch._sample_dirichlet``."""
        dtype = concentration.dtype
        check_wide(dtype, "dirichlet")
        gammas = np.fmax(self._gamma(concentration.astype(F64)), np.finfo(F64).tiny)
        shares = (gammas / gammas.sum(-1, keepdims=True)).astype(dtype)
        return np.clip(shares, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)))

    def _gamma(self, shapes: Array) -> npt.NDArray[np.float64]:
        return self._rejected("gamma", (np.ascontiguousarray(shapes).ravel(),), (), pairs=True).reshape(shapes.shape)

    def _rejected(self, name: str, typed: Sequence[Array], plain: Sequence[Array], pairs: bool = False) -> npt.NDArray[np.float64]:
        """One number of a sampler of `rejection` for each of the parameters' elements: `typed` ones in the dtype in which torch computes
        with them, `plain` ones in float64. It uses normals where they come in `pairs`.

        Uniforms are drawn ahead, the more the more numbers are wanted; afterwards the stream stands behind those that were used.
        """
        count = len((*typed, *plain)[0])
        out = np.empty(count)
        fast = kernels.load(8 * count)  # a number takes the loop in Python as long as some words take NumPy
        loop: Any = fast.of(name, (*typed, out)[0].dtype.char) if fast else getattr(rejection, name)
        place: Any = np.zeros(2, np.int64) if fast else [0, 0]
        parameters = *typed, *[p if fast else p.tolist() for p in plain]
        with self._lock:
            if fast and not pairs and 0 < count <= _FEW and (few := self._engine.ahead_of(6 * count + 16)) is not None:
                drawn = np.empty(len(few) // 2)
                fast.uniform_f64(few, drawn)
                loop(*parameters, drawn, out, place)
                if place[0] == count:
                    self._engine.next += 2 * int(place[1])
                    return out
                place[:] = 0
            waiting = np.array([math.nan if self._cached is None else self._cached])
            size, drawn, left = 8, out[:0], 0
            mark = self._engine.mark()
            try:
                while place[0] < count:
                    size = min(max(2 * size, 3 * (count - int(place[0]))), _AHEAD)
                    left = len(drawn) - int(place[1])
                    mark = self._engine.mark()
                    more = self._uniform64(size)
                    drawn = np.concatenate((drawn[place[1]:], more)) if left else more
                    place[1] = 0
                    loop(*parameters, drawn if fast else drawn.tolist(), out, place, *([waiting] if pairs else []))
            finally:  # of the last ones, which are the only ones that were not all used
                self._engine.rewind(mark, 2 * max(int(place[1]) - left, 0) if count else 0)
            if pairs:
                self._cached = None if math.isnan(waiting[0]) else float(waiting[0])
        return out


# -- words that become numbers ahead -------------------------------------------------------------------------------


_PAIR, _FEW, _MOST_WAYS = 4, 256, 64
_CHARS = frozenset("fdEe")


@functools.lru_cache(_MOST_WAYS)
def way_of(name: str, dtype: np.dtype, args: tuple[float, ...] = ()) -> Way | None:
    """How words become the numbers of ``Generator.name(shape, dtype, *args)``, or "paired" ones; None where that says what is wrong, or
    each call is one of its own.

    >>> way_of("uniform", np.dtype("f8")).words, way_of("uniform", np.dtype("f8"), (2.0, 1.0))
    (2, None)
    """
    general = 0 in args[1:] or DType.by_np[dtype].is_complex  # the sign of 0 may count
    if general or name == "_paired" and not digits_of(dtype):  # which only `normal` refuses
        return None
    words = _WORDS[name](dtype, *args)
    if words is None:
        return None

    fill = _filler(name, dtype, args)

    def make(given: Words) -> Array:
        count = len(given) // words
        if fill is not None and count >= 16 and kernels.load(count):
            out = np.empty(count, dtype)
            fill(cast("MT19937", Given(given)), out)
            return out
        source = object.__new__(Generator)
        source._lock, source._engine, source._cached = nullcontext(), cast("MT19937", Given(given)), None
        found: Array = getattr(source, name)((count,), dtype, *args)
        return found

    try:
        make(np.empty(0, np.uint32))
    except (ArithmeticError, RuntimeError, TypeError, ValueError):
        return None
    return Way(make, words, _GROUPS.get(name, 1) * words, fill)


def _filler(name: str, dtype: np.dtype, args: tuple[Any, ...]) -> Callable[[MT19937, Array], None] | None:
    """What fills an array of the next numbers by one pass of machine code, where there is such."""
    kernel, char, wide = "numbers", {"?": "B"}.get(dtype.char, dtype.char), 2
    floating = char in "fdEe"
    given: tuple[Any, ...]
    if name == "uniform" and floating:
        low, high = args + (0.0, 1.0)[len(args) :]
        kind: Any = F64 if dtype == F64 else F32
        kernel, wide = "uniforms", 2 if dtype == F64 else 1
        given = (), (float(kind(low)), float(kind(high) - kind(low)), float(dtype.type(low)), float(dtype.type(high)))
    elif name == "normal" and char in "fEe":
        kernel, wide, given = "normals", 1, ((), tuple([float(F32(x)) for x in args + (0.0, 1.0)[len(args) :]]))
    elif name == "random" and char in "fdEelB":
        whole = {"d": (1 << 53) + 1, "l": 1 << 63, "B": 2 if dtype == np.bool_ else 256}
        low, high = args or (0, whole.get(char) or (1 << digits_of(dtype)) + 1)  # which are plain, or there is no way
        spread = high - low
        wide = 2 if spread >= SKEW_LIMIT else 1
        kernel, given = "integers", ((), (spread - (spread >> 63 << 64), low))
    elif name == "exponential" and floating:
        given = (EXPONENTIAL,), (-1.0 / (*args, 1.0)[0], 0.0)
    elif name == "cauchy" and floating:
        median, sigma = args + (0.0, 1.0)[len(args) :]
        given = (CAUCHY,), (float(sigma), float(median))
    elif name == "geometric" and floating:
        given = (GEOMETRIC,), (math.log1p(-args[0]), 0.0)
    elif name == "_chances" and floating:
        given = (CHANCE,), (float(args[0]), 0.0)
    else:
        return None
    before, after = given
    run: Any = None  # found once

    def fill(engine: MT19937, out: Array) -> None:
        nonlocal run
        count = wide * out.size
        if kernel == "normals" and count % 16:  # the narrow types draw no words for what is drawn anew
            count = count + 16 if char == "f" else count // 16 * 16 + 16
        run = run or kernels.load(out.size).of(kernel, char, "drawn")  # type: ignore[union-attr]  # which there is
        run(*before, engine.lent(count), *after, out)

    return fill


def _words_of_integers(dtype: np.dtype, low: int | None = None, high: int | None = None) -> int | None:
    if low is None or high is None:
        return 2 if dtype == np.int64 or dtype == F64 else 1
    plain = low.__class__ is int and high.__class__ is int and is_plain(low, high, dtype)
    return (2 if high - low >= SKEW_LIMIT else 1) if plain else None


_WORDS: dict[str, Callable[..., int | None]] = {
    "uniform": lambda dtype, *_: 2 if dtype == F64 else 1, "normal": lambda dtype, *_: 2 if dtype == F64 else 1,
    "random": _words_of_integers,
    **dict.fromkeys(("exponential", "cauchy", "log_normal", "geometric", "_chances", "_paired"), lambda *_: 2),
}
_GROUPS = {"normal": 16, "log_normal": 2, "_paired": 2}
"""Numbers that are made of words together; each of words of its own where nothing is said."""


def _default_generator() -> Generator:
    generator = Generator()
    generator.seed()
    return generator


# -- numerics ------------------------------------------------------------------------------------------------------


def _orders() -> Any:
    """Sorting and search, whose package is loaded by now in most programs."""
    from ..executors.kernels import order

    return order


def _winners(keys: Array, count: int) -> npt.NDArray[np.int64]:
    """The places of the largest keys of each row, in order."""
    if count == 1:
        return keys.argmax(-1)[..., None]
    if keys.size >= 64 and not np.isnan(np.minimum.reduce(keys, None)) and (
            best := _orders().top(keys, keys.ndim - 1, count, True, True)) is not None:
        chosen: npt.NDArray[np.int64] = best[1]
        return chosen
    return (-keys).argsort(-1, "stable")[..., :count]


def _searched(below: Array, u: Array) -> Array | None:
    """Where numbers go into their rows, by machine code that is at hand."""
    found: Array | None = _orders().bisect(below.astype(F64, copy=False), u, False) if kernels.load(u.size) else None
    return found


def _box_muller32(words: npt.NDArray[np.uint32], mean: np.float32, std: np.float32) -> Array:
    """Normals from blocks of 16 words, which are overwritten."""
    if fast := kernels.load(words.size):
        out = words.view(_SINGLE)
        fast.normal_f32(words.reshape(-1, 2, 8), out.reshape(-1, 2, 8), mean, std)
        return out
    words &= np.uint32(0xFFFFFF)
    u = words.view(np.int32).astype(F32).reshape(-1, 2, 8)
    u *= F32(2.0**-24)
    radius = np.sqrt(F32(-2) * log32(F32(1) - u[:, 0]))
    sine, cosine = sincos32(TWO_PI * u[:, 1])
    return fma32(np.stack((radius * cosine, radius * sine), 1), std, mean).reshape(-1)


def _box_muller64(u: npt.NDArray[np.float64], mean: float, std: float) -> Array:
    if fast := kernels.load(u.size):
        out = np.empty_like(u)
        fast.box_muller_f64(u, out, mean, std)
        return out
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * _libm("log", 1.0 - u[:, 0]))
    theta = 2.0 * math.pi * u[:, 1]
    return _fma(np.stack((radius * _libm("cos", theta), radius * _libm("sin", theta)), 1), std, mean).reshape(-1)


def _pair(u1: float, u2: float) -> tuple[float, float]:
    radius = math.sqrt(-2.0 * math.log1p(-u2))
    theta = 2.0 * math.pi * u1
    return radius * math.cos(theta), radius * math.sin(theta)


def _libm(name: str, x: Array) -> Array:
    """The C library's function on a float64 array: NumPy's own vector versions round differently in the last place."""
    if (fast := kernels.load(x.size)) and hasattr(fast, name):
        out = np.empty(x.shape)
        getattr(fast, name)(x.reshape(-1), out.reshape(-1))
        return out
    function: Callable[[float], float] = getattr(math, name)
    try:
        return np.fromiter(map(function, x.ravel().tolist()), F64, x.size).reshape(x.shape)
    except (ValueError, OverflowError):  # log(0) and exp(1000), which C answers with an infinity
        with ignoring():
            return getattr(np, name)(x)


def _fma(x: Array, scale: float, shift: float) -> Array:
    """``x * scale + shift`` rounded once, as torch's compiled code does it."""
    if shift == 0:
        return x * x.dtype.type(scale)
    if x.dtype == F32:
        return fma32(x, scale, shift)
    if fast := kernels.load(x.size):
        out = np.empty(x.shape)
        fast.fma_f64(x.reshape(-1), float(scale), float(shift), out.reshape(-1))
        return out
    if abs(scale) > 2.0 ** 900:  # whose parts would overflow
        return np.asarray(_fma(x, scale * 2.0 ** -200, shift * 2.0 ** -200) * 2.0 ** 200)
    # Exact product and exact sum by Veltkamp and Dekker (Numer. Math. 18, 1971), then one rounding of the rest.
    high = x * scale
    split = 134217729.0  # 2**27 + 1
    t = split * x
    x1 = t - (t - x)
    x2 = x - x1
    s = split * scale
    s1 = s - (s - scale)
    s2 = scale - s1
    low = ((x1 * s1 - high) + x1 * s2 + x2 * s1) + x2 * s2
    total = high + shift
    back = total - high
    return total + (((high - (total - back)) + (shift - back)) + low)


def _narrow(x: Array, dtype: np.dtype) -> Array:
    """Cast as C++ does: 16-bit floats by way of float32."""
    if dtype.itemsize == 2 and digits_of(dtype):
        x = x.astype(F32)
    return x.astype(dtype, copy=False)


default_generator = _default_generator()
