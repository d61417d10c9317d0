"""Checkpoints: activations that are not kept for backward but computed again there."""

from __future__ import annotations

import contextlib
import enum
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn
from autograd_tape.modes import GradMode, current_engine, grad_mode

from .._calls.absent import absences as _absences
from .._calls.autocast import state as autocast_state
from .._tensor import Tensor, frontend
from ..amp import autocast
from ..autograd.engine import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..random import fork_rng, get_rng_state, set_rng_state
from torchcompat._calls.aten import OpOverload, OpOverloadPacket
from torchcompat.nn.modules.module import Module
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SelectiveCheckpointContext", "checkpoint",
           "checkpoint_sequential", "check_backward_validity", "create_selective_checkpoint_contexts", "detach_variable",
           "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

DEFAULT = "default"


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


class _Stop(Exception):
    """Everything that backward needs has been computed again."""


class _Settings(threading.local):
    early_stop: bool | None = None
    debug: bool | None = None


_settings = _Settings()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Inside, checkpoints stop computing again as soon as all saved tensors are there (the default), or do not, whatever they were told."""
    before, _settings.early_stop = _settings.early_stop, enable
    try:
        yield
    finally:
        _settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Inside, checkpoints tell what operations ran where the second run differs, or do not; None leaves it to their own `debug`."""
    before, _settings.debug = _settings.debug, enabled
    try:
        yield
    finally:
        _settings.debug = before


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[object, ...]) -> Arguments:
    """The inputs as leaves of their own."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs)


def check_backward_validity(inputs: Sequence[Tensor]) -> None:
    """Warns where no input requires grad."""
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warned.warn("None of the inputs have requires_grad=True. Gradients will be None")


class DefaultDeviceType:
    """The kind of devices whose random state a checkpoint keeps where its tensors do not say."""

    _default_device_type = ""

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind; that of the accelerator, which is the CPU here, where none was set.

        >>> DefaultDeviceType.get_device_type()
        'cpu'
        """
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args: object) -> tuple[list[int], list[Tensor]]:
    """(numbers, random states) of the devices beside the CPU that tensors among the arguments are on: none."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Gives devices the random states that `get_device_states` gave: there are none.

    Raises:
        RuntimeError: one of a device that is not there is given.
    """
    for device in devices:
        raise RuntimeError(f"there is no device {device_type or DefaultDeviceType.get_device_type()}:{device}")


class _Surroundings:
    """The random state and autocast settings at forward, to be there again when the function is run again."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.random = get_rng_state() if preserve_rng_state else None
        self.autocast = [(device, on, autocast_state.dtype(device)) for device, on in autocast_state.enabled.items()]
        self.cache = autocast_state.cache

    @contextlib.contextmanager
    def again(self) -> Any:
        """A block as it was then."""
        with contextlib.ExitStack() as stack:
            if self.random is not None:
                stack.enter_context(fork_rng())
                set_rng_state(self.random)
            for device, enabled, dtype in self.autocast:
                stack.enter_context(autocast(device, dtype, enabled, self.cache))
            yield


# -- by hooks on saved tensors --------------------------------------------------------------------------------------


class _Holder:
    """Stands for a saved tensor of a checkpoint."""

    __slots__ = ("position", "__weakref__")

    def __init__(self, position: int) -> None:
        self.position = position


class _Inputs(Function):
    """Saves the tensors a checkpoint was called with, like any saved tensors: checkpoints and hooks around this one keep them in their
    way."""

    @staticmethod
    def forward(*tensors: object) -> Tensor:
        """A tensor whose history holds the inputs."""
        return empty()

    @staticmethod
    def setup_context(ctx: Any, inputs: Arguments, output: object) -> None:
        """Saves the tensors."""
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: object, *grads: object) -> Any:
        """Never called: nothing is computed from the output."""
        raise AssertionError("Did not expect to backward on this graph")


def empty(requires_grad: bool = False) -> Tensor:
    """A tensor without elements."""
    return frontend.empty((0,), requires_grad=requires_grad)


TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
"""


class _Frame:
    """One call of a checkpointed function.

    Args:
        run: the function, called with the tensors among its arguments.
        tensors: these.
    """

    def __init__(self, run: Fn, tensors: list[Tensor], determinism_check: str, early_stop: bool) -> None:
        self.run, self.check, self.early_stop = run, determinism_check, early_stop
        self.kept: list[tuple[Any, weakref.ref[_Holder]]] = []  # what each saved tensor was like, and what stands for it
        self.again: weakref.WeakKeyDictionary[object, dict[int, object]] = weakref.WeakKeyDictionary()  # backward pass -> tensors
        self.done = False  # the first run
        self.saver = _Inputs.apply(empty(True), *tensors)

    def pack(self, tensor: Tensor) -> _Holder:
        """Forgets a tensor, but not what it was like."""
        holder = _Holder(len(self.kept))
        self.kept.append(((tensor.shape, tensor.dtype, tensor.device), weakref.ref(holder)))
        return holder

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
        """All saved tensors of the function that somebody still holds, by position."""
        found: dict[int, object] = {}
        count, expected, mismatch = 0, len(self.kept), False
        inputs = self.saver.grad_fn.saved_tensors

        def pack(tensor: Tensor) -> object:
            nonlocal count, mismatch
            count += 1
            if count > expected:
                if not self.done:  # a backward pass inside the function itself
                    mismatch = True
                    return tensor.detach()
                raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                                      f"forward pass.\n{TIP}")
            if self.kept[count - 1][1]() is not None:
                found[count - 1] = tensor.detach()
            if self.early_stop and count == expected:
                raise _Stop
            return tensor.detach()

        with contextlib.suppress(_Stop), saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
            self.run(*inputs)
        if mismatch:
            return found
        if count != expected:
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                                  f"recomputation.\nNumber of tensors saved during forward: {expected}\nNumber of tensors saved "
                                  f"during recomputation: {count}.\n{TIP}")
        if self.check == DEFAULT:
            self._compare(found)
        return found

    def _compare(self, found: dict[int, Any]) -> None:
        different = []
        for position, t in found.items():
            kept, again = [{"shape": s, "dtype": d, "device": p} for s, d, p in (self.kept[position][0], (t.shape, t.dtype, t.device))]
            if kept != again:
                different.append(f"tensor at position {position}:\nsaved metadata: {kept}\nrecomputed metadata: {again}\n")
        if different:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                                  f"the forward pass.\n{''.join(different)}.\n{TIP}")


class _Log:
    """The operations of both runs of a checkpoint, told where they differ."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []

    def run(self) -> Any:
        """A block whose operations are noted."""
        seen: list[str] = []
        self.runs.append(seen)

        class Note(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
                shown = ", ".join([f"{a.dtype}{list(a.shape)}" if isinstance(a, Tensor) else repr(a) for a in args])
                seen.append(f"{func}({shown})")
                return func(*args, **(kwargs or {}))

        return Note()

    def explain(self, unpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`unpack` with errors that tell the operations."""
        def explained(holder: object) -> object:
            try:
                return unpack(holder)
            except CheckpointError as error:
                first, last = ["\n".join([f"  {i + 1}. {line}" for i, line in enumerate(run)]) for run in (self.runs[0], self.runs[-1])]
                raise CheckpointError(
                    "An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed `debug=True` to "
                    f"`torch.utils.checkpoint.checkpoint()`.\n\nOperators that ran in the original forward:\n{first}\n\nOperators that "
                    f"ran during recomputation:\n{last}\n\n{error}") from error

        return explained


# -- some operations kept -------------------------------------------------------------------------------------------


class CheckpointPolicy(enum.Enum):
    """What becomes of an operation's result in a checkpoint: kept, or computed again. `MUST` tells compilers to leave it so."""

    MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, MUST_CPU_OFFLOAD, PREFER_CPU_OFFLOAD = range(6)


class SelectiveCheckpointContext:
    """What a policy is told besides the operation and its arguments: the result."""

    def __init__(self, *, is_recompute: bool, op_output: object = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Left(enum.Enum):
    """What is noted of a result that is not kept."""

    RECOMPUTE, CONSUMED = range(2)


class _Kept:
    """A result, and how often it had been changed."""

    def __init__(self, value: object) -> None:
        self.value = value.detach() if isinstance(value, Tensor) else value
        self.version = self.value._version if isinstance(self.value, Tensor) else 0

    def get(self, may_change: bool) -> object:
        """The result, unless it was changed since."""
        if isinstance(self.value, Tensor) and not may_change and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


_Storage = dict[object, dict[int, Any]]  # operation -> number of the call -> results kept, or why not
MISMATCH = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed "
            "between forward and backward.")


class _CountingMode(TorchDispatchMode):
    """Tells operations by how often they were called in a run; those that checkpoints call themselves pass."""

    def __init__(self, storage: _Storage) -> None:
        super().__init__()
        self.storage = storage
        self.func_counter: dict[object, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.func_counter.clear()  # a run from its beginning, also where backward is called again
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) in ("aten.detach.default", "prim.device.default"):
            return func(*args, **(kwargs or {}))
        index = self.func_counter[func]
        self.func_counter[func] += 1
        return self._counted(func, index, args, kwargs or {})

    def _counted(self, func: Fn, index: int, args: Arguments, kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError


class _CachingTorchDispatchMode(_CountingMode):
    """The first run: keeps what the policy says."""

    def __init__(self, policy_fn: Fn, storage: _Storage, ac_graph_id: int | None = None) -> None:
        super().__init__(storage)
        self.policy_fn, self.ac_graph_id = policy_fn, ac_graph_id

    def _counted(self, func: Fn, index: int, args: Arguments, kwargs: Mapping[str, Any]) -> Any:
        result = func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        kept = policy if isinstance(policy, bool) else policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        self.storage[func][index] = tree_map(_Kept, result) if kept else _Left.RECOMPUTE
        return result


class _CachedTorchDispatchMode(_CountingMode):
    """The second run: gives what was kept, once, and carries out the rest."""

    def __init__(self, policy_fn: Fn | None, storage: _Storage, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__(storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def _counted(self, func: Fn, index: int, args: Arguments, kwargs: Mapping[str, Any]) -> Any:
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {MISMATCH}")
        kept = self.storage[func]
        if index not in kept:
            raise RuntimeError(f"{func} invocation index {index} encountered during backward but not found in storage. {MISMATCH}")
        entry = kept[index]
        if entry is _Left.CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                               "selective activation checkpoint.")
        if entry is _Left.RECOMPUTE:
            return func(*args, **kwargs)
        kept[index] = _Left.CONSUMED
        return tree_map(lambda k: k.get(self.allow_cache_entry_mutation) if isinstance(k, _Kept) else k, entry)


def create_selective_checkpoint_contexts(policy_fn_or_list: Callable[..., CheckpointPolicy | bool] | list[Any],
                                         allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The contexts of both runs of a checkpoint that keeps the results of some operations.

    Args:
        policy_fn_or_list: the operations whose results are kept, as `torch.ops.aten.mm.default`; or a function that decides, of a
            `SelectiveCheckpointContext`, the operation and its arguments.
        allow_cache_entry_mutation: results that are kept may be changed by the program.

    >>> import functools
    >>> import torchcompat as torch
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda t: (t @ t).sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    >>> x.grad[0, 0]
    tensor(-1.6646)
    """
    policy: Callable[..., CheckpointPolicy | bool]
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                more = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
                        "it to `torch.ops.aten.mm.default`.") if isinstance(op, OpOverloadPacket) else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {more}")

        def policy(_: SelectiveCheckpointContext, op: object, *args: object, **kwargs: object) -> bool:
            return op in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: _Storage = defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation)


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
        if engine is not None and engine.names_inputs:
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
        early_stop: stop the second run as soon as all saved tensors are there.
        debug: note the operations of both runs, and tell them where the runs differ.
        preserve_rng_state: whether the second run draws the random numbers of the first.

    >>> import torchcompat as torch
    >>> from torchcompat.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: t.exp().exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([41.1936, 41.1936])
    """
    if use_reentrant is None:
        warned.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
                    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
                    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
                    "differences between the two variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in (DEFAULT, "none"):
        raise ValueError(f"determinism_check should be one of ['{DEFAULT}', 'none'], but got {determinism_check}")
    debug = debug if _settings.debug is None else _settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    log = _Log() if debug else None
    first, second = (log.run(), contextlib.nullcontext()) if log is not None else context_fn()
    if grad_mode() is not GradMode.ENABLED:
        with first:
            return function(*args, **kwargs)
    surroundings = _Surroundings(preserve)
    # Tensors are kept by the graph, everything else as it is.
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    others = [None if isinstance(a, Tensor) else a for a in args]

    def run(*tensors: object) -> object:
        again = list(others)
        for i, t in zip(places, tensors):
            again[i] = t
        with surroundings.again(), second if log is None else log.run():
            return function(*again, **kwargs)

    frame = _Frame(run, [args[i] for i in places], determinism_check, early_stop if _settings.early_stop is None else _settings.early_stop)
    unpack = frame.unpack if log is None else log.explain(frame.unpack)
    with saved_tensors_hooks(frame.pack, unpack), first:
        result = function(*args, **kwargs)
    frame.done = True
    return result


def checkpoint_sequential(functions: Sequence[Fn] | Module, segments: int, input: object, use_reentrant: bool | None = None,
                          **kwargs: object) -> Tensor:
    """Functions one after the other, in `segments` parts of which all but the last are checkpoints."""
    if use_reentrant is None:
        warned.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
                    "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
                    "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
                    "differences between the two variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(some: list[Module | Fn]) -> Callable[[Any], Any]:
        def run(x: object) -> object:
            for step in some:
                x = step(x)
            return x

        return run

    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(steps[start: start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(steps[size * (segments - 1):])(input)


_absences(__name__)
