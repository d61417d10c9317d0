"""The reductions of losses: names, numbers, and torch's older two flags."""

from __future__ import annotations


from autograd_tape import warned

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def get_enum(reduction: str) -> int:
    """The number of a reduction; ValueError for a name that is none."""
    if reduction == "elementwise_mean":
        warned.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        reduction = "mean"
    try:
        return ("none", "mean", "sum").index(reduction)
    except ValueError:
        raise ValueError(f"{reduction} is not a valid value for reduction") from None


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that `size_average` and `reduce` mean; None stands for True."""
    if reduce is False:
        reduction = "none"
    else:
        reduction = "sum" if size_average is False else "mean"
    if emit_warning:
        warned.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that `size_average` and `reduce` mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
