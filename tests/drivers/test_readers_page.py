"""The configurations of `docs/readers.md`, as printed there, are accepted by `check-config`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from drivers import driver_names
from shoe_daemon.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "readers.md"
HEAD, *READERS = re.findall(
    r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("reader", READERS, ids=lambda text: re.sub(r"\W+", "-", text)[9:40])
def test_each_configuration_is_accepted(reader: str, tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text(f"{HEAD}\n{reader}", encoding="utf-8")
    result = CliRunner().invoke(main, ["check-config", str(file)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.search(r"(?m)^rounds    end by (button|device|quiet) \(auto\)", result.output)
    assert "never tried on a real reader" in result.output


def test_every_driver_of_the_page_has_a_configuration() -> None:
    named = set(re.findall(r'^driver = "(.+)"', "\n".join(READERS), re.MULTILINE))
    assert named == set(driver_names()) - {"angel-eye-ii", "camera"}


def test_a_preset_sets_the_line_and_the_configuration_overrides_it(tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    reader = '[[reader]]\ndriver = "line-scanner"\nport = "/dev/x"\n'
    options = '[reader.options]\npreset = "olivetti"\n'
    for line, shown in (("", "9600 7E1"), ("[reader.line]\nbytesize = 8\n", "9600 8E1")):
        file.write_text(f'site = "a"\n{reader}{line}{options}', encoding="utf-8")
        assert (
            f"line-scanner on /dev/x, {shown}"
            in CliRunner().invoke(main, ["check-config", str(file)]).output
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            'preset = "symbol"',
            "reader 'shoe': options: preset: 'symbol'; expected one of fujitsu, ",
        ),
        (
            "repeat_window = 9",
            "reader 'shoe': options: repeat_window: 9; expected a number of at most 5",
        ),
        ('cards = {"17" = "5X"}', "options: cards.17: '5X'; expected a card, such as 'AS'"),
        ('cards_file = "deck.toml"', "deck.toml: cannot be read: No such file or directory; "),
        ("window = 1", "reader 'shoe': options: window: unknown key; expected one of cards, "),
    ],
)
def test_an_error_is_one_line(options: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text(
        'site = "a"\n[[reader]]\ndriver = "line-scanner"\nport = "/dev/x"\n'
        f"[reader.options]\n{options}\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(main, ["check-config", str(file)])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
