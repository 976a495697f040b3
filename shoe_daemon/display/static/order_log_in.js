/*
 * The step of an order in which a person logs in, with a name and a PIN.
 *
 * showLogIn(why, then)     why: {text, lang} of an earlier refusal, or null; then(pin) is called
 *                          after the log-in
 * refusedText(outcome)     {text, lang}: why the display refused a log-in or an order
 *
 * For tests: [data-operator] who logs in; #sheet-name
 */
import { byId, el, sentenceElement, setAttribute, setText } from "./dom.js";
import * as operator from "./operator.js";
import { bigButton, field, isOpen, onEnter, pinField, showStep } from "./order_dialog.js";
import { load, store } from "./storage.js";
import { hasWord, page, sentence, word } from "./translations.js";

const STORAGE_KEY = "shoe-operator";

export function refusedText(outcome) {
  const key = `refused_${outcome.code}`;
  return hasWord(key) ? { text: word(key) } : sentence(outcome, outcome.refused);
}

class LogIn {
  constructor(then) {
    // Only the pit tells who may log in; elsewhere the last name is remembered.
    this.names = page.operators || [];
    this.last = load(STORAGE_KEY);
    this.chosen = this.names.includes(this.last) ? this.last : this.names[0];
    this.then = then;
    this.isAsked = false;
  }

  show(why) {
    const isListed = this.names.length > 0;
    showStep("log-in", [
      why ? sentenceElement("p", "told bad", why) : null,
      el("h3", { text: word("sheet_who") }),
      isListed ? el("div", { class: "names" }, this.names.map(name => this.createName(name)))
        : field(word("sheet_name"),
          { id: "sheet-name", maxlength: 60, spellcheck: "false", value: this.last || "" }),
      pinField(),
      bigButton(word("sheet_log_in"), "do", () => this.logIn(), "sheet-do")
    ]);
    if (isListed || this.last) {
      byId("sheet-pin").focus();
    }
    onEnter(byId("sheet-pin"), () => this.logIn());
  }

  createName(name) {
    const made = bigButton(name, "name", () => this.choose(name));
    setAttribute(made, "data-operator", name);
    setAttribute(made, "aria-pressed", String(name === this.chosen));
    return made;
  }

  choose(name) {
    this.chosen = name;
    document.querySelectorAll("[data-operator]").forEach(node => setAttribute(
      node, "aria-pressed", String(node.getAttribute("data-operator") === name)));
    byId("sheet-pin").focus();
  }

  logIn() {
    const pin = byId("sheet-pin").value;
    const name = this.chosen || byId("sheet-name").value.trim();
    // A second tap would log in again, and give the order twice.
    if (this.isAsked) {
      return;
    }
    if (!name || !pin) {
      byId(name ? "sheet-pin" : "sheet-name").focus();
      return;
    }
    store(STORAGE_KEY, name);
    this.isAsked = true;
    setText(byId("sheet-do"), word("sheet_checking"));
    setAttribute(byId("sheet-do"), "aria-busy", "true");
    operator.logIn(name, pin, outcome => {
      if (!outcome.code) {
        this.then(pin);
      } else if (isOpen()) {
        showLogIn(refusedText(outcome), this.then);
      }
    });
  }
}

export function showLogIn(why, then) {
  if (operator.refused) {
    showStep("refused",
      el("p", { class: "told bad", id: "sheet-told", text: word("refused_plain_http") }));
  } else {
    new LogIn(then).show(why);
  }
}
