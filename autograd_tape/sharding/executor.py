"""The executor of meshes: it carries out an operation on the parts of sharded arrays, as the record's rule says.

Operands are moved to where the rule wants them, the kernel of the devices' own executor computes each part, and what comes out is a sharded
array again. An operation without a rule is computed whole by every device; that is told once, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import warned
from ..annotations import Fn, Keywords
from ..errors import AutogradError
from ..executors import Executor, get_executor, register_executor
from ..executors.meta import elementwise_strides, meta_array
from ..functions.layout import layout_operands
from ..ops._host import data_dependent
from ..record import RECORDS, Record
from ..strided import dense_strides
from .array import ShardedArray, gathered, geometry, in_order, mapped, note, operation, placed
from .mesh import Mesh, Sharding, replicated
from .rules import Call, Plan, is_array, rule_of

replications: Counter[str] = Counter()
"""How often an operation without a rule had split operands, by name."""


class ReplicationWarning(UserWarning):
    """An operation has no rule for sharded tensors, so that each device computed the whole of it."""


class MeshExecutor(Executor):
    """Operations on `ShardedArray`s; plain arrays among the operands count as whole on every device."""

    name = "mesh"

    def kernel(self, rec: Record) -> Fn | None:
        """A function of sharded arrays."""
        names = [p.name for p in rec.params if p.passed]
        return lambda *values: self.carried_out(rec, dict(zip(names, values)))

    def run(self, rec: Record, arrays: dict[str, Any]) -> Any:
        """See `Executor`."""
        return self.carried_out(rec, {p.name: arrays.get(p.name, rec.defaults.get(p.name)) for p in rec.params if p.passed})

    def status(self, rec: Record) -> str:
        """Every operation that the devices have."""
        return get_executor("numpy").status(rec)

    def carried_out(self, rec: Record, values: Keywords) -> ShardedArray:
        """The results of an operation, by its rule."""
        mesh = _mesh_of(rec, values)
        if mesh is None:
            return get_executor("numpy").run(rec, values)
        with operation(rec.public or rec.name) as told:
            return told(self._by_plan(Call(rec, values, mesh, self.F)))

    def _by_plan(self, call: Call) -> Any:
        rec, values, mesh = call.rec, call.values, call.mesh
        rule = rule_of(rec)
        if rec.field("random") and rule is None:
            return self._drawn(call)
        plan = None if rule is None else rule(call)
        if plan is None:
            if any([isinstance(a, ShardedArray) and not a.sharding.replicated for _, v in call.operands
                    for a in (v if isinstance(v, (list, tuple)) else (v,))]):
                told = not replications[rec.name]
                replications[rec.name] += 1
                if told:
                    warned.warn(f"{rec.name}() has no rule for sharded tensors: each device computes all of it", ReplicationWarning)
            plan = call.whole()
        if plan.run is not None:
            return plan.run(values)
        flat: list[Sequence[np.ndarray]] = []

        def moved_to(array: Any, goal: Sharding) -> ShardedArray:
            found = placed(array, goal)
            flat.append(found.parts)  # now: the sum of an operand that waits may be made for the next one
            return found

        moved = {name: [moved_to(a, s) for a, s in zip(values[name], goal)] if isinstance(goal, list) else moved_to(values[name], goal)
                 for name, goal in plan.inputs.items()}
        local = mesh.carrier.executor()
        held = mesh.carrier.held(mesh)
        shapes = _names(moved)

        def compute(device: int, *parts: np.ndarray) -> Any:
            at = iter(parts)
            given = {**values, **{name: [next(at) for _ in range(n)] if n is not None else next(at) for name, n in shapes}}
            if plan.arguments is not None:
                given = plan.arguments(device, given)
            result = local.run(rec, given)
            if plan.after is not None:
                result = plan.after(device, given, result)
            return result if isinstance(result, (tuple, list)) else (result,)

        if plan.arguments is None:
            made = mapped(lambda *parts: compute(0, *parts), *flat) if flat else [compute(0)] * len(held)
        else:
            made = [compute(device, *parts) for device, *parts in zip(held, *flat)]
        results = self._results(call, plan, moved, made)
        return results[0] if len(rec.returns) + len(rec.saved_returns) == 1 and not rec.returns_list else results

    def _results(self, call: Call, plan: Plan, moved: dict[str, Any], made: Sequence[Sequence[Any]]) -> list[Any]:
        rec, mesh = call.rec, call.mesh
        shapes: Any = plan.shapes
        shardings = plan.outputs or [replicated(mesh, np.ndim(r)) for r in made[0]]
        views = rec.family in ("view", "view?")
        if views or shapes is None and any([not s.replicated for s in shardings]):
            whole = self._foreseen(rec, call.values)
            shapes = [g.shape if g is not None else None for g in whole]
        found: list[Any] = []
        for i, sharding in enumerate(shardings):
            parts = [r[i] for r in made]
            if not isinstance(parts[0], (np.ndarray, np.generic)):
                found.append(parts[0])
                continue
            parts = mapped(np.asarray, parts) if not isinstance(parts[0], np.ndarray) else parts
            shape = parts[0].shape if shapes is None else tuple(shapes[i])
            if plan.combine != "add" and sharding.partial_sum_axes:
                axes, size = sharding.partial, 2 * (1 - 1 / mesh.count(sharding.partial)) * parts[0].nbytes
                parts, sharding = mesh.carrier.all_reduce(mesh, parts, axes, plan.combine), sharding.summed
                note("all_reduce", axes, size, shape)
            if views:
                array = ShardedArray(whole[i], parts, sharding)
            else:
                at = self._geometry(call, i, shape, parts[0])
                array = ShardedArray(at, mapped(lambda part: in_order(part, at), parts), sharding)
            if views:
                source = call.values[rec.params[0].name]
                if isinstance(source, ShardedArray) and (rec.family == "view" or source.base is not None and whole[i].base is source.base):
                    apart = source.origin is not None or not all(
                        [not p.size or np.may_share_memory(p, q) for p, q in zip(parts, source.parts)])
                    array.look_at(source, _nth(rec, call.values, i) if apart else None)
            found.append(array)
        return found

    def _geometry(self, call: Call, i: int, shape: tuple[int, ...], part: np.ndarray) -> np.ndarray:
        """That of output number `i`, of which this is a part: in memory as the operation lays out the whole."""
        rec = call.rec
        arrays = {p.name: _geometries(v) for p, v in call.operands if not isinstance(v, (list, tuple))}
        own = rec.field("meta")
        hidden = part.flags.c_contiguous and part.flags.f_contiguous and part.shape != shape  # one element along a dimension shows no order
        if len(shape) < 2 or own is None and not hidden and all([a.flags.c_contiguous for a in arrays.values()]) or own is data_dependent:
            return geometry(shape, part.dtype, part)
        if i == 0 and rec.field("layout") == "rows":
            return geometry(shape, part.dtype)
        ordered = [arrays[p.name] for p in layout_operands(rec) if p.name in arrays]
        if i == 0 and ordered:
            return meta_array(shape, part.dtype, elementwise_strides(shape, ordered, part.dtype.itemsize))
        if own is None and not hidden and all([n > 1 or m == n for n, m in zip(part.shape, shape)]):
            return geometry(shape, part.dtype, part)
        # Dimensions along which the part has one element are in the order that is foreseen, others in that which the part has.
        known = [s // part.itemsize if n > 1 else 0 for n, s in zip(part.shape, part.strides)]
        foreseen = self._foreseen(rec, call.values)[i]
        steps = dense_strides(shape, known, [s // foreseen.itemsize for s in foreseen.strides])
        return meta_array(shape, part.dtype, tuple([s * part.itemsize for s in steps]))

    def _foreseen(self, rec: Record, values: Keywords) -> Sequence[Any]:
        """Arrays without data like the whole results."""
        given = {name: _geometries(v) for name, v in values.items()}
        made = get_executor("meta", "meta").run(rec, given)
        return made if isinstance(made, (tuple, list)) else (made,)

    def _drawn(self, call: Call) -> Any:
        """Random numbers: drawn for the whole, once in this process, so that they are those of a tensor that is not sharded."""
        whole = {name: gathered(v) if is_array(v) else v for name, v in call.values.items()}
        first = next((v for _, v in call.operands if isinstance(v, ShardedArray)), None)
        made = call.mesh.carrier.executor().run(call.rec, whole)
        results = []
        for r in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(r, np.ndarray):
                r = placed(r, first.sharding.summed if first is not None and first.shape == r.shape else replicated(call.mesh, r.ndim))
            results.append(r)
        return results[0] if not isinstance(made, (tuple, list)) else results


def _nth(rec: Record, values: Keywords, i: int) -> Callable[[np.ndarray], np.ndarray]:
    """Output number `i` of a view as a function of the array that it views."""
    def view(array: np.ndarray) -> Any:
        made = get_executor("numpy").run(rec, {**values, rec.params[0].name: array})
        return made[i] if isinstance(made, (tuple, list)) else made

    return view


def _names(moved: dict[str, ShardedArray | list[ShardedArray]]) -> list[tuple[str, int | None]]:
    return [(name, len(v) if isinstance(v, list) else None) for name, v in moved.items()]


def _geometries(value: object) -> Any:
    if isinstance(value, ShardedArray):
        return value.geometry
    return [_geometries(v) for v in value] if isinstance(value, list) else value


def _mesh_of(rec: Record, values: Keywords) -> Mesh | None:
    found: Mesh | None = None
    for value in values.values():
        for a in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(a, ShardedArray):
                if found is not None and a.mesh is not found:
                    raise AutogradError(f"{rec.name}() takes tensors of one mesh", expected=repr(found), found=repr(a.mesh),
                                        remedy="gather() one of them, then shard() it over the other's mesh")
                found = a.mesh
    return found


def _mesh_executor(device_type: str) -> MeshExecutor:
    made = MeshExecutor()
    ShardedArray.F = made.F
    for rec in RECORDS.values():
        told = rec.field("ufunc") or rec.field("numpy")
        for ufunc in told if isinstance(told, tuple) else (told,):
            if isinstance(ufunc, np.ufunc) and len(rec.tensor_params) == ufunc.nin:
                ShardedArray.ufuncs.setdefault(ufunc, rec.name)
    return made


register_executor("mesh", ["mesh"], _mesh_executor)

__all__ = ["MeshExecutor", "ReplicationWarning", "replications"]
