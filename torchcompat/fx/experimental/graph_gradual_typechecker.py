"""Types of the nodes of a graph, from the types of their arguments and from annotations; what neither says is `Dyn`."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from typing import TYPE_CHECKING, Any, TypeVar
from collections.abc import Callable

from autograd_tape.annotations import Fn
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.node import Node, Target, map_arg
from torchcompat.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise

from .refinement_types import Equality
from .unification import Var

if TYPE_CHECKING:
    from torchcompat.fx.graph_module import GraphModule

Rule = TypeVar("Rule")
Key = Target | type
_INFERENCE_RULES: dict[Key, Fn] = {}
_REFINEMENT_RULES: dict[Key, Fn] = {}
_RULES: dict[Key, Fn] = {}


def _registers(rules: dict[Key, Fn], kind: str) -> Callable[[Key], Callable[[Rule], Rule]]:
    """A function that gives decorators, which note a rule for a function or for modules of a class."""

    def of(call_target: Key) -> Callable[[Rule], Rule]:
        def register(rule: Any) -> Any:
            if call_target in rules:
                raise RuntimeError(f"{kind} already registered for {call_target}!")
            rules[call_target] = rule
            return rule

        return register

    return of


register_inference_rule = _registers(_INFERENCE_RULES, "Inference rule")
register_refinement_rule = _registers(_REFINEMENT_RULES, "Refinement rule")
register_algebraic_expressions_inference_rule = _registers(_RULES, "Rule")


# -- types ------------------------------------------------------------------------------------------------------------


def expand_to_tensor_dim(t: object, n: int) -> TensorType:
    """A type of tensors of `n` dimensions.

    Raises:
        TypeError: it is one of another number of dimensions, or none of tensors.
    """
    if t == Dyn:
        return TensorType((Dyn,) * n)
    if not isinstance(t, TensorType):
        raise TypeError(f"Cannot match the type {t}")
    if len(t.dims) != n:
        raise TypeError(f"Cannot extend tensor. Tensor {t} has rank {len(t.dims)}. It should have rank {n}")
    return t


def broadcast_types(t1: object, t2: object) -> tuple[Any, Any]:
    """Two types with the sizes that their tensors have after broadcasting.

    Raises:
        TypeError: one is not of tensors.
    """
    if t1 == Dyn or t2 == Dyn or isinstance(t1, Var) or isinstance(t2, Var):
        return t1, t2
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    rank = max(len(t1.dims), len(t2.dims))
    a, b = ([1] * (rank - len(t.dims)) + list(t.dims) for t in (t1, t2))
    pairs = [(y, y) if x == 1 else (x, x) if y == 1 else (x, y) for x, y in zip(a, b)]
    return TensorType(tuple([x for x, _ in pairs])), TensorType(tuple([y for _, y in pairs]))


def get_greatest_upper_bound(type1: object, type2: object) -> object:
    """What both types say together.

    Raises:
        TypeError: they say different things.
    """
    if type1 == Dyn or type2 == Dyn:
        return type2 if type1 == Dyn else type1
    if not (isinstance(type1, TensorType) and isinstance(type2, TensorType)):
        return None
    if not is_consistent(type1, type2):
        raise TypeError(f"Inconsistent types {type1}, {type2}")
    return TensorType(tuple([a if is_more_precise(a, b) else b for a, b in zip(type1.dims, type2.dims)]))


def calculate_out_dimension(d_in: Any, module_instance: Any, index: int) -> object:
    """How many places a window of a convolution or pooling has along a dimension.

    Raises:
        TypeError: the size is no number, symbol or `Dyn`.
    """
    padding, kernel, stride, dilation = (
        (value, value) if isinstance(value := getattr(module_instance, name), int) else value
        for name in ("padding", "kernel_size", "stride", "dilation"))
    if d_in == Dyn:
        return Dyn
    sympy = sys.modules.get("sympy")
    if not isinstance(d_in, int) and (sympy is None or not isinstance(d_in, sympy.Symbol)):
        raise TypeError(f"{d_in} in {module_instance} must be a number or Dyn. Received {type(d_in)}")
    return (d_in + 2 * padding[index] - dilation[index] * (kernel[index] - 1) - 1) // stride[0] + 1


# -- the type of a node from those of its arguments ----------------------------------------------------------------------


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def add_inference_rule(n: Node) -> object:
    """A sum: of the less precise of the types of its terms after broadcasting."""
    t1, t2 = n.args[0].type, n.args[1].type
    for number, tensor in ((t1, t2), (t2, t1)):
        if number is int and isinstance(tensor, TensorType):
            n.type = tensor
            return n.type
    new_t1, new_t2 = broadcast_types(t1, t2)
    n.meta["broadcast"] = new_t1 != t1 or new_t2 != t2
    if n.meta["broadcast"]:
        n.meta[str(n.args[0])], n.meta[str(n.args[1])] = new_t1, new_t2
    if not is_consistent(new_t1, new_t2):
        raise TypeError(f"Cannot add arguments {n.args[0]} ({t1}) and {n.args[1]} ({t2}) in node {n}. Types should match ")
    n.type = new_t2 if is_more_precise(new_t1, new_t2) else new_t1
    return n.type


@register_inference_rule(getattr)
def get_attr_inference_rule(n: Node, traced: GraphModule) -> object:
    """A shape, of which nothing is known."""
    if n.args[1] != "shape":
        raise TypeError("Not yet implemented")
    n.type = Dyn
    return n.type


@register_inference_rule(torch.transpose)
def transpose_inference_rule(n: Node) -> object:
    """A transposed tensor: two sizes change places."""
    t, dim1, dim2 = n.args[0].type, n.args[1], n.args[2]
    if t == Dyn:
        n.type = Dyn
        return n.type
    if not (isinstance(t, TensorType) and 0 <= dim1 < len(t.dims) and 0 <= dim2 < len(t.dims)):
        raise TypeError(f"Cannot transpose {dim1} and {dim2} in type {t} for node {n}")
    sizes = list(t.dims)
    sizes[dim1], sizes[dim2] = sizes[dim2], sizes[dim1]
    n.type = get_greatest_upper_bound(n.type, TensorType(sizes))
    return n.type


@register_inference_rule(torch.reshape)
def reshape_inference_rule(n: Node) -> object:
    """A tensor of a new shape, if the numbers of elements divide each other."""
    t, shape = n.args[0].type, n.args[1]
    result = TensorType([Dyn if size == -1 else size for size in shape])
    if t != Dyn:
        fits = isinstance(t, TensorType)
        if fits:
            before = functools.reduce(operator.mul, [1 if size == Dyn else size for size in t.dims])
            after = functools.reduce(operator.mul, shape)
            fits = before % after == 0 or after % before == 0
        if not fits:
            raise TypeError(f"Cannot reshape in node {n} from {t} to {result}")
    n.type = result
    return result


def _refuse(n: Node, module: torch.nn.Module, given: TensorType) -> TypeError:
    return TypeError(f"Cannot apply {module} with input type {given} and existing type {n.type} on {n}")


@register_inference_rule(torch.nn.BatchNorm2d)
def bn2d_inference_rule(n: Node, module_instance: torch.nn.BatchNorm2d) -> object:
    """A batch normalization: of its argument's type, with the module's number of features."""
    given = n.args[0].type = expand_to_tensor_dim(n.args[0].type, 4)
    n.type = expand_to_tensor_dim(n.type, 4)
    features = module_instance.num_features
    if not (is_consistent(given.dims[1], features) and is_consistent(n.type.dims[1], features) and is_consistent(given, n.type)):
        raise _refuse(n, module_instance, given)
    n.type = get_greatest_upper_bound(given, n.type)
    return n.type


@register_inference_rule(torch.nn.Conv2d)
def conv2d_inference_rule(n: Node, module_instance: torch.nn.Conv2d) -> object:
    """A convolution: with the module's number of channels and the places of its window."""
    given = n.args[0].type = expand_to_tensor_dim(n.args[0].type, 4)
    known = expand_to_tensor_dim(n.type, 4)
    if not is_consistent(given.dims[1], module_instance.in_channels):
        raise _refuse(n, module_instance, given)
    places = [calculate_out_dimension(given.dims[2 + i], module_instance, i) for i in range(2)]
    n.type = get_greatest_upper_bound(TensorType((given.dims[0], module_instance.out_channels, *places)), known)
    return n.type


def maxpool2d_check(typ: TensorType, module_instance: torch.nn.MaxPool2d) -> TensorType:
    """The type of a pooling.

    Raises:
        TypeError: there are not three or four dimensions.
    """
    if len(typ.dims) not in (3, 4):
        raise TypeError(f"Wrong size {typ} for {module_instance}")
    return TensorType((*typ.dims[:-2], *[calculate_out_dimension(typ.dims[i - 2], module_instance, i) for i in range(2)]))


def linear_check(tensor_type: TensorType, module_instance: torch.nn.Linear) -> TensorType:
    """The type of a linear map.

    Raises:
        TypeError: there are fewer than two dimensions, or the last has another size than the module wants.
    """
    if len(tensor_type.dims) < 2:
        raise TypeError(f"Type {tensor_type} must have rank 2 or more.")
    if not is_consistent(module_instance.in_features, tensor_type.dims[-1]):
        raise TypeError(f"Inconsistent {module_instance.in_features} and {tensor_type.dims[-1]} in {module_instance}")
    return TensorType((*tensor_type.dims[:-1], module_instance.out_features))


def adaptiveavgpool2d_check(tensor_type: TensorType, module_instance: torch.nn.AdaptiveAvgPool2d) -> TensorType:
    """The type of an adaptive pooling.

    Raises:
        TypeError: there are not three or four dimensions.
    """
    size: Any = module_instance.output_size
    height, width = (size, size) if isinstance(size, int) else size
    if len(tensor_type.dims) not in (3, 4):
        raise TypeError(f"Tensor ranks must be 3 or 4. Got {tensor_type}")
    return TensorType((*tensor_type.dims[:-2], width if height is None else height, height if width is None else width))


def flatten_check(tensor_type: TensorType, start_dim: int, end_dim: int) -> TensorType:
    """The type of a tensor of which some dimensions have become one.

    Raises:
        TypeError: there are no such dimensions.
    """
    sizes = list(tensor_type.dims)
    rank = len(sizes)
    start, end = rank if start_dim == -1 else abs(start_dim), end_dim + 1 + (rank if end_dim < 0 else 0)
    if not 0 <= start < end <= rank:
        raise TypeError(f"Incompatible dimensions {start}, {end - 1} in type {tensor_type}")
    one = Dyn if Dyn in sizes[start:end] else functools.reduce(operator.mul, sizes[start:end])
    return TensorType((*sizes[:start], one, *sizes[end:]))


def _follow(n: Node, result: Callable[[TensorType], Any]) -> object:
    """Lets what is known of a node say how many dimensions its argument has, and its argument say the rest."""
    if n.args[0].type == Dyn and isinstance(n.type, TensorType):
        n.args[0].type = expand_to_tensor_dim(n.args[0].type, len(n.type.dims))
    if isinstance(n.args[0].type, TensorType):
        n.type = get_greatest_upper_bound(result(n.args[0].type), n.type)
    return n.type


@register_inference_rule(torch.nn.ReLU)
def relu_inference_rule(n: Node, module_instance: torch.nn.ReLU) -> object:
    """Of its argument's type."""
    return _follow(n, lambda given: given)


@register_inference_rule(torch.nn.MaxPool2d)
def maxpool2d_inference_rule(n: Node, module_instance: torch.nn.MaxPool2d) -> object:
    """A pooling."""
    return _follow(n, lambda given: maxpool2d_check(given, module_instance))


@register_inference_rule(torch.nn.Linear)
def linear_inference_rule(n: Node, module_instance: torch.nn.Linear) -> object:
    """A linear map."""
    return _follow(n, lambda given: linear_check(given, module_instance))


@register_inference_rule(torch.nn.AdaptiveAvgPool2d)
def adaptiveavgpool2d_inference_rule(n: Node, module_instance: torch.nn.AdaptiveAvgPool2d) -> object:
    """An adaptive pooling."""
    return _follow(n, lambda given: adaptiveavgpool2d_check(given, module_instance))


@register_inference_rule(torch.flatten)
def flatten_inference_rule(n: Node) -> object:
    """A flattened tensor."""
    given_dims: list[Any] = [*n.args[1:], *(1, -1)[len(n.args) - 1:]]
    start, end = given_dims
    return _follow(n, lambda given: flatten_check(given, start, end))


class GraphTypeChecker:
    """Gives the nodes of a graph their types.

    Args:
        env: kept for the program.
    """

    def __init__(self, env: dict[str, Any], traced: GraphModule) -> None:
        self.env, self.traced = env, traced

    def type_check(self) -> bool:
        """True; the nodes have their types then.

        Raises:
            TypeError: types do not fit.
            RuntimeError: there is no rule for a node.
        """
        for node in self.traced.graph.nodes:
            self.type_check_node(node)
        return True

    def type_check_node(self, n: Node) -> object:
        """The type of a node.

        Raises:
            TypeError: types do not fit.
            RuntimeError: there is no rule for it.
            NotImplementedError: it is a call of a method.
        """
        if n.type is None:
            n.type = Dyn
        if n.op == "get_attr":
            value = get_parameter(self.traced, n.target)
            if isinstance(value.data, torch.Tensor):
                n.type = TensorType(value.data.shape)
        elif n.op == "call_function":
            if n.target not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for target {n.target}!")
            return _INFERENCE_RULES[n.target](n, *[self.traced] * (n.target is getattr))
        elif n.op == "call_module":
            module = self.traced.get_submodule(n.target)
            if type(module) not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for class {type(module)}!")
            return _INFERENCE_RULES[type(module)](n, module)
        elif n.op == "output":
            n.type = map_arg(n.args[0], lambda a: a.type)
        elif n.op != "placeholder":
            raise NotImplementedError(f"Method {n.op} not yet implemented")
        return n.type


# -- which sizes are the same ---------------------------------------------------------------------------------------------


def _same(n: Node, count: int | None) -> list[Equality]:
    """That so many of the first sizes of a node, or all, are its argument's."""
    given = n.args[0].type
    if not (isinstance(given, TensorType) and isinstance(n.type, TensorType)):
        return []
    return [Equality(a, b) for a, b in list(zip(given.dims, n.type.dims))[:count]]


@register_refinement_rule(torch.nn.Conv2d)
def conv_refinement_rule(n: Node) -> list[Equality]:
    """The first."""
    return _same(n, 1)


@register_refinement_rule(torch.nn.Linear)
def linear_refinement_rule(n: Node) -> list[Equality]:
    """The first."""
    return _same(n, 1)


@register_refinement_rule(torch.nn.BatchNorm2d)
@register_refinement_rule(torch.nn.ReLU)
def all_eq(n: Node) -> list[Equality]:
    """All."""
    return _same(n, None)


@register_refinement_rule(torch.nn.AdaptiveAvgPool2d)
@register_refinement_rule(torch.nn.MaxPool2d)
def first_two_eq(n: Node) -> list[Equality]:
    """The first two."""
    return _same(n, 2)


@register_refinement_rule(torch.add)
@register_refinement_rule(operator.add)
def element_wise_eq(n: Node) -> list[Equality]:
    """Those that are the same in both terms after broadcasting."""
    if not all([isinstance(a, Node) and isinstance(a.type, TensorType) for a in n.args[:2]]) or not isinstance(n.type, TensorType):
        return []
    one, other = broadcast_types(n.args[0].type, n.args[1].type)
    return [Equality(a, c) for a, b, c in zip(one.dims, other.dims, n.type.dims) if a == b]


@register_refinement_rule(torch.flatten)
def flatten_refinement_rule(n: Node) -> list[Equality]:
    """Those of the dimensions that stay."""
    given = n.args[0].type
    if not (isinstance(given, TensorType) and isinstance(n.type, TensorType)):
        return []
    given_dims: list[Any] = [*n.args[1:], *(1, -1)[len(n.args) - 1:]]
    start, end = given_dims
    rank = len(n.type.dims)
    start, end = rank if start == -1 else start, end + 1 + (rank if end < 0 else 0)
    return [Equality(a, b) for part in (slice(start), slice(end, None)) for a, b in zip(n.type.dims[part], given.dims[part])]


@register_algebraic_expressions_inference_rule(torch.nn.Conv2d)
def conv_rule(n: Node, module_instance: torch.nn.Conv2d) -> object:
    """A convolution: its sizes as expressions of its argument's."""
    given = n.args[0].type
    if not (isinstance(given, TensorType) and isinstance(n.type, TensorType)):
        return None
    places = [calculate_out_dimension(given.dims[2 + i], module_instance, i) for i in range(2)]
    n.type = TensorType((*n.type.dims[:2], *places))
    return n.type


class Refine:
    """Finds which unknown sizes in a graph are the same.

    Attributes:
        constraints: the equalities that were found.
    """

    def __init__(self, traced: GraphModule) -> None:
        self.constraints: list[Equality] = []
        self.traced = traced
        self.symbol_iter = itertools.count()

    def refine(self) -> bool:
        """Puts variables in the place of what is unknown, and finds equalities; True."""
        for node in self.traced.graph.nodes:
            self.refine_node(node)
        return True

    def symbolic_relations(self) -> bool:
        """Puts symbols of `sympy` in the place of variables, and expressions of them where a rule gives one; True."""
        for node in self.traced.graph.nodes:
            self.infer_symbolic_relations(node)
        return True

    def replace_dyn_with_fresh_var(self, typ: Any) -> object:
        """A type with new variables in the place of what is unknown."""
        return _replaced(typ, lambda t: Var(next(self.symbol_iter)) if t == Dyn else t)

    def convert_to_sympy_symbols(self, typ: Any) -> object:
        """A type with symbols in the place of variables."""

        def symbol(t: Any) -> object:
            if not isinstance(t, Var):
                return t
            import sympy

            return sympy.symbols(str(t))

        return _replaced(typ, symbol)

    def refine_node(self, n: Node) -> object:
        """Finds the equalities of a node; its type where it is the output."""
        n.type = self.replace_dyn_with_fresh_var(Dyn if n.type is None else n.type)
        rule = self._rule(n, _REFINEMENT_RULES)
        if rule is not None:
            self.constraints += rule[0](n)
        return self._output(n)

    def infer_symbolic_relations(self, n: Node) -> object:
        """The type of a node by the rules for expressions."""
        n.type = self.convert_to_sympy_symbols(n.type)
        rule = self._rule(n, _RULES)
        return self._output(n) if rule is None else rule[0](n, *rule[1:])

    def _rule(self, n: Node, rules: dict[Key, Fn]) -> tuple[Any, ...] | None:
        if n.op == "call_function" and n.target in rules:
            return (rules[n.target],)
        module = self.traced.get_submodule(n.target) if n.op == "call_module" else None
        return (rules[type(module)], module) if type(module) in rules else None

    @staticmethod
    def _output(n: Node) -> object:
        if n.op != "output":
            return None
        n.type = map_arg(n.args[0], lambda a: a.type)
        return n.type


def _replaced(typ: Any, fn: Callable[[Any], Any]) -> object:
    """A type with `fn` of what it is made of."""
    if isinstance(typ, TensorType):
        return TensorType(tuple([_replaced(t, fn) for t in typ.dims]))
    return type(typ)([_replaced(t, fn) for t in typ]) if isinstance(typ, (list, tuple)) else fn(typ)


def get_parameter(traced: GraphModule, target: str) -> Any:
    """The parameter, or other attribute, of a dotted name.

    Raises:
        AttributeError: there is none.
    """
    path, _, name = target.rpartition(".")
    owner = traced.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    return getattr(owner, name)


_absences(__name__)
