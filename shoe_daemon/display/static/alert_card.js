/*
 * The open alerts of one table, in the list of alerts of the pit.
 *
 * createAlertCard(key)   <li class="alarm"> with data-key and data-severity (the highest); in
 *                  it one <div class="alert"> for each alert, with data-alert-id,
 *                  data-severity, data-kind, data-round, data-staff (true for alerts for
 *                  staff only), the highest severity first, three at most: the table's page
 *                  shows all
 *     .node
 *     .update(row)      shows the alerts of a row
 *     .close()          shows that no alert is open any more
 * alertHeader(alert)   severity, mark for staff only, kind, place and card, age
 * createOrdered(alert) what was ordered, by whom, since when; null if no ruling waits
 */
import { alertIds, bySeverity, worstSeverity } from "./alerts.js";
import { el, fillOnChange, sentenceElement, setAttribute, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { pageUrl } from "./staff_page.js";
import { showAge } from "./ticking_age.js";
import { formatClock, word } from "./translations.js";

const MAX_ALERTS = 3;

function createStaffMark(alert) {
  return !alert.staff_only ? null : el("span", {
    class: "staff-only",
    title: word("alert_staff_only_hint"),
    text: word("alert_staff_only")
  });
}

function roundAndPlace(alert) {
  const found = [];
  if (alert.round !== null && alert.round !== undefined) {
    found.push(word("round_number", { number: alert.round }));
  }
  if (alert.data.slot) {
    found.push(format.place(alert.data.slot));
  }
  if (alert.data.card) {
    found.push(format.card(alert.data.card));
  }
  return found.join(" · ");
}

export function alertHeader(alert) {
  const age = el("span", { class: "age" });
  showAge(age, alert.at);
  return [
    el("div", { class: "alert-top" }, [
      el("span", { class: "severity", "data-severity": alert.data.severity }, [
        el("b", { text: alert.data.severity }),
        el("span", { text: format.severity(alert.data.severity) })
      ]),
      age
    ]),
    el("h3", { class: "kind" }, [format.kind(alert.data.kind), createStaffMark(alert)]),
    el("div", { class: "concerns", text: roundAndPlace(alert) })
  ];
}

export function createOrdered(alert) {
  return !alert.ordered ? null : el("p", { class: "ordered",
    text: word("alert_ordered", { action: format.action(alert.ordered.action),
      operator: alert.ordered.operator || "–", time: formatClock(alert.ordered.at) }) });
}

function createProposal(alert) {
  const first = alert.data.proposals && alert.data.proposals[0];
  if (!first) {
    return null;
  }
  return el("div", { class: "first-proposal" }, [
    el("span", { class: "arrow", "aria-hidden": "true", text: "▸ " }),
    el("b", { text: format.action(first.action) }),
    first.verified ? null
      : el("span", { class: "unverified", text: word("proposal_not_verified") }),
    alert.data.proposals.length > 1
      ? el("span", {
        class: "more",
        text: word("proposals_more", { count: alert.data.proposals.length - 1 })
      }) : null
  ]);
}

function createAlert(alert) {
  return el("div", {
    class: "alert",
    "data-alert-id": alert.data.id,
    "data-severity": alert.data.severity,
    "data-kind": alert.data.kind,
    "data-round": alert.round,
    "data-staff": alert.staff_only ? "true" : null
  }, [
    alertHeader(alert),
    sentenceElement("div", "detail", format.alert(alert)),
    createOrdered(alert),
    createProposal(alert)
  ]);
}

function waitText(state) {
  if (!state) {
    return "";
  }
  if (state.on_hold) {
    return word("on_hold");
  }
  return state.held.length ? word("waiting_rounds", {
    numbers: state.held.join(word("list_comma"))
  }) : "";
}

export function createAlertCard(key) {
  const name = el("span", { class: "name" });
  const held = el("span", { class: "held" });
  const list = el("div", { class: "alerts" });
  const node = el("li", { class: "alarm", "data-key": key }, [
    el("a", { href: pageUrl(`/pit/table/${encodeURIComponent(key)}`) }, [
      el("span", { class: "alarm-head" }, [name, held]),
      list
    ])
  ]);
  return {
    node,
    update(row) {
      const alerts = bySeverity(row.alerts);
      setText(name, row.name || row.table);
      setText(held, waitText(row.state));
      setAttribute(node, "data-severity", worstSeverity(alerts));
      setAttribute(node, "data-fresh", row.fresh.is);
      setClass(node, "grey", row.fresh.is !== "live");
      setClass(node, "closed", false);
      fillOnChange(list, alertIds(alerts), () =>
        alerts.slice(0, MAX_ALERTS).map(createAlert).concat(alerts.length > MAX_ALERTS
          ? el("div", { class: "alert others", text: word("alerts_omitted", {
            count: alerts.length - MAX_ALERTS
          }) }) : []));
    },
    close() {
      setClass(node, "closed", true);
      setText(held, word("alert_closed"));
    }
  };
}
