"""
`python -m tests.fuzz [--seconds S] [--parser NAME] [--seed N]`: fuzz the parsers in turn.

Seconds are of processor time: a busy machine tries no fewer inputs. They are added up for each
parser in tests/fuzz/spent.json. Ends with 1 where a parser raised, after writing the input to
build/fuzz/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import time
import traceback
from pathlib import Path

from tests.fuzz.parsers import CORPUS, PARSERS, add_to_corpus, outcome, read_corpus

SPENT = CORPUS.parent / "spent.json"
MAX_INPUT = 4000
MAX_CORPUS = 60
SLOW_S = 5.0
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[0-9a-f]{8,}|\d+|/\S+")


def shape(text: str) -> str:
    """Return an outcome without its values: inputs of the same shape are alike."""
    return _VARYING.sub("#", text)[:200]


def mutated(chance: random.Random, corpus: list[bytes]) -> bytes:
    """Return an input of the corpus, changed at a few places."""
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 2, 4, 12))):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(7):
            case 0 if data:
                data[place % len(data)] ^= 1 << chance.randrange(8)
            case 1:
                data[place:place] = chance.randbytes(chance.randint(1, 8))
            case 2:
                del data[place : place + chance.randint(1, 20)]
            case 3:
                data[place:place] = data[place : place + chance.randint(1, 60)]
            case 4:
                other = chance.choice(corpus)
                start = chance.randrange(len(other) + 1)
                data[place:place] = other[start : start + chance.randint(1, 200)]
            case 5:
                values = (b"0", b"-1", b"1e999", b"null", b"\xff\xfe", b"[" * 50, b'"', b"\\u0000")
                data[place : place + chance.randint(0, 8)] = chance.choice(values)
            case _:
                lines = bytes(data).split(b"\n")
                chance.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data[:MAX_INPUT])


class Fuzzer:
    """One parser, its corpus, and the shapes of the outcomes so far."""

    def __init__(self, name: str, seed: str) -> None:
        self.name = name
        self.inputs = self.faults = self.added = 0
        self._reported: set[str] = set()
        self._chance = random.Random(f"{seed} {name}")
        self._corpus = read_corpus(name)
        self._shapes = {shape(outcome(name, each)) for each in self._corpus}

    def run(self, seconds: float) -> None:
        """Try inputs for so many seconds of processor time; an interrupted run counts, too."""
        begin = time.process_time()
        try:
            while time.process_time() < begin + seconds:
                self._try(mutated(self._chance, self._corpus))
        finally:
            self._add_up(time.process_time() - begin)

    def _add_up(self, seconds: float) -> None:
        spent = json.loads(SPENT.read_text(encoding="ascii"))
        before = spent.get(self.name, {"seconds": 0, "inputs": 0, "faults": 0})
        here = {"seconds": round(seconds), "inputs": self.inputs, "faults": self.faults}
        spent[self.name] = {key: before[key] + here[key] for key in here}
        lines = [f'  "{name}": {json.dumps(spent[name])}' for name in sorted(spent)]
        SPENT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")

    def _try(self, data: bytes) -> None:
        self.inputs += 1
        begin = time.process_time()
        try:
            found = shape(outcome(self.name, data))
        except Exception:  # noqa: BLE001 - any is a fault
            self._report(data, traceback.format_exc())
            return
        if time.process_time() - begin > SLOW_S:
            self._report(data, f"took {time.process_time() - begin:.1f} s")
        if found not in self._shapes:
            self._shapes.add(found)
            self._corpus.append(data)
            if len(self._corpus) <= MAX_CORPUS:
                self.added += 1
                add_to_corpus(self.name, data)

    def _report(self, data: bytes, what: str) -> None:
        """Count a fault, and print the first of its kind."""
        self.faults += 1
        kind = shape(what[-300:])
        if kind in self._reported:
            return
        self._reported.add(kind)
        path = Path("build/fuzz") / self.name / hashlib.sha256(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        _print(f"{self.name}: {path}\n{what}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz the parsers in turn; return 1 after a fault."""
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz")
    arguments.add_argument("--seconds", type=float, default=60.0, help="for each parser")
    arguments.add_argument("--parser", choices=PARSERS, action="append")
    arguments.add_argument("--seed", default=str(int(time.time())))
    chosen = arguments.parse_args()
    _print(f"seed {chosen.seed}, {chosen.seconds:g} s for each parser")
    faults = 0
    for name in chosen.parser or PARSERS:
        fuzzer = Fuzzer(name, chosen.seed)
        fuzzer.run(chosen.seconds)
        faults += fuzzer.faults
        _print(
            f"{name:16} {fuzzer.inputs:>9,} inputs, {fuzzer.added} new in the corpus,"
            f" {fuzzer.faults} faults"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
