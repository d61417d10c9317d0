"""The operations: one declarative record each.

Writing one::

    @op("expm1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.expm1")
    class expm1:
        '''exp(x) - 1, accurate near zero.'''
        numpy = np.expm1                                    # the kernel, on buffers
        mindspore = "ops.Expm1"                             # a kernel of another executor
        def compose(F, input): return F.exp(input) - 1      # for executors without a kernel
        def vjp(F, grad, result): return grad * (result + 1)
        def samples(rng): yield (rng.standard_normal((2, 3)),)

A record lies in the first of these folders whose description holds for it, and in the file there that is about it:

- `views`: the result is the same memory under another shape and other strides;
- `data`: elements are made, moved or picked, and none is computed;
- `networks`: torch has it in `nn.functional` (and nowhere else: `softmax`, `relu`, losses, convolution, normalization ...);
- `matrices`: linear algebra: products, contractions, factorizations, equations;
- `elementwise`: each element of the result is computed from the elements at its own place;
- `reductions`: elements along dimensions are taken together: summed, compared, counted, put in order.

Files that begin with an underscore hold no records, but what records share. Everything else follows from it: the function,
the Tensor method, the in-place and `out=` variants, aliases, the stub, the tests, and the status table. Fields are explained
at `record.Record`, options at `record.op`. `F` in `compose` and `vjp` is the executor's operations on plain buffers, or,
when gradients of gradients are wanted, the operations on tensors: use `F.name(...)`, arithmetic operators and `.shape` only,
and both work.

Modules of records are imported when one of their records is asked for. Which has which is in `_index`, which
`python -m autograd_tape.ops` writes anew after operations were added.
"""

from importlib import import_module

from ..record import ALIASES, RECORDS, Record, Sample, get_record, op
from ._index import ALIASES as KNOWN_ALIASES, INDEX

ROOMS = {
    "elementwise": ("complex", "arithmetic", "rounding", "elementary", "special", "gamma", "bessel", "polynomials",
        "comparison", "implicit"),
    "networks": ("activation", "softmax", "likelihood", "ctc", "loss", "margins", "normalization", "statistics", "convolution", "pooling",
        "resampling", "sampling", "embedding", "dropout", "attention", "transformers", "recurrent"),
    "reductions": ("sums", "extremes", "running", "order", "counting", "histograms", "differences", "segments", "norms"),
    "views": ("shape", "parts", "in_place", "copies"),
    "data": ("join", "rearrange", "index", "scatter", "index_along", "mask", "create", "windows", "write", "quasirandom"),
    "matrices": ("products", "contractions", "factorization", "general", "scaled", "checked", "reflectors", "indefinite", "fourier",
        "spectra", "short_time"),
}
MODULES = [f"{room}.{module}" for room, modules in ROOMS.items() for module in modules]


def load_records() -> None:
    """Imports the modules of all rooms, which register their records."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")


def _know_records() -> None:
    """Has the records' names known, and their modules imported when they are asked for."""
    dict.update(RECORDS, {name: f"{__name__}.{module}" for module, names in INDEX.items() for name in names})
    ALIASES.update(KNOWN_ALIASES)


_know_records()

__all__ = ["ALIASES", "RECORDS", "Record", "Sample", "get_record", "load_records", "op"]
