/*
 * The rounds of this shoe, and the last shoes. Public: without alerts.
 *
 * Documents: `board`, `roads`, `history`, `beat`.
 *
 * For tests:
 *     body                  data-key, data-fresh (fresh.is), data-lost, data-shoe, data-seq (of the
 *                           history shown), data-rounds (number of rounds shown), data-known
 *     #rounds > tr          data-round, data-outcome ("" if unknown), data-kind,
 *                           data-void, data-partial, data-entered, data-held ("true" or absent),
 *                           data-aborted (its cause), the newest first;
 *                           in it [data-side] > [data-card] (empty: unread),
 *                           .total[data-total], .wager[data-wager]
 *     #shoes > li           data-shoe, data-sequence, data-rounds, the newest first
 *     #road-bead, #road-big hold the svg of road_drawing.js
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var MAIN_WAGERS = { player: true, banker: true, tie: true };
  var OUTCOMES = { P: "player", B: "banker", T: "tie" };
  var roads = null;
  var history = null;
  var board = null;

  /* One round. */

  function createHand(round, side) {
    var total = round[side + "_total"];
    return Shoe.el("td", { "class": "cards " + side, "data-side": side }, Shoe.el("div", null, [
      Shoe.el("b", {
        "class": "total points " + side, "data-total": total, text: Shoe.formatNumber(total)
      }),
      round[side].map(function (card) {
        return Shoe.el("span", {
          "class": "small-card",
          "data-card": card || "",
          title: card ? Shoe.format.card(card) : Shoe.word("card_unread")
        }, Shoe.drawCard(card || "?"));
      })
    ]));
  }

  function createMark(name, text) {
    return Shoe.el("span", { "class": "mark " + name, text: text });
  }

  function createMarks(round) {
    return [
      round.aborted ? createMark("bad", Shoe.word("cause_" + round.aborted)) : null,
      round.held ? createMark("wait", Shoe.word("result_held")) : null,
      round.voided ? createMark("bad", Shoe.word("voided")) : null,
      round.partial ? createMark("wait", Shoe.word("partial")) : null,
      round.entered ? createMark("wait", Shoe.word("entered")) : null,
      round.kind === "free" || round.kind === "dummy"
        ? createMark("wait", Shoe.word(round.kind + "_hand")) : null,
      round.natural ? createMark("plain", Shoe.word("natural")) : null,
      round.player_pair ? createMark("player", Shoe.word("player_pair")) : null,
      round.banker_pair ? createMark("banker", Shoe.word("banker_pair")) : null
    ];
  }

  function createWagers(round) {
    return (round.wins || []).filter(function (wager) {
      return wager && !MAIN_WAGERS[wager] && !round[wager];
    }).map(function (wager) {
      return Shoe.el("span", {
        "class": "mark wager", "data-wager": wager, text: Shoe.format.wager(wager)
      });
    });
  }

  /* Why a round has no result. */
  function missingResultWord(round) {
    return round.voided ? "round_void" : round.aborted ? "round_aborted"
      : round.held ? "held" : "no_result";
  }

  /* A round of which only its existence is known. */
  function isEmpty(round) {
    return !round.outcome && !round.player.length && !round.banker.length;
  }

  function createResult(round) {
    var known = round.outcome && !round.voided;
    return Shoe.el("td", { "class": "result " + (round.outcome || "none") }, Shoe.el("div", null, [
      Shoe.el("span", { "class": "disc-box" }, round.outcome ? Shoe.drawDisc(round.outcome) : null),
      Shoe.el("span", {
        "class": "result-word",
        text: known ? Shoe.format.outcome(round.outcome) : Shoe.word(missingResultWord(round))
      })
    ]));
  }

  function createRow(round) {
    return Shoe.el("tr", {
      "class": round.voided ? "void" : isEmpty(round) ? "without" : null,
      "data-round": round.round,
      "data-outcome": round.outcome || "",
      "data-kind": round.kind,
      "data-void": round.voided ? "true" : null,
      "data-partial": round.partial ? "true" : null,
      "data-entered": round.entered ? "true" : null,
      "data-held": round.held ? "true" : null,
      "data-aborted": round.aborted
    }, [
      Shoe.el("th", { scope: "row", text: round.round }),
      Shoe.el("td", { "class": "at" }, Shoe.el("time", {
        datetime: round.at, text: Shoe.formatClock(round.at)
      })),
      createHand(round, "player"),
      createHand(round, "banker"),
      createResult(round),
      Shoe.el("td", { "class": "marks" }, [createMarks(round), createWagers(round)])
    ]);
  }

  function showRounds() {
    var list = byId("rounds");
    var there = {};
    var all = history ? history.rounds.slice().reverse() : [];
    Array.prototype.forEach.call(list.children, function (row) { there[row.shoeKey] = row; });
    Shoe.arrange(list, all.map(function (round) {
      var key = history.shoe + JSON.stringify(round);
      var row = there[key] || createRow(round);
      row.shoeKey = key;
      return row;
    }));
    Shoe.setAttribute(document.body, "data-rounds", all.length);
    Shoe.setClass(byId("rounds-box"), "hidden", !all.length);
    Shoe.setClass(byId("rounds-none"), "hidden", all.length > 0);
    Shoe.setText(byId("rounds-none"), Shoe.word(history ? "no_rounds" : "history_none"));
    Shoe.setClass(byId("left-out"), "hidden", !(history && history.left_out));
    Shoe.setText(byId("left-out"), Shoe.word("earlier_left_out", {
      count: history ? history.left_out : 0
    }));
  }

  /* Roads. */

  function drawRoad(box, kind, found) {
    var width = box.clientWidth;
    var height = box.clientHeight;
    Shoe.fillOnChange(box, [width, height, Shoe.roadKey(kind, found)].join(), function () {
      return width && height ? Shoe.drawRoad(kind, found, { width: width, height: height }) : null;
    });
  }

  function drawRoads() {
    drawRoad(byId("road-bead"), "bead", roads);
    drawRoad(byId("road-big"), "big", roads);
    Array.prototype.forEach.call(document.querySelectorAll("[data-plate]"), function (box) {
      drawRoad(box, "bead", { bead: plateCells(box.getAttribute("data-plate")) });
    });
  }

  function plateCells(sequence) {
    return (sequence.match(/[PBT][pbn]*/g) || []).map(function (round, place) {
      return {
        col: Math.floor(place / 6),
        row: place % 6,
        outcome: OUTCOMES[round.charAt(0)],
        player_pair: round.indexOf("p") > 0,
        banker_pair: round.indexOf("b") > 0,
        natural: round.indexOf("n") > 0
      };
    });
  }

  /* Shoes. */

  function createCount(side, number) {
    return Shoe.el("span", { "class": "count" }, [
      Shoe.el("span", { "class": "disc-box", title: Shoe.word(side) }, Shoe.drawDisc(side)),
      Shoe.el("span", { "class": "spoken", text: Shoe.word(side) }),
      Shoe.el("b", { "data-count": side, text: Shoe.formatNumber(number) })
    ]);
  }

  function createCounts(shoe) {
    return Shoe.el("div", { "class": "counts" }, [
      ["player", "banker", "tie"].map(function (side) { return createCount(side, shoe[side]); }),
      Shoe.el("span", { "class": "count rounds", "data-count": "rounds",
        text: Shoe.word("shoe_rounds", { count: shoe.rounds }) })
    ]);
  }

  function shoePeriod(shoe) {
    return shoe.ended_at
      ? Shoe.word("shoe_span", {
        from: Shoe.formatClock(shoe.started_at), to: Shoe.formatClock(shoe.ended_at)
      })
      : Shoe.word("shoe_now", { from: Shoe.formatClock(shoe.started_at) });
  }

  function createPastShoe(shoe) {
    return Shoe.el("li", {
      "class": "past",
      "data-shoe": shoe.shoe,
      "data-rounds": shoe.rounds,
      "data-sequence": shoe.sequence
    }, [
      Shoe.el("div", { "class": "past-head" }, [
        Shoe.el("h3", { text: Shoe.word("shoe_number", { number: shoe.shoe }) }),
        Shoe.el("span", { "class": "when", text: shoePeriod(shoe) })
      ]),
      createCounts(shoe),
      Shoe.el("div", { "class": "plate", "data-plate": shoe.sequence || "", role: "img",
        "aria-label": Shoe.word("bead_plate") })
    ]);
  }

  function showShoes() {
    var shoes = history ? history.shoes : [];
    Shoe.setClass(byId("shoes-none"), "hidden", shoes.length > 0);
    Shoe.fillOnChange(byId("shoes"), JSON.stringify(shoes), function () {
      return shoes.slice().reverse().map(createPastShoe);
    });
  }

  /* Documents. */

  function showHeader() {
    var state = board.state;
    var stale = board.fresh.is !== "live";
    var name = board.name;
    Shoe.setText(byId("name"), name);
    Shoe.setText(byId("where"), state && state.shoe ? Shoe.word("shoe_round", {
      shoe: state.shoe.number, round: state.round ? state.round.number : state.counts.rounds
    }) : "");
    document.title = name + " – " + Shoe.word("history");
    Shoe.setAttribute(byId("to-board"), "href",
      Shoe.pageUrl("/table/" + encodeURIComponent(board.key || Shoe.page().key || board.table)));
    Shoe.setAttribute(document.body, "data-known", String(board.known));
    Shoe.setAttribute(document.body, "data-fresh", board.fresh.is);
    Shoe.setAttribute(document.body, "data-shoe", state && state.shoe ? state.shoe.number : null);
    Shoe.setClass(byId("unknown"), "hidden", board.known);
    Shoe.setText(byId("unknown-word"), Shoe.word("unknown_table", { table: board.table }));
    Shoe.setClass(byId("content"), "hidden", !board.known);
    Shoe.setClass(byId("stale-banner"), "hidden", !stale || !board.known);
    Shoe.setText(byId("stale-word"), stale ? Shoe.format.freshness(board.fresh) : "");
    Shoe.fillOnChange(byId("counts"), JSON.stringify(state && state.counts), function () {
      return state ? createCounts(state.counts) : null;
    });
  }

  function takeHistory(found) {
    history = found;
    Shoe.setAttribute(document.body, "data-seq", found ? found.seq : null);
    Shoe.setText(byId("rounds-title"), found && found.shoe !== null
      ? Shoe.word("rounds_of_shoe", { number: found.shoe }) : Shoe.word("this_shoe"));
    Shoe.whenIdle(showRounds);
    showShoes();
    drawRoads();
  }

  function start() {
    var handlers = {
      board: function (found) { board = found; showHeader(); },
      roads: function (found) { roads = found; drawRoads(); },
      history: takeHistory,
      beat: function (beat) { Shoe.syncClock(beat.now); }
    };
    Shoe.fillWords();
    Shoe.setAttribute(document.body, "data-key", Shoe.page().key);
    Shoe.handleInitial(handlers);
    Shoe.showPage();
    drawRoads();
    window.addEventListener("resize", drawRoads);
    Shoe.openStream(Shoe.page().live, handlers, function (lost, since) {
      Shoe.setAttribute(document.body, "data-lost", lost ? "true" : null);
      Shoe.setClass(byId("lost-banner"), "hidden", !lost);
      Shoe.setText(byId("lost-since"), lost
        ? Shoe.word("since", { time: Shoe.formatClock(since) }) : "");
    });
  }

  start();
}());
