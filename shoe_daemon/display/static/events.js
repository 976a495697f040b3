/*
 * One table for the pit: what waits for a person and what may be done, the round, the readers,
 * and all that happened.
 *
 * Documents: `board` (only whether the table is known), `row`, `pit`, `alerts`, `events`,
 * `event`, `beat`.
 *
 * For tests:
 *     body                 data-key, data-fresh (FRESH.is), data-lost, data-broker, data-round,
 *                          data-shoe, data-open (alerts), data-events (all, irregular),
 *                          data-known
 *     #alerts-list > article   see rulings.js, the worst first
 *     #spots [data-slot]   the cards of the round, with data-card (empty: face down, "?": unread)
 *     #total-player, #total-banker
 *     #devices > li        data-device, data-state
 *     #diary > li          see diary.js, the newest first
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var row = null;
  var alerts = [];
  var omitted = 0;
  var diary = null;

  /* The head. */

  function head() {
    var state = row.state;
    var name = row.name || row.table;
    Shoe.text(byId("name"), name);
    Shoe.text(byId("id"), row.site + " / " + row.table);
    Shoe.text(byId("where"), state && state.shoe ? Shoe.word("shoe_round", {
      shoe: state.shoe.number,
      round: state.round ? state.round.number : state.counts.rounds
    }) : "");
    document.title = (alerts.length ? "(" + alerts.length + ") " : "") + name;
    Shoe.set(document.body, "data-fresh", row.fresh.is);
    Shoe.set(document.body, "data-round", state && state.round ? state.round.number : null);
    Shoe.set(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
    Shoe.set(byId("to-board"), "href", Shoe.address("/table/" + encodeURIComponent(row.key)));
    Shoe.set(byId("to-history"), "href",
      Shoe.address("/table/" + encodeURIComponent(row.key) + "/history"));
  }

  function notices() {
    var state = row.state;
    var stale = row.fresh.is !== "live";
    Shoe.flag(byId("stale-banner"), "hidden", !stale);
    Shoe.text(byId("stale-word"), stale ? Shoe.tell.fresh(row.fresh) : "");
    Shoe.ticking(byId("stale-age"), stale ? row.fresh.since : null);
    Shoe.flag(byId("alarm-banner"), "hidden", !(state && state.alarm));
    Shoe.say(byId("alarm-text"), state ? Shoe.sentence(state, state.alarm) : { text: "" });
    Shoe.flag(byId("table"), "grey", stale);
  }

  /* Alerts. */

  function waits(state) {
    return Boolean(state) && (state.on_hold || state.held.length > 0);
  }

  function showAlerts() {
    var state = row && row.state;
    var sorted = Shoe.byWeight(alerts);
    var key = JSON.stringify([sorted, state && state.policy]);
    Shoe.set(document.body, "data-open", alerts.length);
    Shoe.text(byId("alerts-count"), alerts.length ? Shoe.tell.many("alerts", alerts.length)
      : Shoe.word("alerts_none"));
    Shoe.flag(byId("alerts-none"), "hidden", alerts.length > 0 || waits(state));
    Shoe.flag(byId("shows-only"), "hidden", !alerts.length && !(state && state.on_hold));
    Shoe.flag(byId("alerts-omitted"), "hidden", !omitted);
    Shoe.text(byId("alerts-omitted"), Shoe.word("alerts_omitted", { count: omitted }));
    Shoe.flag(byId("alerts-staff-missing"), "hidden",
      !row || !row.staff_alerts_missing || row.fresh.is !== "live");
    if (showAlerts.key !== key) {
      showAlerts.key = key;
      Shoe.still(function () { keepAlerts(sorted, state); });
    }
  }

  function keepAlerts(sorted, state) {
    var list = byId("alerts-list");
    var there = {};
    Array.prototype.forEach.call(list.children, function (node) {
      there[node.shoeKey] = node;
    });
    Shoe.sameOrder(list, sorted.map(function (alert) {
      var key = JSON.stringify([alert, state && state.policy]);
      var node = there[key] || Shoe.ruling(alert, state);
      node.shoeKey = key;
      return node;
    }));
  }

  function holds() {
    var state = row.state;
    var text = [];
    if (state && state.on_hold) {
      text.push(Shoe.word("on_hold"));
    }
    if (state && state.held.length) {
      text.push(Shoe.word("waiting_rounds", { numbers: state.held.join(Shoe.word("list_comma")) }));
    }
    Shoe.flag(byId("held"), "hidden", !text.length);
    Shoe.text(byId("held-text"), text.join(" · "));
    Shoe.swap(byId("resume"), String(Boolean(state && state.on_hold)), function () {
      return state && state.on_hold ? [
        Shoe.el("span", { "class": "other-word", text: Shoe.word("order_resume") }),
        Shoe.orders.shown(Shoe.orders.line("resume", {}) || "")
      ] : null;
    });
  }

  /* The round, and what is known of the table. */

  function spot(card, round) {
    var shown = Shoe.view(card, round);
    return Shoe.el("span", {
      "class": "spot" + (card.slot && card.slot.charAt(1) === "3" ? " third" : ""),
      "data-slot": card.slot,
      "data-card": shown || "",
      title: Shoe.tell.place(card.slot) + (shown === "?" ? ": " + Shoe.word("card_unread") : "")
    }, Shoe.card(shown));
  }

  function hand(round, letter) {
    return (round ? round.cards : []).filter(function (card) {
      return card.slot ? card.slot.charAt(0) === letter : letter === "P";
    }).map(function (card) { return spot(card, round); });
  }

  function why(round) {
    // What waits for a card that nobody could read waits for no face to be turned.
    return !round || !round.draw_due || round.finished || Shoe.isStuck(round)
      ? { text: "" } : Shoe.sentence(round.draw_due, round.draw_due.text);
  }

  function round() {
    var state = row.state;
    var now = state && state.round;
    var said = state ? Shoe.tell.round(state) : { text: Shoe.word("no_round"), tone: "quiet" };
    Shoe.swap(byId("spots"), JSON.stringify(now && [now.cards, now.finished]), function () {
      return [
        Shoe.el("div", { "class": "hand player" }, hand(now, "P")),
        Shoe.el("div", { "class": "hand banker" }, hand(now, "B"))
      ];
    });
    Shoe.text(byId("total-player"), now ? Shoe.number(now.player_total) : "–");
    Shoe.text(byId("total-banker"), now ? Shoe.number(now.banker_total) : "–");
    Shoe.text(byId("round-now"), said.text);
    byId("round-now").className = "round-now " + said.tone;
    Shoe.say(byId("round-why"), why(now));
    Shoe.swap(byId("strip"), row.outcomes, function () { return Shoe.beads(row.outcomes, 30); });
  }

  function facts() {
    var state = row.state;
    var pairs = !state ? [] : [
      [Shoe.word("policy"), Shoe.tell.policy(state)],
      [Shoe.word("house"), Shoe.tell.house(state)],
      [Shoe.word("shoe"), state.shoe ? Shoe.word("decks", { count: state.shoe.decks }) : "–"],
      [Shoe.word("cut_card"), Shoe.word(state.shoe && state.shoe.cut_card ? "yes" : "no")],
      [Shoe.word("last_round"), Shoe.word(state.shoe && state.shoe.last_round ? "yes" : "no")],
      [Shoe.word("blind_heading"), (state.blind || []).map(Shoe.tell.kind)
        .join(Shoe.word("list_comma")) || Shoe.word("none")]
    ];
    Shoe.swap(byId("facts"), JSON.stringify(pairs), function () {
      return pairs.map(function (pair) {
        return [Shoe.el("dt", { text: pair[0] }), Shoe.el("dd", { text: pair[1] })];
      });
    });
  }

  function expects(state, id) {
    var found = (state ? state.readers : []).filter(function (reader) {
      return reader.source === id || state.readers.length === 1 && row.devices.length === 1;
    })[0];
    return found ? Shoe.tell.reader(found) : "";
  }

  function devices() {
    Shoe.flag(byId("devices-none"), "hidden", row.devices.length > 0);
    Shoe.swap(byId("devices"), JSON.stringify([row.devices, row.state && row.state.readers]),
      function () {
        return row.devices.map(function (device) {
          var said = Shoe.tell.device(device);
          return Shoe.el("li", {
            "class": "device " + device.state,
            "data-device": device.id,
            "data-state": device.state
          }, [
            Shoe.el("i", { "class": said.good ? "lamp" : "lamp bad", "aria-hidden": "true" }),
            Shoe.el("b", { text: device.id }),
            Shoe.el("span", { "class": "device-says", text: said.text }),
            Shoe.el("span", { "class": "device-more", text: [expects(row.state, device.id),
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
    Shoe.orders.table(row, Shoe.page().order_options);
    head();
    notices();
    holds();
    showAlerts();
    round();
    facts();
    devices();
  }

  function takeBoard(found) {
    Shoe.set(document.body, "data-known", String(found.known));
    Shoe.flag(byId("unknown"), "hidden", found.known);
    Shoe.flag(byId("content"), "hidden", !found.known);
    Shoe.text(byId("unknown-word"), Shoe.word("unknown_table", { table: found.table }));
    if (!row) {
      Shoe.text(byId("name"), found.table);
    }
  }

  function takeAlerts(found) {
    alerts = found ? found.alerts : [];
    omitted = found ? found.omitted : 0;
    showAlerts();
    if (row) {
      head();
    }
  }

  function takeEvents(found) {
    diary.whole(found.events, found.since);
    Shoe.text(byId("events-since"), found.since
      ? Shoe.word("events_since", { time: Shoe.clock(found.since) }) : "");
  }

  function takePit(pit) {
    Shoe.set(document.body, "data-broker", String(pit.broker.connected));
    Shoe.flag(byId("broker-banner"), "hidden", pit.broker.connected);
    Shoe.text(byId("broker-since"), pit.broker.since
      ? Shoe.word("since", { time: Shoe.clock(pit.broker.since) }) : "");
    Shoe.text(byId("broker-detail"), pit.broker.detail || "");
  }

  function lost(is, since) {
    Shoe.set(document.body, "data-lost", is ? "true" : null);
    Shoe.flag(byId("lost-banner"), "hidden", !is);
    Shoe.text(byId("lost-since"), is ? Shoe.word("since", { time: Shoe.clock(since) }) : "");
  }

  function filter(name) {
    Shoe.set(document.body, "data-events", name);
    ["all", "irregular"].forEach(function (each) {
      Shoe.set(byId("events-" + each), "aria-pressed", String(each === name));
    });
  }

  function start() {
    var handlers = {
      board: takeBoard,
      row: takeRow,
      pit: takePit,
      alerts: takeAlerts,
      events: takeEvents,
      event: function (found) { diary.add(found.event || found); },
      beat: function (beat) { Shoe.sync(beat.now); }
    };
    Shoe.dress();
    Shoe.set(document.body, "data-key", Shoe.page().key);
    Shoe.orders.name(byId("operator"));
    Shoe.flag(byId("order-access"), "hidden",
      (Shoe.page().order_options || []).indexOf("FILE") < 0);
    diary = Shoe.diary(byId("diary-box"), byId("diary"), byId("events-new"));
    ["all", "irregular"].forEach(function (name) {
      byId("events-" + name).addEventListener("click", function () { filter(name); });
    });
    filter("all");
    Shoe.first(handlers);
    Shoe.ready();
    Shoe.live(Shoe.page().live, handlers, lost);
  }

  start();
}());
