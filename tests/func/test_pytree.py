"""Pytrees: torch.utils._pytree."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

from torchcompat.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREE = {"b": [1, (2, None)], "a": Point(3, OrderedDict(z=4)), "d": defaultdict(int, q=5), "e": deque([6, 7], maxlen=3)}
TEXT = """TreeSpec(dict, ['b', 'a', 'd', 'e'], [TreeSpec(list, None, [*,
    TreeSpec(tuple, None, [*,
      *])]),
  TreeSpec(namedtuple, <class 'test_pytree.Point'>, [*,
    TreeSpec(OrderedDict, ['z'], [*])]),
  TreeSpec(defaultdict, [<class 'int'>, ['q']], [*]),
  TreeSpec(deque, 3, [*,
    *])])"""


def test_there_and_back() -> None:
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, None, 3, 4, 5, 6, 7]
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (8, 15, 4)
    back = pytree.tree_unflatten(leaves, spec)
    assert back == TREE and type(back["a"]) is Point and back["d"].default_factory is int and back["e"].maxlen == 3


def test_repr_is_torchs() -> None:
    assert repr(pytree.tree_structure(TREE)).replace(f"{Point.__module__}.Point", "test_pytree.Point") == TEXT
    assert repr(pytree.tree_structure(3)) == "*" and isinstance(pytree.tree_structure(3), pytree.LeafSpec)


def test_structures_compare_and_hash() -> None:
    one, two = pytree.tree_structure([1, {"a": 2}]), pytree.tree_structure([3, {"a": 4}])
    assert one == two and hash(one) == hash(two) and one != pytree.tree_structure([1, {"b": 2}])


def test_maps() -> None:
    assert pytree.tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert pytree.tree_map_only(int, lambda x: -x, {"a": 1, "b": "c"}) == {"a": -1, "b": "c"}
    assert pytree.tree_all(bool, [1, 2]) and not pytree.tree_all(bool, [1, 0]) and pytree.tree_any(bool, [0, 1])
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "a"]) and not pytree.tree_any_only(str, lambda x: False, ["a"])
    seen: list[Any] = []
    assert pytree.tree_map_(seen.append, [1, [2]]) == [1, [2]] and seen == [1, 2]
    assert pytree.tree_leaves([1, [2, 3]], is_leaf=lambda x: x == [2, 3]) == [1, [2, 3]]


def test_paths() -> None:
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(TREE)]
    assert paths == ["['b'][0]", "['b'][1][0]", "['b'][1][1]", "['a'].x", "['a'].y['z']", "['d']['q']", "['e'][0]", "['e'][1]"]
    assert [pytree.key_get(TREE, path) for path, _ in pytree.tree_leaves_with_path(TREE)] == [1, 2, None, 3, 4, 5, 6, 7]
    assert pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), {"a": [0]}) == {"a": ["['a'][0]"]}


def test_broadcasting_a_prefix() -> None:
    spec = pytree.tree_structure([1, (2, 3)])
    assert pytree._broadcast_to_and_flatten([0, None], spec) == [0, None, None]
    assert pytree._broadcast_to_and_flatten([0, (1, 2)], spec) == [0, 1, 2]
    assert pytree._broadcast_to_and_flatten([0], spec) is None and pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]


def test_own_containers() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    @dataclasses.dataclass
    class Data:
        x: Any
        y: Any = None

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda v, _: Pair(*v))
    pytree.register_dataclass(Data)
    try:
        result = pytree.tree_map(lambda x: x * 2, Pair(1, [2]))
        assert (result.a, result.b) == (2, [4])
        assert pytree.tree_map(lambda x: x * 2, Data(1)) == Data(2)
        assert pytree.keystr(pytree.tree_leaves_with_path(Data(1, 2))[1][0]) == ".y"
        with pytest.raises(ValueError, match="already registered as pytree node"):
            pytree.register_pytree_node(Pair, None, None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="Please pass a flatten_with_keys_fn"):
            pytree.tree_leaves_with_path(Pair(1, 2))
    finally:
        pytree._deregister_pytree_node(Pair)
        pytree._deregister_pytree_node(Data)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])), ValueError,
     "`leaves` has length 1 but the spec refers to a pytree that holds 2"),
    (lambda: pytree.tree_unflatten([1], 3), TypeError,
     "Expected `treespec` to be an instance of PyTreeSpec but got item of type <class 'int'>."),
    (lambda: pytree.tree_map(max, [1, 2], [1]), ValueError, "Node arity mismatch; expected 2, but got 1."),
    (lambda: pytree.tree_map(max, [1, 2], {}), ValueError, "Node type mismatch; expected <class 'list'>, but got <class 'dict'>."),
    (lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}), ValueError, "Node keys mismatch; missing key"),
])
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
