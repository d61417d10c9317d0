"""Writers of event files, which TensorBoard reads."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf import text_format
from tensorboard.compat import tf
from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ..._calls.absent import absences as _absences
from ._convert_np import make_np
from ._embedding import get_embedding_info, make_mat, make_sprite, make_tsv, write_pbtxt
from ._onnx_graph import load_onnx_graph
from ._pytorch_graph import graph
from ._utils import figure_to_image
from .summary import (
    audio, custom_scalars, histogram, histogram_raw, hparams, image, image_boxes, mesh, pr_curve, pr_curve_raw, scalar, tensor_proto, text,
    video,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.summary_pb2 import Summary

    from torchcompat import Tensor
    from torchcompat.nn import Module

    from .summary import Layout

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events to one file, which a thread of TensorBoard's does.

    Args:
        log_dir: the folder of the file.
        max_queue: after how many events the caller waits for the thread.
        flush_secs: after how many seconds what is written is on disk.
        filename_suffix: the end of the file's name.
    """

    def __init__(self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Event, step: float | None = None, walltime: float | None = None) -> None:
        """Writes an event, of a step, at a time in seconds (now)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Summary, global_step: float | None = None, walltime: float | None = None) -> None:
        """Writes a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[GraphDef, RunMetadata], walltime: float | None = None) -> None:
        """Writes a graph, and where it ran."""
        drawn, ran = graph_profile
        self.add_onnx_graph(drawn, walltime)
        told = TaggedRunMetadata(tag="step1", run_metadata=ran.SerializeToString())
        self.add_event(Event(tagged_run_metadata=told), None, walltime)

    def add_onnx_graph(self, graph: GraphDef, walltime: float | None = None) -> None:
        """Writes a graph."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Waits until all is on disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Ends the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Begins another file in the folder, where this one has ended."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes what a program logs to event files.

    Args:
        log_dir: their folder; `runs/<time>_<host><comment>` where there is none.
        comment: see there.
        purge_step: TensorBoard is to forget what was logged there of this step and later ones.
        max_queue, flush_secs, filename_suffix: as of `FileWriter`.

    Methods named `add_` take the name of what they log (`tag`), its step and its time, and write a summary of `summary`'s function of the
    same name, which says what it accepts.
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: float = 120, filename_suffix: str = "") -> None:
        if not log_dir:
            import socket
            from datetime import datetime

            log_dir = os.path.join("runs", f"{datetime.now().strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        limits = [1e-12]
        while limits[-1] * 1.1 < 1e20:
            limits.append(limits[-1] * 1.1)
        self.default_bins: list[float] = [*[-v for v in reversed(limits)], 0, *limits]

    def _get_file_writer(self) -> FileWriter:
        """The writer of the folder itself, a new one after `close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder of the files."""
        return self.log_dir

    def add_hparams(self, hparam_dict: dict[str, object], metric_dict: dict[str, float],
                    hparam_domain_discrete: dict[str, list[object]] | None = None, run_name: str | None = None,
                    global_step: float | None = None) -> None:
        """Logs hyperparameters and what came of them, in a folder of their own: `run_name`, or the time.

        Raises:
            TypeError: one of them is no dict.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        told = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(log_dir=os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))) as run:
            for summary in told:
                run._get_file_writer().add_summary(summary, global_step)
            for k, v in metric_dict.items():
                run.add_scalar(k, v, global_step)

    def add_scalar(self, tag: str, scalar_value: object, global_step: float | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        """Logs a number."""
        summary = scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Mapping[str, object], global_step: float | None = None,
                    walltime: float | None = None) -> None:
        """Logs several numbers for one chart, each to a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = FileWriter(path, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[path].add_summary(scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Tensor, global_step: float | None = None, walltime: float | None = None) -> None:
        """Logs all elements of a tensor."""
        self._get_file_writer().add_summary(tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag: str, values: object, global_step: float | None = None, bins: str | int | Sequence[float] = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        """Logs how values are distributed: over buckets that grow by a tenth, or over those that `numpy.histogram` makes of `bins`."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._get_file_writer().add_summary(histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: float, max: float, num: int, sum: float, sum_squares: float, bucket_limits: Sequence[float],
                          bucket_counts: Sequence[float], global_step: float | None = None, walltime: float | None = None) -> None:
        """Logs a histogram that is known.

        Raises:
            ValueError: there are not as many limits as counts.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        summary = histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_image(self, tag: str, img_tensor: object, global_step: float | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        """Logs a picture."""
        self._get_file_writer().add_summary(image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: object, global_step: float | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        """Logs pictures as a grid."""
        self._get_file_writer().add_summary(image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag: str, img_tensor: object, box_tensor: Tensor, global_step: float | None = None,
                             walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
                             labels: str | Sequence[str] | None = None) -> None:
        """Logs a picture with boxes; their labels are left out where there are not as many."""
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            labels = labels if len(labels) == box_tensor.shape[0] else None
        summary = image_boxes(tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_figure(self, tag: str, figure: Figure | list[Figure], global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:
        """Logs a figure of matplotlib's, or several as a grid."""
        dataformats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dataformats=dataformats)

    def add_video(self, tag: str, vid_tensor: object, global_step: float | None = None, fps: float = 4,
                  walltime: float | None = None) -> None:
        """Logs videos as one."""
        self._get_file_writer().add_summary(video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag: str, snd_tensor: object, global_step: float | None = None, sample_rate: int = 44100,
                  walltime: float | None = None) -> None:
        """Logs sound."""
        self._get_file_writer().add_summary(audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: float | None = None, walltime: float | None = None) -> None:
        """Logs a text."""
        self._get_file_writer().add_summary(text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: str) -> None:
        """Logs the graph of an ONNX file."""
        self._get_file_writer().add_onnx_graph(load_onnx_graph(prototxt))

    def add_graph(self, model: Module, input_to_model: object = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Logs the graph of a module, called on a tensor or several; see `_pytorch_graph.graph`."""
        self._get_file_writer().add_graph(graph(model, input_to_model, verbose, use_strict_trace))

    @staticmethod
    def _encode(rawstr: str) -> str:
        """A text without what cannot stand in the name of a file."""
        return rawstr.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")

    def add_embedding(self, mat: object, metadata: Sequence[object] | None = None, label_img: Tensor | None = None,
                      global_step: int | None = None, tag: str = "default", metadata_header: Sequence[str] | None = None) -> None:
        """Logs points [N, D] for the projector, with a label, or a row of labels under a header, and a picture [C, H, W] each.

        Raises:
            AssertionError: there are not as many labels, or pictures, as points; or points are no matrix.
            NotADirectoryError: a file has the name of the folder of the points.
        """
        array, step = make_np(mat), 0 if global_step is None else global_step
        subdir = f"{str(step).zfill(5)}/{self._encode(tag)}"
        folder, files = os.path.join(self._get_file_writer().get_logdir(), subdir), tf.io.gfile
        if not files.exists(folder):
            files.makedirs(folder)
        elif files.isdir(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        else:
            raise NotADirectoryError(f"Path: `{folder}` exists, but is a file. Cannot proceed.")
        if metadata is not None:
            if array.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            make_tsv(metadata, folder, metadata_header=metadata_header)
        if label_img is not None:
            if array.shape[0] != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            make_sprite(label_img, folder)
        if array.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        make_mat(array, folder)
        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()  # the file of it is written anew each time
        self._projector_config.embeddings.extend([get_embedding_info(metadata, label_img, subdir, step, tag)])
        write_pbtxt(self._get_file_writer().get_logdir(), text_format.MessageToString(self._projector_config))

    def add_pr_curve(self, tag: str, labels: object, predictions: object, global_step: float | None = None, num_thresholds: int = 127,
                     weights: float | None = None, walltime: float | None = None) -> None:
        """Logs the precision-recall curve of predictions."""
        summary = pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: object, false_positive_counts: object, true_negative_counts: object,
                         false_negative_counts: object, precision: object, recall: object, global_step: float | None = None,
                         num_thresholds: int = 127, weights: object = None, walltime: float | None = None) -> None:
        """Logs a precision-recall curve that is known."""
        summary = pr_curve_raw(tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
                               recall, num_thresholds, weights)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        """Logs a chart of several scalars."""
        self._get_file_writer().add_summary(custom_scalars({category: {title: ["Multiline", tags]}}))

    def add_custom_scalars_marginchart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        """Logs a chart of a scalar between two limits.

        Raises:
            AssertionError: there are not three tags.
        """
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self._get_file_writer().add_summary(custom_scalars({category: {title: ["Margin", tags]}}))

    def add_custom_scalars(self, layout: Layout) -> None:
        """Logs what charts of scalars there are."""
        self._get_file_writer().add_summary(custom_scalars(layout))

    def add_mesh(self, tag: str, vertices: object, colors: object = None, faces: object = None,
                 config_dict: Mapping[str, object] | None = None, global_step: float | None = None, walltime: float | None = None) -> None:
        """Logs points in space, and the faces between them."""
        self._get_file_writer().add_summary(mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def flush(self) -> None:
        """Waits until all is on disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Ends the files; what is logged later goes to new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> "SummaryWriter":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_absences(__name__)
