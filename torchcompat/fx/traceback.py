"""What is known of the program around an operation, so that nodes made for it can tell: kept where passes carry nodes out again."""

from __future__ import annotations

import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from autograd_tape.annotations import Keywords
from torchcompat._calls.absent import absences as _absences

if TYPE_CHECKING:
    from .node import Node

__all__ = ["annotate", "annotate_fn", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace", "format_stack",
           "set_current_meta", "get_current_meta"]

F = TypeVar("F", bound=Callable[..., Any])
KEPT = ("nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "has_backward_hook", "from_node",
        "quantization_tag", "_numeric_debug_handle", "custom", "partitioner_tag")
"""What new nodes take over of a node's `meta`, besides its stack."""
current_meta: Keywords = {}
should_preserve_node_meta = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A block in which nodes made anew take over what was noted on those that they are made of."""
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta() -> bool:
    """Whether they do."""
    return should_preserve_node_meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """A block in which new nodes are made for `node`, where such notes are preserved."""
    global current_meta
    before = current_meta
    if should_preserve_node_meta and node.meta:
        current_meta = node.meta.copy()
    try:
        yield
    finally:
        current_meta = before


def get_current_meta() -> Keywords:
    """What new nodes take their notes from."""
    return current_meta


def take_over(node: Node) -> None:
    """Gives a new node the notes that are preserved."""
    if should_preserve_node_meta:
        if current_meta.get("stack_trace") and not node.stack_trace:
            node.stack_trace = current_meta["stack_trace"]
        node.meta.update({key: copy.copy(current_meta[key]) for key in KEPT if key in current_meta})


def set_stack_trace(stack: list[str]) -> None:
    """Where new nodes come from, line by line; with no lines, nowhere."""
    if should_preserve_node_meta:
        if stack:
            current_meta["stack_trace"] = "".join(stack)
        else:
            current_meta.pop("stack_trace", None)


def format_stack() -> list[str]:
    """Where new nodes come from: what is noted, or this line of the program."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def annotate(annotation_dict: Keywords) -> Iterator[None]:
    """A block in which nodes that are exported or traced by `make_fx` get these entries under `meta["custom"]`."""
    before = current_meta.get("custom")
    current_meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


def annotate_fn(annotation_dict: Keywords) -> Callable[[F], F]:
    """A decorator: the function is carried out in a block of `annotate`."""
    def decorator(func: F) -> F:
        @functools.wraps(func)
        def wrapper(*args: object, **kwargs: object) -> Any:
            with annotate(annotation_dict):
                return func(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorator


_absences(__name__)
