"""The network, and its export to an ONNX file for `cv2.dnn`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import onnx  # noqa: F401 - torch writes with it: better missed now than after the training
import torch
from torch import nn

from calibration.training.training_patches import NO_INDEX
from drivers.camera.recognition.corner_index_reader import PATCH_SIZE_PX
from shoe_daemon.game import SUITS

__all__ = ["RANK_OUTPUTS", "export", "network"]

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
