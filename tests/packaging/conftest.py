"""The built packages, and a tree of Debian 12 to install them in."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.debian_tree import DebianTree, make_debian

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build both packages once for all workers: the daemon's, then the camera's."""
    if os.environ.get("TEST_VOLUME") != "full":
        pytest.skip("building the packages takes half a minute: make test-all")
    if not shutil.which("dpkg-deb"):
        pytest.skip("the packages are built on Debian and Ubuntu only")
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent  # shared by all workers
    out = folder / "packages"
    with (folder / "packages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            build = [
                sys.executable,
                "-m",
                "tools.build_deb",
                str(out.with_suffix(".new")),
                "amd64",
            ]
            subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
            out.with_suffix(".new").rename(out)
    return sorted(out.glob("*.deb"), reverse=True)


@pytest.fixture
def debian(packages: list[Path]) -> Iterator[DebianTree]:
    """A fresh tree of Debian 12 that holds the packages in /root."""
    tree = make_debian()
    try:
        for package in packages:
            shutil.copy(package, tree.root / "root")
        yield tree
    finally:
        tree.remove()
