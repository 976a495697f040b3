/*
 * The alerts of a table's page in the pit, and the results that are on hold.
 *
 * showAlerts(row, alerts, omitted)   row: null while unknown; omitted: how many alerts the page
 *                                    does not receive
 * showHolds(row)
 * showCommands(row, alerts)          shows both again for who is logged in
 *
 * For tests: body data-open; #alerts-list > article, see alert_details.js
 */
import { bySeverity } from "./alerts.js";
import { createAlertDetails, showWrongCards } from "./alert_details.js";
import * as commands from "./command_line.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import * as orderSheet from "./order_sheet.js";
import { arrange, whenIdle } from "./stable_layout.js";
import { page, word } from "./translations.js";

let shown = null;

/* Who sees other orders than a supervisor. */
function dealer() {
  return operator.isSupervisor() ? null : operator.name;
}

export function showAlerts(row, alerts, omitted) {
  const state = row && row.state;
  const key = JSON.stringify([alerts, state && state.policy, state && state.round]);
  const isWaiting = Boolean(state) && (state.on_hold || state.held.length > 0);
  setAttribute(document.body, "data-open", alerts.length);
  setText(byId("alerts-count"),
    alerts.length ? format.plural("alerts", alerts.length) : word("alerts_none"));
  setClass(byId("alerts-none"), "hidden", alerts.length > 0 || isWaiting);
  setClass(byId("shows-only"), "hidden", !alerts.length && !(state && state.on_hold));
  setClass(byId("alerts-omitted"), "hidden", !omitted);
  setText(byId("alerts-omitted"), word("alerts_omitted", { count: omitted }));
  setClass(byId("alerts-staff-missing"), "hidden",
    !row || !row.staff_alerts_missing || row.fresh.is !== "live");
  if (shown !== key) {
    shown = key;
    whenIdle(() => arrangeAlerts(alerts, state));
  }
}

function arrangeAlerts(alerts, state) {
  const list = byId("alerts-list");
  const there = {};
  Array.from(list.children).forEach(node => { there[node.shoeKey] = node; });
  arrange(list, bySeverity(alerts).map(alert => {
    const key = JSON.stringify([alert, state && state.policy, dealer()]);
    const node = there[key] || createAlertDetails(alert, state);
    node.shoeKey = key;
    showWrongCards(node, state);
    return node;
  }));
}

function createResume() {
  return page.order_verbs ? orderSheet.decision("resume", {}, word("give_resume")) : [
    el("span", { class: "other-word", text: word("order_resume") }),
    commands.createElement(commands.commandLine("resume", {}) || "")
  ];
}

export function showHolds(row) {
  const state = row.state;
  const isOnHold = Boolean(state && state.on_hold);
  const text = [
    isOnHold ? word("on_hold") : "",
    state && state.held.length
      ? word("waiting_rounds", { numbers: state.held.join(word("list_comma")) }) : ""
  ].filter(Boolean);
  setClass(byId("held"), "hidden", !text.length);
  setText(byId("held-text"), text.join(" · "));
  fillOnChange(byId("resume"), [isOnHold, dealer()].join(),
    () => (isOnHold ? createResume() : null));
}

export function showCommands(row, alerts) {
  showHolds(row);
  arrangeAlerts(alerts, row.state);
}
