"""The packages are the same for the same commit, name no other place, and please lintian."""

from __future__ import annotations

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


def unpack(package: Path, folder: Path) -> Path:
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder], check=True)
    return folder


def names(package: Path) -> set[str]:
    answer = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=-1, check=True)
    listing = subprocess.run(["tar", "-t"], input=answer.stdout, stdout=-1, check=True)
    return {name for name in listing.stdout.decode().splitlines() if not name.endswith("/")}


@pytest.mark.timeout(900)
def test_a_build_elsewhere_gives_the_same_bytes(packages: list[Path], tmp_path: Path) -> None:
    # Another folder, umask, time zone and language, and no git: half a minute of work.
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=-1, check=True).stdout
    copy = tmp_path / "elsewhere"
    for name in listed.decode().rstrip("\0").split("\0"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    (copy / "build/deb").mkdir(parents=True)
    for cache in (ROOT / "build/deb").glob("wheels-*"):
        (copy / "build/deb" / cache.name).symlink_to(cache)
    other = {"SOURCE_DATE_EPOCH": str(commit_time()), "TZ": "Asia/Macau", "LC_ALL": "C"}
    build = ["sh", "-c", 'umask 077; exec "$@"', "sh", sys.executable, "-m", "tools.build_deb"]
    subprocess.run(
        [*build, tmp_path / "out"],
        cwd=copy,
        env={**os.environ, **other},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for package in packages:
        assert (tmp_path / "out" / package.name).read_bytes() == package.read_bytes()


def test_the_packages_are_whole_and_share_no_file(packages: list[Path]) -> None:
    daemon, camera = map(names, packages)
    assert set(EXPECTED) <= daemon
    units = {f"./lib/systemd/system/{path.name}" for path in (ROOT / "systemd").glob("*.service")}
    assert units <= daemon
    assert any(name.endswith("/cv2/__init__.py") for name in camera)
    assert any(name.endswith("/weights/networks.zip") for name in camera)
    assert daemon & camera == set()


def test_no_file_names_the_place_of_the_build(packages: list[Path], tmp_path: Path) -> None:
    for package in packages:
        for path in unpack(package, tmp_path / package.stem).rglob("*"):
            if path.is_symlink():
                assert str(ROOT) not in str(path.readlink())
            elif path.is_file():
                content = path.read_bytes()
                assert str(ROOT).encode() not in content, path
                assert path.suffix != ".pyc" or b"/opt/shoe-daemon/lib/" in content, path


def test_lintian_finds_no_error(packages: list[Path]) -> None:
    if not shutil.which("lintian"):
        pytest.skip("lintian is missing: apt-get install lintian")
    command = ["lintian", "--allow-root", "--fail-on=error,warning", *map(str, packages)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


def test_all_files_belong_to_root_and_have_the_time_of_the_commit(packages: list[Path]) -> None:
    for package in packages:
        command = ["dpkg-deb", "--fsys-tarfile", str(package)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as dpkg:
            assert dpkg.stdout
            with tarfile.open(fileobj=dpkg.stdout, mode="r|") as archive:
                for member in archive:
                    assert (member.uid, member.gid, member.mtime) == (0, 0, commit_time())
                    assert member.issym() or not member.mode & 0o022, member.name
