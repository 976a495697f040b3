/*
 * Text of what the pages of the pit show: kinds, places, cards, rounds, readers and events.
 *
 * Shoe.format.kind(kind), .action(action), .severity(n), .wager(id), .outcome(outcome)
 * Shoe.format.policy(state), .house(state)   the name in the page's language if it comes with the
 *                                  project, else as the table publishes it; else the id
 * Shoe.format.place(slot)          "Player's first card"
 * Shoe.format.card(text)           "9♠"; null and undefined stand for an unread card
 * Shoe.format.alert(alert)         {text, lang}: the sentence of an open irregularity
 * Shoe.format.where(state)         shoe and round, and whether they are simulated
 * Shoe.format.round(state)         {text, tone}: what the table is doing, or the last result;
 *                                  tone is player, banker, tie, wait or quiet
 * Shoe.format.freshness(fresh)     "Offline since 14:05"; "" for a live table
 * Shoe.format.device(device)       {text, good}
 * Shoe.format.reader(status)       state of a reader, as the table reports it
 * Shoe.format.event(envelope)      {text, more, side, severity}: one sentence and its details
 * Shoe.format.marks(data)          details of a result: naturals, pairs, partial
 * Shoe.format.plural(key, n)       the word `key_one`, or `key_many` with {count}
 *
 * Unknown types of events and unknown words are shown by their names.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SILENT_AFTER_MS = 5000;
  var SUIT_SIGNS = { S: "♠", H: "♥", D: "♦", C: "♣" };
  var OUTCOME_WORDS = { player: "player_wins", banker: "banker_wins", tie: "tie_result" };
  var format = {};
  Shoe.format = format;

  function wordOrName(prefix, name) {
    var key = prefix + String(name).replace(/-/g, "_");
    return Shoe.hasWord(key) ? Shoe.word(key) : String(name).replace(/_/g, " ");
  }

  format.kind = function (kind) { return wordOrName("irregularity_", kind); };
  format.action = function (action) { return wordOrName("action_", action); };
  format.severity = function (severity) { return wordOrName("severity_", severity); };
  function wordOrPublished(prefix, id, name) {
    var key = prefix + String(id).replace(/-/g, "_");
    return Shoe.hasWord(key) ? Shoe.word(key) : name || id || Shoe.word("none");
  }

  format.policy = function (state) {
    return wordOrPublished("policy_", state.policy, state.policy_name);
  };
  format.house = function (state) {
    return wordOrPublished("house_", state.house, state.house_name);
  };
  format.wager = function (wager) { return wordOrName("wager_", wager); };
  format.place = function (slot) {
    return slot ? wordOrName("slot_", slot) : Shoe.word("card_no_place");
  };

  format.card = function (card) {
    var text = String(card);
    return /^(10|[2-9AJQK])[SHDC]$/.test(text)
      ? text.slice(0, -1) + SUIT_SIGNS[text.slice(-1)]
      : Shoe.word("card_unread");
  };

  format.alert = function (alert) {
    return Shoe.sentence(alert.data, alert.data.detail);
  };

  format.plural = function (key, count) {
    return count === 1 ? Shoe.word(key + "_one") : Shoe.word(key + "_many", { count: count });
  };

  format.outcome = function (outcome) {
    return Shoe.word(OUTCOME_WORDS[outcome] || "no_result");
  };

  function formatDraw(drawDue) {
    if (drawDue.detail_code === "player_may_draw") {
      return Shoe.word("draw_player_may_draw");
    }
    return wordOrName("draw_",
      drawDue.code === "dealing" ? "dealing_" + drawDue.hand : drawDue.code);
  }

  function formatDue(round) {
    if (!round.draw_due) {
      return Shoe.word("waiting_for_first_card");
    }
    return Shoe.isDrawUnknown(round) ? Shoe.word("draw_card_unread") : formatDraw(round.draw_due);
  }

  function waitText(state, round) {
    if (state.on_hold) {
      return Shoe.word("on_hold");
    }
    if (state.held && round && state.held.indexOf(round.number) >= 0) {
      return Shoe.word("result_held");
    }
    return null;
  }

  function resultText(state, round) {
    var last = state.last_result;
    if (last && last.round === round.number && last.shoe === state.shoe.number) {
      return { text: format.outcome(last.data.outcome), tone: last.data.outcome || "quiet" };
    }
    return { text: formatDue(round), tone: "quiet" };
  }

  format.where = function (state) {
    return [
      state && state.simulated ? Shoe.word("simulated") : "",
      state && state.shoe ? Shoe.word("shoe_round", {
        shoe: state.shoe.number, round: state.round ? state.round.number : state.counts.rounds
      }) : ""
    ].filter(Boolean).join(" · ");
  };

  format.round = function (state) {
    var round = state.round;
    var waiting = waitText(state, round);
    if (waiting) {
      return { text: waiting, tone: "wait" };
    }
    if (!state.shoe) {
      return { text: Shoe.word("waiting_for_shoe"), tone: "quiet" };
    }
    if (round && !round.finished) {
      return { text: formatDue(round), tone: round.draw_due ? round.draw_due.hand : "quiet" };
    }
    if (state.betting === "open") {
      return { text: Shoe.word("place_your_bets"), tone: "quiet" };
    }
    return round ? resultText(state, round)
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
      text: wordOrName("device_", device.state) + (good || !age || age < SILENT_AFTER_MS ? ""
        : ", " + Shoe.word("device_last_heard", { time: Shoe.formatDuration(age) }))
    };
  };

  /* Events: each function returns the sentence, with details, side or severity. */

  function resultValues(data) {
    return {
      outcome: format.outcome(data.outcome),
      player: Shoe.formatNumber(data.player.total),
      banker: Shoe.formatNumber(data.banker.total)
    };
  }

  function resultMarks(data) {
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
  format.marks = resultMarks;

  function formatDealt(data) {
    return data.card
      ? { text: Shoe.word("event_card_dealt", placeValues(data)) }
      : { text: Shoe.word("event_card_dealt_hidden", placeValues(data)) };
  }

  function placeValues(data) {
    return {
      slot: format.place(data.slot),
      card: format.card(data.card),
      before: format.card(data.before),
      after: format.card(data.after)
    };
  }

  function formatFinished(data, round) {
    var values = resultValues(data);
    values.round = round;
    return {
      text: Shoe.word("event_round_finished", values),
      more: resultMarks(data),
      side: data.outcome
    };
  }

  function formatRevised(data, round) {
    var values = data.after ? resultValues(data.after) : { outcome: Shoe.word("no_result") };
    values.round = round;
    return {
      text: Shoe.word("event_result_revised", values),
      more: data.before ? [Shoe.word("event_before", resultValues(data.before))] : [],
      side: data.after && data.after.outcome
    };
  }

  function formatBurned(data) {
    var more = data.remaining ? [Shoe.word("event_burn_remaining", { count: data.remaining })] : [];
    return {
      text: data.card ? Shoe.word("event_card_burned_open", placeValues(data))
        : Shoe.word("event_card_burned"),
      more: more
    };
  }

  function formatIrregularity(data) {
    return {
      text: Shoe.word("event_irregularity", { kind: format.kind(data.kind) }),
      more: [Shoe.sentence(data, data.detail).text],
      severity: data.severity
    };
  }

  function formatRuling(data) {
    return { text: Shoe.word("event_ruling_given",
      { id: data.id, action: format.action(data.action) }) };
  }

  format.reader = function (status) {
    return status.link === "up" ? wordOrName("reader_", status.state)
      : wordOrName("link_", status.link);
  };

  function formatReader(data) {
    return {
      text: Shoe.word("event_reader_status", {
        reader: data.source || "",
        state: format.reader(data)
      })
    };
  }

  var FORMATTERS = {
    card_burned: formatBurned,
    card_dealt: formatDealt,
    draw_due: function (data) { return { text: formatDraw(data) }; },
    irregularity: formatIrregularity,
    reader_status: formatReader,
    result_revised: formatRevised,
    round_finished: formatFinished,
    irregularity_closed: function (data) {
      return { text: Shoe.word("event_irregularity_closed",
        { id: data.id, action: format.action(data.action) }) };
    },
    ruling_given: formatRuling,
    staff_ruling_given: formatRuling,
    round_aborted: function (data, round) {
      return { text: Shoe.word("event_round_aborted",
        { round: round, cause: wordOrName("cause_", data.cause) }) };
    },
    dealer_changed: function (data) {
      return { text: data.dealer === null ? Shoe.word("event_dealer_changed_off")
        : Shoe.word("event_dealer_changed", { dealer: data.dealer }) };
    },
    shoe_passed: function (data) {
      return { text: data.seat === null ? Shoe.word("event_shoe_passed_dealer")
        : Shoe.word("event_shoe_passed", { seat: data.seat }) };
    }
  };

  function formatOther(event, data) {
    var key = "event_" + event.type;
    var values = placeValues(data);
    Object.keys(data).forEach(function (name) {
      if (typeof data[name] === "number" || typeof data[name] === "string") {
        values[name] = values[name] || data[name];
      }
    });
    values.slot = format.place(data.slot);
    values.card = format.card(data.card);
    values.shoe = Shoe.formatNumber(event.shoe);
    values.round = Shoe.formatNumber(event.round);
    return {
      text: Shoe.hasWord(key) ? Shoe.word(key, values) : String(event.type).replace(/_/g, " ")
    };
  }

  format.event = function (event) {
    var data = event.data || {};
    var formatted = FORMATTERS[event.type]
      ? FORMATTERS[event.type](data, Shoe.formatNumber(event.round))
      : formatOther(event, data);
    var more = (formatted.more || []).slice();
    if (data.operator) {
      more.push(Shoe.word("event_by", { operator: data.operator }));
    }
    if (data.reason) {
      more.push(Shoe.word("event_reason", { reason: Shoe.phrase(data.reason).text }));
    }
    return {
      text: formatted.text,
      more: more.filter(Boolean),
      side: formatted.side || null,
      severity: formatted.severity || null
    };
  };
}());
