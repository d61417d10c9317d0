"""Data pipes: what chains of them give, pass after pass, and how they refuse."""

from __future__ import annotations

import re
import warnings
from typing import Any

from tests.recording import Table

PROGRAMS = (
    "list(p.map(str).batch(3))", "list(p.batch(3, drop_last=True).unbatch())", "len(p.batch(3))", "[c.as_str('>') for c in p.batch(4)]",
    "list(p.shuffle())", "list(p.shuffle(buffer_size=3).set_seed(5))", "[list(s) for s in [p.shuffle()] for _ in range(2)]",
    "list(p.filter(odd))", "list(p.filter(str))", "list(p.zip(p2))", "len(p.zip(p2))", "list(p.mux(p2))", "len(p.mux(p2))",
    "list(p.concat(p2))", "list(p.concat(3))", "list(Concater())", "[list(c) for c in p.demux(2, odd)]", "[list(c) for c in p.fork(2)]",
    "[list(c) for c in p.fork(2, buffer_size=3)]", "[list(c) for c in p.demux(2, odd, buffer_size=2)]",
    "[list(c) for c in p.demux(1, odd)]",
    "list(p.groupby(odd))", "list(p.groupby(odd, keep_key=True, group_size=2))", "list(p.groupby(third, buffer_size=3, group_size=2))",
    "list(p.groupby(third, buffer_size=4, group_size=3, guaranteed_group_size=2))", "list(p.groupby(odd, group_size=0))",
    "list(p.groupby(third, buffer_size=3, group_size=3, drop_remaining=True))",
    "list(IterableWrapper([(1, 2, 3)]).map(max, input_col=[0, 2]))", "list(IterableWrapper([(1, 2)]).map(str, 1, -1))",
    "list(IterableWrapper([{'a': 1}]).map(str, 'a', 'b'))", "p.map(str, output_col=1)", "p.map(len, input_col=[0, 1])", "p.map(3)",
    "list(p.collate())", "list(p.batch(5).collate())", "list(Sampler(p))", "list(Sampler(p, RandomSampler))", "p.none", "p.batch(0)",
    "list(IterableWrapper([[[1], [2]], [[3]]]).unbatch(unbatch_level=-1))", "list(p.unbatch(2))", "list(p.unbatch(-2))",
    "str(p), repr(p.map(str))",
    "[x for it in [iter(p)] for x in [next(it), len(list(p)), next(it)]]", "list(p.map(third).map(inverse))",
    "p._number_of_samples_yielded",
    "[next(iter(p)), p._number_of_samples_yielded, len(list(p)), p._number_of_samples_yielded]", "[len(list(p)) for _ in range(3)]",
    "list(p.sharding_filter())", "list(apply_sharding(p.sharding_filter(), 3, 1))", "len(apply_sharding(p.sharding_filter(), 3, 2))",
    "apply_sharding(p.sharding_filter().sharding_filter(), 3, 1)", "apply_sharding(p.sharding_filter(), 3, 3)",
    "list(apply_random_seed(p.shuffle(), torch.Generator().manual_seed(2)))", "list(apply_shuffle_settings(p, True))",
    "list(apply_shuffle_settings(p.shuffle(), False))", "[len(get_all_graph_pipes(traverse_dps(x))) for x in (p, p.map(str).zip(p, p2))]",
    "list(pickle.loads(pickle.dumps(p.map(str).shuffle().batch(2))))", "traverse_dps(3)",
    "list(DataLoader(p.shuffle().sharding_filter(), batch_size=2, shuffle=True))",
    "[len(DataLoader(p)), list(DataLoader(p.shuffle(), 3, False))]",
    "list(DataLoader(p.shuffle().sharding_filter(), batch_size=2, num_workers=2, shuffle=True))",
    "[list(x) for x in [DataLoader(p.shuffle().sharding_filter(), 4, num_workers=2, persistent_workers=True)] for _ in range(2)]",
    "list(DataLoader(m, batch_size=4))", "list(DataLoader(m.shuffle(), batch_size=4))",
    "[m[3], len(m), m.map(str)[2], m.zip(m.map(str))[1], m.concat(m)[12], m.batch(4)[2], len(m.batch(4))]", "m.concat(m)[99]",
    "m.zip(m)[99]",
    "m.batch(4, drop_last=True)[2]", "m.concat(p)", "m.zip()", "list(m.shuffle())", "list(m.shuffle(indices=[3, 1]).set_shuffle(False))",
    "[type(p).__mro__[1].__name__, isinstance(p, IterableDataset), isinstance(m, Dataset)]", "functional_datapipe('map')(type(p))",
    "len(p.filter(odd))", "[a.map for a in [IterDataPipe()]][0].func.__class__.__name__", "non_deterministic(type(p))([1])",
    "non_deterministic(int)",
)


def odd(x: int) -> bool:
    """Whether a number is odd."""
    return x % 2 == 1


def third(x: int) -> int:
    """The rest of a division by three."""
    return x % 3


def inverse(x: int) -> float:
    """One divided by a number."""
    return 1 / x


def outcome(torch: Any, case: str) -> Any:
    """What a program gives or raises, with its warnings."""
    data = torch.utils.data
    settings = data.graph_settings
    pipes = data.datapipes.iter
    names = {**{name: getattr(pipes, name) for name in ("IterableWrapper", "Concater", "Sampler")}, "pickle": __import__("pickle"),
             **{name: getattr(settings, name) for name in ("apply_sharding", "apply_random_seed", "apply_shuffle_settings",
                                                          "get_all_graph_pipes", "traverse_dps")}, "torch": torch,
             **{name: getattr(data, name) for name in ("DataLoader", "RandomSampler", "IterDataPipe", "IterableDataset", "Dataset",
                                                       "functional_datapipe", "non_deterministic")},
             "odd": odd, "third": third, "inverse": inverse, "p": pipes.IterableWrapper(range(10)),
             "p2": pipes.IterableWrapper("abc"), "m": data.datapipes.map.SequenceWrapper(range(10))}
    torch.manual_seed(8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen = repr(eval(case, names))
        except Exception as error:
            seen = f"{type(error).__name__}: {error}"
    return [re.sub(r" at 0x\w+", "", text) for text in (seen, *[str(w.message) for w in caught])]


TABLE = Table("pipes", PROGRAMS, outcome)
