"""The handler of each command, and the reason why a command is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from shoe_daemon.game import REPORTABLE_KINDS, Action, IrregularityKind, Kind
from shoe_daemon.table import events, ledger
from shoe_daemon.table.commands import corrections, entries, rulings, undo
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail, uncoded_detail
from shoe_daemon.table.facts import Phase
from shoe_daemon.table.observations import Command
from shoe_daemon.table.rounds import boundaries, lifecycle, results
from shoe_daemon.table.shoes import holder
from shoe_daemon.table.state import OpenAlert


class CommandHandler(NamedTuple):
    """
    The handler of one command.

    Attributes:
        refusal: Returns the reason to refuse the command now; None accepts it.
        privileged: It changes published events or results: it needs a supervisor and a PIN,
            whatever the table's state is; `Table.needs` says what a command needs now.
        may_show_faces: Returns whether the command, applied now, may show faces that the players
            have not seen, or what follows from them. The answer follows from public facts, and
            reveals none of these faces.
    """

    run: Callable[[TableContext, Command], object]
    refusal: Callable[[TableContext, Command], Detail | None] = lambda _context, _command: None
    privileged: bool = False
    may_show_faces: Callable[[TableContext, Command], bool] = lambda _context, _command: False


_ALERT_COMMANDS: Final = frozenset({"acknowledge", "rule"})


def command_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason to refuse a command at this moment; None accepts it."""
    handler = COMMANDS.get(command.name)
    if handler is None:
        known = ", ".join(sorted(COMMANDS))
        return uncoded_detail(f"there is no order {command.name!r}; there are: {known}")
    return handler.refusal(context, command)


def may_show_faces(context: TableContext, command: Command) -> bool:
    """Return whether a command may show faces now that the players have not seen."""
    handler = COMMANDS.get(command.name)
    return handler is not None and handler.may_show_faces(context, command)


def apply_command(context: TableContext, command: Command) -> None:
    """Apply a command; a refused one changes nothing."""
    if command.refused is not None or command_refusal(context, command) is not None:
        return
    if command.name in _ALERT_COMMANDS and (alert := _chosen_alert(context, command)) is not None:
        # An undo applies the command again, perhaps where another irregularity is open.
        command = replace(command, irregularity=alert.data.id)
    context.operator, context.reason = command.operator, command.reason
    try:
        undo.run_command(context, command, COMMANDS[command.name].run)
        results.release_results(context)
    finally:
        context.operator = context.reason = None


def _chosen_alert(context: TableContext, command: Command) -> OpenAlert | None:
    if command.irregularity is None:
        alerts = _public_alerts(context)
        return alerts[-1] if len(alerts) == 1 else None
    return next(
        (each for each in context.state.alerts if each.data.id == command.irregularity), None
    )


def _public_alerts(context: TableContext) -> list[OpenAlert]:
    return [each for each in context.state.alerts if not each.staff_only]


def _alert_refusal(context: TableContext, command: Command) -> Detail | None:
    if _chosen_alert(context, command) is not None:
        return None
    if command.irregularity is not None:
        return make_detail("refused_not_open", irregularity=command.irregularity)
    is_one_open = bool(_public_alerts(context))
    return make_detail("refused_which_irregularity" if is_one_open else "refused_none_open")


def _acknowledge_alert(context: TableContext, command: Command) -> None:
    alert = _chosen_alert(context, command)
    if alert is not None:
        rulings.decide(context, alert, "continue", command.reason or "acknowledged")


def _rule_refusal(context: TableContext, command: Command) -> Detail | None:
    alert = _chosen_alert(context, command)
    if alert is None:
        return _alert_refusal(context, command)
    if command.action not in set(Action):
        return uncoded_detail(f"no action {command.action!r}; there are: {', '.join(Action)}")
    return rulings.ruling_refusal(context, alert, Action(command.action), command.card)


def _may_rule_show_face(context: TableContext, command: Command) -> bool:
    alert = _chosen_alert(context, command)
    return (
        alert is not None
        and command.action == Action.BURN_CARD_PLUS_VALUE
        and rulings.is_excess_card_hidden(context, alert)
    )


def _apply_rule(context: TableContext, command: Command) -> None:
    alert = _chosen_alert(context, command)
    if alert is not None and command.action is not None:
        rulings.apply_ruling(context, alert, Action(command.action), command.card)


def _are_faces_hidden(context: TableContext, _command: Command) -> bool:
    """Return whether a card of the round in progress, whose face is known, lies face down."""
    round_ = lifecycle.in_progress(context)
    return round_ is not None and round_.hides_faces


def _reveal_refusal(context: TableContext, _command: Command) -> Detail | None:
    round_ = lifecycle.in_progress(context)
    if round_ is None or not any(card.face and not card.public for card in round_.cards):
        return make_detail("refused_nothing_face_down")
    return None


def _round_refusal(context: TableContext, _command: Command) -> Detail | None:
    round_ = context.state.round
    cut_off = round_ is not None and round_.interrupted and context.state.unsynced
    if round_ is not None and (cut_off or round_.phase != Phase.ENDED):
        return None
    return make_detail("refused_no_round")


def _free_hand_refusal(context: TableContext, _command: Command) -> Detail | None:
    kind = context.state.next_kind
    if kind is Kind.NORMAL:
        return None
    return make_detail("refused_next_free" if kind is Kind.FREE else "refused_next_dummy")


def _order_free_hand(context: TableContext, _command: Command) -> None:
    context.state.next_kind = Kind.FREE


def _hold_refusal(_context: TableContext, command: Command) -> Detail | None:
    if command.kind is None or command.kind in REPORTABLE_KINDS:
        return None
    known = ", ".join(sorted(REPORTABLE_KINDS))
    return uncoded_detail(f"a person cannot report {str(command.kind)!r}; there are: {known}")


def _resume_refusal(context: TableContext, _command: Command) -> Detail | None:
    return None if context.state.on_hold else make_detail("refused_not_on_hold")


def _hold_table(context: TableContext, command: Command) -> None:
    state = context.state
    if not state.on_hold:
        state.on_hold, state.on_hold_by = True, command.operator
    elif state.on_hold_by != command.operator:
        # It then takes a supervisor to end it.
        state.on_hold_by = None
    if command.kind is not None:
        kind = IrregularityKind(command.kind)
        detail = _person_detail(command, f"reported_{kind}")
        ledger.raise_alert(context, kind, detail, slot=command.slot, evidence="person")


def _person_detail(command: Command, code: str) -> Detail:
    return (
        make_detail("said_by_person", text=command.reason) if command.reason else make_detail(code)
    )


def _resume_table(context: TableContext, _command: Command) -> None:
    context.state.on_hold, context.state.on_hold_by = False, None
    context.state.alerts_omitted = 0


def _void_refusal(context: TableContext, command: Command) -> Detail | None:
    if _round_to_void(context, command.round) is not None:
        return None
    return make_detail("refused_no_round_to_void", round=command.round)


def _void_round(context: TableContext, command: Command) -> None:
    number = _round_to_void(context, command.round)
    if number is None:
        return
    detail = _person_detail(command, "voided_by_person")
    ledger.raise_alert(context, IrregularityKind.MANUAL_VOID, detail, number=number)
    rulings.void_round(context, number)


def _round_to_void(context: TableContext, number: int | None) -> int | None:
    """Return the round to void: of this number, or the latest; None if there is none."""
    round_ = lifecycle.in_progress(context)
    if round_ is not None and not round_.finished and number in {None, round_.number}:
        return round_.number
    found = [held.number for held in context.state.held if number in {None, held.number}]
    played = results.find_played_round(context, number)
    lost = results.find_lost_round(context, number)
    found += [each.number for each in (played, lost) if each is not None]
    return max(found, default=None)


def _seat_refusal(context: TableContext, command: Command) -> Detail | None:
    seats = context.options.seats
    if not (context.house.curator.on and seats):
        return make_detail("refused_dealer_draws")
    if command.seat is not None and command.seat not in seats:
        there = ", ".join(map(str, seats))
        return make_detail("refused_seat", seat=command.seat, seats=there)
    return None


def _dealer_refusal(context: TableContext, command: Command) -> Detail | None:
    if command.dealer != context.state.dealer:
        return None
    return make_detail("refused_no_dealer" if command.dealer is None else "refused_same_dealer")


def _change_dealer(context: TableContext, command: Command) -> None:
    before, context.state.dealer = context.state.dealer, command.dealer
    context.emit(events.DealerChanged(before, command.dealer, command.operator, command.reason))


COMMANDS: Final[dict[str, CommandHandler]] = {
    "new_shoe": CommandHandler(
        lambda context, command: boundaries.apply_new_shoe(context, command.left),
        privileged=True,
        may_show_faces=_are_faces_hidden,
    ),
    "no_more_bets": CommandHandler(
        lambda context, _: boundaries.close_betting(context),
        may_show_faces=_are_faces_hidden,
    ),
    "betting_open": CommandHandler(
        lambda context, _: boundaries.open_betting(context),
        may_show_faces=_are_faces_hidden,
    ),
    "reveal": CommandHandler(
        lambda context, _: boundaries.apply_reveal(context),
        _reveal_refusal,
        may_show_faces=_are_faces_hidden,
    ),
    "confirm_result": CommandHandler(
        lambda context, _: boundaries.confirm_result(context),
        _round_refusal,
        may_show_faces=_are_faces_hidden,
    ),
    "enter_result": CommandHandler(
        entries.enter_result,
        entries.result_entry_refusal,
        privileged=True,
        # Hidden faces may show staff an irregularity that holds the result.
        may_show_faces=_are_faces_hidden,
    ),
    "enter_card": CommandHandler(entries.enter_card, entries.card_entry_refusal, privileged=True),
    "correct_card": CommandHandler(
        corrections.correct_card, corrections.correction_refusal, privileged=True
    ),
    "undo": CommandHandler(
        undo.undo_latest,
        undo.undo_refusal,
        privileged=True,
        may_show_faces=undo.may_show_faces,
    ),
    "void_round": CommandHandler(_void_round, _void_refusal, privileged=True),
    "acknowledge": CommandHandler(_acknowledge_alert, _alert_refusal),
    "rule": CommandHandler(
        _apply_rule, _rule_refusal, privileged=True, may_show_faces=_may_rule_show_face
    ),
    "pass_shoe": CommandHandler(
        lambda context, command: holder.pass_shoe(context, command.seat),
        _seat_refusal,
    ),
    "dealer": CommandHandler(_change_dealer, _dealer_refusal),
    "free_hand": CommandHandler(_order_free_hand, _free_hand_refusal),
    "hold": CommandHandler(_hold_table, _hold_refusal),
    "resume": CommandHandler(_resume_table, _resume_refusal),
    "replay": CommandHandler(lambda _context, _command: None),
}
"""The closed list of commands; the publisher carries out ``replay``."""
