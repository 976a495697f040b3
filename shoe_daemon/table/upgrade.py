"""
Checkpoints of version ``table-2``, which stored what the table concluded, as facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from shoe_daemon.game import DEALING_ORDER, IrregularityKind
from shoe_daemon.table.facts import DECLARED, MISSING_AT_CORRECTION, VOID, Doubt, Phase, Round
from shoe_daemon.table.state import TableState, encode_state
from shoe_daemon.table.times import from_microseconds

_KEYED: Final = {
    IrregularityKind.EXCESS_CARD,
    IrregularityKind.WRONG_HAND,
    IrregularityKind.PLAYER_THIRD_UNAUTHORISED,
}
_SHOWN, _SURE, _TOLD = 1, 1 << 4, 1 << 5
"""Bits of `PastCard.flags`."""

_Raw = dict[str, Any]


def state_of_table_2(body: bytes) -> TableState:
    """
    Return the state of a checkpoint ``table-2``, without its header.

    Raises:
        msgspec.DecodeError, ValueError, KeyError: It is damaged.
    """
    raw: _Raw = msgspec.msgpack.decode(body)
    for change in raw["changes"]:
        change["before"] = encode_state(state_of_table_2(change["before"]))
    results = {each["number"]: each for each in _results(raw)}
    if raw["seed"] is not None:
        raw["seed"] = _drawn(raw["seed"])
    round_ = raw["round"]
    if round_ is not None:
        raw["round"] = _round(round_, raw, results.get(round_["number"]))
        results.pop(round_["number"], None)
    raw["past_rounds"] = [_past(each, raw) for each in results.values()]
    return msgspec.convert(raw, TableState)


def _results(raw: _Raw) -> Iterator[_Raw]:
    played = [] if raw["shoe"] is None else raw["shoe"]["played"]
    yield from sorted(
        (*(each for each in played if not each["voided"]), *raw["held"]),
        key=lambda each: int(each["number"]),
    )


def _drawn(card: _Raw, **facts: object) -> _Raw:
    face, public = card["face"], card["public"]
    return {
        **card,
        "told": (face if public else "") or "",
        "told_staff": face,
        "counted": face,
        "counted_public": public,
        **facts,
    }


def _round(old: _Raw, raw: _Raw, result: _Raw | None) -> _Raw:
    doubts = _doubts(old, result)
    cards = [_drawn(card, sure=not doubts) for card in old["cards"]]
    excess = [_drawn(card, told=None) for card in old["excess"]]
    if old["seeded"] and cards:
        cards[0]["seed"] = True
    new = {
        **old,
        "drawn": sorted([*cards, *excess], key=lambda card: int(card["order"])),
        "doubts": int(doubts),
        "phase": int(_phase(old)),
        "cause": _cause(old, raw),
        "end": _end(old),
        "said": old["declared"],
        "ruled": int(old["excess_decided"]),
        "rest": [_drawn(card) for card in old["rest"]],
        "dismissed": _dismissed(old),
        "card_at": "" if old["card_at"] is None else from_microseconds(old["card_at"]),
    }
    if result is not None:
        new |= _declared(result)
    _name_alerts(raw, old["number"], [*cards, *excess], new["dismissed"])
    if not _lies_as_before(new, old):
        # What the facts no longer show is kept as it was.
        for card in cards:
            card["laid"] = card["slot"]
        for card in excess:
            card["out"] = True
    return new


def _doubts(old: _Raw, result: _Raw | None) -> Doubt:
    doubts = Doubt.NONE if old["unread_result"] or not old["partial"] else Doubt.LOST
    if doubts:
        doubts |= Doubt.TORN if old["torn"] else Doubt.NONE
        doubts |= Doubt.RESTART if old["restarted"] else Doubt.NONE
    return doubts | (Doubt.ENTERED if result is not None and result["entered"] else Doubt.NONE)


def _phase(old: _Raw) -> Phase:
    if not old["ended"]:
        return Phase.DEALING
    return Phase.REST if old["owns_rest"] else Phase.ENDED


def _cause(old: _Raw, raw: _Raw) -> str | None:
    if not old["ended"] or old["finished"]:
        return None
    unfinished = {each["number"]: each["cause"] for each in raw["shoe"]["unfinished"]}
    return unfinished.get(old["number"], "new_round") or VOID


def _end(old: _Raw) -> str | None:
    if old["missing"]:
        return "missing_at_result" if old["over"] else MISSING_AT_CORRECTION
    return DECLARED if old["over"] else None


def _dismissed(old: _Raw) -> dict[str, str]:
    raised = {
        "readers differ": old["conflict"],
        "shoe empty": old["short"],
        f"missing:{old['number']}": old["missing"],
    }
    return {key: "" for key, was in raised.items() if was}


def _declared(result: _Raw) -> _Raw:
    data = result["data"]
    if result["entered"]:
        pairs = (data["player"]["pair"], data["banker"]["pair"])
        return {"entered": (data["outcome"], *pairs)}
    return {"winner": data["outcome"] if data["partial"] else None}


def _name_alerts(raw: _Raw, number: int, cards: list[_Raw], dismissed: dict[str, str]) -> None:
    """Give each alert the key of its card; those of other cards were decided."""
    alerts = {
        each["data"]["id"]: each for each in raw["alerts"] if each["round"] in {None, number}
    }
    for card in cards:
        if card["alert"] is None:
            continue
        key = f"card:{card['order']}"
        if card["alert"] in alerts:
            alerts[card["alert"]]["key"] = key
        else:
            dismissed[key] = ""


def _lies_as_before(new: _Raw, old: _Raw) -> bool:
    spots = msgspec.convert(new, Round).view.spots
    places = {None if card is None else card.order: at for at, card in enumerate(spots)}
    return all(
        places.get(card["order"]) == DEALING_ORDER.index(card["slot"])
        for card in old["cards"]
        if card["slot"] is not None
    ) and len(places) - (None in places) == sum(card["slot"] is not None for card in old["cards"])


def _past(result: _Raw, raw: _Raw) -> list[object]:
    data, number = result["data"], result["number"]
    hands = (data["player"]["cards"], data["banker"]["cards"])
    places = [(slot, hands[spot % 2], spot // 2) for spot, slot in enumerate(DEALING_ORDER)]
    cards = [(slot, hand[place]) for slot, hand, place in places if place < len(hand)]
    faces = list(result["dealt"]) or [face for _, face in cards]
    rows: list[list[object]]
    if data["partial"]:
        rows = [[at, face, None, slot, _SHOWN | _TOLD] for at, (slot, face) in enumerate(cards)]
    else:
        rows = [[at, face, None, None, _SHOWN | _SURE | _TOLD] for at, face in enumerate(faces)]
    for face in result["excess"]:
        for alert in raw["alerts"]:
            if alert["round"] == number and alert["data"]["kind"] in _KEYED:
                alert["key"] = f"card:{len(rows)}"
        rows.append([len(rows), face, None, None, _SHOWN | _SURE])
    facts = _declared(result)
    doubts = Doubt.LOST if data["partial"] else Doubt.NONE
    return [
        number,
        data["kind"],
        int(doubts | (Doubt.ENTERED if result["entered"] else Doubt.NONE)),
        None,
        facts.get("winner"),
        facts.get("entered"),
        True,
        {},
        rows,
    ]
