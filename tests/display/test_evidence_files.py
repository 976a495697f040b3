"""Evidence files of rounds: names, hashes, and the archive of a round."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from shoe_daemon.display.evidence import (
    CHUNK_BYTES,
    Clip,
    ClipState,
    EvidenceFiles,
    EvidenceTimes,
    evidence_times,
    parse_clip,
    parse_picture,
    round_archive,
)
from tests.each_case import each_case

TABLE = "casino.table-7"
AT = 1_795_291_200_000_000
TIMES = EvidenceTimes(TABLE, ((AT, AT + 60_000_000),), None)


def write_clip(folder: Path, second: int, content: bytes) -> Clip:
    digits = hashlib.sha256(content).hexdigest()[:16]
    name = f"20261121-2000{second:02}.000-ceiling-5s-{digits}.webm"
    (folder / TABLE).mkdir(exist_ok=True)
    (folder / TABLE / name).write_bytes(content)
    clip = parse_clip(name)
    assert clip is not None
    return clip


def test_the_name_of_a_clip_has_its_time_witness_length_and_hash() -> None:
    name = "20261121-200005.250-cam-2-17s-0123456789abcdef.webm"
    assert parse_clip(name) == Clip(name, AT + 5_250_000, "cam-2", 17, "0123456789abcdef")


@each_case(
    "name",
    [
        ".20261121-200005.250-cam-17s-0123456789abcdef.webm",
        "20261121-200005.250-cam-17s-0123456789abcdef.webm.part",
        "20261121-200005.250-cam-17s-0123456789ABCDEF.webm",
        "20261121-200005.250-cam-17s-0123456789abcde.webm",
        "20261121-200005.250-17s-0123456789abcdef.webm",
        "20261121-200005.250-cam-99999999999999999999s-0123456789abcdef.webm",
        "20261121-200005.250-cam-86401s-0123456789abcdef.webm",
        "20261321-200005.250-cam-17s-0123456789abcdef.webm",
        "00010101-200005.250-cam-17s-0123456789abcdef.webm",
        "\uff120261121-200005.250-cam-17s-0123456789abcdef.webm",
        "../20261121-200005.250-cam-17s-0123456789abcdef.webm",
        "20261121-200005.250-cam-17s-0123456789abcdef.webm\n",
        "",
    ],
)
def test_another_name_is_that_of_no_clip(name: str) -> None:
    assert parse_clip(name) is None
    assert parse_picture(name) is None


def test_a_clip_is_read_once_and_again_after_each_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = write_clip(tmp_path, 5, b"clip")
    files = EvidenceFiles(tmp_path)
    digest = Mock(wraps=hashlib.file_digest)
    monkeypatch.setattr(hashlib, "file_digest", digest)
    assert [files.check(TABLE, clip) for _ in range(3)] == [ClipState.INTACT] * 3
    assert digest.call_count == 1
    path = tmp_path / TABLE / clip.name
    before = path.stat()
    path.write_bytes(b"clap")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert files.check(TABLE, clip) is ClipState.CHANGED
    path.unlink()
    assert files.check(TABLE, clip) is None


def test_a_clip_that_cannot_be_read_is_neither_intact_nor_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = write_clip(tmp_path, 5, b"clip")

    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert EvidenceFiles(tmp_path).check(TABLE, clip) is ClipState.UNREADABLE


def test_a_file_that_no_witness_wrote_is_not_read(tmp_path: Path) -> None:
    name = f"20261123-214500.000-pit-8s-{'0' * 16}.webm"
    clip = parse_clip(name)
    assert clip is not None
    (tmp_path / TABLE).mkdir()
    with (tmp_path / TABLE / name).open("wb") as file:
        file.truncate(10**12)  # sparse: to read it would take an hour
    assert EvidenceFiles(tmp_path).check(TABLE, clip) is ClipState.UNREADABLE


def test_a_decision_after_the_round_is_a_time_of_it() -> None:
    entry = {"at": AT + 1_000_000, "closed": AT + 900_000_000}
    found = {
        "table": TABLE, "at": AT, "ended": AT + 20_000_000,
        "events": [{"at": AT}], "entries": [entry],
    }  # fmt: skip
    times = evidence_times(found, None)
    assert times is not None
    assert times.spans == (
        (AT - 2_000_000, AT + 25_000_000), (AT + 898_000_000, AT + 905_000_000)
    )  # fmt: skip
    assert evidence_times({**found, "ended": None}, None) is None


def test_a_picture_of_the_next_round_waits_until_that_has_ended() -> None:
    picture = parse_picture("20261121-200023.000-P1-AS.jpg")
    assert picture is not None
    spans = ((AT, AT + 25_000_000),)
    assert EvidenceTimes(TABLE, spans, None).has_picture(picture)
    assert not EvidenceTimes(TABLE, spans, AT + 22_000_000).has_picture(picture)


def test_an_archive_names_what_vanished_while_it_was_made(tmp_path: Path) -> None:
    clips = [
        write_clip(tmp_path, second, bytes([second]) * (3 * CHUNK_BYTES)) for second in (5, 6, 7)
    ]
    parts = round_archive(EvidenceFiles(tmp_path), TIMES, AT, lambda _: b"{}")
    received = [next(parts)]
    # The first is being sent: its bytes stay until the end. The second is gone.
    for clip in clips[:2]:
        (tmp_path / TABLE / clip.name).unlink()
    received += parts
    assert max(map(len, received)) < 2 * CHUNK_BYTES
    with zipfile.ZipFile(io.BytesIO(b"".join(received))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            f"clips/{clips[0].name}", f"clips/{clips[2].name}",
            "round.json", "missing.txt", "SHA256SUMS",
        ]  # fmt: skip
        assert archive.read("missing.txt").decode().splitlines()[2:] == [f"clips/{clips[1].name}"]
        for line in archive.read("SHA256SUMS").decode().splitlines():
            digest, _, name = line.partition("  ")
            assert hashlib.sha256(archive.read(name)).hexdigest() == digest
