"""autograd.Function: operations with a gradient written by the user."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from autograd_tape.tape import GradMode, OutputEdge, TapeEntry, _mode, edge_of, grad_mode, next_id
from autograd_tape.tensor import LEAF

from .._tensor import Tensor, frontend


class FunctionNode(TapeEntry):
    """The node of a custom Function; it is also the `ctx` that forward and backward see."""

    __slots__ = ()
    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize = True
    _function: Any = None
    _positions: tuple[int, ...] = ()
    _outputs: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Saves tensors for backward; they are checked for in-place changes there."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {tensors.index(t)} is of type {type(t).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Saves tensors for `jvp`."""
        self._forward_saved = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Says which inputs forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Says which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach backward as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:  # type: ignore[override]
        """What was saved, checked."""
        from autograd_tape.backward import freed, stale

        if self.saved is None:
            raise freed(self).as_builtin()
        found = []
        for item in self.saved:
            if item is None:
                found.append(None)
                continue
            tensor, version, output_nr = item
            if output_nr is not None:
                t = frontend.wrap(tensor[0], tensor[1], OutputEdge(self, output_nr) if self.n_outputs > 1 else self)
                t._v = tensor[2]
                if tensor[2][0] != version:
                    raise stale(self, tensor[0], version, tensor[2][0]).as_builtin()
                found.append(t)
                continue
            if (tensor._v[0] if tensor._v is not None else 0) != version:
                raise stale(self, tensor, version).as_builtin()
            found.append(tensor)
        return tuple(found)

    saved_variables = saved_tensors

    def name(self) -> str:
        """The node's name."""
        return type(self).__name__

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls backward with recording off."""
        grads = self._call([g if g is None else frontend.wrap(np.asarray(g)) for g in (grad if isinstance(grad, list) else [grad])])
        return [None if g is None else g._data for g in grads]

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls backward with recording on."""
        return self._call(grad if isinstance(grad, list) else [grad])

    def _call(self, grads: list[Any]) -> list[Any]:
        if self._materialize:
            grads = [frontend.wrap(np.zeros(shape, k.np), k) if g is None else g for g, (shape, k) in zip(grads, self._outputs)]
        before = grad_mode()
        try:
            result = self._function.backward(self, *grads)
        finally:
            _mode.set(before)
        result = result if isinstance(result, (tuple, list)) else (result,)
        name, n = type(self).__name__, len(self.needs_input_grad)
        if len(result) > n and all(r is None for r in result[n:]):
            result = result[:n]
        if len(result) != n:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {n}, got {len(result)})")
        out = []
        for i, (position, edge) in enumerate(zip(self._positions, self.edges)):
            g = result[position]
            if g is not None and not isinstance(g, Tensor):
                raise TypeError(f"expected Variable or None (got {type(g).__name__})")
            if edge is None or g is None:
                out.append(None)
                continue
            shape, dtype = self.meta_in[i]
            if g._data.shape != shape:
                lead = g._data.ndim - len(shape)
                fits = lead >= 0 and all(b == 1 or a == b for a, b in zip(g._data.shape[lead:], shape))
                if not fits:
                    raise RuntimeError(f"Function {name} returned an invalid gradient at index {position} - got {list(g._data.shape)} but "
                                       f"expected shape compatible with {list(shape)}")
            out.append(frontend.fit(g, shape, dtype))
        return out


class _FunctionMeta(type):
    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_class = type(name + "Backward", (FunctionNode,), {"__slots__": (), "__module__": "torch.autograd.function"})


class Function(metaclass=_FunctionMeta):
    """Base of custom operations: static methods `forward(ctx, ...)` and `backward(ctx, *grads)`.

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

    _node_class: type[FunctionNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
                           "on the class itself. Instantiating an autograd function is not allowed.")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Saves for backward, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Turns the outputs' gradients into one per input of forward."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
                                  "mode AD.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and records the operation."""
        node = cls._node_class()
        node._function = cls
        positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        recording = grad_mode() is GradMode.ENABLED and any(args[i]._node is not None for i in positions)
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a._node is not None for a in args)
        node.saved, node.meta = (), None
        node._positions = positions
        node.edges = tuple(edge_of(args[i]) for i in positions)
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        try:
            if cls.setup_context is Function.setup_context:
                results = cls.forward(node, *args, **kwargs)
            else:
                results = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, results)
        finally:
            _mode.set(before)
        single = not isinstance(results, (tuple, list))
        outputs = [results] if single else list(results)
        if recording:
            cls._record(node, args, outputs)
        return outputs[0] if single else tuple(outputs)

    @classmethod
    def _record(cls, node: FunctionNode, args: tuple[Any, ...], outputs: list[Any]) -> None:
        inputs = {id(a): a for a in args if isinstance(a, Tensor)}
        dirty = {id(t) for t in node._dirty}
        plain = {id(t) for t in node._non_differentiable}
        node.meta_in = [(args[i]._data.shape, args[i]._k.np) for i in node._positions]
        slots = [i for i, o in enumerate(outputs) if isinstance(o, Tensor)]
        node.n_outputs = len(slots)
        for _ in slots[1:]:
            next_id()
        node.id = next_id()  # type: ignore[assignment]
        node._outputs = tuple((outputs[i]._data.shape, outputs[i]._k) for i in slots)
        saved_outputs: dict[int, tuple[Any, int]] = {}
        for nr, i in enumerate(slots):
            original = output = outputs[i]
            differentiable = id(original) not in plain and (output._k.dtype.is_floating_point or output._k.dtype.is_complex)
            target = node if node.n_outputs == 1 else OutputEdge(node, nr)
            if id(original) in dirty and id(original) in inputs:
                if original._node is LEAF:
                    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
                if original._base is not None:
                    frontend.rebase(original, node) if node.n_outputs == 1 else None
                else:
                    original._node = target
            else:
                if id(original) in inputs:
                    output = outputs[i] = _alias(original)
                output._node = target if differentiable else None
            saved_outputs[id(original)] = (output, nr)
        saved: list[Any] = []
        for t in node._to_save:
            if t is None:
                saved.append(None)
            elif id(t) in saved_outputs and id(t) not in inputs:
                output, nr = saved_outputs[id(t)]
                if output._v is None:
                    output._v = [0]
                saved.append(((output._data, output._k, output._v), output._v[0], nr))
            else:
                saved.append((t, t._v[0] if t._v is not None else 0, None))
        node.saved = tuple(saved)
        node._to_save = node._dirty = node._non_differentiable = ()


def _alias(t: Tensor) -> Tensor:
    """Another tensor over the same memory, for an input that forward returned as it was."""
    return t.detach()


def once_differentiable(function: Any) -> Any:
    """Marks a backward whose own gradient must not be taken."""
    import functools

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = grad_mode() is GradMode.ENABLED and any(isinstance(g, Tensor) and g._node is not None for g in grads)
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        try:
            results = function(ctx, *grads)
        finally:
            _mode.set(before)
        if not recording:
            return results
        return _refuse_second(results, [g for g in grads if isinstance(g, Tensor) and g._node is not None])
    return wrapper


class DelayedError(TapeEntry):
    """The node behind a result that cannot be differentiated: raises when it is."""

    __slots__ = ()
    message = ""

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Raises."""
        raise RuntimeError(self.message)

    recorded = raw


def _refuse_second(results: Any, inputs: list[Any]) -> Any:
    single = not isinstance(results, (tuple, list))
    out = []
    for r in [results] if single else results:
        if isinstance(r, Tensor):
            node = DelayedError()
            node.message = "trying to differentiate twice a function that was marked with @once_differentiable"
            node.id, node.edges, node.saved, node.meta = next_id(), tuple(edge_of(t) for t in inputs), (), None  # type: ignore[assignment]
            r = r.detach()
            r._node = node
        out.append(r)
    return out[0] if single else tuple(out)
