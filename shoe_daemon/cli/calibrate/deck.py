"""`shoe-daemon calibrate deck`: learn which code is which card, and verify it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from msgspec.structs import asdict

from shoe_daemon.cli.options import DECKS, DRIVER_OPTIONS, EXISTING_FILE, FILE, Number
from shoe_daemon.cli.terminal import echo_wrapped, typed_lines
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.process import stop_on_signals

if TYPE_CHECKING:
    from calibration.deck_learning import ScannedDeck
    from calibration.deck_scanning import Scan
    from calibration.terminal import Terminal
    from drivers import DeckProfile, Driver, LineSettings

_FILE: Final = "file:"
_DRIVERS: Final = ("line-scanner", "json-lines", "keyboard")
_MAX_NAMED: Final = 10


@click.command(name="deck", short_help="Learns which code is which card.")
@click.option("--port", required=True, help="The reader's line, or file:PATH of a capture.")
@click.option(
    "--driver",
    "driver_name",
    help=f"{', '.join(_DRIVERS)}.  [default: of the capture or profile]",
)
@DRIVER_OPTIONS
@click.option("--line", "line_text", metavar="TOML", help="As [reader.line] of a configuration.")
@click.option("--out", type=FILE, default="deck.toml", help="Writes this profile.")
@click.option("--decks", type=DECKS, default=1, help="How many are scanned, one after another.")
@click.option(
    "--order",
    default="SHDC",
    help="The suits as they are scanned, ace to king; small letters: king to ace.",
)
@click.option("--replace", is_flag=True, help="Replaces a profile that there is.")
@click.option("--verify", type=EXISTING_FILE, help="Verifies this profile; writes nothing.")
@click.option(
    "--yes", is_flag=True, help="Asks nothing: goes on where it was, ends at the first fault."
)
@click.option("--seconds", type=Number(min=0, min_open=True), help="Gives up after so long.")
def deck(  # noqa: PLR0913 - click passes every option
    *,
    port: str,
    driver_name: str | None,
    driver_options: dict[str, Any],
    line_text: str | None,
    out: Path,
    decks: int,
    order: str,
    replace: bool,
    verify: Path | None,
    yes: bool,
    seconds: float | None,
) -> None:
    """
    Learns which code is which card: scan a deck in the order that is asked for.

    It says which card is next. Typing `u` takes the last card back, `stop` ends; the
    cards so far are kept beside the profile, and the same command goes on. Every
    tag has its own code, so scan all decks of tags (--decks 8); barcodes are
    usually the same in each deck.

    With --verify, scan the deck in any order: strangers and missing cards are named.
    It ends with status 1 where a card is missing, strange, or learned twice.
    """
    from calibration.deck_learning import ScannedDeck, deck_order
    from calibration.deck_scanning import Scan
    from calibration.terminal import Terminal
    from drivers import load_deck_profile

    profile = None if verify is None else load_deck_profile(verify)
    driver, line = _reader(port, driver_name, driver_options, line_text, profile)
    if verify is None and out.exists() and not replace:
        raise UserError(f"{out}: the profile exists; expected another --out, or --replace")
    if not out.parent.is_dir():
        raise UserError(f"{out}: expected a folder that exists: {out.parent}")
    deck_order(order)
    fail = yes or port.startswith(_FILE)
    wanted = ScannedDeck(
        driver=driver.name, options=driver.code_settings, decks=decks, order=order
    )
    begun, terminal = wanted, Terminal(echo_wrapped, () if fail else typed_lines())
    if verify is None and not port.startswith(_FILE):
        begun = _begun(out, wanted, None if yes else terminal)
    with stop_on_signals() as stopping:
        scan = Scan(
            port=port,
            driver=driver,
            line=line,
            stopping=stopping,
            terminal=terminal,
            fail=fail and verify is None,
            seconds=seconds,
        )
        if verify is None:
            _learn(out, begun, scan)
        else:
            _verify(verify, scan)


def _reader(
    port: str,
    name: str | None,
    options: dict[str, Any],
    line_text: str | None,
    profile: DeckProfile | None,
) -> tuple[Driver, LineSettings]:
    """Return the driver without its table, and the settings of its line."""
    from drivers import LineSettings, create_driver, load_capture
    from shoe_daemon.settings.toml import convert_toml

    line: dict[str, Any] = {}
    if name is None and profile is not None:
        name, options, line = profile.driver, profile.options | options, profile.line
    elif name is None and port.startswith(_FILE):
        path = port.removeprefix(_FILE)
        capture = load_capture(Path(path))
        with errors_at(path):
            name, options = capture.header.get("driver"), capture.options | options
    if name is None:
        raise UserError(f"--driver: missing; expected one of {', '.join(_DRIVERS)}")
    driver = create_driver(name, options)
    if not driver.learns_codes:
        raise UserError(
            f"--driver {name}: it has no table of codes: its reader names the cards; expected "
            f"one of {', '.join(_DRIVERS)}"
        )
    try:
        line |= tomllib.loads(line_text or "")
    except ValueError as error:
        raise UserError(
            f"--line {line_text}: {error}; expected TOML, such as 'baudrate = 19200'"
        ) from error
    settings = convert_toml(LineSettings, asdict(driver.line) | line, "--line")
    return driver.without_table(), settings


def _begun(out: Path, wanted: ScannedDeck, terminal: Terminal | None) -> ScannedDeck:
    """Return where to go on: what is beside the profile, or nothing."""
    from calibration.deck_learning import load_part, part_of

    found = load_part(out)
    if found is None or not found.scans:
        return wanted
    if msgspec.structs.replace(found, scans=()) != wanted:
        raise UserError(
            f"{part_of(out)}: {len(found.scans)} cards of --driver {found.driver}, --decks "
            f"{found.decks}, --order {found.order}, options {found.options}; expected the same "
            "here: give these, or remove the file to begin again"
        )
    cards = "card was" if len(found.scans) == 1 else "cards were"
    click.echo(f"{part_of(out)}: {len(found.scans)} {cards} learned before")
    if terminal is None:
        return found
    question = "Enter goes on with them, “new” begins again:"
    answer = terminal.ask(question, "; expected --yes to go on")
    return wanted if answer.lower() == "new" else found


def _learn(out: Path, begun: ScannedDeck, scan: Scan) -> None:
    from calibration.deck_learning import (
        DeckLearning,
        part_of,
        profile_of,
        remove_part,
        write_part,
        write_profile,
    )
    from calibration.deck_scanning import scan_deck
    from calibration.serial import toml_table
    from drivers import create_driver, redact_url

    driver, is_capture = scan.driver, scan.is_capture
    unique = driver.unique_codes
    with errors_at(str(part_of(out))):
        learning = DeckLearning(begun, unique_codes=unique)

    def keep() -> None:
        if not is_capture:
            write_part(out, learning.deck)

    is_complete = scan_deck(scan, learning, keep)
    done = len(learning.deck.scans)
    if not is_complete:
        kept = "" if is_capture or not done else f"; {part_of(out)} has them: go on any time"
        missing = "" if not is_capture else f"; missing: {_named(learning.missing)} of this deck"
        raise UserError(
            f"{done} of {learning.total} cards were scanned{missing}{kept}", exit_status=1
        )
    if learning.has_unique_codes and not unique:
        driver = create_driver(driver.name, learning.deck.options | {"unique_codes": True})
        learning.deck = msgspec.structs.replace(learning.deck, options=driver.code_settings)
    has_line = not (is_capture or driver.opens_line or scan.port.startswith("socket:"))
    shown = "" if is_capture else redact_url(scan.port)
    write_profile(out, profile_of(learning, driver, shown, scan.line if has_line else None))
    if not is_capture:
        remove_part(out)
    click.echo(f"\n{out}: {done} cards, {len(learning.cards)} codes. In the configuration:")
    options = {"cards_file": out.name} | learning.deck.options
    click.echo("\n".join(toml_table("reader.options", options)) + "\n")
    click.echo(f"next: shoe-daemon calibrate deck --verify {out} --port {shown or 'PORT'}")


def _named(missing: Sequence[str]) -> str:
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return f"{', '.join(missing[:_MAX_NAMED])}{more}"


def _verify(path: Path, scan: Scan) -> None:
    from calibration.deck_learning import DeckVerification
    from calibration.deck_scanning import scan_deck
    from drivers import create_driver

    driver = create_driver(scan.driver.name, {"cards_file": str(path.resolve())})
    table = driver.codes()
    if not table:
        raise UserError(f"{path}: no code; expected a table of codes and cards")
    verification = DeckVerification(table)
    scan_deck(scan, verification)
    faults = []
    if verification.strangers:
        faults.append(f"strangers: {', '.join(verification.strangers)}")
    if verification.missing:
        faults.append(f"not scanned: {_named(verification.missing)}")
    if faults:
        raise UserError(f"{path}: {'; '.join(faults)}", exit_status=1)
    click.echo(f"{path}: all {len(table)} codes are right, no stranger")
