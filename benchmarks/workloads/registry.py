"""The table of workloads and the inputs they share; needs only NumPy, because both sides import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Setup = Callable[[Any], Callable[[], Any]]


class Workload(NamedTuple):
    """One thing to time: ``setup(torch)`` returns the callable whose calls are timed.

    ``random`` marks results that two correct implementations need not share (dropout), so that only shapes are compared.
    """

    group: str
    section: str
    name: str
    setup: Setup
    random: bool = False

    @property
    def key(self) -> str:
        return f"{self.group}/{self.section}/{self.name}"


_REGISTRY: dict[str, Workload] = {}


def add(group: str, section: str, name: str, setup: Setup, *, random: bool = False) -> None:
    """Enter a workload in the table; a key may be used once."""
    entry = Workload(group, section, name, setup, random)
    if entry.key in _REGISTRY:
        raise ValueError(f"workload {entry.key!r} is registered twice")
    _REGISTRY[entry.key] = entry


def workload(group: str, section: str, name: str, *, random: bool = False) -> Callable[[Setup], Setup]:
    """Decorator form of :func:`add`."""

    def register(setup: Setup) -> Setup:
        add(group, section, name, setup, random=random)
        return setup

    return register


def registered() -> dict[str, Workload]:
    """All workloads by key, in order of registration."""
    return dict(_REGISTRY)


def floats(torch: Any, *shape: int, seed: int = 0, grad: bool = False, positive: bool = False) -> Any:
    """A float32 tensor of normal deviates (their absolute values plus 0.5 if ``positive``), the same on both sides."""
    values = np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)
    if positive:
        values = np.abs(values) + np.float32(0.5)
    tensor = torch.tensor(values)
    return tensor.requires_grad_() if grad else tensor


def integers(torch: Any, high: int, *shape: int, seed: int = 0) -> Any:
    """An int64 tensor of integers in [0, high), the same on both sides."""
    return torch.tensor(np.random.default_rng([seed, high, *shape]).integers(0, high, shape))


def mask(torch: Any) -> Any:
    """An 8x8 bool tensor, about half of it True; made without a comparison, which a library may lack."""
    return torch.tensor(np.random.default_rng(5).standard_normal((8, 8)) > 0)


def fill_parameters(torch: Any, module: Any) -> Any:
    """Give a module's parameters values that do not depend on either side's random numbers; returns the module."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            values = np.random.default_rng([7, number]).standard_normal(tuple(parameter.shape)).astype(np.float32)
            fan_in = int(np.prod(parameter.shape[1:])) if parameter.dim() > 1 else 100
            parameter.copy_(torch.tensor(values / np.sqrt(np.float32(fan_in))))
    return module
