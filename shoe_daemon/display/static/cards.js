/*
 * Playing cards, drawn by us.
 *
 * Shoe.card(card)   an <svg class="card"> with data-card:
 *     "AS" … "KC"   its face
 *     null          its back: it lies face down, or the players have not seen it
 *     "?"           a card that nobody could read: never a guess
 * The svg fills the box that it is put into; the box should be 5 wide and 7 high.
 * Shoe.cardName(card)   "A♠", for lines of text; "?" for null
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var INK = { S: "#14171c", C: "#14171c", H: "#c4122c", D: "#c4122c" };
  var SIGN = { S: "♠", H: "♥", D: "♦", C: "♣" };
  var GOLD = "#b98a2f";
  var PAPER = "#fffdf7";
  var FONT = "Board, 'Liberation Sans', Arial, sans-serif";

  /* Each in a square of 100. */
  var SUIT = {
    H: "M50 93C18 66 6 48 6 31 6 16 17 7 29 7c10 0 17 6 21 15C54 13 61 7 71 7c12 0 23 9 23 24" +
      " 0 17-12 35-44 62z",
    D: "M50 3c9 17 21 33 36 47-15 14-27 30-36 47C41 80 29 64 14 50 29 36 41 20 50 3z",
    S: "M50 5c6 20 43 36 43 59 0 13-10 20-20 20-8 0-14-3-18-10 1 10 5 17 12 21H33c7-4 11-11 12-21" +
      "-4 7-10 10-18 10C17 84 7 77 7 64 7 41 44 25 50 5z",
    C: "M50 6a20 20 0 0 1 15.500 32.600A20.500 20.500 0 1 1 55 72c1 10 5 18 12 23H33c7-5 11-13 12-23" +
      "A20.500 20.500 0 1 1 34.500 38.600 20 20 0 0 1 50 6z"
  };

  /* Crowns, 40 wide, standing on y = 0. */
  var CROWN = {
    K: "M-18 0L-21 -19 -10 -10 -5 -22 0 -12 5 -22 10 -10 21 -19 18 0z" +
      "M-2 -24h4v4h4v4h-4v5h-4v-5h-4v-4h4z",
    Q: "M-17 0L-21 -16 -12 -9 -7 -20 0 -10 7 -20 12 -9 21 -16 17 0z" +
      "M-21 -22a3 3 0 1 1 0 6 3 3 0 1 1 0 -6zM21 -22a3 3 0 1 1 0 6 3 3 0 1 1 0 -6z" +
      "M-7 -27a3 3 0 1 1 0 6 3 3 0 1 1 0 -6zM7 -27a3 3 0 1 1 0 6 3 3 0 1 1 0 -6z",
    J: "M-18 0C-20 -12 -10 -17 2 -17 12 -17 18 -10 18 0z" +
      "M8 -15C8 -24 15 -29 24 -28 22 -20 17 -15 8 -12z"
  };

  function suit(name, x, y, size, ink) {
    return Shoe.svg("path", {
      d: SUIT[name], fill: ink || INK[name],
      transform: "translate(" + (x - size / 2) + " " + (y - size / 2) + ") scale(" + size / 100 + ")"
    });
  }

  function sheet(ground, edge, dash) {
    return Shoe.svg("rect", {
      x: 0.75, y: 0.75, width: 98.5, height: 138.5, rx: 8, fill: ground, stroke: edge,
      "stroke-width": 1.5, "stroke-dasharray": dash || null
    });
  }

  function index(rank, name) {
    return [
      Shoe.svg("text", {
        x: rank === "10" ? 5 : 25, y: 47, "font-size": 50, "font-weight": 700,
        "font-family": FONT, fill: INK[name], text: rank,
        "text-anchor": rank === "10" ? "start" : "middle",
        textLength: rank === "10" ? 44 : null,
        lengthAdjust: rank === "10" ? "spacingAndGlyphs" : null
      }),
      suit(name, 25, 68, 28)
    ];
  }

  /* One of the two halves of a court card; the other is the same, turned. */
  function half(rank, name) {
    return [
      Shoe.svg("path", { d: CROWN[rank], fill: GOLD, transform: "translate(68 42)" }),
      Shoe.svg("rect", { x: 51, y: 44, width: 34, height: 3.5, fill: INK[name] }),
      suit(name, 68, 62, 21)
    ];
  }

  function court(rank, name) {
    return [
      Shoe.svg("rect", {
        x: 45, y: 10, width: 46, height: 120, rx: 3, fill: "#f6ecd2", stroke: GOLD,
        "stroke-width": 1.2
      }),
      Shoe.svg("path", {
        d: "M47.500 76.500L88.500 63.500", stroke: INK[name], "stroke-width": 2.4
      }),
      Shoe.svg("path", {
        d: "M47.500 80.500L88.500 67.500M47.500 72.500L88.500 59.500", stroke: GOLD, "stroke-width": 1
      }),
      Shoe.svg("g", {}, half(rank, name)),
      Shoe.svg("g", { transform: "rotate(180 68 70)" }, half(rank, name))
    ];
  }

  function face(rank, name) {
    var body;
    if ("JQK".indexOf(rank) >= 0) {
      body = court(rank, name);
    } else {
      body = suit(name, rank === "A" ? 60 : 65, rank === "A" ? 98 : 102, rank === "A" ? 70 : 58);
    }
    return [sheet(PAPER, "#8d8674"), body, index(rank, name)];
  }

  function back() {
    var lines = "";
    var step;
    for (step = -130; step <= 130; step += 10) {
      lines += "M" + step + " 0l140 140M" + (100 - step) + " 0l-140 140";
    }
    return [
      sheet(PAPER, "#8d8674"),
      Shoe.svg("svg", { x: 7, y: 7, width: 86, height: 126, viewBox: "7 7 86 126" }, [
        Shoe.svg("rect", { x: 7, y: 7, width: 86, height: 126, fill: "#123c3a" }),
        Shoe.svg("path", { d: lines, stroke: "#2f6b62", "stroke-width": 1.1, fill: "none" })
      ]),
      Shoe.svg("rect", {
        x: 10.5, y: 10.5, width: 79, height: 119, rx: 3, fill: "none", stroke: "#c9a227",
        "stroke-width": 1.2
      }),
      Shoe.svg("circle", {
        cx: 50, cy: 70, r: 19, fill: "#123c3a", stroke: "#c9a227", "stroke-width": 1.4
      }),
      suit("S", 50, 69, 20, "#c9a227")
    ];
  }

  function unread() {
    return [
      sheet("#e9e6dc", "#6d675a", "5 4"),
      Shoe.svg("text", {
        x: 50, y: 98, "font-size": 78, "font-weight": 700, "text-anchor": "middle",
        "font-family": FONT, fill: "#4a463d", text: "?"
      })
    ];
  }

  Shoe.card = function (card) {
    var known = /^(10|[2-9AJQK])([SHDC])$/.exec(card || "");
    var inside = known ? face(known[1], known[2]) : card === null ? back() : unread();
    return Shoe.svg("svg", {
      "class": "card", viewBox: "0 0 100 140", "data-card": known ? card : card === null ? "" : "?",
      "aria-hidden": "true", focusable: "false"
    }, inside);
  };

  Shoe.cardName = function (card) {
    var known = /^(10|[2-9AJQK])([SHDC])$/.exec(card || "");
    return known ? known[1] + SIGN[known[2]] : "?";
  };
}());
