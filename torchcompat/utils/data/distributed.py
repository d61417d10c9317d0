"""Samples divided among processes."""

from __future__ import annotations

from typing import Any

import math
from collections.abc import Iterator

import torchcompat as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """One process's share of a dataset; all shares have the same size.

    Args:
        dataset: what is divided.
        num_replicas, rank: number of processes, and which of them this is; ValueError where None.
        shuffle: in random order, another one after each `set_epoch`.
        seed: of that order, the same in all processes.
        drop_last: leave out samples at the end to make shares equal, rather than repeat some.
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
                 drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:  # of a group of processes, of which there is none
            raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = torch.randperm(n, generator=generator).tolist()
        if len(order) < self.total_size:
            order *= math.ceil(self.total_size / len(order))
        return iter(order[:self.total_size][self.rank::self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Makes the next order another one; to be called before each epoch."""
        self.epoch = epoch
