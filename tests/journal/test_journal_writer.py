"""Appended entries are stored once, in order, and visible to all readers."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.journal import Entry, Journal, JournalReader, JournalUnwritable, Step
from shoe_daemon.journal.verify import verify
from shoe_daemon.table.observations import Tick, decode_observation, encode_observation
from tests.journal.journal_entries import SITE, entry, events_of, fill, made, moment, open_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table-7.journal"


def beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def test_a_new_journal_is_empty_and_when_closed_alone_and_not_for_everyone(path: Path) -> None:
    with open_journal(path) as journal:
        assert (journal.head.seq, journal.head.observation) == (0, 0)
        assert journal.head.hash == journal.identity.hash()
    assert beside(path) == [path.name]
    assert path.stat().st_mode & 0o007 == 0


def test_append_returns_the_events_as_they_are_stored(path: Path) -> None:
    with open_journal(path) as journal, journal.reader() as reader:
        returned = [event for _ in range(30) for event in journal.append([entry(journal.head)])]
        assert returned == reader.events(0)
        assert [event.seq for event in returned] == list(range(1, journal.head.seq + 1))
        assert reader.events(3, limit=2) == returned[3:5]
        assert reader.events(journal.head.seq) == []


def test_a_batch_is_one_piece(path: Path) -> None:
    with open_journal(path) as one:
        fill(one, 2)
        first = entry(one.head)
        steps = (*first.steps, Step(Tick(at=moment(99))))
        one.append([Entry(b"frame of two", steps), Entry(b"says nothing", at=moment(100))])
        assert (one.head.observation, one.head.capture) == (4, 4)
    with JournalReader(path) as reader:
        assert reader.head() == one.head
        assert verify(reader).broken is None


@pytest.mark.parametrize("length", [0, 7, 20, 21])
def test_reopened_it_ends_where_it_ended(path: Path, length: int) -> None:
    made(path, length)
    with open_journal(path) as journal:
        head = journal.head
        assert head.observation == length
        fill(journal, 1)
        assert journal.head.seq == head.seq + events_of(length + 1)
    with JournalReader(path) as reader:
        assert verify(reader).broken is None


def test_bytes_have_the_moment_and_the_source_that_were_given(path: Path) -> None:
    with open_journal(path) as journal, journal.reader() as reader:
        tick = Step(Tick(at=moment(1), deadline="quiet"))
        journal.append([Entry(b"raw", [tick], at=moment(2), source="angel")])
        journal.append([Entry(b"raw", [tick])])
        kept = reader.connection.execute("SELECT at, source FROM capture").fetchall()
        assert kept == [(moment(2), "angel"), (moment(1), None)]
        assert verify(reader).broken is None


def test_what_does_not_follow_is_refused_before_it_is_written(path: Path) -> None:
    with open_journal(path) as journal:
        fill(journal, 1)
        head = journal.head
        next_entry = entry(head)
        journal.append([next_entry])
        with pytest.raises(ValueError, match="event 2 cannot follow event 3"):
            journal.append([next_entry])
        with pytest.raises(ValueError, match="without a moment"):
            journal.append([Entry(b"", [Step(Tick())])])
        with pytest.raises(ValueError, match="without a moment"):
            journal.append([Entry(b"raw")])
        assert journal.head.observation == 2


def test_an_event_of_another_table_is_refused(path: Path) -> None:
    made(path.with_name("other"), 1)
    with Journal.open(path, SITE, "table-8") as journal:
        with pytest.raises(ValueError, match="an event of casino-north/table-7"):
            fill(journal, 1)
        assert journal.head.seq == 0


def test_observations_come_back_as_they_were(path: Path) -> None:
    with open_journal(path) as journal:
        given = []
        for _ in range(30):
            one = entry(journal.head)
            given.append(one.steps[0].observation)
            journal.append([one])
        with journal.reader() as reader:
            lines = [encode_observation(observation) for observation in given]
            assert list(reader.observation_lines()) == lines
            assert list(reader.observations()) == [decode_observation(line) for line in lines]
            assert len(list(reader.observations(28))) == 2


def test_a_start_folds_from_the_last_shoe(path: Path) -> None:
    with open_journal(path) as journal, journal.reader() as reader:
        assert reader.last_checkpoint() is None
        fill(journal, 45)
        assert reader.head() == journal.head
        checkpoint = reader.last_checkpoint()
        assert checkpoint is not None
        assert (checkpoint.observation, checkpoint.shoe) == (41, 3)
        assert checkpoint.body == b"state 41"
        following = reader.observations(checkpoint.observation)
        assert [seen.at for seen in following] == [moment(n) for n in range(42, 46)]


def test_what_is_counted_is_written_with_the_next_entry_and_at_the_end(path: Path) -> None:
    with open_journal(path) as journal, journal.reader() as reader:
        journal.set_cursor("mqtt", 3)
        journal.count("angel", repeats=2, bytes=10)
        assert reader.cursor("mqtt") == 0
        fill(journal, 1)
        assert reader.cursor("mqtt") == 3
        journal.count("angel", repeats=1, noise=4)
        journal.count(None, noise=1)
        journal.flush()
        journal.flush()
        counted = reader.connection.execute("SELECT * FROM counter ORDER BY source").fetchall()
        assert counted == [("", 0, 1, 0), ("angel", 3, 4, 10)]
        journal.set_cursor("mqtt", 7)
    with JournalReader(path) as reader:
        assert (reader.cursor("mqtt"), reader.cursor("nobody")) == (7, 0)


def test_two_writers_are_refused(path: Path) -> None:
    with open_journal(path) as journal:
        with pytest.raises(UserError, match=r"table-7.journal: process \d+ is writing it"):
            open_journal(path)
        fill(journal, 1)
    with open_journal(path) as journal:
        assert journal.head.observation == 1


def test_the_journal_of_another_table_is_refused(path: Path) -> None:
    made(path, 3)
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"of casino-north/table-7, not of casino-north/table-8"):
        Journal.open(path, SITE, "table-8")
    assert path.read_bytes() == before
    assert beside(path) == [path.name]


def test_a_reader_of_another_thread_sees_every_event_once_while_it_is_written(
    path: Path,
) -> None:
    seen: list[int] = []
    with open_journal(path) as journal:
        done = threading.Event()

        def follow() -> None:
            with journal.reader() as reader:
                while True:
                    last = done.is_set()
                    for event in reader.events(seen[-1] if seen else 0, limit=7):
                        seen.append(event.seq)
                        journal.set_cursor("mqtt", event.seq)
                    if last and seen[-1] == journal.head.seq:
                        return

        thread = threading.Thread(target=follow)
        thread.start()
        fill(journal, 150)
        done.set()
        thread.join(60)
        assert not thread.is_alive()
        assert seen == list(range(1, journal.head.seq + 1))
    with JournalReader(path) as reader:
        assert reader.cursor("mqtt") == journal.head.seq


def test_a_journal_that_was_taken_away_is_not_written_into_the_void(path: Path) -> None:
    with open_journal(path) as journal:
        fill(journal, 2)
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(JournalUnwritable, match="No such file"):
            fill(journal, 1)
        path.write_bytes(b"another one")
        with pytest.raises(JournalUnwritable, match="another file has taken its place"):
            fill(journal, 1)
        path.with_name("elsewhere").rename(path)
        fill(journal, 1)
        assert journal.head.observation == 3


def test_a_disk_that_became_read_only_spoils_no_close(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal(path)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    journal.close()
    monkeypatch.undo()
    open_journal(path).close()
