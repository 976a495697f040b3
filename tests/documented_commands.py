"""
A folder in place of the computer that the pages describe, on which their commands are run.

Replaced are the folders of the system, the ports, and the programs that need a real system:
the service manager, an editor, groups. `python -m tests.documented_commands` is what the replaced
programs call.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.brokers import Mosquitto, free_port
from tests.service.daemon_process import DaemonProcess

__all__ = ["PROJECT", "Computer"]

PROJECT = Path(__file__).parents[1]
PLACES = re.compile(r"(?<![\w/.~-])/(etc|var/lib|usr/local/bin)/")
"""Folders of the system that the commands and samples name."""

NEEDS_MORE = re.compile(r"pip install|calibrate serial|udevadm|apt-get")
"""Blocks that need a package index or a reader."""

PIN = "12345678"
"""Given to a command that asks for one."""

PROGRAMS = {
    # Every sample that is written names the folders and ports of this test.
    "shoe-daemon": """
case $1 in
samples) "$PYTHON" -m shoe_daemon "$@" &&
    exec "$PYTHON" -m tests.documented_commands samples "$2" ;;
watch) set -- "$@" --once --wait 30 ;;
cmd) case " $* " in *" --host "*) set -- "$@" --port "$BROKER" ;; esac ;;
esac
exec "$PYTHON" -m shoe_daemon "$@"
""",
    "mosquitto_sub": 'exec "$PYTHON" -m tests.documented_commands subscribe "$@"',
    "mosquitto_pub": 'exec "$PYTHON" -m tests.documented_commands publish "$@"',
    "editor": 'sed -i "s#^port = \\"/dev/shoe/.*#port = \\"$SHOE\\"#" "$1"',
    "install": """
set -- $(printf '%s ' "$@" | sed 's/-g mosquitto//')
exec /usr/bin/install "$@"
""",
    "chgrp": "true",
    "journalctl": "true",
    "systemctl": 'echo "$*" >> "$ROOT/systemctl.log"',
}


def staged(text: str, environment: Mapping[str, str]) -> str:
    """Return commands or a sample with the folders and ports of the test."""
    root, broker, tls = (environment[name] for name in ("ROOT", "BROKER", "TLS"))
    text = PLACES.sub(rf"{root}/\1/", text)
    text = re.sub(r"^#?port = 1883$", f"port = {broker}", text, flags=re.MULTILINE)
    text = re.sub(r"^listener 1883 ", f"listener {broker} ", text, flags=re.MULTILINE)
    return re.sub(r"^listener 8883$", f"listener {tls} 127.0.0.1", text, flags=re.MULTILINE)


def stage_samples(folder: Path) -> None:
    """Change the samples in a folder for this test, once."""
    for file in folder.iterdir():
        file.write_text(staged(file.read_text(encoding="utf-8"), os.environ), encoding="utf-8")


def _client(arguments: list[str]) -> None:
    """
    Subscribe, or publish an empty message, with those options of mosquitto's clients that the
    pages use: prints what comes within a second.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("what")
    for option in ("-h", "-u", "-t"):
        parser.add_argument(option, required=True)
    parser.add_argument("-P")
    for option in ("-V", "-q", "-C", "-W"):
        parser.add_argument(option)
    for option in ("-v", "-r", "-n", "--retained-only", "--remove-retained"):
        parser.add_argument(option, action="store_true")
    program = {"subscribe": "mosquitto_sub", "publish": "mosquitto_pub"}[arguments[0]]
    options = (Path.home() / ".config" / program).read_text(encoding="utf-8").split()
    given = parser.parse_args([*arguments, *options])
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.username_pw_set(given.u, given.P)
    client.on_message = lambda _c, _u, message: print(message.topic, message.payload.decode())  # noqa: T201
    client.connect(given.h, int(os.environ["BROKER"]))
    if given.what == "subscribe":
        client.subscribe(given.t, 1)
    else:
        client.publish(given.t, b"", 1, given.r)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        assert client.loop(0.1) == paho.MQTT_ERR_SUCCESS
    client.disconnect()


class Computer:
    """The computer of the pages, and the services that run on it."""

    def __init__(self, root: Path, shoe: Path) -> None:
        self.root = root
        self.broker: Mosquitto | None = None
        self._stack = ExitStack()
        self._port = free_port()
        programs = root / "programs"
        for folder in ("etc/mosquitto/conf.d", "etc/systemd/system", "var/lib", "root", programs):
            (root / folder).mkdir(parents=True)
        for name, text in PROGRAMS.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        self.environment = {
            "BROKER": str(self._port),
            "HOME": str(root / "root"),
            "LANG": "C.UTF-8",
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHON": sys.executable,
            "PYTHONPATH": str(PROJECT),
            "ROOT": str(root),
            "SHOE": str(shoe),
            "TLS": str(free_port()),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def follow(self, page: str, heading: str = "", until: str = "\\Z") -> list[str]:
        """Run every block of commands of a section; return what each of them printed."""
        text = (PROJECT / page).read_text(encoding="utf-8")
        found = re.search(rf"{heading}(.*?)(?:{until})", text, re.DOTALL)
        assert found is not None, heading
        blocks = re.findall(r"^```sh\n(.*?)^```", found[1], re.DOTALL | re.MULTILINE)
        assert blocks, heading
        return [self.run(block) for block in blocks if not NEEDS_MORE.search(block)]

    def follow_lines(
        self, page: str, heading: str, until: str, statuses: Iterable[int] = (0,)
    ) -> list[str]:
        """Run the first block of a section line by line; return what each line printed."""
        return [self.run(line, statuses) for line in self.lines(page, heading, until)]

    @staticmethod
    def lines(page: str, heading: str, until: str) -> list[str]:
        """Return the lines of the first block of commands of a section."""
        text = (PROJECT / page).read_text(encoding="utf-8")
        found = re.search(rf"{heading}.*?```sh\n(.*?)```.*?{until}", text, re.DOTALL)
        assert found is not None, heading
        return found[1].splitlines()

    def staged(self, text: str) -> str:
        """Return commands or a sample with the folders and ports of this computer."""
        return staged(text, self.environment)

    def path(self, name: str) -> Path:
        """Return where a file of the computer is."""
        return self.root / name

    def run(self, commands: str, statuses: Iterable[int] = (0,)) -> str:
        """Run commands of a page, then do what they asked of the service manager."""
        samples = self.root / "root/shoe-samples"
        result = subprocess.run(
            ["bash", "-ec", self.staged(commands)],
            cwd=samples if samples.exists() else self.root,
            env=self.environment,
            input=f"{PIN}\n{PIN}\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.returncode in statuses, f"{commands}\n{result.stdout}"
        self._serve()
        return result.stdout

    def _serve(self) -> None:
        log = self.root / "systemctl.log"
        asked = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        for line in asked:
            if line in {"restart mosquitto", "reload mosquitto"}:
                self._start_broker()
            elif line.startswith("enable --now shoe-daemon@table-7"):
                self._start_table("table-7")

    def _start_broker(self) -> None:
        """Start mosquitto with the configuration of Debian, and what was put beside it."""
        if self.broker is None:
            etc = self.root / "etc/mosquitto"
            self.broker = Mosquitto(etc)
            user = "user root\n" if os.geteuid() == 0 else ""
            (etc / "mosquitto.conf").write_text(
                f"{user}log_dest stderr\npersistence true\n"
                f"persistence_location {self.root}/var/lib/\ninclude_dir {etc}/conf.d\n",
                encoding="utf-8",
            )
            self._stack.callback(self.broker.kill)
        self.broker.kill()
        self.broker.start()

    def _start_table(self, table: str) -> None:
        """Start the service as its unit says."""
        unit = (self.root / "etc/systemd/system/shoe-daemon@.service").read_text(encoding="utf-8")
        unit = unit.replace("%i", table)
        command = f"shoe-daemon run --config {self.root}/etc/shoe-daemon/{table}.toml"
        assert re.search(rf"^ExecStart=.*/{command}$", unit, re.MULTILINE)
        credentials = self.root / "credentials"
        credentials.mkdir()
        for name, path in re.findall(r"^LoadCredential=(\S+):(\S+)$", unit, re.MULTILINE):
            shutil.copy(path, credentials / name)
        state = self.root / "var/lib/shoe-daemon" / table
        state.mkdir(parents=True)
        config = self.root / f"etc/shoe-daemon/{table}.toml"
        # A path below the test's folder may be too long for the name of a socket.
        address = f"@documented-{os.getpid()}-{table}"
        daemon = self._stack.enter_context(DaemonProcess(config, address=address))
        told = {"CREDENTIALS_DIRECTORY": str(credentials), "STATE_DIRECTORY": str(state)}
        daemon.start(**told).wait_ready()


if __name__ == "__main__":
    if sys.argv[1] == "samples":
        stage_samples(Path(sys.argv[2]))
    else:
        _client(sys.argv[1:])
