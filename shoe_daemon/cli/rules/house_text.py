"""A house's rules and odds as text, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from textwrap import wrap

from shoe_daemon.cli.terminal import COLUMNS, indented
from shoe_daemon.game import (
    NATURAL,
    PLAYER_CHOICE,
    PUSH,
    Burn,
    CutCard,
    DealingStyle,
    House,
    Resolution,
    Wager,
    banker_draws,
    player_draws,
)
from shoe_daemon.game.exact_odds import Odds, WagerOdds

_RESHUFFLE = {
    "per_shoe": "shuffled for each shoe",
    "per_hand": "shuffled before every round",
    "continuous": "shuffled continuously",
}
_FACES = {
    DealingStyle.FACE_UP: "all face up, at the draw",
    DealingStyle.BANKER_TUCKED: (
        "the Banker's first two lie face down, tucked under the shoe, until the dealer "
        "turns them; all others face up, at the draw"
    ),
    DealingStyle.SQUEEZE: "face down, until a player has turned them",
}


def house_list(houses: Iterable[House]) -> str:
    """List houses, one per line."""
    return "\n".join(
        f"{house.id or '':<16}{house.name:<28}{_decks(house.decks):<10}{house.dealing_style}"
        for house in houses
    )


def rule_sheet(house: House) -> str:
    """Format all rules of a house: procedure, drawing, pay tables, open questions."""
    parts: list[Iterable[str]] = [
        [
            f"{house.name:<{COLUMNS - 16}}{house.id or '':>16}".rstrip(),
            *wrap(house.sheet, COLUMNS),
        ],
        _shoe(house),
        _drawing(house),
        _pay_tables(house),
    ]
    if house.resolutions:
        parts.append(_resolutions(house.resolutions))
    return "\n\n".join("\n".join(part) for part in parts)


def _shoe(house: House) -> Iterator[str]:
    yield "PROCEDURE"
    yield from _entry("Shoe", f"{_decks(house.decks)}, {_RESHUFFLE[house.reshuffle]}")
    yield from _entry("Burn", _burn(house.burn, house.decks))
    yield from _entry("Cut card", _cut_card(house.cut_card))
    yield from _entry(
        "Order",
        "Player, Banker, Player, Banker; then, where due, the Player's third card, "
        "and after it the Banker's",
    )
    yield from _entry("Faces", _FACES[house.dealing_style])
    yield from _entry("Drawn by", _drawn_by(house))


def _decks(count: int) -> str:
    return "1 deck" if count == 1 else f"{count} decks"


def _entry(term: str, text: str) -> list[str]:
    return indented(text, 14, f"  {term}")


def _burn(burn: Burn, decks: int) -> str:
    face = ", face down" if burn.face_down else ""
    others = ", the first face up and the others face down" if burn.face_down else ""
    match burn.mode:
        case "first_card":
            high = f"a ten or a face counts {burn.face_value}"
            among = "itself among them" if burn.indicator_counts else "itself not among them"
            return f"as many cards as the first card counts, {among}{face}; {high}"
        case "per_deck":
            return f"one card for each deck, {decks}{others}"
        case "fixed":
            return f"{burn.fixed} cards{others}"
        case "none":
            return "none"
    return "taken as it comes, not checked"


def _cut_card(cut: CutCard) -> str:
    if cut.mode == "none":
        return "none"
    if cut.mode == "unchecked":
        return "taken as it comes, not checked"
    place = "" if cut.position is None else f"{cut.position} cards from the back; "
    more = {0: "no other follows", 1: "one more follows"}.get(
        cut.hands_after, f"{cut.hands_after} more follow"
    )
    first = "that round is the last" if cut.as_first_card == "last_hand" else "the same holds"
    return (
        f"{place}after the round in which it appears {more}; "
        f"where it appears in place of a round's first card, {first}"
    )


def _drawn_by(house: House) -> str:
    curator = house.curator
    if not curator.on:
        return "the dealer"
    return (
        f"a player, the curator: a new shoe is offered to seat {curator.first_seat}, and passes "
        f"to the {curator.passes_to} when the Banker loses or the curator gives it up (a tie "
        f"keeps it); seats are numbered {curator.seat_numbering}"
    )


def _drawing(house: House) -> Iterator[str]:
    yield "DRAWING"
    yield from indented(
        "An ace counts 1, 2 to 9 their face, tens and faces 0; a hand counts the last digit of "
        f"its sum. {NATURAL} or 9 with two cards, in either hand, is a natural: nobody draws. "
        "Otherwise:",
        2,
    )
    yield ""
    chosen = PLAYER_CHOICE if house.player_chooses else None
    draws = [str(total) for total in range(NATURAL) if player_draws(total) and total != chosen]
    stands = [str(total) for total in range(NATURAL) if not player_draws(total)]
    choice = "" if chosen is None else f", draws or stands on {chosen},"
    yield f"  The Player draws on {' '.join(draws)}{choice} and stands on {' '.join(stands)}."
    yield ""
    yield "  The Banker  when the Player's third card is             when the Player"
    yield "  with        0   1   2   3   4   5   6   7   8   9       stood"
    for total in range(NATURAL):
        cells = ["D" if banker_draws(total, third) else "-" for third in (*range(10), None)]
        yield f"     {total}        {'   '.join(cells[:-1])}       {cells[-1]}"
    yield "                                                D draws, - stands"


def _pay_tables(house: House) -> Iterator[str]:
    yield "WAGERS"
    for wager in house.offered:
        name = wager.definition.name
        for line in wager.lines:
            yield f"  {name:<24}{line.prize.text:<40}{line.pays:>8}"
            name = ""
    yield from indented("What is not listed loses.", 2)
    if Fraction(house.commission) and any(each.definition.commission for each in house.offered):
        yield from indented(f"The commission, {house.commission}, is taken off already.", 2)


def _resolutions(resolutions: Iterable[Resolution]) -> Iterator[str]:
    yield "WHAT THE SHEET LEAVES OPEN"
    for number, each in enumerate(resolutions, start=1):
        about = each.about.replace("_", " ").capitalize()
        yield from indented(f"{about}: {each.gap}", 6, f"  {number:>2}")
        for mark, text in ("->", each.resolved), ("by", each.authority):
            yield from indented(text, 9, f"      {mark}")


def odds_table(odds: Odds, wagers: Sequence[Wager]) -> str:
    """Format odds as a table. Shares are rounded, counts are not."""
    rows = [f"A full shoe of {_decks(odds.decks)}: {odds.total:,} ordered draws of six cards", ""]
    for name in ("banker", "player", "tie"):
        count = getattr(odds, name)
        rows.append(f"  {name.capitalize():<24}{count:>28,}{_percent(count / odds.total, 6)}")
    rows += ["", f"  {'':<24}{'pays':>6}{'win':>12}{'push':>12}{'lose':>12}{'edge':>12}"]
    for wager in wagers:
        rows.extend(_wager_rows(wager, odds.wagers[wager.id], odds.total))
    rows += [
        "",
        "Edge: what the house keeps of a unit staked, in the long run; pushes count.",
    ]
    return "\n".join(rows)


def _wager_rows(wager: Wager, odds: WagerOdds, total: int) -> Iterator[str]:
    winning = [line for line in wager.lines if line.pays != PUSH]
    pays = winning[0].pays if len(winning) == 1 else ""
    counts = (odds.win, odds.push, odds.lose)
    shares = "".join(_percent(count / total, 4) if count else " " * 12 for count in counts)
    yield f"  {wager.definition.name:<24}{pays:>6}{shares}{_percent(float(odds.edge), 6)}"
    if not pays:
        for line in wager.lines:
            share = _percent(odds.prizes[line.prize.id] / total, 4)
            gap = "" if line.pays != PUSH else " " * 12
            yield f"    {line.prize.text:<22}{line.pays:>6}{gap}{share}"


def _percent(share: float, places: int) -> str:
    return f"{100 * share:>10.{places}f} %"
