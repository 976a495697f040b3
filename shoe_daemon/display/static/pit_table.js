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
(function () {
  "use strict";

  var byId = Shoe.byId;
  var row = null;
  var alerts = [];
  var omitted = 0;
  var eventLog = null;

  /* Header. */

  function showHeader() {
    var state = row.state;
    var name = row.name || row.table;
    Shoe.setText(byId("name"), name);
    Shoe.setText(byId("id"), row.site + " / " + row.table);
    Shoe.setText(byId("where"), Shoe.format.where(state));
    document.title = (alerts.length ? "(" + alerts.length + ") " : "") + name;
    Shoe.setAttribute(document.body, "data-key", row.key);
    Shoe.setAttribute(document.body, "data-fresh", row.fresh.is);
    Shoe.setAttribute(document.body, "data-round",
      state && state.round ? state.round.number : null);
    Shoe.setAttribute(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
    Shoe.setAttribute(byId("to-board"), "href",
      Shoe.pageUrl("/table/" + encodeURIComponent(row.key)));
    Shoe.setAttribute(byId("to-log"), "href",
      Shoe.addParameter(Shoe.pageUrl("/pit/log"), "table", row.key));
    Shoe.setAttribute(byId("to-history"), "href",
      Shoe.pageUrl("/table/" + encodeURIComponent(row.key) + "/history"));
  }

  function showBanners() {
    var state = row.state;
    var stale = row.fresh.is !== "live";
    Shoe.setClass(byId("stale-banner"), "hidden", !stale);
    Shoe.setText(byId("stale-word"), stale ? Shoe.format.freshness(row.fresh) : "");
    Shoe.showAge(byId("stale-age"), stale ? row.fresh.since : null);
    Shoe.setClass(byId("alarm-banner"), "hidden", !(state && state.alarm));
    Shoe.setSentence(byId("alarm-text"), state ? Shoe.sentence(state, state.alarm) : { text: "" });
    Shoe.setClass(byId("table"), "grey", stale);
  }

  /* Alerts. */

  function isWaiting(state) {
    return Boolean(state) && (state.on_hold || state.held.length > 0);
  }

  function showAlerts() {
    var state = row && row.state;
    var sorted = Shoe.bySeverity(alerts);
    var key = JSON.stringify([sorted, state && state.policy, state && state.round]);
    Shoe.setAttribute(document.body, "data-open", alerts.length);
    Shoe.setText(byId("alerts-count"), alerts.length ? Shoe.format.plural("alerts", alerts.length)
      : Shoe.word("alerts_none"));
    Shoe.setClass(byId("alerts-none"), "hidden", alerts.length > 0 || isWaiting(state));
    Shoe.setClass(byId("shows-only"), "hidden", !alerts.length && !(state && state.on_hold));
    Shoe.setClass(byId("alerts-omitted"), "hidden", !omitted);
    Shoe.setText(byId("alerts-omitted"), Shoe.word("alerts_omitted", { count: omitted }));
    Shoe.setClass(byId("alerts-staff-missing"), "hidden",
      !row || !row.staff_alerts_missing || row.fresh.is !== "live");
    if (showAlerts.key !== key) {
      showAlerts.key = key;
      Shoe.whenIdle(function () { arrangeAlerts(sorted, state); });
    }
  }

  /* Who sees other orders than a supervisor. */
  function dealer() {
    return Shoe.operator.isSupervisor() ? null : Shoe.operator.name;
  }

  function arrangeAlerts(sorted, state) {
    var list = byId("alerts-list");
    var there = {};
    Array.prototype.forEach.call(list.children, function (node) {
      there[node.shoeKey] = node;
    });
    Shoe.arrange(list, sorted.map(function (alert) {
      var key = JSON.stringify([alert, state && state.policy, dealer()]);
      var node = there[key] || Shoe.createAlertDetails(alert, state);
      node.shoeKey = key;
      Shoe.showWrongCards(node, state);
      return node;
    }));
  }

  function showHolds() {
    var state = row.state;
    var text = [];
    if (state && state.on_hold) {
      text.push(Shoe.word("on_hold"));
    }
    if (state && state.held.length) {
      text.push(Shoe.word("waiting_rounds", { numbers: state.held.join(Shoe.word("list_comma")) }));
    }
    Shoe.setClass(byId("held"), "hidden", !text.length);
    Shoe.setText(byId("held-text"), text.join(" · "));
    Shoe.fillOnChange(byId("resume"), [state && state.on_hold, dealer()].join(), function () {
      return state && state.on_hold ? [
        Shoe.page().order_verbs ? Shoe.orderSheet.decision("resume", {}, Shoe.word("give_resume")) : [
          Shoe.el("span", { "class": "other-word", text: Shoe.word("order_resume") }),
          Shoe.commands.createElement(Shoe.commands.commandLine("resume", {}) || "")
        ]
      ] : null;
    });
  }

  /* Orders. */

  var ORDERS = ["no-more-bets", "betting-open", "reveal", "confirm-result", "hold", "report",
    "correct-card", "enter-card", "enter-result", "void-round", "undo", "pass-shoe", "free-hand", "new-shoe"];

  /* Cards are dealt while results are put on hold: that has no preview. */
  function orderButton(verb) {
    return verb === "report" ? Shoe.orderSheet.reportButton() : Shoe.orderSheet.button(verb, {},
      Shoe.word("give_" + verb.replace(/-/g, "_")), verb === "hold");
  }

  function isOffered(verb, state) {
    if (verb === "pass-shoe") {
      return Boolean(state && state.curator !== null);
    }
    return Shoe.operator.may(verb);
  }

  function showOrders() {
    var state = row && row.state;
    var offered = ORDERS.filter(function (verb) { return isOffered(verb, state); });
    if (!row || !Shoe.page().order_verbs) {
      return;
    }
    Shoe.setClass(byId("orders"), "hidden", false);
    Shoe.setClass(byId("orders"), "off", row.fresh.is !== "live");
    Shoe.fillOnChange(byId("order-buttons"), offered.join(), function () {
      return offered.map(orderButton);
    });
    Array.prototype.forEach.call(document.querySelectorAll(".order-button"), function (button) {
      button.disabled = row.fresh.is !== "live";
    });
    Shoe.setClass(byId("operator-now"), "hidden", !Shoe.operator.name);
    Shoe.setText(byId("operator-name"), Shoe.operator.name);
  }

  /* The round, and facts about the table. */

  function createSpot(card, round) {
    var shown = Shoe.shownCard(card, round);
    return Shoe.el("span", {
      "class": "spot" + (card.slot && card.slot.charAt(1) === "3" ? " third" : ""),
      "data-slot": card.slot,
      "data-card": shown || "",
      title: Shoe.format.place(card.slot) + (shown === "?" ? ": " + Shoe.word("card_unread") : "")
    }, Shoe.drawCard(shown));
  }

  function createHand(round, letter) {
    return (round ? round.cards : []).filter(function (card) {
      return card.slot ? card.slot.charAt(0) === letter : letter === "P";
    }).map(function (card) { return createSpot(card, round); });
  }

  function drawReason(round) {
    // An unread card is shown as such; no face is turned later.
    return !round || !round.draw_due || round.finished || Shoe.isDrawUnknown(round)
      ? { text: "" } : Shoe.sentence(round.draw_due, round.draw_due.text);
  }

  function showRound() {
    var state = row.state;
    var now = state && state.round;
    var status = state ? Shoe.format.round(state) : { text: Shoe.word("no_round"), tone: "quiet" };
    Shoe.fillOnChange(byId("spots"), JSON.stringify(now && [now.cards, now.finished]), function () {
      return [
        Shoe.el("div", { "class": "hand player" }, createHand(now, "P")),
        Shoe.el("div", { "class": "hand banker" }, createHand(now, "B"))
      ];
    });
    Shoe.setText(byId("total-player"), now ? Shoe.formatNumber(now.player_total) : "–");
    Shoe.setText(byId("total-banker"), now ? Shoe.formatNumber(now.banker_total) : "–");
    Shoe.setText(byId("round-now"), status.text);
    byId("round-now").className = "round-now " + status.tone;
    Shoe.setSentence(byId("round-why"), drawReason(now));
    Shoe.fillOnChange(byId("strip"), row.outcomes, function () {
      return Shoe.createBeads(row.outcomes, 30);
    });
  }

  function showFacts() {
    var state = row.state;
    var pairs = !state ? [] : [
      [Shoe.word("policy"), Shoe.format.policy(state)],
      [Shoe.word("house"), Shoe.format.house(state)],
      [Shoe.word("shoe"), state.shoe ? Shoe.word("decks", { count: state.shoe.decks }) : "–"],
      [Shoe.word("cut_card"), Shoe.word(state.shoe && state.shoe.cut_card ? "yes" : "no")],
      [Shoe.word("last_round"), Shoe.word(state.shoe && state.shoe.last_round ? "yes" : "no")],
      [Shoe.word("blind_heading"), (state.blind || []).map(Shoe.format.kind)
        .join(Shoe.word("list_comma")) || Shoe.word("none")]
    ];
    Shoe.fillOnChange(byId("facts"), JSON.stringify(pairs), function () {
      return pairs.map(function (pair) {
        return [Shoe.el("dt", { text: pair[0] }), Shoe.el("dd", { text: pair[1] })];
      });
    });
  }

  function readerState(state, id) {
    var found = (state ? state.readers : []).filter(function (reader) {
      return reader.source === id || state.readers.length === 1 && row.devices.length === 1;
    })[0];
    return found ? Shoe.format.reader(found) : "";
  }

  function showDevices() {
    Shoe.setClass(byId("devices-none"), "hidden", row.devices.length > 0);
    Shoe.fillOnChange(byId("devices"),
      JSON.stringify([row.devices, row.state && row.state.readers]),
      function () {
        return row.devices.map(function (device) {
          var status = Shoe.format.device(device);
          return Shoe.el("li", {
            "class": "device " + device.state,
            "data-device": device.id,
            "data-state": device.state
          }, [
            Shoe.el("i", { "class": status.good ? "lamp" : "lamp bad", "aria-hidden": "true" }),
            Shoe.el("b", { text: device.id }),
            Shoe.el("span", { "class": "device-says", text: status.text }),
            Shoe.el("span", { "class": "device-more", text: [readerState(row.state, device.id),
              Shoe.word("reader_frames", { count: device.frames, noise: device.noise })]
              .filter(Boolean).join(" · ") })
          ]);
        });
      });
  }

  /* Documents. */

  function takeRow(found) {
    if (!found) {
      return;
    }
    row = found;
    Shoe.commands.setTable(row, Shoe.page().order_options);
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
    Shoe.setAttribute(document.body, "data-known", String(found.known));
    Shoe.setClass(byId("unknown"), "hidden", found.known);
    Shoe.setClass(byId("content"), "hidden", !found.known);
    Shoe.setText(byId("unknown-word"), Shoe.word("unknown_table", { table: found.table }));
    if (!row) {
      Shoe.setText(byId("name"), found.table);
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
    Shoe.setText(byId("events-since"), found.since
      ? Shoe.word("events_since", { time: Shoe.formatClock(found.since) }) : "");
  }

  function takePit(pit) {
    Shoe.setAttribute(document.body, "data-broker", String(pit.broker.connected));
    Shoe.setClass(byId("broker-banner"), "hidden", pit.broker.connected);
    Shoe.setText(byId("broker-since"), pit.broker.since
      ? Shoe.word("since", { time: Shoe.formatClock(pit.broker.since) }) : "");
    Shoe.setText(byId("broker-detail"), pit.broker.detail || "");
    Shoe.showNotifierFaults(byId("notify-banner"), pit.notifications);
  }

  function setLost(isLost, since) {
    Shoe.setAttribute(document.body, "data-lost", isLost ? "true" : null);
    Shoe.setClass(byId("lost-banner"), "hidden", !isLost);
    Shoe.setText(byId("lost-since"), isLost
      ? Shoe.word("since", { time: Shoe.formatClock(since) }) : "");
  }

  function setFilter(name) {
    Shoe.setAttribute(document.body, "data-events", name);
    ["all", "irregular"].forEach(function (each) {
      Shoe.setAttribute(byId("events-" + each), "aria-pressed", String(each === name));
    });
  }

  function startOrders() {
    Shoe.setClass(byId("shows-only"), "gone", true);
    Shoe.orderSheet.state = function () { return row && row.state; };
    Shoe.orderSheet.table = function () { return row && row.key; };
    Shoe.operator.onChange(function () {
      showOrders();
      if (row) {
        showHolds();
        arrangeAlerts(Shoe.bySeverity(alerts), row.state);
      }
    });
    Shoe.operator.load();
    byId("log-out").addEventListener("click", function () { Shoe.operator.logOut(); });
  }

  function start() {
    var handlers = {
      board: takeBoard,
      row: takeRow,
      pit: takePit,
      alerts: takeAlerts,
      events: takeEvents,
      event: function (found) { eventLog.add(found.event || found); },
      beat: function (beat) { Shoe.syncClock(beat.now); }
    };
    Shoe.fillWords();
    Shoe.setAttribute(document.body, "data-key", Shoe.page().key);
    Shoe.commands.bindOperator(byId("operator"));
    Shoe.setClass(byId("order-access"), "hidden",
      (Shoe.page().order_options || []).indexOf("FILE") < 0);
    eventLog = Shoe.eventLog(byId("event-log-box"), byId("event-log"), byId("events-new"));
    ["all", "irregular"].forEach(function (name) {
      byId("events-" + name).addEventListener("click", function () { setFilter(name); });
    });
    setFilter("all");
    if (Shoe.page().order_verbs) {
      startOrders();
    }
    Shoe.handleInitial(handlers);
    Shoe.showPage();
    Shoe.openStream(Shoe.page().live, handlers, setLost);
  }

  start();
}());
