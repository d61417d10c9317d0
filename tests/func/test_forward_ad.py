"""Dual tensors: torch.autograd.forward_ad."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
import torchcompat.autograd.forward_ad as fwad


def tangent(t: Any) -> Any:
    return fwad.unpack_dual(t).tangent


def test_operations_carry_tangents_on() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        assert tangent(x * x + 3).tolist() == [2.0, 40.0]
        assert tangent(x.sum()).item() == 11.0
        assert tangent(torch.ones(2)) is None and tangent(x > 1) is None


def test_the_tangent_is_kept_as_it_is_and_forgotten_at_the_end() -> None:
    given = torch.ones(2)
    with fwad.dual_level():
        x = fwad.make_dual(torch.zeros(2), given)
        assert tangent(x) is given and fwad._current_level == 0
    assert tangent(x) is None and fwad._current_level == -1
    with fwad.dual_level():
        assert tangent(x) is None


def test_a_tangent_dies_with_its_tensor() -> None:
    with fwad.dual_level():
        t = torch.ones(2)
        ref = weakref.ref(t)
        x = fwad.make_dual(torch.zeros(2), t)
        del t
        assert ref() is not None
        del x
        gc.collect()
        assert ref() is None


def test_in_place_operations_change_the_tangent() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])).clone()
        x.mul_(x.detach())
        x[0] = 5.0
        assert x.tolist() == [5.0, 4.0] and tangent(x).tolist() == [0.0, 2.0]
        x.add_(x)
        assert tangent(x).tolist() == [0.0, 4.0]


def test_a_view_has_the_view_of_its_bases_tangent() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        base = torch.zeros(2, 2)
        row, column = base[0], base[:, 1]
        row.copy_(x)
        assert tangent(base).tolist() == [[3.0, 4.0], [0.0, 0.0]]
        assert tangent(column).tolist() == [4.0, 0.0]
        column.mul_(2)
        assert tangent(base).tolist() == [[3.0, 8.0], [0.0, 0.0]] and tangent(row).tolist() == [3.0, 8.0]


def test_results_do_not_share_the_memory_of_their_arguments_tangents() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0]), torch.tensor([1.0]))
        for y in (x + 1, x.clone(), torch.cat([x]), x * 1, torch.ones(1).add_(x)):
            y.mul_(3)
            assert tangent(x).tolist() == [1.0] and tangent(y).tolist() == [3.0]


def test_detach_drops_the_tangent_and_no_grad_does_not() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0]), torch.tensor([1.0]))
        assert tangent(x.detach() * 2) is None and tangent(x.clone().detach_() * 2) is None
        with torch.no_grad():
            assert tangent(x * 2).tolist() == [2.0]


def test_reverse_mode_goes_through_both_parts() -> None:
    p, t = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    with fwad.dual_level():
        y = fwad.make_dual(p, t) ** 3
        primal, pushed = fwad.unpack_dual(y)
        assert [g.item() for g in torch.autograd.grad(pushed, (p, t), retain_graph=True)] == [36.0, 12.0]
        assert torch.autograd.grad(primal, (p, t), allow_unused=True)[0].item() == 12.0


def test_gradients_of_dual_tensors_are_dual() -> None:
    p = torch.tensor([2.0], requires_grad=True)
    with fwad.dual_level():
        x = fwad.make_dual(p, torch.ones(1))
        (g,) = torch.autograd.grad((x.sigmoid() * x).sum(), x)
        s = torch.sigmoid(torch.tensor(2.0))
        d = s * (1 - s)
        assert torch.allclose(tangent(g), 2 * d + 2.0 * d * (1 - 2 * s))


def test_a_function_uses_its_jvp() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int) -> Any:
            ctx.save_for_forward(x)
            return x ** n

        @staticmethod
        def jvp(ctx: Any, t: Any, n: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 100 * x * t

    with fwad.dual_level():
        assert tangent(Cube.apply(fwad.make_dual(torch.tensor([2.0]), torch.ones(1)), 3)).tolist() == [200.0]


def test_repr_shows_the_tangent() -> None:
    with fwad.dual_level():
        assert repr(fwad.make_dual(torch.ones(1), torch.zeros(1))) == "tensor([1.], tangent=tensor([0.]))"


@pytest.mark.parametrize(("primal", "tangent_", "error", "text"), [
    (torch.ones(3), torch.ones(4), RuntimeError,
     "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported."),
    (torch.ones(3, dtype=torch.long), torch.ones(3), ValueError, "Expected primal to be floating point or complex, but got: torch.int64"),
    (torch.ones(3), torch.ones(3, dtype=torch.long), ValueError, "Expected tangent to be floating point or complex, but got: torch.int64"),
])
def test_refused_duals(primal: Any, tangent_: Any, error: type[Exception], text: str) -> None:
    with fwad.dual_level(), pytest.raises(error, match=text):
        fwad.make_dual(primal, tangent_)


def test_levels_do_not_nest() -> None:
    with pytest.raises(RuntimeError, match="no level exists"):
        fwad.make_dual(torch.ones(1), torch.ones(1))
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwad.exit_dual_level()
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(1), torch.ones(1))
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            fwad.enter_dual_level()
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fwad.make_dual(x, torch.ones(1))
        with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level0"):
            fwad.make_dual(torch.ones(1), x)
        with pytest.raises(RuntimeError, match="out= function"):
            torch.add(x, x, out=torch.ones(1))


def test_backward_gives_gradients_their_tangents_where_torch_does() -> None:
    """torch drops the tangent of a gradient that it takes as it is, and keeps that of one it copies or adds to another."""
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.tensor([1.0, 0.0])
    with fwad.dual_level():
        (fwad.make_dual(p, t) ** 3).sum().backward()
        assert p.grad.tolist() == [3.0, 12.0] and tangent(p.grad) is None
        (fwad.make_dual(p, t * 2) ** 3).sum().backward()
        assert p.grad.tolist() == [6.0, 24.0] and tangent(p.grad).tolist() == [12.0, 0.0]
    assert tangent(p.grad) is None
    p.grad = None
    with fwad.dual_level():
        p.sum().backward(fwad.make_dual(torch.tensor(1.0), torch.tensor(2.0)))
        assert p.grad.tolist() == [1.0, 1.0] and tangent(p.grad).tolist() == [2.0, 2.0]


def test_hooks_and_retained_gradients_see_tangents() -> None:
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    with fwad.dual_level():
        y = fwad.make_dual(p, torch.tensor([1.0, 0.0])) ** 3
        y.retain_grad()
        y.register_hook(lambda g: seen.append(tangent(g).tolist()))
        (y * y).sum().backward()
        assert seen == [[6.0, 0.0]] and tangent(y.grad).tolist() == [6.0, 0.0] and p.grad.tolist() == [6.0, 192.0]


def test_gradients_of_a_dual_level_have_memory_of_their_own() -> None:
    a, b, g = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), torch.ones(2)
    with fwad.dual_level():
        (a + b).backward(g)
    a.grad.mul_(5)
    assert b.grad.tolist() == g.tolist() == [1.0, 1.0]
    (a * 2).sum().backward()
    assert a.grad.tolist() == [7.0, 7.0]


def test_a_dual_level_is_no_function_transform() -> None:
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2), torch.ones(2)).requires_grad_()
        assert x.requires_grad and tangent(x * 2).tolist() == [2.0, 2.0]


def test_quantile_in_its_order() -> None:
    x, q = torch.tensor([8.0, 1.0, 3.0], dtype=torch.float64), torch.tensor([0.2, 0.7], dtype=torch.float64)
    _, tangent = torch.func.jvp(lambda q: torch.quantile(x, q), (q,), (torch.ones_like(q),))
    step = 1e-6
    assert torch.allclose(tangent, (torch.quantile(x, q + step) - torch.quantile(x, q - step)) / (2 * step))


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0, 5.0])
def test_norms_at_zero(p: float) -> None:
    """0 / 0 counts as 0, in gradients and in tangents."""
    for shape in ((3,), (0,), (2, 3)):
        x = torch.zeros(shape, dtype=torch.float64)
        value, tangent = torch.func.jvp(lambda x: torch.linalg.vector_norm(x, p, -1), (x,), (torch.ones_like(x),))
        assert not value.any() and not tangent.any() and tangent.isfinite().all()
        assert not torch.func.grad(lambda x: torch.linalg.vector_norm(x, p))(x).any()


@pytest.mark.parametrize("name, dtype", [("logsumexp", "complex64"), *[(n, d) for n in ("logsumexp", "logcumsumexp")
                                                                       for d in ("float32", "float64")]])
def test_tangents_of_logarithms_of_large_sums_keep_their_places(name: str, dtype: str) -> None:
    """`exp(input - result)` has as few places as a large result has behind the point. Of complex numbers torch's tangent of `logcumsumexp`
    is NaN there."""
    rng = np.random.default_rng(0)
    x, t = np.round(rng.uniform(0, 3, (5, 4)) * 256) / 256, rng.uniform(-1, 1, (5, 4))  # exact beside the offsets

    def tangents(x: np.ndarray, dtype: str) -> np.ndarray:
        primal, direction = [torch.from_numpy(a).to(getattr(torch, dtype)) for a in (x, t)]
        return np.real(torch.func.jvp(lambda x: getattr(torch, name)(x, 0), (primal,), (direction,))[1].numpy())

    for offset in (0.0, 1024.0, -16384.0):
        np.testing.assert_allclose(tangents(x + offset, dtype), tangents(x, "float64"), rtol=2e-6, atol=2e-6)


DRAWN = {"bernoulli": torch.bernoulli, "poisson": torch.poisson, "normal(mean)": lambda x: torch.normal(x, 1.0),
         "normal(std)": lambda x: torch.normal(0.0, x), "normal(mean, std)": lambda x: torch.normal(x, x),
         **{name: lambda x, name=name: getattr(x * 1, name)() for name in ("uniform_", "normal_", "bernoulli_", "exponential_", "cauchy_",
                                                                          "log_normal_", "random_")},
         "geometric_": lambda x: (x * 1).geometric_(0.5), "a view's": lambda x: (x * 1)[:].normal_()}


REFUSED = {"bernoulli": lambda x: torch.bernoulli(x, 0.5), "binomial": lambda x: torch.binomial(x, x),
           "_sample_dirichlet": torch._sample_dirichlet}
"""Those that torch has no tangents of."""


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("recording", [True, False])
def test_numbers_drawn_have_tangents_of_zeros(name: str, recording: bool) -> None:
    with fwad.dual_level(), torch.set_grad_enabled(recording):
        x = fwad.make_dual(torch.full((5,), 0.5), torch.ones(5))
        found = DRAWN[name](x)
        assert found.tolist() != [0.5] * 5 and tangent(found).tolist() == [0.0] * 5


def test_numbers_drawn_are_for_all_operations_that_draw() -> None:
    """The list above has them all."""
    from autograd_tape.ops import RECORDS

    ways = [(RECORDS[r], c.removeprefix("by == '").removesuffix("'")) for r in ("sampled", "drawn") for c in RECORDS[r].field("nodes")]
    conditions = [by for rec, by in ways if rec.field("no_forward") is None or rec.field("no_forward")(by=by) is None]
    compared = {"eq_", "ne_", "lt_", "le_", "gt_", "ge_"}
    assert {*conditions} - compared == {*DRAWN} - {"a view's"}
    for name, refused in REFUSED.items():
        with fwad.dual_level(), pytest.raises(NotImplementedError, match=f"forward AD with aten::{name} that does not support it"):
            refused(fwad.make_dual(torch.ones(2), torch.ones(2)))
    assert len(REFUSED) == len(ways) - len(conditions)


W = torch.tensor(np.random.default_rng(3).standard_normal((3, 3)) + 1j * np.random.default_rng(4).standard_normal((3, 3)))
OF_COMPLEX = {
    "linear": lambda x, y: torch.nn.functional.linear(x, y, W[0]), "addmm": lambda x, y: torch.addmm(W, x, y), "mm": torch.mm,
    "vdot": lambda x, y: torch.vdot(x[0], y[0]), "conv1d": lambda x, y: torch.nn.functional.conv1d(x[None], y[:, :, None]),
    "solve": torch.linalg.solve, "inv": lambda x, y: torch.linalg.inv(x) @ y, "det": lambda x, y: torch.linalg.det(x) * y.sum(),
    "baddbmm": lambda x, y: torch.baddbmm(W[None], x[None], y[None]), "prod": lambda x, y: x.prod(0) * y,
    "cumprod": lambda x, y: x.cumprod(0) * y,
    "matrix_exp": lambda x, y: torch.linalg.matrix_exp(x) + y, "norm": lambda x, y: torch.linalg.norm(x) * y,
    "addr": lambda x, y: torch.addr(W, x[0], y[0]),
    "conv_transpose1d": lambda x, y: torch.nn.functional.conv_transpose1d(x[None], y[:, :, None]),
    "pinv": lambda x, y: torch.linalg.pinv(x) @ y,
    "mul": torch.mul, "pow": lambda x, y: x ** y, "imag": lambda x, y: x.imag * y.real, "fft": lambda x, y: torch.fft.fft(x) * y,
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_transforms_of_conjugate_views_are_those_of_their_elements(name: str) -> None:
    """Inputs that begin anew under a transform are read as their memory is to be read."""
    function = OF_COMPLEX[name]
    rng = np.random.default_rng(0)
    a, b, s, t = [torch.tensor(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))) for _ in range(4)]

    def found(x: Any, y: Any) -> list[np.ndarray]:
        value, derivative = torch.func.jvp(function, (x, y), (s, t))
        again, pull = torch.func.vjp(function, x, y)
        gradients = torch.func.grad(lambda x, y: function(x, y).abs().sum(), (0, 1))(x, y)
        return [z.resolve_conj().numpy() for z in (value, derivative, again, *pull(torch.ones_like(value)), *gradients)]

    for x, y in ((a.conj(), b), (a, b.conj()), (a.mH, b.conj())):
        for mine, expected in zip(found(x, y), found(x.resolve_conj().clone(), y.resolve_conj().clone())):
            np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-9)
