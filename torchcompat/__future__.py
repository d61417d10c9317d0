"""Switches for behaviour that torch means to change: what module conversions do with parameters."""

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to(...)` and its like put new parameters in place of the old, rather than new data into them."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What `set_overwrite_module_params_on_conversion` set."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accepted: here data is always exchanged in place, which keeps parameters as swapping does."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """What `set_swap_module_params_on_conversion` set."""
    return _swap_module_params_on_conversion
