/*
 * The cards of the round, the totals, and the place of the next card.
 *
 * drawHands(round, moving)   draws `state.round`, null for none; with moving, new and turned
 *                        cards are animated
 */
import { drawCard, shownCard } from "./card_drawing.js";
import { byId, setAttribute, setChildren, setClass, setText } from "./dom.js";

const SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
const SIDES = ["player", "banker"];

function cardsBySlot(round) {
  const cards = {};
  (round ? round.cards : []).forEach(view => {
    if (view.slot) {
      cards[view.slot] = shownCard(view, round);
    }
  });
  return cards;
}

/* A card whose hand is unknown yet lies beside the hands. */
function unplacedCard(round) {
  const views = round ? round.cards.filter(view => !view.slot) : [];
  return views.length ? shownCard(views[0], round) : undefined;
}

/* The slot of the next card; null if no card is due or its hand is unknown. */
function dueSlot(round) {
  const due = round && !round.finished ? round.draw_due : null;
  const letter = due ? { player: "P", banker: "B" }[due.hand] : null;
  const cards = cardsBySlot(round);
  return letter ? SLOTS.filter(slot =>
    slot.charAt(0) === letter && cards[slot] === undefined)[0] || null : null;
}

/* card: undefined for no card. */
function showCard(place, card, moving) {
  const before = place.getAttribute("data-card");
  const shown = card === undefined ? null : card === null ? "" : card;
  if (before === shown) {
    return;
  }
  setAttribute(place, "data-card", shown);
  setClass(place, "empty", shown === null);
  setChildren(place, shown === null ? null : drawCard(card));
  if (shown !== null && moving) {
    place.firstChild.classList.add(before === null ? "in" : "turn");
  }
}

function showTotals(round) {
  SIDES.forEach(side => {
    const total = round ? round[`${side}_total`] : null;
    const known = total !== null && total !== undefined;
    setText(byId(`${side}-total`), known ? total : "–");
    setAttribute(byId(`${side}-total`), "data-total", known ? total : "");
    setClass(byId(`${side}-total`), "none", !known);
  });
}

export function drawHands(round, moving) {
  const cards = cardsBySlot(round);
  const due = dueSlot(round);
  SLOTS.forEach(slot => {
    const place = document.querySelector(`[data-slot=${slot}]`);
    showCard(place, cards[slot], moving);
    setClass(place, "due", slot === due);
  });
  showCard(byId("extra"), unplacedCard(round), moving);
  setClass(byId("centre"), "beside", unplacedCard(round) !== undefined);
  showTotals(round);
}
