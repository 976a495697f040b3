"""
A tree of Debian in which packages are really installed, by chroot, or booted under systemd-nspawn.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final, Self

import pytest

from tests.waiting import PATIENCE, wait_for

_BUILD: Final = Path(__file__).resolve().parents[2] / "build/packaging"
_CONTENT: Final = (
    *("systemd-sysv", "dbus", "udev", "python3", "openssl", "mosquitto", "mosquitto-clients"),
    *("man-db", "bash-completion", "libpq5"),
)
_UBUNTU: Final = ("noble", "resolute")
_UBUNTU_KEYRING: Final = "ubuntu-archive-keyring.gpg"
_EMULATORS: Final = {"arm64": "qemu-aarch64"}
_EMULATION: Final = "qemu-user-static binfmt-support arch-test"
_AUTHORITIES: Final = "/etc/ssl/certs/ca-certificates.crt"
_SOURCES: Final = Path("/etc/apt/sources.list.d/debian.sources")
_TOOLS: Final = _BUILD / "host"
_TOOL_PACKAGES: Final = ("mmdebstrap", "systemd-container")
_CLEAN: Final = {
    "HOME": "/root",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "DEBIAN_FRONTEND": "noninteractive",
}


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
        enter = f'mount -t proc proc {self.root}/proc; exec chroot {self.root} "$@"'
        return _run(["unshare", "--mount", "sh", "-ec", enter, "sh"], script, fails=fails)

    def path(self, name: str) -> Path:
        """Return where a path of the tree is on this machine."""
        return self.root / name.lstrip("/")

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.root)


class BootedDebian:
    """
    A Debian 12 in operation, for a `with` block: its systemd runs under systemd-nspawn, in a
    network of its own, and what it writes stays in memory. All its processes, mounts and control
    groups end with the block, or with this process. Skips the test where it cannot run.

    Args:
        packages: This folder is its ``/mnt``.
        console: A file for what it prints.
        more: Further options of systemd-nspawn.
    """

    def __init__(self, packages: Path, console: Path, *more: str) -> None:
        self._packages, self._console, self._more = packages, console, more
        self._name = f"shoe-{secrets.token_hex(4)}"
        self._groups: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._first = ""

    def __enter__(self) -> Self:
        nspawn = [
            *(*_tool("systemd-nspawn"), "--quiet", "--boot", f"--machine={self._name}"),
            *(f"--directory={cached_debian()}", "--volatile=overlay"),
            *(f"--bind-ro={self._packages}:/mnt", "--private-network"),
            *("--link-journal=no", "--console=pipe", "--register=no", "--keep-unit"),
            *self._more,
        ]
        try:
            self._make_groups()
            join = "".join(f"echo $$ >{group}/cgroup.procs; " for group in self._groups)
            # When this process ends, the name space ends, and all processes and mounts in it.
            spaces = "unshare --mount --pid --mount-proc --kill-child"
            enter = f'{join} exec setpriv --pdeathsig=KILL {spaces} sh -ec "$0" "$@"'
            # A /run of its own: nspawn leaves folders there.
            begin = 'mount -t tmpfs tmpfs /run; exec "$0" "$@"'
            command = ["sh", "-ec", enter, begin, *nspawn]
            with self._console.open("wb") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            wait_for(self._has_begun, "systemd in the tree")
            if self._process.poll() is not None:
                said = self._console.read_text(errors="replace").strip().splitlines()
                pytest.skip(f"systemd-nspawn does not boot here: {' '.join(said[-1:])}")
            assert self.run("systemctl is-system-running --wait") == "running\n"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for group in self._groups:
            wait_for(partial(_removed, group), f"the end of all processes in {group}")

    def run(self, script: str, *, fails: bool = False) -> str:
        """Run a script of the shell inside; return its output and errors together."""
        spaces = ("mount", "uts", "ipc", "net", "pid", "cgroup", "root", "wd")
        enter = ["nsenter", f"--target={self._first}", *(f"--{each}" for each in spaces)]
        return _run(enter, script, fails=fails)

    def wait(self, condition: str) -> None:
        """Wait until a command of the shell succeeds inside."""
        self.run(f"timeout {PATIENCE} sh -c 'until {condition}; do sleep 0.1; done'")

    def _make_groups(self) -> None:
        """Make control groups for its systemd, which cleans up all that it finds in its own."""
        folders = {"": ("unified", ""), "name=systemd": ("systemd",)}
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            for folder in folders.get(controllers, ()):
                parent = Path("/sys/fs/cgroup", folder, group.lstrip("/"))
                if (parent / "cgroup.procs").exists():
                    try:
                        (parent / self._name).mkdir()
                    except OSError as error:
                        pytest.skip(f"systemd-nspawn needs control groups: {error}")
                    self._groups.append(parent / self._name)
                    break
        if not self._groups:
            pytest.skip("systemd-nspawn needs control groups")

    def _has_begun(self) -> bool:
        """True when commands can be run inside, or when it has ended."""
        assert self._process is not None
        if self._process.poll() is not None:
            return True
        with contextlib.suppress(OSError):
            for members in self._groups[0].rglob("init.scope/cgroup.procs"):
                for process in members.read_text().split():
                    status = Path(f"/proc/{process}/status").read_text()
                    is_first = re.search(r"^NSpid:.*\t1$", status, re.MULTILINE)
                    if is_first and Path(f"/proc/{process}/root/run/systemd/private").is_socket():
                        self._first = process
        return self._first != ""


def make_debian(suite: str = "bookworm", processor: str = "amd64") -> DebianTree:
    """
    Make a tree beside the cached one; skip the test where it cannot be made. Files below /usr,
    which dpkg replaces and does not change, are links.
    """
    cached = cached_debian(suite, processor=processor)
    root = Path(mkdtemp(prefix="tree-", dir=_BUILD))
    root.chmod(0o755)
    for folder in cached.iterdir():
        link = ["--link"] if folder.name == "usr" else []
        subprocess.run(["cp", "--archive", *link, folder, root], check=True)
    # Nothing here has to survive a power cut.
    (root / "etc/dpkg/dpkg.cfg.d/tests").write_text("force-unsafe-io\n")
    return DebianTree(root)


def relabelled(package: Path, target: Path, *, without: str = "", **fields: str) -> Path:
    """Build a package again, with other control fields or without a folder; return the target."""
    with TemporaryDirectory(dir=target.parent) as folder:
        tree = Path(folder, "tree")
        subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
        if without:
            shutil.rmtree(tree / without)
        control = tree / "DEBIAN/control"
        text = control.read_text()
        for field, value in fields.items():
            text = re.sub(rf"^{field}: .*", f"{field}: {value}", text, flags=re.MULTILINE)
        control.write_text(text)
        build = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build"]
        subprocess.run([*build, tree, target], check=True, stdout=subprocess.DEVNULL)
    return target


def cached_debian(
    suite: str = "bookworm",
    packages: Sequence[str] = _CONTENT,
    script: str = "",
    processor: str = "amd64",
) -> Path:
    """
    Return a folder with a Debian or Ubuntu: made once, from a mirror, and kept below `build`
    until `make clean`. Skips the test where it cannot be made.

    Args:
        suite: The name of the release.
        packages: The packages in it.
        processor: Of its programs; this machine runs those of another one by emulation.
        script: A script of the shell that completes it. It runs inside, with the network, the
            environment and the certificate authorities of this machine.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can install packages into a tree of Debian")
    if (
        processor != "amd64"
        and not Path("/proc/sys/fs/binfmt_misc", _EMULATORS[processor]).exists()
    ):
        pytest.skip(f"no emulator: apt-get install {_EMULATION}")
    key = sha256("\0".join([*packages, script, processor]).encode()).hexdigest()[:8]
    tree = _BUILD / f"{suite}-{key}"
    if not tree.exists():
        _make_tree(tree, suite, packages, script, processor)
    return tree


def unpack_beside(folder: Path, packages: Sequence[str]) -> None:
    """
    Unpack packages of this Debian, and what they need, into a folder beside the system.

    Skips the test where they cannot be downloaded.
    """
    cache = folder.with_name(f"{folder.name}-packages")
    (cache / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::Cache::archives={cache}", "-o", "APT::Sandbox::User=root"]
    command = ["apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", *options]
    done = subprocess.run(
        [*command, "--reinstall", "install", *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1]
        pytest.skip(f"{packages[0]} cannot be downloaded: {reason}")
    new = folder.with_name(f"{folder.name}.new")
    for package in cache.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(new)], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def _run(enter: Sequence[str], script: str, *, fails: bool) -> str:
    """Run a script of the shell with a command that enters a tree."""
    answer = subprocess.run(
        [*enter, "sh", "-ec", f"cd /root\n{script}"],
        env=_CLEAN,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (answer.returncode != 0) is fails, answer.stdout
    return answer.stdout


def _tool(program: str) -> list[str]:
    """Return the start of a command: this machine's program, or one unpacked beside the system."""
    if shutil.which(program):
        return [program]
    with _locked("host.lock"):
        if not _TOOLS.exists():
            if not shutil.which("apt-get"):
                pytest.skip(f"{program} is missing, and apt-get to download it")
            unpack_beside(_TOOLS, _TOOL_PACKAGES)
    library = _TOOLS / "usr/lib/x86_64-linux-gnu"
    return [
        "env",
        f"LD_LIBRARY_PATH={library}/systemd:{library}:{_TOOLS}/lib/x86_64-linux-gnu",
        f"PATH={os.environ['PATH']}:{_TOOLS}/usr/bin",
        program,
    ]


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """One worker at a time."""
    _BUILD.mkdir(parents=True, exist_ok=True)
    with (_BUILD / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _removed(group: Path) -> bool:
    """Remove a control group; return False while a process is in it."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return not group.exists()


def _make_tree(
    tree: Path, suite: str, packages: Sequence[str], script: str, processor: str
) -> None:
    name = f"no tree of {suite}"
    if not _SOURCES.exists():
        pytest.skip(f"{name}: {_SOURCES} is missing")
    with _locked(f"{tree.name}.lock"):
        if tree.exists():
            return
        new = tree.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        # Its mounts end with it, and it ends with this process.
        alone = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--mount-proc")
        command = [*alone, "--kill-child", *_tool("mmdebstrap"), "--mode=root"]
        command += ["--variant=minbase", f"--architectures={processor}"]
        if suite in _UBUNTU:
            command += [f"--keyring={_ubuntu_keyring()}", "--components=main,universe"]
        command += [f"--include={','.join(packages)}", '--aptopt=Acquire::Languages "none"']
        # The lists of `sid` expire within days; a mirror may be older.
        command += ['--aptopt=Acquire::Check-Valid-Until "false"'] * (suite in {"sid", "forky"})
        if script:
            copy = f'if [ -e {_AUTHORITIES} ]; then cp {_AUTHORITIES} "$1"{_AUTHORITIES}; fi'
            inside = f'chroot "$1" sh -ec {shlex.quote(script)}'
            command += [f"--customize-hook={copy}", f"--customize-hook={inside}"]
        answer = subprocess.run(
            [*command, suite, new, _source(suite)], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            lines = answer.stderr.splitlines()
            reasons = [each for each in lines if each.lower().startswith(("e:", "error"))]
            pytest.skip(f"{name}: {(reasons or lines)[0]}")
        new.rename(tree)


def _source(suite: str) -> str:
    """Return a source of mmdebstrap: all of this machine's for its own release."""
    if suite in _UBUNTU:
        return "http://archive.ubuntu.com/ubuntu"
    sources = _SOURCES.read_text()
    if re.search(rf"^Suites:.*\b{suite}\b", sources, re.MULTILINE):
        return str(_SOURCES)
    mirror = re.search(r"^URIs: *(\S+)", sources, re.MULTILINE)
    assert mirror, sources
    return mirror[1]


def _ubuntu_keyring() -> Path:
    """Return the keys that sign Ubuntu; a Debian may not have them."""
    for folder in (Path("/usr/share/keyrings"), _BUILD):
        if (folder / _UBUNTU_KEYRING).exists():
            return folder / _UBUNTU_KEYRING
    pytest.skip(f"put {_UBUNTU_KEYRING} of Ubuntu's package ubuntu-keyring into {_BUILD}")
