/*
 * Reloads a page that is older than the display, after an upgrade.
 *
 * Shoe.autoReload(beat)   receives every heartbeat; if its `version` differs from that of the
 *                    page's data block, the page reloads within some seconds: not all pages at
 *                    once, and only if the display serves a page of the new version. A page in use
 *                    or with an open order does not reload, nor a page with sound: browsers mute a
 *                    page until the next click.
 *
 * A page reloads at most once a day for each version, and never if the browser cannot store that
 * it did: so there is no loop, whatever proxy is between the page and the display.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var STORAGE_KEY = "shoe-renewed";
  var DAY_MS = 86400000;
  var IDLE_AFTER_MS = 60000;
  var SPREAD_MS = 3000;
  var RETRY_MS = 30000;
  var INPUT_TAGS = /^(?:INPUT|SELECT|TEXTAREA)$/;

  var lastInput = -Infinity;
  var newVersion = null;
  var scheduled = false;

  function isInUse() {
    var focused = document.activeElement;
    return Date.now() - lastInput < IDLE_AFTER_MS ||
      document.querySelector("[data-sound=on]") !== null ||
      document.body.classList.contains("behind") ||
      focused !== null && INPUT_TAGS.test(focused.tagName) && focused.value !== "";
  }

  /* Time of the last reload for each version; entries older than a day are removed. */
  function reloadTimes() {
    var found = JSON.parse(window.sessionStorage.getItem(STORAGE_KEY) || "{}");
    Object.keys(found).forEach(function (version) {
      if (Date.now() - found[version] > DAY_MS) {
        delete found[version];
      }
    });
    return found;
  }

  function mayReload(version) {
    try {
      return !reloadTimes()[version];
    } catch (error) {
      return false;
    }
  }

  function recordReload(version) {
    var found;
    try {
      found = reloadTimes();
      found[version] = Date.now();
      window.sessionStorage.setItem(STORAGE_KEY, JSON.stringify(found));
      return !mayReload(version);
    } catch (error) {
      return false;
    }
  }

  function schedule(action, after) {
    scheduled = true;
    window.setTimeout(function () {
      scheduled = false;
      action();
    }, after);
  }

  function reloadIfServed(version) {
    var request = new window.XMLHttpRequest();
    request.onload = function () {
      var served = request.responseText.indexOf('"version":"' + version + '"') >= 0;
      if (request.status === 200 && served && version === newVersion && !isInUse() &&
          recordReload(version)) {
        window.location.reload();
      }
    };
    request.open("GET", window.location.href.replace(/#.*/, ""));
    request.send();
  }

  function tryReload() {
    if (newVersion !== null && !isInUse() && mayReload(newVersion)) {
      reloadIfServed(newVersion);
      schedule(function () {}, RETRY_MS);
    }
  }

  Shoe.autoReload = function (beat) {
    var first = Shoe.page().first;
    var own = first && first.beat && first.beat.version;
    newVersion = own && beat.version && beat.version !== own ? beat.version : null;
    if (newVersion !== null && !scheduled) {
      schedule(tryReload, Math.random() * SPREAD_MS);
    }
  };

  ["mousedown", "touchstart", "keydown", "wheel"].forEach(function (name) {
    document.addEventListener(name, function () { lastInput = Date.now(); }, true);
  });
}());
