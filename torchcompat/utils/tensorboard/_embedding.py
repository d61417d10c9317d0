"""Files of the embedding projector: points, their labels and pictures, and where these are."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from tensorboard.compat import tf
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from ._convert_np import make_np
from ._utils import make_grid

if TYPE_CHECKING:
    from torchcompat import Tensor


def _gfile_join(a: str, b: str) -> str:
    """The path of a file in a folder, which may be on another machine."""
    files = tf.io.gfile
    return files.join(a, b) if hasattr(files, "join") else files.get_filesystem(a).join(a, b)


def _write(folder: str, name: str, content: bytes) -> None:
    with tf.io.gfile.GFile(_gfile_join(folder, name), "wb") as file:
        file.write(content)


def make_tsv(metadata: Sequence[object], save_path: str, metadata_header: Sequence[str] | None = None) -> None:
    """Writes labels, a line for each; or rows of labels under a header.

    Raises:
        AssertionError: the header has not as many columns as the first row.
    """
    lines = [str(x) for x in metadata]
    if metadata_header:
        rows: list[Sequence[object]] = [metadata_header, *metadata]  # type: ignore[list-item]  # which are rows then
        if len(metadata_header) != len(rows[1]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join([str(e) for e in row]) for row in rows]
    _write(save_path, "metadata.tsv", ("\n".join(lines) + "\n").encode())


def make_sprite(label_img: Tensor, save_path: str) -> None:
    """Writes pictures [N, C, H, W] as one, a square of as many rows as columns."""
    from PIL import Image

    grid = make_grid(make_np(label_img), ncols=math.ceil(label_img.size(0) ** 0.5)).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[:grid.shape[0]] = grid
    output = io.BytesIO()
    Image.fromarray(np.uint8((square * 255).clip(0, 255))).save(output, format="PNG")
    _write(save_path, "sprite.png", output.getvalue())


def get_embedding_info(metadata: object, label_img: Tensor | None, subdir: str, global_step: int, tag: str) -> EmbeddingInfo:
    """What the projector is told of an embedding: its name and its files."""
    info = EmbeddingInfo()
    info.tensor_name = f"{tag}:{str(global_step).zfill(5)}"
    info.tensor_path = _gfile_join(subdir, "tensors.tsv")
    if metadata is not None:
        info.metadata_path = _gfile_join(subdir, "metadata.tsv")
    if label_img is not None:
        info.sprite.image_path = _gfile_join(subdir, "sprite.png")
        info.sprite.single_image_dim.extend([label_img.size(3), label_img.size(2)])
    return info


def write_pbtxt(save_path: str, contents: str) -> None:
    """Writes the projector's list of embeddings."""
    _write(save_path, "projector_config.pbtxt", contents.encode())


def make_mat(matlist: Iterable[Iterable[np.generic]], save_path: str) -> None:
    """Writes points, a line for each."""
    _write(save_path, "tensors.tsv", "".join(["\t".join([str(i.item()) for i in x]) + "\n" for x in matlist]).encode())
