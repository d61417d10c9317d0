"""What the inputs and outputs of an exported graph are: parameters, buffers, constants, those of the user."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import Any

from torchcompat._calls.absent import absences as _absences
from torchcompat._calls.shown import shown_in

__all__ = ["ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec",
           "OutputKind", "OutputSpec", "SymIntArgument", "SymFloatArgument", "SymBoolArgument", "TensorArgument", "TokenArgument"]


@dataclasses.dataclass
class TensorArgument:
    """A tensor: the name of its node."""

    name: str


@dataclasses.dataclass
class TokenArgument:
    """What orders effects: the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A size that differs: the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A number that differs: the name of its node."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A truth value that differs: the name of its node."""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class that was registered."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclasses.dataclass
class ConstantArgument:
    """A value that is always the same."""

    name: str
    value: int | float | bool | str | None


Argument = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument | CustomObjArgument | TokenArgument


class InputKind(Enum):
    """Where the value of an input comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What becomes of the value of an output."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


def _line(spec: InputSpec | OutputSpec) -> str:
    name = getattr(spec.arg, "name", "")
    text = f"{name}: {spec.kind.name}"
    if spec.target is not None:
        text += f" target='{spec.target}'"
    persistent = getattr(spec, "persistent", None)
    return text if persistent is None else f"{text} persistent={persistent}"


@dataclasses.dataclass
class InputSpec:
    """An input: of a parameter, buffer or constant `target` is its name in the module."""

    kind: InputKind
    arg: Argument
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self) -> str:
        return _line(self)


@dataclasses.dataclass
class OutputSpec:
    """An output: of a new value of a buffer or input `target` is its name."""

    kind: OutputKind
    arg: Argument
    target: str | None

    def __str__(self) -> str:
        return _line(self)


@dataclasses.dataclass
class ExportBackwardSignature:
    """Which outputs are gradients, and which the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


def _value(arg: Argument) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """All inputs and outputs of a graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, *kinds: InputKind) -> tuple[str, ...]:
        return tuple([s.target for s in self.input_specs if s.kind in kinds and isinstance(s.target, str)])

    def _by_name(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind and isinstance(s.target, str)}

    def _mutated(self, kind: OutputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in self.output_specs if s.kind is kind and isinstance(s.target, str)}

    @property
    def parameters(self) -> Collection[str]:
        """The names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Collection[str]:
        """The names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The names of the buffers that are not in the state."""
        return tuple([s.target for s in self.input_specs if s.kind is InputKind.BUFFER and s.persistent is False and s.target is not None])

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of the tensors that are always the same."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        """The names of objects of registered classes."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The names of the user's tensors, and the user's other values."""
        return tuple([_value(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT])

    @property
    def user_outputs(self) -> Collection[Any]:
        """The names of the tensors that the user gets, and the other values."""
        return tuple([_value(s.arg) for s in self.output_specs if s.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)])

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Names of parameters by those of their inputs."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Names of buffers by those of their inputs."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Names of constants by those of their inputs."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Names of registered objects by those of their inputs."""
        return self._by_name(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Names of buffers by those of the outputs with their new values."""
        return self._mutated(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Names of parameters by those of the outputs with their new values."""
        return self._mutated(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Names of inputs by those of the outputs with their new values."""
        return self._mutated(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """Which outputs are gradients: none are."""
        return None

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """What orders assertions: nothing."""
        return None

    @property
    def input_tokens(self) -> Collection[str]:
        """The inputs that order effects."""
        return tuple([s.arg.name for s in self.input_specs if s.kind is InputKind.TOKEN])

    @property
    def output_tokens(self) -> Collection[str]:
        """The outputs that order effects."""
        return tuple([s.arg.name for s in self.output_specs if s.kind is OutputKind.TOKEN])

    def replace_all_uses(self, old: str, new: str) -> None:
        """Gives an input or output another name.

        Raises:
            AssertionError: one of them is no name.
        """
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"expected names, got {type(old)} and {type(new)}")
        specs: list[InputSpec | OutputSpec] = [*self.input_specs, *self.output_specs]
        for spec in specs:
            if not isinstance(spec.arg, ConstantArgument) and spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        inputs, outputs = ["\n".join(map(str, specs)) for specs in (self.input_specs, self.output_specs)]
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


for _name in __all__:
    shown_in("torchcompat.export.graph_signature", globals()[_name])
_absences(__name__)
