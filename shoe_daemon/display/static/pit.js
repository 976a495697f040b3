/*
 * The pit: all tables, each at a fixed place, and beside them all open alerts.
 *
 * Documents: `pit` and `row` (in the data block: `rows`), `gone`, `beat`. A row is drawn with the
 * next frame, and nothing but that row. Its parts: table_tile.js, alert_rail.js,
 * alert_announcer.js.
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
import { AlertAnnouncer } from "./alert_announcer.js";
import { AlertRail } from "./alert_rail.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { handleInitial, openStream } from "./event_stream.js";
import * as format from "./format.js";
import { fitGrid } from "./grid_fit.js";
import { arrange } from "./stable_layout.js";
import { fillWords, showLost, showPage, showPitBanners, togglePanel } from "./staff_page.js";
import { createTile } from "./table_tile.js";
import { syncClock } from "./ticking_age.js";
import { formatClock, page, word } from "./translations.js";

const HIDDEN_PAINT_DELAY_MS = 250;
const FILTERS = ["all", "alerts", "offline"];
const rows = {};
const tiles = {};
const rail = new AlertRail(rows);
let order = [];
/* Rows to be painted, and whether an alert of them is new. */
let changedRows = {};
let isPaintScheduled = false;
let arrangedOrder = null;
let roomy = false;
let announcer = null;

/* Tiles. */

function fitTiles() {
  const before = roomy;
  roomy = fitGrid(byId("tiles"), byId("floor"), Object.keys(tiles).length);
  if (roomy && !before) {
    Object.keys(tiles).forEach(paintRow);
  }
}

function arrangeTiles() {
  const others = Object.keys(rows).filter(key => !order.includes(key)).sort();
  const all = order.filter(key => rows[key]).concat(others);
  arrangedOrder = order.join();
  arrange(byId("tiles"), all.map(key => tiles[key].node));
  fitTiles();
  setClass(byId("nothing"), "hidden", all.length > 0);
}

function focusTable(key) {
  const part = rail.find(key) || tiles[key];
  const link = part && (part.node.querySelector("a") || part.node);
  if (link) {
    link.scrollIntoView();
    link.focus();
  }
}

function flash(key) {
  [tiles[key], rail.find(key)].filter(Boolean).forEach(({ node }) => {
    node.classList.remove("new");
    // Reading the size restarts the animation.
    node.getBoundingClientRect();
    node.classList.add("new");
  });
}

/* Counts. */

function updateCounts() {
  const all = Object.values(rows);
  const alerts = all.reduce((found, row) => found.concat(row.alerts), []);
  const open = alerts.length;
  const off = all.filter(row => row.fresh.is !== "live").length;
  const mark = alerts.some(alert => alert.data.severity >= 3) ? "!" : "";
  setText(byId("count-all"), all.length);
  setText(byId("count-alerts"), open);
  setText(byId("count-offline"), off);
  setText(byId("summary"), open ? format.plural("alerts", open) : word("alerts_none"));
  setClass(byId("filter-alerts"), "some", open > 0);
  setClass(byId("filter-offline"), "some", off > 0);
  setAttribute(document.body, "data-tables", all.length);
  setAttribute(document.body, "data-open", open);
  setAttribute(document.body, "data-off", off);
  document.title = (open ? `(${open}${mark}) ` : "") + word("pit");
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
  rail.update(key);
}

function paint() {
  if (isPaintScheduled) {
    paintAll();
  }
}

function paintAll() {
  const changed = Object.keys(changedRows).filter(key => rows[key]);
  const withNewAlerts = changed.filter(key => changedRows[key]);
  const hasNewTiles = changed.some(key => !tiles[key]);
  isPaintScheduled = false;
  changedRows = {};
  changed.forEach(paintRow);
  if (hasNewTiles || arrangedOrder !== order.join()) {
    arrangeTiles();
  }
  rail.arrange();
  withNewAlerts.forEach(flash);
  updateCounts();
}

function schedulePaint() {
  if (isPaintScheduled) {
    return;
  }
  isPaintScheduled = true;
  if (document.hidden) {
    // A hidden page gets no animation frames, but its title is visible.
    window.setTimeout(paint, HIDDEN_PAINT_DELAY_MS);
  } else {
    window.requestAnimationFrame(paint);
  }
}

/* Documents. */

function takeRow(row) {
  rows[row.key] = row;
  changedRows[row.key] = announcer.take(row) || Boolean(changedRows[row.key]);
  announcer.quietUnlessUrgent(Object.values(rows));
  schedulePaint();
}

function takePit(pit) {
  order = pit.order;
  setText(byId("broker-word"), word(pit.broker.connected ? "broker_connected" : "broker_lost"));
  showPitBanners(pit);
  showFaults(pit.faults);
  Object.keys(rows).filter(key => !order.includes(key)).forEach(key => takeGone({ key }));
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

function takeGone({ key }) {
  if (tiles[key]) {
    tiles[key].node.remove();
  }
  delete rows[key];
  delete tiles[key];
  delete changedRows[key];
  announcer.forget(key);
  schedulePaint();
}

/* Buttons. */

function setFilter(name) {
  setAttribute(document.body, "data-filter", name);
  FILTERS.forEach(each =>
    setAttribute(byId(`filter-${each}`), "aria-pressed", String(each === name)));
}

function initButtons() {
  FILTERS.forEach(name => byId(`filter-${name}`).addEventListener("click", () => {
    setFilter(name);
    window.location.replace(`#${name}`);
  }));
  setFilter((window.location.hash.match(/^#(alerts|offline)$/) || [null, "all"])[1]);
  togglePanel(byId("menu-button"), byId("health"));
  togglePanel(byId("faults-button"), byId("faults"));
  window.addEventListener("resize", fitTiles);
}

function start() {
  const beat = found => syncClock(found.now);
  fillWords();
  announcer = new AlertAnnouncer(focusTable);
  initButtons();
  handleInitial({ beat, pit: takePit, rows: list => list.forEach(takeRow) });
  announcer.start();
  paintAll();
  showPage();
  document.addEventListener("visibilitychange", paint);
  openStream(page.live, { pit: takePit, row: takeRow, gone: takeGone, beat }, showLost);
}

start();
