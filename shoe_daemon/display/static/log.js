/*
 * The log of the pit: searches for irregularities, decisions and rounds.
 *
 * Document `log`: {"enabled", "view", "values", "errors", "kinds", "marks", "tables", "operators",
 * "dealers", "rows", "next", "incomplete", "state", "failed", "zone"}. The address is the search,
 * so it can be kept as a bookmark. There is no stream.
 *
 * For tests: body data-view, data-rows, data-failed; #fields [name]; #rows tbody > tr, see
 * log_rows.js; #notices > p with data-notice; #pages > a; #exports > a with data-format
 */
import { byId, el, setAttribute, setChildren, setClass, setText } from "./dom.js";
import { handleInitial } from "./event_stream.js";
import * as format from "./format.js";
import * as logRows from "./log_rows.js";
import { fillWords, showPage } from "./staff_page.js";
import { word } from "./translations.js";

let log = null;
const VIEWS = { irregularities: "log_irregularities", rounds: "log_rounds" };
const FIELDS = {
  irregularities: ["table", "shoe", "round", "from", "to", "kind", "severity", "operator",
    "dealer", "open"],
  rounds: ["table", "shoe", "round", "from", "to", "outcome", "mark", "cards"]
};
const LABELS = {
  table: "table", shoe: "shoe", round: "round", from: "log_from", to: "log_to",
  kind: "log_kind", severity: "severity", operator: "log_operator", dealer: "log_dealer",
  open: "log_open_only", outcome: "result", mark: "log_mark", cards: "cards"
};

/* Addresses. */

function keptParameters() {
  return (window.location.search.match(/(?:lang|glyphs)=[a-z-]+/g) || []);
}

function urlOf(values, more) {
  const parts = keptParameters();
  Object.keys(values).concat(Object.keys(more || {})).forEach(name => {
    const value = more && more[name] !== undefined ? more[name] : values[name];
    if (value && !parts.some(part => part.indexOf(`${name}=`) === 0)) {
      parts.push(`${name}=${encodeURIComponent(value)}`);
    }
  });
  return "/pit/log" + (parts.length ? `?${parts.join("&")}` : "");
}

function values() {
  return { view: log.view === "irregularities" ? "" : log.view, ...log.values };
}

/* Fields. */

function option(value, text, chosen) {
  return el("option", { value, text, selected: value === chosen ? "" : null });
}

function select(name, choices) {
  return el("select", { name, id: `field-${name}` },
    [option("", word("log_any"), log.values[name] || "")].concat(
      choices.map(choice => option(choice[0], choice[1], log.values[name]))));
}

function input(name, attributes) {
  return el("input", { name, id: `field-${name}`, value: log.values[name] || "",
    autocomplete: "off", spellcheck: "false", maxlength: 80, ...attributes });
}

function nameInput(name, known) {
  return [
    input(name, { list: `known-${name}` }),
    el("datalist", { id: `known-${name}` }, known.map(each => el("option", { value: each })))
  ];
}

function tableChoices() {
  const found = (log.tables || []).map(table => [table.key, table.name]);
  const chosen = log.values.table;
  if (chosen && !found.some(each => each[0] === chosen)) {
    found.push([chosen, chosen]);
  }
  return found;
}

const CONTROLS = {
  table() { return select("table", tableChoices()); },
  shoe() { return input("shoe", { inputmode: "numeric", maxlength: 7 }); },
  round() { return input("round", { inputmode: "numeric", maxlength: 7 }); },
  from() { return input("from", { type: "datetime-local", step: 1 }); },
  to() { return input("to", { type: "datetime-local", step: 1 }); },
  kind() {
    return select("kind", log.kinds.map(kind => [kind, logRows.kind(kind)])
      .sort((one, other) => one[1].localeCompare(other[1])));
  },
  severity() {
    return select("severity", ["1", "2", "3", "4", "5"].map(each =>
      [each, `${each} – ${format.severity(each)}`]));
  },
  operator() { return nameInput("operator", log.operators || []); },
  dealer() { return nameInput("dealer", log.dealers || []); },
  open() {
    return el("input", { type: "checkbox", name: "open", id: "field-open", value: "1",
      checked: log.values.open ? "" : null });
  },
  outcome() {
    return select("outcome", ["player", "banker", "tie"].map(outcome =>
      [outcome, format.outcome(outcome)]));
  },
  mark() {
    return select("mark", log.marks.map(mark => [mark, word(`log_mark_${mark}`)]));
  },
  cards() { return input("cards", { placeholder: "9H KS" }); }
};

function createField(name) {
  const wrong = log.errors.includes(name);
  return el("div", { class: "field of-" + name + (wrong ? " wrong" : "") }, [
    el("label", { for: `field-${name}`, text: word(LABELS[name]) }),
    CONTROLS[name]()
  ]);
}

function submit(event) {
  const found = { view: log.view === "irregularities" ? "" : log.view };
  event.preventDefault();
  Array.from(byId("search").elements).forEach(field => {
    if (field.name && (field.type !== "checkbox" || field.checked)) {
      found[field.name] = field.value.trim();
    }
  });
  window.location.assign(urlOf(found));
}

/* Notices. */

function notice(name, text, tone) {
  return el("p", { class: "notice " + (tone || ""), "data-notice": name, text });
}

function notices() {
  const found = [];
  const state = log.state || {};
  if (log.errors.length) {
    found.push(notice("invalid", word("log_invalid") + " " + log.errors.map(
      name => word(LABELS[name] || name))
      .join(word("list_comma")), "bad"));
  }
  if (log.failed) { found.push(notice("failed", word(`log_failed_${log.failed}`), "bad")); }
  if (state.failure) { found.push(notice("failure", word("log_failure"), "bad")); }
  if (state.moved_aside) {
    found.push(notice("moved_aside", word("log_moved_aside", { time: state.moved_aside })));
  }
  if ((log.incomplete || []).length && state.refused) {
    found.push(notice("refused", word("log_refused")));
  }
  return found.concat((log.incomplete || []).map(gap =>
    notice("incomplete", word("log_incomplete", {
      table: gap.table,
      from: gap.from || word("log_beginning"),
      to: gap.to || word("log_now")
    }))));
}

/* The page. */

function createViews() {
  return Object.keys(VIEWS).map(view => {
    const kept = {};
    FIELDS[view].forEach(name => { kept[name] = log.values[name]; });
    kept.view = view === "irregularities" ? "" : view;
    return el("a", {
      href: urlOf(kept),
      text: word(VIEWS[view]),
      "aria-current": view === log.view ? "page" : null
    });
  });
}

function createPages() {
  return [
    log.first_page ? null : el("a", {
      class: "button", href: urlOf(values()), text: `‹ ${word("log_newest")}`
    }),
    log.next ? el("a", {
      class: "button", rel: "next", href: urlOf(values(), { after: log.next }),
      text: `${word("log_older")} ›`
    }) : null
  ];
}

function createTools() {
  return [
    `${word("log_export")}: `,
    [["csv", "CSV"], ["jsonl", "JSON Lines"]].map(format => [el("a", {
      href: urlOf(values(), { format: format[0] }),
      "data-format": format[0],
      download: "",
      text: format[1]
    }), " "])
  ];
}

function valueText(name) {
  const value = log.values[name];
  const field = byId(`field-${name}`);
  return field && field.tagName === "SELECT" && field.selectedIndex > 0
    ? field.options[field.selectedIndex].text : value.replace("T", " ");
}

/* What was asked for: printed, where the fields are not. */
function askedText() {
  return FIELDS[log.view].filter(name => log.values[name])
    .map(name => word(LABELS[name]) + (name === "open" ? "" : `: ${valueText(name)}`)).join(" · ");
}

function take(found) {
  log = found;
  logRows.setNames(log.tables);
  setAttribute(document.body, "data-view", log.view);
  setAttribute(document.body, "data-rows", log.rows.length);
  setAttribute(document.body, "data-failed", log.failed);
  document.title = `${word("log_title")} – ${word(VIEWS[log.view])}`;
  setChildren(byId("views"), createViews());
  setChildren(byId("fields"), FIELDS[log.view].map(createField));
  setAttribute(byId("clear"), "href",
    urlOf({ view: log.view === "irregularities" ? "" : log.view }));
  setChildren(byId("notices"), notices());
  setText(byId("asked"), askedText());
  setText(byId("zone"), word("log_zone", { zone: log.zone }));
  setChildren(byId("exports"), createTools());
  setChildren(byId("rows"), log.rows.length ? (log.view === "rounds"
    ? logRows.roundTable(log.rows) : logRows.entryTable(log.rows)) : null);
  setClass(byId("search"), "hidden", !log.enabled);
  setClass(byId("nothing"), "hidden", log.rows.length > 0 || Boolean(log.failed));
  setText(byId("nothing"), word(log.enabled ? "log_nothing" : "log_disabled"));
  setChildren(byId("pages"), createPages());
}

fillWords();
handleInitial({ log: take });
byId("search").addEventListener("submit", submit);
showPage();
