"""torch._subclasses.meta_utils: meta tensors like given tensors, down to what they share.

>>> import torchcompat as torch
>>> from torchcompat._subclasses.meta_utils import MetaConverter
>>> to_meta, x = MetaConverter(), torch.ones(3, 4)
>>> row = to_meta(x[1])
>>> row, row.storage_offset(), row._base is to_meta(x)
(tensor(..., device='meta', size=(4,)), 4, True)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import torchcompat as torch
from autograd_tape.dtypes import Device, kind
from autograd_tape.executors.meta import meta_array
from autograd_tape.strided import owner_of

from .._calls.absent import absences as _absences
from .._memory.bits import Bits
from .._tensor import Tensor, _blank, carries_out
from ..autograd.grad_mode import enable_grad, no_grad
from ..storage import view_of
from ..utils.weak import WeakIdKeyDictionary

_META = Device("meta")
Making = Callable[[Callable[[], Tensor]], Any]


class MetaConverter:
    """Calling it gives a meta tensor like a given one: of its size, strides, dtype and offset; what shares memory goes on sharing it, views
    are views of what their bases became, leaves are leaves, and gradients come along.

    Attributes:
        tensor_memo: what tensors became, by the tensors, as long as both are there.
        storage_memo: what memory became, by its identity: (the memory, what it became), weakly.
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        self.tensor_memo: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self.storage_memo: dict[int, tuple[weakref.ref[np.ndarray], weakref.ref[np.ndarray]]] = {}
        self.hit = self.miss = self.arg_cnt = 0

    def successful(self) -> bool:
        """Whether tensors were given, and all of them could be had."""
        return self.hit > 0 and self.miss == 0

    def check_for_expired_weak_storages(self) -> None:
        """Forgets memory that is gone."""
        self.storage_memo = {key: refs for key, refs in self.storage_memo.items() if refs[0]() is not None and refs[1]() is not None}

    def __call__(self, t: Any, shape_env: object = None, *, callback: Making | None = None, source: object = None,
                 symbolic_context: object = None) -> Any:
        """The meta tensor; anything but a tensor as it is; NotImplemented for tensors that are not of strides and memory.

        Args:
            callback: makes the results: it is given a function that makes a meta tensor, and its own are used in the place of these.
        """
        self.arg_cnt += 1
        if not isinstance(t, Tensor):
            return t
        if carries_out(type(t)) or t.layout is not torch.strided or t.is_nested or not isinstance(t._data, np.ndarray):
            self.miss += 1
            return NotImplemented
        self.hit += 1
        return self._converted(t, callback or (lambda make: make()))

    def memory_like(self, owner: np.ndarray) -> np.ndarray:
        """What memory becomes: as many bytes of none, the same for the same memory."""
        refs = self.storage_memo.get(id(owner))
        found = None if refs is None or refs[0]() is not owner else refs[1]()
        if found is None:
            found = owner_of(meta_array(owner.shape if owner.flags.c_contiguous else (owner.size,), owner.dtype))
            if len(self.storage_memo) % 64 == 63:
                self.check_for_expired_weak_storages()
            self.storage_memo[id(owner)] = weakref.ref(owner), weakref.ref(found)
        return found

    def _converted(self, t: Tensor, callback: Making) -> Any:
        ref = self.tensor_memo.get(t)
        found = None if ref is None else ref()
        if found is not None:
            return found
        if t._base is not None and t._base is not t:
            made = self._view(t, self._converted(cast("Tensor", t._base), callback))
        else:
            made = callback(lambda: self.like(t))
            if t.requires_grad:
                made.requires_grad = True
                if not t.is_leaf:
                    with enable_grad():
                        made = made.clone()
        if t.is_leaf and t.requires_grad and not made.requires_grad:
            made.requires_grad = True
        given = getattr(t, "_grad", None)
        if given is not None:
            made.grad = self._converted(given, callback)
        self.tensor_memo[t] = weakref.ref(made)
        return made

    def like(self, t: Tensor) -> Tensor:
        """A meta tensor of the geometry of `t`, over what its memory became."""
        data: np.ndarray = t._data
        bits = t._k.special if isinstance(t._k.special, Bits) else None
        if t._k.device.type == "meta":
            return _blank(Tensor, data, t._k)
        memory = self.memory_like(owner_of(data))
        array = view_of(torch.UntypedStorage.of(memory, _META), t.dtype, t.storage_offset(), t.shape, t.stride())
        return _blank(Tensor, array, kind(t.dtype, _META, bits))

    def _view(self, t: Tensor, base: Tensor) -> Tensor:
        """The view of what the base of `t` became."""
        if t.is_leaf or not t.requires_grad:
            with no_grad():
                made = self._look(t, base)
        else:
            with enable_grad():
                made = self._look(t, base)
        return made

    @staticmethod
    def _look(t: Tensor, base: Tensor) -> Tensor:
        if base.dtype is not t.dtype:
            base = torch.view_as_real(base) if base.dtype.is_complex and not t.dtype.is_complex else \
                torch.view_as_complex(base) if t.dtype.is_complex and not base.dtype.is_complex else base.view(t.dtype)
        made = base.as_strided(t.shape, t.stride(), t.storage_offset())
        if t.is_conj():
            made = made.conj()
        return made._neg_view() if t.is_neg() else made


def assert_eq(a: object, b: object) -> None:
    """AssertionError where two are not equal."""
    if a != b:
        raise AssertionError(f"{a} != {b}")


def assert_metadata_eq(assert_eq: Callable[[Any, Any], object], m1: Tensor, m2: Tensor, *, skip_symbolic: bool = False,
                       skip_leaf: bool = False) -> None:
    """Holds a tensor to what another tells of itself, but for its device and its elements.

    Args:
        assert_eq: called with the two of each kind: dtypes, sizes, what requires grad, is a leaf or a view, offsets, strides, bits, bases
            and gradients.
        skip_leaf: whether only the first may be a leaf.
    """
    def compared(a: Tensor, b: Tensor) -> None:
        assert_eq(a.dtype, b.dtype)
        if not skip_symbolic:
            assert_eq(a.shape, b.shape)
        assert_eq(a.requires_grad, b.requires_grad)
        if not skip_leaf:
            assert_eq(a.is_leaf, b.is_leaf)
        assert_eq(a.grad_fn is None, b.grad_fn is None)
        assert_eq(a.is_sparse, b.is_sparse)
        assert_eq(a.is_inference(), b.is_inference())
        assert_eq(a.is_conj(), b.is_conj())
        assert_eq(a.is_neg(), b.is_neg())
        grads = getattr(a, "_grad", None), getattr(b, "_grad", None)
        assert_eq(grads[0] is None, grads[1] is None)
        if grads[0] is not None:
            compared(cast("Tensor", grads[0]), cast("Tensor", grads[1]))
        if a.is_sparse:
            return
        if not skip_symbolic:
            assert_eq(a.stride(), b.stride())
            assert_eq(a.storage_offset(), b.storage_offset())
        assert_eq(a._is_view(), b._is_view())
        if a._is_view() and a._base is not None and b._base is not None:
            compared(cast("Tensor", a._base), cast("Tensor", b._base))

    compared(m1, m2)




_absences(__name__)
