"""The configuration of `notify`: one TOML file, checked by types."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct
from msgspec.structs import replace

from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.floor.table import TABLE_NAME
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import notifiers
from shoe_daemon.notify.decisions import QuietHours, RecipientRules
from shoe_daemon.settings.files import read_secret
from shoe_daemon.settings.loader import Loader, load_config_file
from shoe_daemon.settings.toml import Name
from shoe_daemon.web import is_loopback

SERVICE_CONFIGS: Final = Path("/etc/shoe-daemon")
SERVICE_STATE: Final = Path("/var/lib/shoe-notify")
"""``StateDirectory`` of ``shoe-notify.service``, whose configuration is in `SERVICE_CONFIGS`."""

SERVICE_RUNTIME: Final = Path("/run/shoe-daemon/notify")
"""Its ``RuntimeDirectory``."""

MAX_SEVERITY: Final = 5

STATE_NAME: Final = "notify-state.json"

Severity = Annotated[int, Meta(ge=1, le=MAX_SEVERITY)]


class RecipientSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[notify.to]]``: a recipient, by exactly one of `webhook` and `address_file`.

    Attributes:
        id: Its name in the log, the status and the messages.
        webhook: Address that receives JSON by POST.
        secret_file: Its first line is the secret of the webhook's signature. Without a leading
            slash, among the unit's credentials first, then beside the configuration.
        address_file: Its first line is an address of apprise, such as ``mailto://…``; looked up
            as `secret_file`. Needs the extra `notify`.
        severity: Irregularities of this severity and above are sent.
        tables: Only these tables; empty for all.
        quiet_hours: Times of day such as ``"22:00-08:00"`` in which only severe ones are sent.
        quiet_severity: The severity from which quiet hours do not count; 6 for none.
        repeat_every: Seconds after which an irregularity that is still open is sent again; 0 for
            never.
        at_most: Limit on the messages within any hour.
    """

    id: Name
    webhook: str | None = None
    secret_file: str | None = None
    address_file: str | None = None
    severity: Severity = 2
    tables: tuple[str, ...] = ()
    quiet_hours: tuple[str, ...] = ()
    quiet_severity: Annotated[int, Meta(ge=1, le=6)] = 4
    repeat_every: Annotated[int, Meta(ge=0, le=86_400)] = 300
    at_most: Annotated[int, Meta(ge=1, le=1000)] = 30

    @property
    def rules(self) -> RecipientRules:
        """The same for `decisions`; the quiet hours must be valid."""
        rules = {name: getattr(self, name) for name in RecipientRules.__struct_fields__}
        hours = map(QuietHours.parse, self.quiet_hours)
        rules["quiet_hours"] = tuple(each for each in hours if each is not None)
        return RecipientRules(**rules)

    @property
    def shown_webhook(self) -> str:
        """The address of the webhook without its path, which may be a secret of its own."""
        url = urlsplit(self.webhook or "")
        return f"{url.scheme}://{url.netloc}/…"

    @property
    def is_plain(self) -> bool:
        """True if messages leave this computer unencrypted."""
        url = urlsplit(self.webhook or "")
        return url.scheme == "http" and not is_loopback(url.hostname or "")


class NotifySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[notify]``.

    Attributes:
        id: The last level of the topic on which it tells how it is.
        site: The only site; None for all that the broker lets us read.
        time_zone: Time zone of the quiet hours, as ``Europe/Paris``; None for the computer's.
        to: The recipients.
    """

    id: Name = "notify"
    site: Name | None = None
    time_zone: str | None = None
    to: tuple[RecipientSettings, ...] = ()

    @property
    def zone(self) -> ZoneInfo | None:
        """The time zone of the quiet hours; None for that of the computer."""
        if self.time_zone is None:
            return None
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UserError(
                f"notify.time_zone: {self.time_zone!r}; expected a name such as Europe/Paris"
            ) from error


class MetricsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[metrics]``.

    Attributes:
        textfile: Figures for Prometheus, by node_exporter's textfile collector; None for none.
            Its name ends in ``.prom``. Needs the extra `metrics`.
    """

    textfile: str | None = None


class NotifyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The whole file.

    Attributes:
        mqtt: The broker; the same keys as for a table.
        notify: Recipients.
        metrics: Figures about the program.
    """

    mqtt: MqttSettings = MqttSettings()
    metrics: MetricsSettings = MetricsSettings()
    notify: NotifySettings

    @property
    def topic(self) -> str:
        """The topic of what it publishes: a retained `NotifierStatus`."""
        return f"{notifiers(self.mqtt.prefix)}/{self.notify.id}"


class NotifySetup(Struct, frozen=True):
    """
    A checked configuration.

    Attributes:
        config: The configuration.
        folder: Folder of relative paths.
        state_file: What was sent, kept over restarts.
        notes: Credentials that only the service can read, and faults that are reported once it
            runs.
    """

    config: NotifyConfig
    folder: Path
    state_file: Path
    notes: tuple[str, ...] = ()


def load_notify(path: Path, *, inspecting: bool = False, serving: bool = False) -> NotifySetup:
    """
    Read and check a configuration and all files that it names.

    Args:
        path: The file.
        inspecting: Report a missing credential of the service as a note, not as an error.
        serving: The program starts: a fault of a secret, of the broker's files or of `[metrics]`
            is a note, and reported.

    Raises:
        UserError: All errors, each on a line: file, key, value and what is expected.
    """
    set_up = partial(_set_up, path=path, inspecting=inspecting, serving=serving)
    return load_config_file(path, "a configuration of notify", NotifyConfig, set_up)


def _set_up(config: NotifyConfig, path: Path, *, inspecting: bool, serving: bool) -> NotifySetup:
    loader = Loader(path.parent, inspecting=inspecting, serving=serving)
    check, tolerate, attempt = loader.check, loader.tolerate, loader.attempt
    folder = loader.folder
    with check():
        config = replace(config, mqtt=config.mqtt.checked(folder, tolerate, attempt))
    loader.take(config.mqtt.check_prefix)
    loader.take(lambda: config.notify.zone)
    metrics = MetricsSettings()
    with check(), tolerate():
        metrics = _metrics(config.metrics, folder, inspecting=inspecting)
    config = replace(config, metrics=metrics)
    with check():
        if not config.notify.to:
            raise UserError("notify.to: none; expected at least one section [[notify.to]]")
    seen: set[str] = set()
    for recipient in config.notify.to:
        place = f"notify.to {recipient.id!r}"
        with check(), errors_at(place):
            if recipient.id in seen:
                raise UserError("given twice; expected each id once")
            seen.add(recipient.id)
            _check_recipient(recipient)
        secret = recipient.secret_file or recipient.address_file
        with check(), tolerate(), attempt():
            if secret is not None:
                read_secret(secret, folder, place)
    if loader.error:
        raise loader.error
    notes = (*loader.notes, *loader.faults)
    return NotifySetup(config, folder, _state_file(path, inspecting=inspecting), notes)


def _metrics(metrics: MetricsSettings, folder: Path, *, inspecting: bool) -> MetricsSettings:
    if metrics.textfile is None:
        return metrics
    path = (folder / metrics.textfile).absolute()
    if path.suffix != ".prom":
        raise UserError(
            f"metrics.textfile: {metrics.textfile!r}; expected a name that ends in .prom"
        )
    # systemd creates the service's folder when it starts.
    if not path.parent.is_dir() and not (inspecting and path.parent == SERVICE_RUNTIME):
        raise UserError(
            f"metrics.textfile: {metrics.textfile!r}; expected a folder that exists: {path.parent}"
        )
    if find_spec("prometheus_client") is None:
        raise UserError(
            "metrics.textfile: needs prometheus-client: pip install 'shoe-daemon[metrics]'"
        )
    return MetricsSettings(textfile=str(path))


def _check_recipient(recipient: RecipientSettings) -> None:
    if (recipient.webhook is None) == (recipient.address_file is None):
        raise UserError("expected exactly one of webhook and address_file")
    if recipient.webhook is None:
        if recipient.secret_file is not None:
            raise UserError("secret_file: only a webhook has a signature")
        if find_spec("apprise") is None:
            raise UserError("address_file: needs apprise: pip install 'shoe-daemon[notify]'")
    else:
        if recipient.secret_file is None:
            raise UserError("secret_file: missing; expected the file of a secret")
        _check_url(recipient.webhook, "webhook")
    for hours in recipient.quiet_hours:
        if QuietHours.parse(hours) is None:
            raise UserError(f"quiet_hours: {hours!r}; expected two times such as 22:00-08:00")
    for table in recipient.tables:
        if not TABLE_NAME.fullmatch(table):
            raise UserError(f"tables: {table!r}; expected a table's id, or SITE.TABLE")


def _check_url(text: str, place: str) -> None:
    try:
        url = urlsplit(text)
        valid = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        valid = False
    else:
        if url.username is not None or url.password is not None:
            raise UserError(f"{place}: contains a password; expected none: messages are signed")
    if not valid or any(each.isspace() or not each.isascii() for each in text):
        raise UserError(f"{place}: {text!r}; expected https://HOST/PATH")


def _state_file(path: Path, *, inspecting: bool) -> Path:
    # systemd separates several folders by colons; ours is the first.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if not state and inspecting and path.absolute().parent == SERVICE_CONFIGS:
        state = str(SERVICE_STATE)
    return (Path(state) if state else path.parent.absolute()) / STATE_NAME
