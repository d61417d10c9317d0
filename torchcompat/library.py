"""torch.library: operations that programs register, and kernels for those that are there.

A function becomes an operation (`custom_op`), or one is defined by its schema (`Library.define`, `define`) and gets its kernels one by
one (`impl`, `register_kernel`). Like all operations it has a record and a door: modes, profiles, tapes, autocast and transforms see it
under its full name, and `torch.ops.mylib.sin` finds it.

>>> import torchcompat as torch
>>> torch.library.define("doc::plus", "(Tensor x, float y) -> Tensor")
>>> @torch.library.impl("doc::plus", "cpu")
... def plus(x, y):
...     return x + y
>>> torch.ops.doc.plus(torch.ones(2), 2)
tensor([3., 3.])
"""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any, NoReturn
from collections.abc import Callable, Iterator, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType

from ._calls.autocast import is_autocast_available
from ._library.autograd import Formula, autograd_kernel
from ._library.check import opcheck
from ._library.custom_ops import CustomOpDef, custom_op, opdef_of, set_autocast, set_rule, set_vmap
from ._library.infer_schema import infer_schema
from ._library.libraries import Library, SafeKernelFunction, computed_kernel, device_key, fallthrough_kernel, get_ctx
from ._library.operator import EXPLICIT, lookup, parse_qualname
from ._library.tag import Tag
from ._calls.aten import OpOverload
from ._calls.keys import KEYS, DispatchKey

if TYPE_CHECKING:
    from torchcompat._library.schema import FunctionSchema

__all__ = ["Library", "impl", "define", "fallthrough_kernel", "impl_abstract", "register_autocast", "register_autograd", "register_fake",
           "register_kernel", "register_torch_dispatch", "register_vmap", "get_ctx", "get_kernel", "custom_op", "triton_op",
           "wrap_triton", "infer_schema", "opcheck"]

_kept: list[Library] = []  # what functions register without a Library stays
_NAMELESS = re.compile(r"\(.*\) -> .*")


def _library(qualname: str, lib: Library | None) -> Library:
    namespace, _ = parse_qualname(qualname)
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    return lib


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library for a block."""
    lib = Library(ns, kind, dispatch_key)
    try:
        yield lib
    finally:
        lib._destroy()


@functools.singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: object = ()) -> None:
    """Defines an operation: `define("mylib::sin", "(Tensor x) -> Tensor")`. As `define(lib, "sin(Tensor x) -> Tensor")` it is a decorator
    of the function that says what the operation is made of.

    Raises:
        ValueError: the name or the schema are of another form.
        RuntimeError: the operation is there already.
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    used = _library(qualname, lib)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError('define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
                         f'"{schema}"')
    used.define(parse_qualname(qualname)[1] + schema, tags=tags)


@define.register
def _(lib: Library, schema: str, alias_analysis: str = "") -> Any:
    def decorate(function: Fn) -> Fn:
        lib.impl(lib.define(schema, alias_analysis), function)
        return function

    return decorate


@functools.singledispatch
def impl(qualname: Any, types: str | Sequence[str], func: Callable[..., Any] | None = None, *, lib: Library | None = None) -> Any:
    """Has a function carry out an operation for types of devices ("cpu", "default" for all), or at dispatch keys. A decorator where `func`
    is left out, also as `impl(lib, "sin", "CPU")`.

    Raises:
        RuntimeError: there is no such device.
    """
    keys = {t if t in KEYS else device_key(t) for t in ([types] if isinstance(types, str) else types)}

    def register(func: Fn) -> None:
        used = _library(qualname, lib)
        for key in keys:
            used.impl(qualname, func, key)

    return register if func is None else register(func)


@impl.register
def _(lib: Library, name: str, dispatch_key: str = "") -> Any:
    def decorate(function: Fn) -> Fn:
        lib.impl(name, function, dispatch_key)
        return function

    return decorate


def _resolved(op: object, function: str) -> CustomOpDef | str:
    """What `custom_op` made of an operation, or else its full name."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")
    return opdef_of(op) or (op if isinstance(op, str) else op._name)


def register_kernel(op: object, device_types: str | Sequence[str] | None, func: Callable | None = None, /, *,
                    lib: Library | None = None) -> Any:
    """Has a function carry out an operation for types of devices, or with None for all that have no other kernel."""
    found = _resolved(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, EXPLICIT if device_types is None else device_types, func, lib=lib)


def register_fake(op: str, func: Callable | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1,
                  allow_override: bool = True) -> Fn:
    """Has a function make an operation's results for tensors without data, on the device "meta"."""
    found = _resolved(op, "register_fake")
    if isinstance(found, CustomOpDef):
        return found.register_fake if func is None else found.register_fake(func)

    def register(func: Fn) -> Callable[..., Any]:
        _library(found, lib)._register_fake(parse_qualname(found)[1], func, _stacklevel + 1, allow_override=allow_override)
        return func

    return register if func is None else register(func)


def impl_abstract(qualname: str, func: Fn | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Fn:
    """The old name of `register_fake`."""
    warned.warn("`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
                "`torch.library.impl_abstract` in a future version of PyTorch.", FutureWarning)
    return register_fake(qualname, func, lib=lib, _stacklevel=_stacklevel + 1)


def _no_keyword_tensors(function: str, schema: FunctionSchema) -> None:
    if any([a.kwarg_only and a.type.is_tensor for a in schema.arguments]):
        raise NotImplementedError(f"{function} with kwarg-only Tensor args. In the original definition of the op, please make your "
                                  "tensors not "
                                  f"kwarg-only. Got: {schema}")


def register_autograd(op: str, backward: Fn, /, *, setup_context: Callable | None = None,
                      lib: Library | None = None) -> None:
    """Gives an operation a gradient: `backward(ctx, *grads)` returns one per argument, None where there is none. `setup_context(ctx,
    inputs, output)` saves what it needs.

    Raises:
        RuntimeError: the operation changes its arguments, or returns nothing, or views.
    """
    found = _resolved(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        return found.register_autograd(backward, setup_context=setup_context)
    operator = lookup(found)
    schema = operator.schema
    if Tag.out in operator.tags:
        raise RuntimeError(f"Cannot register autograd formula for operator tagged with torch.Tag.out: {operator.overload}. Out variants "
                           "do not "
                           "support autograd.")
    if not schema.is_functional():
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {operator.overload} with schema {schema}. "
                           "Please create "
                           "a functional operator and register an autograd formula for that.")
    _no_keyword_tensors("register_autograd", schema)
    formula = Formula()
    formula.backward, formula.setup_context = backward, setup_context
    _library(found, lib)._impl(parse_qualname(found)[1], autograd_kernel(operator, formula), "Autograd", whole=True)


def register_vmap(op: str, func: Callable | None = None, /, *, lib: Library | None = None) -> Fn:
    """Has `func(info, in_dims, *args)` carry out an operation for batches of examples; it returns (outputs, out_dims)."""
    found = _resolved(op, "register_vmap")
    if not isinstance(found, CustomOpDef):
        _no_keyword_tensors("register_vmap", lookup(found).schema)
    return set_vmap(found if isinstance(found, str) else found._qualname, func)


def register_torch_dispatch(op: str, torch_dispatch_class: type, func: Callable | None = None, /, *,
                            lib: Library | None = None) -> Fn:
    """Has `func(mode or class, func, types, args, kwargs)` carry out an operation for a `TorchDispatchMode`, or a class of tensors with
    `__torch_dispatch__`, in place of what that says."""
    found = _resolved(op, "register_torch_dispatch")
    return set_rule(found if isinstance(found, str) else found._qualname, torch_dispatch_class, func)


def register_autocast(op: str | CustomOpDef, device_type: str, cast_inputs: DType, /, *, lib: Library | None = None) -> None:
    """Has autocast cast the floating-point tensors among an operation's arguments to a dtype.

    Raises:
        ValueError: there is no autocast for such a device.
    """
    found = _resolved(op, "register_autocast")
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    set_autocast(found if isinstance(found, str) else found._qualname, device_type, cast_inputs)


def get_kernel(op: Any, dispatch_key: Any) -> SafeKernelFunction:
    """What carries out an operation at a key, to be called as `call_boxed(keyset, *args)`: for kernels that leave some calls to the one
    that was there before.

    >>> import torchcompat as torch
    >>> sin = get_kernel("aten::sin", "CPU")
    >>> lib = Library("aten", "IMPL")
    >>> lib.impl("sin", lambda keys, x: sin.call_boxed(keys, x) if (x < 0).any() else torch.zeros_like(x), "CPU", with_keyset=True)
    >>> torch.sin(torch.ones(1)), torch.sin(-torch.ones(1))
    (tensor([0.]), tensor([-0.8415]))
    >>> lib._destroy()

    Raises:
        ValueError: there is no such key.
        RuntimeError: there is no such operation, or no kernel.
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    if isinstance(dispatch_key, str) and dispatch_key not in DispatchKey.__members__:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    return computed_kernel(op if isinstance(op, str) else op._name, getattr(dispatch_key, "name", dispatch_key))


def _no_triton() -> NoReturn:
    raise ModuleNotFoundError("No module named 'triton'", name="triton")


def wrap_triton(triton_kernel: object, /) -> NoReturn:
    """Raises: there is no Triton."""
    _no_triton()


def triton_op(name: str, fn: Fn | None = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """An operation made of others; of Triton's kernels there are none."""
    def make(fn: Fn) -> object:
        made = custom_op(name, fn, mutates_args=mutates_args, schema=schema)
        made._lib.impl(made._name, fn, "CompositeImplicitAutograd")
        return made

    return make if fn is None else make(fn)
