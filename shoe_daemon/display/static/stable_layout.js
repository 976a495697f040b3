/*
 * Moves things on the page only when nobody is about to touch them.
 *
 * Shoe.whenIdle(move)        calls move() now; or, while a finger or a button is down, or the mouse,
 *                         the wheel or the page was moved a moment ago, as soon as it is quiet,
 *                         and after 3 s at the latest (never while a finger is down). Several calls
 *                         meanwhile are one. What the person looks at stays where it is on the
 *                         screen, what had the focus keeps it.
 * Shoe.arrange(parent, nodes)  puts the nodes into the parent in this order, moving as few as
 *                         possible, and removes all others; true if it moved any
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var QUIET = 900;
  var LONGEST = 3000;
  var down = false;
  var touched = 0;
  var wanted = null;
  var since = 0;
  var timer = null;

  function busy() {
    return down || Date.now() - touched < QUIET && Date.now() - since < LONGEST;
  }

  function anchor() {
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

  function run() {
    var move = wanted;
    var kept = anchor();
    var focused = document.activeElement;
    wanted = null;
    move();
    if (focused && focused !== document.activeElement && document.body.contains(focused)) {
      focused.focus();
    }
    if (kept && document.body.contains(kept.node)) {
      window.scrollBy(0, kept.node.getBoundingClientRect().top - kept.top);
    }
  }

  function look() {
    timer = null;
    if (wanted && busy()) {
      timer = window.setTimeout(look, 150);
    } else if (wanted) {
      run();
    }
  }

  Shoe.whenIdle = function (move) {
    if (!wanted) {
      since = Date.now();
    }
    wanted = move;
    if (timer === null) {
      look();
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

  function on(names, listener) {
    names.forEach(function (name) {
      document.addEventListener(name, listener, true);
    });
  }

  on(["mousedown", "touchstart"], function () { down = true; touched = Date.now(); });
  on(["mouseup", "touchend", "touchcancel", "dragend"], function () {
    down = false;
    touched = Date.now();
  });
  on(["mousemove", "wheel", "scroll", "keydown"], function () { touched = Date.now(); });
  window.addEventListener("blur", function () { down = false; });
}());
