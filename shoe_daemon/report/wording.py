"""Wording shared by the text and HTML reports."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from unicodedata import normalize

from shoe_daemon.event_text import aborted_text, hand_notes, kind_text
from shoe_daemon.game import Kind, Outcome, card_text
from shoe_daemon.report.figures import Figures
from shoe_daemon.report.odds import Expectation
from shoe_daemon.report.rounds import Change, Incident, Person, RoundCounts, RoundLine
from shoe_daemon.report.shoe import Composition, Proof, ProofSignature, ShoeReport, Tempo
from shoe_daemon.report.translation import ENGLISH, Translation
from shoe_daemon.table import HandResult, to_microseconds

SIGNERS: Final = ("Dealer", "Supervisor", "Auditor")
COUNTED: Final = {
    "banker": "Banker",
    "player": "Player",
    "tie": "Tie",
    "natural": "Natural",
    "player_pair": "Player pair",
    "banker_pair": "Banker pair",
}
WINNERS: Final = {
    Outcome.PLAYER: "Player",
    Outcome.BANKER: "Banker",
    Outcome.TIE: "Tie",
    None: "unknown",
}
NONE: Final = "-"
FOR_STAFF: Final = "For staff only: it names faces that the players may not have seen."
SOURCE: Final = (
    "Chance is exact for a round of an unseen shoe; the spread is that of independent rounds."
    " Of six counts, one that is unusual comes up in every fourth shoe by chance alone."
)
_STATUS: Final = {
    "finished": "finished",
    "replaced": "replaced before its last round",
    "under way": "still under way",
}
_NO_RESULT: Final = {
    "aborted": "no result",
    "void": "void",
    "held": "held",
    "withdrawn": "withdrawn",
    "open": "under way",
}
_CHANGES: Final = {
    "void": "declared void",
    "restored": "no longer void",
    "card": "card corrected",
    "result": "result changed",
    "entered": "result entered by hand",
}
_AFTER: Final = {
    "start": "from the start of the journal",
    "signature": "from a signed head, to be compared by `journal verify --key`",
    "shoe": "from the start of a shoe without a signature: their beginning is not proved",
}
_MINUTE: Final = 60
_HOUR: Final = 3600
_FORMULA: Final = ("=", "+", "-", "@")


def plain(text: str) -> str:
    """Replace control characters, which could steer a terminal or hide text."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "·" for sign in text)


def csv_cell(text: str) -> str:
    """
    Return a text for a cell of CSV: one that a spreadsheet would compute gets an apostrophe before
    it. Spreadsheets skip space before a formula, and take full-width signs as the plain ones.
    """
    signs = normalize("NFKC", text)
    first = next((each for each in signs if each.isprintable() and each != " "), "")
    return f"'{text}" if first in _FORMULA or text.startswith(("\t", "\r")) else text


def time(at: str) -> str:
    """Return the time of day of a timestamp."""
    return at[11:19]


def day(at: str, translate: Translation = ENGLISH) -> str:
    """Format the date of a timestamp: ``21 November 2026``."""
    moment = datetime.fromisoformat(at)
    day, number, year = moment.day, moment.month, moment.year
    return translate(
        "{day} {month} {year}", day=day, month=f"{moment:%B}", number=number, year=year
    )


def span(seconds: float | None, translate: Translation = ENGLISH) -> str:
    """Format a duration: ``0.4 s``, ``12 s``, ``1 min 5 s``, ``2 h 3 min``; a dash for None."""
    if seconds is None:
        return NONE
    if seconds < 10:  # noqa: PLR2004 - tenths matter below ten seconds
        return translate("{s} s", s=f"{seconds:.1f}".removesuffix(".0"))
    whole = round(seconds)
    if whole < _MINUTE:
        return translate("{s} s", s=whole)
    if whole < _HOUR:
        minutes, rest = divmod(whole, _MINUTE)
        return translate("{min} min {s} s" if rest else "{min} min", min=minutes, s=rest)
    hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
    return translate("{h} h {min} min" if minutes else "{h} h", h=hours, min=minutes)


def number(value: float | None) -> str:
    """Format a rate; a dash for None."""
    return NONE if value is None else f"{value:,.1f}".removesuffix(".0")


def plural(count: int, thing: str, translate: Translation = ENGLISH) -> str:
    """Format a count with its noun."""
    many = f"{thing.removesuffix('y')}ies" if thing.endswith("y") else f"{thing}s"
    return translate.counted(count, f"{{count}} {thing}", f"{{count}} {many}")


def total(hand: HandResult) -> str:
    """Format the total of a hand; empty if unknown."""
    return "" if hand.total is None else str(hand.total)


def percentage(each: Expectation) -> str:
    """Format the exact probability of a counted event in percent, without the sign."""
    over, under = map(int, each.share.split("/"))
    return f"{100 * over / under:.2f}"


def name(report: ShoeReport) -> str:
    """Format the number of the shoe, and whether it was simulated."""
    return f"Shoe {report.shoe}{', simulated' if report.simulated is True else ''}"


def title(report: ShoeReport) -> str:
    """Format when the shoe was dealt, and its status."""
    lasted = to_microseconds(report.last_at) - to_microseconds(report.started_at)
    return (
        f"{day(report.started_at)}, {time(report.started_at)} to {time(report.last_at)} UTC"
        f" ({span(lasted / 1_000_000)}), {_STATUS[report.status]}"
    )


def rules(report: ShoeReport) -> str:
    """Format house and policy."""
    house = report.house or "no house configured"
    return f"{plural(report.decks, 'deck')}, house: {house}, rulings: {report.policy}"


def result(line: RoundLine) -> str:
    """Format a round's result in one or two words."""
    return WINNERS[line.outcome] if line.status == "finished" else _NO_RESULT[line.status]


def remarks(line: RoundLine) -> str:
    """Format remarks on a round, other than its cards."""
    found = [
        ("partial", line.partial and line.entered is None),
        (f"{line.kind} hand", line.kind is not Kind.NORMAL),
        (aborted_text(line.cause or ""), line.cause),
        (f"entered by {person(line.entered)}", line.entered),
        ("card corrected", line.corrected),
        ("result changed", line.revised and line.status == "finished"),
        (f"one too many: {' '.join(map(card_text, line.excess))}", line.excess),
        (", ".join(f"#{each}" for each in line.irregularities), line.irregularities),
    ]
    notes = [text for text, holds in found if holds]
    return ", ".join([*hand_notes(line.player, line.banker), *notes])


def person(who: Person | None, translate: Translation = ENGLISH) -> str:
    """Format an operator's name."""
    if who is None or who.operator is None:
        return translate("nobody named")
    return translate("{name} (not verified)", name=who.operator) if who.claimed else who.operator


def incident_title(incident: Incident, translate: Translation = ENGLISH) -> str:
    """Format the title of an irregularity."""
    face = "" if incident.card is None else f" {card_text(incident.card)}"
    parts = [
        kind(incident.kind, translate) + face,
        translate("outside a round")
        if incident.round is None
        else translate("round {n}", n=incident.round),
        *([] if incident.slot is None else [incident.slot]),
    ]
    return translate(", ").join(parts)


def kind(name: str, translate: Translation = ENGLISH) -> str:
    """Return the name of a kind of irregularity."""
    return translate.word(f"irregularity_{name}", kind_text(name))


def detail(incident: Incident, translate: Translation = ENGLISH) -> str:
    """Return the sentence of an irregularity."""
    return translate.sentence(incident.detail_code, incident.detail_values, incident.detail)


def decision(incident: Incident, translate: Translation = ENGLISH) -> str:
    """Format the rulings on an irregularity, their operators and their delays."""
    orders = [
        translate(
            "{action} ordered after {span}, by {name}",
            action=_action(each.action, translate),
            span=span(each.seconds, translate),
            name=_by_whom(each.by, translate),
        )
        for each in incident.orders
    ]
    return translate("; ").join([*orders, _end(incident, translate)])


def _action(action: str, translate: Translation) -> str:
    return translate.word(f"action_{action}", action.replace("_", " "))


def _by_whom(by: Person, translate: Translation) -> str:
    name = person(by, translate)
    return translate("{name}: “{reason}”", name=name, reason=by.reason) if by.reason else name


def _end(incident: Incident, translate: Translation) -> str:
    if incident.action is None or incident.seconds is None:
        return translate("still open")
    done = {
        "action": _action(incident.action, translate),
        "span": span(incident.seconds, translate),
    }
    if incident.by is None:
        why = translate(incident.why or "")
        return translate("{action} after {span}, by itself: {why}", why=why, **done)
    return translate(
        "{action} after {span}, by {name}", name=_by_whom(incident.by, translate), **done
    )


def change(each: Change) -> str:
    """Format a change made by an operator."""
    where = "" if each.slot is None else f" on {each.slot}"
    before, after = (_faces(each, text) for text in (each.before, each.after))
    what = f"{_CHANGES[each.what]}{where}"
    if before and after:
        what += f": {before} became {after}"
    elif before or after:
        what += f": {before or after}"
    why = f": “{each.by.reason}”" if each.by.reason else ""
    return f"{what}, by {person(each.by)}{why}"


def _faces(each: Change, text: str | None) -> str | None:
    if each.what != "card":
        return text
    return "a card not known" if text is None else card_text(text)


def composition(cards: Composition) -> list[str]:
    """Format the composition of a shoe as sentences."""
    if cards.reshuffled:
        return ["The cards go back into this shoe, so they cannot be counted against its decks."]
    lines = [_out(cards)]
    if cards.surplus:
        lines.append(
            f"Told more often than the decks hold: {_copies(cards.surplus, ' more')}. A card was"
            " misread, read twice, or does not belong to this shoe."
        )
    if cards.dealt_out:
        lines.append(_missing(cards))
    elif cards.left > 0:
        lines.append(
            "It was not dealt out, so a face that is missing may still be in it: only what is"
            " too many, and what was not read, can be told."
        )
    if cards.events_differ:
        lines.append(
            "These are the table's own counts; the events by themselves tell of other cards."
        )
    return lines


def _out(cards: Composition) -> str:
    unread = f", {cards.unread} of them unread" if cards.unread else ", all of them read"
    left = f"; {cards.left} remained" if cards.left > 0 else ""
    return f"{cards.out} of {cards.cards} cards left the shoe{unread}{left}."


def _missing(cards: Composition) -> str:
    if not cards.missing:
        return "Every face came out as often as the decks hold it."
    return f"Never told though the shoe is empty: {_copies(cards.missing)}."


def _copies(counts: dict[str, int], more: str = "") -> str:
    times = {face: "once" if count == 1 else f"{count} times" for face, count in counts.items()}
    return ", ".join(f"{card_text(face)} {text}{more}" for face, text in times.items())


def how_rounds_ended(
    counts: RoundCounts, all_of_them: str = "begun", translate: Translation = ENGLISH
) -> str:
    """Format the rounds of a shoe by how they ended."""
    parts = [(counts.begun, all_of_them), (counts.counted, "counted")]
    others = (
        (counts.void, "void"),
        (counts.aborted, "came to nothing"),
        (counts.partial, "partial"),
        (counts.entered, "entered by hand"),
        (counts.corrected, "with a card corrected"),
        (counts.revised, "with a result changed"),
        (counts.without_wagers, "without wagers"),
    )
    parts += [each for each in others if each[0]]
    return translate(", ").join(
        translate(f"{{n}} {text}", n=f"{count:,}") for count, text in parts
    )


def decisions(tempo: Tempo | Figures, translate: Translation = ENGLISH) -> str:
    """Format the time that people needed for decisions; empty without decisions."""
    if tempo.median_decision is None or tempo.longest_decision is None:
        return ""
    return translate(
        "{done} closed by people, half of them within {median}, the slowest {longest}",
        done=plural(tempo.decided_by_people, "irregularity", translate),
        median=span(tempo.median_decision, translate),
        longest=span(tempo.longest_decision, translate),
    )


def proof_rows(proof: Proof, of: str = "shoe") -> list[tuple[str, str]]:
    """Format the proof as rows of name and value."""
    numbers = f"{proof.first_event:,} to {proof.last_event:,} of the journal"
    if proof.first_event > proof.last_event:
        numbers = "none"
    rows = [
        ("Events", numbers),
        ("Chain", _chain(proof)),
        ("Head", f"after the last event of this {of}: {proof.head}"),
    ]
    if proof.published is not None:
        rows.append(("Published", f"{_published_where(proof)}: {proof.published}"))
    if proof.signature is not None:
        rows.append(("Signed", _signed(proof.signature)))
    written = ", ".join(each or "not recorded" for each in proof.written_by) or "not recorded"
    rows.append(("Program", f"written by version {written}; report by {proof.reported_by}"))
    return rows


def _chain(proof: Proof) -> str:
    done = proof.verified
    if proof.chain == "broken":
        return f"BROKEN at {proof.broken}"
    if done is None:
        return "not verified for this report"
    if done.after == "start" and done.last == done.of:
        return "good: the whole journal was verified for this report"
    return (
        f"good: events {done.first:,} to {done.last:,} of {done.of:,} were verified for this"
        f" report, {_AFTER[done.after]}"
    )


def _signed(signed: ProofSignature) -> str:
    return (
        f"after event {signed.seq:,}, to be compared by `journal verify --key`."
        f" Key: {signed.key}. Signature: {signed.signature}"
    )


def _published_where(proof: Proof) -> str:
    if proof.published_at is not None:
        return f"in shoe_finished, found in the journal at {proof.published_at}"
    if proof.chain == "good":
        return "in shoe_finished, NOT FOUND in the journal"
    return "in shoe_finished, not compared"
