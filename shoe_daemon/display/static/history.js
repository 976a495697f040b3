/*
 * The rounds of this shoe, and the last shoes. Public: without alerts.
 *
 * Documents: `board`, `roads`, `history`, `beat`.
 *
 * For tests:
 *     body                  data-key, data-fresh (fresh.is), data-lost, data-shoe, data-seq (of the
 *                           history shown), data-rounds (number of rounds shown), data-known
 *     #rounds > tr          data-round, data-outcome ("" if unknown), data-kind,
 *                           data-void, data-partial, data-entered, data-held ("true" or absent),
 *                           data-aborted (its cause), the newest first;
 *                           in it [data-side] > [data-card] (empty: unread),
 *                           .total[data-total], .wager[data-wager]
 *     #shoes > li           data-shoe, data-sequence, data-rounds, the newest first
 *     #road-bead, #road-big hold the svg of road_drawing.js
 */
import { drawCard } from "./card_drawing.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import { drawDisc, drawRoad, roadKey } from "./road_drawing.js";
import { arrange, whenIdle } from "./stable_layout.js";
import { fillWords, pageUrl, showLost, showPage } from "./staff_page.js";
import { syncClock } from "./ticking_age.js";
import { formatClock, formatNumber, page, word } from "./translations.js";

const MAIN_WAGERS = { player: true, banker: true, tie: true };
const OUTCOMES = { P: "player", B: "banker", T: "tie" };
let roads = null;
let history = null;
let board = null;

/* One round. */

function createHand(round, side) {
  const total = round[`${side}_total`];
  return el("td", { class: `cards ${side}`, "data-side": side }, el("div", null, [
    el("b", {
      class: `total points ${side}`, "data-total": total, text: formatNumber(total)
    }),
    round[side].map(card => el("span", {
      class: "small-card",
      "data-card": card || "",
      title: card ? format.card(card) : word("card_unread")
    }, drawCard(card || "?")))
  ]));
}

function createMark(name, text) {
  return el("span", { class: `mark ${name}`, text });
}

function createMarks(round) {
  return [
    round.aborted ? createMark("bad", word(`cause_${round.aborted}`)) : null,
    round.held ? createMark("wait", word("result_held")) : null,
    round.voided ? createMark("bad", word("voided")) : null,
    round.partial ? createMark("wait", word("partial")) : null,
    round.entered ? createMark("wait", word("entered")) : null,
    round.kind === "free" || round.kind === "dummy"
      ? createMark("wait", word(`${round.kind}_hand`)) : null,
    round.natural ? createMark("plain", word("natural")) : null,
    round.player_pair ? createMark("player", word("player_pair")) : null,
    round.banker_pair ? createMark("banker", word("banker_pair")) : null
  ];
}

function createWagers(round) {
  const others = (round.wins || []).filter(wager =>
    wager && !MAIN_WAGERS[wager] && !round[wager]);
  return others.map(wager => el("span", {
    class: "mark wager", "data-wager": wager, text: format.wager(wager)
  }));
}

/* Why a round has no result. */
function missingResultWord(round) {
  return round.voided ? "round_void" : round.aborted ? "round_aborted"
    : round.held ? "held" : "no_result";
}

/* A round of which only its existence is known. */
function isEmpty(round) {
  return !round.outcome && !round.player.length && !round.banker.length;
}

function createResult(round) {
  const known = round.outcome && !round.voided;
  return el("td", { class: "result " + (round.outcome || "none") }, el("div", null, [
    el("span", { class: "disc-box" }, round.outcome ? drawDisc(round.outcome) : null),
    el("span", {
      class: "result-word",
      text: known ? format.outcome(round.outcome) : word(missingResultWord(round))
    })
  ]));
}

function createRow(round) {
  return el("tr", {
    class: round.voided ? "void" : isEmpty(round) ? "without" : null,
    "data-round": round.round,
    "data-outcome": round.outcome || "",
    "data-kind": round.kind,
    "data-void": round.voided ? "true" : null,
    "data-partial": round.partial ? "true" : null,
    "data-entered": round.entered ? "true" : null,
    "data-held": round.held ? "true" : null,
    "data-aborted": round.aborted
  }, [
    el("th", { scope: "row", text: round.round }),
    el("td", { class: "at" }, el("time", { datetime: round.at, text: formatClock(round.at) })),
    createHand(round, "player"),
    createHand(round, "banker"),
    createResult(round),
    el("td", { class: "marks" }, [createMarks(round), createWagers(round)])
  ]);
}

function showRounds() {
  const list = byId("rounds");
  const there = {};
  const all = history ? history.rounds.slice().reverse() : [];
  Array.from(list.children).forEach(row => { there[row.shoeKey] = row; });
  arrange(list, all.map(round => {
    const key = history.shoe + JSON.stringify(round);
    const row = there[key] || createRow(round);
    row.shoeKey = key;
    return row;
  }));
  setAttribute(document.body, "data-rounds", all.length);
  setClass(byId("rounds-box"), "hidden", !all.length);
  setClass(byId("rounds-none"), "hidden", all.length > 0);
  setText(byId("rounds-none"), word(history ? "no_rounds" : "history_none"));
  setClass(byId("left-out"), "hidden", !(history && history.left_out));
  setText(byId("left-out"), word("earlier_left_out", { count: history ? history.left_out : 0 }));
}

/* Roads. */

function showRoad(box, kind, found) {
  const width = box.clientWidth;
  const height = box.clientHeight;
  fillOnChange(box, [width, height, roadKey(kind, found)].join(), () =>
    width && height ? drawRoad(kind, found, { width, height }) : null);
}

function drawRoads() {
  showRoad(byId("road-bead"), "bead", roads);
  showRoad(byId("road-big"), "big", roads);
  Array.from(document.querySelectorAll("[data-plate]")).forEach(box => {
    showRoad(box, "bead", { bead: plateCells(box.getAttribute("data-plate")) });
  });
}

function plateCells(sequence) {
  return (sequence.match(/[PBT][pbn]*/g) || []).map((round, place) => ({
    col: Math.floor(place / 6),
    row: place % 6,
    outcome: OUTCOMES[round.charAt(0)],
    player_pair: round.indexOf("p") > 0,
    banker_pair: round.indexOf("b") > 0,
    natural: round.indexOf("n") > 0
  }));
}

/* Shoes. */

function createCount(side, number) {
  return el("span", { class: "count" }, [
    el("span", { class: "disc-box", title: word(side) }, drawDisc(side)),
    el("span", { class: "spoken", text: word(side) }),
    el("b", { "data-count": side, text: formatNumber(number) })
  ]);
}

function createCounts(shoe) {
  return el("div", { class: "counts" }, [
    ["player", "banker", "tie"].map(side => createCount(side, shoe[side])),
    el("span", { class: "count rounds", "data-count": "rounds",
      text: word("shoe_rounds", { count: shoe.rounds }) })
  ]);
}

function shoePeriod(shoe) {
  return shoe.ended_at
    ? word("shoe_span", { from: formatClock(shoe.started_at), to: formatClock(shoe.ended_at) })
    : word("shoe_now", { from: formatClock(shoe.started_at) });
}

function createPastShoe(shoe) {
  return el("li", {
    class: "past",
    "data-shoe": shoe.shoe,
    "data-rounds": shoe.rounds,
    "data-sequence": shoe.sequence
  }, [
    el("div", { class: "past-head" }, [
      el("h3", { text: word("shoe_number", { number: shoe.shoe }) }),
      el("span", { class: "when", text: shoePeriod(shoe) })
    ]),
    createCounts(shoe),
    el("div", { class: "plate", "data-plate": shoe.sequence || "", role: "img",
      "aria-label": word("bead_plate") })
  ]);
}

function showShoes() {
  const shoes = history ? history.shoes : [];
  setClass(byId("shoes-none"), "hidden", shoes.length > 0);
  fillOnChange(byId("shoes"), JSON.stringify(shoes), () =>
    shoes.slice().reverse().map(createPastShoe));
}

/* Documents. */

function showHeader() {
  const state = board.state;
  const stale = board.fresh.is !== "live";
  const name = board.name;
  setText(byId("name"), name);
  setText(byId("where"), state && state.shoe ? word("shoe_round", {
    shoe: state.shoe.number, round: state.round ? state.round.number : state.counts.rounds
  }) : "");
  document.title = `${name} – ${word("history")}`;
  setAttribute(byId("to-board"), "href",
    pageUrl(`/table/${encodeURIComponent(board.key || page.key || board.table)}`));
  setAttribute(document.body, "data-known", String(board.known));
  setAttribute(document.body, "data-fresh", board.fresh.is);
  setAttribute(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
  setClass(byId("unknown"), "hidden", board.known);
  setText(byId("unknown-word"), word("unknown_table", { table: board.table }));
  setClass(byId("content"), "hidden", !board.known);
  setClass(byId("stale-banner"), "hidden", !stale || !board.known);
  setText(byId("stale-word"), stale ? format.freshness(board.fresh) : "");
  fillOnChange(byId("counts"), JSON.stringify(state && state.counts), () =>
    state ? createCounts(state.counts) : null);
}

function takeHistory(found) {
  history = found;
  setAttribute(document.body, "data-seq", found ? found.seq : null);
  setText(byId("rounds-title"), found && found.shoe !== null
    ? word("rounds_of_shoe", { number: found.shoe }) : word("this_shoe"));
  whenIdle(showRounds);
  showShoes();
  drawRoads();
}

function start() {
  const handlers = {
    board (found) { board = found; showHeader(); },
    roads (found) { roads = found; drawRoads(); },
    history: takeHistory,
    beat (beat) { syncClock(beat.now); }
  };
  fillWords();
  setAttribute(document.body, "data-key", page.key);
  handleInitial(handlers);
  showPage();
  drawRoads();
  window.addEventListener("resize", drawRoads);
  openStream(page.live, handlers, showLost);
}

start();
