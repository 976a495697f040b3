"""Addresses of sources, logins of network cameras, and passwords that are never shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from drivers.camera.driver import CameraDriver
from drivers.camera.options import CameraOptions
from drivers.camera.sources.address import (
    add_login,
    parse_address,
    parse_source,
)
from shoe_daemon.cli import main
from shoe_daemon.config.table import load_config
from shoe_daemon.errors import UserError
from tests.camera import overhead_scene

BARE = "camera:http://10.0.0.5/live"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("camera:rtsp://admin:s3cret@10.0.0.5/stream", "rtsp://10.0.0.5/stream"),
        ("camera:http://h/v?user=admin&pwd=s3cret&ch=1", "http://h/v?user=…&pwd=…&ch=1"),
        ("camera:http://h/stream@2", "http://h/stream@2"),
        ("camera:file:/a@b/c.mp4", "/a@b/c.mp4"),
    ],
)
def test_an_address_is_shown_without_its_login(url: str, shown: str) -> None:
    assert str(parse_address(url)) == shown


@pytest.mark.parametrize(
    "url",
    [
        "camera:rtsp://[::1",
        "camera:rtsp://admin:s3cret@[::1/one",
        "camera:rtsp://admin:s3cret@10.0.0.5:port/one",
        "camera:rtsp://admin:s3/cret@10.0.0.5/one",
        "camera:rtsp://admin:s3#cret@10.0.0.5/one",
        "camera:rtsp://admin:s3?cret@10.0.0.5/one",
        "camera:rtsp:/admin:s3cret@10.0.0.5/one",
        "camera:RTSP://admin:s3cret@10.0.0.5/one",
        "camera:ftp://10.0.0.5/one?pwd=s3cret",
        "rtsp://admin:s3cret@10.0.0.5/one",
        "camera:http://10.0.0.5:99999/one",
        "camera:http://10.0.0.5:0/one",
        "camera:http://10.0.0.5/one\n",
        "camera:file:a\0b",
    ],
)
def test_an_invalid_address_is_shown_without_its_password(url: str) -> None:
    with pytest.raises(UserError, match=r"^port '.*': expected camera:/dev/…") as caught:
        parse_address(url)
    told = str(caught.value)
    assert "\n" not in told
    assert not any(part in told for part in ("s3", "cret@", "admin"))
    assert ("%2F" in told) is ("@" in url)


@pytest.mark.parametrize("source", ["night.avi", "camera:night.avi", "simulated", "file:", ""])
def test_an_invalid_source_is_shown_as_typed(source: str) -> None:
    typed = source.removeprefix("camera:")
    forms = "/dev/…, rtsp://…, http://…, file:PATH, folder:PATH or raw:PATH"
    with pytest.raises(UserError, match=f"^source '{typed}': expected {re.escape(forms)}$"):
        parse_source(source)


def test_an_invalid_source_is_shown_without_its_password() -> None:
    with pytest.raises(UserError, match=r"^source '…@10\.0\.0\.5/one': expected /dev/") as caught:
        parse_source("ftp://admin:s3cret@/x@10.0.0.5/one")
    assert "%2F" in str(caught.value)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    (tmp_path / "camera-password").write_text("p@ss/w #1\nand no more\n", encoding="utf-8")
    return "camera-password"


def test_a_password_is_the_first_line_of_its_file(tmp_path: Path, secret: str) -> None:
    found = add_login(parse_address(BARE), "table 7", secret, tmp_path)
    assert found.location == "http://table%207:p%40ss%2Fw%20%231@10.0.0.5/live"
    assert str(found) == "http://10.0.0.5/live"


def test_a_bare_file_name_is_searched_among_the_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    found = add_login(parse_address(BARE), "t", secret, Path("/nowhere"))
    assert "p%40ss" in found.location


def test_a_password_replaces_its_placeholder(tmp_path: Path, secret: str) -> None:
    port = parse_address("camera:http://10.0.0.5/v?usr={username}&pwd={password}&ch=1")
    found = add_login(port, "table-7", secret, tmp_path)
    assert found.location == "http://10.0.0.5/v?usr=table-7&pwd=p%40ss%2Fw%20%231&ch=1"
    assert str(found) == "http://10.0.0.5/v?usr=…&pwd=…&ch=1"
    named = parse_address("camera:http://10.0.0.5/v?user=t&pwd={password}")
    assert add_login(named, None, secret, tmp_path).location.endswith(
        "user=t&pwd=p%40ss%2Fw%20%231"
    )


def test_an_address_without_login_is_unchanged(tmp_path: Path) -> None:
    for where in (BARE, "camera:/dev/video0", "camera:file:{password}.mp4"):
        assert add_login(parse_address(where), None, None, tmp_path) == parse_address(where)


def test_contradicting_login_options_are_reported(tmp_path: Path, secret: str) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    def told(port: str, username: str | None, file: str | None) -> str:
        options = CameraOptions(username=username, password_file=file)
        with pytest.raises(UserError) as caught:
            CameraDriver(options).beside(tmp_path, tmp_path / "journal").check_url(port)
        assert "\n" not in str(caught.value)
        assert "p@ss" not in str(caught.value)
        return str(caught.value)

    missing = tmp_path / "missing"
    assert told(BARE, "t", "missing").startswith(
        f"options.password_file: {missing}: no such file or directory; the service finds it if "
    )
    assert "first line is empty" in told(BARE, "t", "empty")
    assert "not UTF-8" in told(BARE, "t", "binary")
    assert "needs options.username" in told(BARE, None, secret)
    assert "expected options.password_file" in told(f"{BARE}?pwd={{password}}", "t", None)
    assert told("camera:/dev/video0", "t", secret).startswith("options.username: /dev/video0: exp")
    twice = told("camera:http://a:b@10.0.0.5/live", "t", secret)
    assert twice.startswith("options.username: http://10.0.0.5/live: its port has a user name too")


def test_a_configuration_needs_no_password_in_it(tmp_path: Path, secret: str) -> None:
    file = tmp_path / "table.toml"
    file.write_text(
        f'site = "casino"\n[journal]\npath = "{tmp_path}/journal.db"\n'
        f'[[reader]]\nid = "eye"\ndriver = "camera"\nport = "{BARE}"\n'
        f'[reader.options]\nprofile = "{overhead_scene.profile(tmp_path)}"\n'
        f'username = "t"\npassword_file = "{secret}"\n'
    )
    done = CliRunner().invoke(main, ["check-config", str(file)])
    assert done.exit_code == 0, done.output
    assert "p@ss" not in done.output
    (tmp_path / secret).unlink()
    done = CliRunner().invoke(main, ["check-config", str(file)])
    assert done.exit_code == 0
    (note,) = [line for line in done.output.splitlines() if line.startswith("note ")]
    assert "reader 'eye': options.password_file: " in note
    with pytest.raises(UserError, match=r"reader 'eye': options\.password_file: "):
        load_config(file)
