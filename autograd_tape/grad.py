"""Gradients as something to keep: the grad mode, who requires a gradient, accumulated gradients, clipping.

The gradient functions by name, `grad_add`, `grad_matmul`, `grad_softmax`, ..., are attributes of this module for every
differentiable operation; they are derived from the operations' records (see `autograd_tape.registry`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from dataclasses import dataclass
import numpy as np

from .annotations import Values
from .backward import BackwardOptions, Gradients, deliver, run_backward, tensors_of
from .callable import be_callable
from .check import check_grad
from .errors import ArgumentError, AutogradError, DTypeError, NoGradError
from .executors import Executor
from .locks import fork_safe_lock
from .modes import GradMode, _ModeContext, grad_mode, set_grad_mode
from .node import GradFn
from .ops._host import data_of
from .registry import named_grad_fn
from .tape import Tape
from .tensor import NOTHING, TensorRef, zeros_of
from .transforms import grad as transform

def __getattr__(name: str) -> GradFn:
    return named_grad_fn(name)


@dataclass(frozen=True, eq=False, slots=True)
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
    """Looks after the gradients of the tensors it was told of, which is a view of their `.grad`.

    A tensor given to `set_requires_grad`, `retain_grad`, `set_grad` or `accumulate` is *managed*: its gradient is in `gradients`. The
    manager does not keep tensors alive, and has no gradients of its own. Managing is safe from several threads.

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
        self._refs: dict[int, weakref.ref[TensorRef]] = {}  # from the number of the object, for ids change with updates in place

    def __repr__(self) -> str:
        return f"<GradManager: {len(self._tensors())} tensors, {len(self.gradients)} gradients, mode {self.mode.name.lower()}>"

    def _tensors(self) -> list[TensorRef]:
        """The managed tensors that live."""
        with self._lock:
            return [ref for ref in [weak() for weak in self._refs.values()] if ref is not None]

    @property
    def gradients(self) -> MutableMapping[TensorRef | int, Any]:
        """From managed tensor, or its id, to its gradient as it is now; what is put here is set, what is deleted is cleared."""
        return _Live(self)

    @property
    def grad_info(self) -> dict[int, GradientInfo]:
        """From tensor id to what is known of the tensor."""
        return {ref.id: GradientInfo(ref, _held(ref), ref.requires_grad, ref.is_leaf, getattr(ref, "_info", NOTHING).retains_grad)
                for ref in self._tensors()}

    # -- mode -----------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> GradMode:
        """This thread's grad mode; there is one per thread, whoever sets it."""
        return grad_mode()

    @mode.setter
    def mode(self, mode: GradMode) -> None:
        self.set_mode(mode)

    def set_mode(self, mode: GradMode) -> None:
        """Sets this thread's grad mode.

        Raises:
            ArgumentError: it is no `GradMode`.
        """
        if not isinstance(mode, GradMode):
            raise ArgumentError("A grad mode is wanted", expected="GradMode.ENABLED, DISABLED or INFERENCE", found=repr(mode),
                                remedy="pass one of them")
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
            ref.requires_grad = requires
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
        self._manage(ref)
        ref.retain_grad()  # type: ignore[attr-defined]  # a method from `hooks`

    def _manage(self, ref: TensorRef) -> None:
        """Takes a tensor into care."""
        key = id(ref)
        with self._lock:
            if key not in self._refs:
                refs, lock = self._refs, self._lock

                def forget(dead: object) -> None:
                    with lock:
                        if refs.get(key) is dead:
                            del refs[key]

                refs[key] = weakref.ref(ref, forget)

    # -- gradients ------------------------------------------------------------------------------------------------

    def backward(self, output: TensorRef | Sequence[TensorRef], tape: Tape | None = None, executor: Executor | None = None,
                 options: BackwardOptions | Sequence[Any] | None = None, grad_outputs: Sequence[Any] | None = None) -> Gradients:
        """`autograd_tape.backward`, after which this manager looks after all tensors that a gradient came to."""
        context = run_backward(output, tape, executor, options, grad_outputs)
        deliver(context)
        for ref in context.refs.values():
            self._manage(ref)
            if not ref.is_leaf and not getattr(ref, "_info", NOTHING).retains_grad:
                ref._add_grad(context.grad_tensors[ref])
        return context.grad_tensors

    def accumulate(self, ref: TensorRef, grad: Values) -> None:
        """Adds a gradient, of the tensor's shape, to the tensor's gradient, in the tensor's dtype.

        Raises:
            ShapeMismatchError: the gradient has another shape than the tensor.
        """
        grad = _check_ref(ref, "accumulate")._as_grad(grad)
        self._manage(ref)
        with self._lock:
            ref._add_grad(grad if grad.requires_grad else grad._data)

    def get_grad(self, ref: TensorRef) -> Values | None:
        """The gradient of a tensor as an array, or None: the elements of `ref.grad`. One that was recorded is that tensor itself."""
        return _shown(_check_ref(ref, "get_grad"))

    def set_grad(self, ref: TensorRef, grad: Any) -> None:
        """Replaces the gradient of a tensor, computed ones too; None clears it. An array is copied, in the tensor's dtype.

        Raises:
            ShapeMismatchError: the gradient has another shape than the tensor.
            ArgumentError: the tensor holds integers or booleans, or the gradient is made of no numbers.
        """
        new = None if grad is None else _check_ref(ref, "set_grad")._as_grad(grad)
        self._manage(_check_ref(ref, "set_grad"))
        ref._grad = new

    def clear_grad(self, ref: TensorRef) -> None:
        """Forgets the gradient of a tensor."""
        _check_ref(ref, "clear_grad")._grad = None

    def clear_all_grads(self) -> None:
        """Forgets the gradients of all managed tensors, which stay managed."""
        for ref in self._tensors():
            ref._grad = None

    def zero_grad(self, refs: TensorRef | Sequence[TensorRef]) -> None:
        """Sets the gradients of a tensor, or of several, to zero; one that has none stays without."""
        for ref in _distinct(refs, "zero_grad"):
            if _held(ref) is not None:
                ref._grad = ref._as_grad(zeros_of(ref))

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
        _check_number(max_norm, "max_norm must not be negative", "a number >= 0", "pass the largest norm allowed", lambda x: x >= 0)
        _check_number(norm_type, "norm_type must be positive", "a number > 0, or inf", "pass p of the p-norm", lambda x: x > 0)
        with self._lock:
            held = [(ref, found) for ref in _distinct(refs, "clip_grad_norm") if (found := _held(ref)) is not None]
            if not held:
                return 0.0
            total = _norm([data_of(g) for _, g in held], norm_type)
            if error_if_nonfinite and not math.isfinite(total):
                raise AutogradError(f"The total norm of order {norm_type} is not finite, so the gradients cannot be clipped",
                                    expected="finite gradients", found=total, remedy="pass error_if_nonfinite=False to scale them anyway")
            factor = max_norm / (total + 1e-6)
            # Written so that a norm that is no number spoils the gradients visibly, as in torch.
            if not factor >= 1.0:
                for ref, g in held:
                    ref._grad = _scaled(ref, g, factor)
        return total

    def clip_grad_value(self, refs: TensorRef | Sequence[TensorRef], clip_value: float) -> None:
        """Limits every element of the gradients to [-clip_value, clip_value].

        Raises:
            ArgumentError: `clip_value` is negative.
            DTypeError: a gradient is complex, and so has no order; none is changed.
        """
        _check_number(clip_value, "clip_value must not be negative", "a number >= 0", "pass the largest absolute value allowed",
                      lambda x: x >= 0)
        held = [(ref, found) for ref in _distinct(refs, "clip_grad_value") if (found := _held(ref)) is not None]
        for _, g in held:
            if g._k.np.kind == "c":
                raise DTypeError("clip_grad_value() is not defined for complex gradients", expected="a real gradient",
                                 found=str(g._k.np), remedy="limit their absolute values with clip_grad_norm")
        for ref, g in held:
            ref._grad = ref._as_grad(np.clip(data_of(g), -clip_value, clip_value))

    # -- checking -------------------------------------------------------------------------------------------------

    @staticmethod
    def check_grad(fn: Callable[..., Any], inputs: Sequence[Any], eps: float = 1e-5, atol: float = 1e-4, rtol: float = 1e-3) -> bool:
        """Whether the gradients of `fn(*inputs)` agree with numerical ones; `autograd_tape.check_grad` says where they do not."""
        return check_grad(fn, inputs, eps=eps, atol=atol, rtol=rtol).ok


def _check_number(value: Any, wrong: str, expected: str, remedy: str, allowed: Callable[[float], bool]) -> None:
    if not isinstance(value, (int, float, np.integer, np.floating)) or not allowed(float(value)):
        raise ArgumentError(wrong, expected=expected, found=repr(value), remedy=remedy)


def _check_ref(ref: Any, name: str) -> TensorRef:
    if not isinstance(ref, TensorRef):
        raise ArgumentError(f"{name}() takes a tensor", expected="TensorRef", found=type(ref).__name__,
                            remedy="pass the tensor, not its data or id")
    return ref


def _distinct(refs: TensorRef | Sequence[TensorRef], name: str) -> list[TensorRef]:
    """Tensors without repetitions: a shared one counts once."""
    return list({id(ref): ref for ref in tensors_of(refs, f"{name}()")}.values())


def _held(ref: TensorRef) -> TensorRef | None:
    """The gradient of a tensor. (torch's `.grad` of a computed tensor warns where that was not asked for.)"""
    found: TensorRef | None = TensorRef.grad.fget(ref)  # type: ignore[attr-defined]  # of a property
    return found


def _shown(ref: TensorRef) -> Any:
    held = _held(ref)
    return held if held is None or held.requires_grad else data_of(held)


class _Live(MutableMapping[Any, Any]):
    """The gradients of a manager's tensors, as they are whenever one looks."""

    def __init__(self, manager: GradManager) -> None:
        self._manager = manager

    def _find(self, key: TensorRef | int) -> TensorRef:
        for ref in self._manager._tensors():
            if ref is key if isinstance(key, TensorRef) else ref.id == key:
                return ref
        raise KeyError(key)

    def __getitem__(self, key: TensorRef | int) -> Any:
        found = _shown(self._find(key))
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: TensorRef | int, gradient: Any) -> None:
        self._manager.set_grad(key if isinstance(key, TensorRef) else self._find(key), gradient)

    def __delitem__(self, key: TensorRef | int) -> None:
        self[key]
        self._manager.clear_grad(self._find(key))

    def __iter__(self) -> Iterator[int]:
        return iter([ref.id for ref in self._manager._tensors() if _held(ref) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr(dict(self))


def _scaled(ref: TensorRef, g: TensorRef, factor: float) -> TensorRef:
    """`g * factor`, of what has no history in double precision, rounded once: the factor may be less than the dtype can hold."""
    if g.requires_grad:
        return g * factor
    array = data_of(g)
    return ref._as_grad((array.astype(_wide(array)) * factor).astype(array.dtype))


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
         grad_outputs: Any = None, retain_graph: bool = False, create_graph: bool = False, **options: bool) -> Any:
    """Gradients of a tensor; or, called with a function, the function's gradient function.

    `grad(output, inputs)` gives the gradients of `output`, one tensor or several, with respect to `inputs`, in their order; None where an
    input was not used. Nothing is added to any `.grad`.

    `grad(fn)`, `grad(fn, argnums, has_aux=False)` is `autograd_tape.transforms.grad`: a function of the same arguments that returns the
    gradients of `fn`. It takes no other options.

    Args:
        output: a tensor, or several; or a function.
        inputs: tensors, or one; of a function, the positions of the arguments to differentiate with respect to, 0 where left out.
        tape, executor, grad_outputs: as for `backward`.
        retain_graph, create_graph: see `BackwardOptions`.

    Raises:
        ArgumentError: an option that does not go with what is differentiated.
        NoGradError: as for `backward`.

    >>> from autograd_tape import F, TensorRef
    >>> x = TensorRef.of([3.0], requires_grad=True)
    >>> (dx,) = grad(F.sum(x * x * x), [x], create_graph=True)
    >>> grad(F.sum(dx), [x])
    [array([18.])]
    >>> grad(lambda x: x * x * x)(3.0)
    array(27.)
    """
    if callable(output) and not isinstance(output, TensorRef):
        passed = {"tape": tape, "executor": executor, "grad_outputs": grad_outputs, "retain_graph": retain_graph,
                  "create_graph": create_graph}
        wrong = [name for name, value in passed.items() if value is not None and value is not False]
        wrong += [name for name in options if name not in ("argnums", "has_aux") or name == "argnums" and inputs is not None]
        if wrong:
            raise ArgumentError("grad() of a function has no such option", expected="argnums, has_aux", found=", ".join(wrong),
                                remedy="leave it out; derivatives of higher order are transforms of transforms")
        return transform(output, **options if inputs is None else {"argnums": inputs, **options})
    if options:
        raise ArgumentError("grad() of a tensor has no such option", expected="tape, executor, grad_outputs, retain_graph, create_graph",
                            found=", ".join(options), remedy="leave it out")
    output, inputs = tensors_of(output, "grad()"), tensors_of([] if inputs is None else inputs, "grad()")
    if not inputs:
        raise ArgumentError("grad() needs tensors to differentiate with respect to", expected="at least one tensor in `inputs`",
                            found="none", remedy="pass grad(output, [x, ...])")
    settings = BackwardOptions(retain_graph=retain_graph, create_graph=create_graph, inputs=inputs, grad_outputs=grad_outputs)
    context = run_backward(output, tape, executor, settings)
    return [context.get_grad(ref) for ref in inputs]


be_callable(__name__, grad)
