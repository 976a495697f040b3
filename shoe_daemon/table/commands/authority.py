"""
The authority to decide, at a table with an operators file.

What a command needs follows from what it would do: a supervisor with PIN decides on grave
irregularities, held results, the hold of another person, and the work of another dealer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shoe_daemon.game import Action
from shoe_daemon.table.commands import undo
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.observations import Command
from shoe_daemon.table.state import TableState

_REASONED: Final = frozenset({"correct_card", "enter_result", "void_round"})


class Authority(NamedTuple):
    """
    The known facts about the sender of a command.

    Attributes:
        supervisor: The operator's roles include the supervisor's.
        pin_verified: The command has the operator's right PIN.
    """

    supervisor: bool = False
    pin_verified: bool = False


class Needs(NamedTuple):
    """
    The needs of a command at this moment.

    Attributes:
        supervisor: A supervisor gives it, with PIN.
        reason: It has a reason.
    """

    supervisor: bool = False
    reason: bool = False

    def refusal(self, command: Command, authority: Authority, *, preview: bool) -> Detail | None:
        """Return the reason to refuse the command; its preview needs no PIN and no reason."""
        if self.supervisor and not authority.supervisor:
            return make_detail("refused_needs_supervisor")
        if preview:
            return None
        if self.supervisor and not authority.pin_verified:
            return make_detail("refused_needs_pin")
        if self.reason and not (command.reason or "").strip():
            return make_detail("refused_needs_reason")
        return None


def needs_reason(context: TableContext, command: Command) -> bool:
    """Return whether a command changes what may have been paid by."""
    if command.name == "undo":
        return undo.concerns_finished_round(context)
    if command.name == "rule":
        return command.action == Action.VOID_ROUND
    return command.name in _REASONED


def is_supervisors(context: TableContext, command: Command, after: TableState) -> bool:
    """Return whether only a supervisor may give a command that leads to the state `after`."""
    before, threshold, who = context.state, context.options.hold_from, command.operator
    is_resumed = before.on_hold and not after.on_hold
    if is_resumed and before.on_hold_by != who:
        return True
    still_held = {each.number for each in after.held}
    if not is_resumed and any(each.number not in still_held for each in before.held):
        return True
    still_open = {each.data.id for each in after.alerts}
    if any(
        threshold is not None
        and each.data.severity >= threshold
        and each.data.id not in still_open
        for each in before.alerts
    ):
        return True
    return before.dealer != after.dealer and who != (after.dealer or before.dealer)
