"""Products, equations and losses of tensors that have different dtypes: what torch refuses, and in which words, and what it answers."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.recording import Table, attempted

PRODUCTS = {
    "mm": ("2,3 3,4", "2,3 5,4", "3 3,4"), "mv": ("2,3 3", "2,3 4"), "dot": ("3 3", "3 2"), "vdot": ("3 3",),
    "bmm": ("2,2,3 2,3,4", "2,2,3 2,5,4", "2,3 2,3,4"), "inner": ("2,3 4,3", "3 3", "2,3 4,5"),
    "matmul": ("2,2,3 3,4", "2,3 2,3,4", "2,2,3 3", "3 3,4", "2,3 3", "2,2,3 2,3,4", "3 3", "2,2,3 2,4,4", "2,2,3 4,4"),
    "addmm": ("2,4 2,3 3,4", "2,4 2,3 5,4", "2,4 2 3,4", "2,5 2,3 3,4"), "_addmm_activation": ("2,4 2,3 3,4",),
    "addmv": ("2 2,3 3", "2 2,3 4", "2 2 3"), "addr": ("2,2 2 2",),
    "baddbmm": ("2,2,4 2,2,3 2,3,4", "2,2,4 2,2,3 2,5,4", "2,2,7 2,2,3 2,3,4", "2,2,4 2,3 2,3,4"),
    "addbmm": ("2,4 2,2,3 2,3,4", "2,4 2,2,3 2,5,4", "2,7 2,2,3 2,3,4", "2,4 2,2,3 3,3,4"),
    "cross": ("3 3", "2,3 2,3"), "linalg.cross": ("3 3", "2,3 1,3", "3 2"), "kron": ("2 2",), "outer": ("2 2",),
    "cdist": ("2,3 4,3", "2,2,3 1,4,3", "30,3 40,3", "0,3 4,3", "2,0 4,0", "2,3 4,2"),
    "linalg.vecdot": ("3 3",), "linalg.solve": ("1,1 1,1", "1,1 2", "1,2 2"), "linalg.lstsq": ("1,1 1,1",),
    "cholesky_solve": ("1,1 1,1", "2,1 1,1", "1,1 1,2", "1 1,1"), "triangular_solve": ("1,1 1,1", "2,1 1,1"),
    "linalg.tensorsolve": ("1,1 1",), "ormqr": ("2,2 2 2,2",), "chain_matmul": ("2,3 3,4",),
}
WITH_WORDS = {
    **{f"torch.einsum('{equation}', {{}})": sizes for equation, sizes in {
        "ij,jk->ik": ("2,3 3,4", "1,3 3,1", "2,1 1,2"), "ij,j->i": ("2,3 3", "2,1 1"), "ij,k->": ("2,3 3",), "i,j->ij": ("2 3",),
        "bij,bjk->bik": ("2,2,3 2,3,4",), "bij,jk->bik": ("2,2,3 3,4",)}.items()},
    "torch.linalg.multi_dot([{}])": ("2,3 3,4", "2,3 3,4 4,2", "2,3 4,4 4,2", "3 3"), "torch.tensordot({}, 1)": ("2,3 3,4",),
    "torch.cdist({}, 1)": ("2,3 4,3",), "torch.cdist({}, compute_mode='use_mm_for_euclid_dist')": ("2,3 4,3",),
    "torch.linalg.solve_triangular({}, upper=True)": ("1,1 1,1", "0,0 0,2", "1,1 2,1", "1,1 1"),
    "torch.linalg.solve_triangular({}, upper=True, left=False)": ("1,1 1,1", "1,1 1,2"),
}
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
          "poisson_nll_loss", "soft_margin_loss", "hinge_embedding_loss", "multilabel_soft_margin_loss", "cross_entropy", "nll_loss")
"""Of an input and a target."""
OF_THREE = {
    "cross_entropy({}, {}, {})": ("2,3 2 3", "2,3,2 2,2 3", "2,3 2,3 3"), "nll_loss({}, {}, {})": ("2,3 2 3", "2,3,2 2,2 3"),
    "multi_margin_loss({}, {}, weight={})": ("2,3 2 3",), "margin_ranking_loss({}, {}, {})": ("3 3 3",),
    "cosine_embedding_loss({}, {}, {})": ("2,3 2,3 2",), "triplet_margin_loss({}, {}, {})": ("2,3 2,3 2,3",),
    "gaussian_nll_loss({}, {}, {})": ("2,3 2,3 2,3",), "binary_cross_entropy({}, {}, {})": ("2,3 2,3 2,3",),
    "binary_cross_entropy_with_logits({}, {}, {})": ("2,3 2,3 3",),
    "ctc_loss(-{}, {}, *{}.to(int64))": ("4,2,3 2,1 2,2",), "ctc_loss(-{}, {}.to(int64), 4 * {}, ones(2, dtype=int64))": ("4,2,3 2,1 2",),
}
OTHERS = ("float64", "float16", "int64", "complex64", "bool")


def _tensor(size: str, dtype: str) -> str:
    return f"ones({size}, dtype={dtype})"


def _calls(torch: Any) -> list[str]:
    found = []
    for call, all_sizes in {**{f"torch.{name}({{}})": sizes for name, sizes in PRODUCTS.items()}, **WITH_WORDS}.items():
        for sizes in [s.split() for s in all_sizes]:
            dtypes = list(product(("float32", "float64"), repeat=len(sizes)))
            dtypes += [tuple([other if i == at else "float32" for i in range(len(sizes))])
                       for other in OTHERS[1:] for at in range(len(sizes))]
            found += [call.format(", ".join([_tensor(s, d) for s, d in zip(sizes, each)])) for each in dtypes]
    for name in LOSSES:
        for other in ("float64", *OTHERS[1:]):
            for a, b in ((other, "float32"), ("float32", other)):
                found.append(f"F.{name}({_tensor('2,3', a)} / 2, {_tensor('2,3', b)}, reduction='none')")
                found.append(f"F.{name}({_tensor('2,3', a)}.mul({0.5 if 'float' in a else 1}).requires_grad_({'float' in a}), "
                             f"{_tensor('2,3', b)}, reduction='sum').backward()")
    for call, all_sizes in OF_THREE.items():
        for sizes in [s.split() for s in all_sizes]:
            for at, other in product(range(3), OTHERS):
                usual = ["float32", "float32" if sizes[1] == "2,3" or "ranking" in call else "int64", "float32"]
                usual[at] = other
                found.append("F." + call.format(*[_tensor(s, d) for s, d in zip(sizes, usual)]))
    return found


def shown(torch: Any, value: Any) -> Any:
    """Numbers, shape, dtype and node of tensors."""
    if isinstance(value, torch.Tensor):
        node = value.grad_fn.name() if value.grad_fn is not None else ""
        return [value.real.double().flatten().tolist()[:4], list(value.shape), str(value.dtype).rpartition(".")[2], node]
    return [shown(torch, v) for v in value] if isinstance(value, (tuple, list)) else value


def outcome(torch: Any, line: str) -> Any:
    """What a call gives, or its error."""
    names = {"torch": torch, "F": torch.nn.functional, "ones": torch.ones, "float32": torch.float32,
             **{name: getattr(torch, name) for name in OTHERS}}
    return attempted(lambda: shown(torch, eval(line, names)))


TABLE = Table("unlike", _calls, outcome, tolerance=(1e-3, 1e-6), digits=5, zipped=True)
