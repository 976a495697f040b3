"""The documentation of the display agrees with the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoe_daemon.display.config import load_display
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.operators import hash_pin
from shoe_daemon.web import CONTENT_SECURITY_POLICY

DOCS = Path(__file__).parents[2] / "docs"
DISPLAY, SECURITY = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("display", "security")
)


@pytest.mark.parametrize("text", [DISPLAY, SECURITY], ids=["display", "security"])
def test_every_configuration_is_accepted(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pit.hash").write_text(hash_pin("12345678"), encoding="utf-8")
    (tmp_path / "logo.svg").write_text("<svg/>", encoding="utf-8")
    for account in ("board", "pit-display", "pit-log"):
        (tmp_path / f"{account}.password").write_text("x\n", encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        shown = re.sub(r"\[mqtt\.tls\]\nca_file.*\n", "", block)
        path = tmp_path / "display.toml"
        path.write_text(shown, encoding="utf-8")
        assert not load_display(path).config.display.open_pit


def test_the_policy_and_the_topics_are_those_of_the_code() -> None:
    assert f"Content-Security-Policy: {CONTENT_SECURITY_POLICY}\n" in SECURITY
    found = re.search(r"<prefix>/<site or \+>/\+/  (.*)", SECURITY)
    assert found is not None
    asked = sorted(each.removeprefix("p/+/+/") for each in topic_filters("p", None))
    assert found[1].split("  ") == asked
