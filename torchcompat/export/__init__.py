"""torch.export: a module as a graph of the operations of ATen that it carries out, apart from its Python.

>>> import torchcompat as torch
>>> class Double(torch.nn.Module):
...     def forward(self, x):
...         return x * 2
>>> program = torch.export.export(Double(), (torch.ones(2),))
>>> program.module()(torch.tensor([1., 4.]))
tensor([2., 8.])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchcompat._calls.absent import absences as _absences
from torchcompat._dynamo.exc import UserError, UserErrorType
from torchcompat._dynamo.external_utils import exporting
from torchcompat.nn import Module
from torchcompat.utils import _pytree as pytree

from . import exported_program, graph_signature
from ._files import load, save
from ._trace import trace as _traced
from .dynamic_shapes import Constraint, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature

__all__ = ["Constraint", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "ModuleCallEntry",
           "ModuleCallSignature", "ShapesCollection", "default_decompositions", "dims", "export", "load", "register_dataclass", "save"]


def export(mod: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
           dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None, strict: bool = False,
           preserve_module_call_signature: tuple[str, ...] = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """The program of what a module does to arguments: it holds for arguments of their sizes, but for those that may differ.

    >>> import torchcompat as torch
    >>> batch = torch.export.Dim("batch", max=64)
    >>> program = torch.export.export(torch.nn.Flatten(), (torch.ones(3, 2, 2),), dynamic_shapes=({0: batch},))
    >>> program.module()(torch.ones(5, 2, 2)).shape
    torch.Size([5, 4])

    Args:
        dynamic_shapes: what is said of the sizes of arguments, in their structure or by their names: `{0: Dim("batch")}`. The module runs
            at several sizes then.
        args: arguments by position; they, the module's buffers and the state of random numbers are as they were afterwards.
        kwargs: arguments by name.

    Raises:
        ValueError: `mod` is no module.
        UserError: `args` is no tuple.
        TypeError: `forward` takes other arguments.
        RuntimeError: `mod` asks for the value of a tensor.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(UserErrorType.INVALID_INPUT, f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    with exporting():
        return _traced(mod, args, kwargs or {}, dynamic_shapes)


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Lets instances of a dataclass be arguments and results: their fields are taken apart."""
    pytree.register_dataclass(cls)


_absences(__name__)
