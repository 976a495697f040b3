/*
 * The pit: all tables, each at a fixed place, and beside them all open alerts.
 *
 * Documents: `pit` and `row` (in the data block: `rows`), `gone`, `beat`. A row is drawn with the
 * next frame, and nothing but that row.
 *
 * For tests:
 *     body                 data-broker (true, false), data-lost (true while the display is lost),
 *                          data-filter (all, alerts, offline), data-tables, data-open (alerts),
 *                          data-off (tables that are not live)
 *     #alarms > li.alarm   see alert_card.js: the tables with alerts, the highest severity first,
 *                          then the oldest
 *     #tiles > a.tile      see table_tile.js: all tables, always in the order of `pit`
 *     #faults-list > li    data-topic
 */
import { alertIds, createAlertCard } from "./alert_card.js";
import { alertNotices } from "./alert_notices.js";
import { alertSound } from "./alert_sound.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import { fitGrid } from "./grid_fit.js";
import { arrange, whenIdle } from "./stable_layout.js";
import { fillWords, showNotifierFaults, showPage, togglePanel } from "./staff_page.js";
import { createTile, worstSeverity } from "./table_tile.js";
import { syncClock } from "./ticking_age.js";
import { formatClock, page, word } from "./translations.js";

const HIDDEN_PAINT_DELAY_MS = 250;
const COMPACT_ABOVE = 5;
const HOLD_SEVERITY = 3;
const rows = {};
let order = [];
const tiles = {};
const alertCards = {};
let knownAlerts = null;
const knownHolds = {};
let changedRows = {};
let paintScheduled = false;
let sound = null;
let notices = null;
let roomy = false;

function orderedKeys() {
  const listed = order.filter(key => rows[key]);
  return listed.concat(Object.keys(rows).filter(key => !order.includes(key)).sort());
}

/* Order of the alert cards. */

function oldestAlert(row) {
  const worst = worstSeverity(row.alerts);
  return row.alerts.reduce((found, alert) =>
    alert.data.severity === worst && alert.at < found ? alert.at : found, "9");
}

function compareRows(one, other) {
  const difference = worstSeverity(rows[other].alerts) - worstSeverity(rows[one].alerts);
  if (difference) {
    return difference;
  }
  return oldestAlert(rows[one]) < oldestAlert(rows[other]) ? -1 : 1;
}

function arrangeAlertCards() {
  const first = Object.keys(rows).filter(key => rows[key].alerts.length);
  first.sort(compareRows);
  arrange(byId("alarms"), first.map(key => {
    alertCards[key] = alertCards[key] || createAlertCard(key);
    alertCards[key].update(rows[key]);
    alertCards[key].ids = idsOf(key);
    return alertCards[key].node;
  }));
  Object.keys(alertCards).forEach(key => {
    if (!first.includes(key)) {
      delete alertCards[key];
    }
  });
  setClass(byId("alarms"), "many", first.length > COMPACT_ABOVE);
  setClass(byId("calm"), "hidden", first.length > 0 || !Object.keys(rows).length);
}

function fitTiles() {
  const before = roomy;
  roomy = fitGrid(byId("tiles"), byId("floor"), Object.keys(tiles).length);
  if (roomy && !before) {
    Object.keys(tiles).forEach(paintRow);
  }
}

function arrangeTiles() {
  const all = orderedKeys();
  arrange(byId("tiles"), all.map(key => tiles[key].node));
  fitTiles();
  setClass(byId("nothing"), "hidden", all.length > 0);
}

/* Counts. */

function updateCounts() {
  const all = Object.keys(rows);
  let open = 0;
  let urgent = 0;
  let off = 0;
  all.forEach(key => {
    open += rows[key].alerts.length;
    urgent += rows[key].alerts.filter(alert => alert.data.severity >= 3).length;
    off += rows[key].fresh.is === "live" ? 0 : 1;
  });
  setText(byId("count-all"), all.length);
  setText(byId("count-alerts"), open);
  setText(byId("count-offline"), off);
  setText(byId("summary"),
    open ? format.plural("alerts", open) : word("alerts_none"));
  setClass(byId("filter-alerts"), "some", open > 0);
  setClass(byId("filter-offline"), "some", off > 0);
  setAttribute(document.body, "data-tables", all.length);
  setAttribute(document.body, "data-open", open);
  setAttribute(document.body, "data-off", off);
  document.title = (open ? "(" + open + (urgent ? "!" : "") + ") " : "") + word("pit");
}

/* New alerts sound at once, also on a hidden page. */

function takeNewAlerts(row) {
  const before = knownAlerts && knownAlerts[row.key] || {};
  const now = {};
  const found = [];
  row.alerts.forEach(alert => {
    now[alert.data.id] = true;
    if (!before[alert.data.id]) {
      found.push(alert);
    }
  });
  if (knownAlerts) {
    knownAlerts[row.key] = now;
  }
  return knownAlerts ? found : [];
}

function isOnHold(row) {
  return Boolean(row.state && row.state.on_hold);
}

// A dealer who calls the supervisor puts the table on hold, without an irregularity.
function takeNewHold(row) {
  const isNew = isOnHold(row) && !knownHolds[row.key];
  knownHolds[row.key] = isOnHold(row);
  return knownAlerts && isNew;
}

/* The same sentence once more is spoken only if the text differs. */
function speak(node, text) {
  setText(node, node.textContent === text ? text + "\u00a0" : text);
}

/* New alerts, and a hold that may have come with them. */
function announce(row, alerts, isCalled) {
  const worst = worstSeverity(alerts);
  const loud = alerts.filter(alert => alert.data.severity === worst)[0];
  const severity = isCalled ? Math.max(worst, HOLD_SEVERITY) : worst;
  const said = [loud ? format.kind(loud.data.kind) : "", isCalled ? word("on_hold") : ""];
  sound.alert(severity);
  alerts.forEach(alert => notices.alert(row, alert));
  if (isCalled) {
    notices.hold(row);
  }
  speak(byId(severity >= 3 ? "spoken-now" : "spoken"),
    (row.name || row.table) + ": " + said.filter(Boolean).join(" · "));
}

function focusAlert(key) {
  const part = alertCards[key] || tiles[key];
  const link = part && (part.node.querySelector("a") || part.node);
  if (link) {
    link.scrollIntoView();
    link.focus();
  }
}

function flash(key) {
  [tiles[key], alertCards[key]].forEach(part => {
    if (part) {
      part.node.classList.remove("new");
      // Reading the size restarts the animation.
      part.node.getBoundingClientRect();
      part.node.classList.add("new");
    }
  });
}

/* Painting. */

function paintRow(key) {
  const row = rows[key];
  if (!tiles[key]) {
    tiles[key] = createTile(key);
    setAttribute(tiles[key].node, "data-anchor", "");
  }
  tiles[key].update(row, roomy);
  if (!row.alerts.length) {
    tiles[key].node.classList.remove("new");
  }
  if (alertCards[key] && !row.alerts.length) {
    alertCards[key].close();
  } else if (alertCards[key] && alertCards[key].ids === idsOf(key)) {
    alertCards[key].update(row);
  }
}

function idsOf(key) {
  return alertIds(rows[key].alerts);
}

function alertSignature() {
  return Object.keys(rows).filter(key => rows[key].alerts.length)
    .sort(compareRows).map(key => `${key}:${idsOf(key)}`).join(";");
}

function paint() {
  if (paintScheduled) {
    paintAll();
  }
}

function paintAll() {
  const changed = Object.keys(changedRows).filter(key => rows[key]);
  const withNewAlerts = changed.filter(key => changedRows[key] === "new");
  const hasNewTiles = changed.some(key => !tiles[key]);
  paintScheduled = false;
  changedRows = {};
  changed.forEach(paintRow);
  if (hasNewTiles || paintAll.order !== order.join()) {
    paintAll.order = order.join();
    arrangeTiles();
  }
  if (paintAll.alarms !== alertSignature()) {
    paintAll.alarms = alertSignature();
    whenIdle(arrangeAlertCards);
  }
  withNewAlerts.forEach(flash);
  updateCounts();
}

function schedulePaint() {
  if (!paintScheduled) {
    paintScheduled = true;
    if (document.hidden) {
      // A hidden page gets no animation frames, but its title is visible.
      window.setTimeout(paint, HIDDEN_PAINT_DELAY_MS);
    } else {
      window.requestAnimationFrame(paint);
    }
  }
}

/* Documents. */

function takeRow(row) {
  rows[row.key] = row;
  const alerts = takeNewAlerts(row);
  const isCalled = takeNewHold(row);
  changedRows[row.key] = alerts.length || changedRows[row.key] === "new" ? "new" : "same";
  if (alerts.length || isCalled) {
    announce(row, alerts, isCalled);
  }
  notices.closeOthers(row);
  if (!Object.keys(rows).some(key => worstSeverity(rows[key].alerts) >= 3 || isOnHold(rows[key]))) {
    sound.quiet();
  }
  schedulePaint();
}

function takePit(pit) {
  const broker = pit.broker;
  order = pit.order;
  setAttribute(document.body, "data-broker", String(broker.connected));
  setText(byId("broker-word"),
    word(broker.connected ? "broker_connected" : "broker_lost"));
  setClass(byId("broker-banner"), "hidden", broker.connected);
  setText(byId("broker-since"), broker.since
    ? word("since", { time: formatClock(broker.since) }) : "");
  setText(byId("broker-detail"), broker.detail || "");
  showNotifierFaults(byId("notify-banner"), pit.notifications);
  showFaults(pit.faults);
  Object.keys(rows).forEach(key => {
    if (!order.includes(key)) {
      takeGone({ key });
    }
  });
  schedulePaint();
}

function showFaults(faults) {
  setClass(byId("faults-button"), "some", faults.total > 0);
  setText(byId("faults-count"), faults.total);
  setClass(byId("faults-none"), "hidden", faults.total > 0);
  fillOnChange(byId("faults-list"), JSON.stringify(faults), () =>
    faults.last.slice().reverse().map(fault => el("li", { "data-topic": fault.topic }, [
      el("time", { text: formatClock(fault.at) }),
      el("code", { text: fault.topic }),
      el("span", { lang: "en", text: fault.what })
    ])));
}

function takeGone(gone) {
  const tile = tiles[gone.key];
  delete rows[gone.key];
  delete tiles[gone.key];
  delete changedRows[gone.key];
  delete knownHolds[gone.key];
  if (knownAlerts) {
    delete knownAlerts[gone.key];
  }
  if (tile && tile.node.parentNode) {
    tile.node.parentNode.removeChild(tile.node);
  }
  schedulePaint();
}

function setLost(isLost, since) {
  setAttribute(document.body, "data-lost", isLost ? "true" : null);
  setClass(byId("lost-banner"), "hidden", !isLost);
  setText(byId("lost-since"), isLost
    ? word("since", { time: formatClock(since) }) : "");
}

/* Buttons. */

function setFilter(name) {
  setAttribute(document.body, "data-filter", name);
  ["all", "alerts", "offline"].forEach(each => {
    setAttribute(byId(`filter-${each}`), "aria-pressed", each === name ? "true" : "false");
  });
}

function initButtons() {
  ["all", "alerts", "offline"].forEach(name => {
    byId(`filter-${name}`).addEventListener("click", () => {
      setFilter(name);
      window.location.replace(`#${name}`);
    });
  });
  setFilter((window.location.hash.match(/^#(alerts|offline)$/) || [null, "all"])[1]);
  togglePanel(byId("faults-button"), byId("faults"));
  window.addEventListener("resize", fitTiles);
}

function start() {
  const handlers = {
    pit: takePit,
    row: takeRow,
    gone: takeGone,
    beat (beat) { syncClock(beat.now); }
  };
  fillWords();
  sound = alertSound(byId("sound"));
  notices = alertNotices(sound, focusAlert);
  initButtons();
  handleInitial({ beat: handlers.beat, pit: takePit, rows (list) {
    list.forEach(takeRow);
  } });
  knownAlerts = {};
  Object.keys(rows).forEach(key => {
    takeNewAlerts(rows[key]);
    takeNewHold(rows[key]);
  });
  paintAll();
  showPage();
  document.addEventListener("visibilitychange", paint);
  openStream(page.live, handlers, setLost);
}

start();
