/*
 * The cards of the round on their places, the totals, and the place of the card that is due.
 *
 * Shoe.drawHands(round, moving)   draws `state.round`, null for none. Moving: a card that comes or is
 *                             turned does so before one's eyes; else it simply lies there.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SLOTS = ["P1", "B1", "P2", "B2", "P3", "B3"];
  var SIDES = ["player", "banker"];

  var word = Shoe.word;
  var byId = Shoe.byId;

  function cardsBySlot(round) {
    var cards = {};
    (round ? round.cards : []).forEach(function (view) {
      if (view.slot) {
        cards[view.slot] = Shoe.shownCard(view, round);
      }
    });
    return cards;
  }

  /* A card of which nobody can tell yet whose it is lies beside the hands. */
  function unplaced(round) {
    var views = round ? round.cards.filter(function (view) {
      return !view.slot;
    }) : [];
    return views.length ? Shoe.shownCard(views[0], round) : undefined;
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

  /* Card: undefined for none. */
  function put(place, card, moving) {
    var before = place.getAttribute("data-card");
    var now = card === undefined ? null : card === null ? "" : card;
    if (before === now) {
      return;
    }
    Shoe.setAttribute(place, "data-card", now);
    Shoe.setClass(place, "empty", now === null);
    Shoe.setAttribute(place, "role", now === null ? null : "img");
    Shoe.setAttribute(place, "aria-label", now === null ? null : spokenCard(card));
    Shoe.setChildren(place, now === null ? null : Shoe.drawCard(card));
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
      rank: Shoe.hasWord("rank_" + rank) ? word("rank_" + rank) : rank,
      suit: word("suit_" + card.slice(-1))
    });
  }

  function totals(round) {
    SIDES.forEach(function (side) {
      var total = round ? round[side + "_total"] : null;
      var known = total !== null && total !== undefined;
      Shoe.setText(byId(side + "-total"), known ? total : "–");
      Shoe.setAttribute(byId(side + "-total"), "data-total", known ? total : "");
      Shoe.setClass(byId(side + "-total"), "none", !known);
    });
  }

  Shoe.drawHands = function (round, moving) {
    var cards = cardsBySlot(round);
    var due = duePlace(round);
    SLOTS.forEach(function (slot) {
      var place = document.querySelector("[data-slot=" + slot + "]");
      put(place, cards[slot], moving);
      Shoe.setClass(place, "due", slot === due);
    });
    put(byId("extra"), unplaced(round), moving);
    Shoe.setClass(byId("centre"), "beside", unplaced(round) !== undefined);
    totals(round);
  };
}());
