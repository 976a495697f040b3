/*
 * One table in the pit: alerts with their commands, the round, the readers, and the events.
 *
 * Documents: `board` (only whether the table is known), `row`, `pit`, `alerts`, `events`,
 * `event`, `beat`. Its parts: table_alerts.js, table_round.js, event_log.js.
 *
 * For tests: body data-key, data-fresh (fresh.is), data-lost, data-broker, data-round, data-shoe,
 *     data-events (all, irregular), data-known
 */
import * as commands from "./command_line.js";
import { byId, fillOnChange, setAttribute, setClass, setSentence, setText } from "./dom.js";
import { EventLog } from "./event_log.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import * as orderSheet from "./order_sheet.js";
import {
  addParameter, fillWords, pageUrl, showLost, showPage, showPitBanners
} from "./staff_page.js";
import { showAlerts, showCommands, showHolds } from "./table_alerts.js";
import { showFacts, showReaders, showRound } from "./table_round.js";
import { showAge, syncClock } from "./ticking_age.js";
import { formatClock, page, sentence, word } from "./translations.js";

const ORDERS = ["no-more-bets", "betting-open", "reveal", "confirm-result", "hold", "report",
  "correct-card", "enter-card", "enter-result", "void-round", "undo", "pass-shoe", "free-hand",
  "new-shoe"];
const FILTERS = ["all", "irregular"];

const eventLog = new EventLog(byId("event-log-box"), byId("event-log"), byId("events-new"));
let row = null;
let alerts = [];
let omitted = 0;

/* Header. */

function showHeader() {
  const state = row.state;
  const name = row.name || row.table;
  const board = `/table/${encodeURIComponent(row.key)}`;
  setText(byId("name"), name);
  setText(byId("id"), `${row.site} / ${row.table}`);
  setText(byId("where"), format.where(state));
  document.title = (alerts.length ? `(${alerts.length}) ` : "") + name;
  setAttribute(document.body, "data-key", row.key);
  setAttribute(document.body, "data-fresh", row.fresh.is);
  setAttribute(document.body, "data-round", state && state.round ? state.round.number : null);
  setAttribute(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
  setAttribute(byId("to-board"), "href", pageUrl(board));
  setAttribute(byId("to-history"), "href", pageUrl(`${board}/history`));
  setAttribute(byId("to-log"), "href", addParameter(pageUrl("/pit/log"), "table", row.key));
}

function showBanners() {
  const state = row.state;
  const stale = row.fresh.is !== "live";
  setClass(byId("stale-banner"), "hidden", !stale);
  setText(byId("stale-word"), stale ? format.freshness(row.fresh) : "");
  showAge(byId("stale-age"), stale ? row.fresh.since : null);
  setClass(byId("alarm-banner"), "hidden", !(state && state.alarm));
  setSentence(byId("alarm-text"), state ? sentence(state, state.alarm) : { text: "" });
  setClass(byId("table"), "grey", stale);
}

/* Orders. */

/* Cards are dealt while results are put on hold: that has no preview. */
function createButton(verb) {
  return verb === "report" ? orderSheet.reportButton()
    : orderSheet.button(verb, {}, word(`give_${verb.replace(/-/g, "_")}`), verb === "hold");
}

function isOffered(verb) {
  return verb === "pass-shoe" ? Boolean(row.state && row.state.curator !== null)
    : operator.may(verb);
}

function showOrders() {
  if (!row || !page.order_verbs) {
    return;
  }
  const isLive = row.fresh.is === "live";
  const offered = ORDERS.filter(isOffered);
  setClass(byId("orders"), "hidden", false);
  setClass(byId("orders"), "off", !isLive);
  fillOnChange(byId("order-buttons"), offered.join(), () => offered.map(createButton));
  document.querySelectorAll(".order-button").forEach(button => { button.disabled = !isLive; });
  setClass(byId("operator-now"), "hidden", !operator.name);
  setText(byId("operator-name"), operator.name);
}

function startOrders() {
  setClass(byId("shows-only"), "gone", true);
  orderSheet.setTable(() => row);
  operator.onChange(() => {
    showOrders();
    if (row) {
      showCommands(row, alerts);
    }
  });
  operator.load();
  byId("log-out").addEventListener("click", () => operator.logOut());
}

/* Documents. */

function takeRow(found) {
  if (!found) {
    return;
  }
  row = found;
  commands.setTable(row, page.order_options);
  showHeader();
  showBanners();
  showHolds(row);
  showAlerts(row, alerts, omitted);
  showRound(row);
  showOrders();
  showFacts(row);
  showReaders(row);
}

function takeBoard(found) {
  setAttribute(document.body, "data-known", String(found.known));
  setClass(byId("unknown"), "hidden", found.known);
  setClass(byId("content"), "hidden", !found.known);
  setText(byId("unknown-word"), word("unknown_table", { table: found.table }));
  if (!row) {
    setText(byId("name"), found.table);
  }
}

function takeAlerts(found) {
  alerts = found ? found.alerts : [];
  omitted = found ? found.omitted : 0;
  showAlerts(row, alerts, omitted);
  if (row) {
    showHeader();
  }
}

function takeEvents(found) {
  eventLog.replace(found.events, found.since);
  setText(byId("events-since"),
    found.since ? word("events_since", { time: formatClock(found.since) }) : "");
}

function setFilter(name) {
  setAttribute(document.body, "data-events", name);
  FILTERS.forEach(each =>
    setAttribute(byId(`events-${each}`), "aria-pressed", String(each === name)));
}

function start() {
  const handlers = {
    board: takeBoard,
    row: takeRow,
    pit: showPitBanners,
    alerts: takeAlerts,
    events: takeEvents,
    event: found => eventLog.add(found.event || found),
    beat: found => syncClock(found.now)
  };
  fillWords();
  setAttribute(document.body, "data-key", page.key);
  commands.bindOperator(byId("operator"));
  setClass(byId("order-access"), "hidden", !(page.order_options || []).includes("FILE"));
  FILTERS.forEach(name => byId(`events-${name}`).addEventListener("click", () => setFilter(name)));
  setFilter("all");
  if (page.order_verbs) {
    startOrders();
  }
  handleInitial(handlers);
  showPage();
  openStream(page.live, handlers, showLost);
}

start();
