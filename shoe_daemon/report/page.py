"""
The report on a shoe as one HTML page for A4 paper, without scripts or external resources.

`render` fills the pages of both reports; all values are escaped.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shoe_daemon.game import RANKS, SUIT_SIGNS, SUITS, Outcome, card_text
from shoe_daemon.report import wording
from shoe_daemon.report.odds import Expectation
from shoe_daemon.report.shoe import ShoeReport
from shoe_daemon.report.translation import ENGLISH, Translation

_LETTERS: Final = {Outcome.BANKER: "B", Outcome.PLAYER: "P", Outcome.TIE: "T", None: "?"}
_FULL: Final = 0.6
"""The share of rounds that fills a bar."""
_ORDINARY: Final = 0.05
_NOT_IN_CSS: Final = re.compile(r"[^\w ,，./-]")  # noqa: RUF001 - the Chinese comma

Keys = list[tuple[str, object, str]]
"""Key figures at the top of a page: name, value, and what stands beside it."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals["wording"] = wording
    return environment


def _shown(value: object) -> object:
    return value if isinstance(value, Markup) else wording.plain(str(value))


def render(
    template: str,
    name: str,
    where: str,
    lines: tuple[str, str],
    *,
    translate: Translation = ENGLISH,
    **values: object,
) -> str:
    """Fill a page: its name, its place, two lines below that, language, values of its body."""
    counters = {"page": '" counter(page) "', "pages": '" counter(pages) "'}
    return (
        _environment()
        .get_template(template)
        .render(
            name=name,
            where=where,
            title=lines[0],
            rules=lines[1],
            translate=translate,
            staff=translate(wording.FOR_STAFF),
            page_of=Markup(translate("Page {page} of {pages}", **counters)),  # noqa: S704 - our words
            # Without characters that could end a string in a style sheet.
            footer=_NOT_IN_CSS.sub("·", f"{name}, {where}"),
            **values,
        )
    )


def shoe_page(report: ShoeReport) -> str:
    """Render a report as one HTML page."""
    return render(
        "shoe.html",
        wording.name(report),
        f"{report.site} / {report.table}",
        (wording.title(report), wording.rules(report)),
        report=report,
        keys=_keys(report),
        bar=_bar,
        unusual=_ORDINARY,
        letters=_LETTERS,
        ranks=RANKS,
        suits=SUITS,
        signs=SUIT_SIGNS,
        colour=lambda suit: "red" if suit in {"H", "D"} else "black",
        card_text=card_text,
    )


def _keys(report: ShoeReport) -> Keys:
    counts, tempo, cards = report.counts, report.tempo, report.composition
    pause = tempo.longest_pause
    return [
        ("rounds counted", counts.counted, f"of {counts.begun}"),
        ("cards out", cards.out, "" if cards.reshuffled else f"of {cards.cards}"),
        ("rounds an hour", wording.number(tempo.rounds_per_hour), ""),
        ("cards a minute", wording.number(tempo.cards_per_minute), ""),
        ("longest pause", wording.span(pause.seconds if pause else None), ""),
        ("irregularities", len(report.incidents), ""),
    ]


def _bar(each: Expectation, count: float) -> str:
    """Return the length of a bar in percent."""
    return f"{min(100 * count / (each.rounds * _FULL or 1), 100):.1f}"
