"""Webhooks are signed, JSON and never redirected; texts are for people; nothing tells a secret."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.notify.decisions import DueAlert, Notification
from shoe_daemon.notify.notify_config import RecipientSettings
from shoe_daemon.notify.senders import SendError, make_sender, message_text, signature
from tests.notify.open_alerts import open_alert
from tests.notify.webhook_server import WebhookServer

PAGE = Path(__file__).parents[2] / "docs/notify.md"
ONE = Notification("floor", (DueAlert(open_alert(1), 0),))
SECRET_FILE = "floor.secret"  # noqa: S105 - the name of a file
SECRET = "a long random secret"  # noqa: S105 - of a test


@pytest.fixture
def webhook() -> Iterator[WebhookServer]:
    with WebhookServer() as server:
        yield server


def send(folder: Path, url: str, notification: Notification = ONE) -> None:
    (folder / SECRET_FILE).write_text(f"{SECRET}\n")
    recipient = RecipientSettings(id="floor", webhook=url, secret_file=SECRET_FILE)
    make_sender(recipient, folder, dt.UTC).send(notification)


def receiver() -> Any:  # noqa: ANN401 - a function
    """Return the function of the page that verifies a signature."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code[1], names)  # noqa: S102 - the page's own example
    return names["verified"]


def test_the_receiver_of_the_page_accepts_what_is_sent(
    tmp_path: Path, webhook: WebhookServer
) -> None:
    send(tmp_path, webhook.url)
    (message,) = webhook.received
    header = message.headers["shoe-signature"]
    verified = receiver()
    assert verified(header, message.body, SECRET)
    assert not verified(header, message.body + b" ", SECRET)
    assert not verified(header, message.body, "another secret")
    assert not verified("", message.body, SECRET)
    old = signature(SECRET, message.body, 1_700_000_000)
    assert not verified(old, message.body, SECRET)


def test_the_body_has_the_alert_as_it_was_published(
    tmp_path: Path, webhook: WebhookServer
) -> None:
    send(tmp_path, webhook.url)
    (message,) = webhook.received
    assert message.headers["content-type"] == "application/json"
    body = message.json
    assert (body["kind"], body["recipient"], body["schema"]) == ("alerts", "floor", "1.0")
    (sent,) = body["alerts"]
    assert (sent["site"], sent["table"], sent["name"]) == ("casino", "table-7", "Baccarat 7")
    assert sent["repeat"] == 0
    assert sent["alert"]["data"]["detail"] == "The Player drew on 6."
    assert sent["alert"]["round"] == 31


@pytest.mark.parametrize("status", [302, 400, 404, 500, 503])
def test_every_other_status_is_a_failure(
    tmp_path: Path, webhook: WebhookServer, status: int
) -> None:
    webhook.status = status
    with pytest.raises(SendError, match=f"the webhook answers {status}"):
        send(tmp_path, webhook.url)
    assert len(webhook.received) == 1


def test_an_unreachable_webhook_is_a_failure(tmp_path: Path) -> None:
    with WebhookServer() as server:
        url = server.url
    with pytest.raises(SendError, match="connection refused"):
        send(tmp_path, url)


def test_a_missing_secret_is_a_failure_until_it_is_there(
    tmp_path: Path, webhook: WebhookServer
) -> None:
    recipient = RecipientSettings(id="floor", webhook=webhook.url, secret_file=SECRET_FILE)
    sender = make_sender(recipient, tmp_path, None)
    with pytest.raises(SendError, match="no such file"):
        sender.send(ONE)
    (tmp_path / SECRET_FILE).write_text("there\n")
    sender.send(ONE)
    assert len(webhook.received) == 1


def test_a_text_names_table_round_time_and_repeats() -> None:
    title, text = message_text(Notification("floor", (DueAlert(open_alert(1), 2),)), dt.UTC)
    assert title == "Baccarat 7: severity 3"
    assert text == (
        "Baccarat 7, round 31: The Player drew on 6.\nSeverity 3, open since 11:00, sent 3 times."
    )
    two = Notification("floor", (DueAlert(open_alert(1), 0), DueAlert(open_alert(2), 0)))
    assert message_text(two, dt.UTC)[0] == "Baccarat 7: 2 alerts"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its services
def test_apprise_sends_to_its_services(tmp_path: Path, webhook: WebhookServer) -> None:
    # Its own form of JSON, to the same server.
    address = webhook.url.replace("http://", "json://user:password@")
    (tmp_path / "duty.address").write_text(f"{address}\n")
    recipient = RecipientSettings(id="duty", address_file="duty.address")
    sender = make_sender(recipient, tmp_path, dt.UTC)
    sender.send(ONE)
    (message,) = webhook.received
    assert message.json["title"] == "Baccarat 7: severity 3"
    assert "The Player drew on 6." in message.json["message"]
    webhook.status = 500
    with pytest.raises(SendError, match="apprise reports a failure") as failure:
        sender.send(ONE)
    assert "password" not in str(failure.value)
    (tmp_path / "duty.address").write_text("nonsense\n")
    with pytest.raises(SendError, match="does not know this kind"):
        sender.send(ONE)
