"""The files of an installation, as they follow from the answers. Nothing is read or written."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from shoe_daemon.install.answers import ANGEL_EYE, SIMULATED, Answers
from shoe_daemon.journal.signatures import KEY_NAME, PUBLIC_NAME
from shoe_daemon.mqtt.settings import split_address
from shoe_daemon.settings.files import ENCRYPTED_SUFFIX
from shoe_daemon.settings.toml import toml_value

CONFIGS: Final = "/etc/shoe-daemon"
UNITS: Final = "/etc/systemd/system"
MOSQUITTO: Final = "/etc/mosquitto"
CERTIFICATES: Final = f"{MOSQUITTO}/certs"
"""The certificate of this computer is the broker's and the display's."""

EVIDENCE: Final = "/var/lib/shoe-evidence"
"""Pictures of tables with a camera; the package makes it, for the group of the same name."""

_EVIDENCE_GROUP: Final = "SupplementaryGroups=shoe-evidence"
_DISPLAY_PORT: Final = 8080
_DISPLAY_TLS_PORT: Final = 8443
_FIRST_SIMULATOR_PORT: Final = 4001
_LOCALHOSTS: Final = ("127.0.0.1", "::1", "localhost")


class PlannedFile(Struct, frozen=True):
    """
    One file of an installation.

    Attributes:
        path: Absolute path on the installed computer.
        text: Its content.
        mode: Its permissions.
        group: Its group; the owner is root.
        secret: Its content is not shown.
    """

    path: str
    text: str
    mode: int = 0o644
    group: str = "root"
    secret: bool = False


class Secrets(Struct, frozen=True, kw_only=True):
    """
    Secrets of an installation; None for one that exists already or is not needed.

    Attributes:
        accounts: New password of each account at the broker, written as it is.
        encrypted: Names of the files that are encrypted.
        pit_hash: argon2 hash of the pit's password.
        operator_hashes: argon2 hash of each operator's PIN.
        signs: Whether there is a key that signs journals, or will be.
        private_key: New key that signs journals (PEM), written as it is.
        public_key: New public key that verifies them (PEM).
    """

    accounts: Mapping[str, str] = {}
    encrypted: Collection[str] = ()
    pit_hash: str | None = None
    operator_hashes: Mapping[str, str] = {}
    signs: bool = False
    private_key: str | None = None
    public_key: str | None = None


def plan_files(
    answers: Answers, secrets: Secrets, samples: Mapping[str, str]
) -> list[PlannedFile]:
    """
    Return the files of a table, and of the broker and the display where they are here, from
    checked answers and the texts of `shoe-daemon samples` by file name.
    """
    return [
        *_secret_files(secrets),
        *_table_files(answers, secrets, samples),
        *(_broker_files(answers, samples) if answers.has_broker else ()),
        *(_display_files(answers, secrets) if answers.has_display else ()),
    ]


def simulator_port(table: str) -> int:
    """Return the TCP port of a table's simulated shoe: by the number in its id, or 4001."""
    digits = "".join(letter for letter in table if letter.isdigit())
    return _FIRST_SIMULATOR_PORT + (int(digits or 1) - 1) % 1000


def _secret_files(secrets: Secrets) -> Iterator[PlannedFile]:
    texts = {f"{name}.password": f"{text}\n" for name, text in secrets.accounts.items()}
    if secrets.pit_hash:
        texts["pit.hash"] = f"{secrets.pit_hash}\n"
    if secrets.operator_hashes:
        head = "# Operators who give orders with a PIN: docs/orders.md.\n"
        texts["operators.toml"] = head + operator_sections(secrets.operator_hashes)
    if secrets.private_key:
        texts[KEY_NAME] = secrets.private_key
    for name, text in texts.items():
        yield PlannedFile(f"{CONFIGS}/{name}", text, 0o600, secret=True)
    if secrets.public_key:
        yield PlannedFile(f"{CONFIGS}/{PUBLIC_NAME}", secrets.public_key)


def operator_sections(hashes: Mapping[str, str]) -> str:
    """Return the sections of supervisors in an operators file, by their names and PIN hashes."""
    return "".join(
        f"\n[[operator]]\nname = {toml_value(name)}\n"
        f'roles = ["supervisor"]\npin = {toml_value(pin_hash)}\n'
        for name, pin_hash in hashes.items()
    )


def _table_files(
    answers: Answers, secrets: Secrets, samples: Mapping[str, str]
) -> Iterator[PlannedFile]:
    yield PlannedFile(f"{CONFIGS}/{answers.table}.toml", _table_config(answers, secrets))
    unit = f"shoe-daemon@{answers.table}.service"
    yield PlannedFile(f"{UNITS}/{unit}.d/50-init.conf", _table_drop_in(answers, secrets))
    if answers.has_camera:
        yield PlannedFile(f"{UNITS}/{unit}.d/40-camera.conf", samples["40-camera.conf"])
    if answers.reader.startswith("keyboard:"):
        yield PlannedFile(f"{UNITS}/{unit}.d/40-keyboard.conf", samples["40-keyboard.conf"])
    if answers.reader == SIMULATED:
        drop_in = f"{UNITS}/shoe-simulator@{answers.table}.service.d/50-init.conf"
        port = simulator_port(answers.table)
        yield PlannedFile(drop_in, f"[Service]\nEnvironment=LISTEN=127.0.0.1:{port}\n")


def _table_config(answers: Answers, secrets: Secrets) -> str:
    table = {
        "id": answers.table,
        "name": answers.name,
        "house": answers.house,
        "policy": answers.policy,
        "simulated": True if answers.reader == SIMULATED else None,
    }
    sections = [
        f"# {answers.name}. `shoe-daemon samples FOLDER` writes example.toml: all keys.\n",
        f"site = {toml_value(answers.site)}\n\n[table]\n{_keys(table)}",
        _mqtt_section(answers, answers.table),
    ]
    if answers.operators:
        sections.append('[orders]\noperators_file = "operators.toml"\n')
    if secrets.signs:
        sections.append(f"[journal]\n{_keys({'key_file': KEY_NAME})}")
    sections.append(_reader_section(answers))
    if answers.has_camera:
        sections.append(_witness_section(answers))
    return "\n".join(sections)


def _reader_section(answers: Answers) -> str:
    if answers.reader.startswith("camera:"):
        head = {"id": "camera", "driver": "camera", "port": answers.reader}
        options = {
            "profile": f"{answers.table}-camera.toml",
            "evidence": _evidence_folder(answers),
        }
        return f"[[reader]]\n{_keys(head)}\n[reader.options]\n{_keys(options)}"
    if answers.reader == SIMULATED:
        port = f"socket://127.0.0.1:{simulator_port(answers.table)}"
        return f"[[reader]]\n{_keys({'driver': ANGEL_EYE, 'port': port})}"
    driver = "keyboard" if answers.reader.startswith("keyboard:") else answers.driver
    section = f"[[reader]]\n{_keys({'driver': driver, 'port': answers.reader})}"
    line = answers.line or {"baudrate": answers.baudrate}
    for name, keys in (("line", _keys(line)), ("options", _keys(answers.driver_options))):
        section += f"\n[reader.{name}]\n{keys}" if keys else ""
    return section


def _witness_section(answers: Answers) -> str:
    camera = {"reader": "camera"}
    if answers.witness is not None:
        camera = {"source": answers.witness}
    return f"[[witness]]\n{_keys({**camera, 'folder': _evidence_folder(answers)})}"


def _evidence_folder(answers: Answers) -> str:
    return f"{EVIDENCE}/{answers.site}.{answers.table}"


def _mqtt_section(answers: Answers, account: str) -> str:
    brokers = ["127.0.0.1"] if answers.has_broker else answers.broker.split(",")
    host, port = split_address(brokers[0])
    one, several = {"host": host, "port": port}, {"brokers": brokers}
    keys: dict[str, Any] = {
        **(one if len(brokers) == 1 else several),
        "username": account,
        "password_file": f"{account}.password",
    }
    section = f"[mqtt]\n{_keys(keys)}"
    if answers.ca_file is not None and not answers.has_broker:
        ca_file = None if answers.ca_file == "system" else answers.ca_file
        section += f"\n[mqtt.tls]\n{_keys({'ca_file': ca_file})}"
    return section


def _table_drop_in(answers: Answers, secrets: Secrets) -> str:
    lines = ["[Service]", *_password_lines(answers.table, secrets)]
    # Without these files the unit starts all the same: it accepts no order, and signs nothing.
    if answers.operators:
        lines += _optional_credential("operators.toml", secrets)
    if secrets.signs:
        lines += _optional_credential(KEY_NAME, secrets)
    if answers.has_camera:
        lines += [_EVIDENCE_GROUP, f"ReadWritePaths={EVIDENCE}"]
    lines += _address_rules(answers)
    return "\n".join(lines) + "\n"


def _password_lines(account: str, secrets: Secrets, *, of_unit: bool = True) -> list[str]:
    """
    Replace the password of the unit by the encrypted one, or by that of an account that the unit
    does not name.
    """
    name = f"{account}.password"
    if of_unit and name not in secrets.encrypted:
        return []
    if of_unit:
        return ["LoadCredential=", _load_credential(name, secrets)]
    return ["LoadCredential=", *_optional_credential(name, secrets)]


def _optional_credential(name: str, secrets: Secrets) -> list[str]:
    return [_load_credential(name, secrets), f"SetCredential={name}:\\n"]


def _load_credential(name: str, secrets: Secrets) -> str:
    if name in secrets.encrypted:
        return f"LoadCredentialEncrypted={name}:{CONFIGS}/{name}{ENCRYPTED_SUFFIX}"
    return f"LoadCredential={name}:{CONFIGS}/{name}"


def _address_rules(answers: Answers) -> list[str]:
    """Allow only the addresses that a table connects to, if all of them are numeric."""
    brokers = [] if answers.has_broker else answers.broker.split(",")
    hosts = [split_address(each)[0] for each in brokers]
    if "://" in answers.reader:
        hosts.append(_host_of(answers.reader))
    if answers.witness is not None and "://" in answers.witness:
        hosts.append(_host_of(answers.witness))
    others = [host for host in hosts if host not in _LOCALHOSTS]
    if not all(_is_address(host) for host in others):
        return ["# No IPAddressDeny=: a host above is known by its name only."]
    return ["IPAddressDeny=any", " ".join(("IPAddressAllow=localhost", *others))]


def _host_of(url: str) -> str:
    address = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return split_address(address)[0]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _broker_files(answers: Answers, samples: Mapping[str, str]) -> Iterator[PlannedFile]:
    yield PlannedFile(f"{MOSQUITTO}/conf.d/shoe.conf", samples["mosquitto-shoe.conf"])
    if answers.tls_names:
        listener = samples["mosquitto-shoe-tls.conf"]
        yield PlannedFile(f"{MOSQUITTO}/conf.d/shoe-tls.conf", listener)


def _display_files(answers: Answers, secrets: Secrets) -> Iterator[PlannedFile]:
    yield PlannedFile(f"{CONFIGS}/display.toml", _display_config(answers))
    account = display_account(answers)
    lines = ["[Service]", *_password_lines(account, secrets, of_unit=account == "board")]
    if answers.display == "network":
        lines += [f"LoadCredential=pit.hash:{CONFIGS}/pit.hash", _EVIDENCE_GROUP]
        if answers.tls_names:
            lines += [
                f"LoadCredential=display.pem:{CERTIFICATES}/broker.pem",
                f"LoadCredential=display.key:{CERTIFICATES}/broker.key",
            ]
    elif answers.has_broker:
        lines += ["IPAddressDeny=any", "IPAddressAllow=localhost"]
    if _takes_orders(answers):
        # Without these files the boards are shown all the same, and no order is taken.
        lines += _optional_credential("operators.toml", secrets)
        lines += _optional_credential("pit.password", secrets)
    if answers.has_broker:
        # Without this file the log lacks what happened while the display was off.
        lines += _optional_credential("pit-log.password", secrets)
    yield PlannedFile(f"{UNITS}/shoe-display.service.d/50-init.conf", "\n".join(lines) + "\n")
    if (file := kiosk_file(answers)) is not None:
        yield file


def kiosk_file(answers: Answers) -> PlannedFile | None:
    """Return the file that names the table on this computer's own screen, if it shows one."""
    if answers.display != "kiosk":
        return None
    board = f"http://127.0.0.1:{_DISPLAY_PORT}/table/{answers.site}.{answers.table}"
    text = f"[Service]\nEnvironment=BOARD={board}?lang={answers.language}\n"
    return PlannedFile(f"{UNITS}/shoe-kiosk.service.d/50-init.conf", text)


def display_account(answers: Answers) -> str:
    """
    Return the display's account at the broker: one that reads whether notifications arrive, where
    this computer has the broker and its rights.
    """
    return "pit-display" if answers.has_broker else "board"


def _takes_orders(answers: Answers) -> bool:
    """Return whether operators give orders on the display's pages."""
    return bool(answers.operators) and answers.has_broker


def _display_config(answers: Answers) -> str:
    is_open = answers.display == "network"
    address = "0.0.0.0" if is_open else "127.0.0.1"  # noqa: S104 - as answered
    display = {
        "listen": f"{address}:{_DISPLAY_PORT}",
        "site": answers.site,
        "language": answers.language,
    }
    sections = [
        "# The boards. `shoe-daemon samples FOLDER` writes display.toml: all keys.\n",
        f"[display]\n{_keys(display)}",
    ]
    if is_open:
        sections.append('[display.pit]\nuser = "pit"\npassword_file = "pit.hash"\n')
    if is_open and answers.tls_names:
        tls = {
            "listen": f"{address}:{_DISPLAY_TLS_PORT}",
            "cert_file": "display.pem",
            "key_file": "display.key",
        }
        sections.append(f"[display.tls]\n{_keys(tls)}")
    if _takes_orders(answers):
        orders = {
            "operators_file": "operators.toml",
            "username": "pit",
            "password_file": "pit.password",
        }
        sections.append(f"[display.orders]\n{_keys(orders)}")
    history: dict[str, Any] = {"file": "history.db"}
    if answers.has_broker:
        history |= {"username": "pit-log", "password_file": "pit-log.password"}
    if is_open:
        history["evidence"] = EVIDENCE
    sections.append(f"[display.history]\n{_keys(history)}")
    sections.append(_mqtt_section(answers, display_account(answers)))
    return "\n".join(sections)


def _keys(values: Mapping[str, Any]) -> str:
    given = {key: value for key, value in values.items() if value is not None}
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in given.items())
