/*
 * An open alert in full: the sentence, the proposals of the policy, and the commands for them.
 *
 * Shoe.createAlertDetails(alert, state)   <article class="alert full"> with data-alert-id,
 *                             data-severity, data-kind, data-staff (true for alerts for staff
 *                             only); in it one <li class="proposal"> for each proposal with
 *                             data-action and data-verified ("true", "false"), and the command
 *                             lines of command_line.js
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var CARD_MAY_BE_ENTERED = { unreadable_card: true, source_conflict: true };
  var CARD_MAY_BE_CORRECTED = {
    result_mismatch: true, source_conflict: true, duplicate_card: true
  };

  function createVerified(proposal) {
    var name = proposal.verified ? "verified" : "proposal_not_verified";
    return Shoe.el("span", {
      "class": proposal.verified ? "verified" : "unverified",
      title: Shoe.word(proposal.verified ? "verified_hint" : "unverified_hint"),
      text: Shoe.word(name)
    });
  }

  function createEffect(action) {
    var key = "effect_" + action;
    return Shoe.hasWord(key) ? Shoe.el("p", { "class": "effect", text: Shoe.word(key) }) : null;
  }

  function givesOrders() {
    return Boolean(Shoe.page().order_verbs);
  }

  function createCommand(verb, fields, title) {
    if (givesOrders()) {
      return Shoe.orderSheet.button(Shoe.page().key, verb, fields, title);
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
      createEffect(proposal.action),
      createCommand("rule", { irregularity: alert.data.id, action: proposal.action },
        Shoe.format.action(proposal.action))
    ]);
  }

  function createNoProposals(state) {
    return Shoe.el("p", {
      "class": "none",
      text: Shoe.word("proposals_management", { policy: state ? Shoe.format.policy(state) : "–" })
    });
  }

  function createOtherCommand(word, verb, fields, values) {
    return Shoe.el("li", null, [
      givesOrders() ? null
        : Shoe.el("span", { "class": "other-word", text: Shoe.word(word, values) }),
      createCommand(verb, fields, Shoe.word(word, values))
    ]);
  }

  function cardFields(alert) {
    // On the page the sheet asks for what is missing.
    var fields = givesOrders() ? { slot: alert.data.slot }
      : { slot: alert.data.slot || "PLACE", card: "CARD" };
    if (alert.round) {
      fields.round = alert.round;
    }
    return fields;
  }

  function createOtherCommands(alert) {
    var kind = alert.data.kind;
    var id = alert.data.id;
    return [
      createOtherCommand("order_acknowledge", "acknowledge", { irregularity: id }),
      CARD_MAY_BE_ENTERED[kind]
        ? createOtherCommand("order_enter_card", "enter-card", cardFields(alert)) : null,
      CARD_MAY_BE_CORRECTED[kind]
        ? createOtherCommand("order_correct_card", "correct-card", cardFields(alert)) : null,
      alert.round ? createOtherCommand("order_void_round", "void-round", { round: alert.round },
        { round: alert.round }) : null,
      givesOrders() ? null
        : createOtherCommand("order_rule", "rule", { irregularity: id, action: "ACTION" })
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
    return Shoe.el("article", {
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
          ? Shoe.el("p", { "class": "discreet", text: Shoe.word("alert_staff_only_hint") }) : null
      ]),
      Shoe.el("div", { "class": "answers" }, [
        proposals.length ? Shoe.el("ol", { "class": "proposals" }, proposals.map(function (each) {
          return createProposal(alert, each);
        })) : createNoProposals(state),
        createFolded(alert, !proposals.length)
      ])
    ]);
  };
}());
