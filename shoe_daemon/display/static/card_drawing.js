/*
 * Drawings of playing cards.
 *
 * drawCard(card)   an <svg class="card"> with data-card:
 *     "AS" … "KC"   its face
 *     null          its back: face down, or hidden from the players
 *     "?"           an unread card
 * The svg fills its box, which should be 5 wide and 7 high.
 * shownCard(card, round)  what to draw for a card of `state.round`: its face; "?" for an
 *                  unread card and for a card without a face in a finished round; null for a
 *                  card that lies face down
 * cardsOfHand(cards, letter)  the cards of a hand, "P" or "B"; those without a place are with
 *                  the Player's
 * isDrawUnknown(round)   whether an unread card hides which hand draws next
 */
import { svg } from "./dom.js";
import { hasWord, word } from "./translations.js";

const BLACK = "var(--card-black)";
const RED = "var(--card-red)";
const SUIT_COLOURS = { S: BLACK, C: BLACK, H: RED, D: RED };
const GOLD = "var(--card-court-gold)";
const PAPER = "var(--card-face)";

/* Each suit in a square of 100. */
const SUIT_PATHS = {
  H: "M50 93C18 66 6 48 6 31 6 16 17 7 29 7c10 0 17 6 21 15C54 13 61 7 71 7c12 0 23 9 23 24" +
    " 0 17-12 35-44 62z",
  D: "M50 3c9 17 21 33 36 47-15 14-27 30-36 47C41 80 29 64 14 50 29 36 41 20 50 3z",
  S: "M50 5c6 20 43 36 43 59 0 13-10 20-20 20-8 0-14-3-18-10 1 10 5 17 12 21H33c7-4 11-11 12" +
    "-21-4 7-10 10-18 10C17 84 7 77 7 64 7 41 44 25 50 5z",
  C: "M50 6a20 20 0 0 1 15.500 32.600A20.500 20.500 0 1 1 55 72c1 10 5 18 12 23H33c7-5 11-13 12" +
    "-23A20.500 20.500 0 1 1 34.500 38.600 20 20 0 0 1 50 6z"
};

/* Crowns, 46 wide, with the base at y = 0, and their balls: x, y, radius. */
const CROWN_PATHS = {
  K: "M-19 0L-23 -21 -10 -10 0 -27 10 -10 23 -21 19 0zM-2 -42h4v4h4v4h-4v6h-4v-6h-4v-4h4z",
  Q: "M-19 0L-23 -17 -13 -8 -9 -23 0 -9 9 -23 13 -8 23 -17 19 0z",
  J: "M-19 0L-19 -12 -10 -5 0 -16 10 -5 19 -12 19 0z"
};
const CROWN_BALLS = {
  K: [[-23, -23, 3], [23, -23, 3]],
  Q: [[-23, -20, 3.4], [-9, -27, 3.4], [9, -27, 3.4], [23, -20, 3.4], [0, -14, 2.6]],
  J: [[-19, -15, 4], [0, -20, 4.4], [19, -15, 4]]
};

function drawSuit(name, x, y, size, ink) {
  return svg("path", {
    d: SUIT_PATHS[name], fill: ink || SUIT_COLOURS[name],
    transform: `translate(${x - size / 2} ${y - size / 2}) scale(${size / 100})`
  });
}

function drawSheet(ground, edge, dash) {
  return svg("rect", {
    x: 0.75, y: 0.75, width: 98.5, height: 138.5, rx: 8, fill: ground, stroke: edge,
    "stroke-width": 1.5, "stroke-dasharray": dash || null
  });
}

function drawIndex(rank, name) {
  return [
    svg("text", {
      x: rank === "10" ? 5 : 25, y: 47, "font-size": 50, "font-weight": 700,
      fill: SUIT_COLOURS[name], text: rank,
      "text-anchor": rank === "10" ? "start" : "middle",
      textLength: rank === "10" ? 44 : null,
      lengthAdjust: rank === "10" ? "spacingAndGlyphs" : null
    }),
    drawSuit(name, 25, 68, 28)
  ];
}

function drawCourt(rank, name) {
  return [
    svg("rect", {
      x: 50, y: 9, width: 43, height: 122, rx: 4, fill: "var(--card-court)", stroke: GOLD,
      "stroke-width": 1.4
    }),
    svg("rect", {
      x: 52.5, y: 11.5, width: 38, height: 117, rx: 2, fill: "none", stroke: GOLD,
      "stroke-width": 0.6
    }),
    svg("g", { transform: "translate(71.5 58) scale(0.8)", fill: GOLD }, [
      svg("path", { d: CROWN_PATHS[rank] }),
      CROWN_BALLS[rank].map(ball => svg("circle", { cx: ball[0], cy: ball[1], r: ball[2] })),
      svg("rect", { x: -19, y: 2.5, width: 38, height: 6, fill: SUIT_COLOURS[name] })
    ]),
    drawSuit(name, 71.5, 97, 37)
  ];
}

function drawFace(rank, name) {
  const body = "JQK".includes(rank) ? drawCourt(rank, name)
    : rank === "A" ? drawSuit(name, 60, 98, 70) : drawSuit(name, 65, 102, 58);
  return [drawSheet(PAPER, "var(--card-edge)"), body, drawIndex(rank, name)];
}

function drawBack() {
  let lines = "";
  for (let step = -130; step <= 130; step += 10) {
    lines += `M${step} 0l140 140M${100 - step} 0l-140 140`;
  }
  return [
    drawSheet(PAPER, "var(--card-edge)"),
    svg("svg", { x: 7, y: 7, width: 86, height: 126, viewBox: "7 7 86 126" }, [
      svg("rect", { x: 7, y: 7, width: 86, height: 126, fill: "var(--card-back)" }),
      svg("path", {
        d: lines, stroke: "var(--card-back-line)", "stroke-width": 1.1, fill: "none"
      })
    ]),
    svg("rect", {
      x: 10.5, y: 10.5, width: 79, height: 119, rx: 3, fill: "none",
      stroke: "var(--card-back-gold)", "stroke-width": 1.2
    }),
    svg("circle", {
      cx: 50, cy: 70, r: 19, fill: "var(--card-back)",
      stroke: "var(--card-back-gold)", "stroke-width": 1.4
    }),
    drawSuit("S", 50, 69, 20, "var(--card-back-gold)")
  ];
}

function drawUnread() {
  return [
    drawSheet("var(--card-unread)", "var(--card-unread-edge)", "5 4"),
    svg("text", {
      x: 50, y: 98, "font-size": 78, "font-weight": 700, "text-anchor": "middle",
      fill: "var(--card-unread-text)", text: "?"
    })
  ];
}

/* The name of a card for those who do not see it. */
function cardInWords(card) {
  if (!card || card === "?") {
    return word(card === null ? "card_face_down" : "card_unread");
  }
  const rank = card.slice(0, -1);
  return word("card_name", {
    rank: hasWord(`rank_${rank}`) ? word(`rank_${rank}`) : rank,
    suit: word(`suit_${card.slice(-1)}`)
  });
}

export function drawCard(card) {
  const known = /^(10|[2-9AJQK])([SHDC])$/.exec(card || "");
  const inside = known ? drawFace(known[1], known[2]) : card === null ? drawBack() : drawUnread();
  return svg("svg", {
    class: "card", viewBox: "0 0 100 140",
    "data-card": known ? card : card === null ? "" : "?",
    role: "img", "aria-label": cardInWords(card), focusable: "false"
  }, inside);
}

export function shownCard(card, round) {
  return card.card || (card.unreadable || round.finished ? "?" : null);
}

export function cardsOfHand(cards, letter) {
  return cards.filter(card => (card.slot ? card.slot.startsWith(letter) : letter === "P"));
}

export function isDrawUnknown(round) {
  return Boolean(round.draw_due) && round.draw_due.code === "faces_hidden" &&
    round.cards.some(card => card.unreadable);
}
