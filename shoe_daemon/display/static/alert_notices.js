/*
 * Notifications of the browser for new alerts in the pit, and the test of sound and notifications.
 *
 * alertNotices(sound, onClick)   works #notices-button, which opens #notices-panel, and in it
 *                    #notices (on, off) and #alert-test. Off by default; the setting is
 *                    stored on this computer. data-notices of #notices-button is on, off,
 *                    denied (by the browser), insecure (no https) or missing.
 *     .alert(row, alert)  shows a new alert, once in this browser: table, kind and round, of a
 *                         table's public text only. onClick(key) follows a click on it
 *     .hold(row)          shows that a table is on hold: the supervisor was called
 *     .closeOthers(row)   closes the notifications of a table's alerts that are no longer open
 */
import { byId, setAttribute, setText } from "./dom.js";
import * as format from "./format.js";
import { togglePanel } from "./staff_page.js";
import { word } from "./translations.js";

const SETTING_KEY = "shoe-notices";
const SHOWN_KEY = "shoe-notices-shown";
const MAX_SHOWN = 500;

function load(key) {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key, value) {
  try {
    window.localStorage.setItem(key, value);
  } catch {
    // Without storage this is lost with the next load.
  }
}

function loadShown() {
  try {
    return JSON.parse(load(SHOWN_KEY)).filter(id => typeof id === "string");
  } catch {
    return [];
  }
}

function alertId(row, alert) {
  return [row.key, alert.data.id, alert.at].join(" ");
}

function holdId(row) {
  return `${row.key} hold`;
}

export function alertNotices(sound, onClick) {
  const header = byId("notices-button");
  const toggle = byId("notices");
  let on = load(SETTING_KEY) === "on";
  let unusable = false;
  let shown = loadShown();
  const open = {};

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
    const now = state();
    const isOn = now === "on";
    setAttribute(header, "data-notices", now);
    setText(header, word(isOn ? "notices_on" : "notices_off"));
    setText(toggle, word(isOn ? "notices_turn_off" : "notices_turn_on"));
    setAttribute(toggle, "aria-pressed", String(isOn));
    toggle.disabled = !isOn && now !== "off";
    setText(byId("notices-state"), toggle.disabled ? word(`notices_${now}`) : "");
  }

  function show(title, text, id, severe) {
    let notice;
    if (state() !== "on") {
      return;
    }
    try {
      notice = new window.Notification(title, {
        body: text, tag: `shoe ${id}`, lang: document.documentElement.lang,
        requireInteraction: severe
      });
    } catch {
      // Some telephones have them for installed programs only.
      unusable = true;
      update();
      return;
    }
    open[id] = notice;
    notice.onclick = () => {
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
    show(word("pit"), word("notices_test_text"), "test", false);
    setText(byId("notices-state"),
      `${byId("sound").textContent} · ${word("notices_" + state())}`);
  }

  toggle.addEventListener("click", () => {
    function answer() { setOn(window.Notification.permission === "granted"); }
    if (state() === "on") {
      setOn(false);
      return;
    }
    // Older browsers answer by the function, others by the promise.
    const asked = window.Notification.requestPermission(answer);
    if (asked && asked.then) {
      asked.then(answer);
    }
  });
  byId("alert-test").addEventListener("click", test);
  // The permission may be changed in another place.
  header.addEventListener("click", update);
  togglePanel(header, byId("notices-panel"));
  update();

  return {
    alert(row, alert) {
      const id = alertId(row, alert);
      let text = [word("alert_staff_only")];
      const stored = loadShown();
      shown = stored.length ? stored : shown;
      if (shown.includes(id)) {
        return;
      }
      shown = shown.concat(id).slice(-MAX_SHOWN);
      store(SHOWN_KEY, JSON.stringify(shown));
      if (!alert.staff_only) {
        text = [format.kind(alert.data.kind)];
      }
      if (alert.round !== null && alert.round !== undefined) {
        text.push(word("round_number", { number: alert.round }));
      }
      show(row.name || row.table, text.join(" · "), id, alert.data.severity >= 3);
    },
    hold(row) {
      show(row.name || row.table, word("on_hold"), holdId(row), true);
    },
    closeOthers(row) {
      const ids = row.alerts.map(alert => alertId(row, alert));
      if (row.state && row.state.on_hold) {
        ids.push(holdId(row));
      }
      Object.keys(open).forEach(id => {
        if (id.split(" ")[0] === row.key && !ids.includes(id)) {
          open[id].close();
          delete open[id];
        }
      });
    }
  };
}
