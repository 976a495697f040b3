"""`shoe-daemon init`: install a table, its broker and its display on this computer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoe_daemon.cli.options import EXISTING_FOLDER, Number
from shoe_daemon.cli.samples import sample_files
from shoe_daemon.errors import UserError
from shoe_daemon.process import stop_on_signals

if TYPE_CHECKING:
    from shoe_daemon.install.answers import Answers
    from shoe_daemon.install.files import Record
    from shoe_daemon.install.questions import Given

_ROOT: Final = Path("/")
_LISTEN_S: Final = 30.0
_ROUND_S: Final = 60.0
_SIMULATED_ROUND_S: Final = 120.0
_LANGUAGES: Final = sorted(
    path.stem for path in Path(__file__).parents[1].glob("display/languages/*.toml")
)


@click.command("init", short_help="Install a table on this computer, step by step.")
@click.option("--site", help="Id of the site, in all topics.")
@click.option("--table", help="Id of the table; also its account at the broker.")
@click.option("--name", help="The table's name on boards.")
@click.option("--house", help="The house whose rules are dealt: see `rules list`.")
@click.option("--policy", help="Whose rulings are proposed: see `rules policy --list`.")
@click.option(
    "--reader",
    help="A device, socket://HOST:PORT, rfc2217://HOST:PORT, camera:DEVICE, keyboard:DEVICE, "
    "simulated, or search: the only adapter or camera that no other table has.",
)
@click.option(
    "--driver", metavar="NAME", help="Of the reader; otherwise the line tells, or angel-eye-ii."
)
@click.option("--broker", help="Here, or HOST:PORT of a broker elsewhere; of several with commas.")
@click.option("--ca-file", help="The authority of an encrypted broker elsewhere, or `system`.")
@click.option(
    "--tls",
    "tls_names",
    multiple=True,
    metavar="NAME",
    help="Encrypted listener of the broker here, for this host name or address; or none. "
    "Repeatable.",
)
@click.option(
    "--display",
    type=click.Choice(["local", "kiosk", "network", "none"]),
    help="Who sees boards from this computer.",
)
@click.option(
    "--language",
    type=click.Choice(_LANGUAGES),
    metavar="CODE",
    help="Of the boards, such as en or zh-hant.",
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="NAME",
    help="A supervisor with a PIN, which is asked for; added to those there are. Repeatable.",
)
@click.option(
    "--witness",
    metavar="SOURCE",
    help="A camera whose video is kept when something is disputed: rtsp://…, a device, or none.",
)
@click.option(
    "--listen",
    "listen_seconds",
    type=Number(min=0),
    help="Seconds to listen to the serial line.  [default: 30 with questions, otherwise 0]",
)
@click.option("--remove", is_flag=True, help="Take the table away again; its journal stays.")
@click.option("--yes", is_flag=True, help="Ask no questions: take defaults, and write.")
@click.option("--dry-run", is_flag=True, help="Name all files, and write none.")
@click.option("--show", is_flag=True, help="Show the contents of the files too.")
@click.option("--no-start", is_flag=True, help="Start no service.")
@click.option(
    "--plain-passwords", is_flag=True, help="Do not encrypt passwords and keys with systemd-creds."
)
@click.option(
    "--round-wait",
    type=Number(min=0),
    help="Seconds to wait for a test round.  [default: 120 with a simulated shoe, otherwise 60]",
)
@click.option(
    "--root",
    type=EXISTING_FOLDER,
    default=_ROOT,
    show_default=False,
    help="Write below this folder, for an image of a computer; nothing is started.",
)
def command(*, yes: bool, root: Path, **given: Any) -> None:  # noqa: ANN401 - click's options
    """
    Install a table on this computer: configuration, passwords, the key that signs its
    journal, the broker's accounts and rights, the display, and the services.

    Asks at most ten questions; options answer them in advance. Names each file before
    it is written, and shows its contents on demand. A file that a person edited stays.
    Run it again for another table, or to change an answer: the earlier answers for the
    table are its defaults. With --remove it takes a table away, and with the last one
    also the display and the broker's accounts.
    """
    from shoe_daemon.install.answers import check_answers
    from shoe_daemon.install.changes import prepare
    from shoe_daemon.install.files import can_encrypt, read_record
    from shoe_daemon.install.questions import ask_consent

    if root == _ROOT and os.geteuid() != 0 and not given["dry_run"]:
        raise UserError("init: needs root: sudo shoe-daemon init; or --dry-run, or --root FOLDER")
    record = read_record(root)
    if given["remove"]:
        _remove(given, root, record, yes=yes)
        return
    answers = _answers(given, root, record, questions=not yes)
    check_answers(answers)
    encrypt = root == _ROOT and not given["plain_passwords"] and can_encrypt()
    samples = {path.name: path.read_text(encoding="utf-8") for path in sample_files()}
    installation = prepare(
        answers, root, record, samples, encrypt=encrypt, named_operators=given["operators"]
    )
    _print(installation.description(with_contents=given["show"]))
    if answers.display == "kiosk":
        _show_kiosk(root)
    if given["dry_run"]:
        return
    if not yes and not ask_consent(
        "Write these files and start:",
        lambda: _print(installation.description(with_contents=True)),
    ):
        raise UserError("init: nothing was written", exit_status=1)
    installation.write(record)
    if root == _ROOT and not given["no_start"]:
        _start(answers, given["round_wait"])


def _remove(given: dict[str, Any], root: Path, record: Record, *, yes: bool) -> None:
    from shoe_daemon.install.removal import prepare_removal
    from shoe_daemon.install.services import end_services, restart_services

    removal = prepare_removal(given["table"], root, record)
    _print(removal.description())
    if given["dry_run"]:
        return
    if not yes and not click.confirm(f"Remove {removal.answers.name}?"):
        raise UserError("init: nothing was removed", exit_status=1)
    is_here = root == _ROOT and not given["no_start"]
    if is_here:
        end_services(removal.units, click.echo)
        click.echo(_clear_topics(removal.answers))
    removal.write(record)
    if is_here:
        restart_services(removal.outdated, click.echo)


def _clear_topics(answers: Answers) -> str:
    """Clear the table's retained messages; what prevents it does not prevent the removal."""
    from shoe_daemon.config.table import load_config
    from shoe_daemon.install.services import clear_topics

    try:
        count = clear_topics(load_config(_config_path(answers), inspecting=True))
    except UserError as error:
        return f"stays     the table's retained messages: {error}"
    return f"cleared   {count} retained topics of the table"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _answers(given: dict[str, Any], root: Path, record: Record, *, questions: bool) -> Answers:
    from msgspec.structs import replace

    from shoe_daemon.install.plan import CONFIGS
    from shoe_daemon.install.questions import ask_answers
    from shoe_daemon.install.readers import check_driver

    configs = root / CONFIGS.lstrip("/")
    answers = ask_answers(_given(given, questions=questions), record.answers, configs)
    earlier = record.answers.get(answers.table)
    seconds = given["listen_seconds"]
    driver = given["driver"] and check_driver(given["driver"])
    seconds = _LISTEN_S * questions if seconds is None else seconds
    if found := _listen(answers, driver, seconds):
        return replace(answers, **found)
    if earlier and (earlier.reader, driver or earlier.driver) == (answers.reader, earlier.driver):
        return replace(
            answers,
            driver=earlier.driver,
            driver_options=earlier.driver_options,
            line=earlier.line,
            baudrate=earlier.baudrate,
        )
    return replace(answers, driver=driver) if driver else answers


def _given(given: dict[str, Any], *, questions: bool) -> Given:
    from shoe_daemon.install.questions import Given

    fields = {name: given[name] for name in Given.__struct_fields__ if name in given}
    fields["operators"] = fields["operators"] or None
    return Given(**fields, questions=questions)


def _listen(answers: Answers, driver: str | None, seconds: float) -> dict[str, Any] | None:
    """Listen to a line; return the answers for its reader, or None if nothing came."""
    from shoe_daemon.install.readers import identify_reader

    reader = answers.reader
    if not answers.has_line or not seconds:
        return None
    click.echo(f"{reader}: draw a few cards, or switch the reader off and on; Ctrl-C skips this")
    with stop_on_signals() as stopping:
        return identify_reader(reader, driver, seconds, click.echo, stopping)


def _start(answers: Answers, round_wait_s: float | None) -> None:
    from shoe_daemon.install.answers import SIMULATED
    from shoe_daemon.install.services import (
        servers_of,
        start_services,
        stop_service,
        units_of,
        wait_for_simulator,
    )

    table, *others = units_of(answers)
    if answers.reader.startswith("camera:") and not _profile(answers).exists():
        start_services((*servers_of(answers), *others), click.echo)
        for line in _profile_steps(answers):
            click.echo(line)
        return
    # A reader can be examined while no daemon has it open.
    stop_service(table)
    start_services(servers_of(answers), click.echo)
    if answers.reader == SIMULATED:
        with stop_on_signals() as stopping:
            wait_for_simulator(answers.table, stopping)
    is_good = _examine(answers)
    start_services((table, *others), click.echo)
    _test_round(answers, round_wait_s)
    click.echo(_board(answers))
    if not is_good:
        raise UserError("init: installed, but see the findings marked bad", exit_status=1)


def _test_round(answers: Answers, round_wait_s: float | None) -> None:
    from shoe_daemon.install.answers import SIMULATED
    from shoe_daemon.install.services import test_round

    is_simulated = answers.reader == SIMULATED
    usual = _SIMULATED_ROUND_S if is_simulated else _ROUND_S
    seconds = usual if round_wait_s is None else round_wait_s
    what = "the simulated shoe deals" if is_simulated else "deal a round"
    click.echo(f"test      {what}; waiting for its result for {seconds:g} s, Ctrl-C skips this")
    with stop_on_signals() as stopping:
        result = test_round(answers, seconds, stopping) if seconds else None
    click.echo(f"result    {result.strip()}" if result else "result    none was received")


def _show_kiosk(root: Path) -> None:
    """Print the packages that this computer's screen lacks; they may be installed later too."""
    from shoe_daemon.cli.doctor import finding_line
    from shoe_daemon.doctor import examine_kiosk

    finding = examine_kiosk(root)
    if finding.verdict == "bad":
        click.echo(finding_line(finding))


def _examine(answers: Answers) -> bool:
    """Print the findings of `doctor`; return True if none is bad."""
    from shoe_daemon.cli.doctor import finding_line
    from shoe_daemon.config.table import load_config
    from shoe_daemon.doctor import examine, examine_kiosk

    path = _config_path(answers)
    findings = list(examine(load_config(path, inspecting=True)))
    if answers.display == "kiosk":
        findings.append(examine_kiosk())
    for finding in findings:
        if finding.verdict != "note":
            click.echo(finding_line(finding))
    notes = sum(finding.verdict == "note" for finding in findings)
    if notes:
        click.echo(f"--  {notes} notes more: shoe-daemon doctor --config {path}")
    return not any(finding.verdict == "bad" for finding in findings)


def _config_path(answers: Answers) -> Path:
    from shoe_daemon.install.plan import CONFIGS

    return Path(CONFIGS, f"{answers.table}.toml")


def _profile(answers: Answers) -> Path:
    return _config_path(answers).with_name(f"{answers.table}-camera.toml")


def _profile_steps(answers: Answers) -> list[str]:
    """Return the steps to a table that starts, where a camera is not calibrated yet."""
    source = answers.reader.removeprefix("camera:")
    return [
        "next      the camera has no profile yet; make it, then run init again:",
        f"          shoe-daemon calibrate camera --source {source} --out {_profile(answers)}",
        f"          shoe-daemon init --yes --table {answers.table}",
    ]


def _board(answers: Answers) -> str:
    if answers.has_display:
        return f"board     http://127.0.0.1:8080/table/{answers.site}.{answers.table}{_orders(answers)}"
    return f"watch     shoe-daemon watch --config {_config_path(answers)}"


def _orders(answers: Answers) -> str:
    """Return where operators give orders, if they do: without TLS no page takes a PIN."""
    if not answers.operators or not answers.has_broker:
        return ""
    if answers.tls_names and answers.display == "network":
        return f"\norders    https://{answers.tls_names[0]}:8443/pit"
    return (
        "\norders    http://127.0.0.1:8080/pit, on this computer; for others --display network "
        "and --tls NAME"
    )
