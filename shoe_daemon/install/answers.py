"""
The answers from which an installation follows, and their checks.

Each check returns a valid value as it is; for another one it raises a UserError with its name, its
value and what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from drivers import check_video
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.game import DEFAULT_POLICY, load_house, load_policy
from shoe_daemon.mqtt.settings import split_address

ANGEL_EYE: Final = "angel-eye-ii"
"""The driver of a reader of which nothing else is known."""

SIMULATED: Final = "simulated"
"""The reader of a trial: a simulated shoe on this computer."""

SEARCH: Final = "search"
"""In place of a reader: the only serial adapter or camera that is plugged in and free."""

RESERVED_ACCOUNTS: Final = ("board", "pit", "pit-display", "pit-log", "notify", "home-assistant")
"""Accounts at the broker that no table may have as its id."""

READER_KINDS: Final = ("/dev/", "socket://", "rfc2217://", "camera:", "keyboard:/dev/")
"""How the address of a reader begins."""

USUAL_HOUSE: Final = "punto-banco"
"""The house of a new table: the usual game."""

DisplayKind = Literal["none", "local", "network", "kiosk"]

_ID: Final = re.compile(r"[a-z0-9-]{1,40}")
_MIN_PASSWORD: Final = 8


class Answers(Struct, frozen=True, kw_only=True):
    """
    The answers to `shoe-daemon init`, without secrets.

    Attributes:
        site: Id of the site, in topics and in the broker's rights.
        table: Id of the table; also its account at the broker.
        name: The table's name on boards.
        house: A house of `rules list`.
        policy: A policy of `rules policy --list`.
        reader: A device, ``socket://HOST:PORT``, ``rfc2217://HOST:PORT``, ``camera:…``,
            ``keyboard:…``, or ``simulated``; ``search`` in defaults only.
        driver: Its driver; that of a camera or a keyboard is known, whatever is named here.
        driver_options: Options of the driver, such as the preset of a scanner.
        line: Settings of its serial line, if they differ from the driver's.
        baudrate: The speed of the line as version 0.1 kept it.
        broker: ``here``, or HOST[:PORT] of a broker elsewhere; several with commas.
        tls_names: Names and addresses by which other computers reach this one; the broker's
            certificate, and that of the boards, is made for them. Empty: no encryption.
        ca_file: The authority of an encrypted broker elsewhere (PEM); ``system`` for those
            of this computer; None for an unencrypted connection.
        display: ``none``; ``local``: boards for browsers on this computer; ``network``: for
            all computers; ``kiosk``: and this computer's screen shows the table.
        language: Language of the boards.
        operators: Names of supervisors who give orders with a PIN.
        witness: A camera whose video is kept when something is disputed; None for none, or for
            that of the reader.
    """

    site: str
    table: str
    name: str
    house: str | None = None
    policy: str = DEFAULT_POLICY
    reader: str
    driver: str = ANGEL_EYE
    driver_options: dict[str, Any] = {}
    line: dict[str, Any] = {}
    baudrate: int | None = None
    broker: str = "here"
    tls_names: tuple[str, ...] = ()
    ca_file: str | None = None
    display: DisplayKind = "local"
    language: Annotated[str, Meta(max_length=10)] = "en"
    operators: tuple[str, ...] = ()
    witness: str | None = None

    @property
    def has_camera(self) -> bool:
        """True when the table has a camera, as its reader or as a witness."""
        return self.reader.startswith("camera:") or self.witness is not None

    @property
    def has_line(self) -> bool:
        """True when the reader's line can be listened to until its driver is known."""
        return self.reader != SIMULATED and not self.reader.startswith(("camera:", "keyboard:"))

    @property
    def has_broker(self) -> bool:
        """True when the broker is on this computer."""
        return self.broker == "here"

    @property
    def has_display(self) -> bool:
        """True when boards are served from this computer."""
        return self.display != "none"


def default_answers(table: str | None, earlier: Mapping[str, Answers]) -> Answers:
    """
    Return the defaults of a table, from the answers for each table in the order of the runs.

    They are the table's own earlier answers. A new table shares what belongs to the site, but
    has no reader, house, policy or witness of another table. The boards are the computer's:
    those of the last run.
    """
    last_table = list(earlier)[-1] if earlier else "table-1"
    last = earlier.get(last_table) or Answers(site="casino", table="", name="", reader="")
    table = table or last_table
    own = earlier.get(table) or Answers(
        site=last.site,
        table=table,
        name=default_name(table),
        house=USUAL_HOUSE,
        reader=SEARCH,
        broker=last.broker,
        ca_file=last.ca_file,
        operators=last.operators,
    )
    return replace(own, tls_names=last.tls_names, display=last.display, language=last.language)


def check_answers(answers: Answers) -> None:
    """Check each answer; the UserError is that of the first invalid one."""
    check_id("site", answers.site)
    check_id("table", answers.table)
    if answers.table in RESERVED_ACCOUNTS:
        names = ", ".join(RESERVED_ACCOUNTS)
        raise UserError(f"table: {answers.table!r}; expected another id than {names}")
    if answers.house is not None:
        load_house(answers.house)
    load_policy(answers.policy)
    check_reader(answers.reader)
    if answers.witness is not None:
        with errors_at("witness"):
            check_video(answers.witness, None, None, Path())
    check_broker(answers.broker)
    if answers.tls_names and not answers.has_broker:
        raise UserError("tls: names of a broker here; expected none, as the broker is elsewhere")
    for name in answers.operators:
        check_operator(name)


def check_id(what: str, value: str) -> str:
    """Return an id of a site or table."""
    if not _ID.fullmatch(value):
        raise UserError(
            f"{what}: {value!r}; expected small letters, digits and hyphens, at most 40"
        )
    return value


def check_reader(value: str) -> str:
    """Return the address of a reader."""
    is_known = value.startswith(READER_KINDS) and not value.startswith("/dev/input/")
    if value != SIMULATED and not is_known:
        raise UserError(
            f"reader: {value!r}; expected a device below /dev, socket://HOST:PORT, "
            "rfc2217://HOST:PORT, camera:DEVICE or camera:rtsp://…, keyboard:/dev/input/…, "
            "or simulated"
        )
    return value


def check_broker(value: str) -> str:
    """Return ``here``, or the addresses of brokers, with commas."""
    if value != "here":
        for each in value.split(","):
            try:
                split_address(each)
            except UserError as error:
                text = f"broker: {each!r}; expected here, HOST or HOST:PORT"
                raise UserError(text) from error
    return value


def check_operator(name: str) -> str:
    """Return the name of an operator."""
    if not 0 < len(name) <= 60 or not name.isprintable():  # noqa: PLR2004 - as in operators.py
        raise UserError(f"operator: {name!r}; expected 1 to 60 printable characters")
    return name


def check_password(password: str) -> str:
    """Return a password of the pit."""
    if len(password) < _MIN_PASSWORD:
        raise UserError(f"pit password: expected at least {_MIN_PASSWORD} characters")
    return password


def default_name(table: str) -> str:
    """Return a name for boards: ``Table 7`` of ``table-7``."""
    return " ".join(word.capitalize() for word in table.split("-") if word)
