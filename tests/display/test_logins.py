"""Guesses are few, and delay only whoever guesses."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network
from threading import Event

from shoe_daemon.display.logins import MAX_WAITING, Logins, TooManyError
from shoe_daemon.web import client_network
from tests.display.event_loop import in_event_loop
from tests.each_case import each_case


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Door:
    """Log-ins with a clock; `enter` returns True, False, or the seconds to wait."""

    def __init__(self, *, guessable: bool = True) -> None:
        self.clock = Clock()
        self.logins = Logins("test", guessable=guessable, monotonic=self.clock)

    async def enter(self, name: str, address: str, *, right: bool) -> bool | int:
        try:
            return await self.logins.check(name, address, lambda: right)
        except TooManyError as error:
            return error.seconds


@in_event_loop
async def test_of_a_name_and_an_address_few_are_wrong() -> None:
    door, wrong = Door(), 0
    for _ in range(600):
        door.clock.now += 6
        wrong += await door.enter("Ann", "a", right=False) is False
    assert wrong <= 30
    # Neither another name there, nor the same one elsewhere.
    assert await door.enter("Bob", "a", right=True) is True
    assert await door.enter("Ann", "b", right=True) is True


@in_event_loop
async def test_many_addresses_guess_no_pin_and_lock_no_known_address_out() -> None:
    door, wrong = Door(), 0
    assert await door.enter("Ann", "her phone", right=True) is True
    for number in range(5000):
        door.clock.now += 0.7
        wrong += await door.enter("Ann", f"stranger {number}", right=False) is False
    assert wrong <= 61
    assert await door.enter("Ann", "her phone", right=False) is False
    assert await door.enter("Ann", "her phone", right=True) is True


@in_event_loop
async def test_changing_addresses_shut_nobody_out_of_the_pit() -> None:
    door = Door(guessable=False)
    for number in range(500):
        assert await door.enter("", f"stranger {number}", right=False) is False
    assert await door.enter("", "a new one", right=True) is True


@in_event_loop
async def test_strangers_at_once_are_refused_at_once_and_delay_no_session() -> None:
    door, answer = Door(), Event()
    tasks = [
        asyncio.create_task(door.logins.check(f"{each}", f"{each}", answer.wait))
        for each in range(60)
    ]
    try:
        refused, waiting = await asyncio.wait(tasks, timeout=1, return_when="ALL_COMPLETED")
        assert len(waiting) == MAX_WAITING
        assert all(isinstance(each.exception(), TooManyError) for each in refused)
        async with asyncio.timeout(20):
            assert await door.logins.check_of_session(lambda: True)
    finally:
        answer.set()
        await asyncio.gather(*tasks, return_exceptions=True)


@in_event_loop
async def test_who_invents_names_at_one_address_takes_one_place_and_few_checks() -> None:
    door, answer = Door(), Event()
    tasks = [
        asyncio.create_task(door.logins.check(f"{each}", "a", answer.wait)) for each in range(60)
    ]
    try:
        _refused, waiting = await asyncio.wait(tasks, timeout=1)
        assert len(waiting) == 1
        supervisor = asyncio.create_task(door.enter("Ann", "a new one", right=True))
    finally:
        answer.set()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert await supervisor is True
    wrong = 0
    for number in range(1000):
        door.clock.now += 3
        wrong += await door.enter(f"nobody {number}", "a", right=False) is False
    assert wrong <= 60
    assert await door.enter("Bob", "a second new one", right=True) is True


@each_case(
    "peer, forwarded, client",
    [
        ("192.0.2.7", ["203.0.113.9"], "192.0.2.7/32"),
        ("10.0.0.7", [], "10.0.0.7/32"),
        ("10.0.0.7", ["203.0.113.9"], "203.0.113.9/32"),
        ("10.0.0.7", ["1.1.1.1, 203.0.113.9"], "203.0.113.9/32"),
        ("10.0.0.7", ["1.1.1.1, 203.0.113.9", "10.0.0.8"], "203.0.113.9/32"),
        ("10.0.0.7", ["what?"], ""),
        ("::ffff:10.0.0.7", ["203.0.113.9"], "203.0.113.9/32"),
        ("2001:db8:1:2:3::4", [], "2001:db8:1:2::/64"),
        ("10.0.0.7", ["2001:db8:1:2:ffff::"], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("", [], ""),
    ],
)
def test_the_address_is_the_last_that_no_proxy_has(
    peer: str, forwarded: list[str], client: str
) -> None:
    assert client_network(peer, forwarded, [ip_network("10.0.0.0/24")]) == client
