"""Modules and their inputs: text, initial weights from the same seed, outputs, gradients, buffers."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np

from tests.recording import Table

# (expression, input specifications): "f 2,3" floats; "u 2,3" in (0, 1); "s 2,3" -1 or 1; "i4 2,3" integers below 4; "b 2,3" bools.
CASES: list[tuple[str, tuple[str, ...]]] = [
    # linear
    ("nn.Identity(3, k=2)", ("f 2,3",)),
    ("nn.Linear(3, 2)", ("f 4,3",)),
    ("nn.Linear(3, 2, bias=False)", ("f 2,4,3",)),
    ("nn.Bilinear(2, 3, 4)", ("f 5,2", "f 5,3")),
    ("nn.Flatten()", ("f 2,3,4",)),
    ("nn.Unflatten(1, (2, 3))", ("f 2,6",)),
    # activations
    ("nn.Threshold(0.1, 20)", ("f 2,3",)),
    ("nn.ReLU()", ("f 2,3",)),
    ("nn.ReLU(inplace=True)", ()),
    ("nn.ReLU6()", ("f 2,3",)),
    ("nn.RReLU()", ("f 2,3",)),
    ("nn.RReLU().eval()", ("f 2,3",)),
    ("nn.Hardtanh(-0.5, 0.5)", ("f 2,3",)),
    ("nn.Sigmoid()", ("f 2,3",)),
    ("nn.Hardsigmoid()", ("f 2,3",)),
    ("nn.Tanh()", ("f 2,3",)),
    ("nn.SiLU()", ("f 2,3",)),
    ("nn.Mish()", ("f 2,3",)),
    ("nn.Hardswish()", ("f 2,3",)),
    ("nn.ELU(0.7)", ("f 2,3",)),
    ("nn.CELU(0.7)", ("f 2,3",)),
    ("nn.SELU()", ("f 2,3",)),
    ("nn.GLU()", ("f 2,4",)),
    ("nn.GELU()", ("f 2,3",)),
    ("nn.GELU(approximate='tanh')", ("f 2,3",)),
    ("nn.Hardshrink()", ("f 2,3",)),
    ("nn.LeakyReLU(0.2)", ("f 2,3",)),
    ("nn.LeakyReLU(0.2, inplace=True)", ()),
    ("nn.LogSigmoid()", ("f 2,3",)),
    ("nn.Softplus(2)", ("f 2,3",)),
    ("nn.Softshrink()", ("f 2,3",)),
    ("nn.PReLU()", ("f 2,3",)),
    ("nn.PReLU(3)", ("f 2,3,2",)),
    ("nn.Softsign()", ("f 2,3",)),
    ("nn.Tanhshrink()", ("f 2,3",)),
    ("nn.Softmin(dim=1)", ("f 2,3",)),
    ("nn.Softmax(dim=0)", ("f 2,3",)),
    ("nn.Softmax2d()", ("f 2,3,2,2",)),
    ("nn.LogSoftmax(dim=-1)", ("f 2,3",)),
    # convolutions
    ("nn.Conv1d(2, 3, 3, padding=1)", ("f 2,2,5",)),
    ("nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2)", ("f 2,2,5,5",)),
    ("nn.Conv2d(2, 3, (2, 3), padding='same', bias=False)", ("f 1,2,4,4",)),
    ("nn.Conv2d(1, 2, 3, padding=1, padding_mode='circular')", ("f 1,1,4,4",)),
    ("nn.Conv2d(1, 2, 3, padding=2, dilation=2, padding_mode='reflect')", ("f 1,1,4,4",)),
    ("nn.Conv3d(1, 2, 2)", ("f 1,1,3,3,3",)),
    ("nn.ConvTranspose1d(2, 3, 3, stride=2)", ("f 2,2,4",)),
    ("nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1)", ("f 1,2,3,3",)),
    ("nn.ConvTranspose3d(1, 2, 2)", ("f 1,1,2,2,2",)),
    # pooling
    ("nn.MaxPool1d(2)", ("f 2,3,5",)),
    ("nn.MaxPool2d(3, stride=2, padding=1)", ("f 1,2,5,5",)),
    ("nn.MaxPool3d(2)", ("f 1,1,4,4,4",)),
    ("nn.AvgPool1d(2)", ("f 2,3,5",)),
    ("nn.AvgPool2d((2, 1), count_include_pad=False, padding=(1, 0))", ("f 1,2,4,4",)),
    ("nn.AvgPool3d(2)", ("f 1,1,4,4,4",)),
    ("nn.LPPool1d(2, 3)", ("u 1,2,7",)),
    ("nn.LPPool2d(2, 2, stride=1)", ("u 1,2,4,4",)),
    ("nn.AdaptiveMaxPool1d(3)", ("f 1,2,7",)),
    ("nn.AdaptiveMaxPool2d((3, None))", ("f 1,2,5,4",)),
    ("nn.FractionalMaxPool2d(2, output_size=(2, 3), return_indices=True)", ("f 2,3,5,6",)),
    ("nn.FractionalMaxPool2d((3, 2), output_ratio=(0.5, 0.6))", ("f 3,7,6",)),
    ("nn.FractionalMaxPool3d(2, output_size=2)", ("f 1,2,4,5,6",)),
    ("nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5, 0.3), return_indices=True)", ("f 2,6,5,7",)),
    ("nn.LPPool3d(2, 2)", ("f 1,2,4,4,4",)),
    ("nn.AdaptiveMaxPool3d((1, 2, 2), return_indices=True)", ("f 1,2,3,4,4",)),
    ("nn.UpsamplingNearest2d(scale_factor=2)", ("f 1,2,2,3",)),
    ("nn.ConstantPad2d((1, 0, 2, 1), 3.5)", ("f 1,2,2,3",)),
    ("nn.ConstantPad3d(1, -1.0)", ("f 1,1,2,2,3",)),
    ("nn.ReflectionPad3d(1)", ("f 1,1,2,2,3",)),
    ("nn.ReplicationPad1d((1, 2))", ("f 1,2,3",)),
    ("nn.CircularPad3d(1)", ("f 1,1,2,2,3",)),
    ("nn.ZeroPad3d((1, 0, 0, 1, 0, 0))", ("f 1,1,2,2,3",)),
    ("nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), 2)", ("f 3,2,8", "f 4,2,8")),
    ("nn.AdaptiveAvgPool1d(3)", ("f 1,2,7",)),
    ("nn.AdaptiveAvgPool2d((2, 3))", ("f 1,2,5,4",)),
    ("nn.AdaptiveAvgPool3d(1)", ("f 1,2,3,3,3",)),
    # normalization
    ("nn.BatchNorm1d(3)", ("f 4,3",)),
    ("nn.BatchNorm1d(3, affine=False)", ("f 4,3,2",)),
    ("nn.BatchNorm2d(2, momentum=None)", ("f 2,2,3,3",)),
    ("nn.BatchNorm2d(2, track_running_stats=False)", ("f 2,2,3,3",)),
    ("nn.BatchNorm3d(2).eval()", ("f 2,2,2,2,2",)),
    ("nn.InstanceNorm1d(3)", ("f 2,3,4",)),
    ("nn.InstanceNorm2d(2, affine=True, track_running_stats=True)", ("f 2,2,3,3",)),
    ("nn.InstanceNorm3d(2)", ("f 2,2,2,2,2",)),
    ("nn.LayerNorm(4)", ("f 3,4",)),
    ("nn.LayerNorm((2, 3), bias=False)", ("f 4,2,3",)),
    ("nn.LayerNorm(4, elementwise_affine=False)", ("f 3,4",)),
    ("nn.GroupNorm(2, 4)", ("f 2,4,3",)),
    ("nn.RMSNorm(4)", ("f 3,4",)),
    ("nn.LocalResponseNorm(2)", ("f 1,4,2,2",)),
    ("nn.CrossMapLRN2d(3, alpha=0.5)", ("f 1,4,2,2",)),
    # dropout
    ("nn.Dropout(0.4)", ("f 5,6",)),
    ("nn.Dropout(0.4).eval()", ("f 2,3",)),
    ("nn.Dropout1d(0.4)", ("f 2,6,2",)),
    ("nn.Dropout2d(0.4)", ("f 2,6,2,2",)),
    ("nn.Dropout3d(0.4)", ("f 2,6,1,2,2",)),
    ("nn.AlphaDropout(0.4)", ("f 4,5",)),
    ("nn.FeatureAlphaDropout(0.4)", ("f 2,5,3",)),
    # embeddings
    ("nn.Embedding(5, 3)", ("i5 2,4",)),
    ("nn.Embedding(5, 3, padding_idx=-1, max_norm=1.5)", ("i5 2,4",)),
    ("nn.EmbeddingBag(5, 3)", ("i5 2,4",)),
    ("nn.EmbeddingBag(5, 3, mode='sum', padding_idx=2)", ("i5 2,4",)),
    # losses
    ("nn.L1Loss()", ("f 3,4", "f 3,4")),
    ("nn.MSELoss(reduction='sum')", ("f 3,4", "f 3,4")),
    ("nn.NLLLoss()", ("f 3,4", "i4 3")),
    ("nn.CrossEntropyLoss()", ("f 3,4", "i4 3")),
    ("nn.LinearCrossEntropyLoss(3, 4, bias=True)", ("f 5,3", "i4 5")),
    ("nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), ignore_index=2, label_smoothing=0.1)", ("f 5,3", "i4 5,2")),
    ("nn.LinearCrossEntropyLoss(3, 4, bias=True, options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))", ("f 5,3", "i4 5")),
    ("nn.LinearCrossEntropyLoss(3, 4, reduction='none', weight=torch.tensor([1., 2., 3., 4.]), options=nn.LinearCrossEntropyOptions())",
     ("f 5,3", "i4 5")),
    ("nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2)", ("f 3,4,2", "i4 3,2")),
    ("nn.CrossEntropyLoss(weight=torch.tensor([1., 2., 3., 4.]), reduction='none')", ("f 3,4", "i4 3")),
    ("nn.PoissonNLLLoss()", ("f 3,4", "u 3,4")),
    ("nn.GaussianNLLLoss()", ("f 3,4", "f 3,4", "u 3,4")),
    ("nn.KLDivLoss(reduction='batchmean')", ("f 3,4", "u 3,4")),
    ("nn.BCELoss()", ("u 3,4", "u 3,4")),
    ("nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1., 2., 3., 4.]))", ("f 3,4", "u 3,4")),
    ("nn.HingeEmbeddingLoss()", ("f 3,4", "s 3,4")),
    ("nn.MultiLabelMarginLoss()", ("f 3,4", "i4 3,4")),
    ("nn.SmoothL1Loss(beta=0.5)", ("f 3,4", "f 3,4")),
    ("nn.HuberLoss(delta=0.5)", ("f 3,4", "f 3,4")),
    ("nn.SoftMarginLoss()", ("f 3,4", "s 3,4")),
    ("nn.MultiLabelSoftMarginLoss()", ("f 3,4", "u 3,4")),
    ("nn.CosineEmbeddingLoss(0.1)", ("f 3,4", "f 3,4", "s 3")),
    ("nn.MarginRankingLoss(0.2)", ("f 3", "f 3", "s 3")),
    ("nn.MultiMarginLoss()", ("f 3,4", "i4 3")),
    ("nn.TripletMarginLoss()", ("f 3,4", "f 3,4", "f 3,4")),
    ("nn.TripletMarginWithDistanceLoss(swap=True)", ("f 3,4", "f 3,4", "f 3,4")),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2)", ("f 5,8", "i10 5")),
    # padding, shuffling, resizing, distances
    ("nn.ZeroPad1d(2)", ("f 1,2,3",)),
    ("nn.ZeroPad2d((1, 0, 2, 1))", ("f 1,2,3,3",)),
    ("nn.ConstantPad1d(1, 3.5)", ("f 1,2,3",)),
    ("nn.ReflectionPad1d(2)", ("f 1,2,3",)),
    ("nn.ReflectionPad2d((1, 2, 0, 1))", ("f 1,2,3,3",)),
    ("nn.ReplicationPad2d(1)", ("f 1,2,3,3",)),
    ("nn.ReplicationPad3d(1)", ("f 1,1,2,2,2",)),
    ("nn.CircularPad1d((1, 2))", ("f 1,2,3",)),
    ("nn.CircularPad2d(1)", ("f 1,1,3,3",)),
    ("nn.PixelShuffle(2)", ("f 1,4,2,3",)),
    ("nn.PixelUnshuffle(2)", ("f 1,1,4,2",)),
    ("nn.ChannelShuffle(2)", ("f 1,4,2,2",)),
    ("nn.Upsample(scale_factor=2)", ("f 1,2,3",)),
    ("nn.Upsample(size=(4, 5), mode='bilinear')", ("f 1,1,3,3",)),
    ("nn.UpsamplingBilinear2d(scale_factor=2)", ("f 1,1,3,3",)),
    ("nn.Unfold(2)", ("f 1,2,3,3",)),
    ("nn.Fold((3, 3), 2)", ("f 1,8,4",)),
    ("nn.PairwiseDistance()", ("f 3,4", "f 3,4")),
    ("nn.CosineSimilarity()", ("f 3,4", "f 3,4")),
    # attention and recurrence
    ("nn.MultiheadAttention(8, 2)", ("f 3,2,8", "f 4,2,8", "f 4,2,8")),
    ("nn.MultiheadAttention(8, 2, batch_first=True, kdim=3, vdim=5, add_bias_kv=True)", ("f 2,3,8", "f 2,4,3", "f 2,4,5")),
    ("nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)", ("f 3,2,8",)),
    ("nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, norm_first=True, activation='gelu')", ("f 3,2,8", "f 4,2,8")),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2, nn.LayerNorm(8))", ("f 2,3,8",)),
    ("nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)", ("f 3,2,8", "f 4,2,8")),
    ("nn.RNN(3, 4)", ("f 5,2,3",)),
    ("nn.RNN(3, 4, 2, nonlinearity='relu', bidirectional=True, batch_first=True)", ("f 2,5,3",)),
    ("nn.LSTM(3, 4, 2)", ("f 5,2,3",)),
    ("nn.LSTM(3, 4, bidirectional=True, proj_size=2, bias=False)", ("f 5,3",)),
    ("nn.GRU(3, 4, 2, batch_first=True)", ("f 2,5,3",)),
    ("nn.RNNCell(3, 4)", ("f 2,3",)),
    ("nn.LSTMCell(3, 4)", ("f 2,3",)),
    ("nn.GRUCell(3, 4)", ("f 3",)),
    # containers
    ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=-1)))", ("f 2,3",)),
    ("nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])", ()),
    ("nn.ModuleDict({'a': nn.Linear(2, 2), 'b': nn.Conv1d(1, 1, 1)})", ()),
    ("nn.ParameterList([nn.Parameter(torch.ones(2)), torch.zeros(2, 3), 'text'])", ()),
    ("nn.ParameterDict({'a': nn.Parameter(torch.ones(2)), 'b': 3})", ()),
]


def arrays(specs: tuple[str, ...]) -> list[np.ndarray]:
    """The inputs of a case, always the same."""
    rng = np.random.RandomState(7)
    found = []
    for spec in specs:
        kind, _, sizes = spec.partition(" ")
        shape = tuple(int(n) for n in sizes.split(","))
        if kind == "f":
            found.append(rng.standard_normal(shape).astype(np.float32))
        elif kind == "u":
            found.append(rng.uniform(0.05, 0.95, shape).astype(np.float32))
        elif kind == "s":
            found.append(np.where(rng.uniform(size=shape) < 0.5, -1, 1).astype(np.float32))
        else:
            found.append(rng.randint(0, int(kind[1:]), shape))
    return found


def _tensors(value: Any, torch: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value or () for t in _tensors(item, torch)] if isinstance(value, (tuple, list)) else []


def run(torch: Any, expression: str, specs: tuple[str, ...]) -> dict[str, Any]:
    """What the module looks like, holds, returns, and the gradients of a weighted sum of its outputs; what its copies are like."""
    torch.manual_seed(123)
    module = eval(expression, {"torch": torch, "nn": torch.nn})
    result: dict[str, Any] = {
        "repr": repr(module), "state": {k: v.tolist() for k, v in module.state_dict().items() if isinstance(v, torch.Tensor)}}
    result["attributes"] = {name: sorted([key for key in vars(m) if not key.startswith("_")]) for name, m in module.named_modules()}
    result["copies"] = [[type(m).__name__, m.training, {k: str(v.dtype) for k, v in m.state_dict().items() if isinstance(v, torch.Tensor)}]
                        for m in (pickle.loads(pickle.dumps(module)).double(), copy.deepcopy(module).half().eval())]
    if not specs:
        return result
    inputs = [torch.tensor(a) for a in arrays(specs)]
    leaves = [t.requires_grad_() for t in inputs[:1] if t.is_floating_point()]
    torch.manual_seed(321)
    outputs = _tensors(module(*inputs), torch)
    result["outputs"] = [o.tolist() for o in outputs]
    parts = [(o * torch.tensor(np.cos(np.arange(math.prod(o.shape), dtype=np.float32)).reshape(o.shape))).sum() for o in outputs]
    loss = sum(parts[1:], parts[0])
    if loss.requires_grad:
        loss.backward()
        result["input_grads"] = [t.grad.tolist() for t in leaves]
        result["grads"] = {name: None if p.grad is None else p.grad.tolist() for name, p in module.named_parameters()}
    result["after"] = {k: v.tolist() for k, v in module.named_buffers()}
    return result


SPECS = dict(CASES)
TABLE = Table("nn_modules", SPECS, lambda torch, expression: run(torch, expression, SPECS[expression]), tolerance=(2e-5, 2e-6),
              digits=7)
