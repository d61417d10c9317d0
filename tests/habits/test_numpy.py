"""NumPy's functions on tensors: values, shapes and dtypes are NumPy's, gradients those of differences; what has no record refuses."""

from __future__ import annotations

import subprocess
import sys
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.habits.numpy_cases import CASES, ufunc_cases

import autograd_tape as at
import autograd_tape.numpy as anp
import torchcompat as torch
from autograd_tape import F, TensorRef
from autograd_tape.numpy._tables import FUNCTIONS, SPECIAL, UFUNCS, VALUES, find
from autograd_tape.ops import RECORDS

ALL = [*ufunc_cases(UFUNCS), *CASES]
IDS = [f"{name}-{'-'.join([f'{a.dtype}{list(a.shape)}' for a in arrays])}" for name, _, arrays in ALL]


def plain(x: Any) -> Any:
    """A result as arrays, in tuples and lists as it came."""
    if isinstance(x, TensorRef):
        return x._data
    return type(x)([plain(e) for e in x]) if type(x) in (tuple, list) else tuple(map(plain, x)) if isinstance(x, tuple) else x


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
        return
    a, b = np.asarray(plain(ours)), np.asarray(theirs)
    assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape} for NumPy's {b.dtype}{b.shape}"
    if b.dtype.kind in "fc":
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    else:
        assert (a == b).all()


@pytest.mark.parametrize("call, arrays", [c[1:] for c in ALL], ids=IDS)
def test_results_are_numpys(call: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = call(np, *arrays)
        for module in (np, anp):
            ours = call(module, *map(TensorRef.of, arrays))
            same(ours, theirs)
        same(call(anp, *arrays), theirs)
        assert not isinstance(call(anp, *arrays), TensorRef), "the module's functions are NumPy's own on arrays"


def numbers(x: Any) -> Iterator[Any]:
    """The floating-point tensors among results."""
    for e in x if isinstance(x, (tuple, list)) else (x,):
        if isinstance(e, TensorRef) and e._k.np.kind in "fc":
            yield e


WITHOUT_DERIVATIVE = ("np.heaviside(x, y)", "x // 2", "2 // x")
"""What records refuse to differentiate, saying so: the operator `//` is the record `floor_divide`."""
FLOATING = [(i, c) for i, c in zip(IDS, ALL) if any([a.dtype.kind in "fc" for a in c[2]]) and c[0] not in WITHOUT_DERIVATIVE]


@pytest.mark.parametrize("call, arrays", [c[1:] for _, c in FLOATING], ids=[i for i, _ in FLOATING])
def test_gradients_are_those_of_differences(call: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> None:
    """Of every tensor that depends on a floating-point argument: none loses its history without a word."""
    rng = np.random.default_rng(1)
    drawn = lambda a: rng.standard_normal(a.shape) + (1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0)
    inputs = [TensorRef.of(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
    wanted = [x for x in inputs if x.requires_grad]
    found = list(numbers(call(np, *inputs)))
    weights = [drawn(y._data) for y in found]
    steps = {id(x): drawn(x._data) if x.requires_grad else 0 for x in inputs}
    dot = lambda ys, ws: sum([np.vdot(w, np.asarray(y)).real for y, w in zip(ys, ws)])

    def at_distance(h: float) -> float:
        moved = [TensorRef.of(x._data + h * steps[id(x)] if x.requires_grad else x._data) for x in inputs]
        return dot([y._data for y in numbers(call(np, *moved))], weights)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope = (at_distance(1e-6) - at_distance(-1e-6)) / 2e-6
    live = [F.sum(F.real(y * w.conj().astype(y._k.np))) for y, w in zip(found, weights) if y.requires_grad]
    gradients = at.backward(sum(live[1:], live[0])) if live else {}
    ours = dot([gradients.get(x.id, np.zeros_like(x._data)) for x in wanted], [steps[id(x)] for x in wanted])
    single = any([y._k.np.itemsize == 4 for y in found])  # rounding of results is seen in differences
    assert np.isclose(ours, slope, rtol=1e-5, atol=0.3 if single else 1e-5), (ours, slope)


def test_every_function_in_the_tables_has_a_case() -> None:
    source = " ".join([name for name, *_ in ALL])
    short = {f: n for n in dir(np) if callable(f := getattr(np, n)) and getattr(f, "__hash__", None)}
    for theirs in (*FUNCTIONS, *UFUNCS):
        names = [n for n in short.values() if getattr(np, n) is theirs] + [
            f"{m}.{n}" for m in ("linalg", "fft") for n in dir(find(m)) if getattr(find(m), n) is theirs]
        aliases = {n for n in dir(np) if getattr(np, n, None) is theirs}
        assert any([f"np.{n}(" in source or f"np.{n}." in source for n in {*names, *aliases}]) or theirs.__name__ in (
            "msort", "round_", "row_stack"), f"no case for {theirs.__name__}"


def overridable() -> Iterator[tuple[str, Any]]:
    """(name, function) of NumPy's functions that ask their arguments' `__array_function__`."""
    for module in ("", "linalg", "fft"):
        for name in sorted(dir(find(module) if module else np)):
            theirs = getattr(find(module) if module else np, name, None)
            if callable(theirs) and not isinstance(theirs, (type, np.ufunc)) and hasattr(theirs, "_implementation"):
                yield f"{module}.{name}".strip("."), theirs


REFUSED = {name: f for name, f in overridable() if f not in FUNCTIONS and f not in VALUES}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_record_refuses_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^numpy\.(\w+\.)*{REFUSED[name].__name__} does not take tensors"):
        TensorRef.of([1.0]).__array_function__(REFUSED[name], (TensorRef,), (), {})


WITHOUT_RECORD = [u for u in vars(np).values() if isinstance(u, np.ufunc) and u not in UFUNCS and u not in FUNCTIONS]


@pytest.mark.parametrize("ufunc", WITHOUT_RECORD, ids=lambda u: u.__name__)
def test_ufuncs_without_record_refuse_by_name(ufunc: np.ufunc) -> None:
    with pytest.raises(TypeError, match=f"^numpy.{ufunc.__name__} does not take tensors"):
        ufunc(*[TensorRef.of([1.0])] * ufunc.nin)


def test_calls_reach_the_refusal() -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    for call in (lambda: np.interp(x, [0.0], [1.0]), lambda: np.cbrt(x), lambda: np.apply_along_axis(sum, 0, x), lambda: np.add.at(x, 0,
    1.0),
                 lambda: np.add.reduceat(x, [0]), lambda: np.hypot.reduce(x), lambda: np.convolve(x, x)):
        with pytest.raises(TypeError, match="does not take tensors"):
            call()


# -- dtypes -------------------------------------------------------------------------------------------------------------------

DTYPES = "?bBhilfdFD"
UNORDERED = {"sign", "rint", "maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal"}
"""What the records refuse of complex numbers, where NumPy compares their real parts first."""
PLAIN = [u for u in UFUNCS if u.nout == 1 and u is not np.matmul and u is not np.ldexp]


@pytest.mark.parametrize("ufunc", sorted(PLAIN, key=lambda u: u.__name__), ids=lambda u: u.__name__)
def test_dtypes_of_ufuncs_are_numpys(ufunc: np.ufunc) -> None:
    """For every pair of dtypes, and for tensors beside arrays; what NumPy refuses is a TypeError."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a in DTYPES:
            for b in DTYPES if ufunc.nin == 2 else "d":
                arrays = [np.array(v).astype(c) for v, c in (([1, 0, 1], a), ([2, 1, 3], b))][:ufunc.nin]
                try:
                    wanted = ufunc(*arrays).dtype
                except (TypeError, ValueError):
                    with pytest.raises((TypeError, at.AutogradError)):
                        ufunc(*map(TensorRef.of, arrays))
                    continue
                if ufunc.__name__ in UNORDERED and "c" in (arrays[0].dtype.kind, arrays[-1].dtype.kind):
                    with pytest.raises((at.AutogradError, NotImplementedError), match="not implemented for|complex"):
                        ufunc(*map(TensorRef.of, arrays))
                    continue
                found = ufunc(*map(TensorRef.of, arrays))
                assert found._k.np == wanted, (a, b, found.dtype, wanted)
                assert ufunc.nin == 1 or ufunc(arrays[0], TensorRef.of(arrays[1]))._k.np == wanted, (a, b)


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "mean", "var", "std", "max", "min", "median", "argmax", "all",
"ptp", "sort",
                                  "diff", "average", "count_nonzero", "any"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_reductions_are_numpys(name: str, dtype: str) -> None:
    array = np.array([[1, 2], [3, 1]]).astype(dtype)
    try:
        wanted = getattr(np, name)(array, axis=0).dtype
    except TypeError:
        with pytest.raises((TypeError, at.AutogradError)):
            getattr(np, name)(TensorRef.of(array), axis=0)
        return
    if name == "median" and dtype in "FD":  # complex numbers have no quantiles
        with pytest.raises(at.AutogradError):
            np.median(TensorRef.of(array), axis=0)
        return
    assert getattr(np, name)(TensorRef.of(array), axis=0)._k.np == wanted


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8", "int64", "complex64"])
def test_python_numbers_are_weak(dtype: str) -> None:
    x = TensorRef.of([1, 2], dtype)
    for made in (np.multiply(x, 2), np.add(2, x), np.maximum(x, 1) if dtype != "complex64" else x):
        assert made.dtype is x.dtype
    if np.dtype(dtype).kind == "f":
        assert np.multiply(x, 2.5).dtype is np.maximum(x, 0.0).dtype is np.where(x > 1, x, 0.0).dtype is x.dtype


# -- out=, where= -------------------------------------------------------------------------------------------------------------


def test_out_is_written_to_or_refused() -> None:
    x, out = TensorRef.of([1.0, 4.0], requires_grad=True), TensorRef.of([0.0, 0.0])
    made = np.sqrt(x, out=out)
    assert made is out and out.tolist() == [1.0, 2.0]
    assert at.backward(F.sum(made))[x.id].tolist() == [0.5, 0.25]
    array = np.zeros(2)
    with pytest.raises(TypeError, match="no history"):
        np.sqrt(x, out=array)
    assert array.tolist() == [0.0, 0.0]
    assert np.sqrt(x.stop_gradient(), out=array) is array and array.tolist() == [1.0, 2.0]
    array += x.stop_gradient()
    assert array.tolist() == [2.0, 6.0]
    with pytest.raises(TypeError, match="no history"):
        array += x
    with pytest.raises(ValueError, match="shape"):
        np.sqrt(x, out=TensorRef.of([0.0]))
    with pytest.raises(TypeError, match="same_kind"):
        np.sqrt(x, out=TensorRef.of([0, 0]))
    assert np.sum(x, axis=0, out=TensorRef.of(0.0)).item() == 5.0
    kept = np.sqrt(x, where=np.array([True, False]), out=TensorRef.of([7.0, 8.0]))
    assert kept.tolist() == [1.0, 8.0] and at.backward(F.sum(kept))[x.id].tolist() == [0.5, 0.0]
    with pytest.raises(TypeError, match="where="):
        np.sqrt(x, where=np.array([True, False]))


# -- lists of tensors, the module -------------------------------------------------------------------------------------------------


def test_the_module_takes_lists_of_tensors() -> None:
    x = TensorRef.of(2.0, requires_grad=True)
    made = anp.array([[x, 1.0], [x * x, x]])
    assert made.tolist() == [[2.0, 1.0], [4.0, 2.0]] and at.backward(F.sum(made))[x.id] == 6.0
    assert anp.sum([x, x]).item() == 4.0 and anp.r_[x, 1.0:3.0].tolist() == [2.0, 1.0, 2.0] and anp.full((2,), x).tolist() == [2.0, 2.0]
    assert anp.c_[anp.array([x, x]), np.ones(2)].tolist() == [[2.0, 1.0], [2.0, 1.0]]
    assert anp.stack(t for t in (x, x)).tolist() == [2.0, 2.0] and anp.linalg.norm([x, x]).requires_grad
    assert type(anp.array([1.0])) is np.ndarray and anp.pi == np.pi and anp.float64 is np.float64 and anp.newaxis is None


@pytest.mark.parametrize("module", ["", "linalg", "fft", "random"])
def test_the_module_has_numpys_names(module: str) -> None:
    theirs, ours = (find(module), getattr(anp, module)) if module else (np, anp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not [n for n in dir(theirs) if not n.startswith("_") and hasattr(theirs, n) and not hasattr(ours, n)]
    with pytest.raises(AttributeError):
        getattr(ours, "no_such_name")  # noqa: B009  # mypy knows of none


# -- transforms ---------------------------------------------------------------------------------------------------------------


def test_transforms_go_through_numpys_functions() -> None:
    f = lambda x: np.sum(np.sin(x) * np.exp(-x ** 2)) + np.linalg.norm(np.concatenate([x, x[::-1]]))
    x = np.array([0.3, 0.7, 1.1])
    assert at.check_grad(f, [x]).ok
    H = at.hessian(f)(x)
    numeric = np.stack([(at.transforms.grad(f)(x + h) - at.transforms.grad(f)(x - h)) / 2e-5 for h in 1e-5 * np.eye(3)])
    np.testing.assert_allclose(H, numeric, atol=1e-5)
    t = at.trace(lambda x: np.sum(np.where(x > 0, np.sort(x) * x, 0.0)), x)
    assert t.refresh_graph_values(-x) == 0 and np.isclose(t.refresh_graph_values(x), np.sum(np.sort(x) * x))


def test_questions_without_derivative_are_answered_inside_transforms() -> None:
    def f(x: Any) -> Any:
        assert np.allclose(x, x * 1.0) and np.array_equal(x, x) and np.shape(x) == (3,) and np.argmax(x) == 2
        return np.sum(x[np.argsort(x)] * np.searchsorted(x, x))

    assert at.transforms.grad(f)(np.array([1.0, 2.0, 3.0])).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(at.NoGradError, match="gradient would be lost"):
        at.transforms.grad(lambda x: np.sum(np.array([float(x[0])])))(np.array([1.0]))


# -- habits ---------------------------------------------------------------------------------------------------------------------


def test_stop_gradient_is_a_constant_that_a_trace_follows() -> None:
    x = TensorRef.of([2.0], requires_grad=True)
    assert at.backward(F.sum(x * x.stop_gradient()))[x.id].tolist() == [2.0] and not x.stop_gradient().requires_grad
    t = at.trace(lambda x: np.sum(x * x.stop_gradient()), np.array([2.0]))
    assert t.refresh_graph_values(np.array([3.0])) == 9.0


def test_matrix_transpose_needs_two_axes() -> None:
    assert TensorRef.of(np.zeros((2, 3, 4))).mT.shape == (2, 4, 3)
    with pytest.raises(ValueError, match="two axes"):
        TensorRef.of([1.0]).mT  # noqa: B018


@pytest.mark.parametrize("index", [np.s_[::-1], np.s_[..., ::-2], np.s_[1, ::-1, None, 3:0:-1], np.s_[0:0:-1], np.s_[[0, 2], ::-1],
                                   np.s_[::-1, [0, 1], ::-1], np.s_[2::-1], np.s_[:5:-1], np.s_[np.array([True, False, True]), ::-1]],
                                   ids=repr)
def test_slices_go_backwards(index: Any) -> None:
    a = np.arange(60.0).reshape(3, 4, 5)
    x = TensorRef.of(a, requires_grad=True)
    assert np.array_equal(x[index]._data, a[index])
    wanted = np.zeros_like(a)
    np.add.at(wanted, index, 2 * a[index])
    assert at.transforms.grad(lambda x: F.sum(x[index] * x[index]))(a).tolist() == wanted.tolist()
    with pytest.raises(at.AutogradError, match="slice step cannot be zero"):
        x[::0]


ITEMS = [0, -1, slice(None), slice(2, 0, -1), [1, 0], np.array([[0, 1]]), None, Ellipsis]


@pytest.mark.parametrize("last", range(len(ITEMS)))
def test_indices_mean_what_they_mean_to_numpy(last: int) -> None:
    """Every three of eight kinds of indices: a number apart from an array is one of the arrays."""
    a = np.arange(60.0).reshape(3, 4, 5)
    for first in ITEMS:
        for middle in ITEMS:
            index = (first, middle, ITEMS[last])
            if sum([i is Ellipsis for i in index]) > 1:
                continue  # the records take a second one, which stands for nothing
            try:
                wanted = a[index]
            except IndexError:
                with pytest.raises((IndexError, at.AutogradError)):
                    TensorRef.of(a)[index]
                continue
            x = TensorRef.of(a, requires_grad=True)
            assert np.array_equal(x[index]._data, wanted), index
            counts = np.zeros_like(a)
            np.add.at(counts, index, 1.0)
            assert np.array_equal(at.backward(F.sum(x[index]))[x.id], counts), index


def test_scipys_ufuncs_are_records() -> None:
    special = pytest.importorskip("scipy.special", reason="scipy.special is missing: pip install scipy")
    for name in SPECIAL:
        ufunc = getattr(special, name)
        x = np.array([0.3, 0.6])
        args = (x,) if ufunc.nin == 1 else (x, x + 0.2)
        made = ufunc(*[TensorRef.of(a, requires_grad=True) for a in args])
        assert made.requires_grad == RECORDS[SPECIAL[name]].differentiable
        np.testing.assert_allclose(made._data, ufunc(*args), rtol=1e-9)
    with pytest.raises(TypeError, match="scipy.special.jv does not take tensors"):
        special.jv(1.0, TensorRef.of([1.0]))


# -- torch's tensors keep torch's behaviour -----------------------------------------------------------------------------------------


def test_torchs_tensors_know_nothing_of_it() -> None:
    x = torch.ones(2)
    for name in ("__array_ufunc__", "__array_function__", "__array_namespace__", "astype", "copy", "stop_gradient"):
        assert not hasattr(x, name) and not hasattr(torch.Tensor, name), name
    assert isinstance(np.sin(x), torch.Tensor) and np.sin(x).dtype is torch.float32
    for call in (lambda: np.sin(torch.ones(2, requires_grad=True)), ):
        with pytest.raises(RuntimeError, match="requires grad"):
            call()
    assert type(np.concatenate([x, x])) is np.ndarray and type(np.where(x > 0, x, 0)) is np.ndarray
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]
    assert callable(x.size) and inspect.ismethod(x.size)


def test_numpys_names_are_imported_when_they_are_first_used() -> None:
    text = ("import sys, autograd_tape as at\nx = at.TensorRef.of([1.0])\nx * 2.0\n"
            "assert not [m for m in sys.modules if m.startswith(('autograd_tape.numpy', 'autograd_tape.array_api'))]\n"
            "import numpy as np\nprint(np.sin(x * 0.0).numpy(), x.T.shape, at.numpy.__name__, x.__array_namespace__().__name__)")
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout == "[0.] (1,) autograd_tape.numpy autograd_tape.array_api\n"


DTYPES_ALONE = """
import numpy as np
from autograd_tape.dtypes import DType
NUMBERS = [d for d in DType.by_name.values() if d.np.names is None]  # which NumPy has, or knows by a type of its own
for d in NUMBERS:
    x = np.zeros(3, d)
    assert x.dtype == d.np and np.dtype(d) is d.np and np.empty_like(x, d).dtype == d and x.astype(d).dtype == d, d
    assert d == d.np and d.np == d and d == d.np.type and d.np.type == d and hash(d) == hash(d) and {d: 1}[d] == 1, d
    assert [other for other in NUMBERS if d == other or d == other.np or d == other.np.type] == [d], d
    assert d != None and d != d.name and d != str and d != 3 and d != "f8", d
import torchcompat as torch
assert torch.float64 != np.float64 and torch.float64 != np.dtype("f8") and torch.float64 == torch.double
assert torch.float64 in {torch.float64} and not hasattr(torch.float64, "dtype") and type(torch.float64).__eq__ is object.__eq__
try: np.zeros(3, torch.float64)
except TypeError as error: print(error)
"""


def test_dtypes_are_numpys_until_they_are_torchs() -> None:
    done = subprocess.run([sys.executable, "-c", DTYPES_ALONE], capture_output=True, text=True, timeout=120)
    assert done.stdout == "Cannot interpret 'torch.float64' as a data type\n", done.stderr


@pytest.mark.parametrize("base", [0.0, np.array(0.0), np.zeros(2)])
@pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
def test_powers_of_zero_do_not_change_with_the_exponent(base: Any, exponent: float) -> None:
    f = lambda y: np.sum(np.power(TensorRef.of(base) if isinstance(base, np.ndarray) else base, y))
    for _ in range(4):
        assert f(TensorRef.of(exponent)).item() == 0.0
        f = at.transforms.grad(f)


def test_where_takes_its_arguments_by_name() -> None:
    x, y, yes = TensorRef.of([1.0, 2.0]), np.zeros(2), [True, False]
    for found in (anp.where(condition=yes, x=x, y=y), anp.where(yes, x, y=y), anp.where(yes, x, y)):
        assert isinstance(found, TensorRef) and found.tolist() == [1.0, 0.0]
    assert anp.where(condition=yes)[0].tolist() == [0] == anp.where(TensorRef.of([3.0, 0.0]))[0].tolist()
    assert anp.where(True, 1, 2).dtype == int
    with pytest.raises(ValueError, match="both or neither"):
        anp.where(yes, x=x)
