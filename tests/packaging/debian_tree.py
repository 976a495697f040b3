"""A tree of Debian 12 in which packages are really installed, by chroot."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / "build/packaging/debian12"
"""Made once, with the apt sources of this machine; `make clean` removes it."""

CONTENT = "systemd-sysv,dbus,udev,python3,openssl,mosquitto,man-db,bash-completion"
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")


class DebianTree:
    """
    One tree; a test may do with it what it likes.

    Args:
        root: Its folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, script: str, *, fails: bool = False) -> str:
        """Run a script of the shell inside; return its output and errors together."""
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        mounted = f"mount -t proc proc {self.root}/proc; exec chroot {self.root} sh -e"
        answer = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", mounted],
            input=f"cd /root\n{script}\n",
            env=clean,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert (answer.returncode != 0) is fails, answer.stdout
        return answer.stdout

    def path(self, name: str) -> Path:
        """Return where a path of the tree is on this machine."""
        return self.root / name.lstrip("/")

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.root)


def make_debian(target: Path) -> DebianTree:
    """Copy the cached tree; skip the test where it cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("only root can install packages into a tree of Debian")
    if not CACHE.exists():
        _fill_cache()
    subprocess.run(["cp", "--archive", "--reflink=auto", CACHE, target], check=True)
    return DebianTree(target)


def _fill_cache() -> None:
    if not shutil.which("mmdebstrap") or not SOURCES.exists():
        pytest.skip("no tree of Debian 12: apt-get install mmdebstrap")
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if CACHE.exists():
            return
        new = CACHE.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        command = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={CONTENT}"]
        answer = subprocess.run(
            [*command, '--aptopt=Acquire::Languages "none"', "bookworm", new, SOURCES],
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode:
            pytest.skip(f"no tree of Debian 12: mmdebstrap: {answer.stderr.splitlines()[-1]}")
        new.rename(CACHE)
