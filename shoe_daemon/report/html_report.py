"""
The report on a shoe as one HTML page for A4 paper, without scripts or external resources.

The page is filled from the blocks of a template; all values except `Html` are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Final

from shoe_daemon.game import RANKS, SUITS, Card, Outcome
from shoe_daemon.report import wording
from shoe_daemon.report.expected_counts import Expectation
from shoe_daemon.report.journal_proof import SIGNERS, proof_rows
from shoe_daemon.report.report_model import Incident, Proof, RoundLine, ShoeReport
from shoe_daemon.report.wording import plain
from shoe_daemon.table import HandResult

_BLOCK: Final = re.compile(r"^<!-- block: (\w+) -->\n", re.MULTILINE)


class Html(str):
    """Markup made by `fill`, already escaped."""

    __slots__ = ()


@cache
def blocks(name: str) -> dict[str, Template]:
    """Read a template's blocks by name."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    _, *parts = _BLOCK.split(text)
    names, bodies = parts[::2], parts[1::2]
    return {each: Template(body.strip("\n")) for each, body in zip(names, bodies, strict=True)}


def fill(template: str, block: str, **values: object) -> Html:
    """
    Fill a block. All values except `Html` are escaped.

    Raises:
        KeyError: A value for the block is missing.
    """
    safe = {
        name: value if isinstance(value, Html) else escape(plain(str(value)), quote=True)
        for name, value in values.items()
    }
    return Html(blocks(template)[block].substitute(safe))


def joined(parts: Iterable[Html]) -> Html:
    """Join markup."""
    return Html("\n".join(parts))


_PAGE: Final = "page.html"
_NOTHING: Final = Html("")
_AS_TEXT: Final = "\ufe0e"
"""Variation selector: show the suit as text, not as an emoji."""
_RED: Final = ("H", "D")
_LETTERS: Final = {Outcome.BANKER: "B", Outcome.PLAYER: "P", Outcome.TIE: "T", None: "?"}
_FULL: Final = 0.6
"""The share of rounds that fills a bar."""
_ORDINARY: Final = 0.05
_NOT_IN_CSS: Final = re.compile(r"[^\w ,./-]")


def shoe_page(report: ShoeReport) -> str:
    """Render a report as one HTML page."""
    return fill(
        _PAGE,
        "page",
        shoe=report.shoe,
        site=report.site,
        table=report.table,
        title=wording.title(report),
        rules=wording.rules(report),
        staff=wording.FOR_STAFF,
        source=wording.SOURCE,
        keys=_keys(report),
        expectations=joined(map(_expectation, report.expectations)),
        beads=_beads(report.rounds),
        composition=_composition(report),
        none="" if report.incidents else ": none",
        incidents=_incidents(report.incidents),
        changes=_changes(report),
        rounds=joined(map(_round, report.rounds)),
        proof=_NOTHING if report.proof is None else _proof(report.proof),
        signatures=joined(fill(_PAGE, "signature", signer=each) for each in SIGNERS),
        footer=_css_text(f"Shoe {report.shoe}, {report.site} / {report.table}"),
    )


def _css_text(text: str) -> str:
    """Replace characters that could end a string in a style sheet."""
    return _NOT_IN_CSS.sub("·", text)


def _proof(proof: Proof) -> Html:
    rows = (fill(_PAGE, "proof_row", name=name, value=value) for name, value in proof_rows(proof))
    return fill(_PAGE, "proof", bad="open" if proof.refuted else "", rows=joined(rows))


def _keys(report: ShoeReport) -> Html:
    counts, tempo, cards = report.counts, report.tempo, report.composition
    pause = (
        wording.NONE if tempo.longest_pause is None else wording.span(tempo.longest_pause.seconds)
    )
    out = fill(_PAGE, "unit", value=cards.out, unit=f"of {cards.cards}")
    begun = fill(_PAGE, "unit", value=counts.counted, unit=f"of {counts.begun}")
    pairs: list[tuple[str, object]] = [
        ("rounds counted", begun),
        ("cards out", cards.out if cards.reshuffled else out),
        ("rounds an hour", wording.number(tempo.rounds_per_hour)),
        ("cards a minute", wording.number(tempo.cards_per_minute)),
        ("longest pause", pause),
        ("irregularities", len(report.incidents)),
    ]
    return joined(fill(_PAGE, "key", name=name, value=value) for name, value in pairs)


def _expectation(each: Expectation) -> Html:
    over, under = map(int, each.share.split("/"))
    full = each.rounds * _FULL or 1
    return fill(
        _PAGE,
        "expectation",
        name=wording.COUNTED[each.name],
        found=each.found,
        expected=f"{each.expected:.1f}",
        odds=f"{100 * over / under:.2f}",
        kind=each.name,
        width=f"{min(100 * each.found / full, 100):.1f}",
        mark=f"{min(100 * each.expected / full, 100):.1f}",
        odd="odd" if each.chance < _ORDINARY else "",
        words=each.words,
    )


def _beads(rounds: Iterable[RoundLine]) -> Html:
    beads = [
        fill(_PAGE, "bead", kind=_kind(line.outcome), letter=_LETTERS[line.outcome])
        for line in rounds
        if line.counts
    ]
    return fill(_PAGE, "beads", beads=joined(beads)) if beads else _NOTHING


def _kind(outcome: Outcome | None) -> str:
    return "unknown" if outcome is None else outcome.value


def _composition(report: ShoeReport) -> Html:
    cards = report.composition
    lines = [fill(_PAGE, "sentence", text=text) for text in wording.composition(cards)]
    if not cards.reshuffled:
        ranks = joined(fill(_PAGE, "rank", rank=rank) for rank in RANKS)
        suits = joined(_suit(report, suit) for suit in SUITS)
        lines.append(fill(_PAGE, "grid", ranks=ranks, suits=suits, copies=report.decks))
    return joined(lines)


def _suit(report: ShoeReport, suit: str) -> Html:
    cards = report.composition
    cells = []
    for rank in RANKS:
        face = rank + suit
        mark = "over" if face in cards.surplus else "short" if face in cards.missing else ""
        cells.append(fill(_PAGE, "cell", mark=mark, count=cards.read[face]))
    sign = wording.SIGNS[suit] + _AS_TEXT
    return fill(_PAGE, "suit", colour=_colour(suit), sign=sign, cells=joined(cells))


def _colour(suit: str) -> str:
    return "red" if suit in _RED else "black"


def _incidents(incidents: tuple[Incident, ...]) -> Html:
    if not incidents:
        return _NOTHING
    return fill(_PAGE, "incidents", rows=joined(map(_incident, incidents)))


def _incident(each: Incident) -> Html:
    return fill(
        _PAGE,
        "incident",
        time=wording.time(each.at),
        id=each.id,
        severity=each.severity,
        what=wording.incident_title(each),
        detail=each.detail,
        open="open" if each.action is None else "",
        decision=wording.decision(each),
    )


def _changes(report: ShoeReport) -> Html:
    if not report.changes:
        return _NOTHING
    rows = (
        fill(
            _PAGE,
            "change",
            time=wording.time(each.at),
            round="" if each.round is None else each.round,
            text=wording.change(each),
        )
        for each in report.changes
    )
    return fill(_PAGE, "changes", rows=joined(rows))


def _round(line: RoundLine) -> Html:
    return fill(
        _PAGE,
        "round",
        off="" if line.counts else "off",
        number=line.number,
        time=wording.time(line.started_at),
        player=_cards(line.player),
        player_total=_total(line.player),
        banker=_cards(line.banker),
        banker_total=_total(line.banker),
        kind=_kind(line.outcome) if line.status == "finished" else "",
        result=wording.result(line),
        remarks=wording.remarks(line),
    )


def _total(hand: HandResult) -> str:
    return "" if hand.total is None else str(hand.total)


def _cards(hand: HandResult) -> Html:
    return joined(map(_card, hand.cards))


def _card(face: Card | None) -> Html:
    if face is None:
        return fill(_PAGE, "card", colour="unread", card="?")
    return fill(_PAGE, "card", colour=_colour(face.suit), card=wording.card(face) + _AS_TEXT)
