"""The password of a network camera is in the configuration and nowhere else."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from drivers.camera.sources.address import parse_address
from shoe_daemon.cli import main
from shoe_daemon.cli.calibrate.camera import _wanted
from tests.camera.profiles import simulated_profile
from tests.camera.simulated_tables import settings

_PORT = "camera:rtsp://operator:s3cret@127.0.0.1:9/one"


def _configured(folder: Path) -> Path:
    profile = simulated_profile(settings(seed=1), folder / "profile")
    file = folder / "table.toml"
    file.write_text(
        f'site = "casino"\n[journal]\npath = "{folder}/journal.db"\n'
        f'[[reader]]\nid = "eye"\ndriver = "camera"\nport = "{_PORT}"\n'
        f'[reader.options]\nprofile = "{profile}"\n'
    )
    return file


def test_what_looks_at_a_configuration_does_not_tell_it(tmp_path: Path) -> None:
    file = str(_configured(tmp_path))
    for arguments in (
        ["check-config", file],
        ["doctor", "--config", file],
        ["diagnostics", "--config", file],
    ):
        told = CliRunner().invoke(main, arguments)
        assert "rtsp://127.0.0.1:9/one" in told.output, told.output
        assert "s3cret" not in told.output


def test_a_profile_does_not_keep_it() -> None:
    """A source that differs from its profile's is reported with both, passwords redacted."""
    options = {"mode": None, "risk": None, "station": "overhead"}
    wanted = _wanted(parse_address(_PORT), None, options)
    assert wanted.camera.source == "camera:rtsp://127.0.0.1:9/one"
