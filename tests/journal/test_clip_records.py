"""Clips against the journal: unchanged, changed, unknown, removed, and older than the journal."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shoe_daemon.journal.clips import ClipRecord, check_clips

CONTENT = b"video"
HASH = hashlib.sha256(CONTENT).hexdigest()


def clip(folder: Path, at: str, content: bytes = CONTENT) -> ClipRecord:
    """Write a clip, and return what a witness recorded of it."""
    name = f"{at}-pit-8s-{HASH[:16]}.webm"
    (folder / name).write_bytes(content)
    return ClipRecord("clip", file=name, sha256=HASH)


def test_a_folder_is_compared_with_the_journal(tmp_path: Path) -> None:
    good = clip(tmp_path, "20261123-214500.250")
    changed = clip(tmp_path, "20261123-214600.000", CONTENT + b".")
    foreign = clip(tmp_path, "20261123-214700.000")
    removed = ClipRecord("clip", file="20261101-000000.000-pit-8s-0.webm", sha256=HASH)
    (tmp_path / ".20261123-214800.000-pit.webm").write_bytes(b"half")
    (tmp_path / "20261123-214500.250-P1-AS.jpg").write_bytes(b"picture")
    verdict = check_clips([good, changed, removed, ClipRecord("no_clip", cut="full")], tmp_path)
    assert (verdict.good, verdict.removed, verdict.missing, verdict.older) == (1, 1, 1, 0)
    assert verdict.altered == (changed.file,)
    assert verdict.unknown == (foreign.file,)
    assert not verdict.is_good


def test_a_clip_that_is_gone_before_older_ones_was_deleted(tmp_path: Path) -> None:
    first, second, third = (clip(tmp_path, f"20261123-2145{n}0.000") for n in range(3))
    other = ClipRecord("clip", file="20261123-214530.000-bar-8s-0.webm", sha256=HASH)
    records = [first, second, third, other]  # the other witness has another folder
    assert check_clips(records, tmp_path).is_good
    (tmp_path / str(second.file)).unlink()
    verdict = check_clips(records, tmp_path)
    assert (verdict.removed, verdict.deleted) == (2, (second.file,))
    assert not verdict.is_good
    (tmp_path / str(first.file)).unlink()  # the oldest ones are removed because of their age
    assert check_clips(records, tmp_path).is_good
    (tmp_path / str(third.file)).rename(tmp_path / ".20261123-214520.000-pit.webm")
    clip(tmp_path, "20261123-214510.000")
    assert check_clips(records, tmp_path).deleted == ()  # it is about to get its name


def test_a_journal_says_nothing_of_clips_before_its_first_shoe(tmp_path: Path) -> None:
    clip(tmp_path, "20261123-214459.999")
    later = clip(tmp_path, "20261123-214500.000")
    verdict = check_clips([], tmp_path, "2026-11-23T21:45:00.000Z")
    assert verdict.older == 1
    assert verdict.unknown == (later.file,)
    assert check_clips([later], tmp_path, "2026-11-23T21:45:00.000Z").is_good
