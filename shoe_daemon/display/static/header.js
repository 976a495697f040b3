/*
 * Header, counters, asks and footer of the board.
 *
 * Shoe.header.build()               creates the parts that never change; once
 * Shoe.header.update(state)         name, shoe and round, limits, tags; data attributes of the body
 * Shoe.header.updateCounts(state)   the counts of the shoe
 * Shoe.textSize(text)               size class of a text: 1 for the shortest to 5
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var HIDE_POINTER_AFTER_MS = 4000;
  var COUNTS = ["player", "banker", "tie", "rounds", "player_pair", "banker_pair", "natural"];
  var SIDES = ["player", "banker"];
  var MAIN_COUNTS = { player: true, banker: true, tie: true };

  var word = Shoe.word;
  var el = Shoe.el;
  var byId = Shoe.byId;

  Shoe.header = {};

  /* ---- parts that never change ---- */

  function pageUrl(change) {
    var page = Shoe.page();
    var query = [];
    var language = change.lang || page.language;
    var glyphs = change.glyphs || (change.lang ? null : page.glyphs);
    query.push("lang=" + encodeURIComponent(language));
    if (glyphs) {
      query.push("glyphs=" + glyphs);
    }
    return (change.path || window.location.pathname) + "?" + query.join("&");
  }

  function createLink(text, href, current, language) {
    return el("a", {
      href: href, text: text, lang: language, "aria-current": current ? "true" : null
    });
  }

  function buildFooter() {
    var page = Shoe.page();
    var path = window.location.pathname.replace(/\/$/, "");
    var other = page.glyphs === "chinese" ? "letters" : "chinese";
    Shoe.setChildren(byId("foot"), [
      el("span", { "class": "links" }, [
        createLink(word("history"), pageUrl({ path: path + "/history", glyphs: page.glyphs })),
        createLink(word("glyphs_" + other), pageUrl({ glyphs: other }))
      ]),
      el("nav", { "aria-label": word("language") }, page.languages.map(function (known) {
        var code = known[0];
        return createLink(known[1], pageUrl({ lang: code }), code === page.language, code);
      }))
    ]);
  }

  function counter(kind) {
    return el("li", { "class": MAIN_COUNTS[kind] ? "main" : null }, [
      MAIN_COUNTS[kind] ? Shoe.drawDisc(kind) : null,
      kind === "player_pair" || kind === "banker_pair"
        ? el("i", { "class": "dot " + kind, "aria-hidden": "true" }) : null,
      el("span", {
        "class": MAIN_COUNTS[kind] ? "unseen" : "label", text: word("count_" + kind) + " "
      }),
      el("b", { "data-count": kind })
    ]);
  }

  function buildCounts() {
    Shoe.setChildren(byId("counts"), [COUNTS.slice(0, 4), COUNTS.slice(4)].map(function (row) {
      return el("ul", {}, row.map(counter));
    }));
  }

  function buildAsks() {
    Shoe.setChildren(byId("asks"), SIDES.map(function (side) {
      return el("div", { "class": "ask-box " + side }, [
        el("span", { "class": "label", text: word("ask_" + side) }),
        Shoe.drawDisc(side),
        el("span", { "data-ask-of": side })
      ]);
    }));
  }

  function buildEmblem() {
    var node = document.querySelector("#unknown .emblem");
    Shoe.setChildren(node, [Shoe.drawCard(null), Shoe.drawCard(null)]);
  }

  /* The pointer is hidden while nobody moves it. */
  function hidePointer() {
    var timer = null;
    function hide() {
      document.body.classList.add("idle");
    }
    document.addEventListener("mousemove", function () {
      document.body.classList.remove("idle");
      window.clearTimeout(timer);
      timer = window.setTimeout(hide, HIDE_POINTER_AFTER_MS);
    });
    hide();
  }

  Shoe.header.build = function () {
    buildFooter();
    buildCounts();
    buildAsks();
    buildEmblem();
    hidePointer();
    SIDES.forEach(function (side) {
      Shoe.setText(byId(side).querySelector(".ghost"), Shoe.glyph(side));
    });
  };

  /* ---- the header ---- */

  /* A Chinese character counts as two letters. */
  Shoe.textSize = function (text) {
    var width = 0;
    var i;
    for (i = 0; i < text.length; i += 1) {
      width += text.charCodeAt(i) > 0x2e80 ? 2 : 1;
    }
    return width <= 5 ? 1 : width <= 8 ? 2 : width <= 13 ? 3 : width <= 22 ? 4 : 5;
  };

  function limitOrder(limit) {
    return (COUNTS.indexOf(limit) + COUNTS.length + 1) % (COUNTS.length + 1);
  }

  function createLimits(state) {
    return Object.keys(state.limits).sort(function (one, two) {
      return limitOrder(one) - limitOrder(two);
    }).map(function (key) {
      return el("div", { "class": "limit" }, [
        el("dt", { text: Shoe.hasWord("wager_" + key) ? word("wager_" + key) : key }),
        el("dd", { text: state.limits[key] })
      ]);
    });
  }

  function shoeAndRound(state) {
    var shoe = state.shoe;
    if (!shoe) {
      return "";
    }
    return word("shoe_number", { number: shoe.number }) +
      (state.round ? " · " + word("round_number", { number: state.round.number }) : "");
  }

  function createTags(state) {
    var list = state.simulated ? [["simulated", word("simulated")]] : [];
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

  Shoe.header.update = function (state) {
    var name = state.name || state.table;
    Shoe.setText(byId("name"), name);
    Shoe.setAttribute(byId("name"), "data-size", Shoe.textSize(name));
    Shoe.setText(byId("shoe"), shoeAndRound(state));
    Shoe.fillOnChange(byId("limits"), JSON.stringify(state.limits), function () {
      return createLimits(state);
    });
    Shoe.fillOnChange(byId("tags"), JSON.stringify([state.shoe, state.curator, state.simulated]), function () {
      return createTags(state);
    });
    if (document.title !== name) {
      document.title = name;
    }
    Shoe.setAttribute(document.body, "data-seq", state.seq);
    Shoe.setAttribute(document.body, "data-shoe", state.shoe ? state.shoe.number : null);
    Shoe.setAttribute(document.body, "data-round", state.round ? state.round.number : null);
  };

  /* ---- the counts ---- */

  Shoe.header.updateCounts = function (state) {
    COUNTS.forEach(function (kind) {
      var node = document.querySelector("[data-count=" + kind + "]");
      Shoe.setText(node, state.counts ? state.counts[kind] : "–");
    });
  };
}());
