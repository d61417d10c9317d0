"""What tensors, their front end and their engine ask of modules above their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from autograd_tape.annotations import Fn, Keywords
from autograd_tape.calls import Interceptor


class Above:
    """Functions that higher modules put here when they are imported, or that `later` announces: the one way to them from below."""

    convert: Fn
    parse_to: Fn
    rebuild: Fn
    """`_making.conversion`: `Tensor.to`, its arguments, and the function that pickles of tensors name."""
    legacy_tensor: Fn
    """`_making.legacy`: the constructor."""
    backward_of: Callable[..., None]
    add_grad: Callable[..., None]
    """`autograd.engine`: `Tensor.backward`, and how a gradient is added to `.grad`."""
    register_tensor_hook: Fn
    register_post_accumulate_hook: Fn
    retain_grad: Callable[..., None]
    keep_grad: Callable[..., None]
    """`autograd.hooks`."""
    sparse_methods: Callable[[], Any]
    """`sparse`: the module of what sparse tensors do where others do something else."""
    nested_methods: Callable[[], Any]
    """`nested`: the same of nested tensors."""
    to_mindspore: Fn
    """`_making.mindspore`."""
    operator: Callable[[str], Fn | None]
    """`_calls.aten`: the operator of a name, None where there is none."""
    rebuilder: Callable[[str], Fn]
    """`_files.rebuild`: the functions that files name, by name."""
    load_program: Fn
    """`jit`: the module of an archive of TorchScript."""
    look_for_dispatch: Callable[[], None]
    make_wrapper_subclass: Fn
    of_wrapper: Fn
    without_dispatch: Callable[[], AbstractContextManager[None]]
    """`utils._python_dispatch`: classes with `__torch_dispatch__`."""
    parse_schema: Callable[[str], object]
    """`_library.schema`."""
    of_overload: Callable[[str, object], Any]
    has_overload: Callable[[str, str], bool]
    overloads_of: Callable[[str], list[str]]
    fit_schema: Callable[[object, tuple[object, ...], Keywords], None]
    """`_library.schemas`: what records say of ATen's overloads."""
    overridable_functions: Callable[[], dict[object, list[object]]]
    ignored_functions: Callable[[], frozenset[object]]
    testing_overrides: Callable[[], dict[object, Fn]]
    nowrap_functions: Callable[[], frozenset[object]]
    methods: Callable[[], list[object]]
    name_of: Callable[[object], str | None]
    """`_calls.overridable`: the functions that `__torch_function__` sees."""
    transform: Interceptor
    """`func._transform`: who is asked about calls while there are transforms."""
    jvp: Fn
    vjp: Fn
    vmap: Callable[..., Any]
    """`func`: the transforms."""
    made_like: Callable[[Any, Any], Any]
    restore_tangents: Callable[[Any, int, Any], None]
    """`func`, of examples and of tensors with tangents."""
    lifted: Callable[..., Any] | None = None
    """`utils._python_dispatch`, None until it is imported: what the innermost mode makes of a tensor of the program's own numbers."""
    fill: Callable[..., None] | None = None
    """`_calls.determinism`, None until it is imported: fills memory that nobody wrote."""
    has_tangents: Callable[[Any], bool] | None = None
    transforming_functions: Callable[[], bool] | None = None
    apply_under_transforms: Fn | None = None
    grad_under_transforms: Fn | None = None
    drawn: Callable[..., Any] | None = None
    """`func`, None until it is imported: whether tensors have tangents, whether a function is being transformed on this thread, and what
    `Function.apply`, `autograd.grad` and random numbers do then. NotImplemented, of `grad` None, leaves it to those who ask."""
    compile: Fn
    """`_dynamo.eval_frame`: `torch.compile`."""
    exported_function: Fn | None = None
    """`onnx._custom`, None until it is imported: what `Function.apply` is in a model that is being exported, or NotImplemented."""
    change_levels: Fn | None = None
    """`func._levels`, None until it is imported: puts other transforms in the place of this thread's, and gives those it had."""

    def later(self, module: str, *names: str) -> None:
        """Announces functions of a module that is imported when one of them is first called."""
        def stand_in(name: str) -> Fn:
            def call(*args: object, **kwargs: object) -> Any:
                function = getattr(import_module(f"torchcompat.{module}"), name)
                setattr(self, name, function)
                return function(*args, **kwargs)

            return call

        for name in names:
            setattr(self, name, stand_in(name))


above = Above()
