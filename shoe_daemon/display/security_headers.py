"""
What holds for every answer: its headers, which questions are allowed, and under
which name this address may be asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CSP", "Guard"]

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_HEADERS: Final = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": CSP,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
    }.items()
)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """
    Stands before the application.

    Args:
        app: Answers what is let through.
        hosts: The names under which it may be asked besides loopback's; None for any.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else {*_LOOPBACK, *(each.lower() for each in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answer one question.
        """
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, dressed)
        else:
            await refusal(scope, receive, dressed)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse(
                "This address only shows.\n", 405, headers={"Allow": "GET, HEAD"}
            )
        if self._hosts is not None and _host(scope) not in self._hosts:
            # A page elsewhere may give its own name our address, to read us through a browser.
            return PlainTextResponse(
                "This display is not known under that name; `hosts` in display.toml adds one.\n",
                421,
            )
        return None


def _host(scope: Scope) -> str:
    """
    Return the name that the browser used, without the port, in lower case.
    """
    named = [value for name, value in scope["headers"] if name == b"host"]
    if len(named) != 1:
        return ""
    text: str = named[0].decode("latin-1").lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]
