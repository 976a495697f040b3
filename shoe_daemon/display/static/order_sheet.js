/*
 * The sheet on which an order is prepared: choose, see what the table would do, give it.
 *
 * open(table, verb, fields, title, direct, then)   opens it for an order to a table (its
 *             key); fields that the order takes and that are missing are asked
 *             for; of a list, one is chosen. A direct order is given without a preview, and the sheet closes
 *             by itself once it is carried out; then() is called. A field may be
 *             a function, which is called when the order is given; an empty one
 *             is left out
 * button(verb, fields, title, direct)   a button that opens it for the table of
 *                             the page, table()
 * decision(verb, fields, title)   such a button for what only a supervisor may give
 *             at some moments: a dealer has it if the table, asked with a preview,
 *             does not refuse it for that reason, and else a hint
 * reportButton(direct)   a button to report what only a person can see
 *
 * For tests:
 *     #sheet               data-step: log-in, choose, preview, asked (on its way), done, refused,
 *                          lost; data-verb
 *     #sheet-reason        the reason
 *     #sheet-pin           the PIN; [data-operator] who logs in; [data-choice] what is chosen
 *     #sheet-do            carries the order out; #sheet-close
 *     #sheet-told          what happened, in a sentence
 *     .change.before, .change.after [data-slot]   the cards before and after
 */
import { drawCard, shownCard } from "./card_drawing.js";
import { byId, el, sentenceElement, setAttribute, setChildren, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import { formatNumber, hasWord, page, sentence, word } from "./translations.js";

const STORAGE_KEY = "shoe-operator";
const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];
const SUITS = ["S", "H", "C", "D"];
const SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
const OUTCOMES = ["player", "banker", "tie"];
const CHOICES = { "correct-card": ["slot", "card"], "enter-card": ["card"], "enter-result": ["outcome"] };

let now = null;
let opener = null;
let tableRow = () => null;

function bigButton(word, name, action, more) {
  const made = el("button", { type: "button", class: `big ${name}`, id: more });
  setText(made, word);
  made.addEventListener("click", action);
  return made;
}

function show(step, children) {
  setAttribute(byId("sheet"), "data-step", step);
  setChildren(byId("sheet-body"), children);
  byId("sheet-body").scrollTop = 0;
  // The focus is on a button, which does not tell what happened.
  Array.from(byId("sheet-body").querySelectorAll(".told")).forEach(node => {
    setAttribute(node, "role", step === "asked" ? "status" : "alert");
  });
  const first = byId("sheet-body").querySelector("input, button") || byId("sheet-close");
  first.focus();
}

function refusedText(outcome) {
  const key = `refused_${outcome.code}`;
  return hasWord(key) ? { text: word(key) } : sentence(outcome, outcome.refused);
}

/* Who. */

function rememberedName() {
  try {
    return window.localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

function rememberName(name) {
  try {
    window.localStorage.setItem(STORAGE_KEY, name);
  } catch {
    // Without storage the name is chosen anew.
  }
}

function pinField() {
  return el("label", { class: "pin" }, [
    el("span", { text: word("sheet_pin") }),
    el("input", {
      id: "sheet-pin", type: "password", inputmode: "numeric", autocomplete: "off",
      maxlength: "64", autocapitalize: "off", spellcheck: "false"
    })
  ]);
}

function reasonField() {
  const field = el("input", { id: "sheet-reason", maxlength: "200", autocomplete: "off" });
  field.value = now.fields.reason || "";
  return el("label", { class: "pin reason" },
    [el("span", { text: word("sheet_reason") }), field]);
}

/* Only the pit tells who may log in; elsewhere the last name is remembered. */
function nameField() {
  const field = el("input", {
    id: "sheet-name", maxlength: "60", autocomplete: "off", spellcheck: "false"
  });
  field.value = rememberedName() || "";
  return el("label", { class: "pin" },
    [el("span", { text: word("sheet_name") }), field]);
}

function onEnter(node, action) {
  node.addEventListener("keydown", event => {
    if (event.keyCode === 13) {
      event.preventDefault();
      action();
    }
  });
}

function showLogIn(why) {
  const names = page.operators || [];
  const known = names.length > 0;
  let isAsked = false;
  let chosen = names.includes(rememberedName()) ? rememberedName() : names[0];
  const list = el("div", { class: "names" }, names.map(name => {
    const made = bigButton(name, "name", () => choose(name));
    setAttribute(made, "data-operator", name);
    return made;
  }));

  function choose(name) {
    chosen = name;
    Array.from(list.children).forEach(node => {
      setAttribute(node, "aria-pressed",
        String(node.getAttribute("data-operator") === chosen));
    });
    if (byId("sheet-pin")) {
      byId("sheet-pin").focus();
    }
  }

  function logIn() {
    const pin = byId("sheet-pin").value;
    // A second tap would log in again, and give the order twice.
    if (isAsked) {
      return;
    }
    chosen = known ? chosen : byId("sheet-name").value.trim();
    if (!chosen) {
      byId("sheet-name").focus();
      return;
    }
    if (!pin) {
      byId("sheet-pin").focus();
      return;
    }
    rememberName(chosen);
    isAsked = true;
    operator.logIn(chosen, pin, outcome => {
      if (!now) {
        return;
      }
      if (outcome.code) {
        showLogIn(refusedText(outcome));
      } else {
        now.pin = pin;
        next();
      }
    });
  }

  if (operator.refused) {
    show("refused", el("p", { class: "told bad", id: "sheet-told",
      text: word("refused_plain_http") }));
    return;
  }
  choose(chosen);
  show("log-in", [
    why ? sentenceElement("p", "told bad", why) : null,
    el("h3", { text: word("sheet_who") }), known ? list : nameField(), pinField(),
    bigButton(word("sheet_log_in"), "do", logIn, "sheet-do")
  ]);
  if (known || byId("sheet-name").value) {
    byId("sheet-pin").focus();
  }
  onEnter(byId("sheet-pin"), logIn);
}

/* What: a slot, a card, an outcome. */

function choiceButton(name, value, content) {
  const made = el("button", {
    type: "button", class: "choice", "data-choice": value
  }, content);
  made.addEventListener("click", () => {
    now.fields[name] = value;
    if (name === "action") {
      setTitle(format.action(value));
    }
    if (name === "kind") {
      setText(byId("sheet-title"), format.kind(value));
    }
    next();
  });
  return made;
}

function setTitle(title) {
  now.title = title;
  setText(byId("sheet-title"), title);
}

/* The cards on the table, unless the order is about another round. */
function cardsOf(round) {
  const cards = {};
  const isAnother = round && now.fields.round && now.fields.round !== round.number;
  (round && !isAnother ? round.cards : []).forEach(card => {
    if (card.slot) {
      cards[card.slot] = shownCard(card, round);
    }
  });
  return cards;
}

function createSlots() {
  const state = tableState();
  const cards = cardsOf(state && state.round);
  const known = SLOTS.filter(slot => slot in cards);
  return ["P", "B"].map(letter =>
    el("div", { class: "slots" }, (known.length ? known : SLOTS).filter(slot =>
      slot.charAt(0) === letter).map(slot => choiceButton("slot", slot, [
      el("span", { text: format.place(slot) }),
      slot in cards ? drawCard(cards[slot]) : null
    ])))).concat(Array.isArray(now.fields.slot) ? el("div", { class: "slots" },
    choiceButton("slot", "", word("sheet_another_card"))) : []);
}

function createDeck() {
  return el("div", { class: "deck" }, SUITS.map(suit =>
    el("div", { class: `suit suit-${suit}` }, RANKS.map(rank =>
      choiceButton("card", rank + suit, format.card(rank + suit))))));
}

function createOutcomes() {
  return el("div", { class: "outcomes" }, OUTCOMES.map(outcome =>
    choiceButton("outcome", outcome, format.outcome(outcome))));
}

function createList(name, values) {
  return el("div", { class: "actions" }, values.map(value =>
    choiceButton(name, value, format[name](value))));
}

function createActions() {
  return createList("action", now.fields.action);
}

/* What no reader of this table sees. */
function createKinds() {
  const state = tableState();
  return createList("kind", page.reportable.filter(kind => !state || state.blind.includes(kind)));
}

const CHOOSERS = {
  slot: createSlots, card: createDeck, outcome: createOutcomes, action: createActions,
  kind: createKinds
};

function showChoice(name) {
  show("choose", [
    // The title of the sheet asks for an action.
    name === "action" ? null : el("h3", { text: word(`sheet_choose_${name}`, {
      slot: now.fields.slot ? format.place(now.fields.slot) : ""
    }) }),
    CHOOSERS[name]()
  ]);
}

/* What the table would do. */

/* The cards of a hand: [slot, what to draw]. The history knows no slots, but their order. */
function handCards(found, letter) {
  if (found.state) {
    return found.state.cards.filter(card =>
      card.slot ? card.slot.charAt(0) === letter : letter === "P").map(card => [card.slot, shownCard(card, found.state)]);
  }
  return (letter === "P" ? found.history.player : found.history.banker)
    .map((card, place) => [letter + (place + 1), card === null ? "?" : card]);
}

function outcomeOf(row) {
  if (!row) {
    return { tone: "none", text: word("sheet_no_result") };
  }
  if (row.voided || row.aborted) {
    return { tone: "none", text: word(row.voided ? "round_void" : "round_aborted") };
  }
  return { tone: row.outcome || "none", text: row.held ? word("result_held")
    : format.outcome(row.outcome) };
}

function createRound(found, name) {
  const totals = found.state || found.history;
  const outcome = outcomeOf(found.history);
  const hands = { P: handCards(found, "P"), B: handCards(found, "B") };
  return el("div", { class: `change ${name}` }, [
    el("h3", { text: word(`sheet_${name}`, { round: found.round }) }),
    // Of a round that was made void, or is held, no cards are published.
    !hands.P.concat(hands.B).length ? null
      : el("div", { class: "hands" }, ["P", "B"].map(letter =>
        el("div", { class: letter === "P" ? "hand player" : "hand banker" }, [
          el("span", { class: "points", text: formatNumber(
            letter === "P" ? totals.player_total : totals.banker_total) }),
          el("div", { class: "cards" }, hands[letter].map(card =>
            el("span", { "data-slot": card[0], "data-card": card[1] || "" },
              drawCard(card[1]))))
        ]))),
    el("p", { class: `outcome ${outcome.tone}`, text: outcome.text })
  ]);
}

function createPreview(preview) {
  const events = preview.events.map(event => {
    const text = format.event(event);
    return el("li", { "data-type": event.type }, [text.text,
      text.more.slice(0, 1).map(more => el("span", { class: "more", text: more }))]);
  });
  return [
    el("h3", { text: word("sheet_would") }),
    events.length ? el("ul", { class: "would" }, events)
      : el("p", { text: word(preview.faces_hidden ? "sheet_would_hidden"
        : "sheet_would_nothing") }),
    preview.left_out ? el("p", { class: "hint",
      text: word("sheet_left_out", { count: preview.left_out }) }) : null,
    el("div", { class: "changes" }, [
      preview.before ? createRound(preview.before, "before") : null,
      preview.after ? createRound(preview.after, "after") : null
    ])
  ];
}

/* Some orders always take the PIN; of others the table tells, with the preview. */
function needsPin() {
  return now.needsPin || Boolean((page.order_verbs || {})[now.verb]);
}

function showPreview(preview) {
  let fields;

  function go() {
    const field = byId("sheet-pin");
    const empty = fields.filter(each => !each.value.trim())[0];
    if (empty) {
      empty.focus();
      return;
    }
    execute(preview.seq, field ? field.value : now.pin);
  }

  now.needsPin = Boolean(preview.needs_pin);
  const asksPin = needsPin() && !now.pin;

  show("preview", [
    now.why ? sentenceElement("p", "told bad", now.why) : null,
    createPreview(preview),
    preview.needs_reason ? reasonField() : null,
    asksPin ? pinField() : null,
    bigButton(now.title, "do", go, "sheet-do")
  ]);
  now.why = null;
  fields = [byId("sheet-reason"), byId("sheet-pin")].filter(Boolean);
  fields.forEach(field => onEnter(field, go));
  if (byId("sheet-reason")) {
    byId("sheet-reason").addEventListener("input", event => {
      now.fields.reason = event.target.value.trim();
    });
  }
  (fields[0] || byId("sheet-do")).focus();
}

function send(order, then, unanswered) {
  const mine = now;
  if (now.stop) {
    now.stop();
  }
  now.stop = operator.send(now.table, now.verb, order, outcome => {
    if (now === mine) {
      then(outcome);
    }
  }, unanswered);
}

function orderOf(fields, more) {
  const order = { id: operator.createId() };
  [fields, more].forEach(fields => {
    Object.keys(fields).forEach(name => {
      const value = typeof fields[name] === "function" ? fields[name]() : fields[name];
      if (value !== null && value !== undefined && value !== "") {
        order[name] = value;
      }
    });
  });
  return order;
}

function askPreview() {
  show("asked", el("p", { class: "told", text: word("sheet_asking") }));
  send(orderOf(now.fields, { dry_run: true }), outcome => {
    if (outcome.reply && outcome.reply.ok && outcome.reply.preview) {
      showPreview(outcome.reply.preview);
    } else {
      showFailure(outcome, askPreview);
    }
  });
}

/* To hold results, and to report what was seen, is right whatever the table did since the preview. */
function execute(seq, pin) {
  give(orderOf(now.fields,
    { expects_seq: now.verb === "hold" ? null : seq, pin: needsPin() ? pin : null }));
}

/* What the order needs may have changed since the preview; a direct one has none. */
function isLacking(reply) {
  return Boolean(reply) && !reply.earlier &&
    (reply.detail_code === "refused_needs_pin" || reply.detail_code === "refused_needs_reason");
}

function give(order) {
  const before = now.unanswered;
  show("asked", el("p", { class: "told", text: word("sheet_asked") }));
  send(order, outcome => {
    // Sent again, it needs no PIN, and the page keeps none.
    delete order.pin;
    const reply = outcome.reply;
    if (outcome.waiting) {
      now.unanswered = order;
    } else if (now.unanswered && !reply) {
      // Whether it was carried out is not known: after the log-in it is sent again.
      now.pin = null;
      showLogIn(refusedText(outcome));
      return;
    } else {
      now.unanswered = null;
    }
    const decided = reply && (reply.earlier || reply);
    if (decided && decided.ok) {
      if (now.direct) {
        finish(now.then);
      } else {
        showDone();
      }
    } else if (outcome.code === "pin" || isLacking(reply)) {
      now.pin = null;
      now.why = reply ? sentence(reply, reply.refused)
        : sentence(outcome, outcome.refused);
      askPreview();
    } else {
      showFailure(outcome, next);
    }
  }, Boolean(before));
  now.pin = null;
}

/* An order whose answer was lost, after a new log-in: the same one, with the same id. */
function giveAgain() {
  if (needsPin()) {
    now.unanswered.pin = now.pin;
  }
  give(now.unanswered);
}

function finish(then) {
  close();
  if (then) {
    then();
  }
}

function showDone() {
  show("done", [
    el("p", { class: "told good", id: "sheet-told",
      text: word("sheet_done", { order: now.title }) }),
    bigButton(word("sheet_close"), "do", close, "sheet-do")
  ]);
}

/* A supervisor may log in on this page, and give the order. */
function takesAnother(outcome, decided) {
  return outcome.code === "role" ||
    Boolean(decided) && decided.detail_code === "refused_needs_supervisor";
}

function showFailure(outcome, again) {
  if (outcome.waiting) {
    if (byId("sheet").getAttribute("data-step") === "lost") {
      return;
    }
    show("lost", el("p", { class: "told", id: "sheet-told",
      text: word("sheet_waiting") }));
    return;
  }
  if (outcome.code === "session") {
    showLogIn({ text: word("refused_session") });
    return;
  }
  const decided = outcome.reply && (outcome.reply.earlier || outcome.reply);
  const why = decided ? sentence(decided, decided.refused) : refusedText(outcome);
  const told = sentenceElement("p", "told bad", why);
  told.id = "sheet-told";
  show("refused", [
    el("h3", { text: word("sheet_refused") }), told,
    takesAnother(outcome, decided)
      ? bigButton(word("sheet_log_in"), "again", () => showLogIn(null), "sheet-do")
      : bigButton(word("sheet_again"), "again", again, "sheet-do"),
    bigButton(word("sheet_close"), "close", close)
  ]);
}

/* The steps. */

function next() {
  const missing = Object.keys(now.fields).filter(name =>
    Array.isArray(now.fields[name])).concat((CHOICES[now.verb] || []).filter(name =>
    now.fields[name] === undefined || now.fields[name] === null));
  if (missing.length) {
    showChoice(missing[0]);
  } else if (!operator.name) {
    showLogIn(null);
  } else if (now.unanswered) {
    giveAgain();
  } else if (now.direct) {
    execute(null, now.pin);
  } else {
    askPreview();
  }
}

function build() {
  const closeButton = bigButton("×", "close", close, "sheet-close");
  setAttribute(closeButton, "aria-label", word("sheet_close"));
  const box = el("div", {
    id: "sheet", class: "sheet hidden", role: "dialog", "aria-modal": "true",
    "aria-labelledby": "sheet-title"
  }, el("div", { class: "sheet-box" }, [
    el("div", { class: "sheet-head" }, [el("h2", { id: "sheet-title" }), closeButton]),
    el("div", { id: "sheet-body" })
  ]));
  document.body.appendChild(box);
  document.addEventListener("keydown", event => {
    if (now && event.keyCode === 27) {
      close();
    }
    if (now && event.keyCode === 9) {
      keepFocus(event, box);
    }
    // A key that is held down since before would confirm what nobody has read.
    if (now && event.keyCode === 13 && event.repeat) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);
}

function keepFocus(event, box) {
  const all = box.querySelectorAll("button, input");
  const first = all[0];
  const last = all[all.length - 1];
  if (event.shiftKey && document.activeElement === first) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}

export function open(table, verb, fields, title, direct, then) {
  if (!byId("sheet")) {
    build();
  }
  opener = document.activeElement;
  now = { table, verb, fields: {}, title, pin: null, needsPin: false, why: null,
    unanswered: null, direct: Boolean(direct), then };
  Object.keys(fields || {}).forEach(name => { now.fields[name] = fields[name]; });
  setTitle(title);
  setAttribute(byId("sheet"), "data-verb", verb);
  setClass(byId("sheet"), "hidden", false);
  setClass(document.body, "behind", true);
  next();
}

export function close() {
  if (now && now.stop) {
    now.stop();
  }
  now = null;
  setClass(byId("sheet"), "hidden", true);
  setClass(document.body, "behind", false);
  setChildren(byId("sheet-body"), null);
  // A field that lost its page would keep the PIN.
  if (opener && document.body.contains(opener)) {
    opener.focus();
  }
}

export function setTable(row) {
  tableRow = row;
}

function tableState() {
  const row = tableRow();
  return row && row.state;
}

function tableKey() {
  const row = tableRow();
  return row && row.key;
}

export function button(verb, fields, title, direct) {
  const made = bigButton(title, "order-button", () => {
    open(tableKey(), verb, fields, title, direct);
  });
  setAttribute(made, "data-order", verb);
  if (fields && typeof fields.action === "string") {
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
