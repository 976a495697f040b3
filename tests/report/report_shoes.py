"""Journals of simulated shoes, with a supervisor who decides."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Settings, scenes
from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon import __version__
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import house_to_mapping, load_house
from shoe_daemon.game.rulings import load_policy, policy_to_mapping
from shoe_daemon.journal import Entry, Journal, Step
from shoe_daemon.journal.signatures import Signer
from shoe_daemon.table.events import Event
from shoe_daemon.table.observations import CardDrawn, Command, Observation, Session
from shoe_daemon.table.options import Options
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds, to_microseconds

SITE, TABLE = "casino-north", "table-7"
START = 1_795_291_200_000_000
"""Start of the tests: 21 November 2026, 20:00."""

COUP = {"P1": "9H", "B1": "KD", "P2": "KS", "B2": "2C"}

DECISION = 4.0
"""Seconds until the supervisor decides."""

_ACTIONS = {"excess_card": "burn_card", "missing_draw": "void_round"}


class Writer:
    """
    A table with its journal; a supervisor rules on open irregularities.

    Attributes:
        rounds: The rounds dealt by the simulator.
        events: The events of the last observations.
    """

    def __init__(
        self,
        path: Path,
        *,
        site: str = SITE,
        table: str = TABLE,
        supervisor: str | None = "ann",
        signer: Signer | None = None,
    ) -> None:
        self.journal = Journal.open(path, site, table, durable=False, signer=signer)
        self.site, self.name, self.supervisor = site, table, supervisor
        self.table = Table()
        self.now = START
        self.rounds: list[DealtRound] = []
        self.events: list[Event] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def session(
        self, house: str = "chickasaw", policy: str = "fr_2007", **options: object
    ) -> None:
        """Start a session with a house and options."""
        self.say(
            Session(
                site=self.site,
                table=self.name,
                house=house,
                policy=policy,
                program=__version__,
                rules=house_to_mapping(replace(load_house(house), resolutions=())),
                rulings=policy_to_mapping(load_policy(policy)),
                options=Options(**options),  # type: ignore[arg-type]  # as the test says
            )
        )

    def say(self, *observations: Observation, after: float = 0.0) -> None:
        """Apply observations, some seconds after the last."""
        self.now += round(after * 1_000_000)
        steps, self.events = [], []
        for each in observations:
            stamped = replace(each, at=from_microseconds(self.now))
            if self.table.may_finish_shoe(stamped):
                stamped = replace(stamped, chain_head=self.journal.head.hash.hex())
            events = self.table.apply(stamped)
            self.events += events
            started = any(event.type == "shoe_started" for event in events)
            steps.append(Step(stamped, events, self.table.checkpoint() if started else None))
        self.journal.append([Entry(steps=steps)])

    def order(self, name: str, after: float = 0.0, **fields: object) -> None:
        """Give a command."""
        order = Command(name=name, **{"operator": self.supervisor, **fields})  # type: ignore[arg-type]  # as the test says
        refusal = self.table.refusal(order)
        assert refusal is None, refusal
        self.say(order, after=after)

    def coup(self, after: float = 1.0) -> None:
        """Draw four cards to their slots: Player 9, Banker 2."""
        for slot, face in COUP.items():
            self.say(CardDrawn(card=Card(face), slot=Slot(slot)), after=after)

    def deal(self, settings: Settings, *, decide: bool = True) -> None:
        """Deal a simulated scenario with its times."""
        decoder = AngelEyeII().decoder()
        began = self.now
        for scene in scenes(settings):
            for step in scene.steps:
                self._decide(began + round(step.at * 1_000_000), decide=decide)
                for at, data in step.writes(copies=1):
                    for frame in decoder.feed(data, at):
                        self.now = max(self.now, began + round(at * 1000) * 1000)
                        if frame.observations:
                            self.say(*frame.observations)
            if scene.round is not None:
                self.rounds.append(scene.round)
        self._decide(self.now + 60_000_000, decide=decide)

    def _decide(self, until: int, *, decide: bool) -> None:
        for alert in list(self.table.state.alerts) if decide and self.supervisor else ():
            due = to_microseconds(alert.at) + round(DECISION * 1_000_000)
            if due > until or alert.chosen is not None:
                continue
            kind = alert.data.kind
            action = _ACTIONS.get(kind, "continue")
            order = Command(
                name="rule",
                operator=self.supervisor,
                claimed=True,
                irregularity=alert.data.id,
                action=action,
                reason="as the house rules",
            )
            self.now = max(self.now, due)
            if self.table.refusal(order) is None:
                self.say(order)


def shoe(
    path: Path,
    *,
    faults: Iterable[Fault] = (),
    house: str = "chickasaw",
    table: str = TABLE,
    **settings: object,
) -> Path:
    """Write a journal of one shoe or some; return its path."""
    wanted = Settings(faults=tuple(faults), **{"shoes": 1, **settings})  # type: ignore[arg-type]  # as the test says
    path.write_bytes(_journal(wanted, house, table))
    return path


@cache
def _journal(settings: Settings, house: str, table: str) -> bytes:
    """Return the file of a journal: tests share it, because a shoe takes a second."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with Writer(path, table=table) as writer:
            writer.session(house)
            writer.deal(settings)
        return path.read_bytes()
