/*
 * The sheet on which an order is prepared: choose, see what the table would do, give it.
 *
 * Shoe.orderSheet.open(table, verb, fields, title, direct, then)   opens it for an order to a table (its
 *                             key); fields that the order takes and that are missing are asked
 *                             for; of a list, one is chosen. A direct order is given without a preview, and the sheet closes
 *                             by itself once it is carried out; then() is called. A field may be
 *                             a function, which is called when the order is given
 * Shoe.orderSheet.button(verb, fields, title, direct)   a button that opens it for the table of
 *                             the page, Shoe.orderSheet.table()
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
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var STORAGE_KEY = "shoe-operator";
  var RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];
  var SUITS = ["S", "H", "C", "D"];
  var SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
  var OUTCOMES = ["player", "banker", "tie"];
  var CHOICES = { "correct-card": ["slot", "card"], "enter-card": ["card"], "enter-result": ["outcome"],
    rule: ["action"] };

  var sheet = {};
  var now = null;
  var opener = null;
  Shoe.orderSheet = sheet;

  function byId(id) { return Shoe.byId(id); }

  function button(word, name, action, more) {
    var made = Shoe.el("button", { type: "button", "class": "big " + name, id: more });
    Shoe.setText(made, word);
    made.addEventListener("click", action);
    return made;
  }

  function show(step, children) {
    Shoe.setAttribute(byId("sheet"), "data-step", step);
    Shoe.setChildren(byId("sheet-body"), children);
    byId("sheet-body").scrollTop = 0;
    // The focus is on a button, which does not tell what happened.
    Array.prototype.forEach.call(byId("sheet-body").querySelectorAll(".told"), function (node) {
      Shoe.setAttribute(node, "role", step === "asked" ? "status" : "alert");
    });
    var first = byId("sheet-body").querySelector("input, button") || byId("sheet-close");
    first.focus();
  }

  function refusedText(outcome) {
    var key = "refused_" + outcome.code;
    return Shoe.hasWord(key) ? { text: Shoe.word(key) } : Shoe.sentence(outcome, outcome.refused);
  }

  /* Who. */

  function rememberedName() {
    try {
      return window.localStorage.getItem(STORAGE_KEY);
    } catch (error) {
      return null;
    }
  }

  function rememberName(name) {
    try {
      window.localStorage.setItem(STORAGE_KEY, name);
    } catch (error) {
      // Without storage the name is chosen anew.
      return;
    }
  }

  function pinField() {
    return Shoe.el("label", { "class": "pin" }, [
      Shoe.el("span", { text: Shoe.word("sheet_pin") }),
      Shoe.el("input", {
        id: "sheet-pin", type: "password", inputmode: "numeric", autocomplete: "off",
        maxlength: "64", autocapitalize: "off", spellcheck: "false"
      })
    ]);
  }

  function reasonField() {
    var field = Shoe.el("input", { id: "sheet-reason", maxlength: "200", autocomplete: "off" });
    field.value = now.fields.reason || "";
    return Shoe.el("label", { "class": "pin reason" },
      [Shoe.el("span", { text: Shoe.word("sheet_reason") }), field]);
  }

  /* Only the pit tells who may log in; elsewhere the last name is remembered. */
  function nameField() {
    var field = Shoe.el("input", {
      id: "sheet-name", maxlength: "60", autocomplete: "off", spellcheck: "false"
    });
    field.value = rememberedName() || "";
    return Shoe.el("label", { "class": "pin" },
      [Shoe.el("span", { text: Shoe.word("sheet_name") }), field]);
  }

  function onEnter(node, action) {
    node.addEventListener("keydown", function (event) {
      if (event.keyCode === 13) {
        event.preventDefault();
        action();
      }
    });
  }

  function showLogIn(why) {
    var names = Shoe.page().operators || [];
    var known = names.length > 0;
    var isAsked = false;
    var chosen = names.indexOf(rememberedName()) >= 0 ? rememberedName() : names[0];
    var list = Shoe.el("div", { "class": "names" }, names.map(function (name) {
      var made = button(name, "name", function () { choose(name); });
      Shoe.setAttribute(made, "data-operator", name);
      return made;
    }));

    function choose(name) {
      chosen = name;
      Array.prototype.forEach.call(list.children, function (node) {
        Shoe.setAttribute(node, "aria-pressed",
          String(node.getAttribute("data-operator") === chosen));
      });
      if (byId("sheet-pin")) {
        byId("sheet-pin").focus();
      }
    }

    function logIn() {
      var pin = byId("sheet-pin").value;
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
      Shoe.operator.logIn(chosen, pin, function (outcome) {
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

    if (Shoe.operator.refused) {
      show("refused", Shoe.el("p", { "class": "told bad", id: "sheet-told",
        text: Shoe.word("refused_plain_http") }));
      return;
    }
    choose(chosen);
    show("log-in", [
      why ? Shoe.sentenceElement("p", "told bad", why) : null,
      Shoe.el("h3", { text: Shoe.word("sheet_who") }), known ? list : nameField(), pinField(),
      button(Shoe.word("sheet_log_in"), "do", logIn, "sheet-do")
    ]);
    if (known || byId("sheet-name").value) {
      byId("sheet-pin").focus();
    }
    onEnter(byId("sheet-pin"), logIn);
  }

  /* What: a slot, a card, an outcome. */

  function choiceButton(name, value, content) {
    var made = Shoe.el("button", {
      type: "button", "class": "choice", "data-choice": value
    }, content);
    made.addEventListener("click", function () {
      now.fields[name] = value;
      if (name === "action") {
        setTitle(Shoe.format.action(value));
      }
      next();
    });
    return made;
  }

  function setTitle(title) {
    now.title = title;
    Shoe.setText(byId("sheet-title"), title);
  }

  /* The cards on the table, unless the order is about another round. */
  function cardsOf(round) {
    var cards = {};
    var isAnother = round && now.fields.round && now.fields.round !== round.number;
    (round && !isAnother ? round.cards : []).forEach(function (card) {
      if (card.slot) {
        cards[card.slot] = Shoe.shownCard(card, round);
      }
    });
    return cards;
  }

  function createSlots() {
    var cards = cardsOf(now.round());
    var known = SLOTS.filter(function (slot) { return slot in cards; });
    return Shoe.el("div", { "class": "slots" }, (known.length ? known : SLOTS).map(function (slot) {
      return choiceButton("slot", slot, [
        Shoe.el("span", { text: Shoe.format.place(slot) }),
        slot in cards ? Shoe.drawCard(cards[slot]) : null
      ]);
    }));
  }

  function createDeck() {
    return Shoe.el("div", { "class": "deck" }, SUITS.map(function (suit) {
      return Shoe.el("div", { "class": "suit suit-" + suit }, RANKS.map(function (rank) {
        return choiceButton("card", rank + suit, Shoe.format.card(rank + suit));
      }));
    }));
  }

  function createOutcomes() {
    return Shoe.el("div", { "class": "outcomes" }, OUTCOMES.map(function (outcome) {
      return choiceButton("outcome", outcome, Shoe.format.outcome(outcome));
    }));
  }

  function createActions() {
    return Shoe.el("div", { "class": "actions" }, now.fields.action.map(function (action) {
      return choiceButton("action", action, Shoe.format.action(action));
    }));
  }

  var CHOOSERS = {
    slot: createSlots, card: createDeck, outcome: createOutcomes, action: createActions
  };

  function showChoice(name) {
    show("choose", [
      // The title of the sheet asks for an action.
      name === "action" ? null : Shoe.el("h3", { text: Shoe.word("sheet_choose_" + name, {
        slot: now.fields.slot ? Shoe.format.place(now.fields.slot) : ""
      }) }),
      CHOOSERS[name]()
    ]);
  }

  /* What the table would do. */

  /* The cards of a hand: [slot, what to draw]. The history knows no slots, but their order. */
  function handCards(found, letter) {
    if (found.state) {
      return found.state.cards.filter(function (card) {
        return card.slot ? card.slot.charAt(0) === letter : letter === "P";
      }).map(function (card) { return [card.slot, Shoe.shownCard(card, found.state)]; });
    }
    return (letter === "P" ? found.history.player : found.history.banker)
      .map(function (card, place) { return [letter + (place + 1), card === null ? "?" : card]; });
  }

  function outcomeOf(row) {
    if (!row) {
      return { tone: "none", text: Shoe.word("sheet_no_result") };
    }
    if (row.voided || row.aborted) {
      return { tone: "none", text: Shoe.word(row.voided ? "round_void" : "round_aborted") };
    }
    return { tone: row.outcome || "none", text: row.held ? Shoe.word("result_held")
      : Shoe.format.outcome(row.outcome) };
  }

  function createRound(found, name) {
    var totals = found.state || found.history;
    var outcome = outcomeOf(found.history);
    return Shoe.el("div", { "class": "change " + name }, [
      Shoe.el("h3", { text: Shoe.word("sheet_" + name, { round: found.round }) }),
      Shoe.el("div", { "class": "hands" }, ["P", "B"].map(function (letter) {
        return Shoe.el("div", { "class": letter === "P" ? "hand player" : "hand banker" }, [
          Shoe.el("span", { "class": "points", text: Shoe.formatNumber(
            letter === "P" ? totals.player_total : totals.banker_total) }),
          Shoe.el("div", { "class": "cards" }, handCards(found, letter).map(function (card) {
            return Shoe.el("span", { "data-slot": card[0], "data-card": card[1] || "" },
              Shoe.drawCard(card[1]));
          }))
        ]);
      })),
      Shoe.el("p", { "class": "outcome " + outcome.tone, text: outcome.text })
    ]);
  }

  function createPreview(preview) {
    var events = preview.events.map(function (event) {
      var text = Shoe.format.event(event);
      return Shoe.el("li", { "data-type": event.type }, [text.text,
        text.more.slice(0, 1).map(function (more) {
          return Shoe.el("span", { "class": "more", text: more });
        })]);
    });
    return [
      Shoe.el("h3", { text: Shoe.word("sheet_would") }),
      events.length ? Shoe.el("ul", { "class": "would" }, events)
        : Shoe.el("p", { text: Shoe.word(preview.faces_hidden ? "sheet_would_hidden"
          : "sheet_would_nothing") }),
      preview.left_out ? Shoe.el("p", { "class": "hint",
        text: Shoe.word("sheet_left_out", { count: preview.left_out }) }) : null,
      Shoe.el("div", { "class": "changes" }, [
        preview.before ? createRound(preview.before, "before") : null,
        preview.after ? createRound(preview.after, "after") : null
      ])
    ];
  }

  /* Some orders always take the PIN; of others the table tells, with the preview. */
  function needsPin() {
    return now.needsPin || Boolean((Shoe.page().order_verbs || {})[now.verb]);
  }

  function showPreview(preview) {
    var asksPin;
    var fields;

    function go() {
      var field = byId("sheet-pin");
      var empty = fields.filter(function (each) { return !each.value.trim(); })[0];
      if (empty) {
        empty.focus();
        return;
      }
      execute(preview.seq, field ? field.value : now.pin);
    }

    now.needsPin = Boolean(preview.needs_pin);
    asksPin = needsPin() && !now.pin;

    show("preview", [
      now.why ? Shoe.sentenceElement("p", "told bad", now.why) : null,
      createPreview(preview),
      preview.needs_reason ? reasonField() : null,
      asksPin ? pinField() : null,
      button(now.title, "do", go, "sheet-do")
    ]);
    now.why = null;
    fields = [byId("sheet-reason"), byId("sheet-pin")].filter(Boolean);
    fields.forEach(function (field) { onEnter(field, go); });
    if (byId("sheet-reason")) {
      byId("sheet-reason").addEventListener("input", function (event) {
        now.fields.reason = event.target.value.trim();
      });
    }
    (fields[0] || byId("sheet-do")).focus();
  }

  function send(order, then, unanswered) {
    var mine = now;
    if (now.stop) {
      now.stop();
    }
    now.stop = Shoe.operator.send(now.table, now.verb, order, function (outcome) {
      if (now === mine) {
        then(outcome);
      }
    }, unanswered);
  }

  function withFields(more) {
    var order = { id: Shoe.operator.createId() };
    [now.fields, more].forEach(function (fields) {
      Object.keys(fields).forEach(function (name) {
        var value = typeof fields[name] === "function" ? fields[name]() : fields[name];
        if (value !== null && value !== undefined) {
          order[name] = value;
        }
      });
    });
    return order;
  }

  function askPreview() {
    show("asked", Shoe.el("p", { "class": "told", text: Shoe.word("sheet_asking") }));
    send(withFields({ dry_run: true }), function (outcome) {
      if (outcome.reply && outcome.reply.ok && outcome.reply.preview) {
        showPreview(outcome.reply.preview);
      } else {
        showFailure(outcome, askPreview);
      }
    });
  }

  function execute(seq, pin) {
    give(withFields({ expects_seq: seq, pin: needsPin() ? pin : null }));
  }

  /* What the order needs may have changed since the preview; a direct one has none. */
  function isLacking(reply) {
    return Boolean(reply) && !reply.earlier &&
      (reply.detail_code === "refused_needs_pin" || reply.detail_code === "refused_needs_reason");
  }

  function give(order) {
    var before = now.unanswered;
    show("asked", Shoe.el("p", { "class": "told", text: Shoe.word("sheet_asked") }));
    send(order, function (outcome) {
      // Sent again, it needs no PIN, and the page keeps none.
      delete order.pin;
      var reply = outcome.reply;
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
      var decided = reply && (reply.earlier || reply);
      if (decided && decided.ok) {
        if (now.direct) {
          finish(now.then);
        } else {
          showDone();
        }
      } else if (outcome.code === "pin" || isLacking(reply)) {
        now.pin = null;
        now.why = reply ? Shoe.sentence(reply, reply.refused)
          : Shoe.sentence(outcome, outcome.refused);
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
    sheet.close();
    if (then) {
      then();
    }
  }

  function showDone() {
    show("done", [
      Shoe.el("p", { "class": "told good", id: "sheet-told",
        text: Shoe.word("sheet_done", { order: now.title }) }),
      button(Shoe.word("sheet_close"), "do", sheet.close, "sheet-do")
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
      show("lost", Shoe.el("p", { "class": "told", id: "sheet-told",
        text: Shoe.word("sheet_waiting") }));
      return;
    }
    if (outcome.code === "session") {
      showLogIn({ text: Shoe.word("refused_session") });
      return;
    }
    var decided = outcome.reply && (outcome.reply.earlier || outcome.reply);
    var why = decided ? Shoe.sentence(decided, decided.refused) : refusedText(outcome);
    var told = Shoe.sentenceElement("p", "told bad", why);
    told.id = "sheet-told";
    show("refused", [
      Shoe.el("h3", { text: Shoe.word("sheet_refused") }), told,
      takesAnother(outcome, decided)
        ? button(Shoe.word("sheet_log_in"), "again", function () { showLogIn(null); }, "sheet-do")
        : button(Shoe.word("sheet_again"), "again", again, "sheet-do"),
      button(Shoe.word("sheet_close"), "close", sheet.close)
    ]);
  }

  /* The steps. */

  function next() {
    // A proposal may need a field that its order does not always have.
    var asked = Object.keys(now.fields).filter(function (name) {
      return Array.isArray(now.fields[name]);
    });
    var missing = (CHOICES[now.verb] || []).concat(asked).filter(function (name) {
      var value = now.fields[name];
      return value === undefined || value === null || Array.isArray(value);
    });
    if (missing.length) {
      showChoice(missing[0]);
    } else if (!Shoe.operator.name) {
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
    var close = button("×", "close", sheet.close, "sheet-close");
    Shoe.setAttribute(close, "aria-label", Shoe.word("sheet_close"));
    var box = Shoe.el("div", {
      id: "sheet", "class": "sheet hidden", role: "dialog", "aria-modal": "true",
      "aria-labelledby": "sheet-title"
    }, Shoe.el("div", { "class": "sheet-box" }, [
      Shoe.el("div", { "class": "sheet-head" }, [Shoe.el("h2", { id: "sheet-title" }), close]),
      Shoe.el("div", { id: "sheet-body" })
    ]));
    document.body.appendChild(box);
    document.addEventListener("keydown", function (event) {
      if (now && event.keyCode === 27) {
        sheet.close();
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
    var all = box.querySelectorAll("button, input");
    var first = all[0];
    var last = all[all.length - 1];
    if (event.shiftKey && document.activeElement === first) {
      event.preventDefault();
      last.focus();
    } else if (!event.shiftKey && document.activeElement === last) {
      event.preventDefault();
      first.focus();
    }
  }

  sheet.open = function (table, verb, fields, title, direct, then) {
    if (!byId("sheet")) {
      build();
    }
    opener = document.activeElement;
    now = { table: table, verb: verb, fields: {}, title: title, pin: null, needsPin: false, why: null,
      unanswered: null, direct: Boolean(direct), then: then, round: sheet.round };
    Object.keys(fields || {}).forEach(function (name) { now.fields[name] = fields[name]; });
    setTitle(title);
    Shoe.setAttribute(byId("sheet"), "data-verb", verb);
    Shoe.setClass(byId("sheet"), "hidden", false);
    Shoe.setClass(document.body, "behind", true);
    next();
  };

  sheet.close = function () {
    if (now && now.stop) {
      now.stop();
    }
    now = null;
    Shoe.setClass(byId("sheet"), "hidden", true);
    Shoe.setClass(document.body, "behind", false);
    Shoe.setChildren(byId("sheet-body"), null);
    // A field that lost its page would keep the PIN.
    if (opener && document.body.contains(opener)) {
      opener.focus();
    }
  };

  /* Set by the page: the round whose cards can be chosen. */
  sheet.round = function () { return null; };

  /* Set by the page: the key of its table, which the page may know later than its buttons. */
  sheet.table = function () { return null; };

  sheet.button = function (verb, fields, title, direct) {
    var made = button(title, "order-button", function () {
      sheet.open(sheet.table(), verb, fields, title, direct);
    });
    Shoe.setAttribute(made, "data-order", verb);
    if (fields && typeof fields.action === "string") {
      Shoe.setAttribute(made, "data-action", fields.action);
    }
    return made;
  };
}());
