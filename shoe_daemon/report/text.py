"""The report on a shoe as text, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from shoe_daemon.game import RANKS, SUIT_SIGNS, SUITS, card_text
from shoe_daemon.report import wording
from shoe_daemon.report.odds import Expectation
from shoe_daemon.report.rounds import Incident, RoundCounts, RoundLine
from shoe_daemon.report.shoe import Proof, ShoeReport, Tempo
from shoe_daemon.table import HandResult

COLUMNS: Final = 80

_REMARKS_AT: Final = 58
_HEAD: Final = f"{'':>4}  {'time':<8}  {'Player':<14}  {'Banker':<14}  {'result'}"


def shoe_text(report: ShoeReport) -> str:
    """Render a report; no line exceeds `COLUMNS`."""
    name, where = wording.name(report).upper(), f"{report.site} / {report.table}"
    parts: list[Iterable[str]] = [
        [*headline(name, where), *wrap(wording.title(report), COLUMNS),
         *wrap(wording.rules(report), COLUMNS)],
        _overview(report.counts, report.tempo),
        _expected(report.expectations),
        _composition(report),
        _incidents(report.incidents),
    ]  # fmt: skip
    if report.changes:
        parts.append(_changes(report))
    parts.append(_rounds(report.rounds))
    if report.proof is not None:
        parts.append(_proof(report.proof))
    parts += [signature_lines(wording.SIGNERS), wrap(wording.FOR_STAFF, COLUMNS)]
    return wording.plain("\n\n".join("\n".join(part) for part in parts))


def headline(name: str, where: str) -> list[str]:
    """Align a title left and a place right, on two lines if too long."""
    if len(name) + len(where) < COLUMNS:
        return [f"{name}{where:>{COLUMNS - len(name)}}"]
    return [name, *wrap(where, COLUMNS)]


def wrapped(text: str, first: str = "  ", others: str = "  ") -> list[str]:
    """Wrap a text at `COLUMNS`, with an indent for its first line and for the others."""
    return wrap(text, COLUMNS, initial_indent=first, subsequent_indent=others)


def _overview(counts: RoundCounts, tempo: Tempo) -> Iterator[str]:
    yield "OVERVIEW"
    yield from entry("Rounds", wording.how_rounds_ended(counts))
    rate = f"{wording.number(tempo.rounds_per_hour)} rounds an hour"
    cards = f"{wording.number(tempo.cards_per_minute)} cards a minute"
    yield from entry("Pace", f"{rate}, {cards}, from the first card to the last result")
    pause = tempo.longest_pause
    if pause is not None:
        before = "" if pause.round is None else f", before a card of round {pause.round}"
        at = wording.time(pause.at)
        yield from entry("Pause", f"the longest {wording.span(pause.seconds)}, from {at}{before}")
    if decisions := wording.decisions(tempo):
        yield from entry("Decisions", decisions)


def entry(term: str, text: str) -> list[str]:
    """Wrap a text behind its term."""
    return wrapped(text, f"  {term:<12}", " " * 14)


def _expected(expectations: tuple[Expectation, ...]) -> Iterator[str]:
    yield f"{'AGAINST CHANCE':<16}{'found':>7}{'expected':>11}{'odds':>10}"
    for each in expectations:
        share = f"{wording.percentage(each)} %"
        name = wording.COUNTED[each.name]
        yield f"  {name:<14}{each.found:>7}{each.expected:>11.1f}{share:>10}  {each.words}"
    yield ""
    yield from wrapped(wording.SOURCE)


def _composition(report: ShoeReport) -> Iterator[str]:
    cards = report.composition
    yield "COMPOSITION"
    for sentence in wording.composition(cards):
        yield from wrapped(sentence)
    if cards.reshuffled:
        return
    yield ""
    yield " " * 6 + "".join(f"{rank:>5}" for rank in RANKS)
    for suit in SUITS:
        cells = (_cell(report, rank + suit) for rank in RANKS)
        yield f"     {SUIT_SIGNS[suit]}" + "".join(f"{cell:>5}" for cell in cells)


def _cell(report: ShoeReport, face: str) -> str:
    cards = report.composition
    mark = "+" if face in cards.surplus else "-" if face in cards.missing else ""
    return f"{mark}{cards.read[face]}"


def _incidents(incidents: tuple[Incident, ...]) -> Iterator[str]:
    yield "IRREGULARITIES" if incidents else "IRREGULARITIES  none"
    for each in incidents:
        title = f"#{each.id}  {wording.incident_title(each)} (severity {each.severity})"
        yield from wrapped(title, f"  {wording.time(each.at)}  ", " " * 12)
        for text in (each.detail, f"→ {wording.decision(each)}"):
            yield from wrapped(text, " " * 12, " " * 14)


def _changes(report: ShoeReport) -> Iterator[str]:
    yield "CHANGED BY PEOPLE"
    for each in report.changes:
        where = "" if each.round is None else f"round {each.round}: "
        text = f"{where}{wording.change(each)}"
        yield from wrapped(text, f"  {wording.time(each.at)}  ", " " * 12)


def _rounds(rounds: tuple[RoundLine, ...]) -> Iterator[str]:
    yield "ROUNDS" if rounds else "ROUNDS  none"
    if rounds:
        yield _HEAD
    for line in rounds:
        hands = f"{_hand(line.player)}  {_hand(line.banker)}"
        row = f"{line.number:>4}  {wording.time(line.started_at)}  {hands}  {wording.result(line)}"
        texts = wrap(wording.remarks(line), COLUMNS - _REMARKS_AT) or [""]
        if len(row) >= _REMARKS_AT:  # a round number of five digits
            yield row
            row = ""
        yield from (
            f"{before:<{_REMARKS_AT}}{text}".rstrip()
            for before, text in zip_longest([row], texts, fillvalue="")
            if before or text
        )


def _proof(proof: Proof) -> Iterator[str]:
    yield "PROOF"
    for name, value in wording.proof_rows(proof):
        yield from entry(name, value)


def signature_lines(signers: Sequence[str]) -> Iterator[str]:
    """Yield lines for names, signatures and dates."""
    width = max(12, *(len(each) + 1 for each in signers))
    yield "SIGNATURES"
    yield f"  {'':<{width}}{'name':<24}{'signature':<28}date"
    for signer in signers:
        yield ""
        yield f"  {signer:<{width}}{'_' * 22:<24}{'_' * 26:<28}{'_' * 12}"


def _hand(hand: HandResult) -> str:
    cards = " ".join(map(card_text, hand.cards))
    return f"{cards:<11} {wording.total(hand):>2}"
