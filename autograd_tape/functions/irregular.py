"""Irregular operations: those made of others, written as a plain function of the front end, `def function(F, ...)`.

Each is given a frame that words its errors and puts a door before it. With `def quick(...)` the record says what plain arrays give, where
nobody looks and nothing has a gradient, and with `def shown(...)` what views they give there. Where its quiet path is written by hand,
`def make(F, namespace, general)` returns a function with that path, which calls `general(args, out)` where it ends.
"""

from __future__ import annotations

import inspect
import sys
from functools import partial
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ..annotations import Arguments, Fn, Keywords
from .. import calls, modes
from ..calls import HERE, LISTENING, OF_NO_KIND, TO_PLAIN, TO_REGULAR, Door, Interceptor, Parameter, plain as are_plain, source_of
from ..codegen import execute
from ..dtypes import INT64_KIND, SCALAR_TYPE_NAMES, DType, default_dtype
from ..errors import AutogradError, ShapeMismatchError, of_rank
from ..held import HOLDING, as_it_is, held_in, note_write, within
from ..modes import UNDONE, GradMode, grad_mode, in_loop, noting, recordings
from ..node import TapeEntry
from ..record import Record, get_record, if_any
from ..tensor import TensorRef, next_id
from ..version import made as made_version
from ..views import TOGETHER
from .entries import counted, is_free, view_lines
from .general import QUICK_FIT, General, check_fit, fits
from .refusals import grad_refusal, wants_grad
from .namespace import REALS, STUMBLES
from .words import signature_of, spelled_too, told_where_missing, words_of

if TYPE_CHECKING:
    from ..frontend import Frontend


_modules = sys.modules  # asked whether there can be a loop, which costs less than to call `in_loop`


_TAPES = (HOLDING,)  # who is to be asked, where tapes alone are


class Irregular(Door):
    """The door of an irregular operation, or of its in-place variant.

    Attributes:
        front: the function that leads here.
        plain: the function below the door, with all arguments by position.
        second: the entrance below the door of a path written by hand.
        flat: the same, with all arguments by position.
    """

    irregular = True
    front: Fn
    plain: Callable[..., Any]
    second: Fn
    flat: Fn

    def __init__(self, rec: Record, frontend: Frontend, params: list[Parameter]) -> None:
        super().__init__(rec, frontend)
        self.params = params
        self.spreads = any([p.spread == "*" for p in params])
        self._flat = not any([p.spread or p.keyword_only for p in params])
        self.at_once = self.writes or any([p == "Any" for p, _ in rec.returns])
        self._recorded: Fn | None = rec.field("recorded")
        # Whether the path written by hand is noted as a regular operation is: it makes one entry, or none, for it has no inputs.
        self._notes_quiet = self._recorded is not None or rec.field("make") is not None and not rec.tensor_params

    def noted(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """As doors do it."""
        if out is not None or inplace or self.at_once or (notes := noting.calls) is None or "asyncio" in _modules and in_loop():
            return HERE
        heard, asked = self._asked
        if heard is not calls._listening:
            asked = self.hear()
        if asked is not _TAPES:
            for interceptor in asked:
                if interceptor is not HOLDING and not interceptor.idle(args):
                    return HERE
        if not self._notes_quiet:
            return self.plain(*args) if notes.at >= 0 else held_in(notes, self, args, self.plain, args)
        notes.append(note := [self, args if self._recorded is not None else as_it_is(args), UNDONE, None, None, grad_mode(), False])
        note[2] = result = self.flat(*args)
        note[3] = result._node or next_id()
        return result

    def carry_out(self, args: Arguments, out: object, inplace: bool) -> Any:
        """The function, on its quiet path where that is open."""
        below = self._below[False]
        if below is None or out is not None or not modes.watched:
            return self.rest(args, out)
        if recordings:
            if not self.writes or not within():
                return self.rest(args)
            note_write(args[0])
        return below(*args)

    def hear(self) -> tuple[Interceptor, ...]:
        found = super().hear()
        if found == _TAPES:
            self._asked, found = (self._asked[0], _TAPES), _TAPES
        if self.rec.field("make") is not None:
            parts = [General(get_record(name), self.frontend) for name in self.rec.field("parts") or ()]
            is_open = all([i in found and not i.parts or not any(map(i.concerns, parts)) for i in TO_REGULAR
                           if i.frontend in (None, self.frontend)])
            self.second = self.frontend.below(self, False)
            if self._flat:
                self.flat = self.second
            self._below[False] = self.flat if is_open else None
        return found

    def check_fit(self, args: tuple[object, ...]) -> None:
        """Raises where the types of arguments do not fit the schema."""
        check_fit(self.rec, {p.name: a for p, a in zip(self.params, args)},
                  frozenset([p.name for p in self.params if p.has_default and p.default is None]), self.frontend.dtype_names)

    def rest(self, args: tuple[object, ...], out: object = None, inplace: bool = False) -> Any:
        """The function itself."""
        if recordings and (notes := noting.calls) and notes[-1][2] is UNDONE:
            notes.pop()  # what is not quiet is held as a whole
            return self.plain(*args) if notes.at >= 0 else held_in(notes, self, args, self.plain, args)
        return self.plain(*args) if out is None else self.plain(*args, out)

    def recorded(self, entry: TapeEntry, args: Sequence[object]) -> tuple[dict[str, Any], list[TensorRef]]:
        """The arguments by name, and the tensors among them, of the operation whose entry the path written by hand made."""
        assert self._recorded is not None
        values = dict(zip([p.name for p in entry.op.params], self._recorded(entry, *args)))
        return values, [x for x in values.values() if isinstance(x, TensorRef)]


def irregular_function(rec: Record, frontend: Frontend, inner: Fn | None = None, loose: bool = False) -> Fn:
    """The function of an irregular operation; with `inner`, its method or its in-place variant; with `loose` as in `compile_function`."""
    make = rec.field("make") if inner is None else None
    if make is not None and rec.field("function") is None:
        door = General(rec, frontend)
        function = make(frontend, frontend.namespace, door)
        door.front, function.door = function, door
    else:
        function = _framed(rec, frontend, inner or rec.field("function"), make, rec.varargs or "" if loose else "")
    function.__doc__ = rec.doc
    inplace = inner is not None and inner is rec.field("function_")
    function.__module__, function.__qualname__ = frontend.home(rec, rec.name + "_" * inplace)
    function.__name__ = (rec.name + "_" * inplace).removeprefix("nn_functional_")
    function.record = rec
    return function


def _framed(rec: Record, frontend: Frontend, inner: Fn, make: Fn | None, loose: str) -> Fn:
    signature = dict(list(inspect.signature(inner).parameters.items())[1:])
    params = [Parameter.of(p) for p in signature.values() if p.name != "out"]
    for p in params[list(signature).index("out") if "out" in signature else len(params):]:
        p.keyword_only = not p.spread  # by position the first would be taken for `out`
    writes = rec.out and "out" not in signature and not any([p.spread == "**" for p in params])
    door = Irregular(rec, frontend, params)
    cells: Keywords = {"_F": frontend, "_inner": inner, "_Error": AutogradError, "_door": door, "_rec": rec, "_name": rec.name,
                             "LISTENING": LISTENING, "TO_PLAIN": TO_PLAIN, "_own": OF_NO_KIND, "_plain": are_plain,
                             "_Tensor": frontend.Tensor, "_of_rank": of_rank}
    head, call, defaults = source_of([Parameter.of(p) for p in signature.values()])
    cells |= defaults
    if writes:
        head += ["out=None"] if any(h.startswith("*") for h in head) else ["*", "out=None"]
    spelled = frontend.numpy_words and make is None and not any([h.startswith("**") for h in head])
    words = words_of(rec, list(signature)) if spelled else None
    plain = f"_inner({', '.join(['_F', *call])})"
    names = [p.name for p in params]
    every = "".join([f"{n}, " for n in names])
    out, inplace = "out" if writes or "out" in signature else "None", rec.field("function_") is inner
    body = [*_refusals(rec, signature, cells, plain), "try:", *["    " + line for line in _checks(rec, frontend, signature, cells)],
            *([f"    _r = {plain}", "    return _r if out is None else _F.give(_name, out, _r)"] if writes else [f"    return {plain}"]),
            "except (_Error, AttributeError, TypeError, ValueError, RuntimeError, IndexError, KeyError, OverflowError) as _e:",
            f"    if _F.joins(({every})): return _door(({every}), {out}, {inplace})",
            f"    if (_refused := _F.refused(_door, {inplace})) is not None: raise _refused from None",
            f"    try: _check_fit(_rec, {_own_values(rec, signature)}, _optional)",
            "    except _Error as _misfit: raise _F.error(_misfit) from None",
            "    if isinstance(_e, _Error): raise _F.error(_e) from None",
            "    if (_many := _of_rank(_e)) is not None: raise _F.error(_many) from None",
            "    raise"]
    passes = [f"if LISTENING and (TO_PLAIN or not ({_plain_test(rec, params, out)})): return _door(({every}), {out}, {inplace})"]
    flat = ", ".join(names + ["out=None"] * (out == "out"))

    def defined(head: str, body: list[str], variant: str) -> Fn:
        text = (f"def make({', '.join(cells)}):\n    def {rec.name}({head}):\n" + "".join(f"        {line}\n" for line in body)
                + f"    _this = {rec.name}\n    return _this\n")
        found: Fn = execute(text, "make", f"<{rec.name}{variant}: {frontend.name}>", frontend.namespace)(**cells)
        return found

    # A method of its own leads to the function, which has the door.
    leads = inner is rec.field("method") and inner is not rec.field("function")
    door.plain = defined(flat, body, " (below)")
    if make is not None:
        door.flat = defined(", ".join(names), [f"return _door.second({', '.join(source_of(params)[1])})"], " (second entrance)")
    at_once: list[str] = []  # which leaves to the rest of the function what it stumbles over, missing arguments, too
    quick = rec.field("quick") if inner is rec.field("function") and make is None else None
    if quick is not None:
        at_once = _quick_lines(rec, signature, cells, quick)
    shown = rec.field("shown") if inner is rec.field("function") and make is None else None
    if shown is not None:
        at_once = [*_shown_lines(rec, signature, cells, shown), *at_once]
    becomes = rec.field("becomes")
    if becomes is not None:
        at_once = [*_become_lines(signature, cells, becomes), *at_once]
    overwrites = rec.field("overwrites") if inplace or rec.field("function_") is None else None
    if overwrites is not None:
        at_once = [*_overwrite_lines(signature, cells, overwrites), *at_once]
    fresh = rec.field("fresh") if make is None else None
    if fresh is not None:
        at_once = [*_fresh_lines(rec, signature, cells, fresh), *at_once]
    at_once, front = ([], body) if leads else (at_once, [*passes, *body])
    native = (spelled and not leads and not rec.in_python and any([part.isidentifier() for part in head])
              and not any([part[0] == "_" for part in head]))  # which only Python functions of torch take
    if words or native:
        spelled_head, first, more = spelled_too(head, [""], words, loose) if words else told_where_missing(head, [""])
        cells |= more | {"_defaults": {p.name: p.default for p in params if p.has_default} | {"out": None}}
        door.front = defined(", ".join(spelled_head), [first[0], *at_once, *first[1:-1], *front], "")
        door.front.__signature__ = signature_of(head, cells["_defaults"])  # type: ignore[attr-defined]  # functions may have it
    else:
        door.front = make(frontend, frontend.namespace, door) if make is not None else defined(", ".join(head), at_once + front, "")
    entry: Any = door.front
    entry.door = door
    return door.front


def _plain_test(rec: Record, params: Sequence[Parameter], out: str) -> str:
    """Source of the test whether arguments are plain (see `calls.plain`), most of which says so without a call."""
    types = {p.name: p.type for p in rec.params if p.is_tensor}
    tests = ["out is None"] * (out == "out")
    for p in params:
        n = p.name
        if p.spread:
            tests.append(f"_plain(({n},))" if p.spread == "*" else f"not {n}")
        elif n in types or n == "input":
            tests.append(f"({n} is None or isinstance({n}, _Tensor) and {n}._k.special is None or _plain(({n},)))")
        else:
            tests.append(f"({n}.__class__ in _own or {n}.__class__ is tuple and _own.issuperset(map(type, {n})) or _plain(({n},)))")
    return " and ".join(tests) or "True"


def _quick_lines(rec: Record, signature: Keywords, cells: Keywords, quick: Fn) -> list[str]:
    """Statements that return what `quick` makes of plain arrays, if it makes something of them: of real numbers or truth values, and where
    the record says `quick_complex`, of complex numbers. Where it says `quick_conjugates`, of real numbers their conjugates are returned."""
    frontend = cells["_F"]
    named = frontend.returned(rec) if rec.field("quick_named") else None
    taken = "Q_ANY" if rec.field("quick_complex") else "Q_NOT_COMPLEX"
    cells |= {"_quick": quick, "_lacked": frozenset(rec.lacks),
              "_grad_mode": grad_mode, "_ENABLED": GradMode.ENABLED, "_sizes": _SIZES, "_Tensor": frontend.Tensor,
              "_new": frontend.namespace["new"], "_STUMBLES": STUMBLES,
              "_ndarray": np.ndarray, "_named": named}
    types = {p.name: p.type for p in rec.params if p.is_tensor and p.type != "Tensor[]"}
    names = [n for n in signature if n != "out"]
    tensors = [n for n in names if n in types]
    tests, arrays, leaves = [], [], []
    # Where nobody records, it does not matter that parameters require gradients, unless an input itself is given back.
    unrecorded = "" if rec.field("gives_input") else " or _grad_mode() is not _ENABLED"
    listed = rec.params[0].name if rec.params[0].type == "Tensor[]" else ""
    has_kernel = " and _k.dtype.name not in _lacked" * bool(rec.lacks)  # nothing lacks float32
    if listed:
        tensors, names = [f"{listed}[0]"], names[1:]
        tests.append(f"(_k is Q_F32 or _k in Q_NOT_COMPLEX{has_kernel}) "
                     f"and ({listed}.__class__ is list or {listed}.__class__ is tuple) and len(_a := "
                     f"[_x._data for _x in {listed} if _x._k is _k and (_x._node is None{unrecorded})]) == len({listed})")
        arrays.append("_a")
    others = {p.name: p.type for p in rec.params if not p.is_tensor}
    if only := rec.field("quick_if"):
        tests.append(only)
    for n in names:
        if n not in types:
            arrays.append(n)
            tests += _exact_tests(n, others.get(n, "Any") + "?" * (signature[n].default is None))
            continue
        plain = f"(_k is Q_F32 or _k in {taken}{has_kernel})"
        if n != tensors[0]:  # whose kind the others mostly have
            plain = f"({n}._k is _k or {n}._k in {taken})"
        optional = types[n].endswith("?")
        leaves.append(f"({n} is None or {n}._node is None)" if optional else f"{n}._node is None")
        tests.append(f"({n} is None or {plain})" if optional else plain)
        arrays.append(f"(None if {n} is None else {n}._data)" if optional else f"{n}._data")
    writes = rec.field("gives_input") and rec.name.endswith("_")
    leaves = leaves[1:] if writes else leaves  # `is_free` asks the first
    tests += [f"({' and '.join(leaves)}{unrecorded})"] * bool(leaves)
    tests += ["out is None"] * ("out" in signature or rec.out)
    own = []
    if rec.field("gives_input"):
        own = [f"        if _r is not None and _r is {arrays[0]}: return {tensors[0]}"]  # what was only declared has no array yet
        if writes:  # which is noted, and refused, elsewhere
            cells |= {"_recordings": recordings, "_noting": noting}
            tests += [is_free(tensors[0]), "not _recordings", "_noting.calls is None"]
    k = "_k" if rec.result == "same" else "_k if {0}.dtype is _k.np else KINDS[{0}.dtype]"
    made = f"_t = _new(_Tensor); _t._data = {{0}}; _t._k = {k}; _t._base = _t._v = _t._node = None"
    many = ["            _o = []", "            for _x in _r:", f"                {made.format('_x')}", "                _o.append(_t)",
            "            return tuple(_o)" if named is None else "            return _named(*_o)"]
    return ["try:", f"    _k = {tensors[0]}._k", f"    if {' and '.join(tests)}:", f"        _r = _quick({', '.join(arrays)})", *own,
            *["        if _r.__class__ is list:", *many] * rec.returns_list,
            "        if _r.__class__ is _ndarray:", f"            {made.format('_r')}",
            f"            return {'_t if _k.dtype.is_complex else _F.conjugate(_t)' if rec.field('quick_conjugates') else '_t'}",
            "        if _r.__class__ is tuple:", *many,
            *["        if _r is True or _r is False: return _r"] * (rec.field("gives") == "bool"),
            "except _STUMBLES: pass"]


def _shown_lines(rec: Record, signature: Keywords, cells: Keywords, shown: Fn) -> list[str]:
    """Statements that return views of the first tensor, if it has no gradient, or of each of several: of the memory that `shown` says. What
    is shown whole is the tensor itself."""
    frontend = cells["_F"]
    cells |= {"_shown": shown, "_Tensor": frontend.Tensor, "_new": frontend.namespace["new"],
              "_STUMBLES": STUMBLES, "_ndarray": np.ndarray, "_several": frontend.list_type(rec)}
    types = {p.name: p.type for p in rec.params}
    first, *others = signature
    several = types[first] == "Tensor[]"
    made = [f"_t = _new(_Tensor); _t._data = {'_x' if several else '_r'}; _t._k = {'_i._k' if several else '_k'}; _t._node = None",
            *view_lines("_t", "_i" if several else first), "return _t"]
    if rec.returns_list and not several:
        made = [f"_v = {first}._v", f"if _v is None: {first}._v = {made_version('_v')}",
                f"_b = {first} if {first}._base is None else {first}._base", "_o = []", "for _x in _r:",
                "    _t = _new(_Tensor); _t._data = _x; _t._k = _k; _t._node = None; _t._v = _v; _t._base = _b; _o.append(_t)",
                "if grad_mode() is ENABLED: _v.add_views(_o)", "else:", "    for _t in _o: unwatched_view(_t)", "return _several(_o)"]
        if rec.field("together"):  # which nobody may change in place
            cells |= {"_together": TOGETHER}
            made[5] += "; _t._info = _together"
    if several:
        seen = f"[_x._data for _x in {first} if (_x._k is Q_F32 or _x._k in Q_ANY) and _x._node is None]"
        alone = rec.field("alone")
        enough = f"(len({first}) > 1 or len({first}) == 1 and {first}[0].__class__ is _Tensor)" if alone else f"len({first}) > 1"
        return ["try:", f"    if {enough} and len(_a := {seen}) == len({first}):",
                f"        _r = _shown({', '.join(['_a', *others])})", "        if _r is not None:", "            _o = []",
                f"            for _i, _x in zip({first}, _r):", "                if _x is not _i._data:",
                *["                    " + line for line in [*made[:-1], "_i = _t"]], "                _o.append(_i)",
                f"            return _several(_o){f' if len({first}) > 1 else _i' * bool(alone)}", "except _STUMBLES: pass"]
    tests = [f"((_k := {first}._k) is Q_F32 or _k in Q_ANY) and {first}._node is None",
             *["grad_mode() is ENABLED"] * bool(rec.field("together"))]
    for n in others:
        test = "{0}._k in Q_ANY" if types[n] == "Tensor" else QUICK_FIT.get(types[n].removesuffix("?"), "True")
        tests.append((f"({{0}} is None or {test})" if types[n][-1] == "?" else test).format(n))
    arrays = [f"{n}._data" if types[n] == "Tensor" else n for n in signature]
    return ["try:", f"    if {' and '.join(tests)}:", f"        _r = _shown({', '.join(arrays)})", "        if _r is not None:",
            *["            " + line for line in made], "except _STUMBLES: pass"]


def _become_lines(signature: Keywords, cells: Keywords, becomes: Fn) -> list[str]:
    """Statements that put the view that `becomes` makes in the place of a tensor that no graph, tape or mode has to do with."""
    t, test, given = _alone(signature, cells)
    cells |= {"_becomes": becomes}
    return ["try:", f"    if {test}:", f"        {t}._data = _becomes({given})",
            *["        " + line for line in counted(t)], f"        return {t}", "except _STUMBLES: pass"]


def _overwrite_lines(signature: Keywords, cells: Keywords, overwrites: Fn) -> list[str]:
    """Statements that return such a tensor, if `overwrites` wrote to its memory, in which every element has a place of its own."""
    t, test, given = _alone(signature, cells)
    cells |= {"_overwrites": overwrites}
    return ["try:", f"    if {test} and 0 not in {t}._data.strides and _overwrites({given}):",
            *["        " + line for line in counted(t)], f"        return {t}", "except _STUMBLES: pass"]


def _alone(signature: Keywords, cells: Keywords) -> tuple[str, str, str]:
    """The name of the tensor that is changed in place, source of the test whether no graph, tape or mode has to do with it, and of its
    array and the other arguments."""
    cells |= {"_STUMBLES": STUMBLES, "_recordings": recordings, "_noting": noting, "INFERENCE": modes.GradMode.INFERENCE}
    first, *others = [Parameter.of(p) for p in signature.values()]
    t = first.name
    tests = [f"({t}._k is Q_F32 or {t}._k in Q_ANY)", is_free(t), "grad_mode() is not INFERENCE", "not _recordings",
             "_noting.calls is None", *[f"not {p.name}" for p in others if p.spread == "**"]]
    return t, " and ".join(tests), ", ".join([f"{t}._data", *[f"{p.spread}{p.name}" for p in others if p.spread != "**"]])


_AS_EVER = {"pin_memory": "{0} is False", "requires_grad": "{0} is False", "named": "not {0}"}


def _fresh_lines(rec: Record, signature: Keywords, cells: Keywords, fresh: Fn) -> list[str]:
    """Statements that return a new tensor over what `fresh` makes of a kind and the arguments before the options, if it makes something and
    no option but the dtype is given."""
    frontend = cells["_F"]
    cells |= {"_fresh": fresh, "_new": frontend.namespace["new"],
              "_Tensor": frontend.Tensor, "_STUMBLES": STUMBLES, "_default_float": default_dtype, "_int64": INT64_KIND.dtype}
    options = [n for n, p in signature.items() if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    tensors = [p.name for p in rec.params if p.is_tensor]
    arguments = [n for n in signature if n not in options]
    tests = [_AS_EVER.get(n, "{0} is None").format(n) for n in options if n != "dtype"]
    if tensors:  # the method's own name for its tensor may be another than the schema's
        own = arguments[0]
        found, arguments[0] = f"{own}._k if dtype is None else KINDS[dtype.np]", f"{own}._data"
        tests.append(f"(dtype is None or {own}._k in Q_ANY)")
    else:
        left_out = "_int64" if rec.result == "int64" else "_default_float()"
        found = f"KINDS[({left_out} if dtype is None else dtype).np]"
        tests.append("_F.default_device is None")
    return ["try:", f"    if {' and '.join(tests)}:", f"        _k = {found}", "        if _k is Q_F32 or _k in Q_ANY:",
            f"            _r = _fresh({', '.join(['_k', *arguments])})", "            if _r is not None:",
            "                _t = _new(_Tensor); _t._data = _r; _t._k = _k; _t._base = _t._v = _t._node = None",
            "                return _t", "except _STUMBLES: pass"]


_EXACT = {"bool": "({0} is False or {0} is True)", "int": "{0}.__class__ is int", "str": "{0}.__class__ is str",
          "float": "({0}.__class__ is float or {0}.__class__ is int)", "Scalar": "({0}.__class__ is float or {0}.__class__ is int)",
          "int[]": "({0}.__class__ is int or ({0}.__class__ is tuple or {0}.__class__ is list) "
                   "and _sizes.issuperset(map(type, {0})))"}
_SIZES = frozenset([int, type(None)])


def _exact_tests(name: str, type: str) -> list[str]:
    """Source of the test whether a flag, number, name or shape is of the class that the schema says: `quick` sees what nothing refuses,
    and asks for nothing of that again."""
    test = _EXACT.get(type.rstrip("?"))
    if test is None:
        return []
    return [f"({name} is None or {test.format(name)})" if type.endswith("?") else test.format(name)]


def _refusals(rec: Record, signature: Keywords, cells: Keywords, plain: str) -> list[str]:
    """Statements that refuse complex tensors, and those of dtypes that torch has no kernel for; `plain` is the call of the function."""
    first = next(iter(signature), "")
    found = []
    if rec.refuses_complex:
        cells |= {"_refusal": rec.complex_refusal, "_NAMES": SCALAR_TYPE_NAMES}
        found += [f"if hasattr({first}, '_k') and {first}._k.dtype.is_complex:",
                  f"    _e = _refusal(_NAMES[{first}._k.dtype.name], dict({', '.join(f'{n}={n}' for n in signature)}), "
                  f"{first}._k.device.type == 'meta')",
                  "    if _e is not None: raise _F.error(_e)"]
    if rec.lacks:
        taken = cells["_F"].numpy_unsigned
        cells |= {"_lacks": frozenset([n for n in rec.lacks if not (taken and DType.by_name[n].group == "uint")]),
                  "_lack": rec.refuse_lacking, "_Shape": ShapeMismatchError}
        arguments = f"dict({', '.join(f'{n}={n}' for n in signature)})"
        found += [f"if hasattr({first}, '_k') and {first}._k.dtype.name in _lacks:",
                  f"    try: _lack({first}._k.dtype.name, {first}, {arguments})",
                  "    except _Error as _lacking:",
                  f"        try: {plain}",  # wrong shapes are told first
                  "        except _Shape as _e: raise _F.error(_e) from None",
                  "        except (_Error, TypeError, ValueError, RuntimeError, OverflowError): pass",
                  "        raise _F.error(_lacking) from None"]
    for name, function in (rec.field("refuses_grad") or {}).items():
        cells |= {"_wants_grad": wants_grad, "_grad_refusal": grad_refusal}
        step, only = if_any(function)
        some = f" and {first}._data.size" if only else ""
        found.append(f"if {name} is not None and _wants_grad({name}){some}: raise _F.error(_grad_refusal('{step}', '{name}'))")
    return found


def _own(rec: Record, signature: Keywords) -> list[str]:
    """The parameters that the schema knows, too; a list of tensors may be spread over arguments."""
    known = {p.name: p.type for p in rec.params}
    return [n for n, q in signature.items() if n in known and q.kind is not q.VAR_KEYWORD
            and (q.kind is not q.VAR_POSITIONAL or known[n] == "Tensor[]")]


def _own_values(rec: Record, signature: Keywords) -> str:
    return f"dict({', '.join(f'{n}={n}' for n in _own(rec, signature))})"


def _checks(rec: Record, frontend: Frontend, signature: Keywords, cells: Keywords) -> list[str]:
    """Statements that refuse arguments which Python would take for others without a word."""
    parameters = {p.name: p for p in rec.params}
    own = _own(rec, signature)
    optional = frozenset([n for n in own if signature[n].default is None])
    cells |= {"_REALS": REALS, "_optional": optional, "_DType": DType, "_TensorRef": TensorRef,
              "_check_fit": check_fit if frontend.dtype_names else partial(check_fit, dtype_names=False)}
    tests = []
    for n in own:
        test = QUICK_FIT.get(parameters[n].type.removesuffix("?")) if signature[n].kind is not signature[n].VAR_POSITIONAL else None
        if parameters[n].type in ("Tensor", "Tensor?") and (rec.in_python or n == own[0]):
            continue  # torch looks at those of functions in Python where it uses them; without the first, nothing works
        # What takes anything has no type.
        if test is not None and not fits(parameters[n], ..., frontend.dtype_names) and n not in (rec.field("several_types") or ()):
            tests.append(f"({n} is None or {test.format(n)})" if n in optional or fits(parameters[n], None) else test.format(n))
    return [f"if not ({' and '.join(tests)}): _check_fit(_rec, {_own_values(rec, signature)}, _optional)"] if tests else []
