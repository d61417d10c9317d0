"""autograd.Function: operations with a gradient written by the user."""

from __future__ import annotations

import functools
import inspect
from typing import Any
from collections.abc import Callable, Sequence
from weakref import finalize, ref

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape import views
from autograd_tape.node import OutputEdge, TapeEntry, edge_of, freed
from autograd_tape.saved import INFERENCE_SAVED, SavedVariable
from autograd_tape.modes import GradMode, _mode, grad_mode, no_grad
from autograd_tape.tensor import LEAF, buffer_of, next_id

from .._calls.above import above
from .._tensor import Tensor, carries_out as overrides, frontend
from .._memory.bits import values
from ..overrides import DisableTorchFunctionSubclass
from .engine import carries_out, run_on_tensors

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


class FunctionCtx:
    """What `forward`, `setup_context` and `backward` of a Function do with their `ctx`. All names but those of its methods and
    properties are free for users."""

    needs_input_grad: tuple[bool, ...] = ()
    to_save: Arguments | None = None
    dirty_tensors: Arguments = ()
    non_differentiable: Arguments = ()
    saved_for_forward: Arguments | None = None
    materialize_grads = True

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Saves tensors (or None) for backward; they are checked for in-place changes there."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Saves tensors for `jvp`."""
        for t in tensors:
            if not isinstance(t, Tensor) and t is not None:
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                                     "ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: object) -> None:
        """Says which inputs forward changed in place; they must be outputs too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: object) -> None:
        """Does nothing: shared memory is found out."""
        warned.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
                    "`set_()` are not tracked", FutureWarning)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach backward as zeros (the default) or as None."""
        self.materialize_grads = value


class Context(FunctionCtx):
    """The ctx of a Function's call. The graph's node holds it, and it knows the node as long as the graph lives."""

    __slots__ = ("__node",)  # all else is in __dict__, which is the user's
    _forward_cls: Any = None
    __node: Callable[[], Any]

    def __init__(self, node: "FunctionNode") -> None:
        self.__node = ref(node)

    def _of_node(self, name: str) -> Any:
        node = self.__node()
        if node is None:
            raise RuntimeError(f"Attribute '{name}' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on "
                               "an instance of autograd.Function is a legacy access pattern that is no longer supported. For examples on "
                               "how to use new-style autograd functions, see "
                               "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function ")
        return getattr(node, name)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What was saved, checked; for `jvp` what was saved for forward mode."""
        return self.saved_for_forward if self.saved_for_forward is not None else self._of_node("saved_tensors")

    @property
    def saved_variables(self) -> Arguments:
        """The old name of `saved_tensors`."""
        warned.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> Arguments:
        return self._of_node("_raw_saved_tensors")

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The node's."""
        return self._of_node("next_functions")

    @property
    def metadata(self) -> dict[str, Any]:
        """The node's."""
        return self._of_node("metadata")

    def name(self) -> str:
        """The node's name."""
        return type(self).__name__

    def _sequence_nr(self) -> int:
        return self._of_node("_sequence_nr")()

    def register_hook(self, fn: Any) -> Any:
        """That of the node."""
        return self._of_node("register_hook")(fn)

    def register_prehook(self, fn: Any) -> Any:
        """That of the node."""
        return self._of_node("register_prehook")(fn)

    def apply(self, *grads: Tensor | None) -> Any:
        """Runs the Function's backward."""
        cls = self._forward_cls
        own, vjp = cls.backward, cls.vjp
        if own is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                               "of them.")
        return (own if vjp is Function.vjp else vjp)(self, *grads)


class FunctionNode(TapeEntry):
    """The node of a custom Function. What a user put on the ctx can be read here, too, under names that nodes do not have."""

    # ctx        what forward and backward see
    # positions  which of the arguments are tensors
    # inputs_as, outputs_as   (shape, dtype) of these, (shape, kind) of the outputs
    __slots__ = ("ctx", "positions", "inputs_as", "outputs_as", "arity")
    takes_undefined = True

    ctx: Context
    positions: tuple[int, ...]
    inputs_as: Arguments
    outputs_as: Arguments
    arity: int

    def __getattr__(self, name: str) -> Any:
        if name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What was saved, checked."""
        if self.saved is None:
            raise freed(self).as_builtin()
        return tuple([s.unpack(self) for s in self.saved])

    @property
    def _raw_saved_tensors(self) -> Arguments:
        if self.saved is None:
            raise freed(self).as_builtin()
        return self.saved

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls backward with recording off."""
        grads = self._call([g if g is None else frontend.wrap(buffer_of(g)) for g in (grad if isinstance(grad, list) else [grad])])
        return [None if g is None else values(g) for g in grads]

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls backward with recording as it is."""
        return self._call(grad if isinstance(grad, list) else [grad])

    def _call(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        if self.ctx.materialize_grads:
            grads = [frontend.wrap(np.zeros(o[0], o[1].np), o[1]) if g is None and o is not None else g for g,
                     o in zip(grads, self.outputs_as)]
        before = grad_mode()
        try:
            result = Context.apply(self.ctx, *grads)
        finally:
            _mode.set(before)
        result = result if isinstance(result, tuple) else tuple(result) if isinstance(result, list) else (result,)
        name, n = type(self).__name__, self.arity
        if len(result) > n and all(r is None for r in result[n:]):
            result = result[:n]
        if len(result) != n:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {n}, got {len(result)})")
        for i, g in enumerate(result):
            if g is not None and i not in self.positions:
                raise RuntimeError(f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding "
                                   "forward input was not a Variable")
        return [self._fitted(result[p], edge, at) for at, (p, edge) in enumerate(zip(self.positions, self.edges))]

    def _fitted(self, g: Tensor | None, edge: object, at: int) -> Tensor | None:
        """A gradient that backward returned, with the shape and dtype of its input."""
        if g is not None and not isinstance(g, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        if edge is None or g is None:
            return None
        shape, dtype = self.inputs_as[at]
        have = g._data.shape
        if have != shape:
            lead = len(have) - len(shape)
            if lead < 0 or any(n not in (1, m) for n, m in zip(shape, have[lead:])):
                raise RuntimeError(f"Function {type(self).__name__} returned an invalid gradient at index {at} - got {list(have)} but "
                                   f"expected shape compatible with {list(shape)}")
        if g._k.np.kind == "c" and dtype.kind != "c":
            g = frontend.real(g)
        return frontend.fit(g, shape, dtype)


BackwardCFunction = FunctionNode


class FunctionMeta(type):
    """Gives each Function the classes of its ctx and of its graph node."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: Keywords) -> None:
        super().__init__(name, bases, namespace)
        own = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._context_cls = type(name + "Backward", (Context,), own)
        cls._backward_cls = type(name + "Backward", (FunctionNode,), {**own, "__slots__": ()})


class Function(metaclass=FunctionMeta):
    """Base of custom operations: static methods `forward(ctx, ...)` and `backward(ctx, *grads)`; or `forward(...)` and
    `setup_context(ctx, inputs, output)`.

    >>> import torchcompat as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = torch.tensor([3.], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    _context_cls: type[Context]
    _backward_cls: type[FunctionNode]
    generate_vmap_rule = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        warned.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
                    "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                    DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
                           "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[object, ...], output: object) -> Any:
        """Saves for backward, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Turns the outputs' gradients into one per input of forward."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    @staticmethod
    def vjp(ctx: object, *grad_outputs: Any) -> Any:
        """Another name of `backward`."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    @staticmethod
    def jvp(ctx: object, *grad_inputs: Any) -> Any:
        """Turns the inputs' tangents into one per output of forward."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info: object, in_dims: tuple[object, ...], *args: Any) -> Any:
        """(outputs, out_dims) for batched inputs."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: object, **kwargs: object) -> Any:
        """Runs forward and records the operation."""
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:
            signature = inspect.signature(cls.forward)
            bound = signature.bind(*args, **kwargs) if separate else signature.bind(None, *args, **kwargs)
            bound.apply_defaults()
            args = bound.args if separate else bound.args[1:]
        if above.apply_under_transforms is not None:
            result = above.apply_under_transforms(cls, args)
            if result is not NotImplemented:
                return result
        if above.exported_function is not None:
            result = above.exported_function(cls, args)
            if result is not NotImplemented:
                return result
        ctx, result = carry_out(cls, args)
        ctx.saved_for_forward = None
        return result




def carry_out(cls: Any, args: Arguments) -> tuple[Context, Any]:
    """(ctx, result) of a Function, recorded."""
    separate = cls.setup_context is not Function.setup_context
    node = cls._backward_cls()
    node.ctx = ctx = cls._context_cls(node)
    node.positions = positions = tuple([i for i, a in enumerate(args) if isinstance(a, Tensor)])
    recording = grad_mode() is GradMode.ENABLED and any([args[i]._node is not None for i in positions])
    ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a._node is not None for a in args])
    node.arity, node.saved, node.meta = len(args), (), None
    node.edges = tuple([edge_of(args[i]) for i in positions])
    before = grad_mode()
    if before is GradMode.ENABLED:
        _mode.set(GradMode.DISABLED)
    try:
        if separate:
            results = cls.forward(*args)
            cls.setup_context(ctx, args, results)
        else:
            results = cls.forward(ctx, *args)
    finally:
        _mode.set(before)
    single = not isinstance(results, tuple)
    outputs = [results] if single else list(results)
    _finish(node, args, outputs, recording, separate)
    return ctx, outputs[0] if single else tuple(outputs)


def _finish(node: FunctionNode, args: Arguments, outputs: list[Any], recording: bool, separate: bool) -> None:
    """Puts a Function's results into the graph, by torch's rules for inputs returned, changed in place, or not differentiable."""
    ctx = node.ctx
    inputs = {id(args[i]): at for at, i in enumerate(node.positions)}
    for name, verb in (("dirty_tensors", "mark_dirty can only accept variables, but argument "),
                       ("non_differentiable", "mark_non_differentiable only accepts variable arguments, but got ")):
        if not all(isinstance(t, Tensor) for t in getattr(ctx, name)):
            raise RuntimeError(verb)
    dirty, plain = {id(t): t for t in ctx.dirty_tensors}, {id(t) for t in ctx.non_differentiable}
    saved_ids = {id(t) for t in ctx.to_save or ()}
    if not dirty.keys() <= {id(o) for o in outputs}:
        raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                           "modified inplace must all be outputs of the Function.")
    if recording:
        for i in node.positions:
            if args[i]._k.special is not None and carries_out(args[i]):  # its gradients are of a class that only tensors have
                run_on_tensors(1)
                finalize(ctx, run_on_tensors, -1)
                break
        node.inputs_as = tuple([(args[i]._data.shape, args[i]._k.np) for i in node.positions])
        node.n_outputs = len(outputs)
        node.outputs_as = tuple([(o._data.shape, o._k) if isinstance(o, Tensor) else None for o in outputs])
        for _ in outputs[1:]:
            next_id()
        node.id = next_id()
    saved_outputs: dict[int, int] = {}
    differentiable = 0
    for nr, original in enumerate(outputs):
        if not isinstance(original, Tensor):
            continue
        key = id(original)
        is_input, modified = key in inputs, key in dirty
        if not recording or key in plain or not (original._k.dtype.is_floating_point or original._k.dtype.is_complex):
            if is_input and original._node is not None:
                outputs[nr] = original.detach()
            elif is_input and not modified:
                outputs[nr] = _view_of_itself(original)
            elif original._node is not None and original._base is None:
                original._node = None
            if outputs[nr]._base is not None and not (is_input and modified):
                views.mark(outputs[nr], views.IN_CUSTOM_FUNCTION)
            continue
        differentiable += 1
        target = node if node.n_outputs == 1 else OutputEdge(node, nr)
        saved_outputs[key] = nr
        if modified:
            if original._node is LEAF:
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if not is_input:
                warned.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should "
                            "be passed to ctx.mark_dirty().", UserWarning)
            if original._base is not None and node.n_outputs > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than "
                    "one Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view "
                    "(using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two "
                    "Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations). You "
                    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change.")
            original._grad = None
            if original._base is not None:
                views.rebase(frontend, original, node, inputs.get(key, -1))
            else:
                views.move_retained_grad(original, target)
                origin, original._node = original._node, target
                views.refresh_views(frontend, original, origin)
            continue
        output = original
        if is_input:
            if separate and key in saved_ids:
                raise RuntimeError("A input that has been returned as-is as output is being saved for backward. This is not supported if "
                                   "you override setup_context. You should return and save a view of the input instead, e.g. with "
                                   "x.view_as(x) or setup ctx inside the forward function itself.")
            output = outputs[nr] = _view_of_itself(original)
        output._node = target
        if output._base is not None:
            views.mark(output, views.IN_CUSTOM_FUNCTION)
    if differentiable > 1:
        for output in outputs:
            if isinstance(output, Tensor) and output._base is not None:
                views.mark(output, views.MULTI_VIEW)
    if recording:
        saved: list[object] = []
        for at, t in enumerate(ctx.to_save or ()):
            if t is None:
                saved.append(SavedVariable._save(node, None, None))
            elif not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {at} is of type {type(t).__name__}")
            elif t._k.inference:
                raise RuntimeError(INFERENCE_SAVED)
            else:
                own = saved_outputs.get(id(t)) if id(t) not in inputs or id(t) in dirty else None
                saved.append(SavedVariable._save(node, t, own))
        node.saved = tuple(saved)
        frontend.pack_saved(node)
    ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable = None, (), ()


def _view_of_itself(t: Tensor) -> Tensor:
    """Another tensor over the same memory, a view of `t` or of its base, without history. A class that carries out operations makes it."""
    if isinstance(t._k.special, type) and overrides(type(t)):
        with no_grad(), DisableTorchFunctionSubclass():
            return frontend.view(t, tuple(t.shape))
    result = object.__new__(type(t))
    result._data, result._k, result._node = t._data.view(), t._k, None
    frontend.link_view(result, t)
    return result


def once_differentiable(fn: Fn) -> Fn:
    """Marks a backward whose own gradient must not be taken."""
    @functools.wraps(fn)
    def wrapper(ctx: object, *args: Tensor) -> object:
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        try:
            outputs = fn(ctx, *args)
        finally:
            _mode.set(before)
        if before is not GradMode.ENABLED or not any([isinstance(a, Tensor) and a._node is not None for a in args]):
            return outputs
        several = isinstance(outputs, tuple)
        results = _refusing(outputs if several else (outputs,))
        return results if several else results[0]

    return wrapper


class Error(TapeEntry):
    """The node behind results that cannot be differentiated: raises when they are."""

    __slots__ = ()
    frees = False

    def raw(self, grad: Tensor, F: object) -> Sequence[Any]:
        """Raises."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    recorded = raw


def _refusing(outputs: Arguments) -> tuple[Tensor, ...]:
    """The same values, with a history that refuses."""
    node = Error()
    for _ in outputs[1:]:
        next_id()
    leaves = [None if o is None else o.detach() for o in outputs]
    for leaf in leaves:
        if leaf is not None:
            leaf.requires_grad = True
    node.id, node.edges, node.saved, node.meta, node.n_outputs = next_id(), tuple(leaves), (), None, len(outputs)
    results = []
    for nr, o in enumerate(outputs):
        if o is not None:
            o = o.detach()
            o._node = node if len(outputs) == 1 else OutputEdge(node, nr)
        results.append(o)
    return tuple(results)


class _Unknown(TapeEntry):
    """The node behind results of an operation that nobody gave a gradient: none flows on, and a warning says so."""

    __slots__ = ("operation",)
    frees = False
    operation: str

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Warns."""
        warn_of_unknown(self.operation)
        return [None] * len(self.edges)

    recorded = raw


_Unknown.__name__ = "torch::autograd::WarnNotImplemented"


def warn_of_unknown(operation: str) -> None:
    """torch's warning of a backward pass through an operation that nobody gave a gradient."""
    warned.warn(f"{operation}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
                "This "
                "may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future version of "
                "PyTorch. "
                "If your operator is differentiable, please ensure you have registered an autograd kernel to the correct Autograd key "
                "(e.g. "
                "DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash "
                "this "
                "warning and use the previous behavior, please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd.",
                UserWarning)


def of_unknown_gradient(operation: str, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Has backward passes through the floating-point tensors among the results of an operation warn that its gradient is not known. Those
    that have a history keep it."""
    given = {id(t) for t in inputs}
    made = [r for r in results if id(r) not in given and (r._k.dtype.is_floating_point or r._k.dtype.is_complex)]
    for r in made:
        if r._node is not None:
            r.register_hook(lambda grad: warn_of_unknown(operation))
    fresh = [r for r in made if r._node is None]
    if not fresh:
        return
    node = _Unknown()
    node.operation, node.edges, node.saved, node.meta = operation, tuple([edge_of(t) for t in inputs]), (), None
    node.n_outputs, node.id = len(fresh), next_id()
    for nr, r in enumerate(fresh):
        r._node = node if len(fresh) == 1 else OutputEdge(node, nr)


class InplaceFunction(Function):
    """A Function with an `inplace` attribute; kept for programs that derive from it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function whose `forward_extended` and `backward_extended` take and return nested tuples of tensors."""
