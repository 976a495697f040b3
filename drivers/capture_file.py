"""
Capture files: the bytes that a reader sent.

A file with the suffix ``.hex`` is text: two hex digits per byte, optional spaces, and
comments after ``#``. Lines such as ``# origin: simulated`` at its head describe the
origin of the capture. Any other file has the bytes themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError, one_line

__all__ = ["HEX_SUFFIX", "read_capture", "write_hex"]

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
