"""grad, grad_and_value, vjp, jvp, linearize: derivatives of functions, to any order and in any nesting."""

from __future__ import annotations

import functools
from typing import Any
from collections.abc import Callable, Sequence

from autograd_tape.annotations import Fn, Keywords
from autograd_tape.saved import state as saved
from autograd_tape.modes import GradMode, _mode, grad_mode

from .._tensor import Tensor, frontend
from ..autograd import forward_ad
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_map_only, tree_unflatten, treespec_pprint as pprint
from ._levels import FORWARD, REVERSE, Level, below
from ._pull import Differentiated, begin, pull
from ._whole import logical, physical, tangent_of
from .._calls.shown import shown_in


class _recording:
    """A block in which operations are recorded."""

    def __enter__(self) -> None:
        self.before = grad_mode()
        _mode.set(GradMode.ENABLED)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.before)


def check_argnums(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    """`argnums` as a tuple of positions; torch's errors where it is none."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        numbers: tuple[int, ...] = (argnums,)
    elif isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        if not all(isinstance(a, int) for a in argnums):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums}")
        numbers = argnums
    else:
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for a in numbers:
        if not -count <= a < count:
            raise RuntimeError(f"Got argnum={a}, but only {count} positional inputs")
    numbers = tuple([a % count for a in numbers])
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return numbers


def require_tensors(leaves: Sequence[Tensor]) -> None:
    """ValueError where something to differentiate with respect to is no tensor."""
    for x in leaves:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")


def split_aux(result: Tensor | tuple[Tensor, ...], has_aux: bool, api: str) -> tuple[Any, Any]:
    """(output, aux) of what a function with `has_aux` returned."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for x in tree_flatten(result[1])[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return result


def tensor_leaves(output: Tensor | tuple[Tensor, ...], api: str) -> tuple[list[Tensor], TreeSpec]:
    """The leaves of a function's output, which are tensors, and its structure."""
    leaves, spec = tree_flatten(output)
    if not leaves or len(leaves) == 1 and leaves[0] is None:
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(x)}")
    return leaves, spec


_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


class _without_hooks:
    """A block in which hooks on saved tensors are refused."""

    def __enter__(self) -> None:
        self.before = saved.disabled
        if self.before is None:
            saved.disabled = _NO_HOOKS

    def __exit__(self, *exc: object) -> None:
        saved.disabled = self.before


class _Call:
    """A function called for its vjp: `made` carries cotangents back; `output` and `aux` are what the caller gets."""

    def __init__(self, function: Fn, args: tuple[Tensor, ...], kwargs: Keywords, argnums: Any, has_aux: bool, api: str,
                 check: Callable[[Any], None] | None = None) -> None:
        numbers = tuple(range(len(args))) if argnums is None else check_argnums(argnums, len(args))
        flat, self.spec = tree_flatten(tuple([args[i] for i in numbers]))
        require_tensors(flat)
        if saved.hooks:
            raise RuntimeError(_NO_HOOKS)
        with Level(REVERSE), _without_hooks():
            self.made = Differentiated(flat)
            primals = tree_unflatten(self.made.inputs, self.spec)
            given = list(args)
            for i, primal in zip(numbers, primals):
                given[i] = primal
            with _recording():
                result, aux = split_aux(function(*given, **kwargs), has_aux, api)
            if check is not None:
                check(result)
            leaves, self.out_spec = tensor_leaves(result, api)
            known = {id(x): x for x in leaves}
            extra = [x for x in tree_flatten(aux)[0] if isinstance(x, Tensor) and id(x) not in known]
            # What else the function returns counts neither for the gradients nor, but for its history, for the caller.
            self.outputs = leaves
            shown = dict(zip([id(x) for x in (*leaves, *extra)], self.made.returned([*leaves, *extra])))
            self.made.outputs = self.made.outputs[:len(leaves)]
        self.output = tree_unflatten([shown[id(x)] for x in leaves], self.out_spec)
        self.aux = tree_map_only(Tensor, lambda x: shown[id(x)], aux) if has_aux else None

    def pulled(self, cotangents: list[Tensor]) -> tuple[Tensor, ...]:
        """Cotangents of the inputs, in the structure of the differentiated arguments."""
        return tree_unflatten(self.made.pulled(cotangents), self.spec)


def grad_and_value(func: Fn, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Fn:
    """A function that returns the gradient of `func` with respect to the arguments numbered `argnums`, and its value.

    With `has_aux`, `func` returns (output, aux) and the value is (output, aux).

    >>> import torchcompat as torch
    >>> torch.func.grad_and_value(lambda x: (x ** 2).sum())(torch.tensor([1., 2.]))
    (tensor([2., 4.]), tensor(5.))
    """
    def check(output: object) -> None:
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} "
                               "dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        if output.is_complex():
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> object:
        call = _Call(func, args, kwargs, argnums, has_aux, "grad_and_value(f)(*args)", check)
        gradients = call.pulled([frontend.ones_like(call.output.detach())])
        return gradients[0] if isinstance(argnums, int) else gradients, (call.output, call.aux) if has_aux else call.output

    return wrapper


def grad(func: Fn, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`, which returns a scalar, with respect to the arguments numbered `argnums`.

    Args:
        func: takes tensors (or nested containers of them where `argnums` points), returns a tensor of no dimensions.
        argnums: one number, or several for a tuple of gradients.
        has_aux: `func` returns (output, aux), the new function (gradient, aux).

    >>> import torchcompat as torch
    >>> torch.func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapper(*args: object, **kwargs: object) -> object:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Fn, *primals: Any, has_aux: bool = False) -> tuple[tuple[Tensor, ...], Fn]:
    """The value of `func`, and the function that carries cotangents of it back to the primals.

    Returns:
        (output, vjp_fn), or (output, vjp_fn, aux). `vjp_fn(cotangents)`, in the structure of the output, returns a tuple with the
        cotangent of each primal; it can be called any number of times, also inside vmap.

    >>> import torchcompat as torch
    >>> y, vjp_fn = torch.func.vjp(torch.square, torch.tensor([1., 2.]))
    >>> vjp_fn(torch.tensor([1., 10.]))
    (tensor([ 2., 40.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Fn, primals: tuple[Tensor, ...], argnums: object, has_aux: bool) -> Any:
    """`vjp` with respect to the arguments numbered `argnums`, all where None."""
    call = _Call(func, primals, {}, argnums, has_aux, "vjp(f, *primals)")

    def vjp_fn(cotangents: Sequence[Tensor], retain_graph: bool = True, create_graph: bool | None = None) -> object:
        flat, spec = tree_flatten(cotangents)
        if spec != call.out_spec:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {pprint(spec)}, primal output: {pprint(call.out_spec)}")
        for i, (g, o) in enumerate(zip(flat, call.outputs)):
            if not isinstance(g, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
            if g.shape != o.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                                   f"{o.shape}.")
        result = call.pulled(flat)
        return result[0] if isinstance(argnums, int) else result

    return (call.output, vjp_fn, call.aux) if has_aux else (call.output, vjp_fn)


# -- forward mode ---------------------------------------------------------------------------------------------------------------


def jvp(func: Fn, primals: Sequence[Tensor], tangents: Sequence[Tensor], *, strict: bool = False,
        has_aux: bool = False) -> tuple[Tensor | tuple[Tensor, ...], Tensor | tuple[Tensor, ...]]:
    """The value of `func`, and its derivative along `tangents`.

    Returns:
        (output, tangent of the output), or (output, tangent, aux).

    >>> import torchcompat as torch
    >>> torch.func.jvp(torch.square, (torch.tensor([1., 2.]),), (torch.tensor([1., 10.]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(func: Fn, primals: Sequence[Tensor], tangents: Sequence[Tensor], argnums: Any, strict: bool, has_aux: bool) -> Any:
    """`jvp` along tangents of the arguments numbered `argnums`, all where None."""
    api = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    numbers = tuple(range(len(primals))) if argnums is None else check_argnums(argnums, len(primals))
    chosen = tuple([primals[i] for i in numbers])
    flat, spec = tree_flatten(chosen)
    directions, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(f"{api}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of "
                           f"3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {other}")
    for what, leaves in (("primals", flat), ("tangents", directions)):
        if not leaves:
            raise RuntimeError(f"{api}: Expected {what} to contain at least one Tensor.")
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"{api}: Expected {what} to only contain Tensors, got {type(x)}")
    with Level(FORWARD) as level:
        duals = tree_unflatten([forward_ad.make_dual(x, t) for x, t in zip(flat, directions)], spec)
        given = list(primals)
        for i, dual in zip(numbers, duals):
            given[i] = dual
        result, aux = split_aux(func(*given), has_aux, api)
        outputs, out_spec = tensor_leaves(result, api)
        pushed = []
        for o in outputs:
            t = tangent_of(o, level)
            if t is None:
                if strict:
                    raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                                       "allowed with strict=True.")
                with below(level):
                    t = frontend.zeros_like(o.detach())
            pushed.append(t)
    result = tree_unflatten(outputs, out_spec), tree_unflatten(pushed, out_spec)
    return (*result, aux) if has_aux else result


def linearize(func: Fn, *primals: Any) -> tuple[Any, Fn]:
    """The value of `func`, and its derivative there as a function of tangents, which does not run `func` again.

    >>> import torchcompat as torch
    >>> y, jvp_fn = torch.func.linearize(torch.square, torch.tensor([1., 2.]))
    >>> jvp_fn(torch.tensor([1., 10.]))
    tensor([ 2., 40.])
    """
    call = _Call(func, primals, {}, None, False, "linearize(f, *primals)")
    made = call.made
    with _recording():
        dummies = [begin(frontend.ones_like(o.detach()), False) for o in made.outputs]
        pulled = pull(made.outputs, dummies, made.begun, create_graph=True)
    connected = made.connected

    def jvp_fn(*tangents: object) -> object:
        flat, spec = tree_flatten(tangents)
        if spec != call.spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same structure as the primals {call.spec}")
        for i, (t, x) in enumerate(zip(flat, made.inputs)):
            if t.shape != x.shape:
                raise RuntimeError(f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the shape {x.shape} of the "
                                   "corresponding primal.")
            if t.dtype is not x.dtype:
                raise RuntimeError(f"tangent:{i} with dtype {t.dtype} in flattened pytree doesn't match the dtype {x.dtype} of the "
                                   "corresponding primal.")
        given = [physical(t, made.levels) for t in flat]
        pairs = [(g, t) for g, t in zip(pulled, given) if g is not None and g._node is not None]
        record = grad_mode() is GradMode.ENABLED and (connected or any(t._node is not None for t in given))
        found = pull([g for g, _ in pairs], [t for _, t in pairs], dummies, create_graph=record)
        pushed = [logical(frontend.zeros_like(v.detach()) if t is None else t, made.levels) for t, v in zip(found, dummies)]
        return tree_unflatten(pushed, call.out_spec)

    return call.output, jvp_fn


__all__ = ["grad", "grad_and_value", "jvp", "jvp_of", "linearize", "tree_map", "vjp", "vjp_of"]


shown_in("torchcompat.func", grad, grad_and_value, jvp, linearize, vjp)
