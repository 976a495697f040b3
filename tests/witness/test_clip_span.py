"""When a clip begins and ends, against a second description of the same rules."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from drivers import Picture, VideoRing
from shoe_daemon.witness.span import Cause, ClipSpan

AFTER, LONGEST = 3, 20
_NOW = datetime(2026, 11, 23, tzinfo=UTC)

moments = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=120)
"""For each second: a new cause, and whether something is undecided from then on."""


@given(moments)
def test_a_clip_spans_what_the_rules_say(script: list[tuple[bool, bool]]) -> None:
    span = ClipSpan(AFTER, LONGEST)
    began: int | None = None
    last_unquiet = 0
    was_undecided = False
    for now, (caused, undecided) in enumerate(script):
        span.follow([Cause("missing_draw", now)] if caused else [], now, undecided=undecided)
        if began is None and caused:
            began = now
        # A decision is made at the end of the time in which it was missing.
        if caused or undecided or was_undecided:
            last_unquiet = now
        was_undecided = undecided
        assert span.is_open is (began is not None)
        expected = None
        if began is not None and not undecided and now - last_unquiet >= AFTER:
            expected = "decided"
        elif began is not None and now - began >= LONGEST:
            expected = "too_long"
        assert span.end(now) == expected
        if expected is not None:
            began = None


@given(moments)
def test_each_cause_is_in_one_clip(script: list[tuple[bool, bool]]) -> None:
    span = ClipSpan(AFTER, LONGEST)
    told: list[Cause] = []
    kept: list[Cause] = []
    for now, (caused, undecided) in enumerate(script):
        if caused:
            told.append(Cause("missing_draw", now))
        span.follow(told[-1:] if caused else [], now, undecided=undecided)
        if span.end(now) is not None:
            kept += span.causes
    if span.is_open:
        kept += span.causes
    assert kept == told


def test_a_dispute_that_is_never_decided_has_one_clip() -> None:
    span = ClipSpan(AFTER, LONGEST)
    span.follow([Cause("missing_draw", 1)], 0, undecided=True)
    ends = [end for now in range(1000) if (end := span.end(now)) is not None]
    assert ends == ["too_long"]


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=40)), max_size=60),
    st.integers(1, 20),
    st.integers(0, 200),
)
def test_a_ring_has_the_newest_pictures_within_its_bounds(
    jpegs: list[bytes | None], most: int, most_bytes: int
) -> None:
    ring = VideoRing(most, most_bytes)
    for jpeg in jpegs:
        ring.add(Picture(_NOW, jpeg))
    kept = [each.jpeg for each in ring]
    used = sum(len(each or b"") for each in kept)
    assert kept == jpegs[len(jpegs) - len(kept) :]
    assert used == ring.used_bytes <= most_bytes
    assert len(kept) <= most
    if len(kept) < min(most, len(jpegs)):
        assert used + len(jpegs[-len(kept) - 1] or b"") > most_bytes
