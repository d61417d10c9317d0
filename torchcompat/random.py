"""Random tensors, equal to torch's on the CPU for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords
from autograd_tape.calls import HERE, TO_ALL, TO_PLAIN, below, passed
from autograd_tape.dims import broadcast_shape
from autograd_tape.dtypes import (
    BOOL, CPU_KINDS, FLOATING, INT64_KIND, SCALAR_TYPE_NAMES, Device, DType, Kind, default_dtype, float32, home, inference_kind, int64,
    kind,
)
from autograd_tape.errors import MAX_DIMS, AutogradError, type_name
from autograd_tape.strided import by_memory
from autograd_tape.ops._samples import check_number
from autograd_tape.ops._shapes import given_size
from autograd_tape.random import Generator as _Stream
from autograd_tape.random import default_generator as _default_stream
from autograd_tape.random.generator import Way, way_of
from autograd_tape.random.arguments import check_numbers
from autograd_tape.modes import GradMode, grad_mode

from ._calls.absent import absences as _absences
from ._calls.above import above
from ._calls.shown import shown_in
from ._making.conversion import checked_dtype
from ._memory.bits import values
from ._memory.layout import layout, memory_format
from ._tensor import Tensor, frontend
from .overrides import overridable

_new = object.__new__
_NO_GENERATOR = {
    "cuda": "Cannot get CUDA generator without ATen_cuda library. PyTorch splits its backend into two shared libraries: a CPU "
            "library and a CUDA library; this error has occurred because you are trying to use some CUDA functionality, but the "
            "CUDA library has not been loaded by the dynamic linker for some reason.  The CUDA library MUST be loaded, EVEN IF you "
            "don't directly use any symbols from the CUDA library! One common culprit is a lack of -Wl,--no-as-needed in your link "
            "arguments; many dynamic linkers will delete dynamic library dependencies if you don't depend on any of their symbols."
            "  You can check if this has occurred by using ldd on your binary to see if there is a dependency on *_cuda.so library.",
    "hpu": "Backend doesn`t support getNewGenerator()",
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "mtia": "Cannot execute getNewGenerator() without MTIA backend.",
    "privateuseone": "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first.",
    "xla": "Cannot get XLA generator without torch_xla library. This error has occurred because you are trying to use some XLA "
           "functionality, but the XLA library has not been loaded by the dynamic linker. You must load xla libraries by `import "
           "torch_xla`",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
    **{name: f"{name.upper()} device type not an accelerator." for name in ("ipu", "lazy", "maia", "meta", "vulkan")},
}
"""What torch says of devices that a build for CPUs makes no generators for."""


class Generator:
    """A source of random numbers with its own seed and state.

    >>> import torchcompat as torch
    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("device", "stream", "__weakref__")

    def __init__(self, device: DeviceLike = "cpu", *, stream: _Stream | None = None) -> None:
        self.device = home(Device(device))
        if self.device.type in _NO_GENERATOR:
            raise RuntimeError(_NO_GENERATOR[self.device.type])
        self.stream = _Stream() if stream is None else stream

    def manual_seed(self, seed: int) -> "Generator":
        """Restarts from a seed."""
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type_name(seed)}")
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Restarts from a seed of the system's, and says which."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        return frontend.wrap(self.stream.get_state())

    def set_state(self, state: Tensor) -> "Generator":
        """Restores a state."""
        if not isinstance(state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        self.stream.set_state(state._data)
        return self

    def clone_state(self) -> "Generator":
        """A generator in the same state."""
        return Generator(self.device).set_state(self.get_state())

    graphsafe_get_state, graphsafe_set_state = clone_state, set_state

    def __reduce__(self) -> tuple[object, ...]:
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        self.set_state(state[2])

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {hex(id(self))}>"


shown_in("torchcompat._C", Generator)
default_generator = Generator(stream=_default_stream)


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator.

    >>> import torchcompat as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    _default_stream.manual_seed(int(seed))
    return default_generator


def seed() -> int:
    """Seeds the default generator from the system, and says with what."""
    return _default_stream.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return _default_stream.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state as a tensor of bytes."""
    return frontend.wrap(_default_stream.get_state())


def set_rng_state(new_state: Tensor) -> None:
    """Restores the default generator's state."""
    _default_stream.set_state(new_state._data)


class fork_rng:
    """Restores the default generator's state at the end of the block."""

    def __init__(self, devices: object = (), enabled: bool = True, **_: object) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self._state = _default_stream.get_state() if self.enabled else None

    def __exit__(self, *exc: object) -> None:
        if self._state is not None:
            _default_stream.set_state(self._state)


def _size(name: str, size: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes given as one sequence or as several numbers; torch's errors for others."""
    try:
        return given_size(frontend, name, size)
    except AutogradError as error:
        raise frontend.error(error) from None


def _wanted(dtype: Any, name: str, out: Any) -> DType | None:
    """The dtype asked for; that of `out` where none is."""
    return checked_dtype(dtype, name) if dtype is not None or out is None else out._k.dtype


def _finish(array: np.ndarray, dtype: DType, device: DeviceLike | None, requires_grad: bool, out: object = None) -> Tensor:
    if out is not None:
        try:
            return frontend.write_out(None, out, [frontend.wrap(array)])
        except AutogradError as error:
            raise frontend.error(error) from None
    device = frontend.default_device if device is None else Device(device)
    warned.made(dtype.group)
    t = frontend.wrap(array, CPU_KINDS[dtype.np])
    if device is not None and device.type != "cpu":
        t = frontend.to_device(t, device)
    if requires_grad:
        t._node = frontend.leaf_node(t, True)
    return t


def _fills(out: Any, size: tuple[int, ...], dtype: DType) -> bool:
    """Whether numbers are drawn right into `out`, in the order of its memory, since that is none of rows."""
    return out is not None and out._data.shape == size and not out._data.flags.c_contiguous and out._k.dtype is dtype and out._node is None


def _stream(generator: Generator | None) -> Any:
    if generator is None:
        return _default_stream
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.stream


def _draw(shape: tuple[int, ...], draw: Fn, source: Any = None) -> Tensor:
    """A tensor from `draw(shape, source)`; inside vmap one that holds a draw for each example."""
    if above.drawn is not None:
        found = above.drawn(draw, shape, source)
        if found is not NotImplemented:
            return found
    return draw(shape, source)


def _constant(x: object) -> Any:
    """A parameter without its history."""
    return x.detach() if isinstance(x, Tensor) and x._node is not None else x


def _have_tangents(tensors: Any) -> bool:
    """Whether forward mode carries derivatives along some of these."""
    return above.has_tangents is not None and above.has_tangents(tensors)


def _sampled(numbers: object, by: str, *parameters: Tensor) -> Any:
    """The numbers as a function of parameters that require grad or have tangents, whose derivatives are zeros."""
    if (grad_mode() is not GradMode.ENABLED or all([p._node is None for p in parameters])) and not _have_tangents(parameters):
        return numbers
    return frontend.sampled(numbers, *parameters, *[None] * (2 - len(parameters)), by)


def _named_size(name: str, size: Arguments, named: Keywords) -> Arguments:
    """The sizes, which may also be given as `size=`; torch, which has several signatures of these, says that none fits."""
    if not named and size:
        return size
    if size or not named or "size" in named and len(named) > 1:
        got = ", ".join([*[type(n).__name__ for n in size], *[f"{key}={type(value).__name__}" for key, value in named.items()]])
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got})")
    if "size" not in named:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return (named["size"],)


def _tensor(array: np.ndarray, k: Kind) -> Tensor:
    """A tensor of a new array, of a kind of the CPU's."""
    t = _new(Tensor)
    t._data, t._k = array, k if grad_mode() is not GradMode.INFERENCE else inference_kind(k)
    t._node = t._v = t._base = None
    return t


def _alone() -> bool:
    """Whether nobody is to hear of new random numbers, on the CPU. (Who maps over batches, or carries tangents along, listens.)"""
    return not TO_PLAIN and frontend.default_device is None


class _Ways(dict[Any, "Way | None"]):
    """How the stream makes not many numbers, by what `way` needs to know; None where that is for the general way."""

    def __init__(self, name: str, way: Callable[..., Way | None], many: Callable[..., np.ndarray] | None = None) -> None:
        super().__init__()
        self.name, self._way, self.many = name, way, many

    def __missing__(self, key: Any) -> Way | None:
        if len(self) >= _MOST_WAYS:
            self.clear()
        way = self[key] = self._way(*key)
        return way


_dealt = _default_stream.dealt
_MOST_WAYS = 64
_DEALT = 256  # numbers of the largest array that is made ahead of calls
_INT = frozenset([int])
_MANY = 1 << 18  # numbers from which on arithmetic is shared among threads
_SINGLE = kind(float32)
_FLOATS = {d: kind(d) for d in (float32, *[DType.by_name[name] for name in ("float64", "float16", "bfloat16")])}
_OF_FLOATS = frozenset(_FLOATS.values())
_normals = _Ways("normal", lambda k, few: way_of("_paired", k.np, (0.0, 1.0)) if few else way_of("normal", k.np),
                 lambda shape, dtype, rows: _default_stream.normal(shape, dtype, 0.0, 1.0, rows))
_uniforms = _Ways("uniform", lambda k, few: way_of("uniform", k.np), lambda shape, dtype, rows: _default_stream.uniform(shape, dtype))
_integers = _Ways("integers", lambda low, high: way_of("random", int64.np, (low, high)))


def _few(ways: _Ways, shape: tuple[int, ...], dtype: Any, rows: bool = True) -> Tensor | None:
    """Floating-point numbers of the default stream, in rows or for columns; None where that is for the general way."""
    try:
        k = _FLOATS[default_dtype() if dtype is None else dtype]
        count = math.prod(shape)
        many = count > _DEALT
        key = (ways.name, k, rows, *shape) if not many and count.__class__ is int else None
        if key is not None and (pieces := _dealt(key)) is not None and (numbers := next(pieces, None)) is not None:
            return _tensor(numbers.copy(), k)
        if len(shape) > MAX_DIMS:
            return None
        if many and _INT.issuperset(map(type, shape)) and min(shape) > 0:
            if (way := ways[k, not rows]) is not None and _default_stream.fill(out := np.empty(shape, k.np), way):
                return _tensor(out, k)
            return _tensor(ways.many(shape, k.np, rows), k) if ways.many is not None else None
        if min(shape) < 1 or (numbers := _default_stream.draw(count, cast("Way", ways[k, count < 16 or not rows]), key, shape)) is None:
            return None
    except (KeyError, TypeError, ValueError):  # sizes, or a dtype, that are no such
        return None
    return _tensor(numbers.copy() if len(shape) == 1 else numbers.reshape(shape).copy(), k)


def _sized(ways: _Ways, general: Fn) -> Fn:
    """The quick way of a function of sizes."""
    def quick(*size: Any, **named: Any) -> Tensor:
        if (not named or len(named) == 1 and "dtype" in named) and size and _alone() and (
                few := _few(ways, size if size[0].__class__ is int else size[0] if len(size) == 1 else (), named.get("dtype"))) is not None:
            return few
        return general(*size, **named)

    return frontend.before(general, quick)


def _shaped(ways: _Ways, general: Fn) -> Fn:
    """The quick way of a function of a tensor whose shape and dtype count."""
    def quick(*args: Any, **named: Any) -> Tensor:
        if not named and len(args) == 1 and args[0].__class__ is Tensor and (k := args[0]._k) in _OF_FLOATS and _alone():
            data = args[0]._data
            if data.flags.c_contiguous:
                if (few := _few(ways, data.shape, k.dtype)) is not None:
                    return few
            elif data.ndim == 2 and data.flags.f_contiguous and (few := _few(ways, data.shape[::-1], k.dtype, False)) is not None:
                few._data = few._data.T
                return few
        return general(*args, **named)

    return frontend.before(general, quick)


@frontend.refusing
@frontend.passing
def rand(*size: Any, generator: Generator | None = None, out: Any = None, dtype: DType | None = None,
         layout: layout | None = None, device: DeviceLike | None = None, requires_grad: bool = False,
         pin_memory: bool = False, **named: object) -> Tensor:
    """Uniform numbers in [0, 1)."""
    if TO_ALL and (found := passed(rand, (size, generator, out, dtype, layout, device, requires_grad, pin_memory, named))) is not HERE:
        return found
    size = _named_size("rand", size, named)
    dtype, size = _wanted(dtype, "rand", out) or default_dtype(), _size("rand", size)
    if _fills(out, size, dtype):
        return out.uniform_(generator=generator)
    return _draw(size, lambda n, _: _finish(_stream(generator).uniform(n, dtype.np), dtype, device, requires_grad, out))


@frontend.refusing
@frontend.passing
def randn(*size: Any, generator: Generator | None = None, out: Any = None, dtype: DType | None = None,
          layout: layout | None = None, device: DeviceLike | None = None, requires_grad: bool = False,
          pin_memory: bool = False, **named: object) -> Tensor:
    """Normal numbers of mean 0 and standard deviation 1."""
    if TO_ALL and (found := passed(randn, (size, generator, out, dtype, layout, device, requires_grad, pin_memory, named))) is not HERE:
        return found
    size = _named_size("randn", size, named)
    dtype, size = _wanted(dtype, "randn", out) or default_dtype(), _size("randn", size)
    if _fills(out, size, dtype):
        return out.normal_(generator=generator)
    return _draw(size, lambda n, _: _finish(_stream(generator).normal(n, dtype.np), dtype, device, requires_grad, out))


@frontend.refusing
@frontend.passing
def randint(low: Any = None, high: Any = None, size: tuple[int, ...] | None = None, *, generator: Generator | None = None, out: Any = None,
            dtype: DType | None = None, layout: layout | None = None, device: Any = None, requires_grad: bool = False,
            pin_memory: bool = False) -> Tensor:
    """Integers from low (0 where left out) up to, not including, high."""
    if TO_ALL and (found := passed(
            randint, (low, high, size, generator, out, dtype, layout, device, requires_grad, pin_memory))) is not HERE:
        return found
    if size is None:
        low, high, size = None, low, high
    elif high is None:
        low, high = None, low
    low = 0 if low is None else low
    if high is None or size is None:
        raise TypeError(f"randint() missing required argument: '{'high' if high is None else 'size'}'")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    dtype, size = _wanted(dtype, "randint", out) or int64, tuple(size)
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if size and (min(size) < 0 or len(size) > MAX_DIMS):
        _size("randint", size)
    if _fills(out, size, dtype):
        return out.random_(low, high, generator=generator)
    return _draw(size, lambda n, _: _finish(_stream(generator).randint(low, high, n, dtype.np), dtype, device, requires_grad, out))


def _quick_integers(*args: Any, **named: Any) -> Tensor:
    if not named and 1 < len(args) < 4 and _alone():
        first, last, shape = args if len(args) == 3 else (0, *args)
        if shape.__class__ is tuple and first.__class__ is int and last.__class__ is int and 0 < len(shape) <= MAX_DIMS:
            try:
                count = math.prod(shape)
                exact = count.__class__ is int and (1 not in shape or bool not in map(type, shape))  # True equals a size, and is none
                key = ("integers", first, last, shape) if exact and count <= _DEALT else None
                if key is not None and (pieces := _dealt(key)) is not None and (numbers := next(pieces, None)) is not None:
                    return _tensor(numbers.copy(), INT64_KIND)
                way = _integers[first, last]
                if way is not None and min(shape) > 0 and count > _DEALT and _INT.issuperset(map(type, shape)) and (
                        _default_stream.fill(out := np.empty(shape, np.int64), way)):
                    return _tensor(out, INT64_KIND)
                if way is not None and min(shape) > 0 and (numbers := _default_stream.draw(count, way, key, shape)) is not None:
                    return _tensor(numbers.reshape(shape).copy(), INT64_KIND)
            except TypeError:  # sizes that are none
                pass
    return _some_integers(*args, **named)


rand, randn, _some_integers = _sized(_uniforms, rand), _sized(_normals, randn), randint
randint = frontend.before(randint, _quick_integers)


_LARGEST = {"float16": (2 ** 11 + 1, "2049"), "float32": (2 ** 24 + 1, "2^24+1"), "float64": (2 ** 53 + 1, "2^53+1")}
"""How many integers from 0 on floating-point numbers tell apart, and how torch writes that."""


def _check_range(n: int, dtype: DType) -> None:
    """Raises torch's error where a dtype cannot hold the numbers of a permutation of n."""
    if dtype.category == BOOL or dtype.is_complex or dtype.group:
        raise dtype.missing("randperm")
    if dtype.category < FLOATING:
        try:
            check_number(n - 1, dtype)
        except AutogradError as error:
            raise frontend.error(error) from None
    limit, text = _LARGEST.get(dtype.name, (n, ""))
    if n > limit:
        raise RuntimeError(f"n cannot be greater than {text} for {dtype.scalar} type.")


def _check_deviation(std: float | Tensor) -> None:
    """Raises torch's error for standard deviations, a number or a tensor, that are complex or below 0."""
    if not isinstance(std, Tensor):
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std._k.dtype.group:  # so that there is no least one
        raise std._k.dtype.missing("min_all")
    elif _whole(std) is std:  # those of an example of a vmap are looked at where the numbers are drawn: the vmap may refuse that
        _check_deviations(std)


def _check_deviations(std: Tensor) -> None:
    if std._k.device.type == "cpu" and std._data.size and np.min(values(std)) < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _whole(x: Tensor) -> Tensor:
    """The tensor with all examples, of one inside vmap; any other itself."""
    while isinstance(found := getattr(x, "_value", None), Tensor):
        x = found
    return x


@frontend.refusing
@frontend.passing
def randperm(n: int, *, generator: Generator | None = None, out: object = None, dtype: DType | None = None, layout: layout | None = None,
             device: DeviceLike | None = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A random permutation of 0 .. n-1."""
    if TO_ALL and (found := passed(randperm, (n, generator, out, dtype, layout, device, requires_grad, pin_memory))) is not HERE:
        return found
    dtype = _wanted(dtype, "randperm", out) or int64
    if n >= 0:
        _check_range(n, dtype)
    def draw(shape: tuple[int, ...], _: Any) -> Tensor:
        rows = [_stream(generator).randperm(n, dtype.np) for _ in range(shape[0] if len(shape) > 1 else 1)]
        return _finish(np.stack(rows) if len(shape) > 1 else rows[0], dtype, device, requires_grad, out)

    return _draw((n,), draw)


def _quick_order(*args: Any, **named: Any) -> Tensor:
    if not named and len(args) == 1 and args[0].__class__ is int and 0 <= args[0] < 2 ** 31 and _alone():
        return _tensor(_default_stream.randperm(args[0]), INT64_KIND)
    return _order(*args, **named)


_order = randperm
randperm = frontend.before(randperm, _quick_order)


def _like(function: Fn, fill: str) -> Fn:
    def like(input: Tensor, *, dtype: DType | None = None, layout: layout | None = None, device: DeviceLike | None = None,
             requires_grad: bool = False, memory_format: memory_format | None = None, generator: Generator | None = None,
             pin_memory: bool = False) -> Tensor:
        if TO_ALL and (found := passed(
                like, (input, dtype, layout, device, requires_grad, memory_format, generator, pin_memory))) is not HERE:
            return found
        if input.is_nested and fill != "normal_":
            raise above.nested_methods().refused(like.__name__)
        if not input._data.flags.c_contiguous or memory_format is not None or input.is_nested:
            t = _empty_like(input, dtype, device, memory_format, layout)
            getattr(t, fill)(generator=generator)
            return t.requires_grad_(requires_grad)
        return function(input._data.shape, dtype=dtype or input._k.dtype, device=device or input._k.device, requires_grad=requires_grad,
                        generator=generator)

    like.__name__ = like.__qualname__ = function.__name__ + "_like"
    like.__doc__ = f"`{function.__name__}` with the shape, dtype and device of `input`."
    return like


rand_like = _shaped(_uniforms, frontend.refusing(frontend.passing(_like(rand, "uniform_"))))
randn_like = _shaped(_normals, frontend.refusing(frontend.passing(_like(randn, "normal_"))))


def _empty_like(input: Tensor, dtype: DType | None = None, device: DeviceLike | None = None,
                memory_format: memory_format | None = None, wanted: layout | None = None) -> Tensor:
    """Memory for numbers in the layout of `input`."""
    more: Keywords = {} if memory_format is None else {"memory_format": memory_format}
    if input._k.special.__class__ is layout:
        more["layout"] = wanted
    return frontend.empty_like(input.detach(), dtype=dtype or input._k.dtype, device=device or input._k.device, **more)


@frontend.refusing
@frontend.passing
def randint_like(input: Tensor, low: int | None = None, high: int | None = None, *, dtype: DType | None = None,
                 layout: layout | None = None, device: DeviceLike | None = None, requires_grad: bool = False,
                 memory_format: memory_format | None = None, generator: Generator | None = None, pin_memory: bool = False) -> Tensor:
    """`randint` with the shape, dtype and device of `input`."""
    if TO_ALL and (found := passed(randint_like, (
            input, low, high, dtype, layout, device, requires_grad, memory_format, generator, pin_memory))) is not HERE:
        return found
    if high is None:
        low, high = None, low
    if high is None:
        raise TypeError("randint_like() missing required argument: 'high'")
    low = 0 if low is None else low
    if not input._data.flags.c_contiguous or memory_format is not None:
        t: Any = _empty_like(input, dtype, device, memory_format, layout)
        return t.random_(low, high, generator=generator).requires_grad_(requires_grad)
    return randint(low, high, input._data.shape, generator=generator, dtype=dtype or input._k.dtype, device=device or input._k.device,
                   requires_grad=requires_grad)


def _quick_integers_like(*args: Any, **named: Any) -> Tensor:
    if not named and 1 < len(args) < 4 and args[0].__class__ is Tensor and _alone():
        x, low, high = args if len(args) == 3 else (args[0], 0, args[1])
        data, k = x._data, x._k
        rows = data.flags.c_contiguous
        if low.__class__ is int and high.__class__ is int and low < high and (k in _OF_FLOATS or k is INT64_KIND) and (
                rows or data.ndim == 2 and data.flags.f_contiguous):
            t = _tensor(np.empty(data.shape, k.np, "C" if rows else "F"), k)
            t.random_(low, high)
            if rows:
                t._v = None
            return t
    return _integers_like(*args, **named)


_integers_like = randint_like
randint_like = frontend.before(randint_like, _quick_integers_like)


@overridable
@frontend.refusing
@frontend.passing
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Any = None) -> Tensor:
    """1 with the probability each element gives (or `p`), else 0."""
    if TO_ALL and (found := passed(bernoulli, (input, p, generator, out))) is not HERE: return found
    dtype = input._k.dtype if out is None else out._k.dtype
    check_numbers(dtype.np, "bernoulli_tensor_cpu_self_" if p is None else "bernoulli_scalar_cpu_")
    if p is None and not input._k.dtype.is_floating_point:
        raise input._k.dtype.missing("bernoulli_tensor_cpu_p_")

    if p is None and _fills(out, input._data.shape, dtype):
        return out.bernoulli_(input, generator=generator)

    def draw(shape: tuple[int, ...], t: Any) -> Tensor:
        array = _stream(generator).bernoulli(t._data if p is None else p, shape, dtype.np)
        return _finish(array, dtype, input._k.device, False, out)

    return _sampled(_draw(input._data.shape, draw, input), "bernoulli" if p is None else "bernoulli(p)", input)


@frontend.refusing
@frontend.passing
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Any = None, dtype: DType | None = None,
           device: Any = None, requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False) -> Tensor:
    """Normal numbers of given mean and standard deviation, numbers or tensors."""
    if TO_ALL and (found := passed(
            normal, (mean, std, size, generator, out, dtype, device, requires_grad, layout, pin_memory))) is not HERE:
        return found
    if size is not None:
        dtype, size = _wanted(dtype, "normal", out) or default_dtype(), tuple(size)
        if _fills(out, size, dtype):
            return out.normal_(mean, std, generator=generator)
        return _draw(size, lambda n, _: _finish(_stream(generator).normal(n, dtype.np, mean, std), dtype, device, requires_grad,
                                                       out))
    _check_deviation(std)
    try:
        shape = broadcast_shape(*[x._data.shape for x in (mean, std) if isinstance(x, Tensor)])
    except AutogradError as error:
        raise frontend.error(error) from None
    k = out._k if out is not None else mean._k if isinstance(mean, Tensor) else std._k
    if k.dtype.category < FLOATING:
        raise k.dtype.missing("normal_kernel_cpu")
    parameters = {name: x for name, x in (("mean", mean), ("std", std)) if isinstance(x, Tensor)}

    def draw(shape: tuple[int, ...], _: object) -> Tensor:
        if _whole(std) is not std:
            _check_deviations(_whole(std))
        return frontend.wrap(_stream(generator).normal(shape, k.np), k)

    if _fills(out, shape, k.dtype):
        noise = out.normal_(generator=generator)
    else:
        noise = _draw(shape, draw, list(parameters.values()))
    numbers = (noise * _constant(std) + _constant(mean)).to(k.dtype)
    result = _sampled(numbers, f"normal({', '.join(parameters)})", *parameters.values())
    return result if out is None else _finish(result._data.astype(k.np), k.dtype, None, False, out)


def _plain(x: Any, most: int = 256) -> bool:
    """Whether a tensor of not many numbers is on the CPU, and nobody asks for its history."""
    return x.__class__ is Tensor and x._node is None and x._k in _OF_FLOATS and 0 < x._data.size <= most


def _are_chances(values: np.ndarray) -> bool:
    if values.size < 32:
        found = values.ravel().tolist()
        return min(found) >= 0 and max(found) <= 1 and sum(found) >= 0  # which numbers alone are that are all numbers
    return bool(np.minimum.reduce(values, None) >= 0 and np.maximum.reduce(values, None) <= 1)


def _quick_coins(*args: Any, **named: Any) -> Tensor:
    if not named and len(args) == 1 and (x := args[0]).__class__ is Tensor and x._node is None and (k := x._k) in _OF_FLOATS and _alone():
        data = x._data
        if (tossed := _default_stream.tossed(data)) is not None:
            return _tensor(tossed, k)
        if not 0 < data.size <= 256:
            return _coins(*args)
        chance = data if data.flags.c_contiguous else data.copy()
        wide = chance if chance.itemsize > 2 else chance.astype(np.float32)
        if _are_chances(wide) and (numbers := _default_stream.draw(
                chance.size, cast("Way", _uniforms[k if wide is chance else _SINGLE, True]))) is not None:
            return _tensor(np.less(numbers.reshape(chance.shape), wide, np.empty(chance.shape, k.np), casting="unsafe"), k)
    return _coins(*args, **named)


def _quick_normal(*args: Any, **named: Any) -> Tensor:
    if not named and 1 < len(args) < 4 and _alone():
        about, spread = args[:2]
        if len(args) == 2:
            x = about if about.__class__ is Tensor else spread
            wanted = _tensors_of(about, spread) if _plain(x, _MANY) else None
            if wanted is not None and (noise := _few(_normals, x._data.shape, x._k.dtype)) is not None:
                if x._data.itemsize == 2:
                    return noise * spread + about
                numbers = noise._data
                np.multiply(numbers, wanted[1], numbers)
                np.add(numbers, wanted[0], numbers)
                return noise
        elif about.__class__ in _NUMBERS and spread.__class__ in _NUMBERS and about == 0 and spread == 1 and (
                args[2].__class__ is tuple and (few := _few(_normals, args[2], None)) is not None):
            return few
    return _numbers_about(*args, **named)


_NUMBERS = frozenset([int, float])


def _tensors_of(mean: Any, std: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Two parameters, one of them a plain tensor, as arrays of one dtype and shape, or of none; None where there is more to say of them."""
    if mean.__class__ is Tensor and std.__class__ is Tensor:
        if not (_plain(mean, _MANY) and _plain(std, _MANY) and mean._k is std._k and mean._data.shape == std._data.shape):
            return None
    elif mean.__class__ is float and std.__class__ is Tensor:
        return (std._k.scalar(mean), std._data) if _not_below_zero(std._data) else None
    elif std.__class__ is float and mean.__class__ is Tensor:
        return (mean._data, mean._k.scalar(std)) if std >= 0 else None
    else:
        return None
    return (mean._data, std._data) if _not_below_zero(std._data) else None


def _not_below_zero(values: np.ndarray) -> bool:
    """Whether no number is negative, nor, of single and double precision, none at all; of half precision no zero is, either."""
    return bool(np.minimum.reduce(values.view(np.int16) if values.itemsize == 2 else values, None) >= 0)


_coins, _numbers_about = bernoulli, normal
bernoulli, normal = frontend.before(bernoulli, _quick_coins), frontend.before(normal, _quick_normal)


@overridable
@frontend.refusing
@frontend.passing
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
                out: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of `input`."""
    if TO_ALL and (found := passed(multinomial, (input, num_samples, replacement, generator, out))) is not HERE: return found
    if out is not None and out._k.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {SCALAR_TYPE_NAMES[out._k.dtype.name]}")

    def draw(shape: tuple[int, ...], t: Tensor) -> Tensor:
        if t._k.device.type == "meta":  # which has no weights that could be wrong
            found = _finish(np.empty((*t._data.shape[:-1], num_samples), np.int64), int64, t._k.device, False)
            return found if out is None else frontend.write_out(None, out, [found])
        rows = t._data if input._data.ndim > 2 or t._data.ndim < 3 else t._data.reshape(-1, shape[-1])  # those of all examples of a vmap
        found = _stream(generator).multinomial(rows, num_samples, replacement)
        return _finish(np.ascontiguousarray(found.reshape(*t._data.shape[:-1], num_samples)), int64, None, False, out)

    return _draw(input._data.shape, draw, input)


def _quick_choice(*args: Any, **named: Any) -> Tensor:
    if 1 < len(args) < 4 and (not named or len(args) == 2 and len(named) == 1):
        x, many = args[:2]
        again = args[2] if len(args) == 3 else named.get("replacement") if named else False
        if x.__class__ is Tensor and many.__class__ is int and again.__class__ is bool and x._k in _OF_FLOATS and _alone():
            found = _default_stream.multinomial(x._data, many, again)
            return _tensor(found if found.flags.c_contiguous and found.base is None else found.copy(), INT64_KIND)
    return _choice(*args, **named)


_choice = multinomial
multinomial = frontend.before(multinomial, _quick_choice)


@overridable
@frontend.refusing
@frontend.passing
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers of the rates in `input`."""
    if TO_ALL and (found := passed(poisson, (input, generator))) is not HERE: return found
    numbers = _draw(input._data.shape, lambda _, t: frontend.wrap(_stream(generator).poisson(t._data), input._k), input)
    return _sampled(numbers, "poisson", input)


def _quick_poisson(*args: Any, **named: Any) -> Tensor:
    if not named and len(args) == 1 and args[0].__class__ is Tensor and args[0]._k in _OF_FLOATS and args[0]._node is None and _alone():
        return _tensor(_default_stream.poisson(args[0]._data), args[0]._k)
    return _poisson(*args, **named)


_poisson = poisson
poisson = frontend.before(poisson, _quick_poisson)


@overridable
@frontend.refusing
@frontend.passing
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Successes among `count` trials with the chance `prob` each, of tensors that broadcast, both float32 or both float64."""
    if TO_ALL and (found := passed(binomial, (count, prob, generator))) is not HERE: return found
    for name, x, place in (("count", count, 1), ("prob", prob, 2)):
        _need_tensor("binomial", name, x, place)
    if count._k.dtype.category < FLOATING:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {SCALAR_TYPE_NAMES[count._k.dtype.name]}")
    try:
        shape = broadcast_shape(count._data.shape, prob._data.shape)
    except AutogradError as error:
        raise frontend.error(error) from None

    def draw(_: Any, pair: Any) -> Tensor:
        array = _stream(generator).binomial(*[np.asarray(x._data) for x in (count, prob)])
        return frontend.wrap(array, count._k)

    return _sampled(_draw(shape, draw), "binomial", count, prob)


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of the shape parameters in `input` and scale 1, which move along with these."""
    _need_tensor("_standard_gamma", "input", input, 1)
    numbers = _draw(input._data.shape, lambda _, t: frontend.wrap(_stream(generator).standard_gamma(t._data), input._k), input)
    if (grad_mode() is not GradMode.ENABLED or input._node is None) and not _have_tangents((input,)):
        return numbers
    return frontend.sampled_gamma(numbers, input)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet vectors along the last dimension, of the parameters in `input`."""
    _need_tensor("_sample_dirichlet", "input", input, 1)
    numbers = _draw(input._data.shape, lambda _, t: frontend.wrap(_stream(generator).dirichlet(t._data), input._k), input)
    return _sampled(numbers, "_sample_dirichlet", input)


def _need_tensor(name: str, argument: str, x: object, place: int) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' (position {place}) must be Tensor, not {type_name(x)}")


# -- in place -------------------------------------------------------------------------------------------------------


class _Target(NamedTuple):
    """What numbers are drawn for: a shape, a dtype, and whether it is filled row by row in one piece."""

    shape: tuple[int, ...]
    np: np.dtype
    rows: bool


def _turned(p: object, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """A tensor of parameters as an array with its dimensions in another order; numbers as they are."""
    return np.broadcast_to(p._data, shape).transpose(order) if isinstance(p, Tensor) else p


def _few_of(name: str, dtype: np.dtype, few: bool, args: tuple[float, ...]) -> Way | None:
    """How the stream makes not many numbers of the method called `name`; None where the general way must say so."""
    if any([a.__class__ is not float and a.__class__ is not int for a in args]) or len(args) > 2 - (name in ("exponential_", "geometric_")):
        return None
    if name == "normal_":
        return way_of("_paired", dtype, (*args, *(0.0, 1.0)[len(args):])) if few else way_of("normal", dtype, args)
    if name == "bernoulli_":
        return way_of("_chances", dtype, args or (0.5,)) if len(args) < 2 else None
    if name == "random_":
        return way_of("random", dtype, (0, *args) if len(args) == 1 else args)
    return way_of(name[:-1], dtype, args) if args or name != "geometric_" else None


def _inplace(name: str, draw: Fn, doc: str, *parameters: str) -> None:
    def plain_way(k: Kind, few: bool, args: tuple[float, ...]) -> Way | None:
        return _few_of(name, k.np, few, args) if CPU_KINDS.get(k.np) is k else None

    ways = _Ways(name, plain_way)  # of calls before

    def quick(self: Tensor, *args: Any, **named: Any) -> Tensor:
        if not TO_PLAIN and not named and self._node is None and ((base := self._base) is None or base._node is None):
            k, data = self._k, self._data
            rows = data.flags.c_contiguous
            if rows or data.flags.f_contiguous:
                target = data if rows else data.T  # numbers are drawn in the order of memory
                try:
                    key = (name, k, rows, args, target.shape)
                    pieces = None if data.size > _DEALT else _dealt(key)
                    numbers = None if pieces is None else next(pieces, None)
                    way = None if numbers is not None else ways[k, data.size < 16 or not rows, args]  # pairs for few numbers, and columns
                except TypeError:  # arguments that are no numbers
                    return general(self, *args)
                if numbers is not None:
                    target[...] = numbers
                elif way is not None and data.size <= _DEALT and (
                        numbers := _default_stream.draw(data.size, way, key, target.shape)) is not None:
                    target.flat = numbers
                elif way is None or not _default_stream.fill(target, way):
                    if CPU_KINDS.get(k.np) is not k or args and not {int, float}.issuperset(map(type, args)):
                        return general(self, *args)
                    try:
                        target[...] = draw(_default_stream, _Target(target.shape, k.np, rows), *args)
                    except (RuntimeError, TypeError, ValueError, OverflowError):  # which is told on the general way
                        return general(self, *args)
                if (version := self._v) is None:
                    frontend.bump(self)
                else:
                    version.number += 1
                return self
        return general(self, *args, **named)

    def method(self: Tensor, *args: object, generator: Generator | None = None, **kwargs: object) -> Tensor:
        if TO_ALL and (found := passed(method, (self, args, generator, kwargs))) is not HERE: return found
        k = self._k
        if not TO_PLAIN and CPU_KINDS.get(k.np) is k and self._node is None and self._base is None \
                and (data := self._data).flags.c_contiguous and not kwargs \
                and all([a.__class__ is float or a.__class__ is int for a in args]):
            data[...] = draw(_default_stream if generator is None else _stream(generator), _Target(data.shape, k.np, True), *args)
            version = self._v
            if version is None:
                frontend.bump(self)
            else:
                version.number += 1
            return self
        if self.is_nested:
            return above.nested_methods().drawn(self, name, args, {"generator": generator, **kwargs})
        frontend.check_random_inplace(self)
        for i, (parameter, given) in enumerate(zip(parameters, args)):
            if isinstance(given, Tensor) and given._data.ndim:
                raise TypeError(f"{name}(): argument '{parameter}' (position {i + 1}) must be float, not Tensor")
        if above.drawn is not None:
            chance = args[0] if args and isinstance(args[0], Tensor) else None
            more = args if chance is None else args[1:]
            def fill(n: Any, t: object, target: Any = None) -> object:
                target = frontend.wrap(np.empty(n, self._k.np), self._k) if target is None else target
                return below(method)(target, *(() if t is None else (t,)), *more, generator=generator, **kwargs)

            found = above.drawn(fill, self._data.shape, chance, self)
            if found is not NotImplemented:
                return self if found is self else frontend.copy_(self, found)
        recording = grad_mode() is GradMode.ENABLED and (self._node is not None or self._base is not None and self._base._node is not None)
        recording = recording or _have_tangents(self)
        if self._k.device.type != "meta":
            data = numbers = np.empty_like(self._data) if recording else self._data
            rows = self._data.flags.c_contiguous
            if not rows and self._k.special.__class__ is layout:
                return above.sparse_methods().drawn(self, name, args, {"generator": generator, **kwargs})
            args = tuple([frontend.expand(a, self._data.shape) if isinstance(a, Tensor) else a for a in args])
            if not rows:  # numbers are drawn in the order of the elements in memory
                order = by_memory(self._data)
                args = tuple([_turned(a, data.shape, order) for a in args])
                kwargs = {name: _turned(a, data.shape, order) for name, a in kwargs.items()}
                data = data.transpose(order)
            data[...] = draw(_stream(generator), _Target(data.shape, self._k.np, rows), *args, **kwargs)
        else:
            numbers = self._data
        if recording:
            return frontend.drawn_(self, frontend.wrap(numbers, self._k), name)
        frontend.bump(self)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    general = frontend.refusing(frontend.passing(method))
    setattr(Tensor, name, frontend.before(general, quick))


_inplace("uniform_", lambda g, t, from_=0.0, to=1.0, **kw: g.uniform(t.shape, t.np, kw.get("from", from_), to),
         "Filled with uniform numbers in [from, to).", "from", "to")
_inplace("normal_", lambda g, t, mean=0.0, std=1.0: g.normal(t.shape, t.np, mean, std, t.rows),
         "Filled with normal numbers of mean `mean` and standard deviation `std`.", "mean", "std")
def _bernoulli_(g: Any, t: _Target, p: Any = 0.5) -> np.ndarray:
    check_numbers(t.np, "bernoulli_tensor_cpu_self_" if isinstance(p, Tensor) else "bernoulli_scalar_cpu_")
    return g.bernoulli(p._data if isinstance(p, Tensor) else p, t.shape, t.np)


_inplace("bernoulli_", _bernoulli_,
         "Filled with 1 of probability `p`, else 0.")
_inplace("exponential_", lambda g, t, lambd=1.0: g.exponential(t.shape, t.np, lambd),
         "Filled with exponential numbers of rate `lambd`.", "lambd")
_inplace("cauchy_", lambda g, t, median=0.0, sigma=1.0: g.cauchy(t.shape, t.np, median, sigma), "Filled with Cauchy numbers.",
         "median", "sigma")
_inplace("log_normal_", lambda g, t, mean=1.0, std=2.0: g.log_normal(t.shape, t.np, mean, std), "Filled with log-normal numbers.",
         "mean", "std")
_inplace("geometric_", lambda g, t, p: g.geometric(t.shape, t.np, p), "Filled with geometric numbers.", "p")


def _random_(g: Any, t: _Target, *bounds: object, **named: object) -> np.ndarray:
    low, high = (bounds[0] if len(bounds) == 2 else 0 if len(bounds) == 1 else None), (bounds[-1] if bounds else None)
    low, high = named.get("from", low), named.get("to", high)
    return g.random(t.shape, t.np, low, high)


_inplace("random_", _random_, "Filled with integers from the dtype's whole range, or from [from, to).")


for _method in (bernoulli, multinomial):
    setattr(Tensor, _method.__name__, _method)


def thread_safe_generator() -> Generator | None:
    """The generator that a thread which loads data draws by; None, for the one of all: no thread has its own."""
    return None


__all__ = [
    "Generator", "bernoulli", "binomial", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "multinomial",
    "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]

_absences(__name__)
