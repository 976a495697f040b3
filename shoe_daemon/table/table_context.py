"""
What every part of the fold works on: the state, the house, and the events that
this observation has caused so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import DealingStyle, House, IrregularityKind, Policy
from shoe_daemon.table.events import (
    SCHEMA,
    Event,
    EventData,
    Irregularity,
    IrregularityClosed,
    Proposal,
    ReaderStatus,
    StaffIrregularity,
    StaffIrregularityClosed,
)
from shoe_daemon.table.observations import Observation, Session, house_of, policy_of
from shoe_daemon.table.options import Options, RoundEnd, Signal, automatic_round_end
from shoe_daemon.table.shoes import shoe_holder
from shoe_daemon.table.table_state import OpenAlert, ReaderState, TableState
from shoe_daemon.table.timestamps import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shoe_daemon.game import Card, Slot
    from shoe_daemon.table.detail_texts import Detail
    from shoe_daemon.table.table_state import DrawnCard

MAX_ALERTS: Final = 20
"""
Open irregularities that a table keeps; where there are more, the oldest that holds no
result back is closed.
"""

MAX_HOLDING_ALERTS: Final = 100
"""Open irregularities that a table keeps where all of them hold a result back."""

MAX_READERS: Final = 8
"""Readers that a table keeps apart."""

_DRAW_WITHIN_S: Final = 60
_DRAW_WITHIN_SQUEEZED_S: Final = 300


class TableContext:
    """
    One table at work. Nothing here does I/O or reads a clock.

    Attributes:
        chain_head: The journal's hash before this observation, where the core gave it.
        face_up: Cards are seen at the draw.
        banker_tucked: So they are but for the Banker's first two.
        draw_within_us: Microseconds: see `Options.draw_within`.
        replay: Takes further observations into a state; False where a command among
            them does not fit.
        mode: What ends a round here; ``auto`` until a card has told.
        is_double_feed: The card that is being taken came too close after the one before.
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
        "replay",
        "state",
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
        self.reload_state()

    def reload_state(self) -> None:
        """
        Go on with the state as it is now, whatever it was before.
        """
        state = self.state
        self.in_round = state.round is not None and not state.round.ended
        self._set_configuration(state.session)
        self.mode = self._effective_mode()

    def apply_session(self, session: Session) -> None:
        """
        Put a session in force.

        Raises:
            UserError: Its house cannot be; the one before stays in force.
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
        squeezed = house.dealing_style is DealingStyle.SQUEEZE
        within = session.options.draw_within
        if within is None:
            within = _DRAW_WITHIN_SQUEEZED_S if squeezed else _DRAW_WITHIN_S
        self.draw_within_us = int(within * 1_000_000)

    def resolve_auto_mode(self, *, slot: bool) -> None:
        """
        Decide what ``auto`` means, at the first card, which has a slot or none.
        """
        signals = self.options.signals or ()
        self.state.mode = automatic_round_end(
            slots=slot or Signal.SLOTS in signals, results=Signal.RESULTS in signals
        )
        self.mode = self._effective_mode()

    def resolve_mode_at_result(self) -> None:
        """
        Decide ``auto`` again at the first declared result, where no signals are given.
        """
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
        """
        The decks of a shoe here.
        """
        return self.options.decks or self.house.decks

    def now_us(self) -> int:
        """
        The moment of this observation.
        """
        return to_microseconds(self.at)

    def emit(self, data: EventData, number: int | None = None) -> None:
        """
        Say something, under the next `seq`; of another round than the one in
        progress where its number is given.
        """
        state, session, shoe = self.state, self.state.session, self.state.shoe
        state.seq += 1
        if number is None and self.in_round and state.round is not None:
            number = state.round.number
        self.events.append(
            Event(
                self.at,
                data,
                number,
                SCHEMA,
                state.seq,
                shoe.number if shoe is not None else None,
                session.site,
                session.table,
                data.type,
            )
        )

    def raise_alert(  # noqa: PLR0913 - all that there is to say of it
        self,
        kind: IrregularityKind,
        detail: Detail,
        *,
        slot: Slot | None = None,
        card: Card | None = None,
        evidence: str = "card",
        number: int | None = None,
        unseen: Sequence[DrawnCard] = (),
        staff_only: bool = False,
    ) -> None:
        """
        Name an irregularity.

        Args:
            kind: One of the closed list.
            detail: One sentence of `details`; it names no face that is not public, unless
                it is for staff.
            slot: The place concerned.
            card: The card concerned, where its face is public.
            evidence: Who says so: ``card``, ``device``, or an error of it.
            number: The round concerned, if it is another than the one in progress.
            unseen: Cards whose faces it follows from: until they are public it is for
                staff alone.
            staff_only: It is for staff alone until `publish_alert`.
        """
        state = self.state
        data = self._irregularity(kind, detail, state.seq + 1, slot, card, evidence)
        waiting = [each for each in unseen if not each.public]
        staff_only = staff_only or bool(waiting)
        for each in waiting:
            each.unsaid.append(data.id)
        alert = OpenAlert(self.at, None, None, self._latest_round(), data, [evidence])
        alert.staff_only = staff_only
        self.emit(alert_raised_event(alert), number)
        alert.shoe, alert.round = self.events[-1].shoe, self.events[-1].round
        state.alerts.append(alert)
        if not staff_only:
            shoe_holder.apply_false_draw(self, kind)
        self._make_room([each for each in state.alerts if each.staff_only is staff_only])

    def _make_room(self, alerts: list[OpenAlert]) -> None:
        # Those that only staff know of take no room from the others.
        if len(alerts) <= MAX_ALERTS:
            return
        idle = next((each for each in alerts if not self._may_hold(each)), None)
        if idle is not None:
            self.close_alert(idle, "continue", "too many are open: the oldest gave way")
        elif len(alerts) > MAX_HOLDING_ALERTS:
            # Nobody could close so many: no result goes out until a person resumes.
            self.state.on_hold |= not alerts[-1].staff_only
            self.state.alerts.pop()

    def _may_hold(self, alert: OpenAlert) -> bool:
        threshold, state = self.options.hold_from, self.state
        if threshold is None or alert.data.severity < threshold:
            return False
        numbers = {each.number for each in state.held}
        latest = self._latest_round()
        numbers.add(latest + 1 if state.round is None or state.round.ended else latest)
        return any(self.alert_concerns_round(alert, number) for number in numbers)

    def alert_concerns_round(self, alert: OpenAlert, number: int) -> bool:
        """
        Tell whether an irregularity concerns a round of this shoe: one that arose between
        two rounds, and concerns no card of the one before, belongs to the next.
        """
        return number == (alert.after + 1 if alert.round is None else alert.round)

    def _irregularity(  # noqa: PLR0913, PLR0917 - all that there is to say of it
        self,
        kind: IrregularityKind,
        detail: Detail,
        number: int,
        slot: Slot | None,
        card: Card | None,
        evidence: str,
    ) -> Irregularity:
        # What a device says of a card tells nothing of who has seen it.
        exposed = card is not None if evidence == "card" else None
        return Irregularity(
            card=card,
            detail=detail.text,
            detail_code=detail.code,
            detail_values=detail.values,
            id=number,
            kind=kind,
            proposals=self._proposals(kind, exposed=exposed),
            severity=self.policy.severity(kind),
            slot=slot,
        )

    def _proposals(self, kind: IrregularityKind, *, exposed: bool | None) -> tuple[Proposal, ...]:
        return tuple(
            Proposal(
                action=each.action,
                authority=each.authority,
                detail_code=code,
                section=each.section,
                text=each.text,
                verified=each.verified,
            )
            for code, each in self.policy.coded_rulings(kind, exposed=exposed)
        )

    def publish_alert(
        self,
        alert: OpenAlert,
        detail: Detail | None = None,
        *,
        slot: Slot | None = None,
        card: Card | None = None,
    ) -> None:
        """
        Tell the players of an irregularity that was for staff alone.

        Args:
            alert: The irregularity.
            detail: One sentence for the players, with the place and the card; None where
                they may be told the same as staff.
            slot: As of `raise_alert`.
            card: As of `raise_alert`.
        """
        kind = IrregularityKind(alert.data.kind)
        if detail is not None:
            evidence = alert.evidence[0]
            alert.data = self._irregularity(kind, detail, alert.data.id, slot, card, evidence)
        alert.staff_only, alert.at = False, self.at
        self.state.alerts.remove(alert)
        self.state.alerts.append(alert)
        self.emit(alert.data, alert.round)
        shoe_holder.apply_false_draw(self, kind)

    def join_alert(self, kind: IrregularityKind, evidence: str) -> OpenAlert | None:
        """
        Let further evidence join the open irregularity that it belongs to.

        Returns:
            That irregularity; None where it speaks of a new one.
        """
        alert = self.find_open_alert(kind)
        if alert is None or evidence in alert.evidence:
            return None
        alert.evidence.append(evidence)
        return alert

    def find_open_alert(self, kind: IrregularityKind, *slots: Slot | None) -> OpenAlert | None:
        """
        Return the latest open irregularity of a kind in the round on the table,
        or just before it; on one of these places, if any are named. One that is for
        staff alone is none.
        """
        number = self._latest_round()
        for alert in reversed(self.state.alerts):
            just_before = alert.round is None and alert.after == number - 1
            if alert.data.kind != kind or (slots and alert.data.slot not in slots):
                continue
            if alert.staff_only:
                continue
            if alert.after == number or just_before:
                return alert
        return None

    def _latest_round(self) -> int:
        return 0 if self.state.round is None else self.state.round.number

    def close_alert(self, alert: OpenAlert, action: str, reason: str) -> None:
        """
        Close an irregularity that the equipment or the game has dealt with, or
        a person by the order that is being carried out.
        """
        self.state.alerts.remove(alert)
        if alert.data.kind == IrregularityKind.EXCESS_CARD and "card" not in alert.evidence:
            self._decided_unseen(alert)
        by = self.operator or alert.operator
        self.emit(alert_closed_type(alert)(action, alert.data.id, by, reason))

    def _decided_unseen(self, alert: OpenAlert) -> None:
        round_ = self.state.round
        if self.operator and round_ is not None and alert.round == round_.number:
            round_.excess_decided = True

    def reader(self, source: str | None) -> ReaderState:
        """
        Return what is known of a reader.
        """
        readers = self.state.readers
        key = source or ""
        if key not in readers:
            if len(readers) >= MAX_READERS:
                return ReaderState()
            readers[key] = ReaderState(partial=self.state.unsynced)
        return readers[key]

    def publish_reader_status(self, source: str | None, before: ReaderStatus) -> None:
        """
        Say how a reader is now, if that differs from `before`.
        """
        now = reader_status(source, self.reader(source))
        if now != before:
            self.emit(now)


def alert_raised_event(alert: OpenAlert) -> Irregularity | StaffIrregularity:
    """
    Return the event that tells those of an irregularity who may know of it.
    """
    if not alert.staff_only:
        return alert.data
    fields = {name: getattr(alert.data, name) for name in alert.data.__struct_fields__}
    return StaffIrregularity(**fields)


def alert_closed_type(alert: OpenAlert) -> type[IrregularityClosed | StaffIrregularityClosed]:
    """
    Return the event that tells the same people that it is closed.
    """
    return StaffIrregularityClosed if alert.staff_only else IrregularityClosed


def reader_status(source: str | None, reader: ReaderState) -> ReaderStatus:
    """
    Put what is known of a reader into the contract's words.
    """
    state = (
        "fault"
        if reader.errors
        else "locked"
        if reader.locked
        else "partial"
        if reader.partial
        else "ok"
    )
    return ReaderStatus(reader.link, source or None, state)  # type: ignore[arg-type]
