"""Webhooks are signed, JSON and never redirected; texts are for people; nothing tells a secret."""

from __future__ import annotations

import datetime as dt
import re
import socket
import threading
from pathlib import Path
from typing import Any, Self

import pytest

from shoe_daemon.notify.config import RecipientSettings
from shoe_daemon.notify.decisions import DueAlert, Notification
from shoe_daemon.notify.senders import FAILURES, SendError, make_sender, message_text, signature
from tests.mqtt.test_tls import Papers
from tests.notify.open_alerts import open_alert
from tests.notify.webhook_server import WebhookServer

PAGE = Path(__file__).parents[2] / "docs/notify.md"
ONE = Notification("floor", (DueAlert(open_alert(1), 0),))
SECRET_FILE = "floor.secret"  # noqa: S105 - the name of a file
SECRET = "a long random secret"  # noqa: S105 - of a test


def send(folder: Path, url: str, notification: Notification = ONE) -> None:
    (folder / SECRET_FILE).write_text(f"{SECRET}\n")
    recipient = RecipientSettings(id="floor", webhook=url, secret_file=SECRET_FILE)
    make_sender(recipient, folder, dt.UTC)(notification)


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
    with pytest.raises(SendError, match=f"the webhook answers {status}") as error:
        send(tmp_path, webhook.url)
    assert (error.value.failure.code, error.value.failure.values) == (
        "notify_status",
        {"status": status},
    )
    assert len(webhook.received) == 1


def test_an_unreachable_webhook_is_a_failure(tmp_path: Path) -> None:
    with WebhookServer() as server:
        url = server.url
    with pytest.raises(SendError, match="connection refused") as error:
        send(tmp_path, url)
    assert error.value.failure.code == "notify_refused"


class Unusual:
    """A server that answers every connection with these bytes, and closes it."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}/a-secret-path"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._door.close()

    def _serve(self) -> None:
        line, _ = self._door.accept()
        with line:
            line.recv(65536)
            line.sendall(self._answer)
            line.shutdown(socket.SHUT_WR)
            while line.recv(65536):
                pass


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"HTTP/1.1 500 " + b"a very long reason " * 1000 + b"\r\n\r\n", "notify_status"),
        (b"HTTP/1.1 403 pass\tword\r\n\r\n", "notify_status"),
        (b"not http at all\r\n\r\n", "notify_service"),
        (b"", "notify_service"),
    ],
)
def test_the_words_of_a_server_stay_in_the_log(tmp_path: Path, answer: bytes, code: str) -> None:
    with Unusual(answer) as server, pytest.raises(SendError) as error:
        send(tmp_path, server.url)
    failure = error.value.failure
    assert failure.code == code
    assert len(failure.reason) < 300
    assert not {"\n", "\t"} & set(failure.reason)
    assert "a-secret-path" not in failure.reason
    told = FAILURES[failure.code].format_map(failure.values)
    assert "reason" not in told
    assert "word" not in told


def test_a_name_that_nobody_knows_and_a_certificate_that_nobody_signed(tmp_path: Path) -> None:
    with pytest.raises(SendError) as error:
        send(tmp_path, "https://nobody.invalid/a-secret-path")
    assert error.value.failure.code == "notify_name"
    papers = Papers(tmp_path / "papers")
    certificate, key = papers.sign("127.0.0.1")
    with WebhookServer(certificate, key) as server:
        with pytest.raises(SendError) as error:
            send(tmp_path, server.url)
        assert error.value.failure.code == "notify_certificate"


def test_a_missing_secret_is_a_failure_until_it_is_there(
    tmp_path: Path, webhook: WebhookServer
) -> None:
    recipient = RecipientSettings(id="floor", webhook=webhook.url, secret_file=SECRET_FILE)
    sender = make_sender(recipient, tmp_path, None)
    with pytest.raises(SendError, match="no such file") as error:
        sender(ONE)
    assert error.value.failure.code == "notify_secret"
    (tmp_path / SECRET_FILE).write_text("there\n")
    sender(ONE)
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
    sender(ONE)
    (message,) = webhook.received
    assert message.json["title"] == "Baccarat 7: severity 3"
    assert "The Player drew on 6." in message.json["message"]
    webhook.status = 500
    with pytest.raises(SendError, match="apprise reports a failure") as failure:
        sender(ONE)
    assert "password" not in str(failure.value)
    assert failure.value.failure.code == "notify_service"
    (tmp_path / "duty.address").write_text("nonsense\n")
    with pytest.raises(SendError, match="does not know this kind") as failure:
        sender(ONE)
    assert failure.value.failure.code == "notify_address"
