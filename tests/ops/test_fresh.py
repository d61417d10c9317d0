"""New tensors made before the frame are those that the frame makes: an option that changes nothing leads through it."""

import itertools

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.dtypes import FLOATING, DType, number_array
from autograd_tape.executors.kernels._on_demand import use_numba
from autograd_tape.executors.kernels.sharing import fill
from autograd_tape.ops.data import windows
from autograd_tape.ops.data.create import _apart, _indices, _line
from autograd_tape.record import RECORDS, Sample

NAMES = sorted({r.name for r in map(RECORDS.__getitem__, list(RECORDS)) if r.field("fresh")})
DTYPES = [None, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64]
SHAPES = [(2, 3), (0, 3), (), (2, 0), (-1,), (1.5,), (40, 41)]


def _told(function, args, **options):
    try:
        made = function(*args, **options)
    except Exception as error:
        return type(error)  # whose text may show the options
    values = None if RECORDS[function.record.name].field("unset") else made._data.tobytes()
    return made.dtype, tuple(made.shape), made.stride(), made.requires_grad, values


def _calls(name):
    record = RECORDS[name]
    for sample in record.field("samples")(np.random.default_rng(0)):
        args = list(sample.args if isinstance(sample, Sample) else sample)
        yield args
        at = next((i for i, a in enumerate(args) if isinstance(a, tuple)), None)
        for shape in SHAPES:
            if at is not None:
                yield [*args[:at], shape, *args[at + 1:]]
            elif not isinstance(args[0], np.ndarray):
                yield [*shape, *args[len(shape):]]
            else:
                yield [args[0], *shape, *args[1 + len(shape):]]


@pytest.mark.parametrize("name", NAMES)
def test_as_through_the_frame(name):
    function = getattr(torch, name, None) or getattr(torch.Tensor, name, None) or getattr(torch.fft, name.removeprefix("fft_"))
    tested = 0
    for args in _calls(name):
        for of in DTYPES[1:] if isinstance(args[0], np.ndarray) else [None]:
            given = [torch.tensor(args[0]).to(of), *args[1:]] if of else args
            for turned in (given, [given[0].T.contiguous().T, *given[1:]]) if of and given[0].ndim == 2 else (given,):
                for dtype in DTYPES:
                    framed = _told(function, turned, dtype=dtype, layout=torch.strided)
                    assert _told(function, turned, dtype=dtype) == framed, (turned, dtype)
                    tested += 1
    assert tested > 20 and len(NAMES) > 12


@pytest.mark.parametrize("dtype", "bfloat16 float8_e5m2 float32 float64 complex64 complex128 int64 int32 uint8 bool".split())
@pytest.mark.parametrize("shape", [(), (3,), (511,), (513,), (30, 41), (1031,), (331, 401)])
@pytest.mark.parametrize("mode", ["numpy", "numba"])
def test_filled_eight_bytes_at_a_time(dtype, shape, mode, request):
    request.addfinalizer(lambda previous=use_numba(mode): use_numba(previous))
    dtype, n = DType.by_name[dtype], int(np.prod(shape))
    for value in (1.5, -0.0, float("nan"), float("-inf"), 3e-39) if dtype.category >= FLOATING or dtype.group else (0, 1, 100):
        number = number_array(value, dtype)
        odd = np.zeros(n + 1, dtype.np)  # from its second element on, not where eight bytes begin
        rows, parts, columns = np.empty(shape, dtype.np), np.empty((*shape, 2), dtype.np)[..., 0], np.empty(shape, dtype.np).T
        for array in (rows, parts, columns, odd[1:].reshape(shape)):
            fill(array, number)
            assert array.tobytes() == number.tobytes() * array.size
        assert odd[:1].tobytes() == bytes(dtype.itemsize)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("value", [0, 1, 127, 128, 1.5, -1, True, float("inf"), 1e30])
def test_filled_with_numbers_of_other_dtypes(dtype, value):
    """Those that fit all dtypes take the quiet path, where what does not fit is cut off; others the general way, as in place."""
    found = []
    for filled in (torch.fill, torch.Tensor.fill_):
        try:
            found.append(filled(torch.zeros(2, 3).to(dtype).T, value)._data.tobytes())
        except RuntimeError as error:
            found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lines_of_kernels_have_numpys_bits(dtype):
    """Both may serve a call, whatever ran before."""
    ends = [(0, 1), (-1, 4), (0.0, -0.0), (-0.0, -3), (1e30, -1e30), (float("inf"), 1), (1, float("nan")), (3, 0.1), (-7.3, 8191.77)]
    for (start, end), n in [(e, n) for e in ends for n in (2, 3, 7, 15, 16, 17, 33, 1000, 5000)]:
        found = []
        for mode in ("numpy", "numba"):
            previous = use_numba(mode)
            try:
                with np.errstate(all="ignore"):
                    found.append([_line(start, end, n, np.dtype(dtype)), _apart(float(start), float(end), n, np.dtype(dtype))])
            finally:
                use_numba(previous)
        for by_numpy, by_kernel in zip(*found, strict=True):
            assert np.array_equal(by_numpy, by_kernel, equal_nan=True), (start, end, n)
            assert np.array_equal(np.signbit(by_numpy[by_numpy == 0]), np.signbit(by_kernel[by_kernel == 0]))


@pytest.mark.parametrize("lower", [True, False])
def test_indices_of_triangles(lower):
    """Whole rows, some that are not, and those without elements, of high and of wide matrices."""
    function = torch.tril_indices if lower else torch.triu_indices
    for row, col, offset in itertools.product((0, 1, 3, 40), (0, 1, 4, 15, 16, 50), (-60, -3, -1, 0, 1, 2, 60)):
        kept = np.tri(row, col, offset, bool) if lower else ~np.tri(row, col, offset - 1, bool)
        for dtype in (torch.int64, torch.int32):
            assert function(row, col, offset, dtype=dtype).tolist() == [at.tolist() for at in np.nonzero(kept)], (row, col, offset)
        previous = use_numba("numba")
        try:
            assert _indices(lower, row, col, offset).tolist() == [at.tolist() for at in np.nonzero(kept)], (row, col, offset)
        finally:
            use_numba(previous)


def test_what_is_kept_of_new_tensors_stays_as_it_was():
    """Lines and their powers of few numbers, and indices, of which tensors are copies; zeros of two signs are told apart."""
    for function, args in ((torch.linspace, (-1, 4, 3)), (torch.logspace, (0, 2, 3)), (torch.tril_indices, (3, 3))):
        first = function(*args)
        before = first.tolist()
        assert first.zero_().tolist() != function(*args).tolist() == before
    assert [torch.linspace(-1, a, 2).signbit().tolist() for a in (0.0, -0.0, 0)] == [[True, False], [True, True], [True, False]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64])
@pytest.mark.parametrize(("start", "end", "step"), [(0, 5, 1), (0, 3000, 1), (7, 1, -2), (-3, 800, 0.7), (2.5, -1, -0.3),
                                                    (2**40, 2**40 + 9, 2)])
@pytest.mark.filterwarnings("ignore:torch.range")
def test_each_number_of_a_range_is_so_many_steps_from_the_first(start, end, step, dtype):
    if not dtype.is_floating_point and not int(step):
        return
    exact = [int(x) if not dtype.is_floating_point else x for x in (start, end, step)]
    expected = np.arange(int((exact[1] - exact[0]) / exact[2] + 1)) * exact[2] + exact[0]
    for mode in ("numpy", "numba"):
        previous = use_numba(mode)
        try:
            found = torch.range(start, end, step, dtype=dtype)
        finally:
            use_numba(previous)
        assert found._data.tobytes() == expected.astype(found._data.dtype).tobytes()


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window", "bartlett_window"])
def test_long_windows_are_made_in_blocks_with_the_same_bits(name, dtype, periodic, monkeypatch):
    for n in (32766, 32768, 50001, 300000):
        found = getattr(torch, name)(n, periodic, dtype=dtype)
        with monkeypatch.context() as patch:
            patch.setattr(windows, "_BLOCK", n)
            assert getattr(torch, name)(n, periodic, dtype=dtype)._data.tobytes() == found._data.tobytes()


def test_as_strided_leaves_a_geometry_that_is_there():
    """The change is counted nevertheless, and what are no integers is refused."""
    x = torch.arange(6.0)
    for version in (1, 2):
        assert x.as_strided_((1, 3), (3, 1)).tolist() == [[0, 1, 2]] and x._version == version
    with pytest.raises(TypeError):
        x.as_strided_((True, 3), (3, 1))
    with pytest.raises(TypeError):
        x.as_strided_((1, 3), (3.0, 1))


def test_views_that_are_gone_are_forgotten_by_pieces_too():
    x = torch.zeros(6, 2)
    for _ in range(1000):
        x.split([1, 2, 3])
    assert len(x._v.views) < 200
