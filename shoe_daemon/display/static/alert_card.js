/*
 * The open alerts of one table, in the list of alerts of the pit.
 *
 * Shoe.createAlertCard(key)   <li class="alarm"> with data-key and data-severity (the highest); in
 *                       it one <div class="alert"> for each alert, with data-alert-id,
 *                       data-severity, data-kind, data-round, data-staff (true for alerts for
 *                       staff only), the highest severity first, three at most: the table's page
 *                       shows all
 *     .node
 *     .update(row)      shows the alerts of a row
 *     .close()          shows that no alert is open any more
 * Shoe.alertHeader(alert)   severity, mark for staff only, kind, place and card, age
 * Shoe.createOrdered(alert) what was ordered, by whom, since when; null if no ruling waits
 * Shoe.alertIds(alerts)     a text that changes with the open alerts, and what is shown of them
 * Shoe.bySeverity(alerts)   the highest severity first, then the oldest
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var MAX_ALERTS = 3;

  Shoe.bySeverity = function (alerts) {
    return alerts.slice().sort(function (one, other) {
      return other.data.severity - one.data.severity || one.data.id - other.data.id;
    });
  };

  Shoe.alertIds = function (alerts) {
    return alerts.map(function (alert) {
      return alert.data.id + (alert.staff_only ? "s" : "") +
        (alert.ordered ? alert.ordered.action : "") + (alert.data.proposals || []).map(function (each) {
          return each.action.slice(0, 2) + (each.needs || "");
        });
    }).join();
  };

  function createStaffMark(alert) {
    return !alert.staff_only ? null : Shoe.el("span", {
      "class": "staff-only",
      title: Shoe.word("alert_staff_only_hint"),
      text: Shoe.word("alert_staff_only")
    });
  }

  function roundAndPlace(alert) {
    var found = [];
    if (alert.round !== null && alert.round !== undefined) {
      found.push(Shoe.word("round_number", { number: alert.round }));
    }
    if (alert.data.slot) {
      found.push(Shoe.format.place(alert.data.slot));
    }
    if (alert.data.card) {
      found.push(Shoe.format.card(alert.data.card));
    }
    return found.join(" · ");
  }

  Shoe.alertHeader = function (alert) {
    var age = Shoe.el("span", { "class": "age" });
    Shoe.showAge(age, alert.at);
    return [
      Shoe.el("div", { "class": "alert-top" }, [
        Shoe.el("span", { "class": "severity", "data-severity": alert.data.severity }, [
          Shoe.el("b", { text: alert.data.severity }),
          Shoe.el("span", { text: Shoe.format.severity(alert.data.severity) })
        ]),
        age
      ]),
      Shoe.el("div", { "class": "kind" },
        [Shoe.format.kind(alert.data.kind), createStaffMark(alert)]),
      Shoe.el("div", { "class": "concerns", text: roundAndPlace(alert) })
    ];
  };

  Shoe.createOrdered = function (alert) {
    return !alert.ordered ? null : Shoe.el("p", { "class": "ordered",
      text: Shoe.word("alert_ordered", { action: Shoe.format.action(alert.ordered.action),
        operator: alert.ordered.operator || "–", time: Shoe.formatClock(alert.ordered.at) }) });
  };

  function createProposal(alert) {
    var first = alert.data.proposals && alert.data.proposals[0];
    if (!first) {
      return null;
    }
    return Shoe.el("div", { "class": "first-proposal" }, [
      Shoe.el("span", { "class": "arrow", "aria-hidden": "true", text: "▸ " }),
      Shoe.el("b", { text: Shoe.format.action(first.action) }),
      first.verified ? null
        : Shoe.el("span", { "class": "unverified", text: Shoe.word("proposal_not_verified") }),
      alert.data.proposals.length > 1
        ? Shoe.el("span", {
          "class": "more",
          text: Shoe.word("proposals_more", { count: alert.data.proposals.length - 1 })
        }) : null
    ]);
  }

  function createAlert(alert) {
    return Shoe.el("div", {
      "class": "alert",
      "data-alert-id": alert.data.id,
      "data-severity": alert.data.severity,
      "data-kind": alert.data.kind,
      "data-round": alert.round,
      "data-staff": alert.staff_only ? "true" : null
    }, [
      Shoe.alertHeader(alert),
      Shoe.sentenceElement("div", "detail", Shoe.format.alert(alert)),
      Shoe.createOrdered(alert),
      createProposal(alert)
    ]);
  }

  function waitText(state) {
    if (!state) {
      return "";
    }
    if (state.on_hold) {
      return Shoe.word("on_hold");
    }
    return state.held.length ? Shoe.word("waiting_rounds", {
      numbers: state.held.join(Shoe.word("list_comma"))
    }) : "";
  }

  Shoe.createAlertCard = function (key) {
    var name = Shoe.el("span", { "class": "name" });
    var held = Shoe.el("span", { "class": "held" });
    var list = Shoe.el("div", { "class": "alerts" });
    var node = Shoe.el("li", { "class": "alarm", "data-key": key }, [
      Shoe.el("a", { href: Shoe.pageUrl("/pit/table/" + encodeURIComponent(key)) }, [
        Shoe.el("span", { "class": "alarm-head" }, [name, held]),
        list
      ])
    ]);
    return {
      node: node,
      update: function (row) {
        var alerts = Shoe.bySeverity(row.alerts);
        Shoe.setText(name, row.name || row.table);
        Shoe.setText(held, waitText(row.state));
        Shoe.setAttribute(node, "data-severity", Shoe.worstSeverity(alerts));
        Shoe.setAttribute(node, "data-fresh", row.fresh.is);
        Shoe.setClass(node, "grey", row.fresh.is !== "live");
        Shoe.setClass(node, "closed", false);
        Shoe.fillOnChange(list, Shoe.alertIds(alerts), function () {
          return alerts.slice(0, MAX_ALERTS).map(createAlert).concat(alerts.length > MAX_ALERTS
            ? Shoe.el("div", { "class": "alert others", text: Shoe.word("alerts_omitted", {
              count: alerts.length - MAX_ALERTS
            }) }) : []);
        });
      },
      close: function () {
        Shoe.setClass(node, "closed", true);
        Shoe.setText(held, Shoe.word("alert_closed"));
      }
    };
  };
}());
