"""Summaries: what TensorBoard's protocol buffers say of scalars, tensors, histograms, pictures, sound, text, curves and meshes."""

from __future__ import annotations

import io
import json
import logging
import struct
import wave
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import torchcompat as torch

from ..._calls.absent import absences as _absences
from ._convert_np import make_np
from ._utils import _prepare_video, convert_to_HWC

if TYPE_CHECKING:
    from PIL.Image import Image

    Layout = Mapping[str, Mapping[str, Sequence[str | Sequence[str]]]]

__all__ = ["half_to_int", "int_to_half", "hparams", "scalar", "histogram_raw", "histogram", "make_histogram", "image", "image_boxes",
           "draw_boxes", "make_image", "video", "make_video", "audio", "custom_scalars", "text", "tensor_proto", "pr_curve_raw", "pr_curve",
           "compute_curve", "mesh"]

logger = logging.getLogger("torch.utils.tensorboard.summary")


def half_to_int(f: float) -> int:
    """The integer that `half_val` of a TensorProto holds for a float: the bits of its float32."""
    return struct.unpack("i", struct.pack("f", f))[0]


def int_to_half(i: int) -> float:
    """The float of `half_to_int`'s integer."""
    return struct.unpack("f", struct.pack("i", i))[0]


def _tensor_to_list(t: torch.Tensor) -> list[float]:
    return t.flatten().tolist()


def _tensor_to_half_val(t: torch.Tensor) -> list[int]:
    return [half_to_int(x) for x in _tensor_to_list(t)]


def _tensor_to_complex_val(t: torch.Tensor) -> list[float]:
    return torch.view_as_real(t).flatten().tolist()


_TENSOR_TYPE_MAP: dict[torch.dtype, tuple[str, str, Callable[[torch.Tensor], Sequence[float]]]] = {
    torch.float16: ("DT_HALF", "half_val", _tensor_to_half_val), torch.bfloat16: ("DT_BFLOAT16", "half_val", _tensor_to_half_val),
    torch.float32: ("DT_FLOAT", "float_val", _tensor_to_list), torch.float64: ("DT_DOUBLE", "double_val", _tensor_to_list),
    torch.int8: ("DT_INT8", "int_val", _tensor_to_list), torch.int16: ("DT_INT16", "int_val", _tensor_to_list),
    torch.int32: ("DT_INT32", "int_val", _tensor_to_list), torch.int64: ("DT_INT64", "int64_val", _tensor_to_list),
    torch.uint8: ("DT_UINT8", "uint32_val", _tensor_to_list), torch.bool: ("DT_BOOL", "bool_val", _tensor_to_list),
    torch.qint8: ("DT_UINT8", "int_val", _tensor_to_list), torch.qint32: ("DT_INT32", "int_val", _tensor_to_list),
    torch.quint8: ("DT_UINT8", "uint32_val", _tensor_to_list), torch.quint4x2: ("DT_UINT8", "uint32_val", _tensor_to_list),
    torch.complex32: ("DT_COMPLEX32", "scomplex_val", _tensor_to_complex_val),
    torch.complex64: ("DT_COMPLEX64", "scomplex_val", _tensor_to_complex_val),
    torch.complex128: ("DT_COMPLEX128", "dcomplex_val", _tensor_to_complex_val)}
"""By dtype: TensorProto's type, its field that holds the elements, and what they are there."""


def _metadata(plugin: str, content: bytes = b"") -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _shape(sizes: Sequence[int]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def hparams(hparam_dict: dict[str, object] | None = None, metric_dict: dict[str, float] | None = None,
            hparam_domain_discrete: dict[str, list[object]] | None = None) -> tuple[Summary, Summary, Summary]:
    """What the plugin of hyperparameters wants to be told: the experiment, the start of a session, its end.

    Args:
        hparam_dict: values by name: int, float, bool, str, a tensor (its first element), or None, which is left out.
        metric_dict: metrics by name.
        hparam_domain_discrete: by name, the values that a hyperparameter may have.

    Raises:
        TypeError: one of them is no dict, or values that may be had are of another type.
        ValueError: a value is of another type.
    """
    from tensorboard.plugins.hparams.api_pb2 import DataType, Experiment, HParamInfo, MetricInfo, MetricName, Status
    from tensorboard.plugins.hparams.metadata import (
        EXPERIMENT_TAG, PLUGIN_DATA_VERSION, PLUGIN_NAME, SESSION_END_INFO_TAG, SESSION_START_INFO_TAG)
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            logger.warning("parameter: %s should be a dictionary, nothing logged.", name)
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    assert hparam_dict is not None and metric_dict is not None
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for k, v in domains.items():
        if k not in hparam_dict or not isinstance(v, list) or not all([isinstance(d, type(hparam_dict[k])) for d in v]):
            raise TypeError(f"parameter: hparam_domain_discrete[{k}] should be a list of same type as hparam_dict[{k}].")

    session, infos = SessionStartInfo(), []
    for k, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, (int, float)):  # and bool, which is an int
            kind, field = "DATA_TYPE_FLOAT64", "number_value"
        elif isinstance(value, str):
            kind, field = "DATA_TYPE_STRING", "string_value"
        elif isinstance(value, torch.Tensor):
            kind, field, value = "DATA_TYPE_FLOAT64", "number_value", make_np(value)[0]
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(session.hparams[k], field, value)
        domain = None
        if k in domains and not isinstance(hparam_dict[k], torch.Tensor):
            domain = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: d}) for d in domains[k]])
        infos.append(HParamInfo(name=k, type=DataType.Value(kind), domain_discrete=domain))

    def told(tag: str, **content: object) -> Summary:
        data = HParamsPluginData(version=PLUGIN_DATA_VERSION, **content)
        return Summary(value=[Summary.Value(tag=tag, metadata=_metadata(PLUGIN_NAME, data.SerializeToString()))])

    metrics = [MetricInfo(name=MetricName(tag=k)) for k in metric_dict]
    return (told(EXPERIMENT_TAG, experiment=Experiment(hparam_infos=infos, metric_infos=metrics)),
            told(SESSION_START_INFO_TAG, session_start_info=session),
            told(SESSION_END_INFO_TAG, session_end_info=SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))))


def scalar(name: str, tensor: object, collections: object = None, new_style: bool = False, double_precision: bool = False) -> Summary:
    """One number: as `simple_value`, or as a tensor where `new_style`, then in `double_precision` on demand.

    Raises:
        AssertionError: there are several.
    """
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError("Tensor should contain one element (0 dimensions). " + " " * 12 +
                             f"Was given size: {array.size} and {array.ndim} dimensions.")
    value = float(array)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=value)])
    proto = TensorProto(double_val=[value], dtype="DT_DOUBLE") if double_precision else TensorProto(float_val=[value], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=_metadata("scalars"))])


def tensor_proto(tag: str, tensor: torch.Tensor) -> Summary:
    """All elements of a tensor.

    Raises:
        ValueError: they take 2 GiB, or TensorProto has no such dtype.
    """
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _TENSOR_TYPE_MAP:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field, elements = _TENSOR_TYPE_MAP[tensor.dtype]
    proto = TensorProto(dtype=dtype, tensor_shape=_shape(tensor.shape), **{field: elements(tensor)})
    return Summary(value=[Summary.Value(tag=tag, metadata=_metadata("tensor"), tensor=proto)])


def histogram_raw(name: str, min: float, max: float, num: int, sum: float, sum_squares: float, bucket_limits: Sequence[float],
                  bucket_counts: Sequence[float]) -> Summary:
    """A histogram of which everything is known: upper limits of its buckets, and how many values are in each."""
    histo = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts)
    return Summary(value=[Summary.Value(tag=name, histo=histo)])


def histogram(name: str, values: object, bins: str | int | Sequence[float], max_bins: int | None = None) -> Summary:
    """The histogram of values, in buckets as `numpy.histogram` takes them, of which `max_bins` neighbours are joined."""
    return Summary(value=[Summary.Value(tag=name, histo=make_histogram(make_np(values).astype(float), bins, max_bins))])


def make_histogram(values: np.ndarray, bins: str | int | Sequence[float], max_bins: int | None = None) -> HistogramProto:
    """The histogram of an array, without the empty buckets at its ends, but for one on the left.

    Raises:
        ValueError: there are no values, or none lies within the buckets.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        joined = len(counts) // max_bins
        over = len(counts) % joined
        if over:
            counts = np.pad(counts, (0, joined - over))
        counts = counts.reshape(-1, joined).sum(axis=-1)
        edges = np.empty(counts.size + 1, limits.dtype)
        edges[:-1], edges[-1] = limits[:-1:joined], limits[-1]
        limits = edges
    # The first and the last bucket that hold anything, by how many buckets up to each do.
    filled = np.cumsum(counts > 0)
    first, last = [int(i) for i in np.searchsorted(filled, [0, filled[-1] - 1], side="right")]
    counts = counts[first - 1:last + 1] if first > 0 else np.concatenate([[0], counts[:last + 1]])
    limits = limits[first:last + 2]
    if counts.size == 0 or limits.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    return HistogramProto(min=values.min(), max=values.max(), num=len(values), sum=values.sum(), sum_squares=values.dot(values),
                          bucket_limit=limits.tolist(), bucket=counts.tolist())


def _calc_scale_factor(tensor: np.ndarray | torch.Tensor) -> int:
    """1 of bytes, 255 of numbers from 0 to 1."""
    return 1 if (tensor if isinstance(tensor, np.ndarray) else tensor.numpy()).dtype == np.uint8 else 255


def _bytes_of(picture: np.ndarray, factor: int) -> np.ndarray:
    return (picture.astype(np.float32) * factor).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: object, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """A picture, or a grid of them: bytes, or floats from 0 to 1, whose dimensions `dataformats` names."""
    array = convert_to_HWC(make_np(tensor), dataformats)
    return Summary(value=[Summary.Value(tag=tag, image=make_image(_bytes_of(array, _calc_scale_factor(array)), rescale=rescale))])


def image_boxes(tag: str, tensor_image: object, tensor_boxes: object, rescale: float = 1, dataformats: str = "CHW",
                labels: Sequence[str] | None = None) -> Summary:
    """A picture with boxes [N, 4] drawn on it: left, top, right, bottom."""
    array, boxes = convert_to_HWC(make_np(tensor_image), dataformats), make_np(tensor_boxes)
    drawn = make_image(_bytes_of(array, _calc_scale_factor(array)), rescale=rescale, rois=boxes, labels=labels)
    return Summary(value=[Summary.Value(tag=tag, image=drawn)])


def _draw_single_box(image: Image, xmin: float, ymin: float, xmax: float, ymax: float, display_str: str | None, color: str = "black",
                     color_text: str = "black", thickness: int = 2) -> Image:
    """Draws a frame, and a text on a ground at its bottom left corner."""
    from PIL import ImageDraw, ImageFont

    font, draw = ImageFont.load_default(), ImageDraw.Draw(image)
    draw.line([(xmin, ymin), (xmin, ymax), (xmax, ymax), (xmax, ymin), (xmin, ymin)], width=thickness, fill=color)
    if display_str:
        left, top, right, bottom = font.getbbox(display_str)
        width, height = right - left, bottom - top
        margin = np.ceil(0.05 * height)
        draw.rectangle([(xmin, ymax - height - 2 * margin), (xmin + width, ymax)], fill=color)
        draw.text((xmin + margin, ymax - height - margin), display_str, fill=color_text, font=font)
    return image


def draw_boxes(disp_image: Image, boxes: np.ndarray, labels: Sequence[str] | None = None) -> Image:
    """Draws red boxes [N, 4], with their labels, on an image of PIL's."""
    for i, box in enumerate(boxes):
        disp_image = _draw_single_box(disp_image, box[0], box[1], box[2], box[3], display_str=None if labels is None else labels[i],
                                      color="Red")
    return disp_image


def make_image(tensor: np.ndarray, rescale: float = 1, rois: np.ndarray | None = None,
               labels: Sequence[str] | None = None) -> Summary.Image:
    """Bytes [H, W, C] as PNG, scaled, with boxes. The summary has the size from before scaling."""
    from PIL import Image

    height, width, channels = tensor.shape
    picture = Image.fromarray(tensor)
    if rois is not None:
        picture = draw_boxes(picture, rois, labels=labels)
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue())


def video(tag: str, tensor: object, fps: float = 4) -> Summary:
    """Videos [N, T, C, H, W] as one GIF: bytes, or floats from 0 to 1. Needs moviepy."""
    array = _prepare_video(make_np(tensor))
    return Summary(value=[Summary.Value(tag=tag, image=make_video(_bytes_of(array, _calc_scale_factor(array)), fps))])


def make_video(tensor: np.ndarray, fps: float) -> Summary.Image | None:
    """Bytes [T, H, W, C] as a GIF; None, and a word of it, where moviepy (before 2.0) is missing."""
    try:
        import moviepy  # noqa: F401
    except ImportError:
        print("add_video needs package moviepy")
        return None
    try:
        from moviepy import editor
    except ImportError:
        print("moviepy is installed, but can't import moviepy.editor.", "Some packages could be missing [imageio, requests]")
        return None
    import tempfile

    _, height, width, channels = tensor.shape
    clip = editor.ImageSequenceClip(list(tensor), fps=fps)
    with tempfile.NamedTemporaryFile(suffix=".gif") as file:
        clip.write_gif(file.name, logger=None)
        return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.read())


def audio(tag: str, tensor: object, sample_rate: int = 44100) -> Summary:
    """Sound of one channel as WAV of 16 bits: numbers from -1 to 1, clipped.

    Raises:
        AssertionError: there are several dimensions.
    """
    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples, output = (array * np.iinfo(np.int16).max).astype("<i2"), io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.data)
    sound = Summary.Audio(sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=output.getvalue(),
                          content_type="audio/wav")
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])


def custom_scalars(layout: Layout) -> Summary:
    """Charts of scalars by category and title, each a kind ("Multiline", or "Margin" of value, lower and upper limit) and its tags.

    Raises:
        AssertionError: a chart with margins has not three tags.
    """

    def chart(title: str, kind: object, tags: Sequence[str]) -> layout_pb2.Chart:
        if kind != "Margin":
            return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
        if len(tags) != 3:
            raise AssertionError("len(tags) != 3")
        series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))

    categories = [layout_pb2.Category(title=category, chart=[chart(title, of[0], of[1]) for title, of in charts.items()])
                  for category, charts in layout.items()]
    proto = TensorProto(dtype="DT_STRING", string_val=[layout_pb2.Layout(category=categories).SerializeToString()],
                        tensor_shape=TensorShapeProto())
    return Summary(value=[Summary.Value(tag="custom_scalars__config__", tensor=proto, metadata=_metadata("custom_scalars"))])


def text(tag: str, text: str) -> Summary:
    """A text, which TensorBoard reads as Markdown."""
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape([1]))
    metadata = _metadata("text", TextPluginData(version=0).SerializeToString())
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", metadata=metadata, tensor=proto)])


def _curve(tag: str, data: np.ndarray, num_thresholds: int) -> Summary:
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    proto = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(data.shape[:2]))
    return Summary(value=[Summary.Value(tag=tag, metadata=_metadata("pr_curves", content), tensor=proto)])


def pr_curve_raw(tag: str, tp: object, fp: object, tn: object, fn: object, precision: object, recall: object,
                 num_thresholds: int = 127, weights: object = None) -> Summary:
    """A precision-recall curve of which everything is known, by threshold."""
    return _curve(tag, np.stack([np.asarray(x) for x in (tp, fp, tn, fn, precision, recall)]), min(num_thresholds, 127))


def pr_curve(tag: str, labels: np.ndarray, predictions: np.ndarray, num_thresholds: int = 127,
             weights: float | np.ndarray | None = None) -> Summary:
    """The precision-recall curve of predictions from 0 to 1 for labels 0 and 1, at most 127 thresholds."""
    num_thresholds = min(num_thresholds, 127)  # TensorBoard reads no more
    return _curve(tag, compute_curve(labels, predictions, num_thresholds=num_thresholds, weights=weights), num_thresholds)


def compute_curve(labels: np.ndarray, predictions: np.ndarray, num_thresholds: int | None = None,
                  weights: float | np.ndarray | None = None) -> np.ndarray:
    """By threshold i / (num_thresholds - 1): true and false positives, true and false negatives, precision, recall; [6, num_thresholds].

    A prediction counts as positive from its threshold up. No precision is asked of fewer than 1e-7 counts.
    """
    assert num_thresholds is not None
    weights = 1.0 if weights is None else weights
    bucket, truth = np.int32(np.floor(predictions * (num_thresholds - 1))), labels.astype(np.float64)

    def at_least(counted: np.ndarray) -> np.ndarray:
        """The weight of what lies in each bucket or above."""
        found, _ = np.histogram(bucket, bins=num_thresholds, range=(0, num_thresholds - 1), weights=counted)
        return np.cumsum(found[::-1])[::-1]

    tp, fp = at_least(truth * weights), at_least((1.0 - truth) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)))


def mesh(tag: str, vertices: object, colors: object, faces: object, config_dict: Mapping[str, object] | None,
         display_name: str | None = None, description: str | None = None) -> Summary:
    """Vertices [B, N, 3], with their colors and the faces between them where given: a tensor each."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    given = ((vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR))
    parts = [(part, kind) for part, kind in given if part is not None]
    components = metadata.get_components_bitmask([kind for _, kind in parts])

    def told(part: object, kind: int) -> Summary.Value:
        t = torch.as_tensor(part)
        about = metadata.create_summary_metadata(tag, display_name, kind, components, t.shape, description, json_config=config)
        proto = TensorProto(dtype="DT_FLOAT", float_val=t.reshape(-1).tolist(), tensor_shape=_shape([t.shape[i] for i in range(3)]))
        return Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=proto, metadata=about)

    return Summary(value=[told(part, kind) for part, kind in parts])


_absences(__name__)
