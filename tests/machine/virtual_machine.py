"""A virtual machine under qemu: commands in the guest, devices, a snapshot, cuts of its power."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tests.brokers import free_port
from tests.machine import image
from tests.waiting import wait_for

BOOT_TIMEOUT_S: Final = 400.0
"""Without hardware support a boot takes about a minute."""

_SAVE_TIMEOUT_S: Final = 900.0
"""A snapshot of the memory takes seconds; minutes where the disk is busy."""

_APPEND: Final = (
    "root=/dev/vda rw console=ttyS0 quiet tsc=unstable random.trust_cpu=on mitigations=off "
    "audit=0 panic=-1 systemd.show_status=0 net.ifnames=0 nokaslr no_timer_check nowatchdog"
)
_SNAPSHOT: Final = "ready"
_FREE_MEMORY_TO_ZERO: Final = """
set -e
mount -t tmpfs -o size=100% zero /mnt
head --bytes=$(awk '/MemFree/ {print ($2 - 50000) * 1024}' /proc/meminfo) /dev/zero > /mnt/zero
umount /mnt
"""
"""Pages of zeros take no time to load."""


class Answer(NamedTuple):
    """The result of a command in the guest."""

    status: int
    output: str
    errors: str


class VirtualMachine:
    """
    One guest, for a `with` block.

    Args:
        disk: Its root disk, qcow2; changed by the guest.
        folder: For sockets and logs.
        memory_mb: Its memory.
        devices: More options of qemu.
        snapshot: Whether it continues from the snapshot in `disk`, instead of booting.
    """

    def __init__(
        self,
        disk: Path,
        folder: Path,
        *,
        memory_mb: int = 1024,
        devices: Sequence[str] = (),
        snapshot: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.console = folder / "console.log"
        self._snapshot = snapshot
        # A socket's path has at most 107 characters.
        self._sockets = Path(tempfile.gettempdir(), f"shoe-vm-{secrets.token_hex(4)}")
        self._command = self._qemu(disk, memory_mb, devices)
        self._process: subprocess.Popen[bytes] | None = None
        self._agent: socket.socket | None = None
        self._monitor: socket.socket | None = None
        self._deleted: set[str] = set()
        self._agent_pending = self._monitor_pending = b""

    def _qemu(self, disk: Path, memory_mb: int, devices: Sequence[str]) -> list[str]:
        command = [
            *image.qemu("qemu-system-x86_64"),
            *image.firmware_folders(),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-M", "q35", "-accel", "tcg,tb-size=512", "-cpu", "Nehalem", "-m", str(memory_mb)),
            *("-kernel", str(image.FOLDER / "vmlinux"), "-initrd", str(image.FOLDER / "initrd")),
            *("-append", _APPEND, "-serial", f"file:{self.console}"),
            *("-qmp", f"unix:{self._sockets}/monitor,server=on,wait=off"),
            *("-device", "virtio-serial-pci"),
            *("-chardev", f"socket,id=agent,path={self._sockets}/agent,server=on,wait=off"),
            *("-device", "virtserialport,chardev=agent,name=agent"),
            *("-device", "virtio-rng-pci", "-device", "qemu-xhci,id=usb"),
            *("-netdev", "user,id=net,restrict=on", "-device", "virtio-net-pci,netdev=net"),
            *("-device", "virtio-scsi-pci,id=scsi"),
            # The guest does not wait for the host's disk, which other work may keep busy.
            *("-drive", f"file={disk},if=none,id=root,format=qcow2,cache=unsafe"),
            *("-device", "virtio-blk-pci,drive=root"),
            *devices,
        ]
        return [*command, "-loadvm", _SNAPSHOT] if self._snapshot else command

    def __enter__(self) -> Self:
        self._sockets.mkdir(mode=0o700)
        with (self.folder / "qemu.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._monitor = self._connect("monitor")
        self._read_monitor()  # its greeting
        self.monitor("qmp_capabilities")
        self._agent = self._connect("agent")
        self._agent.settimeout(BOOT_TIMEOUT_S)
        if self._snapshot:
            set_clock(self)
        else:
            self._read_agent()  # ready
        return self

    def __exit__(self, *_: object) -> None:
        self.cut_power()
        for end in (self._monitor, self._agent):
            if end is not None:
                end.close()
        shutil.rmtree(self._sockets, ignore_errors=True)

    def run(self, command: str, *, typed: str = "", timeout_s: float = 240) -> Answer:
        """Run a shell command in the guest and return its result."""
        assert self._agent is not None
        self._agent.settimeout(timeout_s + 60)
        request = {"command": command, "input": typed, "timeout_s": timeout_s}
        self._agent.sendall(json.dumps(request).encode() + b"\n")
        answer = self._read_agent()
        return Answer(answer["status"], answer["output"], answer["errors"])

    def check(self, command: str, *, typed: str = "", timeout_s: float = 240) -> str:
        """Run a shell command in the guest that must succeed; return its output."""
        answer = self.run(command, typed=typed, timeout_s=timeout_s)
        assert answer.status == 0, f"{command}: {answer}{self.last_logged()}"
        return answer.output

    def wait(self, command: str, what: str = "", *, timeout_s: float = 240) -> None:
        """Wait until a shell command succeeds in the guest."""
        # Once a second: each look costs the guest a tenth of a second of its processor.
        loop = f"timeout {timeout_s} bash -c {shlex.quote(f'until {command}; do sleep 1; done')}"
        answer = self.run(loop, timeout_s=2 * timeout_s)
        assert answer.status == 0, (
            f"waited {timeout_s} s in vain: {what or command}: {answer}{self.last_logged()}"
        )

    def last_logged(self) -> str:
        """Return what the units of the guest logged last, for the message of a failed test."""
        return "\n" + self.run("journalctl -u 'shoe-*' -n 60 -o cat --no-pager").output

    def copy_in(self, source: Path, target: str) -> None:
        """Copy a file into the guest, on a disk that is taken away afterwards."""
        size = source.stat().st_size
        padded = self.folder / "transfer.img"
        padded.write_bytes(source.read_bytes().ljust(-(-size // 512) * 512, b"\0"))
        file = {"driver": "file", "filename": str(padded)}
        wait = self.add_disk("transfer", driver="raw", file=file)
        copy = f"head --bytes={size} /dev/disk/by-id/scsi-*_transfer > {target}"
        self.check(f"{wait} && {copy}", timeout_s=600)
        self.unplug("transfer")
        self.monitor("blockdev-del", **{"node-name": "transfer"})

    def add_disk(self, name: str, **source: Any) -> str:  # noqa: ANN401 - qemu's
        """
        Connect a disk; in the guest its path is ``/dev/disk/by-id/scsi-*_NAME``.

        Returns:
            A command that waits in the guest until it is there.
        """
        self.monitor("blockdev-add", **{"node-name": name, **source})
        disk = {"driver": "scsi-hd", "id": name, "drive": name, "device_id": name}
        self.monitor("device_add", **disk, bus="scsi.0", **{"write-cache": "on"})
        return (
            f"timeout 240 sh -c 'until test -b /dev/disk/by-id/scsi-*_{name}; do sleep 0.3; done'"
        )

    def forward(self, guest_port: int) -> int:
        """Return a port of this computer that is forwarded to a port of the guest."""
        port = free_port()
        line = f"hostfwd_add net tcp:127.0.0.1:{port}-:{guest_port}"
        answer = self.monitor("human-monitor-command", **{"command-line": line})
        assert answer == "", answer
        return port

    def plug(self, driver: str, name: str, **properties: Any) -> None:  # noqa: ANN401 - qemu's
        """Plug a USB device in."""
        self.monitor("device_add", driver=driver, id=name, bus="usb.0", **properties)

    def plug_serial(self, name: str, line: Path | None, serial: str, port: str = "1") -> None:
        """
        Plug an adapter with a serial line in; the guest's kernel takes it for an FTDI adapter.

        Args:
            name: For `unplug_serial`.
            line: A terminal of this computer; None for a line on which nothing comes.
            serial: Its serial number.
            port: The USB port.
        """
        kind, data = ("null", {}) if line is None else ("serial", {"device": str(line.resolve())})
        self.monitor("chardev-add", id=f"{name}-line", backend={"type": kind, "data": data})
        # Otherwise it is plugged in only while somebody is at the other end of the line.
        always = {"always-plugged": True}
        line_name = f"{name}-line"
        self.plug("usb-serial", name, chardev=line_name, serial=serial, port=port, **always)

    def unplug_serial(self, name: str) -> None:
        """Pull such an adapter out."""
        self.unplug(name)
        self.monitor("chardev-remove", id=f"{name}-line")

    def open_usb_port(self, name: str, port: str = "2") -> Path:
        """Return the socket of a USB port for devices made of software: see `usb_camera`."""
        address = self._sockets / name
        socket_ = {"addr": {"type": "unix", "data": {"path": str(address)}}}
        backend = {"type": "socket", "data": {**socket_, "server": True, "wait": False}}
        self.monitor("chardev-add", id=name, backend=backend)
        self.plug("usb-redir", f"{name}-port", chardev=name, port=port)
        return address

    def unplug(self, name: str) -> None:
        """Pull a USB device out, and wait until it is gone."""
        self._deleted.discard(name)
        self.monitor("device_del", id=name)
        wait_for(lambda: self._is_deleted(name), f"the end of {name}")

    def _is_deleted(self, name: str) -> bool:
        self.monitor("query-status")  # reads the events before its answer
        return name in self._deleted

    def monitor(self, command: str, **arguments: Any) -> Any:  # noqa: ANN401 - qemu's answers
        """Send a command to qemu and return its answer."""
        assert self._monitor is not None
        request = {"execute": command, "arguments": arguments}
        self._monitor.sendall(json.dumps(request).encode() + b"\n")
        while True:
            answer = self._read_monitor()
            assert "error" not in answer, f"{command}: {answer['error']}"
            if answer.get("event") == "DEVICE_DELETED":
                self._deleted.add(answer["data"].get("device", ""))
            if "return" in answer:
                return answer["return"]

    def save_snapshot(self) -> None:
        """Keep the running state in the root disk."""
        assert self._monitor is not None
        self.check(_FREE_MEMORY_TO_ZERO)
        self._monitor.settimeout(_SAVE_TIMEOUT_S)
        answer = self.monitor("human-monitor-command", **{"command-line": f"savevm {_SNAPSHOT}"})
        assert answer == "", answer

    def cut_power(self) -> None:
        """Kill qemu."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _connect(self, name: str) -> socket.socket:
        end = socket.socket(socket.AF_UNIX)
        wait_for(lambda: self._try(end, name), f"qemu's socket {name}")
        end.settimeout(120)
        return end

    def _try(self, end: socket.socket, name: str) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "qemu.log").read_text()
        with contextlib.suppress(OSError):
            end.connect(f"{self._sockets}/{name}")
            return True
        return False

    def _read_agent(self) -> Any:  # noqa: ANN401 - JSON
        line, self._agent_pending = _read_line(self._agent, self._agent_pending)
        return json.loads(line)

    def _read_monitor(self) -> Any:  # noqa: ANN401 - JSON
        line, self._monitor_pending = _read_line(self._monitor, self._monitor_pending)
        return json.loads(line)


def _read_line(end: socket.socket | None, pending: bytes) -> tuple[bytes, bytes]:
    assert end is not None
    while b"\n" not in pending:
        data = end.recv(65536)
        assert data, "qemu has ended"
        pending += data
    line, _, rest = pending.partition(b"\n")
    return line, rest


def overlay(base: Path, target: Path) -> Path:
    """Create a disk whose unchanged blocks are those of another one."""
    kind = "raw" if base.suffix == ".img" else "qcow2"
    command = [*image.qemu("qemu-img"), "create", "-q", "-f", "qcow2", "-F", kind]
    subprocess.run([*command, "-b", str(base), str(target)], check=True)
    return target


def ready_disk() -> Path:
    """Return a disk with a snapshot of the booted, idle guest; built once."""
    with image.locked():
        base = image.base_image()
        disk = base.with_name(base.name.replace("base-", "ready-")).with_suffix(".qcow2")
        if not disk.exists():
            image.progress("booting the machine for the first time")
            for old in image.FOLDER.glob("ready-*.qcow2"):
                old.unlink()
            partial = overlay(base, disk.with_suffix(".partial"))
            with VirtualMachine(partial, image.FOLDER / "boot") as machine:
                machine.run("systemctl is-system-running --wait; sync", timeout_s=BOOT_TIMEOUT_S)
                machine.save_snapshot()
            partial.rename(disk)
        return disk


def later_disk(
    name: str, earlier: Path, key: str, prepare: Callable[[VirtualMachine], None]
) -> Path:
    """
    Return a disk with a snapshot of a prepared guest; built once for each key.

    Args:
        name: Its name.
        earlier: The disk with the snapshot from which it continues.
        key: Changes with everything that `prepare` installs.
        prepare: Runs commands in the guest.
    """
    digest = hashlib.sha256(f"{earlier.name} {key}".encode()).hexdigest()[:12]
    disk = image.FOLDER / f"{name}-{digest}.qcow2"
    with image.locked():
        if not disk.exists():
            image.progress(f"preparing the machine: {name}")
            for old in image.FOLDER.glob(f"{name}-*.qcow2"):
                old.unlink()
            with resumed(image.FOLDER / f"prepare-{name}", earlier) as machine:
                prepare(machine)
                machine.save_snapshot()
            (image.FOLDER / f"prepare-{name}" / "root.qcow2").rename(disk)
    return disk


def resumed(folder: Path, snapshot: Path, *, devices: Sequence[str] = ()) -> VirtualMachine:
    """Return a machine that continues from a snapshot, with a disk of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    disk = folder / "root.qcow2"
    subprocess.run(["cp", "--sparse=always", str(snapshot), str(disk)], check=True)
    return VirtualMachine(disk, folder, devices=devices, snapshot=True)


def set_clock(machine: VirtualMachine) -> None:
    """Set the guest's clock, which stood still since the snapshot."""
    machine.check(f"date --set=@{time.time():.3f}")
