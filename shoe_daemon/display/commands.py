"""
Commands from pages: log-in with name and PIN, and the way of a command to its table. The table
decides: the display forwards a command with its operator's PIN over a broker
account of its own, and returns the table's reply.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from shoe_daemon.display.logins import Logins, TooManyError
from shoe_daemon.display.sessions import (
    LONGEST_S,
    MAX_WRONG_PINS,
    OperatorSession,
    OperatorSessions,
)
from shoe_daemon.errors import UserError
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.mqtt.client import NoReplyError, send_command
from shoe_daemon.mqtt.commands import MAX_COMMAND_BYTES, VERBS, OrderMessage
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.operators import MAX_PIN_LENGTH, Operators
from shoe_daemon.table import COMMANDS, Detail, make_detail, uncoded_detail
from shoe_daemon.web import LOOPBACK_HOSTS, host_name, is_loopback

_log = structlog.get_logger(__name__)

COOKIE: Final = "shoe_operator"
CSRF_HEADER: Final = "x-csrf-token"
ORDER_PATHS: Final = ("/orders/",)
"""Below it are the only addresses that are not GET."""

ORDER_VERBS: Final = {
    verb: COMMANDS[name].privileged for verb, name in VERBS.items() if name != "replay"
}
"""The verbs that a page may give, and whether they take the PIN."""

EXPIRES_S: Final = 20
"""A command that reaches its table later is refused there."""

REPLY_TIMEOUT_S: Final = 4.0
BODY_TIMEOUT_S: Final = 5.0
"""For the whole body of a request."""

MAX_COMMANDS: Final = 16
"""Commands on their way to tables at the same time."""

_FORWARDED: Final = {field.name for field in msgspec.structs.fields(OrderMessage)} - {
    "operator",
    "expires_at",
    "from_seq",
}
"""Fields of a command that a page may set."""


_COMMAND_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_NO_REPLY: Final = "no_reply"


class _RefusedError(Exception):
    """
    A request that is not forwarded to a table.

    Attributes:
        status: Of the answer.
        headers: Of the answer.
        facts: The answer: `code` is the class of the refusal, `refused` a sentence; where pages
            may translate it, `detail_code` and `detail_values` are as in a table's reply.
    """

    def __init__(
        self, status: HTTPStatus, code: str, reason: str | Detail, retry_after: int | None = None
    ) -> None:
        detail = uncoded_detail(reason) if isinstance(reason, str) else reason
        super().__init__(detail.text)
        self.status, self.code = status, code
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if status == HTTPStatus.REQUEST_TIMEOUT:
            self.headers["Connection"] = "close"
        self.facts = {
            "code": code,
            "refused": detail.text,
            "detail_code": detail.code or None,
            "detail_values": detail.values,
        }


class OrderRoutes:
    """
    The addresses for log-in and commands.

    Args:
        operators: Who may log in.
        mqtt: The broker, with the account that sends commands.
        logins: Checks their PINs.
        behind_proxy: A reverse proxy passes requests on.
        refuses_pins: A PIN would go to the broker over a network without TLS.
        allow_plain_pins: Pages without TLS take PINs too.
        find_table: Returns site and table of a table's key; None for an unknown one.
    """

    def __init__(  # noqa: PLR0913 - what it connects
        self,
        operators: Operators,
        mqtt: MqttSettings,
        logins: Logins,
        *,
        behind_proxy: bool,
        refuses_pins: bool = False,
        allow_plain_pins: bool = False,
        find_table: Callable[[str], tuple[str, str] | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._operators, self._mqtt = operators, mqtt
        self._behind_proxy, self._find_table = behind_proxy, find_table
        self._refuses_pins, self._allow_plain_pins = refuses_pins, allow_plain_pins
        self._sessions, self._monotonic = OperatorSessions(monotonic), monotonic
        self._logins = logins
        self._senders = ThreadPoolExecutor(MAX_COMMANDS, "commands")
        self._on_the_way = 0

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/orders/session", self._show_session, methods=["GET"]),
            Route("/orders/session", self._answering(self._log_in), methods=["POST"]),
            Route("/orders/log-out", self._answering(self._log_out), methods=["POST"]),
            Route("/orders/{table}/{verb}", self._answering(self._order), methods=["POST"]),
        ]

    def names(self) -> list[str]:
        """Return who may log in."""
        return self._current().names()

    def close(self) -> None:
        """Take no more commands."""
        self._logins.close()
        self._senders.shutdown(wait=False)

    async def _show_session(self, request: Request) -> Response:
        session = self._session(request, used=False)
        facts: dict[str, Any] = {"operator": None} if session is None else self._facts(session)
        try:
            self._check_connection(request)
        except _RefusedError as refused:
            facts |= refused.facts
        return _json(facts)

    async def _log_in(self, request: Request) -> Response:
        self._check_origin(request)
        self._check_connection(request)
        body = await _read_body(request)
        name = str(body.get("operator", ""))[:60]
        await self._check_pin(request, name, body.get("pin"), None)
        token, session = self._sessions.begin(name)
        _log.info("operator_logged_in", operator=session.operator, client=self._client(request))
        response = _json(self._facts(session))
        response.set_cookie(
            COOKIE,
            token,
            max_age=int(LONGEST_S),
            path="/orders",
            secure=self._is_encrypted(request),
            httponly=True,
            samesite="strict",
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        session = self._checked_session(request)
        self._sessions.end(request.cookies.get(COOKIE))
        _log.info("operator_logged_out", operator=session.operator, client=self._client(request))
        response = _json({"operator": None})
        response.delete_cookie(COOKIE, path="/orders")
        return response

    async def _order(self, request: Request) -> Response:
        session = self._checked_session(request, used=False)
        self._check_connection(request)
        body = await _read_body(request)
        is_preview = body.get("dry_run") is True
        # A page asks for previews by itself: they keep no session from ending.
        self._session(request, used=not is_preview)
        verb, key = request.path_params["verb"], request.path_params["table"]
        privileged, found = ORDER_VERBS.get(verb), self._find_table(key)
        if privileged is None or found is None:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "unknown", "no such table, or no such order")
        unknown = sorted(set(body) - _FORWARDED)
        if unknown:
            raise _RefusedError(
                HTTPStatus.BAD_REQUEST, "fields", f"unexpected: {unknown[0][:40]!r}"
            )
        site, table = found
        operator = self._current().find(session.operator)
        if operator is None or not operator.may_command(table, privileged=privileged):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "role", "this order takes somebody else")
        command_id = body.get("id")
        if not (isinstance(command_id, str) and _COMMAND_ID.fullmatch(command_id)):
            # It becomes part of topics.
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "fields", "id: missing or invalid")
        without_pin = {key: value for key, value in body.items() if key != "pin"}
        sent = msgspec.json.encode([site, table, verb, without_pin], order="sorted")
        # Whether another order takes the PIN depends on the table's state: the preview tells.
        if (privileged or "pin" in body) and not is_preview:
            if not session.was_sent(command_id, sent):
                await self._check_pin(request, session.operator, body.get("pin"), session)
            session.note_sent(command_id, sent)
        topics = Topics(site, table, self._mqtt.prefix)
        expires = datetime.now(UTC) + timedelta(seconds=EXPIRES_S)
        order = {**body, "operator": session.operator, "expires_at": expires.isoformat()}
        facts = {"topic": topics.command(verb), "operator": session.operator, "id": command_id}
        try:
            reply = await self._send(topics.command(verb), topics.reply(command_id), order)
        except _RefusedError as refused:
            if refused.code == _NO_REPLY and not is_preview:
                _log.info("command_forwarded", **facts, answered=False)
            raise
        if not is_preview:
            _log.info("command_forwarded", **facts)
        return Response(reply, media_type="application/json", headers=_NO_STORE)

    async def _send(self, topic: str, reply_topic: str, order: Mapping[str, Any]) -> bytes:
        if self._on_the_way >= MAX_COMMANDS:
            raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "too many orders at once")
        self._on_the_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._senders,
                lambda: send_command(
                    self._mqtt,
                    topic,
                    msgspec.json.encode(order),
                    reply=reply_topic,
                    timeout_s=REPLY_TIMEOUT_S,
                ),
            )
        except NoReplyError as error:
            # The page asks again with the same id: the table carries it out at most once.
            raise _RefusedError(HTTPStatus.GATEWAY_TIMEOUT, _NO_REPLY, str(error)) from error
        except UserError as error:
            raise _RefusedError(HTTPStatus.BAD_GATEWAY, "not_sent", str(error)) from error
        finally:
            self._on_the_way -= 1

    def _current(self) -> Operators:
        self._operators.load_if_changed()
        return self._operators

    def _facts(self, session: OperatorSession) -> dict[str, Any]:
        operator = self._current().find(session.operator)
        return {
            "operator": session.operator,
            "roles": operator.roles if operator is not None else (),
            "tables": operator.tables if operator is not None else (),
            "csrf": session.csrf_token,
            "ends_in_s": max(0, int(session.ends_in(self._monotonic()))),
        }

    def _session(self, request: Request, *, used: bool = True) -> OperatorSession | None:
        token = request.cookies.get(COOKIE)
        session = self._sessions.find(token, used=used)
        if session is not None and self._current().find(session.operator) is None:
            self._sessions.end(token)
            return None
        return session

    def _checked_session(self, request: Request, *, used: bool = True) -> OperatorSession:
        self._check_origin(request)
        session = self._session(request, used=used)
        if session is None:
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, "session", "log in again")
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode(), session.csrf_token.encode()):
            raise _RefusedError(
                HTTPStatus.FORBIDDEN, "token", "this page is not the one that logged in"
            )
        return session

    def _check_origin(self, request: Request) -> None:
        """Refuse a request that a page of another site made the browser send."""
        scheme = "https" if self._is_encrypted(request) else "http"
        own = f"{scheme}://{request.headers.get('host', '')}"
        site = request.headers.get("sec-fetch-site", "same-origin")
        if request.headers.getlist("origin") != [own] or site != "same-origin":
            raise _RefusedError(
                HTTPStatus.FORBIDDEN, "origin", "orders are given on this page only"
            )

    def _check_connection(self, request: Request) -> None:
        """A PIN over a network without TLS would be readable for everybody on it."""
        if self._allow_plain_pins or self._is_encrypted(request):
            return
        direct = "x-forwarded-for" not in request.headers and "forwarded" not in request.headers
        host = host_name(request.headers.get("host", ""))
        if not (direct and host in LOOPBACK_HOSTS and is_loopback(_peer(request))):
            text = "no PIN without TLS: open this page with https"
            raise _RefusedError(HTTPStatus.FORBIDDEN, "plain_http", text)

    def _is_encrypted(self, request: Request) -> bool:
        forwarded = self._behind_proxy and request.headers.get("x-forwarded-proto") == "https"
        return request.url.scheme == "https" or forwarded

    async def _check_pin(
        self, request: Request, name: str, pin: object, session: OperatorSession | None
    ) -> None:
        """Check the PIN of a log-in, or of a running session, whose order is forwarded."""
        if session is not None and self._refuses_pins:
            reason = make_detail("refused_plain_pin")
            raise _RefusedError(HTTPStatus.FORBIDDEN, "plain_broker", reason)
        if not isinstance(pin, str):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "pin", make_detail("refused_needs_pin"))
        is_right = partial(self._current().is_right, name, pin[:MAX_PIN_LENGTH])
        try:
            if session is None:
                right = await self._logins.check(name, self._client(request), is_right)
            else:
                right = await self._logins.check_of_session(is_right)
        except TooManyError as error:
            reason = make_detail("refused_too_many_pins", seconds=error.seconds)
            raise _RefusedError(
                HTTPStatus.TOO_MANY_REQUESTS, "pin", reason, error.seconds
            ) from error
        if right:
            return
        _log.warning("wrong_pin", client=self._client(request))
        if session is not None:
            session.wrong_pins += 1
            if session.wrong_pins >= MAX_WRONG_PINS:
                self._sessions.end(request.cookies.get(COOKIE))
        raise _RefusedError(HTTPStatus.FORBIDDEN, "pin", make_detail("refused_wrong_name_or_pin"))

    def _client(self, request: Request) -> str:
        return self._logins.address(request.scope)

    def _answering(self, handler: Callable[[Request], Awaitable[Response]]) -> Any:  # noqa: ANN401 - an endpoint
        """Return an endpoint that answers a refused request with the reason."""
        may_log = LogRateLimit()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except _RefusedError as refused:
                # The path of a request can hold whatever somebody typed, a PIN too: it is not
                # logged.
                if requests := may_log(refused.code, time.monotonic()):
                    client = self._client(request)
                    _log.warning(
                        "order_refused", reason=refused.code, client=client, requests=requests
                    )
                return _json(refused.facts, refused.status, refused.headers)

        return answer


_NO_STORE: Final = {"Cache-Control": "no-store"}


def _json(
    facts: Mapping[str, Any],
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    content = msgspec.json.encode(facts)
    return Response(
        content, status, media_type="application/json", headers={**_NO_STORE, **(headers or {})}
    )


def _peer(request: Request) -> str:
    return request.client.host if request.client is not None else ""


async def _read_body(request: Request) -> dict[str, Any]:
    """Read a JSON object of a bounded size."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "fields", "JSON is expected")
    body = b""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                body += part
                if len(body) > MAX_COMMAND_BYTES:
                    raise _RefusedError(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "fields", "that is too long"
                    )
        values = msgspec.json.decode(body)
    except TimeoutError as error:
        text = f"the order did not arrive within {BODY_TIMEOUT_S:g} s"
        raise _RefusedError(HTTPStatus.REQUEST_TIMEOUT, "fields", text) from error
    except (ClientDisconnect, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _RefusedError(
            HTTPStatus.BAD_REQUEST, "fields", "a JSON object is expected"
        ) from error
    if not isinstance(values, dict):
        raise _RefusedError(HTTPStatus.BAD_REQUEST, "fields", "a JSON object is expected")
    return values
