/*
 * What the board says in its middle: whose card is due, who won, what the table waits for.
 *
 * Shoe.drawStatus(state, notice)   draws it and marks the winning hand
 *     notice: {loud: true for the seconds after a result, revised: the seq of a result that took
 *              the place of another one}
 *   returns {say, text}: what it is, and the sentence for those who listen ("" for nothing)
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SIDES = ["player", "banker"];

  var word = Shoe.word;
  var el = Shoe.el;
  var byId = Shoe.byId;

  function resultOf(state) {
    var last = state.last_result;
    return last && state.shoe && last.shoe === state.shoe.number ? last : null;
  }

  function outcomeWord(outcome) {
    return word({ player: "player_wins", banker: "banker_wins", tie: "tie_result" }[outcome] ||
      "no_result");
  }

  function hasOpenResult(state) {
    var last = resultOf(state);
    return last && (!state.round || (state.round.finished && state.round.number === last.round));
  }

  function dealing(state) {
    return Boolean(state.round) && !state.round.finished;
  }

  /* A result that is held waits; the round after it may be under way meanwhile. */
  function waits(state) {
    return state.held.length > 0 &&
      (!dealing(state) || state.held.indexOf(state.round.number) >= 0);
  }

  /* What stands in the middle: {say, main, more, wait}. */
  function situation(state, loud) {
    var round = state.round;
    if (state.on_hold) {
      return { say: "hold", main: word("on_hold"), more: word("supervisor_decides"), wait: true };
    }
    if (waits(state)) {
      return {
        say: "held", main: word("supervisor_decides"), more: word("result_held"), wait: true
      };
    }
    if (dealing(state) && round.draw_due) {
      return { say: "draw", main: drawWord(round), more: "" };
    }
    if (hasOpenResult(state) && (round || loud)) {
      return { say: "result", main: outcomeWord(state.last_result.data.outcome), more: "" };
    }
    if (round && round.finished) {
      return {
        say: "complete", main: word(round.partial ? "no_result" : "draw_complete"), more: ""
      };
    }
    return between(state);
  }

  function between(state) {
    var more = state.shoe && state.shoe.last_round ? word("last_round_next") : "";
    if (!state.shoe) {
      return { say: "shoe_change", main: word("shoe_change"), more: word("waiting_for_shoe") };
    }
    if (state.betting === "open") {
      return { say: "betting_open", main: word("place_your_bets"), more: more };
    }
    if (state.betting === "closed") {
      return { say: "betting_closed", main: word("no_more_bets"), more: more };
    }
    if (!state.counts || !state.counts.rounds) {
      return { say: "first_round", main: word("new_shoe"), more: word("waiting_for_first_round") };
    }
    if (more) {
      return { say: "last_round", main: word("last_round"), more: more };
    }
    return { say: "first_card", main: word("waiting_for_first_card"), more: "" };
  }

  function drawWord(round) {
    var due = round.draw_due;
    var key = "draw_" + due.code + (due.code === "dealing" ? "_" + due.hand : "");
    if (Shoe.isDrawUnknown(round)) {
      return word("draw_card_unread");
    }
    return Shoe.hasWord(key) ? word(key) : due.text;
  }

  function wagerName(id) {
    return Shoe.hasWord("wager_" + id) ? word("wager_" + id) : id.replace(/_/g, " ");
  }

  function chip(kind, text, odds, note) {
    return el("li", { "data-chip": kind, "class": note ? "note" : null }, [
      text, odds ? el("b", { text: " " + odds }) : null
    ]);
  }

  function won(last) {
    return last.data.wagers.filter(function (wager) {
      return wager.result === "win" && wager.wager !== "player" && wager.wager !== "banker";
    });
  }

  function naturalOf(last) {
    var best = SIDES.filter(function (side) {
      return last.data[side].natural;
    }).map(function (side) {
      return last.data[side].total;
    });
    return best.length ? Math.max.apply(null, best) : null;
  }

  function notes(last, revised) {
    var list = [];
    if (revised === last.seq) {
      list.push(["revised", "result_revised"]);
    }
    if (last.entered) {
      list.push(["entered", "result_entered"]);
    }
    if (last.data.kind === "free" || last.data.kind === "dummy") {
      list.push([last.data.kind, last.data.kind + "_hand"]);
    }
    if (last.data.partial) {
      list.push(["partial", "partial_round"]);
    }
    return list.map(note);
  }

  function note(kind) {
    return chip(kind[0], word(kind[1]), null, true);
  }

  /* Of a round that goes on: that something of it is missing, or that an earlier one waits. */
  function remarks(state) {
    return [
      state.round && state.round.partial ? note(["partial", "partial_round"]) : null,
      state.held.length && !waits(state) ? note(["held", "result_held"]) : null
    ];
  }

  function chips(last, revised) {
    var wagers = won(last);
    var paid = {};
    var natural = naturalOf(last);
    wagers.forEach(function (wager) {
      paid[wager.wager] = true;
    });
    return [
      natural === null ? null : chip("natural", word("natural_total", { total: natural })),
      SIDES.map(function (side) {
        var kind = side + "_pair";
        return last.data[side].pair && !paid[kind] ? chip(kind, word(kind)) : null;
      }),
      wagers.map(function (wager) {
        return chip(wager.wager, wagerName(wager.wager), wager.pays);
      }),
      notes(last, revised)
    ];
  }

  function score(last) {
    return word("player") + " " + Shoe.formatNumber(last.data.player.total) + "  ·  " +
      word("banker") + " " + Shoe.formatNumber(last.data.banker.total);
  }

  function before(state) {
    var last = resultOf(state);
    return last && state.held.indexOf(last.round) < 0
      ? word("round_number", { number: last.round }) + ": " + outcomeWord(last.data.outcome) : "";
  }

  function winners(result) {
    SIDES.forEach(function (side) {
      var won = Boolean(result) && result.data.outcome === side;
      Shoe.fillOnChange(byId(side).querySelector("h2"), String(won), function () {
        return el("span", { text: won ? outcomeWord(side) : word(side) });
      });
      Shoe.setClass(byId(side), "won", won);
      Shoe.setClass(byId(side), "tied", Boolean(result) && result.data.outcome === "tie");
      Shoe.setClass(byId(side), "lost", Boolean(result) && result.data.outcome === other(side));
    });
  }

  function other(side) {
    return side === "player" ? "banker" : "player";
  }

  /* Made anew where anything of it differs, so that nothing in it moves. */
  function lines(what, result, list) {
    var chipList = el("ul", { id: "chips" }, list);
    Shoe.setClass(byId("status"), "busy", chipList.children.length > 2);
    Shoe.setClass(chipList, "many", chipList.children.length > 4);
    return [
      result ? el("p", { id: "kicker", text: score(result) }) : null,
      el("p", { id: "say", text: what.main, "data-size": Shoe.textSize(what.main) }),
      what.more ? el("p", { id: "more", text: what.more }) : null,
      chipList
    ];
  }

  function paint(what, result, loud) {
    var node = byId("centre");
    Shoe.setAttribute(node, "data-say", what.say);
    Shoe.setAttribute(node, "data-outcome", result ? result.data.outcome : null);
    Shoe.setClass(node, "loud", loud);
    Shoe.setClass(node, "calm", Boolean(result) && !loud);
    Shoe.setClass(node, "wait", Boolean(what.wait));
    Shoe.setClass(document.body, "loud-result", loud);
    winners(result);
  }

  Shoe.drawStatus = function (state, notice) {
    var what = situation(state, notice.loud);
    var result = what.say === "result" ? state.last_result : null;
    var shown = [what, result || [state.round && state.round.partial, state.held], notice.revised];
    paint(what, result, Boolean(result) && notice.loud);
    Shoe.fillOnChange(byId("status"), JSON.stringify(shown), function () {
      return lines(what, result, result ? chips(result, notice.revised) : remarks(state));
    });
    Shoe.setText(byId("before"), result ? "" : before(state));
    return {
      say: what.say,
      text: result ? before(state) + ". " + score(result)
        : what.wait ? what.main + ". " + what.more : ""
    };
  };
}());
