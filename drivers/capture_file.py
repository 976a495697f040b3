"""
Capture files: the bytes that a reader sent, and their observations.

A file with the suffix ``.hex`` is text: two hex digits per byte, optional spaces, and
comments after ``#``. Lines such as ``# origin: simulated`` at its head describe the
origin of the capture. Any other file has the bytes themselves.

Bytes have no times, so each frame gets one: 1970-01-01T00:00:00Z plus its number in
milliseconds. Frames are counted from 1, without repeats and noise: a clean copy of
a noisy capture gives the same observations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from drivers.driver_interface import Driver, Frame, FrameKind
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.table.observations import Observation

HEX_SUFFIX: Final = ".hex"


def read_capture(path: Path) -> bytes:
    """
    Return the bytes of a capture.

    Raises:
        UserError: The file cannot be read, or a line is not hexadecimal.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error
    if path.suffix != HEX_SUFFIX:
        return content
    lines = content.decode("utf-8", "replace").splitlines()
    return b"".join(_bytes_of(line, f"{path}:{number}") for number, line in enumerate(lines, 1))


def write_hex(path: Path, header: Mapping[str, str], frames: Iterable[tuple[bytes, str]]) -> None:
    """Write a capture as text: a header, then one line per frame with its comment."""
    lines = [f"# {key}: {value}" for key, value in header.items()]
    lines += [f"{raw.hex(' ').upper()}{f'  # {note}' if note else ''}" for raw, note in frames]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _bytes_of(line: str, place: str) -> bytes:
    text = line.partition("#")[0].strip()
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UserError(f"{place}: expected bytes as two hex digits each, got {text!r}") from None


_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - written as UTC below


def frames_of(driver: Driver, data: bytes) -> list[Frame]:
    """Decode a whole capture, received at time 0."""
    return driver.decoder().feed(data, 0.0)


def observations_of(driver: Driver, data: bytes) -> Iterator[Observation]:
    """Yield the observations of a whole capture, each with its `at`."""
    frames = (frame for frame in frames_of(driver, data) if frame.kind is FrameKind.FRAME)
    for number, frame in enumerate(frames, 1):
        time = _EPOCH + timedelta(milliseconds=number)
        at = f"{time.isoformat(timespec='milliseconds')}Z"
        yield from (replace(observation, at=at) for observation in frame.observations)
