"""Models as users export them: with fixed and with dynamic sizes, for several opsets, in both ways of calling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchcompat as torch
from tests.export.onnx_running import Of, assert_same, exported
from torchcompat import nn
from torchcompat.nn import functional as F

onnx = pytest.importorskip("onnx", reason="onnx is missing: pip install .[onnx]")
pytest.importorskip("onnxruntime", reason="onnxruntime is missing: pip install .[onnx]")


class Residual(nn.Module):
    """Two convolutions, with what is changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.second, self.across, self.end = nn.Conv2d(4, 8, 3, 2, 1), nn.Conv2d(4, 8, 1, 2), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.second(F.relu(self.norm(self.first(x)), inplace=True))
        h += self.across(x)
        return self.end(F.adaptive_avg_pool2d(F.relu(h), 1).flatten(1))


class UNet(nn.Module):
    """Down, up by a transposed convolution and by interpolation to another tensor's size, and joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep, self.up, self.end = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1), nn.ConvTranspose2d(
            8, 4, 2, 2), nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = F.relu(self.down(x))
        b = F.relu(self.deep(F.max_pool2d(a, 2)))
        smooth = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.end(torch.cat([a, self.up(b)], 1)) + smooth.mean(1, keepdim=True) + F.interpolate(F.avg_pool2d(x, 2), scale_factor=2)


class Masked(nn.Module):
    """An encoder layer with a causal mask and one of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")

    def forward(self, x: torch.Tensor, pad: torch.Tensor) -> torch.Tensor:
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return self.layer(x, src_mask=mask, src_key_padding_mask=pad)


class Embedded(nn.Module):
    """Tokens, places that are counted by the length, and numbers of Python's that depend on it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places, self.norm = nn.Embedding(10, 4), nn.Embedding(40, 4), nn.LayerNorm(4)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = self.norm(self.tokens(ids) + self.places(torch.arange(ids.shape[1]))[None])
        weights = (h @ h.transpose(-1, -2) / ids.shape[1] ** 0.5).softmax(-1)
        return h.mean(1), h[:, -1], weights.view(ids.shape[0], -1), h.new_zeros(ids.shape[0], ids.shape[1] * 2 + 1)


class Changed(nn.Module):
    """Views whose changes are seen in their bases, and the other way round."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        y[:, 0] = 1
        y[:, 1:3] += 2
        flat = y.view(-1)
        flat.mul_(2)
        m = torch.zeros_like(x)
        m[x > 0] = 5
        m.index_fill_(1, torch.tensor([1]), 7)
        return y, m, flat[:3], y.t()[1]


class Indexed(nn.Module):
    """Indices of all kinds."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        i = torch.tensor([0, 2])
        return (x[:, i], x[i], x[i, :, i], x[..., None, 1], x[:, ::2], x[x > 0], x[-1], x[:, i, i], x[None, 0, :, i],
                *torch.where(x > 0), torch.linspace(0, 1, x.shape[0]), torch.eye(3) + x[0, :3, :3], torch.full((x.shape[0], 2), 3))


class Attended(nn.Module):
    """Attention over another sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return self.attention(x, y, y)


def _ids(*size: int) -> torch.Tensor:
    return torch.arange(torch.Size(size).numel()).view(size) % 10


def _pad(*size: int) -> torch.Tensor:
    """Never the first, which under a causal mask sees itself alone: layers at inference give nan there, and graphs 0, as in torch."""
    return _ids(*size) % 7 == 6


R = torch.randn
BATCH, TIME = ({0: "batch"},), ({0: "batch", 1: "time"},)
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...], Any, tuple[Any, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (R(2, 4),), BATCH, (R(5, 4),)),
    "one example": (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (R(1, 4),), BATCH, (R(5, 4),)),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                  nn.Linear(128, 5)), (R(1, 3, 8, 8),), BATCH, (R(4, 3, 8, 8),)),
    "norms": (lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.InstanceNorm1d(8, affine=True),
                                    nn.AdaptiveAvgPool1d(3), nn.Hardswish()), (R(2, 4, 9),), BATCH, (R(3, 4, 9),)),
    "residual": (Residual, (R(2, 4, 16, 16),), ({0: "batch", 2: "height", 3: "width"},), (R(1, 4, 20, 24),)),
    "unet": (UNet, (R(1, 1, 16, 16),), ({0: "batch", 2: "height", 3: "width"},), (R(2, 1, 24, 32),)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), 2,
                                              enable_nested_tensor=False), (R(2, 5, 8),), TIME, (R(3, 7, 8),)),
    "masked": (Masked, (R(2, 5, 8), _pad(2, 5)), ({0: "b", 1: "t"}, {0: "b", 1: "t"}), (R(3, 7, 8), _pad(3, 7))),
    "attention": (Attended, (R(5, 2, 8), R(6, 2, 8)), ({0: "t", 1: "b"}, {0: "u", 1: "b"}), (R(3, 7, 8), R(4, 7, 8))),
    "embeddings": (Embedded, (_ids(2, 5),), TIME, (_ids(3, 9),)),
    "in place": (Changed, (R(3, 4),), BATCH, (R(5, 4),)),
    "indices": (Indexed, (R(3, 4, 5),), BATCH, (R(6, 4, 5),)),
    **{f"{kind.__name__} {both} {first}": (
        lambda kind=kind, both=both, first=first: kind(4, 3, 2, bidirectional=both, batch_first=first),  # type: ignore[misc]
        (R(2, 5, 4),), TIME, (R(3, 7, 4),)) for kind in (nn.LSTM, nn.GRU, nn.RNN) for both in (False, True) for first in (False, True)},
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_returns_the_same_for_all_sizes(name: str) -> None:
    make, args, shapes, more = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    program = exported(model, args, dynamic_shapes=shapes)
    for given in (args, more):
        with torch.no_grad():
            assert_same(program(*given), model(*given))
    names = {d.dim_param for i in program.model_proto.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    assert names == {n for axes in shapes for n in axes.values()}


@pytest.mark.parametrize("opset", range(13, 24))
@pytest.mark.parametrize("name", ["masked", "norms", "unet", "GRU True True"])
def test_a_model_returns_the_same_in_all_opsets(name: str, opset: int) -> None:
    make, args, shapes, more = MODELS[name]
    model = make().eval()
    program = exported(model, args, dynamic_shapes=shapes, opset_version=opset)
    assert program.model_proto.opset_import[0].version == opset
    with torch.no_grad():
        assert_same(program(*more), model(*more))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_parameters_keep_their_dtypes(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).to(dtype)
    proto = torch.onnx.export(model, (R(2, 4).to(dtype),), verbose=False).model_proto
    onnx.checker.check_model(proto, full_check=True)
    number = {torch.float64: 11, torch.float16: 10, torch.bfloat16: 16}[dtype]
    assert [t.data_type for t in proto.graph.initializer] == [number] * 2 and proto.graph.output[0].type.tensor_type.elem_type == number
    kept = onnx.numpy_helper.to_array(proto.graph.initializer[0])
    assert torch.equal(torch.tensor(kept.astype("float64")), model[0].weight.detach().double())


def test_the_legacy_way_of_calling(tmp_path: Path) -> None:
    model, path = MODELS["cnn"][0](), tmp_path / "model.onnx"
    model.train()
    axes = {"image": {0: "batch"}, "logits": [0]}
    with pytest.warns(DeprecationWarning, match="legacy TorchScript-based ONNX export"), pytest.warns(UserWarning, match="No names were"):
        assert torch.onnx.export(model, R(1, 3, 8, 8), str(path), dynamo=False, input_names=["image"], output_names=["logits"],
                                 dynamic_axes=axes, opset_version=17) is None
    proto = onnx.load(path)
    onnx.checker.check_model(proto, full_check=True)
    assert model.training and proto.opset_import[0].version == 17 and sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx"]
    assert [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in (proto.graph.input[0], proto.graph.output[0])] == [
        ["batch", 3, 8, 8], ["logits_dynamic_axes_1", 5]]
    assert {t.name for t in proto.graph.initializer} >= set(dict(model.named_parameters()))


def test_what_has_no_translation_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(torch.onnx.OnnxExporterError, match="Exporting the operator 'aten::linalg_eigh.*' to ONNX opset version 20 is not"):
        torch.onnx.export(Of(lambda x: torch.linalg.eigh(x)[0]), (R(3, 3),), path, verbose=False)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="'aten::linalg_eigh"), pytest.warns(DeprecationWarning):
        torch.onnx.export(Of(lambda x: torch.linalg.eigh(x)[0]), (R(3, 3),), path, dynamo=False)
    assert not list(tmp_path.iterdir()) and not torch.onnx.is_in_onnx_export()
    with pytest.raises(torch.onnx.OnnxExporterError, match="Python reads the numbers of a tensor"):
        torch.onnx.export(Of(lambda x: x if x.sum() > 0 else -x), (R(3),), verbose=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="The dimensions 'n' cannot be dynamic"):
        torch.onnx.export(Of(lambda x: x.sum(0) if x.shape[0] == 3 else x.sin().sum(0)), (R(3),), dynamic_shapes=({0: "n"},), verbose=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="Expected `mod` to be an instance of `torch.nn.Module`, got <class 'function'>"):
        torch.onnx.export(lambda x: x, (R(3),), verbose=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="its top-level keys must be the arg names"):
        torch.onnx.export(nn.ReLU(), (R(3),), dynamic_shapes={"y": {0: "n"}}, verbose=False)


def test_a_program_is_saved_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = nn.Linear(20, 30).eval(), str(tmp_path / "model.onnx")
    x = R(2, 20)
    program = torch.onnx.export(model, (x,), path, verify=True)
    assert capsys.readouterr().out.startswith("[torch.onnx] Obtain model graph for `Linear([...]`")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert len(onnx.load(path).graph.initializer) == 2
    with torch.no_grad():
        assert_same(program(x), model(x))
        assert_same(program.call_reference(x), model(x))
        other = nn.Linear(20, 30)
        program.apply_weights(other.state_dict())
        assert_same(program(x), other(x))
    program.save(path, external_data=False, include_initializers=False, keep_initializers_as_inputs=True)
    saved = onnx.load(path).graph
    assert [i.name for i in saved.input] == ["input", "weight", "bias"] and not saved.initializer


class Scaled(torch.autograd.Function):
    """A Function that says how it is translated."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, k: int) -> torch.Tensor:
        return x.clamp(min=0) * k

    @staticmethod
    def symbolic(g: Any, x: Any, k: int) -> Any:
        return g.op("Mul", g.op("Relu", x), g.op("Constant", value_t=torch.tensor(float(k))))


def test_programs_register_translations(tmp_path: Path) -> None:
    library = torch.library.Library("exported", "DEF")
    library.define("twice(Tensor x, float k) -> Tensor")
    library.impl("twice", lambda x, k: torch.from_numpy(x.numpy() * k), "CPU")
    path, x = tmp_path / "model.onnx", R(2)

    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.ops.exported.twice(x, 2.0))

    def nodes(function: Callable[..., Any], **options: Any) -> list[tuple[str, str]]:
        with pytest.warns(DeprecationWarning):
            torch.onnx.export(Of(function), (x,), path, dynamo=False, **options)
        proto = onnx.load(path)
        assert {d.domain: d.version for d in proto.opset_import} == {"": 20, **options.get("custom_opsets", {})}
        return [(node.domain, node.op_type) for node in proto.graph.node]

    with pytest.raises(torch.onnx.errors.OnnxExporterError):
        nodes(model)

    @torch.onnx.symbolic_helper.parse_args("v", "f")
    def twice(g: Any, x: Any, k: float) -> Any:
        return g.op("own::Twice", x, factor_f=k).setType(x.type())

    torch.onnx.register_custom_op_symbolic("exported::twice", twice, 17)
    try:
        assert nodes(model, custom_opsets={"own": 3}) == [("own", "Twice"), ("", "Relu")]
    finally:
        torch.onnx.unregister_custom_op_symbolic("exported::twice", 17)
    with pytest.raises(torch.onnx.OnnxExporterError, match="must match the format domain::name"):
        torch.onnx.register_custom_op_symbolic("twice", twice, 17)
    assert nodes(lambda x: Scaled.apply(x, 3)) == [("", "Relu"), ("", "Mul")]
    assert_same(exported(lambda x: Scaled.apply(x, 3), (x,))(x), Scaled.apply(x, 3))


def test_programs_exported_and_verified() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.LayerNorm(16)).eval()
    x = R(2, 3, 8, 8)
    program = torch.onnx.export(torch.export.export(model, (x,)), verbose=False)
    with torch.no_grad():
        assert_same(program(x), model(x))
    from torchcompat.onnx import testing, verification

    testing.assert_onnx_program(program)
    (info,) = verification.verify_onnx_program(torch.onnx.export(model, (x,), verbose=False))
    assert info.max_abs_diff < 1e-4 and info.abs_diff_hist[0].sum() == 32 and info.expected_dtype is torch.float32
    with pytest.raises(AssertionError):
        program.apply_weights({"0.weight": torch.zeros(4, 3, 3, 3)})
        testing.assert_onnx_program(program)
