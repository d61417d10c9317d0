"""Calls of function transforms, to be carried out with torch itself and with this package (`test_recorded.py`).

Each case is a function of the module that plays torch; it returns tensors in nested containers, or raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.recording import Table, attempted

CASES: dict[str, Callable[[Any], Any]] = {}


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[function.__name__] = function
    return function


def cases(**functions: Callable[[Any], Any]) -> None:
    CASES.update(functions)


def x3(t: Any) -> Any:
    return t.tensor([0.5, -1.25, 2.0])


def m(t: Any, *shape: int) -> Any:
    """Fixed numbers of a shape."""
    n = 1
    for s in shape:
        n *= s
    return (t.arange(n, dtype=t.float64) * 0.7 + 0.3).sin().reshape(shape)


def _hooked(t: Any, call: Callable[[], Any]) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return call()


def mlp(t: Any, w1: Any, w2: Any, x: Any) -> Any:
    return t.tanh(x @ w1) @ w2


# -- grad, vjp, jvp ---------------------------------------------------------------------------------------------------

cases(
    grad_plain=lambda t: t.func.grad(lambda x: x.sin().sum())(x3(t)),
    grad_of_grad=lambda t: t.func.grad(lambda x: t.func.grad(lambda y: (y ** 3 * x).sum())(x).sum())(x3(t)),
    grad_three_times=lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x ** 5)))(t.tensor(1.5)),
    grad_perturbation_confusion=lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x + y)(t.tensor(1.0)))(t.tensor(3.0)),
    grad_perturbation_confusion_2=lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x * y)(t.tensor(2.0)))(t.tensor(3.0)),
    grad_argnums=lambda t: t.func.grad(lambda a, b: (a * b ** 2).sum(), argnums=(0, 1))(x3(t), x3(t)),
    grad_argnum_1=lambda t: t.func.grad(lambda a, b: (a * b ** 2).sum(), argnums=1)(x3(t), x3(t)),
    grad_argnum_negative=lambda t: t.func.grad(lambda a, b: (a * b ** 2).sum(), argnums=-1)(x3(t), x3(t)),
    grad_aux=lambda t: t.func.grad(lambda x: (x.sin().sum(), {"y": x * 2}), has_aux=True)(x3(t)),
    grad_and_value=lambda t: t.func.grad_and_value(lambda x: x.sin().sum())(x3(t)),
    grad_and_value_aux=lambda t: t.func.grad_and_value(lambda x: (x.sin().sum(), x), has_aux=True)(x3(t)),
    grad_dict=lambda t: t.func.grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": x3(t), "b": [x3(t).exp()]}),
    grad_unused=lambda t: t.func.grad(lambda a, b: a.sum(), argnums=(0, 1))(x3(t), m(t, 2)),
    grad_constant=lambda t: t.func.grad(lambda x: t.ones(()))(x3(t)),
    grad_no_grad_inside=lambda t: t.func.grad(lambda x: (x * x.detach()).sum())(x3(t)),
    grad_requires_grad=lambda t: t.func.grad(lambda x: x.sin().sum())(x3(t).requires_grad_()).requires_grad,
    grad_leaves_plain=lambda t: t.func.grad(lambda x: x.sin().sum())(x3(t)).requires_grad,
    vjp_plain=lambda t: t.func.vjp(lambda x: x.sin(), x3(t))[1](t.ones(3)),
    vjp_two=lambda t: t.func.vjp(lambda a, b: (a * b, a.sum()), x3(t), x3(t))[1]((t.ones(3), t.tensor(2.0))),
    vjp_aux=lambda t: t.func.vjp(lambda x: (x.sin(), x), x3(t), has_aux=True)[2],
    vjp_twice=lambda t: (lambda f: (f(t.ones(3)), f(x3(t))))(t.func.vjp(lambda x: x ** 2, x3(t))[1]),
    jvp_plain=lambda t: t.func.jvp(lambda x: x.sin(), (x3(t),), (t.ones(3),)),
    jvp_two=lambda t: t.func.jvp(lambda a, b: (a * b, {"s": a.sum()}), (x3(t), x3(t).exp()), (x3(t), t.ones(3))),
    jvp_aux=lambda t: t.func.jvp(lambda x: (x.sin(), x * 2), (x3(t),), (t.ones(3),), has_aux=True),
    jvp_constant=lambda t: t.func.jvp(lambda x: t.ones(2), (x3(t),), (t.ones(3),)),
    jvp_nested=lambda t: t.func.jvp(lambda x: t.func.jvp(lambda y: y ** 3 * x, (x,), (t.ones(3),))[1], (x3(t),), (t.ones(3),)),
    jvp_confusion=lambda t: t.func.jvp(lambda x: x * t.func.jvp(lambda y: x + y, (t.tensor(1.0),), (t.tensor(1.0),))[1], (t.tensor(3.0),),
                                       (t.tensor(1.0),)),
    jvp_of_grad=lambda t: t.func.jvp(t.func.grad(lambda x: (x.sigmoid() * x).sum()), (x3(t),), (t.ones(3),)),
    jvp_of_vjp=lambda t: t.func.jvp(lambda x: t.func.vjp(t.tanh, x)[1](t.ones(3))[0], (x3(t),), (t.ones(3),)),
    grad_of_jvp=lambda t: t.func.grad(lambda x: t.func.jvp(t.tanh, (x,), (x,))[1].sum())(x3(t)),
    linearize=lambda t: t.func.linearize(lambda x: x.sin() * x, x3(t))[1](t.ones(3)),
    softmax_hessian=lambda t: t.func.hessian(lambda x: (x.softmax(0) * x).sum())(m(t, 4)),
    layer_norm_hessian=lambda t: t.func.hessian(lambda x: (t.nn.functional.layer_norm(x, (4,)) ** 3).sum())(m(t, 4)),
    jvp_layer_norm=lambda t: t.func.jvp(lambda x, w: t.nn.functional.layer_norm(x, (4,), w), (m(t, 2, 4), m(t, 4)),
                                        (m(t, 2, 4).exp(), m(t, 4))),
    jvp_cross_entropy=lambda t: t.func.jvp(lambda x: t.nn.functional.cross_entropy(x, t.tensor([0, 2])), (m(t, 2, 4),),
                                           (m(t, 2, 4).exp(),)),
    jvp_conv=lambda t: t.func.jvp(lambda x, w: t.nn.functional.conv2d(x, w, padding=1), (m(t, 1, 2, 4, 4), m(t, 3, 2, 3, 3)),
                                  (m(t, 1, 2, 4, 4).exp(), m(t, 3, 2, 3, 3).exp())),
    jvp_inplace=lambda t: t.func.jvp(lambda x: x.clone().mul_(2).add_(x ** 2), (x3(t),), (t.ones(3),)),
    jvp_setitem=lambda t: t.func.jvp(lambda x: t.stack([x[0] * x[1], x[2]]).index_put((t.tensor([0]),), x[:1]), (x3(t),), (t.ones(3),)),
)


@case
def grad_inplace_on_input(t: Any) -> Any:
    def f(x: Any) -> Any:
        x = x.clone()
        x[0] = x[1] * 2
        x.mul_(3)
        x += x.sin()
        return x.sum()

    return t.func.grad(f)(x3(t)), t.func.hessian(f)(x3(t))


@case
def jvp_writes_into_zeros(t: Any) -> Any:
    def f(x: Any) -> Any:
        out = t.zeros(3, 2)
        out[:, 0] = x
        out[:, 1] = x ** 2
        return out * 2

    return t.func.jvp(f, (x3(t),), (t.ones(3),)), t.func.jacrev(f)(x3(t)), t.func.jacfwd(f)(x3(t))


@case
def grad_reaches_outside(t: Any) -> Any:
    w = x3(t).requires_grad_()
    g = t.func.grad(lambda x: (x ** 2 * w).sum())(x3(t))
    return g, t.autograd.grad(g.sum(), w)


# -- Jacobians ----------------------------------------------------------------------------------------------------------

cases(
    jacrev=lambda t: t.func.jacrev(lambda x: x.sin())(x3(t)),
    jacfwd=lambda t: t.func.jacfwd(lambda x: x.sin())(x3(t)),
    jacrev_chunks=lambda t: t.func.jacrev(lambda x: mlp(t, m(t, 3, 4), m(t, 4, 5), x), chunk_size=2)(m(t, 3)),
    jacrev_structure=lambda t: t.func.jacrev(lambda a, b: {"p": a * b, "q": [a.sum()]}, argnums=(0, 1))(m(t, 2), m(t, 2)),
    jacfwd_structure=lambda t: t.func.jacfwd(lambda a, b: {"p": a * b, "q": [a.sum()]}, argnums=(0, 1))(m(t, 2), m(t, 2)),
    jacrev_tuple_argnums=lambda t: t.func.jacrev(lambda x: x ** 2, argnums=(0,))(x3(t)),
    jacfwd_tuple_argnums=lambda t: t.func.jacfwd(lambda x: x ** 2, argnums=(0,))(x3(t)),
    jacrev_aux=lambda t: t.func.jacrev(lambda x: (x ** 2, x), has_aux=True)(x3(t)),
    jacfwd_aux=lambda t: t.func.jacfwd(lambda x: (x ** 2, x), has_aux=True)(x3(t)),
    jacrev_dict=lambda t: t.func.jacrev(lambda p: p["a"] * 2 + p["b"])({"a": m(t, 2), "b": m(t, 2)}),
    jacfwd_of_jacrev=lambda t: t.func.jacfwd(t.func.jacrev(lambda x: x ** 3))(x3(t)),
    jacrev_of_jacfwd=lambda t: t.func.jacrev(t.func.jacfwd(lambda x: x ** 3))(x3(t)),
    jacrev_of_jacrev=lambda t: t.func.jacrev(t.func.jacrev(lambda x: (x ** 3).cumsum(0)))(x3(t)),
    jacfwd_of_jacfwd=lambda t: t.func.jacfwd(t.func.jacfwd(lambda x: (x ** 3).cumsum(0)))(x3(t)),
    hessian=lambda t: t.func.hessian(lambda x: (x ** 3).sum() + x[0] * x[1])(x3(t)),
    hessian_mlp=lambda t: t.func.hessian(lambda x: mlp(t, m(t, 3, 4), m(t, 4, 1), x).sum())(m(t, 3)),
    hessian_argnums=lambda t: t.func.hessian(lambda a, b: (a * b ** 2).sum(), argnums=(0, 1))(m(t, 2), m(t, 2)),
    third_derivative=lambda t: t.func.jacfwd(t.func.hessian(lambda x: (x ** 4).sum() * x[0]))(m(t, 2)),
    matrix_jacobian=lambda t: t.func.jacrev(lambda a: a @ a)(m(t, 2, 2)),
    inverse_jacobian=lambda t: t.func.jacfwd(t.linalg.inv)(m(t, 2, 2) + t.eye(2)),
    det_hessian=lambda t: t.func.hessian(t.linalg.det)(m(t, 2, 2) + t.eye(2)),
    logsumexp_hessian=lambda t: t.func.hessian(lambda x: x.logsumexp(0))(m(t, 3)),
    gelu_hessian=lambda t: t.func.hessian(lambda x: t.nn.functional.gelu(x).sum())(m(t, 3)),
    pow_hessian=lambda t: t.func.hessian(lambda x: (x.abs() + 1).pow(x).sum())(m(t, 3)),
)

# -- vmap -----------------------------------------------------------------------------------------------------------------

cases(
    vmap_dot=lambda t: t.vmap(t.dot)(m(t, 2, 3), m(t, 2, 3)),
    vmap_in_dims=lambda t: t.vmap(lambda a, b: a * b, in_dims=(1, None))(m(t, 2, 3), m(t, 2)),
    vmap_negative_dims=lambda t: t.vmap(lambda a: a.sum(), in_dims=-1)(m(t, 2, 3)),
    vmap_out_dims=lambda t: t.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(m(t, 2, 3)),
    vmap_out_dims_nested=lambda t: t.vmap(lambda a: {"a": a, "b": (a, a.sum())}, out_dims={"a": 1, "b": (-1, 0)})(m(t, 2, 3)),
    vmap_out_none=lambda t: t.vmap(lambda a: (a, t.ones(2)), out_dims=(0, None))(m(t, 2, 3)),
    vmap_unbatched_output=lambda t: t.vmap(lambda a: t.ones(2))(m(t, 3, 2)),
    vmap_dict_in=lambda t: t.vmap(lambda p: p["a"] + p["b"], in_dims=({"a": 0, "b": None},))({"a": m(t, 2, 3), "b": m(t, 3)}),
    vmap_kwargs=lambda t: t.vmap(lambda a, *, b: a + b)(m(t, 2, 3), b=m(t, 2, 3)),
    vmap_number=lambda t: t.vmap(lambda a, b: a + b, (0, None))(m(t, 2, 3), 2.0),
    vmap_chunks=lambda t: t.vmap(lambda a, b: a @ b, in_dims=(0, None), chunk_size=2)(m(t, 5, 2, 3), m(t, 3, 2)),
    vmap_nested=lambda t: t.vmap(t.vmap(lambda a, b: a * b, (0, None)), (None, 0))(m(t, 3), m(t, 2)),
    vmap_thrice=lambda t: t.vmap(t.vmap(t.vmap(lambda a, b: a @ b, (0, None)), (1, 0)))(m(t, 2, 3, 4, 5), m(t, 2, 4, 5)),
    vmap_matmul_shapes=lambda t: [t.vmap(t.matmul, d)(a, b) for d, a, b in (
        ((0, None), m(t, 2, 3), m(t, 3)), ((None, 0), m(t, 4, 3), m(t, 2, 3)), ((0, 0), m(t, 2, 3), m(t, 2, 3, 4)),
        ((0, None), m(t, 2, 5, 4, 3), m(t, 3)), ((None, 0), m(t, 3), m(t, 2, 5, 3, 4)), ((0, 0), m(t, 2, 4, 3), m(t, 2, 5, 3, 4)))],
    vmap_linear=lambda t: [t.vmap(t.nn.functional.linear, d)(a, w, b) for d, a, w, b in (
        ((0, None, None), m(t, 2, 3), m(t, 4, 3), m(t, 4)), ((None, 0, None), m(t, 5, 3), m(t, 2, 4, 3), m(t, 4)),
        ((0, 0, 0), m(t, 2, 5, 3), m(t, 2, 4, 3), m(t, 2, 4)), ((None, None, 0), m(t, 5, 3), m(t, 4, 3), m(t, 2, 4)))],
    vmap_conv=lambda t: [t.vmap(lambda x, w: t.nn.functional.conv2d(x, w, padding=1), d)(a, w) for d, a, w in (
        ((0, None), m(t, 2, 1, 2, 4, 4), m(t, 3, 2, 3, 3)), ((None, 0), m(t, 2, 2, 4, 4), m(t, 2, 3, 2, 3, 3)),
        ((0, 0), m(t, 2, 3, 2, 4, 4), m(t, 2, 3, 2, 3, 3)))],
    vmap_norms=lambda t: t.vmap(lambda x, w: t.nn.functional.layer_norm(x, (3,), w))(m(t, 2, 4, 3), m(t, 2, 3)),
    vmap_reductions=lambda t: t.vmap(lambda a: (a.sum(), a.mean(0), a.amax(-1, keepdim=True), a.std(), a.prod(), a.argmax(), a.max(1),
                                                a.norm(), a.logsumexp(0), a.cumsum(1), a.sort(descending=True), a.topk(2, 0)))(
                                                    m(t, 2, 3, 4)),
    vmap_scalars=lambda t: t.vmap(lambda a: (a.sum(), a.mean(0), a.softmax(0), a.cumsum(-1), a.unsqueeze(0), a.reshape(1, 1),
                                             a.expand(2)))(m(t, 3)),
    vmap_views=lambda t: t.vmap(lambda a: (a.T, a[0], a[:, 1:], a[..., None], a.flatten(), a.view(-1, 2), a.permute(1, 0), a.diagonal(),
                                           a.unbind(1), a.chunk(2, 1), a.movedim(0, 1), a.squeeze(), a.expand(2, 3, 4), a.unfold(1, 2, 1)))(
                                               m(t, 2, 3, 4)),
    vmap_index=lambda t: t.vmap(lambda a, i: (a[i], a[:, t.tensor([0, 2])], a[t.tensor([1, 0]), t.tensor([0, 3])],
                                              a.index_select(1, i), t.gather(a, 0, i.expand(1, 2))))(
                                                  m(t, 2, 3, 4), t.tensor([[0, 2], [1, 1]])),
    vmap_setitem=lambda t: t.vmap(lambda a: _set(t, a))(m(t, 2, 3, 4)),
    vmap_where=lambda t: t.vmap(lambda a: t.where(a > 0, a, -a * 2))(m(t, 2, 3)),
    vmap_cat=lambda t: t.vmap(lambda a, b: (t.cat([a, b]), t.stack([a, a])), (0, None))(m(t, 2, 3), m(t, 2)),
    vmap_promotion=lambda t: t.vmap(lambda a, b: a * b)(t.ones(2), t.ones(2, 3, dtype=t.float64).float()),
    vmap_promotion_scalars=lambda t: t.vmap(lambda a, b: a * b)(t.ones(2, dtype=t.float64), t.ones(2, 3)),
    vmap_einsum=lambda t: t.vmap(lambda a, b: t.einsum("ij,jk->ik", a, b), (0, None))(m(t, 2, 3, 4), m(t, 4, 2)),
    vmap_of_grad=lambda t: t.vmap(t.func.grad(lambda x: (x.sin() * x).sum()))(m(t, 2, 3)),
    grad_of_vmap=lambda t: t.func.grad(lambda x: t.vmap(lambda a: (a.sin() * a).sum())(x).pow(2).sum())(m(t, 2, 3)),
    vmap_of_jacrev=lambda t: t.vmap(t.func.jacrev(lambda x: x.softmax(0)))(m(t, 2, 3)),
    vmap_of_jacfwd=lambda t: t.vmap(t.func.jacfwd(lambda x: x.softmax(0)))(m(t, 2, 3)),
    vmap_of_hessian=lambda t: t.vmap(t.func.hessian(lambda x: (x.sigmoid() * x).sum()))(m(t, 2, 3)),
    jvp_of_vmap=lambda t: t.func.jvp(lambda x: t.vmap(lambda a: a.softmax(0) * a)(x), (m(t, 2, 3),), (m(t, 2, 3).exp(),)),
    vmap_of_jvp=lambda t: t.vmap(lambda x, v: t.func.jvp(lambda a: a.softmax(0) * a, (x,), (v,)))(m(t, 2, 3), m(t, 2, 3).exp()),
    vmap_of_jvp_shared=lambda t: t.vmap(lambda v: t.func.jvp(lambda a: a.softmax(0) * a, (m(t, 3),), (v,)))(m(t, 2, 3).exp()),
    vmap_over_vjp=lambda t: t.vmap(t.func.vjp(lambda a: a.softmax(0) * a, m(t, 3))[1])(t.eye(3, dtype=t.float64)),
    per_sample_gradients=lambda t: t.vmap(t.func.grad(lambda w, x, y: ((x @ w).tanh() - y).pow(2).sum()), (None, 0, 0))(
        m(t, 3, 2), m(t, 4, 3), m(t, 4, 2)),
    per_sample_cross_entropy=lambda t: t.vmap(t.func.grad(lambda w, x, y: t.nn.functional.cross_entropy(x @ w, y)), (None, 0, 0))(
        m(t, 3, 4), m(t, 5, 2, 3), t.tensor([[0, 1], [2, 3], [1, 1], [0, 0], [3, 2]])),
    closed_over=lambda t: t.vmap(lambda y: t.func.grad(lambda x: (x * y).sum())(m(t, 3)))(m(t, 2, 3)),
    hessian_of_batch=lambda t: t.func.hessian(lambda x: t.vmap(lambda a: (a ** 3).sum())(x).sum())(m(t, 2, 2)),
    ensemble=lambda t: t.vmap(lambda p, x: mlp(t, p["a"], p["b"], x), (0, None))({"a": m(t, 3, 2, 4), "b": m(t, 3, 4, 1)}, m(t, 5, 2)),
    hvp=lambda t: t.func.jvp(t.func.grad(lambda x: mlp(t, m(t, 3, 4), m(t, 4, 1), x).sum()), (m(t, 3),), (m(t, 3).exp(),))[1],
    vmap_hvp=lambda t: t.vmap(lambda v: t.func.jvp(t.func.grad(lambda x: mlp(t, m(t, 3, 4), m(t, 4, 1), x).sum()), (m(t, 3),),
                                                 (v,))[1])(m(t, 2, 3)),
    autograd_grad_inside=lambda t: _autograd_inside(t),
)


def _set(t: Any, a: Any) -> Any:
    a = a.clone()
    a[0] = 1.0
    a[:, 1] += a[:, 2]
    a[t.tensor([1, 2])] = a[t.tensor([2, 1])]
    a.masked_fill_(a > 0.9, 0.0)
    a.zero_() if a.dim() == 5 else a.mul_(2)
    return a


def _autograd_inside(t: Any) -> Any:
    x = m(t, 3).requires_grad_()
    y = x ** 2 * x.sum()
    return t.vmap(lambda v: t.autograd.grad(y, x, v, retain_graph=True)[0])(t.eye(3, dtype=t.float64))


# -- errors -----------------------------------------------------------------------------------------------------------------

cases(
    error_grad_not_scalar=lambda t: t.func.grad(lambda x: x)(x3(t)),
    error_grad_number=lambda t: t.func.grad(lambda x: 3)(x3(t)),
    error_grad_tuple=lambda t: t.func.grad(lambda x: (x.sum(), 1))(x3(t)),
    error_grad_argnum=lambda t: t.func.grad(lambda x: x.sum(), argnums=3)(x3(t)),
    error_grad_argnum_type=lambda t: t.func.grad(lambda x: x.sum(), argnums="a")(x3(t)),
    error_grad_argnum_empty=lambda t: t.func.grad(lambda x: x.sum(), argnums=())(x3(t)),
    error_grad_argnum_twice=lambda t: t.func.grad(lambda x: x.sum(), argnums=(0, 0))(x3(t)),
    error_grad_aux=lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(x3(t)),
    error_grad_int=lambda t: t.func.grad(lambda x: x.sum())(t.ones(3, dtype=t.long)),
    error_grad_python_number=lambda t: t.func.grad(lambda x: x.sum())(3.0),
    error_grad_complex=lambda t: t.func.grad(lambda x: x.sum() * 1j)(x3(t)),
    error_vjp_number=lambda t: t.func.vjp(lambda x: 3, x3(t)),
    error_vjp_none=lambda t: t.func.vjp(lambda x: None, x3(t)),
    error_vjp_empty=lambda t: t.func.vjp(lambda x: (), x3(t)),
    error_vjp_aux_number=lambda t: t.func.vjp(lambda x: (x, [x, 1]), x3(t), has_aux=True),
    error_grad_aux_number=lambda t: t.func.grad(lambda x: (x.sum(), 1), has_aux=True)(x3(t)),
    error_jvp_none=lambda t: t.func.jvp(lambda x: None, (x3(t),), (x3(t),)),
    error_jvp_nothing=lambda t: t.func.jvp(lambda x: {}, (x3(t),), (x3(t),)),
    error_jvp_aux_number=lambda t: t.func.jvp(lambda x: (x, 1.5), (x3(t),), (x3(t),), has_aux=True),
    error_jacrev_empty=lambda t: t.func.jacrev(lambda x: ())(x3(t)),
    error_jacfwd_aux_none=lambda t: t.func.jacfwd(lambda x: (x, None), has_aux=True)(x3(t)),
    error_grad_requires_grad=lambda t: t.func.grad(lambda x: x.requires_grad_().sum())(x3(t)),
    error_jvp_requires_grad=lambda t: t.func.jvp(lambda x: (t.ones(3).requires_grad_() * x).sum(), (x3(t),), (x3(t),)),
    error_vmap_requires_grad_of_shared=lambda t: t.vmap(lambda x: x * t.ones(3).requires_grad_())(m(t, 2, 3)),
    error_grad_retain_grad=lambda t: t.func.grad(lambda x: x.retain_grad() or x.sum())(x3(t)),
    error_grad_jacobian=lambda t: t.func.grad(lambda x: t.autograd.functional.jacobian(t.sin, x).sum())(x3(t)),
    error_grad_functional_jvp=lambda t: t.func.grad(lambda x: t.autograd.functional.jvp(t.sin, x, x)[1].sum())(x3(t)),
    error_grad_hooks_inside=lambda t: t.func.grad(lambda x: _hooked(t, lambda: x.sin().sum()))(x3(t)),
    error_vjp_hooks_outside=lambda t: _hooked(t, lambda: t.func.vjp(lambda x: x.sin(), x3(t))),
    vmap_hooks=lambda t: t.vmap(lambda x: _hooked(t, lambda: x.sin().sum()))(m(t, 2, 3)),
    error_vjp_shape=lambda t: t.func.vjp(lambda x: x, x3(t))[1](t.ones(4)),
    error_vjp_structure=lambda t: t.func.vjp(lambda x: (x, x), x3(t))[1](x3(t)),
    error_vjp_cotangent=lambda t: t.func.vjp(lambda x: (x, x), x3(t))[1]((x3(t), 3)),
    error_vjp_aux=lambda t: t.func.vjp(lambda x: x, x3(t), has_aux=True),
    error_jvp_no_tuple=lambda t: t.func.jvp(lambda x: x, x3(t), x3(t)),
    error_jvp_shape=lambda t: t.func.jvp(lambda x: x, (x3(t),), (t.ones(4),)),
    error_jvp_structure=lambda t: t.func.jvp(lambda x: x, (x3(t),), (x3(t), x3(t))),
    error_jvp_number=lambda t: t.func.jvp(lambda x: x, (x3(t),), (3,)),
    error_jvp_empty=lambda t: t.func.jvp(lambda x: x, (), ()),
    error_jvp_output=lambda t: t.func.jvp(lambda x: 3, (x3(t),), (x3(t),)),
    error_jvp_aux=lambda t: t.func.jvp(lambda x: x, (x3(t),), (x3(t),), has_aux=True),
    error_jvp_strict=lambda t: t.func.jvp(lambda x: t.ones(2), (x3(t),), (x3(t),), strict=True),
    error_jacrev_output=lambda t: t.func.jacrev(lambda x: (x, 3))(x3(t)),
    error_jacfwd_output=lambda t: t.func.jacfwd(lambda x: (x, 3))(x3(t)),
    error_jacrev_chunk=lambda t: t.func.jacrev(lambda x: x, chunk_size=0)(x3(t)),
    error_jacfwd_int=lambda t: t.func.jacfwd(lambda x: x)(t.ones(2, dtype=t.int)),
    error_linearize_shape=lambda t: t.func.linearize(lambda x: x.sin(), x3(t))[1](t.ones(4)),
    error_vmap_number=lambda t: t.vmap(lambda x: (x, 3))(m(t, 2, 3)),
    error_vmap_no_inputs=lambda t: t.vmap(lambda x: x)(),
    error_vmap_no_tensor=lambda t: t.vmap(lambda x: x)(3),
    error_vmap_in_dim_large=lambda t: t.vmap(lambda x: x, in_dims=5)(m(t, 2, 3)),
    error_vmap_in_dims_structure=lambda t: t.vmap(lambda x: x, in_dims=(0, 1))(m(t, 2, 3)),
    error_vmap_in_dims_none=lambda t: t.vmap(lambda x: x, in_dims=None)(m(t, 2, 3)),
    error_vmap_in_dims_all_none=lambda t: t.vmap(lambda x: x, in_dims=(None,))(m(t, 2, 3)),
    error_vmap_in_dims_text=lambda t: t.vmap(lambda x: x, in_dims="a")(m(t, 2, 3)),
    error_vmap_in_dims_fraction=lambda t: t.vmap(lambda x: x, in_dims=(0.5,))(m(t, 2, 3)),
    error_vmap_sizes=lambda t: t.vmap(lambda x, y: x)(m(t, 2, 3), t.ones(4)),
    error_vmap_out_dims_large=lambda t: t.vmap(lambda x: x, out_dims=3)(m(t, 2, 3)),
    error_vmap_out_dims_structure=lambda t: t.vmap(lambda x: x, out_dims=(0, 0))(m(t, 2, 3)),
    error_vmap_out_dims_text=lambda t: t.vmap(lambda x: x, out_dims="a")(m(t, 2, 3)),
    error_vmap_out_dims_none=lambda t: t.vmap(lambda x: x, out_dims=None)(m(t, 2, 3)),
    error_vmap_random=lambda t: t.vmap(lambda x: x * t.rand(3))(m(t, 2, 3)),
    error_vmap_randomness=lambda t: t.vmap(lambda x: x, randomness="foo")(m(t, 2, 3)),
    error_vmap_chunk=lambda t: t.vmap(lambda x: x, chunk_size=0)(m(t, 2, 3)),
    error_vmap_item=lambda t: t.vmap(lambda x: x.sum().item())(m(t, 2, 3)),
    error_vmap_branch=lambda t: t.vmap(lambda x: x if x.sum() > 0 else -x)(m(t, 2, 3)),
    error_vmap_inplace=lambda t: t.vmap(lambda x: t.zeros(3, dtype=t.float64).copy_(x))(m(t, 2, 3)),
    error_vmap_numpy=lambda t: t.vmap(lambda x: x.numpy())(m(t, 2, 3)),
    error_vmap_mask=lambda t: t.vmap(lambda x: x[x > 0])(m(t, 2, 3)),
    error_vmap_nonzero=lambda t: t.vmap(lambda x: x.nonzero())(m(t, 2, 3)),
    error_vmap_requires_grad=lambda t: t.vmap(lambda x: x.requires_grad_())(m(t, 2, 3)),
    error_vmap_backward=lambda t: t.vmap(lambda x: x.backward())(m(t, 2, 3)),
    error_vmap_no_dimension=lambda t: t.vmap(lambda x: x)(t.ones(())),
    error_vmap_shapes=lambda t: t.vmap(lambda x, y: x + y)(m(t, 2, 3), m(t, 2, 4)),
    error_vmap_dim=lambda t: t.vmap(lambda x: x.sum(1))(m(t, 2, 3)),
)

# -- random numbers inside vmap -------------------------------------------------------------------------------------------------


def _seeded(t: Any, function: Callable[[Any], Any], randomness: str) -> Any:
    t.manual_seed(0)
    return t.vmap(function, randomness=randomness)(m(t, 3, 4).float())


cases(
    random_rand=lambda t: [_seeded(t, lambda x: x * 0 + t.rand(4), r) for r in ("same", "different")],
    random_randn_like=lambda t: [_seeded(t, t.randn_like, r) for r in ("same", "different")],
    random_dropout=lambda t: [_seeded(t, lambda x: t.nn.functional.dropout(x * 0 + 1), r) for r in ("same", "different")],
    random_bernoulli_inplace=lambda t: [_seeded(t, lambda x: x.clone().bernoulli_(), r) for r in ("same", "different")],
    random_same_in_gradient=lambda t: _seeded(t, lambda x: t.func.vjp(
        lambda w: w.softmax(0).multinomial(2, replacement=True).sum() * w.sum(), m(t, 4))[1](t.ones((), dtype=t.float64))[0] + x, "same"),
    random_same_in_gradient_of_examples=lambda t: _seeded(t, lambda x: t.func.grad(lambda w: (w.abs().bernoulli() * w).sum())(x), "same"),
    random_nested=lambda t: t.manual_seed(0) and t.vmap(t.vmap(lambda x: t.rand(()) * x, randomness="same"),
                                                                 randomness="different")(t.ones(2, 3)),
    error_random_same_of_batch=lambda t: _seeded(t, lambda x: t.bernoulli(x.abs().clamp(0, 1)), "same"),
)


# -- what cannot be mapped, and what changes examples in place ------------------------------------------------------------------


def _mapped(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of an example of ones and one of positions."""
    return lambda t: t.vmap(lambda x, i: function(t, x, i))(t.ones(3, 4), t.zeros(3, 2, dtype=t.long))


cases(**{f"mapped_{name}": _mapped(function) for name, function in {
    "add_": lambda t, x, i: t.zeros(4).add_(x), "mul_": lambda t, x, i: t.zeros(4).mul_(x), "eq_": lambda t, x, i: t.zeros(4).eq_(x),
    "masked_fill_": lambda t, x, i: t.zeros(4).masked_fill_(x > 0, 1.0), "fill_": lambda t, x, i: t.zeros(4).fill_(x[0]),
    "masked_fill_tensor_": lambda t, x, i: t.zeros(4).masked_fill_(t.ones(4) > 0, x[0]),
    "index_put_": lambda t, x, i: t.zeros(4).index_put_((i,), x[:2]), "scatter_": lambda t, x, i: t.zeros(4).scatter_(0, i, x),
    "setitem": lambda t, x, i: t.zeros(4).__setitem__(0, x[0]), "scatter_add_": lambda t, x, i: t.zeros(4).scatter_add_(0, i, x),
    "index_add_": lambda t, x, i: t.zeros(4).index_add_(0, i, x[:2]), "index_copy_": lambda t, x, i: t.zeros(4).index_copy_(0, i, x[:2]),
    "index_fill_": lambda t, x, i: t.zeros(4).index_fill_(0, i, 2.0), "lerp_": lambda t, x, i: t.zeros(4).lerp_(x, x),
    "addcmul_": lambda t, x, i: t.zeros(4).addcmul_(x, x), "clamp_": lambda t, x, i: t.zeros(4).clamp_(x),
    "addmm_": lambda t, x, i: t.zeros(2, 2).addmm_(x.view(2, 2), x.view(2, 2)), "atan2_": lambda t, x, i: t.zeros(4).atan2_(x),
    "bitwise_and_": lambda t, x, i: t.zeros(2, dtype=t.long).bitwise_and_(i), "shape_": lambda t, x, i: x.clone().add_(t.ones(2, 4)),
    "shape_of_number_": lambda t, x, i: x[0].clone().add_(x), "unsqueeze_": lambda t, x, i: x.clone().unsqueeze_(0) * 2,
    "squeeze_": lambda t, x, i: x.clone().view(1, 4).squeeze_(), "t_": lambda t, x, i: (x + t.arange(4)).view(2, 2).t_(),
    "transpose_": lambda t, x, i: (x + t.arange(4)).view(1, 4, 1).transpose_(0, 1), "zero_": lambda t, x, i: x.clone().zero_(),
    "allclose": lambda t, x, i: t.allclose(x, x), "equal": lambda t, x, i: t.equal(x, x), "unique": lambda t, x, i: t.unique(x),
    "masked_select": lambda t, x, i: x.masked_select(x > 0), "one_hot": lambda t, x, i: t.nn.functional.one_hot(i),
    "one_hot_of_5": lambda t, x, i: t.nn.functional.one_hot(i, 5), "repeat_interleave": lambda t, x, i: x.repeat_interleave(2),
    "combinations": lambda t, x, i: t.combinations(x), "cartesian_prod": lambda t, x, i: t.cartesian_prod(x, x),
    "len": lambda t, x, i: x * len(x), "arange": lambda t, x, i: t.arange(x[0]), "int": lambda t, x, i: int(x[0]),
}.items()})


def _each_randomness(draw: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """What a random operation on an example of ones gives in each mode, errors by their text."""
    def function(t: Any) -> Any:
        found = {}
        for randomness in ("error", "same", "different"):
            t.manual_seed(0)
            try:
                found[randomness] = t.vmap(lambda x: draw(t, x), randomness=randomness)(t.ones(3, 4))
            except RuntimeError as error:
                found[randomness] = str(error)
        return found

    return function


cases(**{f"randomness_{name}": _each_randomness(draw) for name, draw in {
    "randint": lambda t, x: t.randint(0, 10, (2,)), "randperm": lambda t, x: t.randperm(4), "rand_like": lambda t, x: t.rand_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 5), "bernoulli": lambda t, x: t.bernoulli(x * 0.5),
    "bernoulli_number": lambda t, x: t.bernoulli(x, 0.3), "bernoulli_shared": lambda t, x: t.bernoulli(t.full((5,), 0.5)),
    "bernoulli_inplace_tensor": lambda t, x: x.clone().bernoulli_(x * 0.5),
    "bernoulli_inplace_shared": lambda t, x: t.zeros(4).bernoulli_(x * 0.5), "normal_inplace": lambda t, x: x.clone().normal_(),
    "normal_inplace_shared": lambda t, x: t.zeros(3).normal_(), "uniform_inplace": lambda t, x: x.clone().uniform_(),
    "exponential_inplace": lambda t, x: x.clone().exponential_(), "cauchy_inplace": lambda t, x: x.clone().cauchy_(),
    "geometric_inplace": lambda t, x: x.clone().geometric_(0.3), "log_normal_inplace": lambda t, x: x.clone().log_normal_(),
    "random_inplace": lambda t, x: x.clone().random_(), "normal_tensors": lambda t, x: t.normal(x, x),
    "normal_mean": lambda t, x: t.normal(x, 1.0), "normal_std": lambda t, x: t.normal(0.0, x),
    "normal_size": lambda t, x: t.normal(0.0, 1.0, (2,)),
    "normal_shared": lambda t, x: t.normal(t.zeros(2), t.ones(2)), "multinomial": lambda t, x: t.multinomial(x, 3),
    "multinomial_shared": lambda t, x: t.multinomial(t.ones(5), 2), "poisson": lambda t, x: t.poisson(x * 3),
    "poisson_shared": lambda t, x: t.poisson(t.ones(2) * 3), "dropout_shared": lambda t, x: t.nn.functional.dropout(t.ones(5)),
    "dropout_not_training": lambda t, x: t.nn.functional.dropout(x, training=False),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.reshape(1, 4, 1, 1)),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, training=True),
    "feature_alpha_dropout": lambda t, x: t.nn.functional.feature_alpha_dropout(x.reshape(1, 4, 1, 1), training=True),
    "native_dropout": lambda t, x: t.native_dropout(x, 0.5, True)[0], "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x.reshape(1, 2, 2), x.reshape(1, 2, 2), x.reshape(1, 2, 2),
                                                                            dropout_p=0.5),
    "own_generator": lambda t, x: t.rand(2, generator=t.Generator().manual_seed(3)),
}.items()})


def _batched_gradient_of_update(t: Any, leaf: Any) -> Any:
    view = (leaf * leaf)[0].cos_()
    return t.vmap(lambda g: t.autograd.grad(view, leaf, g, retain_graph=True)[0])(t.eye(3))


cases(
    vmap_contiguous=lambda t: [(lambda y: [y, list(y.stride())])(t.vmap(f, in_dims=1, out_dims=1)(m(t, 2, 3, 7))) for f in (
        lambda x: x.clone(memory_format=t.contiguous_format), lambda x: x.contiguous(),
        lambda x: t.tensor(float(x.is_contiguous())).expand(2, 1) * x)],
    vmap_new_empty_strided=lambda t: (lambda y: [y, list(y.stride())])(
        t.vmap(lambda x: x.new_empty_strided((2, 3), (1, 2)).copy_(x.expand(2, 3)))(t.ones(3))),
    vmap_view_as_real=lambda t: t.vmap(lambda x: t.view_as_complex(t.view_as_real(x)).real)(t.ones(3, 2, dtype=t.complex64)),
    vmap_like_layouts=lambda t: [list(t.vmap(f, in_dims=2, randomness="different")(m(t, 2, 3, 7)).stride()) for f in (
        t.zeros_like, t.rand_like, t.ones_like)],
    random_chunks=lambda t: t.manual_seed(0) and [t.vmap(lambda x: x + t.rand(()), randomness=r, chunk_size=2)(t.zeros(5)) for r in (
        "same", "different")],
    random_like_in_memory_order=lambda t: t.manual_seed(0) and t.vmap(t.rand_like, in_dims=1, randomness="different")(t.zeros(2, 3)),
    error_vmap_squeeze=lambda t: t.vmap(lambda x: x.squeeze(1))(t.ones(3)),
    error_vmap_clone_format=lambda t: t.vmap(lambda x: x.clone(memory_format=t.channels_last))(m(t, 2, 3)),
    error_vmap_is_contiguous=lambda t: t.vmap(lambda x: x.is_contiguous(memory_format=t.channels_last) or x)(m(t, 2, 3)),
    error_vmap_as_strided=lambda t: t.vmap(lambda x: x.as_strided((2, 2), (1,)))(m(t, 2, 3)),
    random_multinomial_of_rows=lambda t: _seeded(t, lambda x: t.multinomial(x.abs().expand(2, 4), 2), "different"),
    random_in_memory_order=lambda t: t.manual_seed(0) and [
        t.vmap(lambda x: x.uniform_(), in_dims=1, randomness="different")(t.zeros(2, 3)),
        t.vmap(lambda x, p: x.bernoulli_(p), in_dims=(1, 0), randomness="different")(t.zeros(2, 3), t.full((3, 2), 0.5))],
    error_random_normal_same=lambda t: t.vmap(lambda x: t.normal(t.zeros(2), x), randomness="same")(t.ones(3, 2)),
    batched_gradient_of_view_update=lambda t: _batched_gradient_of_update(t, t.arange(6.0).reshape(2, 3).requires_grad_()),
)

# -- functionalize --------------------------------------------------------------------------------------------------------------


def _functionalized(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """What a function of a matrix gives without mutations, what it leaves in its argument, and which operations a dispatch mode sees."""
    def case(t: Any) -> Any:
        found = []
        for remove in ("mutations", "mutations_and_views"):
            seen = set()

            class Look(t.utils._python_dispatch.TorchDispatchMode):
                def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                    seen.add(str(func))
                    return func(*args, **(kwargs or {}))

            x = t.arange(6.0).reshape(2, 3)
            with Look():
                result = t.func.functionalize(lambda y: function(t, y), remove=remove)(x)
            found.append([result, x, sorted(seen - {"aten.lift_fresh.default"})])
        return found

    return case


def _after(update: Callable[[Any, Any], Any], give: Callable[[Any], Any] = lambda x: x * 2) -> Callable[[Any, Any], Any]:
    """A function that updates its argument, and gives something of it."""
    def function(t: Any, x: Any) -> Any:
        update(t, x)
        return give(x)

    return function


def _view_before_update(t: Any, x: Any) -> Any:
    y = x[0]
    x.add_(1)
    return y


def _factory(t: Any, x: Any) -> Any:
    z = t.zeros(2, 3)
    z.add_(x)
    z[:, 1:].mul_(5)
    return z


def _view_of_view(t: Any, x: Any) -> Any:
    y = x.view(6).reshape(3, 2).transpose(1, 0)
    y.unsqueeze_(0)
    y.squeeze_()
    first, _ = y.split(1)
    first.add_(t.ones(1, 3))
    return x


def _pulled_outside_no_grad(t: Any, where: Any) -> Any:
    x = t.tensor(3.0, requires_grad=True)
    with t.no_grad():
        out, vjp_fn = t.func.vjp(lambda y: y ** 2, x)
    with where:
        (g,) = vjp_fn(t.tensor(1.0))
    return [out, out.requires_grad, g, g.requires_grad]


cases(vjp_made_without_recording=lambda t: [_pulled_outside_no_grad(t, w) for w in (t.enable_grad(), t.no_grad())],
      functionalize_view_of_view=lambda t: (lambda x: [t.func.functionalize(lambda y: _view_of_view(t, y))(x), x])(m(t, 2, 3)))


def _out(t: Any, x: Any) -> Any:
    out = t.empty(2, 3)
    t.add(x, x, out=out)
    return out


cases(**{f"functionalize_{name}": _functionalized(function) for name, function in {
    "update": _after(lambda t, x: x.add_(1)), "view": _after(lambda t, x: x.view(6).add_(1), lambda x: x),
    "select": _after(lambda t, x: x[1].mul_(3)), "slice": _after(lambda t, x: x[:, 1:].mul_(3)),
    "split": _after(lambda t, x: x.split(1)[0].mul_(3)), "unbind": _after(lambda t, x: x.unbind(1)[1].exp_()),
    "transpose": _after(lambda t, x: x.transpose(0, 1).mul_(3)), "t": _after(lambda t, x: x.t().mul_(3)),
    "diagonal": _after(lambda t, x: x.diagonal().zero_()), "as_strided": _after(lambda t, x: x.as_strided((2, 2), (1, 1)).fill_(1)),
    "chain": _after(lambda t, x: x.unsqueeze(0).squeeze(0).permute(1, 0).copy_(t.ones(3, 2))),
    "reshape": _after(lambda t, x: x.reshape(3, 2).sub_(1)), "stale": _view_before_update, "factory": _factory, "out": _out,
    "index_put": _after(lambda t, x: x.masked_fill_(x > 3, 0.0).relu_()), "same": lambda t, x: x,
    "random": lambda t, x: x.clone().normal_() * 0, "unsqueeze_": lambda t, x: (x + 1).unsqueeze_(0).mul_(2),
}.items()})
cases(
    functionalize_argument_reshaped=lambda t: (lambda x: [t.func.functionalize(lambda y: y.t_().add_(1))(x), x])(m(t, 2, 3)),
    functionalize_copying_reshape=lambda t: (lambda x: [t.func.functionalize(lambda y: y.t().reshape(6).add_(1))(x), x])(m(t, 2, 3)),
    functionalize_gradient=lambda t: t.func.grad(t.func.functionalize(lambda x: x.clone().mul_(x).sum()))(x3(t)),
    functionalize_of_gradient=lambda t: t.func.functionalize(t.func.grad(lambda x: x.clone().mul_(x).sum()))(x3(t)),
    functionalize_mapped=lambda t: t.vmap(t.func.functionalize(lambda x: x.clone().mul_(2)))(m(t, 2, 3)),
    functionalize_of_mapped=lambda t: t.func.functionalize(t.vmap(lambda x: x.clone().mul_(2)))(m(t, 2, 3)),
    functionalize_pushed=lambda t: t.func.jvp(t.func.functionalize(lambda x: x.clone().mul_(x)), (x3(t),), (x3(t),)),
    functionalize_of_pushed=lambda t: t.func.functionalize(lambda x: t.func.jvp(lambda y: y.clone().mul_(y), (x,), (x,)))(x3(t)),
    functionalize_structure=lambda t: t.func.functionalize(lambda d, *, k: {"b": d["a"].add_(k)})({"a": x3(t)}, k=2.0),
    error_functionalize_remove=lambda t: t.func.functionalize(lambda x: x, remove="foo"),
)


# -- tangents of equal numbers, and of NaN, whose gradients have rules of their own -------------------------------------


def _chosen(t: Any, function: Callable[..., Any], dtype: str, *which: int) -> Any:
    """Results and tangents by the operands `which`, of numbers below, above and equal to the other's, and NaN on either side."""
    nan = float("nan")
    operands = [t.tensor(row, dtype=getattr(t, dtype)) for row in ([1.0, 2.0, 3.0, nan, 1.0], [1.0, 3.0, 2.0, 1.0, nan])]
    return t.func.jvp(lambda *a: function(*[a[which.index(i)] if i in which else operands[i] for i in (0, 1)]),
                      tuple([operands[i] for i in which]), tuple([t.full_like(operands[i], 10.0 * (i + 1)) for i in which]))


cases(**{f"equal_{name}_{dtype}_{''.join(map(str, which))}":
         lambda t, f=f, dtype=dtype, which=which: _chosen(t, lambda *a: f(t, *a), dtype, *which)
         for dtype in ("float32", "bfloat16") for which in ((0, 1), (0,), (1,)) for name, f in {
    "maximum": lambda t, x, y: t.maximum(x, y), "minimum": lambda t, x, y: t.minimum(x, y), "fmax": lambda t, x, y: t.fmax(x, y),
    "fmin": lambda t, x, y: t.fmin(x, y), "clamp_min": lambda t, x, y: t.clamp_min(x, y), "clamp_max": lambda t, x, y: t.clamp_max(x, y),
    "clamp_below": lambda t, x, y: t.clamp(x, y), "clamp_above": lambda t, x, y: t.clamp(x, None, y),
    "clamp": lambda t, x, y: t.clamp(x, y, y), "clamp_crossed": lambda t, x, y: t.clamp(x, y, y - 1)}.items()})
cases(**{f"frexp_{dtype}": lambda t, dtype=dtype: t.func.jvp(t.frexp, *[(x.to(getattr(t, dtype)),) for x in (t.arange(5), t.ones(5))])[1][0]
         for dtype in ("float64", "bfloat16", "float16")})


def _sampled(t: Any, mode: str, padding: str, dtype: str, twice: bool) -> Any:
    """Gradients of `grid_sample` at places of which some are on the border, first or second ones; of half precision where they are zero."""
    x = m(t, 1, 2, 3, 3).to(getattr(t, dtype)).requires_grad_()
    grid = t.tensor([[[[-1.0, 1.0], [0.5, -0.25], [1.0, 0.125], [-2.0, 0.5]]]], dtype=x.dtype, requires_grad=True)
    out = t.nn.functional.grid_sample(x, grid, mode, padding, align_corners=True)
    first = t.autograd.grad(out.sum(), (x, grid), create_graph=twice)
    found = t.autograd.grad(first[1].sum(), (x, grid)) if twice else first
    return found if dtype == "float64" else [g == 0 for g in found]


cases(**{f"sampled_{mode}_{padding}_{dtype}_{twice}": lambda t, a=(mode, padding, dtype, twice): _sampled(t, *a)
         for mode in ("bilinear", "bicubic") for padding in ("zeros", "border", "reflection")
         for dtype in ("float64", "bfloat16", "float16")
         for twice in (False, True) if dtype == "float64" or mode == "bilinear" and padding != "zeros"})


def plain(torch: Any, value: Any) -> Any:
    """A result as JSON: tensors with their shape and dtype."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double().reshape(-1).tolist()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "data": [float(f"{v:.12g}") for v in numbers]}
    if isinstance(value, dict):
        return {"dict": {k: plain(torch, v) for k, v in value.items()}}
    return [plain(torch, v) for v in value] if isinstance(value, (tuple, list)) else value


TABLE = Table("func", CASES, lambda torch, name: attempted(lambda: plain(torch, CASES[name](torch))), tolerance=(2e-5, 2e-5),
              doubles=(1e-9, 1e-9))
