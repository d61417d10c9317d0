"""Random parameters, and tensors of random sizes, layouts and steps that depend on them: the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

import torchcompat as torch
from autograd_tape.annotations import Fn

from ...._calls.absent import absences as _absences

__all__ = ["Fuzzer", "FuzzedParameter", "ParameterAlias", "FuzzedTensor"]

Parameters = dict[str, Any]


class ParameterAlias:
    """A value that is another parameter's."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A random parameter.

    Args:
        minval, maxval: its bounds, both included.
        distribution: "uniform", "loguniform", or probabilities by value.
        strict: whether it keeps its value while others are drawn anew.

    Raises:
        AssertionError: the distribution is none.
    """

    def __init__(self, name: str, minval: float | None = None, maxval: float | None = None,
                 distribution: str | dict[Any, float] | None = None, strict: bool = False) -> None:
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        self._distribution = distribution
        if not isinstance(distribution, dict):
            if distribution not in ("loguniform", "uniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
            return
        if any([p < 0 for p in distribution.values()]):
            raise AssertionError("Probabilities cannot be negative")
        if not abs(sum(distribution.values()) - 1) > 1e-5:  # so says torch, whose check is the wrong way round
            raise AssertionError("Distribution is not normalized")
        for bound, value in (("minval", minval), ("maxval", maxval)):
            if value is not None:
                raise AssertionError(f"When passing a custom distribution, '{bound}' must be None")

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """A value."""
        low: Any = self._minval
        high: Any = self._maxval
        if isinstance(self._distribution, dict):
            values = [*self._distribution]
            return values[state.choice(np.arange(len(values)), p=tuple(self._distribution.values()))]
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=np.log2(low), high=np.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class FuzzedTensor:
    """A random tensor.

    Args:
        size, steps: numbers, or names of parameters; a step takes every so many elements of a larger tensor.
        probability_contiguous: of its dimensions being in order in memory.
        min_elements, max_elements, max_allocation_bytes: bounds of what is drawn.
        dim_parameter: the parameter that says how many dimensions it has.
        tensor_constructor: makes it of `size`, `dtype` and the parameters.
    """

    def __init__(self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None,
                 probability_contiguous: float = 0.5, min_elements: int | None = None, max_elements: int | None = None,
                 max_allocation_bytes: int | None = None, dim_parameter: str | None = None, roll_parameter: str | None = None,
                 dtype: torch.dtype = torch.float32, cuda: bool = False, tensor_constructor: Fn | None = None) -> None:
        self._name, self._size, self._steps, self._probability_contiguous = name, size, steps, probability_contiguous
        self._min_elements, self._max_elements, self._max_allocation_bytes = min_elements, max_elements, max_allocation_bytes
        self._dim_parameter, self._dtype, self._cuda, self._tensor_constructor = dim_parameter, dtype, cuda, tensor_constructor

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: tuple[int, ...], dtype: torch.dtype, **kwargs: object) -> torch.Tensor:
        """Uniform numbers from 0 to 1; whole ones from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(size=size, dtype=dtype, device="cpu")
        return torch.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _make_tensor(self, params: Parameters, state: np.random.RandomState) -> tuple[torch.Tensor, dict[str, object]]:
        size, steps, allocated = self._get_size_and_steps(params)
        whole = (self._tensor_constructor or self.default_tensor_constructor)(size=allocated, dtype=self._dtype, **params)
        if self._cuda:
            whole = whole.cuda()
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.all(order == np.arange(len(size))):
                order = state.permutation(whole.dim())
            whole = whole.permute(tuple(order)).contiguous().permute(tuple(np.argsort(order)))
        tensor = whole[tuple([slice(0, n * step, step) for n, step in zip(size, steps)])]
        return tensor, {"numel": int(tensor.numel()), "order": order, "steps": steps, "is_contiguous": tensor.is_contiguous(),
                        "dtype": str(self._dtype)}

    def _get_size_and_steps(self, params: Parameters) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values: tuple[str | int, ...]) -> tuple[int, ...]:
            return (*[params.get(v, v) for v in values], *[1] * dim)[:max(dim, 0)]  # type: ignore[arg-type]  # numbers are no names

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple([n * step for n, step in zip(size, steps)])

    def satisfies_constraints(self, params: Parameters) -> bool:
        """Whether it is within its bounds with these parameters."""
        size, _, allocated = self._get_size_and_steps(params)
        elements, nbytes = prod([int(n) for n in size]), prod([int(n) for n in allocated]) * self._dtype.itemsize
        if elements < 0:
            raise AssertionError("Computed number of elements is negative")
        return not (self._max_elements is not None and elements > self._max_elements
                    or self._min_elements is not None and elements < self._min_elements
                    or self._max_allocation_bytes is not None and nbytes > self._max_allocation_bytes)


class Fuzzer:
    """Draws parameters until they fit, and makes the tensors.

    Args:
        parameters, tensors: of them, or lists of them.
        constraints: functions of the parameters that say whether they fit.
        seed: of everything; a random one where None.

    Raises:
        ValueError: a parameter and a tensor have the same name.
    """

    def __init__(self, parameters: Iterable[Any], tensors: Iterable[Any], constraints: Iterable[Callable[..., bool]] | None = None,
                 seed: int | None = None) -> None:
        self._seed = int(np.random.RandomState().randint(0, 2 ** 32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters: tuple[FuzzedParameter, ...] = self._unpack(parameters, FuzzedParameter)
        self._tensors: tuple[FuzzedTensor, ...] = self._unpack(tensors, FuzzedTensor)
        self._constraints, self._rejections, self._total_generated = [*(constraints or ())], 0, 0
        both = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")

    @staticmethod
    def _unpack(values: Iterable[Any], cls: type) -> tuple[Any, ...]:
        return tuple([one for value in values for one in ([value] if isinstance(value, cls) else value)])

    def take(self, n: int) -> Iterator[tuple[dict[str, torch.Tensor], dict[str, dict[str, object]], Parameters]]:
        """(tensors, what is known of each, parameters), so often."""
        state = np.random.RandomState(self._seed)
        torch.manual_seed(state.randint(low=0, high=2 ** 63, dtype=np.int64))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {name: tensor for name, (tensor, _) in made.items()}, {name: known for name, (_, known) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The part of what was drawn that did not fit."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: np.random.RandomState) -> Parameters:
        kept: Parameters = {}
        for _ in range(1000):
            drawn: Parameters = {}
            for p in self._parameters:
                drawn[p.name] = kept[p.name] if p.name in kept else p.sample(state)
                if p.strict:
                    kept[p.name] = drawn[p.name]
            params = self._resolve_aliases(drawn)
            self._total_generated += 1
            if all([fits(params) for fits in self._constraints]) and all([t.satisfies_constraints(params) for t in self._tensors]):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")

    @staticmethod
    def _resolve_aliases(params: Mapping[str, Any]) -> Parameters:
        """Parameters with the values of those that they name. ValueError where they name each other."""
        found, open_ = dict(params), -1
        while (left := [k for k, v in found.items() if isinstance(v, ParameterAlias)]) and len(left) != open_:
            open_ = len(left)
            for k in left:
                found[k] = found[found[k].alias_to]
        if left:
            raise ValueError(f"ParameterAlias cycle detected\n{found}")
        return found


_absences(__name__)
