/*
 * Text of what the pages of the pit show: kinds, places, cards, rounds, readers and events.
 *
 * kind(name), action(name), severity(number), wager(id), outcome(name)
 * policy(state), house(state)   the name in the page's language if it comes with the project, else
 *                      as the table publishes it; else the id
 * place(slot)          "Player's first card"
 * card(text)           "9♠"; null and undefined stand for an unread card
 * alert(alert)         {text, lang}: the sentence of an open irregularity
 * where(state)         shoe and round, and whether they are simulated
 * round(state)         {text, tone}: what the table is doing, or the last result;
 *                      tone is player, banker, tie, wait or quiet
 * freshness(fresh)     "Offline since 14:05"; "" for a live table
 * device(device)       {text, good}
 * reader(status)       state of a reader, as the table reports it
 * event(envelope)      {text, more, side, severity}: one sentence and its details
 * marks(data)          details of a result: naturals, pairs, partial
 * plural(key, n)       the word `key_one`, or `key_many` with {count}
 *
 * Unknown types of events and unknown words are shown by their names.
 */
import { isDrawUnknown } from "./card_drawing.js";
import { formatDuration } from "./ticking_age.js";
import {
  cardName, formatClock, formatNumber, hasWord, phrase, sentence, word
} from "./translations.js";

const SILENT_AFTER_MS = 5000;
const OUTCOME_WORDS = { player: "player_wins", banker: "banker_wins", tie: "tie_result" };

function wordOrName(prefix, name) {
  const key = prefix + String(name).replace(/-/g, "_");
  return hasWord(key) ? word(key) : String(name).replace(/_/g, " ");
}

function wordOrPublished(prefix, id, name) {
  const key = prefix + String(id).replace(/-/g, "_");
  return hasWord(key) ? word(key) : name || id || word("none");
}

export const kind = name => wordOrName("irregularity_", name);
export const action = name => wordOrName("action_", name);
export const severity = number => wordOrName("severity_", number);
export const wager = id => wordOrName("wager_", id);
export const outcome = name => word(OUTCOME_WORDS[name] || "no_result");
export const policy = state => wordOrPublished("policy_", state.policy, state.policy_name);
export const house = state => wordOrPublished("house_", state.house, state.house_name);
export const place = slot => (slot ? wordOrName("slot_", slot) : word("card_no_place"));
export const alert = ({ data }) => sentence(data, data.detail);

export function card(text) {
  const name = cardName(text);
  return name === "?" ? word("card_unread") : name;
}

export function plural(key, count) {
  return count === 1 ? word(`${key}_one`) : word(`${key}_many`, { count });
}

function formatDraw(drawDue) {
  if (drawDue.detail_code === "player_may_draw") {
    return word("draw_player_may_draw");
  }
  return wordOrName("draw_",
    drawDue.code === "dealing" ? `dealing_${drawDue.hand}` : drawDue.code);
}

function formatDue(round) {
  if (!round.draw_due) {
    return word("waiting_for_first_card");
  }
  return isDrawUnknown(round) ? word("draw_card_unread") : formatDraw(round.draw_due);
}

function waitText(state, round) {
  if (state.on_hold) {
    return word("on_hold");
  }
  if (state.held && round && state.held.includes(round.number)) {
    return word("result_held");
  }
  return null;
}

function resultText(state, round) {
  const last = state.last_result;
  if (last && last.round === round.number && last.shoe === state.shoe.number) {
    return { text: outcome(last.data.outcome), tone: last.data.outcome || "quiet" };
  }
  return { text: formatDue(round), tone: "quiet" };
}

export function where(state) {
  return [
    state && state.simulated ? word("simulated") : "",
    state && state.shoe ? word("shoe_round", {
      shoe: state.shoe.number, round: state.round ? state.round.number : state.counts.rounds
    }) : ""
  ].filter(Boolean).join(" · ");
}

export function round(state) {
  const round = state.round;
  const waiting = waitText(state, round);
  if (waiting) {
    return { text: waiting, tone: "wait" };
  }
  if (!state.shoe) {
    return { text: word("waiting_for_shoe"), tone: "quiet" };
  }
  if (round && !round.finished) {
    return { text: formatDue(round), tone: round.draw_due ? round.draw_due.hand : "quiet" };
  }
  if (state.betting === "open") {
    return { text: word("place_your_bets"), tone: "quiet" };
  }
  return round ? resultText(state, round)
    : { text: word("waiting_for_first_card"), tone: "quiet" };
}

export function freshness(fresh) {
  if (fresh.is === "live") {
    return "";
  }
  return word(`fresh_${fresh.is}`) +
    (fresh.since ? ` ${word("since", { time: formatClock(fresh.since) })}` : "");
}

export function device({ state, frame_age: age }) {
  const good = state === "connected";
  return {
    good,
    text: wordOrName("device_", state) + (good || !age || age < SILENT_AFTER_MS ? ""
      : `, ${word("device_last_heard", { time: formatDuration(age) })}`)
  };
}

/* Events: each function returns the sentence, with details, side or severity. */

function resultValues(data) {
  return {
    outcome: outcome(data.outcome),
    player: formatNumber(data.player.total),
    banker: formatNumber(data.banker.total)
  };
}

export function marks(data) {
  const found = [];
  if (data.player.natural || data.banker.natural) { found.push(word("natural")); }
  if (data.player.pair) { found.push(word("player_pair")); }
  if (data.banker.pair) { found.push(word("banker_pair")); }
  if (data.kind === "free" || data.kind === "dummy") {
    found.push(word(`${data.kind}_hand`));
  }
  if (data.partial) { found.push(word("partial_round")); }
  return found;
}

function formatDealt(data) {
  return data.card
    ? { text: word("event_card_dealt", placeValues(data)) }
    : { text: word("event_card_dealt_hidden", placeValues(data)) };
}

function placeValues(data) {
  return {
    slot: place(data.slot),
    card: card(data.card),
    before: card(data.before),
    after: card(data.after)
  };
}

function formatFinished(data, round) {
  const values = resultValues(data);
  values.round = round;
  return {
    text: word("event_round_finished", values),
    more: marks(data),
    side: data.outcome
  };
}

function formatRevised(data, round) {
  const values = data.after ? resultValues(data.after) : { outcome: word("no_result") };
  values.round = round;
  return {
    text: word("event_result_revised", values),
    more: data.before ? [word("event_before", resultValues(data.before))] : [],
    side: data.after && data.after.outcome
  };
}

function formatBurned(data) {
  const more = data.remaining ? [word("event_burn_remaining", { count: data.remaining })] : [];
  return {
    text: data.card ? word("event_card_burned_open", placeValues(data))
      : word("event_card_burned"),
    more
  };
}

function formatIrregularity(data) {
  return {
    text: word("event_irregularity", { kind: kind(data.kind) }),
    more: [sentence(data, data.detail).text],
    severity: data.severity
  };
}

function formatRuling(data) {
  return { text: word("event_ruling_given", { id: data.id, action: action(data.action) }) };
}

export function reader(status) {
  return status.link === "up" ? wordOrName("reader_", status.state)
    : wordOrName("link_", status.link);
}

function formatReader(data) {
  return {
    text: word("event_reader_status", {
      reader: data.source || "",
      state: reader(data)
    })
  };
}

const FORMATTERS = {
  card_burned: formatBurned,
  card_dealt: formatDealt,
  draw_due(data) { return { text: formatDraw(data) }; },
  irregularity: formatIrregularity,
  reader_status: formatReader,
  result_revised: formatRevised,
  round_finished: formatFinished,
  irregularity_closed(data) {
    return { text: word("event_irregularity_closed",
      { id: data.id, action: action(data.action) }) };
  },
  ruling_given: formatRuling,
  staff_ruling_given: formatRuling,
  round_aborted(data, round) {
    return { text: word("event_round_aborted",
      { round, cause: wordOrName("cause_", data.cause) }) };
  },
  dealer_changed(data) {
    return { text: data.dealer === null ? word("event_dealer_changed_off")
      : word("event_dealer_changed", { dealer: data.dealer }) };
  },
  shoe_passed(data) {
    return { text: data.seat === null ? word("event_shoe_passed_dealer")
      : word("event_shoe_passed", { seat: data.seat }) };
  }
};

function formatOther(event, data) {
  const key = `event_${event.type}`;
  const values = placeValues(data);
  Object.keys(data).forEach(name => {
    if (typeof data[name] === "number" || typeof data[name] === "string") {
      values[name] = values[name] || data[name];
    }
  });
  values.slot = place(data.slot);
  values.card = card(data.card);
  values.shoe = formatNumber(event.shoe);
  values.round = formatNumber(event.round);
  return { text: hasWord(key) ? word(key, values) : String(event.type).replace(/_/g, " ") };
}

export function event(event) {
  const data = event.data || {};
  const formatted = FORMATTERS[event.type]
    ? FORMATTERS[event.type](data, formatNumber(event.round))
    : formatOther(event, data);
  const more = (formatted.more || []).slice();
  if (data.operator) {
    more.push(word("event_by", { operator: data.operator }));
  }
  if (data.reason) {
    more.push(word("event_reason", { reason: phrase(data.reason).text }));
  }
  return {
    text: formatted.text,
    more: more.filter(Boolean),
    side: formatted.side || null,
    severity: formatted.severity || null
  };
}
