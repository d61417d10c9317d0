"""Whole objects that cross over: files that torch wrote and that this package wrote, each read by torch for the recording, and here.

Those of this package are written anew with ``python -m tests.files.exchange_cases``; the recording says what torch reads in them.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.files.file_cases import describe
from tests.recording import FIXTURES, Recording, Table

FOLDER = FIXTURES / "exchange"
FILES = ("theirs", "theirs_legacy", "ours", "ours_legacy")


def _trained(torch: Any, name: str) -> Any:
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([p], lr=0.5)
    p.grad = torch.tensor([1.0, -2.0])
    optimizer.step()
    return optimizer


def makers(torch: Any) -> dict[str, Callable[[], Any]]:
    """What the files hold, by name."""
    nn = torch.nn
    return {
        "mlp": lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout(0.25), nn.LayerNorm(3), nn.Softmax(-1)),
        "conv": lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.MaxPool2d(2), nn.Flatten(), nn.AdaptiveAvgPool1d(1)),
        "lstm": lambda: nn.LSTM(2, 2, bidirectional=True), "cell": lambda: nn.GRUCell(1, 2), "embedding": lambda: nn.Embedding(3, 2, 0),
        "attention": lambda: nn.TransformerEncoderLayer(2, 1, 2), "loss": lambda: nn.CrossEntropyLoss(weight=torch.ones(3)),
        "containers": lambda: nn.ModuleDict({"a": nn.ModuleList([nn.Identity()]), "p": nn.ParameterList([nn.Parameter(torch.ones(2))])}),
        "spectral norm": lambda: nn.utils.spectral_norm(nn.Linear(2, 2)),
        **{name: lambda name=name: _trained(torch, name) for name in ("SGD", "Adam", "AdamW", "RMSprop", "Rprop")},  # type: ignore[misc]
        "parameter": lambda: nn.Parameter(torch.ones(2)), "size": lambda: torch.Size([2, 3]), "dtype": lambda: torch.bfloat16,
        "device": lambda: torch.device("cuda", 1), "layout": lambda: torch.sparse_csr,
        "names": lambda: [torch.optim.Adam, nn.Linear, nn.ReLU],
        "max": lambda: torch.max(torch.eye(2), 0), "coo": lambda: torch.eye(2).to_sparse(), "csr": lambda: torch.eye(2).to_sparse_csr(),
        "conjugate": lambda: torch.tensor([1 + 2j]).conj(), "storage": lambda: torch.ones(2).storage(),
        "meta": lambda: torch.empty(2, 3, device="meta"), "views": lambda: [(x := torch.arange(6.0))[1:4], x.reshape(2, 3).t(), x],
        "scheduler": lambda: torch.optim.lr_scheduler.StepLR(_trained(torch, "SGD"), 2),
    }  # fmt: skip


def write(torch: Any, who: str) -> None:
    """Writes the files of one side."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {name: make() for name, make in makers(torch).items()}
        torch.save(made, FOLDER / f"{who}.pt")
        with gzip.GzipFile(FOLDER / f"{who}_legacy.pt.gz", "wb", mtime=0) as file:  # which holds sources of torch's classes
            torch.save(made, file, _use_new_zipfile_serialization=False)


def told(torch: Any, value: Any) -> Any:
    """An object in words that both sides find for it."""
    named = f"{type(value).__module__}.{type(value).__qualname__}".replace("torchcompat", "torch")
    if isinstance(value, torch.nn.Module):
        return [named, repr(value), describe(torch, dict(value.state_dict()))]
    if isinstance(value, torch.optim.Optimizer):
        value.step()
        groups = [{key: str(kept) for key, kept in group.items() if key != "params"} for group in value.param_groups]
        return [named, groups, [describe(torch, p) for group in value.param_groups for p in group["params"]]]
    if isinstance(value, torch.optim.lr_scheduler.LRScheduler):
        return [named, value.state_dict()["last_epoch"], told(torch, value.optimizer)]
    if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
        return [str(value.layout), describe(torch, value.to_dense())]
    if isinstance(value, torch.Tensor):
        return describe(torch, torch.empty_like(value, device="cpu").zero_() if value.is_meta else value)
    if isinstance(value, (list, tuple)):
        return [named, [told(torch, part) for part in value]]
    return ["" if isinstance(value, (torch.dtype, torch.device, torch.layout)) else named, repr(value).replace("torchcompat", "torch")]


@cache
def _loaded(torch: Any, file: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "legacy" not in file:
            return torch.load(FOLDER / f"{file}.pt", weights_only=False)
        with gzip.open(FOLDER / f"{file}.pt.gz") as stream:
            return torch.load(stream, weights_only=False)


def cases(torch: Any) -> list[str]:
    return [f"{file} {name}" for file in FILES for name in makers(torch)]


def outcome(torch: Any, case: str) -> Any:
    file, name = case.split(" ", 1)
    return told(torch, _loaded(torch, file)[name])


FILE_TABLE = Recording("exchanged_files", "exchange/*", lambda torch: write(torch, "theirs"))
TABLE = Table("exchanged", cases, outcome, zipped=True)

if __name__ == "__main__":
    import torchcompat

    write(torchcompat, "ours")
