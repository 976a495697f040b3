"""Every web page of the project has the same security headers, and only known hosts are served."""

from __future__ import annotations

import pytest

from shoe_daemon.web import (
    CONTENT_SECURITY_POLICY,
    LOOPBACK_HOSTS,
    SECURITY_HEADERS,
    host_name,
    is_known_host,
    is_loopback,
)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8080", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("[::1]", "[::1]"),
        ("", ""),
        (":8080", ""),
        ("[::1", "[::1]"),
        ("board.casino.example:8080", "board.casino.example"),
    ],
)
def test_the_host_is_read_without_its_port(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        (["localhost:8080"], True),
        (["127.0.0.1"], True),
        (["[::1]:1"], True),
        (["localhost.evil.example"], False),
        ([""], False),
        ([], False),
        (["localhost", "localhost"], False),
    ],
)
def test_a_request_names_exactly_one_known_host(headers: list[str], known: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_known_host(headers, LOOPBACK_HOSTS) is known


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("localhost", True), ("127.8.9.1", True), ("::1", True), ("10.0.0.1", False), ("a", False)],
)
def test_loopback_is_this_computer(host: str, loopback: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_loopback(host) is loopback


def test_nothing_foreign_is_loaded_and_no_other_page_frames_ours() -> None:
    directives = dict(each.split(" ", 1) for each in CONTENT_SECURITY_POLICY.split("; "))
    assert directives.pop("img-src") == "'self' data:"
    assert set(directives.values()) == {"'none'", "'self'"}
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    assert SECURITY_HEADERS["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert SECURITY_HEADERS["x-content-type-options"] == "nosniff"
