"""Random programs of tensor operations, as data: their representation, a generator, an interpreter, and how traces are compared.

A program is JSON::

    {"watch": bool,                     # whether everything is looked at after each step, or only at the end
     "leaves": [{"name", "shape", "dtype", "layout", "grad", "seed"}, ...],
     "steps": [{"id", "call", "args", "kwargs"?, "no_grad"?}, ...]}

A step calls a method of its first argument, or what ``SPECIAL`` has under its name.  Strings that begin with ``$`` are variables:
leaves, and what earlier steps returned (``$s3``, or ``$s3.1`` where several tensors were returned).  A step whose variables do not
exist, since the step that makes them failed or was dropped, is passed over; so every part of a program is a program.

The interpreter runs a program on any module that behaves like torch.  The trace says, step by step, what was returned or raised,
which hooks ran with what, and the state of each variable that changed.  This file needs nothing but the standard library, so that
the recorder can run it beside torch.
"""

from __future__ import annotations

import functools
import math
import random
import re
import warnings
from contextlib import suppress
from typing import Any
from collections.abc import Callable, Iterator

Program = dict[str, Any]
Trace = list[dict[str, Any]]

# -- differences from torch that are no errors ----------------------------------------------------------------------

NORMALIZED: list[tuple[str, str, str]] = [
    # (pattern, replacement, reason); applied to names of nodes and texts of errors on both sides
    (r"\bReshapeAlias(?=Backward\d|\b)", "View", "torch names a reshape that copies nothing in two ways"),
    (r"\s*Exception raised from .*", "", "a C++ stack, where torch was told to show it"),
]
"""Each row is also in specs/deviations.md, with those that `Run` and `differences` leave out: see IGNORED."""

IGNORED = {
    "version of a gradient": "torch's counts the additions inside the engine; only what is added to it once it is seen is compared",
    "base of a gradient": "torch shows that a computed gradient is a view of something nobody holds; buffers here are no views of tensors",
    "layout of mixed layouts": "where operands of different shapes, or expanded ones, lie differently in memory, a few results do, too; "
                               "such operands are made contiguous first",
    "stride of a size-1 dimension": "NumPy chooses it freely, and has 0 for new dimensions and for expanded ones; nothing is read by it",
    "reshape that copies": "UnsafeViewBackward of CloneBackward in torch, one node here",
    "views after an update under no_grad": "torch makes their histories anew with AsStridedBackward, though nothing changed for them; from "
                                           "then on the nodes of views are left out, and gradients with respect to views passed over",
    "gradients that torch shares": "torch's .grad may be the memory of the gradient that was given; here it never is; copies are given",
    "writing what is read": "where an operand overlaps the changed tensor and torch does not see it, elements are read and written in "
                            "order; such steps are passed over, as are those where only addresses, not views, tell of it",
    "gradients after a pass that failed": "leaves that were finished by then have them in torch",
    "torch's own failures": "a program is not followed beyond an internal assertion",
    "updates of gradients that grad() returned": "they are views in torch, see the base of a gradient; such steps are passed over",
    "strides of what hooks see and grad() returns": "formulas of gradients lay out results as their operands are laid out; `.grad` keeps "
                                                    "the layout contract",
    "requires_grad of what hooks see": "without create_graph, torch's gradients may be views of a given one that requires grad",
    "nodes once gradients have a history": "formulas of gradients differ from torch's, and with them nodes, and whether a gradient that "
                                           "does not change, as relu's, requires grad; such gradients are compared by values",
}


def normalized(text: str) -> str:
    """`text` without what may differ."""
    for pattern, replacement, _ in NORMALIZED:
        text = re.sub(pattern, replacement, text, flags=re.S)
    return text


# -- leaves ---------------------------------------------------------------------------------------------------------

LAYOUTS = ("plain", "plain", "transposed", "view_transposed", "sliced", "expanded", "channels_last", "view")


def values_of(seed: int, n: int) -> list[float]:
    """`n` numbers that every dtype holds exactly, none of them 0."""
    source = random.Random(seed)
    return [source.choice((-1, 1)) * source.randint(1, 12) / 8 for _ in range(n)]


def make_leaf(torch: Any, leaf: dict[str, Any]) -> Any:
    """The tensor that a leaf describes."""
    shape, layout, dtype = list(leaf["shape"]), leaf["layout"], getattr(torch, leaf["dtype"])

    def filled(shape: list[int]) -> Any:
        return torch.tensor(values_of(leaf["seed"], math.prod(shape)), dtype=dtype).reshape(shape).clone()

    if layout == "plain" or not shape:
        t = filled(shape)
    elif layout == "transposed":
        strides = [math.prod(shape[:i]) for i in range(len(shape))]
        t = torch.empty_strided(shape, strides, dtype=dtype)
        t.copy_(filled(shape))
    elif layout == "view_transposed":
        t = filled(shape[::-1]).permute(list(range(len(shape)))[::-1])
    elif layout == "sliced":
        t = filled([*shape[:-1], 2 * shape[-1]])[..., ::2]
    elif layout == "expanded":
        t = filled([*shape[:-1], 1]).expand(shape)
    elif layout == "channels_last":
        t = filled(shape)
        if len(shape) == 4:
            t = t.contiguous(memory_format=torch.channels_last)
    else:
        t = filled(shape).view(shape)
    return t.detach().requires_grad_() if leaf["grad"] else t


# -- interpreter ----------------------------------------------------------------------------------------------------

SPECIAL: dict[str, Callable[..., Any]] = {}
MIXING = ("add", "sub", "mul", "div", "maximum", "pow", "sin", "cos", "tanh", "sigmoid", "exp", "neg", "relu", "square", "abs")
"""Methods of which the result's layout depends on those of several tensors, or on which dimensions are expanded."""


def special(function: Callable[..., Any]) -> Callable[..., Any]:
    """Puts a function into `SPECIAL`; it is called with the run and the step's arguments."""
    SPECIAL[function.__name__.removeprefix("do_")] = function
    return function


def index_of(parts: list[Any]) -> Any:
    """An index from its stored form."""
    found = [slice(*p["slice"]) if isinstance(p, dict) else ... if p == "..." else p for p in parts]
    return found[0] if len(found) == 1 else tuple(found)


@special
def do_getitem(run: "Run", x: Any, index: list[Any]) -> Any:
    return x[index_of(index)]


@special
def do_setitem(run: "Run", x: Any, index: list[Any], value: Any) -> None:
    x[index_of(index)] = value


@special
def do_cat(run: "Run", *tensors: Any, dim: int = 0) -> Any:
    return run.torch.cat(tensors, dim)


@special
def do_stack(run: "Run", *tensors: Any, dim: int = 0) -> Any:
    return run.torch.stack(run.alike(list(tensors)), dim)


@special
def do_where(run: "Run", x: Any, y: Any) -> Any:
    x, y = run.alike([x, y])
    return run.torch.where(x > 0, x, y)


@special
def do_grad(run: "Run", outputs: list[Any], inputs: list[Any], grad_outputs: Any = None, **kwargs: Any) -> Any:
    return run.torch.autograd.grad(outputs, inputs, grad_outputs, **kwargs)


@special
def do_backward_of(run: "Run", outputs: list[Any], **kwargs: Any) -> None:
    run.torch.autograd.backward(outputs, **kwargs)


@special
def do_data(run: "Run", x: Any) -> Any:
    return x.data


@special
def do_set_data(run: "Run", x: Any, y: Any) -> None:
    if x.shape == y.shape and x.dtype == y.dtype and x._base is None:  # else histories that were recorded before no longer fit
        x.data = y


@special
def do_grad_of(run: "Run", x: Any) -> Any:
    return x.grad


@special
def do_set_grad(run: "Run", x: Any, y: Any) -> None:
    x.grad = None if y is None else y.clone()


@special
def do_zero_grad(run: "Run", x: Any) -> None:
    if x.grad is not None:
        if x.grad.grad_fn is not None:
            x.grad.detach_()
        else:
            x.grad.requires_grad_(False)
        x.grad.zero_()


@special
def do_ones_like(run: "Run", x: Any) -> Any:
    return run.torch.ones_like(x)


@special
def do_hook(run: "Run", x: Any, kind: str) -> None:
    run.add_handle(x.register_hook(run.tensor_hook(kind)))


@special
def do_post_accumulate(run: "Run", x: Any) -> None:
    step = run.step["id"]

    def hook(leaf: Any) -> None:
        run.event("post_accumulate", step, leaf.grad)

    run.add_handle(x.register_post_accumulate_grad_hook(hook))


@special
def do_node_hook(run: "Run", x: Any) -> None:
    step = run.step["id"]

    def hook(inputs: Any, outputs: Any) -> None:
        run.event("node", step, *outputs)

    run.add_handle(x.grad_fn.register_hook(hook))


@special
def do_node_prehook(run: "Run", x: Any) -> None:
    step = run.step["id"]

    def hook(outputs: Any) -> Any:
        run.event("prehook", step, *outputs)
        return tuple(None if g is None else g * 3 for g in outputs)

    run.add_handle(x.grad_fn.register_prehook(hook))


@special
def do_remove_hook(run: "Run", step: int) -> None:
    handle = run.handles.get(step)
    if handle is not None:
        handle.remove()


VIEWS = frozenset(["AsStrided", "View", "UnsafeView", "Transpose", "T", "Permute", "Unsqueeze", "Squeeze", "Expand", "Slice", "Select",
                   "Diagonal", "Alias", "Split", "SplitWithSizes", "Unbind", "Unfold", "Movedim", "BasicIndex", "ReshapeAlias"])


class Run:
    """One program on one module; `trace` says what happened."""

    def __init__(self, torch: Any, program: Program) -> None:
        self.torch, self.program = torch, program
        self.variables: dict[str, Any] = {}
        self.handles: dict[int, Any] = {}
        self.events: list[Any] = []
        self.grads: list[tuple[Any, int]] = []  # every `.grad` seen with its version then, so that identity can be told
        self.computed: set[str] = set()  # variables that hold computed gradients
        self.seen: dict[str, Any] = {}
        self.loose = False  # whether something was changed without recording
        self.severed: set[str] = set()  # variables that share memory but no history
        self.failed = False  # whether a backward pass failed, after which leaves may have gradients or not
        self.higher = False  # whether gradients with a history have been computed
        self.step: dict[str, Any] = {}
        self.trace: Trace = []

    def add_handle(self, handle: Any) -> None:
        """Keeps the handle of a hook for `remove_hook`."""
        self.handles[self.step["id"]] = handle

    def event(self, kind: str, step: int, *gradients: Any) -> None:
        """Notes that a hook ran."""
        looks = [None if g is None else self.brief(g) for g in gradients]
        self.events.append([kind, step, *[g and {k: v for k, v in g.items() if k not in ("requires_grad", "stride")} for g in looks]])

    def tensor_hook(self, kind: str) -> Callable[[Any], Any]:
        """A hook for `Tensor.register_hook`."""
        step = self.step["id"]

        def hook(grad: Any) -> Any:
            self.event(kind, step, grad)
            if kind == "double":
                return grad * 2
            if kind == "transpose":  # the same numbers in another layout
                return grad.transpose(0, -1).contiguous().transpose(0, -1) if grad.dim() > 1 else grad.clone()
            if kind == "wrong_shape":
                return grad.unsqueeze(0)
            if kind == "wrong_type":
                return 1.0
            if kind == "fails":
                raise ValueError("the hook failed")
            return None

        return hook

    # -- carrying out ---------------------------------------------------------------------------------------------

    def resolve(self, value: Any) -> Any:
        """An argument, with its variables looked up."""
        if isinstance(value, str) and value.startswith("$"):
            return self.variables[value]
        if isinstance(value, list):
            return [self.resolve(v) for v in value]
        return value

    def run(self) -> Trace:
        """The trace of the program."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for leaf in self.program["leaves"]:
                self.variables[leaf["name"]] = make_leaf(self.torch, leaf)
            self.trace.append({"step": "leaves", "state": self.changes(True)})
            steps = self.program["steps"]
            for i, step in enumerate(steps):
                self.one(step)
                entry = self.trace[-1]
                state = self.changes(self.program["watch"] or i + 1 == len(steps))
                if state:
                    entry["state"] = state
        return self.trace

    def one(self, step: dict[str, Any]) -> None:
        """Carries out a step."""
        self.step, self.events = step, []
        entry: dict[str, Any] = {"step": step["id"]}
        self.trace.append(entry)
        try:
            args: Any = self.resolve(step["args"])
            kwargs = {name: self.resolve(value) for name, value in step.get("kwargs", {}).items()}
        except KeyError:
            args = None
        changes = step["call"].endswith("_") or step["call"] in ("setitem", "zero_grad", "set_data")
        if args is None or changes and step["args"][0] in self.computed:
            entry["result"] = "passed over"
            return
        if changes and (step.get("no_grad") or step["call"] in ("transpose_", "t_", "squeeze_", "unsqueeze_")
                        or step["args"][0] in self.severed or self.name_of(args[0]._base) in self.severed):
            self.loose = True
        if changes or step["call"] in ("hook", "node_hook", "node_prehook", "retain_grad"):
            self.attempt(lambda: args[0].grad_fn)  # torch brings the history of a view up to date when somebody looks
        if changes:
            others = [x for x in args[1:] if isinstance(x, self.torch.Tensor)]
            target, whole = self.written(step["call"], args)
            if any([self.entangled(target, x, whole, self.root(args[0]) != self.root(x)) for x in others]):
                entry["result"] = "passed over"
                return
        if step["call"] in ("backward", "backward_of"):
            self.loose = self.loose or bool(self.computed)  # gradients are added to where they are
        if step["call"] == "set_" and args[0]._base is not None or step["call"] == "grad_of" and self.failed:
            entry["result"] = "passed over"
            return
        asked = step["args"][1] if step["call"] == "grad" else step.get("kwargs", {}).get("inputs", ())
        if self.loose and any([x not in self.computed and self.variables[x]._base is not None for x in asked]):
            entry["result"] = "passed over"
            return
        self.higher = self.higher or bool(kwargs.get("create_graph"))
        try:
            with self.torch.no_grad() if step.get("no_grad") else self.torch.enable_grad():
                if "gradient" in kwargs:
                    kwargs["gradient"] = kwargs["gradient"].clone()
                if step["call"] in SPECIAL:
                    result = SPECIAL[step["call"]](self, *args, **kwargs)
                else:
                    if step["call"] in MIXING:
                        args = self.alike(args)
                    result = getattr(args[0], step["call"])(*args[1:], **kwargs)
        except Exception as error:
            entry["error"] = [type(error).__name__, self.shown(error)]
            self.failed = self.failed or step["call"] in ("backward", "backward_of")
        else:
            entry["result"] = self.keep(f"$s{step['id']}", result)
            if changes:
                for t in self.variables.values():  # what retains its gradient follows its tensor only then, too
                    if t.retains_grad:
                        self.attempt(functools.partial(getattr, t, "grad_fn"))
            if step["call"] in ("detach", "data"):
                self.severed.add(entry["result"])
            if changes and not args[0].requires_grad:
                self.loose = True
        if self.events:
            entry["events"] = self.events

    def shown(self, error: Exception) -> str:
        """The text of an error; without the nodes of views where those may differ."""
        text = normalized(str(error))
        return re.sub(r", which is output \d+ of [\w:]+,", "", text) if self.loose else text

    def keep(self, name: str, result: Any) -> Any:
        """Makes a result a variable, unless it is one."""
        if isinstance(result, (tuple, list)):
            return [self.keep(f"{name}.{i}", r) for i, r in enumerate(result)]
        if not isinstance(result, self.torch.Tensor):
            return str(result)
        for known, tensor in self.variables.items():
            if tensor is result and self.step["call"] != "grad":
                return known
        self.variables[name] = result
        if self.step["call"] in ("grad", "grad_of"):
            self.computed.add(name)
            if self.step["call"] == "grad_of":
                self.identity(result)
        elif self.step["args"] and str(self.step["args"][0]) in self.computed:
            if result._base is not None or self.step["call"] == "detach":
                self.computed.add(name)
        return name

    def alike(self, args: list[Any]) -> list[Any]:
        """Tensors of different shapes, expanded ones, and gradients, made contiguous: the layout of what comes of them may be another."""
        tensors = [x for x in args if isinstance(x, self.torch.Tensor)]
        gradients = {id(self.variables[name]) for name in self.computed}
        plain = all([s or n == 1 for x in tensors for s, n in zip(x.stride(), x.shape)]) and len({x.shape for x in tensors}) == 1
        if plain and gradients.isdisjoint(map(id, tensors)):
            return args
        return [x.contiguous() if isinstance(x, self.torch.Tensor) else x for x in args]

    @staticmethod
    def written(call: str, args: list[Any]) -> tuple[Any, bool]:
        """What a step changes; whether it may be anywhere in it."""
        if call == "setitem":
            if isinstance(args[1][0], list):
                return args[0], True
            with suppress(Exception):  # an index that does not fit
                return args[0].detach()[index_of(args[1])], False
        return args[0], False

    @staticmethod
    def entangled(target: Any, other: Any, whole: bool, alien: bool) -> bool:
        """Whether what comes of writing to one tensor while another is read depends on the order of elements; or whether only the
        addresses tell that their memory overlaps."""
        if target.untyped_storage().data_ptr() != other.untyped_storage().data_ptr():
            return False
        places, others = places_of(target), places_of(other)
        same = places == others and target.shape == other.shape and not whole
        if same and (not alien or target.stride() == other.stride()) or not set(places) & set(others):
            return False
        return alien or not all([sorted(p) == [*range(min(p), max(p) + 1)] for p in (places, others)])

    @staticmethod
    def root(t: Any) -> int:
        """The tensor that another is a view of, or is itself."""
        return id(t if t._base is None else t._base)

    # -- looking ----------------------------------------------------------------------------------------------------

    def brief(self, t: Any) -> dict[str, Any]:
        """What hooks see of a gradient."""
        return {"shape": list(t.shape), "stride": list(t.stride()), "dtype": str(t.dtype).rpartition(".")[2],
                "requires_grad": t.requires_grad, "values": numbers(t)}

    def changes(self, graph: bool) -> dict[str, Any]:
        """The state of each variable that is not as it was seen last; `graph` says whether histories are looked at, too, which
        makes torch bring those of views up to date."""
        found = {}
        memory: dict[int, str] = {}
        for name, tensor in list(self.variables.items()):
            state = self.state(name, tensor, graph, memory)
            if state != self.seen.get(name) if graph else {**(self.seen.get(name) or {}), **state} != self.seen.get(name):
                found[name] = state
                self.seen[name] = {**(self.seen.get(name) or {}), **state}
        return found

    def state(self, name: str, t: Any, graph: bool, memory: dict[int, str]) -> dict[str, Any]:
        """Everything that can be seen of a tensor."""
        address = t.untyped_storage().data_ptr()
        state: dict[str, Any] = {
            "shape": list(t.shape), "stride": list(t.stride()), "offset": t.storage_offset(), "dtype": str(t.dtype).rpartition(".")[2],
            "version": self.version(t), "requires_grad": t.requires_grad, "retains_grad": t.retains_grad, "values": numbers(t),
            "memory": memory.setdefault(address, name) if t.numel() else "none",
        }
        if self.higher:
            del state["requires_grad"]
        if name in self.computed:
            del state["version"], state["stride"], state["offset"]
        if not graph:
            return state
        state["leaf"] = self.attempt(lambda: t.is_leaf)
        base = self.name_of(t._base)
        if base in self.computed:
            base = "a hidden tensor"
        state["base"] = None if name in self.computed and base == "a hidden tensor" else base
        state["output_nr"] = self.attempt(lambda: t.output_nr)
        state["node"] = self.attempt(lambda: self.graph_of(t.grad_fn))
        if self.higher:
            del state["leaf"], state["node"]
        grad = t.grad
        if grad is not None and not self.failed:
            state["grad"] = {
                **{k: v for k, v in self.brief(grad).items() if not self.higher or k != "requires_grad"}, "identity": self.identity(grad),
                "version": self.version(grad), "node": self.attempt(lambda: "a node" if self.higher else self.graph_of(grad.grad_fn, 1)),
                "memory": memory.setdefault(grad.untyped_storage().data_ptr(), f"{name}.grad") if grad.numel() else "none",
            }
        return state

    @staticmethod
    def attempt(look: Callable[[], Any]) -> Any:
        """What `look` sees, or how it fails."""
        try:
            return look()
        except Exception as error:
            return [type(error).__name__, normalized(str(error))]

    def name_of(self, t: Any) -> str | None:
        """The variable that a tensor is."""
        if t is None:
            return None
        return next((name for name, known in self.variables.items() if known is t), "a hidden tensor")

    def identity(self, grad: Any) -> str:
        """Which of the gradients seen so far this one is."""
        for i, (known, _) in enumerate(self.grads):
            if known is grad:
                return f"gradient {i}"
        self.grads.append((grad, grad._version))
        return f"gradient {len(self.grads) - 1}"

    def version(self, t: Any) -> int:
        """How often a tensor was changed in place; a gradient, since it was seen first."""
        return t._version - next((before for known, before in self.grads if known is t), 0)

    def graph_of(self, node: Any, depth: int = 3) -> Any:
        """A node's name with those of the nodes behind it."""
        if node is None:
            return None
        name = normalized(node.name()).rpartition("::")[2]
        if name == "AccumulateGrad":
            if self.loose and node.variable._base is not None:
                return None
            return f"AccumulateGrad({self.name_of(node.variable)})"
        nodes = node.next_functions
        if name == "UnsafeViewBackward0":
            name, nodes = "ViewBackward0", nodes[0][0].next_functions
        if self.loose and name.rstrip("0123456789").removesuffix("Backward") in VIEWS:
            return self.graph_of(nodes[0][0], depth)
        if not depth:
            return name
        edges = [[self.graph_of(n, depth - 1), nr] for n, nr in nodes]
        return [name, *edges]


def places_of(t: Any) -> list[int]:
    """Where the elements lie in storage, in row-major order."""
    places = [t.storage_offset()]
    for n, step in zip(t.shape, t.stride()):
        places = [p + i * step for p in places for i in range(n)]
    return places


def numbers(t: Any) -> list[Any]:
    """The elements in row-major order; what is no number as text, since JSON has none of it."""
    return [x if math.isfinite(x) else str(x) for x in map(shorten, t.detach().reshape(-1).tolist())]


def shorten(x: float) -> float:
    """Eleven digits: enough to compare, and short to store."""
    return float(f"{x:.11g}") + 0.0


def run(torch: Any, program: Program) -> Trace:
    """The trace of a program on a module that behaves like torch."""
    return Run(torch, program).run()


# -- comparing ------------------------------------------------------------------------------------------------------

SINGLE, DOUBLE = 3e-5, 1e-8
"""Relative tolerances: of programs in which a float32 occurs, and of others."""


def close(a: list[Any], b: list[Any], rtol: float) -> bool:
    """Whether numbers agree to rounding: relative to the largest of them, since sums cancel."""
    if len(a) != len(b):
        return False
    scale = max([1.0, *[abs(x) for x in (*a, *b) if not isinstance(x, str)]])
    return all([x == y or not isinstance(x, str) and not isinstance(y, str) and abs(x - y) <= rtol * scale for x,
                y in zip(a, b)])


def differences(expected: Any, found: Any, where: str, rtol: float) -> Iterator[str]:
    """Where two parts of traces differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if "values" in expected and "values" in found:
            if not close(expected["values"], found["values"], rtol):
                yield f"{where}.values: expected {expected['values']}, found {found['values']}"
        for key in [*expected, *[k for k in found if k not in expected]]:
            if key == "stride" and "stride" in expected and "stride" in found and expected["shape"] == found.get("shape"):
                if any([a != b and n != 1 for n, a, b in zip(expected["shape"], expected[key], found[key])]):
                    yield f"{where}.stride: expected {expected[key]}, found {found[key]} for shape {expected['shape']}"
            elif key == "memory" and (found.get(key) == where.rpartition("state.")[2] or str(found.get(key)).endswith(".grad")):
                pass  # memory of its own, where torch lets a gradient be the memory of what it was given
            elif key != "values":
                if key not in expected or key not in found:
                    a, b = expected.get(key, "nothing"), found.get(key, "nothing")
                    yield f"{where}.{key}: expected {a}, found {b}"
                else:
                    yield from differences(expected[key], found[key], f"{where}.{key}", rtol)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, (a, b) in enumerate(zip(expected, found)):
            yield from differences(a, b, f"{where}[{i}]", rtol)
    elif expected != found:
        yield f"{where}: expected {expected}, found {found}"


def divergences(expected: Trace, found: Trace) -> list[str]:
    """What is different in the first step where two traces differ."""
    seen: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    rtol = DOUBLE
    for a, b in zip(expected, found):
        if "INTERNAL ASSERT" in a.get("error", ("", ""))[1]:  # torch's own failure
            return []
        for side, trace in zip(seen, (a, b)):  # a state is only told when it changes, and rounding may hide that
            for name, state in trace.get("state", {}).items():
                side[name] = {**side.get(name, {}), **state}
        both = [{**{k: v for k, v in trace.items() if k != "state"}, "state": {n: side[n] for n in side}}
                for side, trace in zip(seen, (a, b))]
        if any([state["dtype"] == "float32" for state in a.get("state", {}).values()]):
            rtol = SINGLE
        wrong = list(differences(*both, f"step {a['step']}", rtol))
        if wrong:
            return wrong
    return []


def minimized(program: Program, diverges: Callable[[Program], bool]) -> Program:
    """The smallest program that still diverges, found by leaving out steps, then leaves and circumstances."""
    steps = list(program["steps"])
    size = max(1, len(steps) // 2)
    while True:
        i, dropped = 0, False
        while i < len(steps):
            fewer = steps[:i] + steps[i + size:]
            if fewer and diverges({**program, "steps": fewer}):
                steps, dropped = fewer, True
            else:
                i += size
        if size > 1:
            size //= 2
        elif not dropped:
            break
    program = {**program, "steps": steps}
    for step in list(steps):
        if step.get("no_grad"):
            simpler = {**program, "steps": [{k: v for k, v in s.items() if s is not step or k != "no_grad"} for s in program["steps"]]}
            if diverges(simpler):
                program = simpler
    for leaf in program["leaves"]:
        fewer = {**program, "leaves": [x for x in program["leaves"] if x is not leaf]}
        if fewer["leaves"] and diverges(fewer):
            program = fewer
    for i in range(len(program["leaves"])):
        for change in ({"layout": "plain"}, {"dtype": "float32"}, {"grad": False}):
            leaves = list(program["leaves"])
            leaves[i] = {**leaves[i], **change}
            if leaves[i] != program["leaves"][i] and diverges({**program, "leaves": leaves}):
                program = {**program, "leaves": leaves}
    return program


def text_of(program: Program) -> str:
    """A program as somebody would write it down."""
    lines = [f"watch={program['watch']}"]
    lines += [f"{x['name']} = {x['dtype']}{x['shape']} {x['layout']}{' requires grad' if x['grad'] else ''}" for x in program["leaves"]]
    for s in program["steps"]:
        kwargs = "".join([f", {k}={v}" for k, v in s.get("kwargs", {}).items()])
        lines.append(f"$s{s['id']} = {s['call']}({', '.join(map(str, s['args']))}{kwargs}){'  # no_grad' if s.get('no_grad') else ''}")
    return "\n".join(lines)
