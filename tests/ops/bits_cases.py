"""Programs on conjugate and negative views."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

from tests.recording import Table, attempted


def x(torch: Any, grad: bool = False) -> Any:
    return torch.tensor([[1 + 2j, 3 - 1j], [2.5, -3j]], requires_grad=grad)


def updated(torch: Any, update: Callable[[Any], Any]) -> Any:
    """A conjugate view after an update, with its base and the gradient through both."""
    leaf = x(torch, True)
    base = leaf * (1 + 1j)
    view = base.conj()
    update(view)
    (base * view).abs().sum().backward()
    return view, view.grad_fn.name(), base, base.grad_fn.name(), leaf.grad, view._version, base._version


def changed_base(torch: Any) -> Any:
    leaf = x(torch, True)
    base = leaf * 1
    view, part = base.conj(), base.conj()[0].imag
    base.mul_(2j)
    (view.real.sum() + part.exp().sum()).backward()
    return view, part, view.grad_fn.name(), view.grad_fn.next_functions[0][0].name(), leaf.grad


def stale(torch: Any) -> Any:
    base = x(torch, True) * 1
    view = base.conj()
    product = view * view
    view.mul_(2)
    product.abs().sum().backward()


def leaf_view(torch: Any) -> Any:
    view = x(torch).conj().requires_grad_()
    (view * 2).abs().sum().backward()
    return view.grad, view.is_leaf


def hooked(torch: Any) -> Any:
    leaf = x(torch, True)
    y = leaf * 2
    y.register_hook(lambda g: g.conj())
    y.sum().abs().backward()
    return leaf.grad


def saved(torch: Any, view: Any) -> Any:
    file = io.BytesIO()
    torch.save(view, file)
    file.seek(0)
    return torch.load(file)


def out(torch: Any) -> Any:
    target = torch.zeros(2, 2, dtype=torch.complex64)
    torch.add(x(torch), 1, out=target.conj())
    return target


def custom(torch: Any) -> Any:
    class Conjugated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            return z * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.conj()

    leaf = x(torch, True)
    (Conjugated.apply(leaf) ** 2).abs().sum().backward()
    return leaf.grad.resolve_conj()


def second(torch: Any) -> Any:
    leaf = x(torch, True)
    (g,) = torch.autograd.grad((leaf.conj() ** 3).abs().sum(), leaf, create_graph=True)
    g.abs().sum().backward()
    return g, leaf.grad.resolve_conj()


def in_place(torch: Any, update: Callable[[Any], Any], take: Callable[[Any], Any] = lambda z: z.conj()) -> Any:
    memory = x(torch)
    view = take(memory)
    update(view)
    return memory, view


def assigned(view: Any) -> None:
    view[0] = 9j
    view.imag[1] = 7


def dual(torch: Any, take: Callable[[Any], Any], tangent: Callable[[Any], Any]) -> Any:
    forward = torch.autograd.forward_ad
    primal, t = take(x(torch)), tangent(x(torch) * 2)
    with forward.dual_level():
        d = forward.make_dual(primal, t)
        part = forward.unpack_dual(d[1:]).tangent.clone()
        real = forward.unpack_dual(torch.real(d)).tangent.resolve_neg()
        return forward.unpack_dual(d).tangent is t, part, real, forward.unpack_dual(d * d).tangent


neg = lambda z: z._neg_view()
KINDS = (("plain", lambda z: z), ("conj", lambda z: z.conj()), ("neg", neg))
CASES: dict[str, Callable[[Any], Any]] = {
    "view": lambda torch: [x(torch).conj(), x(torch)._neg_view(), x(torch).conj()._neg_view(), x(torch).conj().conj(),
                           torch._conj(x(torch)), torch._neg_view(x(torch)), x(torch)._conj_physical(), torch.conj_physical(x(torch)),
                           torch._conj_physical(x(torch))],
    "resolve": lambda torch: [x(torch).conj().resolve_conj(), torch.resolve_conj(x(torch)), torch.resolve_neg(x(torch)._neg_view()),
                              torch.is_conj(x(torch).conj()), torch.is_neg(x(torch).conj().imag), x(torch).conj().imag.resolve_neg()],
    "memory": lambda torch: [(z := x(torch)).conj().data_ptr() == z.data_ptr(), z.conj()._base is z, z.conj().conj() is z,
                             z.conj().conj()._base is z, z.conj()._is_view(), z.conj().stride(), z.conj().is_contiguous(),
                             (r := torch.ones(2)).conj() is r],
    "views": lambda torch: [(c := x(torch).conj())[0], c[:, 1], c.t(), c.T, c.mT, c.mH, c.H, c.adjoint(), c.view(4), c.reshape(4),
                            c.t().reshape(4), c.flatten(), c.unsqueeze(0), c.expand(2, 2, 2), c.permute(1, 0), c.diagonal(), c.detach(),
                            c.data, c.contiguous(), c.as_strided((2,), (2,), 1), c.view_as(c), c.squeeze(), c.movedim(0, 1), *c.split(1),
                            *c.unbind(), c.real, c.imag],
    "copies": lambda torch: [(c := x(torch).conj()).clone(), c + 1, c * c, -c, c.to(torch.complex128), c.to(torch.complex64),
                             torch.empty_like(c).is_conj(), torch.zeros_like(c), torch.stack([c, c]), torch.cat([c, x(torch)]),
                             c.diag_embed(), c[[0, 1]], c.repeat(1, 2), copy.deepcopy(c), torch.where(c.real > 2, c, 0j), c.roll(1)],
    "numbers": lambda torch: [(c := x(torch).conj()).tolist(), c[0, 0].item(), complex(c[0, 1]), bool(c[0, 0]), format(c[0, 0]),
                              str(c), repr(c.imag), c.imag[0, 0].item(), c.imag.tolist(), c.numpy(force=True).tolist(),
                              torch.tensor(c.tolist()), c.sum(), c.mean(), c.abs(), c.angle(), c.sin(), (c == x(torch)).tolist()],
    "products": lambda torch: [(c := x(torch).conj()) @ x(torch), c.mH @ c, torch.dot(c[0], c[1]).resolve_conj(),
                               torch.vdot(c[0], x(torch)[1]), torch.einsum("ij,jk->ik", c, x(torch)), torch.linalg.det(c),
                               torch.linalg.norm(c), torch.equal(c, c.clone())],
    "negative": lambda torch: [(n := x(torch).real._neg_view()) + 1, n * 2, n.sum(), (n > -2).tolist(), n.max(), n.sort()[1], n.argmax(),
                               torch.searchsorted(torch.tensor([-3.0, -1.0]), n.contiguous()), torch.isin(n, torch.tensor([-1.0])),
                               torch.quantile(n, 0.5), torch.tensor([1, 2])._neg_view(), torch.view_as_complex(n.clone()._neg_view()),
                               torch.view_as_real(x(torch)._neg_view()), torch.bucketize(n, torch.tensor([-3.0, -1.0]))],
    "parts of both": lambda torch: [(b := x(torch).conj()._neg_view()).real, b.imag, b.resolve_conj(), b.resolve_neg(), b[0], b * 2],
    "pickle": lambda torch: [pickle.loads(pickle.dumps(x(torch).conj())), saved(torch, x(torch).conj()),
                             saved(torch, x(torch).conj().imag)],
    "parameter": lambda torch: [torch.nn.Parameter(x(torch).conj()).is_conj()],
    "numpy": lambda torch: x(torch).conj().numpy(),
    "numpy of a negative": lambda torch: x(torch).conj().imag.numpy(),
    "array": lambda torch: x(torch).conj().__array__(),
    "dlpack": lambda torch: x(torch).conj().__dlpack__(),
    "view_as_real": lambda torch: torch.view_as_real(x(torch).conj()),
    "view of bytes": lambda torch: x(torch).conj().view(torch.float32),
    "view of bytes of a negative": lambda torch: x(torch)._neg_view().view(torch.float32),
    "add_": lambda torch: in_place(torch, lambda v: v.add_(1j)),
    "copy_": lambda torch: in_place(torch, lambda v: v.copy_(torch.arange(4).reshape(2, 2) * 1j)),
    "copy_ a view": lambda torch: in_place(torch, lambda v: v.copy_(x(torch).mul(2).conj())),
    "exp_": lambda torch: in_place(torch, lambda v: v.exp_()),
    "fill_": lambda torch: in_place(torch, lambda v: v.fill_(2j)),
    "zero_": lambda torch: in_place(torch, lambda v: v.zero_()),
    "conj_physical_": lambda torch: in_place(torch, lambda v: v.conj_physical_()),
    "itself": lambda torch: in_place(torch, lambda v: v.mul_(v)),
    "assignment": lambda torch: in_place(torch, assigned),
    "imaginary part": lambda torch: in_place(torch, lambda v: v.add_(1).mul_(2), lambda z: z.conj().imag),
    "negative in place": lambda torch: in_place(torch, lambda v: v.add_(1), neg),
    "out": out,
    "gradient": lambda torch: [updated(torch, lambda v: None)[4], updated(torch, lambda v: None)[1]],
    "mul_ with history": lambda torch: updated(torch, lambda v: v.mul_(2j)),
    "exp_ with history": lambda torch: updated(torch, lambda v: v.exp_()),
    "a part, with history": lambda torch: updated(torch, lambda v: v[0].imag.mul_(3)),
    "a row, with history": lambda torch: updated(torch, lambda v: v[1].copy_(x(torch)[0] * 2)),
    "changed base": changed_base,
    "stale": stale,
    "leaf": leaf_view,
    "hook": hooked,
    "custom": custom,
    "second": second,
    "given cotangent": lambda torch: [torch.autograd.grad((z := x(torch, True)).conj(), z, x(torch).conj())[0]],
    "leaf in place": lambda torch: x(torch, True).conj().mul_(2),
    **{f"dual {a} {b}": lambda torch, p=p, t=t: dual(torch, p, t)
       for a, p in KINDS for b, t in KINDS},
    "vmap": lambda torch: [torch.vmap(lambda z: z.conj() * z)(x(torch)), torch.vmap(lambda z: z.sum())(x(torch).conj()),
                           torch.func.jvp(lambda z: z.conj() * z, (x(torch),), (x(torch) + 1,))],
}


def plain(torch: Any, value: Any) -> Any:
    """A result as JSON: tensors with their bits and values."""
    if isinstance(value, torch.Tensor):
        v = value.detach().resolve_conj().resolve_neg()
        v = torch.view_as_real(v) if v.is_complex() else v
        bits = [name for name in ("conj", "neg") if getattr(value, "is_" + name)()]
        return {"bits": bits, "shape": list(value.shape), "dtype": str(value.dtype), "data": v.reshape(-1).double().tolist()}
    if isinstance(value, (tuple, list)):
        return [plain(torch, v) for v in value]
    return [value.real, value.imag] if isinstance(value, complex) else value


TABLE = Table("bits", CASES, lambda torch, name: attempted(lambda: plain(torch, CASES[name](torch))), tolerance=(2e-5, 2e-5))
