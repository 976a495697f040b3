/*
 * The dealer's screen: what is due now, in large words and colours, and the orders of a dealer.
 *
 * Documents: `board`, `public_alerts`, `events`, `event`, `beat`.
 *
 * For tests:
 *     body      data-key, data-fresh
 *     #say      data-say = stop (an irregularity), ordered (a ruling that waits), wait (held or on hold), draw, result, burn,
 *               betting, idle or stale; data-hand = player, banker, tie or none
 *     #main, #more   the sentence and its reason
 *     #betting  data-betting = open, closed or none
 *     #dealer-name, #sign   who has signed on; signs on or off
 *     [data-order]   the orders
 */
(function () {
  "use strict";

  /* Irregularities of this severity stop the game. */
  var STOPS = 2;
  var ORDERS = ["no-more-bets", "betting-open", "reveal", "confirm-result", "report", "hold"];
  /* Alarms at which no card is recorded. */
  var STANDS_STILL = ["not_recorded", "cards_too_fast"];
  var WORDS = { hold: "dealer_call" };
  var ORDERED = { draw_now: "dealer_draw_now", manual_entry: "dealer_manual_entry",
    rescan: "dealer_rescan" };

  var byId = Shoe.byId;
  var row = null;
  var alerts = [];
  /* Cards still to be burned, and the event that told it: {count, seq, at}. */
  var toBurn = null;
  var lost = false;

  /* Events may be lost with a connection, the state is not: a card is due to a hand. */
  function isDealing(state) {
    var due = state.round && !state.round.finished && state.round.draw_due;
    return Boolean(due) && due.hand !== "none";
  }

  function burnCount(state) {
    return toBurn && !(state.seq > toBurn.seq && isDealing(state)) ? toBurn.count : null;
  }

  function betting(state) {
    var open = state && state.betting;
    Shoe.setAttribute(byId("betting"), "data-betting", open || "none");
    Shoe.setText(byId("betting"), open === "open" ? Shoe.word("dealer_bets_open")
      : open === "closed" ? Shoe.word("no_more_bets") : "");
  }

  function stopping() {
    return Shoe.bySeverity(alerts).filter(function (alert) {
      return alert.data.severity >= STOPS;
    })[0];
  }

  /* What a person has ordered, as long as the dealer can do it: the round is still on the table. */
  function waiting(alert, state) {
    var ordered = alert.ordered;
    var round = state.round && state.round.number;
    var isPast = alert.round && alert.round !== round ||
      ordered && ordered.action === "draw_now" && (!round || state.round.finished);
    return !ordered || isPast || !ORDERED[ordered.action] ? null : {
      say: "ordered", main: Shoe.word(ORDERED[ordered.action]),
      more: Shoe.format.alert(alert).text + " " + Shoe.word("dealer_ordered_by",
        { operator: ordered.operator || "–", time: Shoe.formatClock(ordered.at) })
    };
  }

  function resultOf(state) {
    var last = state.last_result;
    return last && state.shoe && last.shoe === state.shoe.number && state.round &&
      last.round === state.round.number ? last : null;
  }

  /* Readers that read nothing at present, as sentences. */
  function deadReaders(state) {
    return state.readers.filter(function (reader) {
      return reader.link === "down" || reader.state === "fault" || reader.state === "locked";
    }).map(function (reader) {
      return Shoe.format.event({ type: "reader_status", data: reader }).text;
    });
  }

  /* {say, hand, main, more}: what the dealer must know first. */
  function now() {
    var state = row.state;
    var alert = stopping();
    var dead = state ? deadReaders(state) : [];
    var found;
    if (lost || row.fresh.is !== "live" || !state) {
      return { say: "stale", main: Shoe.word("dealer_not_seen"),
        more: lost ? Shoe.word("fresh_lost") : Shoe.format.freshness(row.fresh) };
    }
    if (STANDS_STILL.indexOf(state.detail_code) >= 0) {
      return { say: "stale", main: Shoe.word("dealer_not_seen"),
        more: Shoe.sentence(state, state.alarm).text };
    }
    if (alert) {
      return waiting(alert, state) || { say: "stop", main: Shoe.format.kind(alert.data.kind),
        more: Shoe.format.alert(alert).text + " " + Shoe.word("dealer_leave") };
    }
    if (dead.length && dead.length === state.readers.length) {
      return { say: "stale", main: dead.join(" · "), more: Shoe.word("dealer_call") };
    }
    found = course(state);
    // Cards may be seen by another reader, and other alarms are for staff: the game may go on.
    if (state.alarm) {
      dead.push(Shoe.sentence(state, state.alarm).text);
    }
    found.more = dead.concat(found.more || []).join(" · ");
    return found;
  }

  /* The course of the game, where all is well. */
  function course(state) {
    var round = state.round;
    var result = resultOf(state);
    var text;
    if (state.on_hold) {
      return { say: "wait", main: Shoe.word("on_hold"), more: Shoe.word("supervisor_decides") };
    }
    if (round && state.held.indexOf(round.number) >= 0) {
      return { say: "wait", main: Shoe.word("result_held"), more: Shoe.word("supervisor_decides") };
    }
    if (burnCount(state)) {
      return { say: "burn", main: Shoe.word("dealer_burn", { count: toBurn.count }), more: "" };
    }
    if (round && !round.finished && round.draw_due) {
      text = Shoe.format.round(state);
      return { say: "draw", hand: round.draw_due.hand, main: text.text,
        more: Shoe.sentence(round.draw_due, round.draw_due.text).text };
    }
    if (result) {
      return { say: "result", hand: result.data.outcome, main: Shoe.format.outcome(result.data.outcome),
        more: Shoe.format.marks(result.data).join(" · ") };
    }
    return { say: state.betting ? "betting" : "idle", main: Shoe.format.round(state).text, more: "" };
  }

  function showSay() {
    var found = now();
    Shoe.setAttribute(byId("say"), "data-say", found.say);
    Shoe.setAttribute(byId("say"), "data-hand", found.hand || "none");
    Shoe.setText(byId("main"), found.main);
    Shoe.setAttribute(byId("main"), "data-size", found.main.length > 26 ? "small" : "large");
    Shoe.setText(byId("more"), found.more);
  }

  function showHands(round) {
    ["player", "banker"].forEach(function (side) {
      var letter = side === "player" ? "P" : "B";
      var total = round ? round[side + "_total"] : null;
      var cards = (round ? round.cards : []).filter(function (card) {
        return card.slot ? card.slot.charAt(0) === letter : letter === "P";
      });
      Shoe.setText(byId("total-" + side), Shoe.formatNumber(total));
      Shoe.fillOnChange(byId("cards-" + side), JSON.stringify(cards), function () {
        return cards.map(function (card) {
          return Shoe.el("span", { "data-slot": card.slot }, Shoe.drawCard(Shoe.shownCard(card, round)));
        });
      });
    });
  }

  /* The order that comes next in a round. */
  function isNext(verb, state) {
    var dealing = state && state.round && !state.round.finished;
    return Boolean(state) && (verb === "no-more-bets" ? state.betting === "open"
      : verb === "betting-open" && state.betting === "closed" && !dealing);
  }

  function showOrders() {
    Shoe.setClass(byId("order-buttons"), "hidden", !Shoe.page().order_verbs);
    Shoe.fillOnChange(byId("order-buttons"), "made", function () {
      return ORDERS.map(function (verb) {
        return verb === "report" ? Shoe.orderSheet.reportButton(true) : Shoe.orderSheet.button(verb, {},
          Shoe.word(WORDS[verb] || "give_" + verb.replace(/-/g, "_")), true);
      });
    });
    Array.prototype.forEach.call(byId("order-buttons").children, function (button) {
      var verb = button.getAttribute("data-order");
      button.disabled = lost || row.fresh.is !== "live";
      Shoe.setClass(button, "current", isNext(verb, row.state));
    });
    showDealer();
  }

  function showDealer() {
    var dealer = row.state && row.state.dealer;
    Shoe.setClass(byId("dealer-now"), "hidden", !Shoe.page().order_verbs || !row.state);
    Shoe.setText(byId("dealer-name"), dealer ? Shoe.word("event_dealer_changed",
      { dealer: dealer }) : Shoe.word("event_dealer_changed_off"));
    Shoe.setText(byId("sign"), signWord(dealer));
    byId("sign").disabled = lost || row.fresh.is !== "live";
  }

  /* Who is logged in signs off himself, or as a supervisor whoever deals; else he signs on. */
  function signsOff() {
    var dealer = row.state && row.state.dealer;
    return Boolean(dealer) && (dealer === Shoe.operator.name || Shoe.operator.isSupervisor());
  }

  function signWord(dealer) {
    var words = [Shoe.word("dealer_sign_on"), Shoe.word("dealer_sign_off")];
    return dealer && !Shoe.operator.name ? words.join(" / ") : words[Number(signsOff())];
  }

  function sign() {
    var isOff = false;
    Shoe.orderSheet.open(row.key, "dealer", { dealer: function () {
      isOff = signsOff();
      return isOff ? null : Shoe.operator.name;
    } }, signWord(row.state.dealer), true, function () {
      if (isOff) {
        Shoe.operator.logOut();
      }
    });
  }

  function show() {
    var state = row && row.state;
    if (!row) {
      return;
    }
    Shoe.setText(byId("name"), row.name || row.table);
    Shoe.setText(byId("where"), Shoe.format.where(state));
    document.title = row.name || row.table;
    Shoe.setAttribute(document.body, "data-key", row.key);
    Shoe.setAttribute(document.body, "data-fresh", lost ? "lost" : row.fresh.is);
    betting(state);
    showHands(state && state.round);
    showSay();
    showOrders();
  }

  function takeEvent(event) {
    if (event.type === "card_burned") {
      toBurn = event.data.remaining
        ? { count: event.data.remaining, seq: event.seq, at: event.at } : null;
    } else if (event.type === "round_started" || event.type === "card_dealt" ||
        event.type === "shoe_started") {
      toBurn = null;
    }
  }

  /* What happened between the last event and `since` is not known. */
  function takeEvents(found) {
    toBurn = null;
    found.events.forEach(takeEvent);
    if (toBurn && found.since && new Date(found.since) > new Date(toBurn.at)) {
      toBurn = null;
    }
  }

  function start() {
    var handlers = {
      board: function (found) { row = found; show(); },
      public_alerts: function (found) { alerts = found.alerts; show(); },
      events: function (found) { takeEvents(found); show(); },
      event: function (found) { takeEvent(found.event || found); show(); },
      beat: function (beat) { Shoe.syncClock(beat.now); }
    };
    Shoe.fillWords();
    Shoe.setAttribute(document.body, "data-key", Shoe.page().key);
    Shoe.orderSheet.state = function () { return row && row.state; };
    Shoe.orderSheet.table = function () { return row && row.key; };
    Shoe.operator.onChange(show);
    if (Shoe.page().order_verbs) {
      Shoe.operator.load();
    }
    byId("sign").addEventListener("click", sign);
    Shoe.handleInitial(handlers);
    Shoe.showPage();
    Shoe.openStream(Shoe.page().live, handlers, function (isLost) {
      lost = isLost;
      show();
    });
  }

  start();
}());
