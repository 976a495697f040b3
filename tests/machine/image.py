"""
The disk image of the virtual machine: a small Debian 12 with an agent, built without the network
of the guest.

Everything is kept under `build/machine`: qemu and its tools beside the system, the tree, the
kernel, and the image. `apt install ./shoe-daemon.deb` works in the guest without a network: the
packages that it asks for lie in apt's cache.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.debian_tree import unpack_beside

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "build" / "machine"
AGENT: Final = Path(__file__).with_name("guest_agent.py")

HOST_PACKAGES: Final = ("qemu-system-x86", "qemu-utils", "seabios", "ipxe-qemu", "mmdebstrap")
GUEST_PACKAGES: Final = (
    "systemd-sysv",
    "udev",
    "dbus",
    "kmod",
    "python3",
    "iproute2",
    "procps",
    "busybox-static",
    "e2fsprogs",
)
"""A bare Debian, and what the agent needs."""

CACHED_PACKAGES: Final = ("mosquitto", "mosquitto-clients", "openssl")
"""In apt's cache with all that they need, as the package of the project asks for them."""

_CUSTOMIZE: Final = f"""chroot "$1" sh -ec '
apt-get -qq -y --download-only install {" ".join(CACHED_PACKAGES)}
kernel=$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: //p")
cd /tmp
apt-get -qq download $kernel
dpkg -x $kernel*.deb kernel
rm $kernel*.deb
mv kernel/lib/modules /usr/lib/
mv kernel/boot/* /boot/
rm -r kernel
depmod ${{kernel#linux-image-}}
'"""
"""The kernel is only unpacked: no initramfs of Debian's, which takes minutes, is made."""

PACKAGED: Final = (
    *("shoe_daemon", "drivers", "calibration", "packaging", "systemd"),
    *("pyproject.toml", "requirements-dev.lock", "CHANGELOG.md", "README.md", "tools"),
)
"""The sources of the packages."""

INITRD_MODULES: Final = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic")
IMAGE_SIZE: Final = "6G"

_UNIT: Final = """[Unit]
Description=Agent of the tests
After=basic.target

[Service]
ExecStart=/usr/bin/python3 -u /usr/local/sbin/guest-agent
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Restart=always

[Install]
WantedBy=multi-user.target
"""

_MASKED: Final = (
    "systemd-timesyncd.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "dpkg-db-backup.timer",
    "getty@tty1.service",
)

_INITRD_INIT: Final = """#!/bin/sh
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t devtmpfs devtmpfs /dev
for module in $($B cat /modules/order); do $B insmod /modules/$module; done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 200 ]; do $B usleep 50000; tries=$((tries + 1)); done
$B mount -t ext4 -o rw /dev/vda /root || { echo "ROOT NOT MOUNTED"; $B reboot -f; }
$B mount --move /dev /root/dev
$B umount /proc
exec $B switch_root /root /sbin/init
"""


def progress(text: str) -> None:
    """Show what takes long."""
    # The standard output of a worker of pytest-xdist is closed.
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def locked() -> Iterator[None]:
    """Build within the block, and no other process meanwhile."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def source_key() -> str:
    """Return the same text for the same sources of the packages."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PACKAGED]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return _key(b"".join(path.read_bytes() for path in paths if path.is_file()))


def require() -> None:
    """Skip a test where the image cannot be built."""
    if os.geteuid():
        pytest.skip("building the image needs root")
    if shutil.which("apt-get") is None:
        pytest.skip("building the image needs apt-get, as on Debian")


def qemu(program: str) -> list[str]:
    """Return the start of a command of qemu, installed beside the system."""
    host = FOLDER / "host"
    if not (host / "usr/bin" / program).exists():
        progress("unpacking qemu")
        unpack_beside(host, HOST_PACKAGES)
    libraries = [host / f"usr/lib/x86_64-linux-gnu{more}" for more in ("", "/pulseaudio")]
    path = ":".join(map(str, (*libraries, host / "lib/x86_64-linux-gnu")))
    modules = host / "usr/lib/x86_64-linux-gnu/qemu"
    environment = ["env", f"LD_LIBRARY_PATH={path}", f"QEMU_MODULE_DIR={modules}"]
    return [*environment, str(host / "usr/bin" / program)]


def firmware_folders() -> list[str]:
    """Return the options that name qemu's firmware."""
    host = FOLDER / "host/usr"
    folders = (host / "share/qemu", host / "share/seabios", host / "lib/ipxe/qemu")
    return [part for folder in folders for part in ("-L", str(folder))]


def base_image() -> Path:
    """Return the image, built where it does not exist for these settings."""
    image = FOLDER / f"base-{_key(Path(__file__).read_bytes() + AGENT.read_bytes())}.img"
    if not image.exists():
        for old in FOLDER.glob("base-*.img"):
            old.unlink()
        _build(image)
    return image


def _build(image: Path) -> None:
    qemu("qemu-img")
    tree = _debian_tree()
    _configure(tree)
    _extract_kernel(tree)
    _build_initrd(tree)
    progress("building the disk image")
    partial = image.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    command = ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(partial), IMAGE_SIZE]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    partial.rename(image)


def _key(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _debian_tree() -> Path:
    """Return the folder with Debian's packages, installed once for these packages."""
    command = _debootstrap_command()
    tree = FOLDER / f"tree-{_key(repr(command).encode())}"
    if not tree.exists():
        for old in FOLDER.glob("tree-*"):
            shutil.rmtree(old)
        progress("installing Debian 12 in a folder (minutes)")
        partial = tree.with_name("tree-partial")
        shutil.rmtree(partial, ignore_errors=True)
        # mmdebstrap starts a program that lies beside it.
        path = f"{FOLDER / 'host/usr/bin'}:{os.environ['PATH']}"
        subprocess.run(
            [*command, "bookworm", str(partial), *_sources()],
            check=True,
            env={**os.environ, "PATH": path},
        )
        partial.rename(tree)
    return tree


def _debootstrap_command() -> list[str]:
    trimmed = ("man", "locale", "doc")
    return [
        *("perl", str(FOLDER / "host/usr/bin/mmdebstrap")),
        *("--mode=root", "--variant=apt", "--quiet"),
        f"--include={','.join(GUEST_PACKAGES)}",
        '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in trimmed),
        f"--customize-hook={_CUSTOMIZE}",
        *("--skip=cleanup/apt/lists", "--skip=cleanup/apt/cache"),
    ]


def _sources() -> list[str]:
    """Return the apt sources of this machine."""
    folder = Path("/etc/apt/sources.list.d")
    found = [path for path in sorted(folder.glob("*")) if path.suffix in {".list", ".sources"}]
    one = Path("/etc/apt/sources.list")
    return [str(path) for path in (*found, one) if path.exists() and path.stat().st_size]


def _configure(tree: Path) -> None:
    agent = tree / "usr/local/sbin/guest-agent"
    shutil.copy(AGENT, agent)
    agent.chmod(0o755)
    (tree / "etc/systemd/system/guest-agent.service").write_text(_UNIT)
    (tree / "etc/hostname").write_text("guest\n")
    (tree / "etc/hosts").write_text("127.0.0.1 localhost guest\n")
    (tree / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    (tree / "etc/fstab").write_text("/dev/vda / ext4 defaults,errors=remount-ro 0 1\n")
    _in(tree, "passwd", "--delete", "root")
    _in(tree, "systemctl", "--quiet", "enable", "guest-agent.service")
    _in(tree, "systemctl", "--quiet", "mask", *_MASKED)


def _in(tree: Path, *command: str) -> None:
    subprocess.run(["chroot", str(tree), *command], check=True, capture_output=True)


def _extract_kernel(tree: Path) -> None:
    """Write the uncompressed kernel: qemu need not decompress it, which is slow in emulation."""
    (packed,) = (tree / "boot").glob("vmlinuz-*")
    data = packed.read_bytes()
    for start, decompress in _compressed_parts(data):
        try:
            kernel = decompress(data[start:])
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile):
            continue
        if kernel.startswith(b"\x7fELF"):
            (FOLDER / "vmlinux").write_bytes(kernel)
            return
    raise AssertionError(f"{packed}: no kernel in it")


def _compressed_parts(data: bytes) -> Iterator[tuple[int, Callable[[bytes], bytes]]]:
    unpackers: dict[bytes, Callable[[bytes], bytes]] = {
        b"\xfd7zXZ\0": lambda part: lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(part),
        b"\x1f\x8b\x08": lambda part: zlib.decompressobj(31).decompress(part),
    }
    for magic, unpack in unpackers.items():
        start = data.find(magic)
        while start >= 0:
            yield start, unpack
            start = data.find(magic, start + 1)


def _build_initrd(tree: Path) -> None:
    """Write a small initrd: busybox, and the modules that the root disk needs."""
    folder = FOLDER / "initrd-tree"
    if folder.exists():
        shutil.rmtree(folder)
    for name in ("bin", "modules", "proc", "dev", "root"):
        (folder / name).mkdir(parents=True)
    shutil.copy(tree / "usr/bin/busybox", folder / "bin/busybox")
    (folder / "bin/sh").symlink_to("busybox")
    init = folder / "init"
    init.write_text(_INITRD_INIT)
    init.chmod(0o755)
    names = []
    for module in _with_dependencies(tree, INITRD_MODULES):
        shutil.copy(module, folder / "modules")
        names.append(module.name)
    (folder / "modules/order").write_text("\n".join(names) + "\n")
    listing = subprocess.run(["find", "."], cwd=folder, check=True, capture_output=True).stdout
    with (FOLDER / "initrd").open("wb") as initrd:
        pack = [str(folder / "bin/busybox"), "cpio", "-o", "-H", "newc"]
        subprocess.run(pack, cwd=folder, input=listing, stdout=initrd, check=True)


def _with_dependencies(tree: Path, modules: tuple[str, ...]) -> list[Path]:
    """Return the files of kernel modules, each after those that it needs."""
    (folder,) = (tree / "usr/lib/modules").iterdir()
    lines = (folder / "modules.dep").read_text().splitlines()
    needs = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    by_name = {Path(name).stem.replace("-", "_"): name for name in needs}
    order: dict[str, None] = {}
    for module in modules:
        if name := by_name.get(module.replace("-", "_")):  # otherwise it is built in
            order.update(dict.fromkeys([*reversed(needs[name]), name]))
    return [folder / name for name in order]
