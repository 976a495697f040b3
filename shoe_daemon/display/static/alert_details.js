/*
 * An open alert in full: the sentence, the proposals of the policy, and the commands for them.
 *
 * createAlertDetails(alert, state)   <article class="alert full"> with data-alert-id,
 *                        data-severity, data-kind, data-staff (true for alerts for staff
 *                        only); in it one <li class="proposal"> for each proposal with
 *                        data-action and data-verified ("true", "false"), and the command
 *                        lines of command_line.js. Where the page gives orders, and a card
 *                        that was read wrongly may be the cause: .wrong-cards, one button
 *                        for each card on the table, with data-card-of (the slot)
 * showWrongCards(node, state)        shows the cards now on the table on such an article
 */
import { alertHeader, createOrdered } from "./alert_card.js";
import { cardsOfHand, shownCard } from "./card_drawing.js";
import * as commands from "./command_line.js";
import { el, fillOnChange, sentenceElement, setAttribute, setChildren, setClass } from "./dom.js";
import * as format from "./format.js";
import * as operator from "./operator.js";
import * as orderSheet from "./order_sheet.js";
import { hasWord, page, phrase, sentence, word } from "./translations.js";

const CARD_MAY_BE_ENTERED = { unreadable_card: true, source_conflict: true };
const CARD_MAY_BE_CORRECTED = {
  result_mismatch: true, source_conflict: true, duplicate_card: true, missing_draw: true,
  excess_card: true, wrong_hand: true, player_third_unauthorised: true
};
/* Rulings that a supervisor may choose without a proposal, besides those with a button. */
/* generated: rulings, from shoe_daemon/table/checks */
const RULINGS = {
  premature_draw: ["burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value"],
  player_third_unauthorised: ["reassign_to_banker", "restore_order"],
  excess_card: ["burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value", "restore_order"],
  missing_draw: ["draw_now", "continue"],
  wrong_hand: ["restore_order"],
  premature_collect: ["restore_order"],
  face_up_in_shoe: ["burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value"],
  double_feed: ["burn_card", "carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value", "restore_order"]
};
/* /generated: rulings */

function createVerified(proposal) {
  const name = proposal.verified ? "verified" : "proposal_not_verified";
  return el("span", {
    class: proposal.verified ? "verified" : "unverified",
    title: word(proposal.verified ? "verified_hint" : "unverified_hint"),
    text: word(name)
  });
}

/* That a supervisor decides is what a dealer has to know; the decision is another order. */
function isOrder(proposal) {
  return proposal.action !== "supervisor";
}

function createEffect(action) {
  const key = `effect_${action}`;
  return hasWord(key) ? el("p", { class: "effect", text: word(key) }) : null;
}

function givesOrders() {
  return Boolean(page.order_verbs);
}

/* Whether the role of who is logged in has an order. */
function has(verb) {
  return !givesOrders() || operator.may(verb);
}

function createCommand(verb, fields, title) {
  if (!has(verb)) {
    return el("p", { class: "hint", text: word("supervisor_decides") });
  }
  if (givesOrders()) {
    return orderSheet[verb === "acknowledge" ? "decision" : "button"](verb, fields, title);
  }
  const line = commands.commandLine(verb, fields);
  return line ? commands.createElement(line)
    : el("p", { class: "hint", text: word("order_unsafe") });
}

function createCitation(proposal) {
  return el("cite", null, [
    sentenceElement("span", null, phrase(proposal.authority)),
    word("cite_comma"),
    sentenceElement("span", null, phrase(proposal.section))
  ]);
}

/* Entering the card is what the proposal asks for; a ruling before it would be one order more. */
function createProposalCommand(alert, proposal) {
  const title = format.action(proposal.action);
  const isUnread = alert.data.kind === "unreadable_card";
  if (givesOrders() && proposal.action === "manual_entry" && isUnread) {
    return createCommand("enter-card", cardFields(alert, alert.data.slot), title);
  }
  const fields = { irregularity: alert.data.id, action: proposal.action };
  (proposal.needs || []).forEach(name => {
    fields[name] = givesOrders() ? [] : name.toUpperCase();
  });
  return createCommand("rule", fields, title);
}

function createProposal(alert, proposal) {
  return el("li", {
    class: "proposal",
    "data-action": proposal.action,
    "data-verified": String(Boolean(proposal.verified))
  }, [
    el("div", { class: "proposal-head" }, [
      el("b", { text: format.action(proposal.action) }),
      createVerified(proposal)
    ]),
    el("p", { class: "says" }, [
      sentenceElement("q", null, sentence(proposal, proposal.text)),
      createCitation(proposal)
    ]),
    isOrder(proposal) ? [
      createEffect(proposal.action), createProposalCommand(alert, proposal)
    ] : null
  ]);
}

function createNoProposals(state) {
  return el("p", {
    class: "none",
    text: word("proposals_management", { policy: state ? format.policy(state) : "–" })
  });
}

function createOtherCommand(key, verb, fields, values) {
  return !has(verb) ? null : el("li", null, [
    givesOrders() ? null : el("span", { class: "other-word", text: word(key, values) }),
    createCommand(verb, fields, word(key, values))
  ]);
}

function cardFields(alert, slot) {
  // On the page the sheet asks for what is missing.
  const fields = givesOrders() ? { slot } : { slot: slot || "PLACE", card: "CARD" };
  if (alert.round) {
    fields.round = alert.round;
  }
  return fields;
}

function otherRulings(alert) {
  const proposed = (alert.data.proposals || []).map(each => each.action);
  return (RULINGS[alert.data.kind] || []).concat("stop_shoe").filter(action =>
    !proposed.includes(action));
}

function knownCards(alert, round) {
  return !round || round.number !== alert.round ? [] : round.cards.filter(card => {
    const shown = shownCard(card, round);
    return card.slot && shown && shown !== "?";
  });
}

function createWrongCard(alert, card, title) {
  const button = createCommand("correct-card", { slot: card.slot, round: alert.round }, title);
  setAttribute(button, "data-card-of", card.slot);
  setChildren(button, [
    el("b", { text: format.card(card.card) }), " ",
    el("span", { text: format.place(card.slot) })
  ]);
  return button;
}

function createWrongCards(alert, cards) {
  const title = word("order_correct_card");
  if (!cards.length) {
    return createCommand("correct-card", cardFields(alert, wrongSlot(alert)), title);
  }
  return [
    el("h3", { text: title }),
    ["P", "B"].map(letter => el("div", { class: "cards" },
      cardsOfHand(cards, letter).map(card => createWrongCard(alert, card, title))))
  ];
}

export function showWrongCards(node, state) {
  const box = node.querySelector(".wrong-cards");
  const alert = node.shoeAlert;
  const cards = knownCards(alert, state && state.round);
  if (box) {
    fillOnChange(box, JSON.stringify(cards), () => createWrongCards(alert, cards));
  }
}

/* The slot of a missing or an excess card is not that of the card that was read wrongly. */
function wrongSlot(alert) {
  const kind = alert.data.kind;
  return kind === "source_conflict" || kind === "duplicate_card" ? alert.data.slot : null;
}

function createOtherCommands(alert) {
  const { id, kind, slot } = alert.data;
  const round = alert.round;
  return [
    createOtherCommand("order_acknowledge", "acknowledge", { irregularity: id }),
    CARD_MAY_BE_ENTERED[kind]
      ? createOtherCommand("order_enter_card", "enter-card", cardFields(alert, slot)) : null,
    CARD_MAY_BE_CORRECTED[kind] && !givesOrders() ? createOtherCommand(
      "order_correct_card", "correct-card", cardFields(alert, wrongSlot(alert))) : null,
    round ? createOtherCommand("order_void_round", "void-round", { round }, { round }) : null,
    createOtherCommand("order_rule", "rule",
      { irregularity: id, action: givesOrders() ? otherRulings(alert) : "ACTION" })
  ];
}

function createFolded(alert, open) {
  const list = el("ul", {
    class: open ? "others" : "others hidden",
    id: `others-${alert.data.id}`
  }, createOtherCommands(alert));
  const button = el("button", {
    type: "button",
    class: "unfold",
    "aria-expanded": String(open),
    "aria-controls": `others-${alert.data.id}`,
    text: word("orders_other")
  });
  button.addEventListener("click", () => {
    const opens = button.getAttribute("aria-expanded") !== "true";
    setAttribute(button, "aria-expanded", String(opens));
    setClass(list, "hidden", !opens);
  });
  return [button, list];
}

export function createAlertDetails(alert, state) {
  const proposals = alert.data.proposals || [];
  const node = el("article", {
    class: "alert full",
    "data-alert-id": alert.data.id,
    "data-severity": alert.data.severity,
    "data-kind": alert.data.kind,
    "data-round": alert.round,
    "data-staff": alert.staff_only ? "true" : null
  }, [
    el("header", null, [
      alertHeader(alert),
      sentenceElement("div", "detail", format.alert(alert)),
      alert.staff_only
        ? el("p", { class: "discreet", text: word("alert_staff_only_hint") }) : null,
      createOrdered(alert)
    ]),
    el("div", { class: "answers" }, [
      proposals.length ? el("ol", { class: "proposals" }, proposals.map(each =>
        createProposal(alert, each))) : createNoProposals(state),
      givesOrders() && has("correct-card") && CARD_MAY_BE_CORRECTED[alert.data.kind]
        ? el("div", { class: "wrong-cards" }) : null,
      createFolded(alert, !proposals.some(isOrder))
    ])
  ]);
  node.shoeAlert = alert;
  showWrongCards(node, state);
  return node;
}
