"""Programs that register operations of their own, to be carried out with torch itself and with this package: `custom_op`, schemas,
gradients, fakes. `library_kernels` has the others.
"""

# ruff: noqa: F821, UP045

from collections.abc import Sequence
from typing import Optional

import numpy as np

from tests.core import library_kernels  # noqa: F401  # whose cases are among CASES
from tests.core.library_programs import CASES, case, outcome, sine, with_gradient
from tests.recording import Table


# -- custom_op ----------------------------------------------------------------------------------------------------------------------


@case
def decorator(t, ns, note, error):
    @t.library.custom_op(f"{ns}::twice", mutates_args=())
    def twice(x: t.Tensor, n: int = 2) -> t.Tensor:
        return x * n
    note(twice(t.ones(2)), twice(t.ones(2), 3), twice(x=t.ones(2), n=4), type(twice).__name__, repr(twice))


@case
def call_form(t, ns, note, error):
    op = sine(t, ns)
    note(op(t.tensor([0., 1.])), op._qualname)


@case
def crop(t, ns, note, error):
    @t.library.custom_op(f"{ns}::crop", mutates_args=())
    def crop(pic: t.Tensor, box: Sequence[int]) -> t.Tensor:
        a, b, c, d = box
        return t.from_numpy(pic.numpy()[a:b, c:d].copy())

    @crop.register_fake
    def _(pic, box):
        a, b, c, d = box
        return pic.new_empty(b - a, d - c)

    x = t.arange(12.).reshape(3, 4)
    note(crop(x, [0, 2, 1, 3]), crop(x.to("meta"), [0, 2, 1, 3]), str(getattr(t.ops, ns).crop.default._schema))


@case
def crop_with_gradient(t, ns, note, error):
    @t.library.custom_op(f"{ns}::crop", mutates_args=())
    def crop(pic: t.Tensor, box: list[int]) -> t.Tensor:
        return t.from_numpy(pic.detach().numpy()[box[0]:box[1]].copy())

    def backward(ctx, grad):
        full = grad.new_zeros(ctx.shape)
        full[ctx.box[0]:ctx.box[1]] = grad
        return full, None

    def setup(ctx, inputs, output):
        pic, ctx.box = inputs
        ctx.shape = pic.shape

    crop.register_autograd(backward, setup_context=setup)
    x = t.arange(4.).requires_grad_()
    y = crop(x, [1, 3])
    (y * t.tensor([2., 3.])).sum().backward()
    note(y, x.grad)


@case
def annotations_as_text(t, ns, note, error):
    def f(x: "Tensor", y: "Optional[int]" = None) -> "Tensor":
        return x.clone()
    f.__globals__["Tensor"] = t.Tensor
    op = t.library.custom_op(f"{ns}::f", f, mutates_args=())
    note(op(t.ones(1)), str(op._opoverload._schema))


@case
def several_outputs(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor) -> tuple[t.Tensor, t.Tensor]:
        return x + 1, x + 2
    note(f(t.ones(1)), str(f._opoverload._schema))


@case
def list_of_outputs(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(xs: list[t.Tensor], w: list[float]) -> list[t.Tensor]:
        return [x * v for x, v in zip(xs, w)]
    note(f([t.ones(1), t.ones(2)], [2., 3.]), str(f._opoverload._schema))


@case
def number_out(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor) -> int:
        return x.numel()
    note(f(t.ones(3)))


@case
def keyword_only(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, *, scale: float = 1.0, name: str = "a") -> t.Tensor:
        return x * scale
    note(f(t.ones(1), scale=3.0), str(f._opoverload._schema))
    error(lambda: f(t.ones(1), 3.0))


@case
def keyword_only_tensor(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, *, y: t.Tensor) -> t.Tensor:
        return x + y


@case
def optional_tensor(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, y: t.Tensor | None = None) -> t.Tensor:
        return x + 1 if y is None else x + y
    note(f(t.ones(1)), f(t.ones(1), t.ones(1)), f(t.ones(1), None))


@case
def given_schema(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x, y: x + y, mutates_args=(), schema="(Tensor x, float y=0.5) -> Tensor")
    error(lambda: op(t.ones(1)))
    note(op(t.ones(1), 1.5))


@case
def schema_says_otherwise(t, ns, note, error):
    t.library.custom_op(f"{ns}::f", lambda x: x.clone(), mutates_args={"x"}, schema="(Tensor x) -> Tensor")


@case
def default_values(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, a: int = 3, b: float = 0.25, c: bool = True, d: str = "no", e: int | None = None,
          g: t.dtype = t.float64, h: t.device = t.device("cpu")) -> t.Tensor:
        note(a, b, c, d, e, str(g), str(h))
        return x.clone()
    f(t.ones(1))
    note(str(f._opoverload._schema))


@case
def same_name_again(t, ns, note, error):
    sine(t, ns)
    again = t.library.custom_op(f"{ns}::sin", lambda x: x + 10, mutates_args=(), schema="(Tensor x) -> Tensor")
    note(again(t.ones(1)), getattr(t.ops, ns).sin(t.ones(1)))


@case
def found_in_ops(t, ns, note, error):
    sine(t, ns)
    space = getattr(t.ops, ns)
    x = t.tensor([1.])
    note(space.sin(x), space.sin.default(x), str(space.sin), str(space.sin.default), repr(space.sin), repr(space.sin.default),
         space.sin.default.name(), space.sin.overloads(), space.sin.default.namespace, space.sin.default is space.sin.default,
         repr(space), space.sin.default.overloadpacket is space.sin, space.sin.default._overloadname, type(space).__name__)
    error(lambda: space.cos)
    error(lambda: space.sin.other)


@case
def one_device(t, ns, note, error):
    op = sine(t, ns, device_types="cpu")
    note(op(t.ones(1)))
    error(lambda: op(t.ones(1, device="meta")))
    other = t.library.custom_op(f"{ns}::other", lambda x: x.clone(), mutates_args=(), device_types="cuda", schema="(Tensor x) -> Tensor")
    error(lambda: other(t.ones(1)))


@case
def kernels_by_device(t, ns, note, error):
    op = sine(t, ns)
    op.register_kernel("cpu")(lambda x: x + 5)
    note(op(t.ones(1)))
    with op.set_kernel_enabled("cpu", enabled=False):
        note(op(t.ones(1)))
    note(op(t.ones(1)))


@case
def kernel_for_several(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x + 1, mutates_args=(), device_types=["cpu", "cuda"], schema="(Tensor x) -> Tensor")
    note(op(t.ones(1)))
    t.library.define(f"{ns}::g", "(Tensor x) -> Tensor")
    t.library.register_kernel(f"{ns}::g", ["cpu", "cuda"], lambda x: x + 2)
    t.library.register_kernel(getattr(t.ops, ns).g.default, None, lambda x: x + 3)
    note(getattr(t.ops, ns).g(t.ones(1)), getattr(t.ops, ns).g(t.ones(1, device="meta")))


@case
def makes_tensors(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cpu")
    def f(device: t.device) -> t.Tensor:
        return t.ones(3)
    note(f(t.device("cpu")), f("cpu"))
    error(lambda: f(t.device("meta")))

    @t.library.custom_op(f"{ns}::g", mutates_args=(), device_types="cpu")
    def g(n: int) -> t.Tensor:
        return t.ones(n)


@case
def makes_tensors_anywhere(t, ns, note, error):
    @t.library.custom_op(f"{ns}::g", mutates_args=())
    def g(n: int) -> t.Tensor:
        return t.ones(n)
    note(g(2))


@case
def names_of_arguments(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(input: t.Tensor, out: int, inplace: bool, self: int, alpha: float = 1.0, dtype: t.dtype = t.float32) -> t.Tensor:
        return input * out * self
    note(f(t.ones(1), 2, True, 3), getattr(t.ops, ns).f(t.ones(1), self=1, inplace=True, out=2))


@case
def saved_tensors_hooks(t, ns, note, error):
    op, x = with_gradient(t, ns), t.ones(2, requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda s: note("packed", s) or s, lambda s: note("unpacked") or s):
        y = op(x)
    y.sum().backward()
    note(x.grad)


@case
def elements(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    note(op(t.ones(0, 3)), op(t.tensor(1.)), op(t.arange(6).reshape(2, 3).T), op(t.ones(1, dtype=t.float16)), op(t.tensor([True])))
    note(list(op(t.ones(2, 3).T).stride()), op(t.nn.Parameter(t.ones(1))))


# -- arguments ----------------------------------------------------------------------------------------------------------------------


@case
def wrong_arguments(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int = 1) -> t.Tensor:
        return x * n
    x = t.ones(1)
    for call in (lambda: f(), lambda: f(3), lambda: f(x, 1.5), lambda: f(x, 1, 2), lambda: f(x, k=1), lambda: f(x, x=x),
                 lambda: f(x, "a"), lambda: f(None), lambda: f(x, None), lambda: f([x]), lambda: f(x, n=2.5)):
        error(call)


@case
def what_fits(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, v: float, b: bool, ns: list[int], s: t.types.Number) -> t.Tensor:
        note(type(v).__name__, type(b).__name__, type(ns).__name__, type(s).__name__)
        return x.clone()
    f(t.ones(1), 1, True, (1, 2), 3)
    f(t.ones(1), True, False, [1], 2.5)
    f(t.ones(1), np.float64(2), True, [], True)
    error(lambda: f(t.ones(1), "a", True, [1], 1))
    error(lambda: f(t.ones(1), 1.0, 1, [1], 1))
    error(lambda: f(t.ones(1), 1.0, True, [1.5], 1))
    error(lambda: f(t.ones(1), 1.0, True, 3, 1))
    error(lambda: f(t.ones(1), 1.0, True, [1], "a"))


@case
def wrong_results(t, ns, note, error):
    for i, (returns, made) in enumerate([("Tensor", lambda x: 3), ("Tensor", lambda x: None), ("(Tensor, Tensor)", lambda x: (x + 1,)),
                                         ("Tensor", lambda x: (x + 1,)), ("int", lambda x: 2.5), ("()", lambda x: 3)]):
        op = t.library.custom_op(f"{ns}::f{i}", made, mutates_args=(), schema=f"(Tensor x) -> {returns}")
        error(lambda: note(op(t.ones(1))))


@case
def more_that_fits(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x, Tensor?[] ys, int? n=None, float[]? w=None, Device? d=None) -> Tensor")
    lib.impl("f", lambda x, ys, n=None, w=None, d=None: (note(ys, n, w, str(d)), x + 1)[1], "CPU")
    lib.define("g(Tensor x, ScalarType d, str s, bool b, int[2] k=1) -> Tensor")
    lib.impl("g", lambda x, d, s, b, k=1: (note(str(d), s, b, k), x + 1)[1], "CPU")
    f, g, x = getattr(t.ops, ns).f, getattr(t.ops, ns).g, t.ones(1)
    f(x, [None, x], 3, [1, 2], "cpu")
    g(x, t.float32, "a", t.tensor(True), 3)
    g(x, t.float32, "a", True, (4, 5))
    for call in (lambda: f(x, [3]), lambda: f(x, [], "a"), lambda: f(x, [], 1, [1, "a"]), lambda: f(x, [], 1, [1.], 3),
                 lambda: g(x, "float", "a", True), lambda: g(x, t.float32, 3, True), lambda: g(x, t.float32, "a", "x"), lambda: f(x, x)):
        error(call)


@case
def more_wrong_results(t, ns, note, error):
    for i, (returns, made) in enumerate([("(Tensor, Tensor)", lambda x: x + 1), ("(Tensor, Tensor)", lambda x: [x + 1, x + 2]),
                                         ("Tensor[]", lambda x: (x + 1, x + 2)), ("Tensor[]", lambda x: x + 1), ("Tensor[]", lambda x: [1]),
                                         ("int", lambda x: "a"), ("int", lambda x: None), ("float", lambda x: 2), ("bool", lambda x: 1),
                                         ("str", lambda x: 1)]):
        op = t.library.custom_op(f"{ns}::f{i}", made, mutates_args=(), schema=f"(Tensor x) -> {returns}")
        error(lambda: note(op(t.ones(1))))


# -- schemas ------------------------------------------------------------------------------------------------------------------------


@case
def inferred(t, ns, note, error):
    def f(x: t.Tensor, y: t.Tensor | None, z: Sequence[t.Tensor], n: int, s: t.types.Number, d: t.dtype, e: Sequence[float] | None,
          *, k: str = "a") -> tuple[t.Tensor, int]:
        return x, n
    note(t.library.infer_schema(f, mutates_args=()), t.library.infer_schema(f, mutates_args=("x", "z"), op_name="f"),
         t.library.infer_schema(f, mutates_args="unknown"))

    def g(x: t.Tensor) -> None:
        pass
    note(t.library.infer_schema(g, mutates_args={"x"}))

    def h(x: list[t.Tensor | None]) -> tuple[t.Tensor]:
        return (x,)
    note(t.library.infer_schema(h, mutates_args=()))


@case
def not_inferred(t, ns, note, error):
    infer = t.library.infer_schema

    def bare(x) -> t.Tensor: ...
    def silent(x: t.Tensor): ...
    def strange(x: np.ndarray) -> t.Tensor: ...
    def several(*xs: t.Tensor) -> t.Tensor: ...
    def named(**xs: t.Tensor) -> t.Tensor: ...
    def of_tuple(x: tuple[int, int]) -> t.Tensor: ...
    def returns(x: t.Tensor) -> str: ...
    def fine(x: t.Tensor, n: int) -> t.Tensor: ...
    def default(x: t.Tensor, n: Sequence[int] = (1, 2)) -> t.Tensor: ...
    def unknown(x: "Nothing") -> t.Tensor: ...
    for f in (bare, silent, several, named, default, unknown):
        error(lambda: infer(f, mutates_args=()))
    for f in (strange, of_tuple, returns):
        try:
            infer(f, mutates_args=())
        except ValueError as e:
            note(str(e).partition(". ")[0])
    error(lambda: infer(fine, mutates_args=("y",)))
    error(lambda: infer(fine, mutates_args=("n",)))
    error(lambda: infer(fine, mutates_args="x"))


@case
def unreadable_schemas(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    for text in ("f", "f(Tensor x)", "f(Tensr x) -> Tensor", "f(Tensor x -> Tensor", "f(Tensor) -> Tensor", "f(Tensor x) -> ",
                 "f(Tensor x=3) -> Tensor", "(Tensor x) -> Tensor", ""):
        error(lambda: lib.define(text))


@case
def shown_schemas(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    for i, text in enumerate(("(Tensor x, *, int n=3) -> Tensor", "(Tensor(a!) x) -> ()", "(Tensor[] xs, float[] w) -> Tensor[]",
                              "(Tensor? x=None, str s=\"a\") -> (Tensor y, Tensor z)", "(Scalar s, bool b=True, float f=2.) -> Tensor",
                              "(Tensor(a) x) -> Tensor(a)", "(SymInt n, SymInt[] m, Device d) -> (Tensor)", "(int[2] k=1, int[] n=[1, 2]) "
                                                                                                            "-> ()",
                              "(Tensor(a!)[] x, ScalarType? t=None) -> Tensor?")):
        note(lib.define(f"f{i}" + text), str(getattr(getattr(t.ops, ns), f"f{i}").default._schema))


# -- mutation and aliases -----------------------------------------------------------------------------------------------------------


@case
def in_place(t, ns, note, error):
    @t.library.custom_op(f"{ns}::sin_", mutates_args={"x"}, device_types="cpu")
    def sin_(x: t.Tensor) -> None:
        np.sin(x.numpy(), out=x.numpy())
    x = t.tensor([1., 2.])
    before = x._version
    note(sin_(x), x, x._version - before, str(sin_._opoverload._schema))
    note(sin_(t.ones(1, device="meta")))


@case
def in_place_and_saved(t, ns, note, error):
    @t.library.custom_op(f"{ns}::zero", mutates_args={"x"})
    def zero(x: t.Tensor) -> None:
        x.numpy()[...] = 0
    w = t.ones(2, requires_grad=True)
    y = w.exp()
    z = y * y
    zero(y.detach())
    error(lambda: z.sum().backward())


@case
def in_place_of_what_requires_grad(t, ns, note, error):
    @t.library.custom_op(f"{ns}::zero", mutates_args={"x"})
    def zero(x: t.Tensor) -> None:
        x.detach().numpy()[...] = 0
    w = t.ones(2, requires_grad=True)
    error(lambda: zero(w))
    y = w * 2
    error(lambda: zero(y))
    note(y)


@case
def in_place_gradient(t, ns, note, error):
    @t.library.custom_op(f"{ns}::zero", mutates_args={"x"})
    def zero(x: t.Tensor) -> None:
        x.zero_()
    zero.register_autograd(lambda ctx, grad: grad)


@case
def list_in_place(t, ns, note, error):
    @t.library.custom_op(f"{ns}::fill", mutates_args={"xs"})
    def fill(xs: list[t.Tensor]) -> None:
        for x in xs:
            x.fill_(7)
    a, b = t.ones(1), t.ones(1)
    v = a._version, b._version
    fill([a, b])
    note(a, b, a._version > v[0], b._version > v[1], str(fill._opoverload._schema))


@case
def tagged_in_place(t, ns, note, error):
    @t.library.custom_op(f"{ns}::sin_", mutates_args={"x"}, tags=t.Tag.inplace)
    def sin_(x: t.Tensor) -> t.Tensor:
        np.sin(x.numpy(), out=x.numpy())
        return x
    x = t.ones(1)
    note(sin_(x) is x, x, str(sin_._opoverload._schema))

    @t.library.custom_op(f"{ns}::bad_", mutates_args={"x"}, tags=t.Tag.inplace)
    def bad_(x: t.Tensor) -> t.Tensor:
        return x.clone()
    bad_(x)


@case
def tagged_out(t, ns, note, error):
    @t.library.custom_op(f"{ns}::sin_out", mutates_args={"out"}, tags=t.Tag.out)
    def sin_out(x: t.Tensor, *, out: t.Tensor) -> t.Tensor:
        out.copy_(x.sin())
        return out
    x, out = t.ones(2), t.empty(2)
    note(sin_out(x, out=out) is out, out, str(sin_out._opoverload._schema))
    error(lambda: sin_out(x.requires_grad_(), out=out))
    error(lambda: sin_out.register_autograd(lambda ctx, g: g))


@case
def undeclared_mutation(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x.add_(1).sum(), mutates_args=(), schema="(Tensor x) -> Tensor")
    note(op(t.ones(2)))
    error(lambda: t.library.opcheck(op, (t.ones(2),), test_utils="test_schema"))


@case
def returns_its_input(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    op(t.ones(1))


@case
def returns_a_view(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x[0], mutates_args=(), schema="(Tensor x) -> Tensor")
    op(t.ones(2))


@case
def returns_twice_the_same(t, ns, note, error):
    def f(x):
        y = x + 1
        return y, y
    op = t.library.custom_op(f"{ns}::f", f, mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
    op(t.ones(2))


@case
def declared_view(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x[0], mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)")
    x = t.ones(2)
    op(x).fill_(5)
    note(x, op(x)._is_view())


# -- gradients ----------------------------------------------------------------------------------------------------------------------


@case
def gradient(t, ns, note, error):
    op = with_gradient(t, ns)
    x = t.tensor([0., 1.], requires_grad=True)
    y = op(x)
    y.sum().backward()
    note(y, x.grad, type(y.grad_fn).__name__)
    with t.no_grad():
        note(op(x))


@case
def gradient_of_gradient(t, ns, note, error):
    op = with_gradient(t, ns)
    x = t.tensor([1.], requires_grad=True)
    g, = t.autograd.grad(op(x), x, create_graph=True)
    note(g, t.autograd.grad(g, x)[0])
    note(t.autograd.gradcheck(op, (t.tensor([0.5, 1.], dtype=t.float64, requires_grad=True),)))


@case
def no_gradient(t, ns, note, error):
    op = sine(t, ns)
    y = op(t.ones(2, requires_grad=True))
    note(y)
    y.sum().backward()


@case
def gradient_without_context(t, ns, note, error):
    op = sine(t, ns)
    op.register_autograd(lambda ctx, grad: grad * 3)
    x = t.ones(1, requires_grad=True)
    op(x).backward()
    note(x.grad)


@case
def none_gradients(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int, y: t.Tensor) -> t.Tensor:
        return x * n + y
    f.register_autograd(lambda ctx, g: (g * ctx.n, None, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "n", inputs[1]))
    x, y = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    f(x, 4, y).backward()
    note(x.grad, y.grad)


@case
def needs_input_grad(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int, y: t.Tensor) -> t.Tensor:
        return x * n + y

    def backward(ctx, g):
        note(ctx.needs_input_grad)
        return g, None, None
    f.register_autograd(backward)
    f(t.ones(1, requires_grad=True), 4, t.ones(1)).backward()


@case
def too_few_gradients(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int, y: t.Tensor) -> t.Tensor:
        return x * n + y
    f.register_autograd(lambda ctx, g: (g, None))
    error(lambda: f(t.ones(1, requires_grad=True), 4, t.ones(1)).backward())


@case
def not_differentiable(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor) -> tuple[t.Tensor, t.Tensor, t.Tensor]:
        return x * 2, x > 0, x * 3

    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[2])

    def backward(ctx, a, b, c):
        note(a, b, c)
        return a * 2
    f.register_autograd(backward, setup_context=setup)
    x = t.ones(2, requires_grad=True)
    y, m, z = f(x)
    note(y, m, z)
    y.sum().backward()
    note(x.grad)


@case
def gradients_not_made(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor) -> tuple[t.Tensor, t.Tensor]:
        return x * 2, x * 3

    def backward(ctx, a, b):
        note(a, b)
        return a
    f.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False))
    x = t.ones(2, requires_grad=True)
    f(x)[0].sum().backward()
    note(x.grad)


@case
def gradients_of_lists(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(xs: list[t.Tensor], n: float) -> list[t.Tensor]:
        return [x * n for x in xs]

    def backward(ctx, grads):
        note(ctx.needs_input_grad)
        return [g * ctx.n for g in grads], None
    f.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "n", inputs[1]))
    x, y = t.ones(1, requires_grad=True), t.ones(2, requires_grad=True)
    a, b = f([x, y], 3.0)
    (a.sum() + b.sum()).backward()
    note(a, b, x.grad, y.grad)


@case
def list_gradient_of_wrong_form(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(xs: list[t.Tensor]) -> t.Tensor:
        return xs[0] + xs[1]
    f.register_autograd(lambda ctx, g: (g, g))
    try:
        f([t.ones(1, requires_grad=True), t.ones(1)]).sum().backward()
    except RuntimeError as e:
        note(str(e).partition(". Got")[0])


@case
def keyword_inputs(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, *, n: float = 2.0) -> t.Tensor:
        return x * n

    def setup(ctx, inputs, keyword_only_inputs, output):
        note(inputs, str(keyword_only_inputs))
        ctx.n = keyword_only_inputs["n"]
    f.register_autograd(lambda ctx, g: g * ctx.n, setup_context=setup)
    x = t.ones(1, requires_grad=True)
    f(x, n=5.0).backward()
    note(x.grad)
    f(x)


@case
def defaults_in_context(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int = 3) -> t.Tensor:
        return x * n
    f.register_autograd(lambda ctx, g: (g, None), setup_context=lambda ctx, inputs, output: note(inputs))
    f(t.ones(1, requires_grad=True))
    f(n=4, x=t.ones(1, requires_grad=True))


@case
def not_recorded_inside(t, ns, note, error):
    def f(x):
        note(t.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad)
        return x * 2
    op = t.library.custom_op(f"{ns}::f", f, mutates_args=(), schema="(Tensor x) -> Tensor")
    note(op(t.ones(1, requires_grad=True)))
    with t.no_grad():
        op(t.ones(1, requires_grad=True))


@case
def gradient_of_ops_overload(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    t.library.impl(f"{ns}::f", "cpu", lambda x: x * 2)
    t.library.register_autograd(f"{ns}::f", lambda ctx, g: g * 2)
    f = getattr(t.ops, ns).f
    x = t.ones(1, requires_grad=True)
    y = f(x)
    y.backward()
    note(y, x.grad)


@case
def forward_mode(t, ns, note, error):
    op = with_gradient(t, ns)
    forward = t.autograd.forward_ad
    with forward.dual_level():
        note(forward.unpack_dual(op(forward.make_dual(t.ones(2), t.ones(2)))).tangent)
        error(lambda: op(forward.make_dual(t.ones(2, requires_grad=True), t.ones(2))))


@case
def forward_mode_of_recorded_operations(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    forward = t.autograd.forward_ad
    with forward.dual_level():
        note(forward.unpack_dual(getattr(t.ops, ns).f(forward.make_dual(t.ones(2), t.ones(2)))).tangent)


@case
def function_transforms(t, ns, note, error):
    op = with_gradient(t, ns)
    error(lambda: note(t.func.grad(lambda x: op(x).sum())(t.ones(2))))
    error(lambda: t.func.jvp(op, (t.ones(2),), (t.ones(2),)))


# -- fakes --------------------------------------------------------------------------------------------------------------------------


@case
def fake(t, ns, note, error):
    op = sine(t, ns)
    error(lambda: op(t.ones(2, device="meta")))
    t.library.register_fake(f"{ns}::sin")(lambda x: t.empty_like(x))
    note(op(t.ones(2, device="meta")))
    op.register_fake(lambda x: x.new_empty(5))
    note(op(t.ones(2, device="meta")))


@case
def fake_of_library(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    f = getattr(t.ops, ns).f
    error(lambda: f(t.ones(2, device="meta")))
    t.library.register_fake(f"{ns}::f", lambda x: x.new_empty(x.shape[0] + 1))
    note(f(t.ones(2, device="meta")))


@case
def fake_of_values(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::nonzero", lambda x: t.from_numpy(np.stack(np.nonzero(x.numpy()), 1)), mutates_args=(),
                             schema="(Tensor x) -> Tensor")

    @op.register_fake
    def _(x):
        ctx = t.library.get_ctx()
        return x.new_empty([ctx.new_dynamic_size(), x.dim()], dtype=t.int64)
    note(op(t.tensor([1., 0., 2.])))
    error(lambda: op(t.ones(3, device="meta")))
    note(t.library.get_ctx())


@case
def abstract(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    t.library.impl_abstract(f"{ns}::f", lambda x: x.new_empty(3))
    note(getattr(t.ops, ns).f(t.ones(2, device="meta")))


@case
def meta_kernel(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    t.library.impl(f"{ns}::f", "Meta", lambda x: x.new_empty(4))
    note(getattr(t.ops, ns).f(t.ones(2, device="meta")))


# -- the rest -----------------------------------------------------------------------------------------------------------------------


@case
def scripts(t, ns, note, error):
    error(lambda: t.library.wrap_triton(lambda x: x))
    error(lambda: t.library.triton_op(f"{ns}::f", mutates_args=()))


@case
def tags(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", tags=t.Tag.pointwise)
    note(sorted(map(str, op._opoverload.tags)))
    t.library.define(f"{ns}::g", "(Tensor x) -> Tensor", tags=(t.Tag.pt2_compliant_tag,))
    note(sorted(map(str, getattr(t.ops, ns).g.default.tags)))


TABLE = Table("library", sorted(CASES, key=lambda name: CASES[name].__module__), outcome)  # torch warns of some things once only
