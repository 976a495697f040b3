/*
 * The stream of a page: documents come in, and the page learns when nothing comes any more.
 *
 * Shoe.openStream(url, handlers, onLost)
 *     handlers: {event name: function (document)}; each document is whole, nothing is added up.
 *     onLost(lost, since): true when no beat came for 15 s (`since` is the Date of the last sign
 *     of life), false as soon as there is one again. The connection is tried again for ever.
 * Shoe.handleInitial(handlers)
 *     gives the handlers the documents of the data block, before anything is painted.
 *
 * A document that a handler cannot digest never stops the page: it is told on the console.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SILENCE = 15000;
  var LOOK = 1000;
  var AGAIN = 2000;

  function hand(handlers, name, read) {
    try {
      handlers[name](read());
    } catch (error) {
      if (window.console) {
        window.console.error("The document `" + name + "` cannot be shown: " + error);
      }
    }
  }

  Shoe.handleInitial = function (handlers) {
    var first = Shoe.page().first || {};
    Object.keys(handlers).forEach(function (name) {
      if (Object.prototype.hasOwnProperty.call(first, name)) {
        hand(handlers, name, function () {
          return first[name];
        });
      }
    });
  };

  Shoe.openStream = function (url, handlers, onLost) {
    var source = null;
    var heard = Date.now();
    var opened = 0;
    var lost = false;

    function alive() {
      heard = Date.now();
      if (lost) {
        lost = false;
        onLost(false, null);
      }
    }

    function open() {
      if (source) {
        source.close();
      }
      opened = Date.now();
      source = new window.EventSource(url);
      Object.keys(handlers).concat(handlers.beat ? [] : ["beat"]).forEach(function (name) {
        source.addEventListener(name, function (message) {
          function read() {
            return JSON.parse(message.data);
          }
          alive();
          if (handlers[name]) {
            hand(handlers, name, read);
          }
          if (name === "beat") {
            hand({ beat: Shoe.autoReload }, name, read);
          }
        });
      });
    }

    function look() {
      var silent = Date.now() - heard;
      if (silent >= SILENCE && !lost) {
        lost = true;
        onLost(true, new Date(heard));
      }
      // The browser tries again by itself, but not after a refusal, and not on a dead line.
      if (source.readyState === 2 ? Date.now() - opened >= AGAIN
        : silent >= SILENCE && Date.now() - opened >= SILENCE) {
        open();
      }
    }

    open();
    window.setInterval(look, LOOK);
  };
}());
