"""torch.backends.cudnn.rnn where there is no CUDA."""

from __future__ import annotations

from .._flags import FlagModule, OfBackend


class CudnnRNNModule(FlagModule):
    """The module with its precision."""

    fp32_precision = OfBackend("cuda", "rnn")


def get_cudnn_mode(mode: str) -> int:
    """cuDNN's number for a kind of recurrent network.

    Raises:
        Exception: there is no such kind.
    """
    numbers = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}
    if mode not in numbers:
        raise Exception(f"Unknown mode: {mode}")  # noqa: TRY002  # torch's kind
    return numbers[mode]


CudnnRNNModule.become(__name__)
