/*
 * The pit: all tables, each at a fixed place, and beside them all open alerts.
 *
 * Documents: `pit` and `row` (in the data block: `rows`), `gone`, `beat`. A row is drawn with the
 * next frame, and nothing but that row.
 *
 * For tests:
 *     body                 data-broker (true, false), data-lost (true while the display is lost),
 *                          data-filter (all, alerts, offline), data-tables, data-open (alerts),
 *                          data-off (tables that are not live)
 *     #alarms > li.alarm   see alert_card.js: the tables with alerts, the highest severity first,
 *                          then the oldest
 *     #tiles > a.tile      see table_tile.js: all tables, always in the order of `pit`
 *     #faults-list > li    data-topic
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var HIDDEN_PAINT_DELAY_MS = 250;
  var COMPACT_ABOVE = 5;
  var HOLD_SEVERITY = 3;
  var rows = {};
  var order = [];
  var tiles = {};
  var alertCards = {};
  var knownAlerts = null;
  var knownHolds = {};
  var changedRows = {};
  var paintScheduled = false;
  var sound = null;
  var notices = null;
  var roomy = false;

  function orderedKeys() {
    var listed = order.filter(function (key) { return rows[key]; });
    return listed.concat(Object.keys(rows).filter(function (key) {
      return order.indexOf(key) < 0;
    }).sort());
  }

  /* Order of the alert cards. */

  function oldestAlert(row) {
    var worst = Shoe.worstSeverity(row.alerts);
    return row.alerts.reduce(function (found, alert) {
      return alert.data.severity === worst && alert.at < found ? alert.at : found;
    }, "9");
  }

  function compareRows(one, other) {
    var difference = Shoe.worstSeverity(rows[other].alerts) - Shoe.worstSeverity(rows[one].alerts);
    if (difference) {
      return difference;
    }
    return oldestAlert(rows[one]) < oldestAlert(rows[other]) ? -1 : 1;
  }

  function arrangeAlertCards() {
    var first = Object.keys(rows).filter(function (key) { return rows[key].alerts.length; });
    first.sort(compareRows);
    Shoe.arrange(byId("alarms"), first.map(function (key) {
      alertCards[key] = alertCards[key] || Shoe.createAlertCard(key);
      alertCards[key].update(rows[key]);
      alertCards[key].ids = alertIds(key);
      return alertCards[key].node;
    }));
    Object.keys(alertCards).forEach(function (key) {
      if (first.indexOf(key) < 0) {
        delete alertCards[key];
      }
    });
    Shoe.setClass(byId("alarms"), "many", first.length > COMPACT_ABOVE);
    Shoe.setClass(byId("calm"), "hidden", first.length > 0 || !Object.keys(rows).length);
  }

  function fitTiles() {
    var before = roomy;
    roomy = Shoe.fitGrid(byId("tiles"), byId("floor"), Object.keys(tiles).length);
    if (roomy && !before) {
      Object.keys(tiles).forEach(paintRow);
    }
  }

  function arrangeTiles() {
    var all = orderedKeys();
    Shoe.arrange(byId("tiles"), all.map(function (key) { return tiles[key].node; }));
    fitTiles();
    Shoe.setClass(byId("nothing"), "hidden", all.length > 0);
  }

  /* Counts. */

  function updateCounts() {
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
    Shoe.setText(byId("summary"),
      open ? Shoe.format.plural("alerts", open) : Shoe.word("alerts_none"));
    Shoe.setClass(byId("filter-alerts"), "some", open > 0);
    Shoe.setClass(byId("filter-offline"), "some", off > 0);
    Shoe.setAttribute(document.body, "data-tables", all.length);
    Shoe.setAttribute(document.body, "data-open", open);
    Shoe.setAttribute(document.body, "data-off", off);
    document.title = (open ? "(" + open + (urgent ? "!" : "") + ") " : "") + Shoe.word("pit");
  }

  /* New alerts sound at once, also on a hidden page. */

  function takeNewAlerts(row) {
    var before = knownAlerts && knownAlerts[row.key] || {};
    var now = {};
    var found = [];
    row.alerts.forEach(function (alert) {
      now[alert.data.id] = true;
      if (!before[alert.data.id]) {
        found.push(alert);
      }
    });
    if (knownAlerts) {
      knownAlerts[row.key] = now;
    }
    return knownAlerts ? found : [];
  }

  function isOnHold(row) {
    return Boolean(row.state && row.state.on_hold);
  }

  // A dealer who calls the supervisor puts the table on hold, without an irregularity.
  function takeNewHold(row) {
    var isNew = isOnHold(row) && !knownHolds[row.key];
    knownHolds[row.key] = isOnHold(row);
    return knownAlerts && isNew;
  }

  /* The same sentence once more is spoken only if the text differs. */
  function speak(node, text) {
    Shoe.setText(node, node.textContent === text ? text + "\u00a0" : text);
  }

  /* New alerts, and a hold that may have come with them. */
  function announce(row, alerts, isCalled) {
    var worst = Shoe.worstSeverity(alerts);
    var loud = alerts.filter(function (alert) { return alert.data.severity === worst; })[0];
    var severity = isCalled ? Math.max(worst, HOLD_SEVERITY) : worst;
    var said = [loud ? Shoe.format.kind(loud.data.kind) : "", isCalled ? Shoe.word("on_hold") : ""];
    sound.alert(severity);
    alerts.forEach(function (alert) { notices.alert(row, alert); });
    if (isCalled) {
      notices.hold(row);
    }
    speak(byId(severity >= 3 ? "spoken-now" : "spoken"),
      (row.name || row.table) + ": " + said.filter(Boolean).join(" · "));
  }

  function focusAlert(key) {
    var part = alertCards[key] || tiles[key];
    var link = part && (part.node.querySelector("a") || part.node);
    if (link) {
      link.scrollIntoView();
      link.focus();
    }
  }

  function flash(key) {
    [tiles[key], alertCards[key]].forEach(function (part) {
      if (part) {
        part.node.classList.remove("new");
        // Reading the size restarts the animation.
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
    if (alertCards[key] && !row.alerts.length) {
      alertCards[key].close();
    } else if (alertCards[key] && alertCards[key].ids === alertIds(key)) {
      alertCards[key].update(row);
    }
  }

  function alertIds(key) {
    return Shoe.alertIds(rows[key].alerts);
  }

  function alertSignature() {
    return Object.keys(rows).filter(function (key) { return rows[key].alerts.length; })
      .sort(compareRows).map(function (key) { return key + ":" + alertIds(key); }).join(";");
  }

  function paint() {
    if (paintScheduled) {
      paintAll();
    }
  }

  function paintAll() {
    var changed = Object.keys(changedRows).filter(function (key) { return rows[key]; });
    var withNewAlerts = changed.filter(function (key) { return changedRows[key] === "new"; });
    var hasNewTiles = changed.some(function (key) { return !tiles[key]; });
    paintScheduled = false;
    changedRows = {};
    changed.forEach(paintRow);
    if (hasNewTiles || paintAll.order !== order.join()) {
      paintAll.order = order.join();
      arrangeTiles();
    }
    if (paintAll.alarms !== alertSignature()) {
      paintAll.alarms = alertSignature();
      Shoe.whenIdle(arrangeAlertCards);
    }
    withNewAlerts.forEach(flash);
    updateCounts();
  }

  function schedulePaint() {
    if (!paintScheduled) {
      paintScheduled = true;
      if (document.hidden) {
        // A hidden page gets no animation frames, but its title is visible.
        window.setTimeout(paint, HIDDEN_PAINT_DELAY_MS);
      } else {
        window.requestAnimationFrame(paint);
      }
    }
  }

  /* Documents. */

  function takeRow(row) {
    var alerts, isCalled;
    rows[row.key] = row;
    alerts = takeNewAlerts(row);
    isCalled = takeNewHold(row);
    changedRows[row.key] = alerts.length || changedRows[row.key] === "new" ? "new" : "same";
    if (alerts.length || isCalled) {
      announce(row, alerts, isCalled);
    }
    notices.closeOthers(row);
    if (!Object.keys(rows).some(function (key) {
      return Shoe.worstSeverity(rows[key].alerts) >= 3 || isOnHold(rows[key]);
    })) {
      sound.quiet();
    }
    schedulePaint();
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
    Shoe.showNotifierFaults(byId("notify-banner"), pit.notifications);
    showFaults(pit.faults);
    Object.keys(rows).forEach(function (key) {
      if (order.indexOf(key) < 0) {
        takeGone({ key: key });
      }
    });
    schedulePaint();
  }

  function showFaults(faults) {
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
    delete changedRows[gone.key];
    delete knownHolds[gone.key];
    if (knownAlerts) {
      delete knownAlerts[gone.key];
    }
    if (tile && tile.node.parentNode) {
      tile.node.parentNode.removeChild(tile.node);
    }
    schedulePaint();
  }

  function setLost(isLost, since) {
    Shoe.setAttribute(document.body, "data-lost", isLost ? "true" : null);
    Shoe.setClass(byId("lost-banner"), "hidden", !isLost);
    Shoe.setText(byId("lost-since"), isLost
      ? Shoe.word("since", { time: Shoe.formatClock(since) }) : "");
  }

  /* Buttons. */

  function setFilter(name) {
    Shoe.setAttribute(document.body, "data-filter", name);
    ["all", "alerts", "offline"].forEach(function (each) {
      Shoe.setAttribute(byId("filter-" + each), "aria-pressed", each === name ? "true" : "false");
    });
  }

  function initButtons() {
    ["all", "alerts", "offline"].forEach(function (name) {
      byId("filter-" + name).addEventListener("click", function () {
        setFilter(name);
        window.location.replace("#" + name);
      });
    });
    setFilter((window.location.hash.match(/^#(alerts|offline)$/) || [null, "all"])[1]);
    Shoe.togglePanel(byId("faults-button"), byId("faults"));
    window.addEventListener("resize", fitTiles);
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
    notices = Shoe.alertNotices(sound, focusAlert);
    initButtons();
    Shoe.handleInitial({ beat: handlers.beat, pit: takePit, rows: function (list) {
      list.forEach(takeRow);
    } });
    knownAlerts = {};
    Object.keys(rows).forEach(function (key) {
      takeNewAlerts(rows[key]);
      takeNewHold(rows[key]);
    });
    paintAll();
    Shoe.showPage();
    document.addEventListener("visibilitychange", paint);
    Shoe.openStream(Shoe.page().live, handlers, setLost);
  }

  start();
}());
