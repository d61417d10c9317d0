"""Every pair of layouts: conversions with all arguments, parts that do not fit, other sizes, and products."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from tests.recording import Table
from tests.sparse.sparse_cases import described, told

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
LETTERS = dict(zip("acrbe", LAYOUTS))
"""What names of tensors begin with; they end with what the tensor is made of."""


def tensors(torch: Any, names: set[str]) -> dict[str, Any]:
    """What an expression may name: dense n, m, u (square), g (a batch), w (with a dense dimension), p (2, 3), and each in each layout."""
    n = torch.tensor([[0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -3.0], [0.0, 4.0, 5.0, 0.0]], dtype=torch.float64)
    m = torch.tensor([[0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 2.0, 0.0], [1.0, 0.0, 0.0, -1.0], [0.0, 0.0, 5.0, 0.0]], dtype=torch.float64)
    made = {"torch": torch, "n": n, "m": m, "g": torch.stack([n, n * 2]), "w": torch.stack([n, n * 3], -1), "p": m[:2, :3].contiguous(),
            "u": (n + torch.eye(4, dtype=torch.float64)).triu(), "vec": torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)}
    for letter, of in itertools.product(LETTERS, "nmgwpu"):
        if letter + of in names:
            blocks: dict[str, Any] = {"blocksize": (1, 3) if of == "p" else (2, 2)} if letter in "be" else {}
            dense = {"dense_dim": 1} if of == "w" else {}
            made[letter + of] = made[of].to_sparse(layout=getattr(torch, LETTERS[letter]), **blocks, **dense)
    if "ci" in names:
        c = n.to_sparse_csr()
        made["ci"] = torch.sparse_csr_tensor(c.crow_indices().int(), c.col_indices().int(), c.values(), (4, 4))
    return made


def called(torch: Any, expression: str) -> Any:
    """What an expression gives."""
    code = compile(expression, "<case>", "eval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(eval(code, tensors(torch, set(code.co_names))))
        except Exception as error:  # what torch says of it is the outcome
            return told(error)


MATRICES = ["n", *[letter + "n" for letter in LETTERS]]
OTHERS = [letter + of for of in "gw" for letter in LETTERS]
BLOCKS = ("", ", blocksize=(2, 2)", ", blocksize=(1, 2)", ", blocksize=(3, 2)", ", blocksize=(2,)", ", blocksize=(0, 1)")

CONVERSIONS = [f"{x}.to_sparse(layout=torch.{to}{blocks}{dense})" for x, to, blocks, dense in itertools.product(
    ["g", "w", "vec", *MATRICES, *OTHERS], (*LAYOUTS, "strided"), BLOCKS, ("", ", dense_dim=1", ", dense_dim=5", ", dense_dim=-1"))
    if not (x == "vec" and ("csc" in to or "bs" in to and "2)" in blocks))]
METHODS = [f"{x}.{call}" for x, call in itertools.product(["g", "w", "ci", *MATRICES, *OTHERS], (
    "to_sparse(1)", "to_sparse(2)", "to_sparse(3)", "to_sparse_csr()", "to_sparse_csc()", "to_sparse_csr(dense_dim=1)",
    "to_sparse_bsr((2, 2))", "to_sparse_bsc((1, 2))",
    "to_sparse_bsr((3, 3))", "to_sparse_bsr((2,))", "to_sparse_bsc((2, 2), 1)", "to_sparse_bsr(2)",
    "to_sparse_bsr((0, 1))"))]

PARTS = [f"torch.sparse_{of}_tensor({parts}{size}, check_invariants={check})" for of, parts, size, check in itertools.product(
    ("csr", "csc", "bsr", "bsc"), (
        "[0, 1, 1], [1], [1.0]", "[0, 1, 1], [1], [[[1.0]]]", "[0, 1, 1], [5], [1.0]", "[0, 1], [1], [1.0]", "[0, 1, 1], [1, 2], [1.0]",
        "[[0, 1, 1]], [1], [1.0]", "[0, 2, 1], [0], [1.0]", "[0, 1, 1], [-1], [1.0]", "[0, 1, 1], [1], [[1.0, 2.0]]",
        "[0, 1, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]]", "[[0, 1], [0, 1]], [[0], [0]], [[1.0], [2.0]]"),
    (", (2, 2)", ", (3, 2)", ", (2, 2, 2)", ", (2,)", ", (2, 1, 1)", ", (4, 4)"), (True, False, None))]
PARTS += [f"torch.sparse_{of}_tensor([0, 1, 1], [1], {values})" for of in ("csr", "csc", "bsr", "bsc") for values in ("[1.0]", "[[[1.0]]]")]
PARTS += ["torch.sparse_csr_tensor(0, [], [])", "torch.sparse_csr_tensor([0, 1, 1], [1], [1.0], (2, 2), layout=torch.sparse_csc)",
          "torch.sparse_bsr_tensor([0], torch.tensor([]), [[[]]], (0, 0))",
          *[f"torch.sparse_compressed_tensor([0, 1, 1], [1], [1.0], (2, 2), layout={to})" for to in
            ("None", "torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc")]]

SIZES = [f"{x}.resize_({size})" for x in (*MATRICES[1:], *OTHERS, "ci") for size in ("4, 4", "4, 3", "4")]
SIZES += [f"{x}.resize_({size})" for x in ("cn", "ci", "cg", "cw") for size in ("6, 4", "2, 4", "(1, 5)", "torch.Size((3, 6))")]
SIZES += [f"{x}.resize_as_sparse_({y})" for x, y in itertools.product(("n", "an", "cn", "rn", "bn"), MATRICES) if (x, y) != ("n", "n")]
TURNED = [f"{x}.transpose({dims})" for x in (*MATRICES[1:], *OTHERS) for dims in ("0, 1", "1, 2", "0, 2", "-1, -2", "0, 0", "0, 5")]
TURNED += [f"({x}.{call}._is_view(), {x}.{call}._base is None)" for x in ("cn", "rn", "bn", "cg", "an")
           for call in ("transpose(-1, -2)", "clone()", "values()", "crow_indices()", "_values()", "detach()")
           if x != "an" or call != "transpose(-1, -2)"]
FRESH = [f"torch.randn_like({x}{more}).{part}" for x in ("an", "cn", "rn", "bn") for part in ("shape", "layout", "_nnz()", "dtype")
         for more in ("", ", dtype=torch.float32", ", layout=torch.strided", ", layout=torch.sparse_coo", ", requires_grad=True")]
FRESH += [f"{x}.{call}.layout" for x in ("an", "cn", "bn") for call in (
    "normal_()", "uniform_()", "bernoulli_()", "random_()", "random_(3)", "random_(1, 3)", "exponential_()", "log_normal_()")]
FRESH += [f"torch.{name}({x}, requires_grad=True).requires_grad" for name in ("zeros_like", "empty_like", "randn_like")
          for x in ("cn", "bn")]
BROADCAST = [f"torch._sparse_broadcast_to({x}, {size})" for x in ("an", "ap", "aw", "n", "cn", "an.unsqueeze(0)", "an.sum(1, True)")
             for size in ("(4, 4)", "(2, 4, 4)", "(2, 2, 3)", "(2, 4, 4, 2)", "(2, 3, 4, 4)", "(4,)", "(3, 3)")]

PAIRS = list(itertools.product(MATRICES, MATRICES))
PRODUCTS = [f"torch.{name}({a}, {b})" for name in ("mm", "matmul", "sparse.mm") for a, b in PAIRS]
PRODUCTS += [f"torch.mm({a}, {b})" for a, b in itertools.product(("cn", "rn", "bn", "n", "an"), ("cp", "cg", "cm.float()", "p", "vec"))]
PRODUCTS += [f"torch.addmm({x}, {a}, {b}, beta=0.5, alpha=2)" for x, (a, b) in itertools.product(("n", "an", "cn"), PAIRS)]
PRODUCTS += [f"torch.{name}" for name in (
    "mv(cn, vec)", "mv(bn, vec)", "mv(rn, n)", "mv(cp, vec)", "addmv(vec, cn, vec)", "addmv(vec, en, vec)", "addmv(n, cn, vec)",
    "bmm(cg, g)", "bmm(cn, n)", "baddbmm(g, cg, g)", "matmul(cg, g)")]
PRODUCTS += [f"torch.sparse.sampled_addmm({x}, {a}, {b}, beta=0.5)" for x in ("cn", "rn", "an", "n", "cg") for a, b in itertools.product(
    ("n", "g", "cn", "vec", "p", "n.float()"), ("n", "g", "an", "p"))]
PRODUCTS += [f"torch.triangular_solve({b}, {a}, {flags})" for b, a in (
    ("m", "cu"), ("m", "ru"), ("m", "bu"), ("vec", "cu"), ("p", "cu"), ("m.float()", "cu"))
    for flags in ("True, False, False", "True, True, False", "True, True, True", "False, False, True")]

SPARSE_LAYOUTS = Table("sparse_layouts", list(dict.fromkeys([
    *CONVERSIONS, *METHODS, *PARTS, *SIZES, *TURNED, *FRESH, *BROADCAST, *PRODUCTS])), called,
    tolerance=(1e-9, 1e-12), digits=9, zipped=True)
