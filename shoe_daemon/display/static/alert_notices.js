/*
 * Notifications of the browser for new alerts in the pit, and the test of sound and notifications.
 *
 * Shoe.alertNotices(sound, onClick)   works #notices-button, which opens #notices-panel, and in it
 *                         #notices (on, off) and #alert-test. Off by default; the setting is
 *                         stored on this computer. data-notices of #notices-button is on, off,
 *                         denied (by the browser), insecure (no https) or missing.
 *     .alert(row, alert)  shows a new alert, once in this browser: table, kind and round, of a
 *                         table's public text only. onClick(key) follows a click on it
 *     .hold(row)          shows that a table is on hold: the supervisor was called
 *     .closeOthers(row)   closes the notifications of a table's alerts that are no longer open
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SETTING_KEY = "shoe-notices";
  var SHOWN_KEY = "shoe-notices-shown";
  var MAX_SHOWN = 500;

  function load(key) {
    try {
      return window.localStorage.getItem(key);
    } catch (error) {
      return null;
    }
  }

  function store(key, value) {
    try {
      window.localStorage.setItem(key, value);
    } catch (error) {
      // Without storage this is lost with the next load.
      return;
    }
  }

  function loadShown() {
    try {
      return JSON.parse(load(SHOWN_KEY)).filter(function (id) { return typeof id === "string"; });
    } catch (error) {
      return [];
    }
  }

  function alertId(row, alert) {
    return [row.key, alert.data.id, alert.at].join(" ");
  }

  function holdId(row) {
    return row.key + " hold";
  }

  Shoe.alertNotices = function (sound, onClick) {
    var header = Shoe.byId("notices-button");
    var toggle = Shoe.byId("notices");
    var on = load(SETTING_KEY) === "on";
    var unusable = false;
    var shown = loadShown();
    var open = {};

    function state() {
      if (window.isSecureContext === false) {
        return "insecure";
      }
      if (!window.Notification || unusable) {
        return "missing";
      }
      if (window.Notification.permission === "denied") {
        return "denied";
      }
      return on && window.Notification.permission === "granted" ? "on" : "off";
    }

    function update() {
      var now = state();
      var isOn = now === "on";
      Shoe.setAttribute(header, "data-notices", now);
      Shoe.setText(header, Shoe.word(isOn ? "notices_on" : "notices_off"));
      Shoe.setText(toggle, Shoe.word(isOn ? "notices_turn_off" : "notices_turn_on"));
      Shoe.setAttribute(toggle, "aria-pressed", String(isOn));
      toggle.disabled = !isOn && now !== "off";
      Shoe.setText(Shoe.byId("notices-state"), toggle.disabled ? Shoe.word("notices_" + now) : "");
    }

    function show(title, text, id, severe) {
      var notice;
      if (state() !== "on") {
        return;
      }
      try {
        notice = new window.Notification(title, {
          body: text, tag: "shoe " + id, lang: document.documentElement.lang,
          requireInteraction: severe
        });
      } catch (error) {
        // Some telephones have them for installed programs only.
        unusable = true;
        update();
        return;
      }
      open[id] = notice;
      notice.onclick = function () {
        window.focus();
        notice.close();
        onClick(id.split(" ")[0]);
      };
    }

    function setOn(value) {
      on = value;
      store(SETTING_KEY, on ? "on" : "off");
      update();
    }

    // What an alert would do now: nothing that is off.
    function test() {
      sound.alert(3);
      sound.quiet();
      show(Shoe.word("pit"), Shoe.word("notices_test_text"), "test", false);
      Shoe.setText(Shoe.byId("notices-state"),
        Shoe.byId("sound").textContent + " · " + Shoe.word("notices_" + state()));
    }

    toggle.addEventListener("click", function () {
      var asked;
      function answer() { setOn(window.Notification.permission === "granted"); }
      if (state() === "on") {
        setOn(false);
        return;
      }
      // Older browsers answer by the function, others by the promise.
      asked = window.Notification.requestPermission(answer);
      if (asked && asked.then) {
        asked.then(answer);
      }
    });
    Shoe.byId("alert-test").addEventListener("click", test);
    // The permission may be changed in another place.
    header.addEventListener("click", update);
    Shoe.togglePanel(header, Shoe.byId("notices-panel"));
    update();

    return {
      alert: function (row, alert) {
        var id = alertId(row, alert);
        var text = [Shoe.word("alert_staff_only")];
        var stored = loadShown();
        shown = stored.length ? stored : shown;
        if (shown.indexOf(id) >= 0) {
          return;
        }
        shown = shown.concat(id).slice(-MAX_SHOWN);
        store(SHOWN_KEY, JSON.stringify(shown));
        if (!alert.staff_only) {
          text = [Shoe.format.kind(alert.data.kind)];
        }
        if (alert.round !== null && alert.round !== undefined) {
          text.push(Shoe.word("round_number", { number: alert.round }));
        }
        show(row.name || row.table, text.join(" · "), id, alert.data.severity >= 3);
      },
      hold: function (row) {
        show(row.name || row.table, Shoe.word("on_hold"), holdId(row), true);
      },
      closeOthers: function (row) {
        var ids = row.alerts.map(function (alert) { return alertId(row, alert); });
        if (row.state && row.state.on_hold) {
          ids.push(holdId(row));
        }
        Object.keys(open).forEach(function (id) {
          if (id.split(" ")[0] === row.key && ids.indexOf(id) < 0) {
            open[id].close();
            delete open[id];
          }
        });
      }
    };
  };
}());
