"""The orders in which loaders give samples, drawn from the same seed."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

ORDERS = [
    "DataLoader(range(10), batch_size=4, shuffle=True)",
    "DataLoader(range(10), batch_size=4, shuffle=True, drop_last=True)",
    "DataLoader(range(10), batch_size=3, sampler=SubsetRandomSampler([1, 3, 5, 7]))",
    "DataLoader(range(10), batch_size=None, sampler=RandomSampler(range(10)))",
    "DataLoader(range(5), sampler=RandomSampler(range(5), replacement=True, num_samples=40), batch_size=8)",
    "DataLoader(range(5), sampler=RandomSampler(range(5), num_samples=12), batch_size=8)",
    "DataLoader(range(6), sampler=WeightedRandomSampler([1., 2., 0., 4., 1., 1.], 9), batch_size=3)",
    "DataLoader(range(10), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(5))",
    "DataLoader(random_split(range(12), [0.5, 0.3, 0.2])[1], batch_size=2)",
    "DataLoader(range(9), sampler=DistributedSampler(range(9), 2, 1, seed=3), batch_size=2)",
]


def run_order(torch: Any, expression: str) -> list[Any]:
    """Two passes over the data, and a random number after them."""
    torch.manual_seed(11)
    loader = eval(expression, {**vars(torch.utils.data), "torch": torch})
    passes = [[batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in loader] for _ in range(2)]
    return [*passes, torch.rand(1).item()]


TABLE = Table("orders", ORDERS, run_order, tolerance=(1e-6, 0.0), digits=9)
