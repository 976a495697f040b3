/*
 * The dealer's screen: what is due now, in large words and colours, and the orders of a dealer.
 *
 * Documents: `board`, `public_alerts`, `events`, `event`, `beat`.
 *
 * For tests:
 *     body      data-key, data-fresh
 *     #say      data-say = stop (an irregularity), ordered (a ruling that waits), wait (held or on
 *               hold), draw, result, burn, betting, idle or stale; data-hand = player, banker,
 *               tie or none
 *     #main, #more   the sentence and its reason
 *     #betting  data-betting = open, closed or none
 *     #dealer-name, #sign   who has signed on; signs on or off
 *     [data-order]   the orders
 */
import { bySeverity } from "./alerts.js";
import { cardsOfHand, drawCard, shownCard } from "./card_drawing.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import * as orderSheet from "./order_sheet.js";
import { fillWords, showPage } from "./staff_page.js";
import { syncClock } from "./ticking_age.js";
import { formatClock, formatNumber, page, sentence, word } from "./translations.js";

/* Irregularities of this severity stop the game. */
const STOPS = 2;
const ORDERS = ["no-more-bets", "betting-open", "reveal", "confirm-result", "report", "hold"];
/* Alarms at which no card is recorded. */
const STANDS_STILL = ["not_recorded", "cards_too_fast"];
const WORDS = { hold: "dealer_call" };
const ORDERED = { draw_now: "dealer_draw_now", manual_entry: "dealer_manual_entry",
  rescan: "dealer_rescan" };

let row = null;
let alerts = [];
/* Cards still to be burned, and the event that told it: {count, seq, at}. */
let toBurn = null;
let lost = false;

/* Events may be lost with a connection, the state is not: a card is due to a hand. */
function isDealing(state) {
  const due = state.round && !state.round.finished && state.round.draw_due;
  return Boolean(due) && due.hand !== "none";
}

function burnCount(state) {
  return toBurn && !(state.seq > toBurn.seq && isDealing(state)) ? toBurn.count : null;
}

function betting(state) {
  const open = state && state.betting;
  setAttribute(byId("betting"), "data-betting", open || "none");
  setText(byId("betting"), open === "open" ? word("dealer_bets_open")
    : open === "closed" ? word("no_more_bets") : "");
}

function stopping() {
  return bySeverity(alerts).filter(alert => alert.data.severity >= STOPS)[0];
}

/* What a person has ordered, as long as the dealer can do it: the round is still on the table. */
function waiting(alert, state) {
  const ordered = alert.ordered;
  const round = state.round && state.round.number;
  const isPast = alert.round && alert.round !== round ||
    ordered && ordered.action === "draw_now" && (!round || state.round.finished);
  return !ordered || isPast || !ORDERED[ordered.action] ? null : {
    say: "ordered", main: word(ORDERED[ordered.action]),
    more: format.alert(alert).text + " " + word("dealer_ordered_by",
      { operator: ordered.operator || "–", time: formatClock(ordered.at) })
  };
}

function resultOf(state) {
  const last = state.last_result;
  return last && state.shoe && last.shoe === state.shoe.number && state.round &&
    last.round === state.round.number ? last : null;
}

/* Readers that read nothing at present, as sentences. */
function deadReaders(state) {
  return state.readers
    .filter(({ link, state }) => link === "down" || state === "fault" || state === "locked")
    .map(reader => format.event({ type: "reader_status", data: reader }).text);
}

/* {say, hand, main, more}: what the dealer must know first. */
function now() {
  const state = row.state;
  const alert = stopping();
  const dead = state ? deadReaders(state) : [];
  if (lost || row.fresh.is !== "live" || !state) {
    return { say: "stale", main: word("dealer_not_seen"),
      more: lost ? word("fresh_lost") : format.freshness(row.fresh) };
  }
  if (STANDS_STILL.includes(state.detail_code)) {
    return { say: "stale", main: word("dealer_not_seen"),
      more: sentence(state, state.alarm).text };
  }
  if (alert) {
    return waiting(alert, state) || { say: "stop", main: format.kind(alert.data.kind),
      more: `${format.alert(alert).text} ${word("dealer_leave")}` };
  }
  if (dead.length && dead.length === state.readers.length) {
    return { say: "stale", main: dead.join(" · "), more: word("dealer_call") };
  }
  const found = course(state);
  // Cards may be seen by another reader, and other alarms are for staff: the game may go on.
  if (state.alarm) {
    dead.push(sentence(state, state.alarm).text);
  }
  found.more = dead.concat(found.more || []).join(" · ");
  return found;
}

/* The course of the game, where all is well. */
function course(state) {
  const round = state.round;
  const result = resultOf(state);
  const due = round && !round.finished ? round.draw_due : null;
  const dueText = due ? sentence(due, due.text).text : "";
  const isHeld = round && state.held.includes(round.number);
  if (state.on_hold || isHeld) {
    return { say: "wait", main: word(state.on_hold ? "on_hold" : "result_held"),
      more: [word("supervisor_decides"), dueText].filter(Boolean).join(" · ") };
  }
  if (burnCount(state)) {
    return { say: "burn", main: word("dealer_burn", { count: toBurn.count }), more: "" };
  }
  if (due) {
    return { say: "draw", hand: due.hand, main: format.round(state).text, more: dueText };
  }
  if (result) {
    return { say: "result", hand: result.data.outcome, main: format.outcome(result.data.outcome),
      more: format.marks(result.data).join(" · ") };
  }
  return { say: state.betting ? "betting" : "idle", main: format.round(state).text, more: "" };
}

function showSay() {
  const found = now();
  setAttribute(byId("say"), "data-say", found.say);
  setAttribute(byId("say"), "data-hand", found.hand || "none");
  setText(byId("main"), found.main);
  setAttribute(byId("main"), "data-size", found.main.length > 26 ? "small" : "large");
  setText(byId("more"), found.more);
}

function showHands(round) {
  ["player", "banker"].forEach(side => {
    const letter = side === "player" ? "P" : "B";
    const total = round ? round[`${side}_total`] : null;
    const cards = cardsOfHand(round ? round.cards : [], letter);
    setText(byId(`total-${side}`), formatNumber(total));
    fillOnChange(byId(`cards-${side}`), JSON.stringify(cards), () => cards.map(card =>
      el("span", { "data-slot": card.slot }, drawCard(shownCard(card, round)))));
  });
}

/* The order that comes next in a round. */
function isNext(verb, state) {
  const dealing = state && state.round && !state.round.finished;
  return Boolean(state) && (verb === "no-more-bets" ? state.betting === "open"
    : verb === "betting-open" && state.betting === "closed" && !dealing);
}

function showOrders() {
  setClass(byId("order-buttons"), "hidden", !page.order_verbs);
  fillOnChange(byId("order-buttons"), "made", () => ORDERS.map(verb =>
    verb === "report" ? orderSheet.reportButton(true) : orderSheet.button(verb, {},
      word(WORDS[verb] || `give_${verb.replace(/-/g, "_")}`), true)));
  Array.from(byId("order-buttons").children).forEach(button => {
    const verb = button.getAttribute("data-order");
    button.disabled = lost || row.fresh.is !== "live";
    setClass(button, "current", isNext(verb, row.state));
  });
  showDealer();
}

function showDealer() {
  const dealer = row.state && row.state.dealer;
  setClass(byId("dealer-now"), "hidden", !page.order_verbs || !row.state);
  setText(byId("dealer-name"), dealer ? word("event_dealer_changed",
    { dealer }) : word("event_dealer_changed_off"));
  setText(byId("sign"), signWord(dealer));
  byId("sign").disabled = lost || row.fresh.is !== "live";
}

/* Who is logged in signs off himself, or as a supervisor whoever deals; else he signs on. */
function signsOff() {
  const dealer = row.state && row.state.dealer;
  return Boolean(dealer) && (dealer === operator.name || operator.isSupervisor());
}

function signWord(dealer) {
  const words = [word("dealer_sign_on"), word("dealer_sign_off")];
  return dealer && !operator.name ? words.join(" / ") : words[Number(signsOff())];
}

function sign() {
  let isOff = false;
  function dealer() {
    isOff = signsOff();
    return isOff ? null : operator.name;
  }
  function then() {
    if (isOff) {
      operator.logOut();
    }
  }
  orderSheet.open({ table: row.key, verb: "dealer", fields: { dealer },
    title: signWord(row.state.dealer), direct: true, then });
}

function show() {
  const state = row && row.state;
  if (!row) {
    return;
  }
  setText(byId("name"), row.name || row.table);
  setText(byId("where"), format.where(state));
  document.title = row.name || row.table;
  setAttribute(document.body, "data-key", row.key);
  setAttribute(document.body, "data-fresh", lost ? "lost" : row.fresh.is);
  betting(state);
  showHands(state && state.round);
  showSay();
  showOrders();
}

function takeEvent(event) {
  if (event.type === "card_burned") {
    toBurn = event.data.remaining
      ? { count: event.data.remaining, seq: event.seq, at: event.at } : null;
  } else if (event.type === "round_started" || event.type === "card_dealt" ||
      event.type === "shoe_started") {
    toBurn = null;
  }
}

/* What happened between the last event and `since` is not known. */
function takeEvents(found) {
  toBurn = null;
  found.events.forEach(takeEvent);
  if (toBurn && found.since && new Date(found.since) > new Date(toBurn.at)) {
    toBurn = null;
  }
}

function start() {
  const handlers = {
    board (found) { row = found; show(); },
    public_alerts (found) { alerts = found.alerts; show(); },
    events (found) { takeEvents(found); show(); },
    event (found) { takeEvent(found.event || found); show(); },
    beat (beat) { syncClock(beat.now); }
  };
  fillWords();
  setAttribute(document.body, "data-key", page.key);
  orderSheet.setTable(() => row);
  operator.onChange(show);
  if (page.order_verbs) {
    operator.load();
  }
  byId("sign").addEventListener("click", sign);
  handleInitial(handlers);
  showPage();
  openStream(page.live, handlers, isLost => {
    lost = isLost;
    show();
  });
}

start();
