"""Conjugate and negative views: tensors whose memory holds the conjugates, or the negatives, of their elements.

`x.conj()` of a complex tensor copies nothing. It is a view of the same memory whose *kind* carries a `Bits`; no quiet set holds such a
kind, so its operations go the general path, where `resolve_arguments` gives them the values. Operations that make views hand the bits on,
in-place operations write through them. Nothing else in the package looks at them, and while no such tensor was made nothing looks at all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.calls import Call, Door, Interceptor, listen_for_good, mapped
from autograd_tape.dtypes import Kind, inference_kind, kind
from autograd_tape.errors import AutogradError
from autograd_tape.held import tensors_in
from autograd_tape.ops import get_record
from autograd_tape.functions.nodes import node_class
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.node import edge_of
from autograd_tape.tensor import LEAF, next_id
from autograd_tape.version import Version

if TYPE_CHECKING:
    from autograd_tape.frontend import Frontend
    from autograd_tape.nodes import ConjBackward0
    from autograd_tape.tensor import TensorRef
    from torchcompat._tensor import Tensor


class Bits:
    """What the memory of a tensor must go through to become its elements. There are three, in `BITS`."""

    __slots__ = ("conj", "neg")

    def __init__(self, conj: bool, neg: bool) -> None:
        self.conj, self.neg = conj, neg

    def __repr__(self) -> str:
        return " ".join([name for name in self.__slots__ if getattr(self, name)])

    def __call__(self, x: Any, F: Any = None) -> np.ndarray:
        """Elements from what memory holds, or back again, which is the same: an array, or a tensor with its front end `F`."""
        if self.conj:
            x = np.conjugate(x) if F is None else F.conj_physical(x)
        if self.neg:
            x = np.negative(x) if F is None else F.neg(x)
        return x


BITS = {(conj, neg): Bits(conj, neg) for conj, neg in ((True, False), (False, True), (True, True))}


def bits_of(t: TensorRef) -> Bits | None:
    """The bits of a tensor, None where it has none."""
    special = t._k.special
    return special if special.__class__ is Bits else None


@lru_cache(256)
def with_bits(k: Kind, conj: bool, neg: bool) -> Kind:
    """The kind that is like `k` but for the bits."""
    return kind(k.dtype, k.device, BITS.get((conj, neg)), k.inference)


def values(t: Any) -> Any:
    """The elements of a tensor as an array: its buffer, unless it has bits; the error of its class where that has no elements."""
    special = t._k.special
    if special.__class__ is Bits:
        return special(t._data)
    if getattr(special, "_hollow", False):
        raise special._without_elements()
    return t._data


def flipped(frontend: Frontend, x: TensorRef, conj: bool, neg: bool) -> Tensor:
    """A view of `x` that is its conjugate, or its negative: the one of the two that is asked for."""
    listen_for_good(RESOLVE)  # calls on such tensors leave the quiet path
    bits = bits_of(x)
    view: Any = object.__new__(frontend.Tensor)
    view._k = with_bits(x._k, conj, neg) if bits is None else with_bits(x._k, conj ^ bits.conj, neg ^ bits.neg)
    view._data, view._node = x._data.view(), None
    mode = grad_mode()
    if mode is GradMode.INFERENCE:
        view._k = inference_kind(view._k)
    frontend.link_view(view, x)
    if x._node is not None and mode is GradMode.ENABLED:
        view._node = _entry("conj_view" if conj else "neg_view", x)
    return view


def _entry(name: str, x: TensorRef) -> ConjBackward0:
    node = node_class(get_record(name))()
    node.id, node.edges, node.saved, node.meta = next_id(), (edge_of(x),), (), None
    return node


def resolved(frontend: Frontend, t: Any) -> Tensor:
    """The elements of a tensor with bits in memory of their own, with the history and the version of the tensor."""
    plain = frontend.wrap(values(t), t._k)
    plain._v = Version.of(t)
    # An entry's edge to a leaf is the leaf itself, which `plain` is not.
    plain._node = t._node if t._node is not LEAF else _entry("clone", t)
    return plain


class _Resolve(Interceptor):
    """Operations on tensors with bits get tensors without, but for those that make views and what is changed in place."""

    place = "bits"
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return not door.irregular

    def __call__(self, call: Call) -> Any:
        args, inplace = call.args, call.inplace
        changed = args[0] if inplace else None
        if not any([bits_of(t) is not None for t in tensors_in(args) if t is not changed]):
            return NotImplemented
        if call.rec.family in ("view", "view?"):
            return _view(call)

        x = args[0]
        if call.rec.name == "clone" and x._node is None and x._data.flags.forc and args[1] is None:
            return call.frontend.wrap(values(x), x._k)  # which are a copy

        def plain(t: TensorRef) -> TensorRef:
            return t if t is changed or bits_of(t) is None else resolved(call.frontend, t)

        return call.proceed((*([changed] if inplace else []), *[mapped(plain, x) for x in args[inplace:]]))


RESOLVE = _Resolve()


def _kept(conj: bool, neg: bool) -> tuple[bool, bool]:
    return conj, neg


def _view(call: Call) -> Tensor:
    """A view of a tensor with bits: of its memory, with the bits that are left."""
    x, frontend = call.args[0], call.frontend
    rec = get_record((call.door.redirect(call.args) or (call.rec.name,))[0])  # `view` of another dtype is `view_dtype`
    bits: Any = bits_of(x)
    found = (rec.field("bits") or _kept)(bits.conj, bits.neg)
    if isinstance(found, str):
        raise frontend.error(AutogradError(found, remedy=f"use resolve_{'conj' if bits.conj else 'neg'}() first"))
    conj, neg = found
    own, x._k = x._k, with_bits(x._k, False, False)
    try:
        result = call.proceed()
    finally:
        x._k = own
    for view in (result if isinstance(result, (tuple, list)) else (result,)):
        if view is x:
            continue
        if view._base is not None:
            view._k = with_bits(view._k, conj, neg)
        else:  # copied
            view._data = bits(view._data)
    return result


def restored(frontend: Any, fresh: Any, bits: Bits | None) -> Any:
    """A view that was made anew of a changed base, with the bits it had."""
    if bits is not None and bits.conj:
        fresh = flipped(frontend, fresh, True, False)
    return flipped(frontend, fresh, False, True) if bits is not None and bits.neg else fresh


def marked(t: Tensor, conj: bool, neg: bool) -> Tensor:
    """A tensor whose memory was filled by others, with bits."""
    listen_for_good(RESOLVE)
    t._k = with_bits(t._k, conj, neg)
    return t
