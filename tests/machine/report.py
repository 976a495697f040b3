"""Writes the report of the tests on the machine: `docs/machine.md`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from tests.machine import image

REPORT: Final = image.ROOT / "docs" / "machine.md"
PARTIAL_REPORT: Final = image.FOLDER / "report.md"
"""Where not all tests ran."""
VERSIONS_FILE: Final = image.FOLDER / "versions"

_HEAD: Final = """# Proof on a machine

Written by `make test-machine` on {date}. A virtual machine with Debian 12 and its own kernel runs
the Debian packages, under qemu without hardware support: everything in it is five to ten times
slower than on a table's computer, and the networks of the camera some hundred times.
`tests/machine` describes each test.

| in the machine | version |
|---|---|
{versions}

## Tests

| promise | result | seconds |
|---|---|---|
{tests}
"""

VERSIONS: Final = """
echo kernel: $(uname -r)
echo Debian: $(cat /etc/debian_version)
echo systemd: $(systemctl --version | head -1 | cut -d' ' -f2)
echo Python: $(python3 -V | cut -d' ' -f2)
echo mosquitto: $(dpkg-query -f '${Version}' -W mosquitto)
echo shoe-daemon: $(dpkg-query -f '${Version}' -W shoe-daemon)
"""
"""Prints them in the machine."""


class Report:
    """
    Collects results and figures of all workers.

    Attributes:
        tests: Node id, result and seconds of each test.
        figures: Lines of each section.
    """

    def __init__(self) -> None:
        self.tests: list[tuple[str, str, float]] = []
        self.figures: dict[str, list[str]] = {}

    def add(self, test: pytest.TestReport) -> None:
        """Take the result of a test, and the figures that it recorded as properties."""
        if test.when == "call" or (test.when == "setup" and not test.passed):
            self.tests.append((test.nodeid, test.outcome, test.duration))
            for section, line in test.user_properties:
                self.figures.setdefault(section, []).append(str(line))

    def write(self, path: Path) -> None:
        """Write the report."""
        rows = (line.split(": ", 1) for line in VERSIONS_FILE.read_text().splitlines())
        text = _HEAD.format(
            date=time.strftime("%Y-%m-%d"),
            versions="\n".join(f"| {name} | {version} |" for name, version in rows),
            tests="\n".join(
                f"| {_sentence(name)} | {result} | {seconds:.0f} |"
                for name, result, seconds in sorted(self.tests)
            ),
        )
        for section, lines in sorted(self.figures.items()):
            text += f"\n## {section}\n\n```\n" + "\n".join(sorted(lines)) + "\n```\n"
        path.write_text(text, encoding="utf-8")


def _sentence(name: str) -> str:
    return name.rpartition("::")[2].removeprefix("test_").replace("_", " ")
