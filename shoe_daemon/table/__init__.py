"""
The table: applies observations, returns events. Pure: no I/O, no clock, no randomness.

Import from this package only; the modules below it may change (`docs/python.md` has examples).

- `Table`: `apply`, `state`, `refusal`, `preview`, `public`, `checkpoint`; `Options`: the options of a table.
- `Observation` and its types, `decode_observation`, `encode_observation`.
- `Event`, `EventData` and its types, `decode_event`, `encode_event`, `EVENT_TYPES`,
  `EVENT_DECODERS`, `is_staff`.
- `replay`: the events of a log; `decode_log`: its observations; `fold`: both, `was_applied`.
- `PublicTable`, `PublicHistory`, `Alert` and their parts: everything that the players may see.
- `to_microseconds`, `moment_to_microseconds`, `from_microseconds`: moments, 1970 to 9999 in UTC.
- `make_detail`, `uncoded_detail`, `fill_sentence`, `Detail`, `DetailValue`, `DETAIL_TEMPLATES`, `DETAIL_VALUES`: the sentences of irregularities and refusals.
- `undetectable_kinds`: the irregularities that a table cannot detect; `COMMANDS`: its commands.

Drivers import `shoe_daemon.table.observations` instead, which loads no table.

Map of the modules. `table` passes each observation to one handler, with a `context`:

| observation | handler |
|---|---|
| session | context |
| card | readers.tags, readers.faults, then attribute or shoes.shoe_lifecycle |
| disclosed, placed | rounds.faces |
| unreadable, withdrawn, carried | readers.faults, readers.tags |
| device_error, device_error_cleared, lock, booted, gap | readers.faults |
| link | readers.faults, readers.replacement |
| cut_card, result, table_cleared, no_more_bets, betting_open | rounds.boundaries |
| command | commands.dispatch |
| tick, standby, clock_set | table (they only bring the time) |

| irregularity | raised by |
|---|---|
| premature_draw | publish |
| player_third_unauthorised | checks.player_third_unauthorised, commands.dispatch |
| excess_card | checks.excess_card, attribute, readers.faults |
| missing_draw | publish |
| wrong_hand | checks.wrong_hand |
| result_mismatch | publish, rounds.boundaries |
| premature_collect | rounds.boundaries |
| face_up_in_shoe | commands.dispatch |
| double_feed | shoes.counts, commands.dispatch |
| unreadable_card | publish, readers.faults |
| source_conflict | rounds.faces, readers.checker |
| duplicate_card | shoes.copies, readers.tags |
| foreign_card | commands.dispatch |
| card_count_mismatch | shoes.counts |
| burn_error | shoes.shoe_lifecycle |
| insufficient_cards | shoes.counts |
| cut_card_overrun | shoes.shoe_lifecycle |
| cut_card_missing | shoes.counts |
| card_returned | readers.faults, commands.dispatch |
| card_off_table | commands.dispatch |
| suspect_sequence | shoes.counts |
| device_fault | readers.faults |
| manual_void | commands.dispatch |

`commands.dispatch` raises a reported irregularity for the command `hold`. `ledger` opens, joins and
closes irregularities; those of the cards of a round are found by `checks`. `public_documents` makes
the public documents from `state`.
"""  # noqa: E501 - a row of the map is one line

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import (
    DETAIL_TEMPLATES,
    DETAIL_VALUES,
    Detail,
    DetailValue,
    fill_sentence,
    make_detail,
    uncoded_detail,
)
from shoe_daemon.table.events import (
    EVENT_DECODERS,
    EVENT_TYPES,
    SCHEMA,
    AbortCause,
    BettingClosed,
    CardBurned,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    ClosedData,
    CutCard,
    DealerChanged,
    DrawDue,
    Event,
    EventData,
    HandResult,
    Irregularity,
    IrregularityClosed,
    IrregularityData,
    LastRound,
    Proposal,
    ReaderStatus,
    ResultRevised,
    RoundAborted,
    RoundFinished,
    RoundHeld,
    RoundReleased,
    RoundStarted,
    RoundVoided,
    RulingGiven,
    ShoeCounts,
    ShoeFinished,
    ShoePassed,
    ShoeStarted,
    StaffCardDealt,
    StaffComposition,
    StaffIrregularity,
    StaffIrregularityClosed,
    StaffRulingGiven,
    WagerResult,
    decode_event,
    encode_event,
    is_staff,
)
from shoe_daemon.table.observations import (
    BUTTON_COMMANDS,
    AnyObservation,
    BettingOpen,
    Booted,
    CardDrawn,
    Carried,
    Cause,
    ClockSet,
    Command,
    CutCardSeen,
    DeviceError,
    DeviceErrorCleared,
    Disclosed,
    Gap,
    GapDetail,
    Link,
    Lock,
    NoMoreBets,
    Observation,
    Placed,
    ReaderRecord,
    Result,
    Role,
    Session,
    Standby,
    TableCleared,
    Tick,
    Unreadable,
    Withdrawn,
    decode_observation,
    encode_observation,
)
from shoe_daemon.table.options import Options, ResultOn, RoundEnd, Signal, automatic_round_end
from shoe_daemon.table.public_document_types import (
    Alert,
    CardView,
    Counts,
    LastResult,
    PastRound,
    PastShoe,
    PublicHistory,
    PublicTable,
    RoundDocuments,
    RoundView,
    ShoeView,
)
from shoe_daemon.table.times import (
    from_microseconds,
    moment_to_microseconds,
    to_microseconds,
)

if TYPE_CHECKING:
    from shoe_daemon.table.commands.authority import Authority, Needs
    from shoe_daemon.table.commands.dispatch import COMMANDS
    from shoe_daemon.table.readers.status import reader_status
    from shoe_daemon.table.state import TableState
    from shoe_daemon.table.table import (
        PreviewedCommand,
        Table,
        decode_log,
        fold,
        replay,
        was_applied,
    )
    from shoe_daemon.table.undetectable import undetectable_kinds

__all__ = [
    "BUTTON_COMMANDS",
    "COMMANDS",
    "DETAIL_TEMPLATES",
    "DETAIL_VALUES",
    "EVENT_DECODERS",
    "EVENT_TYPES",
    "SCHEMA",
    "AbortCause",
    "Alert",
    "AnyObservation",
    "Authority",
    "BettingClosed",
    "BettingOpen",
    "Booted",
    "CardBurned",
    "CardCorrected",
    "CardDealt",
    "CardDisclosed",
    "CardDrawn",
    "CardView",
    "Carried",
    "Cause",
    "ClockSet",
    "ClosedData",
    "Command",
    "Counts",
    "CutCard",
    "CutCardSeen",
    "DealerChanged",
    "Detail",
    "DetailValue",
    "DeviceError",
    "DeviceErrorCleared",
    "Disclosed",
    "DrawDue",
    "Event",
    "EventData",
    "Gap",
    "GapDetail",
    "HandResult",
    "Irregularity",
    "IrregularityClosed",
    "IrregularityData",
    "LastResult",
    "LastRound",
    "Link",
    "Lock",
    "Needs",
    "NoMoreBets",
    "Observation",
    "Options",
    "PastRound",
    "PastShoe",
    "Placed",
    "PreviewedCommand",
    "Proposal",
    "PublicHistory",
    "PublicTable",
    "ReaderRecord",
    "ReaderStatus",
    "Result",
    "ResultOn",
    "ResultRevised",
    "Role",
    "RoundAborted",
    "RoundDocuments",
    "RoundEnd",
    "RoundFinished",
    "RoundHeld",
    "RoundReleased",
    "RoundStarted",
    "RoundView",
    "RoundVoided",
    "RulingGiven",
    "Session",
    "ShoeCounts",
    "ShoeFinished",
    "ShoePassed",
    "ShoeStarted",
    "ShoeView",
    "Signal",
    "StaffCardDealt",
    "StaffComposition",
    "StaffIrregularity",
    "StaffIrregularityClosed",
    "StaffRulingGiven",
    "Standby",
    "Table",
    "TableCleared",
    "TableState",
    "Tick",
    "Unreadable",
    "WagerResult",
    "Withdrawn",
    "automatic_round_end",
    "decode_event",
    "decode_log",
    "decode_observation",
    "encode_event",
    "encode_observation",
    "events",
    "fill_sentence",
    "fold",
    "from_microseconds",
    "is_staff",
    "make_detail",
    "moment_to_microseconds",
    "reader_status",
    "replay",
    "to_microseconds",
    "uncoded_detail",
    "undetectable_kinds",
    "was_applied",
]

_LAZY: Final = {
    "Authority": "commands.authority",
    "COMMANDS": "commands.dispatch",
    "Needs": "commands.authority",
    "undetectable_kinds": "undetectable",
    "decode_log": "table",
    "fold": "table",
    "was_applied": "table",
    "reader_status": "readers.status",
    "replay": "table",
    "PreviewedCommand": "table",
    "Table": "table",
    "TableState": "state",
}
"""Names that load the whole table, by module: loaded at the first use, so that a reader of
events alone starts quickly."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _LAZY.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value
