"""Recurrent networks: RNN, LSTM, GRU, and their cells."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, Self

from autograd_tape import warned
from autograd_tape.annotations import Arguments, DeviceLike, Keywords
import torchcompat as torch

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from torchcompat._calls.autocast import is_any_autocast_enabled
from torchcompat._tensor import Tensor
from autograd_tape.dtypes import DType

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_CELLS = {"LSTM": "lstm_cell", "GRU": "gru_cell", "RNN_TANH": "rnn_tanh_cell", "RNN_RELU": "rnn_relu_cell"}
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Layers of a recurrence over a sequence.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size, hidden_size: sizes of the features and of the state.
        num_layers: layers, each fed with the one before.
        bias: whether there are biases.
        batch_first: tensors are [batch, sequence, feature] rather than [sequence, batch, feature].
        dropout: its probability between layers.
        bidirectional: also run from the end to the start.
        proj_size: size that an LSTM's output is projected to; 0 for none.
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_arguments(dropout)
        gates = _GATES[mode] * hidden_size
        output = proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                size = input_size if layer == 0 else output * (2 if bidirectional else 1)
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, size), "weight_hh": (gates, output)}
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and self.num_layers == 1:  # type: ignore[operator]  # a number, checked first
            warned.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                        f"than 1, but got dropout={dropout} and num_layers={self.num_layers}")
        for name, wanted in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, wanted):
                raise TypeError(f"{name} should be of type {wanted.__name__}, got: {type(value).__name__}")
            if wanted is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        given: list[Tensor] | None = self.__dict__.get("_given_weights")
        return [getattr(self, name) for name in self._flat_weights_names] if given is None else given

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        """What the layers are to use in place of the parameters: programs put other tensors there, until one is set or all are moved."""
        self.__dict__["_given_weights"] = weights

    def __setattr__(self, name: str, value: object) -> None:
        if self.__dict__.get("_given_weights") is not None and name in self._flat_weights_names:
            self.__dict__["_given_weights"] = None
        super().__setattr__(name, value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.__dict__.pop("_given_weights", None)
        return super()._apply(fn, recurse)

    def flatten_parameters(self) -> None:
        """Nothing to do: only a GPU's library wants the parameters in one piece."""

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # -- checks ---------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises what is wrong with the input's dtype or shape."""
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not is_any_autocast_enabled():
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}), or "
                             f"convert model: model.to({input.dtype})")
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return len(self._all_weights), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """RuntimeError where the state has another shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Raises what is wrong with the arguments of `forward`."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """The state of the sequences in another order; as it is where `permutation` is None."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- the call -------------------------------------------------------------------------------------------------

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> Tensor:
        return torch.zeros(self._state_size(input, batch_sizes, size), dtype=input.dtype, device=input.device)

    def _start(self, input: Tensor, batch_sizes: Any) -> tuple[Tensor, ...]:
        """The states at the start where none are given."""
        return (self._zeros(input, batch_sizes, self.hidden_size),)

    def _check_state(self, states: Arguments, batched: bool) -> None:
        (hx,) = states
        if hx.dim() != (3 if batched else 2):
            what = ("batched 3-D", "3-D") if batched else ("unbatched 2-D", "2-D")
            raise RuntimeError(f"For {what[0]} input, hx should also be {what[1]} but got {hx.dim()}-D tensor")

    def _run(self, input: Tensor | PackedSequence, states: Arguments | None) -> tuple[Any, Arguments]:
        """(output, last states); `states` is a tuple of one or two."""
        if isinstance(input, PackedSequence):
            data, sizes, order, inverse = input
            if states is None:
                states = self._start(data, sizes)
            elif order is not None:
                states = self._in_order(states, order)
            self.check_forward_args(data, states if len(states) > 1 else states[0], sizes)
            output, states = self._layers(data, states, sizes)
            if inverse is not None:
                states = self._in_order(states, inverse)
            return PackedSequence(output, sizes, order, inverse), states
        if input.dim() not in (2, 3):
            name = self.mode.partition("_")[0]
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if states is not None:
            self._check_state(states, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            states = None if states is None else tuple(s.unsqueeze(1) for s in states)
        states = self._start(input, None) if states is None else states
        self.check_forward_args(input, states if len(states) > 1 else states[0], None)
        output, states = self._layers(input, states, None)
        if not batched:
            return output.squeeze(batch_dim), tuple(s.squeeze(1) for s in states)
        return output, states

    def _in_order(self, states: Arguments, permutation: Tensor | None) -> Arguments:
        hidden: Any = states if len(states) > 1 else states[0]
        found = self.permute_hidden(hidden, permutation)
        return found if len(states) > 1 else (found,)  # type: ignore[return-value]  # a pair, or one tensor

    def _layers(self, input: Tensor, states: tuple[Tensor, ...], batch_sizes: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        hx: Any = states if self.mode == "LSTM" else states[0]
        options = self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        function = getattr(torch, self.mode.lower())
        found = function(input, hx, *options, self.batch_first) if batch_sizes is None else function(input, batch_sizes, hx, *options)
        return found[0], found[1:]

    def extra_repr(self) -> str:
        parts = [str(self.input_size), str(self.hidden_size)]
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                              ("bidirectional", False)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    def __getstate__(self) -> Keywords:
        # torch keeps the weights in a list beside the parameters, and needs it in a pickle.
        state = super().__getstate__()
        state.pop("_given_weights", None)
        return {**state, "_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: Keywords) -> None:
        super().__setstate__(state)
        # Here they are always read from the parameters.
        for name in ("_flat_weights", "_flat_weights_names", "_flat_weight_refs"):
            self.__dict__.pop(name, None)
        self.__dict__.setdefault("proj_size", 0)


class RNN(RNNBase):
    """h = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh), or relu in place of tanh.

    Args:
        nonlinearity: "tanh" or "relu".
        the others: see RNNBase.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: DeviceLike | None = None,
                 dtype: DType | None = None, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: object = None) -> tuple[Any, Any]:
        """Output [L, N, directions * H] and last states [layers * directions, N, H] for input [L, N, input_size]."""
        output, states = self._run(input, None if hx is None else (hx,))
        return output, states[0]


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014); arguments: see RNNBase."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Tensor, hx: object = None) -> tuple[Any, Any]:
        """Output [L, N, directions * H] and last states [layers * directions, N, H] for input [L, N, input_size]."""
        output, states = self._run(input, None if hx is None else (hx,))
        return output, states[0]


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); arguments: see RNNBase."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell state."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def _start(self, input: Any, batch_sizes: Any) -> Arguments:
        return self._zeros(input, batch_sizes, self.proj_size or self.hidden_size), self._zeros(input, batch_sizes, self.hidden_size)

    def _check_state(self, states: Arguments, batched: bool) -> None:
        h, c = states
        n = 3 if batched else 2
        if h.dim() != n or c.dim() != n:
            raise RuntimeError(f"For {'batched' if batched else 'unbatched'} {n}-D input, hx and cx should also be {n}-D but got "
                               f"({h.dim()}-D, {c.dim()}-D) tensors")

    def check_forward_args(self, input: Any, hidden: Sequence[Tensor], batch_sizes: Any) -> None:
        """Raises what is wrong with the arguments of `forward`."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Both states of the sequences in another order; as they are where `permutation` is None."""
        h, c = hx
        return hx if permutation is None else (super().permute_hidden(h, permutation), super().permute_hidden(c, permutation))

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """Output [L, N, directions * H] and last (h, c) [layers * directions, N, H] for input [L, N, input_size]."""
        return self._run(input, None if hx is None else tuple(hx))


class RNNCellBase(Module):
    """One step of a recurrence."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size

        def new(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih, self.weight_hh = new(gates, input_size), new(gates, hidden_size)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new(gates) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, mode: str, input: Tensor, states: Arguments | None, count: int) -> Arguments:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                what = "hidden" if count == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            states = None if states is None else tuple(s.unsqueeze(0) for s in states)
        if states is None:
            states = (torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device),) * count
        function, own = getattr(torch, _CELLS[mode]), self._parameters
        try:
            weights = [own[name] for name in _WEIGHTS]
        except KeyError:  # one is computed of others
            weights = [getattr(self, name) for name in _WEIGHTS]
        found = function(input, states if count > 1 else states[0], *weights)
        states = found if count > 1 else (found,)
        return states if batched else tuple(s.squeeze(0) for s in states)

    def extra_repr(self) -> str:
        parts = [str(self.input_size), str(self.hidden_size)]
        parts += [f"bias={self.bias}"] if self.bias is not True else []
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return ", ".join(parts + [f"nonlinearity={nonlinearity}"] if nonlinearity != "tanh" else parts)


class RNNCell(RNNCellBase):
    """h' = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh), or relu in place of tanh."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """[N, input_size], [N, hidden_size] -> [N, hidden_size], or all without N."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """[N, input_size], (h, c) each [N, hidden_size] -> new (h, c), or all without N."""
        return self._step("LSTM", input, None if hx is None else tuple(hx), 2)


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """[N, input_size], [N, hidden_size] -> [N, hidden_size], or all without N."""
        return self._step("GRU", input, None if hx is None else (hx,), 1)[0]
