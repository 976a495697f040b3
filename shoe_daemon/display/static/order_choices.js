/*
 * The step of an order in which a value is chosen.
 *
 * createChoice(name, fields, state, choose)   name: slot, card, outcome, action or kind; fields: of
 *                     the order, in which a list limits the choice; state: of the table, or null.
 *                     choose(value) is called with what is chosen
 *
 * For tests: [data-choice]
 */
import { drawCard, shownCard } from "./card_drawing.js";
import { el } from "./dom.js";
import * as format from "./format.js";
import { page, word } from "./translations.js";

const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];
const SUITS = ["S", "H", "C", "D"];
const SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
const OUTCOMES = ["player", "banker", "tie"];

/* The cards on the table, unless the order is about another round. */
function cardsOf(fields, round) {
  const cards = {};
  const isAnother = round && fields.round && fields.round !== round.number;
  (round && !isAnother ? round.cards : []).forEach(card => {
    if (card.slot) {
      cards[card.slot] = shownCard(card, round);
    }
  });
  return cards;
}

function createSlots(button, fields, state) {
  const cards = cardsOf(fields, state && state.round);
  const known = SLOTS.filter(slot => slot in cards);
  const hands = ["P", "B"].map(letter => {
    const slots = (known.length ? known : SLOTS).filter(slot => slot.startsWith(letter));
    return el("div", { class: "slots" }, slots.map(slot => button(slot, [
      el("span", { text: format.place(slot) }), slot in cards ? drawCard(cards[slot]) : null
    ])));
  });
  return Array.isArray(fields.slot)
    ? [hands, el("div", { class: "slots" }, button("", word("sheet_another_card")))] : hands;
}

function createDeck(button) {
  return el("div", { class: "deck" }, SUITS.map(suit =>
    el("div", { class: `suit suit-${suit}` }, RANKS.map(rank =>
      button(rank + suit, format.card(rank + suit))))));
}

function createOutcomes(button) {
  return el("div", { class: "outcomes" },
    OUTCOMES.map(outcome => button(outcome, format.outcome(outcome))));
}

function createActions(button, fields) {
  return el("div", { class: "actions" },
    fields.action.map(action => button(action, format.action(action))));
}

/* What no reader of this table sees. */
function createKinds(button, fields, state) {
  const kinds = page.reportable.filter(kind => !state || state.blind.includes(kind));
  return el("div", { class: "actions" }, kinds.map(kind => button(kind, format.kind(kind))));
}

const CREATORS = {
  slot: createSlots, card: createDeck, outcome: createOutcomes, action: createActions,
  kind: createKinds
};

export function createChoice(name, fields, state, choose) {
  function button(value, content) {
    const made = el("button", { type: "button", class: "choice", "data-choice": value }, content);
    made.addEventListener("click", () => choose(value));
    return made;
  }

  return [
    // The title of the dialog asks for an action.
    name === "action" ? null : el("h3", { text: word(`sheet_choose_${name}`,
      { slot: fields.slot ? format.place(fields.slot) : "" }) }),
    CREATORS[name](button, fields, state)
  ];
}
