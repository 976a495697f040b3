/*
 * What the table would do for an order: the events, and the round before and after.
 *
 * createPreview(preview)   preview: of the table's answer to a dry run
 *
 * For tests: .change.before, .change.after [data-slot]   the cards before and after
 */
import { cardsOfHand, drawCard, shownCard } from "./card_drawing.js";
import { el } from "./dom.js";
import * as format from "./format.js";
import { formatNumber, word } from "./translations.js";

/* The cards of a hand: [slot, what to draw]. The history knows no slots, but their order. */
function handCards(found, letter) {
  if (found.state) {
    return cardsOfHand(found.state.cards, letter)
      .map(card => [card.slot, shownCard(card, found.state)]);
  }
  return (letter === "P" ? found.history.player : found.history.banker)
    .map((card, place) => [letter + (place + 1), card === null ? "?" : card]);
}

function outcomeOf(row) {
  if (!row) {
    return { tone: "none", text: word("sheet_no_result") };
  }
  if (row.voided || row.aborted) {
    return { tone: "none", text: word(row.voided ? "round_void" : "round_aborted") };
  }
  return {
    tone: row.outcome || "none",
    text: row.held ? word("result_held") : format.outcome(row.outcome)
  };
}

function createHand(name, total, cards) {
  return el("div", { class: `hand ${name}` }, [
    el("span", { class: "points", text: formatNumber(total) }),
    el("div", { class: "cards" }, cards.map(([slot, card]) =>
      el("span", { "data-slot": slot, "data-card": card || "" }, drawCard(card))))
  ]);
}

function createRound(found, name) {
  const totals = found.state || found.history;
  const outcome = outcomeOf(found.history);
  const player = handCards(found, "P");
  const banker = handCards(found, "B");
  return el("div", { class: `change ${name}` }, [
    el("h3", { text: word(`sheet_${name}`, { round: found.round }) }),
    // Of a round that was made void, or is held, no cards are published.
    player.length || banker.length ? el("div", { class: "hands" }, [
      createHand("player", totals.player_total, player),
      createHand("banker", totals.banker_total, banker)
    ]) : null,
    el("p", { class: `outcome ${outcome.tone}`, text: outcome.text })
  ]);
}

function createEvent(event) {
  const { text, more } = format.event(event);
  return el("li", { "data-type": event.type }, [
    text, more.slice(0, 1).map(each => el("span", { class: "more", text: each }))
  ]);
}

export function createPreview(preview) {
  return [
    el("h3", { text: word("sheet_would") }),
    preview.events.length ? el("ul", { class: "would" }, preview.events.map(createEvent))
      : el("p", { text: word(`sheet_would_${preview.faces_hidden ? "hidden" : "nothing"}`) }),
    preview.left_out ? el("p", { class: "hint",
      text: word("sheet_left_out", { count: preview.left_out }) }) : null,
    el("div", { class: "changes" }, [
      preview.before ? createRound(preview.before, "before") : null,
      preview.after ? createRound(preview.after, "after") : null
    ])
  ];
}
