/*
 * One table in the pit: alerts with their commands, the round, the readers, and the events.
 *
 * Documents: `board` (only whether the table is known), `row`, `pit`, `alerts`, `events`,
 * `event`, `beat`.
 *
 * For tests:
 *     body                 data-key, data-fresh (fresh.is), data-lost, data-broker, data-round,
 *                          data-shoe, data-open (alerts), data-events (all, irregular),
 *                          data-known
 *     #alerts-list > article   see alert_details.js, the highest severity first
 *     #spots [data-slot]   the cards of the round, with data-card (empty: face down, "?": unread)
 *     #total-player, #total-banker
 *     #devices > li        data-device, data-state
 *     #event-log > li      see event_log.js, the newest first
 */
import { bySeverity } from "./alert_card.js";
import { createAlertDetails, showWrongCards } from "./alert_details.js";
import { drawCard, isDrawUnknown, shownCard } from "./card_drawing.js";
import * as commands from "./command_line.js";
import { byId, el, fillOnChange, setAttribute, setClass, setSentence, setText } from "./dom.js";
import { createEventLog } from "./event_log.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import * as orderSheet from "./order_sheet.js";
import { arrange, whenIdle } from "./stable_layout.js";
import { addParameter, fillWords, pageUrl, showNotifierFaults, showPage } from "./staff_page.js";
import { createBeads } from "./table_tile.js";
import { showAge, syncClock } from "./ticking_age.js";
import { formatClock, formatNumber, page, sentence, word } from "./translations.js";

let row = null;
let alerts = [];
let omitted = 0;
let eventLog = null;

/* Header. */

function showHeader() {
  const state = row.state;
  const name = row.name || row.table;
  setText(byId("name"), name);
  setText(byId("id"), `${row.site} / ${row.table}`);
  setText(byId("where"), format.where(state));
  document.title = (alerts.length ? `(${alerts.length}) ` : "") + name;
  setAttribute(document.body, "data-key", row.key);
  setAttribute(document.body, "data-fresh", row.fresh.is);
  setAttribute(document.body, "data-round",
    state && state.round ? state.round.number : null);
  setAttribute(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
  setAttribute(byId("to-board"), "href",
    pageUrl(`/table/${encodeURIComponent(row.key)}`));
  setAttribute(byId("to-log"), "href",
    addParameter(pageUrl("/pit/log"), "table", row.key));
  setAttribute(byId("to-history"), "href",
    pageUrl(`/table/${encodeURIComponent(row.key)}/history`));
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

/* Alerts. */

function isWaiting(state) {
  return Boolean(state) && (state.on_hold || state.held.length > 0);
}

function showAlerts() {
  const state = row && row.state;
  const sorted = bySeverity(alerts);
  const key = JSON.stringify([sorted, state && state.policy, state && state.round]);
  setAttribute(document.body, "data-open", alerts.length);
  setText(byId("alerts-count"), alerts.length ? format.plural("alerts", alerts.length)
    : word("alerts_none"));
  setClass(byId("alerts-none"), "hidden", alerts.length > 0 || isWaiting(state));
  setClass(byId("shows-only"), "hidden", !alerts.length && !(state && state.on_hold));
  setClass(byId("alerts-omitted"), "hidden", !omitted);
  setText(byId("alerts-omitted"), word("alerts_omitted", { count: omitted }));
  setClass(byId("alerts-staff-missing"), "hidden",
    !row || !row.staff_alerts_missing || row.fresh.is !== "live");
  if (showAlerts.key !== key) {
    showAlerts.key = key;
    whenIdle(() => arrangeAlerts(sorted, state));
  }
}

/* Who sees other orders than a supervisor. */
function dealer() {
  return operator.isSupervisor() ? null : operator.name;
}

function arrangeAlerts(sorted, state) {
  const list = byId("alerts-list");
  const there = {};
  Array.from(list.children).forEach(node => {
    there[node.shoeKey] = node;
  });
  arrange(list, sorted.map(alert => {
    const key = JSON.stringify([alert, state && state.policy, dealer()]);
    const node = there[key] || createAlertDetails(alert, state);
    node.shoeKey = key;
    showWrongCards(node, state);
    return node;
  }));
}

function showHolds() {
  const state = row.state;
  const text = [];
  if (state && state.on_hold) {
    text.push(word("on_hold"));
  }
  if (state && state.held.length) {
    text.push(word("waiting_rounds", { numbers: state.held.join(word("list_comma")) }));
  }
  setClass(byId("held"), "hidden", !text.length);
  setText(byId("held-text"), text.join(" · "));
  fillOnChange(byId("resume"), [state && state.on_hold, dealer()].join(), () =>
    state && state.on_hold ? [
      page.order_verbs ? orderSheet.decision("resume", {}, word("give_resume")) : [
        el("span", { class: "other-word", text: word("order_resume") }),
        commands.createElement(commands.commandLine("resume", {}) || "")
      ]
    ] : null);
}

/* Orders. */

const ORDERS = ["no-more-bets", "betting-open", "reveal", "confirm-result", "hold", "report",
  "correct-card", "enter-card", "enter-result", "void-round", "undo", "pass-shoe", "free-hand", "new-shoe"];

/* Cards are dealt while results are put on hold: that has no preview. */
function orderButton(verb) {
  return verb === "report" ? orderSheet.reportButton() : orderSheet.button(verb, {},
    word(`give_${verb.replace(/-/g, "_")}`), verb === "hold");
}

function isOffered(verb, state) {
  if (verb === "pass-shoe") {
    return Boolean(state && state.curator !== null);
  }
  return operator.may(verb);
}

function showOrders() {
  const state = row && row.state;
  const offered = ORDERS.filter(verb => isOffered(verb, state));
  if (!row || !page.order_verbs) {
    return;
  }
  setClass(byId("orders"), "hidden", false);
  setClass(byId("orders"), "off", row.fresh.is !== "live");
  fillOnChange(byId("order-buttons"), offered.join(), () => offered.map(orderButton));
  Array.from(document.querySelectorAll(".order-button")).forEach(button => {
    button.disabled = row.fresh.is !== "live";
  });
  setClass(byId("operator-now"), "hidden", !operator.name);
  setText(byId("operator-name"), operator.name);
}

/* The round, and facts about the table. */

function createSpot(card, round) {
  const shown = shownCard(card, round);
  return el("span", {
    class: "spot" + (card.slot && card.slot.charAt(1) === "3" ? " third" : ""),
    "data-slot": card.slot,
    "data-card": shown || "",
    title: format.place(card.slot) + (shown === "?" ? `: ${word("card_unread")}` : "")
  }, drawCard(shown));
}

function createHand(round, letter) {
  return (round ? round.cards : []).filter(card =>
    card.slot ? card.slot.charAt(0) === letter : letter === "P").map(card => createSpot(card, round));
}

function drawReason(round) {
  // An unread card is shown as such; no face is turned later.
  return !round || !round.draw_due || round.finished || isDrawUnknown(round)
    ? { text: "" } : sentence(round.draw_due, round.draw_due.text);
}

function showRound() {
  const state = row.state;
  const now = state && state.round;
  const status = state ? format.round(state) : { text: word("no_round"), tone: "quiet" };
  fillOnChange(byId("spots"), JSON.stringify(now && [now.cards, now.finished]), () => [
    el("div", { class: "hand player" }, createHand(now, "P")),
    el("div", { class: "hand banker" }, createHand(now, "B"))
  ]);
  setText(byId("total-player"), now ? formatNumber(now.player_total) : "–");
  setText(byId("total-banker"), now ? formatNumber(now.banker_total) : "–");
  setText(byId("round-now"), status.text);
  byId("round-now").className = `round-now ${status.tone}`;
  setSentence(byId("round-why"), drawReason(now));
  fillOnChange(byId("strip"), row.outcomes, () => createBeads(row.outcomes, 30));
}

function showFacts() {
  const state = row.state;
  const pairs = !state ? [] : [
    [word("policy"), format.policy(state)],
    [word("house"), format.house(state)],
    [word("shoe"), state.shoe ? word("decks", { count: state.shoe.decks }) : "–"],
    [word("cut_card"), word(state.shoe && state.shoe.cut_card ? "yes" : "no")],
    [word("last_round"), word(state.shoe && state.shoe.last_round ? "yes" : "no")],
    [word("blind_heading"), (state.blind || []).map(format.kind)
      .join(word("list_comma")) || word("none")]
  ];
  fillOnChange(byId("facts"), JSON.stringify(pairs), () =>
    pairs.map(pair => [el("dt", { text: pair[0] }), el("dd", { text: pair[1] })]));
}

function readerState(state, id) {
  const found = (state ? state.readers : []).filter(reader =>
    reader.source === id || state.readers.length === 1 && row.devices.length === 1)[0];
  return found ? format.reader(found) : "";
}

function showDevices() {
  setClass(byId("devices-none"), "hidden", row.devices.length > 0);
  fillOnChange(byId("devices"),
    JSON.stringify([row.devices, row.state && row.state.readers]),
    () => row.devices.map(device => {
      const status = format.device(device);
      return el("li", {
        class: `device ${device.state}`,
        "data-device": device.id,
        "data-state": device.state
      }, [
        el("i", { class: status.good ? "lamp" : "lamp bad", "aria-hidden": "true" }),
        el("b", { text: device.id }),
        el("span", { class: "device-says", text: status.text }),
        el("span", { class: "device-more", text: [readerState(row.state, device.id),
          word("reader_frames", { count: device.frames, noise: device.noise })]
          .filter(Boolean).join(" · ") })
      ]);
    }));
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
  showHolds();
  showAlerts();
  showRound();
  showOrders();
  showFacts();
  showDevices();
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
  showAlerts();
  if (row) {
    showHeader();
  }
}

function takeEvents(found) {
  eventLog.replace(found.events, found.since);
  setText(byId("events-since"), found.since
    ? word("events_since", { time: formatClock(found.since) }) : "");
}

function takePit(pit) {
  setAttribute(document.body, "data-broker", String(pit.broker.connected));
  setClass(byId("broker-banner"), "hidden", pit.broker.connected);
  setText(byId("broker-since"), pit.broker.since
    ? word("since", { time: formatClock(pit.broker.since) }) : "");
  setText(byId("broker-detail"), pit.broker.detail || "");
  showNotifierFaults(byId("notify-banner"), pit.notifications);
}

function setLost(isLost, since) {
  setAttribute(document.body, "data-lost", isLost ? "true" : null);
  setClass(byId("lost-banner"), "hidden", !isLost);
  setText(byId("lost-since"), isLost
    ? word("since", { time: formatClock(since) }) : "");
}

function setFilter(name) {
  setAttribute(document.body, "data-events", name);
  ["all", "irregular"].forEach(each => {
    setAttribute(byId(`events-${each}`), "aria-pressed", String(each === name));
  });
}

function startOrders() {
  setClass(byId("shows-only"), "gone", true);
  orderSheet.setTable(() => row);
  operator.onChange(() => {
    showOrders();
    if (row) {
      showHolds();
      arrangeAlerts(bySeverity(alerts), row.state);
    }
  });
  operator.load();
  byId("log-out").addEventListener("click", () => operator.logOut());
}

function start() {
  const handlers = {
    board: takeBoard,
    row: takeRow,
    pit: takePit,
    alerts: takeAlerts,
    events: takeEvents,
    event (found) { eventLog.add(found.event || found); },
    beat (beat) { syncClock(beat.now); }
  };
  fillWords();
  setAttribute(document.body, "data-key", page.key);
  commands.bindOperator(byId("operator"));
  setClass(byId("order-access"), "hidden",
    !(page.order_options || []).includes("FILE"));
  eventLog = createEventLog(byId("event-log-box"), byId("event-log"), byId("events-new"));
  ["all", "irregular"].forEach(name => {
    byId(`events-${name}`).addEventListener("click", () => setFilter(name));
  });
  setFilter("all");
  if (page.order_verbs) {
    startOrders();
  }
  handleInitial(handlers);
  showPage();
  openStream(page.live, handlers, setLost);
}

start();
