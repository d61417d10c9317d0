"""Passes of loaders over data, with what is drawn from the random generators on the way."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tests.recording import Table

ARGUMENTS: dict[str, dict[str, Any]] = {
    "shuffled": {"shuffle": True}, "with a generator": {"shuffle": True, "generator": 3}, "weighted": {"sampler": [1.0, 2, 3, 4, 5, 6, 7]},
    "in order": {"batch_size": 2}, "full batches": {"shuffle": True, "batch_size": 3, "drop_last": True},
    "one ahead": {"shuffle": True, "prefetch_factor": 1}, "iterable": {"batch_size": 2},
}
CASES = [f"{name}, {workers}{' persistent' * persistent}" for name, (workers, persistent) in itertools.product(
    ARGUMENTS, [(0, False), (1, True), (2, False), (2, True)]) if workers or name != "one ahead"]


def run(torch: Any, case: str) -> list[Any]:
    """What three passes give, and one that is begun again before its end; with numbers drawn in between."""
    name, _, how = case.partition(", ")
    workers = int(how.partition(" ")[0])

    class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
        """Each sample says what was drawn for it."""

        def __len__(self) -> int:
            return 7

        def __getitem__(self, i: int) -> int:
            return i * 1000000 + int(torch.randint(0, 1000, ())) * 1000 + random.randint(0, 999)

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]
        """Three samples from each worker."""

        def __iter__(self) -> Any:
            info = torch.utils.data.get_worker_info()
            for i in range(3):
                yield (info.id if info else 9) * 100000 + i * 10000 + int(torch.randint(0, 999, ()))

    arguments = dict(ARGUMENTS[name])
    torch.manual_seed(5)
    random.seed(5)
    if "generator" in arguments:
        arguments["generator"] = torch.Generator().manual_seed(arguments["generator"])
    if "sampler" in arguments:
        arguments["sampler"] = torch.utils.data.WeightedRandomSampler(arguments["sampler"], 5)
    loader = torch.utils.data.DataLoader(Stream() if name == "iterable" else Numbers(), num_workers=workers,
                                         persistent_workers="persistent" in how, **arguments)
    seen: list[Any] = []
    for _ in range(3):
        batches = iter(loader)
        seen.append(int(torch.randint(0, 10 ** 6, ())))
        seen += [batch.tolist() for batch in batches]
        seen.append(int(torch.randint(0, 10 ** 6, ())))
    next(iter(loader))
    return [*seen, *[batch.tolist() for batch in loader]]


TABLE = Table("loader", CASES, run)
