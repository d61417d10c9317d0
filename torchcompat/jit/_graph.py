"""Graphs of programs: values, and the operations that make them, each once (`_lowering` makes them of sources)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torchcompat as torch
from torchcompat._library.schema import Type

__all__ = ["Block", "Graph", "Node", "TensorType", "Use", "Value"]

_SCALARS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
            "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
"""What types of tensors call dtypes."""


class GraphType(Type):
    """A type of a value that schemas need not name: `(int, Tensor)`, `Dict(str, int)`, a class."""

    def kind(self) -> str:
        """What kind of type it is: `TupleType`."""
        kinds = {"(": "TupleType", "D": "DictType", "_": "ClassType"}
        if self.wrappers or self.name[0] not in kinds or self.name == "Device":
            return str(super().kind())
        return kinds[self.name[0]]


class TensorType(Type):
    """The type of a tensor whose sizes are known."""

    def __init__(self, tensor: Any) -> None:
        super().__init__("Tensor")
        facts = (list(tensor.shape), list(tensor.stride()), tensor.dtype, tensor.requires_grad, tensor.device)
        object.__setattr__(self, "_facts", facts)

    @staticmethod
    def get() -> Type:
        """The type of all tensors."""
        return Type("Tensor")

    __module__ = "torch"

    def __str__(self) -> str:
        return "Tensor"

    def shown(self) -> str:
        """What graphs say of it."""
        sizes, strides, _, requires_grad, device = self._facts  # type: ignore[attr-defined]  # set above
        shown = "".join([f"{size}, " for size in sizes])
        steps = f"strides=[{', '.join([str(s) for s in strides])}], " if sizes else ""
        return f"{self.scalarType()}({shown}{steps}requires_grad={int(requires_grad)}, device={device})"

    def sizes(self) -> list[int]:
        """The sizes."""
        return list(self._facts[0])  # type: ignore[attr-defined]

    varyingSizes = sizes  # noqa: N815  # torch's name

    def strides(self) -> list[int]:
        """The steps in memory."""
        return list(self._facts[1])  # type: ignore[attr-defined]

    def dim(self) -> int:
        """How many dimensions there are."""
        return len(self._facts[0])  # type: ignore[attr-defined]

    def scalarType(self) -> str:  # noqa: N802  # torch's name
        """What the dtype is called in C++."""
        name = str(self._facts[2]).removeprefix("torch.")  # type: ignore[attr-defined]
        return _SCALARS.get(name, name)

    def dtype(self) -> Any:
        """The dtype."""
        return self._facts[2]  # type: ignore[attr-defined]

    def device(self) -> Any:
        """The device."""
        return self._facts[4]  # type: ignore[attr-defined]

    def requires_grad(self) -> bool:
        """Whether it requires grad."""
        return bool(self._facts[3])  # type: ignore[attr-defined]


def shown(kind: Type) -> str:
    """What graphs say of a type."""
    return kind.shown() if isinstance(kind, TensorType) else kind.str()


class Value:
    """What a node makes, or a graph is given."""

    __module__ = "torch"

    def __init__(self, node: Node, name: str, kind: Type, number: int) -> None:
        self._node, self._name, self._type, self._number = node, name, kind, number
        self._uses: list[tuple[Node, int]] = []

    def debugName(self) -> str:  # noqa: N802  # torch's names, here and below
        """What it is called."""
        return self._name

    def setDebugName(self, name: str) -> Value:  # noqa: N802
        """Calls it otherwise."""
        self._name = name
        return self

    def unique(self) -> int:
        """Its number."""
        return self._number

    def type(self) -> Type:
        """Its type: a `TensorType` where a trace saw it."""
        return self._type

    def setType(self, kind: Type) -> Value:  # noqa: N802
        """Says that it is of another type."""
        self._type = kind
        return self

    def node(self) -> Node:
        """What makes it."""
        return self._node

    def offset(self) -> int:
        """Which of its node's outputs it is."""
        return next(i for i, v in enumerate(self._node.outputs()) if v is self)

    def uses(self) -> list[Use]:
        """Where it is an input."""
        return [Use(node, i) for node, i in self._uses]

    def isCompleteTensor(self) -> bool:  # noqa: N802
        """Whether its sizes are known."""
        return isinstance(self._type, TensorType)

    def requires_grad(self) -> bool:
        """Whether it is a tensor that requires grad."""
        return isinstance(self._type, TensorType) and self._type.requires_grad()

    requiresGrad = requires_grad  # noqa: N815

    def toIValue(self) -> Any:  # noqa: N802
        """What a constant is of; None of any other."""
        node = self._node
        return (node._attributes.get("value") if node._number is None else node._number) if node.kind() == "prim::Constant" else None

    def replaceAllUsesWith(self, other: Value) -> None:  # noqa: N802
        """Puts another in its place, wherever it is an input."""
        for node, i in self._uses:
            node._inputs[i] = other
            other._uses.append((node, i))
        self._uses = []

    def __repr__(self) -> str:
        return f"{self._name} defined in ({str(self._node).rstrip()})"


class Use:
    """Where a value is an input: `user`, and which of its inputs, `offset`."""

    __module__ = "torch"

    def __init__(self, user: Node, offset: int) -> None:
        self.user, self.offset = user, offset


class Node:
    """An operation."""

    __module__ = "torch"

    def __init__(self, owner: Block, kind: str, inputs: list[Value], attributes: Mapping[str, Any] | None = None) -> None:
        self._owner, self._kind, self._inputs, self._outputs = owner, kind, list(inputs), list[Value]()
        self._attributes, self._blocks, self._schema = dict(attributes or {}), list[Block](), ""
        self._scope = ""
        self._number: Any = None  # which a tensor was made of
        for i, value in enumerate(inputs):
            value._uses.append((self, i))

    def kind(self) -> str:
        """What it does: `aten::add`."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """What it is given, in the order of its schema."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """What it makes."""
        return iter(list(self._outputs))

    def inputsAt(self, i: int) -> Value:  # noqa: N802
        """One of its inputs."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:  # noqa: N802
        """One of its outputs."""
        return self._outputs[i]

    def inputsSize(self) -> int:  # noqa: N802
        """How many inputs it has."""
        return len(self._inputs)

    def outputsSize(self) -> int:  # noqa: N802
        """How many outputs it has."""
        return len(self._outputs)

    def input(self) -> Value:
        """Its only input."""
        (found,) = self._inputs
        return found

    def output(self) -> Value:
        """Its only output."""
        (found,) = self._outputs
        return found

    def namedInput(self, name: str) -> Value:  # noqa: N802
        """The input of that name in its schema. RuntimeError: there is none."""
        names = re.findall(r"(\w+)(?:=[^,]*)?(?=[,)])", self._schema.partition("->")[0])
        if name not in names:
            raise RuntimeError(f"Couldn't find argument {name}")
        return self._inputs[names.index(name)]

    def blocks(self) -> Iterator[Block]:
        """The blocks of a branch or loop."""
        return iter(list(self._blocks))

    def owningBlock(self) -> Block:  # noqa: N802
        """The block that it stands in."""
        return self._owner

    def schema(self) -> str:
        """The schema of the operation; "(no schema)" of what is not ATen's."""
        return self._schema or "(no schema)"

    def scopeName(self) -> str:  # noqa: N802
        """The path of the module whose call it is part of."""
        return self._scope

    def sourceRange(self) -> str:  # noqa: N802
        """Where it stands in the program: not known."""
        return ""

    def hasAttribute(self, name: str) -> bool:  # noqa: N802
        """Whether it has an attribute."""
        return name in self._attributes

    def hasAttributes(self) -> bool:  # noqa: N802
        """Whether it has any."""
        return bool(self._attributes)

    def attributeNames(self) -> list[str]:  # noqa: N802
        """What its attributes are called."""
        return [name for name, value in self._attributes.items() if value is not None]

    def kindOf(self, name: str) -> str:  # noqa: N802
        """The letter of the method that gives an attribute: `i`, `f`, `s`, `t`, with an `s` behind it for lists."""
        value = self._attribute(name)
        many = isinstance(value, (list, tuple))
        one = value[0] if many and value else value
        letter = next((k for k, kind in (("i", (bool, int)), ("f", float), ("s", str), ("c", complex), ("t", torch.Tensor))
                       if isinstance(one, kind)), "ival")
        return letter + "s" * many

    def _attribute(self, name: str) -> Any:
        if name not in self._attributes:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return self._attributes[name]

    i = f = s = t = c = ival = fs = ss = ts = is_ = _attribute

    def mustBeNone(self) -> bool:  # noqa: N802
        """Whether it is the constant None."""
        return self._kind == "prim::Constant" and self._attributes.get("value") is None

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:  # noqa: N802
        """The first node of a kind in its blocks."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:  # noqa: N802
        """The nodes of a kind in its blocks."""
        return [node for block in self._blocks for node in block.findAllNodes(kind, recurse)]

    def _lines(self, indent: str) -> Iterator[str]:
        left = ", ".join([f"%{v._name} : {shown(v._type)}" for v in self._outputs])
        said = ", ".join([f"{name}={_attribute_text(value, self._outputs[0]._type if self._outputs else None)}"
                          for name, value in self._attributes.items() if value is not None])
        scope = f", scope: {self._scope}" * bool(self._scope)
        yield (f"{indent}{left} = {self._kind}{f'[{said}]' if said else ''}({', '.join(['%' + v._name for v in self._inputs])})"
               f"{scope}")
        for i, block in enumerate(self._blocks):
            given = ", ".join([f"%{v._name} : {shown(v._type)}" for v in block._inputs])
            yield f"{indent}  block{i}({given}):"
            for node in block._nodes:
                yield from node._lines(indent + "    ")
            yield f"{indent}    -> ({', '.join(['%' + v._name for v in block._outputs])})"

    def __str__(self) -> str:
        return "\n".join(self._lines("")) + "\n"

    __repr__ = __str__


def _attribute_text(value: Any, kind: Type | None) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, torch.Tensor):
        return "{" + f"{value.item():g}" + "}" if value.numel() == 1 else "<Tensor>"
    if isinstance(value, float):
        return f"{value:g}." if value == int(value) and abs(value) < 1e6 else f"{value:.6g}" if abs(value) > 1e-4 else repr(value)
    return f"[{', '.join([_attribute_text(v, None) for v in value])}]" if isinstance(value, (list, tuple)) else str(value)


class Block:
    """Nodes in the order in which they are carried out."""

    __module__ = "torch"

    def __init__(self, owner: Node | None) -> None:
        self._owner, self._nodes = owner, list[Node]()
        self._inputs, self._outputs = list[Value](), list[Value]()

    def nodes(self) -> Iterator[Node]:
        """The nodes."""
        return iter(list(self._nodes))

    def inputs(self) -> Iterator[Value]:
        """What it is given."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """What it gives back."""
        return iter(list(self._outputs))

    def owningNode(self) -> Node | None:  # noqa: N802
        """The branch or loop that it is of; None of a graph's own."""
        return self._owner

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:  # noqa: N802
        """The nodes of a kind, in the blocks of its nodes too where `recurse`."""
        found = list[Node]()
        for node in self._nodes:
            found += [node] * (node.kind() == kind) + (node.findAllNodes(kind) if recurse else [])
        return found

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:  # noqa: N802
        """The first of them."""
        return next(iter(self.findAllNodes(kind, recurse)), None)


class Graph(Block):
    """The operations of a function."""

    __module__ = "torch"

    def __init__(self) -> None:
        super().__init__(None)
        self._count = 0
        self._taken: dict[str, int] = {}
        self._params = self._end = Node(self, "prim::Param", [])

    def block(self) -> Block:
        """The block of all."""
        return self

    def param_node(self) -> Node:
        """The node whose outputs are what the graph is given."""
        self._params._outputs = list(self._inputs)
        return self._params

    def return_node(self) -> Node:
        """A node whose inputs are what the graph gives back."""
        return self._end

    def copy(self) -> Graph:
        """Another of the same."""
        import copy

        return copy.deepcopy(self)

    def lint(self) -> None:
        """Whether each value is there before it is used. RuntimeError: one is not."""
        def walk(block: Block, known: set[int]) -> None:
            known = known | {id(v) for v in block._inputs}
            for node in block._nodes:
                if any(id(v) not in known for v in node._inputs):
                    raise RuntimeError(f"a value is used before it is there, by {node}")
                for inner in node._blocks:
                    walk(inner, known)
                known |= {id(v) for v in node._outputs}
            if any(id(v) not in known for v in block._outputs):
                raise RuntimeError("a value is given back that is not there")

        walk(self, set())

    def str(self, print_source_ranges: bool = True) -> str:
        """The graph as text."""
        return str(self)

    def __str__(self) -> Any:  # `str` is a method here
        given = ",\n      ".join([f"%{v._name} : {shown(v._type)}" for v in self._inputs])
        lines = [line for node in self._nodes for line in node._lines("  ")]
        return "\n".join([f"graph({given}):", *lines, f"  return ({', '.join(['%' + v._name for v in self._outputs])})"]) + "\n"

    __repr__ = __str__

    def _name(self, wish: Any, always: bool = False, known: bool = False) -> Any:
        self._count += 1
        if not wish or re.fullmatch(r"_\d+", wish) and not known:
            return f"{self._count}"
        number = self._taken[wish] = self._taken.get(wish, 0) + 1
        return f"{wish}.{number}" if always or number > 1 else wish
