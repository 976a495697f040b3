/*
 * The board of a table, for players.
 *
 * It draws the documents `board` and `roads`. Both are complete; only differences are drawn. Its
 * parts: header.js (header, counts, footer), hand_cards.js, status.js, road_drawing.js. Tests and
 * kiosks may rely on:
 *
 *   body        data-fresh = live, stale, stopping, offline, no_broker, unknown, alarm or lost;
 *               class "grey" unless live; data-seq, data-shoe, data-round of the state that is
 *               drawn, data-roads-seq of the roads
 *   [data-slot=P1 … B3, none]   data-card = "AS", "" face down, "?" unread; absent while
 *               empty; class "due" where the next card belongs; none: the hand is unknown yet
 *   #player-total, #banker-total   data-total; "" while unknown
 *   #centre     data-say = result, held, hold, draw, complete, betting_open, betting_closed,
 *               first_card, first_round, last_round or shoe_change; data-outcome of a result;
 *               class loud for some seconds after a result, then calm
 *   #chips li   data-chip = natural, player_pair, banker_pair, partial, held, entered, free,
 *               dummy, revised or the id of a wager that won
 *   #tags li    data-tag = last_round, cut_card, curator
 *   [data-count=player, banker, tie, player_pair, banker_pair, natural, rounds]   its text
 *   #before     the previous round, in words
 *   svg.road, g.cell, svg.ask   see road_drawing.js
 *   #papers     class "early" while the Big Road is short, and drawn larger
 *   #veil, #unknown   shown while the table is not fresh, or unknown
 */
import { byId, el, fillOnChange, setAttribute, setChildren, setClass, setText } from "./dom.js";
import { handleInitial, openStream } from "./event_stream.js";
import { drawHands } from "./hand_cards.js";
import * as header from "./header.js";
import { drawAsk, drawRoad, roadKey } from "./road_drawing.js";
import { drawStatus } from "./status.js";
import { formatClock, page, sentence, word } from "./translations.js";

const LOUD_FOR_MS = 8000;
const FONT_TIMEOUT_MS = 1000;
const SETTLE_AFTER_LOSS_MS = 1500;
const SPOKEN_ROUNDS = 12;
const SIDES = ["player", "banker"];
/* Where drawing takes longer, cards do not move. */
const SLOW_MS = 50;
/* So many columns of the Big Road are drawn large. */
const EARLY_COLUMNS = 20;
const CAPTIONS = {
  bead: "bead_plate", big: "big_road", big_eye: "big_eye_boy", small: "small_road",
  cockroach: "cockroach_pig"
};

let board = null;
let roads = null;
let lostSince = null;
const roadBoxes = [];

/* Whether documents are new: not the initial ones, nor those missed during a loss. */
let started = false;
let previousFreshness = "";

let shownResult = null;
let loudUntil = 0;
let calmTimer = null;
let drawingTime = 0;
let revised = null;

function isNew() {
  return started && previousFreshness === "live";
}

/* ---- the last result, while it is new ---- */

function isNewResult(last) {
  return last && !(shownResult && shownResult.seq === last.seq);
}

function startLoud(left) {
  loudUntil = Date.now() + left;
  window.clearTimeout(calmTimer);
  calmTimer = window.setTimeout(drawAll, left + 20);
}

/* A result is loud for some seconds after its time, which may be before the page opened. */
function noticeResult(state) {
  const last = state.last_result;
  if (!isNewResult(last)) {
    return;
  }
  const age = isNew() ? 0 : new Date(state.published) - new Date(last.at);
  revised = shownResult && shownResult.round === last.round &&
    shownResult.shoe === last.shoe ? last.seq : null;
  shownResult = { seq: last.seq, round: last.round, shoe: last.shoe };
  if (age >= 0 && age < LOUD_FOR_MS) {
    startLoud(LOUD_FOR_MS - age);
  }
}

/* ---- roads and asks ---- */

function createRoadBoxes() {
  document.querySelectorAll("[data-paper]").forEach(node => {
    const kind = node.getAttribute("data-paper");
    const sheet = el("div", { class: "sheet", role: "img" });
    const caption = el("figcaption", { text: word(CAPTIONS[kind]) });
    node.append(sheet, caption);
    roadBoxes.push({ kind, sheet, caption, key: null });
  });
}

function measureRoadBoxes() {
  roadBoxes.forEach(box => {
    box.width = box.sheet.clientWidth;
    box.height = box.sheet.clientHeight;
  });
}

/* The last outcomes, for screen readers. */
function lastOutcomes(kind) {
  return kind !== "bead" || !roads || !roads.bead.length ? ""
    : ": " + roads.bead.slice(-SPOKEN_ROUNDS).map(cell => word(cell.outcome)).join(", ");
}

function showRoad(box) {
  const data = roadKey(box.kind, roads);
  const key = data + box.width + "x" + box.height;
  if (key === box.key) {
    return;
  }
  const drawn = drawRoad(box.kind, roads, {
    width: box.width, height: box.height, fresh: isNew() && data !== box.data
  });
  setChildren(box.sheet, drawn);
  setClass(box.caption, "covered", isCovered(box, drawn));
  box.key = key;
  box.data = data;
  setAttribute(box.sheet, "aria-label", word(CAPTIONS[box.kind]) + lastOutcomes(box.kind));
}

/* Whether a cell lies where the name of the road is, at the end of the last row. */
function isCovered(box, drawn) {
  const high = box.height / 6;
  const wide = box.width / drawn.getAttribute("data-columns");
  const first = Number(drawn.getAttribute("data-first"));
  const left = (box.width - box.caption.offsetWidth) / wide + first;
  const top = (box.height - box.caption.offsetHeight) / high;
  return (roads && roads[box.kind] || []).some(cell => cell.col + 1 > left && cell.row + 1 > top);
}

function drawRoads() {
  const last = roads && roads.big[roads.big.length - 1];
  const isEarly = !last || last.col < EARLY_COLUMNS;
  if (isEarly !== byId("papers").classList.contains("early")) {
    setClass(byId("papers"), "early", isEarly);
    measureRoadBoxes();
  }
  roadBoxes.forEach(showRoad);
  SIDES.forEach(side => {
    const node = document.querySelector(`[data-ask-of=${side}]`);
    fillOnChange(node, JSON.stringify(roads && roads.ask), () => drawAsk(side, roads));
  });
  setAttribute(document.body, "data-roads-seq", roads ? roads.seq : null);
}

/* ---- freshness ---- */

function currentFreshness() {
  if (lostSince) {
    return { is: "lost", since: lostSince };
  }
  if (!board || !board.known) {
    return { is: "unknown", since: null };
  }
  if (board.fresh.is === "live" && board.state && board.state.alarm) {
    return { is: "alarm", since: null };
  }
  return board.fresh;
}

function showStaleOverlay(fresh) {
  const grey = fresh.is !== "live" && Boolean(board && board.state);
  setClass(document.body, "grey", grey);
  setAttribute(document.body, "data-fresh", fresh.is);
  byId("veil").hidden = !grey;
  if (grey) {
    setText(byId("veil-title"), fresh.is === "alarm" ? word("fresh_stale")
      : word(`fresh_${fresh.is}`));
    setText(byId("veil-more"), fresh.is === "alarm"
      ? word("alarm", { text: sentence(board.state, board.state.alarm).text })
      : fresh.since ? word("since", { time: formatClock(fresh.since) }) : "");
  }
}

function showUnknownTable(fresh) {
  const none = !board || !board.state;
  const node = byId("unknown");
  byId("board").hidden = none;
  node.hidden = !none;
  if (none) {
    setText(node.querySelector("h1"), lostSince ? word("fresh_lost")
      : board && board.known ? board.name
        : word("unknown_table", { table: board ? board.table : page.key || "" }));
    setText(node.querySelector("p"), fresh.is === "unknown" ? word("unknown_table_hint")
      : (lostSince ? "" : `${word("fresh_" + fresh.is)} `) +
        (fresh.since ? word("since", { time: formatClock(fresh.since) }) : ""));
    document.title = node.querySelector("h1").textContent;
  }
}

function announce(said, fresh) {
  const text = fresh.is === "live" ? said.text
    : `${byId("veil-title").textContent} ${byId("veil-more").textContent}`;
  // That the table was not live is no longer true once it is.
  if (text || previousFreshness !== fresh.is) {
    setText(byId("spoken"), text);
  }
}

/* ---- drawing ---- */

function drawTable(state, fresh) {
  noticeResult(state);
  header.update(state);
  drawHands(state.round, isNew() && drawingTime < SLOW_MS);
  announce(drawStatus(state, { loud: Date.now() < loudUntil, revised }), fresh);
  header.updateCounts(state);
  if (!roadBoxes[0].width) {
    measureRoadBoxes();
  }
  drawRoads();
}

function drawAll() {
  const began = performance.now();
  const fresh = currentFreshness();
  showStaleOverlay(fresh);
  showUnknownTable(fresh);
  if (board && board.state) {
    drawTable(board.state, fresh);
  }
  previousFreshness = fresh.is;
  drawingTime = performance.now() - began;
}

/* The page is shown with its fonts; without them after a timeout. */
function showPage() {
  document.body.classList.remove("waiting");
}

function showPageWithFonts() {
  window.setTimeout(showPage, FONT_TIMEOUT_MS);
  document.fonts.ready.then(showPage);
}

const handlers = {
  board(document_) {
    board = document_;
    drawAll();
  },
  roads(document_) {
    roads = document_;
    drawAll();
  }
};

/* Documents missed during a loss are not new after it. */
function setLost(isLost, since) {
  started = false;
  lostSince = isLost ? since : null;
  if (!isLost) {
    window.setTimeout(() => {
      started = lostSince === null;
    }, SETTLE_AFTER_LOSS_MS);
  }
  drawAll();
}

header.build();
createRoadBoxes();
handleInitial(handlers);
drawAll();
started = true;
showPageWithFonts();
window.addEventListener("resize", () => {
  measureRoadBoxes();
  drawAll();
});
openStream(page.live, handlers, setLost);
