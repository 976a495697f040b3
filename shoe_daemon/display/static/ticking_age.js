/*
 * The server's clock, and ages that tick.
 *
 * Shoe.syncClock(rfc3339)            the server says what time it is; ages count by its clock, since
 *                               that of a kiosk is often wrong
 * Shoe.age(rfc3339)             milliseconds since then, never below 0; null for no moment
 * Shoe.formatDuration(milliseconds)       "0:07", "12:40", "3:05:00", "2 d": how long, in any language
 * Shoe.showAge(node, rfc3339)   the node's text is that moment's span from now on, every second,
 *                               until another moment is given, or none (null), or it is removed
 *                               from the page; `data-ticking` holds the moment
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SECOND = 1000;
  var DAY = 86400000;
  var FORGET = 60;
  var ahead = 0;
  var synced = false;
  var clocks = [];

  function two(number) {
    return (number < 10 ? "0" : "") + number;
  }

  Shoe.syncClock = function (moment) {
    var now = new Date(moment).getTime();
    var found = now - Date.now();
    if (isNaN(now)) {
      return;
    }
    // What comes late makes the server look slow: a quick word counts at once, a slow one little.
    ahead = !synced || found > ahead || ahead - found > 30000 ? found : ahead + (found - ahead) / 8;
    synced = true;
  };

  Shoe.age = function (moment) {
    var then = moment ? new Date(moment).getTime() : NaN;
    return isNaN(then) ? null : Math.max(0, Date.now() + ahead - then);
  };

  Shoe.formatDuration = function (milliseconds) {
    var seconds = Math.floor(milliseconds / SECOND);
    var hours = Math.floor(seconds / 3600);
    var minutes = Math.floor(seconds / 60) % 60;
    if (milliseconds === null || isNaN(seconds)) {
      return "–";
    }
    if (milliseconds >= DAY) {
      return Math.floor(milliseconds / DAY) + " d";
    }
    return hours > 0
      ? hours + ":" + two(minutes) + ":" + two(seconds % 60)
      : minutes + ":" + two(seconds % 60);
  };

  function show(node) {
    Shoe.setText(node, Shoe.formatDuration(Shoe.age(node.getAttribute("data-ticking"))));
  }

  Shoe.showAge = function (node, moment) {
    Shoe.setAttribute(node, "data-ticking", moment);
    if (!moment) {
      Shoe.setText(node, "");
      return node;
    }
    if (clocks.indexOf(node) < 0) {
      clocks.push(node);
      node.shoeMissed = 0;
    }
    show(node);
    return node;
  };

  function tick() {
    clocks = clocks.filter(function (node) {
      // A node may be made some time before it is put on the page.
      node.shoeMissed = document.body.contains(node) ? 0 : node.shoeMissed + 1;
      return node.hasAttribute("data-ticking") && node.shoeMissed < FORGET;
    });
    clocks.forEach(show);
  }

  window.setInterval(tick, SECOND);
}());
