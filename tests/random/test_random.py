"""The generator gives torch's numbers, bit for bit, and consumes the stream as torch does."""

from __future__ import annotations

import base64
import importlib
import pickle
import threading
import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random.random_cases import PROGRAMS, STATE_TABLE, TABLE, encode, parameters

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.dtypes import DType
from autograd_tape.executors.kernels._kernel import Kernel
from autograd_tape.random import Generator, kernels
from autograd_tape.random.generator import way_of
from autograd_tape.random.polynomials import log32, sincos32


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def run(generator: Generator, call: str, size: int, dtype: str, args: list[Any]) -> np.ndarray:
    kind = dtype_of(dtype)
    if call == "random":
        return generator.random(size, kind, *args) if len(args) != 1 else generator.random(size, kind, 1, None)
    if call == "randperm":
        return generator.randperm(size, kind)
    if call == "bernoulli":
        return generator.bernoulli(args[0], size, kind)
    if call == "bernoulli_of":
        return generator.bernoulli((np.arange(size) / max(size, 1)).astype(kind))
    if call == "complex_normal":
        return generator.normal(size, kind)
    if call == "complex_uniform":
        return generator.uniform(size, kind)
    if call == "scattered_normal":
        return generator.normal(size, kind, *args, contiguous=False)
    if call == "multinomial":
        rows, count, replacement = args
        shape = (rows, size) if rows else (size,)
        weights = (np.arange(max(rows, 1) * size) % 7 + 1).astype(kind).reshape(shape)
        return generator.multinomial(weights, count, replacement)
    spread = parameters(size).astype(kind)
    if call == "binomial":
        chance = spread * kind.type(0.37)
        return generator.binomial(np.floor(spread * 9), chance - np.trunc(chance))
    if call == "dirichlet":
        return generator.dirichlet(np.repeat(spread[:, None], 3, 1))
    if call == "poisson":
        return generator.poisson(spread * 3)
    if call == "standard_gamma":
        return generator.standard_gamma(spread)
    return getattr(generator, call)(size, kind, *args)


@pytest.fixture(params=["compositions", "kernels"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs on the NumPy compositions and on the compiled kernels."""
    if request.param == "compositions":
        monkeypatch.setattr(kernels, "_loaded", None)
        monkeypatch.setattr(kernels, "_tried", True)
    else:
        pytest.importorskip("numba", reason="Numba is not installed: there are no compiled kernels to test")
        if kernels._loaded is None:
            kernels._tried = False
        fast = kernels.load(kernels.WORTH_IMPORTING)
        assert fast is not None
        for module in ("random", "drawn"):
            importlib.import_module(f"autograd_tape.executors.kernels.compiled.{module}")
            found = [(name.partition(".")[2], kernel) for name, kernel in Kernel.registry.items() if name.startswith(f"{module}.")]
            assert found
            for name, kernel in found:  # compiled now, not while a test is timed
                fast.of(name, kernel.dtypes[0], module)
    return request.param


@pytest.mark.parametrize("name", TABLE.recorded)
def test_programs_equal_torch(name: str, path: str) -> None:
    (seed, calls), expected = PROGRAMS[name], TABLE.recorded[name]
    generator = Generator().manual_seed(seed)
    for number, (call, result) in enumerate(zip(calls, expected["results"], strict=True)):
        value = run(generator, **call)
        wanted = np.int64 if call["call"] == "multinomial" else dtype_of(call["dtype"])
        assert value.dtype == wanted
        assert encode(value.tobytes()) == result, f"call {number}: {call}"
    assert encode(generator.get_state().tobytes()) == expected["state"]
    assert generator.initial_seed() == expected["initial_seed"]


def test_state_of_torch_continues_here() -> None:
    recorded = STATE_TABLE.recorded["state"]
    state = np.frombuffer(zlib.decompress(base64.b64decode(recorded["state"])), np.uint8)
    generator = Generator()
    generator.set_state(state)
    assert generator.initial_seed() == 3
    assert np.array_equal(generator.get_state(), state)
    assert generator.normal(3).tolist() == recorded["next"]


@pytest.mark.parametrize("before", [0, 1, 623, 624, 625, 1247, 1248, 5000])
def test_state_round_trip_mid_block(before: int, path: str) -> None:
    generator = Generator(99)
    generator.random_uint32(before)
    generator.normal(3)
    other = Generator(1).set_state(generator.get_state())
    copied = pickle.loads(pickle.dumps(generator))
    expected = generator.uniform(2000, np.float64)
    assert np.array_equal(other.uniform(2000, np.float64), expected)
    assert np.array_equal(copied.uniform(2000, np.float64), expected)


@pytest.mark.parametrize("counts", [(1, 2, 3), (600, 24, 1), (624, 624), (700, 548, 10), (100, 1772), (311, 313, 312, 936)])
def test_words_do_not_depend_on_the_cuts(counts: tuple[int, ...], path: str) -> None:
    whole = np.random.RandomState(5).randint(0, 1 << 32, size=sum(counts), dtype=np.uint32)
    generator = Generator(5)
    assert np.array_equal(np.concatenate([generator.random_uint32(n) for n in counts]), whole)


def test_words_handed_out_are_the_callers_own() -> None:
    generator = Generator(5)
    generator.random_uint32(3)[:] = 0
    assert np.array_equal(generator.random_uint32(3), Generator(5).random_uint32(6)[3:])


def test_uint64_is_high_word_first() -> None:
    words = Generator(1).random_uint32(4).astype(object)
    assert Generator(1).random_uint64(2).tolist() == [(words[0] << 32) | words[1], (words[2] << 32) | words[3]]


def test_polynomials_are_accurate() -> None:
    x = np.linspace(2.0**-24, 1, 20001, dtype=np.float32)
    assert np.allclose(log32(x), np.log(x.astype(np.float64)), rtol=3e-7, atol=1e-9)
    angle = np.linspace(0, 2 * np.pi, 20001, dtype=np.float32)
    sine, cosine = sincos32(angle)
    assert np.abs(sine - np.sin(angle.astype(np.float64))).max() < 2e-7
    assert np.abs(cosine - np.cos(angle.astype(np.float64))).max() < 2e-7


def test_statistics() -> None:
    generator = Generator(0)
    assert abs(generator.normal(200_000).mean()) < 0.01
    assert abs(generator.normal(200_000, np.complex64).var() - 1) < 0.02
    assert abs(generator.bernoulli(0.25, 200_000).mean() - 0.25) < 0.01
    assert sorted(generator.randperm(1000).tolist()) == list(range(1000))
    without = generator.multinomial(np.ones((50, 20)), 20)
    assert (np.sort(without, -1) == np.arange(20)).all()


def test_seeding_from_the_system_differs() -> None:
    generator = Generator()
    first = generator.seed()
    assert generator.initial_seed() == first
    assert generator.seed() != first


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: g.manual_seed(1 << 64), ValueError, "Overflow when unpacking long long"),
        (lambda g: g.set_state(np.zeros(10, np.uint8)), RuntimeError,
         "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 10"),
        (lambda g: g.set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
        (lambda g: g.set_state(np.zeros(5056)), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda g: g.uniform(3, np.float32, 2.0, 1.0), RuntimeError,
         "uniform_ expects to return a [from, to) range, but found from=2 > to=1"),
        (lambda g: g.normal(3, np.float32, 0.0, -1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda g: g.exponential(3, np.float32, 0.0), RuntimeError,
         "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda g: g.geometric(3, np.float32, 1.0), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
        (lambda g: g.bernoulli(1.5, 3), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
        (lambda g: g.randint(3, 3, 2), RuntimeError,
         "random_ expects 'from' to be less than 'to', but got from=3 >= to=3"),
        (lambda g: g.randint(0, 300, 2, np.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda g: g.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        (lambda g: g.uniform(3, np.int64), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
        (lambda g: g.cauchy(3, np.int64), RuntimeError,
         ("Cauchy distribution is a continuous probability distribution. "
          "dtype must be a floating point but you specified long int")),
        (lambda g: g.multinomial(np.ones(3), 4), RuntimeError,
         "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        (lambda g: g.multinomial(np.array([1.0, -1.0]), 2, True), RuntimeError,
         "invalid multinomial distribution (encountering probability entry < 0)"),
        (lambda g: g.multinomial(np.zeros(3), 1), RuntimeError,
         "invalid multinomial distribution (sum of probabilities <= 0)"),
        (lambda g: g.multinomial(np.array([1.0, np.nan]), 1), RuntimeError,
         "probability tensor contains either `inf`, `nan` or element < 0"),
    ],
)  # fmt: skip
def test_errors_say_what_torch_says(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call(Generator(0))
    assert str(caught.value) == text


WAYS = [("uniform", "float32", ()), ("uniform", "float64", ()), ("uniform", "bfloat16", (-1.0, 3.0)), ("exponential", "float32", (0.5,)),
        ("cauchy", "float64", ()), ("log_normal", "float32", ()), ("geometric", "int64", (0.3,)), ("normal", "float32", ()),
        ("normal", "float64", (1.0, 2.0)), ("_paired", "float16", (0.0, 1.0)), ("random", "int64", (0, 9)), ("random", "float32", ()),
        ("random", "int64", (0, 1 << 24)), ("_chances", "int32", (0.3,))]


@given(st.integers(0, 2**32), st.lists(st.tuples(st.sampled_from([*WAYS, *"uniform block integers state seed".split()]), st.integers(1, 40),
                                                 st.integers(1, 12)), max_size=30))
def test_numbers_made_ahead_are_those_of_one_draw_at_a_time(seed: int, draws: list[tuple[Any, int, int]]) -> None:
    ahead, plain = Generator(seed), Generator(seed)
    for kind, n, times in draws:
        if kind == "uniform":
            np.testing.assert_array_equal(ahead.uniform((n,), "float32"), plain.uniform((n,), "float32"))
        elif kind == "block":  # after which as many words of another block are left
            size = (624 * (n % 2 + 1),)
            np.testing.assert_array_equal(ahead.uniform(size, "float32"), plain.uniform(size, "float32"))
        elif kind == "integers":
            np.testing.assert_array_equal(ahead.randperm(n, "int64"), plain.randperm(n, "int64"))
        elif kind == "state":
            ahead.set_state(ahead.get_state())
        elif kind == "seed":
            ahead.manual_seed(n)
            plain.manual_seed(n)
        else:
            name, dtype, args = kind[0], DType.by_name[kind[1]].np, kind[2]
            count = n if name != "normal" else n % 3 * 16 + 16 if n > 3 else 5
            for _ in range(times):
                found = ahead.draw(count, way_of(name, dtype, args))
                expected = getattr(plain, name)((count,), dtype, *args)
                np.testing.assert_array_equal(getattr(ahead, name)((count,), dtype, *args) if found is None else found, expected)
        np.testing.assert_array_equal(ahead.get_state(), plain.get_state())


FEW_CALLS = [lambda f, **k: f.rand(2, 3, **k), lambda f, **k: f.randn(2, 4, **k), lambda f, **k: f.randn(3, **k),
             lambda f, **k: f.randn(2, 16, **k), lambda f, **k: f.rand(5, dtype=f.float64, **k),
             lambda f, **k: f.randn(4, dtype=f.bfloat16, **k),
             lambda f, **k: f.randint(9, (2, 3), **k), lambda f, **k: f.randint(-5, 9, (2,), **k),
             lambda f, **k: f.bernoulli(f.full((2, 3), 0.3), **k), lambda f, **k: f.bernoulli(f.full((40,), 0.3, dtype=f.bfloat16), **k),
             lambda f, **k: f.normal(f.ones(2, 3), f.full((2, 3), 2.0), **k), lambda f, **k: f.normal(0.5, f.ones(16), **k),
             lambda f, **k: f.normal(f.ones(4), 2.0, **k), lambda f, **k: f.normal(0.0, 1.0, (2, 4), **k)]
FEW_IN_PLACE = [
    ("uniform_", (), torch.float32), ("uniform_", (-1, 2), torch.float16), ("normal_", (), torch.float64),
    ("normal_", (1.0, 2.0), torch.float32), ("exponential_", (), torch.float32), ("bernoulli_", (), torch.float32),
    ("bernoulli_", (0.7,), torch.int64), ("random_", (), torch.int64), ("random_", (7,), torch.float32), ("random_", (2, 7), torch.int64),
    ("geometric_", (0.4,), torch.float32), ("cauchy_", (1, 2), torch.float32), ("log_normal_", (), torch.bfloat16)]
FEW_CALLS += [lambda f, n=n, a=a, d=d, s=s, t=t, **k: getattr(f.zeros(s, dtype=d).permute(*range(len(s))[::t]), n)(*a, **k)
              for s, t in (((2, 3), 1), ((5,), 1), ((4, 8), 1), ((2, 3), -1), ((4, 8), -1)) for n, a, d in FEW_IN_PLACE]
FEW_CALLS += [lambda f, **k: f.bernoulli(f.full((3, 2), 0.3).t(), **k), lambda f, **k: f.bernoulli(f.full((), 0.3), **k),
              lambda f, **k: f.normal(f.ones(3, 2).t(), f.full((3, 2), 2.0).t(), **k), lambda f, **k: f.poisson(f.full((2, 3), 2.5), **k),
              lambda f, **k: f.multinomial(f.ones(2, 5), 3, **k), lambda f, **k: f.multinomial(f.ones(5).double(), 7, True, **k)]
MANY_IN_PLACE = [*FEW_IN_PLACE, *[(name, args, dtype) for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16)
                                  for name, args in (("uniform_", (-1, 2)), ("normal_", (1.0, 2.0)), ("random_", ()), ("random_", (3, 200)),
                                                     ("exponential_", (0.5,)), ("cauchy_", (1, 2)), ("geometric_", (0.4,)),
                                                     ("bernoulli_", (0.3,)))],
                 ("random_", (1 << 40,), torch.int64), ("random_", (), torch.uint8), ("random_", (), torch.bool)]
FEW_CALLS += [lambda f, n=n, a=a, d=d, s=s, t=t, **k: getattr(f.zeros(s, dtype=d).permute(*range(len(s))[::t]), n)(*a, **k)
              for s, t in (((300,), 1), ((16, 17), -1)) for n, a, d in MANY_IN_PLACE]
FEW_CALLS += [lambda f, d=d, c=c, **k: c(f, (f.arange(600, dtype=d) % 7 / 7).reshape(20, 30), **k)
              for d in (torch.float32, torch.float64, torch.bfloat16, torch.float16)
              for c in (lambda f, x, **k: f.bernoulli(x, **k), lambda f, x, **k: f.bernoulli(x.t(), **k),
                        lambda f, x, **k: f.multinomial(x, 3, True, **k), lambda f, x, **k: f.multinomial(x.t(), 3, True, **k),
                        lambda f, x, **k: f.multinomial(x, 3, **k), lambda f, x, **k: f.multinomial(x.t(), 1, **k),
                        lambda f, x, **k: f.multinomial(x[0], 2, **k), lambda f, x, **k: f.normal(x, x, **k),
                        lambda f, x, **k: f.normal(0.5, x, **k), lambda f, x, **k: f.poisson(9 * x[:5].t(), **k),
                        lambda f, x, **k: f.rand(700, dtype=x.dtype, **k), lambda f, x, **k: f.randn(700, dtype=x.dtype, **k))]


@pytest.mark.parametrize("which", range(len(FEW_CALLS)))
def test_quick_ways_draw_what_the_general_ones_draw(which: int, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that is named takes the general way, and the compositions."""
    torch.manual_seed(7)
    named = torch.Generator().manual_seed(7)
    for _ in range(60 if path == "compositions" else 8):
        quick = FEW_CALLS[which](torch)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "load", lambda size: None)
            general = FEW_CALLS[which](torch, generator=named)
        assert quick.dtype is general.dtype and quick.stride() == general.stride() and torch.equal(quick, general)
    assert torch.equal(torch.get_rng_state()[24:], named.get_state()[24:])


DRAWN_IN_PLACE = sorted(n for n, f in vars(torch.Tensor).items()
                        if n.endswith("_") and getattr(f, "__module__", "") == "torchcompat.random")


@pytest.mark.parametrize("name", DRAWN_IN_PLACE)
def test_drawing_in_place_ends_history(name: str) -> None:
    """What was in the place of random numbers no longer counts, in a tensor, in a part of one, and in one that lies in columns."""
    arguments = {"bernoulli_": (0.3,), "geometric_": (0.4,)}.get(name, ())
    x = torch.ones(3, 4, requires_grad=True)
    for build in (lambda t: t, lambda t: t.t(), lambda t: t[1:, ::2], lambda t: t[0]):
        y = x * 2
        changed = build(y)
        version = y._version
        assert getattr(changed, name)(*arguments) is changed
        assert y._version == version + 1
        expected = torch.full((3, 4), 2.0)
        build(expected).zero_()
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], expected)
        torch.manual_seed(3)
        plain = build(x.detach() * 2)
        getattr(plain, name)(*arguments)
        torch.manual_seed(3)
        assert torch.equal(getattr(build(x * 2), name)(*arguments).detach(), plain)


DRAWN_BY = {"normal(mean)": (lambda p: torch.normal(p, 1.0), "NormalBackward1"),
            "normal(std)": (lambda p: torch.normal(1.0, p), "NormalBackward2"),
            "normal(mean, std)": (lambda p: torch.normal(p, p), "NormalBackward3"),
            "normal, broadcast": (lambda p: torch.normal(torch.ones(3, 2), p), "NormalBackward3"),
            "bernoulli": (torch.bernoulli, "BernoulliBackward0"), "poisson": (torch.poisson, "PoissonBackward0")}


@pytest.mark.parametrize("name", DRAWN_BY)
def test_numbers_drawn_are_constants_to_their_parameters(name: str) -> None:
    draw, node = DRAWN_BY[name]
    p = torch.full((2,), 0.5, requires_grad=True)
    torch.manual_seed(0)
    drawn = draw(p)
    torch.manual_seed(0)
    assert drawn.grad_fn.name() == node and torch.equal(drawn, draw(p.detach()))
    drawn.sum().backward()
    assert p.grad.tolist() == [0, 0]


def test_numbers_of_one_chance_for_all_have_no_derivative() -> None:
    drawn = torch.bernoulli(torch.ones(2, requires_grad=True), 0.5)
    with pytest.raises(RuntimeError, match="derivative for aten::bernoulli is not implemented"):
        drawn.sum().backward()


OUTS = {"rows": lambda d: torch.zeros(6, 4, dtype=d), "columns": lambda d: torch.zeros(4, 6, dtype=d).T,
        "every other": lambda d: torch.zeros(6, 8, dtype=d)[:, ::2],
        "reversed order": lambda d: torch.zeros(2, 2, 6, dtype=d).permute(2, 1, 0)}
FILLED = {  # what draws into `out`, and what fills memory of the same layout
    "rand": (lambda o: torch.rand(o.shape, out=o), lambda o: o.uniform_()),
    "randn": (lambda o: torch.randn(o.shape, out=o), lambda o: o.normal_()),
    "randint": (lambda o: torch.randint(2, 10, o.shape, out=o), lambda o: o.random_(2, 10)),
    "normal of a size": (lambda o: torch.normal(1.0, 2.0, o.shape, out=o), lambda o: o.normal_(1.0, 2.0)),
    "normal of a mean": (lambda o: torch.normal(torch.full(o.shape, 2.0), 3.0, out=o), lambda o: o.normal_().mul_(3.0).add_(2.0)),
    "normal of a deviation": (lambda o: torch.normal(1.0, torch.full(o.shape, 3.0), out=o), lambda o: o.normal_().mul_(3.0).add_(1.0)),
    "normal of both": (lambda o: torch.normal(torch.full(o.shape, 2.0), torch.full(o.shape, 3.0), out=o),
                       lambda o: o.normal_().mul_(3.0).add_(2.0)),
    "bernoulli": (lambda o: torch.bernoulli(torch.full(o.shape, 0.4), out=o), lambda o: o.bernoulli_(torch.full(o.shape, 0.4)))}


@pytest.mark.parametrize("layout", OUTS)
@pytest.mark.parametrize("name", FILLED)
def test_numbers_are_drawn_in_the_order_of_the_memory_of_out(name: str, layout: str) -> None:
    draw, fill = FILLED[name]
    dtype = torch.int64 if name == "randint" else torch.float32
    out, expected = OUTS[layout](dtype), OUTS[layout](dtype)
    torch.manual_seed(3)
    assert draw(out) is out
    torch.manual_seed(3)
    fill(expected)
    assert out.stride() == expected.stride()
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
    assert len(np.unique(out.numpy())) > 1


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("layout", [name for name in OUTS if name != "reversed order"])  # which has three dimensions
def test_multinomial_draws_in_the_order_of_the_memory_of_its_weights(layout: str, count: int) -> None:
    """The weights are divided by exponential numbers of their own layout, and the largest are taken."""
    weights = OUTS[layout](torch.float64).copy_(torch.arange(1.0, 25.0).reshape(6, 4))
    torch.manual_seed(3)
    expected = (weights / torch.empty_like(weights).exponential_()).topk(count, 1)[1]
    torch.manual_seed(3)
    assert torch.multinomial(weights, count).tolist() == expected.tolist()


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed")
@pytest.mark.parametrize("count", [2, 60])
def test_multinomial_orders_equal_keys_as_topk_does(count: int) -> None:
    torch.manual_seed(0)
    weights = torch.rand(200, 60).to(torch.bfloat16)  # whose quotients have few digits
    torch.manual_seed(3)
    expected = (weights / torch.empty_like(weights).exponential_()).topk(count, 1)[1]
    torch.manual_seed(3)
    assert torch.multinomial(weights, count).tolist() == expected.tolist()


def test_sizes_that_are_refused_leave_the_generator_as_it_is() -> None:
    torch.manual_seed(3)
    expected = [torch.rand(3), torch.rand(3), torch.randn(700)]
    torch.manual_seed(3)
    found = []
    for wanted in ((3,), (3,), (700,)):
        for bad in (lambda: torch.rand((3.0,)), lambda: torch.rand(2, 3.0), lambda: torch.randn(2, 3.0),
                    lambda: torch.randint(0, 5, (2.0,))):
            with pytest.raises(TypeError):
                bad()
        found.append(torch.randn(wanted) if wanted == (700,) else torch.rand(wanted))
    assert [x.tolist() for x in found] == [x.tolist() for x in expected]


_DRAWN_OFTEN = {
    "rand": lambda x: torch.rand(x.shape, dtype=x.dtype), "randn": lambda x: torch.randn(x.shape, dtype=x.dtype),
    "rand_like": torch.rand_like, "randint": lambda x: torch.randint(3, 10, tuple(x.shape)), "uniform_": lambda x: x.uniform_(),
    "uniform_ to": lambda x: x.uniform_(-1, 2), "normal_": lambda x: x.normal_(), "exponential_": lambda x: x.exponential_(0.5),
    "random_": lambda x: x.random_(9), "bernoulli_": lambda x: x.bernoulli_()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", _DRAWN_OFTEN)
def test_few_numbers_that_are_dealt_ahead_are_those_of_one_draw_after_the_other(name: str, dtype: torch.dtype) -> None:
    """Whoever looks at the stream in between finds it behind what was taken, and a draw of other numbers goes on there."""
    found = []
    for looked in (False, True):
        torch.manual_seed(3)
        drawn = []
        for i in range(150):
            shape = (2, 3) if i != 100 else (1, 4)
            x = torch.zeros(shape, dtype=dtype) if i % 50 else torch.zeros(shape[::-1], dtype=dtype).T
            drawn.append(_DRAWN_OFTEN[name](x).double().tolist())
            if looked:
                torch.set_rng_state(torch.get_rng_state())  # which begins anew to deal
        found.append((drawn, torch.get_rng_state().tolist(), torch.rand(7).tolist()))
    assert found[0] == found[1]


def test_numbers_that_are_dealt_are_taken_once_each_by_threads() -> None:
    torch.manual_seed(3)
    expected = [torch.rand(2, 3).tolist() for _ in range(2000)]
    torch.manual_seed(3)
    found: list[list[list[list[float]]]] = [[] for _ in range(4)]

    def take(mine: list[list[list[float]]]) -> None:
        for _ in range(500):
            mine.append(torch.rand(2, 3).tolist())

    threads = [threading.Thread(target=take, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(found, [])) == sorted(expected)


def test_no_number_is_shared_with_what_was_dealt() -> None:
    drawn = [torch.rand(2, 3) for _ in range(40)]
    before = [x.tolist() for x in drawn]
    for x in drawn[::2]:
        x.zero_()
    assert [x.tolist() for x in drawn[1::2]] == before[1::2]
    assert all([x.untyped_storage().nbytes() == 24 for x in drawn])


def test_a_size_that_is_none_is_refused_whatever_was_dealt() -> None:
    torch.manual_seed(0)
    for _ in range(5):
        torch.randint(0, 5, (1,))
    with pytest.raises(TypeError):
        torch.randint(0, 5, (True,))
    assert torch.randint(0, 5, (1,)).shape == (1,)


def test_coins_of_half_precision_without_dimensions_are_tensors() -> None:
    assert torch.bernoulli(torch.tensor(1.0, dtype=torch.bfloat16)).tolist() == 1.0
