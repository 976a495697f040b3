"""
The commands of the docs, as printed there, against a real mosquitto with the shipped
configuration, rights and accounts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documented_commands import PROJECT, Computer
from tests.service.daemon_process import Shoe
from tests.volume import volume

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(180)]


at_full_volume = pytest.mark.skipif(not volume(0, 1), reason="takes half a minute")


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[Shoe]:
    with Shoe(tmp_path / "line") as shoe:
        yield shoe


@pytest.fixture
def computer(tmp_path: Path, shoe: Shoe) -> Iterator[Computer]:
    with Computer(tmp_path / "computer", shoe.link) as computer:
        yield computer


@at_full_volume
def test_a_table_is_installed_watched_and_given_orders(computer: Computer, shoe: Shoe) -> None:
    install = "docs/install-by-hand.md"
    computer.follow(install, "# Installing a table by hand", "## 6")
    shoe.wait_heard().draw("P1:9S", "B1:2H")
    watched, _, heard, verified = computer.follow_lines(install, "## 6", "## More tables")
    assert "Baccarat 7" in watched
    assert "live" in watched
    assert "shoe/v1/casino/table-7/state {" in heard
    assert "journal.db: unchanged up to event " in verified
    heard = computer.follow_lines("docs/mqtt.md", "# MQTT", "## Topics")[1]
    assert "shoe/v1/casino/table-7/status {" in heard
    # The table answers all of them, and refuses: there is no round 12, for instance.
    orders = ("docs/orders.md", "# Orders", "## The orders")
    answers = computer.follow_lines(*orders, statuses={1})
    assert [answer.partition(":")[0] for answer in answers] == ["refused"] * 3
    replay = computer.lines(*orders)[-1].replace("--from-seq 800", "--from-seq 1")
    assert computer.run(replay).startswith("done: replay: ")
    more = ("## More tables", "### Rights of an earlier version", "## A broker on another")
    computer.follow(install, more[0], more[1])
    rights, passwords = (computer.path(f"etc/mosquitto/shoe.{end}") for end in ("acl", "passwd"))
    assert "table-8" not in rights.read_text(encoding="utf-8") + passwords.read_text("utf-8")
    before = rights.read_text(encoding="utf-8")
    computer.follow(install, more[1], more[2])
    assert "\nuser table-7\n" in before
    assert rights.read_text(encoding="utf-8").strip() == before.strip()


@at_full_volume
def test_a_display_is_installed_its_pit_locked_and_given_the_notifications(
    computer: Computer,
) -> None:
    computer.follow("docs/install-by-hand.md", "# Installing a table by hand", "## 3")
    computer.follow("docs/display.md", "## Install it", "## A screen at the table")
    unit = computer.path("etc/systemd/system/shoe-display.service").read_text(encoding="utf-8")
    assert f"LoadCredential=board.password:{computer.path('etc/shoe-daemon')}/" in unit
    assert computer.path("etc/shoe-daemon/pit.hash").read_text("utf-8").startswith("$argon2id$")
    # The account that reads whether notifications arrive.
    computer.run("sh make-accounts.sh notify && systemctl reload mosquitto")
    computer.follow("docs/notify.md", "### In the pit", "## The webhook")
    assert computer.path("etc/shoe-daemon/pit-display.password").exists()
    unit = computer.path("etc/systemd/system/shoe-display.service.d/staff.conf").read_text("utf-8")
    assert "LoadCredential=pit-display.password:" in unit


def test_the_short_form_does_the_same(computer: Computer) -> None:
    computer.run("shoe-daemon samples ~/shoe-samples")
    computer.follow("systemd/README.md", "## A table, a broker and a display in short")
    computer.run("shoe-daemon watch --config /etc/shoe-daemon/table-7.toml")


def test_a_broker_for_other_computers(computer: Computer) -> None:
    page = "docs/install-by-hand.md"
    computer.follow(page, "# Installing a table by hand", "## 3")
    computer.follow(page, "## A broker on another computer")
    config = computer.path("etc/shoe-daemon/table-7.toml")
    computer.run("cp example.toml /etc/shoe-daemon/table-7.toml")
    computer.run("cp /etc/mosquitto/certs/ca.pem /etc/shoe-daemon/broker-ca.pem")
    text = config.read_text(encoding="utf-8")
    shown = re.search(r"```toml\n(.*?)```", (PROJECT / page).read_text("utf-8"), re.DOTALL)
    assert shown is not None
    ours = re.sub(r"\[mqtt\].*?(?=\n\[orders\])", shown[1], text, flags=re.DOTALL)
    config.write_text(computer.staged(ours), encoding="utf-8")
    told = computer.run("shoe-daemon check-config /etc/shoe-daemon/table-7.toml")
    assert "broker.casino.example:8883, MQTT 5, TLS" in told
