/*
 * The board of a table: what players look at.
 *
 * It draws the documents `board` and `roads` and nothing else. Each is whole; a part of the page
 * is touched only where it differs from what is drawn. Its parts: header.js (head, counts, footer),
 * hand_cards.js (cards), status.js (what there is to say), road_drawing.js. What tests and kiosks may rely on:
 *
 *   body        data-fresh = live, stale, stopping, offline, no_broker, unknown, alarm or lost;
 *               class "grey" unless live; data-seq, data-shoe, data-round of the state that is
 *               drawn, data-roads-seq of the roads
 *   [data-slot=P1 … B3, none]   data-card = "AS", "" face down, "?" not read; absent while
 *               empty; class "due" where the next card belongs; none: nobody can tell yet whose
 *   #player-total, #banker-total   data-total; "" while it is not known
 *   #centre     data-say = result, held, hold, draw, complete, betting_open, betting_closed,
 *               first_card, first_round, last_round or shoe_change; data-outcome of a result;
 *               class loud for some seconds after a result, then calm
 *   #chips li   data-chip = natural, player_pair, banker_pair, partial, held, entered, free,
 *               dummy, revised or the id of a wager that won
 *   #tags li    data-tag = last_round, cut_card, curator
 *   [data-count=player, banker, tie, player_pair, banker_pair, natural, rounds]   its text
 *   #before     the round before, in words
 *   svg.road, g.cell, svg.ask   see road_drawing.js
 *   #veil, #unknown   there while the table is not fresh, or not known
 */
(function () {
  "use strict";

  var LOUD = 8000;
  var FONTS = 1000;
  var HEALED = 1500;
  var LAST = 12;
  var SIDES = ["player", "banker"];
  var CAPTIONS = {
    bead: "bead_plate", big: "big_road", big_eye: "big_eye_boy", small: "small_road",
    cockroach: "cockroach_pig"
  };

  var word = Shoe.word;
  var el = Shoe.el;
  var byId = Shoe.byId;
  var page = Shoe.page();

  var board = null;
  var roads = null;
  var lostSince = null;
  var boxes = [];

  /* Whether what comes now is news: not what the page starts with, nor what it missed. */
  var running = false;
  var freshBefore = "";

  var shown = null;
  var loudUntil = 0;
  var calming = null;
  var revised = null;

  function isNews() {
    return running && freshBefore === "live";
  }

  /* ---- the last result, as long as it is news ---- */

  function isNewest(last) {
    return last && !(shown && shown.seq === last.seq);
  }

  function beLoud(left) {
    loudUntil = Date.now() + left;
    window.clearTimeout(calming);
    calming = window.setTimeout(draw, left + 20);
  }

  /* A result is loud for some seconds from when it came; the page may come later than it. */
  function noticeResult(state) {
    var last = state.last_result;
    var age;
    if (!isNewest(last)) {
      return;
    }
    age = isNews() ? 0 : new Date(state.published) - new Date(last.at);
    revised = shown && shown.round === last.round && shown.shoe === last.shoe ? last.seq : null;
    shown = { seq: last.seq, round: last.round, shoe: last.shoe };
    if (age >= 0 && age < LOUD) {
      beLoud(LOUD - age);
    }
  }

  /* ---- roads and asks ---- */

  function papers() {
    var found = document.querySelectorAll("[data-paper]");
    var i;
    for (i = 0; i < found.length; i += 1) {
      boxes.push({
        kind: found[i].getAttribute("data-paper"),
        sheet: found[i].appendChild(el("div", { "class": "sheet", role: "img" })),
        key: null
      });
      found[i].appendChild(el("figcaption", {
        text: word(CAPTIONS[found[i].getAttribute("data-paper")])
      }));
    }
  }

  function measure() {
    boxes.forEach(function (box) {
      box.width = box.sheet.clientWidth;
      box.height = box.sheet.clientHeight;
    });
  }

  /* What the last rounds were, for those who do not see the bead plate. */
  function lastOnes(kind) {
    return kind !== "bead" || !roads || !roads.bead.length ? ""
      : ": " + roads.bead.slice(-LAST).map(function (cell) {
        return word(cell.outcome);
      }).join(", ");
  }

  function drawRoad(box) {
    var data = Shoe.roadKey(box.kind, roads);
    var key = data + box.width + "x" + box.height;
    if (key === box.key) {
      return;
    }
    Shoe.setChildren(box.sheet, Shoe.drawRoad(box.kind, roads, {
      width: box.width, height: box.height, fresh: isNews() && data !== box.data
    }));
    box.key = key;
    box.data = data;
    Shoe.setAttribute(box.sheet, "aria-label", word(CAPTIONS[box.kind]) + lastOnes(box.kind));
  }

  function drawRoads() {
    boxes.forEach(drawRoad);
    SIDES.forEach(function (side) {
      var node = document.querySelector("[data-ask-of=" + side + "]");
      Shoe.fillOnChange(node, JSON.stringify(roads && roads.ask), function () {
        return Shoe.drawAsk(side, roads);
      });
    });
    Shoe.setAttribute(document.body, "data-roads-seq", roads ? roads.seq : null);
  }

  /* ---- whether it is true ---- */

  function freshness() {
    if (lostSince) {
      return { is: "lost", since: lostSince };
    }
    if (!board || !board.known) {
      return { is: "unknown", since: null };
    }
    if (board.fresh.is === "live" && board.state && board.state.alarm) {
      return { is: "alarm", since: null };
    }
    return board.fresh;
  }

  function veil(fresh) {
    var grey = fresh.is !== "live" && Boolean(board && board.state);
    Shoe.setClass(document.body, "grey", grey);
    Shoe.setAttribute(document.body, "data-fresh", fresh.is);
    byId("veil").hidden = !grey;
    if (grey) {
      Shoe.setText(byId("veil-title"), fresh.is === "alarm" ? word("fresh_stale")
        : word("fresh_" + fresh.is));
      Shoe.setText(byId("veil-more"), fresh.is === "alarm"
        ? word("alarm", { text: Shoe.sentence(board.state, board.state.alarm).text })
        : fresh.since ? word("since", { time: Shoe.formatClock(fresh.since) }) : "");
    }
  }

  function waitForTable(fresh) {
    var none = !board || !board.state;
    var node = byId("unknown");
    byId("board").hidden = none;
    node.hidden = !none;
    if (none) {
      Shoe.setText(node.querySelector("h1"), lostSince ? word("fresh_lost")
        : board && board.known ? board.name
          : word("unknown_table", { table: board ? board.table : page.key || "" }));
      Shoe.setText(node.querySelector("p"), fresh.is === "unknown" ? word("unknown_table_hint")
        : (lostSince ? "" : word("fresh_" + fresh.is) + " ") +
          (fresh.since ? word("since", { time: Shoe.formatClock(fresh.since) }) : ""));
      document.title = node.querySelector("h1").textContent;
    }
  }

  function speak(said, fresh) {
    var text = fresh.is === "live" ? said.text
      : byId("veil-title").textContent + " " + byId("veil-more").textContent;
    if (text) {
      Shoe.setText(byId("spoken"), text);
    }
  }

  /* ---- all of it ---- */

  function drawTable(state, fresh) {
    noticeResult(state);
    Shoe.header.update(state);
    Shoe.drawHands(state.round, isNews());
    speak(Shoe.drawStatus(state, { loud: Date.now() < loudUntil, revised: revised }), fresh);
    Shoe.header.updateCounts(state);
    if (!boxes[0].width) {
      measure();
    }
    drawRoads();
  }

  function draw() {
    var fresh = freshness();
    veil(fresh);
    waitForTable(fresh);
    if (board && board.state) {
      drawTable(board.state, fresh);
    }
    freshBefore = fresh.is;
  }

  /* The page is shown when it is whole, fonts included; without them after a moment. */
  function show() {
    document.body.classList.remove("waiting");
  }

  function showWhenWhole() {
    window.setTimeout(show, FONTS);
    if (document.fonts && document.fonts.ready) {
      document.fonts.ready.then(show);
    } else {
      show();
    }
  }

  var handlers = {
    board: function (document_) {
      board = document_;
      draw();
    },
    roads: function (document_) {
      roads = document_;
      draw();
    }
  };

  /* What was missed while the display was lost is no news when it is back. */
  function lost(is, since) {
    running = false;
    lostSince = is ? since : null;
    if (!is) {
      window.setTimeout(function () {
        running = lostSince === null;
      }, HEALED);
    }
    draw();
  }

  Shoe.header.build();
  papers();
  Shoe.handleInitial(handlers);
  draw();
  running = true;
  showWhenWhole();
  window.addEventListener("resize", function () {
    measure();
    draw();
  });
  Shoe.openStream(page.live, handlers, lost);
}());
