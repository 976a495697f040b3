"""Passwords in the url of a line are shown to nobody."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from drivers.transport import LineError, redact_url
from tests.drivers.scripted_line import Script, played


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("camera:rtsp://operator:s3cret@10.0.0.5:554/one", "camera:rtsp://10.0.0.5:554/one"),
        ("camera:rtsp://operator@10.0.0.5/one", "camera:rtsp://10.0.0.5/one"),
        ("camera:rtsp://:s3cret@10.0.0.5/one", "camera:rtsp://10.0.0.5/one"),
        ("camera:rtsp://a:p@ss@10.0.0.5/one", "camera:rtsp://10.0.0.5/one"),
        ("camera:http://h/v?user=a&pwd=s3cret&ch=1", "camera:http://h/v?user=…&pwd=…&ch=1"),
        ("camera:http://h/v?Password=s3cret", "camera:http://h/v?Password=…"),
        ("camera:http://h/v?access_token=s3cret#x", "camera:http://h/v?access_token=…#x"),
        ("camera:http://h/stream@2?ch=1", "camera:http://h/stream@2?ch=1"),
        ("camera:file:/a@b/c.mp4", "camera:file:/a@b/c.mp4"),
        ("/dev/ttyUSB0", "/dev/ttyUSB0"),
        ("socket://10.0.0.5:4001", "socket://10.0.0.5:4001"),
    ],
)
def test_names_are_shown_without_secrets(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_a_reader_does_not_log_it() -> None:
    with capture_logs() as logs:
        played(Script(LineError("no stream comes from there")), url="camera:rtsp://a:s3cret@h/one")
    assert logs
    assert "s3cret" not in str(logs)
    assert any(log.get("port") == "camera:rtsp://h/one" for log in logs)
