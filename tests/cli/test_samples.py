"""`shoe-daemon samples` writes the sample files and never overwrites."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from shoe_daemon.cli import main

SYSTEMD = Path(__file__).parents[2] / "systemd"


def samples(folder: Path) -> str:
    result = CliRunner().invoke(main, ["samples", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_sample_is_written_and_named(tmp_path: Path) -> None:
    told = samples(tmp_path / "new" / "folder")
    for source in SYSTEMD.iterdir():
        target = tmp_path / "new" / "folder" / source.name
        assert target.read_bytes() == source.read_bytes()
        assert f"written  {target}\n" in told


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "example.toml"
    mine.write_text("mine", encoding="utf-8")
    told = samples(tmp_path)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert f"kept     {mine}\n" in told
    assert f"written  {tmp_path / 'display.toml'}\n" in told


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = CliRunner().invoke(main, ["samples", str(tmp_path / "file" / "folder")])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.endswith("cannot be written: Not a directory")
