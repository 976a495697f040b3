"""
Many cases in one test.

For cases that take a millisecond: as tests of their own, most of the time would go into
collecting and reporting them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

__all__ = ["each_case"]

_Test = Callable[..., None]


def each_case(names: str, cases: Iterable[Any]) -> Callable[[_Test], _Test]:
    """
    Call a test once for each case, as ``pytest.mark.parametrize`` would, within one test.

    A failure names its case. The fixtures are made once: a test takes none that a case changes.

    Args:
        names: The parameters of the test, separated by commas.
        cases: The value of the parameter, or a tuple with one value for each.
    """
    parameters = [name.strip() for name in names.split(",")]
    values = [case if len(parameters) > 1 else (case,) for case in cases]
    assert values, f"no case for {names}"

    def decorate(test: _Test) -> _Test:
        signature = inspect.signature(test)

        @wraps(test)
        def test_each_case(*args: object, **fixtures: object) -> None:
            for each in values:
                case = dict(zip(parameters, each, strict=True))
                try:
                    test(*args, **fixtures, **case)
                except BaseException as error:
                    error.add_note(f"case: {case}")
                    raise

        kept = [each for each in signature.parameters.values() if each.name not in parameters]
        test_each_case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return test_each_case

    return decorate
