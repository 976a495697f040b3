"""
A small authority of the site, and the certificates that it signs.

Needs the extra `keys`: import this module only where certificates are made.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import Struct

from shoe_daemon.errors import UserError

_AUTHORITY_DAYS: Final = 3650
_SERVER_DAYS: Final = 825
"""The longest time that current browsers accept."""

_SIGN_ONLY: Final = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class KeyPair(Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: str
    key: str


def make_authority(site: str) -> KeyPair:
    """Return a new authority, valid for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"Authority of {site}")
    builder = _builder(name, key, _AUTHORITY_DAYS).issuer_name(name)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_SIGN_ONLY, critical=True)
    return _sign(builder, key, key)


def make_server_certificate(authority: KeyPair, names: Sequence[str]) -> KeyPair:
    """
    Return a certificate for a server, valid for 825 days, signed by an authority.

    Args:
        authority: The authority and its key.
        names: Host names and addresses by which clients connect; the first is its name.

    Raises:
        UserError: The authority cannot be used.
    """
    issuer, signer = _load(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(names[0]), key, _SERVER_DAYS).issuer_name(issuer.subject)
    others = x509.SubjectAlternativeName([_general_name(each) for each in names])
    builder = builder.add_extension(others, critical=False)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return _sign(builder.add_extension(identifier, critical=False), key, signer)


def names_of(certificate: str) -> set[str]:
    """
    Return the host names and addresses of a certificate.

    Raises:
        UserError: It is no certificate.
    """
    try:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as error:
        raise UserError("the broker's certificate: no certificate with names in it") from error
    addresses = names.get_values_for_type(x509.IPAddress)
    return {*names.get_values_for_type(x509.DNSName), *map(str, addresses)}


def _load(authority: KeyPair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(authority.certificate.encode())
        key = serialization.load_pem_private_key(authority.key.encode(), password=None)
    except ValueError as error:
        raise UserError(
            "the site's authority: no certificate or key in it that can be used"
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UserError("the site's authority: expected an elliptic curve key")
    return certificate, key


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _sign(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    certificate = builder.sign(signer, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
