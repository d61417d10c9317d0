"""`backward` and `grad` on torch's tensors: roots, `.grad` accumulation after the layout contract, error wording."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast
from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.engine import ON_TENSORS, Engine, ends_in
from autograd_tape.modes import GradMode, _mode, engine_depth, grad_mode
from autograd_tape.dtypes import bfloat16, dtype_of, float16, float32, float64, kind
from autograd_tape.errors import AutogradError
from autograd_tape.executors import executor_for
from autograd_tape.executors.kernels._on_demand import is_half
from autograd_tape.executors.kernels.halves import FEW
from autograd_tape.executors.kernels.pairs import halved
from autograd_tape.locks import fork_safe_lock
from autograd_tape.node import WATCHED, NoGradView, edge_of
from autograd_tape.tensor import BUFFERS, LEAF, NOTHING, TensorRef, buffer_of
from autograd_tape.tensor import above as of_the_tape
from autograd_tape.version import Version
from autograd_tape.views import Poisoned, empty_strided, is_dense
from autograd_tape.warned import warn_once

from .._calls.above import above
from .._tensor import Tensor, carries_out as overrides, frontend
from .._memory.bits import values
from .._memory.layout import _mkldnn, contiguous_format, parts
from .._calls.shown import shown_in
from ..overrides import FUNCTIONS, handle_torch_function, has_torch_function, in_function_mode
from .edges import several, with_leaves

if TYPE_CHECKING:
    from autograd_tape.dtypes import Device, Kind

_ndarray = np.ndarray
_new = object.__new__
_add = np.add


def _plain(k: Kind) -> Kind:
    """The Kind of a gradient of a tensor of Kind `k`."""
    return k if k.special is None or k.special is _mkldnn else kind(k.dtype, k.device)


def _is_sparse(*values: object) -> bool:
    """Whether any of these tensors or buffers is sparse."""
    return any([x.__class__ in ON_TENSORS or getattr(x, "_data", None).__class__ in ON_TENSORS for x in values])


def obeys_contract(g: np.ndarray, data: np.ndarray) -> bool:
    """Whether a gradient's buffer may become `.grad` of a variable with buffer `data` as it is.

    The rule of torch's gradient layout contract: a non-overlapping and dense variable's gradient has the variable's strides (sizes
    of 1 aside); any other's is row-major contiguous.
    """
    have, strides = data.strides, g.strides
    if strides == have and g.flags.c_contiguous:
        return True
    if is_dense(data.shape, have, data.itemsize):
        return all(n == 1 and s != 0 or n != 1 and s == h for n, s, h in zip(data.shape, strides, have))
    expected = data.itemsize
    for n, s in zip(reversed(data.shape), reversed(strides)):
        if n != 1 and s != expected:
            return False
        expected *= n
    return True


def _room(data: np.ndarray) -> np.ndarray:
    """Unset memory for a gradient of a variable with buffer `data`, laid out as the contract says (see `obeys_contract`)."""
    if is_dense(data.shape, data.strides, data.itemsize):
        return empty_strided(data.shape, data.strides, data.dtype)
    return np.empty(data.shape, data.dtype)


def accumulate(leaf: TensorRef, g: np.ndarray, owned: bool) -> None:
    """Adds a gradient buffer to `leaf.grad`: taken where nobody else holds it (`owned`), copied, or added in place."""
    if leaf._node is not LEAF:
        _not_a_leaf(leaf)
        return
    have = getattr(leaf, "_grad", None)
    data = leaf._data
    if g.__class__ is not _ndarray and g.__class__ in BUFFERS or data.__class__ is not _ndarray:
        if g.__class__ in ON_TENSORS or data.__class__ in ON_TENSORS:
            above.sparse_methods().accumulate(leaf, frontend.wrap(g), owned)
        else:
            t = of_the_tape.sharded.accumulated_buffer(g, leaf)
            leaf._grad = have + t if have is not None else t if owned or t._data is not g else frontend.wrap(g.copy())
    elif have is None:
        if g.__class__ is not _ndarray or g.dtype is not data.dtype:
            g = np.asarray(g, data.dtype)
            if g.shape != data.shape:
                g = np.broadcast_to(g, data.shape)
        if not (owned and g.base is None and g.flags.writeable and obeys_contract(g, data)):
            copy = _room(data)
            copy[...] = g
            g = copy
        k = leaf._k
        leaf._grad = t = _new(Tensor)
        t._data, t._k = g, k if k.special is None else _plain(k)
        t._node = t._v = t._base = None
    else:
        target = have._data
        if g.__class__ is _ndarray and g.dtype is target.dtype:
            if g.size >= FEW[0] and is_half(g.dtype):
                target[...] = halved(_add, target, g)
            else:
                _add(target, g, target)
        elif target.__class__ is _ndarray:
            _add(target, g, target, casting="unsafe")
        else:
            above.sparse_methods().accumulate(leaf, frontend.wrap(g), owned)
            have = leaf._grad
        v = have._v
        if v is None:
            Version.count(have)
        else:
            v.number += 1
    if WATCHED:
        _after_accumulation(leaf)


def _not_a_leaf(leaf: Any) -> None:
    """What becomes of the gradient of a tensor that was a leaf when its graph was recorded."""
    if leaf._node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    _after_accumulation(leaf)


def _after_accumulation(leaf: TensorRef) -> None:
    for hook in list((getattr(leaf, "_info", NOTHING).post_accumulate or {}).values()):
        if hook(leaf) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def accumulate_tensor(leaf: Tensor, g: Tensor, owned: bool) -> None:
    """Adds a gradient that has a history of its own to `leaf.grad`, out of place."""
    if leaf._node is not LEAF:
        _not_a_leaf(leaf)
        return
    have = getattr(leaf, "_grad", None)
    if ON_TENSORS and _is_sparse(leaf, g, have):
        above.sparse_methods().accumulate(leaf, g, owned)
    elif have is None:
        data = leaf._data
        # Gradients of a class of their own, which are tensors without history; and those on meshes, which lie as their tensors do.
        if grad_mode() is not GradMode.ENABLED or g.sharding is not None:
            leaf._grad = g if owned else g.clone()
        elif is_dense(data.shape, data.strides, data.itemsize):
            leaf._grad = frontend.wrap(empty_strided(data.shape, data.strides, data.dtype), g._k).copy_(g)
        else:
            leaf._grad = g.clone(memory_format=contiguous_format)
    else:
        leaf._grad = total = have + g
        if total._data.strides != have._data.strides and total._data.size:  # the layout of the gradient that is there stays
            data = empty_strided(total._data.shape, have._data.strides, total._data.dtype)
            data[...] = total._data
            total._data = data
    _after_accumulation(leaf)


def accumulate_dual(leaf: Tensor, g: Tensor, owned: bool) -> None:
    """Adds a gradient that may have tangents to `leaf.grad`, recording nothing. As in torch a gradient that is taken as it is comes
    without its tangents, and one that is copied, or added to another, with them."""
    if carries_out(leaf, g):
        return accumulate_tensor(leaf, g, owned)
    if leaf._node is None:
        return
    have = getattr(leaf, "_grad", None)
    if have is not None:
        have.add_(g)
    else:
        data = leaf._data
        if owned and obeys_contract(g._data, data):
            leaf._grad = g.detach()
        elif is_dense(data.shape, data.strides, data.itemsize):
            leaf._grad = g.new_empty_strided(leaf.shape, leaf.stride()).copy_(g)
        else:
            leaf._grad = g.clone(memory_format=contiguous_format)
    _after_accumulation(leaf)


def carries_out(*tensors: TensorRef) -> bool:
    """Whether a class of these tensors carries out operations itself, so that gradients must be tensors."""
    return any([t is not None and t._k.special is not None and overrides(type(t)) for t in tensors])


def _root_gradient(output: Any, gradient: Tensor | None, tensors: bool) -> Any:
    """The cotangent of a root, a buffer; a tensor with `tensors`, or where a class carries out operations itself."""
    data = output._data
    if gradient is None:
        if output._node is None:  # the root has no edge, which is told after the gradients of all roots were looked at
            return None
        if data.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not output._k.dtype.is_floating_point:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output._k.dtype}")
        if output._k.special is not None and carries_out(output):
            return frontend.ones_like(output.detach())
        if data.__class__ in ON_TENSORS:
            return frontend.ones_like(output.detach())
        if tensors and _on_tensors:  # whoever looks sees it made
            return frontend.ones_like(frontend.bare(output))
        one = np.ones(data.shape, data.dtype)
        return frontend.wrap(one, output._k) if tensors else one
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._data.shape != data.shape:
        shapes = [t._data.shape if t._k.special is parts else t.shape for t in (gradient, output)]
        raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {shapes[0]} and output[0] has a shape of {shapes[1]}.")
    if output._k.dtype.is_complex != gradient._k.dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                           f"grad_output[0] has a dtype of {gradient._k.dtype} and output[0] has a dtype of {output._k.dtype}.")
    if gradient._k is not output._k or gradient._k.special is not None:
        if gradient._k.dtype is not output._k.dtype:
            gradient = frontend.cast(gradient, output._k.dtype)
        return gradient if tensors else values(gradient)
    return gradient if tensors else gradient._data


# The cotangents of scalars, to be copied: hooks and functions of the program's may write to what they are given.
_ONES = {k: np.ones((), k.np) for k in map(kind, (bfloat16, float16, float32, float64))}
_on_tensors = 0
_on_tensors_lock = fork_safe_lock()


def run_on_tensors(change: int) -> None:
    """Somebody looks at what passes do (1), or looks away (-1): a level of forward mode, since gradients may have tangents, or a dispatch
    mode. While there is one on any thread, passes run on tensors."""
    global _on_tensors
    with _on_tensors_lock:
        _on_tensors += change


def runs_on_tensors() -> bool:
    """Whether somebody looks at what passes do."""
    return _on_tensors > 0


def _roots(outputs: Sequence[Any], given: Sequence[Any], create_graph: bool) -> list[tuple[Any, Any]]:
    """(edge, cotangent) of each root."""
    if not create_graph and not _on_tensors:
        found = []
        for output, g in zip(outputs, given):
            node = output._node
            # Computed, plain, and with a cotangent of its kind and shape: there is nothing to find out.
            if (node is None or node is LEAF or node._tag == 1 or node.blank or g.__class__ is not Tensor or g._k is not output._k
                    or g._k.special is not None or g._data.shape != output._data.shape):
                break
            found.append((node, g._data))
        else:
            return found
    tensors = create_graph or _on_tensors > 0 or carries_out(*outputs, *[g for g in given if isinstance(g, Tensor)])
    gradients = [_root_gradient(output, g, tensors) for output, g in zip(outputs, given)]
    return [(_root_edge(output, i), g) for i, (output, g) in enumerate(zip(outputs, gradients))]


def _root_edge(output: TensorRef, nr: int) -> Any:
    node = output._node
    if node is None or node is not LEAF and output.is_leaf:
        raise RuntimeError(f"element {nr} of tensors does not require grad and does not have a grad_fn")
    return output if node is LEAF else node


def run(roots: Sequence[tuple[object, object]], device: Device, *, retain_graph: bool, create_graph: bool,
        capture: Sequence[Tensor] | None = None, accumulate_grad: bool = True, keep: Fn | None = None) -> Engine:
    """One pass of the engine, in the right grad mode and with torch's error types. `keep` takes the place of what accumulates."""
    tensors = create_graph or bool(roots) and isinstance(roots[0][1], TensorRef)
    F = frontend if tensors else executor_for(device).F
    wrap: Any = frontend.wrap if device.type == "cpu" else lambda g: frontend.wrap(g, kind(dtype_of(g), device))
    engine = Engine(F, create_graph=tensors, retain_graph=retain_graph, capture=capture, wrap=wrap,
                    accumulate=keep if not accumulate_grad else accumulate if not tensors else
                    accumulate_dual if _on_tensors and not create_graph else accumulate_tensor)
    if not accumulate_grad:
        engine.names_inputs = True
    elif capture is not None:
        engine.names_inputs = engine.runs_captured = True
    mode = GradMode.ENABLED if create_graph else GradMode.DISABLED
    if engine_depth() >= MAX_DEPTH:
        _in_new_thread(engine, roots, mode)
        return engine
    before = grad_mode()
    _mode.set(mode)
    try:
        engine.run(roots)
    except AutogradError as error:
        raise error.as_builtin() from None
    finally:
        _mode.set(before)
    return engine


MAX_DEPTH = 60
"""Backward passes inside backward passes on one thread; deeper ones get a thread of their own, and with it a stack of their own."""


def _in_new_thread(engine: Engine, roots: Sequence[tuple[object, object]], mode: GradMode) -> None:
    failure: list[BaseException] = []

    def work() -> None:
        _mode.set(mode)
        try:
            engine.run(roots)
        except AutogradError as error:
            failure.append(error.as_builtin())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]


def backward_of(output: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                inputs: Sequence[Tensor] | None = None) -> None:
    """`tensor.backward(...)`."""
    if inputs is not None or gradient is not None and not isinstance(gradient, Tensor):
        backward([output], gradient, retain_graph, create_graph, inputs=inputs)
        return
    k = output._k
    if k.special is not None or gradient is not None and gradient._k.special is not None:
        backward([output], [gradient], retain_graph, create_graph)
        return
    tensors = create_graph or _on_tensors > 0
    root = _ONES.get(k) if gradient is None and not tensors and not output._data.shape else None
    root = _root_gradient(output, gradient, tensors) if root is None else root.copy()
    edge = _root_edge(output, 0)
    if create_graph:
        _warn_cycle()
    run(((edge, root),), k.device, retain_graph=create_graph if retain_graph is None else retain_graph, create_graph=create_graph)


def add_grad(leaf: Tensor, g: np.ndarray) -> None:
    """Adds a gradient that a pass of the tape library's brought to `leaf.grad`: an array that others hold too, or a tensor."""
    if isinstance(g, TensorRef):
        accumulate_tensor(leaf, frontend.own(g), False)
    else:
        accumulate(leaf, buffer_of(g, leaf._data.dtype), False)


above.backward_of, above.add_grad = backward_of, add_grad


def _warn_cycle() -> None:
    warn_once("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
              "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
              "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the "
              "leak.")


def capture_of(ref: Any, nr: int = 0) -> Any:
    """What the engine is asked to capture for an input."""
    try:
        if not ref.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    except AttributeError:
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(ref).__name__}") from None
    edge = edge_of(ref)
    if edge.__class__ is Poisoned:
        raise RuntimeError(edge.forbids)
    if edge is None or edge.__class__ is NoGradView:  # a view made before its base came to require grad: no gradient gets there
        return NoGradView(), 0
    return edge if edge._tag == 1 else (edge.entry, edge.nr) if edge._tag == 2 else (edge, 0)


def _as_tuple(x: Any) -> tuple[TensorRef, ...]:
    return (x,) if isinstance(x, TensorRef) else x if x.__class__ is tuple else tuple(x) if x.__class__ is list else several(x)


def backward(tensors: Any, grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: Tensor | Sequence[Tensor | None] | None = None, inputs: Any = None) -> None:
    """Adds the gradients of `tensors`, with cotangents `grad_tensors`, to the leaves' `.grad` (of `inputs` only, where given)."""
    tensors = _as_tuple(tensors)
    given = (None,) * len(tensors) if grad_tensors is None else _as_tuple(grad_tensors)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if not tensors:
        return
    if create_graph:
        _warn_cycle()
    roots = _roots(tensors, given, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run(roots, tensors[0]._k.device, retain_graph=retain, create_graph=create_graph)
        return
    inputs = with_leaves(inputs)
    keys = []
    for ref in inputs:
        if ref._node.__class__ is Poisoned:
            raise RuntimeError(ref._node.forbids)
        ref.retain_grad()
        keys.append(capture_of(ref))
    engine = run(roots, tensors[0]._k.device, retain_graph=retain, create_graph=create_graph, capture=keys)
    before = grad_mode()
    _mode.set(GradMode.ENABLED if create_graph else GradMode.DISABLED)
    try:
        for ref, key in dict(zip(inputs, keys)).items():
            if ref.is_leaf and engine.captured.get(key) is not None:
                engine.hand_over({id(ref): [ref, engine.captured.pop(key), False]})
    finally:
        _mode.set(before)


_PLAIN = frozenset([Tensor, tuple, list])


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Any, ...]:
    """Gradients of `outputs` with respect to `inputs`, without touching `.grad`.

    >>> import torchcompat as torch
    >>> x = torch.tensor([2.], requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor([12.]),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow = materialize_grads if allow_unused is None else allow_unused
    if FUNCTIONS.found or in_function_mode() or outputs.__class__ not in _PLAIN:
        listed = [tuple(x.values()) if isinstance(x, dict) else tuple(x) if isinstance(x, (tuple, list)) else (x,)
                  for x in (outputs, inputs)]
        if has_torch_function(tensors := (*listed[0], *listed[1])):
            return cast("tuple[Any, ...]", handle_torch_function(
                grad, tensors, *listed, grad_outputs=grad_outputs, retain_graph=retain_graph, create_graph=create_graph,
                only_inputs=only_inputs, allow_unused=allow, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads))
    names = inputs if inputs.__class__ is dict else None
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if not outputs:
        raise RuntimeError("grad requires non-empty outputs.")
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    given = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    if is_grads_batched:
        batches: Any = given
        rows = batches[0]._data.shape[0]
        for i, (g, t) in enumerate(zip(batches, outputs)):
            if g.shape[1:] != t.shape:
                raise RuntimeError("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                                   "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                                   f"output, but a mismatch was detected: grad_output[{i}] has a shape of {g.shape[2:]} and output[{i}] "
                                   f"has a shape of {t.shape}. If you only want "
                                   "some tensors in `grad_output` to be considered batched, consider using vmap.")
        each = [grad(outputs, inputs, tuple(g[i] for g in batches), True if i + 1 < rows else retain_graph, create_graph,
                     allow_unused=allow, materialize_grads=materialize_grads) for i in range(rows)]
        return tuple(None if column[0] is None else frontend.stack(list(column)) for column in zip(*each))
    under = above.grad_under_transforms
    captured = None if under is None else under(outputs, inputs, given, create_graph)
    if captured is None:
        roots = _roots(outputs, given, create_graph)
        keys = [i if i.__class__ is Tensor and i._node is LEAF else capture_of(i) for i in inputs]
        retain = create_graph if retain_graph is None else retain_graph
        if ends_in([edge for edge, _ in roots], keys):
            kept: dict[int, Any] = {}

            def keep(leaf: Tensor, g: Any, owned: bool) -> None:
                kept[id(leaf)] = g

            run(roots, outputs[0]._k.device, retain_graph=retain, create_graph=create_graph, accumulate_grad=False, keep=keep)
            captured = [kept.get(id(key)) for key in keys]
        else:
            engine = run(roots, outputs[0]._k.device, retain_graph=retain, create_graph=create_graph, capture=keys, accumulate_grad=False)
            captured = [engine.captured.get(key) for key in keys]
    found: list[Any] = []
    for i, (ref, g) in enumerate(zip(inputs, captured)):
        # One gradient that is passed on to several tensors is one tensor.
        same = next((n for n in range(i) if captured[n] is g), None) if i and g is not None else None
        if same is not None:
            g = found[same]
        elif g is None:
            if materialize_grads:
                g = frontend.zeros_like(ref.detach())
                g.requires_grad = create_graph
            elif not allow:
                raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                                   "allow_unused=True if this is the desired behavior.")
        elif not isinstance(g, TensorRef):
            data = ref._data
            if g.__class__ is _ndarray and ref._k.special is None and g.dtype is data.dtype and g.shape == data.shape:
                g = frontend.wrap(g, ref._k)
            elif ON_TENSORS and _is_sparse(g, ref):
                g = frontend.wrap(g)
            elif data is None:  # an edge whose tensor nobody knows any more
                g = frontend.wrap(buffer_of(g))
            else:
                array = buffer_of(g, data.dtype)
                g = frontend.wrap(array if array.shape == data.shape else np.broadcast_to(array, data.shape), _plain(ref._k))
        found.append(g)
    return tuple(found) if names is None else dict(zip(names, found))  # type: ignore[return-value]  # as torch has it


shown_in("torchcompat.autograd", backward, grad)
