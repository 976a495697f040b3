"""`make-accounts.sh` of the samples, on a computer where `init` has encrypted the passwords."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "systemd/make-accounts.sh"


def test_an_account_with_an_encrypted_password_is_kept(tmp_path: Path) -> None:
    """A new password at the broker would lock out the service, which has the encrypted one."""
    passwords, accounts = tmp_path / "shoe-daemon", tmp_path / "mosquitto/shoe.passwd"
    passwords.mkdir()
    accounts.parent.mkdir()
    accounts.write_text("notify:old\nboard:hash\n")
    (passwords / "board.password.cred").write_text("sealed")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mosquitto_passwd").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nsed -i "s/:.*/:new/" "$2"\n'
    )
    (programs / "mosquitto_passwd").chmod(0o755)
    script = SCRIPT.read_text(encoding="utf-8").replace("/etc/", f"{tmp_path}/")
    done = subprocess.run(
        ["sh", "-c", script, "make-accounts.sh", "board", "notify"],
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert accounts.read_text() == "board:hash\nnotify:new\n"
    assert not (passwords / "board.password").exists()
    password = (passwords / "notify.password").read_text().strip()
    assert password
    # Every user can read the arguments of a program.
    assert password not in (tmp_path / "arguments").read_text()
    assert done.stdout.splitlines() == [
        f"board: {passwords}/board.password.cred, kept as it is",
        f"notify: {passwords}/notify.password",
        "next: systemctl reload mosquitto",
    ]
