/*
 * Command lines for the operator: the page shows them and sends no commands itself.
 *
 * commandLine(verb, fields)  "shoe-daemon cmd rule --irregularity 841 …" for the
 *                   table of this page; null if a field is invalid: text from a
 *                   broker never becomes another command
 * createElement(line)  <div class="order"> with the line in <code data-command> and
 *                   a button that copies it
 * setTable(row, options)  sets the table, and the options with which the broker is
 *                   reached; null among them is the host of this page's address
 * bindOperator(input)  reads the operator's name from the input and stores it on this
 *                   computer; every line shown is updated
 */
import { el, fillOnChange, setText } from "./dom.js";
import { load, store } from "./storage.js";
import { word } from "./translations.js";

const STORAGE_KEY = "shoe-operator";
let operator = "";
let target = { site: null, table: null, options: [] };
let shownLines = [];
const FIELD_FORMS = {
  irregularity: /^[1-9][0-9]{0,15}$/,
  action: /^([a-z_]{1,40}|ACTION)$/,
  round: /^[1-9][0-9]{0,6}$/,
  slot: /^([PB][123]|PLACE)$/,
  card: /^((10|[2-9AJQK])[SHDC]|CARD)$/
};
const ID_FORM = /^[a-z0-9-]{1,40}$/;

/* One word, for a shell. */
function quote(text) {
  return /^~?[A-Za-z0-9_.@:\/-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

function pageHost() {
  return window.location.hostname.replace(/^\[|\]$/g, "");
}

function commonOptions() {
  const options = target.options.map(word => quote(word === null ? pageHost() : word));
  return (operator ? ` --operator ${quote(operator)}` : "") +
    " " + options.concat(["--site", target.site, "--table", target.table]).join(" ");
}

export function commandLine(verb, fields) {
  const names = Object.keys(fields);
  const good = names.every(name => FIELD_FORMS[name].test(String(fields[name])));
  if (!good || !ID_FORM.test(target.site || "") || !ID_FORM.test(target.table || "")) {
    return null;
  }
  return "shoe-daemon cmd " + verb + names.map(name => ` --${name} ${fields[name]}`).join("");
}

// A word never wraps: a line broken within `--action` would be misread.
function showLine(code) {
  const text = code.shoeLine + commonOptions();
  fillOnChange(code, text, () => text.split(" ").map((word, position) =>
    [position ? " " : null, el("span", { text: word })]));
}

function select(node) {
  const range = document.createRange();
  const selection = window.getSelection();
  range.selectNodeContents(node);
  selection.removeAllRanges();
  selection.addRange(range);
}

function copySelection() {
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  }
}

export function createElement(line) {
  const code = el("code", { "data-command": line });
  const button = el("button", { type: "button", class: "copy", text: word("order_copy") });
  code.shoeLine = line;
  showLine(code);
  shownLines = shownLines.filter(each => document.body.contains(each));
  window.setTimeout(() => shownLines.push(code), 0);
  button.addEventListener("click", () => {
    select(code);
    setText(button, word(copySelection() ? "order_copied" : "order_press"));
    window.setTimeout(() => setText(button, word("order_copy")), 3000);
  });
  return el("div", { class: "order" }, [code, button]);
}

function updateLines() {
  shownLines.forEach(showLine);
}

export function setTable(row, options) {
  target = { site: row.site, table: row.table, options: options || [] };
  updateLines();
}

export function bindOperator(input) {
  operator = load(STORAGE_KEY) || "";
  input.value = operator;
  input.addEventListener("input", () => {
    operator = input.value.trim().slice(0, 60);
    store(STORAGE_KEY, operator);
    updateLines();
  });
}
