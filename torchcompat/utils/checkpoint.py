"""Checkpoints: activations that are not kept for backward but computed again there."""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from autograd_tape.backward import current_engine

from .._tensor import Tensor
from ..autograd.engine import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..random import fork_rng, get_rng_state, set_rng_state

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "check_backward_validity", "detach_variable",
           "noop_context_fn", "set_checkpoint_early_stop"]

DEFAULT = "default"


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


class _Stop(Exception):
    """Everything that backward needs has been computed again."""


class _Settings(threading.local):
    early_stop = True


_settings = _Settings()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Inside, checkpoints stop computing again as soon as all saved tensors are there (the default), or do not."""
    before, _settings.early_stop = _settings.early_stop, enable
    try:
        yield
    finally:
        _settings.early_stop = before


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as leaves of their own."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warns where no input requires grad."""
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class _Surroundings:
    """The random state and autocast settings at forward, to be there again when the function is run again."""

    def __init__(self, preserve_rng_state: bool) -> None:
        from .. import amp

        self.random = get_rng_state() if preserve_rng_state else None
        self.contexts = amp._state.contexts

    @contextlib.contextmanager
    def again(self) -> Any:
        """A block as it was then."""
        with contextlib.ExitStack() as stack:
            if self.random is not None:
                stack.enter_context(fork_rng())
                set_rng_state(self.random)
            for context in self.contexts:
                stack.enter_context(context)
            yield


# -- by hooks on saved tensors --------------------------------------------------------------------------------------


class _Holder:
    """Stands for a saved tensor of a checkpoint."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class _Frame:
    """One call of a checkpointed function."""

    def __init__(self, run: Callable[[], Any], determinism_check: str, early_stop: bool) -> None:
        self.run, self.check, self.early_stop = run, determinism_check, early_stop
        self.kept: list[tuple[Any, ...]] = []  # what each saved tensor was like
        self.again: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()  # backward pass -> tensors

    def pack(self, tensor: Any) -> _Holder:
        """Forgets a tensor, but not what it was like."""
        self.kept.append((tensor.shape, tensor.dtype, tensor.device))
        return _Holder(len(self.kept) - 1)

    def unpack(self, holder: _Holder) -> Any:
        """The tensor, computed again with all others of the frame at the first request of each backward pass."""
        engine = current_engine()
        tensors = None if engine is None else self.again.get(engine)
        if tensors is None:
            tensors = self.recompute()
            if engine is not None:
                self.again[engine] = tensors
        if holder.position not in tensors:
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                                  "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue "
                                  "with details on your use case.")
        return tensors.pop(holder.position) if engine is not None else tensors[holder.position]

    def recompute(self) -> dict[int, Any]:
        """All saved tensors of the function, by position."""
        found: dict[int, Any] = {}
        count = 0

        def pack(tensor: Any) -> Any:
            nonlocal count
            found[count] = tensor.detach()
            count += 1
            if self.early_stop and count == len(self.kept):
                raise _Stop
            return tensor.detach()

        with contextlib.suppress(_Stop), saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
            self.run()
        if count != len(self.kept):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                                  f"recomputation.\nNumber of tensors saved during forward: {len(self.kept)}\nNumber of tensors saved "
                                  f"during recomputation: {count}.\n")
        if self.check == DEFAULT:
            self._compare(found)
        return found

    def _compare(self, found: dict[int, Any]) -> None:
        different = []
        for position, (shape, dtype, device) in enumerate(self.kept):
            t = found[position]
            if (t.shape, t.dtype, t.device) != (shape, dtype, device):
                saved, again = ({"shape": s, "dtype": d, "device": p} for s, d, p in ((shape, dtype, device), (t.shape, t.dtype, t.device)))
                different.append(f"tensor at position {position}:\nsaved metadata: {saved}\nrecomputed metadata: {again}\n")
        if different:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                                  f"the forward pass.\n{''.join(different)}.\n")


# -- by a backward inside backward ----------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """Runs a function without recording it; its backward runs it again, and a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """The function's result."""
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.tensor_indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Gradients of the arguments, and into the `.grad` of whatever else the function uses."""
        engine = current_engine()
        if engine is not None and engine.capture is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                               "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                               ".backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        for i, t in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[i] = t
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, Tensor) else None for t in detached])


# -- the interface --------------------------------------------------------------------------------------------------


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = DEFAULT, debug: bool = False,
               early_stop: bool = True, **kwargs: Any) -> Any:
    """`function(*args)` whose intermediate results are not kept for backward but computed again there.

    Args:
        use_reentrant: run backward of the function as a pass of its own (True), or compute saved tensors again when they are asked
            for (False, which works with `torch.autograd.grad` and keyword arguments too).
        context_fn: makes the contexts for the first and the second run.
        determinism_check: "default" compares shapes, dtypes and devices of both runs, "none" nothing.
        preserve_rng_state: whether the second run draws the random numbers of the first.

    >>> import torchcompat as torch
    >>> from torchcompat.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: t.exp().exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([41.1936, 41.1936])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
                      "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
                      "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
                      "differences between the two variants.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    first, second = context_fn()
    surroundings = _Surroundings(preserve)

    def run() -> Any:
        with surroundings.again(), second:
            return function(*args, **kwargs)

    frame = _Frame(run, determinism_check, early_stop and _settings.early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Functions one after the other, in `segments` parts of which all but the last are checkpoints."""
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
                      "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
                      "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
                      "differences between the two variants.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(some: list[Any]) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for step in some:
                x = step(x)
            return x

        return run

    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(steps[start: start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(steps[size * (segments - 1):])(input)
