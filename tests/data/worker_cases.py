"""What loaders say: of their arguments, of how their workers die, and of where they run."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import time
import warnings
from typing import Any

from tests.recording import Table


def _dies(how: str) -> None:
    """Ends the process, or raises, in one of several ways."""
    if how == "exits":
        sys.exit(5)
    if how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs up":
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which who started the tests may have ignored
        os.kill(os.getpid(), signal.SIGHUP)
    if how == "lacks a key":
        {}["a"]  # noqa: B018
    if how == "stops":
        raise StopIteration
    if how == "takes long":
        time.sleep(1.0)


DEATHS = ("exits", "is killed", "hangs up", "lacks a key", "stops", "takes long")
ARGUMENTS: dict[str, dict[str, Any]] = {f"DataLoader({text})": eval(f"dict({text})") for text in (
    "num_workers=2, prefetch_factor=0", "num_workers=2, prefetch_factor=-1", "prefetch_factor=2", "pin_memory=True",
    "pin_memory=True, pin_memory_device='cuda'", "timeout=3", "timeout=-1", "num_workers=-1",
    "num_workers=1, multiprocessing_context=3", "num_workers=1, multiprocessing_context='none'", "multiprocessing_context='fork'",
    "batch_size=None, drop_last=True", "persistent_workers=True", "batch_size=2.5", "num_workers=1.5", "in_order=False", "shuffle=1",
    "sampler=[0], shuffle=True", "batch_sampler=[[0]], batch_size=2", "batch_sampler=[[0], [1, 2]]", "drop_last=2",
)}
EXPRESSIONS = (
    "len(iter(loader))", "len(iter(DataLoader(Stream())))", "pickle.dumps(iter(loader))", "type(iter(loader)).__mro__[-2].__name__",
    "DataLoader(Stream(), shuffle=True)", "DataLoader(Stream(), sampler=[0])", "DataLoader(Stream(), batch_sampler=[[0]])",
    "[len(DataLoader(Stream(), batch_size=b, drop_last=d)) for b in (1, 2, None) for d in ([False, True] if b else [False])]",
    "list(short)", "[len(short), list(short)][1]", "DistributedSampler(range(4))", "DistributedSampler(range(4), 2)",
    "DistributedSampler(range(4), None, 0)", "DistributedSampler(range(4), 2, 2)", "setattr(loader, 'dataset', [])", "get_worker_info()",
    "setattr(loader, 'multiprocessing_context', 'fork')", "loader._get_iterator()._next_data()", "_DatasetKind.Iterable",
    "default_collate([torch.eye(2).to_sparse()] * 2)", "default_collate([])", "default_collate([{}, {}])",
    "_utils.MP_STATUS_CHECK_INTERVAL",
    "_utils.worker._generate_state(2 ** 40 + 7, 3)", "_utils.pin_memory.pin_memory([1, 'a', {'b': (2.5, None)}])",
    "_utils.pin_memory.pin_memory([torch.ones(1)])", "_utils.ExceptionWrapper(where='here').where",
    "IterableDataset().__iter__", "Dataset()[0]", "StackDataset()", "StackDataset([1], a=[2])", "StackDataset([1], [2, 3])",
    "list(BatchSampler(range(5), 2, True))", "BatchSampler(range(5), 0, True)", "RandomSampler([])", "RandomSampler([1], num_samples=0)",
    "RandomSampler([1], replacement=3)", "WeightedRandomSampler([[1.]], 2)", "WeightedRandomSampler([1.], 2, 3)", "ConcatDataset([])",
    "TensorDataset(torch.ones(2), torch.ones(3))", "Subset(range(5), [3, 1])[1]", "random_split(range(3), [1, 1])",
    "random_split(range(3), [0.5, 1.5])", "[len(p) for p in random_split(range(3), [0.1, 0.9])]", "ConcatDataset([range(2)])[-3]",
)


def outcome(torch: Any, case: str) -> Any:
    """What a case gives or raises, with why, and its warnings."""
    data = torch.utils.data

    class Samples(data.Dataset):  # type: ignore[misc]
        def __init__(self, how: str = "") -> None:
            self.how = how

        def __len__(self) -> int:
            return 6

        def __getitem__(self, i: int) -> Any:
            if self.how == "says where it is":
                info = data.get_worker_info()
                return [info.id, info.num_workers, info.seed - torch.initial_seed(), info.worker_method, torch.get_num_threads(),
                        random.randint(0, 9999), int(__import__("numpy").random.randint(0, 9999)), int(torch.randint(0, 9999, ()))]
            if i == 4 * (self.how == "stops"):  # at once, when nothing is on its way that would be lost
                _dies(self.how)
            return i

    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 3

        def __iter__(self) -> Any:
            return iter(range(5))

    def found() -> Any:
        torch.manual_seed(4)
        if case in ARGUMENTS:
            loader = data.DataLoader(range(4), **ARGUMENTS[case])
            return [[batch.tolist() for batch in loader], loader.prefetch_factor, loader.multiprocessing_context]
        if case in EXPRESSIONS:
            names = {**vars(data), "torch": torch, "pickle": __import__("pickle"), "Stream": Stream, "short": data.DataLoader(Stream()),
                     "loader": data.DataLoader(Samples(), batch_size=4), "_utils": data._utils, "setattr": setattr}
            return eval(case, names)
        return list(data.DataLoader(Samples(case.removeprefix("a worker ")), batch_size=None if "says" in case else 2, num_workers=1,
                                    timeout=0.3 if "long" in case else 0, collate_fn=list if "says" in case else None))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen: Any = repr(found())
        except Exception as error:
            told = [str(e) for e in (error, error.__cause__) if e is not None]
            seen = [type(error).__name__, *[re.sub(r"\(pid(\(s\))? \d+", "(pid", text) for text in told]]
            seen = [re.sub(r"\n  File .*\n(?=\w*Error)", "\n...\n", text, flags=re.DOTALL) for text in seen]
    said = [str(w.message) for w in caught if "worker processes" not in str(w.message)]
    return [re.sub(r" at 0x\w+", "", text) for text in (*([seen] if isinstance(seen, str) else seen), *said)]


TABLE = Table("workers", [*[f"a worker {how}" for how in (*DEATHS, "says where it is")], *ARGUMENTS, *EXPRESSIONS], outcome)
