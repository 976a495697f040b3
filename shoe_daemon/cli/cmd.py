"""`shoe-daemon cmd`: send a command to a table's daemon and print the reply."""

from __future__ import annotations

import getpass
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from shoe_daemon.cli.options import COUNT, PATH, PORT, Number
from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoe_daemon.config.sections import Config
    from shoe_daemon.mqtt.commands import Preview, Reply

_BROKER: Final = ("host", "port", "protocol", "username", "password_file")


@click.command(short_help="Give an order to a table's daemon.")
@click.argument("verb", required=False)
@click.option("--config", type=PATH, help="The table's configuration.")
@click.option("--host", help="The broker, instead of the configuration's.")
@click.option("--port", type=PORT, help="The broker's port.")
@click.option("--protocol", type=click.Choice(["5", "3.1.1"]), help="The version of MQTT.")
@click.option("--username", help="The account at the broker, instead of the table's.")
@click.option("--password-file", help="Its password is the first line of this file.")
@click.option("--site", help="Of the table, without a configuration.")
@click.option("--table", help="Of the table, without a configuration.")
@click.option("--operator", metavar="NAME", help="Who gives the order; by default the login name.")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--irregularity", type=COUNT, metavar="ID", help="Which (acknowledge, rule).")
@click.option("--action", help="What to do about it (rule).")
@click.option("--slot", help="P1 to B3 (enter-card, correct-card, hold).")
@click.option("--card", help="Rank then suit, such as 10H (enter-card, correct-card).")
@click.option("--round", type=COUNT, help="Which round of this shoe; by default the latest.")
@click.option("--outcome", help="player, banker or tie (enter-result).")
@click.option("--player-pair/--no-player-pair", default=None, help="Of enter-result.")
@click.option("--banker-pair/--no-banker-pair", default=None, help="Of enter-result.")
@click.option("--seat", type=COUNT, help="Who gets the shoe (pass-shoe).")
@click.option("--from-seq", type=COUNT, metavar="SEQ", help="The first event (replay).")
@click.option("--kind", help="The irregularity that a person has seen (hold).")
@click.option(
    "--left", type=click.IntRange(min=0), help="Cards counted in the old shoe (new-shoe)."
)
@click.option("--dealer", metavar="NAME", help="Who signs on; without it, who deals signs off.")
@click.option("--dry-run", is_flag=True, help="Only answer what the order would do.")
@click.option(
    "--expects-seq",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="Refuse it where this is not the last event any more.",
)
@click.option("--ask-pin", is_flag=True, help="Ask for the operator's PIN.")
@click.option(
    "--timeout",
    type=Number(0.1, 600),
    default=10.0,
    show_default=False,
    metavar="SECONDS",
    help="How long to wait for the answer.  [default: 10]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as it came.")
@click.option("--hash-pin", is_flag=True, help="Ask for a PIN, print what a file keeps of it.")
@click.pass_context
def command(ctx: click.Context, /, verb: str | None, **given: Any) -> None:  # noqa: ANN401
    """
    Give an order to the daemon of a table, over MQTT, and print its answer.

    Ends with 0 where it was carried out, with 1 where it was refused, and with 2
    where it could not be given or nobody answered. Without a VERB it names all of
    them; docs/orders.md explains each.
    """
    if given["hash_pin"]:
        from shoe_daemon.operators import hash_pin

        click.echo(hash_pin(_read_pin(twice=True)))
        return
    answer, reply = _send(_known_verb(verb), given)
    click.echo(answer if given["as_json"] else _reply_text(reply))
    ctx.exit(0 if reply.ok else 1)


def _known_verb(verb: str | None) -> str:
    from shoe_daemon.mqtt.commands import VERBS

    if verb not in VERBS:
        what = "which order?" if verb is None else f"there is no order {verb!r};"
        raise UserError(f"cmd: {what} one of {', '.join(VERBS)}")
    return verb


def _send(verb: str, given: dict[str, Any]) -> tuple[bytes, Reply]:
    from shoe_daemon.mqtt.client import send_command
    from shoe_daemon.mqtt.commands import decode_reply
    from shoe_daemon.mqtt.topics import Topics

    config = _config(given)
    if config.mqtt is None:
        raise UserError("cmd: the configuration has no [mqtt]; expected a broker")
    beside = Path() if given["config"] is None else given["config"].parent
    mqtt = config.mqtt.checked(beside)
    if given["ask_pin"] and mqtt.is_plain and not config.orders.allow_plain_pins:
        raise UserError(
            f"cmd: --ask-pin: the connection to {mqtt.name} is not encrypted; expected [mqtt.tls] "
            "in --config, or there allow_plain_pins = true in [orders] (laboratories only)"
        )
    topics = Topics(config.site, config.table.id, config.mqtt.prefix)
    order = _order(given)
    topic = topics.command(verb, order["operator"] if config.orders.operator_in_topic else None)
    payload = msgspec.json.encode(order)
    reply = topics.reply(order["id"])
    answer = send_command(mqtt, topic, payload, reply=reply, timeout_s=given["timeout"])
    try:
        return answer, decode_reply(answer)
    except msgspec.DecodeError as error:
        raise UserError(f"cmd: the answer cannot be understood: {error}") from error


def _config(given: dict[str, Any]) -> Config:
    """Build the configuration from file and options. Options take precedence."""
    from shoe_daemon.config.sections import Config
    from shoe_daemon.settings.toml import convert_toml, read_toml

    mapping: dict[str, Any] = {}
    if given["config"] is not None:
        mapping = read_toml(given["config"], "a table's configuration")
    elif None in (given["site"], given["table"]):
        raise UserError("cmd: expected --config, or --site and --table")
    broker = {key: given[key] for key in _BROKER if given[key] is not None}
    if broker or given["config"] is None:
        mapping["mqtt"] = {**mapping.get("mqtt", {}), **broker}
    if given["site"] is not None:
        mapping["site"] = given["site"]
    if given["table"] is not None:
        mapping["table"] = {**mapping.get("table", {}), "id": given["table"]}
    return convert_toml(Config, mapping, str(given["config"] or "cmd"))


def _order(given: dict[str, Any]) -> dict[str, Any]:
    """Build the command without checking it: the table rejects and journals invalid commands."""
    from shoe_daemon.table import Command, from_microseconds

    fields = Command.__struct_fields__
    order = {key: given[key] for key in fields if given.get(key) is not None}
    for key in ("slot", "card"):
        if key in order:
            order[key] = order[key].upper()
    order["id"] = f"cmd-{secrets.token_hex(8)}"
    order["operator"] = given["operator"] or getpass.getuser()
    order["expires_at"] = from_microseconds(int((time.time() + given["timeout"]) * 1_000_000))
    if given["dry_run"]:
        order["dry_run"] = True
    if given["ask_pin"]:
        order["pin"] = _read_pin(twice=False)
    return order


def _read_pin(*, twice: bool) -> str:
    """Read a PIN without echo, or a line of standard input in a script."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    pin: str = click.prompt("PIN", hide_input=True, confirmation_prompt=twice, err=True)
    return pin


def _reply_text(reply: Reply) -> str:
    name = reply.name.replace("_", "-")
    if reply.refused is not None:
        return f"refused: {name}: {reply.refused}"
    if reply.preview is not None:
        return "\n".join(_preview_lines(name, reply.preview, reply.replayed))
    if reply.replayed is not None:
        return f"done: {name}: {reply.replayed} events are published again"
    if not reply.events:
        return f"done: {name}: no event follows"
    first, last = reply.events[0], reply.events[-1]
    return f"done: {name}: event {first}" + (f" to {last}" if last > first else "")


def _preview_lines(name: str, preview: Preview, replayed: int | None) -> Iterator[str]:
    from shoe_daemon.event_text import event_lines, round_text
    from shoe_daemon.table import SCHEMA, Event

    count = len(preview.events) + preview.left_out
    if preview.faces_hidden:
        follows = "cards lie face down, so the effect is not shown"
    elif replayed is not None:
        follows = f"{replayed} events would be published again"
    else:
        follows = f"{count or 'no'} event{'s' * (count > 1)} would follow"
    yield f"preview: {name}: {follows}; nothing has changed"
    for each in preview.events:
        type_ = each.data.type
        event = Event("", each.data, each.round, SCHEMA, 0, each.shoe, "", "", type_)
        yield from event_lines(event) or [f"   ·  {type_.replace('_', ' ')}"]
    if preview.left_out:
        yield f"   ·  and {preview.left_out} more"
    for when, round_ in (("before", preview.before), ("after", preview.after)):
        if round_ is not None:
            yield f"{when}: {round_text(round_)}"
    yield f"to give it for this state only: --expects-seq {preview.seq}"
