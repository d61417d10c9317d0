"""Traces: the operations of one call of a function or module, as a program that carries them out again.

Sizes of tensors that are traced are integers that remember how they came about, so that a trace goes on with other sizes.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten
from autograd_tape.tensor import TensorRef
from torchcompat._calls.emitted import EmitHooks
from torchcompat._calls.traced import convolution_of
from torchcompat._jit_internal import FunctionModifiers, _qualified_name, get_callable_argument_names, get_torchscript_modifier
from torchcompat._memory.size import Size
from torchcompat._tensor import Tensor, frontend
from torchcompat.nn import Module

from . import _code
from ._forms import defaults_of, spelled, written
from ._graph import TensorType
from ._script import Face, ScriptFunction, ScriptMethod, _own_copy, script, wrapped
from ._state import _enabled, scripting, state

_INCORRECT = "might cause the trace to be incorrect. "
_FLOW = ("We can't record the data flow of Python values, so this value will be treated as a constant in the future. This means that "
         "the trace "
         "might not generalize to other inputs!")
_CONVERSIONS = {"__bool__": "boolean", "__int__": "integer", "__float__": "float", "item": "number", "__index__": "index",
                "__complex__": "complex"}


class TracerWarning(Warning):
    """What tracing warns of: what a trace will not do again."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Warnings from within this package are nobody's."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"torch(compat)?\.(?!jit)")


class TracingCheckError(Exception):
    """A function did other operations when it was traced again."""

    def __init__(self, graph_diff_error: str | None, tensor_compare_error: str | None, extra_msg: str | None = None) -> None:
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += "ERROR: Graphs differed across invocations!\n" + _indented(graph_diff_error) + "\n"
        if tensor_compare_error is not None:
            self.message += ("ERROR: Tensor-valued Constant nodes differed across invocations. This often indicates that the tracer has "
                             "encountered untraceable code.\n") + _indented(tensor_compare_error) + "\n"
        super().__init__(self.message)


def _indented(text: str) -> str:
    return "\n".join(["\t" + line for line in text.split("\n")])


def warn(text: str) -> None:
    """A TracerWarning where the program is."""
    warned.warn(text, TracerWarning)


# -- sizes ------------------------------------------------------------------------------------------------------------------------------


class TracedInt(int):
    """A size, or a number made of sizes: `text` is how a program computes it."""

    text: str

    def __neg__(self) -> TracedInt:
        return traced(-int(self), f"torch.neg({self.text})")


class TracedFloat(float):
    """The same, where it is no integer."""

    text: str

    def __neg__(self) -> TracedFloat:
        return traced(-float(self), f"torch.neg({self.text})")


def traced(value: Any, text: str) -> Any:
    """A number that remembers how it came about."""
    made: Any = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
    made.text = text
    return made


def _operation(name: str, function: Fn, swapped: bool) -> Fn:
    def computed(self: object, other: object) -> Any:
        if not isinstance(other, (int, float)) or isinstance(other, bool):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return traced(function(*map(_plain, pair)), f"torch.{name}({', '.join([getattr(x, 'text', None) or written(x) for x in pair])})")

    return computed


for _word, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("floordiv", "floordiv"), ("mod", "remainder"),
                     ("pow", "pow")):
    for _kind in (TracedInt, TracedFloat):
        setattr(_kind, f"__{_word}__", _operation(_name, getattr(operator, _word), False))
        setattr(_kind, f"__r{_word}__", _operation(_name, getattr(operator, _word), True))


# -- recording --------------------------------------------------------------------------------------------------------------------------


class Line:
    """One line of a trace: `name = text`; `kept` though nobody asks for the name, as it changes a tensor."""

    __slots__ = ("name", "text", "kept", "scope")

    def __init__(self, name: str, text: str, kept: bool) -> None:
        self.name, self.text, self.kept = name, text, kept


class Recorder(Interceptor):
    """Writes down the operations of a thread.

    Args:
        paths: how tensors that are there before are reached, by their identity.
        modules: how modules that were scripted are reached.
    """

    place, frontend = "trace", frontend

    def __init__(self, paths: dict[int, str], modules: dict[int, str]) -> None:
        self.paths, self.modules = paths, modules
        self.lines: list[Line] = []
        self.names: dict[int, str] = {}
        self.held: list[Any] = []
        self.constants: list[Tensor] = []
        self.unit = _code.Unit()
        self.thread_state = state
        self.quiet = False
        self.types: Keywords = {}

    # what is written

    def name(self, value: object, text: str) -> None:
        """From now on `value` is called `text`."""
        self.names[id(value)] = text
        self.held.append(value)
        if isinstance(value, Tensor) and value.layout is torch.strided:
            with self.pausing():
                self.types[text] = TensorType(value)

    def fresh(self) -> str:
        """A name for a line."""
        return f"_{len(self.lines)}"

    def tensor(self, value: Any) -> str:
        """How a tensor is called."""
        if id(value) in self.names:
            return self.names[id(value)]
        if id(value) in self.paths:
            return self.paths[id(value)]
        if value.requires_grad:
            raise RuntimeError("Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                               f"detaching the gradient\nTensor:\n{value}")
        with self.pausing():
            self.constants.append(value.detach())
        self.name(value, f"CONSTANTS.c{len(self.constants) - 1}")
        return self.names[id(value)]

    def text(self, value: object) -> str:
        """How an argument is written."""
        if isinstance(value, TensorRef):
            return self.tensor(value)
        if isinstance(value, (TracedInt, TracedFloat)):
            return value.text
        if isinstance(value, (list, tuple)):
            return f"[{', '.join([self.text(x) for x in value])}]"
        return written(value)

    def line(self, text: str, kept: bool = False) -> str:
        """Adds a line; gives its name."""
        name = self.fresh()
        self.lines.append(Line(name, text, kept))
        return name

    def results(self, result: object, text: str, kept: bool) -> None:
        """A line whose result is `result`."""
        if isinstance(result, TensorRef):
            self.name(result, self.line(text, kept))
        elif isinstance(result, (tuple, list)) and any([isinstance(x, (TensorRef, tuple, list)) for x in result]):
            self.structure(result, self.line(text, kept))
        elif kept:
            self.line(text, True)

    def structure(self, result: Any, name: str) -> None:
        """The tensors in a structure that is called `name`."""
        for i, x in enumerate(result.values() if isinstance(result, dict) else result):
            key = repr(list(result)[i]) if isinstance(result, dict) else str(i)
            if isinstance(x, TensorRef) and not (self.quiet and id(x) in self.names):
                self.name(x, f"({name})[{key}]")
            elif isinstance(x, (tuple, list, dict)):
                self.structure(x, f"({name})[{key}]")

    # what is met

    def meet(self, door: Door, args: tuple[object, ...], out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        if state.tracer is not self or self.quiet:
            return NotImplemented
        call = Call(door, args, out, inplace, asked, at)
        name = call.name
        if name in _CONVERSIONS:
            warn(f"Converting a tensor to a Python {_CONVERSIONS[name]} {_INCORRECT}{_FLOW}")
        elif name == "tensor" and not isinstance(args[0], TensorRef):
            warn("torch.tensor results are registered as constants in the trace. You can safely ignore this warning if you use this "
                 "function "
                 "to create tensors out of constant variables that would be the same every time you call this function. In any other case, "
                 f"this {_INCORRECT.removesuffix('. ')}.")
        with self.pausing():
            result = call.proceed(tuple([_plain(a) for a in args]))
        if name not in _CONVERSIONS and name not in ("tensor", "as_tensor", "asarray", "from_numpy", "scalar_tensor"):
            self.record(call, name, result)
        return result

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """A block of which nothing is written down."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before

    def record(self, call: Call, name: str, result: object) -> None:
        """Writes down a call."""
        base = name.removesuffix("_") if call.inplace else name
        special = getattr(self, "as_" + base, None)
        if special is not None:
            special(call, result)
            return
        convolution = convolution_of(call)
        if convolution is not None:
            self.results(result, f"torch._convolution({', '.join([self.text(x) for x in convolution])})", False)
            return
        params = list(call.door.params)
        given: dict[str, str] = {}
        for p, value in zip(params, call.args):
            if p.has_default and (value is p.default or isinstance(value, (bool, int, float, str)) and type(value) is type(p.default)
                                  and value == p.default) or p.spread == "**" and not value or p.name in ("_stacklevel", "generator"):
                continue
            if p.name == "pin_memory" or p.name == "requires_grad" and value is False:
                continue
            alone = isinstance(value, tuple) and len(value) == 1 and p.name in ("size", "sizes", "tensors")
            if alone and isinstance(value[0], (tuple, list)):
                value = value[0]
            try:
                given[p.name] = self.text(value)
            except LookupError:
                raise RuntimeError(f"cannot trace {name}: its argument {p.name} is a {type(value).__name__}") from None
        if call.out is not None:
            given["out"] = self.text(call.out)
        space = call.door.rec.namespace if not call.door.unrecorded else ""
        with self.pausing():
            text = spelled(base, space, [(p.name, p.keyword_only) for p in params], given, defaults_of(params), call.inplace)
        self.results(result, text, call.inplace or call.out is not None or given.get("inplace") == "True")

    def as_getitem(self, call: Call, result: object) -> None:
        self.name(result, self.indexed(self.tensor(call.args[0]), call.args[0], call.args[1]))

    def indexed(self, name: str, value: Any, key: Any) -> str:
        """A line for `value[key]`, one for each step."""
        keys = list(key) if isinstance(key, tuple) else [key]
        used = sum([k.ndim if isinstance(k, TensorRef) and k.dtype in (torch.bool, torch.uint8) else 1 for k in keys
                    if k is not None and k is not Ellipsis and not isinstance(k, bool)])
        if any([isinstance(k, bool) for k in keys]):
            raise RuntimeError("cannot trace an index that is a bool")
        if Ellipsis not in [k for k in keys if not isinstance(k, TensorRef)]:
            keys.append(Ellipsis)
        dim, advanced = 0, list[str]()
        for k in keys:
            if k is Ellipsis:
                rest = value.dim() - used
                dim += rest
                advanced += ["None"] * rest
            elif k is None:
                name = self.line(f"torch.unsqueeze({name}, {dim})")
                dim += 1
                advanced.append("None")
            elif isinstance(k, slice):
                if (k.start, k.stop, k.step) != (None, None, None):
                    bounds = (k.start or 0, (1 << 63) - 1 if k.stop is None else k.stop, k.step or 1)
                    start, end, step = [self.text(x) for x in bounds]
                    name = self.line(f"torch.slice({name}, {dim}, {start}, {end}, {step})")
                dim += 1
                advanced.append("None")
            elif isinstance(k, int) and not advanced_index(keys):
                name = self.line(f"torch.select({name}, {dim}, {self.text(k)})")
            else:
                with self.pausing():
                    index = k if isinstance(k, TensorRef) else torch.tensor(k)
                advanced.append(self.tensor(index))
                dim += index.ndim if index.dtype in (torch.bool, torch.uint8) else 1
        while advanced and advanced[-1] == "None":
            advanced.pop()
        if advanced:
            return self.line(f"torch.index({name}, annotate(List[Optional[Tensor]], [{', '.join(advanced)}]))")
        return name if name.startswith("_") else self.line(f"torch.alias({name})")

    def as_setitem(self, call: Call, result: object) -> None:
        value, key, source = call.args[:3]
        name = self.tensor(value)
        keys = list(key) if isinstance(key, tuple) else [key]
        if advanced_index(keys) and all([isinstance(k, TensorRef) or k == slice(None) for k in keys]):
            listed = ", ".join([self.tensor(k) if isinstance(k, TensorRef) else "None" for k in keys])
            given = self.tensor(source) if isinstance(source, TensorRef) else self.line(
                f"torch.tensor({self.text(source)}, dtype=ops.prim.dtype({name}), device=ops.prim.device({name}))")
            self.line(f"torch.index_put_({name}, annotate(List[Optional[Tensor]], [{listed}]), {given})", True)
            return
        if advanced_index(keys):
            raise RuntimeError("cannot trace an assignment to parts that tensors and other indices choose together")
        view = self.indexed(name, value, key)
        text = f"torch.copy_({view}, {self.text(source)})" if isinstance(source, TensorRef) else f"torch.fill_({view}, {self.text(source)})"
        self.line(text, True)

    def as_einsum(self, call: Call, result: object) -> None:
        equation, *operands = call.args[0] if len(call.args) == 1 else (call.args[0], *call.args[1])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
        self.results(result, f"torch.einsum({equation!r}, {self.text(operands)})", False)

    def as_detach(self, call: Call, result: object) -> None:
        self.results(result, f"torch.detach({self.tensor(call.args[0])})", False)

    # what is called

    def module_called(self, module: Any, args: Arguments, kwargs: Keywords) -> Any:
        """A call of a scripted module."""
        path = self.modules.get(id(module))
        if path is None or self.quiet:
            return module._call_impl(*args, **kwargs)
        return self.called(module._call_impl, f"{path}.forward", args, kwargs)

    def called(self, function: Fn, target: str, args: Arguments, kwargs: Keywords) -> Any:
        """A call that is written down whole."""
        texts = [self.text(a) for a in args] + [f"{name}={self.text(v)}" for name, v in kwargs.items()]
        with self.pausing():
            result = function(*[_plain(a) for a in args], **{n: _plain(v) for n, v in kwargs.items()})
        self.results(result, f"{target}({', '.join(texts)})", True)
        return result

    # what comes out

    def output(self, value: object, strict: bool) -> str:
        """How what is returned is written."""
        if isinstance(value, TensorRef):
            return self.tensor(value)
        if isinstance(value, tuple):
            return f"({', '.join([self.output(x, strict) for x in value])}{',' * (len(value) == 1)})"
        if isinstance(value, (list, dict)):
            if strict:
                kind = "list" if isinstance(value, list) else "dict"
                text = (f"Encountering a {kind} at the output of the tracer {_INCORRECT.removesuffix('. ')}, this is only valid if the "
                        "container structure does not change based on the module's inputs. Consider using a constant container "
                        "instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you "
                        "absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior.")
                if isinstance(value, dict):
                    raise RuntimeError(text)
                warn(text)
            if isinstance(value, list):
                return f"[{', '.join([self.output(x, strict) for x in value])}]"
            return f"{{{', '.join([f'{k!r}: {self.output(v, strict)}' for k, v in value.items()])}}}"
        if isinstance(value, TracedInt):
            return self.line(f"torch.tensor({value.text})")
        raise RuntimeError(_UNTRACED)

    def program(self, name: str, inputs: list[str], output: str, kinds: list[str], method: bool) -> _code.Function:
        """The program."""
        needed, lines = _names_in(output), list[str]()
        for line in reversed(self.lines):
            if line.kept or line.name in needed:
                needed |= _names_in(line.text)
                lines.insert(0, f"  {line.name} = {line.text}")
        listed = ["self"] * method + [f"{n}: {k}" for n, k in zip(inputs, kinds)]
        text = f"def {name}({', '.join(listed)}):\n" + "\n".join([*lines, f"  return {output}"])
        import ast

        node = ast.parse(text).body[0]
        assert isinstance(node, ast.FunctionDef)
        self.unit.constants = tuple(self.constants)
        found = _code.Function(node, self.unit)
        found.value_types = self.types
        found.check()
        return found


_UNTRACED = "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"


def advanced_index(keys: list[Any]) -> bool:
    """Whether tensors or lists are among the keys."""
    return any([isinstance(k, (TensorRef, list)) for k in keys])


def _names_in(text: str) -> set[str]:
    return set(re.findall(r"\b_\d+\b", text))


def _plain(value: Any) -> Any:
    """An argument without the memory of where its sizes come from."""
    if isinstance(value, (TracedInt, TracedFloat)):
        return int(value) if isinstance(value, int) else float(value)
    if type(value) in (tuple, list):
        return type(value)([_plain(x) for x in value])
    if isinstance(value, Size):
        return Size([int(x) for x in value])
    if isinstance(value, slice):
        return slice(_plain(value.start), _plain(value.stop), _plain(value.step))
    return value


# -- what tensors tell while they are traced ----------------------------------------------------------------------------------------------


_shape, _size, _len, _iter = Tensor.shape, Tensor.size, Tensor.__len__, Tensor.__iter__
_active = [0]


def _sizes(tensor: object) -> Any:
    tracer = state.tracer
    plain = _shape.__get__(tensor)
    if tracer is None or tracer.quiet or id(tensor) not in tracer.names:
        return plain
    name = tracer.names[id(tensor)]
    return tuple.__new__(Size, [traced(n, f"torch.size({name}, {i})") for i, n in enumerate(plain)])  # whose __new__ wants plain ones


def _traced_size(self: Any, dim: int | None = None) -> Any:
    """The sizes, or that of a dimension."""
    tracer = state.tracer
    if tracer is None or tracer.quiet:
        return _size(self) if dim is None else _size(self, dim)
    return _sizes(self) if dim is None else _sizes(self)[_checked(self, dim)]


def _checked(tensor: Any, dim: int) -> int:
    _size(tensor, dim)
    return dim


def _traced_len(self: Any) -> int:
    tracer = state.tracer
    if tracer is not None and not tracer.quiet:
        warn(f"Using len to get tensor shape {_INCORRECT}Recommended usage would be tensor.shape[0]. Passing a tensor of different "
             f"shape might "
             "lead to errors or silently give incorrect results.")
    return _len(self)


def _traced_iter(self: Any) -> Iterator[Any]:
    tracer = state.tracer
    if tracer is not None and not tracer.quiet:
        warn(f"Iterating over a tensor {_INCORRECT}Passing a tensor of different shape won't change the number of iterations executed (and "
             "might lead to errors or silently give incorrect results).")
    return _iter(self)


def _told(name: str, what: str) -> Fn:
    own: Fn = getattr(Tensor, name)

    def converted(self: object, *args: object, **kwargs: object) -> Any:
        tracer = state.tracer
        if tracer is not None and not tracer.quiet:
            warn(f"Converting a tensor to a {what} {_INCORRECT}{_FLOW}")
        return own(self, *args, **kwargs)

    return converted


_TOLD = {"shape": property(_sizes), "size": _traced_size, "__len__": _traced_len, "__iter__": _traced_iter,
         "numpy": _told("numpy", "NumPy array"), "tolist": _told("tolist", "Python list")}
_OWN = {name: vars(Tensor)[name] for name in _TOLD if name in vars(Tensor)}


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """A block whose operations `recorder` writes down."""
    listen(recorder)
    before, state.tracer = state.tracer, recorder
    _active[0] += 1
    for name, function in _TOLD.items():
        setattr(Tensor, name, function)
    try:
        yield
    finally:
        _active[0] -= 1
        if not _active[0]:
            for name in _TOLD:
                setattr(Tensor, name, _OWN[name]) if name in _OWN else delattr(Tensor, name)
        state.tracer = before
        unlisten(recorder)


def is_tracing() -> bool:
    """Whether this thread is being traced."""
    return state.tracer is not None


# -- tracing ----------------------------------------------------------------------------------------------------------------------------


def _structured(value: object, change: Fn) -> Any:
    if isinstance(value, TensorRef):
        return change(value)
    if isinstance(value, tuple):
        parts = [_structured(x, change) for x in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return (type(value) if hasattr(value, "n_fields") else tuple)(parts)
    if isinstance(value, list):
        return [_structured(x, change) for x in value]
    if isinstance(value, dict):
        return {k: _structured(v, change) for k, v in value.items()}
    return value


def _cloned(value: Any) -> Any:
    """Tensors of their own with the same numbers."""
    def one(t: Any) -> Any:
        made = t.detach().clone() if not t.is_mkldnn else t.detach()
        return made.requires_grad_(t.requires_grad) if t.requires_grad else made

    return _structured(value, one)


def _type(value: object) -> str:
    if isinstance(value, TensorRef):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join([_type(x) for x in value])}]"
    if isinstance(value, list):
        return f"List[{_type(value[0]) if value else 'Tensor'}]"
    if isinstance(value, dict):
        return f"Dict[str, {_type(next(iter(value.values()))) if value else 'Tensor'}]"
    raise LookupError(value)


def _annotated(value: object) -> str:
    if isinstance(value, tuple):
        return f"Tuple[{', '.join([_annotated(x) for x in value])}]"
    return "Tensor" if isinstance(value, TensorRef) else type(value).__name__


def _traced(function: Fn, name: str, names: list[str], args: Arguments, kwargs: Keywords, strict: bool, paths: dict[int, str],
            modules: dict[int, str], method: bool) -> tuple[_code.Function, Any]:
    """(the program of a call, what the call returned)."""
    recorder = Recorder(paths, modules)
    seen: set[int] = set()

    def apart(t: Any) -> Any:  # a tensor that is given twice is two inputs
        if id(t) in seen:
            return t.view_as(t)
        seen.add(id(t))
        return t

    args, kwargs = _structured(args, apart), _structured(kwargs, apart)
    given = [*args, *kwargs.values()]
    try:
        kinds = [_type(value) for value in given]
    except LookupError:
        raise RuntimeError(f"Type '{_annotated(tuple(given))}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and "
                           f"Tuples of "
                           "Tensors can be traced") from None
    for n, value in zip(names, given):
        if isinstance(value, TensorRef) and id(value) not in recorder.names:
            recorder.name(value, n)
        elif not isinstance(value, TensorRef):
            with recorder.pausing():  # a tensor that is there twice is called by its first name
                recorder.structure(value, n)
    with recording(recorder), scripting(False):
        result = function(*args, **kwargs)
        if result is None:
            raise RuntimeError("The traced function didn't return any values! Side-effects are not captured in traces, so it would be "
                               "a no-op.")
        output = recorder.output(result, strict)
    return recorder.program(name, names, output, kinds, method), result


def _names_of(function: Fn, args: Arguments, kwargs: Keywords) -> list[str]:
    """What the inputs are called: as the parameters are."""
    known = [n for n in get_callable_argument_names(function) if n != "self" or not args]
    names = known[:len(args)] + [f"argument_{i + 1}" for i in range(len(known), len(args))]
    return [*names, *kwargs]


def _inputs(example: Any) -> Arguments:
    if isinstance(example, (torch.Tensor, dict)):
        return (example,)
    return tuple(example)


def trace(func: Any, example_inputs: Any = None, optimize: None = None, check_trace: bool = True, check_inputs: Any = None,
          check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
          _compilation_unit: Any = None, example_kwarg_inputs: Keywords | None = None, _store_inputs: bool = True) -> Any:
    """A function or module that does again what `func` does with these inputs.

    Args:
        example_inputs: the arguments by position: a tensor, or a tuple of tensors and of tuples, lists and dictionaries of such.
        check_trace: whether `func` is traced and called once more, to see whether it does the same again.
        check_inputs: for that, other inputs.
        strict: whether lists and dictionaries are refused as results.
        example_kwarg_inputs: the arguments by keyword, in the place of `example_inputs`.

    Raises:
        RuntimeError: something else than tensors goes in or comes out.
        TracingCheckError: traced again, `func` does something else.
    """
    warnings.warn("`torch.jit.trace` is deprecated. Please switch to `torch.compile` or `torch.export`.", DeprecationWarning, stacklevel=1)
    if not _enabled:
        return func
    if optimize is not None:
        warned.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning)
    if isinstance(func, (Face, ScriptFunction)):
        if isinstance(func, Face):
            warned.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.")
        return func
    module = func if isinstance(func, Module) else getattr(func, "__self__", None)
    if isinstance(module, Module) and (module is func or getattr(func, "__name__", "") == "forward"):
        if example_inputs is None:
            if not isinstance(example_kwarg_inputs, dict):
                raise RuntimeError("example_kwarg_inputs should be a dict")
            given: Any = example_kwarg_inputs
        else:
            given = example_inputs
        made = trace_module(module, {"forward": given}, None, check_trace,
                            None if check_inputs is None else [{"forward": x} for x in check_inputs], check_tolerance, strict,
                            _force_outplace, _module_class, example_inputs_is_kwarg=example_inputs is None)
        return made
    if isinstance(module, Module):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    args: Arguments = ()
    kwargs: Keywords = {}
    if example_kwarg_inputs is not None and example_inputs is None:
        kwargs = dict(example_kwarg_inputs)
    else:
        args = _inputs(example_inputs)
    name = _name_of(func)
    names = _names_of(func, args, kwargs)
    program, result = _traced(func, name, names, args, kwargs, strict, {}, {}, False)
    made = ScriptFunction(program, name, _qualified_name(func) if hasattr(func, "__module__") and hasattr(func, "__name__")
                          else f"__torch__.{name}")
    if check_trace:
        for one in check_inputs if check_inputs is not None else [example_inputs if example_inputs is not None else kwargs]:
            by_name = isinstance(one, dict) and example_inputs is None
            given, named = ((), _cloned(one)) if by_name else (_cloned(_inputs(one)), {})
            _check(program, made, func, lambda a, k: _traced(func, name, names, a, k, strict, {}, {}, False)[0], given, named,
                   check_tolerance, check_inputs is None)
    return EmitHooks.told(made, False)


def _name_of(func: object) -> str:
    name = getattr(func, "__name__", type(func).__name__)
    return "_lambda" if name == "<lambda>" else name


def _check(program: _code.Function, made: Any, original: Fn, again: Fn, args: Arguments, kwargs: Keywords, tolerance: float,
           same_inputs: bool) -> None:
    """Whether a function, traced again, does the same, and returns what the trace returns.

    Raises:
        TracingCheckError: it does other operations.
    """
    import ast

    second = again(_cloned(args), _cloned(kwargs))
    difference = _difference(ast.unparse(program.node), ast.unparse(second.node))
    tensors = None
    if difference is None:
        for i, (x, y) in enumerate(zip(program.unit.constants, second.unit.constants)):
            try:
                torch.testing.assert_close(x, y, rtol=tolerance, atol=torch.testing._comparison.default_tolerances(x, y)[1], equal_nan=True)
            except AssertionError as error:
                tensors = f"Constant c{i}\n{error}"
                break
    doubtful = [line for line in ast.unparse(program.node).split("\n") if _is_random(line)]
    told = f"Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n{_indented(chr(10).join(doubtful))}\n" + (
        "This may cause errors in trace checking. To disable trace checking, pass check_trace=False to torch.jit.trace()")
    theirs, ours = original(*_cloned(args), **_cloned(kwargs)), made(*_cloned(args), **_cloned(kwargs))
    same = _compare(theirs, ours, "Python function", tolerance, told if doubtful else None)
    if same and difference is not None:
        owner = () if program.parameters[:1] != ["self"] else (made._owner,)
        _compare(second(*owner, *_cloned(args), **_cloned(kwargs)), ours, "repeated trace", tolerance, None)
    if difference is not None or tensors is not None:
        raise TracingCheckError(difference, tensors)


def _difference(first: str, second: str) -> str | None:
    if first == second:
        return None
    import difflib

    return "Graph diff:\n" + _indented("\n".join(difflib.ndiff(first.splitlines(), second.splitlines())))


def _is_random(line: str) -> bool:
    """Whether a line of a trace gives other numbers each time."""
    import re

    called = re.search(r"torch\.(\w+?)_?\(", line)
    return called is not None and (called[1] in _RANDOM or "dropout" in called[1] and line.endswith("True)"))


_RANDOM = frozenset("bernoulli multinomial normal poisson rrelu rand randint randn randperm uniform rand_like randn_like randint_like "
                    "exponential geometric cauchy log_normal random".split())


def _compare(reference: object, found: object, what: str, tolerance: float, doubtful: str | None) -> bool:
    """Whether results are the same; warns where they are not, and of `doubtful` lines."""
    mine: list[Any] = []
    theirs: list[Any] = []
    _structured(found, mine.append)
    _structured(reference, theirs.append)
    for i, (a, b) in enumerate(zip(theirs, mine)):
        try:
            atol = torch.testing._comparison.default_tolerances(a, b)[1]
            torch.testing.assert_close(b.double() if b.dtype is torch.bfloat16 else b, a.double() if a.dtype is torch.bfloat16 else a,
                                       rtol=tolerance, atol=atol, equal_nan=True)
        except AssertionError as error:
            if doubtful is not None:
                warned.warn(doubtful, category=TracerWarning)
            warned.warn(f"Output nr {i + 1}. of the traced function does not match the corresponding output of the {what}. Detailed "
                        f"error:\n"
                        f"{error}", TracerWarning)
            return False
    return True


class TracedModule(Face):
    """The face of a submodule of a module that was traced."""

    def _get_name(self) -> str:
        return self.original_name

    def _call_impl(self, *args: object, **kwargs: object) -> Any:
        if type(self) is TracedModule:
            raise RuntimeError("Trace submodules cannot be called.")
        return super()._call_impl(*args, **kwargs)


class TopLevelTracedModule(TracedModule):
    """The face of a module that was traced."""


def _paths(module: Module) -> tuple[dict[int, str], dict[int, str]]:
    """How a program reaches the tensors, and the scripted modules, of a module."""
    tensors: dict[int, str] = {}
    scripted: dict[int, str] = {}

    def walk(one: Any, path: str, seen: frozenset[int]) -> None:
        for table in (one._parameters, one._buffers):
            for name, value in table.items():
                if value is not None:
                    tensors.setdefault(id(value), _step(path, name))
        for name, child in one._modules.items():
            if child is not None and id(child) not in seen:
                if isinstance(child, Face):
                    scripted.setdefault(id(child), _step(path, name))
                walk(child, _step(path, name), seen | {id(child)})

    walk(module, "self", frozenset({id(module)}))
    return tensors, scripted


def _step(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f'getattr({path}, "{name}")'


def trace_module(mod: Any, inputs: Keywords, optimize: None = None, check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
                 _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:
    """A module whose methods do again what those of `mod` do with these inputs.

    Args:
        inputs: from methods' names to example inputs.

    Raises:
        AttributeError: `mod` is no module, or `inputs` no dictionary.
        TracingCheckError: traced again, a method does something else.
    """
    warnings.warn("`torch.jit.trace_method` is deprecated. Please switch to `torch.compile` or `torch.export`.", DeprecationWarning,
                  stacklevel=1)
    if not _enabled:
        return mod
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    made = wrapped(_own_copy(mod, {}), {}, TracedModule)
    object.__setattr__(made, "__class__", TopLevelTracedModule)
    for one in made.modules():
        if isinstance(one, TracedModule):
            exported = [n for n, m in one._methods.items() if get_torchscript_modifier(m.function) is FunctionModifiers.EXPORT]
            one._methods = {n: one._methods[n] for n in exported if one is made}
    paths, modules = _paths(mod)
    for name, example in inputs.items():
        function = mod if name == "forward" else getattr(mod, name)
        declared = mod.forward if name == "forward" else function
        args, kwargs = ((), dict(example)) if example_inputs_is_kwarg else (_inputs(example), {})
        names = _names_of(declared, args, kwargs)

        def again(a: Any, k: Any, name: str = name, function: Any = function, names: Any = names) -> _code.Function:
            return _traced(function, name, names, a, k, strict, paths, modules, True)[0]

        program = again(args, kwargs)
        program.qualified_name = f"{made._class.qualified_name}.{name}"
        method = made._methods[name] = ScriptMethod(program, name, made)
        if check_trace:
            for one in [c[name] for c in check_inputs] if check_inputs is not None else [example]:
                given, named = ((), _cloned(dict(one))) if example_inputs_is_kwarg else (_cloned(_inputs(one)), {})
                _check(program, method, function, again, given, named, check_tolerance, check_inputs is None)
    return EmitHooks.told(made, True)


def _script_if_tracing(fn: Fn) -> Fn:
    """A function that is scripted where it is called from what is traced, so that its branches stay."""
    import functools

    @functools.wraps(fn)
    def wrapper(*args: object, **kwargs: object) -> Any:
        tracer = state.tracer
        if tracer is None or tracer.quiet:
            return fn(*args, **kwargs)
        return script(fn)(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


def _unique_state_dict(module: Module, keep_vars: bool = False) -> Keywords:
    """A state dict that names each tensor once."""
    seen: set[int] = set()
    found = {}
    for name, value in module.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            found[name] = value if keep_vars else value.detach()
    return found


__all__ = ["TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "is_tracing", "trace", "trace_module"]
