/*
 * The tile of one table in the pit.
 *
 * createTile(key)    a link to /pit/table/<key> with a summary of the table
 *     .node               <a class="tile"> with data-key, data-fresh (fresh.is), data-severity
 *                         (the highest of the open alerts, 0 for none), data-round, data-shoe,
 *                         data-alerts
 *     .update(row, roomy) shows a row, with cards if roomy; only differences are drawn
 * createBeads(sequence, max)  the last outcomes of "BpPTn…", the newest first, as discs
 */
import { worstSeverity } from "./alerts.js";
import { drawCard, shownCard } from "./card_drawing.js";
import { el, fillOnChange, setAttribute, setChildren, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { pageUrl } from "./staff_page.js";
import { showAge } from "./ticking_age.js";
import { formatNumber, glyph, word } from "./translations.js";

const MAX_BEADS = 24;
const SIDE_OF_LETTER = { P: "player", B: "banker", T: "tie" };

function lastOutcomes(sequence, max) {
  return (sequence || "").split("").filter(letter => SIDE_OF_LETTER[letter]).slice(-max).reverse();
}

export function createBeads(sequence, max) {
  return lastOutcomes(sequence, max).map(letter => {
    const side = SIDE_OF_LETTER[letter];
    return el("b", { class: `bead ${side}`, text: glyph(side) });
  });
}

function outcomesLabel(letters) {
  const last = letters.slice(0, 10).map(letter => word(SIDE_OF_LETTER[letter]));
  return `${word("last_results")}: ${last.join(word("list_comma"))}`;
}

function showBeads(node, row) {
  const letters = lastOutcomes(row.outcomes, MAX_BEADS);
  const key = letters.join("");
  if (node.shoeKey && key.slice(1) === node.shoeKey.slice(0, MAX_BEADS - 1)) {
    // One more round: insert its bead only.
    node.insertBefore(createBeads(row.outcomes, 1)[0], node.firstChild);
    if (node.children.length > MAX_BEADS) {
      node.removeChild(node.lastChild);
    }
    node.shoeKey = key;
  } else {
    fillOnChange(node, key, () => createBeads(row.outcomes, MAX_BEADS));
  }
  setAttribute(node, "aria-label", outcomesLabel(letters));
}

function createTag(name, word) {
  return el("span", { class: `tag ${name}`, text: word });
}

function showTags(node, row) {
  const state = row.state;
  const shoe = state && state.shoe;
  const bad = row.devices.filter(device => device.state !== "connected");
  const staff = row.alerts.some(alert => alert.staff_only);
  const missing = row.staff_alerts_missing && row.fresh.is === "live";
  const key = [
    state && [state.simulated, state.on_hold, state.held.length, state.alarm],
    shoe && [shoe.cut_card, shoe.last_round], row.faults, staff, missing, bad.map(each => each.id)
  ].join();
  fillOnChange(node, key, () => [
    state && state.simulated ? createTag("simulated", word("simulated")) : null,
    staff ? createTag("staff-only", word("alert_staff_only")) : null,
    missing ? createTag("bad", word("tag_staff_missing")) : null,
    state && state.alarm ? createTag("bad", word("tag_alarm")) : null,
    state && state.on_hold ? createTag("wait", word("tag_on_hold")) : null,
    state && state.held.length ? createTag("wait", word("tag_held")) : null,
    shoe && shoe.last_round ? createTag("last", word("tag_last_round"))
      : shoe && shoe.cut_card ? createTag("last", word("cut_card")) : null,
    row.faults ? createTag("bad", word("tag_faults", { count: row.faults })) : null,
    bad.map(device => createTag("bad", device.id))
  ]);
}

function showReaders(node, row) {
  const key = row.devices.map(device => device.id + device.state).join();
  fillOnChange(node, key, () => row.devices.map(device => el("span", {
    class: `reader ${device.state}`,
    "data-device": device.id,
    "data-state": device.state,
    title: `${device.id}: ${format.device(device).text}`
  }, [
    el("i", { class: "lamp", "aria-hidden": "true" }),
    el("span", { class: "reader-name", text: device.id }),
    el("span", { class: "reader-state", text: format.device(device).text })
  ])));
}

function worstAlertOf(row) {
  return row.alerts.slice().sort((one, other) => other.data.severity - one.data.severity)[0];
}

function showStatus(parts, row) {
  const alert = worstAlertOf(row);
  const stale = row.fresh.is === "live" ? "" : word(`fresh_short_${row.fresh.is}`);
  const statusText = row.state ? format.round(row.state) : { text: "", tone: "quiet" };
  const text = alert ? format.kind(alert.data.kind) : stale || statusText.text;
  setText(parts.now, text);
  setAttribute(parts.now, "title", text);
  parts.now.className = "now " + (alert ? "alarmed" : stale ? "stale" : statusText.tone);
  showAge(parts.age, alert ? alert.at : stale ? row.fresh.since : null);
}

function showTotals(parts, row) {
  const round = row.state && row.state.round;
  setText(parts.player, round ? formatNumber(round.player_total) : "");
  setText(parts.banker, round ? formatNumber(round.banker_total) : "");
  setClass(parts.score, "none", !round || !round.cards.length);
  // Beside an alert or a notice, unknown totals take no room.
  setClass(parts.score, "gone", (row.alerts.length > 0 || row.fresh.is !== "live") &&
    !(round && (round.player_total !== null || round.banker_total !== null)));
}

function createSpots(side, round) {
  const letter = side.charAt(0).toUpperCase();
  const cards = round.cards.filter(card => card.slot && card.slot.startsWith(letter));
  return el("span", { class: `hand ${side}` }, cards.map(card =>
    el("span", { class: "spot", "data-slot": card.slot }, drawCard(shownCard(card, round)))));
}

function showHands(node, row) {
  const round = row.state && row.state.round;
  fillOnChange(node, JSON.stringify(round && [round.cards, round.finished]), () =>
    round ? [createSpots("player", round), createSpots("banker", round)] : null);
}

/* Rounds an hour, the time since the last round, and the irregularities of the hour. */
function showFigures(parts, row) {
  const { pace, opened, decided } = row.figures || { pace: null, opened: 0, decided: 0 };
  const last = row.state && row.state.last_result;
  setText(parts.pace, pace === null ? "" : word("figures_pace", { count: pace }));
  setAttribute(parts.pace, "title", pace === null ? null
    : word("figures_pace_label", { count: pace }));
  setText(parts.hour, opened || decided ? word("figures_hour", { opened, decided }) : "");
  setAttribute(parts.hour, "title", word("figures_hour_label", { opened, decided }));
  setText(parts.lastWord, last ? `${word("figures_last")}\u00a0` : "");
  showAge(parts.lastAge, last ? last.at : null);
}

function createParts(key) {
  const parts = {};
  ["name", "where", "tags", "strip", "hands", "now", "age", "player", "banker", "readers", "pace",
    "hour", "lastWord", "lastAge"]
    .forEach(name => { parts[name] = el("span", { class: name }); });
  parts.strip.setAttribute("role", "img");
  parts.player.className = "points player";
  parts.banker.className = "points banker";
  // The shoe is shown if there is room beside name and round, and hidden otherwise.
  parts.round = el("span", { class: "round" });
  parts.shoe = el("span");
  setChildren(parts.where, parts.shoe);
  parts.score = el("span", { class: "score none" }, [parts.player, parts.banker]);
  parts.node = el("a", {
    class: "tile",
    "data-key": key,
    href: pageUrl(`/pit/table/${encodeURIComponent(key)}`)
  }, [
    el("span", { class: "line head" }, [parts.name, parts.where, parts.round, parts.readers]),
    el("span", { class: "line middle" }, [parts.strip, parts.tags]),
    parts.hands,
    el("span", { class: "line figures" },
      [parts.pace, el("span", { class: "last" }, [parts.lastWord, parts.lastAge]), parts.hour]),
    el("span", { class: "line foot" }, [parts.score, parts.now, parts.age])
  ]);
  return parts;
}

function showRound(parts, state) {
  const shoe = state && state.shoe;
  setText(parts.round, shoe ? word("round_short", {
    round: state.round ? state.round.number : state.counts.rounds
  }) : "");
  setText(parts.shoe, shoe ? word("shoe_short", { shoe: shoe.number }) + " ·\u00a0" : "");
}

function setAttributes(node, row) {
  const state = row.state;
  setAttribute(node, "data-fresh", row.fresh.is);
  setAttribute(node, "data-severity", worstSeverity(row.alerts));
  setAttribute(node, "data-alerts", row.alerts.length);
  setAttribute(node, "data-round", state && state.round ? state.round.number : null);
  setAttribute(node, "data-shoe", state && state.shoe ? state.shoe.number : null);
  setClass(node, "grey", row.fresh.is !== "live" || Boolean(state && state.alarm));
}

export function createTile(key) {
  const parts = createParts(key);
  setText(parts.name, key);
  return {
    node: parts.node,
    update(row, roomy) {
      setText(parts.name, row.name || row.table);
      setAttribute(parts.name, "title", row.name || row.table);
      showRound(parts, row.state);
      setAttributes(parts.node, row);
      showTags(parts.tags, row);
      showBeads(parts.strip, row);
      showStatus(parts, row);
      showTotals(parts, row);
      showFigures(parts, row);
      if (roomy) {
        showHands(parts.hands, row);
      }
      showReaders(parts.readers, row);
    }
  };
}
