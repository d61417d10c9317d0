"""What irregular operations make of plain arrays at once has the bits, dtypes, strides and shapes of what they are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels.blas import integers
from autograd_tape.ops.matrices.contractions import _einsum
from autograd_tape.ops.matrices.factorization import unit_lower, upper_triangle
from autograd_tape.ops.views.parts import add_windows
from autograd_tape.record import RECORDS, Sample, get_record

FRONT_END = torch.trace.door.frontend
MODULES = (".matrices.", ".networks.softmax", ".networks.normalization", ".networks.margins", ".networks.statistics")
NAMES = sorted([name for name in RECORDS if get_record(name).field("quick") is not None
                and any([part in get_record(name).module + "." for part in MODULES])])
COMPOSED: dict[str, Callable[..., Any]] = {"einsum": lambda equation, *operands: _einsum(FRONT_END, equation, operands)}


def _arguments(sample: Any, dtype: str, columns: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def tensor(x: Any) -> Any:
        if isinstance(x, list):
            return [tensor(y) for y in x]
        if not isinstance(x, np.ndarray):
            return x
        if x.dtype.kind == "c" and dtype == "float32":
            x = x.astype("complex64")
        half = dtype == "bfloat16" and x.dtype.kind == "f"
        a = (x * 3).astype("float32" if half else dtype) if x.dtype.kind == "f" else x
        t = torch.from_numpy(np.asfortranarray(a) if columns else np.array(a))
        return t.bfloat16() if half else t

    args, kwargs = (sample.args, sample.kwargs) if isinstance(sample, Sample) else (sample, {})
    return tuple([tensor(x) for x in args]), {n: tensor(x) for n, x in kwargs.items()}


def _outcome(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        r = call(*args, **kwargs)
    except (RuntimeError, TypeError) as error:
        return str(error)
    return [(x.dtype, tuple(x.shape), x.stride(), x.is_contiguous(), x) for x in (r if isinstance(r, tuple) else (r,))]


def test_there_are_such_operations() -> None:
    assert {"trace", "kron", "matrix_power", "linalg_multi_dot", "_softmax", "rms_norm", "batch_norm"} <= {*NAMES}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul")
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", [*NAMES, "einsum"])
def test_as_what_it_is_made_of(name: str, dtype: str, columns: bool, compared: Callable[[int], None]) -> None:
    function = FRONT_END.function(name)
    door = function.door
    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        args, kwargs = _arguments(sample, dtype, columns)
        if name in COMPOSED:
            whole = _outcome(COMPOSED[name], args, kwargs)
        else:  # which takes all arguments by position
            given = (args,) if door.spreads else (*args, *[kwargs.get(p.name, p.default) for p in door.params[len(args):]])
            whole = _outcome(door.plain, given, {})
        found = _outcome(function, args, kwargs)
        if isinstance(whole, str):  # by which errors tell how the call was written
            assert isinstance(found, str)
            compared(1)
            continue
        assert [x[:-1] for x in found] == [x[:-1] for x in whole]
        for (*_, x), (*_, y) in zip(found, whole):
            if get_record(name).field("fused"):  # values without vectors, which round otherwise
                torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)
            else:
                assert str(x.tolist()) == str(y.tolist())
            compared(x.numel())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["stft", "istft"])
def test_pieces_of_plain_signals_are_those_of_recorded_ones(name: str) -> None:
    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        args, _ = _arguments(sample, "float64", False)
        recorded = args[0].clone().requires_grad_()
        plain, other = getattr(torch, name)(*args), getattr(torch, name)(recorded, *args[1:]).detach()
        assert (plain.dtype, plain.shape, plain.stride()) == (other.dtype, other.shape, other.stride())
        assert str(plain.tolist()) == str(other.tolist())


@pytest.mark.parametrize("name", ["ifft", "ihfft"])
def test_inverse_transforms_of_real_numbers_are_views_of_conjugates(name: str) -> None:
    for shape, n, dim in (((2, 5), None, -1), ((3, 4), 6, 0), ((40, 30), 3, 0), ((64, 33), None, 0)):
        for dtype in (torch.float32, torch.float64, torch.int64, torch.bool):
            x = (torch.arange(math.prod(shape)).reshape(shape) % 7).to(dtype)
            recorded = (x.clone() if dtype.is_floating_point else x.float()).requires_grad_()
            plain, other = [getattr(torch.fft, name)(t, n, dim) for t in (x, recorded)]
            assert plain.is_conj() and other.is_conj() and not plain._base.is_conj()
            assert (plain.dtype, plain.stride(), plain.tolist()) == (other.dtype, other.stride(), other.tolist())


@pytest.mark.parametrize(("size", "step", "count"), [(4, 1, 9), (8, 3, 20), (64, 16, 3), (50, 5, 40), (16, 16, 4), (3, 5, 4), (92, 2, 115)])
def test_windows_are_added_back_in_order(size: int, step: int, count: int) -> None:
    """One element at a time: those of the last window first, as NumPy's sums over offsets have them."""
    drawn = np.random.default_rng(0).standard_normal((2, count, size)).astype("f")
    for pieces in (drawn, np.broadcast_to(drawn[:1, :1], drawn.shape), drawn.astype("d"), drawn + np.complex64(2j), drawn.astype(int)):
        total = np.zeros((2, size + step * (count - 1)), pieces.dtype)
        for window in reversed(range(count)):
            total[:, window * step:window * step + size] += pieces[:, window]
        assert add_windows(pieces, total.shape, 1, size, step).tobytes() == total.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "?", "i2"])
def test_triangles_are_cut_out_by_their_bits(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (2, 4, 3)).astype(dtype)
    for a in (x, x.swapaxes(1, 2), x[:, :2]):
        assert upper_triangle(a).tolist() == np.triu(a).tolist()
        k = min(a.shape[1:])
        assert unit_lower(a[..., :k]).tolist() == (np.tril(a[..., :k], -1) + np.eye(a.shape[1], k)).astype(dtype).tolist()
    if dtype == "f4":
        x[...] = np.nan
        assert np.triu(np.ones((4, 3)), 0).astype(bool).tolist() == np.isnan(upper_triangle(x)[0]).tolist()


def _seen(base: Any, r: Any) -> object:
    """What there is to say of views, and whether a change of the base is seen in them."""
    parts = r if isinstance(r, tuple) else (r,)
    said = [(x.dtype, tuple(x.shape), x.stride(), x.storage_offset(), x._base is base, x.grad_fn is None) for x in parts]
    before = base._version
    base.add_(1)
    return said, [(x._version - before, x.tolist()) for x in parts]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", [name for name in RECORDS if get_record(name).field("shown") is not None])
def test_what_is_shown_at_once_is_what_the_function_shows(name: str, dtype: str, columns: bool) -> None:
    function = FRONT_END.function(name)
    door = function.door
    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        found = []
        for at_once in (True, False):
            args, kwargs = _arguments(sample, dtype, columns)
            given = (args,) if door.spreads else args
            whole = (*given, *[kwargs.get(p.name, p.default) for p in door.params[len(given):]])
            try:
                found.append(_seen(args[0], function(*args, **kwargs) if at_once else door.plain(*whole)))
            except RuntimeError as error:
                found.append(str(error))
        assert found[0] == found[1]


def test_views_of_several_tensors_are_of_each() -> None:
    """Those that are shown whole are the tensors themselves, and one that has a gradient, or is none, goes the general way."""
    x, y, w = torch.ones(2, 1), torch.arange(3.0), torch.ones(3, requires_grad=True)
    for function, given in ((torch.broadcast_tensors, (x, y)), (torch.atleast_2d, (x, y))):
        shown = function(*given)
        assert [t._base is s or t is s for t, s in zip(shown, given)] == [True, True]
        y.add_(1)
        assert shown[1].flatten()[:3].tolist() == y.tolist() and shown[1]._version == y._version
    assert torch.atleast_2d(x, y)[0] is x
    alone = torch.atleast_3d(y)
    assert alone.shape == (1, 3, 1) and alone.stride() == (3, 1, 1) and alone._base is y and torch.atleast_1d(y) is y
    assert torch.atleast_2d([y])[0].shape == (1, 3) and torch.atleast_3d(torch.ones(1, 5).t(), x)[0].stride() == (1, 5, 1)
    with torch.no_grad():
        assert not torch.broadcast_tensors(x, y)[1].requires_grad
    assert [t.requires_grad for t in torch.broadcast_tensors(x, w)] == [False, True]
    column = torch.broadcast_tensors(x, torch.ones(3))[0]
    x.mul_(torch.ones(1, requires_grad=True))
    assert column.requires_grad
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0, but got int"):
        torch.broadcast_tensors(x, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("dim, shapes", [(0, [(50, 60), (3, 60)]), (1, [(600, 3), (600, 1)]), (-1, [(600, 9), (600, 0), (600, 2)]),
                                         (2, [(30, 20, 4), (30, 20, 1)]), (1, [(600, 3), (0,)]), (0, [(40, 3, 20), (2, 3, 20)])])
def test_columns_and_narrow_rows_are_joined_one_by_one(dtype: torch.dtype, dim: int, shapes: list[tuple[int, ...]]) -> None:
    arrays = [np.random.default_rng(0).integers(0, 9, shape) for shape in shapes]
    expected = np.concatenate([a for a in arrays if a.shape != (0,)], dim)
    for order in "CF":
        joined = torch.cat([torch.from_numpy(np.array(a, order=order)).to(dtype) for a in arrays], dim)
        assert torch.equal(joined, torch.from_numpy(expected).to(dtype)) and joined.is_contiguous()


def test_a_geometry_beyond_the_memory_is_refused() -> None:
    for x in (torch.zeros(0, 3), torch.zeros(2, 3), torch.zeros(4)[1:]):
        for shown in (torch.as_strided, torch.Tensor.as_strided_):
            with pytest.raises(RuntimeError, match="are out of bounds for storage"):
                shown(x, (3, 3), (1, 3), 1)


@pytest.mark.parametrize("name", [name for name in RECORDS if get_record(name).field("becomes") is not None])
def test_what_becomes_a_view_at_once_is_that_view(name: str) -> None:
    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        x, *args = _arguments(sample, "float32", False)[0]
        memory = x.detach()
        view = getattr(torch.Tensor, name[:-1])(memory, *args)
        assert getattr(x, name)(*args) is x
        memory.add_(1)
        assert (x.shape, x.stride(), x.storage_offset(), x.tolist()) == (view.shape, view.stride(), view.storage_offset(), view.tolist())
        assert x._version == 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("size", [1 << 20, 1 << 24, 1 << 27, 1 << 40, 1 << 62])
def test_products_of_integers_are_exact(size: int, dtype: str) -> None:
    """By BLAS where no sum can be rounded, or else not; what is too large wraps around."""
    rng = np.random.default_rng(0)
    a, b = [rng.integers(-size, size, (20, 20)).astype(dtype) for _ in range(2)]
    for x, y in ((a, b), (a.T, b[:, ::-1]), (a, b * 0), (np.full_like(a, np.iinfo(dtype).min), np.eye(20).astype(dtype))):
        assert integers(x, y).tolist() == (x @ y).tolist()
        assert integers(x, y).dtype == dtype


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_of_softmaxes_by_the_dtype_of_the_input(name: str) -> None:
    """It decides nothing but that float16 is refused beside gradients of single precision; derivatives are rounded at each step."""
    function, rng = getattr(torch, name), np.random.default_rng(0)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        for dim in (0, 1):
            grad, output = [torch.tensor(rng.uniform(0.1, 1, (3, 5))).to(dtype).requires_grad_() for _ in range(2)]
            expected = function(grad, output, dim, dtype)
            with torch.no_grad():
                assert torch.equal(function(grad, output, dim, torch.float16), expected)
            others = [torch.autograd.grad(function(grad, output, dim, d).sum(), (grad, output)) for d in (dtype, torch.float64)]
            assert all([a.dtype is dtype and torch.equal(a, b) for a, b in zip(*others)])
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Half"):
        function(torch.ones(2, 3), torch.ones(2, 3), 1, torch.float16)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16"])
def test_a_sum_of_nothing_is_the_tensor_itself(dtype: str) -> None:
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    assert x.sum_to_size(2, 3) is x and x.t().sum_to_size((3, 2))._base is x
    assert x.sum_to_size(1, 3).tolist() == [[2, 2, 2]] and x.sum_to_size(1, 3).dtype == x.sum(0, True).dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("size", [(3,), (4, 3), (1, 3), (4, 1), (2, 4, 3), ()])
def test_elements_that_a_smaller_mask_selects(dtype: torch.dtype, columns: bool, size: tuple[int, ...]) -> None:
    x = torch.arange(12).reshape(4, 3).to(dtype)
    x = x.t().contiguous().t() if columns else x
    mask = torch.arange(int(np.prod(size, dtype=int))).reshape(size) % 3 != 1
    whole, expected = np.broadcast_arrays(mask.numpy(), x.double().numpy())
    assert torch.masked_select(x, mask).tolist() == torch.tensor(expected[whole]).to(dtype).tolist()


@pytest.mark.parametrize("size", [0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (5,), ()])
def test_places_that_are_as_many_as_wanted(size: int, shape: tuple[int, ...]) -> None:
    x = torch.arange(int(np.prod(shape, dtype=int))).reshape(shape) % 3
    places = np.argwhere(x.numpy())[:size].tolist()
    found = torch.nonzero_static(x, size=size, fill_value=7)
    assert found.tolist() == places + [[7] * len(shape)] * (size - len(places)) and found.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("name", [name for name in RECORDS if get_record(name).field("overwrites") is not None])
def test_what_is_overwritten_at_once_is_what_the_function_overwrites(name: str, dtype: torch.dtype) -> None:
    """In rows, in columns and in a part of something else; of what has a history the function says what becomes of it."""
    method = getattr(torch.Tensor, name.removesuffix("_") + "_")
    door = method.door

    def as_tensors(value: object) -> object:
        """Tensors in the place of arrays in a tuple; numbers in the dtype that is overwritten."""
        if isinstance(value, tuple):
            return tuple([torch.tensor(x) if isinstance(x, np.ndarray) else x for x in value])
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        x, *args = [as_tensors(value) for value in _arguments(sample, "float32", False)[0]]
        whole = (*args, *[p.default for p in door.params[1 + len(args):]])
        for made in (lambda t: t, lambda t: t.t().contiguous().t(), lambda t: torch.stack([t, t], -1)[..., 1]):
            found = []
            for at_once in (True, False):
                t = made(x.to(dtype).clone())
                before = t._version
                try:
                    assert (method(t, *args) if at_once else door.plain(t, *whole)) is t
                except RuntimeError as error:  # which wraps around beyond the memory
                    found.append((str(error), 0))
                    continue
                found.append((t.tolist(), t._version - before))
            assert found[0] == found[1]
    leaf = torch.zeros(3, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.fill_diagonal_(1)
    assert torch.autograd.grad((leaf * 1).fill_diagonal_(1).sum(), leaf)[0].tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


QUICK = sorted([name for name in RECORDS if get_record(name).field("quick") is not None and get_record(name).public and
                get_record(name).field("gives") != "bool"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUICK)
def test_what_is_made_in_inference_mode_is_of_it(name: str, compared: Callable[[int], None]) -> None:
    def tensor(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return torch.from_numpy(x).float() if x.dtype == np.float64 else torch.from_numpy(x)
        return type(x)(map(tensor, x)) if isinstance(x, (list, tuple)) else x

    def of_it(x: Any) -> bool:
        return not isinstance(x, torch.Tensor) or x.is_inference()

    function, count = FRONT_END.function(name), 0
    for sample in get_record(name).body.__dict__["samples"](np.random.default_rng(0)):
        args, kwargs = (sample.args, sample.kwargs) if isinstance(sample, Sample) else (sample, {})
        with torch.inference_mode():
            args, kwargs = [tensor(x) for x in args], {n: tensor(x) for n, x in kwargs.items()}
            found = function(*args, **kwargs)
        results = [x for x in (found if isinstance(found, tuple) else (found,)) if not any([x is a for a in args])]
        assert all(map(of_it, results))
        count += 1
    compared(count)
