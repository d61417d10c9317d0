"""The operations: one declarative record each, grouped by family.

Writing one::

    @op("expm1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.expm1")
    class expm1:
        '''exp(x) - 1, accurate near zero.'''
        numpy = np.expm1                                    # the kernel, on buffers
        mindspore = "ops.Expm1"                             # a kernel of another executor
        def compose(F, input): return F.exp(input) - 1      # for executors without a kernel
        def vjp(F, grad, result): return grad * (result + 1)
        def samples(rng): yield (rng.standard_normal((2, 3)),)

Everything else follows from it: the function, the Tensor method, the in-place and `out=` variants, aliases, the stub, the
tests, and the status table. Fields are explained at `_record.Record`, options at `_record.op`. `F` in `compose` and `vjp`
is the executor's operations on plain buffers, or, when gradients of gradients are wanted, the operations on tensors: use
`F.name(...)`, arithmetic operators and `.shape` only, and both work.
"""

from ._record import ALIASES, RECORDS, Record, Sample, get_record, op

FAMILIES = (
    "pointwise", "rounding", "elementary", "special", "gamma", "activation", "compare", "reduce", "extremes", "scan", "sort", "counting",
    "shape", "parts", "review", "join", "rearrange", "index", "scatter", "index_along", "masked", "linalg", "einsum", "factorization",
    "equations", "softmax", "entropy", "ctc", "loss", "distance", "norm", "conv", "pool", "resize", "embedding", "dropout", "attention",
    "random", "create", "memory",
)


def load_families() -> None:
    """Imports the family modules, which register their records."""
    from importlib import import_module
    from importlib.util import find_spec

    for family in FAMILIES:
        if find_spec(f"autograd_tape.ops.{family}") is not None:
            import_module(f"autograd_tape.ops.{family}")


__all__ = ["ALIASES", "RECORDS", "Record", "Sample", "get_record", "load_families", "op"]
