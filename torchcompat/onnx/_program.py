"""ONNXProgram: an exported model, which can be saved and run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torchcompat as torch

from .._tensor import Tensor
from . import errors

if TYPE_CHECKING:
    import onnx
    import onnxruntime as ort

_INLINE = 256  # bytes; smaller tensors stay in the file of the graph


class ONNXProgram:
    """A model in ONNX.

    Attributes:
        model_proto: ONNX's ModelProto.
    """

    def __init__(self, model: onnx.ModelProto, exported_program: Any = None) -> None:
        self.model_proto, self._exported_program = model, exported_program
        self._inference_session: ort.InferenceSession | None = None

    @property
    def exported_program(self) -> Any:
        """The ExportedProgram that this was made of; made itself when it is first asked for, where a module was exported."""
        if callable(self._exported_program) and not hasattr(self._exported_program, "graph_signature"):
            self._exported_program = self._exported_program()
        return self._exported_program

    @property
    def model(self) -> Any:
        """The model as the package `onnx_ir` has it.

        Raises:
            ModuleNotFoundError: the package is not there.
        """
        import onnx_ir

        return onnx_ir.serde.deserialize_model(self.model_proto)

    def __repr__(self) -> str:
        from onnx import printer

        text = printer.to_text(self.model_proto) if self.model_proto.ByteSize() < 2 ** 24 else self.model_proto.graph.name
        return "ONNXProgram(\n    model=\n" + "".join([f"        {line}\n" for line in text.splitlines()]) + "    ,\n" + ")\n"

    def __call__(self, *args: object, **kwargs: object) -> tuple[Tensor, ...]:
        """The outputs, by ONNX Runtime; the arguments are those of the model."""
        if self._inference_session is None:
            self.initialize_inference_session()
        assert self._inference_session is not None
        return tuple([_tensor(v) for v in self._inference_session.run(None, self._fed(args, kwargs))])

    def call_reference(self, *args: object, **kwargs: object) -> tuple[Tensor, ...]:
        """The outputs, by ONNX's own reference in Python."""
        import onnx.reference

        evaluator = onnx.reference.ReferenceEvaluator(self.model_proto)
        return tuple([_tensor(v) for v in evaluator.run(None, self._fed(args, kwargs))])

    def _fed(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
        flat: list[Tensor] = []

        def visit(x: object) -> None:
            if isinstance(x, Tensor):
                flat.append(x)
            elif isinstance(x, (tuple, list)):
                for item in x: visit(item)
            elif isinstance(x, dict):
                for item in x.values(): visit(item)

        visit(args)
        names = [i.name for i in self.model_proto.graph.input]
        by_name = {name: x for name, x in kwargs.items() if name in names and isinstance(x, Tensor)}
        visit({key: x for key, x in kwargs.items() if key not in by_name})
        fed = dict(zip([n for n in names if n not in by_name], flat)) | by_name
        return {name: x.detach().contiguous().numpy() for name, x in fed.items()}

    def compute_values(self, value_names: Sequence[str], args: Sequence[object] = (), kwargs: Mapping[str, object] | None = None
                       ) -> tuple[Tensor, ...]:
        """Values of the graph in between.

        Raises:
            ValueError: there is none of that name.
        """
        import onnx

        known = {v.name: v for v in (*self.model_proto.graph.input, *self.model_proto.graph.output)}
        made = {name for node in self.model_proto.graph.node for name in node.output} | set(known)
        for name in value_names:
            if name not in made:
                raise ValueError(f"Value '{name}' not found in the model. Please provide a valid value name.")
        other = onnx.ModelProto()
        other.CopyFrom(self.model_proto)
        del other.graph.output[:]
        other.graph.output.extend([known.get(name) or onnx.ValueInfoProto(name=name) for name in value_names])
        return ONNXProgram(other)(*args, **(kwargs or {}))

    def optimize(self) -> None:
        """Leaves out what no output needs; constants are folded when a model is exported."""
        graph = self.model_proto.graph
        needed = {v.name for v in graph.output}
        kept = []
        for node in reversed(graph.node):
            if needed & set(node.output):
                kept.append(node)
                needed |= set(node.input)
        kept.reverse()
        initializers = [t for t in graph.initializer if t.name in needed]
        del graph.node[:], graph.initializer[:]
        graph.node.extend(kept)
        graph.initializer.extend(initializers)
        self.release()

    def save(self, destination: str | os.PathLike[str], *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
             external_data: bool | None = None) -> None:
        """Writes the model to a file.

        Args:
            include_initializers: whether the parameters are written.
            keep_initializers_as_inputs: whether they are inputs, too.
            external_data: whether they go into a file of their own beside it, `<destination>.data`; where there are more than 2 GB they
                always do.

        Raises:
            TypeError: the destination is no path, and the parameters are to have their own file.
        """
        import onnx

        proto = onnx.ModelProto()
        proto.CopyFrom(self.model_proto)
        graph = proto.graph
        if keep_initializers_as_inputs:
            have = {v.name for v in graph.input}
            graph.input.extend([onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims))
                                for t in graph.initializer if t.name not in have])
        if not include_initializers:
            del graph.initializer[:]
        if external_data or sum([len(t.raw_data) for t in graph.initializer]) > 2 ** 31 - 2 ** 24:
            if hasattr(destination, "write"):
                raise TypeError("Saving weights as external data requires the destination to be a file path")
            path = os.fspath(destination)
            if os.path.exists(path + ".data"):
                os.remove(path + ".data")
            onnx.save_model(proto, path, save_as_external_data=True, location=os.path.basename(path) + ".data", size_threshold=_INLINE)
        else:
            onnx.save_model(proto, destination)

    def apply_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Puts other numbers in the place of parameters; a warning where the model has none of a name."""
        from onnx import numpy_helper

        places = {t.name: t for t in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            if name in places:
                places[name].CopyFrom(numpy_helper.from_array(tensor.detach().contiguous().numpy(), name))
            else:
                warnings.warn(f"Weight '{name}' not found in the model. Skipped applying.", errors.OnnxExporterWarning, stacklevel=1)
        self.release()

    def initialize_inference_session(self, initializer: Callable[[Any], ort.InferenceSession] | None = None) -> None:
        """Makes the session of ONNX Runtime that calls run in."""
        import onnxruntime

        content = self.model_proto.SerializeToString()
        self._inference_session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]) if initializer is None \
            else initializer(content)

    def release(self) -> None:
        """Forgets the session."""
        self._inference_session = None

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Gives the symbolic dimensions of inputs and outputs other names."""
        named = {str(key): name for key, name in rename_mapping.items()}
        for value in (*self.model_proto.graph.input, *self.model_proto.graph.output, *self.model_proto.graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in named:
                    dim.dim_param = named[dim.dim_param]


def _tensor(array: Any) -> Tensor:
    found: Tensor = torch.from_numpy(array) if hasattr(array, "flags") and array.flags.writeable else torch.tensor(array)
    return found


ONNXProgram.__module__ = "torch.onnx"
