"""From a record to the class of its graph node: the generated `raw` and `recorded`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..codegen import execute
from ..executors.halves import half_ops, halves
from ..executors.kernels._on_demand import is_half
from ..node import Folded, TapeEntry
from ..ops._host import data_of
from ..record import Record
from ..saved import stale, unpack
from ..tensor import BUFFERS, TensorRef
from .attributes import saved_properties
from .namespace import NUMBERS
from ..annotations import Fn, Functions, Keywords, Values


def _unpack(rec: Record, recorded: bool) -> list[str]:
    targets, after = [], []
    for i, read in enumerate(rec.saved):
        name, p = read.name, read.param
        if read.kind == "tensors":
            targets.append(name)
            after += [f"for _s, _sv in zip(*{name}):",
                      "    if _s._v is not None and _s._v.number != (_sv or 0): raise stale(self, _s, _sv)",
                      f"{name} = {name}[0]" if recorded else f"{name} = [_s._data for _s in {name}[0]]"]
        elif read.kind == "tensor" and p is not None:
            targets += [name, f"_sv{i}"]
            check = [f"if {name}._v is not None and {name}._v.number != (_sv{i} or 0): raise stale(self, {name}, _sv{i})"]
            if not recorded:
                check.append(f"{name} = {name}._data")
            guard = f"if {name} is not None" + (f" and {name}.__class__ not in NUMBERS:" if p.type == "Operand" else ":")
            after += [guard] + ["    " + c for c in check]
        elif p is not None:
            targets.append(name)
        elif read.kind == "kernel":
            targets.append(name)
            if recorded:
                after.append(f"if {name}.__class__ in BUFFERS: {name} = F.wrap({name})")
        else:
            nr = read.nr
            targets += [name, f"_v{i}", f"_sv{i}", f"_k{i}"]
            after.append(f"if {name} is not None and _v{i}.number != _sv{i}: raise stale(self, {name}, _sv{i}, _v{i}.number)")
            # Nothing flows from an output that is no "Tensor"; the others are counted without these.
            kinds = [t for t, _ in rec.returns]
            made = (f"F.saved_output(self, {kinds[:nr].count('Tensor')}, {name}, _v{i}, _sv{i}, _k{i})" if kinds[nr] == "Tensor" else
                    f"F.bare_output({name}, _v{i}, _sv{i}, _k{i})")
            if recorded:
                after.append(f"if {name} is not None: {name} = {made}")
    head = ["_s = self.saved", "if _s.__class__ is not tuple: _s = unpack(self)"]
    if targets:
        head.append(", ".join(targets) + ", = _s")
    return head + after


def backward_source(rec: Record, recorded: bool) -> str:
    """The source of the node's `raw` or `recorded`."""
    name = "recorded" if recorded else "raw"
    lines = [f"def {name}(self, grad, F):"]
    body = _unpack(rec, recorded) if rec.saved else []
    body.append("_meta = self.meta")
    if not recorded and (rec.elementwise or rec.field("as_elementwise")):  # half precision always has something to be fitted to
        operands = ["grad", *[read.name for read in rec.saved if read.kind != "tensors"]]
        body.append("if _meta is not None and grad.__class__ is ndarray and is_half(grad.dtype): "
                    f"F, {', '.join(operands)} = half_ops(F), {', '.join([f'halves({n})' for n in operands])}")
    params = rec.differentiable_params
    if rec.vjp_names is None:
        _, _, needed = rec.vjps[0]
        if "needs" in needed:
            body.append("needs = tuple([_e is not None for _e in self.edges])")
        call = "vjp(F, grad" + "".join(f", {n}" for n in needed) + ")"
        single = len(params) == 1 and params[0].type != "Tensor[]"
        body.append(f"_g = [{call}]" if single else f"_g = {call}")
    else:
        edges = [f"_e{i}" for i in range(len(params))]
        body.append(", ".join(edges) + ", = self.edges")
        calls = []
        for (target, _, needed), e in zip(rec.vjps, edges):
            calls.append(f"None if {e} is None else vjp_{target}(F, grad" + "".join(f", {n}" for n in needed) + ")")
        body.append("_g = [" + ", ".join(calls) + "]")
    body += ["if _meta is None: return _g",
             "return [None if _x is None or _m is None else F.fit(_x, *_m) for _x, _m in zip(_g, _meta)]"]
    return "\n".join(lines + ["    " + line for line in body]) + "\n"


NODES = "autograd_tape.nodes"
"""What the classes of nodes that are made of records have as their module."""
_node_classes: dict[tuple[str, str, str | None], type[TapeEntry]] = {}


def node_class(rec: Record) -> type[TapeEntry]:
    """The TapeEntry subclass of an operation, or of an overload."""
    key = rec.name, rec.node_name, rec.without
    found = _node_classes.get(key)
    if found is not None:
        return found

    namespace: Keywords = {"stale": stale, "unpack": unpack, "NUMBERS": NUMBERS, "BUFFERS": BUFFERS, "ndarray": np.ndarray,
                           "is_half": is_half, "halves": halves, "half_ops": half_ops}
    for target, function, _ in rec.vjps:
        namespace["vjp" if target is None else f"vjp_{target}"] = function
    methods = {}
    for recorded in (False, True):
        name = "recorded" if recorded else "raw"
        methods[name] = execute(backward_source(rec, recorded), name, f"<{rec.name}: backward, {name}>", namespace)
    outputs = [t for t, _ in rec.returns if t == "Tensor"]
    shown = saved_properties(rec)
    if rec.unfold is not None:  # which looks like another, whose properties these are, as a rule
        shown["shows_input"] = rec.field("unfold") == "input"
        shown["own_saved"] = {name: shown.pop(name) for name in list(shown) if name.startswith(("_saved_", "_raw_saved_"))}
    _node_classes[key] = cls = type(rec.node_name, (TapeEntry if rec.unfold is None else Folded,), {
        "__slots__": (), "__module__": NODES, "op": rec, "n_outputs": max(len(outputs), 1), **methods, **shown})
    return cls


_conjugated_classes: dict[type[TapeEntry], type[TapeEntry]] = {}


def conjugated_class(rec: Record) -> type[TapeEntry]:
    """The TapeEntry subclass for complex outputs: where formulas are written as for real numbers, gradients are conjugated around them."""
    plain = node_class(rec)
    if not rec.conjugates:
        return plain
    found = _conjugated_classes.get(plain)
    if found is None:
        _conjugated_classes[plain] = found = type(rec.node_name, (plain,), {
            "__slots__": (), "__module__": plain.__module__, "raw": _conjugated(plain.raw), "recorded": _conjugated(plain.recorded)})
    return found


_coded_classes: dict[type[TapeEntry], type[TapeEntry]] = {}


def coded_class(plain: type[TapeEntry], inputs: Sequence[object], outputs: Sequence[TensorRef]) -> type[TapeEntry] | None:
    """The subclass for tensors of dtypes that NumPy does not compute in: the formulas work on tensors, as in torch, which may refuse."""
    if not any([isinstance(x, TensorRef) and x._k.np.isbuiltin == 0 for x in (*inputs, *outputs)]):
        return None
    found = _coded_classes.get(plain)
    if found is None:
        _coded_classes[plain] = found = type(plain.__name__, (plain,), {
            "__slots__": (), "__module__": plain.__module__, "raw": lambda self, grad, F: on_tensors(self, grad)})
    return found


def on_tensors(entry: TapeEntry, grad: object) -> list[Any]:
    """The gradients of an entry's inputs, buffers, by the formulas that work on tensors."""
    F = entry.front_end

    def wrapped(g: object) -> object:
        return g if g is None or isinstance(g, TensorRef) else F.wrap(g if g.__class__ in BUFFERS else np.asarray(g))

    grads = entry.recorded([wrapped(g) for g in grad] if isinstance(grad, list) else wrapped(grad), F)
    return [None if g is None else data_of(g) for g in grads]


def conjugate(F: Functions, g: Any) -> Any:
    """A gradient, or a list of gradients, conjugated."""
    if g.__class__ is list or g.__class__ is tuple:
        return [conjugate(F, x) for x in g]
    if g is None or not (g.dtype.is_complex if isinstance(g, TensorRef) else g.dtype.kind == "c"):
        return g
    return F.conj_physical(g)  # a view would be handed out, which nobody asked for


def _conjugated(formula: Fn) -> Fn:
    def conjugated(self: TapeEntry, grad: Values, F: Functions) -> list[Values | None]:
        return conjugate(F, formula(self, conjugate(F, grad), F))

    return conjugated
