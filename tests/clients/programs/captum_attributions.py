"""What a small network of pictures and one of words owe their answers to: eighteen attributions of inputs, twelve of layers and neurons,
by noise and by chance; how faithful they are, concepts, influences of examples, robustness; gradients of an embedding."""

import tempfile

import numpy as np
import torch
from captum import attr, concept, influence, metrics, robust
from torch.utils.data import DataLoader, TensorDataset

PACKAGES = ("captum",)


class Pictures(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.relu1, self.pool = torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
        self.fc1, self.relu2, self.fc2 = torch.nn.Linear(27, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.relu2(self.fc1(self.pool(self.relu1(self.conv1(x))).flatten(1))))


class Words(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.attention, self.out = torch.nn.Embedding(12, 8), torch.nn.MultiheadAttention(8, 2,
            batch_first=True), torch.nn.Linear(8, 2)

    def forward(self, words: torch.Tensor, scale: torch.Tensor | float = 1.0) -> torch.Tensor:
        x = self.embedding(words)
        return self.out(self.attention(x, x, x)[0].mean(1)) * scale


def network(kind: type = Pictures) -> torch.nn.Module:
    torch.manual_seed(0)
    model = kind()
    if kind is Pictures:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            loss = torch.nn.functional.cross_entropy(model(pictures(12)), torch.arange(12) % 3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def pictures(count: int = 2) -> torch.Tensor:
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(2))


MASK = (torch.arange(64) // 16).view(1, 1, 8, 8)
INPUTS = {
    "integrated": lambda m, x: attr.IntegratedGradients(m).attribute(x, target=1, n_steps=20, return_convergence_delta=True),
    "riemann": lambda m, x: attr.IntegratedGradients(m, False).attribute(x, x.flip(0), 1, n_steps=10, method="riemann_trapezoid"),
    "saliency": lambda m, x: attr.Saliency(m).attribute(x, target=0), "times input": lambda m,
    x: attr.InputXGradient(m).attribute(x, target=0),
    "guided": lambda m, x: attr.GuidedBackprop(m).attribute(x, target=0), "deconvolution": lambda m,
    x: attr.Deconvolution(m).attribute(x, target=0),
    "deep lift": lambda m, x: attr.DeepLift(m).attribute(x, target=0, return_convergence_delta=True),
    "deep lift by chance": lambda m, x: attr.DeepLiftShap(m).attribute(x, pictures(4), target=0),
    "gradients by chance": lambda m, x: attr.GradientShap(m).attribute(x, pictures(4), n_samples=6, stdevs=0.1, target=0),
    "occlusion": lambda m, x: attr.Occlusion(m).attribute(x, (1, 3, 3), strides=(1, 2, 2), target=0),
    "ablation": lambda m, x: attr.FeatureAblation(m).attribute(x, feature_mask=MASK, target=0, perturbations_per_eval=2),
    "permutation": lambda m, x: attr.FeaturePermutation(m).attribute(pictures(5), feature_mask=MASK, target=0),
    "shapley": lambda m, x: attr.ShapleyValues(m).attribute(x, feature_mask=MASK, target=0),
    "shapley by chance": lambda m, x: attr.ShapleyValueSampling(m).attribute(x, feature_mask=MASK, target=0, n_samples=4),
    "kernel": lambda m, x: attr.KernelShap(m).attribute(x[:1], feature_mask=MASK, target=0, n_samples=30),
    "lime": lambda m, x: attr.Lime(m, interpretable_model=None).attribute(x[:1], feature_mask=MASK, target=0, n_samples=30),
    "relevance": lambda m, x: attr.LRP(m).attribute(x, target=0),
    "guided by layer": lambda m, x: attr.GuidedGradCam(m, m.conv1).attribute(x, target=0),
    "smoothed": lambda m, x: attr.NoiseTunnel(attr.Saliency(m)).attribute(x, nt_type="smoothgrad_sq", nt_samples=5, stdevs=0.2, target=0)}
LAYERS = {
    "conductance": lambda m, x: attr.LayerConductance(m, m.conv1).attribute(x, target=0, n_steps=10),
    "influence": lambda m, x: attr.InternalInfluence(m, m.conv1).attribute(x, target=0, n_steps=10),
    "activation": lambda m, x: attr.LayerActivation(m, [m.conv1, m.fc1]).attribute(x),
    "times gradient": lambda m, x: attr.LayerGradientXActivation(m, m.fc1).attribute(x, target=0),
    "cam": lambda m, x: attr.LayerAttribution.interpolate(attr.LayerGradCam(m, m.conv1).attribute(x, target=0), (8, 8)),
    "integrated": lambda m, x: attr.LayerIntegratedGradients(m, m.relu1).attribute(x, target=0, n_steps=10),
    "deep lift": lambda m, x: attr.LayerDeepLift(m, m.conv1).attribute(x, target=0),
    "relevance": lambda m, x: attr.LayerLRP(m, m.fc1).attribute(x, target=0),
    "ablation": lambda m, x: attr.LayerFeatureAblation(m, m.conv1).attribute(x, target=0),
    "neuron": lambda m, x: attr.NeuronConductance(m, m.fc1).attribute(x, 2, target=0, n_steps=10),
    "neuron's gradient": lambda m, x: attr.NeuronGradient(m, m.conv1).attribute(x, (0, 1, 2)),
    "neuron integrated": lambda m, x: attr.NeuronIntegratedGradients(m, m.fc1).attribute(x, 3, n_steps=10),
    "neuron guided": lambda m, x: attr.NeuronGuidedBackprop(m, m.fc1).attribute(x, 3),
    "neuron deep lift": lambda m, x: attr.NeuronDeepLift(m, m.fc1).attribute(x, 3)}


def inputs(name: str) -> object:
    model = network()
    torch.manual_seed(1), np.random.seed(1)
    return INPUTS[name](model, pictures().requires_grad_())


def layers() -> dict:
    found = {}
    for name, call in LAYERS.items():
        model = network()
        torch.manual_seed(1)
        found[name] = call(model, pictures())
    return found


def words() -> list:
    model, given = network(Words), torch.randint(0, 12, (2, 5), generator=torch.Generator().manual_seed(3))
    lig = attr.LayerIntegratedGradients(model, model.embedding)
    found = lig.attribute(given, torch.zeros_like(given), target=1, n_steps=10, additional_forward_args=(0.5,),
                          return_convergence_delta=True)
    table = attr.configure_interpretable_embedding_layer(model, "embedding")
    vectors = table.indices_to_embeddings(given)
    saliency = attr.Saliency(model).attribute(vectors, target=1)
    attr.remove_interpretable_embedding_layer(model, table)
    return [found, saliency, attr.FeatureAblation(model).attribute(given, target=0),
            attr.TokenReferenceBase(0).generate_reference(5, "cpu")]


def faithful() -> list:
    model, x = network(), pictures()
    torch.manual_seed(1)
    saliency = attr.Saliency(model)
    return [metrics.sensitivity_max(saliency.attribute, x, target=0, n_perturb_samples=4),
            metrics.infidelity(model, lambda x: (0.01 * torch.ones_like(x), x - 0.01), x, saliency.attribute(x, target=0), target=0)]


def attacked() -> list:
    model, x = network(), pictures()
    torch.manual_seed(1)
    loss = torch.nn.CrossEntropyLoss(reduction="none")
    return [robust.FGSM(model, loss).perturb(x, 0.1, torch.tensor([0, 1])),
            robust.PGD(model, loss).perturb(x, 0.3, 0.1, 3, torch.tensor([0, 1]), random_start=True),
            robust.MinParamPerturbation(model, lambda x, scale: x * (1 - scale), "scale", 0.0, 0.9, 0.1).evaluate(x,
                target=torch.tensor([0, 1]))[1]]


def influences() -> list:
    model, data = network(), TensorDataset(pictures(8), torch.arange(8) % 3)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), f"{folder}/1.pt")

        def load(module: torch.nn.Module, path: str) -> float:
            module.load_state_dict(torch.load(path))
            return 0.1

        found = []
        for kind in (influence.TracInCP, influence.TracInCPFast):
            last = [model.fc2] if kind is influence.TracInCPFast else []
            loss = torch.nn.CrossEntropyLoss(reduction="sum" if last else "none")
            tracing = kind(model, *last, data, checkpoints=[f"{folder}/1.pt"], checkpoints_load_func=load, loss_fn=loss, batch_size=4)
            given = (pictures(2), torch.tensor([0, 1]))
            found += [tracing.influence(given), list(tracing.influence(given, k=3)), tracing.self_influence()]
        return found


def concepts() -> list:
    torch.manual_seed(3)
    model, made = network(), []
    for number, shift in enumerate((2.0, -2.0, 0.0)):
        made.append(concept.Concept(number, f"c{number}", DataLoader(pictures(10) + shift, batch_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        tcav = concept.TCAV(model, ["fc1"], save_path=folder)
        scores = tcav.interpret(pictures(4), [made[:2], made[1:]], target=0)
    return [{key: {layer: sorted(value) for layer, value in row.items()} for key, row in scores.items()}]


def refused() -> list:
    model, found = network(), []
    for call in (lambda: attr.Saliency(model).attribute(pictures()), lambda: attr.Saliency(model).attribute(pictures(), target=7),
                 lambda: attr.IntegratedGradients(model).attribute(pictures(), target=0, method="other"),
                 lambda: attr.LRP(Words()).attribute(
                     torch.zeros(1, 2, dtype=torch.long), target=0), lambda: attr.LayerActivation(model,
                         model.fc1).attribute(pictures()[0])):
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)[:120]])
    return found


CASES = {**{name: lambda name=name: inputs(name) for name in INPUTS}, "layers": layers, "words": words, "faithfulness": faithful,
         "attacks": attacked, "influences": influences, "concepts": concepts, "refused": refused}
