"""Elements in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torchcompat as torch

from ...sampler import Sampler, SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, _length

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """What a sampler gives for a pipe, which must have a length."""

    def __init__(self, datapipe: IterDataPipe[Any], sampler: type[Sampler[Any]] = SequentialSampler,
                 sampler_args: tuple[Any, ...] | None = None, sampler_kwargs: dict[str, Any] | None = None) -> None:
        if not hasattr(type(datapipe), "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe, self.sampler_args = datapipe, sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return _length(self, self.sampler)[0]


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """Elements drawn from a buffer that the next ones fill; the seed of a pass is drawn from torch's generator, or is `set_seed`'s.

    Args:
        datapipe: the elements.
        buffer_size: how many are held; the order is any where all are.
        unbatch_level: how many levels of batches are taken apart before.
    """

    def __init__(self, datapipe: IterDataPipe[Any], *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        self._buffer: list[Any] = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size, self._enabled = buffer_size, True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether it shuffles; itself."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next pass; itself."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for element in self.datapipe:
            if len(self._buffer) == self.buffer_size:
                i = self._rng.randint(0, len(self._buffer) - 1)
                drawn, self._buffer[i] = self._buffer[i], element
                yield drawn
            else:
                self._buffer.append(element)
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return _length(self, self.datapipe)[0]

    def reset(self) -> None:
        """Empties the buffer, and seeds."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(int(torch.empty((), dtype=torch.int64).random_().item()) if self._seed is None else self._seed)
            self._seed = None
