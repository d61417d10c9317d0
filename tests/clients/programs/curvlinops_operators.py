"""Curvatures of a network as linear operators: Hessians, Gauss-Newton and Fisher matrices, factored ones and their inverses; products,
traces, diagonals, norms, spectra; solving with them."""

import curvlinops
import numpy as np
import torch
from torch import nn

PACKAGES = ("curvlinops-for-pytorch",)
NAMES = ("HessianLinearOperator", "GGNLinearOperator", "EFLinearOperator", "KFACLinearOperator", "EKFACLinearOperator")


def setting(loss: type = nn.CrossEntropyLoss, dtype: torch.dtype = torch.float64, pictures: bool = False) -> tuple:
    torch.manual_seed(0)
    np.random.seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)) if pictures else nn.Sequential(nn.Linear(4, 6),
                                                                                                                     nn.Tanh(),
                                                                                                                     nn.Linear(6, 3))
    batches = []
    for _ in range(2):
        x = torch.randn(5, 1, 4, 4) if pictures else torch.randn(5, 4)
        batches.append((x.to(dtype), torch.randint(0, 3, (5,)) if loss is nn.CrossEntropyLoss else torch.rand(5, 3).round().to(dtype)))
    net = net.to(dtype)
    return net, loss(), list(net.parameters()), batches


def products(name: str, **given: object) -> list:
    net, loss, parameters, batches = setting(**{key: given.pop(key) for key in ("loss", "dtype", "pictures") if key in given})
    operator = getattr(curvlinops, name)(*((net, parameters, batches) if "Jacobian" in name else (net, loss, parameters, batches)), **given)
    rows, columns = operator.shape
    ones = torch.ones(columns, 2, dtype=next(net.parameters()).dtype)
    ones[:, 1] = torch.arange(columns) / columns
    found = [operator @ ones[:, 0], operator @ ones, list(map(int, operator.shape))]
    return [*found, operator.adjoint() @ ones[:rows, 0]] if rows <= columns else found


def estimates() -> dict:
    net, loss, parameters, batches = setting()
    operator = curvlinops.GGNLinearOperator(net, loss, parameters, batches)
    torch.manual_seed(0)
    np.random.seed(0)
    return {"trace": curvlinops.hutchinson_trace(operator, 20), "better": curvlinops.hutchpp_trace(operator, 21),
            "best": curvlinops.xtrace(operator, 8),
            "diagonal": curvlinops.hutchinson_diag(operator, 20), "better diagonal": curvlinops.xdiag(operator, 8),
            "norm": curvlinops.hutchinson_squared_fro(operator, 20)}


def inverses() -> dict:
    net, loss, parameters, batches = setting()
    operator = curvlinops.GGNLinearOperator(net, loss, parameters, batches)
    size = operator.shape[0]
    damped = operator + 0.1 * curvlinops.KFACLinearOperator(net, loss, parameters, batches)
    ones = torch.ones(size, dtype=torch.float64)
    factored = curvlinops.KFACLinearOperator(net, loss, parameters, batches, fisher_type="type-2")
    dense = operator.to_scipy() @ np.eye(size)
    return {"Neumann": curvlinops.NeumannInverseLinearOperator(damped, num_terms=20, scale=0.3) @ ones,
            "factored": curvlinops.KFACInverseLinearOperator(factored, damping=(0.1, 0.1)) @ ones, "dense": dense.sum(0),
            "spectrum": np.linalg.eigvalsh(dense)[-3:]}


def factored(name: str) -> dict:
    found = {}
    for kind in ("type-2", "mc", "empirical") + ("forward-only",) * (name == "KFACLinearOperator"):
        for approximation in ("expand", "reduce"):
            torch.manual_seed(0)
            found[f"{kind} {approximation}"] = products(name, pictures=True, fisher_type=kind, kfac_approx=approximation)[0]
    return found


CASES = {**{name: lambda name=name: products(name) for name in (*NAMES, "JacobianLinearOperator", "TransposedJacobianLinearOperator")},
         **{f"{name}, pictures": lambda name=name: products(name, pictures=True) for name in NAMES},
         **{f"{name}, numbers": lambda name=name: products(name, loss=nn.MSELoss, dtype=torch.float32) for name in NAMES},
         **{f"{name}, chances": lambda name=name: products(name, loss=nn.BCEWithLogitsLoss) for name in ("HessianLinearOperator",
                                                                                                         "GGNLinearOperator")},
         "sampled Fisher": lambda: products("FisherMCLinearOperator", mc_samples=2),
         "sampled Fisher, numbers": lambda: products("FisherMCLinearOperator", loss=nn.MSELoss),
         "factors": lambda: factored("KFACLinearOperator"),
         "corrected factors": lambda: factored("EKFACLinearOperator"), "estimates": estimates, "inverses": inverses}
