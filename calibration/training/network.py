"""The network, its export to an ONNX file for `cv2.dnn`, and the file with all networks."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from calibration.training.patches import NO_INDEX
from drivers.camera.recognition.recogniser import PATCH_SIZE_PX
from shoe_daemon.game import SUITS

RANK_OUTPUTS: Final = NO_INDEX + 1
_CHANNELS: Final = (24, 32, 64, 64, 104, 136, 136)
_EMBEDDING: Final = 96


def network() -> Any:  # noqa: ANN401 - torch is an extra, without types here
    """Build the network: seven convolutions, one hidden layer, 14 ranks and 4 suits in one row."""
    a, b, c, d, e, f, g = _CHANNELS
    seen = PATCH_SIZE_PX[0] * PATCH_SIZE_PX[1] // 256
    return nn.Sequential(
        *_layer(3, a, stride=2), *_layer(a, b, pool=True),
        *_layer(b, c), *_layer(c, d, pool=True),
        *_layer(d, e), *_layer(e, f, pool=True),
        *_layer(f, g),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(g * seen, _EMBEDDING), nn.ReLU(),
        nn.Linear(_EMBEDDING, RANK_OUTPUTS + len(SUITS)),
    )  # fmt: skip


def _layer(inputs: int, outputs: int, *, stride: int = 1, pool: bool = False) -> tuple[Any, ...]:
    convolution = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
    smaller = (nn.MaxPool2d(2),) if pool else ()  # before the rest of the layer, to save time
    return convolution, *smaller, nn.BatchNorm2d(outputs), nn.ReLU()


def export(net: Any, path: Path) -> None:  # noqa: ANN401 - as above
    """Write a trained network as ONNX, for any number of patches at once."""
    net = net.to(memory_format=torch.contiguous_format).eval()
    example = torch.zeros(1, 3, PATCH_SIZE_PX[1], PATCH_SIZE_PX[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (example,),
            str(path),
            dynamo=False,  # the older exporter needs no further packages
            input_names=["patches"],
            output_names=["answers"],
            dynamic_axes={"patches": {0: "n"}, "answers": {0: "n"}},
        )


_KEPT_BITS: Final = 6
"""Bits of a weight's fraction that are kept: with more, three networks exceed 3 MB."""
_FRACTION_BITS: Final = 23
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def pack(networks: Sequence[Path], path: Path) -> None:
    """Write several networks into one file, rounded: the same bytes for the same networks."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for network in networks:
            name = zipfile.ZipInfo(network.name, _EPOCH)
            archive.writestr(name, _rounded(network), zipfile.ZIP_LZMA)


def _rounded(network: Path) -> bytes:
    model = onnx.load(str(network))
    dropped = _FRACTION_BITS - _KEPT_BITS
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        bits = numpy_helper.to_array(tensor).view(np.uint32)
        rounded = (bits + (1 << (dropped - 1))) >> dropped << dropped
        tensor.raw_data = rounded.astype("<u4").tobytes()
    return bytes(model.SerializeToString())
