/*
 * The board of a table: what players look at.
 *
 * It draws the documents `board` and `roads` and nothing else. Each is whole; a part of the page
 * is touched only where it differs from what is drawn. What tests and kiosks may rely on:
 *
 *   body        data-fresh = live, stale, stopping, offline, no_broker, unknown, alarm or lost;
 *               class "grey" unless live; data-seq, data-shoe, data-round of what is drawn
 *   [data-slot=P1 … B3, none]   data-card = "AS", "" face down, "?" not read; absent while
 *               empty; class "due" where the next card belongs; none: nobody can tell yet whose
 *   #player-total, #banker-total   data-total; "" while it is not known
 *   #centre     data-say = result, held, hold, draw, complete, betting_open, betting_closed,
 *               first_card, first_round, last_round or shoe_change; data-outcome of a result;
 *               class loud for some seconds after a result, then calm
 *   #chips li   data-chip = natural, player_pair, banker_pair, partial, entered, free, dummy,
 *               revised or the id of a wager that won
 *   #tags li    data-tag = last_round, cut_card, curator
 *   [data-count=player, banker, tie, player_pair, banker_pair, natural, rounds]   its text
 *   svg.road, g.cell, svg.ask   see roads.js
 *   #veil, #unknown   there while the table is not fresh, or not known
 */
(function () {
  "use strict";

  var LOUD = 8000;
  var FONTS = 1000;
  var LAST = 12;
  var IDLE = 4000;
  var SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
  var COUNTS = ["player", "banker", "tie", "rounds", "player_pair", "banker_pair", "natural"];
  var SIDES = ["player", "banker"];
  var CAPTIONS = {
    bead: "bead_plate", big: "big_road", big_eye: "big_eye_boy", small: "small_road",
    cockroach: "cockroach_pig"
  };
  var MAIN = { player: true, banker: true, tie: true };

  var word = Shoe.word;
  var el = Shoe.el;
  var byId = Shoe.byId;
  var page = Shoe.page();

  var board = null;
  var roads = null;
  var lostSince = null;
  var live = false;
  var shown = null;
  var loudUntil = 0;
  var calming = null;
  var revised = null;
  var boxes = [];

  /* ---- the parts that never change ---- */

  function address(change) {
    var query = [];
    var language = change.lang || page.language;
    var glyphs = change.glyphs || (change.lang ? null : page.glyphs);
    query.push("lang=" + encodeURIComponent(language));
    if (glyphs) {
      query.push("glyphs=" + glyphs);
    }
    return (change.path || window.location.pathname) + "?" + query.join("&");
  }

  function link(text, href, current, language) {
    return el("a", {
      href: href, text: text, lang: language, "aria-current": current ? "true" : null
    });
  }

  function foot() {
    var path = window.location.pathname.replace(/\/$/, "");
    var other = page.glyphs === "chinese" ? "letters" : "chinese";
    Shoe.fill(byId("foot"), [
      el("span", { "class": "links" }, [
        link(word("history"), address({ path: path + "/history", glyphs: page.glyphs })),
        link(word("glyphs_" + other), address({ glyphs: other }))
      ]),
      el("nav", { "aria-label": word("language") }, page.languages.map(function (known) {
        return link(known[1], address({ lang: known[0] }), known[0] === page.language, known[0]);
      }))
    ]);
  }

  function counter(kind) {
    return el("li", { "class": MAIN[kind] ? "main" : null }, [
      MAIN[kind] ? Shoe.disc(kind) : null,
      kind === "player_pair" || kind === "banker_pair"
        ? el("i", { "class": "dot " + kind, "aria-hidden": "true" }) : null,
      el("span", { "class": MAIN[kind] ? "unseen" : "label", text: word("count_" + kind) + " " }),
      el("b", { "data-count": kind })
    ]);
  }

  function counters() {
    Shoe.fill(byId("counts"), [COUNTS.slice(0, 4), COUNTS.slice(4)].map(function (row) {
      return el("ul", {}, row.map(counter));
    }));
  }

  function askers() {
    Shoe.fill(byId("asks"), SIDES.map(function (side) {
      return el("div", { "class": "ask-box " + side }, [
        el("span", { "class": "label", text: word("ask_" + side) }),
        Shoe.disc(side),
        el("span", { "data-ask-of": side })
      ]);
    }));
  }

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

  /* ---- the head ---- */

  function placeOf(limit) {
    return (COUNTS.indexOf(limit) + COUNTS.length + 1) % (COUNTS.length + 1);
  }

  function limits(state) {
    return Object.keys(state.limits).sort(function (one, two) {
      return placeOf(one) - placeOf(two);
    }).map(function (key) {
      return el("div", { "class": "limit" }, [
        el("dt", { text: Shoe.has("wager_" + key) ? word("wager_" + key) : key }),
        el("dd", { text: state.limits[key] })
      ]);
    });
  }

  function number(state) {
    var shoe = state.shoe;
    if (!shoe) {
      return "";
    }
    return word("shoe_number", { number: shoe.number }) +
      (state.round ? " · " + word("round_number", { number: state.round.number }) : "");
  }

  function tags(state) {
    var list = [];
    if (state.shoe && state.shoe.last_round) {
      list.push(["last_round", word("last_round")]);
    } else if (state.shoe && state.shoe.cut_card) {
      list.push(["cut_card", word("cut_card")]);
    }
    if (state.curator !== null && state.curator !== undefined) {
      list.push(["curator", word("curator_seat", { seat: state.curator })]);
    }
    return list.map(function (tag) {
      return el("li", { "data-tag": tag[0], text: tag[1] });
    });
  }

  function head(state) {
    var name = state.name || board.table;
    Shoe.text(byId("name"), name);
    Shoe.set(byId("name"), "data-size", sizeOf(name));
    Shoe.text(byId("shoe"), number(state));
    Shoe.swap(byId("limits"), JSON.stringify(state.limits), function () {
      return limits(state);
    });
    Shoe.swap(byId("tags"), JSON.stringify([state.shoe, state.curator]), function () {
      return tags(state);
    });
    if (document.title !== name) {
      document.title = name;
    }
    Shoe.set(document.body, "data-seq", state.seq);
    Shoe.set(document.body, "data-shoe", state.shoe ? state.shoe.number : null);
    Shoe.set(document.body, "data-round", state.round ? state.round.number : null);
  }

  /* ---- the hands ---- */

  function cardsBySlot(round) {
    var cards = {};
    (round ? round.cards : []).forEach(function (view) {
      if (view.slot) {
        cards[view.slot] = view.card || (round.finished || round.partial ? "?" : null);
      }
    });
    return cards;
  }

  /* A card of which nobody can tell yet whose it is lies beside the hands. */
  function unplaced(round) {
    var views = round ? round.cards.filter(function (view) {
      return !view.slot;
    }) : [];
    return views.length ? views[0].card : undefined;
  }

  /* The place of the card that is due; null where none is, or it is not known whose. */
  function duePlace(round) {
    var due = round && !round.finished ? round.draw_due : null;
    var letter = due ? { player: "P", banker: "B" }[due.hand] : null;
    var cards = cardsBySlot(round);
    return letter ? SLOTS.filter(function (slot) {
      return slot.charAt(0) === letter && cards[slot] === undefined;
    })[0] || null : null;
  }

  function put(place, card, moving) {
    var before = place.getAttribute("data-card");
    var now = card === undefined ? null : card === null ? "" : card;
    if (before === now) {
      return;
    }
    Shoe.set(place, "data-card", now);
    Shoe.flag(place, "empty", now === null);
    Shoe.set(place, "role", now === null ? null : "img");
    Shoe.set(place, "aria-label", now === null ? null : spokenCard(card));
    Shoe.fill(place, now === null ? null : Shoe.card(card));
    if (now !== null && moving) {
      place.firstChild.classList.add(before === null ? "in" : "turn");
    }
  }

  function spokenCard(card) {
    if (!card || card === "?") {
      return word(card === null ? "card_face_down" : "card_unread");
    }
    var rank = card.slice(0, -1);
    return word("card_name", {
      rank: Shoe.has("rank_" + rank) ? word("rank_" + rank) : rank,
      suit: word("suit_" + card.slice(-1))
    });
  }

  function hands(state) {
    var cards = cardsBySlot(state.round);
    var due = duePlace(state.round);
    SLOTS.forEach(function (slot) {
      var place = document.querySelector("[data-slot=" + slot + "]");
      put(place, cards[slot], live);
      Shoe.flag(place, "due", slot === due);
    });
    put(byId("extra"), unplaced(state.round), live);
    Shoe.flag(byId("centre"), "beside", unplaced(state.round) !== undefined);
    SIDES.forEach(function (side) {
      var total = state.round ? state.round[side + "_total"] : null;
      var known = total !== null && total !== undefined;
      Shoe.text(byId(side + "-total"), known ? total : "–");
      Shoe.set(byId(side + "-total"), "data-total", known ? total : "");
      Shoe.flag(byId(side + "-total"), "none", !known);
    });
  }

  /* ---- what there is to say ---- */

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

  /* What stands in the middle: {say, main, more}. */
  function situation(state) {
    var round = state.round;
    if (state.on_hold) {
      return { say: "hold", main: word("on_hold"), more: word("supervisor_decides"), wait: true };
    }
    if (state.held.length) {
      return {
        say: "held", main: word("supervisor_decides"), more: word("result_held"), wait: true
      };
    }
    if (round && !round.finished && round.draw_due) {
      return { say: "draw", main: drawWord(round.draw_due), more: "" };
    }
    if (hasOpenResult(state) && (round || Date.now() < loudUntil)) {
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

  /* How large a text may be: 1 for the shortest; a Chinese sign is as wide as two letters. */
  function sizeOf(text) {
    var width = 0;
    var i;
    for (i = 0; i < text.length; i += 1) {
      width += text.charCodeAt(i) > 0x2e80 ? 2 : 1;
    }
    return width <= 5 ? 1 : width <= 8 ? 2 : width <= 13 ? 3 : width <= 22 ? 4 : 5;
  }

  function drawWord(due) {
    var key = "draw_" + due.code + (due.code === "dealing" ? "_" + due.hand : "");
    return Shoe.has(key) ? word(key) : due.text;
  }

  function wagerName(id) {
    return Shoe.has("wager_" + id) ? word("wager_" + id) : id.replace(/_/g, " ");
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

  function notes(last) {
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
    return list.map(function (note) {
      return chip(note[0], word(note[1]), null, true);
    });
  }

  function chips(last) {
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
      notes(last)
    ];
  }

  function score(last) {
    return word("player") + " " + Shoe.number(last.data.player.total) + "  ·  " +
      word("banker") + " " + Shoe.number(last.data.banker.total);
  }

  function before(state) {
    var last = resultOf(state);
    return last && state.held.indexOf(last.round) < 0
      ? word("round_number", { number: last.round }) + ": " + outcomeWord(last.data.outcome) : "";
  }

  function centre(state) {
    var what = situation(state);
    var result = what.say === "result" ? state.last_result : null;
    var loud = Boolean(result) && Date.now() < loudUntil;
    var partial = !result && Boolean(state.round && state.round.partial);
    var node = byId("centre");
    Shoe.set(node, "data-say", what.say);
    Shoe.set(node, "data-outcome", result ? result.data.outcome : null);
    Shoe.flag(node, "loud", loud);
    Shoe.flag(node, "calm", Boolean(result) && !loud);
    Shoe.flag(node, "wait", Boolean(what.wait));
    Shoe.flag(document.body, "loud-result", loud);
    Shoe.swap(byId("middle"), JSON.stringify([what, result, revised, partial]), function () {
      return middle(what, result, partial);
    });
    Shoe.text(byId("before"), result ? "" : before(state));
    winners(result);
    return what;
  }

  function winners(result) {
    SIDES.forEach(function (side) {
      var won = Boolean(result) && result.data.outcome === side;
      Shoe.swap(byId(side).querySelector("h2"), String(won), function () {
        return el("span", { text: won ? outcomeWord(side) : word(side) });
      });
      Shoe.flag(byId(side), "won", won);
      Shoe.flag(byId(side), "tied", Boolean(result) && result.data.outcome === "tie");
      Shoe.flag(byId(side), "lost", Boolean(result) && result.data.outcome === other(side));
    });
  }

  function other(side) {
    return side === "player" ? "banker" : "player";
  }

  /* Made anew where anything of it differs, so that nothing in it moves. */
  function middle(what, result, partial) {
    var list = result ? chips(result)
      : partial ? chip("partial", word("partial_round"), null, true) : null;
    var node = el("ul", { id: "chips" }, list);
    Shoe.flag(byId("middle"), "busy", node.children.length > 2);
    Shoe.flag(node, "many", node.children.length > 4);
    return [
      result ? el("p", { id: "kicker", text: score(result) }) : null,
      el("p", { id: "say", text: what.main, "data-size": sizeOf(what.main) }),
      what.more ? el("p", { id: "more", text: what.more }) : null,
      node
    ];
  }

  /* Says so once, to whoever listens: a result, a wait, a table that is no longer fresh. */
  function speak(state, what, fresh) {
    var text = fresh.is !== "live" ? byId("veil-title").textContent + " " +
      byId("veil-more").textContent : what.wait ? what.main + ". " + what.more : "";
    if (what.say === "result" && fresh.is === "live") {
      text = before(state) + ". " + score(state.last_result);
    }
    if (text) {
      Shoe.text(byId("spoken"), text);
    }
  }

  /* A result is loud for some seconds from when it came; the page may come later than it. */
  function noticeResult(state) {
    var last = state.last_result;
    var age = live ? 0 : new Date(state.published) - new Date(last ? last.at : 0);
    if (!last || (shown && shown.seq === last.seq)) {
      return;
    }
    revised = shown && shown.round === last.round && shown.shoe === last.shoe ? last.seq : null;
    shown = { seq: last.seq, round: last.round, shoe: last.shoe };
    if (age >= 0 && age < LOUD) {
      loudUntil = Date.now() + LOUD - age;
      window.clearTimeout(calming);
      calming = window.setTimeout(draw, LOUD - age + 20);
    }
  }

  /* ---- roads, counts, asks ---- */

  /* What the last rounds were, for those who do not see the bead plate. */
  function lastOnes(kind) {
    return kind !== "bead" || !roads || !roads.bead.length ? ""
      : ": " + roads.bead.slice(-LAST).map(function (cell) {
        return word(cell.outcome);
      }).join(", ");
  }

  function drawRoads() {
    boxes.forEach(function (box) {
      var data = Shoe.roadKey(box.kind, roads);
      var key = data + box.width + "x" + box.height;
      if (key === box.key) {
        return;
      }
      Shoe.fill(box.sheet, Shoe.road(box.kind, roads, {
        width: box.width, height: box.height, fresh: live && data !== box.data
      }));
      box.key = key;
      box.data = data;
      Shoe.set(box.sheet, "aria-label", word(CAPTIONS[box.kind]) + lastOnes(box.kind));
    });
    SIDES.forEach(function (side) {
      var node = document.querySelector("[data-ask-of=" + side + "]");
      Shoe.swap(node, JSON.stringify(roads && roads.ask), function () {
        return Shoe.ask(side, roads);
      });
    });
  }

  function drawCounts(state) {
    COUNTS.forEach(function (kind) {
      var node = document.querySelector("[data-count=" + kind + "]");
      Shoe.text(node, state.counts ? state.counts[kind] : "–");
    });
  }

  /* ---- whether it is true ---- */

  function freshness() {
    if (lostSince) {
      return { is: "lost", since: lostSince };
    }
    if (!board || !board.known || !board.state) {
      return { is: "unknown", since: null };
    }
    if (board.fresh.is === "live" && board.state.alarm) {
      return { is: "alarm", since: null };
    }
    return board.fresh;
  }

  function veil(fresh) {
    var grey = fresh.is !== "live" && Boolean(board && board.state);
    Shoe.flag(document.body, "grey", grey);
    Shoe.set(document.body, "data-fresh", fresh.is);
    byId("veil").hidden = !grey;
    if (grey) {
      Shoe.text(byId("veil-title"), fresh.is === "alarm" ? word("fresh_stale")
        : word("fresh_" + fresh.is));
      Shoe.text(byId("veil-more"), fresh.is === "alarm"
        ? word("alarm", { text: board.state.alarm })
        : fresh.since ? word("since", { time: Shoe.clock(fresh.since) }) : "");
    }
  }

  function emblem() {
    Shoe.fill(document.querySelector("#unknown .emblem"), [Shoe.card(null), Shoe.card(null)]);
  }

  function waitForTable(fresh) {
    var none = !board || !board.state;
    var node = byId("unknown");
    byId("board").hidden = none;
    node.hidden = !none;
    if (none) {
      Shoe.text(node.querySelector("h1"), lostSince ? word("fresh_lost")
        : word("unknown_table", { table: board ? board.table : page.key || "" }));
      Shoe.text(node.querySelector("p"), lostSince
        ? word("since", { time: Shoe.clock(fresh.since) }) : word("unknown_table_hint"));
      document.title = node.querySelector("h1").textContent;
    }
  }

  function draw() {
    var fresh = freshness();
    veil(fresh);
    waitForTable(fresh);
    if (board && board.state) {
      noticeResult(board.state);
      head(board.state);
      hands(board.state);
      speak(board.state, centre(board.state), fresh);
      drawCounts(board.state);
      if (boxes[0].width === undefined || !boxes[0].width) {
        measure();
      }
      drawRoads();
    }
  }

  /* A pointer that nobody moves is in the way on a large screen. */
  function hidePointer() {
    var timer = null;
    function idle() {
      document.body.classList.add("idle");
    }
    document.addEventListener("mousemove", function () {
      document.body.classList.remove("idle");
      window.clearTimeout(timer);
      timer = window.setTimeout(idle, IDLE);
    });
    idle();
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

  hidePointer();
  foot();
  emblem();
  counters();
  askers();
  papers();
  SIDES.forEach(function (side) {
    Shoe.text(byId(side).querySelector(".ghost"), Shoe.glyph(side));
  });
  SLOTS.concat("none").forEach(function (slot) {
    document.querySelector("[data-slot=" + slot + "]").classList.add("empty");
  });
  Shoe.first(handlers);
  draw();
  live = true;
  showWhenWhole();
  window.addEventListener("resize", function () {
    measure();
    draw();
  });
  Shoe.live(page.live, handlers, function (lost, since) {
    lostSince = lost ? since : null;
    draw();
  });
}());
