"""Calls of network functions at their edges: sizes that do not go together, no channels, arguments of attention that exclude each other."""

from __future__ import annotations

import warnings
from typing import Any

from tests.recording import Table, attempted

CASES = """
F.fold(R(1, 12, 12), (4, 5), (2, 2), dilation=8)
F.fold(R(1, 5, 9), (4, 5), (2, 3))
F.fold(R(1, 6, 10), (4, 5), (2, 3))
F.fold(R(6, 10), (4, 5), (2, 3))
F.fold(R(1, 6, 5), (4, 5), (2, 3), stride=2)
F.fold(R(1, 6, 5), (4, 5), (2, 3), stride=2, dilation=(1, 2), padding=(2, 0))
F.fold(R(1, 6, 0), (4, 5), (2, 3))
F.fold(R(1, 0, 5), (4, 5), (2, 3))
F.fold(R(0, 6, 9), (4, 5), (2, 3))
F.fold(R(6), (4, 5), (2, 3))
F.fold(R(1, 1, 6, 9), (4, 5), (2, 3))
F.fold(R(1, 6, 9), (4, 5), (2, 0))
F.fold(R(1, 6, 9), (4, 5), (2, 3), stride=0)
F.fold(R(1, 6, 9), (4, 5), (2, 3), dilation=0)
F.fold(R(1, 6, 9), (4, 5), (2, 3), padding=-1)
F.fold(R(1, 6, 9), (0, 5), (2, 3))
F.fold(R(1, 6, 9), (4, 5, 6), (2, 3))
F.fold(R(1, 6, 9), (4, ), (2, 3))
F.unfold(R(1, 2, 2, 2), (2, 3))
F.unfold(R(1, 2, 2), (2, 3))
F.unfold(R(1, 2, 4, 4), (2, 2), dilation=8)
F.unfold(R(1, 2, 4, 4), (2, 2), stride=0)
F.unfold(R(1, 0, 4, 4), (2, 2))
F.unfold(R(0, 2, 4, 4), (2, 2)).shape
F.unfold(R(1, 2, 0, 4), (2, 2))
F.unfold(R(1, 2, 4, 4), (0, 2))
F.unfold(R(1, 2, 4, 4), (2, 2), padding=-1)
F.unfold(R(1, 2, 4, 4), (2, 2, 2))
F.fold(R(1, 6, 9, dtype=torch.long), (4, 5), (2, 3))
F.unfold(R(1, 1, 3, 3, dtype=torch.long), 2)
A()[0].shape
A(bias_k=R(1, 1, 4))
A(bias_v=R(1, 1, 4))
A(bias_k=R(1, 1, 4), bias_v=R(1, 1, 4), static_k=R(4, 5, 2))
A(bias_k=R(1, 1, 4), bias_v=R(1, 1, 4), static_v=R(4, 5, 2))
A(static_k=R(3, 5, 2))
A(static_k=R(4, 5, 3))
A(static_v=R(3, 5, 2))
A(static_v=R(4, 5, 3))
A(is_causal=True)
A(in_proj_weight=None)
A(use_separate_proj_weight=True)
A(use_separate_proj_weight=True, q_proj_weight=R(4, 4))
A(use_separate_proj_weight=True, q_proj_weight=R(4, 4), k_proj_weight=R(4, 4))
A(attn_mask=R(2, 5))
A(attn_mask=R(5, 3, 5))
A(attn_mask=R(3, 5)>0)[0].shape
A(attn_mask=R(1, 1, 3, 5))
A(key_padding_mask=R(2, 4)>0)
A(key_padding_mask=R(2, 5)>0)[0].shape
A(key_padding_mask=R(5)>0)
A(embed_dim_to_check=5)
A(num_heads=3)
A(value=R(4, 2, 4))
A(query=R(4))
A(query=R(3, 4))
A(query=R(3, 4), key=R(5, 4), value=R(5, 4), attn_mask=R(1, 3, 5))
A(query=R(3, 4), key=R(5, 4), value=R(5, 4), key_padding_mask=R(2, 5)>0)
A(attn_mask=torch.ones(3, 5, dtype=torch.int32))
A(key_padding_mask=torch.ones(2, 5, dtype=torch.int32))
[t.shape for t in grads(nn.Conv1d(0, 8, 2, stride=2), R(2, 0, 15))]
[t.shape for t in grads(nn.Conv2d(0, 3, 3), R(2, 0, 5, 10))]
[t.sum().item() for t in grads(nn.Conv2d(0, 3, 3), R(2, 0, 5, 10))]
[t.shape for t in grads(nn.Conv1d(2, 3, 2), R(0, 2, 5))]
[t.shape for t in grads(nn.ConvTranspose1d(0, 3, 2), R(2, 0, 5))]
[t.shape for t in grads(nn.Conv2d(2, 0, 1), R(2, 2, 3, 3))]
nn.Conv1d(0, 8, 2)(R(0, 5)).shape
F.embedding_bag(torch.tensor([[-1, 1]]), R(3, 2), mode="sum")
F.embedding_bag(torch.tensor([[0, 7]]), R(3, 2), mode="sum")
F.embedding_bag(torch.tensor([[0, 7]]), R(3, 2).double())
F.embedding_bag(torch.tensor([[0, 7]]), R(3, 2), mode="max")
F.embedding_bag(torch.tensor([[0, 7]]), R(3, 2), padding_idx=0)
F.embedding_bag(torch.tensor([0, 1, 2]), R(3, 2), torch.tensor([0, 2, 4]))
F.embedding_bag(torch.tensor([0, 1, 2]), R(3, 2), torch.tensor([0, 2]), include_last_offset=True, mode="sum")
F.embedding_bag(torch.tensor([0, 1, 2]), torch.arange(6.).view(3, 2), torch.tensor([0, 2]), include_last_offset=True, mode="max")
F.embedding_bag(torch.tensor([0, 1, 2]), R(3, 2), torch.tensor([0, 2]), per_sample_weights=R(3).double(), mode="sum")
F.embedding_bag(torch.tensor([0, 1, 2]), R(3, 2), torch.tensor([0, 2]), per_sample_weights=R(2), mode="sum")
F.embedding_bag(torch.tensor([[0, 1, 2]]), R(3, 2), padding_idx=3)
F.embedding_bag(torch.tensor([0, 1, 2], dtype=torch.int16), R(3, 2), torch.tensor([0, 2]))
F.embedding_bag(torch.tensor([0, 1, 2]), R(3, 2), torch.tensor([0, 2.]))
F.embedding_bag(torch.tensor([[0, 1, 2]]), R(3))
F.embedding_bag(torch.tensor([[0, 1, 2]]), R(3, 2), mode="max", scale_grad_by_freq=True)
nn.utils.rnn.pack_padded_sequence(R(0, 0), [])
nn.utils.rnn.pack_padded_sequence(R(0, 3), [1, 1, 1])
nn.utils.rnn.pack_padded_sequence(R(3, 2), torch.tensor([[1, 1]]))
nn.utils.rnn.pack_padded_sequence(R(3, 2), torch.tensor([1, 1], dtype=torch.int32))
nn.utils.rnn.pack_padded_sequence(R(3, 2), [0, 1])
nn.factory_kwargs(None)
nn.factory_kwargs({'dtype': 1, 'factory_kwargs': {'a': 1}})
nn.factory_kwargs({'foo': 1})
nn.factory_kwargs({'device': 'cpu', 'factory_kwargs': {'device': 'cpu'}})
[t.stride() for t in F._in_projection_packed(*[R(3, 4)] * 3, R(12, 4), R(12))]
F._in_projection(R(3, 4), R(3, 5), R(3, 4), R(4, 4), R(4, 5), R(4, 4), b_v=R(4))
F._in_projection(R(3, 4), R(3, 4), R(3, 4), R(4, 4), R(4, 4), R(3, 4))
F._in_projection(R(3, 4), R(3, 4), R(3, 4), *[R(4, 4)] * 3, R(3))
[getattr(nn.utils.rnn.pack_sequence([R(3), R(2)]), name)().data.dtype for name in ('byte', 'char', 'short')]
grads(nn.CrossMapLRN2d(3, alpha=0.5), torch.arange(28.).view(2, 7, 2, 1) / 9)
grads(nn.CrossMapLRN2d(4, alpha=0.5, k=2), torch.arange(28.).view(2, 7, 2, 1) / 9)
grads(nn.CrossMapLRN2d(1), R(1, 2, 2, 2))
nn.CrossMapLRN2d(3)(R(3, 3))
F.cross_entropy(R(2, 3), torch.tensor([0, 1]), label_smoothing=1.5)
F.cross_entropy(R(2, 3), torch.tensor([0, 1]), label_smoothing=-0.5)
F.cross_entropy(R(2, 3), R(2, 3), label_smoothing=-0.5)
F.batch_norm(R(2, 3), R(3), R(3), training=True, eps=0.0)
F.batch_norm(R(2, 3), R(3), R(3), eps=-1.0)
F.batch_norm(R(2, 3), R(3), R(3), eps=0.0)
F.fractional_max_pool2d(R(3, 7, 7), 2, 3, _random_samples=R(2, 3, 2) / 2)
F.fractional_max_pool2d(R(2, 3, 7, 7), 2, 3, _random_samples=R(1, 3, 2) / 2)
F.fractional_max_pool3d(R(3, 7, 7, 7), 2, 3, _random_samples=R(2, 3, 2) / 2)
F.fractional_max_pool3d(R(3, 7, 7, 7), 2, 3, _random_samples=R(2, 2, 3) / 2)
F.fractional_max_pool3d(R(3, 7, 7, 7), 2, 3, _random_samples=R(3, 3) / 2)
nn.Conv1d(0, 8, 2, device="meta")(torch.empty(2, 0, 5, device="meta")).shape
""".strip().splitlines()


def outcome(torch: Any, case: str) -> Any:
    """The text of what a call gives; of an error its type and text."""
    F, R = torch.nn.functional, torch.ones

    def attention(**changed: Any) -> Any:
        arguments = {"query": R(3, 2, 4), "key": R(5, 2, 4), "value": R(5, 2, 4), "embed_dim_to_check": 4, "num_heads": 2, "bias_k": None,
                     "bias_v": None, "in_proj_weight": R(12, 4), "in_proj_bias": R(12), "add_zero_attn": False, "dropout_p": 0.0,
                     "out_proj_weight": R(4, 4), "out_proj_bias": R(4)}
        return F.multi_head_attention_forward(**arguments | changed)

    def grads(module: Any, x: Any) -> list[Any]:
        y = module(x.requires_grad_())
        y.backward(torch.ones_like(y))
        return [y, x.grad, *[p.grad for p in module.parameters()]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempted(lambda: str(eval(case, {"torch": torch, "nn": torch.nn, "F": F, "R": R, "A": attention, "grads": grads})))


TABLE = Table("nn_odd", CASES, outcome)
