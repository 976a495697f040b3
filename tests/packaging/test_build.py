"""The packages are the same for the same commit, name no other place, and please lintian."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT
from tools.build_deb import commit_time

EXPECTED = (
    "./usr/bin/shoe-daemon",
    "./usr/share/shoe-daemon/samples",
    "./usr/share/man/man1/shoe-daemon.1.gz",
    "./usr/share/man/man1/shoe-daemon-journal-verify.1.gz",
    "./usr/share/bash-completion/completions/shoe-daemon",
    "./usr/share/zsh/vendor-completions/_shoe-daemon",
    "./usr/share/fish/vendor_completions.d/shoe-daemon.fish",
    "./usr/share/doc/shoe-daemon/install.md",
    "./lib/udev/rules.d/99-shoe-daemon.rules",
)


BUILD_UNPACKED = """
import sys
from tools import build_deb
build_deb.COMPRESSION = ("-Znone",)
sys.exit(build_deb.main(sys.argv[1:]))
"""


@pytest.mark.timeout(900)
def test_a_build_elsewhere_gives_the_same_bytes(packages: list[Path], tmp_path: Path) -> None:
    # Another folder, umask, time zone and language, and no git.
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=-1, check=True).stdout
    copy = tmp_path / "elsewhere"
    for name in listed.decode().rstrip("\0").split("\0"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    (copy / "build/deb").mkdir(parents=True)
    for cache in (ROOT / "build/deb").glob("wheels-*"):
        (copy / "build/deb" / cache.name).symlink_to(cache)
    other = {"SOURCE_DATE_EPOCH": str(commit_time()), "TZ": "Asia/Macau", "LC_ALL": "C"}
    build = ["sh", "-c", 'umask 077; exec "$@"', "sh", sys.executable, "-c", BUILD_UNPACKED]
    subprocess.run(
        [*build, tmp_path / "out", "amd64"],
        cwd=copy,
        env={**os.environ, **other},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for package in packages:
        for part in ("--ctrl-tarfile", "--fsys-tarfile"):
            assert hashed(tmp_path / "out" / package.name, part) == hashed(package, part)


def hashed(package: Path, part: str) -> bytes:
    with subprocess.Popen(["dpkg-deb", part, package], stdout=subprocess.PIPE) as dpkg:
        assert dpkg.stdout
        digest = hashlib.sha256()
        while data := dpkg.stdout.read(1 << 20):
            digest.update(data)
        return digest.digest()


def test_the_packages_are_whole_and_their_files_name_no_other_place(packages: list[Path]) -> None:
    daemon, camera = map(checked_names, packages)
    assert set(EXPECTED) <= daemon
    units = {f"./lib/systemd/system/{path.name}" for path in (ROOT / "systemd").glob("*.service")}
    assert units <= daemon
    assert any(name.endswith("/cv2/__init__.py") for name in camera)
    assert any(name.endswith("/weights/networks.zip") for name in camera)
    assert daemon & camera == set()


def checked_names(package: Path) -> set[str]:
    """Return the files of a package, each of root, of the commit's time, and of no place here."""
    names = set()
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as dpkg:
        assert dpkg.stdout
        with tarfile.open(fileobj=dpkg.stdout, mode="r|") as archive:
            for member in archive:
                assert (member.uid, member.gid, member.mtime) == (0, 0, commit_time())
                assert member.issym() or not member.mode & 0o022, member.name
                assert str(ROOT) not in member.linkname
                file = archive.extractfile(member) if member.isfile() else None
                content = b"" if file is None else file.read()
                assert str(ROOT).encode() not in content, member.name
                assert not member.name.endswith(".pyc")
                if not member.isdir():
                    names.add(member.name)
    return names


def test_lintian_finds_no_error(packages: list[Path]) -> None:
    if not shutil.which("lintian"):
        pytest.skip("lintian is missing: apt-get install lintian")
    command = ["lintian", "--allow-root", "--fail-on=error,warning", *map(str, packages)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
