"""Contractions in the order that is found for them, and their gradients."""

import numpy as np
import opt_einsum
import torch

PACKAGES = ("opt_einsum",)
IN_SUITE = ("contracted",)


def contracted() -> list:
    rng = np.random.default_rng(0)
    given = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((4, 5), (5, 6), (6, 4))]
    path, _ = opt_einsum.contract_path("ij,jk,ki->", *given)
    whole = opt_einsum.contract("ij,jk,ki->", *given)
    whole.backward()
    known = opt_einsum.contract_expression("ij,jk->ik", (4, 5), (5, 6))
    return [str(path), whole, [t.grad for t in given], known(*[t.detach() for t in given[:2]], backend="torch")]


CASES = {"contracted": contracted}
