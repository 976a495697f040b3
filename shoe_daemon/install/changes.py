"""From the answers to the changes of this computer: secrets, accounts, certificates, files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.install.answers import Answers, check_password
from shoe_daemon.install.files import (
    Change,
    CredentialFolder,
    Record,
    compare,
    contents,
    heading,
    write,
)
from shoe_daemon.install.mosquitto import (
    account_names,
    add_accounts,
    add_tables,
    new_password,
    users,
)
from shoe_daemon.install.plan import (
    CERTIFICATES,
    CONFIGS,
    MOSQUITTO,
    PlannedFile,
    Secrets,
    display_account,
    operator_sections,
    plan_files,
)
from shoe_daemon.install.questions import ask_secret
from shoe_daemon.journal.signatures import KEY_NAME, PUBLIC_NAME
from shoe_daemon.operators import hash_password, hash_pin, operator_names
from shoe_daemon.settings.files import ENCRYPTED_SUFFIX

ACCOUNTS: Final = f"{MOSQUITTO}/shoe.passwd"
RIGHTS: Final = f"{MOSQUITTO}/shoe.acl"
_OPERATORS: Final = f"{CONFIGS}/operators.toml"
_SERVER: Final = f"{CERTIFICATES}/broker.pem"


class Installation(Struct, frozen=True):
    """
    Everything that is about to be written.

    Attributes:
        answers: The answers from which it follows.
        root: The root folder of the computer.
        changes: All files, unchanged ones too.
        sealed: New secrets that are encrypted, by the name of their file.
        credentials: Where they are written.
    """

    answers: Answers
    root: Path
    changes: list[Change]
    sealed: Mapping[str, str]
    credentials: CredentialFolder

    def description(self, *, with_contents: bool) -> Iterator[str]:
        """Yield the lines that name all changes, or show them."""
        for name in self.sealed:
            yield f"new       {CONFIGS}/{name}{ENCRYPTED_SUFFIX}  (encrypted)"
        for change in self.changes:
            yield from contents(change) if with_contents else (heading(change),)

    def write(self, record: Record) -> None:
        """
        Write all changes and the record of them.

        Raises:
            UserError: A file cannot be written.
        """
        (self.root / CONFIGS.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name, text in self.sealed.items():
            self.credentials.encrypt(name, text)
        record.answers.pop(self.answers.table, None)
        record.answers[self.answers.table] = self.answers
        write(self.root, self.changes, record)


def prepare(  # noqa: PLR0913 - what the command was given
    answers: Answers,
    root: Path,
    record: Record,
    samples: Mapping[str, str],
    *,
    encrypt: bool,
    named_operators: Collection[str] = (),
) -> Installation:
    """
    Make or ask for missing secrets, and return all changes that follow from checked answers.
    Nothing is written. With `encrypt`, new passwords and keys will be encrypted. Operators that
    an option of this run names are added to the existing ones.

    Raises:
        UserError: An existing file cannot be read, or an answer is invalid.
    """
    credentials = CredentialFolder(root / CONFIGS.lstrip("/"), encrypt=encrypt)
    accounts = account_names_of(answers)
    known = {name: credentials.read(f"{name}.password") for name in accounts}
    new = {name: _password(answers, name) for name, password in known.items() if not password}
    private_key, public_key = _new_signing_keys(root, credentials) or (None, None)
    sealed = {f"{name}.password": f"{password}\n" for name, password in new.items()}
    if private_key:
        sealed[KEY_NAME] = private_key
    names = [*(f"{name}.password" for name in accounts), KEY_NAME]
    secrets = Secrets(
        accounts={} if encrypt else new,
        encrypted=tuple(name for name in names if credentials.is_encrypted(name)),
        pit_hash=_pit_hash(answers, root),
        operator_hashes=_operator_hashes(answers, root),
        signs=private_key is not None or credentials.exists(KEY_NAME),
        private_key=None if encrypt else private_key,
        public_key=public_key,
    )
    changes = compare(root, plan_files(answers, secrets, samples), record)
    known_operators = {name for each in record.answers.values() for name in each.operators}
    new_operators = [
        name
        for name in answers.operators
        if name in named_operators or name not in known_operators
    ]
    changes += _added_operators(new_operators, root)
    if answers.has_broker:
        passwords = {name: known[name] or new[name] for name in accounts}
        changes.append(accounts_change := _accounts_change(root, passwords))
        names = account_names(accounts_change.file.text)
        rights = samples["mosquitto-shoe.acl"].replace("casino", answers.site)
        changes.append(_rights_change(root, rights, names, record))
        changes += compare(root, _certificate_files(answers, root), record)
    return Installation(answers, root, changes, sealed if encrypt else {}, credentials)


def account_names_of(answers: Answers) -> list[str]:
    """Return the accounts at the broker of a table and its display."""
    names = [answers.table]
    if answers.has_display:
        names.append("board")
    if answers.has_broker:
        names.append("pit")
    if answers.has_broker and answers.has_display:
        names += [display_account(answers), "pit-log"]
    return names


def _password(answers: Answers, account: str) -> str:
    if answers.has_broker:
        return new_password()
    return ask_secret(f"Password of {account!r} at {answers.broker}", _not_empty)


def _not_empty(password: str) -> str:
    if not password:
        raise UserError("password: empty; expected the one that the broker knows")
    return password


def _pit_hash(answers: Answers, root: Path) -> str | None:
    if answers.display != "network" or _exists(root, f"{CONFIGS}/pit.hash"):
        return None
    return hash_password(ask_secret("Password of the pit's page", check_password))


def _operator_hashes(answers: Answers, root: Path) -> dict[str, str]:
    return {} if _exists(root, _OPERATORS) else _ask_pins(answers.operators)


def _ask_pins(operators: Iterable[str]) -> dict[str, str]:
    return {name: ask_secret(f"PIN of {name}", hash_pin) for name in operators}


def _added_operators(names: Iterable[str], root: Path) -> Iterator[Change]:
    """Yield the change of an existing operators file that lacks some of them."""
    before = read_text(root, _OPERATORS)
    if before is None:
        return
    known = operator_names(root / _OPERATORS.lstrip("/")) if names else ()
    if hashes := _ask_pins(name for name in names if name not in known):
        text = f"{before.rstrip()}\n{operator_sections(hashes)}"
        yield Change(PlannedFile(_OPERATORS, text, 0o600, secret=True), "changed", before)


def _new_signing_keys(root: Path, credentials: CredentialFolder) -> tuple[str, str] | None:
    """Return a new key that signs journals; None if there is one, or the extra is missing."""
    if credentials.exists(KEY_NAME):
        return None
    try:
        from shoe_daemon.journal.keys import new_keys  # noqa: PLC0415 - needs an extra
    except ImportError:
        return None
    if _exists(root, f"{CONFIGS}/{PUBLIC_NAME}"):
        raise UserError(
            f"{CONFIGS}/{PUBLIC_NAME}: is there without its {KEY_NAME}; it verifies older "
            "journals: move it to another folder, and init makes a new key"
        )
    return new_keys()


def _accounts_change(root: Path, passwords: Mapping[str, str]) -> Change:
    before = read_text(root, ACCOUNTS)
    text = add_accounts(before or "", passwords)
    file = PlannedFile(ACCOUNTS, text, 0o640, "mosquitto", secret=True)
    if before is None:
        return Change(file, "new")
    return Change(file, "unchanged" if text == before else "changed", before)


def _rights_change(root: Path, sample: str, accounts: Collection[str], record: Record) -> Change:
    """Return the change that gives every account without a block the rights of a table."""
    before = read_text(root, RIGHTS) or ""
    # In the order of the file, so that make-accounts.sh does not count as an edit.
    order = dict.fromkeys((*(name for name in users(before) if name in accounts), *accounts))
    (change,) = compare(root, [PlannedFile(RIGHTS, add_tables(sample, order))], record)
    amended = add_tables(before, accounts)
    if change.action == "edited" and amended != before:
        return Change(PlannedFile(RIGHTS, amended), "amended", before)
    return change


def _certificate_files(answers: Answers, root: Path) -> list[PlannedFile]:
    """Return the broker's certificate, and the authority, where they do not exist or fit."""
    if not answers.tls_names:
        return []
    try:
        from shoe_daemon.install import certificates  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise UserError(
            "certificates need cryptography, which is not installed: "
            "pip install 'shoe-daemon[keys]'"
        ) from error
    server = read_text(root, _SERVER)
    if server is not None and set(answers.tls_names) <= certificates.names_of(server):
        return []
    files = []
    ca, ca_key = (read_text(root, f"{CERTIFICATES}/{name}") for name in ("ca.pem", "ca.key"))
    if ca is None or ca_key is None:
        authority = certificates.make_authority(answers.site)
        files += [
            PlannedFile(f"{CERTIFICATES}/ca.pem", authority.certificate),
            PlannedFile(f"{CERTIFICATES}/ca.key", authority.key, 0o600, secret=True),
        ]
    else:
        authority = certificates.KeyPair(ca, ca_key)
    pair = certificates.make_server_certificate(authority, answers.tls_names)
    key_file = f"{CERTIFICATES}/broker.key"
    return [
        *files,
        PlannedFile(_SERVER, pair.certificate),
        PlannedFile(key_file, pair.key, 0o640, "mosquitto", secret=True),
    ]


def _exists(root: Path, path: str) -> bool:
    return (root / path.lstrip("/")).exists()


def read_text(root: Path, path: str) -> str | None:
    """
    Return the text of a file below a root folder; None if there is none.

    Raises:
        UserError: It cannot be read.
    """
    try:
        return (root / path.lstrip("/")).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {one_line(error)}") from error
