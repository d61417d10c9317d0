"""Gaussian processes fitted by L-BFGS and searched for the best: seven models, twelve acquisition functions and their maxima, several
aims, samplers, a whole search of four steps."""

import torch
from botorch import acquisition as acq
from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement, qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import MixedSingleTaskGP, ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskMultiFidelityGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.test_functions import Branin, BraninCurrin, Hartmann
from botorch.utils.multi_objective import Hypervolume, is_non_dominated
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

PACKAGES = ("botorch", "gpytorch")
CLOSE = 1e-3
BOX = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def data() -> tuple:
    torch.manual_seed(0)
    x = draw_sobol_samples(BOX, 10, 1, seed=0).squeeze(1)
    return x, -((x - 0.4) ** 2).sum(-1, keepdim=True) + 0.01 * torch.randn(10, 1, dtype=torch.float64)


def fitted(model: object, several: bool = False) -> object:
    fit_gpytorch_mll((SumMarginalLogLikelihood if several else ExactMarginalLogLikelihood)(model.likelihood, model),
                     optimizer_kwargs={"options": {"maxiter": 15}})
    return model.eval()


def told(model: object, x: torch.Tensor) -> list:
    found = model.posterior(x)
    return [found.mean, found.variance, [p.detach() for p in model.parameters()]]


def models(name: str) -> list:
    x, y = data()
    where = x[:3] + 0.05
    if name == "single":
        return told(fitted(SingleTaskGP(x, y)), where)
    if name == "transformed":
        return told(fitted(SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))), where)
    if name == "kernel":
        return told(fitted(SingleTaskGP(x, y, torch.full_like(y, 0.01), covar_module=ScaleKernel(MaternKernel(1.5, ard_num_dims=2)))),
                    where)
    if name == "tasks":
        task = torch.tensor([[0.0], [1.0]] * 5, dtype=torch.float64)
        return told(fitted(MultiTaskGP(torch.cat([x, task], 1), y, task_feature=2)), where)
    if name == "list":
        return told(fitted(ModelListGP(SingleTaskGP(x, y), SingleTaskGP(x, y.square())), True), where)
    if name == "mixed":
        kinds = torch.tensor([[0.0], [1.0]] * 5, dtype=torch.float64)
        torch.set_default_dtype(torch.float64)  # in float32 the fit begins at an exp(-5), whose last place decides where fifteen steps end
        try:
            return told(fitted(MixedSingleTaskGP(torch.cat([x, kinds], 1), y, cat_dims=[2])), torch.cat([where, kinds[:3]], 1))
        finally:
            torch.set_default_dtype(torch.float32)
    return told(fitted(SingleTaskMultiFidelityGP(x, y, data_fidelities=[1])), where)


def functions(name: str) -> list:
    x, y = data()
    model = fitted(SingleTaskGP(x, y))
    sampler, best = SobolQMCNormalSampler(torch.Size([16]), seed=1), y.max()
    function, q = {
        "log expected": lambda: (acq.LogExpectedImprovement(model, best), 1), "upper bound": lambda: (acq.UpperConfidenceBound(model, 0.1),
                                                                                                      1),
        "probability": lambda: (acq.ProbabilityOfImprovement(model, best), 1), "mean": lambda: (acq.PosteriorMean(model), 1),
        "several log expected": lambda: (acq.qLogExpectedImprovement(model, best, sampler), 2),
                   "several expected": lambda: (acq.qExpectedImprovement(model, best, sampler), 2),
        "noisy": lambda: (acq.qLogNoisyExpectedImprovement(model, x, sampler), 2),
                   "several upper bound": lambda: (acq.qUpperConfidenceBound(model, 0.1, sampler), 2),
        "simple regret": lambda: (acq.qSimpleRegret(model, sampler), 1),
                   "knowledge": lambda: (acq.qKnowledgeGradient(model, num_fantasies=4), 1),
        "entropy": lambda: (acq.qMaxValueEntropy(model, draw_sobol_samples(BOX, 20, 1, seed=2).squeeze(1)), 1),
        "deviation": lambda: (acq.PosteriorStandardDeviation(model), 1)}[name]()
    torch.manual_seed(1)
    points = draw_sobol_samples(BOX, 2, q + 4 * (name == "knowledge"), seed=3).requires_grad_()
    values = function(points)
    values.sum().backward()
    chosen, value = optimize_acqf(function, BOX, q, num_restarts=2, raw_samples=8, options={"maxiter": 10})
    return [values, points.grad, value, {"chosen": chosen}]


def aims() -> dict:
    torch.manual_seed(0)
    problem = BraninCurrin(negate=True).to(torch.float64)
    x = draw_sobol_samples(problem.bounds, 8, 1, seed=0).squeeze(1)
    y = problem(x)
    model = fitted(ModelListGP(*(SingleTaskGP(x, y[:, i:i + 1], outcome_transform=Standardize(1)) for i in range(2))), True)
    parts = FastNondominatedPartitioning(problem.ref_point, y)
    sampler = SobolQMCNormalSampler(torch.Size([8]), seed=0)
    expected = qExpectedHypervolumeImprovement(model, problem.ref_point, parts, sampler)(x[:2, None] + 0.01)
    noisy = qLogNoisyExpectedHypervolumeImprovement(model, problem.ref_point.tolist(), x, sampler)(x[:2, None] + 0.01)
    return {"values": y, "front": is_non_dominated(y), "volume": Hypervolume(problem.ref_point).compute(y[is_non_dominated(y)]),
            "expected": expected, "noisy": noisy,
            "cells": parts.get_hypercell_bounds()}


def samples() -> list:
    x, y = data()
    model = fitted(SingleTaskGP(x, y))
    torch.manual_seed(3)
    drawn = [sampler(model.posterior(x[:3])) for sampler in (IIDNormalSampler(torch.Size([4]), seed=2),
                                                             SobolQMCNormalSampler(torch.Size([4]), seed=2))]
    more = model.condition_on_observations(x[:2] + 0.1, y[:2])
    return [*drawn, model.posterior(x[:3]).rsample(torch.Size([2])), MaxPosteriorSampling(model)(x, 3).shape[0], more.posterior(x[:2]).mean,
            model.fantasize(x[:2], IIDNormalSampler(torch.Size([2]), seed=1)).posterior(x[:1]).mean, Hartmann()(torch.full((2, 6), 0.3)),
            Branin()(x)]


def search() -> list:
    x, y = data()
    for step in range(4):
        torch.manual_seed(step)
        model = fitted(SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1)))
        chosen, _ = optimize_acqf(acq.LogExpectedImprovement(model, y.max()), BOX, 1, num_restarts=3, raw_samples=16,
                                  options={"maxiter": 20})
        x, y = torch.cat([x, chosen]), torch.cat([y, -((chosen - 0.4) ** 2).sum(-1, keepdim=True)])
    return [x[10:], y.max()]


CASES = {**{f"{name} model": lambda name=name: models(name) for name in ("single", "transformed", "kernel", "tasks", "list", "mixed",
                                                                         "fidelities")},
         **{name: lambda name=name: functions(name) for name in ("log expected", "upper bound", "probability", "mean",
                                                                 "several log expected", "several expected", "noisy",
                                                                 "several upper bound", "simple regret", "knowledge", "entropy",
                                                                 "deviation")},
         "several aims": aims, "samples": samples, "search": search}
