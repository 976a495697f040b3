"""
Passwords below /etc/shoe-daemon, encrypted by systemd-creds where this is possible.

An encrypted password can be read on this computer only. `read_secret` of `configured_files`
decrypts it for root; services receive it by ``LoadCredentialEncrypted=``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from shoe_daemon.configured_files import ENCRYPTED_SUFFIX, read_secret
from shoe_daemon.errors import UserError

__all__ = ["CredentialFolder", "can_encrypt"]


class CredentialFolder:
    """
    The password files of one installation.

    Args:
        folder: Where they are.
        encrypt: Whether new passwords are encrypted.
    """

    def __init__(self, folder: Path, *, encrypt: bool) -> None:
        self._folder = folder
        self._encrypt = encrypt

    def read(self, account: str) -> str | None:
        """
        Return the existing password of an account; None if there is none.

        Raises:
            UserError: It cannot be read or decrypted.
        """
        name = f"{account}.password"
        if not (self._folder / name).exists() and not self._encrypted(name).exists():
            return None
        return read_secret(name, self._folder, f"password of {account}")

    def is_encrypted(self, account: str) -> bool:
        """True when the password of an account is encrypted, or will be."""
        name = f"{account}.password"
        exists = (self._folder / name).exists()
        return not exists and (self._encrypt or self._encrypted(name).exists())

    def encrypt(self, account: str, password: str) -> None:
        """
        Write the encrypted password of an account.

        Raises:
            UserError: systemd-creds fails.
        """
        name = f"{account}.password"
        command = ["systemd-creds", "encrypt", f"--name={name}", "-", str(self._encrypted(name))]
        done = subprocess.run(  # noqa: S603 - our own arguments
            command, input=f"{password}\n".encode(), capture_output=True, check=False
        )
        if done.returncode:
            raise UserError(f"systemd-creds encrypt {name}: {done.stderr.decode().strip()}")

    def _encrypted(self, name: str) -> Path:
        return self._folder / f"{name}{ENCRYPTED_SUFFIX}"


def can_encrypt() -> bool:
    """Tell whether systemd-creds encrypts and decrypts on this computer."""
    program = shutil.which("systemd-creds")
    if program is None:
        return False
    sealed = _run(program, "encrypt", b"test")
    return sealed is not None and _run(program, "decrypt", sealed) == b"test"


def _run(program: str, verb: str, data: bytes) -> bytes | None:
    command = [program, verb, "--name=test", "-", "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603
    return done.stdout if done.returncode == 0 else None
