/*
 * The pit: every table at its place, and before them what needs a person.
 *
 * Documents: `pit` and `row` (in the data block: `rows`), `gone`, `beat`. A row is shown with the
 * next painted frame, and only that row is touched.
 *
 * For tests:
 *     body                 data-broker (true, false), data-lost (true while the display is lost),
 *                          data-filter (all, alerts, offline), data-tables, data-open (alerts),
 *                          data-off (tables that are not live)
 *     #alarms > li.alarm   see alert_card.js: the tables with alerts, the worst first, then the oldest
 *     #tiles > a.tile      see table_tile.js: all tables, in the order of `pit`, whatever happens
 *     #faults-list > li    data-topic
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var HIDDEN = 250;
  var MANY = 5;
  var rows = {};
  var order = [];
  var tiles = {};
  var alarms = {};
  var known = null;
  var queue = {};
  var painting = false;
  var sound = null;
  var roomy = false;

  function keys() {
    var listed = order.filter(function (key) { return rows[key]; });
    return listed.concat(Object.keys(rows).filter(function (key) {
      return order.indexOf(key) < 0;
    }).sort());
  }

  /* Who stands first. */

  function oldest(row) {
    var worst = Shoe.worstSeverity(row.alerts);
    return row.alerts.reduce(function (found, alert) {
      return alert.data.severity === worst && alert.at < found ? alert.at : found;
    }, "9");
  }

  function weightier(one, other) {
    var difference = Shoe.worstSeverity(rows[other].alerts) - Shoe.worstSeverity(rows[one].alerts);
    if (difference) {
      return difference;
    }
    return oldest(rows[one]) < oldest(rows[other]) ? -1 : 1;
  }

  function arrangeAlarms() {
    var first = Object.keys(rows).filter(function (key) { return rows[key].alerts.length; });
    first.sort(weightier);
    Shoe.arrange(byId("alarms"), first.map(function (key) {
      alarms[key] = alarms[key] || Shoe.createAlertCard(key);
      alarms[key].update(rows[key]);
      alarms[key].ids = ids(key);
      return alarms[key].node;
    }));
    Object.keys(alarms).forEach(function (key) {
      if (first.indexOf(key) < 0) {
        delete alarms[key];
      }
    });
    Shoe.setClass(byId("alarms"), "many", first.length > MANY);
    Shoe.setClass(byId("calm"), "hidden", first.length > 0 || !Object.keys(rows).length);
  }

  function fit() {
    var before = roomy;
    roomy = Shoe.fitGrid(byId("tiles"), byId("floor"), Object.keys(tiles).length);
    if (roomy && !before) {
      Object.keys(tiles).forEach(paintRow);
    }
  }

  function arrangeTiles() {
    var all = keys();
    Shoe.arrange(byId("tiles"), all.map(function (key) { return tiles[key].node; }));
    fit();
    Shoe.setClass(byId("nothing"), "hidden", all.length > 0);
  }

  /* What the numbers say. */

  function count() {
    var all = Object.keys(rows);
    var open = 0;
    var urgent = 0;
    var off = 0;
    all.forEach(function (key) {
      open += rows[key].alerts.length;
      urgent += rows[key].alerts.filter(function (alert) {
        return alert.data.severity >= 3;
      }).length;
      off += rows[key].fresh.is === "live" ? 0 : 1;
    });
    Shoe.setText(byId("count-all"), all.length);
    Shoe.setText(byId("count-alerts"), open);
    Shoe.setText(byId("count-offline"), off);
    Shoe.setText(byId("summary"), open ? Shoe.format.plural("alerts", open) : Shoe.word("alerts_none"));
    Shoe.setClass(byId("filter-alerts"), "some", open > 0);
    Shoe.setClass(byId("filter-offline"), "some", off > 0);
    Shoe.setAttribute(document.body, "data-tables", all.length);
    Shoe.setAttribute(document.body, "data-open", open);
    Shoe.setAttribute(document.body, "data-off", off);
    document.title = (open ? "(" + open + (urgent ? "!" : "") + ") " : "") + Shoe.word("pit");
  }

  /* New alerts are heard at once, also by a page that nobody looks at. */

  function fresh(row) {
    var before = known && known[row.key] || {};
    var now = {};
    var found = [];
    row.alerts.forEach(function (alert) {
      now[alert.data.id] = true;
      if (!before[alert.data.id]) {
        found.push(alert);
      }
    });
    if (known) {
      known[row.key] = now;
    }
    return known ? found : [];
  }

  function announce(row, alerts) {
    var worst = Shoe.worstSeverity(alerts);
    var loud = alerts.filter(function (alert) { return alert.data.severity === worst; })[0];
    sound.alert(worst);
    Shoe.setText(byId(worst >= 3 ? "spoken-now" : "spoken"),
      (row.name || row.table) + ": " + Shoe.format.kind(loud.data.kind));
  }

  function flash(key) {
    [tiles[key], alarms[key]].forEach(function (part) {
      if (part) {
        part.node.classList.remove("new");
        // Asking for its size starts the animation anew.
        part.node.getBoundingClientRect();
        part.node.classList.add("new");
      }
    });
  }

  /* Painting. */

  function paintRow(key) {
    var row = rows[key];
    if (!tiles[key]) {
      tiles[key] = Shoe.createTile(key);
      Shoe.setAttribute(tiles[key].node, "data-anchor", "");
    }
    tiles[key].update(row, roomy);
    if (!row.alerts.length) {
      tiles[key].node.classList.remove("new");
    }
    if (alarms[key] && !row.alerts.length) {
      alarms[key].close();
    } else if (alarms[key] && alarms[key].ids === ids(key)) {
      alarms[key].update(row);
    }
  }

  function ids(key) {
    return Shoe.alertIds(rows[key].alerts);
  }

  function signature() {
    return Object.keys(rows).filter(function (key) { return rows[key].alerts.length; })
      .sort(weightier).map(function (key) { return key + ":" + ids(key); }).join(";");
  }

  function paint() {
    if (painting) {
      paintAll();
    }
  }

  function paintAll() {
    var changed = Object.keys(queue).filter(function (key) { return rows[key]; });
    var fresh = changed.filter(function (key) { return queue[key] === "new"; });
    var tilesNow = changed.some(function (key) { return !tiles[key]; });
    painting = false;
    queue = {};
    changed.forEach(paintRow);
    if (tilesNow || paintAll.order !== order.join()) {
      paintAll.order = order.join();
      arrangeTiles();
    }
    if (paintAll.alarms !== signature()) {
      paintAll.alarms = signature();
      Shoe.whenIdle(arrangeAlarms);
    }
    fresh.forEach(flash);
    count();
  }

  function soon() {
    if (!painting) {
      painting = true;
      if (document.hidden) {
        // Nothing is painted of a page that nobody sees, but its title is read.
        window.setTimeout(paint, HIDDEN);
      } else {
        window.requestAnimationFrame(paint);
      }
    }
  }

  /* Documents. */

  function takeRow(row) {
    var alerts;
    rows[row.key] = row;
    alerts = fresh(row);
    queue[row.key] = alerts.length || queue[row.key] === "new" ? "new" : "same";
    if (alerts.length) {
      announce(row, alerts);
    }
    if (!Object.keys(rows).some(function (key) { return Shoe.worstSeverity(rows[key].alerts) >= 3; })) {
      sound.quiet();
    }
    soon();
  }

  function takePit(pit) {
    var broker = pit.broker;
    order = pit.order;
    Shoe.setAttribute(document.body, "data-broker", String(broker.connected));
    Shoe.setText(byId("broker-word"),
      Shoe.word(broker.connected ? "broker_connected" : "broker_lost"));
    Shoe.setClass(byId("broker-banner"), "hidden", broker.connected);
    Shoe.setText(byId("broker-since"), broker.since
      ? Shoe.word("since", { time: Shoe.formatClock(broker.since) }) : "");
    Shoe.setText(byId("broker-detail"), broker.detail || "");
    takeFaults(pit.faults);
    Object.keys(rows).forEach(function (key) {
      if (order.indexOf(key) < 0) {
        takeGone({ key: key });
      }
    });
    soon();
  }

  function takeFaults(faults) {
    Shoe.setClass(byId("faults-button"), "some", faults.total > 0);
    Shoe.setText(byId("faults-count"), faults.total);
    Shoe.setClass(byId("faults-none"), "hidden", faults.total > 0);
    Shoe.fillOnChange(byId("faults-list"), JSON.stringify(faults), function () {
      return faults.last.slice().reverse().map(function (fault) {
        return Shoe.el("li", { "data-topic": fault.topic }, [
          Shoe.el("time", { text: Shoe.formatClock(fault.at) }),
          Shoe.el("code", { text: fault.topic }),
          Shoe.el("span", { lang: "en", text: fault.what })
        ]);
      });
    });
  }

  function takeGone(gone) {
    var tile = tiles[gone.key];
    delete rows[gone.key];
    delete tiles[gone.key];
    delete queue[gone.key];
    if (known) {
      delete known[gone.key];
    }
    if (tile && tile.node.parentNode) {
      tile.node.parentNode.removeChild(tile.node);
    }
    soon();
  }

  function lost(is, since) {
    Shoe.setAttribute(document.body, "data-lost", is ? "true" : null);
    Shoe.setClass(byId("lost-banner"), "hidden", !is);
    Shoe.setText(byId("lost-since"), is ? Shoe.word("since", { time: Shoe.formatClock(since) }) : "");
  }

  /* Buttons. */

  function filter(name) {
    Shoe.setAttribute(document.body, "data-filter", name);
    ["all", "alerts", "offline"].forEach(function (each) {
      Shoe.setAttribute(byId("filter-" + each), "aria-pressed", each === name ? "true" : "false");
    });
  }

  function buttons() {
    ["all", "alerts", "offline"].forEach(function (name) {
      byId("filter-" + name).addEventListener("click", function () {
        filter(name);
        window.location.replace("#" + name);
      });
    });
    filter((window.location.hash.match(/^#(alerts|offline)$/) || [null, "all"])[1]);
    Shoe.togglePanel(byId("faults-button"), byId("faults"));
    window.addEventListener("resize", fit);
  }

  function start() {
    var handlers = {
      pit: takePit,
      row: takeRow,
      gone: takeGone,
      beat: function (beat) { Shoe.syncClock(beat.now); }
    };
    Shoe.fillWords();
    sound = Shoe.alertSound(byId("sound"));
    buttons();
    Shoe.handleInitial({ beat: handlers.beat, pit: takePit, rows: function (list) {
      list.forEach(takeRow);
    } });
    known = {};
    Object.keys(rows).forEach(function (key) { fresh(rows[key]); });
    paintAll();
    Shoe.showPage();
    document.addEventListener("visibilitychange", paint);
    Shoe.openStream(Shoe.page().live, handlers, lost);
  }

  start();
}());
