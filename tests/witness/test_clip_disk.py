"""The folder of the clips stays within its size, whatever the table does."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from shoe_daemon.evidence import EvidenceFolder

_MEGABYTE = 1_000_000
_CLIPS = re.compile(r"\.?[0-9.-]+\.webm")
_START = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_week_of_disputes_never_exceeds_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = _START.timestamp()
    monkeypatch.setattr("time.time", lambda: now)
    folder = EvidenceFolder(tmp_path, _CLIPS, 30, 2000)
    chance = np.random.default_rng(0)
    largest = 0
    while now < (_START + timedelta(days=7)).timestamp():
        now += chance.exponential(1800)
        path = tmp_path / f"{now:.3f}.webm"
        size = int(chance.integers(_MEGABYTE // 2, 40 * _MEGABYTE))
        folder.prepare()
        path.touch()
        os.truncate(path, size)  # sparse: it takes no room on this disk
        os.utime(path, (now, now))
        folder.add(size)
        if folder.is_too_large:
            folder.clean_up()
        total = sum(each.stat().st_size for each in tmp_path.iterdir())
        assert total <= 2000 * _MEGABYTE
        assert path.exists(), "the newest clip is always kept"
        largest = max(largest, total)
    assert largest > 1900 * _MEGABYTE, "so many disputes reach the limit"
