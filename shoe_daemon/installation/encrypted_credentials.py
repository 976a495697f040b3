"""
Secret files below /etc/shoe-daemon, encrypted by systemd-creds where this is possible.

An encrypted file can be read on this computer only. `configured_files_and_credentials.read_secret`
decrypts a password for root; services receive it by ``LoadCredentialEncrypted=``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from shoe_daemon.configured_files_and_credentials import ENCRYPTED_SUFFIX, read_secret
from shoe_daemon.errors import UserError


class CredentialFolder:
    """
    The secret files of one installation, by name.

    Args:
        folder: Where they are.
        encrypt: Whether new ones are encrypted.
    """

    def __init__(self, folder: Path, *, encrypt: bool) -> None:
        self._folder = folder
        self._encrypt = encrypt

    def exists(self, name: str) -> bool:
        """True if there is such a file, encrypted or not."""
        return (self._folder / name).exists() or self._encrypted(name).exists()

    def read(self, name: str) -> str | None:
        """
        Return the password in a file; None if there is none.

        Raises:
            UserError: It cannot be read or decrypted.
        """
        return read_secret(name, self._folder, name) if self.exists(name) else None

    def is_encrypted(self, name: str) -> bool:
        """True when a file is encrypted, or will be."""
        exists = (self._folder / name).exists()
        return not exists and (self._encrypt or self._encrypted(name).exists())

    def encrypt(self, name: str, text: str) -> None:
        """
        Write an encrypted file.

        Raises:
            UserError: systemd-creds fails.
        """
        command = ["systemd-creds", "encrypt", f"--name={name}", "-", str(self._encrypted(name))]
        done = subprocess.run(  # noqa: S603 - our own arguments
            command, input=text.encode(), capture_output=True, check=False
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
