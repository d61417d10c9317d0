"""torch.nn.utils._expanded_weights: parameters that keep the gradients of examples apart."""

from __future__ import annotations

from ...._calls.absent import absences as _absences
from ._per_sample import ConvPerSampleGrad as ConvPerSampleGrad
from ._per_sample import EmbeddingPerSampleGrad as EmbeddingPerSampleGrad
from ._per_sample import GroupNormPerSampleGrad as GroupNormPerSampleGrad
from ._per_sample import InstanceNormPerSampleGrad as InstanceNormPerSampleGrad
from ._per_sample import LayerNormPerSampleGrad as LayerNormPerSampleGrad
from ._per_sample import LinearPerSampleGrad as LinearPerSampleGrad
from .expanded_weights_impl import ExpandedWeight as ExpandedWeight

__all__ = ["ExpandedWeight"]

_absences(__name__)
