"""Passwords: the wait after wrong ones, and their hashes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.operators import (
    WrongAttempts,
    hash_password,
    is_hash,
    verify_password,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.tuples(st.floats(0, 100), st.sampled_from("ab")), max_size=200))
def test_few_are_wrong_in_any_window_and_no_wait_is_longer(
    attempts: list[tuple[float, str]],
) -> None:
    """Whatever an adversary does: the guesses are few, and their end is near."""
    clock = Clock()
    wrong = WrongAttempts(6, 60.0, clock)
    checked: dict[str, list[float]] = {"a": [], "b": []}
    for pause, key in attempts:
        clock.now += pause
        if (wait_s := wrong.wait_s(key)) > 0:
            assert wait_s <= 60
            assert len([at for at in checked[key] if at > clock.now - 60]) == 6
            continue
        wrong.failed(key)
        checked[key].append(clock.now)
        assert len([at for at in checked[key] if at > clock.now - 60]) <= 6
    assert len(wrong) <= 2


def test_it_remembers_names_for_one_window_only() -> None:
    clock = Clock()
    wrong = WrongAttempts(6, 60.0, clock)
    for number in range(5000):
        clock.now += 0.1
        wrong.failed(number)
    assert len(wrong) == 600


def test_a_password_is_verified_by_its_hash() -> None:
    hashed = hash_password("4711")
    assert is_hash(hashed)
    assert not is_hash("4711")
    assert verify_password(hashed, "4711")
    assert not verify_password(hashed, b"4712")
