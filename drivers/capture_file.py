"""
Captures: what a reader once sent, in a file.

A file whose name ends in ``.hex`` is text for people: two hex digits a byte,
spaces as one likes, and whatever follows a ``#`` is a comment. Lines such as
``# origin: simulated`` at its head say where the capture comes from. Any other
file is the bytes themselves.
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
        UserError: The file cannot be read, or a line of it is no hex.
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
    """
    Write a capture for people: a header, then one frame a line with its comment.
    """
    lines = [f"# {key}: {value}" for key, value in header.items()]
    lines += [f"{raw.hex(' ').upper()}{f'  # {note}' if note else ''}" for raw, note in frames]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _bytes_of(line: str, place: str) -> bytes:
    text = line.partition("#")[0].strip()
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UserError(f"{place}: expected bytes as two hex digits each, got {text!r}") from None
