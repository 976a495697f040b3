/*
 * The server's clock, and ages that count up.
 *
 * Shoe.syncClock(rfc3339)       sets the server's time; ages use it, since the clock of a kiosk is
 *                               often wrong
 * Shoe.age(rfc3339)             milliseconds since then, at least 0; null for null
 * Shoe.formatDuration(milliseconds)  "0:07", "12:40", "3:05:00", "2 d", in any language
 * Shoe.showAge(node, rfc3339)   shows the age of that time in the node, updated every second until
 *                               another time is set, or null, or the node is removed from the
 *                               page; `data-ticking` is the time
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SECOND_MS = 1000;
  var DAY_MS = 86400000;
  var MAX_MISSED_TICKS = 60;
  var MAX_LEAD_ERROR_MS = 30000;
  var serverLead = 0;
  var synced = false;
  var nodes = [];

  function twoDigits(number) {
    return (number < 10 ? "0" : "") + number;
  }

  Shoe.syncClock = function (time) {
    var now = new Date(time).getTime();
    var lead = now - Date.now();
    if (isNaN(now)) {
      return;
    }
    // A delay makes the server look slow: a larger lead counts at once, a smaller one little.
    serverLead = !synced || lead > serverLead || serverLead - lead > MAX_LEAD_ERROR_MS
      ? lead : serverLead + (lead - serverLead) / 8;
    synced = true;
  };

  Shoe.age = function (time) {
    var then = time ? new Date(time).getTime() : NaN;
    return isNaN(then) ? null : Math.max(0, Date.now() + serverLead - then);
  };

  Shoe.formatDuration = function (milliseconds) {
    var seconds = Math.floor(milliseconds / SECOND_MS);
    var hours = Math.floor(seconds / 3600);
    var minutes = Math.floor(seconds / 60) % 60;
    if (milliseconds === null || isNaN(seconds)) {
      return "–";
    }
    if (milliseconds >= DAY_MS) {
      return Math.floor(milliseconds / DAY_MS) + " d";
    }
    return hours > 0
      ? hours + ":" + twoDigits(minutes) + ":" + twoDigits(seconds % 60)
      : minutes + ":" + twoDigits(seconds % 60);
  };

  function update(node) {
    Shoe.setText(node, Shoe.formatDuration(Shoe.age(node.getAttribute("data-ticking"))));
  }

  Shoe.showAge = function (node, time) {
    Shoe.setAttribute(node, "data-ticking", time);
    if (!time) {
      Shoe.setText(node, "");
      return node;
    }
    if (nodes.indexOf(node) < 0) {
      nodes.push(node);
      node.shoeMissed = 0;
    }
    update(node);
    return node;
  };

  function tick() {
    nodes = nodes.filter(function (node) {
      // A node may be created some time before it is added to the page.
      node.shoeMissed = document.body.contains(node) ? 0 : node.shoeMissed + 1;
      return node.hasAttribute("data-ticking") && node.shoeMissed < MAX_MISSED_TICKS;
    });
    nodes.forEach(update);
  }

  window.setInterval(tick, SECOND_MS);
}());
