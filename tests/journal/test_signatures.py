"""Shoes are signed, so that a rewritten chain is found without the broker's copy."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from shoe_daemon.journal import Entry, Journal, JournalReader, Step, chain, writer
from shoe_daemon.journal.signatures import Signature, read_signatures
from shoe_daemon.table.observations import Tick
from shoe_daemon.table.times import from_microseconds, to_microseconds
from tests.journal import journal_entries
from tests.journal.journal_entries import SITE, TABLE, execute, fill, made, run_journal
from tests.journal.signing_keys import signing_key, write_key
from tests.volume import sample

SHOES = 3
OBSERVATIONS = 20 * SHOES + 5


@pytest.fixture
def public(tmp_path: Path) -> Path:
    write_key(tmp_path / "journal.key")
    return tmp_path / "public.pem"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed(tmp_path_factory.mktemp("signed") / "table-7.db")


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A signed journal of some shoes."""
    return Path(shutil.copy(original, tmp_path))


def signed(path: Path, observations: int = OBSERVATIONS, *, number: int = 7) -> Path:
    signer = signing_key(number)
    with Journal.open(path, SITE, TABLE, durable=False, signer=signer) as journal:
        fill(journal, observations)
    return path


def verify(path: Path, *options: object) -> Result:
    return run_journal("verify", path, *options)


def with_key(path: Path, public: Path) -> Result:
    return verify(path, "--key", public)


def copy_signatures(source: Path, target: Path) -> None:
    execute(
        target,
        f"ATTACH '{source}' AS other",
        "DELETE FROM signature",
        "INSERT INTO signature SELECT * FROM other.signature",
    )


def test_each_ended_shoe_is_signed(path: Path, public: Path) -> None:
    found = with_key(path, public)
    assert found.exit_code == 0, found.output
    assert "unchanged up to event 97; its end is not proved\n" in found.output
    assert "3 valid signatures; the last covers event 91 of 97" in found.output
    assert "; what follows is chained, not signed\n" in found.output
    answer = json.loads(verify(path, "--key", str(public), "--json").stdout)
    assert answer["good"]
    assert answer["signatures"]["verified"]
    assert answer["signatures"]["last"]["number"] == SHOES


def test_only_a_signature_of_the_last_row_that_the_key_made_proves_the_end(
    tmp_path: Path, public: Path
) -> None:
    path = signed(tmp_path / "table-7.db", 21)
    assert "; its end is not proved\n" in verify(path).output
    found = with_key(path, public)
    assert "unchanged up to event 31; its last row is signed\n" in found.output
    assert "not signed" not in found.output
    signed(path, 1)
    assert "unchanged up to event 33; its end is not proved\n" in with_key(path, public).output


@pytest.mark.parametrize("last", [60, 61, 64])
def test_a_cut_after_the_last_signature_that_is_left_leaves_the_end_unproved(
    path: Path, public: Path, last: int
) -> None:
    rest = {
        "event": "observation >",
        "checkpoint": "observation >",
        "observation": "id >",
        "capture": "after >=",
        "signature": "body ->> 'observations' >",
    }
    execute(path, *(f"DELETE FROM {table} WHERE {each} {last}" for table, each in rest.items()))  # noqa: S608
    answer = json.loads(verify(path, "--key", str(public), "--json").stdout)
    assert answer["good"]
    proved = "key" if answer["signatures"]["last"]["head"] == answer["hash"] else None
    assert answer["end_proved_by"] == proved
    assert (proved == "key") == (last == 61)


def test_the_chain_is_the_same_with_and_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_now", lambda: "2027-01-15T08:00:00.000Z")
    monkeypatch.setattr(chain, "new_salt", lambda: bytes(16))
    one = signed(tmp_path / "signed.db")
    other = made(tmp_path / "unsigned.db", OBSERVATIONS)
    with JournalReader(one) as first, JournalReader(other) as second:
        assert first.head() == second.head()


def test_without_the_key_the_signed_heads_are_compared(path: Path) -> None:
    found = verify(path)
    assert found.exit_code == 0
    assert "3 signatures, not compared with a key (--key)" in found.output


def test_a_chain_that_was_computed_again_is_found(
    path: Path, tmp_path: Path, public: Path
) -> None:
    forged = made(tmp_path / "forged.db", OBSERVATIONS)
    assert verify(forged).exit_code == 0
    copy_signatures(path, forged)
    found = with_key(forged, public)
    assert found.exit_code == 1
    assert "NOT PROVED: signature after event 31: the head after event 31 is" in found.output
    assert "the journal was changed before that event" in found.output


def test_a_rewritten_journal_without_signatures_is_not_proved(path: Path, public: Path) -> None:
    execute(path, "DELETE FROM signature")
    found = with_key(path, public)
    assert found.exit_code == 1
    assert "no signature: nothing proves that the chain was not computed again" in found.output


def test_a_forger_who_signs_with_a_key_of_her_own_is_found(tmp_path: Path, public: Path) -> None:
    forged = signed(tmp_path / "forged.db", number=9)
    found = with_key(forged, public)
    assert found.exit_code == 1
    assert "signature after event 31: signed with another key: " in found.output


def test_a_signature_under_the_name_of_the_right_key_is_found(
    tmp_path: Path, public: Path
) -> None:
    forged = signed(tmp_path / "forged.db", number=9)
    mine, right = signing_key(9).public.hex(), signing_key().public.hex()
    execute(
        forged,
        f"UPDATE signature SET key = x'{right}',"  # noqa: S608 - ours
        f" body = replace(body, '{mine}', '{right}')",
    )
    found = with_key(forged, public)
    assert found.exit_code == 1
    assert "the signature is invalid" in found.output


def test_a_signature_of_another_table_is_refused(path: Path, tmp_path: Path, public: Path) -> None:
    other = tmp_path / "table-8.db"
    with Journal.open(other, SITE, "table-8", signer=signing_key()):
        pass
    copy_signatures(path, other)
    found = with_key(other, public)
    assert found.exit_code == 1
    assert f"it is of {SITE}/{TABLE}, expected {SITE}/table-8" in found.output


def test_an_end_that_was_cut_off_is_found(path: Path, public: Path) -> None:
    execute(
        path,
        "DELETE FROM event WHERE observation > 50",
        "DELETE FROM checkpoint WHERE observation > 50",
        "DELETE FROM observation WHERE id > 50",
        "DELETE FROM capture WHERE after >= 50",
    )
    for found in (verify(path), with_key(path, public)):
        assert found.exit_code == 1
        assert "it covers event 91, but the last event is 75: the end of the" in found.output


def test_a_missing_signature_is_found(path: Path, public: Path) -> None:
    execute(path, "DELETE FROM signature WHERE shoe = 2")
    found = with_key(path, public)
    assert found.exit_code == 1
    assert (
        "signature after event 91: it is signature 3, expected 2: some are missing" in found.output
    )


@pytest.mark.parametrize("column", ["seq", "shoe", "body", "key", "signature"])
def test_every_byte_of_a_signature_counts(path: Path, public: Path, column: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        rows: list[Any] = connection.execute(
            f"SELECT {column} FROM signature WHERE shoe = 3"  # noqa: S608 - one of ours
        ).fetchone()
    value = rows[0]
    others = [value + 1000] if isinstance(value, int) else list(_others(value))
    for other in others:
        replace(path, column, value, other)
        assert with_key(path, public).exit_code == 1, other
        replace(path, column, other, value)


def replace(path: Path, column: str, before: object, after: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            f"UPDATE signature SET {column} = ? WHERE {column} = ?",  # noqa: S608 - one of ours
            (after, before),
        )


def _others(value: str | bytes) -> list[str | bytes]:
    raw = value.encode() if isinstance(value, str) else value
    places = range(0, len(raw), max(1, len(raw) // 6))
    changed = [raw[:each] + bytes([raw[each] ^ 1]) + raw[each + 1 :] for each in places]
    return [each.decode() if isinstance(value, str) else each for each in changed]


def test_shoes_after_a_lost_key_are_covered_by_the_next_signature(
    tmp_path: Path, public: Path
) -> None:
    path = signed(tmp_path / "table-7.db", 25)
    with Journal.open(path, SITE, TABLE) as journal:
        fill(journal, 40)
    with Journal.open(path, SITE, TABLE, signer=signing_key()) as journal:
        fill(journal, 20)
        assert journal.signature is not None
        assert journal.signature.shoe == 4
    found = with_key(path, public)
    assert found.exit_code == 0, found.output
    assert "3 valid signatures" in found.output


def test_openssl_verifies_a_signature_too(path: Path, tmp_path: Path, public: Path) -> None:
    with Journal.open(path, SITE, TABLE) as journal:
        last = journal.signature
    assert last is not None
    (tmp_path / "signed").write_bytes(last.body)
    (tmp_path / "signature").write_bytes(last.signature)
    done = subprocess.run(
        [
            *("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin"),
            *("-in", tmp_path / "signed", "-sigfile", tmp_path / "signature"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Signature Verified Successfully" in done.stdout


@pytest.mark.parametrize("a_start", sample([7, 1, 1000], 2), ids="observations_a_start={}".format)
def test_play_is_signed_every_ten_minutes(
    tmp_path: Path, public: Path, monkeypatch: pytest.MonkeyPatch, a_start: int
) -> None:
    start, step, longest = 1_800_000_000, 50, 200 / 60  # a 4th observation has no events, and ends
    monkeypatch.setattr(
        journal_entries,
        "moment",
        lambda number: from_microseconds((start + number * step) * 10**6),
    )
    path = tmp_path / "table-7.db"
    for _ in range(0, 140, a_start):
        signed(path, min(a_start, 140))
    found = with_key(path, public)
    assert found.exit_code == 0, found.output
    with JournalReader(path) as reader:
        said = [json.loads(each.body) for each in read_signatures(reader.connection)]
        (first,) = reader.connection.execute("SELECT min(at) FROM event").fetchone()
        (last,) = reader.connection.execute("SELECT max(at) FROM event").fetchone()
    times = [to_microseconds(at) / 60e6 for at in (first, *(each["at"] for each in said), last)]
    assert max(later - at for at, later in pairwise(times)) <= 10 + longest
    assert len(said) <= (times[-1] - times[0]) / 10 + max(each["shoe"] for each in said)
    # Each statement names the last shoe that had ended: one of 20 observations has started since.
    assert [each["shoe"] for each in said] == [(each["observations"] - 1) // 20 for each in said]


def test_a_table_that_rests_is_not_signed_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        journal_entries, "moment", lambda number: from_microseconds((2**31 + number) * 10**6)
    )
    with Journal.open(path, SITE, TABLE, signer=signing_key()) as journal:
        before = journal.signature
        for _ in range(3):
            tick = Tick(at=journal_entries.moment(journal.head.observation))
            journal.append([Entry(steps=[Step(tick)])])
        assert journal.signature == before
        fill(journal, 1)
        assert journal.signature != before


def test_signatures_survive_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = signed(tmp_path / "table-7.db", 19)
    with Journal.open(path, SITE, TABLE, signer=signing_key()) as journal:
        fill(journal, 1)
        monkeypatch.setattr(journal, "_check_same_file", _fail)
        with pytest.raises(Exception, match="no disk"):
            fill(journal, 1)
        assert not stored(journal)
        monkeypatch.undo()
        fill(journal, 1)
        assert stored(journal) == [journal.signature]


def stored(journal: Journal) -> list[Signature]:
    with journal.reader() as reader:
        return list(read_signatures(reader.connection))


def _fail() -> None:
    raise OSError(0, "no disk")


def keygen(folder: Path) -> Result:
    return run_journal("keygen", folder)


def test_keygen_writes_two_keys_and_never_overwrites_one(tmp_path: Path) -> None:
    made_keys = keygen(tmp_path)
    assert made_keys.exit_code == 0, made_keys.output
    private, public = tmp_path / "journal.key", tmp_path / "journal-public.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert "PRIVATE KEY" in private.read_text()
    assert "PUBLIC KEY" in public.read_text()
    for kept, removed in ((private, public), (public, private)):
        removed.unlink(missing_ok=True)
        kept.write_text("mine")
        again = keygen(tmp_path)
        assert again.exit_code == 2
        assert "an existing key is never overwritten" in again.stderr
        assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no public key in it; expected journal-public.pem"),
        ("private", "no public key in it; expected journal-public.pem"),
        (None, "cannot be read: no such file or directory"),
    ],
)
def test_what_is_no_public_key_is_refused(
    path: Path, tmp_path: Path, content: str | None, message: str
) -> None:
    key = tmp_path / "other.pem"
    if content == "private":
        shutil.copy(write_key(tmp_path / "journal.key"), key)
    elif content is not None:
        key.write_text(content)
    found = with_key(path, key)
    assert found.exit_code == 2
    assert f"{key}: {message}" in found.stderr
