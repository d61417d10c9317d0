"""Where calls on sparse tensors are met: one interceptor, which finds what carries out the operation in a table, or refuses it.

There are two kinds of entries in the tables. A *kernel* is given tensors whose history does not concern it, and returns fresh ones; the
call is then recorded as any other of the operation, so that the record's own formulas are the gradient: they work on tensors, sparse or
not, and refuse what they cannot do with them. A *composite* is the operation made of others, which record themselves.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Callable, Iterable

import numpy as np

from autograd_tape.annotations import Fn, Functions
from autograd_tape.calls import Door, Interceptor
from autograd_tape.dtypes import SCALAR_TYPE_NAMES
from autograd_tape.engine import on_tensors
from autograd_tape.modes import GradMode, _mode, aside, grad_mode
from autograd_tape.tensor import TensorRef
from autograd_tape.tensor import above as of_the_tape

from .._calls.aten import plan_of
from .._memory.layout import layout, sparse_coo
from .._tensor import Tensor, frontend

Table = dict[str, tuple[str, Callable[..., Any]]]
COO: Table = {}
COMPRESSED: Table = {}
"""What carries out operations by name, with an underscore in place: ("composite", "kernel", or "view" where a
kernel's results look at the memory of its first argument; the function). Where several are given
sparse tensors of both families, the first decides."""


def _entering(sort: str, tables: Iterable[Table], names: tuple[str, ...]) -> Callable[[Fn], Fn]:
    def enter(function: Fn) -> Fn:
        for table in tables:
            for name in names:
                table[name] = sort, function
        return function

    return enter


def kernel(*names: str, on: Iterable[Table] = (COO,), views: bool = False) -> Callable[[Fn], Fn]:
    """Says that a function carries out the operations of these names; see above."""
    return _entering("view" if views else "kernel", on, names)


def composite(*names: str, on: Iterable[Table] = (COO,)) -> Callable[[Fn], Fn]:
    """Says that a function makes the operations of these names of others; see above."""
    return _entering("composite", on, names)


class unrecorded:
    """A block whose operations are a kernel's: neither graphs nor tapes keep them."""

    def __enter__(self) -> None:
        self.before, self.aside = grad_mode(), aside()
        self.aside.__enter__()
        _mode.set(GradMode.DISABLED)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.before)
        self.aside.__exit__(*exc)


def first_sparse(args: Iterable[Any]) -> Any:
    """The first sparse tensor among arguments, and in lists of them; None where there is none."""
    for a in args:
        if isinstance(a, TensorRef):
            if a._k.special.__class__ is layout:
                return a
        elif a.__class__ is tuple or a.__class__ is list:
            found = first_sparse(a)
            if found is not None:
                return found
    return None


class _Sparse(Interceptor):
    """Carries out operations on sparse tensors."""

    place = "sparse"
    all_functions = False
    frontend = frontend

    def meet(self, door: Door, args: tuple[Any, ...], out: Any, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> object:
        x = first_sparse(args)
        if x is None:
            x = first_sparse((out,))
            if x is None:
                return NotImplemented
        table, name = COO if x._k.special is sparse_coo else COMPRESSED, door.rec.name
        sort, function = table.get(name + "_" * inplace) or table.get(name) or ("composite", None)
        if function is None:
            if door.irregular:
                return NotImplemented  # what it is made of comes here
            target = door.redirect(args)
            if target is None:
                raise refusal(door, args, x, inplace)
            found = getattr(frontend, target[0] + "_" * inplace)(*target[1])
        elif sort == "composite":
            found = function(*args)
        else:
            return _carried_out(door, function, args, out, inplace, sort == "view")
        return found if out is None else given(out, found)


SPARSE = _Sparse()


def _carried_out(door: Any, function: Any, args: tuple[Any, ...], out: Any, inplace: bool, views: bool) -> Any:
    """A call that a kernel carries out."""
    assert not door.irregular, f"{door.rec.name} is made of others: whoever carries it out says what its gradient is"
    values, tensors = door.arguments(args, inplace)
    target = values[door.rec.params[0].name] if inplace else None
    if target is not None:
        frontend.check_inplace(target, tensors[1:])

    def compute() -> Any:
        with unrecorded():
            return function(*values.values())

    if target is None:
        made = compute()
        made = made if isinstance(made, (tuple, list)) else (made,)
        found = door.carried_out(values, tensors, made, views)
        return found if out is None else given(out, found)
    if target._k.special.__class__ is layout:
        return door.changed_elsewhere(values, tensors, lambda: put(target, compute()), lambda t: frontend.wrap(t._data.copy()))
    return door.changed_elsewhere(values, tensors, lambda: compute(), lambda t: frontend.wrap(t._data.copy(), t._k))


def put(target: Tensor, result: Tensor) -> None:
    """Gives a sparse tensor the elements of a fresh one, in the memory it has where the indices are the same."""
    castable(result, target)
    buffer, own = result._data, target._data
    if buffer is own:
        return
    if result._k.special is target._k.special and all([a is b for a, b in zip(buffer.parts()[:-1], own.parts()[:-1])]) \
            and buffer.values._data.shape == own.values._data.shape:
        np.copyto(own.values._data, buffer.values._data, casting="unsafe")
        own.values._v is None or frontend.bump(own.values)
    else:
        target._data = buffer.astype(target._k.np, copy=False)


def given(out: Any, found: Any) -> Any:
    """Writes a result into `out`, sparse or not, or several into several, and returns that."""
    if isinstance(out, (tuple, list)):
        return found.__class__(*[given(o, f) for o, f in zip(out, found)])  # a tuple with names
    if out._k.special.__class__ is not layout and found._k.special.__class__ is not layout:
        return frontend.write_out(None, out, (found,))
    if out._k.special is not found._k.special:
        raise RuntimeError(f"Expected out tensor to have layout {found.layout}, but got {out.layout} instead")
    castable(found, out)
    out._data = found._data.astype(out._k.np, copy=False)
    frontend.bump(out)
    return out


def castable(result: Tensor, target: Tensor) -> None:
    """Raises where a result's numbers would lose their kind in another tensor."""
    if result._k.dtype.category > target._k.dtype.category:
        raise RuntimeError(f"result type {SCALAR_TYPE_NAMES[result._k.dtype.name]} can't be cast to the desired output type "
                           f"{SCALAR_TYPE_NAMES[target._k.dtype.name]}")


# -- refusals -----------------------------------------------------------------------------------------------------------------

_ATEN = {"remainder.Scalar": "remainder.Tensor"}
"""Where torch refuses a call by another name than ATen has for it."""


def could_not_run(name: str, backend: str) -> NotImplementedError:
    """torch's error for an operation that a backend does not have."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because the operator doesn't exist "
        "for this "
        "backend, or was omitted during the selective/custom build process (if using custom build). If you are a Facebook employee using "
        "PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
        f"'aten::{name}' is only available for these backends: [CPU, Meta].")


def aten_name(door: Any, args: tuple[Any, ...], inplace: bool) -> str:
    """What ATen calls the operation of a call, with its overload: "gt.Scalar"."""
    values, _ = door.arguments(args, inplace)
    func = plan_of(door).form(values, "_" * inplace)[0]
    name = str(func).removeprefix("aten.").removesuffix(".default")
    return _ATEN.get(name, name)


def refusal(door: Door, args: tuple[Any, ...], x: Tensor, inplace: bool) -> Exception:
    """The error of an operation that has no meaning for sparse tensors, or that torch does not have for them."""
    if x._k.special is not sparse_coo and (door.rec.family in ("unary", "binary") or door.rec.broadcasts):
        return RuntimeError(f"unsupported tensor layout: Sparse{x._k.special.name[7:].capitalize()}")
    return could_not_run(aten_name(door, args, inplace), "SparseCPU" if x._k.special is sparse_coo else "SparseCsrCPU")


def _sparse_class(plain: Any, inputs: Iterable[Any], outputs: Iterable[Any]) -> Any:
    """The class of entries that keep sparse tensors: formulas work on tensors, also where gradients are buffers."""
    if first_sparse(inputs) is None and first_sparse(outputs) is None:
        return None
    cls = _classes.get(plain)
    if cls is None:
        cls = _classes[plain] = type(plain.__name__, (plain,), {"__slots__": (), "__module__": plain.__module__, "raw": _raw})
    return cls


_classes: dict[type, type] = {}


def _raw(self: Any, grad: Any, F: Functions) -> Any:
    return on_tensors(self, grad)


of_the_tape.entry_classes.append(_sparse_class)
