/*
 * The cards of the round, the totals, and the place of the next card.
 *
 * Shoe.drawHands(round, moving)   draws `state.round`, null for none; with moving, new and turned
 *                             cards are animated
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

  /* A card whose hand is unknown yet lies beside the hands. */
  function unplacedCard(round) {
    var views = round ? round.cards.filter(function (view) {
      return !view.slot;
    }) : [];
    return views.length ? Shoe.shownCard(views[0], round) : undefined;
  }

  /* The slot of the next card; null if no card is due or its hand is unknown. */
  function dueSlot(round) {
    var due = round && !round.finished ? round.draw_due : null;
    var letter = due ? { player: "P", banker: "B" }[due.hand] : null;
    var cards = cardsBySlot(round);
    return letter ? SLOTS.filter(function (slot) {
      return slot.charAt(0) === letter && cards[slot] === undefined;
    })[0] || null : null;
  }

  /* card: undefined for no card. */
  function showCard(place, card, moving) {
    var before = place.getAttribute("data-card");
    var shown = card === undefined ? null : card === null ? "" : card;
    if (before === shown) {
      return;
    }
    Shoe.setAttribute(place, "data-card", shown);
    Shoe.setClass(place, "empty", shown === null);
    Shoe.setAttribute(place, "role", shown === null ? null : "img");
    Shoe.setAttribute(place, "aria-label", shown === null ? null : spokenCard(card));
    Shoe.setChildren(place, shown === null ? null : Shoe.drawCard(card));
    if (shown !== null && moving) {
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

  function showTotals(round) {
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
    var due = dueSlot(round);
    SLOTS.forEach(function (slot) {
      var place = document.querySelector("[data-slot=" + slot + "]");
      showCard(place, cards[slot], moving);
      Shoe.setClass(place, "due", slot === due);
    });
    showCard(byId("extra"), unplacedCard(round), moving);
    Shoe.setClass(byId("centre"), "beside", unplacedCard(round) !== undefined);
    showTotals(round);
  };
}());
