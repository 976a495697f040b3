/*
 * Status of the board, between the hands: card due, result, or what the table waits for.
 *
 * drawStatus(state, notice)   draws the status and marks the winning hand
 *     notice: {loud: true for some seconds after a result, revised: seq of a result that
 *              replaced another one}
 *   returns {say, text}: the kind of status, and the sentence for screen readers ("" for none)
 */
import { isDrawUnknown } from "./card_drawing.js";
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { textSize } from "./header.js";
import { formatNumber, hasWord, word } from "./translations.js";

const SIDES = ["player", "banker"];

function resultOfShoe(state) {
  const last = state.last_result;
  return last && state.shoe && last.shoe === state.shoe.number ? last : null;
}

function outcomeWord(outcome) {
  return word({ player: "player_wins", banker: "banker_wins", tie: "tie_result" }[outcome] ||
    "no_result");
}

function hasOpenResult(state) {
  const last = resultOfShoe(state);
  return last && (!state.round || (state.round.finished && state.round.number === last.round));
}

function isDealing(state) {
  return Boolean(state.round) && !state.round.finished;
}

/* A held result; the next round may be under way meanwhile. */
function isWaiting(state) {
  return state.held.length > 0 && (!isDealing(state) || state.held.includes(state.round.number));
}

/* The status to show: {say, main, more, wait}. */
function currentStatus(state, loud) {
  const round = state.round;
  if (state.on_hold) {
    return { say: "hold", main: word("on_hold"), more: word("supervisor_decides"), wait: true };
  }
  if (isWaiting(state)) {
    return {
      say: "held", main: word("supervisor_decides"), more: word("result_held"), wait: true
    };
  }
  if (isDealing(state) && round.draw_due) {
    return { say: "draw", main: drawText(round), more: "" };
  }
  if (hasOpenResult(state) && (round || loud)) {
    return { say: "result", main: outcomeWord(state.last_result.data.outcome), more: "" };
  }
  if (round && round.finished) {
    return {
      say: "complete", main: word(round.partial ? "no_result" : "draw_complete"), more: ""
    };
  }
  return statusBetweenRounds(state);
}

function statusBetweenRounds(state) {
  const more = state.shoe && state.shoe.last_round ? word("last_round_next") : "";
  if (!state.shoe) {
    return { say: "shoe_change", main: word("shoe_change"), more: word("waiting_for_shoe") };
  }
  if (state.betting === "open") {
    return { say: "betting_open", main: word("place_your_bets"), more };
  }
  if (state.betting === "closed") {
    return { say: "betting_closed", main: word("no_more_bets"), more };
  }
  if (!state.counts || !state.counts.rounds) {
    return { say: "first_round", main: word("new_shoe"), more: word("waiting_for_first_round") };
  }
  if (more) {
    return { say: "last_round", main: word("last_round"), more };
  }
  return { say: "first_card", main: word("waiting_for_first_card"), more: "" };
}

function drawText(round) {
  const due = round.draw_due;
  const key = "draw_" + due.code + (due.code === "dealing" ? `_${due.hand}` : "");
  if (isDrawUnknown(round)) {
    return word("draw_card_unread");
  }
  return hasWord(key) ? word(key) : due.text;
}

function wagerName(id) {
  return hasWord(`wager_${id}`) ? word(`wager_${id}`) : id.replace(/_/g, " ");
}

function createChip(kind, text, odds, name) {
  return el("li", { "data-chip": kind, class: name || null }, [
    text, odds ? el("b", { text: ` ${odds}` }) : null
  ]);
}

function wonWagers(last) {
  return last.data.wagers.filter(wager => wager.result === "win");
}

function naturalTotal(last) {
  const best = SIDES.filter(side => last.data[side].natural).map(side => last.data[side].total);
  return best.length ? Math.max(...best) : null;
}

function resultNotes(last, revised) {
  const notes = [];
  if (revised === last.seq) {
    notes.push(["revised", "result_revised"]);
  }
  if (last.entered) {
    notes.push(["entered", "result_entered"]);
  }
  if (last.data.kind === "free" || last.data.kind === "dummy") {
    notes.push([last.data.kind, `${last.data.kind}_hand`]);
  }
  if (last.data.partial) {
    notes.push(["partial", "partial_round"]);
  }
  return notes.map(createNote);
}

function createNote(kind) {
  return createChip(kind[0], word(kind[1]), null, "note");
}

/* Notes during a round: it is partial, or an earlier result is held. */
function roundNotes(state) {
  return [
    state.round && state.round.partial ? createNote(["partial", "partial_round"]) : null,
    state.held.length && !isWaiting(state) ? createNote(["held", "result_held"]) : null
  ];
}

function resultChips(last, revised) {
  const wagers = wonWagers(last);
  const paid = {};
  const natural = naturalTotal(last);
  wagers.forEach(wager => {
    paid[wager.wager] = true;
  });
  return [
    natural === null ? null : createChip("natural", word("natural_total", { total: natural })),
    SIDES.map(side => {
      const kind = `${side}_pair`;
      return last.data[side].pair && !paid[kind] ? createChip(kind, word(kind)) : null;
    }),
    wagers.map(wager => createChip(wager.wager, wagerName(wager.wager), wager.pays,
      SIDES.includes(wager.wager) ? "main" : null)),
    resultNotes(last, revised)
  ];
}

function scoreText(last) {
  return SIDES.map(side => `${word(side)} ${formatNumber(last.data[side].total)}`).join("  ·  ");
}

function previousResult(state) {
  const last = resultOfShoe(state);
  return last && !state.held.includes(last.round)
    ? `${word("round_number", { number: last.round })}: ${outcomeWord(last.data.outcome)}` : "";
}

function markWinner(result) {
  SIDES.forEach(side => {
    const won = Boolean(result) && result.data.outcome === side;
    fillOnChange(byId(side).querySelector("h2"), String(won), () =>
      el("span", { text: won ? outcomeWord(side) : word(side) }));
    setClass(byId(side), "won", won);
    setClass(byId(side), "tied", Boolean(result) && result.data.outcome === "tie");
    setClass(byId(side), "lost", Boolean(result) && result.data.outcome === otherSide(side));
  });
}

function otherSide(side) {
  return side === "player" ? "banker" : "player";
}

/* Created again on any difference, so that nothing in it moves. */
function createLines(status, result, chips) {
  const chipList = el("ul", { id: "chips" }, chips);
  setClass(byId("status"), "busy", chipList.children.length > 2);
  setClass(chipList, "many", chipList.children.length > 4);
  return [
    result ? el("p", { id: "kicker", text: scoreText(result) }) : null,
    el("p", { id: "say", text: status.main, "data-size": textSize(status.main) }),
    status.more ? el("p", { id: "more", text: status.more }) : null,
    chipList
  ];
}

function applyClasses(status, result, loud) {
  const node = byId("centre");
  setAttribute(node, "data-say", status.say);
  setAttribute(node, "data-outcome", result ? result.data.outcome : null);
  setClass(node, "loud", loud);
  setClass(node, "calm", Boolean(result) && !loud);
  setClass(node, "wait", Boolean(status.wait));
  setClass(document.body, "loud-result", loud);
  markWinner(result);
}

export function drawStatus(state, notice) {
  const status = currentStatus(state, notice.loud);
  const result = status.say === "result" ? state.last_result : null;
  const details = result || [state.round && state.round.partial, state.held];
  const shown = [status, details, notice.revised];
  applyClasses(status, result, Boolean(result) && notice.loud);
  fillOnChange(byId("status"), JSON.stringify(shown), () => createLines(status, result,
    result ? resultChips(result, notice.revised) : roundNotes(state)));
  setText(byId("before"), result ? "" : previousResult(state));
  return {
    say: status.say,
    text: result ? `${previousResult(state)}. ${scoreText(result)}`
      : status.wait ? `${status.main}. ${status.more}` : ""
  };
}
