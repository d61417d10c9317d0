"""Gaussian processes fitted for five steps: six kernels exactly, one with inducing points, one by conjugate gradients; predictions."""

import gpytorch
import torch

PACKAGES = ("gpytorch", "linear_operator")
CLOSE = 1e-3
X = torch.linspace(0, 1, 30)
KERNELS = {"rbf": gpytorch.kernels.RBFKernel, "matern": lambda: gpytorch.kernels.MaternKernel(2.5),
           "periodic": gpytorch.kernels.PeriodicKernel, "rq": gpytorch.kernels.RQKernel,
           "mixture": lambda: gpytorch.kernels.SpectralMixtureKernel(num_mixtures=2),
           "sum": lambda: gpytorch.kernels.LinearKernel() + gpytorch.kernels.CosineKernel()}


class Exact(gpytorch.models.ExactGP):
    def __init__(self, y: torch.Tensor, likelihood: gpytorch.likelihoods.Likelihood, kernel: gpytorch.kernels.Kernel) -> None:
        super().__init__(X, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Sparse(gpytorch.models.ApproximateGP):
    def __init__(self, points: torch.Tensor) -> None:
        chosen = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, chosen, learn_inducing_locations=True))
        self.mean, self.kernel = gpytorch.means.LinearMean(1), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    forward = Exact.forward


def data() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.sin(6 * X) + 0.1 * torch.randn(30)


def fitted(kernel: str) -> list:
    y, likelihood = data(), gpytorch.likelihoods.GaussianLikelihood()
    model, losses = Exact(y, likelihood, KERNELS[kernel]()), []
    optimizer, likely = torch.optim.Adam(model.parameters(), 0.1), gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(5):
        optimizer.zero_grad()
        loss = -likely(model(X), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.linspace(0, 1, 5)))
    return [losses, found.mean, found.variance]


def sparse() -> list:
    y, likelihood, losses = data(), gpytorch.likelihoods.GaussianLikelihood(), []
    model = Sparse(X[::5, None].clone())
    likely = gpytorch.mlls.VariationalELBO(likelihood, model, 30)
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], 0.05)
    for _ in range(5):
        optimizer.zero_grad()
        loss = -likely(model(X[:, None]), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def iterative() -> float:
    y, likelihood = data(), gpytorch.likelihoods.GaussianLikelihood()
    with gpytorch.settings.max_cholesky_size(1), gpytorch.settings.cg_tolerance(1e-3):
        model = Exact(y, likelihood, gpytorch.kernels.RBFKernel())
        loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(X), y)
        loss.backward()
    return loss.item()


CASES = {**{kernel: lambda kernel=kernel: fitted(kernel) for kernel in KERNELS},
         "inducing points": sparse, "conjugate gradients": iterative}
