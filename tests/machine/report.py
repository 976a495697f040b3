"""Writes the report of the tests on the machine: `docs/machine.md`."""

from __future__ import annotations

import time
from typing import Final

from tests.machine import image

REPORT: Final = image.ROOT / "docs" / "machine.md"

_HEAD: Final = """# Proof on a machine

Written by `make test-machine` on {date}. A virtual machine with Debian 12 and its own kernel runs
the Debian packages, under qemu without hardware support: everything in it is five to ten times
slower than on a table's computer. `tests/machine` describes each test.

| in the machine | version |
|---|---|
{versions}

## Tests

| promise | result | seconds |
|---|---|---|
{tests}
"""

_VERSIONS: Final = """
echo kernel: $(uname -r)
echo Debian: $(cat /etc/debian_version)
echo systemd: $(systemctl --version | head -1 | cut -d' ' -f2)
echo Python: $(python3 -V | cut -d' ' -f2)
echo mosquitto: $(dpkg-query -f '${Version}' -W mosquitto)
echo shoe-daemon: $(dpkg-query -f '${Version}' -W shoe-daemon)
"""


class Report:
    """Results and figures of one run."""

    versions_command: Final = _VERSIONS

    def __init__(self) -> None:
        self.versions = ""
        self.tests: list[tuple[str, str, float]] = []
        self.sections: dict[str, list[str]] = {}

    def add(self, section: str, line: str) -> None:
        """Add a line to a section, and show it."""
        self.sections.setdefault(section, []).append(line)
        image.progress(f"{section}: {line}")

    def write(self) -> None:
        """Write the report."""
        rows = (line.split(": ", 1) for line in self.versions.splitlines())
        text = _HEAD.format(
            date=time.strftime("%Y-%m-%d"),
            versions="\n".join(f"| {name} | {version} |" for name, version in rows),
            tests="\n".join(
                f"| {_sentence(name)} | {result} | {seconds:.0f} |"
                for name, result, seconds in self.tests
            ),
        )
        for section, lines in self.sections.items():
            text += f"\n## {section}\n\n```\n" + "\n".join(lines) + "\n```\n"
        REPORT.write_text(text, encoding="utf-8")


def _sentence(name: str) -> str:
    return name.rpartition("::")[2].removeprefix("test_").replace("_", " ")
