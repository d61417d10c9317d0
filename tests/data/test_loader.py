"""What loaders give pass after pass, with what their samplers and workers draw, against torch."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch

from .loader_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_persistent_workers_stay_and_go_on() -> None:
    class Pids(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> int:
            import os

            return os.getpid()

    loader: Any = torch.utils.data.DataLoader(Pids(), num_workers=2, persistent_workers=True)
    first, second = ({int(b) for b in loader} for _ in range(2))
    assert first == second and len(first) == 2
    assert iter(loader) is iter(loader)
    processes = loader._iterator.pool.processes
    loader._iterator.pool.close()
    assert all(not p.is_alive() for p in processes)
