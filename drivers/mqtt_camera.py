"""
A recogniser on a broker: a camera of another maker that publishes the cards on the table.

    {"response":"result","arg":{"res":["KD","10S","","","",""]}}

Each message is a snapshot: one text for each place, an empty one for a place without a card. Where
the list is in the message, the order of the places and the names of the cards are options.

The line gives one line of bytes for each message. A message that the broker had kept since before
the connection begins with ``retained``; it is old, and ignored.

A snapshot is compared with the cards that are known to lie on the table. A new card is reported as
seen on its place. A card that vanishes stays known, and is not new when it comes back: a hand was
in between. The table is cleared by a snapshot without cards, if at least four were known (no round
has fewer); if fewer, by `cleared_after` seconds without cards before the next one; or by a
snapshot with another first card and none of the known cards.
"""

from __future__ import annotations

import math
import secrets
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from drivers.capture import blank
from drivers.driver import (
    Decoder,
    Frame,
    FrameKind,
    Maturity,
    Transport,
)
from drivers.mqtt_line import CONNECT_TIMEOUT_S, RETAINED, BrokerTopic, MqttLine, parse_topic_url
from drivers.text import (
    LOST,
    CardTableDriver,
    CardTableOptions,
    LineDecoder,
    card_named,
    noise,
    other_name,
)
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import DEALING_ORDER, Card, Slot
from shoe_daemon.settings.files import find_file, read_secret
from shoe_daemon.table.observations import (
    Observation,
    Placed,
    Signal,
    TableCleared,
    Unreadable,
)

MAX_LINE_BYTES: Final = 4096
"""Longer messages are noise."""

_COMPLETE_CARDS: Final = 4
_LATE_S: Final = 1.5
"""Seconds after a cleared table in which its cards may still be in a snapshot."""

_File = Annotated[str, Meta(min_length=1)]


class MqttCameraOptions(CardTableOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``mqtt-camera``.

    Attributes:
        slots: The slot of each text in the list: all six, in the recogniser's order.
        path: Where the list is in a message: names of fields, or numbers in lists, with dots.
        only: Messages without these values are ignored; the keys are such paths.
        cleared_after: Seconds without cards after which the table was cleared, if fewer than
            four cards lay on it.
        protocol: Version of MQTT.
        username: The user name at the broker; None for no login.
        password_file: File with the password in its first line, searched among the unit's
            credentials first, then beside the configuration.
        ca_file: With ``mqtts:``, the trusted authority (PEM); None for the system's.
        cert_file: The certificate of this client (PEM), if the broker asks for one.
        key_file: The key of `cert_file`; None if it is in the same file.
    """

    slots: tuple[Slot, ...] = ()
    path: str = "arg.res"
    only: dict[str, str] = msgspec.field(default_factory=lambda: {"response": "result"})
    cleared_after: Annotated[float, Meta(ge=0, le=600)] = 5.0
    protocol: Literal["5", "3.1.1"] = "5"
    username: _File | None = None
    password_file: _File | None = None
    ca_file: _File | None = None
    cert_file: _File | None = None
    key_file: _File | None = None

    def __post_init__(self) -> None:
        """Reject an order without some place, and an invalid path."""
        super().__post_init__()
        if self.slots and sorted(self.slots) != sorted(DEALING_ORDER):
            got = " ".join(self.slots)
            raise ValueError(f"slots: {got}; expected each of {' '.join(DEALING_ORDER)} once")
        for key, path in (("path", self.path), *(("only", each) for each in self.only)):
            if not all(path.split(".")):
                raise ValueError(f"{key}: {path!r}; expected names with dots, such as 'arg.res'")


class _Snapshot(NamedTuple):
    """The cards of a message: read ones, and places whose card has no known name."""

    cards: dict[Slot, Card]
    unread: tuple[Slot, ...]


class _KnownCards:
    """
    The cards that lie on the table.

    Attributes:
        faces: The faces that were reported of each place; the first one counts.
        unread: Places whose card has not been read yet.
    """

    def __init__(self) -> None:
        self.faces: dict[Slot, list[Card]] = {}
        self.unread: set[Slot] = set()

    @property
    def is_complete(self) -> bool:
        return len(self.faces) + len(self.unread) >= _COMPLETE_CARDS

    def agrees(self, slot: Slot, card: Card) -> bool:
        return card in self.faces.get(slot, ())

    def holds(self, snapshot: _Snapshot) -> bool:
        """Return whether all cards of a snapshot lie here."""
        unread = all(slot in self.faces or slot in self.unread for slot in snapshot.unread)
        return unread and all(self.agrees(*each) for each in snapshot.cards.items())

    def is_replaced_by(self, snapshot: _Snapshot) -> bool:
        """
        Return whether a snapshot shows another round: its first card, and no card or place of
        before. A first card alone may be a second reading; not if a round was complete.
        """
        others = [
            slot in self.faces and self.faces[slot][0] is not card
            for slot, card in snapshot.cards.items()
        ]
        if Slot.P1 not in snapshot.cards or not all(others):
            return False
        is_first_reading = not self.agrees(Slot.P1, snapshot.cards[Slot.P1])
        return len(others) > 1 or (self.is_complete and is_first_reading)

    def add(self, snapshot: _Snapshot) -> list[Observation]:
        """Add what is new; a place with another face keeps its own, and both are reported."""
        news: list[Observation] = []
        for slot in DEALING_ORDER:
            card = snapshot.cards.get(slot)
            if card is not None and not self.agrees(slot, card):
                self.faces.setdefault(slot, []).append(card)
                self.unread.discard(slot)
                news.append(Placed(slot=slot, card=card))
            elif slot in snapshot.unread and slot not in self.faces and slot not in self.unread:
                self.unread.add(slot)
                news.append(Unreadable(slot=slot))
        return news


class MqttCameraDecoder(LineDecoder):
    """Decodes the messages of one recogniser; keeps one message, and the cards of two rounds."""

    def __init__(self, options: MqttCameraOptions, cards: Mapping[str, Card]) -> None:
        super().__init__(b"\n", MAX_LINE_BYTES)
        self._options = options
        self._cards = cards
        self._slots = options.slots or DEALING_ORDER
        self.reset()

    def reset(self) -> None:
        """Forget a half-received message, and what lay on the table: it may have changed."""
        super().reset()
        self._known = self._cleared = _KnownCards()
        self._is_unknown = True
        self._empty_since: float | None = None
        self._cleared_at = -math.inf

    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        for piece in pieces:
            raw = piece + b"\n"
            start = max(0, piece.find(b"{"))
            if piece[:start].endswith(RETAINED):
                note = "kept by the broker: from before the connection"
                frames.append(Frame(raw, FrameKind.REPEAT, (), now, note))
                continue
            if start:
                frames.append(noise(piece[:start], now, "no message of a recogniser"))
            frames.append(self._frame(raw[start:], now))

    def _frame(self, raw: bytes, now: float) -> Frame:
        try:
            found = self._snapshot(msgspec.json.decode(raw))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            return noise(raw, now, one_line(error))
        if found is None:
            return Frame(raw, FrameKind.REPEAT, (), now, "another message")
        before = self._empty_since, self._is_unknown
        observations, note = self._compare(found, now)
        changed = bool(observations) or (self._empty_since, self._is_unknown) != before
        kind = FrameKind.FRAME if changed else FrameKind.REPEAT
        return Frame(raw, kind, tuple(observations), now, note)

    def _snapshot(self, message: object) -> _Snapshot | None:
        """Return the cards of a message; None for another kind, a `ValueError` for a bad list."""
        options = self._options
        if any(_at(message, path) != value for path, value in options.only.items()):
            return None
        texts = _at(message, options.path)
        if not isinstance(texts, list) or len(texts) != len(self._slots):
            raise ValueError(f"{options.path}: no list of {len(self._slots)} texts")
        cards, unread = dict[Slot, Card](), list[Slot]()
        for slot, text in zip(self._slots, texts, strict=True):
            if text is None or (isinstance(text, str) and not text.strip()):
                continue
            card = self._card(text) if isinstance(text, str) else None
            if card is None:
                unread.append(slot)
            else:
                cards[slot] = card
        return _Snapshot(cards, tuple(unread))

    def _card(self, text: str) -> Card | None:
        if self._cards:
            return self._cards.get(text.strip())
        return card_named(text.strip().upper())

    def _compare(self, found: _Snapshot, now: float) -> tuple[list[Observation], str]:
        if not found.cards and not found.unread:
            return self._empty(now), ""
        observations: list[Observation] = []
        is_whole = len(found.cards) >= _COMPLETE_CARDS
        if self._cleared.holds(found) and (is_whole or self._is_just_cleared(now)):
            if self._known.faces or self._known.unread or not is_whole:
                return [], "late: the cards of before"
            self._cleared, self._known = _KnownCards(), self._cleared
            return [*LOST], "the cards of before are back: they were not cleared"
        since, self._empty_since = self._empty_since, None
        was_empty = since is not None and _seconds(since, now) >= self._options.cleared_after
        if was_empty or self._known.is_replaced_by(found):
            observations += self._clear(now)
        was_unknown, self._is_unknown = self._is_unknown, False
        news = self._known.add(found)
        if was_unknown and len(news) > 1:
            # Nobody saw these cards being laid, and a hand may hide others.
            news[1:1] = LOST
        return [*observations, *news], ""

    def _is_just_cleared(self, now: float) -> bool:
        return _seconds(self._cleared_at, now) < _LATE_S

    def _empty(self, now: float) -> list[Observation]:
        if self._known.is_complete or self._is_unknown:
            return self._clear(now)
        if self._empty_since is None and (self._known.faces or self._known.unread):
            self._empty_since = now
        return []

    def _clear(self, now: float) -> list[Observation]:
        self._cleared, self._known, self._cleared_at = self._known, _KnownCards(), now
        self._is_unknown, self._empty_since = False, None
        return [TableCleared()]


def _seconds(since: float, now: float) -> float:
    """Return the time between; rounded, as a journal has the times to a millisecond."""
    return round(now - since, 3)


def _at(message: Any, path: str) -> Any:  # noqa: ANN401 - any value of JSON
    """Return the value at a path; None if there is none."""
    for part in path.split("."):
        if isinstance(message, dict):
            message = message.get(part)
        elif isinstance(message, list) and part.isdecimal() and int(part) < len(message):
            message = message[int(part)]
        else:
            return None
    return message


class MqttCamera(CardTableDriver):
    """The driver ``mqtt-camera``."""

    name: ClassVar[str] = "mqtt-camera"
    maturity: ClassVar[Maturity] = Maturity.ASSUMED
    simulator: ClassVar[str] = "drivers.simulators.mqtt_camera:SimulatedRecogniser"
    signals: ClassVar[tuple[Signal, ...]] = (Signal.PLACEMENT, Signal.CLEARED)
    options_type: ClassVar[type[Struct]] = MqttCameraOptions
    options: MqttCameraOptions
    look: ClassVar[str] = "deal a card, and see what `capture` records"

    @property
    def anonymised_options(self) -> dict[str, Any]:
        """The options that decode: neither a table of cards nor a login."""
        kept = ("slots", "path", "only", "cleared_after")
        return {key: value for key, value in super().anonymised_options.items() if key in kept}

    def decoder(self) -> Decoder:
        """Return a new decoder; raises as `cards`."""
        return MqttCameraDecoder(self.options, self.cards())

    def check_url(self, url: str) -> None:
        """Check the address, the options and their files, as `Driver.check_url`."""
        options, address = self.options, parse_topic_url(url)
        if not options.slots:
            raise UserError(
                "options.slots: missing; expected the slots in the order of the recogniser's list,"
                ' such as ["P1", "P2", "P3", "B1", "B2", "B3"]'
            )
        if options.password_file is not None and options.username is None:
            raise UserError("options.password_file: a password needs options.username beside it")
        for key in ("ca_file", "cert_file", "key_file"):
            if getattr(options, key) is not None and not address.tls:
                raise UserError(f"options.{key}: given with {url!r}; expected mqtts://HOST/TOPIC")
        if options.key_file is not None and options.cert_file is None:
            raise UserError("options.key_file: a key needs options.cert_file beside it")
        self._password()
        if address.tls:
            self._tls_context()

    def open_line(self, url: str) -> Transport:
        """Connect to the broker and subscribe, as `Driver.open_line`."""
        return MqttLine(*self.new_client(url, "shoe-recogniser"))

    def new_client(
        self, url: str, name: str, *, reconnects: bool = False
    ) -> tuple[paho.Client, BrokerTopic]:
        """
        Return a client with these options that is not connected yet, and where it belongs.

        Its client id begins with the name; with `reconnects`, its own thread connects it again.
        Raises as `check_url`.
        """
        self.check_url(url)
        options, address = self.options, parse_topic_url(url)
        is_5 = options.protocol == "5"
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            f"{name}-{secrets.token_hex(4)}",
            clean_session=None if is_5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=reconnects,
        )
        client.connect_timeout = CONNECT_TIMEOUT_S
        if options.username is not None:
            client.username_pw_set(options.username, self._password())
        if address.tls:
            client.tls_set_context(self._tls_context())
        return client, address

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """
        Return a message with other cards, by their names; only the list and the values of the
        option `only` stay. Any other bytes are blank.
        """
        start = max(0, raw.find(b"{"))
        head, body = raw[:start], raw[start:]
        shown_head = head if head == RETAINED else blank(head, _MARKS)
        try:
            message = msgspec.json.decode(body)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return shown_head + blank(body, _MARKS)
        options = self.options
        texts = _at(message, options.path)
        shown: dict[str, Any] = {}
        if all(_at(message, path) == value for path, value in options.only.items()):
            for path, value in options.only.items():
                put_at(shown, path, value)
        if isinstance(texts, list):
            put_at(shown, options.path, [self._other_text(each, permutation) for each in texts])
        return shown_head + msgspec.json.encode(shown) + b"\n" * body.endswith(b"\n")

    def _other_text(self, text: object, permutation: Mapping[Card, Card]) -> str | None:
        if text is None:
            return None
        if not isinstance(text, str):
            return "?"
        cards, name = self.cards(), text.strip()
        if cards:
            card = cards.get(name)
            return "?" * bool(name) if card is None else str(permutation[card])
        return other_name(name.upper(), permutation) or "?" * bool(name)

    def _password(self) -> str | None:
        name = self.options.password_file
        return name and read_secret(name, self._folder, "options.password_file")

    def _tls_context(self) -> ssl.SSLContext:
        """
        Load the certificates. The daemon's own clients have the same code in `shoe_daemon.mqtt`,
        which no driver may import.
        """
        options = self.options
        try:
            ca_file = self._file("ca_file")
            context = ssl.create_default_context(cafile=ca_file)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
        except OSError as error:
            text = "no certificate in it that can be used"
            raise UserError(f"options.ca_file: {options.ca_file}: {text}") from error
        certificate = self._file("cert_file")
        try:
            if certificate is not None:
                # Without a password, OpenSSL would prompt for a passphrase at the terminal.
                context.load_cert_chain(certificate, self._file("key_file"), password="")
        except OSError as error:
            text = "no certificate or key in it that can be used"
            raise UserError(f"options.cert_file: {certificate}: {text}") from error
        return context

    def _file(self, key: str) -> Path | None:
        name = getattr(self.options, key)
        return None if name is None else find_file(name, self._folder, f"options.{key}")


_MARKS: Final = b'{}[]":,\\ \t\r\n'
"""Bytes that no card has in its name."""


def put_at(message: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a path of names; a number in a path is a name too."""
    *parts, last = path.split(".")
    inner: Any = message
    for part in parts:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            return  # another path ends there
    inner[last] = value
