"""vmap: operations on examples, carried out on whole batches.

`run` takes an operation at a vmap level to the level below, with the examples of batched arguments along dimension 0. How the
operation deals with the additional dimension is its record's rule (see `autograd_tape.ops._batch`). Where there is none the operation
is carried out for each example, and the results stacked: always right, and differentiable, if slow.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.calls import Call
from autograd_tape.indices import Indices
from autograd_tape.ops import Record
from autograd_tape.ops._batch import BatchedCall, aligned, rule_of

from .._C import _fallback
from .._tensor import Tensor, frontend
from ._batched import BatchedTensor, batched
from ._levels import REVERSE, Level, below, state, tensors_in
from ._whole import front, hide, levels_of, show

if TYPE_CHECKING:
    from autograd_tape.functions.general import General

F = frontend
_ERROR = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
          "vmap or perform the randomness operation out of vmap")

_UNBATCHED = ("vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements "
              "than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {1}. Please try to use "
              "out-of-place operators instead of {0}. If said operator is being called inside the PyTorch framework, please file a bug "
              "report instead.")


def unbatched(level: Level, rec: Record, args: Sequence[Any]) -> RuntimeError:
    """torch's error for an in-place operation that would have to store examples in a tensor that all share."""
    kind = rec.field("no_vmap_")
    if callable(kind):
        kind = kind(**{p.name: is_example(a, level) for p, a in zip(rec.params, args)})
    if kind == "shape":
        sizes = [(level.size, *x._data.shape) if is_example(x, level) else x._data.shape for x in tensors_in(args)]
        return RuntimeError(f"output with shape {list(args[0]._data.shape)} doesn't match the broadcast shape "
                            f"{list(np.broadcast_shapes(*sizes))}")
    if kind == "arithmetic":
        return RuntimeError(_UNBATCHED.format("inplace arithmetic", "in a vmap"))
    if kind == "name":
        return RuntimeError(_UNBATCHED.format(rec.torch_name + "_", "in a vmap"))
    return RuntimeError(_UNBATCHED.format(f"aten::{rec.torch_name}_", f"at level {level.number}"))


def batched_call(level: Level, general: General, args: Sequence[object]) -> BatchedCall:
    """An operation on examples of `level`, as rules see it."""
    def opened(x: Any) -> tuple[Any, bool]:
        if is_example(x, level):
            return front(x), True
        if isinstance(x, Tensor) and level in levels_of(x):  # its tangent is an example
            return show(level, x), True
        return x, False

    return BatchedCall(F, general, args, level.size, opened)


def refuse(rec: Record, values: Keywords) -> None:
    """Raises torch's error where examples are among the arguments of an irregular operation that has no batching rule."""
    if (any([isinstance(t, BatchedTensor) and t._level.number < state.ceiling for t in tensors_in(list(values.values()))])
            and (error := rec.vmap_refusal(values)) is not None):
        raise error


def is_example(x: object, level: Level) -> bool:
    """Whether `x` is an example of this vmap."""
    return x.__class__ is BatchedTensor and x._level is level


VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])


def by_rule(level: Level, rule: Fn, args: tuple[Tensor | int, ...], kwargs: Keywords) -> Any:
    """What a program's own rule makes of a call with examples: `rule(info, in_dims, *args)`, which returns (outputs, out_dims).

    Raises:
        RuntimeError: it returns something else.
    """
    def opened(x: Any) -> tuple[Any, Any]:
        if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
            parts = [opened(y) for y in x]
            return type(x)([v for v, _ in parts]), type(x)([d for _, d in parts])
        return (x._value, x._bdim) if is_example(x, level) else (x, None)

    values, in_dims = opened(args)
    found = rule(VmapInfo(level.size, level.randomness), in_dims, *values, **kwargs)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
                           "with "
                           f"the output. Got {f'{len(found)} returns' if isinstance(found, tuple) else f'a {type(found)}'} instead")

    def closed(output: Any, dims: Any) -> object:
        if isinstance(output, (tuple, list)):
            each = dims if isinstance(dims, (tuple, list)) else (dims,) * len(output)
            return type(output)([closed(o, d) for o, d in zip(output, each)])
        return output if dims is None else batched(level, output, dims)

    return closed(*found)


def run(level: Level, general: Any, args: tuple[object, ...], out: object, inplace: bool) -> Any:
    """Carries out an operation on examples of `level`."""
    rec: Record = general.rec
    own = rec.field("vmap")
    if own is not None:
        return by_rule(level, own, *general.spelled(args))
    if inplace:
        return _update(level, general, args)
    if out is not None:
        result = run(level, general, args, None, False)
        for o, r in zip(out if isinstance(out, (tuple, list)) else (out,), result if isinstance(result, (tuple, list)) else (result,)):
            o.copy_(r)
        return out
    rule = rule_of(rec)
    found = NotImplemented if rule is None else rule(F, batched_call(level, general, args))
    if found is not NotImplemented:
        return _examples(level, rec, found)
    return loop(level, lambda *a: general(tuple(a)), args, rec.name)


def reads_examples(rec: Record, values: Keywords) -> bool:
    """Whether an irregular operation reads values of arguments that are examples."""
    reads = rec.field("reads")
    names = reads(**values) if callable(reads) else reads
    return bool(names) and any([isinstance(t, BatchedTensor) for t in tensors_in([values[name] for name in names.split()])])


def run_irregular(level: Level, call: Call) -> Tensor:
    """Carries out an irregular operation on examples of `level` by its rule, or, where it has none, for each of them."""
    general: Any = call.door
    if call.rec.field("batch") is not None:
        general.check_fit(call.args)
        return run(level, general, call.args, call.out, False)
    found = loop(level, lambda *a: general(tuple(a)), call.args, call.rec.name)
    return found if call.out is None else F.copy_(call.out, found)


def _examples(level: Level, rec: Record, result: Tensor | tuple[Tensor, ...]) -> Any:
    """Results on whole batches as examples, in the shape the operation returns."""
    if isinstance(result, (tuple, list)):
        parts = [hide(level, r, 0) for r in result]
        if rec.returns_list:
            return F.list_type(rec)(parts)
        return F.returned(rec)(*parts)
    return hide(level, result, 0)


# -- one example after the other ------------------------------------------------------------------------------------------------


def _opened(x: Tensor | float | bool, level: Level) -> Any:
    """An argument with whole batches in the place of examples, each marked."""
    if isinstance(x, Tensor):
        return _Batch(show(level, x)) if level in levels_of(x) else x
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_opened(v, level) for v in x])
    if isinstance(x, (tuple, list)):
        return type(x)([_opened(v, level) for v in x])
    if isinstance(x, dict):
        return {k: _opened(v, level) for k, v in x.items()}
    if isinstance(x, Indices):
        return _Batch(x)
    return x


class _Batch:
    """A whole batch among the arguments of a loop."""

    def __init__(self, value: Tensor) -> None:
        self.value = value


def _taken(x: object, level: Level, i: int) -> Any:
    """An opened argument with the i-th example in the place of each batch."""
    if x.__class__ is _Batch:
        x = x.value
        if isinstance(x, Tensor):
            return F.select(x, 0, i)
        sources = {id(t._data): F.select(front(t), 0, i) if is_example(t, level) else t for t, _ in x.sources}
        return type(x)([sources[id(k)]._data if id(k) in sources else k for k in x.key], list(sources.values()))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_taken(v, level, i) for v in x])
    if isinstance(x, (tuple, list)):
        return type(x)([_taken(v, level, i) for v in x])
    if isinstance(x, dict):
        return {k: _taken(v, level, i) for k, v in x.items()}
    return x


def loop(level: Level, function: Fn, args: Sequence[Any], name: str) -> Tensor:
    """`function` for each example, the results stacked."""
    if not level.size:
        raise RuntimeError(f"Batching rule not implemented for aten::{name}. The fallback path does not support vmap over dims of size 0.")
    if not _fallback[0]:
        raise RuntimeError(f"aten::{name} hit the vmap fallback which is currently disabled")
    opened = [_opened(a, level) for a in args]
    return _stacked(level, [function(*[_taken(a, level, i) for a in opened]) for i in range(level.size)])


def _stacked(level: Level, results: Sequence[Tensor]) -> Tensor:
    first = results[0]
    if isinstance(first, Tensor):
        if any(r._data.shape != first._data.shape for r in results):
            raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape.")
        return hide(level, F.stack(list(results)), 0)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[_stacked(level, [r[i] for r in results]) for i in range(len(first))])
    if isinstance(first, (tuple, list)):
        return type(first)([_stacked(level, [r[i] for r in results]) for i in range(len(first))])
    return first


# -- in place ---------------------------------------------------------------------------------------------------------------------


def _update(level: Level, general: Any, args: Arguments) -> Any:
    """An in-place operation on an example: on the whole batch, element-wise ones at once, others by a copy of their result."""
    rec: Record = general.rec
    target = args[0]
    if not is_example(target, level):
        raise unbatched(level, rec, args)
    if rec.elementwise or rec.family == "store":
        call = batched_call(level, general, args)
        rank = call.ranks[rec.params[0].name]
        if all(r <= rank for r in call.ranks.values()):
            general(tuple({**call.values, **aligned(F, call, rank)}.values()), None, True)
            return target
    result = run(level, general, args, None, False)
    if result._data.shape != target._data.shape:
        lead = result._data.ndim - target._data.ndim
        raise RuntimeError(f"output with shape {[level.size, *(1,) * lead, *target._data.shape]} doesn't match the broadcast shape "
                           f"{[level.size, *result._data.shape]}")
    F.copy_(front(target), front(result))
    return target


# -- random operations --------------------------------------------------------------------------------------------------------------


def draw(level: Level, general: Any, args: Arguments) -> Any:
    """A random operation inside vmap, as its `randomness` says."""
    if level.randomness == "error":
        raise RuntimeError(_ERROR)
    call = batched_call(level, general, args)
    if "shape" in call.values:
        with below(level):
            if level.randomness == "same":
                return call(like=F.select(call.like, 0, 0) if call.is_batched["like"] else call.like)
            return hide(level, call(shape=(level.size, *call.shape)), 0)
    name = call.rec.params[0].name
    x, is_batched = call.values[name], call.is_batched[name]
    if level.randomness == "different":
        x = call.expanded(x, is_batched)
    like = x.detach() if level.randomness == "different" or not is_batched else F.select(x.detach(), 0, 0)
    with below(level):
        noise = call(**{name: F.ones_like(like)})
    return hide(level, x * noise, 0) if is_batched or level.randomness == "different" else x * noise


def drawn(function: Callable[..., Any], shape: Sequence[int], source: Any = None, target: Any = None) -> Any:
    """Random numbers inside vmap: `function(shape, tensor)` for the innermost vmap level; NotImplemented outside vmap.

    Args:
        source: a tensor of parameters that the numbers depend on, or None; or several, of which the numbers are independent but must not
            be examples where all get the same.
        target: the tensor that an in-place operation fills, or None; `function(shape, source, target)` fills it.
    """
    if not state.stack:
        return NotImplemented
    level = next((level for level in reversed(state.stack) if level.kind == "vmap" and level.number < state.ceiling), None)
    if level is None:
        return NotImplemented
    if level.randomness == "error":
        raise RuntimeError(_ERROR)
    several = source if isinstance(source, list) else () if source is None else (source,)
    source = None if isinstance(source, list) else source
    with below(level):
        if level.randomness == "same":
            several = [_in_common(s, level) for s in several]
            source = None if source is None else several[0]
            if any([is_example(s, level) for s in several]):
                raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
                                   "functorch")
            return drawn_or_not(function, shape, source)
        if target is not None and not is_example(target, level):
            if source is not None and is_example(source, level):
                raise RuntimeError(_UNBATCHED.format("inplace bernoulli", "in a vmap"))
            raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                               "randomness. If this is necessary for your usage, please file an issue with functorch.")
        if source is not None:
            source = front(source) if is_example(source, level) else F.expand(F.unsqueeze(source, 0), (level.size, *source._data.shape))
        if target is not None:
            function((level.size, *shape), source, front(target))
            return target
        return hide(level, drawn_or_not(function, (level.size, *shape), source), 0)


def _in_common(x: Tensor, level: Level) -> Tensor:
    """What is the same for all examples, where a gradient inside this vmap is behind it: what gradients are taken of are examples there,
    those that every example has in common, too."""
    inside = [other.kind for other in state.stack if other.number > level.number]
    if not isinstance(x, BatchedTensor) or x._level is not level or REVERSE not in inside:
        return x
    whole = front(x).detach()
    if isinstance(whole, BatchedTensor) or not level.size:
        return x
    return F.select(whole, 0, 0) if bool((whole._data == whole._data[:1]).all()) else x


def drawn_or_not(function: Fn, shape: Sequence[int], source: object) -> Any:
    """Drawn for the vmap levels further out, if there are any."""
    found = drawn(function, shape, source)
    return function(tuple(shape), source) if found is NotImplemented else found
