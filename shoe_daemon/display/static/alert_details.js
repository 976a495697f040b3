/*
 * An open alert in full: the sentence, the proposals of the policy, and the commands for them.
 *
 * Shoe.createAlertDetails(alert, state)   <article class="alert full"> with data-alert-id,
 *                             data-severity, data-kind, data-staff (true for alerts for staff
 *                             only); in it one <li class="proposal"> for each proposal with
 *                             data-action and data-verified ("true", "false"), and the command
 *                             lines of command_line.js. Where the page gives orders, and a card
 *                             that was read wrongly may be the cause: .wrong-cards, one button
 *                             for each card on the table, with data-card-of (the slot)
 * Shoe.showWrongCards(node, state)        shows the cards now on the table on such an article
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var CARD_MAY_BE_ENTERED = { unreadable_card: true, source_conflict: true };
  var CARD_MAY_BE_CORRECTED = {
    result_mismatch: true, source_conflict: true, duplicate_card: true, missing_draw: true,
    excess_card: true, wrong_hand: true, player_third_unauthorised: true
  };
  /* Rulings that a supervisor may choose without a proposal, besides those with a button of their own. */
  /* generated: rulings, from shoe_daemon/table/checks */
  var RULINGS = {
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
    var name = proposal.verified ? "verified" : "proposal_not_verified";
    return Shoe.el("span", {
      "class": proposal.verified ? "verified" : "unverified",
      title: Shoe.word(proposal.verified ? "verified_hint" : "unverified_hint"),
      text: Shoe.word(name)
    });
  }

  /* That a supervisor decides is what a dealer has to know; the decision is another order. */
  function isOrder(proposal) {
    return proposal.action !== "supervisor";
  }

  function createEffect(action) {
    var key = "effect_" + action;
    return Shoe.hasWord(key) ? Shoe.el("p", { "class": "effect", text: Shoe.word(key) }) : null;
  }

  function givesOrders() {
    return Boolean(Shoe.page().order_verbs);
  }

  /* Whether the role of who is logged in has an order. */
  function has(verb) {
    return !givesOrders() || Shoe.operator.may(verb);
  }

  function createCommand(verb, fields, title) {
    if (!has(verb)) {
      return Shoe.el("p", { "class": "hint", text: Shoe.word("supervisor_decides") });
    }
    if (givesOrders()) {
      return Shoe.orderSheet[verb === "acknowledge" ? "decision" : "button"](verb, fields, title);
    }
    var line = Shoe.commands.commandLine(verb, fields);
    return line ? Shoe.commands.createElement(line)
      : Shoe.el("p", { "class": "hint", text: Shoe.word("order_unsafe") });
  }

  function createCitation(proposal) {
    return Shoe.el("cite", null, [
      Shoe.sentenceElement("span", null, Shoe.phrase(proposal.authority)),
      Shoe.word("cite_comma"),
      Shoe.sentenceElement("span", null, Shoe.phrase(proposal.section))
    ]);
  }

  /* Entering the card is what the proposal asks for; a ruling before it would be one order more. */
  function createProposalCommand(alert, proposal) {
    var title = Shoe.format.action(proposal.action);
    if (givesOrders() && proposal.action === "manual_entry" && alert.data.kind === "unreadable_card") {
      return createCommand("enter-card", cardFields(alert, alert.data.slot), title);
    }
    var fields = { irregularity: alert.data.id, action: proposal.action };
    (proposal.needs || []).forEach(function (name) {
      fields[name] = givesOrders() ? [] : name.toUpperCase();
    });
    return createCommand("rule", fields, title);
  }

  function createProposal(alert, proposal) {
    return Shoe.el("li", {
      "class": "proposal",
      "data-action": proposal.action,
      "data-verified": String(Boolean(proposal.verified))
    }, [
      Shoe.el("div", { "class": "proposal-head" }, [
        Shoe.el("b", { text: Shoe.format.action(proposal.action) }),
        createVerified(proposal)
      ]),
      Shoe.el("p", { "class": "says" }, [
        Shoe.sentenceElement("q", null, Shoe.sentence(proposal, proposal.text)),
        createCitation(proposal)
      ]),
      isOrder(proposal) ? [
        createEffect(proposal.action), createProposalCommand(alert, proposal)
      ] : null
    ]);
  }

  function createNoProposals(state) {
    return Shoe.el("p", {
      "class": "none",
      text: Shoe.word("proposals_management", { policy: state ? Shoe.format.policy(state) : "–" })
    });
  }

  function createOtherCommand(word, verb, fields, values) {
    return !has(verb) ? null : Shoe.el("li", null, [
      givesOrders() ? null
        : Shoe.el("span", { "class": "other-word", text: Shoe.word(word, values) }),
      createCommand(verb, fields, Shoe.word(word, values))
    ]);
  }

  function cardFields(alert, slot) {
    // On the page the sheet asks for what is missing.
    var fields = givesOrders() ? { slot: slot } : { slot: slot || "PLACE", card: "CARD" };
    if (alert.round) {
      fields.round = alert.round;
    }
    return fields;
  }

  function otherRulings(alert) {
    var proposed = (alert.data.proposals || []).map(function (each) { return each.action; });
    return (RULINGS[alert.data.kind] || []).concat("stop_shoe").filter(function (action) {
      return proposed.indexOf(action) < 0;
    });
  }

  function knownCards(alert, round) {
    return !round || round.number !== alert.round ? [] : round.cards.filter(function (card) {
      var shown = Shoe.shownCard(card, round);
      return card.slot && shown && shown !== "?";
    });
  }

  function createWrongCard(alert, card, title) {
    var button = createCommand("correct-card", { slot: card.slot, round: alert.round }, title);
    Shoe.setAttribute(button, "data-card-of", card.slot);
    Shoe.setChildren(button, [
      Shoe.el("b", { text: Shoe.format.card(card.card) }), " ",
      Shoe.el("span", { text: Shoe.format.place(card.slot) })
    ]);
    return button;
  }

  function createWrongCards(alert, cards) {
    var title = Shoe.word("order_correct_card");
    return !cards.length ? createCommand("correct-card", cardFields(alert, wrongSlot(alert)), title) : [
      Shoe.el("h3", { text: title }),
      ["P", "B"].map(function (letter) {
        return Shoe.el("div", { "class": "cards" }, cards.filter(function (card) {
          return card.slot.charAt(0) === letter;
        }).map(function (card) { return createWrongCard(alert, card, title); }));
      })
    ];
  }

  Shoe.showWrongCards = function (node, state) {
    var box = node.querySelector(".wrong-cards");
    var alert = node.shoeAlert;
    var cards = knownCards(alert, state && state.round);
    if (box) {
      Shoe.fillOnChange(box, JSON.stringify(cards), function () {
        return createWrongCards(alert, cards);
      });
    }
  };

  /* The slot of a missing or an excess card is not that of the card that was read wrongly. */
  function wrongSlot(alert) {
    var kind = alert.data.kind;
    return kind === "source_conflict" || kind === "duplicate_card" ? alert.data.slot : null;
  }

  function createOtherCommands(alert) {
    var kind = alert.data.kind;
    var id = alert.data.id;
    return [
      createOtherCommand("order_acknowledge", "acknowledge", { irregularity: id }),
      CARD_MAY_BE_ENTERED[kind]
        ? createOtherCommand("order_enter_card", "enter-card", cardFields(alert, alert.data.slot)) : null,
      CARD_MAY_BE_CORRECTED[kind] && !givesOrders()
        ? createOtherCommand("order_correct_card", "correct-card", cardFields(alert, wrongSlot(alert))) : null,
      alert.round ? createOtherCommand("order_void_round", "void-round", { round: alert.round },
        { round: alert.round }) : null,
      createOtherCommand("order_rule", "rule",
        { irregularity: id, action: givesOrders() ? otherRulings(alert) : "ACTION" })
    ];
  }

  function createFolded(alert, open) {
    var list = Shoe.el("ul", {
      "class": open ? "others" : "others hidden",
      id: "others-" + alert.data.id
    }, createOtherCommands(alert));
    var button = Shoe.el("button", {
      type: "button",
      "class": "unfold",
      "aria-expanded": String(open),
      "aria-controls": "others-" + alert.data.id,
      text: Shoe.word("orders_other")
    });
    button.addEventListener("click", function () {
      var opens = button.getAttribute("aria-expanded") !== "true";
      Shoe.setAttribute(button, "aria-expanded", String(opens));
      Shoe.setClass(list, "hidden", !opens);
    });
    return [button, list];
  }

  Shoe.createAlertDetails = function (alert, state) {
    var proposals = alert.data.proposals || [];
    var node = Shoe.el("article", {
      "class": "alert full",
      "data-alert-id": alert.data.id,
      "data-severity": alert.data.severity,
      "data-kind": alert.data.kind,
      "data-round": alert.round,
      "data-staff": alert.staff_only ? "true" : null
    }, [
      Shoe.el("header", null, [
        Shoe.alertHeader(alert),
        Shoe.sentenceElement("div", "detail", Shoe.format.alert(alert)),
        alert.staff_only
          ? Shoe.el("p", { "class": "discreet", text: Shoe.word("alert_staff_only_hint") }) : null,
        Shoe.createOrdered(alert)
      ]),
      Shoe.el("div", { "class": "answers" }, [
        proposals.length ? Shoe.el("ol", { "class": "proposals" }, proposals.map(function (each) {
          return createProposal(alert, each);
        })) : createNoProposals(state),
        givesOrders() && has("correct-card") && CARD_MAY_BE_CORRECTED[alert.data.kind]
          ? Shoe.el("div", { "class": "wrong-cards" }) : null,
        createFolded(alert, !proposals.some(isOrder))
      ])
    ]);
    node.shoeAlert = alert;
    Shoe.showWrongCards(node, state);
    return node;
  };
}());
