/*
 * What the pit reads, in words: kinds, places, cards, rounds, readers, and every event.
 *
 * Shoe.format.kind(kind), .action(action), .severity(n)
 * Shoe.format.policy(state), .house(state)   their names: in the page's language where they come with
 *                               the project, else as the table publishes them; the id where it
 *                               publishes none
 * Shoe.format.place(slot)         "Player's first card"
 * Shoe.format.card(text)         "9♠"; null or undefined is a card that nobody read
 * Shoe.format.alert(alert)        {text, lang}: the sentence of an open irregularity
 * Shoe.format.round(state)        {text, tone}: what the table is doing now, or what came last;
 *                               tone is player, banker, tie, wait, quiet
 * Shoe.format.freshness(fresh)        "Offline since 14:05"; "" for a live one
 * Shoe.format.device(device)      {text, good}
 * Shoe.format.reader(status)      what the table may expect of it
 * Shoe.format.event(envelope)     {text, more, side, severity}: one sentence, and what follows it
 * Shoe.format.plural(key, n)        the word `key_one`, or `key_many` with {count}
 *
 * A type of event or a word that this page does not know is told by its name, never left out.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SILENT = 5000;
  var SUITS = { S: "♠", H: "♥", D: "♦", C: "♣" };
  var WINNERS = { player: "player_wins", banker: "banker_wins", tie: "tie_result" };
  var format = {};
  Shoe.format = format;

  function named(prefix, name) {
    var key = prefix + String(name).replace(/-/g, "_");
    return Shoe.hasWord(key) ? Shoe.word(key) : String(name).replace(/_/g, " ");
  }

  format.kind = function (kind) { return named("irregularity_", kind); };
  format.action = function (action) { return named("action_", action); };
  format.severity = function (severity) { return named("severity_", severity); };
  function translated(prefix, id, name) {
    var key = prefix + String(id).replace(/-/g, "_");
    return Shoe.hasWord(key) ? Shoe.word(key) : name || id || Shoe.word("none");
  }

  format.policy = function (state) {
    return translated("policy_", state.policy, state.policy_name);
  };
  format.house = function (state) {
    return translated("house_", state.house, state.house_name);
  };
  format.wager = function (wager) { return named("wager_", wager); };
  format.place = function (slot) { return slot ? named("slot_", slot) : Shoe.word("card_no_place"); };

  format.card = function (card) {
    var text = String(card);
    return /^(10|[2-9AJQK])[SHDC]$/.test(text)
      ? text.slice(0, -1) + SUITS[text.slice(-1)]
      : Shoe.word("card_unread");
  };

  format.alert = function (alert) {
    return Shoe.sentence(alert.data, alert.data.detail);
  };

  format.plural = function (key, count) {
    return count === 1 ? Shoe.word(key + "_one") : Shoe.word(key + "_many", { count: count });
  };

  format.outcome = function (outcome) {
    return Shoe.word(WINNERS[outcome] || "no_result");
  };

  function draw(asked) {
    return named("draw_", asked.code === "dealing" ? "dealing_" + asked.hand : asked.code);
  }

  function due(round) {
    if (!round.draw_due) {
      return Shoe.word("waiting_for_first_card");
    }
    return Shoe.isDrawUnknown(round) ? Shoe.word("draw_card_unread") : draw(round.draw_due);
  }

  function waits(state, round) {
    if (state.on_hold) {
      return Shoe.word("on_hold");
    }
    if (state.held && round && state.held.indexOf(round.number) >= 0) {
      return Shoe.word("result_held");
    }
    return null;
  }

  function ended(state, round) {
    var last = state.last_result;
    if (last && last.round === round.number && last.shoe === state.shoe.number) {
      return { text: format.outcome(last.data.outcome), tone: last.data.outcome || "quiet" };
    }
    return { text: due(round), tone: "quiet" };
  }

  format.round = function (state) {
    var round = state.round;
    var waiting = waits(state, round);
    if (waiting) {
      return { text: waiting, tone: "wait" };
    }
    if (!state.shoe) {
      return { text: Shoe.word("waiting_for_shoe"), tone: "quiet" };
    }
    if (round && !round.finished) {
      return { text: due(round), tone: round.draw_due ? round.draw_due.hand : "quiet" };
    }
    if (state.betting === "open") {
      return { text: Shoe.word("place_your_bets"), tone: "quiet" };
    }
    return round ? ended(state, round)
      : { text: Shoe.word("waiting_for_first_card"), tone: "quiet" };
  };

  format.freshness = function (fresh) {
    if (fresh.is === "live") {
      return "";
    }
    return Shoe.word("fresh_" + fresh.is) +
      (fresh.since ? " " + Shoe.word("since", { time: Shoe.formatClock(fresh.since) }) : "");
  };

  format.device = function (device) {
    var good = device.state === "connected";
    var age = device.frame_age;
    return {
      good: good,
      text: named("device_", device.state) + (good || !age || age < SILENT ? ""
        : ", " + Shoe.word("device_last_heard", { time: Shoe.formatDuration(age) }))
    };
  };

  /* Events. Each gives its sentence, or an object with more. */

  function totals(data) {
    return {
      outcome: format.outcome(data.outcome),
      player: Shoe.formatNumber(data.player.total),
      banker: Shoe.formatNumber(data.banker.total)
    };
  }

  function marks(data) {
    var found = [];
    if (data.player.natural || data.banker.natural) { found.push(Shoe.word("natural")); }
    if (data.player.pair) { found.push(Shoe.word("player_pair")); }
    if (data.banker.pair) { found.push(Shoe.word("banker_pair")); }
    if (data.kind === "free" || data.kind === "dummy") {
      found.push(Shoe.word(data.kind + "_hand"));
    }
    if (data.partial) { found.push(Shoe.word("partial_round")); }
    return found;
  }
  format.marks = marks;

  function dealt(data) {
    return data.card
      ? { text: Shoe.word("event_card_dealt", place(data)) }
      : { text: Shoe.word("event_card_dealt_hidden", place(data)) };
  }

  function place(data) {
    return {
      slot: format.place(data.slot),
      card: format.card(data.card),
      before: format.card(data.before),
      after: format.card(data.after)
    };
  }

  function finished(data, round) {
    var values = totals(data);
    values.round = round;
    return {
      text: Shoe.word("event_round_finished", values),
      more: marks(data),
      side: data.outcome
    };
  }

  function revised(data, round) {
    var values = data.after ? totals(data.after) : { outcome: Shoe.word("no_result") };
    values.round = round;
    return {
      text: Shoe.word("event_result_revised", values),
      more: data.before ? [Shoe.word("event_before", totals(data.before))] : [],
      side: data.after && data.after.outcome
    };
  }

  function burned(data) {
    var more = data.remaining ? [Shoe.word("event_burn_remaining", { count: data.remaining })] : [];
    return {
      text: data.card ? Shoe.word("event_card_burned_open", place(data))
        : Shoe.word("event_card_burned"),
      more: more
    };
  }

  function irregular(data) {
    return {
      text: Shoe.word("event_irregularity", { kind: format.kind(data.kind) }),
      more: [Shoe.sentence(data, data.detail).text],
      severity: data.severity
    };
  }

  format.reader = function (status) {
    return status.link === "up" ? named("reader_", status.state) : named("link_", status.link);
  };

  function reader(data) {
    return {
      text: Shoe.word("event_reader_status", {
        reader: data.source || "",
        state: format.reader(data)
      })
    };
  }

  var SENTENCES = {
    card_burned: burned,
    card_dealt: dealt,
    draw_due: function (data) { return { text: draw(data) }; },
    irregularity: irregular,
    reader_status: reader,
    result_revised: revised,
    round_finished: finished,
    irregularity_closed: function (data) {
      return { text: Shoe.word("event_irregularity_closed",
        { id: data.id, action: format.action(data.action) }) };
    },
    round_aborted: function (data, round) {
      return { text: Shoe.word("event_round_aborted",
        { round: round, cause: named("cause_", data.cause) }) };
    },
    shoe_passed: function (data) {
      return { text: data.seat === null ? Shoe.word("event_shoe_passed_dealer")
        : Shoe.word("event_shoe_passed", { seat: data.seat }) };
    }
  };

  function plain(event, data) {
    var key = "event_" + event.type;
    var values = place(data);
    Object.keys(data).forEach(function (name) {
      if (typeof data[name] === "number" || typeof data[name] === "string") {
        values[name] = values[name] || data[name];
      }
    });
    values.slot = format.place(data.slot);
    values.card = format.card(data.card);
    values.shoe = Shoe.formatNumber(event.shoe);
    values.round = Shoe.formatNumber(event.round);
    return { text: Shoe.hasWord(key) ? Shoe.word(key, values) : String(event.type).replace(/_/g, " ") };
  }

  format.event = function (event) {
    var data = event.data || {};
    var said = SENTENCES[event.type]
      ? SENTENCES[event.type](data, Shoe.formatNumber(event.round))
      : plain(event, data);
    var more = (said.more || []).slice();
    if (data.operator) {
      more.push(Shoe.word("event_by", { operator: data.operator }));
    }
    if (data.reason) {
      more.push(Shoe.word("event_reason", { reason: Shoe.phrase(data.reason).text }));
    }
    return {
      text: said.text,
      more: more.filter(Boolean),
      side: said.side || null,
      severity: said.severity || null
    };
  };
}());
