/*
 * An order, step by step: choose, log in, see what the table would do, give it.
 *
 * open({table, verb, fields, title, direct, then})   opens the dialog for an order to a table (its
 *             key). Fields that the order takes and that are missing are asked for; of a list, one
 *             is chosen. A field may be a function, which is called when the order is given; an
 *             empty one is left out. A direct order is given without a preview; once it is carried
 *             out the dialog closes, and then() is called
 * close()
 * setTable(row)    row() is the row of the page's table, or null: its buttons are for that table
 * button(verb, fields, title, direct)   a button that opens an order
 * decision(verb, fields, title)   such a button for what only a supervisor may give at some
 *             moments: a dealer has it if the table, asked with a preview, does not refuse it for
 *             that reason, and else a hint
 * reportButton(direct)   a button to report what only a person can see
 *
 * The steps: order_choices.js, order_log_in.js, order_preview.js; their frame: order_dialog.js.
 * For tests: #sheet-reason   the reason
 */
import { byId, el, sentenceElement, setAttribute, setChildren } from "./dom.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import { createChoice } from "./order_choices.js";
import {
  bigButton, closeDialog, field, onEnter, openDialog, pinField, setTitle, showStep
} from "./order_dialog.js";
import { refusedText, showLogIn } from "./order_log_in.js";
import { createPreview } from "./order_preview.js";
import { page, sentence, word } from "./translations.js";

const CHOICES = {
  "correct-card": ["slot", "card"], "enter-card": ["card"], "enter-result": ["outcome"]
};

let current = null;
let tableRow = () => null;

function tableKey() {
  const row = tableRow();
  return row && row.key;
}

function tableState() {
  const row = tableRow();
  return row && row.state;
}

function orderOf(fields, more) {
  const order = { id: operator.createId() };
  Object.entries({ ...fields, ...more }).forEach(([name, found]) => {
    const value = typeof found === "function" ? found() : found;
    if (value !== null && value !== undefined && value !== "") {
      order[name] = value;
    }
  });
  return order;
}

/* What the order needs may have changed since the preview; a direct one has none. */
function isLacking(reply) {
  return Boolean(reply) && !reply.earlier &&
    (reply.detail_code === "refused_needs_pin" || reply.detail_code === "refused_needs_reason");
}

/* A supervisor may log in on this page, and give the order. */
function takesAnother(outcome, decided) {
  return outcome.code === "role" ||
    Boolean(decided) && decided.detail_code === "refused_needs_supervisor";
}

class Order {
  constructor({ table, verb, fields, title, direct, then }) {
    Object.assign(this, { table, verb, title, direct, then });
    this.fields = { ...fields };
    this.pin = null;
    this.needsPinNow = false;
    this.why = null;
    /* The order whose answer was lost: sent again, with its id. */
    this.unanswered = null;
    this.stop = () => {};
  }

  /* Some orders always take the PIN; of others the table tells, with the preview. */
  get needsPin() {
    return this.needsPinNow || Boolean((page.order_verbs || {})[this.verb]);
  }

  next() {
    const lists = Object.keys(this.fields).filter(name => Array.isArray(this.fields[name]));
    const missing = (CHOICES[this.verb] || []).filter(name =>
      this.fields[name] === undefined || this.fields[name] === null);
    const choice = lists.concat(missing)[0];
    if (choice) {
      showStep("choose", createChoice(choice, this.fields, tableState(),
        value => this.choose(choice, value)));
    } else if (!operator.name) {
      this.askLogIn(null);
    } else if (this.unanswered) {
      this.giveAgain();
    } else if (this.direct) {
      this.execute(null, this.pin);
    } else {
      this.askPreview();
    }
  }

  choose(name, value) {
    this.fields[name] = value;
    if (name === "action") {
      this.title = format.action(value);
      setTitle(this.title);
    }
    if (name === "kind") {
      setTitle(format.kind(value));
    }
    this.next();
  }

  askLogIn(why) {
    showLogIn(why, pin => {
      if (current) {
        current.pin = pin;
        current.next();
      }
    });
  }

  send(order, then, unanswered) {
    this.stop();
    this.stop = operator.send(this.table, this.verb, order, outcome => {
      if (current === this) {
        then(outcome);
      }
    }, unanswered);
  }

  askPreview() {
    showStep("asked", el("p", { class: "told", text: word("sheet_asking") }));
    this.send(orderOf(this.fields, { dry_run: true }), outcome => {
      if (outcome.reply && outcome.reply.ok && outcome.reply.preview) {
        this.showPreview(outcome.reply.preview);
      } else {
        this.showFailure(outcome, () => this.askPreview());
      }
    });
  }

  showPreview(preview) {
    const go = () => this.confirm(preview.seq);
    this.needsPinNow = Boolean(preview.needs_pin);
    showStep("preview", [
      this.why ? sentenceElement("p", "told bad", this.why) : null,
      createPreview(preview),
      preview.needs_reason ? field(word("sheet_reason"), { id: "sheet-reason", maxlength: 200,
        value: this.fields.reason || "" }, "pin reason") : null,
      this.needsPin && !this.pin ? pinField() : null,
      bigButton(this.title, "do", go, "sheet-do")
    ]);
    this.why = null;
    const inputs = [byId("sheet-reason"), byId("sheet-pin")].filter(Boolean);
    inputs.forEach(input => onEnter(input, go));
    if (byId("sheet-reason")) {
      byId("sheet-reason").addEventListener("input", event => {
        this.fields.reason = event.target.value.trim();
      });
    }
    (inputs[0] || byId("sheet-do")).focus();
  }

  confirm(seq) {
    const inputs = [byId("sheet-reason"), byId("sheet-pin")].filter(Boolean);
    const empty = inputs.find(input => !input.value.trim());
    if (empty) {
      empty.focus();
    } else {
      this.execute(seq, byId("sheet-pin") ? byId("sheet-pin").value : this.pin);
    }
  }

  /* To hold results, and to report what was seen, is right whatever the table did meanwhile. */
  execute(seq, pin) {
    this.give(orderOf(this.fields,
      { expects_seq: this.verb === "hold" ? null : seq, pin: this.needsPin ? pin : null }));
  }

  give(order) {
    showStep("asked", el("p", { class: "told", text: word("sheet_asked") }));
    this.send(order, outcome => this.takeOutcome(order, outcome), Boolean(this.unanswered));
    this.pin = null;
  }

  /* After a new log-in: the same order, with the same id. */
  giveAgain() {
    if (this.needsPin) {
      this.unanswered.pin = this.pin;
    }
    this.give(this.unanswered);
  }

  takeOutcome(order, outcome) {
    const reply = outcome.reply;
    const decided = reply && (reply.earlier || reply);
    // Sent again, it needs no PIN, and the page keeps none.
    delete order.pin;
    if (!outcome.waiting && this.unanswered && !reply) {
      // Whether it was carried out is not known: after the log-in it is sent again.
      this.pin = null;
      this.askLogIn(refusedText(outcome));
      return;
    }
    this.unanswered = outcome.waiting ? order : null;
    if (decided && decided.ok) {
      this.finish();
    } else if (outcome.code === "pin" || isLacking(reply)) {
      this.pin = null;
      this.why = sentence(reply || outcome, (reply || outcome).refused);
      this.askPreview();
    } else {
      this.showFailure(outcome, () => this.next());
    }
  }

  finish() {
    if (!this.direct) {
      showStep("done", [
        el("p", { class: "told good", id: "sheet-told",
          text: word("sheet_done", { order: this.title }) }),
        bigButton(word("sheet_close"), "do", close, "sheet-do")
      ]);
      return;
    }
    close();
    if (this.then) {
      this.then();
    }
  }

  showFailure(outcome, again) {
    if (outcome.waiting) {
      if (byId("sheet").getAttribute("data-step") !== "lost") {
        showStep("lost", el("p", { class: "told", id: "sheet-told", text: word("sheet_waiting") }));
      }
      return;
    }
    if (outcome.code === "session") {
      this.askLogIn({ text: word("refused_session") });
      return;
    }
    const decided = outcome.reply && (outcome.reply.earlier || outcome.reply);
    const told = sentenceElement("p", "told bad",
      decided ? sentence(decided, decided.refused) : refusedText(outcome));
    told.id = "sheet-told";
    showStep("refused", [
      el("h3", { text: word("sheet_refused") }), told,
      takesAnother(outcome, decided)
        ? bigButton(word("sheet_log_in"), "again", () => this.askLogIn(null), "sheet-do")
        : bigButton(word("sheet_again"), "again", again, "sheet-do"),
      bigButton(word("sheet_close"), "close", close)
    ]);
  }
}

export function open(order) {
  current = new Order(order);
  openDialog(order.verb, close);
  setTitle(order.title);
  current.next();
}

export function close() {
  if (current) {
    current.stop();
  }
  current = null;
  closeDialog();
}

export function setTable(row) {
  tableRow = row;
}

export function button(verb, fields, title, direct) {
  const made = bigButton(title, "order-button",
    () => open({ table: tableKey(), verb, fields, title, direct }));
  setAttribute(made, "data-order", verb);
  if (typeof fields.action === "string") {
    setAttribute(made, "data-action", fields.action);
  }
  return made;
}

export function decision(verb, fields, title) {
  const made = button(verb, fields, title);
  if (!operator.name || operator.isSupervisor()) {
    return made;
  }
  const box = el("div", null, el("p", { class: "hint", text: word("supervisor_decides") }));
  const stop = operator.send(tableKey(), verb, orderOf(fields, { dry_run: true }), outcome => {
    stop();
    if (!outcome.reply || outcome.reply.detail_code !== "refused_needs_supervisor") {
      setChildren(box, made);
    }
  });
  return box;
}

export function reportButton(direct) {
  const made = button("hold", { kind: [], slot: [] }, word("give_report"), direct);
  setAttribute(made, "data-order", "report");
  return made;
}
