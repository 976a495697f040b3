"""Alerts before a certificate expires, and for secrets that every user can read."""

from __future__ import annotations

import datetime as dt
import re
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shoe_daemon.mqtt.settings import MqttSettings

ALERT_DAYS: Final = 30

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_LONG_FORM: Final = 0x80
_VERSION_TAG: Final = 0xA0
_UTC_TIME: Final = 0x17
_FIRST_YEAR: Final = 50


def certificate_alerts(
    settings: MqttSettings, broker_certificate: bytes | None, now: dt.datetime
) -> list[str]:
    """
    Return one sentence for each certificate that expires within 30 days or has expired, and for
    each secret that every user can read. `broker_certificate` is what the broker has shown (DER).
    """
    alerts = [
        f"{name} {'expired' if end < now else 'expires'} on {end:%Y-%m-%d}{_days(end, now)}"
        for name, end in _ends(settings, broker_certificate)
        if end - now < dt.timedelta(days=ALERT_DAYS)
    ]
    return alerts + [
        f"{name}: every user can read it; expected mode 0600" for name in _open_secrets(settings)
    ]


def _days(end: dt.datetime, now: dt.datetime) -> str:
    return "" if end < now else f", in {(end - now).days} days"


def _ends(
    settings: MqttSettings, broker_certificate: bytes | None
) -> Iterator[tuple[str, dt.datetime]]:
    tls = settings.tls
    if tls is not None and tls.ca_file is not None:
        # While an authority is being replaced, its file holds the old and the new one.
        ends = _ends_in(tls.ca_file)
        yield from [(f"mqtt.tls.ca_file: {tls.ca_file}", max(ends))] if ends else []
    if tls is not None and tls.cert_file is not None:
        # The authorities between follow the table's own.
        own = _ends_in(tls.cert_file)[:1]
        yield from ((f"mqtt.tls.cert_file: {tls.cert_file}", end) for end in own)
    if broker_certificate is not None and (end := not_after(broker_certificate)):
        yield f"the certificate of the broker {settings.name}", end


def _ends_in(name: str) -> list[dt.datetime]:
    """Return the ends of a file's certificates; none if it cannot be read (reported elsewhere)."""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    ends = []
    for found in _PEM.findall(text):
        try:
            ends.append(not_after(ssl.PEM_cert_to_DER_cert(found)))
        except ValueError:
            continue
    return [end for end in ends if end is not None]


def not_after(certificate: bytes) -> dt.datetime | None:
    """Return the end of a certificate's validity (DER); None if it is no certificate."""
    try:
        _, whole, _ = _element(certificate)
        _, signed, _ = _element(whole)
        tag, _, rest = _element(signed)
        # Version (optional), serial number, algorithm, issuer, validity.
        skipped = 3 if tag == _VERSION_TAG else 2
        for _ in range(skipped):
            _, _, rest = _element(rest)
        _, validity, _ = _element(rest)
        _, _, rest = _element(validity)
        tag, text, _ = _element(rest)
        return _time(tag, text.decode("ascii"))
    except (IndexError, ValueError):
        return None


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and the content of the first DER element, and the data after it."""
    tag, length, start = data[0], data[1], 2
    if length & _LONG_FORM:
        start = 2 + (length & ~_LONG_FORM)
        length = int.from_bytes(data[2:start], "big")
    return tag, data[start : start + length], data[start + length :]


def _time(tag: int, text: str) -> dt.datetime:
    if tag == _UTC_TIME:
        year = int(text[:2])
        text = f"{20 if year < _FIRST_YEAR else 19}{text}"
    return dt.datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=dt.UTC)


def _open_secrets(settings: MqttSettings) -> Iterator[str]:
    files = {"mqtt.password_file": settings.password_file}
    if settings.tls is not None:
        key = settings.tls.key_file
        # Without a key of its own, the certificate's file holds the key.
        files["mqtt.tls.key_file" if key else "mqtt.tls.cert_file"] = key or settings.tls.cert_file
    for key_name, name in files.items():
        try:
            if name is not None and Path(name).stat().st_mode & stat.S_IROTH:
                yield f"{key_name}: {name}"
        except OSError:
            continue  # reported when it is read
