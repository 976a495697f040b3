"""
Why a network camera gives no stream, in words: what it answers, or what the network says.
"""

from __future__ import annotations

import contextlib
import socket
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from drivers.camera.sources.source_address import Address

__all__ = ["in_words", "refused", "status", "why_not"]

_PATIENCE: Final = 2.0
_RTSP: Final = 554
_ADVICE: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: ": are name and password right?",
    HTTPStatus.FORBIDDEN: ": may this name see it?",
    HTTPStatus.NOT_FOUND: ": is the path right?",
}


def refused(address: Address, why: str) -> str:
    """
    Say that there is no stream, and why where that is known.
    """
    return f"{address}: no stream comes from there{f': {why}' if why else ''}"


def status(code: int, reason: str) -> str:
    """
    Say what an answer means for whoever set the address.
    """
    return f"{code} {' '.join(reason.split())}".rstrip() + _ADVICE.get(code, "")


def in_words(error: object) -> str:
    """
    Say an error in its own words, on one line.
    """
    if isinstance(error, TimeoutError):
        return "no answer"
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split()) or type(error).__name__


def why_not(address: Address) -> str:
    """
    Ask a camera once more, by hand, why it gave no stream; empty where it does not say.
    """
    parts = urlsplit(address.where)
    if parts.scheme != "rtsp":
        return ""
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    question = f"DESCRIBE {bare} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n"
    try:
        port = parts.port or _RTSP
        with socket.create_connection((parts.hostname or "", port), _PATIENCE) as connection:
            connection.sendall(question.encode())
            answer = connection.recv(4096)
    except (OSError, ValueError) as error:
        return in_words(error)
    return _answered(answer)


def _answered(answer: bytes) -> str:
    head = answer.partition(b"\r\n")[0].decode("ascii", "replace").split(maxsplit=2)
    if not head or not head[0].startswith("RTSP/"):
        return "what answers there speaks no RTSP"
    with contextlib.suppress(ValueError, IndexError):
        code = int(head[1])
        if code != HTTPStatus.OK:
            return status(code, head[2] if len(head) > 2 else "")  # noqa: PLR2004 - code, reason
    return ""
