"""A dealer for the tests that also gives commands, with all their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.house_rules import house_to_mapping
from shoe_daemon.table import encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options
from shoe_daemon.table.table import Table
from tests.table.dealer import Dealer, House, card, of_type, refusal_text

if TYPE_CHECKING:
    from shoe_daemon.table import Event

__all__ = ["SupervisedTable"]


class SupervisedTable(Dealer):
    """One table, its dealer, and its supervisor, whose name is ann."""

    def __init__(
        self,
        rules: House | str | None = None,
        *,
        policy: str = "management",
        **options: Any,  # noqa: ANN401 - any field of the options
    ) -> None:
        super().__init__(session=False)
        full = house_to_mapping(rules) if isinstance(rules, House) else None
        name = rules if isinstance(rules, str) else None
        self.say(
            seen.Session(house=name, rules=full, policy=policy, options=Options(**options)), 0
        )

    def cmd(self, name: str, **fields: Any) -> list[Event]:  # noqa: ANN401 - of any order
        """Give an order that must fit the moment."""
        order = self.command(name, **fields)
        assert self.table.refusal(order) is None, (order, self.table.refusal(order))
        return self.say(order)

    def refused(self, name: str, **fields: Any) -> str:  # noqa: ANN401 - of any order
        """Give an order that must be refused, and change nothing; return why."""
        order = self.command(name, **fields)
        reason = refusal_text(self.table, order)
        assert reason is not None, order
        before = self.memory()
        assert self.say(order, 0) == []
        assert self.memory() == before
        assert self.say(replace(order, refused=reason), 0) == []
        assert self.memory() == before
        return reason

    @staticmethod
    def command(name: str, **fields: Any) -> seen.Command:  # noqa: ANN401 - of any order
        """Write an order; a card may be given as text."""
        if isinstance(fields.get("card"), str):
            fields["card"] = card(fields["card"])
        if "outcome" in fields:
            fields["outcome"] = Outcome(fields["outcome"])
        fields = {"operator": "ann", "reason": "as seen"} | fields
        return seen.Command(name=name, **fields)

    def rule(self, action: str, kind: str | None = None) -> list[Event]:
        """Choose what is done about an open irregularity, or the only one."""
        return self.cmd("rule", action=action, irregularity=self.id_of(kind))

    def id_of(self, kind: str | None) -> int | None:
        """Return the id of the latest open irregularity of a kind."""
        found = [a.data.id for a in self.table.public().alerts if kind in {None, a.data.kind}]
        assert found, kind
        return found[-1]

    def memory(self) -> dict[str, Any]:
        """Return all that the table remembers, the time apart."""
        state = Table.restore(self.table.checkpoint()).state
        return {name: value for name, value in asdict(state).items() if name != "now"}

    def said(self) -> list[bytes]:
        """Return all events of the table."""
        return list(map(encode_event, self.events))

    def replayed(self) -> list[bytes]:
        """Tell another table all of this again, as a log holds it, and return what that says."""
        table = Table()
        lines = list(map(seen.encode_observation, self.log))
        return [
            encode_event(event)
            for line in lines
            for event in table.apply(seen.decode_observation(line))
        ]

    def counts(self) -> dict[str, int]:
        """Return what the board counts, without what is 0."""
        counts: dict[str, int] = asdict(self.table.public().counts)
        return {name: value for name, value in counts.items() if value}

    def last(self) -> Any:  # noqa: ANN401 - the last result, or None
        """Return the last result on the board."""
        return self.table.public().last_result

    def closed(self) -> list[tuple[str, str | None]]:
        """Say how irregularities were closed, and by whom."""
        return [(e.action, e.operator) for e in of_type(self.events, "irregularity_closed")]
