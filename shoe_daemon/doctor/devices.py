"""The checks of readers, their codes and the copies of their lines, of lamps and of witnesses."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from drivers import (
    Driver,
    ForwardTarget,
    LineError,
    Maturity,
    load_deck_profile,
    missing_cards,
    open_transport,
    profile_differences,
    redact_url,
    replacement_of,
)
from shoe_daemon.config.table import Reading, Setup
from shoe_daemon.doctor.finding import Finding, check_listen
from shoe_daemon.errors import UserError
from shoe_daemon.lamps.config import LampSettings
from shoe_daemon.lamps.outputs import RELAY_LINE, Broker, check_gpio, open_output
from shoe_daemon.mqtt.topics import TableIdentity
from shoe_daemon.witness.config import WitnessSettings

_UNSTABLE_NAMES: Final = ("/dev/ttyUSB", "/dev/ttyACM")
_UNSTABLE_ADVICE: Final = (
    "may be another device after the next start: name it by /dev/serial/by-id"
)
_LISTENING_ADVICE: Final = {
    "keyboard": "press a key, and see what `capture` records",
    "gpio": "press each button, and see what `capture` records",
}

_MAX_NAMED: Final = 10
"""Cards that a finding names."""

_LIGHT_S: Final = 1.0
_LIGHT_ADVICE: Final = "--light-lamps shows whether it lights"

_MATURITIES: Final = {
    Maturity.DOCUMENTED: "written from documents, never tried on a real reader",
    Maturity.ASSUMED: "no document describes this protocol fully; never tried on a real reader",
}


def check_reader(reader: Reading) -> Finding:
    """Open a reader's line, and close it again."""
    about = f"reader {reader.id}"
    driver, port = reader.driver, reader.port
    try:
        if driver.opens_line:
            driver.open_line(port).close()
            advice = driver.look
        else:
            open_transport(port, reader.line).close()
            usual = f"listen to it with `calibrate serial --driver {driver.name}`"
            advice = _LISTENING_ADVICE.get(port.partition(":")[0], usual)
    except (LineError, UserError) as error:
        return Finding(about, "bad", str(error))
    return _opens(about, port, redact_url(port), f"; {advice}")


def _opens(about: str, port: str, shown: str, advice: str = "") -> Finding:
    if port.startswith(_UNSTABLE_NAMES):
        return Finding(about, "note", f"{shown} opens, but {_UNSTABLE_ADVICE}")
    return Finding(about, "good", f"{shown} opens{advice}")


def check_forward(about: str, target: ForwardTarget) -> Iterator[Finding]:
    """Open the port to which a reader's line is copied."""
    to = target.to
    if target.is_tcp:
        yield check_listen(about, to.removeprefix("tcp://"), "daemon")
        if target.is_open_to_network:
            text = (
                f"whoever reaches {to} sees each card before the players do: let a firewall "
                "admit the display alone"
            )
            yield Finding(about, "note", text)
        return
    try:
        target.open().close()
    except (LineError, UserError) as error:
        yield Finding(about, "bad", f"goes nowhere: {error}")
    else:
        yield _opens(about, to, to)


def maturity_text(driver: Driver) -> str | None:
    """Return how well a driver's protocol is known; None if it is proven, or not declared."""
    return _MATURITIES.get(driver.maturity or Maturity.PROVEN)


def check_driver(reader: Reading) -> Iterator[Finding]:
    """Name a driver that no real reader tried, or that another package wanted to replace."""
    about, name = f"reader {reader.id}", reader.driver.name
    other = replacement_of(name)
    if other is not None:
        text = f"driver {name}: {other} is not used: the name is a driver's of the project"
        yield Finding(about, "bad", f"{text}; the other package must rename its own")
    if reader.driver.may_exchange_cards:
        text = "its layout was not checked: with a French one, aces and queens are exchanged"
        yield Finding(about, "bad", f"{text}: `calibrate serial --driver {name}` checks it")
    known = maturity_text(reader.driver)
    if known is not None:
        yield Finding(about, "note", f"driver {name}: {known}: compare its cards with the table's")


def check_codes(reader: Reading, decks: int) -> Iterator[Finding]:
    """Compare a table of codes with the deck, and with the reader that learned it."""
    about, driver = f"reader {reader.id}", reader.driver
    if not driver.learns_codes or not (codes := driver.codes()):
        return
    path, expected = driver.table_file, decks if driver.unique_codes else 1
    name = "the table of codes" if path is None else str(path)
    missing = missing_cards(codes, expected)
    if missing:
        named = ", ".join(missing[:_MAX_NAMED]) + (" …" if len(missing) > _MAX_NAMED else "")
        each = "a code" if expected == 1 else f"{expected} codes, one for each deck,"
        text = f"{name}: {len(codes)} codes; {len(missing)} of 52 cards lack {each}: {named}"
        yield Finding(about, "bad", f"{text}: scan them with `calibrate deck`")
    profile = None if path is None else load_deck_profile(path)
    if profile is None:
        if not missing:
            yield Finding(about, "good", f"{name}: {len(codes)} codes, every card has one")
        return
    for text in profile_differences(profile, driver.name, driver.code_settings):
        yield Finding(about, "bad", f"{path} was learned with other settings: {text}")
    line = asdict(reader.line) | {"port": redact_url(reader.port)}
    learned = profile.line | ({"port": profile.port} if profile.port else {})
    for key, value in learned.items():
        if key in line and line[key] != value:
            text = f"{path} was learned with {key} = {value}, not {line[key]}"
            yield Finding(about, "note", f"{text}: verify it with `calibrate deck --verify`")
    if not profile.is_unchanged:
        text = f"{path}: the table was changed after {profile.date}, when it was learned"
        yield Finding(about, "note", f"{text}: verify it with `calibrate deck --verify`")
    if not missing:
        text = f"{path}: {profile.codes} codes of {profile.decks} decks, learned {profile.date}"
        yield Finding(about, "good", text)


def check_lamp(lamp: LampSettings) -> Finding:
    """Open a lamp's relay board or GPIO lines; no channel is switched."""
    about = f"lamp {lamp.id}"
    try:
        if lamp.relay is not None:
            open_transport(lamp.relay, RELAY_LINE).close()
        elif lamp.gpio is not None:
            check_gpio(lamp.gpio, lamp.channels)
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"stays dark: {error}")
    if lamp.topic is not None:
        return Finding(about, "note", f"is published to {lamp.topic}; {_LIGHT_ADVICE}")
    return _opens(about, lamp.relay or "", redact_url(lamp.place), f"; {_LIGHT_ADVICE}")


def light_lamp(setup: Setup, lamp: LampSettings) -> Finding:
    """Switch each channel of a lamp on for a second."""
    about, config = f"lamp {lamp.id}", setup.config
    client_id = f"{TableIdentity(config.site, config.table.id, '').probe_id()}-lamp"
    try:
        broker = None if config.mqtt is None else Broker(config.mqtt, client_id)
        output = open_output(lamp, broker)
        try:
            dark = dict.fromkeys(lamp.channels, lamp.inverted)
            for channel in lamp.channels:
                output.write(dark | {channel: not lamp.inverted})
                time.sleep(_LIGHT_S)
            output.write(dark)
        finally:
            output.close(stopped=True)
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"stays dark: {error}")
    text = f"{redact_url(lamp.place)}: each channel was switched on for a second; did it light?"
    return Finding(about, "note", text)


def check_witness(witness: WitnessSettings, beside: Path) -> Finding:
    """Take one picture from a witness."""
    about = f"witness {witness.id}"
    if witness.source is None:
        return Finding(about, "good", f"keeps the pictures of reader {witness.reader!r}")
    try:
        from drivers import open_video  # noqa: PLC0415 - brings OpenCV with it

        capture = open_video(
            witness.source, witness.frame_size, witness.username, witness.password_file, beside
        )
        height, width = capture.start().image.shape[:2]
        capture.stop()
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"sees nothing: {error}")
    return Finding(about, "good", f"{redact_url(witness.source)} gives {width}x{height}")


def check_evidence(about: str, folder: Path | None) -> Finding:
    """Check the folder of pictures and clips; None stores none."""
    if folder is None:
        text = "keeps no pictures: no dispute can be looked at"
        return Finding(about, "note", text)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        text = f"cannot keep pictures: {there} is no folder that can be written"
        return Finding(about, "bad", text)
    count = sum(each.suffix in {".jpg", ".webm"} for each in folder.glob("*.*"))
    return Finding(about, "good", f"keeps pictures and clips in {folder}: {count:,} there")
