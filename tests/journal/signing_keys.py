"""Keys that sign the journals of tests."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoe_daemon.journal.signatures import Signer


def write_key(path: Path, number: int = 7, *, mode: int = 0o600) -> Path:
    """Write a private key that depends on the number only, and `public.pem` beside it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private)
    path.chmod(mode)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    path.with_name("public.pem").write_bytes(public)
    return path


def signing_key(number: int = 7) -> Signer:
    """Return a private key that depends on the number only."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    return Signer(key.public_key().public_bytes_raw(), key.sign)
