/*
 * The tile of one table in the pit.
 *
 * Shoe.createTile(key)    a link to /pit/table/<key> with a summary of the table
 *     .node               <a class="tile"> with data-key, data-fresh (fresh.is), data-severity
 *                         (the highest of the open alerts, 0 for none), data-round, data-shoe,
 *                         data-alerts
 *     .update(row, roomy) shows a row, with cards if roomy; only differences are drawn
 * Shoe.createBeads(sequence, max)  the last outcomes of "BpPTn…", the newest first, as discs
 * Shoe.worstSeverity(alerts)       the highest severity, 0 for none
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var MAX_BEADS = 24;
  var SIDE_OF_LETTER = { P: "player", B: "banker", T: "tie" };

  Shoe.worstSeverity = function (alerts) {
    return alerts.reduce(function (worst, alert) {
      return Math.max(worst, alert.data.severity);
    }, 0);
  };

  function lastOutcomes(sequence, max) {
    return (sequence || "").split("").filter(function (letter) {
      return SIDE_OF_LETTER[letter];
    }).slice(-max).reverse();
  }

  Shoe.createBeads = function (sequence, max) {
    return lastOutcomes(sequence, max).map(function (letter) {
      var side = SIDE_OF_LETTER[letter];
      return Shoe.el("b", { "class": "bead " + side, text: Shoe.glyph(side) });
    });
  };

  function outcomesLabel(letters) {
    return Shoe.word("last_results") + ": " + letters.slice(0, 10).map(function (letter) {
      return Shoe.word(SIDE_OF_LETTER[letter]);
    }).join(Shoe.word("list_comma"));
  }

  function showBeads(node, row) {
    var letters = lastOutcomes(row.outcomes, MAX_BEADS);
    var key = letters.join("");
    if (node.shoeKey && key.slice(1) === node.shoeKey.slice(0, MAX_BEADS - 1)) {
      // One more round: insert its bead only.
      node.insertBefore(Shoe.createBeads(row.outcomes, 1)[0], node.firstChild);
      if (node.children.length > MAX_BEADS) {
        node.removeChild(node.lastChild);
      }
      node.shoeKey = key;
    } else {
      Shoe.fillOnChange(node, key, function () {
        return Shoe.createBeads(row.outcomes, MAX_BEADS);
      });
    }
    Shoe.setAttribute(node, "aria-label", outcomesLabel(letters));
  }

  function createTag(name, word) {
    return Shoe.el("span", { "class": "tag " + name, text: word });
  }

  function showTags(node, row) {
    var state = row.state;
    var shoe = state && state.shoe;
    var bad = row.devices.filter(function (device) { return device.state !== "connected"; });
    var staff = row.alerts.some(function (alert) { return alert.staff_only; });
    var missing = row.staff_alerts_missing && row.fresh.is === "live";
    var key = [state && state.simulated, shoe && shoe.cut_card, shoe && shoe.last_round, state && state.on_hold,
      state && state.held.length, state && state.alarm, row.faults, staff, missing]
      .concat(bad.map(function (device) { return device.id; })).join();
    Shoe.fillOnChange(node, key, function () {
      return [
        state && state.simulated ? createTag("simulated", Shoe.word("simulated")) : null,
        staff ? createTag("staff-only", Shoe.word("alert_staff_only")) : null,
        missing ? createTag("bad", Shoe.word("tag_staff_missing")) : null,
        state && state.alarm ? createTag("bad", Shoe.word("tag_alarm")) : null,
        state && state.on_hold ? createTag("wait", Shoe.word("tag_on_hold")) : null,
        state && state.held.length ? createTag("wait", Shoe.word("tag_held")) : null,
        shoe && shoe.last_round ? createTag("last", Shoe.word("tag_last_round"))
          : shoe && shoe.cut_card ? createTag("last", Shoe.word("cut_card")) : null,
        row.faults ? createTag("bad", Shoe.word("tag_faults", { count: row.faults })) : null,
        bad.map(function (device) { return createTag("bad", device.id); })
      ];
    });
  }

  function showReaders(node, row) {
    var key = row.devices.map(function (device) { return device.id + device.state; }).join();
    Shoe.fillOnChange(node, key, function () {
      return row.devices.map(function (device) {
        return Shoe.el("span", {
          "class": "reader " + device.state,
          "data-device": device.id,
          "data-state": device.state,
          title: device.id + ": " + Shoe.format.device(device).text
        }, [
          Shoe.el("i", { "class": "lamp", "aria-hidden": "true" }),
          Shoe.el("span", { "class": "reader-name", text: device.id }),
          Shoe.el("span", { "class": "reader-state", text: Shoe.format.device(device).text })
        ]);
      });
    });
  }

  function worstAlertOf(row) {
    return row.alerts.slice().sort(function (one, other) {
      return other.data.severity - one.data.severity;
    })[0];
  }

  function showStatus(parts, row) {
    var alert = worstAlertOf(row);
    var stale = row.fresh.is === "live" ? "" : Shoe.word("fresh_short_" + row.fresh.is);
    var statusText = row.state ? Shoe.format.round(row.state) : { text: "", tone: "quiet" };
    var text = alert ? Shoe.format.kind(alert.data.kind) : stale || statusText.text;
    Shoe.setText(parts.now, text);
    Shoe.setAttribute(parts.now, "title", text);
    parts.now.className = "now " + (alert ? "alarmed" : stale ? "stale" : statusText.tone);
    Shoe.showAge(parts.age, alert ? alert.at : stale ? row.fresh.since : null);
  }

  function showTotals(parts, row) {
    var round = row.state && row.state.round;
    Shoe.setText(parts.player, round ? Shoe.formatNumber(round.player_total) : "");
    Shoe.setText(parts.banker, round ? Shoe.formatNumber(round.banker_total) : "");
    Shoe.setClass(parts.score, "none", !round || !round.cards.length);
    // Beside an alert or a notice, unknown totals take no room.
    Shoe.setClass(parts.score, "gone", (row.alerts.length > 0 || row.fresh.is !== "live") &&
      !(round && (round.player_total !== null || round.banker_total !== null)));
  }

  function createSpots(side, round) {
    return Shoe.el("span", { "class": "hand " + side }, round.cards.filter(function (card) {
      return card.slot && card.slot.charAt(0) === side.charAt(0).toUpperCase();
    }).map(function (card) {
      return Shoe.el("span", { "class": "spot", "data-slot": card.slot },
        Shoe.drawCard(Shoe.shownCard(card, round)));
    }));
  }

  function showHands(node, row) {
    var round = row.state && row.state.round;
    Shoe.fillOnChange(node, JSON.stringify(round && [round.cards, round.finished]), function () {
      return round ? [createSpots("player", round), createSpots("banker", round)] : null;
    });
  }

  function createParts(key) {
    var parts = {};
    ["name", "where", "tags", "strip", "hands", "now", "age", "player", "banker", "readers"]
      .forEach(function (name) { parts[name] = Shoe.el("span", { "class": name }); });
    parts.strip.setAttribute("role", "img");
    parts.player.className = "points player";
    parts.banker.className = "points banker";
    // The shoe is shown if there is room beside name and round, and hidden otherwise.
    parts.round = Shoe.el("span", { "class": "round" });
    parts.shoe = Shoe.el("span");
    Shoe.setChildren(parts.where, parts.shoe);
    parts.score = Shoe.el("span", { "class": "score none" }, [parts.player, parts.banker]);
    parts.node = Shoe.el("a", {
      "class": "tile",
      "data-key": key,
      href: Shoe.pageUrl("/pit/table/" + encodeURIComponent(key))
    }, [
      Shoe.el("span", { "class": "line head" },
        [parts.name, parts.where, parts.round, parts.readers]),
      Shoe.el("span", { "class": "line middle" }, [parts.strip, parts.tags]),
      parts.hands,
      Shoe.el("span", { "class": "line foot" }, [parts.score, parts.now, parts.age])
    ]);
    return parts;
  }

  function showRound(parts, state) {
    var shoe = state && state.shoe;
    Shoe.setText(parts.round, shoe ? Shoe.word("round_short", {
      round: state.round ? state.round.number : state.counts.rounds
    }) : "");
    Shoe.setText(parts.shoe,
      shoe ? Shoe.word("shoe_short", { shoe: shoe.number }) + " ·\u00a0" : "");
  }

  function setAttributes(node, row) {
    var state = row.state;
    Shoe.setAttribute(node, "data-fresh", row.fresh.is);
    Shoe.setAttribute(node, "data-severity", Shoe.worstSeverity(row.alerts));
    Shoe.setAttribute(node, "data-alerts", row.alerts.length);
    Shoe.setAttribute(node, "data-round", state && state.round ? state.round.number : null);
    Shoe.setAttribute(node, "data-shoe", state && state.shoe ? state.shoe.number : null);
    Shoe.setClass(node, "grey", row.fresh.is !== "live" || Boolean(state && state.alarm));
  }

  Shoe.createTile = function (key) {
    var parts = createParts(key);
    Shoe.setText(parts.name, key);
    return {
      node: parts.node,
      update: function (row, roomy) {
        Shoe.setText(parts.name, row.name || row.table);
        Shoe.setAttribute(parts.name, "title", row.name || row.table);
        showRound(parts, row.state);
        setAttributes(parts.node, row);
        showTags(parts.tags, row);
        showBeads(parts.strip, row);
        showStatus(parts, row);
        showTotals(parts, row);
        if (roomy) {
          showHands(parts.hands, row);
        }
        showReaders(parts.readers, row);
      }
    };
  };
}());
