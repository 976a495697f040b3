/*
 * The round of a table's page in the pit, its readers, and facts about the table.
 *
 * showRound(row), showReaders(row), showFacts(row)
 *
 * For tests:
 *     #spots [data-slot]   the cards of the round, with data-card (empty: face down, "?": unread)
 *     #total-player, #total-banker
 *     #devices > li        data-device, data-state
 */
import { cardsOfHand, drawCard, isDrawUnknown, shownCard } from "./card_drawing.js";
import { byId, el, fillOnChange, setClass, setSentence, setText } from "./dom.js";
import * as format from "./format.js";
import { createBeads } from "./table_tile.js";
import { formatNumber, sentence, word } from "./translations.js";

const MAX_BEADS = 30;

function createSpot(card, round) {
  const shown = shownCard(card, round);
  return el("span", {
    class: card.slot && card.slot.charAt(1) === "3" ? "spot third" : "spot",
    "data-slot": card.slot,
    "data-card": shown || "",
    title: format.place(card.slot) + (shown === "?" ? `: ${word("card_unread")}` : "")
  }, drawCard(shown));
}

function createHand(round, side, letter) {
  const cards = cardsOfHand(round ? round.cards : [], letter);
  return el("div", { class: `hand ${side}` }, cards.map(card => createSpot(card, round)));
}

function drawReason(round) {
  // An unread card is shown as such; no face is turned later.
  return !round || !round.draw_due || round.finished || isDrawUnknown(round)
    ? { text: "" } : sentence(round.draw_due, round.draw_due.text);
}

export function showRound(row) {
  const round = row.state && row.state.round;
  const status = row.state ? format.round(row.state) : { text: word("no_round"), tone: "quiet" };
  fillOnChange(byId("spots"), JSON.stringify(round && [round.cards, round.finished]), () =>
    [createHand(round, "player", "P"), createHand(round, "banker", "B")]);
  setText(byId("total-player"), round ? formatNumber(round.player_total) : "–");
  setText(byId("total-banker"), round ? formatNumber(round.banker_total) : "–");
  setText(byId("round-now"), status.text);
  byId("round-now").className = `round-now ${status.tone}`;
  setSentence(byId("round-why"), drawReason(round));
  fillOnChange(byId("strip"), row.outcomes, () => createBeads(row.outcomes, MAX_BEADS));
}

function readerState(row, id) {
  const readers = row.state ? row.state.readers : [];
  const isOnly = readers.length === 1 && row.devices.length === 1;
  const found = readers.find(reader => reader.source === id || isOnly);
  return found ? format.reader(found) : "";
}

function createDevice(row, device) {
  const status = format.device(device);
  const frames = word("reader_frames", { count: device.frames, noise: device.noise });
  return el("li", {
    class: `device ${device.state}`, "data-device": device.id, "data-state": device.state
  }, [
    el("i", { class: status.good ? "lamp" : "lamp bad", "aria-hidden": "true" }),
    el("b", { text: device.id }),
    el("span", { class: "device-says", text: status.text }),
    el("span", { class: "device-more",
      text: [readerState(row, device.id), frames].filter(Boolean).join(" · ") })
  ]);
}

export function showReaders(row) {
  setClass(byId("devices-none"), "hidden", row.devices.length > 0);
  fillOnChange(byId("devices"), JSON.stringify([row.devices, row.state && row.state.readers]), () =>
    row.devices.map(device => createDevice(row, device)));
}

export function showFacts({ state }) {
  const shoe = state && state.shoe;
  const facts = !state ? [] : [
    [word("policy"), format.policy(state)],
    [word("house"), format.house(state)],
    [word("shoe"), shoe ? word("decks", { count: shoe.decks }) : "–"],
    [word("cut_card"), word(shoe && shoe.cut_card ? "yes" : "no")],
    [word("last_round"), word(shoe && shoe.last_round ? "yes" : "no")],
    [word("blind_heading"),
      (state.blind || []).map(format.kind).join(word("list_comma")) || word("none")]
  ];
  fillOnChange(byId("facts"), JSON.stringify(facts), () =>
    facts.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));
}
