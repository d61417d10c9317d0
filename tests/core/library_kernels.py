"""Programs that register kernels: `Library`, keys, fallbacks, rules for vmap; who looks at operations; `opcheck`."""

# ruff: noqa: F821, UP045



from tests.core.library_programs import case, sine, with_gradient, words


# -- Library ------------------------------------------------------------------------------------------------------------------------


@case
def library(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    note(lib.define("twice(Tensor x, float n=2.) -> Tensor"), repr(lib))
    lib.impl("twice", lambda x, n=2.: x * n, "CPU")
    f = getattr(t.ops, ns).twice
    note(f(t.ones(1)), f(t.ones(1), 3.), f(x=t.ones(1)))
    error(lambda: f(t.ones(1, device="meta")))


@case
def missing_kernel(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    error(lambda: getattr(t.ops, ns).f(t.ones(1)))
    lib.impl("f", lambda x: x + 1, "CUDA")
    error(lambda: getattr(t.ops, ns).f(t.ones(1)))


@case
def defined_twice(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    try:
        lib.define("f(Tensor x) -> Tensor")
    except RuntimeError as e:
        note(str(e).partition("\n")[0].partition(" Each overload")[0])
    try:
        t.library.Library(ns, "DEF")
    except RuntimeError as e:
        note(str(e).partition(";")[0])


@case
def kinds(t, ns, note, error):
    error(lambda: t.library.Library(ns, "OTHER"))
    error(lambda: t.library.Library("prim", "DEF"))
    lib = t.library.Library(ns, "IMPL")
    try:
        lib.define("f(Tensor x) -> Tensor")
    except RuntimeError as e:
        note(str(e).partition("Error in operator")[0][:60])


@case
def implemented_twice(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    error(lambda: lib.impl("f", lambda x: x + 2, "CPU", allow_override=False))
    error(lambda: lib.impl("f", 3, "CPU"))
    error(lambda: lib.impl(3, lambda x: x, "CPU"))
    note(getattr(t.ops, ns).f(t.ones(1)))
    lib.impl(getattr(t.ops, ns).f.default, lambda x: x + 9, "CPU")
    note(getattr(t.ops, ns).f(t.ones(1)))


@case
def made_of_others(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.sin() * 2)
    x = t.ones(1, requires_grad=True)
    y = getattr(t.ops, ns).f(x)
    y.backward()
    note(y, x.grad, getattr(t.ops, ns).f(t.ones(2, device="meta")))


@case
def made_of_others_explicitly(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.sin() * 2, "CompositeExplicitAutograd")
    note(getattr(t.ops, ns).f(t.ones(1)), getattr(t.ops, ns).f(t.ones(2, device="meta")))
    lib.impl("f", lambda x: x + 1, "CPU")
    note(getattr(t.ops, ns).f(t.ones(1)))


@case
def no_gradient_of_library(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: t.from_numpy(x.detach().numpy() * 2), "CPU")
    x = t.ones(1, requires_grad=True)
    y = getattr(t.ops, ns).f(x)
    note(y.requires_grad, y)
    y.sum().backward()
    note(x.grad)


@case
def kernel_of_recorded_operations(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    x = t.ones(1, requires_grad=True)
    y = getattr(t.ops, ns).f(x)
    note(y.requires_grad)
    y.sum().backward()
    note(x.grad)


@case
def own_autograd_kernel(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    f = getattr(t.ops, ns).f.default

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t._C._AutoDispatchBelowAutograd():
                return f(x)

        @staticmethod
        def backward(ctx, g):
            return g * 20
    lib.impl("f", F.apply, "Autograd")
    x = t.ones(1, requires_grad=True)
    y = f(x)
    y.backward()
    note(y.requires_grad, x.grad)


@case
def overloads(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f.two", lambda x, y: x + y, "CPU")
    f = getattr(t.ops, ns).f
    note(f(t.ones(1)), f(t.ones(1), t.ones(1)), f.two(t.ones(1), t.ones(1)), sorted(f.overloads()), f.two.name(), str(f.two))
    error(lambda: t.library.opcheck(f, (t.ones(1),)))


@case
def decorators_of_library(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")

    @t.library.define(lib, "f(Tensor x) -> Tensor")
    def f(x):
        return x + 1

    @t.library.impl(lib, "f", "CPU")
    def g(x):
        return x + 2
    note(getattr(t.ops, ns).f(t.ones(1)), f(t.ones(1)))


@case
def functions_of_library(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor x) -> Tensor")

    @t.library.impl(f"{ns}::f", "default")
    def f(x):
        return x + 1
    note(getattr(t.ops, ns).f(t.ones(1)), f)
    error(lambda: t.library.define("f", "(Tensor x) -> Tensor"))
    error(lambda: t.library.define(f"{ns}::g", "f(Tensor x) -> Tensor"))
    error(lambda: t.library.define(3, "f(Tensor x) -> Tensor"))
    error(lambda: t.library.define(f"{ns}::g", "Tensor"))
    error(lambda: t.library.impl(f"{ns}::f", "nothing", lambda x: x))


@case
def no_overload_fits(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.two(Tensor x, int y) -> Tensor")
    error(lambda: getattr(t.ops, ns).f(3))


@case
def no_tensors(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(int n) -> Tensor")
    try:
        getattr(t.ops, ns).f(3)
    except NotImplementedError as e:
        note(str(e).partition("  Available")[0])
    lib.impl("f", lambda n: t.ones(n), "CompositeExplicitAutograd")
    note(getattr(t.ops, ns).f(3))


@case
def returns_its_input_as_library(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    x, w = t.ones(2), t.ones(2, requires_grad=True)
    note(getattr(t.ops, ns).f(x) is x)
    y = getattr(t.ops, ns).f(w)
    note(y is w, y.grad_fn)


@case
def garbage(t, ns, note, error):
    import gc

    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    note(hasattr(getattr(t.ops, ns), "f"))
    del lib
    gc.collect()
    note(hasattr(getattr(t.ops, ns), "f"))


@case
def destroyed(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    f = getattr(t.ops, ns).f
    note(f(t.ones(1)))
    lib._destroy()
    error(lambda: getattr(t.ops, ns).f)
    again = t.library.Library(ns, "DEF")
    again.define("f(Tensor x) -> Tensor")
    again.impl("f", lambda x: x + 5, "CPU")
    note(getattr(t.ops, ns).f(t.ones(1)))
    error(lambda: lib.define("g(Tensor x) -> Tensor"))


@case
def implementation_destroyed(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    with t.library._scoped_library(ns, "IMPL") as other:
        other.impl("f", lambda x: x + 100, "CPU")
        note(getattr(t.ops, ns).f(t.ones(1)))
    note(getattr(t.ops, ns).f(t.ones(1)))


@case
def unknown_keys(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    error(lambda: lib.impl("f", lambda x: x, "Nothing"))
    error(lambda: lib.fallback(lambda *a: None, "CPU"))


@case
def unknown_operations(t, ns, note, error):
    error(lambda: t.library.register_autograd(f"{ns}::f", lambda ctx, g: g))
    error(lambda: t.library.register_vmap(f"{ns}::f", lambda info, dims, x: (x, 0)))
    error(lambda: t.library.register_autograd(3, lambda ctx, g: g))
    error(lambda: t.library.register_fake("f", lambda x: x))
    error(lambda: t.library.opcheck(f"{ns}::f", ()))
    error(lambda: t.library.custom_op("f", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor"))


@case
def not_functional(t, ns, note, error):
    t.library.define(f"{ns}::f", "(Tensor(a!) x) -> ()")
    t.library.define(f"{ns}::g", "(Tensor(a) x) -> Tensor(a)")
    t.library.define(f"{ns}::h", "(Tensor x, *, Tensor y) -> Tensor")
    for name in "fgh":
        error(lambda: t.library.register_autograd(f"{ns}::{name}", lambda ctx, g: g))
    error(lambda: t.library.register_vmap(f"{ns}::h", lambda info, dims, x, y: (x, 0)))


@case
def of_aten(t, ns, note, error):
    with t.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("neg", lambda x: x * -10, "CPU")
        note(t.neg(t.ones(1)), -t.ones(1))
    note(t.neg(t.ones(1)))


@case
def of_aten_with_overload(t, ns, note, error):
    with t.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("div.Tensor", lambda x, y: x * y * 100, "CPU")
        note(t.div(t.ones(1), t.full((1,), 2.)), t.ones(1) / t.full((1,), 2.))
    note(t.ones(1) / t.full((1,), 2.))


@case
def of_aten_with_gradient(t, ns, note, error):
    with t.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sinh", lambda x: x * 7, "CPU")
        x = t.ones(1, requires_grad=True)
        y = t.sinh(x)
        y.backward()
        note(y, x.grad)


@case
def fallthrough(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f", t.library.fallthrough_kernel, "Autograd")
    y = getattr(t.ops, ns).f(t.ones(1, requires_grad=True))
    note(y.requires_grad)
    error(t.library.fallthrough_kernel)


# -- keys, fallbacks, kernels as values ---------------------------------------------------------------------------------------------


@case
def key_sets(t, ns, note, error):
    Key, Keys = t.DispatchKey, t.DispatchKeySet
    both = Keys(Key.AutogradCPU) | Keys(Key.CPU)
    note(both, both.has(Key.CPU), both.has(Key.Meta), both - Keys(Key.CPU), both & Keys(Key.CPU), both.add(Key.AutocastCPU),
         both.remove(Key.CPU), both.highestPriorityTypeId(), Keys(Key.CPU).add(Key.Meta), Keys(Key.Undefined),
         Keys(Key.CPU) == Keys(Key.CPU))
    note(Key.CPU.name, Key.AutogradCPU, Key.CPU.value, Key.Autograd.value, t._C.DispatchKey is Key, Key.__module__, Keys.__module__)
    note([Key.__members__[name].value for name in ("AutocastCPU", "Functionalize", "CompositeImplicitAutograd", "AutogradMeta")])
    after, views = t._C._after_autograd_keyset, t._C._after_ADInplaceOrView_keyset
    note([[keys.has(k) for k in (Key.CPU, Key.AutogradCPU, Key.ADInplaceOrView, Key.Meta, Key.AutocastCPU)] for keys in (after, views)])
    for wrong in (lambda: Keys(3), lambda: Keys(), lambda: both == 3):
        try:
            wrong()
        except TypeError:
            note("TypeError")


@case
def kernels_that_are_told_the_keys(t, ns, note, error):
    x = t.ones(1)
    for key in ("CPU", "Meta", "Autograd", "AutogradCPU", "AutocastCPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        lib = t.library.Library(f"{ns}_{key}", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda keys, x: (note(key, keys, type(keys).__name__), x * 2)[1], key, with_keyset=True)
        for given in (x, t.ones(1, requires_grad=True), t.ones(1, device="meta")):
            with t.autocast("cpu"):
                try:
                    getattr(t.ops, f"{ns}_{key}").f(given)
                except NotImplementedError:
                    note(key, "NotImplementedError")
        lib._destroy()


@case
def walks_that_go_on(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x, int n=2) -> Tensor")
    op = getattr(t.ops, ns).f

    def outer(keys, x, n=2):
        note("outer", keys, n)
        return op.default.redispatch(keys & t._C._after_autograd_keyset, x, n)

    lib.impl("f", outer, "Autograd", with_keyset=True)
    lib.impl("f", lambda keys, x, n=2: (note("inner", keys), x * n)[1], "CPU", with_keyset=True)
    note(op(t.ones(1, requires_grad=True)), op(t.ones(1), 5))
    Key, Keys = t.DispatchKey, t.DispatchKeySet
    x = t.ones(1, requires_grad=True)
    note(t.ops.aten.sin.default.redispatch(Keys(Key.CPU), x), t.ops.aten.sin.default.redispatch(Keys(Key.CPU).add(Key.AutogradCPU), x))


@case
def kernels_as_values(t, ns, note, error):
    lib = t.library.Library(ns, "DEF")
    lib.define("f(Tensor x, int n=2) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("f", lambda x, n=2: x * n, "CPU")
    Key, cpu = t.DispatchKey, t.DispatchKeySet(t.DispatchKey.CPU)
    find = t.library.get_kernel
    kernel = find(f"{ns}::f", "CPU")
    note(type(kernel).__name__, kernel.call_boxed(cpu, t.ones(2)), kernel.call_boxed(cpu, t.ones(2), n=5), find(
        getattr(t.ops, ns).f.default, Key.CPU).call_boxed(cpu, t.ones(2), 3))
    lib.impl("f", lambda x, n=2: kernel.call_boxed(cpu, x, n) + 100, "CPU")
    note(getattr(t.ops, ns).f(t.ones(1)), kernel.call_boxed(cpu, t.ones(1)), find(f"{ns}::f", "CPU").call_boxed(cpu, t.ones(1)))
    for wrong in (lambda: find(f"{ns}::nothing", "CPU"), lambda: find(f"{ns}::g", "CPU"), lambda: find(f"{ns}::f", "Nothing"),
                  lambda: find(3, "CPU"), lambda: find("aten::nothing", "CPU"), lambda: find("sin", "CPU")):
        error(wrong)
    try:
        kernel.call_boxed(t.ones(2))
    except TypeError:
        note("TypeError")


@case
def kernels_of_torchs_own_as_values(t, ns, note, error):
    Key, cpu = t.DispatchKey, t.DispatchKeySet(t.DispatchKey.CPU)
    x = t.full((2,), 0.5, requires_grad=True)
    find = t.library.get_kernel
    sin = find("aten::sin", "CPU")
    note(sin.call_boxed(cpu, x), find("aten::add.Tensor", "CPU").call_boxed(cpu, x.detach(), t.ones(2), alpha=3),
         find(t.ops.aten.mul.Tensor, Key.CPU).call_boxed(cpu, x.detach(), x.detach()),
         find("aten::sin", "AutogradCPU").call_boxed(cpu.add(Key.AutogradCPU), x))
    with t.library._scoped_library("aten", "IMPL") as lib:
        def some(keys, x):
            return sin.call_boxed(keys, x) if bool((x < 0).any()) else t.zeros_like(x)

        lib.impl("sin", some, "CPU", with_keyset=True)
        one = t.ones(1)
        note(t.sin(one), t.sin(-one), sin.call_boxed(cpu, one), find("aten::sin", "CPU").call_boxed(cpu, one), t.cos(one))
    note(t.sin(t.ones(1)))


@case
def fallbacks(t, ns, note, error):
    lib, rest = t.library.Library(ns, "DEF"), t.library.Library("_", "IMPL")
    lib.define("f(Tensor x, *, int n=2) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    lib.define("h(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x + 1, "CompositeExplicitAutograd")
    lib.impl("h", lambda x: x + 2, "CompositeImplicitAutograd")
    f, g, h = [getattr(getattr(t.ops, ns), name) for name in "fgh"]
    rest.fallback(lambda op, *args, **kwargs: (note(op, len(args), kwargs), args[0] * 7)[1], "CPU")
    x = t.ones(1)
    note(f(x), f(x, n=3), g(x), h(x), t.sin(x))

    def refused(function):
        try:
            function()
        except (RuntimeError, AssertionError) as e:
            note(type(e).__name__, str(e).partition(";")[0].partition("  (Error")[0])

    again = t.library.Library("_", "IMPL", "CPU")
    refused(lambda: again.fallback(lambda op, *args: args[0]))
    for key in ("", "Nothing", "AutocastCPU", "AutogradCPU", "Meta", "Functionalize"):
        refused(lambda: rest.fallback(lambda op, *args: args[0], key))
    refused(lambda: t.library.Library("_", "FRAGMENT"))
    rest._destroy()
    refused(lambda: rest.fallback(lambda op, *args: args[0], "CPU"))
    try:
        f(x)
    except NotImplementedError:
        note("NotImplementedError")
    again.fallback(lambda keys, op, *args: (note(keys, op), args[0] * 3)[1], with_keyset=True)
    note(f(x))
    again._destroy()


# -- vmap ---------------------------------------------------------------------------------------------------------------------------


@case
def vmap(t, ns, note, error):
    op = sine(t, ns)

    def rule(info, in_dims, x):
        note(info.batch_size, info.randomness, in_dims, list(x.shape))
        return op(x), in_dims[0]
    op.register_vmap(rule)
    x = t.arange(6.).reshape(2, 3)
    note(t.vmap(op)(x), t.vmap(op, in_dims=1)(x), op(x))


@case
def vmap_of_several(t, ns, note, error):
    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, y: t.Tensor, n: int) -> tuple[t.Tensor, t.Tensor]:
        return x + y * n, x.clone()

    @t.library.register_vmap(f"{ns}::f")
    def rule(info, in_dims, x, y, n):
        note(in_dims)
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.expand(info.batch_size, *x.shape)
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return f(x, y, n), (0, 0)
    x, y = t.ones(2, 3), t.arange(3.)
    note(t.vmap(f, in_dims=(0, None, None))(x, y, 2))
    note(t.vmap(lambda y: f(x[0], y, 2))(x))


@case
def vmap_without_rule(t, ns, note, error):
    op = sine(t, ns)
    error(lambda: note(t.vmap(op)(t.ones(2, 3))))


@case
def vmap_of_vmap(t, ns, note, error):
    op = sine(t, ns)
    op.register_vmap(lambda info, dims, x: (op(x), dims[0]))
    note(t.vmap(t.vmap(op))(t.ones(2, 3)))


@case
def vmap_rule_with_wrong_result(t, ns, note, error):
    op = sine(t, ns)
    op.register_vmap(lambda info, dims, x: op(x))
    error(lambda: t.vmap(op)(t.ones(3, 3)))


@case
def vmap_and_gradient(t, ns, note, error):
    op = with_gradient(t, ns)
    op.register_vmap(lambda info, dims, x: (op(x), dims[0]))
    x = t.ones(2, 3, requires_grad=True)
    t.vmap(op)(x).sum().backward()
    note(x.grad)


# -- those who look at calls --------------------------------------------------------------------------------------------------------


@case
def function_mode(t, ns, note, error):
    op = with_gradient(t, ns)

    class Mode(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            note(str(func), [type(a).__name__ for a in args], str(kwargs))
            return func(*args, **(kwargs or {}))
    x = t.ones(2)
    with Mode():
        op(x)
        getattr(t.ops, ns).sin.default(x)
        getattr(t.ops, ns).sin(x)


@case
def function_subclass(t, ns, note, error):
    op = sine(t, ns)

    class Loud(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if "sin" in str(func):
                note(str(func), [c.__name__ for c in types])
                return "seen"
            return super().__torch_function__(func, types, args, kwargs)
    note(op(t.ones(2).as_subclass(Loud)))


@case
def dispatch_mode(t, ns, note, error):
    from importlib import import_module
    op = with_gradient(t, ns)

    class Mode(import_module(t.__name__ + ".utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            note(str(func), len(args), str(kwargs), [a.requires_grad for a in args if hasattr(a, "requires_grad")])
            return func(*args, **(kwargs or {}))
    x = t.ones(2, requires_grad=True)
    with Mode():
        y = op(x)
    note(y)
    y.sum().backward()
    note(x.grad)


@case
def dispatch_mode_sees_defaults(t, ns, note, error):
    from importlib import import_module

    @t.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: t.Tensor, n: int = 3, *, k: float = 1.0) -> t.Tensor:
        return x * n * k

    class Mode(import_module(t.__name__ + ".utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if "case" in str(func):
                note(str(func), list(args[1:]), str(kwargs))
            return func(*args, **(kwargs or {}))
    x = t.ones(2)
    with Mode():
        f(x), f(x, 3), f(x, 4), f(x, n=4), f(x, k=1.0), f(x, k=2.0)


@case
def torch_dispatch_rule(t, ns, note, error):
    from importlib import import_module
    op = sine(t, ns)

    class Mode(import_module(t.__name__ + ".utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            note("the mode", str(func))
            return func(*args, **(kwargs or {}))

    @t.library.register_torch_dispatch(f"{ns}::sin", Mode)
    def rule(mode, func, types, args, kwargs):
        note("the rule", type(mode).__name__, str(func), len(args))
        return args[0] + 100
    with Mode():
        y = op(t.ones(1))
    note(y)


@case
def autocast(t, ns, note, error):
    op = t.library.custom_op(f"{ns}::f", lambda x, n: x * n, mutates_args=(), schema="(Tensor x, int n) -> Tensor")
    t.library.register_autocast(f"{ns}::f", "cpu", t.bfloat16)
    with t.autocast("cpu"):
        note(op(t.ones(1), 2), op(t.ones(1, dtype=t.float64), 2), op(t.ones(1, dtype=t.int64), 2))
    note(op(t.ones(1), 2))
    error(lambda: t.library.register_autocast(f"{ns}::f", "nothing", t.bfloat16))
    error(lambda: op.register_autocast(3, t.bfloat16))


@case
def profiled(t, ns, note, error):
    op = sine(t, ns)
    x = t.ones(2)
    with t.autograd.profiler.profile() as prof:
        op(x)
    note(f"{ns}::sin" in [e.name for e in prof.function_events])


@case
def conjugates(t, ns, note, error):
    def f(x):
        note(x.is_conj())
        return x * 2
    op = t.library.custom_op(f"{ns}::f", f, mutates_args=(), schema="(Tensor x) -> Tensor")
    note(t.view_as_real(op(t.tensor([1 + 2j]).conj())))


@case
def inference(t, ns, note, error):
    op = with_gradient(t, ns)
    with t.inference_mode():
        y = op(t.ones(1))
    note(y.is_inference(), y)


# -- opcheck ------------------------------------------------------------------------------------------------------------------------


@case
def checked(t, ns, note, error):
    op = with_gradient(t, ns)
    op.register_fake(lambda x: t.empty_like(x))
    utils = ("test_schema", "test_autograd_registration")
    note(str(t.library.opcheck(op, (t.ones(2),), test_utils=utils)))
    note(str(t.library.opcheck(op, (t.ones(2, requires_grad=True),), test_utils=utils)))
    note(str(t.library.opcheck(getattr(t.ops, ns).sin, (t.ones(2),), test_utils="test_schema")))
    error(lambda: t.library.opcheck(op, (t.ones(2),), test_utils="nothing"))
    error(lambda: t.library.opcheck(op, (t.ones(2),), atol=1))


@case
def checked_fake(t, ns, note, error):
    op = sine(t, ns)
    op.register_fake(lambda x: t.empty_like(x))
    note(str(t.library.opcheck(op, (t.ones(2),), test_utils="test_faketensor")))
    op.register_fake(lambda x: x.new_empty(7))
    found = t.library.opcheck(op, (t.ones(2),), test_utils="test_faketensor", raise_exception=False)
    note(type(found["test_faketensor"]).__name__ != "str")


@case
def checked_whole(t, ns, note, error):
    op = with_gradient(t, ns)
    op.register_fake(lambda x: t.empty_like(x))
    note(sorted(t.library.opcheck(op, (t.rand(3, requires_grad=True),)).items()))
    wrong = t.library.custom_op(f"{ns}::wrong", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    wrong.register_fake(lambda x: x.new_empty(7))
    wrong.register_autograd(lambda ctx, g: g)
    found = t.library.opcheck(wrong, (t.rand(3, requires_grad=True),), raise_exception=False)
    note(sorted([k for k, v in found.items() if v == "SUCCESS"]))


@case
def checked_without_fake(t, ns, note, error):
    op = sine(t, ns)
    found = t.library.opcheck(op, (t.ones(2),), test_utils="test_faketensor", raise_exception=False)
    note(str(found["test_faketensor"]))


@case
def checked_autograd_registration(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.clone(), "CPU")
    f = getattr(t.ops, ns).f
    note(str(t.library.opcheck(f, (t.ones(2),), test_utils="test_autograd_registration")))
    found = t.library.opcheck(f, (t.ones(2, requires_grad=True),), test_utils="test_autograd_registration", raise_exception=False)
    note(type(found["test_autograd_registration"]).__name__)


@case
def checked_alias(t, ns, note, error):
    lib = t.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    found = t.library.opcheck(getattr(t.ops, ns).f, (t.ones(2),), test_utils="test_schema", raise_exception=False)
    note(words(str(found["test_schema"])))
