"""A node of NATS by the sample, on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Self

from shoe_daemon.mqtt.client import BrokerProbe
from shoe_daemon.mqtt.settings import MqttSettings

__all__ = ["PROGRAM", "Node"]

PROGRAM = shutil.which("nats-server")
_SAMPLE = Path(__file__).parents[2] / "systemd/nats-shoe.conf"


class Node:
    """A node of the sample's cluster, on loopback and without TLS; the password is the account."""

    def __init__(
        self, folder: Path, number: int, routes: list[int], ports: tuple[int, int]
    ) -> None:
        self.folder = folder / f"node-{number}"
        self.folder.mkdir()
        own, self.port = ports
        text = _SAMPLE.read_text(encoding="utf-8")
        for ours, staged in (
            ("127.0.0.1:4222", f"127.0.0.1:{own}"),
            ("/var/lib/nats", str(self.folder / "store")),
            ("0.0.0.0:6222", f"127.0.0.1:{routes[number]}"),
            ("0.0.0.0:8883", f"127.0.0.1:{self.port}"),
        ):
            assert ours in text
            text = text.replace(ours, staged)
        for each, port in enumerate(routes):
            text = text.replace(f"nats://broker-{each + 1}:6222", f"nats://127.0.0.1:{port}")
        lines, kept, account = text.splitlines(), [], ""
        is_tls = False
        for line in lines:
            is_tls = is_tls or line.strip() == "tls {"
            if not is_tls:
                account = line.split()[1] if line.strip().startswith("user: ") else account
                kept.append(line.replace("PASSWORD", account))
            is_tls = is_tls and line.strip() != "}"
        (self.folder / "nats.conf").write_text("\n".join(kept), encoding="utf-8")
        self._number = number
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM), "-c", self.folder / "nats.conf"],
                env={**os.environ, "NODE": f"node-{self._number}"},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def login(self, account: str, **more: object) -> MqttSettings:
        (self.folder / account).write_text(f"{account}\n")
        return MqttSettings(
            port=self.port,
            protocol="3.1.1",
            username=account,
            password_file=str(self.folder / account),
            **more,  # type: ignore[arg-type]
        )

    def retained(self, account: str, *topics: str) -> dict[str, bytes]:
        """Return the retained messages of these topics that an account receives."""
        with BrokerProbe(self.login(account), f"late-{self._number}", 10.0) as late:
            for topic in topics:
                late.subscribe(topic)
            late.receive(1.0)
            return {each.topic: each.payload for each in late.received}
