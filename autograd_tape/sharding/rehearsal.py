"""A program run ahead of time: over a planned mesh, with nothing computed, and everything that would be moved written down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, field
import numpy as np

from ..backward import run_backward
from ..dtypes import FLOATING
from ..errors import ArgumentError, type_name
from ..held import root_of
from ..saved import saved_arrays
from ..show.record import of_torch
from ..tensor import LEAF, TensorRef, as_dtype
from ..tree import leaves
from .array import Carried, Collective, ShardedArray, geometry, watched
from .mesh import Mesh, Sharding
from .planned import PLANNED, Ledger, keeping, part

if TYPE_CHECKING:
    from ..frontend import Frontend


@dataclass(slots=True)
class Rehearsal:
    """What running a program would do on device 0.

    Attributes:
        mesh: the mesh, planned.
        events: operations and collectives; the collectives that an operation needs stand before it.
        forward: how many of them are of the forward pass.
        ledger: what the device holds and computes.
        parameters, inputs, gradients, saved: bytes of what requires grad, of what is given besides, of gradients, and of what the forward
            pass keeps for the backward pass besides the former.
        results: what the program returned.
    """

    mesh: Mesh
    ledger: Ledger
    events: list[Carried | Collective] = field(default_factory=list)
    forward: int = 0
    parameters: int = 0
    inputs: int = 0
    gradients: int = 0
    saved: int = 0
    results: Any = None


def rehearse(function: Callable[..., Any], mesh: Mesh | Mapping[str, int], in_shardings: Sequence[Any] | None = None,
             inputs: Sequence[Any] | None = None, *, params: Mapping[str, Any] | None = None, wrt: Sequence[int] | None = None,
             back: bool = True) -> Rehearsal:
    """Runs a program over a mesh without computing anything.

    Args:
        function: a function of tensors, a module of torchcompat, or, without `inputs`, a function of the mesh, which puts its own tensors
            there.
        mesh: the mesh, or its axes; any carrier.
        in_shardings: for each input a `Sharding` or what it has for each dimension; None for one that every device has whole.
        inputs: for each input its shape, "2,3:float32", or an array or tensor of its shape and dtype; "2,3:float32@data,-" says how it is
            sharded, too.
        params: of a module how its parameters are sharded, by name or pattern of names ("*.weight"); others are whole everywhere.
        wrt: the numbers of the inputs that require grad; where left out, of a function all with a floating-point dtype, of a module none.
        back: go back, too, from the results that require grad.

    Raises:
        ArgumentError: an input that is none of these, a parameter's name that the module has not, another number of shardings.
    """
    planned = Mesh(mesh.axes if isinstance(mesh, Mesh) else mesh, PLANNED)
    module = hasattr(function, "named_parameters")
    with keeping() as ledger:
        found = Rehearsal(planned, ledger)
        with watched(found.events.append):
            if inputs is None:
                call = lambda: function(planned)  # noqa: E731  # made once
            else:
                given = [parsed_input(x) for x in inputs]
                shardings = [None] * len(given) if in_shardings is None else list(in_shardings)
                if len(shardings) != len(given):
                    raise ArgumentError("Each input has a sharding", expected=f"{len(given)} entries of in_shardings",
                                        found=str(len(shardings)), remedy="write None for inputs that every device has whole")
                front = sys.modules["torchcompat"].Tensor._front_end if of_torch(function) else TensorRef._front_end
                grads = range(len(given)) if wrt is None and not module else wrt or ()
                made = [_tensor(front, planned, shape, dtype, dims if s is None else s, i in grads and as_dtype(dtype).category >= FLOATING)
                        for i, ((shape, dtype, dims), s) in enumerate(zip(given, shardings))]
                call = _with_parameters(function, planned, params or {}, made) if module else lambda: function(*made)
            found.results = call()
            found.forward = len(found.events)
            outputs = [t for t in leaves(found.results) if isinstance(t, TensorRef) and t.requires_grad]
            parameters, kept = _history(outputs)
            own = {id(root_of(a)) for t in parameters for a in _parts(t)}
            found.parameters = _bytes(parameters)
            found.inputs = _bytes([t for t in made if not t.requires_grad]) if inputs is not None else 0
            given_roots = own | ({id(root_of(a)) for t in made for a in _parts(t)} if inputs is not None else set())
            found.saved = sum({id(root_of(a)): a.nbytes for a in kept if id(root_of(a)) not in given_roots}.values())
            del kept
            if back and outputs:
                seeds = [_seed(t) for t in outputs]
                gradients = run_backward(outputs, grad_outputs=seeds).grad_tensors
                found.gradients = _bytes([gradients[t] for t in parameters if t in gradients])
    return found


def parsed_input(value: str | tuple[int, ...]) -> tuple[tuple[int, ...], np.dtype, tuple[tuple[object, ...], ...] | None]:
    """(shape, dtype, dims or None) of an input: see `rehearse`.

    >>> parsed_input("4,8:float64@data+model,-")
    ((4, 8), dtype('float64'), (('data', 'model'), ()))
    >>> parsed_input((2, 3))
    ((2, 3), dtype('float32'), None)
    """
    if isinstance(value, TensorRef):
        return tuple(value.shape), value._k.np, value.sharding
    if isinstance(value, (np.ndarray, np.generic)):
        return value.shape, value.dtype, None
    if isinstance(value, str):
        head, at, tail = value.partition("@")
        sizes, _, name = head.partition(":")
        try:
            shape = () if sizes in ("", "scalar") else tuple([int(n) for n in sizes.split(",")])
            dtype = as_dtype(name or "float32").np
            if min(shape, default=0) < 0:
                raise ValueError("negative size")
        except (ValueError, TypeError, ArgumentError) as error:
            raise ArgumentError(f"Cannot read the input {value!r}", expected="sizes[:dtype][@axes], such as 2,3:float32@data,-",
                                found=str(error), remedy="write sizes, and for each dimension axes (a+b), or -") from None
        dims = tuple([() if d in ("-", "") else tuple(d.split("+")) for d in tail.split(",")]) if at and shape else () if at else None
        return shape, dtype, dims
    if isinstance(value, (tuple, list)) and all([isinstance(n, (int, np.integer)) and n >= 0 for n in value]):
        return tuple([int(n) for n in value]), np.dtype(np.float32), None
    raise ArgumentError("An input is given by its shape", expected='a tuple of sizes, "2,3:float32", an array or a tensor',
                        found=type_name(value), remedy="pass the shape")


def _tensor(front: Frontend, mesh: Mesh, shape: tuple[int, ...], dtype: np.dtype, dims: Any, requires_grad: bool) -> TensorRef:
    if isinstance(dims, Sharding):
        sharding = Sharding(mesh, dims.dims, dims.partial_sum_axes)
    else:
        sharding = Sharding(mesh, [None] * len(shape) if dims is None else dims)
    sharding.check(shape)
    array = ShardedArray(geometry(shape, dtype), [part(sharding.local_shape(shape, 0), dtype)], sharding)
    made = front.wrap(array)
    made.requires_grad = requires_grad
    return made


def _with_parameters(module: Any, mesh: Mesh, params: Mapping[str, Any], made: Sequence[object]) -> Callable[[], Any]:
    """A call of a module with parameters and buffers on a mesh in place of its own."""
    torch = sys.modules["torchcompat"]
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    used: set[str] = set()
    replaced = {}
    for name, t in own.items():
        pattern = name if name in params else next((p for p in params if fnmatchcase(name, p)), None)
        used.update([] if pattern is None else [pattern])
        dims = None if pattern is None else params[pattern]
        replaced[name] = _tensor(torch.Tensor._front_end, mesh, tuple(t._data.shape), t._k.np, dims, t.requires_grad)
    for pattern in params:
        if pattern not in used and not any([fnmatchcase(name, pattern) for name in own]):
            raise ArgumentError(f"The module has no parameter {pattern!r}", expected=", ".join(own) or "no parameters", found=repr(pattern),
                                remedy="name one of them, or give a pattern such as '*.weight'")
    return lambda: torch.func.functional_call(module, replaced, tuple(made))


def _parts(t: Any) -> list[np.ndarray]:
    data = t._data if isinstance(t, TensorRef) else t
    return data.parts if isinstance(data, ShardedArray) else [data] if isinstance(data, np.ndarray) else []


def _bytes(tensors: Sequence[Any]) -> int:
    return sum({id(root_of(a)): a.nbytes for t in tensors for a in _parts(t)}.values())


def _history(outputs: Sequence[TensorRef]) -> tuple[list[TensorRef], list[np.ndarray]]:
    """(the leaves that tensors were computed from, the parts that their entries saved)."""
    found: dict[int, TensorRef] = {id(t): t for t in outputs if t._node is LEAF}
    todo, seen, kept = [t.creator for t in outputs if t.creator is not None], set(), list[np.ndarray]()
    while todo:
        entry = todo.pop()
        if id(entry) in seen:
            continue
        seen.add(id(entry))
        kept += [a for saved in saved_arrays(entry) for a in _parts(saved)]
        for edge in entry.edges:
            if isinstance(edge, TensorRef):
                found[id(edge)] = edge
            elif edge is not None:
                todo.append(edge if edge._tag == 0 else edge.entry)
    return list(found.values()), kept


def _seed(t: TensorRef) -> Any:
    """A cotangent of a result: like it, but for sums that wait."""
    if not isinstance(t._data, ShardedArray):
        return np.ones(tuple(t.shape), t._k.np)
    sharding = t._data.sharding.summed
    array = ShardedArray(t._data.geometry, [part(sharding.local_shape(tuple(t._data.shape), 0), t._data.dtype)], sharding)
    return t._front_end.wrap(array)


__all__ = ["Rehearsal", "parsed_input", "rehearse"]

