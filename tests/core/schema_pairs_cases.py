"""Schemas read by `torch._C.parse_schema`, what their parts say, and whether one may take the place of another."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.recording import Table, attempted

READ = """
f(int a, ...) -> int
f(...) -> ...
f(int a) -> ...
any.foo(int arg1, int arg2=0, ...)
f(int[] a=[]) -> ()
f(Layout l, MemoryFormat? m, Device d, Generator? g, Storage s, Any x, complex z, bool b, SymInt s1, SymInt[] s2, Tensor?[] t) -> ()
any.o(Tensor(a!)[] self, int[2] b=1, *, ScalarType? c=None, str d="x", float e=1.5, Scalar f=1, Tensor(z!) out) -> (Tensor(a!)[] x, int)
f(Tensor(a) x, Tensor(a -> *) y) -> Tensor(a)
f
a::f(int x)
f(int
f(int a=x, ...) -> int
""".strip().splitlines()
FAMILY = """
f(Tensor self, int a, int b=1) -> Tensor
f(Tensor self, int a) -> Tensor
f(Tensor self, int a, int b) -> Tensor
f(Tensor self, int a=1, int b=1) -> Tensor
f(Tensor self, int a, int b=4) -> Tensor
f(Tensor self, int a, int c=1) -> Tensor
f(Tensor self, int a, int b=1, int[2] c=1) -> Tensor
f(Tensor self, int a, int b=1, int? c=None) -> Tensor
f(Tensor self, int? a, int b=1) -> Tensor
f(Tensor self, Scalar a, int b=1) -> Tensor
f(Tensor self, float a, int b=1) -> Tensor
f(Tensor self, *, int a, int b=1) -> Tensor
f(Tensor(a!) self, int a, int b=1) -> Tensor(a!)
f(Tensor? self, int a, int b=1) -> Tensor?
f(Tensor self, int a, int b=1) -> (Tensor, Tensor)
f(Tensor self, int a, int b=1) -> Tensor out
f.o(Tensor self, int a, int b=1) -> Tensor
g(Tensor self, int a, int b=1) -> Tensor
f(Tensor self, ...) -> Tensor
f(Tensor self, int a, *, int b=1, Tensor(a!) out) -> Tensor(a!)
f(Tensor self, int a, *, Tensor(a!) out) -> Tensor(a!)
f(Tensor self, int a, *, int b=1, int c=1, Tensor(a!) out) -> Tensor(a!)
f(Tensor self, int a, *, int b=1, Tensor(a!) out, Tensor(b!) more) -> Tensor(a!)
f(Tensor self, int a, *, int b=1, Tensor(b!) more, Tensor(a!) out) -> Tensor(a!)
""".strip().splitlines()


def outcome(torch: Any, case: str) -> Any:
    """What a schema says of itself; of two, whether the first may take the place of the second."""
    read, (text, _, old) = torch._C.parse_schema, case.partition(" <- ")
    if old:
        new, before = read(text), read(old)
        return [new.is_backward_compatible_with(before), *new.check_forward_compatible_with(before), new == before]

    def said() -> Any:
        schema = read(text)
        parts = [[a.name, str(a.type), a.type.str(), a.type.kind(), a.N, a.is_out, a.kwarg_only, a.default_value, a.has_default_value()]
                 for a in (*schema.arguments, *schema.returns)]
        return [str(schema), schema.name, schema.overload_name, schema.is_mutable, parts]

    return attempted(said)


# torch looks for a new schema's arguments beyond its end where the old one has more that results are written to.
TABLE = Table("schema_pairs", [*READ, *[f"{a} <- {b}" for a, b in product(FAMILY, FAMILY) if a.count("!") >= b.count("!")]], outcome,
              zipped=True)
