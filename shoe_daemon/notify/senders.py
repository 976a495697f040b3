"""Sends notifications: as JSON to a webhook, signed, or as text through apprise."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import http.client
import logging
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from shoe_daemon import __version__
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.notify.config import RecipientSettings
from shoe_daemon.notify.decisions import FAILED, DueAlert, Failure, Notification
from shoe_daemon.settings.files import read_secret
from shoe_daemon.table import SCHEMA, Alert, from_microseconds, to_microseconds

SIGNATURE_HEADER: Final = "Shoe-Signature"
TIMEOUT_S: Final = 10.0
_MAX_REASON: Final = 200

_encoder = msgspec.json.Encoder(order="sorted")


FAILURES: Final = {
    "notify_address": "its address is of an unknown kind",
    "notify_certificate": "its certificate is not trusted",
    FAILED: "an error of the program; its log says more",
    "notify_name": "its name is unknown on the network",
    "notify_refused": "connection refused",
    "notify_secret": "the file of its secret cannot be read",
    "notify_service": "its service refuses, or cannot be reached",
    "notify_status": "its service answers {status}",
    "notify_timeout": "no answer in time",
    "notify_unreachable": "it cannot be reached",
}
"""
All that the pit learns of a failure: English sentences by their codes. They contain no address,
no secret and no word of a recipient.
"""


class SendError(Exception):
    """
    A notification was not accepted; the text is the reason, in one line, without secrets.

    Attributes:
        failure: The same for `Decisions`.
    """

    def __init__(self, reason: str, code: str, **values: int) -> None:
        super().__init__(reason)
        self.failure = Failure(reason, code, values)


Sender = Callable[[Notification], None]
"""Sends a notification, or raises `SendError`; one without alerts is a test."""


class WebhookAlert(Struct, frozen=True, kw_only=True):
    """
    One irregularity of a webhook's message.

    Attributes:
        alert: As in `alert/active`.
        name: Name of the table for people.
        repeat: 0 the first time, then counting up.
    """

    alert: Alert
    name: str | None
    repeat: int
    site: str
    table: str


class WebhookMessage(Struct, frozen=True, kw_only=True):
    """
    The body of a webhook's message.

    Attributes:
        alerts: The most severe first; empty in a test.
        kind: ``alerts`` or ``test``.
        recipient: Its id.
        sent_at: RFC 3339.
    """

    alerts: tuple[WebhookAlert, ...]
    kind: str
    recipient: str
    schema: str = SCHEMA
    sent_at: str


def make_sender(recipient: RecipientSettings, folder: Path, zone: dt.tzinfo | None) -> Sender:
    """
    Return the sender of a recipient. Its secret is read again for each message.

    `zone` is the time zone of the texts; None for the computer's.
    """
    place = f"notify.to {recipient.id!r}"
    if recipient.webhook is not None:
        secret = partial(read_secret, recipient.secret_file or "", folder, place)
        return partial(_send_to_webhook, recipient.webhook, secret)
    address = partial(read_secret, recipient.address_file or "", folder, place)
    return partial(_send_by_apprise, address, zone)


def webhook_body(notification: Notification, sent_at: str) -> bytes:
    """Return the JSON for a webhook."""
    alerts = tuple(
        WebhookAlert(
            alert=due.open.alert,
            name=due.open.name,
            repeat=due.repeat,
            site=due.open.site,
            table=due.open.table,
        )
        for due in notification.alerts
    )
    kind = "alerts" if alerts else "test"
    message = WebhookMessage(
        alerts=alerts, kind=kind, recipient=notification.recipient, sent_at=sent_at
    )
    return _encoder.encode(message)


def signature(secret: str, body: bytes, at: int) -> str:
    """Return the header of a message: HMAC-SHA256 of ``<at>.<body>``, in hex, with its time."""
    digest = hmac.new(secret.encode(), b"%d.%b" % (at, body), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def message_text(notification: Notification, zone: dt.tzinfo | None) -> tuple[str, str]:
    """Return the title and the text of a notification for people."""
    if not notification.alerts:
        return "Test of the notifications", "This is a test: no table has a problem."
    first = notification.alerts[0].open
    title = f"{first.name or first.table}: severity {first.severity}"
    if len(notification.alerts) > 1:
        tables = len({(due.open.site, due.open.table) for due in notification.alerts})
        title = f"{len(notification.alerts)} alerts at {tables} tables, severity {first.severity}"
        if tables == 1:
            title = f"{first.name or first.table}: {len(notification.alerts)} alerts"
    return title, "\n\n".join(_alert_text(due, zone) for due in notification.alerts)


def _alert_text(due: DueAlert, zone: dt.tzinfo | None) -> str:
    alert, data = due.open.alert, due.open.alert.data
    opened = dt.datetime.fromtimestamp(to_microseconds(alert.at) / 1_000_000, dt.UTC)
    where = due.open.name or due.open.table
    round_ = "" if alert.round is None else f", round {alert.round}"
    again = f", sent {due.repeat + 1} times" if due.repeat else ""
    since = opened.astimezone(zone).strftime("%H:%M")
    lines = [
        f"{where}{round_}: {data.detail}",
        f"Severity {data.severity}, open since {since}{again}.",
        *(f"Proposal: {each.text}" for each in data.proposals[:1]),
    ]
    return "\n".join(lines)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: the message is signed for one recipient."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def _send_to_webhook(url: str, secret: Callable[[], str], notification: Notification) -> None:
    """Send by POST; any status from 200 to 299 is a success."""
    now = time.time()
    body = webhook_body(notification, from_microseconds(int(now * 1_000_000)))
    try:
        header = signature(secret(), body, int(now))
    except UserError as error:
        raise SendError(str(error), "notify_secret") from error
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"shoe-daemon/{__version__}",
        SIGNATURE_HEADER: header,
    }
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - checked
    try:
        urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError as error:
        error.close()
        # The second is a text of the server's, of any length.
        text = " ".join(f"{error.code} {error.reason}".split())[:_MAX_REASON]
        raise SendError(
            f"the webhook answers {text}", "notify_status", status=error.code
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SendError(_reason(error), _code(error)) from error


def _send_by_apprise(
    address: Callable[[], str], zone: dt.tzinfo | None, notification: Notification
) -> None:
    """Send as text."""
    # Here: a webhook needs neither the extra nor its memory.
    import apprise  # noqa: PLC0415

    # Its log may contain the address, which contains a password.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    title, text = message_text(notification, zone)
    try:
        service = apprise.Apprise()
        known = service.add(address())
        sent = known and service.notify(title=title, body=text)
    except UserError as error:
        raise SendError(str(error), "notify_secret") from error
    except Exception as error:
        raise SendError(f"apprise failed: {type(error).__name__}", FAILED) from error
    if not known:
        raise SendError("apprise does not know this kind of address", "notify_address")
    if not sent:
        text = "apprise reports a failure: the service refuses or is unreachable"
        raise SendError(text, "notify_service")


def _code(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    kinds = {
        ssl.SSLCertVerificationError: "notify_certificate",
        TimeoutError: "notify_timeout",
        ConnectionRefusedError: "notify_refused",
        socket.gaierror: "notify_name",
        http.client.HTTPException: "notify_service",
        OSError: "notify_unreachable",
    }
    return next((code for kind, code in kinds.items() if isinstance(reason, kind)), FAILED)


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    text = one_line(reason) if isinstance(reason, Exception) else str(reason)
    return (text or type(error).__name__)[:_MAX_REASON].lower()
