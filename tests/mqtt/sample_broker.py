"""
The sample broker: the shipped configuration, rights, accounts and certificates, in a
test's folder in place of /etc/mosquitto.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from shoe_daemon.install.mosquitto import add_tables
from shoe_daemon.mqtt.publisher import Publisher
from tests.brokers import Listener, Mosquitto, free_port, set_password
from tests.mqtt.memory_journal import Journal, publishing

__all__ = ["ACCOUNTS", "OLDER_RIGHTS", "RIGHTS", "SYSTEMD", "SampleBroker", "rights_of"]

SYSTEMD = Path(__file__).parents[2] / "systemd"
ACCOUNTS = ("table-7", "board", "pit")

RIGHTS = (SYSTEMD / "mosquitto-shoe.acl").read_text(encoding="utf-8")
OLDER_RIGHTS = re.sub(
    "^#table (# )?topic (.*)TABLE", r"\1pattern \2%u", RIGHTS, flags=re.MULTILINE
)
"""Those of earlier versions: each account, a display's too, publishes below its own name."""


def rights_of(*tables: str) -> str:
    """Return the sample's rights with the blocks of tables."""
    return add_tables(RIGHTS, tables)


@cache
def _certificates() -> dict[str, bytes]:
    """Make the sample's certificates, once; return the files."""
    with TemporaryDirectory() as folder:
        script = str(SYSTEMD / "make-certificate.sh")
        command = ["sh", script, folder, "broker", "localhost", "127.0.0.1"]
        subprocess.run(command, check=True, capture_output=True)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


class SampleBroker(Mosquitto):
    """
    The sample, included as Debian does it; a password is the name of its account.

    Attributes:
        tls_port: Of the encrypted listener.
        ca: The authority that signed its certificate.
    """

    def __init__(self, folder: Path) -> None:
        self.tls_port = free_port()
        super().__init__(folder)
        self.ca = folder / "certs" / "ca.pem"
        self.ca.parent.mkdir()
        for certificate, content in _certificates().items():
            (self.ca.parent / certificate).write_bytes(content)
        (folder / "shoe.acl").write_text(RIGHTS, encoding="utf-8")
        for account in ACCOUNTS:
            self.add_account(account)
        (folder / "conf.d").mkdir()
        for name in ("shoe.conf", "shoe-tls.conf"):
            (folder / "conf.d" / name).write_text(self._staged(f"mosquitto-{name}"), "utf-8")
        user = "user root\n" if os.geteuid() == 0 else ""
        (folder / "mosquitto.conf").write_text(
            f"{user}log_dest stderr\npersistence true\npersistence_location {folder}/\n"
            f"include_dir {folder}/conf.d\n",
            encoding="utf-8",
        )

    def _staged(self, name: str) -> str:
        """Return a sample with the folder and the ports of this broker."""
        text = (SYSTEMD / name).read_text(encoding="utf-8")
        for ours, staged in (
            ("/etc/mosquitto", str(self.folder)),
            ("\nlistener 1883 ", f"\nlistener {self.port} "),
            ("\nlistener 8883\n", f"\nlistener {self.tls_port} 127.0.0.1\n"),
        ):
            text = text.replace(ours, staged)
        assert "listener 1883 " not in text
        assert "listener 8883\n" not in text
        return text

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def add_account(self, account: str) -> None:
        """Add an account, with the rights of a table if shoe.acl has no block for it."""
        set_password(self.folder / "shoe.passwd", account, account)
        self.password_file(account).write_text(f"{account}\n", encoding="utf-8")
        lines = (self.folder / "shoe.passwd").read_text(encoding="utf-8").splitlines()
        rights = self.folder / "shoe.acl"
        # As make-accounts.sh does.
        names = [line.partition(":")[0] for line in lines]
        rights.write_text(add_tables(rights.read_text(encoding="utf-8"), names), encoding="utf-8")

    def password_file(self, account: str) -> Path:
        """Return the file with the password of an account."""
        return self.folder / f"{account}.password"

    def listen(self, account: str, **more: Any) -> Listener:  # noqa: ANN401 - those of Listener
        """Log in with an account and subscribe to everything."""
        return Listener(self.port, name=account, username=account, password=account, **more)

    def publish(
        self,
        journal: Journal,
        **options: Any,  # noqa: ANN401 - those of Publisher
    ) -> AbstractContextManager[Publisher]:
        """Publish as the table does."""
        return publishing(
            self.port,
            journal,
            username="table-7",
            password_file=str(self.password_file("table-7")),
            prepare=lambda publisher: publisher.retain("state", b'{"seq":2}', 0),
            options=options,
        )
