"""Meta tensors: shapes, dtypes and strides of every operation's result, without data.

(That shapes and dtypes agree for records called on tensors is also the table's own test; here are functions, strides and size.)
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograd_tape import F, TensorRef
from autograd_tape.dtypes import META, kind
from autograd_tape.errors import AutogradError, MissingKernelError
from autograd_tape.executors.choose import get_executor
from autograd_tape.executors.meta import elementwise_strides, meta_array
from autograd_tape.ops import RECORDS
from tests.ops.op_cases import NAMES, as_tensors, bind, copied, run, samples, tensors, tree_map

# Without tensors among their arguments, they make a tensor on the device they are told, the CPU here.
FACTORIES = {n for n in NAMES if not RECORDS[n].tensor_params}
# The result's shape depends on values, or torch asks for values on the way to it.
DEPENDENT = {"allclose", "argwhere", "bincount", "combinations", "corrcoef", "cov", "embedding_bag", "equal", "getitem",
             "histogram", "histogramdd", "istft",
             "linalg_lstsq", "masked_select", "nonzero", "one_hot", "repeat_interleave", "unique",
             "unique_consecutive", "unique_index", *[n for n in NAMES if n.startswith("_sobol_engine")]}
SAMPLED = [n for n in NAMES if RECORDS[n].field("samples") is not None]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, of operations that samples call in a deprecated way


def to_meta(x: Any) -> TensorRef:
    """A meta tensor with the shape, dtype and strides of an array."""
    a = np.asarray(x)
    t = TensorRef.of(np.zeros((), a.dtype))
    t._data, t._k = meta_array(a.shape, a.dtype, a.strides), kind(t._k.dtype, META)
    return t


@pytest.mark.no_numbers("shapes and dtypes")
@pytest.mark.parametrize("name", SAMPLED)
def test_shapes_and_dtypes(name: str, excused: Callable[[str], None]) -> None:
    rec = RECORDS[name]
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        with np.errstate(all="ignore"):
            try:
                expected = tensors(run(rec, as_tensors(copied(args)), as_tensors(copied(kwargs))))
            except Exception as error:  # an operation that is not whole on NumPy is another test's matter
                pytest.fail(f"fails on NumPy: {error!r}")
            try:
                on_meta = [as_tensors(a) if i in sample.on_cpu else tree_map(to_meta, a) for i, a in enumerate(args)]
                found = tensors(run(rec, on_meta, tree_map(to_meta, kwargs)))
            except AutogradError as error:
                assert name in DEPENDENT and ("depends on the values" in str(error) or "meta tensor" in str(error))
                excused("the shape depends on the values")
                continue
        assert [(f.shape, f.dtype) for f in found] == [(e.shape, e.dtype) for e in expected]
        for f, e in zip(found, expected):
            assert name in FACTORIES or f._k.device.type == "meta"
            if rec.family in ("unary", "binary", "compare") or name == "clone":
                laid_out_otherwise = name in ("angle", "logsigmoid")  # by torch's kernels for meta tensors
                assert e.numpy().size < 2 or f._data.strides == e._data.strides or laid_out_otherwise


@pytest.mark.parametrize("shape, operands, expected", [
    ((2, 3), [np.zeros((2, 3))], (24, 8)),
    ((2, 3), [np.zeros((3, 2)).T], (8, 16)),
    ((2, 3), [np.zeros((3, 2)).T, np.zeros((2, 3))], (8, 16)),  # the first operand decides
    ((2, 3), [np.zeros((1, 3)), np.zeros((3, 2)).T], (8, 16)),  # one that is broadcast there does not
    ((2, 3, 4), [np.zeros((4, 2, 3)).transpose(1, 2, 0)], (24, 8, 48)),
    ((4, 3), [np.broadcast_to(np.zeros(3), (4, 3))], (24, 8)),
    ((2, 3), [np.zeros((2, 6))[:, ::2]], (24, 8)),  # gaps are closed
])
def test_elementwise_strides(shape: Any, operands: Any, expected: Any) -> None:
    """The expected values are those of torch's results for such operands."""
    assert elementwise_strides(shape, operands, 8) == expected


@pytest.mark.parametrize("name, gates", [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)])
def test_the_sizes_of_a_packed_batch_are_read(name: str, gates: int) -> None:
    """torch refuses them on "meta", where they have no values, with the other tensors there or not."""
    h = to_meta(np.zeros((1, 2, 4)))
    weights = [to_meta(np.zeros((4 * gates, n))) for n in (3, 4)]
    rest = ((h, h) if name == "lstm" else h, weights, False, 1, 0.0, True, False)
    data, sizes = to_meta(np.zeros((3, 3))), np.array([2, 1])
    assert F.function(name)(data, TensorRef.of(sizes), *rest)[0].shape == (3, 4)
    with pytest.raises(AutogradError, match="non-zero number of elements, but its data is not allocated yet"):
        F.function(name)(data, to_meta(sizes), *rest)


SIDE = 1 << 15  # a square of 2 ** 30 elements


def big(*shape: int, dtype: str = "f4") -> np.ndarray:
    return meta_array(shape, np.dtype(dtype))


BIG: dict[str, tuple[Any, Any]] = {
    "exp": ((big(SIDE, SIDE),), (SIDE, SIDE)),
    "add": ((big(SIDE, SIDE), big(SIDE, 1)), (SIDE, SIDE)),
    "lt": ((big(SIDE, SIDE), big(SIDE)), (SIDE, SIDE)),
    "where": ((big(SIDE, SIDE, dtype="?"), big(SIDE, SIDE), big(1)), (SIDE, SIDE)),
    "sum": ((big(SIDE, SIDE),), ()),
    "mean": ((big(SIDE, SIDE), 1, True), (SIDE, 1)),
    "amax": ((big(SIDE, SIDE), (0,)), (SIDE,)),
    "argmax": ((big(SIDE, SIDE), 1), (SIDE,)),
    "all": ((big(SIDE, SIDE, dtype="?"),), ()),
    "var_of": ((big(SIDE, SIDE), 1), (SIDE,)),
    "matmul": ((big(64, 16, 4096, 64), big(64, 16, 64, 4096)), (64, 16, 4096, 4096)),
    "mm": ((big(SIDE, SIDE), big(SIDE, SIDE)), (SIDE, SIDE)),
    "linear": ((big(SIDE, SIDE), big(10, SIDE), big(10)), (SIDE, 10)),
    "convolution_nd": ((big(1000, 3, 1000, 1000), big(64, 3, 3, 3), big(64), (2, 2), (1, 1), (1, 1), 1), (1000, 64, 500, 500)),
    "softmax": ((big(SIDE, SIDE), 1), (SIDE, SIDE)),
    "log_softmax": ((big(SIDE, SIDE), 1), (SIDE, SIDE)),
    "layer_norm": ((big(SIDE, SIDE), (SIDE,), big(SIDE), big(SIDE)), (SIDE, SIDE)),
    "embedding": ((big(50000, 1024), big(1 << 14, 1 << 10, dtype="i8")), (1 << 14, 1 << 10, 1024)),
    "cat": (([big(SIDE, SIDE), big(SIDE, 3)], 1), (SIDE, SIDE + 3)),
    "stack": (([big(SIDE, SIDE), big(SIDE, SIDE)], 1), (SIDE, 2, SIDE)),
    "cast": ((big(SIDE, SIDE), TensorRef.of(np.zeros(1, "f2")).dtype), (SIDE, SIDE)),
    "clone": ((big(SIDE, SIDE),), (SIDE, SIDE)),
    "cumsum": ((big(SIDE, SIDE), 0), (SIDE, SIDE)),
    "cross_entropy": ((big(SIDE, SIDE), big(SIDE, dtype="i8")), ()),
    "max_pool_nd": ((big(1000, 64, 512, 512), (2, 2), (2, 2), (0, 0), (1, 1), False), (1000, 64, 256, 256)),
    "avg_pool_nd": ((big(1000, 64, 512, 512), (2, 2), (2, 2), (0, 0), False, True, None), (1000, 64, 256, 256)),
    "channel_norm": ((big(1000, 64, 512, 512), big(64), big(64), None, None, True, 0.1, 1e-5), (1000, 64, 512, 512)),
    "attention": ((big(64, 16, 4096, 64), big(64, 16, 4096, 64), big(64, 16, 4096, 64), None, None, True, None), (64, 16, 4096, 64)),
}


@pytest.mark.parametrize("name", sorted(BIG))
def test_big(name: str) -> None:
    """A thousand million elements cost neither time nor memory."""
    args, expected = BIG[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = getattr(get_executor("meta", "meta").F, name)(*args)
    first = result[0] if isinstance(result, tuple) else result
    assert first.shape == expected
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_big_without_a_rule() -> None:
    """An operation without a shape rule says so instead of allocating."""
    with pytest.raises(MissingKernelError, match="'kthvalue' has no shape rule"):
        get_executor("meta", "meta").F.kthvalue(big(SIDE, SIDE), 1)


@pytest.mark.parametrize("shape, k", [((5, 0), 2), ((), 2), ((3,), 4), ((3,), -1)])
def test_more_are_not_selected_than_there_are(shape: tuple[int, ...], k: int) -> None:
    with pytest.raises(AutogradError, match="k not in range for dimension"):
        run(RECORDS["topk"], [to_meta(np.ones(shape)), k], {})


def test_memory_reads_as_zeros() -> None:
    """What looks at the data of a meta buffer finds zeros, never foreign memory, whatever its size."""
    assert not meta_array((1000, 1000), np.dtype("f8")).any()
    assert meta_array((1 << 20, 1 << 15), np.dtype("f8"))[::1 << 10, -1].tolist() == [0.0] * 1024
    with pytest.raises(ValueError, match="read-only"):
        meta_array((3,), np.dtype("f4"))[0] = 1


def test_model_on_meta() -> None:
    """Forward and backward of a model: every gradient has its parameter's shape, and is on meta."""
    import torchcompat as torch

    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(144),
                          nn.Linear(144, 10)).to("meta")
    x, target = torch.empty(8, 1, 12, 12, device="meta"), torch.empty(8, dtype=torch.int64, device="meta")
    loss = nn.functional.cross_entropy(model(x), target)
    assert loss.device.type == "meta" and loss.shape == ()
    loss.backward()
    for p in model.parameters():
        assert p.grad.shape == p.shape and p.grad.device.type == "meta"
    x.add_(1)
    x[0] = 2.0
    assert x.device.type == "meta"
