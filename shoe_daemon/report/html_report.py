"""
The report on a shoe as one HTML page for A4 paper, without scripts or external resources.

The page is filled from the blocks of a template; all values except `Html` are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from shoe_daemon.game import RANKS, SUIT_SIGNS, SUITS, Card, Outcome, card_text
from shoe_daemon.report import wording
from shoe_daemon.report.expected_counts import Expectation
from shoe_daemon.report.report_model import Change, Incident, Proof, RoundLine, ShoeReport
from shoe_daemon.report.wording import plain

_TEMPLATES: Final = ("page.html", "shift.html")
"""The page of both reports with the blocks of one shoe, and those of a shift."""

_BLOCK: Final = re.compile(r"^<!-- block: (\w+) -->\n", re.MULTILINE)


class Html(str):
    """Markup made by `fill`, already escaped."""

    __slots__ = ()


@cache
def _blocks() -> dict[str, Template]:
    """Read the blocks of the templates by name."""
    folder = Path(__file__).parent
    texts = ((folder / name).read_text(encoding="utf-8") for name in _TEMPLATES)
    _, *parts = _BLOCK.split("".join(texts))
    names, bodies = parts[::2], parts[1::2]
    return {each: Template(body.strip("\n")) for each, body in zip(names, bodies, strict=True)}


def fill(block: str, **values: object) -> Html:
    """
    Fill a block. All values except `Html` are escaped.

    Raises:
        KeyError: A value for the block is missing.
    """
    safe = {
        name: value if isinstance(value, Html) else escape(plain(str(value)), quote=True)
        for name, value in values.items()
    }
    return Html(_blocks()[block].substitute(safe))


def joined(parts: Iterable[Html]) -> Html:
    """Join markup."""
    return Html("\n".join(parts))


def fill_rows(block: str, rows: Iterable[Html]) -> Html:
    """Fill a block that has `rows` only; nothing without any."""
    text = joined(rows)
    return fill(block, rows=text) if text else NOTHING


NOTHING: Final = Html("")
"""No markup."""

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
    name, where = f"Shoe {report.shoe}", f"{report.site} / {report.table}"
    body = fill(
        "shoe",
        source=wording.SOURCE,
        keys=_keys(report),
        expectations=joined(map(_expectation, report.expectations)),
        beads=fill_rows("beads", (_bead(line) for line in report.rounds if line.counts)),
        composition=_composition(report),
        none="" if report.incidents else ": none",
        incidents=fill_rows("incidents", map(_incident, report.incidents)),
        changes=fill_rows("changes", map(_change, report.changes)),
        rounds=joined(map(_round, report.rounds)),
        proof=NOTHING if report.proof is None else proof_block(report.proof, "Proof"),
        signatures=signatures(wording.SIGNERS),
    )
    return page(name, where, (wording.title(report), wording.rules(report)), body)


def page(name: str, where: str, lines: tuple[str, str], body: Html, style: Html = NOTHING) -> str:
    """Put a report on its page, with two lines below its place; `style` is for its own parts."""
    return fill(
        "page",
        name=name,
        where=where,
        title=lines[0],
        rules=lines[1],
        staff=wording.FOR_STAFF,
        body=body,
        style=style,
        # Without characters that could end a string in a style sheet.
        footer=_NOT_IN_CSS.sub("·", f"{name}, {where}"),
    )


def signatures(signers: Iterable[str]) -> Html:
    """Render the lines for signatures."""
    return joined(fill("signature", signer=each) for each in signers)


def proof_block(proof: Proof, title: str, of: str = "shoe") -> Html:
    """Render the proof of a journal."""
    rows = wording.proof_rows(proof, of)
    lines = joined(fill("proof_row", name=name, value=value) for name, value in rows)
    return fill("proof", title=title, bad="open" if proof.refuted else "", rows=lines)


def _keys(report: ShoeReport) -> Html:
    counts, tempo, cards = report.counts, report.tempo, report.composition
    pause = tempo.longest_pause
    out = fill("unit", value=cards.out, unit=f"of {cards.cards}")
    begun = fill("unit", value=counts.counted, unit=f"of {counts.begun}")
    pairs: list[tuple[str, object]] = [
        ("rounds counted", begun),
        ("cards out", cards.out if cards.reshuffled else out),
        ("rounds an hour", wording.number(tempo.rounds_per_hour)),
        ("cards a minute", wording.number(tempo.cards_per_minute)),
        ("longest pause", wording.span(pause.seconds if pause else None)),
        ("irregularities", len(report.incidents)),
    ]
    return keys(pairs)


def keys(pairs: Iterable[tuple[str, object]]) -> Html:
    """Render the key figures at the top of a page."""
    return joined(fill("key", name=name, value=value) for name, value in pairs)


def _expectation(each: Expectation) -> Html:
    full = each.rounds * _FULL or 1
    return fill(
        "expectation",
        name=wording.COUNTED[each.name],
        found=each.found,
        expected=f"{each.expected:.1f}",
        odds=wording.percentage(each),
        kind=each.name,
        width=f"{min(100 * each.found / full, 100):.1f}",
        mark=f"{min(100 * each.expected / full, 100):.1f}",
        odd="odd" if each.chance < _ORDINARY else "",
        words=each.words,
    )


def _bead(line: RoundLine) -> Html:
    return fill("bead", kind=_kind(line.outcome), letter=_LETTERS[line.outcome])


def _kind(outcome: Outcome | None) -> str:
    return "unknown" if outcome is None else outcome.value


def _composition(report: ShoeReport) -> Html:
    cards = report.composition
    lines = [fill("sentence", text=text) for text in wording.composition(cards)]
    if not cards.reshuffled:
        ranks = joined(fill("rank", rank=rank) for rank in RANKS)
        suits = joined(_suit(report, suit) for suit in SUITS)
        lines.append(fill("grid", ranks=ranks, suits=suits, copies=report.decks))
    return joined(lines)


def _suit(report: ShoeReport, suit: str) -> Html:
    cards = report.composition
    cells = []
    for rank in RANKS:
        face = rank + suit
        mark = "over" if face in cards.surplus else "short" if face in cards.missing else ""
        cells.append(fill("cell", mark=mark, count=cards.read[face]))
    sign = SUIT_SIGNS[suit] + _AS_TEXT
    return fill("suit", colour=_colour(suit), sign=sign, cells=joined(cells))


def _colour(suit: str) -> str:
    return "red" if suit in _RED else "black"


def _incident(each: Incident) -> Html:
    return fill(
        "incident",
        time=wording.time(each.at),
        id=each.id,
        severity=each.severity,
        what=wording.incident_title(each),
        detail=each.detail,
        open="open" if each.action is None else "",
        decision=wording.decision(each),
    )


def _change(each: Change) -> Html:
    return fill(
        "change",
        time=wording.time(each.at),
        round="" if each.round is None else each.round,
        text=wording.change(each),
    )


def _round(line: RoundLine) -> Html:
    return fill(
        "round",
        off="" if line.counts else "off",
        number=line.number,
        time=wording.time(line.started_at),
        player=joined(map(_card, line.player.cards)),
        player_total=wording.total(line.player),
        banker=joined(map(_card, line.banker.cards)),
        banker_total=wording.total(line.banker),
        kind=_kind(line.outcome) if line.status == "finished" else "",
        result=wording.result(line),
        remarks=wording.remarks(line),
    )


def _card(face: Card | None) -> Html:
    if face is None:
        return fill("card", colour="unread", card="?")
    return fill("card", colour=_colour(face.suit), card=card_text(face) + _AS_TEXT)
