/*
 * Moves elements only while the person does not use the page.
 *
 * Shoe.whenIdle(move)     calls move() now; but while a finger or a button is down, or the mouse,
 *                         the wheel or the page moved a moment ago, as soon as that is over, and
 *                         after 3 s at the latest (never while a finger is down). Under an open
 *                         sheet it is called at once. Only the last of several calls counts. The scroll position and the focus are kept.
 * Shoe.arrange(parent, nodes)  makes the nodes the children of the parent, in this order, moving
 *                         as few as possible; returns whether any child was moved or removed
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var IDLE_AFTER_MS = 900;
  var MAX_DELAY_MS = 3000;
  var pressed = false;
  var lastInput = 0;
  var pendingMove = null;
  var pendingSince = 0;
  var timer = null;

  function isBusy() {
    var now = Date.now();
    // What a sheet covers is not touched.
    if (document.body.classList.contains("behind")) {
      return false;
    }
    return pressed || now - lastInput < IDLE_AFTER_MS && now - pendingSince < MAX_DELAY_MS;
  }

  function findAnchor() {
    var found = null;
    if (window.pageYOffset > 0) {
      Array.prototype.some.call(document.querySelectorAll("[data-anchor]"), function (node) {
        var box = node.getBoundingClientRect();
        if (box.height && box.bottom > 60) {
          found = { node: node, top: box.top };
        }
        return found !== null;
      });
    }
    return found;
  }

  function runMove() {
    var move = pendingMove;
    var kept = findAnchor();
    var focused = document.activeElement;
    pendingMove = null;
    move();
    if (focused && focused !== document.activeElement && document.body.contains(focused)) {
      focused.focus();
    }
    if (kept && document.body.contains(kept.node)) {
      window.scrollBy(0, kept.node.getBoundingClientRect().top - kept.top);
    }
  }

  function check() {
    timer = null;
    if (pendingMove && isBusy()) {
      timer = window.setTimeout(check, 150);
    } else if (pendingMove) {
      runMove();
    }
  }

  Shoe.whenIdle = function (move) {
    if (!pendingMove) {
      pendingSince = Date.now();
    }
    pendingMove = move;
    if (timer === null) {
      check();
    }
  };

  Shoe.arrange = function (parent, nodes) {
    var moved = false;
    Array.prototype.slice.call(parent.children).forEach(function (child) {
      if (nodes.indexOf(child) < 0) {
        parent.removeChild(child);
        moved = true;
      }
    });
    nodes.forEach(function (node, place) {
      if (parent.children[place] !== node) {
        parent.insertBefore(node, parent.children[place] || null);
        moved = true;
      }
    });
    return moved;
  };

  function listen(names, listener) {
    names.forEach(function (name) {
      document.addEventListener(name, listener, true);
    });
  }

  listen(["mousedown", "touchstart"], function () { pressed = true; lastInput = Date.now(); });
  listen(["mouseup", "touchend", "touchcancel", "dragend"], function () {
    pressed = false;
    lastInput = Date.now();
  });
  listen(["mousemove", "wheel", "scroll", "keydown"], function () { lastInput = Date.now(); });
  window.addEventListener("blur", function () { pressed = false; });
}());
