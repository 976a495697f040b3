"""
The table is a pure fold: the same observations give the same bytes, from any
checkpoint, with ticks or without.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from shoe_daemon.errors import UserError
from shoe_daemon.table import encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds, to_microseconds
from tests.public_json import encode_public_table
from tests.table.dealer import NATURAL, Dealer
from tests.table.random_observations import RandomObservations
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# In the last, silence lets a new session release a held round.
SEEDS = [*range(volume(4, 11)), 11, 1121]


def fold(table: Table, observations: Iterable[seen.Observation]) -> bytes:
    """Return all that a table says, as it is written."""
    lines = [encode_event(event) for each in observations for event in table.apply(each)]
    return b"\n".join(lines)


def with_ticks(observations: Iterable[seen.Observation], seed: int) -> Iterator[seen.Observation]:
    """Add a tick at each deadline, and some that are owed to nobody."""
    table, random, before = Table(), Random(seed), None
    for observation in observations:
        now = to_microseconds(observation.at)
        while (due := table.deadline) is not None and due[0] <= now:
            tick = seen.Tick(at=from_microseconds(due[0]), deadline=due[1])
            table.apply(tick)
            yield tick
        if before is not None and random.random() < 0.2:
            tick = seen.Tick(at=from_microseconds(random.randint(before, now)))
            table.apply(tick)
            yield tick
        table.apply(observation)
        yield observation
        before = now


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_observations_give_the_same_bytes(seed: int) -> None:
    one, other = Table(), Table()
    assert fold(one, RandomObservations(seed).generate(500)) == fold(
        other, RandomObservations(seed).generate(500)
    )
    assert one.checkpoint() == other.checkpoint()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_that_was_written_and_read_gives_the_same_bytes(seed: int) -> None:
    observations = list(RandomObservations(seed).generate(500))
    read = [seen.decode_observation(seen.encode_observation(each)) for each in observations]
    assert fold(Table(), observations) == fold(Table(), read)


@pytest.mark.parametrize("seed", SEEDS)
def test_from_every_checkpoint_it_goes_on_alike(seed: int) -> None:
    table = Table()
    for observation in RandomObservations(seed).generate(250):
        body = table.checkpoint()
        restored = Table.restore(body)
        assert restored.checkpoint() == body
        assert restored.apply(observation) == table.apply(observation)
        assert encode_public_table(restored.public()) == encode_public_table(table.public())
        assert restored.deadline == table.deadline
        assert restored.mode == table.mode


@pytest.mark.parametrize("seed", SEEDS)
def test_ticks_change_nothing(seed: int) -> None:
    observations = list(RandomObservations(seed).generate(500))
    ticked = list(with_ticks(observations, seed))
    assert len(ticked) > len(observations)
    without, with_ = Table(), Table()
    assert fold(without, observations) == fold(with_, ticked)
    assert without.checkpoint() == with_.checkpoint()


def test_a_deadline_is_met_at_its_own_moment_in_order() -> None:
    dealer = Dealer("chickasaw")
    dealer.deal(NATURAL, slots=False)
    first = dealer.table.deadline
    assert first is not None
    assert first[1] == "reveal"
    said = dealer.wait(60)
    assert {event.at for event in said} == {from_microseconds(first[0])}
    assert dealer.table.deadline is None


def test_an_observation_that_changes_nothing_says_nothing() -> None:
    table = Table()
    for each in (seen.Tick(), seen.Standby(), seen.Command(name="acknowledge")):
        assert table.apply(replace(each, at="2026-11-21T09:34:46Z")) == []


@pytest.mark.parametrize("body", [b"", b"table-0\n\x80", b"table-1\n", b"table-1\n\x80\x80", b"x"])
def test_what_is_no_checkpoint(body: bytes) -> None:
    with pytest.raises(UserError) as raised:
        Table.restore(body)
    assert "\n" not in str(raised.value)


def test_a_damaged_checkpoint_is_refused_or_read_never_a_traceback() -> None:
    dealer = Dealer("chickasaw")
    dealer.deal(NATURAL)
    dealer.draw("AC")
    body = bytearray(dealer.table.checkpoint())
    random = Random(7)
    for _ in range(2000):
        damaged = body.copy()
        damaged[random.randrange(len(body))] = random.randrange(256)
        try:
            Table.restore(bytes(damaged))
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some damage is not to be seen
