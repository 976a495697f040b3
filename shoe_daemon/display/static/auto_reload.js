/*
 * A page that is older than the display, which was upgraded, takes itself anew.
 *
 * Shoe.autoReload(beat)   is given every sign of life; where its `version` is another one than that of
 *                    the page's data block, the page is loaded again within some seconds: not all
 *                    pages at the same moment, and only when the display really has a page of that
 *                    version to give. Not while somebody uses it, nor while it may sound: that the
 *                    browser would not let it do again before the next click.
 *
 * For no version is a page loaded again twice within a day, and never where the browser cannot
 * remember that it was. So it is no loop, whatever stands between the page and the display.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var KEY = "shoe-renewed";
  var DAY = 86400000;
  var IDLE = 60000;
  var SPREAD = 3000;
  var AGAIN = 30000;
  var TYPED_INTO = /^(?:INPUT|SELECT|TEXTAREA)$/;

  var touched = -Infinity;
  var wanted = null;
  var waiting = false;

  function busy() {
    var focused = document.activeElement;
    return Date.now() - touched < IDLE || document.querySelector("[data-sound=on]") !== null ||
      focused !== null && TYPED_INTO.test(focused.tagName) && focused.value !== "";
  }

  /* When the page was last loaded again, by versions; what is older than a day is forgotten. */
  function tried() {
    var found = JSON.parse(window.sessionStorage.getItem(KEY) || "{}");
    Object.keys(found).forEach(function (version) {
      if (Date.now() - found[version] > DAY) {
        delete found[version];
      }
    });
    return found;
  }

  function mayTry(version) {
    try {
      return !tried()[version];
    } catch (error) {
      return false;
    }
  }

  function remember(version) {
    var found;
    try {
      found = tried();
      found[version] = Date.now();
      window.sessionStorage.setItem(KEY, JSON.stringify(found));
      return !mayTry(version);
    } catch (error) {
      return false;
    }
  }

  function later(action, after) {
    waiting = true;
    window.setTimeout(function () {
      waiting = false;
      action();
    }, after);
  }

  function ask(version) {
    var request = new window.XMLHttpRequest();
    request.onload = function () {
      var is = request.responseText.indexOf('"version":"' + version + '"') >= 0;
      if (request.status === 200 && is && version === wanted && !busy() && remember(version)) {
        window.location.reload();
      }
    };
    request.open("GET", window.location.href.replace(/#.*/, ""));
    request.send();
  }

  function tryNow() {
    if (wanted !== null && !busy() && mayTry(wanted)) {
      ask(wanted);
      later(function () {}, AGAIN);
    }
  }

  Shoe.autoReload = function (beat) {
    var first = Shoe.page().first;
    var own = first && first.beat && first.beat.version;
    wanted = own && beat.version && beat.version !== own ? beat.version : null;
    if (wanted !== null && !waiting) {
      later(tryNow, Math.random() * SPREAD);
    }
  };

  ["mousedown", "touchstart", "keydown", "wheel"].forEach(function (name) {
    document.addEventListener(name, function () { touched = Date.now(); }, true);
  });
}());
