/*
 * Rows of the log: irregularities and decisions, and rounds.
 *
 * entryTable(rows)   head and body of a table of irregularities and decisions
 * roundTable(rows)   head and body of a table of rounds
 * setNames(tables)   names of tables: [{"key", "name"}]
 * kind(kind)         name of an irregularity's kind, or of a decision
 * marks(marks)       marks of a round
 * outcome(round)     the outcome with its side
 * roundUrl(row)      address of the page of a row's round; null without a round
 *
 * Every row is a <tr> with data-table, data-round and, of an entry, data-kind, data-severity and
 * data-open. Every cell has data-title, the head of its column, for narrow pages.
 */
import { el, sentenceElement } from "./dom.js";
import * as format from "./format.js";
import { pageUrl } from "./staff_page.js";
import { formatDuration } from "./ticking_age.js";
import { cardName, formatNumber, hasWord, phrase, sentence, word } from "./translations.js";

const names = {};

export function setNames(tables) {
  (tables || []).forEach(table => { names[table.key] = table.name; });
}

function tableName(key) {
  return names[key] || key.slice(key.indexOf(".") + 1);
}

export function kind(name) {
  return hasWord(`irregularity_${name}`) ? format.kind(name) : word(`log_kind_${name}`);
}

export function roundUrl(row) {
  return row.round === null || row.shoe === null ? null : pageUrl(
    `/pit/round/${encodeURIComponent(row.table)}/${row.shoe}/${row.round}`);
}

function timeCell(text) {
  return el("time", { datetime: text.replace(" ", "T") }, [
    el("span", { class: "day", text: text.slice(0, 10) }), " ",
    el("b", { text: text.slice(11) })
  ]);
}

function placeCell(row) {
  const url = roundUrl(row);
  const text = row.shoe === null ? "" : row.round === null
    ? word("shoe_number", { number: row.shoe })
    : word("shoe_round", { shoe: row.shoe, round: row.round });
  return [
    el("b", { class: "table-name", text: tableName(row.table) }),
    text ? el(url ? "a" : "span", { class: "place", href: url, text }) : null
  ];
}

/* Irregularities and decisions. */

function detail(row) {
  const data = row.data || {};
  const about = [];
  if (data.slot) { about.push(format.place(data.slot)); }
  if (data.card) { about.push(format.card(data.card)); }
  if (row.kind === "card_corrected") {
    about.push(`${format.card(data.before)} → ${format.card(data.after)}`);
  }
  return [
    data.detail ? sentenceElement("span", "detail", sentence(data, data.detail)) : null,
    about.length ? el("span", { class: "about", text: about.join(" · ") }) : null
  ];
}

function kindCell(row) {
  return [
    el("span", { class: "kind-head" }, [
      row.severity ? el("b", {
        class: "grade",
        "data-severity": row.severity,
        title: format.severity(row.severity),
        text: row.severity
      }) : el("b", { class: "grade none", "aria-hidden": "true", text: "–" }),
      el("b", { class: "kind", text: kind(row.kind) })
    ]),
    detail(row)
  ];
}

function ruleText(row) {
  return row.authority ? [row.authority, row.section].filter(Boolean)
    .map(each => phrase(each).text).join(word("cite_comma")) : null;
}

function decisionCell(row) {
  const reason = row.reason ? phrase(row.reason) : null;
  const rule = ruleText(row);
  if (row.closed === null) {
    return el("span", { class: "tag wait", text: word("log_open") });
  }
  return [
    row.action ? el("b", { class: "action", text: format.action(row.action) }) : null,
    row.seconds === null ? null : el("span", {
      class: "took",
      text: word("log_after", { time: formatDuration(row.seconds * 1000) })
    }),
    rule ? el("span", { class: "rule" }, [
      rule,
      row.verified === false ? el("span", {
        class: "unverified",
        text: ` ${word("proposal_not_verified")}`
      }) : null
    ]) : null,
    reason ? el("span", { class: "reason", lang: reason.lang, text: `“${reason.text}”` }) : null
  ];
}

function personCell(row) {
  return [
    row.closed === null ? null : el("b", {
      class: "operator",
      text: row.operator || word("log_equipment")
    }),
    row.dealer ? el("span", {
      class: "dealer",
      text: word("event_dealer_changed", { dealer: row.dealer })
    }) : null
  ];
}

/* Rounds. */

/* The outcome says already that a round is void or aborted. */
export function marks(all) {
  return all.filter(mark => mark !== "void" && mark !== "aborted").map(mark =>
    el("span", { class: `mark ${mark}`, text: word(`log_mark_${mark}`) }));
}

export function outcome(row) {
  const text = row.outcome ? format.outcome(row.outcome)
    : row.marks.includes("void") ? word("log_mark_void")
      : row.marks.includes("aborted") ? word("log_mark_aborted")
        : word(row.ended ? "no_result" : "log_running");
  return el("b", { class: "outcome-word " + (row.outcome || "none"), text });
}

function handCell(side) {
  return row => el("span", { class: "small-hand" }, [
    el("b", { class: `points ${side}`,
      text: formatNumber(row[`${side}_total`]) }),
    row[side].map(card => el("span", {
      class: "small-card" + (/[HD]$/.test(card) ? " red" : ""),
      text: card === "?" ? "?" : cardName(card)
    }))
  ]);
}

function marksCell(row) {
  return marks(row.marks);
}

/* Tables. */

function table(columns, list, attributes) {
  return [
    el("thead", {}, el("tr", {}, columns.map(column =>
      el("th", { scope: "col", class: column[0], text: word(column[1]) })))),
    el("tbody", {}, list.map(row => el("tr", attributes(row), columns.map(column =>
      el("td", { class: column[0], "data-title": word(column[1]) }, column[2](row))))))
  ];
}

export function entryTable(list) {
  return table([
    ["at", "time", row => timeCell(row.time)],
    ["where", "table", placeCell],
    ["what", "log_kind", kindCell],
    ["decision", "log_decision", decisionCell],
    ["who", "log_operator", personCell]
  ], list, row => ({
    "data-table": row.table,
    "data-round": row.round,
    "data-kind": row.kind,
    "data-severity": row.severity,
    "data-open": String(row.closed === null)
  }));
}

export function roundTable(list) {
  return table([
    ["at", "time", row => timeCell(row.time)],
    ["where", "table", placeCell],
    ["hand", "player", handCell("player")],
    ["hand", "banker", handCell("banker")],
    ["result", "result", outcome],
    ["marks", "marks", marksCell]
  ], list, row => ({ "data-table": row.table, "data-round": row.round }));
}
