"""
Whether the service of a table may open a device: with the user, groups and device rules of its
unit, which are not those of the person who runs `doctor`.

Root tries it: a process of that identity opens the device. Another user can only judge the owner,
group and mode of the device. The device rules are compared with the device, because they hold in
the service's own control group.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from shoe_daemon.doctor.finding import Finding
from shoe_daemon.errors import UserError

_DYNAMIC_ID: Final = 65519
"""The last user of systemd's range for DynamicUser=, which owns no device."""

_PROPERTIES: Final = (
    *("LoadState", "User", "Group", "SupplementaryGroups", "DynamicUser"),
    *("DevicePolicy", "DeviceAllow"),
)
_ALWAYS_ALLOWED: Final = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/tty", "/dev/ptmx", "char-pts"),
)
"""Devices that every policy but `strict` allows."""

_NOT_TRIED: Final = 255

_DEVICE_NAMES: Final = Path("/proc/devices")
_RULES: Final = "99-shoe-daemon.rules of the samples"

Entry = TypeVar("Entry", pwd.struct_passwd, grp.struct_group)


class Service(Struct, frozen=True):
    """
    The identity of a unit.

    Attributes:
        unit: Its name.
        uid: Its user; one of systemd's range where that is made at the start.
        gid: Its group.
        groups: Its supplementary groups.
        allowed: The devices of its rules, as in ``DeviceAllow=``; None for all.
    """

    unit: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    allowed: tuple[str, ...] | None = None

    def __str__(self) -> str:
        user = "a user of its own" if self.uid == _DYNAMIC_ID else f"user {_user_name(self.uid)}"
        names = ", ".join(map(_group_name, self.groups))
        return f"{self.unit} with {user} and {f'the groups {names}' if names else 'no groups'}"


def load_service(unit: str) -> Service:
    """
    Return the identity of a unit, drop-ins included.

    Raises:
        UserError: systemd does not know the unit, or its user or a group does not exist.
    """
    command = ["systemctl", "show", f"--property={','.join(_PROPERTIES)}", unit]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise UserError(f"{unit}: systemctl: {error.strerror}") from error
    pairs = [line.partition("=")[::2] for line in done.stdout.splitlines()]
    shown = dict(pairs)
    if done.returncode or shown.get("LoadState") != "loaded":
        reason = done.stderr.strip().splitlines() or [shown.get("LoadState", "no answer")]
        raise UserError(f"{unit}: systemctl: {reason[0]}")
    groups = [
        _entry(unit, "group", grp.getgrnam, name).gr_gid
        for name in shown["SupplementaryGroups"].split()
    ]
    uid, gid = _user(unit, shown, groups)
    rules = tuple(value for key, value in pairs if key == "DeviceAllow" and value)
    if shown["DevicePolicy"] == "auto" and not rules:
        return Service(unit, uid, gid, tuple(groups))
    if shown["DevicePolicy"] != "strict":
        rules += tuple(f"{each} rw" for each in _ALWAYS_ALLOWED)
    return Service(unit, uid, gid, tuple(groups), rules)


def _user(unit: str, shown: dict[str, str], groups: list[int]) -> tuple[int, int]:
    """Return user and group; the groups of a user that always exists are added to the others."""
    uid = gid = 0
    if shown["DynamicUser"] == "yes":
        uid = gid = _DYNAMIC_ID
    elif shown["User"]:
        user = _entry(unit, "user", pwd.getpwnam, shown["User"])
        uid, gid = user.pw_uid, user.pw_gid
        groups += os.getgrouplist(user.pw_name, gid)
    if shown["Group"] and shown["DynamicUser"] != "yes":
        gid = _entry(unit, "group", grp.getgrnam, shown["Group"]).gr_gid
    return uid, gid


def _entry(unit: str, what: str, find: Callable[[str], Entry], name: str) -> Entry:
    try:
        return find(name)
    except KeyError as error:
        raise UserError(f"{unit}: its {what} {name!r} does not exist; it cannot start") from error


def check_access(about: str, port: str, service: Service) -> Finding | None:
    """Return why the service may not open a port; None if it may, or if no device is there."""
    path, is_read = _device(port)
    try:
        found = os.stat(path)  # noqa: PTH116 - the path may be empty
    except OSError:
        return None
    if not _is_allowed(found, service):
        text = (
            f"{path}: the device rules of {service.unit} forbid it; add DeviceAllow= for it, as "
            "40-keyboard.conf and 40-camera.conf of the samples do"
        )
        return Finding(about, "bad", text)
    tried = _try if os.geteuid() == 0 else _judge
    if tried(path, found, os.O_RDONLY if is_read else os.O_RDWR, service) != errno.EACCES:
        return None
    text = (
        f"{path}: Permission denied to {service}; it belongs to {_user_name(found.st_uid)} and "
        f"the group {_group_name(found.st_gid)}, mode {stat.S_IMODE(found.st_mode):04o}: give it "
        f"a group of the service, by {_RULES}"
    )
    return Finding(about, "bad", text)


def _device(port: str) -> tuple[str, bool]:
    """Return the path of a port, empty if it has none, and whether it is only read."""
    kind = next((each for each in ("camera:", "keyboard:", "gpio:") if port.startswith(each)), "")
    path = port.removeprefix(kind)
    if kind == "gpio:":
        path = path.partition(":")[0]
    is_read = path.startswith("/dev/input/")
    return (path if path.startswith("/") else ""), is_read


def _is_allowed(found: os.stat_result, service: Service) -> bool:
    if service.allowed is None or not stat.S_ISCHR(found.st_mode):
        return True
    rules = [rule.rpartition(" ")[0] for rule in service.allowed if "r" in rule.rpartition(" ")[2]]
    names = [f"char-{name}" for name in _driver_names(os.major(found.st_rdev))]
    return any(
        any(fnmatchcase(name, rule) for name in names) or _is_device(rule, found.st_rdev)
        for rule in rules
    )


def _driver_names(major: int) -> list[str]:
    """Return the names of a kind of character devices: ``ttyUSB`` of 188; several may share it."""
    text = _DEVICE_NAMES.read_text().partition("Block devices:")[0]
    lines = [line.split() for line in text.splitlines()]
    return [line[1] for line in lines if line[:1] == [str(major)]]


def _is_device(path: str, device: int) -> bool:
    try:
        return path.startswith("/dev/") and Path(path).stat().st_rdev == device
    except OSError:
        return False


def _try(path: str, found: os.stat_result, flags: int, service: Service) -> int:
    """Open a device in a process of the service's identity; return the error, 0 for none."""
    child = os.fork()
    if child == 0:
        failed = _NOT_TRIED
        try:
            os.setgroups(service.groups)
            os.setgid(service.gid)
            os.setuid(service.uid)
            failed = _open(path, flags)
        finally:
            os._exit(failed)
    failed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return _judge(path, found, flags, service) if failed == _NOT_TRIED else failed


def _open(path: str, flags: int) -> int:
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _judge(_: str, found: os.stat_result, flags: int, service: Service) -> int:
    """Return the error that owner, group and mode of a device mean, 0 for none."""
    wanted = 4 if flags == os.O_RDONLY else 6
    shift = 0
    if found.st_uid == service.uid:
        shift = 6
    elif found.st_gid in (service.gid, *service.groups):
        shift = 3
    may = service.uid == 0 or found.st_mode >> shift & wanted == wanted
    return 0 if may else errno.EACCES


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
