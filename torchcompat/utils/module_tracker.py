"""Which modules run, in forward and in backward passes."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

if TYPE_CHECKING:
    from autograd_tape.node import RemovableHandle

__all__ = ["ModuleTracker"]

logger = logging.getLogger("torch.utils.module_tracker")


class ModuleTracker:
    """Inside, `parents` holds the names of the modules that run, "Net.layer.0", and "Global".

    In a backward pass a module runs from when the gradients of its results are there to when those of its inputs are; with inputs that need
    none it runs to the end.
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known_modules: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen_modules: weakref.WeakSet[Module] = weakref.WeakSet()
        self._has_callback = False
        self._hooks: list[RemovableHandle] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs."""
        from .._C import _current_graph_task_id

        return _current_graph_task_id() != -1

    def _get_mod_name(self, mod: Module) -> str:
        name = self._known_modules.setdefault(mod, type(mod).__name__)
        if mod not in self._seen_modules:
            for inner, module in mod.named_children():
                self._known_modules[module] = f"{name}.{inner}"
                self._get_mod_name(module)
            self._seen_modules.add(mod)
        return name

    def _enters(self, name: str, is_bw: bool) -> None:
        if is_bw and not self._has_callback:
            def ended() -> None:
                self.parents, self._has_callback = {"Global"}, False

            Variable._execution_engine.queue_callback(ended)
            self._has_callback = True
        if name in self.parents:
            logger.info("The module hierarchy tracking seems to be broken as this Module was already entered. %s during %s", name,
                        "backward" if is_bw else "forward")
        self.parents.add(name)

    def _leaves(self, name: str, is_bw: bool) -> None:
        if name not in self.parents:
            logger.info("The Module hierarchy tracking is confused as we're exiting a Module that was never entered. %s during %s", name,
                        "backward" if is_bw else "forward")
        self.parents.discard(name)

    def _at_gradients(self, values: object, name: str, enters: bool) -> None:
        """In the backward pass, the module enters or leaves when the gradients of these tensors are there."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            notes = self._enters if enters else self._leaves
            self._hooks.append(register_multi_grad_hook(tensors, lambda gradients: notes(name, True)))

    def _fw_pre_hook(self, mod: Module, input: object) -> None:
        name = self._get_mod_name(mod)
        self._enters(name, False)
        self._at_gradients(input, name, False)

    def _fw_post_hook(self, mod: Module, input: object, output: object) -> None:
        name = self._get_mod_name(mod)
        self._leaves(name, False)
        self._at_gradients(output, name, True)

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._fw_pre_hook), register_module_forward_hook(self._fw_post_hook)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handles in (self._handles, self._hooks):
            for handle in handles:
                handle.remove()
        self._hooks.clear()


_absences(__name__)
