"""Passwords: the wait after wrong ones, and their hashes."""

from __future__ import annotations

from shoe_daemon.password_hashes_and_throttle import (
    LoginThrottle,
    hash_password,
    is_hash,
    verify_password,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_wait_doubles_and_has_an_end() -> None:
    clock = Clock()
    throttle = LoginThrottle(2.0, 300.0, clock)
    waits = []
    for _ in range(12):
        throttle.failed("a")
        waits.append(throttle.wait_s("a"))
        clock.now += waits[-1]
    assert waits == [0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert throttle.wait_s("a") == throttle.wait_s("b") == 0
    throttle.failed("a")
    throttle.succeeded("a")
    throttle.failed("a")
    assert throttle.wait_s("a") == 0


def test_it_remembers_a_limited_number_of_addresses() -> None:
    throttle = LoginThrottle(2.0, 300.0, Clock())
    for number in range(5000):
        for _ in range(3):
            throttle.failed(f"10.0.{number}")
    assert throttle.wait_s("10.0.4999") > 0
    assert throttle.wait_s("10.0.0") == 0


def test_a_password_is_verified_by_its_hash() -> None:
    hashed = hash_password("4711")
    assert is_hash(hashed)
    assert not is_hash("4711")
    assert verify_password(hashed, "4711")
    assert not verify_password(hashed, b"4712")
