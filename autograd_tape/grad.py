"""Gradients as something to keep: the grad mode, who requires a gradient, accumulated gradients, clipping.

The gradient functions by name, `grad_add`, `grad_matmul`, `grad_softmax`, ..., are attributes of this module for every
differentiable operation; they are derived from the operations' records (see `autograd_tape.registry`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from .backward import BackwardOptions, deliver, run_backward
from .callable import be_callable
from .check import check_grad
from .errors import ArgumentError, AutogradError, DTypeError, NoGradError, ShapeMismatchError
from .executors import Executor
from .locks import fork_safe_lock
from .modes import GradMode, _ModeContext, grad_mode, set_grad_mode
from .node import GradFn, Hooks
from .registry import named_grad_fn
from .tape import Tape
from .tensor import TensorRef, info_of, leaf_node
from .transforms import grad as transform

__all__ = ["GradFn", "GradManager", "GradMode", "GradientInfo", "grad"]


def __getattr__(name: str) -> GradFn:
    return named_grad_fn(name)


@attrs.frozen(eq=False)
class GradientInfo:
    """What a manager knows of a tensor.

    Attributes:
        tensor_ref: the tensor.
        grad_ref: its gradient as a tensor, or None.
        requires_grad: whether gradients flow to it.
        is_leaf: whether no recorded operation made it.
        retain_grad: whether its gradient is kept although it is no leaf.
    """

    tensor_ref: TensorRef
    grad_ref: TensorRef | None
    requires_grad: bool
    is_leaf: bool
    retain_grad: bool


class GradManager:
    """Looks after the gradients of the tensors it was told of.

    A tensor given to `set_requires_grad`, `retain_grad` or `set_grad` is *managed*: every `backward` adds its gradient here. The
    manager does not keep tensors alive; the gradient of a dead tensor is forgotten. Managing is safe from several threads.

    >>> from autograd_tape import F, TensorRef, backward
    >>> gm = GradManager()
    >>> x = TensorRef.of([3.0, 4.0])
    >>> gm.set_requires_grad(x, True)
    >>> _ = backward(F.sum(x * x) * 0.5)
    >>> gm.get_grad(x)
    array([3., 4.])
    >>> gm.clip_grad_norm([x], max_norm=1.0)
    5.0
    >>> gm.get_grad(x).round(3)
    array([0.6, 0.8])
    """

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._refs: dict[int, weakref.ref[TensorRef]] = {}
        self._retained: set[int] = set()
        self._gradients: dict[int, Any] = {}

    def __repr__(self) -> str:
        return f"<GradManager: {len(self._refs)} tensors, {len(self._gradients)} gradients, mode {self.mode.name.lower()}>"

    @property
    def gradients(self) -> dict[int, Any]:
        """From tensor id to accumulated gradient."""
        with self._lock:
            return dict(self._gradients)

    @property
    def grad_info(self) -> dict[int, GradientInfo]:
        """From tensor id to what is known of the tensor."""
        with self._lock:
            live = [(id, ref()) for id, ref in self._refs.items()]
            return {id: self._info(id, ref) for id, ref in live if ref is not None}

    def _info(self, id: int, ref: TensorRef) -> GradientInfo:
        held = self._gradients.get(id)
        grad = None if held is None else held if isinstance(held, TensorRef) else TensorRef.over(held)
        return GradientInfo(ref, grad, ref.requires_grad, ref.is_leaf, id in self._retained)

    # -- mode -----------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> GradMode:
        """This thread's grad mode; there is one per thread, whoever sets it."""
        return grad_mode()

    def set_mode(self, mode: GradMode) -> None:
        """Sets this thread's grad mode."""
        set_grad_mode(mode)

    def get_mode(self) -> GradMode:
        """This thread's grad mode."""
        return grad_mode()

    def enable_grad(self) -> _ModeContext:
        """A block in which operations are recorded."""
        return _ModeContext(GradMode.ENABLED)

    def disable_grad(self) -> _ModeContext:
        """A block in which nothing is recorded, the same as `no_grad()`."""
        return _ModeContext(GradMode.DISABLED)

    def inference_mode(self) -> _ModeContext:
        """A block in which nothing is recorded, and whose results need never be."""
        return _ModeContext(GradMode.INFERENCE)

    # -- tensors --------------------------------------------------------------------------------------------------

    def set_requires_grad(self, ref: TensorRef, requires: bool = True) -> None:
        """Says whether the gradient of a leaf is wanted, and manages it.

        Raises:
            NoGradError: the tensor was computed, so it requires grad whenever one of its inputs does.
            ArgumentError: it is no tensor, or of a dtype that has no gradients.
        """
        _check_ref(ref, "set_requires_grad")
        if not ref.is_leaf and not requires:
            raise NoGradError("you can only change requires_grad flags of leaf variables.", expected="a leaf",
                              found=f"the output of '{ref.creator.op_name}'",  # type: ignore[union-attr]  # only entries have an output
                              remedy="compute it under no_grad(), or make a new TensorRef of its data")
        if ref.is_leaf:
            ref.requires_grad = bool(requires)
        self._manage(ref)

    def requires_grad(self, ref: TensorRef) -> bool:
        """Whether gradients flow to a tensor."""
        return _check_ref(ref, "requires_grad").requires_grad

    def retain_grad(self, ref: TensorRef) -> None:
        """Keeps the gradient of a tensor that is no leaf, too; call it before `backward`.

        Raises:
            NoGradError: the tensor does not require grad.
        """
        _check_ref(ref, "retain_grad")
        if not ref.requires_grad:
            raise NoGradError("can't retain_grad on Tensor that has requires_grad=False", expected="a tensor that requires grad",
                              found=f"tensor {ref.id}, which does not", remedy="set requires_grad on what it is computed from")
        self._manage(ref, retain=True)
        if not ref.is_leaf:
            info = info_of(ref)
            # An in-place update gives the tensor another history and id, to which the hook moves with it.
            info.retains_grad = True
            if info.retainers is None:
                info.retainers = weakref.WeakSet()
            if self not in info.retainers:
                info.retainers.add(self)
                self._hook(ref)

    def _hook(self, ref: TensorRef) -> None:
        entry: Any = ref.creator
        nr = ref._node.nr if ref._node._tag == 2 else 0
        entry.hooks = entry.hooks or Hooks()
        before = entry.hooks.retain.get(nr)
        manager, target = weakref.ref(self), weakref.ref(ref)  # an entry must not hold its output

        def keep(grad: Any) -> None:
            if before is not None:
                before(grad)
            gm, tensor = manager(), target()
            if gm is not None and tensor is not None:
                recorded = isinstance(grad, TensorRef) and grad.requires_grad
                gm.accumulate(tensor, grad if recorded or not isinstance(grad, TensorRef) else grad._data)

        entry.hooks.retain[nr] = keep

    def _manage(self, ref: TensorRef, retain: bool = False) -> None:
        """Takes a tensor into care."""
        id = ref.id
        with self._lock:
            if id not in self._refs:
                me = weakref.ref(self)

                def forget(_: Any) -> None:
                    gm = me()
                    if gm is not None:
                        gm._forget(id)

                self._refs[id] = weakref.ref(ref, forget)
                if ref.is_leaf:
                    info = info_of(ref)
                    if info.managers is None:
                        info.managers = weakref.WeakSet()
                    info.managers.add(self)
            if retain:
                self._retained.add(id)

    def _forget(self, id: int) -> None:
        with self._lock:
            self._refs.pop(id, None)
            self._gradients.pop(id, None)
            self._retained.discard(id)

    # -- gradients ------------------------------------------------------------------------------------------------

    def backward(self, output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
                 options: BackwardOptions | None = None, grad_outputs: Sequence[Any] | None = None) -> dict[int, Any]:
        """`autograd_tape.backward`, with the gradients of all leaves accumulated here, managed before or not."""
        context = run_backward(output, tape, executor, options, grad_outputs)
        deliver(context, self)
        return context.grad_tensors

    def accumulate(self, ref: TensorRef, grad: Any) -> None:
        """Adds a gradient, of the tensor's shape, to the tensor's gradient."""
        self._check_grad_shape(ref, grad)
        with self._lock:
            self._manage(ref)
            held = self._gradients.get(ref.id)
            # A copy, for what `backward` returned belongs to its caller.
            self._gradients[ref.id] = held + grad if held is not None else grad if isinstance(grad, TensorRef) else np.array(grad)

    def get_grad(self, ref: TensorRef) -> Any:
        """The accumulated gradient of a tensor, or None."""
        return self._gradients.get(_check_ref(ref, "get_grad").id)

    def set_grad(self, ref: TensorRef, grad: Any) -> None:
        """Replaces the gradient of a tensor; None clears it.

        Raises:
            ShapeMismatchError: the gradient has another shape than the tensor.
            ArgumentError: the tensor holds integers or booleans.
        """
        if grad is None:
            self.clear_grad(ref)
            return
        leaf_node(_check_ref(ref, "set_grad")._k.dtype, True, "only Tensors of floating point and complex dtype can have gradients")
        # A copy, for the array is its caller's.
        grad = grad if isinstance(grad, TensorRef) else np.array(grad, ref._k.np)
        self._check_grad_shape(ref, grad)
        with self._lock:
            self._manage(ref)
            self._gradients[ref.id] = grad

    def clear_grad(self, ref: TensorRef) -> None:
        """Forgets the gradient of a tensor."""
        with self._lock:
            self._gradients.pop(_check_ref(ref, "clear_grad").id, None)

    def clear_all_grads(self) -> None:
        """Forgets all gradients; tensors stay managed."""
        with self._lock:
            self._gradients.clear()

    def zero_grad(self, refs: TensorRef | Sequence[TensorRef]) -> None:
        """Sets the gradients of a tensor, or of several, to zero; one that has none stays without."""
        with self._lock:
            for ref in _distinct(refs):
                held = self.get_grad(ref)
                if held is not None:
                    self._gradients[ref.id] = np.zeros(tuple(ref.shape), ref._k.np)

    def _check_grad_shape(self, ref: TensorRef, grad: Any) -> None:
        _check_ref(ref, "set_grad")
        if tuple(grad.shape) != tuple(ref.shape):
            raise ShapeMismatchError(f"The gradient of tensor {ref.id} has the wrong shape", expected=str(tuple(ref.shape)),
                                     found=str(tuple(grad.shape)), remedy="give a gradient of the tensor's shape")

    # -- clipping -------------------------------------------------------------------------------------------------

    def clip_grad_norm(self, refs: TensorRef | Sequence[TensorRef], max_norm: float, norm_type: float = 2.0,
                       error_if_nonfinite: bool = False) -> float:
        """Scales gradients down so that their norm, all taken as one vector, is at most `max_norm`; the norm from before.

        The factor is min(1, max_norm / (norm + 1e-6)), as in torch.nn.utils.clip_grad_norm_. Tensors without a gradient are left
        out. The norm is computed in double precision and scaled where that would not hold it, so that it is right for all finite gradients
        of any dtype.

        Args:
            norm_type: p of the p-norm, `inf` for the largest absolute value.
            error_if_nonfinite: raise where the norm is infinite or NaN; else it spoils the gradients visibly.

        Raises:
            ArgumentError: `max_norm` is negative or `norm_type` not positive.
            AutogradError: the norm is not finite, and `error_if_nonfinite`; the gradients are left alone.
        """
        if not max_norm >= 0:
            raise ArgumentError("max_norm must not be negative", expected="a number >= 0", found=max_norm,
                                remedy="pass the largest norm allowed")
        if not norm_type > 0:
            raise ArgumentError("norm_type must be positive", expected="a number > 0, or inf", found=norm_type,
                                remedy="pass p of the p-norm")
        with self._lock:
            held = [(ref.id, self._gradients[ref.id]) for ref in _distinct(refs) if self.get_grad(ref) is not None]
            if not held:
                return 0.0
            total = _norm([_array(g) for _, g in held], norm_type)
            if error_if_nonfinite and not math.isfinite(total):
                raise AutogradError(f"The total norm of order {norm_type} is not finite, so the gradients cannot be clipped",
                                    expected="finite gradients", found=total, remedy="pass error_if_nonfinite=False to scale them anyway")
            factor = max_norm / (total + 1e-6)
            # Written so that a norm that is no number spoils the gradients visibly, as in torch.
            if not factor >= 1.0:
                for id, g in held:
                    self._gradients[id] = _scaled(g, factor)
        return total

    def clip_grad_value(self, refs: TensorRef | Sequence[TensorRef], clip_value: float) -> None:
        """Limits every element of the gradients to [-clip_value, clip_value].

        Raises:
            ArgumentError: `clip_value` is negative.
            DTypeError: a gradient is complex, and so has no order; none is changed.
        """
        if not clip_value >= 0:
            raise ArgumentError("clip_value must not be negative", expected="a number >= 0", found=clip_value,
                                remedy="pass the largest absolute value allowed")
        with self._lock:
            for ref in _distinct(refs):
                held = self.get_grad(ref)
                if held is not None and _array(held).dtype.kind == "c":
                    raise DTypeError("clip_grad_value() is not defined for complex gradients", expected="a real gradient",
                                     found=str(_array(held).dtype), remedy="limit their absolute values with clip_grad_norm")
            for ref in _distinct(refs):
                held = self.get_grad(ref)
                if held is not None:
                    self._gradients[ref.id] = np.clip(_array(held), -clip_value, clip_value)

    # -- checking -------------------------------------------------------------------------------------------------

    def check_grad(self, fn: Callable[..., Any], inputs: Sequence[Any], eps: float = 1e-5, atol: float = 1e-4, rtol: float = 1e-3) -> bool:
        """Whether the gradients of `fn(*inputs)` agree with numerical ones; `autograd_tape.check_grad` says where they do not."""
        return check_grad(fn, inputs, eps=eps, atol=atol, rtol=rtol).ok


def _check_ref(ref: Any, name: str) -> TensorRef:
    if not isinstance(ref, TensorRef):
        raise ArgumentError(f"{name}() takes a tensor", expected="TensorRef", found=type(ref).__name__,
                            remedy="pass the tensor, not its data or id")
    return ref


def _distinct(refs: TensorRef | Sequence[TensorRef]) -> list[TensorRef]:
    """Tensors without repetitions: a shared one counts once."""
    return list({_check_ref(ref, "clip").id: ref for ref in ([refs] if isinstance(refs, TensorRef) else refs)}.values())


def _array(grad: Any) -> np.ndarray:
    return grad._data if isinstance(grad, TensorRef) else grad


def _scaled(g: Any, factor: float) -> Any:
    """`g * factor`, of an array in double precision, rounded once: the factor may be less than the dtype can hold."""
    if isinstance(g, TensorRef):
        return g * factor  # type: ignore[operator]  # operators are installed from the records
    return np.asarray((g.astype(_wide(g)) * factor).astype(g.dtype))


def _wide(g: np.ndarray) -> type:
    return np.complex128 if g.dtype.kind == "c" else np.float64


def _norm(arrays: Sequence[np.ndarray], p: float) -> float:
    """The p-norm of all elements."""
    absolute = [np.abs(a.astype(_wide(a))) for a in arrays if a.size]
    if not absolute:
        return 0.0
    if math.isinf(p):
        return float(np.max([a.max() for a in absolute]))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total = float(np.sum([np.sum(a ** p) for a in absolute]))
        if 1e-280 < total < 1e280 or math.isnan(total):
            return float(total ** (1.0 / p))
        # Powers that a double cannot hold: of the elements as parts of the largest.
        largest = float(np.max([a.max() for a in absolute]))
        if largest == 0.0 or not math.isfinite(largest):
            return largest
        return float(largest * np.sum([np.sum((a / largest) ** p) for a in absolute]) ** (1.0 / p))


def grad(output: Any, inputs: Any = None, tape: Tape | None = None, executor: Executor | None = None,
         grad_outputs: Any = None, retain_graph: bool = False, create_graph: bool = False, **options: Any) -> Any:
    """Gradients of `output` with respect to `inputs`, in their order; None where an input was not used.

    With a function in the place of `output`, `autograd_tape.transforms.grad`: `grad(fn)`, `grad(fn, argnums)`.

    >>> from autograd_tape import F, TensorRef
    >>> x = TensorRef.of([3.0], requires_grad=True)
    >>> (dx,) = grad(F.sum(x * x * x), [x], create_graph=True)
    >>> grad(F.sum(dx), [x])
    [array([18.])]
    """
    if callable(output):
        return transform(output, *(() if inputs is None else (inputs,)), **options)
    if options:
        raise ArgumentError("grad() of a tensor has no such option", expected="retain_graph, create_graph, grad_outputs",
                            found=", ".join(options), remedy="leave it out")
    if inputs is None or isinstance(inputs, TensorRef):
        inputs = [] if inputs is None else [inputs]
    if not inputs:
        raise ArgumentError("grad() needs tensors to differentiate with respect to", expected="at least one tensor in `inputs`",
                            found="none", remedy="pass grad(output, [x, ...])")
    settings = BackwardOptions(retain_graph=retain_graph, create_graph=create_graph, inputs=list(inputs),
                               grad_outputs=None if grad_outputs is None else [grad_outputs])
    context = run_backward([output], tape, executor, settings)
    return [context.get_grad(ref) for ref in inputs]


be_callable(__name__, grad)
