"""HIPS autograd's names over autograd_tape: its engine replaced, the rest of it loaded from its source distribution.

`install(sdist)` puts a package `autograd` into `sys.modules`. `autograd.numpy` is `autograd_tape.numpy`; the engine's modules (`core`,
`tracer`, `extend`, `builtins`) are the functions below. What HIPS autograd builds on its engine (`differential_operators`, `test_util`,
`misc`, `scipy`) is its own code, imported from the folder of the source distribution as it is.

HIPS's gradient of a complex number is the conjugate of ours: cotangents are conjugated on the way in and out.
"""

from __future__ import annotations

import builtins
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import autograd_tape as at
import autograd_tape.numpy as anp
from autograd_tape import TensorRef
from autograd_tape.lazy import call
from autograd_tape.tree import leaves, tree_map

# -- vector spaces ----------------------------------------------------------------------------------------------------------


class VSpace:
    """What values of a kind have in common: here arrays of a shape and dtype."""

    def __init__(self, value: Any) -> None:
        self.shape: Any = tuple(np.shape(value))
        self.dtype = value._k.np if isinstance(value, TensorRef) else np.asarray(value).dtype
        if self.dtype.kind not in "fc":
            raise TypeError(f"Can't find vector space for value {value} of type {builtins.type(value)}.")

    @property
    def iscomplex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * (2 if self.iscomplex else 1)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.full(self.shape, 1 + 1j if self.iscomplex else 1, self.dtype)

    def randn(self) -> Any:
        real = np.array(np.random.randn(*self.shape)).astype(self.dtype)
        return real + 1j * np.array(np.random.randn(*self.shape)).astype(self.dtype) if self.iscomplex else real

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            for unit in (1.0, 1j) if self.iscomplex else (1.0,):
                vector = self.zeros()
                vector[index] = unit
                yield vector

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def mut_add(self, x: Any, y: Any) -> Any:
        return y if x is None else x + y

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def inner_prod(self, x: Any, y: Any) -> Any:
        if self.iscomplex:
            return anp.real(anp.dot(anp.conj(anp.ravel(x)), anp.ravel(y)))
        return anp.dot(anp.ravel(x), anp.ravel(y))

    def covector(self, x: Any) -> Any:
        return anp.conj(x) if self.iscomplex else x

    def __eq__(self, other: Any) -> bool:
        return builtins.type(self) is builtins.type(other) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{builtins.type(self).__name__}_{self.__dict__}"


class ContainerVSpace(VSpace):
    """Tuples, lists and dicts of values."""

    def __init__(self, value: Any) -> None:
        self.kind, self.shape = builtins.type(value), tree_of(vspace, value)

    iscomplex = False  # type: ignore[assignment]

    @property
    def size(self) -> int:
        return sum([s.size for s in self._spaces()])

    def _spaces(self) -> list[VSpace]:
        return list(self.shape.values()) if builtins.isinstance(self.shape, dict) else list(self.shape)

    def _map(self, function: Callable[..., Any], *xs: Any) -> Any:
        return tree_of(function, self.shape, *xs)

    def zeros(self) -> Any:
        return self._map(lambda s: s.zeros())

    def ones(self) -> Any:
        return self._map(lambda s: s.ones())

    def randn(self) -> Any:
        return self._map(lambda s: s.randn())

    def standard_basis(self) -> Iterator[Any]:
        keys = list(self.shape) if builtins.isinstance(self.shape, dict) else range(len(self.shape))
        for key in keys:
            for unit in self.shape[key].standard_basis():
                found = self.zeros()
                if builtins.isinstance(found, tuple):
                    yield (*found[:key], unit, *found[key + 1:])
                else:
                    found[key] = unit
                    yield found

    def add(self, x: Any, y: Any) -> Any:
        return self._map(lambda s, a, b: s.add(a, b), x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self._map(lambda s, e: s.scalar_mul(e, a), x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        found = self._map(lambda s, a, b: s.inner_prod(a, b), x, y)
        return sum(found.values() if builtins.isinstance(found, dict) else found)

    def covector(self, x: Any) -> Any:
        return self._map(lambda s, e: s.covector(e), x)


def tree_of(function: Callable[..., Any], first: Any, *rest: Any) -> Any:
    """One level of a container mapped."""
    if builtins.isinstance(first, dict):
        return {key: function(value, *[r[key] for r in rest]) for key, value in first.items()}
    made = [function(*values) for values in zip(first, *rest)]
    return builtins.type(first)(*made) if hasattr(first, "_fields") else builtins.type(first)(made)


def vspace(value: Any) -> VSpace:
    return ContainerVSpace(value) if builtins.isinstance(value, (tuple, list, dict)) else VSpace(value)


# -- derivatives ------------------------------------------------------------------------------------------------------------


def _conj(tree: Any) -> Any:
    return tree_map(lambda x: anp.conj(x) if np.iscomplexobj(x) else x, tree)


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """(pullback, value), by `autograd_tape.vjp`."""
    vspace(x)
    output, pullback = at.vjp(fun, x)
    if not any([isinstance_(leaf, TensorRef) for leaf in leaves(output)]):
        _warn_independent(fun, x, output)

    def vjp(g: Any) -> Any:
        fitted = tree_map(lambda o, c: c if np.iscomplexobj(o) or not np.iscomplexobj(c) else anp.real(c), output, g)
        return _conj(pullback(_conj(fitted))[0])

    return vjp, output


def _warn_independent(fun: Any, x: Any, output: Any) -> None:
    """HIPS warns of functions that do not depend on their argument; here the gradient is zero without a word."""


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
    """The pushforward, by `autograd_tape.jvp`."""
    return lambda g: at.jvp(fun, (x,), (g,))


# -- primitives -------------------------------------------------------------------------------------------------------------

primitive_vjps: dict[Any, Any] = {}


class _Primitive(at.Operation):
    """A function whose gradient is defined apart from it."""

    number = 0

    def __init__(self, raw: Callable[..., Any]) -> None:
        _Primitive.number += 1
        super().__init__(f"primitive_{_Primitive.number}")
        self.raw = raw

    def execute(self, *primals: Any, call: Any) -> Any:
        args, kwargs, where, _ = call
        return self.raw(*_filled(args, where, primals), **kwargs)

    def vjp_rule(self, primals: Sequence[Any], cotangent: Any, output: Any, *, call: Any) -> Any:
        args, kwargs, where, wanted = call
        full = _filled(args, where, primals)
        if self.wrapped not in primitive_vjps:
            raise NotImplementedError(f"VJP of {self.raw} wrt argnums {wanted} not defined")
        found = iter(tuple(primitive_vjps[self.wrapped](wanted, output, full, kwargs)(_conj(cotangent))))
        return tuple([_conj(next(found)) if i in wanted else None for i in where])


def _filled(args: Sequence[Any], where: Sequence[int], primals: Sequence[Any]) -> list[Any]:
    full = list(args)
    for i, x in zip(where, primals):
        full[i] = x
    return full


def primitive(raw: Callable[..., Any]) -> Callable[..., Any]:
    operation = _Primitive(raw)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tensors = [[x for x in leaves(arg) if builtins.isinstance(x, TensorRef)] for arg in args]
        where = [i for i, found in enumerate(tensors) if found]
        wanted = tuple([i for i in where if any([x.requires_grad for x in tensors[i]])])
        rest = tuple([None if i in where else x for i, x in enumerate(args)])
        return operation(*[args[i] for i in where], call=(rest, kwargs, where, wanted)) if where else raw(*args, **kwargs)

    operation.wrapped = wrapped
    wrapped.fun = raw
    wrapped.__name__ = getattr(raw, "__name__", "primitive")
    # HIPS's older ways to say what gradients are, one argument at a time.
    makers: dict[int, Any] = {}

    def defgrad(maker: Any, argnum: int = 0) -> None:
        makers[argnum] = maker
        defvjp(wrapped, *makers.values(), argnums=tuple(makers))

    def older_defvjp(maker: Any, argnum: int = 0) -> None:
        defgrad(lambda ans, *args, **kwargs: lambda g: maker(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs), argnum)

    def defvjp_is_zero(argnums: Sequence[int] = (0,)) -> None:
        for argnum in argnums:
            defgrad(None, argnum)

    wrapped.defgrad, wrapped.defvjp, wrapped.defvjp_is_zero = defgrad, older_defvjp, defvjp_is_zero
    return wrapped


def notrace_primitive(raw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: raw(*map(getval, args), **kwargs)


def defvjp_argnums(fun: Any, maker: Any) -> None:
    primitive_vjps[fun] = maker


def defvjp_argnum(fun: Any, maker: Any) -> None:
    def argnums(wanted: Any, *args: Any) -> Any:
        made = [maker(i, *args) for i in wanted]
        return lambda g: [m(g) for m in made]

    defvjp_argnums(fun, argnums)


def defvjp(fun: Any, *makers: Any, argnums: Any = None) -> None:
    table = dict(zip(range(len(makers)) if argnums is None else argnums, makers))

    def vjps(wanted: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        for i in wanted:
            if i not in table:
                raise NotImplementedError(f"VJP of {fun.__name__} wrt argnum {i} not defined")
        made = [(lambda g: 0.0 * g) if table[i] is None else table[i](ans, *args, **kwargs) for i in wanted]
        zero = [table[i] is None for i in wanted]
        return lambda g: [vspace(args[i]).zeros() if z else m(g) for i, m, z in zip(wanted, made, zero)]

    defvjp_argnums(fun, vjps)


def defjvp(fun: Any, *makers: Any, **kwargs: Any) -> None:
    """Pushforwards are pullbacks of pullbacks here, and follow from `defvjp`."""


def def_linear(fun: Any) -> None:
    """As `defjvp`."""


def getval(x: Any) -> Any:
    return x._data if builtins.isinstance(x, TensorRef) else x


def isbox(x: Any) -> bool:
    return builtins.isinstance(x, TensorRef)


def isinstance_(x: Any, kind: Any) -> bool:
    return builtins.isinstance(x, kind) or builtins.isinstance(getval(x), kind) or (
        builtins.isinstance(x, TensorRef) and not x.ndim and builtins.isinstance(x._data[()], kind))


def type_(x: Any) -> Any:
    return builtins.type(getval(x))


def unbroadcast_f(target: Any, g_fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda g: _unbroadcast(g_fun(g), target)


def _unbroadcast(x: Any, target: Any) -> Any:
    shape = tuple(np.shape(target))
    while np.ndim(x) > len(shape):
        x = anp.sum(x, axis=0)
    for axis, n in enumerate(shape):
        if n == 1:
            x = anp.sum(x, axis=axis, keepdims=True)
    return anp.real(x) if np.iscomplexobj(x) and not np.iscomplexobj(target) else x


def repeat_to_match_shape(g: Any, shape: Any, dtype: Any, axis: Any, keepdims: bool) -> tuple[Any, int]:
    if shape == ():
        return g, 1
    axes = list(axis) if builtins.isinstance(axis, tuple) else axis
    kept = np.array(shape)
    kept[axes] = 1
    count = np.prod(np.array(shape)[axes])
    return anp.reshape(g, tuple(kept.tolist())) + np.zeros(shape, dtype), count


# -- traces -----------------------------------------------------------------------------------------------------------------


class Node:
    """HIPS's nodes, which programs derive from."""

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = name
    return function


def trace(start: Any, fun: Any, x: Any) -> Any:
    """(value, node) of `fun(x)`, the node being of the kind of `start`: those of `autograd_tape.trace` as HIPS wants them."""
    made, kind = at.trace(fun, x), builtins.type(start)
    values = made.graph.values

    def chosen(position: int) -> Any:
        return _named("getitem", lambda tree: leaves(tree)[position])

    nodes = {t.id: start if t is made.args[0] else kind(t.numpy(), chosen(i), (x,), {}, [0], [start]) for i, t in enumerate(made.inputs)}
    for node in made.graph.nodes:
        args = tuple([values[id].tensor().numpy() for id in node.inputs])
        argnums = [i for i, id in enumerate(node.inputs) if id in nodes]
        if not argnums:
            continue
        run = _named(node.op, lambda *args, n=node: _only(tree_map(getval, call(at.F, n.op, list(map(TensorRef.of, args)), n.arguments,
                                                                               n.inplace))))
        results = [values[id].tensor().numpy() for id in node.outputs]
        step = kind(_only(results), run, args, {}, argnums, [nodes[node.inputs[i]] for i in argnums])
        for i, id in enumerate(node.outputs):
            nodes[id] = step if len(results) == 1 else kind(results[i], chosen(i), (results,), {}, [0], [step])
    end = nodes.get(made.graph.outputs[0]) if made.graph.outputs else None
    return tree_map(getval, made.output), end


def _only(found: Sequence[Any]) -> Any:
    return found[0] if len(found) == 1 else found


# -- of HIPS's own, beside NumPy's ------------------------------------------------------------------------------------------


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with these diagonals."""
    made = at.F.diag_embed(D if builtins.isinstance(D, TensorRef) else TensorRef.of(D), offset, axis2, axis1)
    return made if builtins.isinstance(D, TensorRef) else made.numpy()


class _Facade(types.ModuleType):
    """A module of `autograd_tape.numpy` with names of HIPS's own beside it."""

    def __init__(self, name: str, module: types.ModuleType, **own: Any) -> None:
        super().__init__(name)
        self.__dict__.update(own, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)

    def __dir__(self) -> list[str]:
        return dir(self._module)


# -- the package --------------------------------------------------------------------------------------------------------------


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """HIPS's: primitives for the functions of a module."""
    new.update({name: primitive(x) if callable(x) and not builtins.isinstance(x, builtins.type) else x for name, x in old.items()
                if not name.startswith("__")})


def _module(name: str, **contents: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(contents)
    sys.modules[name] = module
    return module


def install(sdist: Path) -> None:
    """Makes `import autograd` find this, with what is not an engine from the folder `sdist`."""
    engine = dict(make_vjp=make_vjp, make_jvp=make_jvp, vspace=vspace, VSpace=VSpace, primitive=primitive, defvjp=defvjp,
                  defvjp_argnum=defvjp_argnum, defvjp_argnums=defvjp_argnums, defjvp=defjvp, defjvp_argnum=defjvp, defjvp_argnums=defjvp,
                  def_linear=def_linear, notrace_primitive=notrace_primitive, primitive_vjps=primitive_vjps, getval=getval, isbox=isbox,
                  Node=Node, trace=trace, Box=TensorRef, register_notrace=def_linear,
                  primitive_with_deprecation_warnings=primitive)
    package = _module("autograd", __path__=[str(sdist / "autograd")], primitive=primitive)
    for name in ("core", "tracer", "extend"):
        setattr(package, name, _module(f"autograd.{name}", **engine))
    package.builtins = _module("autograd.builtins", tuple=tuple, list=list, dict=dict, isinstance=isinstance_, type=type_)  # type: ignore[attr-defined]
    for name in ("tuple", "list", "dict", "isinstance", "type"):
        setattr(package, name, package.builtins.__dict__[name])  # type: ignore[attr-defined]
    own = {"linalg": {"T": lambda x: anp.swapaxes(x, -1, -2), "_dot": partial(anp.einsum, "...ij,...jk->...ik")}, "fft": {}, "random": {}}
    parts = {name: _Facade(f"autograd.numpy.{name}", sys.modules[f"autograd_tape.numpy.{name}"], **given) for name, given in own.items()}
    package.numpy = _Facade("autograd.numpy", anp, make_diagonal=make_diagonal, **parts)  # type: ignore[attr-defined]
    sys.modules.update({m.__name__: m for m in (package.numpy, *parts.values())})  # type: ignore[attr-defined]
    _module("autograd.numpy.numpy_wrapper", wrap_namespace=wrap_namespace)
    _module("autograd.numpy.numpy_vjps", unbroadcast_f=unbroadcast_f, repeat_to_match_shape=repeat_to_match_shape)
    sys.path.insert(0, str(sdist / "tests"))
    import autograd.differential_operators as operators

    for name, value in vars(operators).items():
        if not name.startswith("_") and name not in package.__dict__ and callable(value):
            setattr(package, name, value)
    warnings.filterwarnings("ignore", "Output seems independent of input")
