/*
 * Who is logged in on this page, and the way of an order to its table.
 *
 * Shoe.operator.name          null while nobody is logged in
 * Shoe.operator.refused       why this page takes no PIN; null if it takes one
 * Shoe.operator.load(then)    asks the display who is logged in
 * Shoe.operator.logIn(name, pin, then)    then({}) or then({code, refused,
 *                             detail_code, detail_values})
 * Shoe.operator.logOut(then)
 * Shoe.operator.may(verb)     whether the role of who is logged in has this order; true while
 *                             nobody is
 * Shoe.operator.isSupervisor()            whether who is logged in is one
 * Shoe.operator.onChange(action)          action() after each log-in and log-out
 * Shoe.operator.createId()    a new id for an order
 * Shoe.operator.send(table, verb, order, then, unanswered)
 *                             sends an order with its id, again and again until it is answered:
 *                             the table carries it out once. then(outcome), the first time also
 *                             after a while without an answer:
 *                                 {reply}           the table's answer
 *                                 {code, refused …} the display did not pass it on. Of an order
 *                                                   that an earlier try may have brought to the
 *                                                   table (unanswered: of an earlier call), this
 *                                                   comes only where a log-in may help
 *                                 {waiting: true}   nothing is known yet; then is called again
 *                             Returns a function that stops asking
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var RETRY_MS = 1500;
  var REQUEST_MS = 10000;
  var RELOAD_MS = 30000;
  var LOG_IN_HELPS = { session: true, token: true, pin: true, role: true };
  var operator = { name: null, roles: [], refused: null };
  var csrf = "";
  var sessions = 0;
  var listeners = [];
  var timer = null;
  Shoe.operator = operator;

  function request(method, path, body, then) {
    var asking = new XMLHttpRequest();
    var done = false;

    function end(status, answer) {
      if (!done) {
        done = true;
        then(status, answer);
      }
    }

    asking.open(method, path);
    asking.timeout = REQUEST_MS;
    asking.setRequestHeader("Accept", "application/json");
    if (body) {
      asking.setRequestHeader("Content-Type", "application/json");
      asking.setRequestHeader("X-CSRF-Token", csrf);
    }
    asking.onload = function () {
      try {
        end(asking.status, JSON.parse(asking.responseText));
      } catch (error) {
        end(asking.status, null);
      }
    };
    asking.onerror = function () { end(0, null); };
    asking.ontimeout = function () { end(0, null); };
    asking.send(body ? JSON.stringify(body) : null);
  }

  /* A session that has ended is not shown as one. */
  function loadAfter(delay) {
    window.clearTimeout(timer);
    timer = delay === null ? null : window.setTimeout(function () { operator.load(); }, delay);
  }

  function takeSession(answer) {
    sessions += 1;
    operator.name = answer.operator || null;
    operator.roles = answer.roles || [];
    operator.refused = answer.refused || null;
    csrf = answer.csrf || "";
    loadAfter(operator.name ? answer.ends_in_s * 1000 + 1000 : null);
    listeners.forEach(function (action) { action(); });
  }

  operator.onChange = function (action) {
    listeners.push(action);
  };

  operator.load = function (then) {
    var before = sessions;
    request("GET", "/orders/session", null, function (status, answer) {
      // An answer from before a log-in may arrive after it.
      if (status === 200 && answer && sessions === before) {
        takeSession(answer);
      } else if (operator.name && sessions === before) {
        loadAfter(RELOAD_MS);
      }
      if (then) {
        then();
      }
    });
  };

  operator.logIn = function (name, pin, then) {
    request("POST", "/orders/session", { operator: name, pin: pin }, function (status, answer) {
      if (status === 200 && answer) {
        takeSession(answer);
        then({});
      } else {
        then(answer && answer.code ? answer : { code: "lost" });
      }
    });
  };

  operator.logOut = function (then) {
    request("POST", "/orders/log-out", {}, function () { operator.load(then); });
    takeSession({});
  };

  operator.may = function (verb) {
    var privileged = (Shoe.page().order_verbs || {})[verb];
    return operator.name === null || !privileged || operator.isSupervisor();
  };

  operator.isSupervisor = function () {
    return operator.roles.indexOf("supervisor") >= 0;
  };

  operator.createId = function () {
    var bytes = new Uint8Array(9);
    var crypto = window.crypto || window.msCrypto;
    crypto.getRandomValues(bytes);
    return "pit-" + Array.prototype.map.call(bytes, function (byte) {
      return (byte < 16 ? "0" : "") + byte.toString(16);
    }).join("");
  };

  operator.send = function (table, verb, order, then, unanswered) {
    var path = "/orders/" + encodeURIComponent(table) + "/" + verb;
    var stopped = false;
    var mayBeDone = Boolean(unanswered);

    function isRefusal(answer) {
      return Boolean(answer && answer.code) && answer.code !== "no_reply" &&
        (!mayBeDone || LOG_IN_HELPS[answer.code] === true);
    }

    function ask() {
      request("POST", path, order, function (status, answer) {
        if (stopped) {
          return;
        }
        if (status === 200 && answer) {
          then({ reply: answer });
        } else if (isRefusal(answer)) {
          if (answer.code === "session") {
            takeSession({});
          }
          then(answer);
        } else {
          mayBeDone = !order.dry_run;
          then({ waiting: true });
          window.setTimeout(function () {
            if (!stopped) {
              ask();
            }
          }, RETRY_MS);
        }
      });
    }

    ask();
    return function () { stopped = true; };
  };
}());
