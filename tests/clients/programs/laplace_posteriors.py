"""Posteriors of networks' weights by Laplace's approximation: every structure over all, the last layer and parts, for classes and numbers,
priors fitted, predictions by each way, functional ones, saved and loaded, weights trained by the marginal likelihood."""

import io

import torch
from laplace import Laplace, marglik_training
from laplace.baselaplace import DiagLaplace
from laplace.curvature import AsdlEF, AsdlGGN, BackPackEF, BackPackGGN, CurvlinopsEF, CurvlinopsGGN
from laplace.utils import LargestMagnitudeSubnetMask, LargestVarianceDiagLaplaceSubnetMask, ModuleNameSubnetMask
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PACKAGES = ("laplace-torch", "curvlinops-for-pytorch", "backpack-for-pytorch", "asdfghjkl")
CLOSE = 1e-3
STRUCTURES = [(subset, structure) for subset in ("all", "last_layer") for structure in ("kron", "diag", "full", "gp")]


def data(kind: str = "classification") -> tuple:
    torch.manual_seed(0)
    x = torch.randn(60, 2)
    y = torch.randint(0, 3, (60,)) if kind == "classification" else x.sum(1, keepdim=True).sin()
    return x, DataLoader(TensorDataset(x, y), batch_size=20), DataLoader(TensorDataset(x[:20] + 0.1, y[:20]), batch_size=20)


def trained(kind: str = "classification") -> nn.Module:
    _, loader, _ = data(kind)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3 if kind == "classification" else 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(5):
        for x, y in loader:
            optimizer.zero_grad()
            (nn.functional.cross_entropy if kind == "classification" else nn.functional.mse_loss)(net(x), y).backward()
            optimizer.step()
    return net


def posterior(kind: str, subset: str, structure: str) -> dict:
    x, loader, _ = data(kind)
    model = Laplace(trained(kind), kind, subset_of_weights=subset, hessian_structure=structure,
                    **{"n_subset": 20} if structure == "gp" else {})
    model.fit(loader)
    found = {"likelihood": model.log_marginal_likelihood()}
    if structure != "gp":
        model.optimize_prior_precision(method="marglik", n_steps=5)
        found["prior"] = model.prior_precision
    if kind == "regression":
        found["mean"], found["variance"] = model(x[:3])
    else:
        ways = ("probit", "bridge", "mc") if structure != "gp" else ("probit",)
        for way in ways:
            torch.manual_seed(1)
            found[way] = model(x[:3], link_approx=way, n_samples=8)
        if structure != "gp":
            torch.manual_seed(2)
            found["samples"] = model.sample(3).mean(0)
            found["network"] = model(x[:2], pred_type="nn", link_approx="mc", n_samples=4)
    return found


def backends() -> dict:
    x, loader, _ = data()
    found = {}
    for backend, structure in ((AsdlGGN, "kron"), (AsdlGGN, "diag"), (AsdlEF, "full"), (BackPackGGN, "diag"), (BackPackGGN, "kron"),
                               (BackPackEF, "diag"), (CurvlinopsGGN, "kron"), (CurvlinopsEF, "kron"), (CurvlinopsGGN, "full")):
        model = Laplace(trained(), "classification", subset_of_weights="all", hessian_structure=structure, backend=backend)
        model.fit(loader)
        found[f"{backend.__name__} {structure}"] = [model.log_marginal_likelihood(), model(x[:2])]
    return found


def parts() -> dict:
    x, loader, _ = data()
    net, found = trained(), {}
    masks = {"magnitude": LargestMagnitudeSubnetMask(net, 6), "module": ModuleNameSubnetMask(net, ["2"]),
             "variance": LargestVarianceDiagLaplaceSubnetMask(net, 6, DiagLaplace(net, "classification"))}
    for name, mask in masks.items():
        chosen = mask.select(loader)
        model = Laplace(net, "classification", subset_of_weights="subnetwork", hessian_structure="full", subnetwork_indices=chosen)
        model.fit(loader)
        found[name] = [chosen, model.log_marginal_likelihood(), model(x[:2])]
    return found


def priors() -> dict:
    _, loader, validation = data()
    found = {}
    for method, shape in (("marglik", "scalar"), ("marglik", "layerwise"), ("marglik", "diag"), ("gridsearch", "scalar")):
        model = Laplace(trained(), "classification", subset_of_weights="all", hessian_structure="diag")
        model.fit(loader)
        model.optimize_prior_precision(method=method, prior_structure=shape, n_steps=4, val_loader=validation, grid_size=5, pred_type="glm",
                                       link_approx="probit")
        found[f"{method} {shape}"] = model.prior_precision
    return found


def kept() -> list:
    x, loader, _ = data()
    net = trained()
    model = Laplace(net, "classification", subset_of_weights="all", hessian_structure="kron")
    model.fit(loader)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = Laplace(net, "classification", subset_of_weights="all", hessian_structure="kron")
    again.load_state_dict(torch.load(file, weights_only=False))
    return [again(x[:3]), [[float(values.sum()) for values in block] for block in model.H.eigenvalues]]


def marginal() -> list:
    _, loader, _ = data("regression")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
    model, _, likelihoods, losses = marglik_training(net, loader, "regression", "kron", n_epochs=3, marglik_frequency=1, n_hypersteps=5,
                                                     progress_bar=False)
    return [likelihoods, losses, model.sigma_noise]


CASES = {**{f"{subset} {structure}, {kind}": lambda kind=kind, subset=subset, structure=structure: posterior(kind, subset, structure)
            for kind in ("classification", "regression") for subset, structure in STRUCTURES},
         "backends": backends, "parts": parts, "priors": priors, "kept": kept, "marginal likelihood": marginal}
