"""
Response headers, host check and client's address of every web page that this project serves: the
display, the preview of a camera and the calibration page. Standard library only.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

MEDIA_SECURITY_POLICY: Final = f"{CONTENT_SECURITY_POLICY}; media-src 'self'"
"""Of a page that plays video of its own server."""

SECURITY_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
    }
)

FILE_HEADERS: Final = ("x-content-type-options", "cross-origin-resource-policy")
"""Those that count for a file which is no document: a page has dozens of them."""

_IPV6: Final = 6

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Names of loopback, as `host_name` returns them."""


def host_name(header: str) -> str:
    """Return the host of a ``Host`` header in lower case, without the port; IPv6 in brackets."""
    text = header.lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def is_known_host(headers: Collection[str], hosts: Collection[str]) -> bool:
    """
    Return whether a request names one of these hosts.

    Protects against DNS rebinding: a page elsewhere may give its own name the address of this
    server, and read the server through a browser.

    Args:
        headers: All ``Host`` headers of the request; more or less than one is rejected.
        hosts: Names in lower case, without port.
    """
    return len(headers) == 1 and all(host_name(each) in hosts for each in headers)


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK_NETWORKS: Final[tuple[Network, ...]] = (
    ipaddress.IPv4Network("127.0.0.0/8"),
    ipaddress.IPv6Network("::1/128"),
)


def client_network(peer: str, forwarded_for: Iterable[str], proxies: Iterable[Network]) -> str:
    """
    Return the address of a client, for a limit per address; of an IPv6 one its /64, of which one
    computer has all addresses.

    Args:
        peer: The address at the other end of the connection.
        forwarded_for: The ``X-Forwarded-For`` headers of the request, in their order.
        proxies: Peers whose headers are believed. Each of them appends the address that it
            sees, so the last one that is not a proxy's own is the client's.
    """
    networks = tuple(proxies)
    hops = [each.strip() for header in forwarded_for for each in header.split(",")]
    client = _address(peer)
    while hops and client is not None and any(client in each for each in networks):
        client = _address(hops.pop())
    if client is None:
        return ""
    prefix = 64 if client.version == _IPV6 else client.max_prefixlen
    return str(ipaddress.ip_network((client, prefix), strict=False))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0].strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if address.version == _IPV6 else None
    return mapped or address
