"""Complex tensors and half precision: values, gradients in torch's convention (the gradient of a real loss L is dL/dx + i dL/dy for
z = x + iy), refusals, views of real and imaginary parts, and rounding; against what was recorded from torch, and against differences."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from tests.ops import op_cases
import pytest
from tests.oracle.complex_cases import RECORDED, attribute, gradients, half_inputs, half_operations, tensors_of, weights
from tests.oracle.oracle_cases import Reader, dtype_name, load

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

CONTENT, ARRAYS = load(RECORDED)
READER = Reader(torch, ARRAYS)
CASES: dict[str, list[dict[str, Any]]] = {}
for _case in CONTENT["cases"]:
    CASES.setdefault(_case["op"], []).append(_case)
TOLERANCE = {"complex128": 1e-7, "float64": 1e-7, "complex64": 2e-4, "float32": 2e-4}

_WEIGHT = "torch's refusal of gradients for weights and targets of losses comes before its refusal of complex numbers"
_PARTS = "refused here by the operation it is made of, whose name torch's message does not give"
DEVIATIONS = {
    "histc": _PARTS, "multi_margin_loss": _WEIGHT,
    "cross_entropy": "the weight that requires grad is refused before log_softmax refuses complex numbers",
    "vander": "torch breaks its own gradient by updates in place",
    "scatter_add": "torch's gradient has a wrong shape, which it then refuses, where src is larger than index",
}
"""Operation -> why a recorded case is not met. `test_recorded` fails where one of them is met after all."""


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def arguments(case: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [READER.value(node) for node in case["in"]], {k: READER.value(node) for k, node in case["kw"].items()}


def leaves_of(args: Any) -> list[Any]:
    return [t for t in tensors_of(torch, args) if t.requires_grad]


def differences(found: list[Any], nodes: list[Any], what: str) -> Iterator[str]:
    """How tensors differ from what was recorded."""
    if len(found) != len(nodes):
        yield f"{len(found)} for {len(nodes)} {what}"
        return
    for i, (t, node) in enumerate(zip(found, nodes)):
        if t is None or node is None:
            if (t is None) != (node is None):
                yield f"{what} {i} is {'' if t is None else 'not '}None"
        elif dtype_name(t.dtype) != node["t"] or list(t.shape) != node["s"]:
            yield f"{what} {i}: {t.dtype} {list(t.shape)} for {node['t']} {node['s']}"
        else:
            limit = TOLERANCE.get(node["t"], 0.0)
            actual, expected = t.detach().resolve_conj().resolve_neg().numpy(), READER.array(node)
            if not np.allclose(actual, expected, rtol=limit, atol=10 * limit if limit > 1e-6 else limit, equal_nan=True):
                yield f"{what} {i}: {actual.ravel()[:3]} for {expected.ravel()[:3]}"


def deviations(case: dict[str, Any]) -> Iterator[str]:
    """How a case is not met."""
    call = attribute(torch, case["call"])
    args, kwargs = arguments(case)
    wanted = case.get("error") or case.get("grad_error")
    try:
        result = call(*args, **kwargs)
        if "grad" not in case:
            gradients(torch, result, leaves_of([args, kwargs]))
    except Exception as error:  # noqa: BLE001  # errors are compared
        if wanted is None or type(error).__name__ != wanted[0] or str(error) != wanted[1]:
            yield f"{type(error).__name__}: {error} for {wanted or 'a result'}"
        if wanted is None or "error" in case:
            return
        with torch.no_grad():
            result = call(*args, **kwargs)
    else:
        if wanted is not None:
            yield f"no error for {wanted}"
            return
    yield from differences(tensors_of(torch, result), case["out"], "output")
    if "grad" in case:
        leaves = leaves_of([args, kwargs])
        recorded = gradients(torch, result, leaves, create_graph=True)
        yield from differences(recorded, case["grad"], "recorded gradient")
        yield from differences(gradients(torch, call(*args, **kwargs), leaves), case["grad"], "gradient")


@pytest.mark.parametrize("op", sorted(CASES))
def test_recorded(op: str) -> None:
    """Values, dtypes, gradients both ways of computing them, and errors are torch's."""
    found = [text for case in CASES[op] for text in deviations(case)]
    if op in DEVIATIONS:
        assert found, f"{op} is as torch has it: take it out of DEVIATIONS"
    else:
        assert not found, "\n".join(found)


# -- against differences ----------------------------------------------------------------------------------------------


def real_loss(result: Any) -> Any:
    """Re(sum(conj(w) * outputs)), the loss whose gradient `gradients` computes."""
    total = None
    for i, t in enumerate([t for t in tensors_of(torch, result) if t.requires_grad]):
        w = torch.from_numpy(np.asarray(weights(t, i))).to(t.dtype)
        term = (w.conj() * t).sum()
        term = term.real if term.is_complex() else term
        total = term if total is None else total + term
    return total


def directions(leaf: Any, seed: int) -> Iterator[np.ndarray]:
    """One real direction, and one imaginary where the tensor is complex."""
    rng = np.random.default_rng(seed)
    yield rng.uniform(0.5, 1.5, tuple(leaf.shape)) * rng.choice([-1, 1], tuple(leaf.shape))
    if leaf.is_complex():
        yield 1j * rng.uniform(0.5, 1.5, tuple(leaf.shape)) * rng.choice([-1, 1], tuple(leaf.shape))


def slope(function: Any, leaf: Any, direction: np.ndarray, step: float = 1e-6) -> float:
    """The central difference of a real function of `leaf` along a direction."""
    start, ends = leaf.detach().numpy().copy(), []
    for sign in (1, -1):
        leaf.data.copy_(torch.from_numpy(np.asarray(start + sign * step * direction).astype(start.dtype)))
        ends.append(float(function()))
    leaf.data.copy_(torch.from_numpy(np.asarray(start)))
    return (ends[0] - ends[1]) / (2 * step)


def first_case(op: str) -> dict[str, Any] | None:
    """The first case in double precision with gradients."""
    for case in CASES[op]:
        if "grad" in case and any(case["grad"]) and all(node["t"] in ("complex128", "float64") for node in case["grad"] if node):
            return case
    return None


DIFFERENTIATED = [op for op in sorted(CASES) if first_case(op) is not None]


@pytest.mark.parametrize("op", DIFFERENTIATED)
def test_gradient_is_the_slope(op: str) -> None:
    case = first_case(op)
    assert case is not None
    call = attribute(torch, case["call"])
    args, kwargs = arguments(case)
    leaves = leaves_of([args, kwargs])
    found = gradients(torch, call(*args, **kwargs), leaves)
    for k, (leaf, g) in enumerate(zip(leaves, found)):
        for direction in directions(leaf, k):
            predicted = 0.0 if g is None else float(np.sum(np.real(np.conj(g.resolve_conj().numpy()) * direction)))
            measured = slope(lambda: real_loss(call(*args, **kwargs)).item(), leaf, direction)
            assert predicted == pytest.approx(measured, rel=1e-5, abs=1e-6), f"{op}, input {k}"


SECOND_ORDER = [op for op in DIFFERENTIATED if op in set(
    "abs acos acosh add addcdiv addcmul addmm angle asin asinh atan atanh baddbmm bmm cat conv2d cos cosh cumprod cumsum det div dot exp "
    "expm1 inverse lerp log log1p logcumsumexp matmul mean mm mul mv norm outer polar pow prod reciprocal rsqrt sgn sigmoid sin sinh "
    "slogdet softsign sqrt square std sub sum tan tanh var vdot view_as_complex view_as_real where".split())]


@pytest.mark.parametrize("op", SECOND_ORDER)
def test_gradient_of_gradient(op: str) -> None:
    case = first_case(op)
    assert case is not None
    call = attribute(torch, case["call"])
    args, kwargs = arguments(case)
    leaves = leaves_of([args, kwargs])

    def size_of_gradients() -> Any:
        total = None
        for i, g in enumerate(gradients(torch, call(*args, **kwargs), leaves, create_graph=True)):
            if g is not None:
                w = torch.from_numpy(np.asarray(weights(g, i + 7)))
                term = (w.conj() * g).sum()
                term = term.real if term.is_complex() else term
                total = term if total is None else total + term
        return total

    loss = size_of_gradients()
    found = torch.autograd.grad(loss, leaves, allow_unused=True) if loss.requires_grad else [None] * len(leaves)
    for k, (leaf, g) in enumerate(zip(leaves, found)):
        for direction in directions(leaf, k):
            predicted = 0.0 if g is None else float(np.sum(np.real(np.conj(g.resolve_conj().numpy()) * direction)))
            measured = slope(lambda: size_of_gradients().item(), leaf, direction)
            assert predicted == pytest.approx(measured, rel=1e-4, abs=1e-5), f"{op}, input {k}"


# -- mixtures, views, refusals ----------------------------------------------------------------------------------------


MIXED = {
    "mul": lambda x, z: x * z, "div": lambda x, z: x / z, "sub": lambda x, z: x - z, "pow": lambda x, z: (x.abs() + 1) ** z,
    "broadcast": lambda x, z: x[0] * z + z * 2j, "complex_number": lambda x, z: x * (1 + 2j) + z,
    "where": lambda x, z: torch.where(x > 0, x, z),
    "complex": lambda x, z: torch.complex(x, x * 2) * z, "polar": lambda x, z: torch.polar(x.abs() + 1, x) * z,
    "cat": lambda x, z: torch.cat([x, z]), "to_real": lambda x, z: z.real * x + z.imag, "norm": lambda x, z: x * torch.linalg.norm(z),
    "cast": lambda x, z: x.to(torch.complex128) * z, "addcmul": lambda x, z: torch.addcmul(z, x, z, value=1 + 1j),
    "alpha": lambda x, z: torch.add(x, z, alpha=2 - 1j), "scatter": lambda x, z: z.index_add(0, torch.tensor([0, 1]), z * x),
}


@pytest.mark.parametrize("name", MIXED)
def test_real_inputs_get_real_gradients(name: str) -> None:
    rng = np.random.default_rng(3)
    x = torch.from_numpy(rng.uniform(0.5, 2, (2, 3)) * np.array([[1], [-1]])).requires_grad_()
    z = torch.from_numpy(rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3))).requires_grad_()
    for create_graph in (False, True):
        gx, gz = gradients(torch, MIXED[name](x, z), [x, z], create_graph=create_graph)
        assert gx.dtype is torch.float64 and gz.dtype is torch.complex128
        for leaf, g in ((x, gx), (z, gz)):
            for direction in directions(leaf, 0):
                predicted = float(np.sum(np.real(np.conj(g.detach().resolve_conj().numpy()) * direction)))
                assert predicted == pytest.approx(slope(lambda: real_loss(MIXED[name](x, z)).item(), leaf, direction), rel=1e-5, abs=1e-6)


def test_views_of_parts_share_memory() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.real = 3
    z.imag[0] = 5
    torch.view_as_real(z).mul_(2)
    assert z.tolist() == [6 + 10j, 6 - 2j]
    pairs = torch.ones(2, 2)
    torch.view_as_complex(pairs).mul_(2j)
    assert pairs.tolist() == [[-2, 2], [-2, 2]]
    assert z.real.stride() == (2,) and z.imag.storage_offset() == 1 and torch.view_as_real(z).shape == (2, 2)


def test_in_place_through_views_of_parts() -> None:
    """Values from torch."""
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    for part, expected in (("real", [18 + 4j, 54 - 2j]), ("imag", [2 + 36j, 6 - 18j])):
        w = z * 1
        getattr(w, part).mul_(3.0)
        (g,) = torch.autograd.grad((w * w).abs().sum(), z)
        assert np.allclose(g.resolve_conj().numpy(), expected)
    pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = pairs * 1
    torch.view_as_complex(w).mul_(2j)
    (g,) = torch.autograd.grad((w * w * w).sum(), pairs, create_graph=True)
    assert g.tolist() == [[24, -96], [216, -384]]
    w = z * 1
    real = w.real
    w.mul_(2j)
    (g,) = torch.autograd.grad(real.sum(), z)
    assert g.tolist() == [-2j, -2j]


def test_conjugate_transposes() -> None:
    m = torch.tensor([[1 + 2j, 3j]])
    for t in (m.mH, m.H, m.adjoint(), m.conj().T):
        assert t.tolist() == [[1 - 2j], [-3j]]
    assert m.conj().is_conj() and not m.conj().resolve_conj().is_conj() and m.conj().resolve_conj().tolist() == [[1 - 2j, -3j]]


REFUSALS = {
    "backward of a complex loss": (lambda z: (z * 2).sum().backward(), RuntimeError,
                                   "grad can be implicitly created only for real scalar outputs but got torch.complex64"),
    "a real gradient for a complex output": (
        lambda z: torch.autograd.grad(z * z, z, torch.ones(2)), RuntimeError,
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[0] has a "
        "dtype of torch.float32 and output[0] has a dtype of torch.complex64."),
    "integers": (lambda z: torch.ones(2, dtype=torch.int64, requires_grad=True), RuntimeError,
                 "Only Tensors of floating point and complex dtype can require gradients"),
    "a complex result in place": (lambda z: torch.ones(2).add_(z), RuntimeError,
                                  "result type ComplexFloat can't be cast to the desired output type Float"),
    "order": (lambda z: z < z, NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
    "imag of reals": (lambda z: torch.ones(2).imag, RuntimeError, "imag is not implemented for tensors with non-complex dtypes."),
    "pairs of reals": (lambda z: torch.view_as_real(torch.ones(2)), RuntimeError, "view_as_real is only supported for complex tensors"),
    "phases of eigenvectors": (
        lambda z: torch.linalg.eigh(torch.outer(z, z.conj()) + torch.eye(2))[1].real.sum().backward(), RuntimeError,
        "linalg_eigh_backward: The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The specified loss "
        "function depends on this quantity, so it is ill-defined."),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refusals(what: str) -> None:
    call, kind, text = REFUSALS[what]
    with pytest.raises(kind) as caught:
        call(torch.tensor([1 + 2j, 3 - 1j], requires_grad=True))
    assert str(caught.value) == text


def test_integer_outputs_are_not_differentiable() -> None:
    x = torch.tensor([1.5, 0.5], requires_grad=True)
    assert not any(t.requires_grad for t in (x.argmax(), x.to(torch.int64), x > 1, x.sort()[1]))


@pytest.mark.parametrize("function", [
    lambda a: (torch.linalg.eigh(a @ a.mH)[1].abs() ** 2).sum(1), lambda a: torch.linalg.eigh(a @ a.mH)[0],
    lambda a: torch.linalg.svd(a)[1], lambda a: torch.linalg.svd(a)[0].abs(), lambda a: torch.linalg.svd(a, False)[2].abs(),
    lambda a: torch.linalg.qr(a)[0].abs(), lambda a: torch.linalg.qr(a)[1], lambda a: torch.linalg.cholesky(a @ a.mH + torch.eye(3)),
    lambda a: torch.linalg.pinv(a[:, :2]), lambda a: torch.linalg.solve(a, a.mH), lambda a: torch.linalg.inv(a),
    lambda a: torch.linalg.det(a),
    lambda a: torch.linalg.slogdet(a)[0], lambda a: torch.linalg.slogdet(a)[1], lambda a: torch.logdet(a),
])
def test_factorizations(function: Any) -> None:
    """Gradients of functions that do not depend on what a factorization leaves open."""
    rng = np.random.default_rng(1)
    a = torch.from_numpy(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) + 2 * np.eye(3)).requires_grad_()
    (g,) = gradients(torch, function(a), [a])
    for direction in directions(a, 0):
        predicted = float(np.sum(np.real(np.conj(g.resolve_conj().numpy()) * direction)))
        assert predicted == pytest.approx(slope(lambda: real_loss(function(a)).item(), a, direction), rel=1e-5, abs=1e-6)


# -- half precision ---------------------------------------------------------------------------------------------------


ROUNDED = {"add_alpha": 1, "log": 1, "sin": 1, "var": 1, "norm": 1}
"""Operation -> how many elements may be off by one unit in the last place, for other libraries' functions."""


@cache
def half_cases() -> dict[tuple[str, str], dict[str, Any]]:
    return {(c["dtype"], c["op"]): c for c in CONTENT["half"]}


@pytest.mark.parametrize("key", sorted(half_cases()), ids="-".join)
def test_half_precision_is_rounded_as_in_torch(key: tuple[str, str]) -> None:
    dtype, op = key
    case = half_cases()[key]
    inputs = half_inputs(torch, dtype)
    result = half_operations(torch)[op](*inputs)
    assert dtype_name(result.dtype) == case["result"]
    actual, expected = result.detach().to(torch.float32).numpy(), READER.array(case["out"])
    unequal = actual != expected
    assert unequal.sum() <= ROUNDED.get(op, 0), f"{unequal.sum()} of {expected.size}: {actual[unequal][:3]} for {expected[unequal][:3]}"
    np.testing.assert_allclose(actual, expected, rtol=2**-6 if dtype == "bfloat16" else 2**-9)
    if result.requires_grad:
        for x, g in zip(inputs, gradients(torch, result, inputs)):
            assert g is None or g.dtype is x.dtype


def test_logsumexp_is_a_principal_logarithm() -> None:
    """The imaginary part lies within (-pi, pi], as that of every logarithm."""
    z = torch.tensor([[1 + 7j, 2 + 90j], [1000 - 30j, 999 + 400j]])
    found = torch.logsumexp(z, 1)
    assert (found.imag.abs() <= np.pi + 1e-6).all()
    assert torch.allclose(found[0], z[0].exp().sum().log())
    assert torch.allclose(found[1], (z[1] - 1000).exp().sum().log() + 1000)


def _plane() -> np.ndarray:
    """Numbers in every quadrant, within the unit circle, around it and outside, clear of the axes that branch cuts lie on."""
    return (np.array([[0.4], [0.9], [1.3], [3.0]]) * np.exp(1j * (0.37 + np.pi / 4 * np.arange(8)))).reshape(-1)


@pytest.mark.parametrize("name", [n for n, r in RECORDS.items() if r.family in ("unary", "binary") and r.has_gradient])
def test_derivatives_hold_on_the_whole_plane(name: str, excused: Any) -> None:
    """A branch of a root, or a kernel that drops imaginary parts, is right in part of the plane alone."""
    rec, rng = RECORDS[name], np.random.default_rng(0)
    args, kwargs = op_cases.bind(rec, next(iter(op_cases.samples(rec))))
    places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype == np.float64]
    points = [np.roll(_plane(), 3 * k) * (1 + 0.05 * k) for k in range(len(places))]
    directions = [rng.standard_normal(p.shape) + 1j * rng.standard_normal(p.shape) for p in points]

    def function(*tensors: Any) -> Any:
        given = dict(zip(places, tensors))
        return frontend.function(name)(*[given.get(i, a) for i, a in enumerate(args)], **kwargs)

    def at(step: float) -> np.ndarray:
        return function(*[torch.from_numpy(p + step * d) for p, d in zip(points, directions)]).resolve_conj().numpy()

    primals = tuple([torch.from_numpy(p) for p in points])
    try:
        base = at(0.0)
        _, tangent = torch.func.jvp(function, primals, tuple([torch.from_numpy(d) for d in directions]))
    except (RuntimeError, NotImplementedError, TypeError) as error:
        excused(f"takes no complex numbers: {error}")
        return
    if base.dtype.kind not in "fc":
        excused("no numbers with a derivative")
        return
    expected = (at(1e-6) - at(-1e-6)) / 2e-6
    np.testing.assert_allclose(tangent.resolve_conj().numpy(), expected, rtol=1e-6, atol=1e-6)
    leaves = [torch.from_numpy(p.copy()).requires_grad_() for p in points]
    weight = rng.standard_normal(base.shape) + (1j * rng.standard_normal(base.shape) if base.dtype.kind == "c" else 0)
    try:
        found = torch.autograd.grad(function(*leaves), leaves, torch.from_numpy(weight))
    except (RuntimeError, NotImplementedError) as error:
        assert "complex" in str(error), error
        return
    # <weight, J direction> is <J* weight, direction>, as real inner products.
    along = sum(np.sum((g.resolve_conj().numpy().conj() * d).real) for g, d in zip(found, directions))
    np.testing.assert_allclose(along, np.sum((weight.conj() * expected).real), rtol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [(2, 3), (1000, 600)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_squares_round_each_part_after_each_step(dtype: type, size: tuple[int, int], turned: bool) -> None:
    x = np.resize(np.array([complex(a, b) for a in (0.0, -0.0, 1.1, np.inf) for b in (-0.0, 0.3, np.nan)], dtype), size)
    if size == (2, 3):
        x = np.array([[0.3 + 0.7j, 1 - 1j, 2 + 0.5j], [-0.1 + 1j, 3j, -2 + 0j]], dtype)
    with np.errstate(all="ignore"):
        real, imag = x.real * x.real - x.imag * x.imag, x.real * x.imag + x.imag * x.real
    found = (frontend.wrap(np.asfortranarray(x) if turned else x) ** 2).numpy()
    for a, b in ((found.real, real), (found.imag, imag)):
        assert np.array_equal(a, b, equal_nan=True) and (np.signbit(a) == np.signbit(b))[~np.isnan(b)].all()


@pytest.mark.parametrize("n", [3, 3000])
def test_running_sums_of_complex64_are_added_up_in_double_precision(n: int) -> None:
    x = torch.tensor([1e8 + 1j, 1 + 1e8j, -1e8 - 1e8j] * (n // 3), dtype=torch.complex64)
    assert x.cumsum(0)[-1].item() == (1 + 1j) * (n // 3)
    assert torch.stack([x, x], 1).cumsum(0)[-1].tolist() == [(1 + 1j) * (n // 3)] * 2


@pytest.mark.parametrize("other", [torch.float32, torch.int64, torch.bfloat16])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_numbers_beside_many_complex_ones_are_converted_on_the_way(name: str, other: Any) -> None:
    x = torch.arange(70000, dtype=torch.float32).to(torch.complex64) * (1 + 0.5j)
    y, f = torch.arange(1, 70001).to(other), getattr(torch, name)
    for _ in range(2):  # the first call finds out what the two have in common
        assert f(x, y).numpy().tobytes() == f(x, y.to(torch.complex64)).numpy().tobytes()
        assert f(y, x).numpy().tobytes() == f(y.to(torch.complex64), x).numpy().tobytes()


def test_a_resolved_view_is_a_copy_of_its_own() -> None:
    x = torch.tensor([[1 + 1j, 2j], [3 + 0j, 4 - 1j]])
    for view in (x.conj(), x.t().conj(), x.conj()[:, :1], x.conj().expand(2, 2, 2)):
        found = view.resolve_conj()
        assert found.tolist() == view.tolist() and not found.is_conj() and found.stride() == view.clone().stride()
        found.zero_()
    assert x.tolist() == [[1 + 1j, 2j], [3 + 0j, 4 - 1j]]
