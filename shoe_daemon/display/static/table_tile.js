/*
 * One table of the pit, at its place among the others.
 *
 * Shoe.createTile(key)          a link to /pit/table/<key>, with all there is to see at a glance
 *     .node               <a class="tile"> with data-key, data-fresh (FRESH.is), data-severity
 *                         (the worst open alert, 0 for none), data-round, data-shoe, data-alerts
 *     .update(row, roomy) shows a row, with its cards where there is room for them; what has not
 *                         changed is not touched
 * Shoe.createBeads(sequence, most)  the last outcomes of "BpPTn…", the newest first, as discs
 * Shoe.worstSeverity(alerts)      the highest severity among them, 0 for none
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var BEADS = 24;
  var SIDES = { P: "player", B: "banker", T: "tie" };

  Shoe.worstSeverity = function (alerts) {
    return alerts.reduce(function (worst, alert) {
      return Math.max(worst, alert.data.severity);
    }, 0);
  };

  function last(sequence, most) {
    return (sequence || "").split("").filter(function (letter) {
      return SIDES[letter];
    }).slice(-most).reverse();
  }

  Shoe.createBeads = function (sequence, most) {
    return last(sequence, most).map(function (letter) {
      return Shoe.el("b", { "class": "bead " + SIDES[letter], text: Shoe.glyph(SIDES[letter]) });
    });
  };

  function label(letters) {
    return Shoe.word("last_results") + ": " + letters.slice(0, 10).map(function (letter) {
      return Shoe.word(SIDES[letter]);
    }).join(Shoe.word("list_comma"));
  }

  function strip(node, row) {
    var letters = last(row.outcomes, BEADS);
    var key = letters.join("");
    if (node.shoeKey && key.slice(1) === node.shoeKey.slice(0, BEADS - 1)) {
      // One more round: only its bead is new.
      node.insertBefore(Shoe.createBeads(row.outcomes, 1)[0], node.firstChild);
      if (node.children.length > BEADS) {
        node.removeChild(node.lastChild);
      }
      node.shoeKey = key;
    } else {
      Shoe.fillOnChange(node, key, function () { return Shoe.createBeads(row.outcomes, BEADS); });
    }
    Shoe.setAttribute(node, "aria-label", label(letters));
  }

  function tag(name, word) {
    return Shoe.el("span", { "class": "tag " + name, text: word });
  }

  function tags(node, row) {
    var state = row.state;
    var shoe = state && state.shoe;
    var bad = row.devices.filter(function (device) { return device.state !== "connected"; });
    var staff = row.alerts.some(function (alert) { return alert.staff_only; });
    var missing = row.staff_alerts_missing && row.fresh.is === "live";
    var key = [shoe && shoe.cut_card, shoe && shoe.last_round, state && state.on_hold,
      state && state.held.length, state && state.alarm, row.faults, staff, missing]
      .concat(bad.map(function (device) { return device.id; })).join();
    Shoe.fillOnChange(node, key, function () {
      return [
        staff ? tag("staff-only", Shoe.word("alert_staff_only")) : null,
        missing ? tag("bad", Shoe.word("tag_staff_missing")) : null,
        state && state.alarm ? tag("bad", Shoe.word("tag_alarm")) : null,
        state && state.on_hold ? tag("wait", Shoe.word("tag_on_hold")) : null,
        state && state.held.length ? tag("wait", Shoe.word("tag_held")) : null,
        shoe && shoe.last_round ? tag("last", Shoe.word("tag_last_round"))
          : shoe && shoe.cut_card ? tag("last", Shoe.word("cut_card")) : null,
        row.faults ? tag("bad", Shoe.word("tag_faults", { count: row.faults })) : null,
        bad.map(function (device) { return tag("bad", device.id); })
      ];
    });
  }

  function readers(node, row) {
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

  function worstAlert(row) {
    return row.alerts.slice().sort(function (one, other) {
      return other.data.severity - one.data.severity;
    })[0];
  }

  function now(parts, row) {
    var alert = worstAlert(row);
    var stale = row.fresh.is === "live" ? "" : Shoe.word("fresh_short_" + row.fresh.is);
    var said = row.state ? Shoe.format.round(row.state) : { text: "", tone: "quiet" };
    var text = alert ? Shoe.format.kind(alert.data.kind) : stale || said.text;
    Shoe.setText(parts.now, text);
    Shoe.setAttribute(parts.now, "title", text);
    parts.now.className = "now " + (alert ? "alarmed" : stale ? "stale" : said.tone);
    Shoe.showAge(parts.age, alert ? alert.at : stale ? row.fresh.since : null);
  }

  function score(parts, row) {
    var round = row.state && row.state.round;
    Shoe.setText(parts.player, round ? Shoe.formatNumber(round.player_total) : "");
    Shoe.setText(parts.banker, round ? Shoe.formatNumber(round.banker_total) : "");
    Shoe.setClass(parts.score, "none", !round || !round.cards.length);
    // Where something is to be said, totals that are not known take no room.
    Shoe.setClass(parts.score, "gone", (row.alerts.length > 0 || row.fresh.is !== "live") &&
      !(round && (round.player_total !== null || round.banker_total !== null)));
  }

  function spots(side, round) {
    return Shoe.el("span", { "class": "hand " + side }, round.cards.filter(function (card) {
      return card.slot && card.slot.charAt(0) === side.charAt(0).toUpperCase();
    }).map(function (card) {
      return Shoe.el("span", { "class": "spot", "data-slot": card.slot },
        Shoe.drawCard(Shoe.shownCard(card, round)));
    }));
  }

  function hands(node, row) {
    var round = row.state && row.state.round;
    Shoe.fillOnChange(node, JSON.stringify(round && [round.cards, round.finished]), function () {
      return round ? [spots("player", round), spots("banker", round)] : null;
    });
  }

  function build(key) {
    var parts = {};
    ["name", "where", "tags", "strip", "hands", "now", "age", "player", "banker", "readers"]
      .forEach(function (name) { parts[name] = Shoe.el("span", { "class": name }); });
    parts.strip.setAttribute("role", "img");
    parts.player.className = "points player";
    parts.banker.className = "points banker";
    // The shoe has what room the name and the round leave; it is shown whole or not at all.
    parts.round = Shoe.el("span", { "class": "round" });
    parts.shoe = Shoe.el("span");
    Shoe.setChildren(parts.where, parts.shoe);
    parts.score = Shoe.el("span", { "class": "score none" }, [parts.player, parts.banker]);
    parts.node = Shoe.el("a", {
      "class": "tile",
      "data-key": key,
      href: Shoe.pageUrl("/pit/table/" + encodeURIComponent(key))
    }, [
      Shoe.el("span", { "class": "line head" }, [parts.name, parts.where, parts.round, parts.readers]),
      Shoe.el("span", { "class": "line middle" }, [parts.strip, parts.tags]),
      parts.hands,
      Shoe.el("span", { "class": "line foot" }, [parts.score, parts.now, parts.age])
    ]);
    return parts;
  }

  function where(parts, state) {
    var shoe = state && state.shoe;
    Shoe.setText(parts.round, shoe ? Shoe.word("round_short", {
      round: state.round ? state.round.number : state.counts.rounds
    }) : "");
    Shoe.setText(parts.shoe, shoe ? Shoe.word("shoe_short", { shoe: shoe.number }) + " ·\u00a0" : "");
  }

  function mark(node, row) {
    var state = row.state;
    Shoe.setAttribute(node, "data-fresh", row.fresh.is);
    Shoe.setAttribute(node, "data-severity", Shoe.worstSeverity(row.alerts));
    Shoe.setAttribute(node, "data-alerts", row.alerts.length);
    Shoe.setAttribute(node, "data-round", state && state.round ? state.round.number : null);
    Shoe.setAttribute(node, "data-shoe", state && state.shoe ? state.shoe.number : null);
    Shoe.setClass(node, "grey", row.fresh.is !== "live" || Boolean(state && state.alarm));
  }

  Shoe.createTile = function (key) {
    var parts = build(key);
    Shoe.setText(parts.name, key);
    return {
      node: parts.node,
      update: function (row, roomy) {
        Shoe.setText(parts.name, row.name || row.table);
        Shoe.setAttribute(parts.name, "title", row.name || row.table);
        where(parts, row.state);
        mark(parts.node, row);
        tags(parts.tags, row);
        strip(parts.strip, row);
        now(parts, row);
        score(parts, row);
        if (roomy) {
          hands(parts.hands, row);
        }
        readers(parts.readers, row);
      }
    };
  };
}());
