"""
The context of the observation that is being applied: the table's state, its house, policy
and options, and the events emitted so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from shoe_daemon.game import DealingStyle, House, Policy
from shoe_daemon.table.events import SCHEMA, Event, EventData
from shoe_daemon.table.observations import Observation, Session, house_of, policy_of
from shoe_daemon.table.options import Options, RoundEnd, Signal, automatic_round_end
from shoe_daemon.table.state import TableState
from shoe_daemon.table.times import to_microseconds
from shoe_daemon.table.undetectable import undetectable_kinds
from shoe_daemon.table.view import Style

_DRAW_WITHIN_S: Final = 60
_DRAW_WITHIN_SQUEEZED_S: Final = 300
_STYLES: Final = {
    DealingStyle.FACE_UP: Style.FACE_UP,
    DealingStyle.BANKER_TUCKED: Style.TUCKED,
    DealingStyle.SQUEEZE: Style.SQUEEZED,
}


class TableContext:
    """
    The state and the configuration of one table, without I/O and without a clock.

    Attributes:
        at: The time of the observation, or of the deadline before it.
        banker_tucked: The Banker's first two cards are dealt face down.
        chain_head: The journal's hash before this observation, if the service gave it.
        draw_within_us: `Options.draw_within` in microseconds.
        events: The events that this observation has caused so far.
        face_up: All cards are dealt face up.
        in_round: A round is in progress; events carry its number.
        is_double_feed: The card being applied came too soon after the previous one.
        mode: The effective `Options.round_end`; ``auto`` until the first card.
        operator: The operator of the command being applied.
        reason: The reason of the command being applied.
        repeats: Cards left out because their tag was reported before in their round.
        replay: Applies further observations to a state; returns False where a command
            among them is refused.
        style: The cards whose faces the players see at the draw.
        undetectable: The kinds of irregularity that this table cannot detect.
    """

    __slots__ = (
        "at",
        "banker_tucked",
        "chain_head",
        "draw_within_us",
        "events",
        "face_up",
        "house",
        "in_round",
        "is_double_feed",
        "mode",
        "operator",
        "options",
        "policy",
        "reason",
        "repeats",
        "replay",
        "state",
        "style",
        "undetectable",
    )

    def __init__(
        self, state: TableState, replay: Callable[[TableState, Iterable[Observation]], bool]
    ) -> None:
        self.state = state
        self.replay = replay
        self.at = state.now
        self.chain_head: str | None = None
        self.events: list[Event] = []
        self.operator: str | None = None
        self.reason: str | None = None
        self.is_double_feed = False
        self.repeats = 0
        self.reload_state()

    def reload_state(self) -> None:
        """Derive the configuration and the mode from a state that was replaced."""
        state = self.state
        self.in_round = state.round is not None and not state.round.phase
        self._set_configuration(state.session)
        self.mode = self._effective_mode()

    def apply_session(self, session: Session) -> None:
        """
        Put the configuration of a session in force.

        Raises:
            UserError: The house is invalid; the previous session stays in force.
        """
        state = self.state
        self._set_configuration(session)
        options, before = session.options, state.session.options
        if (options.round_end, options.signals) != (before.round_end, before.signals):
            state.mode = None
        state.session, state.next_session = session, None
        self.mode = self._effective_mode()

    def _set_configuration(self, session: Session) -> None:
        house, policy = house_of(session), policy_of(session)
        self.house: House = house
        self.policy: Policy = policy
        self.options: Options = session.options
        self.face_up = house.dealing_style is DealingStyle.FACE_UP
        self.banker_tucked = house.dealing_style is DealingStyle.BANKER_TUCKED
        is_squeezed = house.dealing_style is DealingStyle.SQUEEZE
        within_s = session.options.draw_within
        if within_s is None:
            within_s = _DRAW_WITHIN_SQUEEZED_S if is_squeezed else _DRAW_WITHIN_S
        self.style: Style = _STYLES[house.dealing_style]
        self.draw_within_us = int(within_s * 1_000_000)
        self.undetectable: tuple[str, ...] = tuple(undetectable_kinds(house, session.options))

    def resolve_auto_mode(self, *, slot: bool) -> None:
        """Resolve ``auto`` at the first card; `slot` if the reader named the slot of the card."""
        signals = self.options.signals or ()
        self.state.mode = automatic_round_end(
            slots=slot or Signal.SLOTS in signals, results=Signal.RESULTS in signals
        )
        self.mode = self._effective_mode()

    def resolve_mode_at_result(self) -> None:
        """Resolve ``auto`` again at the first declared result, if no signals are configured."""
        state, options = self.state, self.options
        if state.mode is not RoundEnd.QUIET:
            return
        if options.round_end is RoundEnd.AUTO and options.signals is None:
            state.mode, state.quiet_at = automatic_round_end(slots=False, results=True), None
            self.mode = self._effective_mode()

    def _effective_mode(self) -> RoundEnd:
        mode = self.state.mode or self.options.round_end
        if mode is RoundEnd.QUIET and self.options.timeless:
            return RoundEnd.RULES
        return mode

    @property
    def decks(self) -> int:
        """The number of decks in a shoe."""
        return self.options.decks or self.house.decks

    @property
    def latest_round(self) -> int:
        """The number of the latest round of the shoe; 0 before the first."""
        return 0 if self.state.shoe is None else self.state.shoe.begun

    def now_us(self) -> int:
        """Return the time of this observation in microseconds since 1970."""
        return to_microseconds(self.at)

    def emit(self, data: EventData, number: int | None = None) -> None:
        """Emit an event under the next `seq`; `number` is its round, else the one in progress."""
        state = self.state
        session, shoe = state.session, state.shoe
        state.seq = seq = state.seq + 1
        if number is None and self.in_round and (round_ := state.round) is not None:
            number = round_.number
        self.events.append(
            Event(
                self.at,
                data,
                number,
                SCHEMA,
                seq,
                None if shoe is None else shoe.number,
                session.site,
                session.table,
                data.type,
            )
        )
