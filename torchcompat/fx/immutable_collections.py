"""Lists and dictionaries that are arguments of nodes: to be replaced, never changed, since nodes count their users by them."""

from __future__ import annotations

from typing import Any, NoReturn

from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import (
    SequenceKey, MappingKey, register_pytree_node,
)

__all__ = ["immutable_dict", "immutable_list"]


def _refusing(kind: str) -> Any:
    def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"{kind!r} object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node "
                        "object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
                        "    new_args = ...  # copy and mutate args\n    node.args = new_args")

    return refuse


class immutable_list(list[Any]):
    """A list that refuses to change."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refusing("immutable_list")
    __delitem__ = __iadd__ = __imul__ = __setitem__ = append

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that refuses to change."""

    clear = pop = popitem = setdefault = update = _refusing("immutable_dict")
    __delitem__ = __ior__ = __setitem__ = clear

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)


register_pytree_node(immutable_list, lambda xs: (list(xs), None), lambda xs, _: immutable_list(xs),
                     flatten_with_keys_fn=lambda xs: ([(SequenceKey(i), x) for i, x in enumerate(xs)], None))
register_pytree_node(immutable_dict, lambda d: (list(d.values()), list(d)), lambda xs, keys: immutable_dict(zip(keys, xs)),
                     flatten_with_keys_fn=lambda d: ([(MappingKey(k), x) for k, x in d.items()], list(d)))

_absences(__name__)
