"""From a record to one flat Python function.

The source of a function is built from the family's template, compiled at first use, and registered in `linecache`, so that
tracebacks and debuggers show it. A compiled function first tries the *quiet path*: all tensors of one kind, nothing special
about them, no mode active; these few lines are the whole cost of an operation on small tensors. Whatever is unusual, and
every error, goes on to `general` (see `general.py`), which knows everything and need not be fast.

`python -c "from autograd_tape.functions.compile import source; print(source('mul'))"` shows what is generated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..annotations import Fn
from ..codegen import execute
from ..dtypes import floating
from ..executors.kernels.changes import LEAST as LEAST_CHANGED, Alone, Change, Over, Settling, broadcast
from ..executors.kernels.elementwise import WITH_NUMBER, with_number
from ..executors.kernels.pairs import FEW, LEAST, MANY, OF_UFUNC, SLOW
from ..executors.kernels.sharing import APART, BIG
from ..executors.kernels import halves
from ..executors.numpy import half_kernel, is_ufunc, narrow, of_one, rounds, widened
from ..ops._samples import IN_ALL
from ..record import RECORDS, Param, Record, get_record
from ..tensor import TensorRef, above
from ..version import made
from .common import in_dtype, mixes
from .entries import counted, edge_lines, edges, fitted, is_free, saved_items, view_lines
from .general import General, half_operand, takes_complex, takes_integers
from .layout import layout_operands
from .nodes import backward_source, conjugated_class, node_class
from .refusals import no_operand
from .words import signature_of, spelled_too, told_where_missing, words_of


# -- forward --------------------------------------------------------------------------------------------------------


def _raw(p: Param) -> str:
    if p.type == "Tensor[]":
        return "_d"
    if p.type.endswith("?") and p.is_tensor:
        return f"(None if {p.name} is None else {p.name}._data)"
    return f"{p.name}._data" if p.is_tensor else p.name


def _wanted(rec: Record) -> str:
    """Source of the test whether any input requires grad."""
    tests = []
    for p in rec.differentiable_params:
        if p.type == "Tensor[]":
            tests.append("_g")
        elif p.type == "Tensor?":
            tests.append(f"({p.name} is not None and {p.name}._node is not None)")
        else:
            tests.append(f"{p.name}._node is not None")
    return " or ".join(tests)


def _kind(rec: Record, nr: int) -> str:
    returned = rec.returns[nr][0]
    if returned == "Index" or (rec.result == "int64" and nr == 0):
        return "INT64"
    if returned == "Mask" or (rec.result == "bool" and nr == 0):
        return "BOOL"
    if rec.result == "same":
        return "_k"
    return f"(_k if _r{nr}.dtype is _k.np else KINDS[_r{nr}.dtype])"


def _scalar_operand(rec: Record) -> Param | None:
    """The Operand that the quiet path also takes as a Python number: the last one."""
    return next((p for p in reversed(rec.params[1:]) if p.type == "Operand"), None)


def _in(kind: str, quiet: str) -> str:
    """Source of the test whether a kind is in a quiet set that holds float32."""
    return f"({kind} is Q_F32 or {kind} in {quiet})"


def _quiet_test(rec: Record, scalar: str | None = None) -> tuple[str, str]:
    """(statement that sets `_k`, condition of the quiet path). `scalar` names an Operand that is a Python number here."""
    # Entries of complex tensors may have a class of their own, see `conjugated_class`, which only the general path knows.
    loud = rec.refuses_complex or rec.differentiable and (rec.conjugates and rec.saves_values or rec.complex == "no gradient")
    everything = "Q_REAL" if loud else "Q_ALL"
    if everything == "Q_ALL" and (rec.field("moves") or rec.family in ("view", "view?")) and rec.field("check") is None:
        everything = "Q_ANY"
    # One of NumPy's functions, or a formula with numbers in it, which a table spares.
    computes = isinstance(rec.field("numpy"), np.ufunc) or of_one(rec) and len(rec.params) > 1
    if rec.quiet == "numbers" or computes:  # half precision has an entrance of its own, whose kernel computes in single
        everything = {"Q_ALL": "Q_NUMBERS", "Q_REAL": "Q_REAL_NUMBERS"}.get(everything, everything)
    if rec.field("by_parts"):  # complex numbers have an entrance, which sees their parts
        everything = "Q_REAL_NUMBERS"
    quiet = everything if rec.quiet in ("all", "numbers") and scalar is None else "Q_FLOAT"
    tensors = [p for p in rec.tensor_params if p.name != scalar]
    main = next((p for p in tensors if p.type in ("Tensor", "Operand", "Tensor[]")), None)
    if main is None or rec.quiet == "none":
        return "_k = None", "False"
    first = f"{main.name}[0]" if main.type == "Tensor[]" else main.name
    tests = [_in("_k", quiet) if scalar is None else _scalar_test(rec)]
    for p in tensors:
        if p.type in ("Index", "Mask"):
            tests.append(f"{p.name}._k in {'Q_BOOL' if p.type == 'Mask' else 'Q_INT32' if rec.field('indices') else 'Q_INT64'}")
        elif p.type == "Index?":
            tests.append(f"({p.name} is None or {p.name}._k in Q_INT64)")
        elif p.type == "Mask?":
            tests.append(f"({p.name} is None or {p.name}._k in Q_BOOL)")
        elif p.type == "Tensor?":
            tests.append(f"({p.name} is None or {p.name}._k is _k)")
        elif p is not main:
            tests.append(f"{p.name}._k is _k")
    tests += [f"({name} is None or getattr({name}, '_node', None) is None)" for name in rec.field("refuses_grad") or ()]
    if rec.field("refuses_bool"):
        tests.append("(_k is Q_F32 or _k.np.kind != 'b')")
    if rec.usually_lacks:  # which the general path refuses
        tests.append(f"(_k is F32 or _k.dtype.name not in {rec.usually_lacks})")
    tests += [f"{p.name} is None" for p in rec.params if p.type == "dtype?"]
    tests += _defaults_test([p for p in rec.params if p.scales])
    # A tensor where a number belongs is for the general path; NumPy might take it for an array.
    kinds = f"({_in('_k', 'Q_FLOAT')} and {{1}})" if rec.quiet == "numbers" else "{1}"
    real, factor = [f"({{0}}.__class__ is int or {kinds.replace('{1}', kind)})" for kind in (
        "{0}.__class__ in REALS", "{0}.__class__ is float")]  # truth values as factors are refused by some
    tests += [f"({p.name} is None or {p.name}.__class__ in REALS)" if p.default == "None" else
              (factor if p.default == "1" else real).format(p.name)
              for p in rec.params if p.type.removesuffix("?") in ("Scalar", "float") and not p.scales]
    if rec.field("number_fits"):  # else the general path looks
        tests += [f"-1 < {p.name} < 128" for p in rec.params if p.type == "Scalar"]
    # NumPy takes several axes, floats or bools where an operation has one dimension. Views index with it, and stumble over them.
    tests += [f"{p.name}.__class__ is bool" for p in rec.params if p.type == "bool" and p.name != "inplace"]
    tests += [f"{p.name}.__class__ is int" if p.type == "int" else f"({p.name} is None or {p.name}.__class__ is int)"
              for p in rec.params if p.type in ("int", "int?") and rec.family not in ("view", "view?")]
    tests += [f"({p.name} is False or {p.name} is None)" for p in rec.params if p.name == "inplace"]
    tests += _defaults_test([p for p in rec.params if p.passed and not p.is_tensor]) if is_ufunc(rec) else []
    return f"_k = {first}._k", " and ".join(tests)


def _scalar_test(rec: Record) -> str:
    """Condition under which a Python number `_c` leaves the dtype of a tensor of kind `_k`."""
    if rec.quiet == "all" and (rec.promotion == "promote" or rec.field("number_fits")):
        fits = f" and -1 < {rec.tensor_params[-1].name} < 128" if rec.field("number_fits") else ""  # else the general path looks
        others = "_c is int and _k in Q_INT" if rec.promotion == "promote" else "_k in Q_REAL"  # what does not fit is cut off
        return f"(_k is Q_F32 or _k in Q_FLOAT or {others}{fits})"
    return _in("_k", "Q_FLOAT")


def _meta(rec: Record, scalar: str | None = None) -> list[str]:
    """Statements that set `_n.meta`, what gradients are fitted to where inputs were broadcast."""
    if not rec.broadcasts or scalar is not None and len(rec.tensor_params) <= 2:
        return ["_n.meta = None"]
    lines, shapes, metas = [], [], []
    for i, p in enumerate(rec.differentiable_params):
        if p.name == scalar:  # which has an edge that leads nowhere
            metas.append("None")
            continue
        shapes.append(f"_s{i}")
        metas.append(f"(_s{i}, _k.np)")
        lines.append(f"_s{i} = " + (f"None if {p.name} is None else " if p.type == "Tensor?" else "") + f"{p.name}._data.shape")
    same = " == ".join(shapes if rec.family == "binary" and len(shapes) > 1 else [*shapes, "_r0.shape"])
    return lines + [f"_n.meta = None if {same} else ({', '.join(metas)},)"]


def _defaults_test(params: Sequence[Param]) -> list[str]:
    """Sources of the tests that parameters have their defaults; truth values are equal to numbers, and refused for them."""
    return [f"{p.name} {'is' if p.default == 'None' else '=='} {p.default}" + _NO_TRUTH.get((p.type, p.default), "").format(p.name)
            for p in params if p.default is not None]


_NO_TRUTH = {("Scalar", "1"): " and {} is not True", ("Scalar", "0"): " and {} is not False"}


def _in_single(rec: Record) -> bool:
    """Whether half precision with a number is computed in float32, of which the number is one."""
    own = rec.field("half")
    return (rec.field("opmath") == "number" and (own is None or getattr(own, "takes_number", False)) and len(rec.returns) == 1
            and not rec.saved_returns)


def _call(rec: Record, scalar: str | None = None, half: bool = False, integers: bool = False, complexes: bool = False) -> str:
    ufunc = is_ufunc(rec)
    if complexes and rec.field("by_parts"):
        return f"by_parts(kernel, {_raw(rec.params[0])})"
    if half and (rounds(rec) and not of_one(rec) or scalar and _in_single(rec) and rec.field("half") is None and not getattr(
            rec.field("numpy"), "takes_number", False)):
        passed = [p for p in rec.params if p.passed and not (ufunc and not p.is_tensor and p.default is not None)]
        if scalar and (rec.field("numpy"), False) in WITH_NUMBER and [p.name for p in passed][1:] == [scalar]:
            return f"with_number(plain, {passed[0].name}._data, _o, False)"
        wide = ["_o" if p.name == scalar else f"widened({p.name}._data)" if p.is_tensor else p.name for p in passed]
        return f"narrow({'plain' if scalar else 'kernel'}({', '.join(wide)}), _k.np)"
    # A ufunc knows nothing of parameters with defaults; `_quiet_test` sees to it that they have them.
    passed = [p for p in rec.params if p.passed and not (ufunc and not p.is_tensor and p.default is not None)]
    arguments = ["_o" if p.name == scalar else f"converted({_raw(p)}, _k.np)" if integers and rec.promotion == "float" and p.is_tensor else
                 _raw(p) for p in passed]
    call = f"kernel({', '.join(arguments)})"
    if integers and rec.promotion == "float" and rec.family == "unary" and rec.result == "same":
        several = ["many" if rec.field("many") else "kernel", "_a", "_k.np", *arguments[1:]]
        few = call.replace(_raw(passed[0]), "_a", 1)
        return f"{few} if (_a := {_raw(passed[0])}).size < {MANY} else valued({', '.join(several)})"
    compares = (half or scalar is None) and rec.result == "bool" and rec.broadcasts and isinstance(rec.field("numpy"), np.ufunc)
    if not (ufunc or compares):
        return call
    # The worker pool takes big ones, and arrays alone: numbers as 0-dim ones.
    at = next(i for i, p in enumerate(passed) if p.is_tensor and p.name != scalar)
    first, arguments[at] = arguments[at], "_a"
    big = [a if p.is_tensor else f"_k.scalar({a})" for p, a in zip(passed, arguments)]
    if half and rec.field("numpy") in halves.OF_SIGNS:
        return f"signed(kernel, {first})"
    if half and _looked_up(rec):
        return f"kernel({first}) if (_a := {first}).size < {halves.FEW[0]} else table(_a)"
    if rec.field("many") and not half:
        return f"kernel({first}) if (_a := {first}).size < {MANY} else many(_a)"
    slow = rec.field("numpy") in SLOW or rec.field("numpy") is np.reciprocal
    least, many = (halves.FEW[0], "halved") if half else (LEAST if slow else BIG, f"ufunc{len(big)}")
    if scalar is None and len(big) == 2:
        # Few numbers with as few make no big result. Of more, those of other shapes may be lines with one number each, or make a table, and
        # those in columns may be beside rows.
        quick = f"_a.size < {least} and _a.strides == {big[1]}.strides" + f" and (_a.size < {APART} or {_BLOCK})" * (least > APART)
        if half:  # NumPy takes its time for float16
            quick = f"_a.size < ({least} if _k.np.char == 'E' else {2 * FEW})"
        alike = f"_a.shape == {big[1]}.shape and {quick}"
        # One number may come first where numbers of Python's may not come second; of half precision NumPy takes its time for all. Where
        # shapes differ NumPy begins each row anew, and machine code with the same bits does not.
        both = half or slow or all([p.type == "Tensor" for p in passed])
        exact = not half and getattr(OF_UFUNC.get(rec.field("numpy")), "exact", False)
        few = f"(_n := _a.size) < {FEW // 4 if slow or exact else FEW}" + f" > {big[1]}.size" * both
        few += f" or {FEW} > _n == {big[1]}.size" * (exact and not slow)
        rest = f"{many}(kernel, {', '.join(big)})"
        if not half and rec.field("numpy") in OF_UFUNC:  # by one frame less
            rest = f"_p if (_p := pair({', '.join(big)}, True)) is not None else numpys2(kernel, {', '.join(big)})"
        return (f"(kernel({', '.join(arguments)}) if {few} or {alike} else {rest}) "
                f"if (_a := {first}).flags.c_contiguous else {'halves_' * half}in_order(kernel, {', '.join(big)})")
    few = f"(_a := {first}).size < {least}"
    if not half and least > APART:
        few = f"(_a := {first}).size < {APART} or _a.size < {least} and {_BLOCK}"
    return f"kernel({', '.join(arguments)}) if {few} else {many}(kernel, {', '.join(big)})"


def _looked_up(rec: Record) -> bool:
    """Whether half precision goes to one of NumPy's functions of a number, which has a table."""
    function = rec.field("numpy")
    return isinstance(function, np.ufunc) and function.nin == function.nout == 1 and function not in halves.TESTS


#: Source of the test for an array that owns its memory, or lies in one block of it: of others NumPy begins each row anew.
_BLOCK = "(_a.base is None or _a.flags.forc)"


def _widens(rec: Record, scalar: str | None) -> str:
    """Source of the test for a 0-dim result whose gradient numbers in the formulas would widen, as they do before NumPy 2; or nothing.
    `scalar` names an Operand that is a Python number here."""
    if not rec.differentiable or int(np.__version__.partition(".")[0]) > 1 or rec.family in ("view", "view?") or rec.returns_list:
        return ""
    numbers = {p.name for p in rec.params if p.type.removesuffix("?") in ("Scalar", "float") and not p.scales or p.name == scalar}
    if any(p.type == "Tensor[]" or p.scales for p in rec.params) or all([
            numbers.isdisjoint(needed) and not any([type(c) in (int, float) for c in formula.__code__.co_consts])
            and _KEEP_DTYPE.issuperset(formula.__globals__.keys() & formula.__code__.co_names)
            and not any([_computes(name) for name in formula.__code__.co_names])
            for _, vjp, needed in rec.vjps for formula in _wrapped(vjp)]):
        return ""
    # NumPy's functions give its scalars; other kernels an array, too, some of them only once machine code is at hand.
    return "_r0.__class__ is not ndarray" + ("" if isinstance(rec.field("numpy"), np.ufunc) else " or not _r0.ndim")


def _wrapped(formula: Fn | None) -> Iterator[Any]:
    """A formula and those that its decorators have wrapped."""
    while formula is not None:
        yield formula
        formula = getattr(formula, "__wrapped__", None)


def _computes(name: str) -> bool:
    """Whether it names an element-wise operation whose kernel is more than one of NumPy's."""
    rec = RECORDS.get(name)
    return rec is not None and rec.family in ("unary", "binary") and not isinstance(rec.field("numpy"), np.ufunc)


_KEEP_DTYPE = frozenset(["expand_reduced", "typed", "divided", "count"])
"""What formulas may call without more ado: it leaves the dtype of gradients."""


def _layout(rec: Record, scalar: str | None, half: bool, scaled: bool = False) -> list[str]:
    """Statements that lay the result out in memory as torch does, where NumPy may not; `scaled` by an `alpha`."""
    if rec.field("layout") == "rows":
        return ["if not _r0.flags.c_contiguous: _r0 = ascontiguousarray(_r0)"]
    if getattr(rec.field("numpy"), "lays_out", False) and not half:
        return []
    arrays = [_raw(p) for p in layout_operands(rec, scalar)]
    if len(arrays) < 2 and (scalar or rec.field("layout") is None):  # NumPy keeps the order of a lone operand
        return []
    if "in_order(" in (call := _call(rec, scalar, half)) and not scaled:  # which has seen to it
        return []
    if f"(_a := {arrays[0]})" in call:
        arrays[0] = "_a"
    # Of two, the first decides where it has an order at all; where neither says everything, as of rows and columns that broadcast, NumPy
    # goes by torch's rule.
    rows = " and ".join([f"{a}.flags.c_contiguous" for a in (
        arrays[:1] if len(arrays) == 2 and isinstance(rec.field("numpy"), np.ufunc) else arrays)])
    return [f"if not ({rows}): _r0 = laid_out(_r0, {', '.join(arrays)})"]


def _wrap(rec: Record, scalar: str | None = None, indent: str = " " * 12, number: bool = False, half: bool = False,
          complexes: bool = False, scaled: bool = False) -> list[str]:
    """Statements that turn `_r` into the output tensors, record the entry, and return. With `number`, those for 0-dim results, whose
    entry notes the inputs' dtype where its formulas would change it; with `half` those for half precision, where numbers widen too, with
    `complexes` those for complex numbers."""
    out: list[str] = []
    rec = rec.numbers.get(scalar or "", rec)
    count = len(rec.returns)
    if count + len(rec.saved_returns) > 1:
        out.append(", ".join(f"_r{i}" for i in range(count + len(rec.saved_returns))) + ", = _r")
    else:
        out.append("_r0 = _r")
    saved = saved_items(rec, scalar) if rec.differentiable else []
    zero_dim = "" if number or half or complexes else _widens(rec, scalar)
    if zero_dim:
        out += [f"if {zero_dim}:", *_wrap(rec, scalar, " " * 4, True)]
    views = rec.family in ("view", "view?")
    for i in range(count):
        if views and rec.result == "same":  # an array, whose dtype a view does not change
            out.append("_t0 = new(Tensor); _t0._data = _r0; _t0._k = _k")
            break
        # Before NumPy 2, a 0-dim float32 array and a Python number made float64; only ufuncs, given two arrays, are free of it.
        if rec.result == "same" and not isinstance(rec.field("numpy"), np.ufunc):
            out.append(f"if _r{i}.__class__ is not ndarray or _r{i}.dtype is not _k.np: _r{i} = narrowed(_r{i}, _k.np)")
        elif i or not zero_dim:
            out.append(f"if _r{i}.__class__ is not ndarray: _r{i} = asarray(_r{i}, _k.np)" if rec.result == "same" else
                   f"if _r{i}.__class__ is not ndarray: _r{i} = asarray(_r{i})")
        if i == 0 and not number:
            out += _layout(rec, scalar, half, scaled)
        out.append(f"_k{i} = {_kind(rec, i)}")
        out.append(f"_t{i} = new(Tensor); _t{i}._data = _r{i}; _t{i}._k = _k{i}")
        if not views:
            out.append(f"_t{i}._base = None" + f"; _t{i}._v = None" * (f"_v{i}" not in saved))
    if views:
        share = view_lines("_t0", rec.params[0].name)
        share[-1] += "; return _t0"
        if rec.family == "view?":
            out.append("_b = _r0.base")
            out.append(f"if _b is not None and (_b is {rec.params[0].name}._data or _b is {rec.params[0].name}._data.base):")
            out += [*["    " + line for line in share], "else: _t0._base = _t0._v = None"]
        else:
            out += share
    versions = [f"_t{i}._v = {made(f'_v{i}')}" for i in range(count) if f"_v{i}" in saved]
    plain = [f"_t{i}._v = None" for i in range(count) if f"_v{i}" in saved]
    result = "_t0" if count == 1 else f"named({', '.join(f'_t{i}' for i in range(count))})"
    if rec.differentiable:
        wanted = _wanted(rec)
        if scalar is not None:
            wanted = " or ".join(t for t in wanted.split(" or ") if t != f"{scalar}._node is not None")
        node = f"Node_{rec.without}" if rec.without else "".join(f"Node{i} if {c} else " for i, (c, _, _) in enumerate(rec.nodes)) + "Node"
        differentiable_outputs = [i for i, (t, _) in enumerate(rec.returns) if t == "Tensor"]
        out.append(f"if ({wanted}) and grad_mode() is ENABLED:")
        if complexes and rec.conjugates:
            node = f"conjugated[{node}]" if rec.result == "same" else f"conjugated[{node}] if _k0 is _k else ({node})"
        body = [f"_n = new_node({node if rec.copied is rec else 'Node if _t0._v is not None else NodeOfCopy'})"]
        body += ["next_id()"] * (len(differentiable_outputs) - 1)
        body += ["_n.id = next_id()"]
        body += versions
        body += [*edge_lines(rec, scalar), f"_n.edges = {edges(rec, scalar)}", f"_n.saved = ({', '.join(saved)}{',' if saved else ''})"]
        body += [f"_n.meta = {fitted(rec, scalar)}"] if number or half or complexes else _meta(rec, scalar)
        if len(differentiable_outputs) == 1:
            body += [f"_t{i}._node = _n" if i == differentiable_outputs[0] else f"_t{i}._node = None" for i in range(count)]
        else:
            body += [f"_t{i}._node = Edge(_n, {differentiable_outputs.index(i)})" if i in differentiable_outputs
                     else f"_t{i}._node = None" for i in range(count)]
        out += ["    " + line for line in body]
        out.append(f"    return {result}")
        out += plain
    out += [f"_t{i}._node = None" for i in range(count)]
    out.append(f"return {result}")
    return [indent + line for line in out]


def forward_source(rec: Record, *, spread: bool = False, operator: str = "", below: bool = False, half: bool = False,
                   integers: bool = False, complexes: bool = False) -> str:
    """The source of the operation's function; with `spread` of the method that also takes its list as several arguments; as an `operator`
    it has no deprecated signatures; with `below` of the entrance below the door, which takes all arguments by position; with `half` of
    that for half precision, with `integers` of that for integers, with `complexes` of that for complex numbers."""
    more = bool(rec.field("deprecated")) and not operator and not below
    with_out = rec.out and rec.family != "view" and not spread and not below
    lines = [f"def {rec.name}({_by_position(rec) if below else _head(rec.signature(with_out=with_out), more)}):"]
    if spread:
        v = rec.varargs
        signature = rec.signature().replace(", *,", ",").replace(f" {v}", f" *{v}") + ", **_kw"
        first = rec.params[0].name
        # What has no derivative gets the values alone.
        other = [f"    if '{key}' in _kw: return door.frontend.function('{name}')({first}"
                 f"{'' if RECORDS[name].has_gradient else '.detach()'}, *{v}, **_kw)"
                 for key, name in (rec.field("keywords") or {}).items()]
        lines = [f"def {rec.name}({signature}):",
                 "    try:",
                 f"        if {v}[0].__class__ is not int and len({v}) == 1: {v} = {v}[0]",
                 "    except IndexError:",
                 *["    " + line for line in other],
                 f"        return function({first}, **door.frontend.by_name(door.rec, _kw))",
                 "    if _kw:",
                 *["    " + line for line in other],
                 f"        return function({first}, *{v}, **_kw)"]
    guard = ["out is None"] if with_out else []
    guard += ["_more is ..."] if more else []
    operand, kind_of_number, check, check_number = _numbers_and_checks(rec, half, integers, complexes=complexes)
    if rec.returns_list or rec.field("numpy") is None:
        return "\n".join([*lines, *_list_lines(rec, guard), *_ending(rec, operator, ", out" if with_out else "")]) + "\n"
    lines.append("    try:")
    set_k, quiet = _quiet_test(rec)
    if operand is not None:
        set_k, quiet_scalar = _quiet_test(rec, operand.name)
        if integers:
            quiet_scalar += _leaves_integers(operand)
        lines += [f"        _c = {operand.name}.__class__",
                  f"        {set_k}",
                  f"        if _c is float or _c is int{' or _c is complex' * complexes}:",
                  f"            if {' and '.join([*(guard if kind_of_number == '_k' else ()), quiet_scalar])}:",
                  *["    " + line for line in check_number],
                  f"                _o = {kind_of_number}.scalars.get({operand.name})",
                  f"                if _o is None: _o = {kind_of_number}.scalar({operand.name})",
                  f"                _r = {_call(rec, operand.name, half, integers, complexes)}"]
        lines += _wrap(rec, operand.name, " " * 16, half=half, complexes=complexes)
        lines += [f"        elif {' and '.join([*guard, quiet])}:", *check,
                  f"            _r = {_call(rec, None, half, integers, complexes)}"]
        lines += _wrap(rec, half=half, complexes=complexes)
        lines += [] if complexes else _scaled_lines(rec, guard, half, check)
    else:
        lines += [f"        {set_k}", *_gather_lines(rec)]
        if itself := rec.field("itself"):
            lines.append(f"        if {' and '.join([f'_k in {itself}', *guard])}: return {rec.params[0].name}")
        lines += [f"        if {' and '.join([*guard, quiet])}:", *check,
                  f"            _r = {_call(rec, None, half, integers, complexes)}"]
        lines += _wrap(rec, half=half, complexes=complexes)
        lines += [] if integers or complexes else _scaled_lines(rec, guard, half, check if half else [])
    entrance = half or integers or complexes or below  # an entrance itself
    lines += ["    except STUMBLES: pass", *([] if entrance or half_operand(rec) is None else _half_lines(rec, guard)),
              *(_deprecated_line(rec, "out" if with_out else "None") if more else []),
              *_ending(rec, operator, ", out" if with_out else "")]
    return "\n".join(lines) + "\n"


def _numbers_and_checks(rec: Record, half: bool, integers: bool, inplace: bool = False, complexes: bool = False
                        ) -> tuple[Param | None, str, list[str], list[str]]:
    """The Operand that an entrance takes as a number, too, of which kind that is then, and the statements that check arguments: those of
    tensors, and of one with a number."""
    operand = _scalar_operand(rec)
    if integers:
        return operand, "_k", _vetting(rec, None, inplace), _vetting(rec, operand, inplace)
    if complexes:
        return operand, "_k", _vetting_complex(rec, None), _vetting_complex(rec, operand)
    kind_of_number = "_k"
    if half and rec.field("opmath") == "number":  # numbers are not rounded before
        operand, kind_of_number = operand if _in_single(rec) else None, "SINGLE"
    if half and rec.field("check") is not None and rec.field("amp") != "lower" and not getattr(rec.field("check"), "takes_floats", False):
        # It may refuse the dtype, or numbers that do not fit it: of the same of these it has said so before.
        return operand, kind_of_number, _checking(rec, None), _checking(rec, operand)
    return operand, kind_of_number, [], []


def _leaves_integers(operand: Param) -> str:
    """Source of the test for a number that leaves the dtype of integers."""
    return f" and _c is int and _k in Q_INT and -1 < {operand.name} < 128"


def _vetting_complex(rec: Record, number: Param | None) -> list[str]:
    """Statements that see to it that the general path would call the kernel for complex numbers, which dtypes and numbers decide."""
    given = ", ".join(["_k", *[f"{p.name}, {p.name}.__class__" for p in rec.params if not p.is_tensor or p is number]])
    return [f"            if (_g := ({given},)) not in checked:", f"                vet(({_by_position(rec)},))",
            "                if len(checked) > 100: checked.clear()", "                checked.add(_g)"]


def _checking(rec: Record, number: Param | None) -> list[str]:
    """Statements that check arguments of half precision, of which an Operand may be a `number`. Of element-wise operations those are kept
    that have passed: dtypes and numbers decide."""
    line = f"            check({', '.join([f'{p.name}={p.name}' for p in rec.params])})"
    if not rec.elementwise:
        return [line]
    given = ", ".join(["_k", *[f"{p.name}, {p.name}.__class__" for p in rec.params if not p.is_tensor or p is number]])
    return [f"            if (_g := ({given},)) not in checked:", f"    {line}",
            "                if len(checked) > 100: checked.clear()", "                checked.add(_g)"]


def _vetting(rec: Record, number: Param | None, inplace: bool) -> list[str]:
    """Statements that see to it that the general path would call the kernel for integers, which dtypes and numbers decide, and in checks of
    several tensors elements, too; and that leave the kind of what is computed in `_k`."""
    given = [f"{p.name}, {p.name}.__class__" for p in rec.params if not p.is_tensor or p is number]
    arguments, leads = _by_position(rec), rec.field("redirect") is not None and not inplace
    out = [f"            if (_g := ({', '.join(['_k', *given])},)) not in checked:",
           *[f"                if (_r := led(({arguments},))) is not None: return _r"] * leads,
           f"                vet(({arguments},))",
           "                if len(checked) > 100: checked.clear()", "                checked.add(_g)"]
    if rec.field("check") is not None and len(rec.tensor_params) > 1 and number is None:
        out.append(f"            check({', '.join([f'{p.name}={p.name}' for p in rec.params])})")
    if rec.promotion == "float":
        out.append("            _k = KINDS[floating()]")
    return out


def _half_lines(rec: Record, guard: list[str], inplace: bool = False) -> list[str]:
    """Statements that lead half precision, and integers, to their own entrances, and operands of several dtypes to what they have in
    common, where nobody looks at calls."""
    given, tests, opened = _by_position(rec), "".join([f" and {test}" for test in guard]), "True" * inplace
    integers = takes_integers(rec) and not (inplace and rec.promotion == "float")
    mixed = mixes(rec) and not inplace  # half precision beside another dtype goes on below
    of_one = f" and getattr({rec.params[1].name}, '_k', _k) is _k" if mixed else ""
    lines = ["    else:", f"        if _k in Q_HALF{tests}{of_one}: return (door.half or door.open_half({opened}))({given})"]
    if takes_complex(rec, inplace):
        alike = "".join([f" and getattr({p.name}, '_k', _k) is _k" for p in rec.tensor_params[1:] if p.type in _OF_KIND])
        lines.append(f"        if _k in Q_COMPLEX{tests}{alike}: return (door.complexes or door.open_complexes({opened}))({given})")
    if mixes(rec) and inplace and rec.result == "bool":  # truth values are zeros and ones of any dtype
        first = rec.params[0].name
        usual = "".join([f" and {test}" for test in _defaults_test(rec.params[2:])])
        lines += [f"        if _k in Q_ALL{tests}{usual} and ({is_free(first)} or grad_mode() is not ENABLED) and 0 not in _a.strides "
                  f"and (_r := door.mixed({given})) is not None and _r._data.shape == _a.shape:",
                  "            _a[...] = _r._data", *[f"            {line}" for line in counted(first)], f"            return {first}"]
    if mixed:
        usual = "".join([f" and {test}" for test in _defaults_test(rec.params[2:])])
        if integers:  # those of one dtype, and with integers, have an entrance
            number = "_c is float or " * (_scalar_operand(rec) is not None)
            usual += f" and ({number}getattr({rec.params[1].name}, '_k', _k) is not _k)"
        lines.append(f"        if _k in Q_ANY{tests}{usual} and (_r := door.mixed({given})) is not None: return _r")
    if integers:
        lines.append(f"        if _k in Q_INTEGER{tests}: return (door.integers or door.open_integers({opened}))({given})")
    return lines


_OF_KIND = ("Tensor", "Tensor?", "Operand")  # of one kind with the others


def _list_lines(rec: Record, guard: list[str]) -> list[str]:
    """The quiet path of an operation that returns a list of new tensors."""
    if rec.field("numpy") is None or rec.family in ("view", "view?") or rec.quiet != "all":
        return []
    set_k, quiet = _quiet_test(rec)
    items = ", ".join(saved_items(rec, None)) if rec.differentiable else ""
    record = [f"if ({_wanted(rec)}) and grad_mode() is ENABLED:", "    _n = new_node(Node)", "    for _a in _r[1:]: next_id()",
              "    _n.id = next_id(); _n.n_outputs = len(_r); _n.meta = None", *["    " + line for line in edge_lines(rec, None)],
              f"    _n.edges = {edges(rec, None)}; _n.saved = ({items}{',' if items else ''})"] if rec.differentiable else []
    return ["    try:", f"        {set_k}", f"        if {' and '.join([*guard, quiet])}:",
            *["            " + line for line in (
                f"_r = {_call(rec)}", "_n = None", *record, "_o = []", "for _a in _r:", "    _t = new(Tensor); _t._data = _a; _t._k = _k",
                "    _t._node = None if _n is None else Edge(_n, len(_o))", "    _t._v = _t._base = None; _o.append(_t)",
                "return several(_o)")], "    except STUMBLES: pass"]


def _ending(rec: Record, operator: str, more: str) -> list[str]:
    """Statements that go on to the general path; of an operator they give the other operand its turn where there is a TypeError."""
    call = f"return general(({', '.join([p.name for p in rec.params])}{',' * bool(rec.params)}){more})"
    if not operator:
        return ["    " + call]
    first, other = rec.params[:2]
    lines = [f"    if not isinstance({first.name}, TensorRef): return no_operand({operator!r}, {first.name}, door.frontend)"]
    if operator == "__eq__":  # the one operator that torch gives arrays to
        lines.append(f"    if isinstance({other.name}, ndarray): {other.name} = door.frontend.wrap({other.name})")
    return [*lines, f"    try: {call}", "    except TypeError: return NotImplemented"]


def _head(signature: str, more: bool) -> str:
    """The parameters of the function; of an operation that has deprecated signatures with what these have more of."""
    return signature.replace("*,", "_more=..., _further=...,", 1) if more else signature


def _deprecated_line(rec: Record, out: str, inplace: bool = False) -> list[str]:
    """What leads a call with more arguments than the schema has to the deprecated signatures."""
    given = ", ".join([p.name for p in rec.params if not p.keyword_only])
    named = "".join([f"{p.name}, " for p in rec.params if p.keyword_only])
    return [f"    if _more is not ...: return door.deprecated(({given}, _more, _further), ({named}), {out}, {inplace})"]


def _scaled_half(rec: Record) -> tuple[str, list[str]]:
    """Of half precision with an `alpha` other than 1, which scales the second of two tensors, is rounded, and is computed with in single;
    or the first factor of a product that is added to something, and is not rounded:
    (the condition, statements that leave the result in `_r`); nothing where there is no such."""
    alpha = next((p.name for p in rec.params if p.scales), None)
    if alpha is None:
        return "", []
    a, b = rec.params[:2]
    if rec.field("opmath") == "product" and len(rec.tensor_params) == 3:
        quiet = _quiet_test(rec)[1].replace(f"{alpha} == 1", f"({alpha}.__class__ is float or {alpha}.__class__ is int)")
        arguments = [f"widened({b.name}._data) * {alpha}" if p is b else _raw(p) for p in rec.params if p.passed]
        return f"_k in Q_HALF and {quiet} and -1e30 < {alpha} < 1e30", [f"_r = kernel({', '.join(arguments)})"]
    if rec.field("opmath") != "alpha":
        return "", []
    return (f"_k in Q_HALF and {b.name}._k is _k and ({alpha}.__class__ is float or {alpha}.__class__ is int)", [
        f"_o = _k.scalars.get({alpha})", f"if _o is None: _o = _k.scalar({alpha})",
        f"_r = narrow(plain(widened(_a := {a.name}._data), widened({b.name}._data) * widened(_o)), _k.np)"])


def _scaled_lines(rec: Record, guard: list[str], half: bool, check: list[str]) -> list[str]:
    """The branch for an `alpha` other than 1, which scales the second of two floating-point tensors."""
    if half:
        condition, lines = _scaled_half(rec)
        return [] if not lines else [
            f"        elif {condition}:", *check, *[f"            {line}" for line in lines], *_wrap(rec, half=True, scaled=True)]
    alpha = next((p.name for p in rec.params if p.scales), None)
    if alpha is None or rec.result != "same":
        return []
    a, b = rec.params[:2]
    if rec.family != "binary" and len(rec.tensor_params) != 3:
        return []
    if rec.family != "binary":  # something plus a product of two others
        _, quiet = _quiet_test(rec)
        quiet = quiet.replace(f"{alpha} == 1", f"({alpha}.__class__ is float or {alpha}.__class__ is int)")
        arguments = [f"{b.name}._data * _o" if p is b else _raw(p) for p in rec.params if p.passed]
        return [f"        elif {' and '.join([*guard, _in('_k', 'Q_FLOAT'), quiet])}:",
                f"            _o = _k.scalars.get({alpha})", f"            if _o is None: _o = _k.scalar({alpha})",
                f"            _r = kernel({', '.join(arguments)})", *_wrap(rec)]
    tests = [*guard, _in("_k", "Q_FLOAT"), f"{b.name}._k is _k", f"({alpha}.__class__ is float or {alpha}.__class__ is int)"]
    return [f"        elif {' and '.join(tests)}:",
            f"            _o = _k.scalars.get({alpha})", f"            if _o is None: _o = _k.scalar({alpha})",
            f"            _r = kernel(_a := {a.name}._data, {b.name}._data * _o)", *_wrap(rec, scaled=True)]


def _gather_lines(rec: Record) -> list[str]:
    """One pass over a list of tensors: `_d` their buffers, `_g` whether any wants a gradient; a stumble where kinds differ."""
    p = next((p for p in rec.params if p.type == "Tensor[]"), None)
    if p is None:
        return []
    return [f"        if {p.name}.__class__ is not list and {p.name}.__class__ is not tuple: raise TypeError",
            "        _d = []; _g = False", f"        for _x in {p.name}:", "            if _x._k is not _k: raise TypeError",
            "            _d.append(_x._data)", "            if _x._node is not None: _g = True"]


def _by_position(rec: Record) -> str:
    return ", ".join([p.name for p in rec.params])


def inplace_source(rec: Record, *, operator: str = "", below: bool = False, half: bool = False, integers: bool = False,
                   complexes: bool = False) -> str:
    """The source of `name_`; as an `operator` it has no deprecated signatures; see `forward_source`."""
    more = bool(rec.field("deprecated")) and not operator and not below
    lines = [f"def {rec.name}_({_by_position(rec) if below else _head(rec.signature(), more)}):"]
    deprecated = _deprecated_line(rec, "None", True) if more else []
    first = rec.params[0].name
    if half or integers:
        return "\n".join([*lines, *_overwrite_lines(rec, more, half, integers), *_ending(rec, operator, ", None, True")]) + "\n"
    further = rec.params[2 if rec.family == "binary" else 1:]
    if rec.field("store") is not None:
        return "\n".join([*lines, *_store_lines(rec), *_ending(rec, operator, ", None, True")]) + "\n"
    if is_ufunc(rec) and all(p.default is not None for p in further):
        other = rec.params[1] if rec.family == "binary" else None
        operand = _scalar_operand(rec)
        # A ufunc knows nothing of further parameters, so they must have their defaults here.
        test = "".join(f" and {t}" for t in [*_defaults_test(rec.params[1:]), *(["_more is ..."] if more else [])])
        quiet = "Q_ALL" if rec.quiet == "all" and rec.promotion != "float" and not rec.usually_lacks else "Q_FLOAT"
        if rec.field("by_parts"):  # as in `_quiet_test`
            quiet = "Q_REAL_NUMBERS"
        finish = [*counted(first), f"return {first}"]
        lines += ["    try:", f"        _k = {first}._k; _a = {first}._data"]
        if operand is not None:
            change = (rec.field("changes") or {}).get(0)
            at_once = [] if isinstance(change, Change) else _change_lines(rec, [], operand.name, False)
            lines += [f"        _c = {operand.name}.__class__",
                      f"        if _c is float or _c is int{' or _c is complex' * complexes}:",
                      f"            if {_scalar_test(rec)} and ({is_free(first)} or grad_mode() is not ENABLED) and 0 not in "
                      f"_a.strides{test}:",
                      *[" " * 16 + line for line in at_once],
                      f"                _o = _k.scalars.get({operand.name})",
                      f"                if _o is None: _o = _k.scalar({operand.name})",
                      "                kernel(_a, _o, _a)"]
            lines += [" " * 16 + line for line in finish]
        if other is not None:
            free = (f"{other.name}._k is _k and (({is_free(first)} and {other.name}._node is None) or grad_mode() is not ENABLED) "
                    f"and 0 not in _a.strides{{}} and ({first}._v is None or {other.name}._v is not {first}._v or {other.name} is {first})")
            halved = isinstance((rec.field("changes") or {}).get(1), Change)  # of half precision few need no entrance of their own
            lines += [f"        {'if' if operand is None else 'elif'} {_in('_k', 'Q_ANY' if halved else quiet)} and {free.format(test)}:",
                      *_beside_lines(rec, other, halved)]
            alpha = next((p.name for p in rec.params if p.scales), None)
            if alpha is not None:
                scaled = free.format(" and _more is ..." if more else "")
                lines += [" " * 12 + line for line in finish]
                lines += [f"        elif {_in('_k', 'Q_FLOAT')} and {scaled} and ({alpha}.__class__ is float "
                          f"or {alpha}.__class__ is int):",
                          *[" " * 12 + line for line in _change_lines(rec, [other], alpha, False)],
                          f"            _o = _k.scalars.get({alpha})", f"            if _o is None: _o = _k.scalar({alpha})",
                          f"            kernel(_a, {other.name}._data * _o, _a)"]
        else:
            lines += [f"        if {_few_halves(_in('_k', quiet), rec, below or complexes)} "
                      f"and ({is_free(first)} or grad_mode() is not ENABLED) and 0 not in _a.strides{test}:",
                      *(["            by_parts(kernel, _a, _a)"] if complexes and rec.field("by_parts") else
                        ["            kernel(_a, _a)"] if complexes and rec.field("many") is None else _few_or_many(rec))]
        lines += [" " * 12 + line for line in finish]
        lines += ["    except STUMBLES: pass"]
    elif _overwrites(rec):
        lines += _overwrite_lines(rec, more, complexes=complexes)
    if not below and _opens_half(rec):
        lines += _half_lines(rec, ["_more is ..."] if more else [], True)
    return "\n".join([*lines, *deprecated, *_ending(rec, operator, ", None, True")]) + "\n"


def _beside_lines(rec: Record, other: Param, halved: bool) -> list[str]:
    """The change by one of NumPy's functions of two arrays; by a kernel where those are broadcast, or where NumPy makes no vectors, and by
    that of their entrance where they are of half precision, which NumPy converts number by number."""
    slow = rec.field("numpy") in SLOW
    same = f" or _a.strides == (_o := {other.name}._data).strides and _a.shape == _o.shape"
    test = f"_a.size < {LEAST_CHANGED}{same * (not slow)}"
    lines = [] if isinstance((rec.field("changes") or {}).get(1), Change) else _change_lines(rec, [other], "1", False)
    lines = [f"if {test}: kernel(_a, {other.name}._data, _a)", "else:", *[f"    {line}" for line in lines],
             f"    broadcast(kernel, _a, {other.name}._data)"]
    if halved:
        lines = [f"if _a.size < {FEW}: kernel(_a, {other.name}._data, _a)",
                 "elif _k in Q_HALF:", f"    if not over1[_k](1, _a, {other.name}._data): return (door.half or door.open_half(True))("
                 f"{_by_position(rec)})", f"el{lines[0]}", *lines[1:]]
    return [" " * 12 + line for line in lines]


def _few_halves(quiet: str, rec: Record, entrance: bool) -> str:
    """The test for kinds of which one of NumPy's functions writes over its tensor, with few numbers of half precision among them, which it
    converts itself as it does in their own entrance."""
    change = (rec.field("changes") or {}).get(0)
    check = rec.field("check")
    checks = check is not None and (rec.field("amp") == "lower" or not getattr(check, "takes_floats", False))
    if entrance or checks or rec.field("half") or not _opens_half(rec) or not (change is None or isinstance(change, Change)):
        return quiet
    return f"({quiet} or _k in Q_HALF and _a.size < {MANY if change is None else FEW})"


def _opens_half(rec: Record) -> bool:
    """Whether the variant in place has an entrance for half precision."""
    return _overwrites(rec) and half_operand(rec) is rec.params[0]


def _few_or_many(rec: Record) -> list[str]:
    """The kernel of few numbers in place, and that of many, for the dtypes that it is of."""
    many = rec.field("many")
    if rec.result == "bool":  # whose conversion takes NumPy longer in the ufunc than in a copy
        return ["            if _k is BOOL and _a.ndim: kernel(_a, _a)", "            else: _a[...] = kernel(_a)"]
    of_none = "            if not _a.ndim: _a[()] = kernel(_a)"  # to write over one number takes NumPy longer
    if rec.field("numpy") is np.reciprocal:  # which has no vectors in NumPy, as division has
        return [of_none, f"            elif _a.size < {MANY}: kernel(_a, _a)",
                "            else: divide(_k.scalars.get(1) or _k.scalar(1), _a, _a)"]
    if many is None:
        return [of_none, "            else: kernel(_a, _a)"]
    single = "" if "f" in many.chars else "_k is Q_F32 or "
    return [of_none, f"            elif {single}_a.size < {MANY}: kernel(_a, _a)",
            f"            else: {'settling(_a)' if many.numpys else '_a[...] = many(_a)'}"]


def _overwrites(rec: Record) -> bool:
    """Whether the variant in place is to copy a result over its first input."""
    return (rec.field("numpy") is not None and [t for t, _ in rec.returns] == ["Tensor"] and rec.family not in ("view", "view?")
            and rec.result != "int64" and not rec.saved_returns and all(p.type != "Tensor[]" for p in rec.params))


def _overwrite_lines(rec: Record, more: bool, half: bool = False, integers: bool = False, complexes: bool = False) -> list[str]:
    """The quiet path of an operation whose result is copied over its first input; see `forward_source`."""
    first = rec.params[0].name
    operand, kind_of_number, check, check_number = _numbers_and_checks(rec, half, integers, True, complexes)
    # Of no dimensions, it may be one of NumPy's scalars, and a wider one. Truth values are zeros and ones of any dtype.
    exact = " and _r.dtype is _k.np" * (rec.result not in ("bool", "same"))
    finish = ["_a[...] = _r", *counted(first), f"return {first}"]
    if exact or rec.family != "unary" or len(rec.tensor_params) > 1:
        finish = [f"if _r.shape == _a.shape{exact}:", *[f"    {line}" for line in finish]]

    def writable(tensors: list[Param]) -> list[str]:
        tests = ["0 not in _a.strides", *(["_more is ..."] if more else []),
                 f"({' and '.join([is_free(first), *[f'not ({_requires(p)})' for p in tensors[1:]]])} or grad_mode() is not ENABLED)"]
        apart = "nothing" in (rec.field("may_share") or "")
        for p in tensors[1:]:  # which may be the first one itself, but not a view of it
            either = f" or {p.name} is {first}" * (not apart)
            tests.append(f"{p.name} is None" if p.type.endswith("?") else f"({first}._v is None or {p.name}._v is not {first}._v{either})")
        if apart:
            tests += [f"{p.name} is not {first}" for p in tensors[1:] if not p.type.endswith("?")]
        return tests

    lines = ["    try:"] + ([] if operand is None else [f"        _c = {operand.name}.__class__"])
    if (kept := rec.field("keeps") or rec.field("itself")) and not half and not integers and not complexes:
        tests = [f"{first}._k in {kept}", *writable([]), *_defaults_test(rec.params)]
        lines += [f"        _a = {first}._data", f"        if {' and '.join(tests)}:",
                  *[f"            {line}" for line in counted(first)], f"            return {first}"]
    branches = [None] if operand is None else [operand.name, None]
    for scalar in branches:
        set_k, quiet = _quiet_test(rec, scalar)
        if integers and scalar and operand is not None:
            quiet += _leaves_integers(operand)
        tests = [quiet, *writable([p for p in rec.tensor_params if p.name != scalar])]
        kind = kind_of_number
        prepare = [f"_o = {kind}.scalars.get({scalar})", f"if _o is None: _o = {kind}.scalar({scalar})"] if scalar else []
        if rec.field("store_part") is not None:
            of = ["_o" if p.name == scalar else _raw(p) for p in rec.params[1:] if p.passed]
            inside = [*prepare, f"part({', '.join(['_a', *of])})", *counted(first), f"return {first}"]
        else:
            beside = [p for p in rec.tensor_params[1:] if p.name != scalar]
            at_once = [] if complexes else _change_lines(rec, beside, _number_beside(rec, scalar), half, integers)
            if not beside and not half and not integers and getattr(rec.field("numpy"), "over", None) is not None:
                given = ["_a", *[_raw(p) for p in rec.params[1:] if p.passed]]
                at_once += [f"if written({', '.join(given)}):", *[f"    {line}" for line in counted(first)], f"    return {first}"]
            if rec.field("store_all") is not None:
                at_once += [f"if all_of({', '.join(['_a', *[_raw(p) for p in rec.params[1:] if p.passed]])}):",
                            *[f"    {line}" for line in counted(first)], f"    return {first}"]
            inside = [*at_once, *prepare, f"_r = {_call(rec, scalar, half, integers, complexes)}", *finish]
        if scalar == branches[0]:
            lines += [f"        {set_k}; _a = {first}._data"]
        if operand is None:
            condition = f"if {' and '.join(tests)}:"
        elif scalar:
            condition = f"if (_c is float or _c is int{' or _c is complex' * complexes}) and {' and '.join(tests)}:"
        else:
            condition = f"elif _c is not float and _c is not int{' and _c is not complex' * complexes} and {' and '.join(tests)}:"
        lines += [f"        {condition}", *(check_number if scalar else check), *[" " * 12 + line for line in inside]]
    condition, scaled = _scaled_half(rec) if half else ("", [])
    if scaled:
        alpha = next(p.name for p in rec.params if p.scales)
        lines += [f"        elif {' and '.join([condition, *writable(rec.tensor_params)])}:", *check,
                  *[" " * 12 + line for line in [*_change_lines(rec, rec.tensor_params[1:], alpha, half), *scaled, *finish]]]
    return [*lines, "    except STUMBLES: pass"]


def _number_beside(rec: Record, scalar: str | None) -> str:
    """Source of the number that goes with tensors in a change in place: an Operand or Scalar, 1 where there is none."""
    return scalar or next((p.name for p in rec.params[1:] if p.type == "Scalar" and not p.scales), "1")


def _change_lines(rec: Record, beside: Sequence[Param], number: str, half: bool, integers: bool = False) -> list[str]:
    """Statements that change the first tensor in one pass, by a number and the tensors beside it, where there is such a kernel."""
    change = (rec.field("changes") or {}).get(len(beside))
    if change is None or integers and getattr(change, "whole", None) is None:
        return []
    first, alone = rec.params[0].name, isinstance(change, Alone)
    rest = [] if alone else [p for p in rec.params[1:] if not p.is_tensor and p.name != number and not p.scales]
    tests = _defaults_test(rest)  # `round` to decimals is another change
    given = ["_a", *[p.name for p in rec.params[1:] if p.passed]] if alone else [number, "_a", *[f"{p.name}._data" for p in beside]]
    call = f"over{len(beside)}[_k]({', '.join(given)})"
    return [f"if {' and '.join([*tests, call])}:", *[f"    {line}" for line in counted(first)], f"    return {first}"]


def _requires(p: Param) -> str:
    """Source of the test whether a tensor requires grad."""
    return f"{p.name} is not None and {p.name}._node is not None" if p.type.endswith("?") else f"{p.name}._node is not None"


def _store_lines(rec: Record) -> list[str]:
    """The quiet path of an operation that overwrites its first input: `store(buffer, ...)` does the work."""
    first, *others = rec.params
    tests = [_in(f"{first.name}._k", "Q_ALL" if others else "Q_ANY"), "0 not in _a.strides"]
    free = [is_free(first.name)]
    names = rec.field("store").__code__.co_varnames[:rec.field("store").__code__.co_argcount]
    raw = []
    for p in others:
        if p.name in rec.numbers:
            # Numbers that do not fit into the dtype are for the general path.
            tests[0] = (f"({_in(first.name + '._k', 'Q_FLOAT')} and ({p.name}.__class__ is float or {p.name}.__class__ is int) "
                        f"or {first.name}._k in Q_INT and {p.name}.__class__ is int and -1 < {p.name} < 128 or {first.name}._k is INT64 "
                        f"and ({p.name}.__class__ is int or {p.name}.__class__ is float) and -1e15 < {p.name} < 1e15 "
                        f"or {first.name}._k is BOOL and {p.name}.__class__ in (bool, int, float) or {first.name}._k in Q_HALF "
                        f"and ({p.name}.__class__ is float or {p.name}.__class__ is int) and {-IN_ALL} <= {p.name} <= {IN_ALL})")
            raw.append(p.name)
        elif p.is_tensor:
            # Half precision is moved as it is, and converted on the general path.
            tests[0] = f"({tests[0]} or {first.name}._k in Q_HALF)"
            tests.append(f"({_in(p.name + '._k', 'Q_ALL')} and {first.name}._k not in Q_HALF or {p.name}._k is {first.name}._k)")
            tests.append(f"({first.name}._v is None or {p.name}._v is not {first.name}._v)")
            free.append(f"{p.name}._node is None")
            raw.append(f"{p.name}._data")
        elif p.name in names:  # of what says how, only what the kernel asks for
            raw.append(p.name)
    return ["    try:", f"        _a = {first.name}._data",
            f"        if {' and '.join(tests)} and (({' and '.join(free)}) or grad_mode() is not ENABLED):",
            f"            kernel({', '.join(['_a', *raw])})",
            *[f"            {line}" for line in counted(first.name)],
            f"            return {first.name}", "    except STUMBLES: pass"]


# -- backward -------------------------------------------------------------------------------------------------------


def source(name: str) -> str:
    """The generated source of an operation: forward, in place, backward.

    >>> print(source("neg").splitlines()[0])
    def neg(input, *, out=None):
    """
    rec = get_record(name)
    parts = [forward_source(rec)]
    if rec.inplace:
        parts.append(inplace_source(rec))
    if rec.has_vjp:
        parts += [backward_source(rec, False), backward_source(rec, True)]
    return "\n".join(parts)


def compile_function(rec: Record, frontend: Any, *, inplace: bool = False, spread: bool = False, operator: str = "",
                     method: bool = False, below: Any = None, half: bool = False, integers: bool = False, complexes: bool = False,
                     numpys: str = "", loose: bool = False) -> Fn:
    """The operation, its in-place variant, or its method with a spread list, as a function for `frontend`'s tensors; with `operator`
    as Python's operator of that name; with `method` as a method whose signatures differ from the function's; with `below`, the path that
    goes on where the quiet one ends, as the entrance below the door; with `half` as that for half precision; with `numpys` as a method that
    is NumPy's function of that name where there are other keywords than the record's; with `loose` as a method whose list, which may be a
    number, too, or left out, is also given as several arguments."""
    # Each function has globals of its own, with the frontend's quiet sets looked up in the shared namespace: a mode
    # change must reach every compiled function, so they all share one dictionary and see kernels as closure cells.
    door = General(rec, frontend, method or inplace)
    cells = {"kernel": inplace and rec.field("store") or frontend.numpy_kernel(rec), "general": below or door.__call__, "door": door,
             "Node": node_class(rec) if rec.differentiable else None, "named": frontend.returned(rec)}
    if operator:
        cells |= {"TensorRef": TensorRef, "no_operand": no_operand}
    if isinstance(rec.field("numpy"), np.ufunc) and rec.field("numpy") in OF_UFUNC:
        cells["pair"] = OF_UFUNC[rec.field("numpy")]
    if half:
        plain = cells["kernel"]
        cells |= {"kernel": half_kernel(rec, plain), "plain": plain, "narrow": narrow, "widened": widened, "with_number": with_number}
        cells |= {"check": rec.field("check"), "checked": set()}
        if _looked_up(rec):
            cells["table"] = halves.of_ufunc(rec.field("numpy"))
    if rec.returns_list:
        cells["several"] = frontend.list_type(rec)
    if inplace and is_ufunc(rec) and getattr(rec.field("many"), "numpys", False):
        cells["settling"] = Settling(rec.field("numpy"))
    if inplace and rec.field("numpy") is np.reciprocal:
        cells["divide"] = np.divide
    if inplace and is_ufunc(rec) and rec.broadcasts:
        cells["broadcast"] = broadcast
    if inplace and rec.field("changes"):
        cells |= {f"over{others}": Over(change) for others, change in rec.field("changes").items()}
    if inplace and getattr(rec.field("numpy"), "over", None) is not None:
        cells["written"] = rec.field("numpy").over
    for field, cell in ("many", "many"), ("store_part", "part"), ("store_all", "all_of"):
        if rec.field(field) is not None:
            cells[cell] = rec.field(field)
    if complexes:
        cells |= {"vet": door.vet, "checked": set()}
    if integers:
        from ..executors.kernels.valued import valued

        cells |= {"vet": door.vet, "led": door.led, "check": rec.field("check"), "checked": set(), "floating": floating}
        cells |= {"converted": in_dtype, "valued": valued}
    if rec.differentiable:
        cells |= {f"Node_{operand}": node_class(overload) for operand, overload in rec.numbers.items()}
        cells |= {f"Node{i}": node_class(overload) for i, (_, overload, _) in enumerate(rec.nodes)}
        if complexes:
            cells["conjugated"] = {node_class(r): conjugated_class(r) for r in (
                rec, *rec.numbers.values(), *[overload for _, overload, _ in rec.nodes])}
        cells |= {} if rec.copied is rec else {"NodeOfCopy": node_class(rec.copied)}
    if spread:
        cells["function"] = frontend.function(rec.name)
    name = rec.name + ("_" if inplace else "")
    entrance = {"below": below is not None, "half": half, "integers": integers, "complexes": complexes}
    body = (inplace_source(rec, operator=operator, **entrance) if inplace else
            forward_source(rec, spread=spread, operator=operator, **entrance))
    if numpys:
        cells |= {"_above": above, "_defaults": rec.defaults}
        given = ", ".join([f"{p.name!r}: {p.name}" for p in rec.params[1:]])
        start, _, rest = body.partition("):\n")
        body = (f"{start}, **_kw):\n    if _kw: return _above.numpys({numpys!r}, {rec.params[0].name}, (), _kw, {{{given}}}, _defaults)\n"
                + rest)
    spelled = frontend.numpy_words and not (operator or below or half or spread)
    words = words_of(rec, [p.name for p in rec.params[inplace:]]) if spelled else None  # a method's tensor has no word
    if spelled and not numpys and (words or rec.params[0].default is None and not rec.in_python):
        first, *lines = body.splitlines()
        head = first[first.index("(") + 1:-2].split(", ")
        lines = [line.removeprefix("    ") for line in lines]
        spelled_head, lines, more = (spelled_too(head, lines, words, rec.varargs or "" if loose else "") if words else
                                     told_where_missing(head, lines))
        cells |= more | {"_defaults": rec.defaults | {"out": None}}
        body = f"def {name}({', '.join(spelled_head)}):\n" + "".join([f"    {line}\n" for line in lines])
    body += f"_this = {name}\nreturn _this\n"
    text = f"def make({', '.join(cells)}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    own = "half" if half else "integers" if integers else "complexes" if complexes else "below" if below else ""
    variant = " (method)" if spread or numpys else f" ({operator or own})" if operator or own else ""
    seen = {"half": "half_namespace", "integers": "integer_namespace", "complexes": "complex_namespace",
            "below": "below_namespace"}.get(own, "namespace")
    make = execute(text, "make", f"<{name}{variant}: {frontend.name}>", getattr(frontend, seen))
    function = make(**cells)
    function.__doc__ = rec.doc if not inplace else f"In-place version of `{rec.name}`."
    function.__module__, function.__qualname__ = frontend.home(rec, name)
    function.__name__ = function.__name__.removeprefix("nn_functional_")
    if operator:
        function.__name__ = function.__qualname__ = operator
    if "_told" in cells:
        function.__signature__ = signature_of(head, cells["_defaults"])
    function.record, function.door = rec, door
    return function
