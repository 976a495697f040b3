"""The dealer's line counts what its reader will read, and nothing else."""

from __future__ import annotations

import os
import termios
from threading import Event

from shoe_daemon.demo.dealer import CountingLine


def test_what_a_reader_throws_away_when_it_opens_the_line_is_not_counted() -> None:
    line = CountingLine()
    line.send(b"nobody is there", Event())
    reader = os.open(line.address, os.O_RDWR | os.O_NOCTTY)
    line.send(b"thrown away", Event())
    termios.tcflush(reader, termios.TCIFLUSH)
    assert line.sent == 0
    line.send(b"read", Event())
    assert line.sent == 4
    assert not line.all_read(0)
    assert line.all_read(len(os.read(reader, 100)))
    os.close(reader)
    line.close()
