"""Settings of compiling. They are kept as programs set them; those without an effect on capturing change nothing that is computed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the settings with an effect; the others have none that checkers could see
    disable: bool
    suppress_errors: bool

KNOWN: dict[str, Any] = {
    "accumulated_cache_size_limit": 256, "accumulated_recompile_limit": 256, "allow_ignore_mark_dynamic": False, "allow_rnn": False,
    "allow_unspec_int_on_nn_module": False, "assume_static_by_default": True, "automatic_dynamic_shapes": True, "cache_size_limit": 8,
    "capture_dynamic_output_shape_ops": False, "capture_func_transforms": True, "capture_scalar_outputs": False, "compiled_autograd": False,
    "cprofile": False, "disable": False, "do_not_emit_runtime_asserts": False, "dynamic_shapes": True, "error_on_recompile": False,
    "fail_on_recompile_limit_hit": False, "force_nn_module_property_static_shapes": True, "force_parameter_static_shapes": True,
    "guard_nn_modules": True, "inline_inbuilt_nn_modules": True, "log_file_name": None, "numpy_default_complex": "complex128",
    "numpy_default_float": "float64", "numpy_default_int": "int64", "optimize_ddp": True, "recompile_limit": 8,
    "report_guard_failures": True, "skip_nnmodule_hook_guards": True, "specialize_float": False, "specialize_int": False,
    "suppress_errors": False, "trace_numpy": True, "use_numpy_random_stream": False, "verbose": False,
}
"""torch's names of settings that programs set, and what they are at first."""


class ConfigModule(ModuleType):
    """A module whose attributes are the settings it knows, and no others."""

    _values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"{self.__name__.replace('torchcompat', 'torch')}.{name} does not exist") from None

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        if name not in self._values:
            raise AttributeError(f"{self.__name__.replace('torchcompat', 'torch')}.{name} does not exist")
        self._values[name] = value

    def __dir__(self) -> list[str]:
        return [*self._values, "patch", "shallow_copy_dict"]

    @contextlib.contextmanager
    def patch(self, arg1: str | Mapping[str, Any] | None = None, arg2: object = None, **kwargs: Any) -> Iterator[None]:
        """Inside, or in the function that it decorates, settings are others.

        Raises:
            AttributeError: there is no such setting.
        """
        changes: dict[str, Any] = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or kwargs)
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def shallow_copy_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return dict(self._values)


def install(module: ModuleType, known: Mapping[str, Any]) -> None:
    """Makes a module one of settings."""
    module.__dict__["_values"] = dict(known)
    module.__class__ = ConfigModule


install(sys.modules[__name__], KNOWN)
