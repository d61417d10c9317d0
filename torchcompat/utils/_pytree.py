"""Nested containers of anything ("pytrees"): taken apart into leaves and a `TreeSpec`, and put together again.

>>> from torchcompat.utils._pytree import tree_flatten, tree_map
>>> leaves, spec = tree_flatten({"a": [1, 2], "b": 3})
>>> leaves, spec.unflatten("xyz")
([1, 2, 3], {'a': ['x', 'y'], 'b': 'z'})
>>> tree_map(lambda x: x * 10, (1, [2]))
(10, [20])
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module
from typing import Any, NamedTuple
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from autograd_tape.annotations import Fn

PyTree = Any
Context = Any
KeyPath = tuple[Any, ...]


class NodeDef(NamedTuple):
    """How containers of a type are taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


# -- keys of paths ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A position in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[object]) -> Any:
        """The item at this position."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[object, object]) -> Any:
        """The item of this key."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: object) -> Any:
        """The attribute's value."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it.

    >>> keystr((MappingKey("w"), SequenceKey(0), GetAttrKey("x")))
    "['w'][0].x"
    """
    return "".join([str(k) for k in kp])


def key_get(obj: object, kp: KeyPath) -> Any:
    """What lies at a path."""
    for k in kp:
        obj = k.get(obj)
    return obj


# -- the types ----------------------------------------------------------------------------------------------------------

class Written(NamedTuple):
    """How the structure of a container is written as JSON."""

    type: Any
    name: str | None
    dump: Fn | None
    load: Fn | None


SUPPORTED_NODES: dict[type, NodeDef] = {}
written_as: dict[Any, Written] = {}
read_as: dict[str, Any] = {}
"""The types by the names that they are written by."""


def register_pytree_node(cls: type, flatten_fn: Fn, unflatten_fn: Fn, *,
                         serialized_type_name: str | None = None, to_dumpable_context: Fn | None = None,
                         from_dumpable_context: Fn | None = None,
                         flatten_with_keys_fn: Fn | None = None) -> None:
    """Makes a type a container.

    Args:
        flatten_fn: from an instance to (children, context).
        unflatten_fn: from (children, context) back to an instance.
        flatten_with_keys_fn: from an instance to ([(key, child), ...], context), for paths.

        serialized_type_name: what `treespec_dumps` calls it; where left out, structures with it cannot be written.
        to_dumpable_context, from_dumpable_context: from contexts to what JSON can hold, and back; where left out, contexts are JSON.

    Raises:
        ValueError: the type is a container already, or one of two functions is missing.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    written_as[cls] = Written(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    if serialized_type_name is not None:
        read_as[serialized_type_name] = cls


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]
    read_as.pop(written_as.pop(cls).name or "", None)


def register_dataclass(cls: type, *, field_names: Sequence[str] | None = None, drop_field_names: Sequence[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Makes a dataclass a container of its fields.

    Args:
        field_names: the fields that are children; all that `__init__` takes where left out.
        drop_field_names: fields that are not kept.
    """
    dropped = set(drop_field_names or ())
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass.")
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    elif dataclasses.is_dataclass(cls):
        known = {f.name for f in dataclasses.fields(cls) if f.init}
        given = set(field_names) | dropped
        if known != given:
            missing, unexpected = sorted(known - given), sorted(given - known)
            what = "".join([f"missing {missing}" if missing else "", f" unexpected {unexpected}" if unexpected else ""])
            raise ValueError(f"field_names does not match the dataclass fields of {cls}: {what.strip()}")
    names = list(field_names)

    def flatten(obj: object) -> tuple[list[Any], Context]:
        present = [(n, getattr(obj, n)) for n in names]
        return [v for _, v in present if v is not None], [[n for n, v in present if v is not None], [n for n, v in present if v is None]]

    def unflatten(values: Iterable[object], context: Context) -> object:
        filled, empty = context
        return cls(**dict(zip(filled, values)), **dict.fromkeys(empty))

    def with_keys(obj: object) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=with_keys, serialized_type_name=serialized_type_name)


def register_constant(cls: type) -> None:
    """Makes instances of a hashable type part of the structure, not leaves."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation. Got: {cls}")
    if cls.__hash__ is None:
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__hash__` implementation. Got: {cls}")
    register_pytree_node(cls, lambda x: ([], x), lambda _, context: context, flatten_with_keys_fn=lambda x: ([], x))


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is made by `namedtuple`."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple) and \
        callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None))


def is_namedtuple(obj: object | type) -> bool:
    """Whether an object or class is a namedtuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a namedtuple."""
    return is_namedtuple_class(type(obj))


def _indexed(values: Iterable[object]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), v) for i, v in enumerate(values)]


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[object], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _dump_defaultdict(context: Context) -> Any:
    factory = context[0]
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": context[1]}


def _load_defaultdict(context: Any) -> Context:
    if not isinstance(context, dict) or set(context) != {"default_factory_module", "default_factory_name", "dict_context"}:
        raise AssertionError(f"expected the factory and the keys of a defaultdict, got {context!r}")
    return [_named(context["default_factory_module"], context["default_factory_name"]), context["dict_context"]]


def _named(module: str, name: str) -> Any:
    """What a dotted name of a module stands for."""
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _dump_namedtuple(cls: type) -> str:
    if cls not in namedtuples.values():
        raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
                                  "serializated_type_name. Please register using `_register_namedtuple`.")
    return next(name for name, known in namedtuples.items() if known is cls)


def _load_namedtuple(name: str) -> type:
    if name not in namedtuples:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name.")
    return namedtuples[name]


namedtuples: dict[str, type] = {}
"""Those that structures are written with."""


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Gives a class of named tuples, which is a container without that, the name that structures are written with."""
    namedtuples[serialized_type_name] = cls


register_pytree_node(tuple, lambda d: (list(d), None), lambda v, _: tuple(v), flatten_with_keys_fn=lambda d: (_indexed(d), None),
                     serialized_type_name="builtins.tuple")
register_pytree_node(list, lambda d: (d, None), lambda v, _: list(v), flatten_with_keys_fn=lambda d: (_indexed(d), None),
                     serialized_type_name="builtins.list")
register_pytree_node(dict, _dict_flatten, _dict_unflatten, flatten_with_keys_fn=_dict_flatten_with_keys,
                     serialized_type_name="builtins.dict")
register_pytree_node(
    namedtuple, lambda d: (list(d), type(d)), lambda v, cls: cls(*v),  # type: ignore[arg-type]  # a function stands for all such classes
    flatten_with_keys_fn=lambda d: ([(GetAttrKey(n), v) for n, v in zip(d._fields, d)], type(d)),
    serialized_type_name="collections.namedtuple", to_dumpable_context=_dump_namedtuple, from_dumpable_context=_load_namedtuple)
_NAMEDTUPLE = SUPPORTED_NODES[namedtuple]  # type: ignore[index]
register_pytree_node(OrderedDict, _dict_flatten, lambda v, keys: OrderedDict(zip(keys, v)), flatten_with_keys_fn=_dict_flatten_with_keys,
                     serialized_type_name="collections.OrderedDict")
register_pytree_node(defaultdict, lambda d: (list(d.values()), [d.default_factory, list(d)]),
                     lambda v, context: defaultdict(context[0], zip(context[1], v)),
                     flatten_with_keys_fn=lambda d: (_dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]),
                     serialized_type_name="collections.defaultdict", to_dumpable_context=_dump_defaultdict,
                     from_dumpable_context=_load_defaultdict)
register_pytree_node(deque, lambda d: (list(d), d.maxlen), lambda v, maxlen: deque(v, maxlen=maxlen),
                     flatten_with_keys_fn=lambda d: (_indexed(d), d.maxlen), serialized_type_name="collections.deque")
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
_MAPPINGS = frozenset([dict, OrderedDict, defaultdict])


def _node_def(tree: object) -> NodeDef | None:
    """How a container is taken apart; None for a leaf."""
    cls = type(tree)
    found = SUPPORTED_NODES.get(cls)
    if found is None and is_namedtuple_class(cls):
        return _NAMEDTUPLE
    if found is None and issubclass(cls, tuple) and hasattr(cls, "n_fields"):  # what operations with several results return
        register_pytree_node(cls, lambda d: (list(d), type(d)), lambda v, kind: kind(v),
                             flatten_with_keys_fn=lambda d: ([(GetAttrKey(n), v) for n, v in zip(vars(cls)["__match_args__"], d)], type(d)),
                             serialized_type_name=f"torch.return_types.{cls.__name__}")
        return SUPPORTED_NODES[cls]
    return found


def _get_node_type(tree: object) -> Any:
    """The type of a container, which is `namedtuple` for all classes of named tuples; that of a leaf."""
    found = _node_def(tree)
    return type(tree) if found is None else found.type


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Whether `tree` is no container, or one that `is_leaf` takes for a leaf."""
    return is_leaf is not None and is_leaf(tree) or _node_def(tree) is None


# -- structures -----------------------------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a tree: the type and context of its container, and the structures of the children.

    Attributes:
        type: the container's type, None for a leaf.
        context: what the container is besides its children: the keys of a dict.
        num_nodes, num_leaves, num_children: how many of each there are.
    """

    __slots__ = ("type", "context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type: Any, context: Context = None, children_specs: Sequence["TreeSpec"] = ()) -> None:
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum([c.num_nodes for c in self._children])
        self.num_leaves: int = 1 if type is None else sum([c.num_leaves for c in self._children])

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def children(self) -> list["TreeSpec"]:
        """The structures of the children."""
        return self._children.copy()

    @property
    def children_specs(self) -> list["TreeSpec"]:
        """The structures of the children."""
        return self._children

    def child(self, index: int) -> "TreeSpec":
        """The structure of one child."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[object]) -> PyTree:
        """A tree of this structure with these leaves."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                             f"{self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees of `tree` where this structure has leaves; ValueError where `tree` is not at least as deep."""
        found: list[PyTree] = []
        self._descend(tree, found)
        return found

    def _descend(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.type is None:
            found.append(tree)
            return
        node = _node_def(tree)
        both_mappings = self.type in _MAPPINGS and node is not None and node.type in _MAPPINGS
        if node is None or node.type is not self.type and not both_mappings:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if both_mappings:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(tree) != set(keys):
                missing, extra = [k for k in keys if k not in tree], [k for k in tree if k not in set(keys)]
                message = (f"; missing key(s): {missing}" if missing else "") + (f"; extra key(s): {extra}" if extra else "")
                raise ValueError(f"Node keys mismatch{message}.")
            children = [tree[k] for k in keys]
        elif context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch for {type(tree)!r}; expected {self.context!r}, but got {context!r}.")
        for spec, child in zip(self._children, children):
            spec._descend(child, found)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type is other.type and self.num_children == other.num_children and self.context == other.context and \
            self._children == other._children

    def __hash__(self) -> int:
        context = self.context if self.type is None or isinstance(self.context, Hashable) else repr(self.context)
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        children = [c.__repr__(indent + 2) for c in self._children]
        return f"TreeSpec({self.type.__name__}, {self.context}, [{(',' + chr(10) + ' ' * (indent + 2)).join(children)}])"


class _LeafMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafMeta):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


_LEAF = TreeSpec(None)


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of children of these structures."""
    children = list(iterable)
    if any(not isinstance(c, TreeSpec) for c in children):
        raise ValueError(f"Expected a tuple of TreeSpecs, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict of children of these structures."""
    children = dict(mapping, **kwargs)
    if any(not isinstance(c, TreeSpec) for c in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpecs, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the tree written with asterisks for leaves.

    >>> treespec_pprint(tree_structure((1, [2])))
    '(*, [*])'
    """
    return repr(_checked(treespec).unflatten([_Asterisk()] * treespec.num_leaves))


_PROTOCOL = 1


def _dumped(treespec: TreeSpec) -> Any:
    if treespec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    written = written_as.get(treespec.type)
    if written is None or written.name is None:
        raise NotImplementedError(f"No registered serialization name for {treespec.type} found. Please update your _register_pytree_node "
                                  "call with a `serialized_type_name` kwarg.")
    context = json.dumps(treespec.context, default=_dump_enum) if written.dump is None else written.dump(treespec.context)
    return {"type": written.name, "context": context, "children_spec": [_dumped(child) for child in treespec.children_specs]}


def _dump_enum(value: object) -> Any:
    if isinstance(value, enum.Enum):
        return {"__enum__": True, "fqn": f"{type(value).__module__}:{type(value).__qualname__}", "name": value.name}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _load_enum(found: dict[str, Any]) -> Any:
    if found.get("__enum__") is not True:
        return found
    cls = _named(*str(found["fqn"]).split(":", 1))
    if not (isinstance(cls, type) and issubclass(cls, enum.Enum)):
        raise TypeError(f"{found['fqn']!r} is no enumeration")
    return cls[found["name"]]


def _loaded(found: Any) -> TreeSpec:
    if found["type"] is None and found["context"] is None and not found["children_spec"]:
        return _LEAF
    if found["type"] not in read_as:
        raise NotImplementedError(f"Deserializing {found['type']} in pytree is not registered.")
    written = written_as[read_as[found["type"]]]
    context = found["context"]
    context = json.loads(context, object_hook=_load_enum) if written.load is None else written.load(context)
    return TreeSpec(written.type, context, [_loaded(child) for child in found["children_spec"]])


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON.

    Raises:
        TypeError: it is none.
        ValueError: another protocol than 1.
        NotImplementedError: a container has no name to be written by.

    >>> treespec_dumps(tree_structure([1]))
    '[1, {"type": "builtins.list", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]'
    """
    _checked(treespec)
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[_PROTOCOL]}")
    return json.dumps([_PROTOCOL, _dumped(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote.

    Raises:
        json.JSONDecodeError: it is no JSON.
        ValueError: another protocol than 1.
        NotImplementedError: there is no container of a name.
    """
    protocol, found = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[_PROTOCOL]}")
    return _loaded(found)


# -- what is done with trees ------------------------------------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure. None is a leaf."""
    leaves: list[object] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: Callable[[PyTree], bool] | None) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children])


def _checked(treespec: object) -> TreeSpec:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec


def tree_unflatten(leaves: Iterable[object], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with these leaves; ValueError where their number does not fit."""
    return _checked(treespec).unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterator[Any]:
    """The leaves, one at a time."""
    node = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if node is None:
        yield tree
    else:
        for child in node.flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Fn, tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> PyTree:
    """`func` of each leaf, and of what lies in its place in `rests`, in the structure of `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*xs) for xs in zip(leaves, *[spec.flatten_up_to(r) for r in rests])])


def tree_map_(func: Fn, tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> PyTree:
    """Calls `func` like `tree_map`, and returns `tree` itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for xs in zip(leaves, *[spec.flatten_up_to(r) for r in rests]):
        func(*xs)
    return tree


def _predicate(types: Any, /) -> Callable[[Any], bool]:
    if isinstance(types, (type, tuple)) or not callable(types):
        try:
            isinstance(None, types)
        except TypeError:
            raise TypeError("Argument must be a type, a tuple of types, or a callable.") from None
        return lambda x: isinstance(x, types)
    return types


def map_only(type_or_types_or_pred: object, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is called with values of these types (or for which the predicate holds), others stay."""
    wanted = _predicate(type_or_types_or_pred)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def inner(x: object) -> object:
            return func(x) if wanted(x) else x

        return inner

    return decorate


def tree_map_only(type_or_types_or_pred: object, /, func: Callable[[Any], Any], tree: PyTree,
                  is_leaf: Callable[[PyTree], bool] | None = None) -> PyTree:
    """`tree_map` over leaves of these types.

    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: object, /, func: Callable[[Any], Any], tree: PyTree,
                   is_leaf: Callable[[PyTree], bool] | None = None) -> PyTree:
    """`tree_map_` over leaves of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[PyTree], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[PyTree], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Whether `pred` holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for all leaves of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for any leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any] | None:
    """The leaves of `tree`, each repeated for all leaves of `treespec` below it; None where `tree` is no prefix of the structure."""
    if is_leaf is not None and is_leaf(tree) or _node_def(tree) is None:
        return [tree] * treespec.num_leaves
    node = _node_def(tree)
    if treespec.is_leaf() or node is None or node.type is not treespec.type:
        return None
    children, context = node.flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[object] = []
    for child, spec in zip(children, treespec._children):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of arguments as one would pass them."""
    leaves: list[object] = []
    for a in (*args, *kwargs.values()):
        leaves += tree_leaves(a)
    return leaves


# -- paths --------------------------------------------------------------------------------------------------------------------


def _paths(prefix: KeyPath, tree: PyTree, is_leaf: Callable[[PyTree], bool] | None) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if node is None:
        yield prefix, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*prefix, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """(path, leaf) of every leaf, and the structure."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) of every leaf."""
    return list(_paths((), tree, is_leaf))


def tree_iter_with_path(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterator[tuple[KeyPath, Any]]:
    """(path, leaf) of every leaf, one at a time."""
    return _paths((), tree, is_leaf)


def tree_map_with_path(func: Fn, tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> PyTree:
    """`tree_map` with a function that takes the path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(*xs) for xs in zip([p for p, _ in pairs], [x for _, x in pairs], *[spec.flatten_up_to(r) for r in rests])])
