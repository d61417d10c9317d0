"""Gradients that programs give operations of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Fn
from autograd_tape.modes import GradMode, _mode, grad_mode

from .._tensor import Tensor
from ..autograd.function import Function, FunctionMeta
from ..func._levels import FORWARD, REVERSE, below, state
from ..func._transform import top_level
from ..utils import _pytree
from .operator import Operator, recording
from .tag import Tag

if TYPE_CHECKING:
    from torchcompat.utils._pytree import TreeSpec

TRANSFORMED = ("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
               "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")


class Formula:
    """What a program said of an operation's gradient; nothing yet."""

    backward: Fn | None = None
    setup_context: Fn | None = None


def autograd_kernel(operator: Operator, formula: Formula) -> Fn:
    """The kernel of the key Autograd that records an operation with its formula, or with the error that there is none."""
    function = _function(operator, formula)
    schema = operator.schema
    lists = any([a.type.is_tensor and a.type.is_list for a in (*schema.arguments, *schema.returns)])

    def kernel(*args: object) -> Any:
        if Tag.out in operator.tags and recording(args):
            raise RuntimeError(f"{operator.overload.name_}(): functions with out=... arguments don't support automatic differentiation, "
                               "but "
                               "one of the arguments requires grad.")
        given, _ = operator.spelled(args)
        if not recording(given):
            level = top_level(args) if state.stack else None
            before = grad_mode()
            if before is GradMode.ENABLED:  # inference mode stays
                _mode.set(GradMode.DISABLED)
            try:
                if level is None or level.kind is not FORWARD:
                    return operator.below_autograd(args)
                with below(level):
                    return operator.below_autograd(args)
            finally:
                _mode.set(before)
        if any([level.kind is REVERSE and level.number < state.ceiling for level in state.stack]):
            raise RuntimeError(TRANSFORMED)
        if not lists:
            return function.apply(*given, _Given(args))
        flat, spec = _pytree.tree_flatten(given, is_leaf=_is_leaf)
        made = _Given(args, spec)
        results = function.apply(*flat, made)
        result = _pytree.tree_unflatten(list(results), made.results)
        return result if made.several else result[0]

    return kernel


class _Given:
    """The arguments of a call, on their way through a Function, and how lists among them, and among the results, were taken apart."""

    results: Any = None
    several = True

    def __init__(self, args: tuple[object, ...], spec: TreeSpec | None = None) -> None:
        self.args, self.spec = args, spec


def _is_leaf(tree: object, or_none: bool = False) -> bool:
    """Whether something is no list of tensors, some of which may be None, nor a tuple."""
    return not isinstance(tree, tuple) and not (isinstance(tree, list) and all([isinstance(x, Tensor) or or_none and x is None
                                                                               for x in tree]))


def _function(operator: Operator, formula: Formula) -> type[Function]:
    arguments = operator.schema.arguments

    def forward(ctx: Any, *flat: Any) -> object:
        given = flat[-1]
        result = operator.below_autograd(given.args)
        if formula.setup_context is not None:
            inputs = tuple([v for a, v in zip(arguments, given.args) if not a.kwarg_only])
            named = {a.name: v for a, v in zip(arguments, given.args) if a.kwarg_only}
            formula.setup_context(ctx=ctx, inputs=inputs, output=result, **({"keyword_only_inputs": named} if named else {}))
        if given.spec is None:
            return result
        given.several = isinstance(result, tuple)
        flat_results, given.results = _pytree.tree_flatten(result if given.several else (result,), is_leaf=_is_leaf)
        ctx._pt_metadata = given
        return tuple(flat_results)

    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        if formula.backward is None:
            raise RuntimeError(f"Trying to backward through {operator.overload} but no autograd formula was registered. Please use "
                               "register_autograd to add one.")
        given = getattr(ctx, "_pt_metadata", None)
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = needed[:-1] if given is None else _pytree.tree_unflatten(list(needed[:-1]), given.spec)
        try:
            found = formula.backward(ctx, *(grads if given is None else _pytree.tree_unflatten(list(grads), given.results)))
        finally:
            ctx.needs_input_grad = needed
        found = found if isinstance(found, tuple) else (found,)
        if given is None:
            return *found, None
        flat, spec = _pytree.tree_flatten(found, is_leaf=lambda tree: _is_leaf(tree, or_none=True))
        if spec != given.spec:
            raise RuntimeError(f"Expected the return from backward to be of the same structure as the inputs. Got: {spec} (return from "
                               f"backward), {given.spec} (inputs)")
        return *flat, None

    name = operator.rec.node_name.removesuffix("Backward")
    return FunctionMeta(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})  # type: ignore[return-value]  # its class is made here
