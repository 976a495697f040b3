"""
Builds the Debian packages: `python -m tools.build_deb FOLDER [PROCESSOR...]`, as `make deb` does
into dist/ for all processors.

`shoe-daemon` has its own Python environment in /opt/shoe-daemon; `shoe-daemon-camera` adds OpenCV
to the same environment. A package serves every distribution, because it has the wheels of each
Python in `PYTHONS`: only their libraries differ, and these have the version in their name.
packaging/ holds what a person writes: control files, maintainer scripts, and the locks with the
hashes of all included wheels. The same commit gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from email.utils import formatdate
from pathlib import Path
from typing import Final

from shoe_daemon import __version__

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGING: Final = ROOT / "packaging"
WORK: Final = ROOT / "build" / "deb"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
"""Of Debian 12, Ubuntu 24.04, Debian 13, and Ubuntu 26.04."""
PROCESSORS: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Debian's names, and those of the wheels."""
PREFIX: Final = Path("opt/shoe-daemon")
SITE_PACKAGES: Final = PREFIX / "lib/python3/site-packages"
WEIGHTS: Final = SITE_PACKAGES / "drivers/camera/recognition/weights/networks.zip"
PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
BUILD_INFORMATION: Final = "__config__.py"
"""What NumPy was built with; the only module that differs between its wheels."""
# xz would take a minute longer for OpenCV and save a quarter of its size.
COMPRESSION: Final = ("-Zgzip", "-z6")
COMPLETIONS: Final = {
    "bash": "usr/share/bash-completion/completions/shoe-daemon",
    "zsh": "usr/share/zsh/vendor-completions/_shoe-daemon",
    "fish": "usr/share/fish/vendor_completions.d/shoe-daemon.fish",
}
LAUNCHER: Final = """\
#!/opt/shoe-daemon/bin/python -I
from shoe_daemon.cli import main

main(prog_name="shoe-daemon")
"""


class BuildError(Exception):
    """A build that cannot succeed here; the message says what to do."""


def main(arguments: list[str]) -> str | None:
    """Build both packages for each processor; return an error message for `sys.exit`."""
    if not arguments or arguments[0].startswith("-"):
        return "usage: python -m tools.build_deb FOLDER [PROCESSOR...]"
    out, *processors = arguments
    try:
        for processor in processors or PROCESSORS:
            for package in build(Path(out), processor):
                print(f"{package}  {package.stat().st_size / 1e6:.1f} MB")
    except BuildError as error:
        return f"build_deb: {error}"
    except subprocess.CalledProcessError as error:
        return f"build_deb: failed, see above: {' '.join(map(str, error.cmd))}"
    return None


def build(out: Path, processor: str) -> list[Path]:
    """Build both packages into a folder and return their paths."""
    if processor not in PROCESSORS:
        raise BuildError(f"{processor}: there are packages for {' and '.join(PROCESSORS)} only")
    if shutil.which("dpkg-deb") is None:
        raise BuildError("dpkg-deb is missing: apt-get install dpkg")
    os.environ["SOURCE_DATE_EPOCH"] = str(commit_time())
    os.umask(0o022)
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK, prefix="stage-") as folder:
        daemon, camera = Path(folder) / "shoe-daemon", Path(folder) / "shoe-daemon-camera"
        stage_daemon(daemon, processor)
        stage_camera(camera, daemon, processor)
        return [_pack(root, out, processor) for root in (daemon, camera)]


def debian_version() -> str:
    """Return the version in Debian's order: a release candidate comes before its release."""
    return re.sub(r"\.?(a|b|rc|dev)(\d+)", r"~\1\2", __version__)


def commit_time() -> int:
    """Return the time of all files in the packages: SOURCE_DATE_EPOCH, or that of the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise BuildError("no commit here: set SOURCE_DATE_EPOCH to a time in seconds")
    return int(answer.stdout)


def stage_daemon(root: Path, processor: str) -> None:
    """Lay out the files of `shoe-daemon`, the weights of the recogniser still among them."""
    _make_environment(root)
    for wheel in (*locked_wheels("requirements.lock", processor), _project_wheel()):
        _unpack(wheel, root / SITE_PACKAGES)
    _install_system_files(root)
    _generate_from_commands(root)
    _write_documents(root)


def stage_camera(root: Path, daemon: Path, processor: str) -> None:
    """Lay out the files of `shoe-daemon-camera`; the weights move here from the daemon."""
    for wheel in locked_wheels("requirements-camera.lock", processor):
        _unpack(wheel, root / SITE_PACKAGES)
    weights = root / WEIGHTS
    weights.parent.mkdir(parents=True)
    shutil.move(daemon / WEIGHTS, weights)
    _write_documents(root)


def _make_environment(root: Path) -> None:
    """Write a virtual environment without pip, for the Python of whatever distribution."""
    programs = root / PREFIX / "bin"
    programs.mkdir(parents=True)
    (root / SITE_PACKAGES).mkdir(parents=True)
    for version in PYTHONS:
        (root / PREFIX / f"lib/python{version}").symlink_to("python3")
    config = "home = /usr/bin\ninclude-system-site-packages = false\n"
    (root / PREFIX / "pyvenv.cfg").write_text(config)
    (programs / "python").symlink_to("/usr/bin/python3")
    (programs / "python3").symlink_to("python")
    launcher = programs / "shoe-daemon"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)


def locked_wheels(lock_name: str, processor: str) -> list[Path]:
    """Return the wheels of a lock; they are downloaded once for each content of the lock."""
    lock = PACKAGING / lock_name
    cache = WORK / f"wheels-{processor}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if not cache.is_dir():
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            for python in PYTHONS:
                _download(lock, processor, python, Path(folder) / "wheels")
            (Path(folder) / "wheels").rename(cache)
    return sorted(cache.glob("*.whl"))


def _download(lock: Path, processor: str, python: str, folder: Path) -> None:
    """Download the wheels of a Python on a processor, whatever runs here."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    target = ["--implementation", "cp", "--python-version", python]
    target += [f"--abi={abi}" for abi in ("cp" + python.replace(".", ""), "abi3", "none")]
    target += [f"--platform={platform}_{PROCESSORS[processor]}" for platform in PLATFORMS]
    checks = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    command = [*pip, *target, *checks, "--requirement", str(lock), "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = re.search(r"No matching distribution found for (\S+)", done.stderr)
        wheel = f"no wheel of {reason[1]}" if reason else done.stderr.strip()
        raise BuildError(f"{lock.name}: {wheel} for Python {python} on {processor}")


def _project_wheel() -> Path:
    """Build the wheel of this project."""
    folder = WORK / "project"
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: Path, site_packages: Path) -> None:
    """
    Unpack a wheel over those of the same version for other Pythons.

    Raises:
        BuildError: It has files for other folders, or another content of a file.
    """
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".data/" in name:
                raise BuildError(f"{wheel.name}: has a .data folder, which has no place here")
            file = site_packages / name
            same = not file.is_file() or file.read_bytes() == archive.read(name)
            if not same and ".dist-info/" not in name and file.name != BUILD_INFORMATION:
                raise BuildError(f"{wheel.name}: {name} differs between the Pythons")
        archive.extractall(site_packages)


def _install_system_files(root: Path) -> None:
    """Copy units, udev rules, users and folders, and link the program and its samples."""
    scripts = PACKAGING / "shoe-daemon"
    units = [*(ROOT / "systemd").glob("*.service"), *(ROOT / "systemd").glob("*.timer")]
    copies = {f"lib/systemd/system/{unit.name}": unit for unit in units}
    copies |= {
        "lib/udev/rules.d/99-shoe-daemon.rules": ROOT / "systemd/99-shoe-daemon.rules",
        "usr/lib/sysusers.d/shoe-daemon.conf": scripts / "sysusers.conf",
        "usr/lib/tmpfiles.d/shoe-daemon.conf": scripts / "tmpfiles.conf",
    }
    for name, source in copies.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / name)
    links = {
        "usr/bin/shoe-daemon": PREFIX / "bin/shoe-daemon",
        "usr/share/shoe-daemon/samples": SITE_PACKAGES / "shoe_daemon/samples",
    }
    for name, target in links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(Path("/") / target)


def _generate_from_commands(root: Path) -> None:
    """Write manual pages and shell completion with the program that runs here."""
    pages = root / "usr/share/man/man1"
    pages.mkdir(parents=True)
    _run(sys.executable, "-m", "tools.make_man_pages", pages, str(commit_time()))
    for page in sorted(pages.iterdir()):
        _compress(page)
    call = "from shoe_daemon.cli import main; main(prog_name='shoe-daemon')"
    for shell, name in COMPLETIONS.items():
        (root / name).parent.mkdir(parents=True)
        request = {**os.environ, "_SHOE_DAEMON_COMPLETE": f"{shell}_source"}
        script = subprocess.check_output([sys.executable, "-c", call], env=request, cwd=ROOT)
        (root / name).write_bytes(script)


def _write_documents(root: Path) -> None:
    """Write copyright, changelog and overrides; the daemon's package also has docs/*.md."""
    documents = root / "usr/share/doc" / root.name
    documents.mkdir(parents=True)
    overrides = root / "usr/share/lintian/overrides" / root.name
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(PACKAGING / root.name / "lintian-overrides", overrides)
    text = (PACKAGING / root.name / "copyright").read_text(encoding="utf-8")
    text += "".join(_licence_lines(root))
    (documents / "copyright").write_text(text, encoding="utf-8")
    entry = (
        f"shoe-daemon ({debian_version()}) stable; urgency=medium\n\n"
        f"  * The changes are in /usr/share/doc/shoe-daemon/CHANGELOG.md.gz.\n\n"
        f" -- {_control_field(root.name, 'Maintainer')}  {formatdate(commit_time())}\n"
    )
    (documents / "changelog").write_text(entry, encoding="utf-8")
    _compress(documents / "changelog")
    if root.name == "shoe-daemon":
        for page in sorted((ROOT / "docs").glob("*.md")):
            shutil.copyfile(page, documents / page.name)
        shutil.copyfile(ROOT / "CHANGELOG.md", documents / "CHANGELOG.md")
        _compress(documents / "CHANGELOG.md")


def _licence_lines(root: Path) -> list[str]:
    """List the included packages with their versions and licences."""
    lines = []
    for metadata in sorted(root.glob(f"{SITE_PACKAGES}/*.dist-info/METADATA")):
        fields = Parser().parsestr(metadata.read_text(encoding="utf-8"), headersonly=True)
        licences = [
            classifier.rpartition(" :: ")[2]
            for classifier in fields.get_all("Classifier", [])
            if classifier.startswith("License ::")
        ]
        licence = fields["License-Expression"] or ", ".join(licences)
        if fields["Name"] != "shoe-daemon":
            lines.append(f"  {fields['Name']} {fields['Version']}: {licence}\n")
    return lines


def _control_field(package: str, field: str) -> str:
    return str(Parser().parsestr((PACKAGING / package / "control").read_text())[field])


def _compress(file: Path) -> None:
    """Replace a file by its compressed form, without name and time inside."""
    packed = gzip.compress(file.read_bytes(), 9, mtime=0)
    file.with_name(file.name + ".gz").write_bytes(packed)
    file.unlink()


def _pack(root: Path, out: Path, processor: str) -> Path:
    """Write the control files and build the package."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files) // 1024 + 1
    checksums = "".join(f"{_md5(path)}  {path.relative_to(root)}\n" for path in files)
    control = root / "DEBIAN"
    control.mkdir()
    (control / "md5sums").write_text(checksums)
    fields = (PACKAGING / root.name / "control").read_text(encoding="utf-8")
    version = debian_version()
    values = {"version": version, "installed_size": size, "processor": processor}
    (control / "control").write_text(fields.format_map(values))
    for name in ("postinst", "prerm", "postrm", "templates", "triggers"):
        source = PACKAGING / root.name / name
        if source.exists():
            shutil.copyfile(source, control / name)
            (control / name).chmod(0o755 if name.startswith(("pre", "post")) else 0o644)
    _set_times(root)
    out.mkdir(parents=True, exist_ok=True)
    package = out / f"{root.name}_{version}_{processor}.deb"
    _run("dpkg-deb", "--root-owner-group", *COMPRESSION, "--build", root, package)
    return package


def _md5(file: Path) -> str:
    # dpkg's own format of checksums; it protects against mistakes, not against people
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()


def _set_times(root: Path) -> None:
    time = commit_time()
    for path in (root, *root.rglob("*")):
        os.utime(path, (time, time), follow_symlinks=False)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
