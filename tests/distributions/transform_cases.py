"""Transforms, the sets between which they lead, and whole programs that draw, score and learn."""

from __future__ import annotations

import math
from typing import Any

from tests.distributions.distribution_cases import told
from tests.recording import Table, attempted

TRANSFORMS = [
    "T.AbsTransform()", "T.AffineTransform(1., -2.)", "T.AffineTransform(torch.tensor([1., 2., 0.5]), torch.tensor([3., -1., 0.25]))",
    "T.AffineTransform(0, 3, event_dim=1)", "T.AffineTransform(torch.tensor([1., 2., 0.5]), torch.tensor([3., -1., 0.25]), 1)",
    "T.CatTransform([T.ExpTransform(), T.AffineTransform(1., 2.)], dim=-1, lengths=[1, 2])",
    "T.CatTransform([T.ExpTransform()] * 2, dim=0)", "T.ComposeTransform([T.AffineTransform(1., 2.), T.SigmoidTransform()])",
    "T.ComposeTransform([T.ExpTransform(), T.PowerTransform(torch.tensor(2.)), T.StickBreakingTransform()])", "T.ComposeTransform([])",
    "T.CorrCholeskyTransform()", "T.CumulativeDistributionTransform(D.Normal(0., 1.))", "T.ExpTransform()",
    "T.IndependentTransform(T.ExpTransform(), 1)", "T.IndependentTransform(T.SigmoidTransform(), 3)", "T.LowerCholeskyTransform()",
    "T.PositiveDefiniteTransform()", "T.PowerTransform(2)", "T.PowerTransform(torch.tensor([0.5, -1., 3.]))",
    "T.ReshapeTransform((2, 3), (6,))", "T.ReshapeTransform((2, 3), (5,))", "T.SigmoidTransform()", "T.SoftmaxTransform()",
    "T.SoftplusTransform()", "T.StackTransform([T.ExpTransform(), T.TanhTransform(), T.AbsTransform()], dim=-1)",
    "T.StackTransform([T.ExpTransform()], dim=5)", "T.StickBreakingTransform()", "T.TanhTransform()", "T.identity_transform",
    "T.ExpTransform(2)", "T.CatTransform([3])", "T.CatTransform([T.ExpTransform()], 0, [1, 2])", "T.StackTransform([None])",
    "T.ExpTransform().inv", "T.ComposeTransform([T.AffineTransform(1., 2.), T.StickBreakingTransform()]).inv", "T.Transform()",
]
ASKED = [
    "t", "t(x)", "t.inv(t(x))", "t.log_abs_det_jacobian(x, t(x))", "t.inv.log_abs_det_jacobian(t(x), x)", "t.domain", "t.codomain",
    "t.sign",
    "t.bijective", "t.event_dim", "t.inv.inv is t", "t.inv", "t.forward_shape(torch.Size((4, 2, 3)))",
    "t.inverse_shape(torch.Size((4, 2, 3)))",
    "t.forward_shape(torch.Size(()))", "t.inverse_shape(torch.Size(()))", "t == t, t == T.ExpTransform(), t != t, t.inv == t.inv",
    "t.with_cache()", "(lambda c: c.inv(c(x)) is x)(t.with_cache(1))", "t.with_cache(0) is t", "t.domain.check(x)",
    "t.codomain.check(t(x))",
]
SETS = [
    "boolean", "one_hot", "nonnegative_integer", "positive_integer", "integer_interval(-1, 2)", "real", "real_vector", "positive",
    "nonnegative", "greater_than(0.5)", "greater_than_eq(0.5)", "less_than(0.5)", "multinomial(3)", "unit_interval", "interval(-1, 0.5)",
    "half_open_interval(0., 1.)", "simplex", "lower_triangular", "lower_cholesky", "corr_cholesky", "square", "symmetric",
    "positive_semidefinite", "positive_definite", "cat([positive, real], -1, [1, 1])", "cat([positive, unit_interval], 0)",
    "stack([positive, real], -1)", "stack([simplex, simplex], 0)", "stack([real], 5)", "cat([real], 5)", "cat([3])", "stack([3])",
    "cat([real], 0, [1, 2])", "independent(positive, 1)", "independent(positive, 2)", "independent(positive, 5)", "independent(3, 1)",
    "independent(real, -1)", "independent(real, 1.)", "MixtureSameFamilyConstraint(positive)", "MixtureSameFamilyConstraint(3)",
    "dependent",
    "dependent(is_discrete=True, event_dim=1)", "_IntegerLessThan(1)", "interval(torch.zeros(2), torch.ones(2))", "Constraint()",
    "interval(0, 1)", "less_than(torch.tensor([1., 2.]))",
]
OF_SETS = [
    "c", "c.is_discrete", "c.event_dim", "C.is_dependent(c)", "D.transform_to(c)", "D.biject_to(c)", "D.transform_to(c)(torch.ones(2, 2))",
    "D.biject_to(c)(torch.ones(2, 1))", *[f"c.check(torch.tensor({x}))" for x in (
        [[0., 1.], [1., 1.]], [[2., 0.], [0.5, 0.]], [[1., 0.5], [0.5, 1.]], [[1., 0.], [0.6, 0.8]], [[-1., 0.5], [math.nan, math.inf]],
        [[0, 1], [2, -1]], [0.25, 0.75], 0.5, [[1., 0., 0.], [0., 1., 0.]])],
]
OTHERS = [
    "U.broadcast_all(torch.zeros(2), 1)", "U.broadcast_all(1, 2.)", "U.broadcast_all(torch.zeros(2, dtype=torch.float64), 1.5)",
    "U.broadcast_all('a')", "U.broadcast_all(torch.zeros(2), torch.zeros(3))", "U.broadcast_all(torch.zeros(2, dtype=torch.int64), 1.5)",
    "U.clamp_probs(torch.tensor([0., 0.5, 1.]))", "U.clamp_probs(torch.tensor([0., 1.], dtype=torch.float64))",
    "U.probs_to_logits(torch.tensor([0.25, 0.75]))", "U.probs_to_logits(torch.tensor([0., 0.75]), True)",
    "U.logits_to_probs(torch.tensor([0., 1.]))", "U.logits_to_probs(torch.tensor([0., 1.]), is_binary=True)",
    *[f"U.tril_matrix_to_vec(torch.arange(9.).reshape(3, 3), {k})" for k in (-4, -3, -1, 0, 1, 2, 3)],
    *[f"U.vec_to_tril_matrix(torch.arange(1., {n}.), {k})" for n in (1, 2, 4, 5, 7) for k in (-2, -1, 0, 1)], "U.euler_constant",
    "D.biject_to.register(3, 4)", "D.constraint_registry.ConstraintRegistry()(C.real)",
    "D.biject_to(C.dependent)", "sorted(D.__all__)", "sorted(U.__all__)", "sorted(C.__all__)", "sorted(T.__all__)", "D.kl.__all__",
    "torch._standard_gamma(torch.tensor([-1., 0., 0.5, 100.]))", "torch._standard_gamma(torch.tensor([1, 2]))",
    "torch._sample_dirichlet(torch.tensor([[0., 0.], [1e-3, 1.]]))", "torch._sample_dirichlet(torch.ones(2).half())",
    "torch.binomial(torch.tensor([3., 50.]), torch.tensor([[0.5], [2.], [-1.]]))", "torch.binomial(torch.tensor([3]), torch.tensor([0.5]))",
    "torch.binomial(torch.tensor([3.]), torch.tensor([0.5]).double())", "torch.binomial(3, torch.tensor(0.5))",
    "torch._standard_gamma(2.)", "torch._standard_gamma_grad(torch.tensor([1, 2]), torch.tensor([1, 2]))",
    "torch._standard_gamma_grad(torch.ones(2), torch.ones(2).double())", "torch._dirichlet_grad(*[torch.ones(2).half()] * 3)",
    "torch._standard_gamma_grad(*torch.meshgrid(A, A, indexing='ij'))",
    "torch._dirichlet_grad(S[:, None, None].double(), A[:, None].double(), (A + A[:, None]).double())",
    "torch._dirichlet_grad(torch.ones(2), torch.ones(3), torch.ones(3))", "torch._is_all_true(torch.tensor([True, False]))",
    "torch._is_any_true(torch.tensor([True, False]))", "torch.binomial(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()",
    "torch._sample_dirichlet(torch.ones(2, requires_grad=True)).sum().backward()", "torch.poisson(torch.ones(2, requires_grad=True))",
    "torch.autograd.grad(torch.autograd.grad(torch._standard_gamma(L).sum(), L, create_graph=True)[0].sum(), L)",
]


def _vae(torch: Any) -> list[Any]:
    """A variational autoencoder of dots on a grid, for some steps."""
    nn, D = torch.nn, torch.distributions
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(12, 6), nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 12))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
    data = D.Bernoulli(torch.linspace(0.1, 0.9, 12)).sample((20,))
    told = []
    for _ in range(5):
        loc, log_scale = encoder(data).chunk(2, -1)
        posterior = D.Independent(D.Normal(loc, log_scale.exp()), 1)
        prior = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
        likelihood = D.Independent(D.Bernoulli(logits=decoder(posterior.rsample())), 1)
        loss = (D.kl_divergence(posterior, prior.expand((20,))) - likelihood.log_prob(data)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    return told


def _policy(torch: Any) -> list[Any]:
    """A policy that learns by REINFORCE which of three levers pays."""
    D = torch.distributions
    torch.manual_seed(1)
    logits = torch.zeros(3, requires_grad=True)
    told = []
    for _ in range(20):
        policy = D.Categorical(logits=logits)
        action = policy.sample((8,))
        reward = (action == 2).float() - 0.1 * D.Normal(0.0, 1.0).sample((8,))
        loss = -(policy.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * policy.entropy()
        grad, = torch.autograd.grad(loss, logits)
        with torch.no_grad():
            logits -= grad
        told.append([action.tolist(), loss.item()])
    return [*told, logits.tolist()]


def _constrained(torch: Any) -> list[Any]:
    """Parameters learned in the space of real numbers, and moved into their sets."""
    D = torch.distributions
    torch.manual_seed(2)
    data = D.Gamma(3.0, 2.0).sample((50,))
    free = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([free], lr=0.1)
    told = []
    for _ in range(20):
        concentration, rate = [D.transform_to(D.Gamma.arg_constraints[name])(x) for name, x in zip(("concentration", "rate"), free)]
        loss = -D.Gamma(concentration, rate).log_prob(data).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    return [*told, free.tolist()]


def _implicit(torch: Any) -> list[Any]:
    """Dirichlet, beta, gamma and Student numbers that move with learned parameters."""
    D = torch.distributions
    torch.manual_seed(3)
    a = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    told = []
    for _ in range(5):
        shares = D.Dirichlet(a.exp()).rsample((10,))
        levels = D.Beta(a.exp(), 2.0).rsample((10,)) + D.Gamma(a.exp(), 1.0).rsample((10,)) + D.StudentT(3 + a.exp()).rsample((10,))
        loss = ((shares - 1 / 3) ** 2).sum() + ((levels - 1) ** 2).mean()
        grad, = torch.autograd.grad(loss, a)
        with torch.no_grad():
            a -= 0.01 * grad
        told.append([loss.item(), grad.tolist()])
    return told


def _registered(torch: Any) -> list[Any]:
    """Divergences of a program's own classes, the closest of which is taken, with a warning where two are."""
    import warnings

    D = torch.distributions

    class Near(D.Normal): pass  # type: ignore[misc,name-defined]
    class Nearer(Near): pass

    given = [D.Normal(0.0, 1.0), Near(1.0, 1.0), Nearer(2.0, 1.0)]
    told = [D.kl_divergence(p, q).item() for p in given for q in given]
    D.register_kl(Near, D.Normal)(lambda p, q: "left")
    told += [str(D.kl_divergence(p, q)) for p in given for q in given]
    D.register_kl(D.Normal, Nearer)(lambda p, q: "right")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told += [str(D.kl_divergence(p, q)) for p in given for q in given]
    for pair in ((Near, D.Normal), (D.Normal, Nearer)):
        del D.kl._KL_REGISTRY[pair]
    D.kl._KL_MEMOIZE.clear()
    return [*told, [(w.category.__name__, str(w.message)) for w in caught]]


PROGRAMS = {"vae": _vae, "policy": _policy, "constrained": _constrained, "implicit": _implicit, "registered": _registered}


def _outcome(torch: Any, case: str) -> Any:
    D = torch.distributions
    torch.manual_seed(5)
    kind, _, code = case.partition(": ")
    if kind == "program":
        return PROGRAMS[code](torch)
    x = (torch.arange(24.).reshape(4, 2, 3) - 11.5) / 8
    places = {"torch": torch, "D": D, "T": D.transforms, "C": D.constraints, "U": D.utils, "x": x,
    "A": torch.tensor([0.1, 0.7, 3., 9., 80.]),
              "S": torch.tensor([1e-3, 0.1, 0.4, 0.6, 0.95]), "L": torch.tensor([1., 2.], requires_grad=True)}
    made, _, asked = code.partition(" | ")
    if kind == "transform":
        if "Definite" in made or "LowerCholesky" in made:
            places["x"] = x = x[:, :, :2]
        made_of = attempted(lambda: eval(made, places))
        if isinstance(made_of, dict):
            return made_of
        places["t"] = made_of
        if made.endswith(".inv"):
            places["x"] = x.exp()
    if kind == "set":
        made_of = attempted(lambda: eval(made, vars(D.constraints) | {"torch": torch}))
        if isinstance(made_of, dict):
            return made_of
        places["c"] = made_of
    return attempted(lambda: told(eval(asked or made, places)))


TABLE = Table("distribution_transforms", [*[f"transform: {made} | {asked}" for made in TRANSFORMS for asked in ASKED],
                             *[f"set: {made} | {asked}" for made in SETS for asked in OF_SETS], *[f"other: {code}" for code in OTHERS],
                             *[f"program: {name}" for name in PROGRAMS]], _outcome, (1e-4, 1e-6), digits=8, zipped=True)
