"""ONNX nodes as they are made: values that formulas are written with, and the graph that takes note of the nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.dtypes import DType, bool_, float32, float64, int64

from ._sizes import Dim, Sizes
from ._trace import Step, Value
from .errors import OnnxExporterError

if TYPE_CHECKING:
    from onnx import NodeProto

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
         "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8_e4m3fn": 17, "float8_e4m3fnuz": 18,
         "float8_e5m2": 19, "float8_e5m2fnuz": 20}
"""ONNX's numbers of dtypes (TensorProto.DataType)."""


def type_of(dtype: DType) -> int:
    """ONNX's number of a dtype.

    Raises:
        OnnxExporterError: it has none.
    """
    if dtype.name not in TYPES:
        raise OnnxExporterError(f"ONNX has no tensors of torch.{dtype.name}")
    return TYPES[dtype.name]


class Val:
    """A value of the graph. `+`, `-`, `*`, `/`, `<`, `>`, `&`, `|`, `~` make nodes; numbers are taken in its dtype.

    Attributes:
        shape: of values of the traced program: numbers, and Dims where inputs decide; None of those in between.
        const: its numbers, of constants.
    """

    __slots__ = ("graph", "name", "dtype", "shape", "const")

    def __init__(self, graph: Graph, name: str, dtype: DType, shape: tuple[Any, ...] | None = None,
                 const: np.ndarray[Any, Any] | None = None) -> None:
        self.graph, self.name, self.dtype, self.shape, self.const = graph, name, dtype, shape, const

    @property
    def sizes(self) -> tuple[Any, ...]:
        """The shape of a value that has one."""
        assert self.shape is not None, "a value in between, whose shape is not known"
        return self.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def to(self, dtype: DType) -> Val:
        """Its numbers in another dtype."""
        if dtype is self.dtype:
            return self
        if dtype.is_complex or self.dtype.is_complex:
            raise OnnxExporterError("ONNX does not compute with complex numbers")
        if self.const is not None and self.const.ndim == 0:
            return self.graph.const(self.const, dtype)
        cast = self.graph.op("Cast", self, to=type_of(dtype), dtype=dtype)
        cast.shape = self.shape
        return cast

    def __add__(self, other: Any) -> Val: return self.graph.op("Add", self, other)
    def __radd__(self, other: Any) -> Val: return self.graph.op("Add", self, other)
    def __sub__(self, other: Any) -> Val: return self.graph.op("Sub", self, other)
    def __rsub__(self, other: Any) -> Val: return self.graph.op("Sub", other, self)
    def __mul__(self, other: Any) -> Val: return self.graph.op("Mul", self, other)
    def __rmul__(self, other: Any) -> Val: return self.graph.op("Mul", self, other)
    def __truediv__(self, other: Any) -> Val: return self.graph.op("Div", self, other)
    def __rtruediv__(self, other: Any) -> Val: return self.graph.op("Div", other, self)
    def __pow__(self, other: Any) -> Val: return self.graph.op("Pow", self, other)
    def __neg__(self) -> Val: return self.graph.op("Neg", self)
    def __lt__(self, other: Any) -> Val: return self.graph.op("Less", self, other, dtype=bool_)
    def __gt__(self, other: Any) -> Val: return self.graph.op("Greater", self, other, dtype=bool_)
    def __le__(self, other: Any) -> Val: return self.graph.op("LessOrEqual", self, other, dtype=bool_)
    def __ge__(self, other: Any) -> Val: return self.graph.op("GreaterOrEqual", self, other, dtype=bool_)
    def __and__(self, other: Any) -> Val: return self.graph.op("And", self, other)
    def __or__(self, other: Any) -> Val: return self.graph.op("Or", self, other)
    def __invert__(self) -> Val: return self.graph.op("Not", self)

    def type(self) -> Val:
        """What `setType` takes: the dtype and the shape, as this value has them."""
        return self

    def setType(self, like: Val | None) -> Val:
        """Says of which dtype and shape it is."""
        if like is not None:
            self.dtype, self.shape = like.dtype, like.shape
        return self

    def equals(self, other: Any) -> Val:
        """Where it equals another."""
        return self.graph.op("Equal", self, other, dtype=bool_)


class Shown:
    """The operation that is being translated, as translations see it.

    Attributes:
        used: whether anything needs a result of that number.
    """

    def __init__(self, step: Step, used: Callable[[int], bool]) -> None:
        self.name, self.known_as, self.used = step.name, step.known_as, used


Operand = Val | Dim | int | float
Ints = Sequence[int] | int
Made = Val | Sequence[Val]
"""What a translation returns."""


class Graph:
    """A graph in the making.

    Attributes:
        opset: the version of ONNX's operations.
        nodes: what was made, in order.
        initializers: the constants and parameters, by name.
        sizes: what decides the numbers that sizes of inputs decide.
        hint: what nodes are called.
        step, out: the operation that is being translated, and the values of its results.
    """

    step: Shown
    out: list[Value]

    def __init__(self, opset: int, sizes: Sizes) -> None:
        self.opset, self.sizes, self.hint = opset, sizes, "node"
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, np.ndarray[Any, Any]] = {}
        self.taken: set[str] = set()
        self.made: dict[Any, Val] = {}
        self.domains: dict[str, int] = {}
        self.values: dict[int, Val] = {}  # of the traced program, by number

    def name(self, wish: str) -> str:
        """A name that nothing has yet."""
        name, n = wish, 0
        while name in self.taken:
            n += 1
            name = f"{wish}_{n}"
        self.taken.add(name)
        return name

    def op(self, op: str, *inputs: Any, outputs: int = 1, dtype: DType | None = None, domain: str = "", **attributes: Any) -> Any:
        """The value of a new node, or several.

        Args:
            inputs: Vals; None for one that is left out; numbers and Dims, which are taken in the dtype of the first Val; lists of ints and
                Dims.
            outputs: how many.
            dtype: of the result, where it is not that of the first Val.
        """
        from onnx import helper

        first = next((v for v in inputs if isinstance(v, Val)), None)
        taken = [v if isinstance(v, Val) or v is None else self.ints(v) if isinstance(v, (list, tuple)) else
                 self.scalar(v, first.dtype if first is not None else int64) for v in inputs]
        while taken and taken[-1] is None:
            taken.pop()
        names = [self.name(self.hint if i == 0 else f"{self.hint}_{i}") for i in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, ["" if v is None else v.name for v in taken], names, name=f"node_{names[0]}", domain=domain,
                                           **given))
        kind = dtype or (first.dtype if first is not None else float32)
        made = [Val(self, name, kind) for name in names]
        return made[0] if outputs == 1 else made

    def dtype_of(self, value: Any) -> DType:
        """The dtype of a Python number, or of a list of them."""
        array = np.asarray(value)
        return bool_ if array.dtype == bool else float32 if array.dtype.kind == "f" else int64

    def const(self, value: Any, dtype: DType) -> Val:
        """A constant."""
        array = np.asarray(value).astype(dtype.np)
        key = dtype, array.shape, array.tobytes()
        if key not in self.made:
            name = self.name("scalar" if array.ndim == 0 else "constant")
            type_of(dtype)
            self.initializers[name] = array
            self.made[key] = Val(self, name, dtype, array.shape, array)
        return self.made[key]

    def scalar(self, number: Any, dtype: DType) -> Val:
        """A number as a tensor without dimensions."""
        if isinstance(number, Val):
            return number.to(dtype)
        if not isinstance(number, Dim):
            return self.const(number, dtype)
        return self.op("Squeeze", self.size(number), [0]).to(dtype)

    def size(self, number: Any) -> Val:
        """A number as a tensor of one element: int64, or float64 where it is a float."""
        if isinstance(number, (int, np.integer)):
            return self.const([int(number)], int64)
        key = "size", number.seen
        if key in self.made:
            return self.made[key]
        before, self.hint = self.hint, "size"
        of = number.of
        if of[0] == "float":
            _, dim, op, inverse, factor = of
            x = self.size(dim).to(float64)
            x = self.op(op, x) if op else x
            made = factor / x if inverse else x * factor
        elif isinstance(of[0], str):
            a, b = [self.size(x) for x in of[1:]]
            made = self.op("Sub", self.op("Div", a, b), ((self.op("Mod", a, b) < 0).to(int64))) if of[0] == "Div" and min(
                of[1].seen) < 0 else self.op(of[0], a, b)
        else:
            value, axis = of
            made = self.op("Gather", self.shape(self.values[value.number]), [axis], axis=0, dtype=int64)
        self.hint = before
        self.made[key] = made
        return made

    def shape(self, x: Val) -> Val:
        """The shape of a value when the graph runs."""
        key = "shape", x.name
        if key not in self.made:
            self.made[key] = self.op("Shape", x, dtype=int64)
        return self.made[key]

    def ints(self, numbers: Sequence[Any]) -> Val:
        """Numbers as a tensor of one dimension."""
        if not any([isinstance(n, (Dim, Val)) for n in numbers]):
            return self.const(np.array([int(n) for n in numbers], np.int64), int64)
        key = "ints", tuple([n.name if isinstance(n, Val) else n for n in numbers])
        if key not in self.made:
            parts = [self.op("Reshape", n.to(int64), [1]) if isinstance(n, Val) else self.size(n) for n in numbers]
            self.made[key] = self.op("Concat", *parts, axis=0, dtype=int64) if len(parts) > 1 else parts[0]
        return self.made[key]

    def reshape(self, x: Val, shape: Sequence[Any]) -> Val:
        """`x` in another shape; a single size that inputs decide is left for ONNX to infer."""
        dims = [i for i, n in enumerate(shape) if isinstance(n, Dim)]
        if len(dims) == 1 and -1 not in shape and 0 not in [n for n in shape if not isinstance(n, Dim)]:
            shape = [-1 if i == dims[0] else n for i, n in enumerate(shape)]
        numbers = [n for n in shape if isinstance(n, int)]
        made = self.op("Reshape", x, list(shape), allowzero=1 if self.opset >= 14 and 0 in numbers else None)
        made.shape = None if -1 in numbers else tuple(shape)
        return made

    def reduce(self, op: str, x: Val, axes: Sequence[int] | None, keepdim: bool = False) -> Val:
        """A reduction; where ONNX has its dimensions depends on the opset."""
        if axes is None:
            return self.op(op, x, keepdims=int(keepdim))
        if self.opset >= 18 or op == "ReduceSum":
            return self.op(op, x, [int(a) for a in axes], keepdims=int(keepdim))
        return self.op(op, x, axes=[int(a) for a in axes], keepdims=int(keepdim))

    def result_shape(self, output: int = 0, one_unknown: bool = False) -> list[Any]:
        """The shape of a result: numbers, and Dims that are known already; where `one_unknown`, -1 for one that is not.

        Raises:
            OnnxExporterError: a size is not known.
        """
        number = self.out[output].number
        shapes = [run.values[number].shape for run in self.sizes.runs]
        if len({len(s) for s in shapes}) > 1:
            raise OnnxExporterError("The number of dimensions of a tensor depends on the sizes of inputs that are to be dynamic")
        found: list[Any] = []
        for seen in zip(*shapes):
            try:
                found.append(self.sizes.number(seen))
            except OnnxExporterError:
                if not one_unknown or -1 in found:
                    raise
                found.append(-1)
        return found

    def needs(self, opset: int, what: str) -> None:
        """Refuses what only later opsets have.

        Raises:
            UnsupportedOperatorError: the opset is an earlier one.
        """
        if self.opset < opset:
            from .errors import UnsupportedOperatorError

            raise UnsupportedOperatorError(what, self.opset, opset)


def identifier(name: str) -> str:
    """A name of letters, digits and underscores."""
    return re.sub(r"\W+", "_", name).strip("_") or "node"


def refuse(text: str) -> OnnxExporterError:
    """The error for what a translation does not take."""
    return OnnxExporterError(text)
