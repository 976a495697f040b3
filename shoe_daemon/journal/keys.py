"""
Ed25519 keys that sign a journal: PEM files, as `openssl` reads them.

Needs the extra `keys`: import this module only where a key is used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.journal.signatures import KEY_NAME, PUBLIC_NAME, Signature, Signer


def load_signing_key(path: Path) -> Signer:
    """
    Load a private key.

    Raises:
        UserError: The file cannot be read, is readable by every user, or is no Ed25519 key.
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & stat.S_IRWXO:
            raise UserError(f"{path}: every user can read it; make a new key, of mode 0600")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {one_line(error).lower()}") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: no private key in it; `journal keygen` makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(f"{path}: another kind of key; expected Ed25519, as of `journal keygen`")
    return Signer(key.public_key().public_bytes_raw(), key.sign)


def load_public_key(path: Path) -> Callable[[Signature], bool]:
    """
    Load a public key; return the check of a signature, as `check_signatures` takes it.

    Raises:
        UserError: The file cannot be read or is no Ed25519 public key.
    """
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {one_line(error).lower()}") from error
    except ValueError as error:
        raise UserError(f"{path}: no public key in it; expected {PUBLIC_NAME}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UserError(f"{path}: another kind of key; expected Ed25519")
    return partial(_is_valid, key)


def _is_valid(key: Ed25519PublicKey, signature: Signature) -> bool:
    raw = key.public_bytes_raw()
    if signature.key != raw:
        found, expected = signature.key.hex()[:16], raw.hex()[:16]
        raise ValueError(f"signed with another key: {found}…, expected {expected}…")
    try:
        key.verify(signature.signature, signature.body)
    except InvalidSignature:
        return False
    return True


def new_keys() -> tuple[str, str]:
    """Return a new private key and its public key, both PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def make_keys(folder: Path) -> tuple[Path, Path]:
    """
    Write a new private key and its public key; return their paths.

    Raises:
        UserError: One of the files exists, or cannot be written.
    """
    private, public = folder / KEY_NAME, folder / PUBLIC_NAME
    for path in (private, public):
        if os.path.lexists(path):
            raise UserError(
                f"{path}: exists; an existing key is never overwritten: choose another folder"
            )
    private_text, public_text = new_keys()
    try:
        _write(private, private_text.encode(), 0o600)
        _write(public, public_text.encode(), 0o644)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {one_line(error).lower()}") from error
    return private, public


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
