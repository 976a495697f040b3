"""One physical card of a round: what was observed of it, and what was published."""

from __future__ import annotations

from msgspec import Struct

from shoe_daemon.game import Card, Slot


class DrawnCard(Struct, omit_defaults=True):
    """
    One physical card.

    Attributes:
        face: None while unknown.
        declared: The slot that the reader reported, or on which a person entered the card.
        public: The players have seen the face, and never forget it.
        unread: The reader could not read it: its face does not come by itself.
        order: How many cards had left the shoe before it; -1 until it is counted.
        out: It belongs to neither hand, whatever the faces are: it was drawn outside the game, or
            a person or the reader has put it aside.
        laid: The slot that was derived for a card of which only the failed reading was reported;
            it counts until the known faces show where it lies.
        lies: The slot on which a camera sees it now, if that is not `declared`.
        sure: No card was missed before it in its round, so that the order gives its slot.
        seed: It left the shoe in an earlier round, and was carried into this one.
        told: What was published: None for nothing, "" for a card face down, else the face.
        told_staff: The face that was published for staff.
        counted: The face that the shoe has counted.
        counted_public: It was counted as public.
        slot: The slot in the public view; derived.
        checked: The face that a checking reader read while this one was unknown.
        unsaid: The ids of irregularities that are for staff only until its face is public.
        number: `RecentCard.number`, if `suspect_run` is set.
        tag: The key of its tag; None without one.
    """

    face: Card | None = None
    declared: Slot | None = None
    public: bool = False
    unread: bool = False
    order: int = -1
    out: bool = False
    laid: Slot | None = None
    lies: Slot | None = None
    sure: bool = True
    seed: bool = False
    told: str | None = None
    told_staff: Card | None = None
    counted: Card | None = None
    counted_public: bool = False
    slot: Slot | None = None
    checked: Card | None = None
    unsaid: list[int] = []
    number: int | None = None
    tag: str | None = None

    @property
    def key(self) -> str:
        """The key of its irregularity, as an excess card or with the wrong hand."""
        return f"card:{self.order}"

    @property
    def place(self) -> Slot | None:
        """The slot on which it lies as far as the reader knows."""
        return self.lies or self.declared or self.slot
