"""opcheck: whether an operation that a program registered does what it was said to do."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable, Sequence

from autograd_tape.annotations import Keywords
from .._tensor import Tensor
from ..autograd import grad
from ..utils import _pytree
from .._calls.aten import OpOverload, OpOverloadPacket
from .custom_ops import CustomOpDef
from .operator import IMPLICIT, Operator, lookup, memory_of


class OpCheckError(Exception):
    """An operation does not do what it was said to do."""


def _copied(tree: object) -> Any:
    """Arguments with tensors of their own, which require grad as before."""
    return _pytree.tree_map_only(Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), tree)


def _close(a: Any, b: Any, rtol: float | None, atol: float | None) -> bool:
    if not isinstance(a, Tensor):
        return bool(a == b)
    close = {} if rtol is None or atol is None else {"rtol": rtol, "atol": atol}
    return a.shape == b.shape and a.dtype == b.dtype and bool(a.isclose(b, equal_nan=True, **close).all())


def _schema(operator: Operator, args: tuple[Tensor, ...], kwargs: Any, **close: float) -> None:
    """The arguments that change are those that the schema says, and so are those whose memory results lie in."""
    given = operator.bind(args, kwargs)
    before = _copied(given)
    result = operator.overload(*args, **kwargs)
    results = _pytree.tree_leaves(result)
    for a, value, old in zip(operator.schema.arguments, given, before):
        pairs = list(zip(_pytree.tree_leaves(value), _pytree.tree_leaves(old)))
        if not a.is_write and any([isinstance(x, Tensor) and not _close(x.detach(), y.detach(), 0.0, 0.0) for x, y in pairs]):
            raise RuntimeError(f"Argument {a.name} is not defined as mutable but was mutated")
        if a.alias_info is None and set(memory_of([x for x, _ in pairs])) & set(memory_of(results)):
            raise RuntimeError(f"Argument {a.name} is not defined to alias output but was aliasing")
    seen: dict[int, int] = {}
    for i, block in enumerate([next(memory_of([r]), -1 - i) for i, r in enumerate(results)]):
        if block in seen and not any([r.alias_info for r in operator.schema.returns]):
            raise RuntimeError(f"Outputs {seen[block]} and {i} alias unexpectedly")
        seen[block] = i


def _autograd_registration(operator: Operator, args: tuple[Tensor, ...], kwargs: Any, **close: float) -> None:
    """Gradients come from a kernel of the key Autograd, or of what the operation is made of; not from operations inside other kernels."""
    if not any([isinstance(t, Tensor) and t.requires_grad for t in _pytree.tree_leaves((args, kwargs))]):
        return
    if any([k.startswith("Autograd") or k == IMPLICIT for k, v in operator.kernels.items() if v]):
        return
    results = _pytree.tree_leaves(operator.below_autograd(operator.bind(args, kwargs)))
    given = {id(t) for t in _pytree.tree_leaves((args, kwargs))}
    if any([isinstance(r, Tensor) and r.requires_grad and id(r) not in given for r in results]):
        raise AssertionError(
            f"{operator.qualname}: at least one output of this operator has requires_grad=True but the operator does not have an autograd "
            "kernel "
            "defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have incorrectly registered an autograd "
            "kernel to a "
            "non-Autograd DispatchKey, which may lead to silently incorrect results. If your operator consists of regular PyTorch "
            "operations, "
            "consider not using an operator at all or registering your operator as CompositeImplicitAutograd. If you have an "
            "autograd.Function "
            "registered to a backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key.")


def _fake(operator: Operator, args: tuple[Tensor, ...], kwargs: Any, **close: float) -> None:
    """The fake's results have the shapes, dtypes and strides of the real ones."""
    given, named = _pytree.tree_map_only(Tensor, lambda t: t.detach().to("meta"), (args, kwargs))
    faked = _pytree.tree_leaves(operator.overload(*given, **named))
    real = _pytree.tree_leaves(operator.overload(*args, **kwargs))
    if len(faked) != len(real):
        raise RuntimeError(f"The fake of {operator.qualname} returns {len(faked)} results, the operation {len(real)}")
    for i, (f, r) in enumerate(zip(faked, real)):
        for what, of in (("shape", lambda t: tuple(t.shape)), ("dtype", lambda t: t.dtype), ("stride", lambda t: t.stride())):
            if isinstance(r, Tensor) and of(f) != of(r) and not (what == "stride" and r.numel() < 2):
                raise RuntimeError(f"The fake of {operator.qualname} returns result {i} of {what} {of(f)}, the operation {of(r)}")


def _repeatable(operator: Operator, args: Sequence[Tensor], kwargs: object, rtol: float | None = None, atol: float | None = None) -> None:
    """The fake is right, and results and gradients are the same when the operation is carried out again."""
    _fake(operator, _copied(args), _copied(kwargs))

    def carried() -> list[Tensor]:
        given, named = _copied((args, kwargs))
        results = _pytree.tree_leaves(operator.overload(*given, **named))
        wanted = [t for t in _pytree.tree_leaves((given, named)) if isinstance(t, Tensor) and t.requires_grad]
        made = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
        grads = grad([r.sum() for r in made], wanted, allow_unused=True) if made and wanted else ()
        return [*results, *[g for g in grads if g is not None]]

    if not all([_close(a, b, rtol, atol) for a, b in zip(carried(), carried())]):
        raise AssertionError(f"{operator.qualname} does not do the same twice")


CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _schema, "test_autograd_registration": _autograd_registration, "test_faketensor": _fake,
    "test_aot_dispatch_static": _repeatable, "test_aot_dispatch_dynamic": _repeatable}


def opcheck(op: object, args: tuple[Tensor, ...], kwargs: Keywords | None = None, *,
            test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
            raise_exception: bool = True, atol: float | None = None, rtol: float | None = None) -> Keywords:
    """Calls an operation to see whether it does what it was said to do: changes no other arguments than its schema says, returns no
    views of them, has its gradient where it belongs, and a fake that tells shapes, dtypes and strides. Nothing is compiled: what torch
    checks with its compiler is whether results and gradients are the same twice.

    Returns the outcome by check, "SUCCESS" or the error.

    Raises:
        OpCheckError: a check failed; not with `raise_exception=False`.
        ValueError: there is no such check, and the like.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = ["" if o == "default" else o for o in op.overloads()]
        if len(names) != 1:
            raise RuntimeError("opcheck can only test operators without overloads. Got the following overloads for "
                               f"{op._qualified_op_name}: "
                               f"{names}")
        op = getattr(op, names[0] or "default")
    if not isinstance(op, OpOverload):
        raise ValueError("opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
                         f"{type(op)}")
    wanted = tuple(CHECKS) if test_utils == "ALL" else (test_utils,) if isinstance(test_utils, str) else test_utils
    if not isinstance(wanted, (tuple, list)) or not set(wanted) <= CHECKS.keys():
        raise ValueError(f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of {tuple(CHECKS)} but it was not")
    outcomes: Keywords = {}
    for name in wanted:
        try:
            given, named = _copied((args, kwargs or {}))
            CHECKS[name](lookup(op._name), given, named, rtol=rtol, atol=atol)
            outcomes[name] = "SUCCESS"
        except Exception as e:  # whatever the operation raises is the outcome
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {e} (scroll up for stack trace)") from e
            outcomes[name] = e
    return outcomes
