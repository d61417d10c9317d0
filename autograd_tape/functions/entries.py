"""The source that makes entries: what quiet paths are written with, and the functions that make those of the general path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..codegen import execute
from ..dtypes import FLOATING
from ..errors import AutogradError
from ..node import OutputEdge
from ..record import Param, Record
from ..saved import INFERENCE_SAVED
from ..tensor import LEAF, TensorRef, above, next_id
from ..version import Version, made
from .nodes import conjugated_class, node_class


def _is_tensor(p: Param, general: bool) -> str:
    """Source of the test whether an argument is a tensor, where that can be asked; else nothing."""
    if p.type.endswith("?"):
        return f"{p.name} is not None"
    return f"isinstance({p.name}, TensorRef)" if general and p.type == "Operand" else ""


def edge_lines(rec: Record, scalar: str | None = None, general: bool = False) -> list[str]:
    """Statements that set `_e_name` to the edge of each input, to those of its tensors where it is a list. `scalar` names an Operand that
    is a Python number; on the `general` path any may be one."""
    lines = []
    for p in rec.differentiable_params:
        if p.type == "Tensor[]":
            lines.append(f"_e_{p.name} = [_x if _x._node is LEAF else _x._node for _x in {p.name}]")
        elif p.name != scalar:
            test = _is_tensor(p, general)
            edge = f"{p.name} if {p.name}._node is LEAF else {p.name}._node"
            lines.append(f"_e_{p.name} = " + (f"({edge}) if {test} else None" if test else edge))
    return lines


def edges(rec: Record, scalar: str | None = None) -> str:
    """Source of the tuple of all edges."""
    found = ["None" if p.name == scalar else ("*" if p.type == "Tensor[]" else "") + f"_e_{p.name}" for p in rec.differentiable_params]
    return f"({', '.join(found)},)"


def _unwanted(rec: Record, name: str, scalar: str | None) -> str:
    """Source of the test that nobody wants a gradient whose formula needs `name`; nothing where somebody always may."""
    users = [target for target, _, needed in rec.vjps if name in needed]
    lists = [p.name for p in rec.params if p.type == "Tensor[]"]
    if len(rec.vjps) < 2 or len(users) == len(rec.vjps) or any([u is None or u in lists for u in users]):
        return ""
    return " and ".join([f"_e_{u} is None" for u in users if u != scalar]) or "True"


def saved_items(rec: Record, scalar: str | None = None, general: bool = False) -> list[str]:
    """Source of each item of `entry.saved`; see `edge_lines`, whose names it needs. What an output saves of itself is called `_r0`, `_v0`,
    `_n0` and `_k0`."""
    items: list[str] = []
    for read in rec.saved:
        name, kind, p = read.name, read.kind, read.param
        unwanted = _unwanted(rec, name, scalar)
        if kind == "output":
            nr = read.nr
            number = f"_v{nr}.number" if general else "0"
            items += ["None"] * 2 + ["0", "None"] if unwanted == "True" else [
                f"(None if {unwanted} else _r{nr})" if unwanted else f"_r{nr}", f"_v{nr}", number, f"_k{nr}"]
        elif kind == "kernel":
            items.append(f"_r{read.nr}")
        elif p is None or kind == "value":
            items.append(name)
        elif kind == "tensors":
            items.append(f"(tuple({name}), [_x._v and _x._v.number for _x in {name}])")
        elif kind == "tensor" and name == scalar:
            items += [name, "None"]
        elif kind == "tensor":
            test = _is_tensor(p, general)
            items += ["None", "None"] if unwanted == "True" else [
                f"(None if {unwanted} else {name})" if unwanted else name,
                f"{test} and {name}._v and {name}._v.number" if test else f"{name}._v and {name}._v.number"]
        elif kind == "shape" and p.type == "Tensor[]":
            items.append(f"[_x._data.shape for _x in {p.name}]")
        elif kind == "shape":
            test = _is_tensor(p, general)
            shape, without = f"{p.name}._data.shape", "None" if p.type.endswith("?") else "()"
            items.append("()" if p.name == scalar else f"({shape} if {test} else {without})" if test else shape)
        else:
            items.append(f"{p.name}._k.dtype")
    return items


def fitted(rec: Record, scalar: str | None = None, general: bool = False) -> str:
    """Source of `entry.meta` where gradients may have to be given another shape, or dtype."""
    found = []
    for p in rec.differentiable_params:
        test, one = _is_tensor(p, general), f"({p.name}._data.shape, {p.name}._k.np)"
        found.append(f"*[(_x._data.shape, _x._k.np) for _x in {p.name}]" if p.type == "Tensor[]" else "None" if p.name == scalar else
                     f"{one} if {test} else None" if test else one)
    return f"({', '.join(found)},)"


def view_lines(view: str, source: str) -> list[str]:
    """Statements that make a tensor share version and base of the one that it is a view of; the last is for where nothing is recorded."""
    return [f"_v = {source}._v", f"if _v is None: {source}._v = {made('_v')}", f"{view}._v = _v",
            f"{view}._base = {source} if {source}._base is None else {source}._base",
            "if grad_mode() is ENABLED:",
            "    if _w := _v.views:",
            f"        _w.append(ref({view}))",
            "        if not len(_w) & 31: _v.prune()",
            f"    else: _v.views = [ref({view})]",
            f"else: unwatched_view({view})"]


def is_free(name: str) -> str:
    """Source of the test whether a change of a tensor is no business of any graph: its own, and that of what it is a view of."""
    return f"({name}._node is None and ({name}._base is None or {name}._base._node is None))"


def counted(name: str) -> list[str]:
    """Statements that count a change of a tensor."""
    return [f"_v = {name}._v", f"if _v is None: {name}._v = {made('_v', 1)}", "else: _v.number += 1"]


def entry_source(rec: Record) -> str:
    """The source of a function (front end, outputs, results of the kernel, *arguments) that makes the entry and hangs it on the outputs;
    it returns None where no input has a history or no output a gradient.

    >>> from autograd_tape.record import get_record
    >>> print(entry_source(get_record("neg")).partition(":")[0])
    def entry(F, _o, _r, input)
    """
    kinds = [t for t, _ in rec.returns]
    single = kinds == ["Tensor"]
    lists = [p.name for p in rec.differentiable_params if p.type == "Tensor[]"]
    without = [f"not [_x for _x in _e_{p.name} if _x is not None]" if p.name in lists else f"_e_{p.name} is None"
               for p in rec.differentiable_params]
    lines = [*edge_lines(rec, general=True), f"if {' and '.join(without) or True}: return None", *_target_lines(rec, kinds),
             "_class = Node"]
    if rec.complex == "no gradient" or rec.conjugates:
        lines += [f"if {'_t._k.dtype.is_complex' if single else 'any([_x._k.dtype.is_complex for _x in _t])'}:",
                  "    _class = conjugated(rec)" if rec.complex != "no gradient" else
                  f"    raise AutogradError('{rec.name} does not support automatic differentiation for outputs with complex dtype.', "
                  "remedy='detach its inputs')"]
    inputs = ", ".join(["*" * (p.name in lists) + p.name for p in rec.differentiable_params])
    saved = "".join([item + ", " for item in saved_items(rec, rec.without, general=True)])
    lines += [*_saved_lines(rec), "if above.entry_classes:", "    for _special in above.entry_classes:",
              f"        _class = _special(_class, [{inputs}], {'_o' if single else '_t'}) or _class", "    _n = _class()",
              "else: _n = new_node(_class)", *([] if single else ["for _x in _t[1:]: next_id()"]), "_n.id = next_id()",
              f"_n.edges = {edges(rec)}", f"_n.meta = {fitted(rec, general=True)}", f"_n.saved = ({saved})",
              *(["_n.n_outputs = len(_t)"] if rec.returns_list else []), "F.pack_saved(_n)"]
    hang = "for _i, _x in enumerate(_t): _x._node = Edge(_n, _i)"
    lines += ["_t._node = _n"] if single else [hang] if rec.returns_list else ["if len(_t) == 1: _t[0]._node = _n", "else:", "    " + hang]
    head = ", ".join(["F", "_o", "_r", *[p.name for p in rec.params]])
    return "\n".join([f"def entry({head}):", *["    " + line for line in [*lines, "return _n"]]]) + "\n"


def _target_lines(rec: Record, kinds: list[str]) -> list[str]:
    """Statements that set `_t` to the output, or the outputs, that get the entry, and return where there is none."""
    if kinds == ["Tensor"]:
        return ["_t = _o[0]", f"if _t._k.dtype.category < {FLOATING}: return None"]
    return ["_t = list(_o)" if rec.returns_list else
            f"_t = [_x for _x, _kind in zip(_o, {kinds}) if _kind == 'Tensor' and _x._k.dtype.category >= {FLOATING}]",
            "if not _t: return None"]


def _saved_lines(rec: Record) -> list[str]:
    """Statements that name what `saved_items` keeps of outputs and of kernels, and refuse to keep inference tensors."""
    lines = []
    for read in rec.saved:
        nr = read.nr
        if read.kind == "output":
            lines += [f"_x = _o[{nr}]; _r{nr} = _x._data; _v{nr} = Version.of(_x)",
                      f"_k{nr} = _x._k if _x._k.special is None else F.bare(_x)"]
        elif read.kind == "kernel":
            lines.append(f"_r{nr} = _r[{nr}]")
        elif read.kind == "tensor" and read.param is not None and read.name != rec.without:
            test, unwanted = _is_tensor(read.param, True), _unwanted(rec, read.name, rec.without)
            tests = [*([test] if test else []), f"{read.name}._k.inference", *([f"not ({unwanted})"] if unwanted else [])]
            lines.append(f"if {' and '.join(tests)}: raise AutogradError(INFERENCE_SAVED, remedy='clone it first')")
    return lines


_entries: dict[tuple[str, str, str | None], Callable[..., Any]] = {}


def entry_of(rec: Record) -> Callable[..., Any]:
    """The function that makes the entries of an operation, or of an overload; see `entry_source`."""
    key = rec.name, rec.node_name, rec.without
    found = _entries.get(key)
    if found is None:
        found = _entries[key] = execute(entry_source(rec), "entry", f"<{rec.name}: entry>", {
            "LEAF": LEAF, "TensorRef": TensorRef, "Node": node_class(rec), "conjugated": conjugated_class, "rec": rec, "above": above,
            "new_node": object.__new__, "next_id": next_id, "Edge": OutputEdge, "Version": Version, "AutogradError": AutogradError,
            "INFERENCE_SAVED": INFERENCE_SAVED})
    return found
