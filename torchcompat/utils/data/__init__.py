"""torch.utils.data: datasets, samplers, and the loader that makes batches of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._calls.absent import absent as _absent
from . import _utils as _utils
from .dataloader import DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate", "default_convert", "get_worker_info", "random_split",
]

if TYPE_CHECKING:
    from . import datapipes as datapipes, graph as graph, graph_settings as graph_settings
    from .datapipes._decorator import (
        argument_validation as argument_validation, functional_datapipe as functional_datapipe,
        guaranteed_datapipes_determinism as guaranteed_datapipes_determinism, non_deterministic as non_deterministic,
        runtime_validation as runtime_validation, runtime_validation_disabled as runtime_validation_disabled,
    )
    from .datapipes.datapipe import (
        DataChunk as DataChunk, DFIterDataPipe as DFIterDataPipe, IterDataPipe as IterDataPipe, MapDataPipe as MapDataPipe,
    )

_PIPES = {  # by the module that has them, which is loaded when one is asked for
    "datapipes.datapipe": ("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"),
    "datapipes._decorator": (
        "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
        "runtime_validation_disabled"),
}


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in ("datapipes", "graph", "graph_settings"):
            return import_module(f".{name}", __name__)
        for module, names in _PIPES.items():
            if name in names:
                import_module(".datapipes", __name__)  # whose steps are methods of all pipes
                return getattr(import_module(f".{module}", __name__), name)
        raise _absent(__name__, name)
