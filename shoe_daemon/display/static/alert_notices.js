/*
 * Notifications of the browser for new alerts in the pit, and the test of sound and notifications.
 *
 * new AlertNotices(sound, onClick)   works #notices-button, which opens #notices-panel, and in it
 *                         #notices (on, off) and #alert-test. Off by default; the setting is
 *                         stored on this computer. data-notices of #notices-button is on, off,
 *                         denied (by the browser), insecure (no https) or missing.
 *     .alert(row, alert)  shows a new alert, once in this browser: table, kind and round, of a
 *                         table's public text only. onClick(key) follows a click on it
 *     .hold(row)          shows that a table is on hold: the supervisor was called
 *     .closeOthers(row)   closes the notifications of a table's alerts that are no longer open
 */
import { byId, setAttribute, setText } from "./dom.js";
import * as format from "./format.js";
import { togglePanel } from "./staff_page.js";
import { load, store } from "./storage.js";
import { word } from "./translations.js";

const SETTING_KEY = "shoe-notices";
const SHOWN_KEY = "shoe-notices-shown";
const MAX_SHOWN = 500;

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

export class AlertNotices {
  constructor(sound, onClick) {
    this.sound = sound;
    this.onClick = onClick;
    this.isOn = load(SETTING_KEY) === "on";
    this.isUnusable = false;
    this.shown = loadShown();
    this.open = {};
    byId("notices").addEventListener("click", () => this.toggle());
    byId("alert-test").addEventListener("click", () => this.test());
    // The permission may be changed in another place.
    byId("notices-button").addEventListener("click", () => this.update());
    togglePanel(byId("notices-button"), byId("notices-panel"));
    this.update();
  }

  state() {
    if (window.isSecureContext === false) {
      return "insecure";
    }
    if (!window.Notification || this.isUnusable) {
      return "missing";
    }
    if (window.Notification.permission === "denied") {
      return "denied";
    }
    return this.isOn && window.Notification.permission === "granted" ? "on" : "off";
  }

  update() {
    const toggle = byId("notices");
    const now = this.state();
    const isOn = now === "on";
    setAttribute(byId("notices-button"), "data-notices", now);
    setText(byId("notices-button"), word(isOn ? "notices_on" : "notices_off"));
    setText(toggle, word(isOn ? "notices_turn_off" : "notices_turn_on"));
    setAttribute(toggle, "aria-pressed", String(isOn));
    toggle.disabled = !isOn && now !== "off";
    setText(byId("notices-state"), toggle.disabled ? word(`notices_${now}`) : "");
  }

  setOn(isOn) {
    this.isOn = isOn;
    store(SETTING_KEY, isOn ? "on" : "off");
    this.update();
  }

  toggle() {
    const takeAnswer = () => this.setOn(window.Notification.permission === "granted");
    if (this.state() === "on") {
      this.setOn(false);
      return;
    }
    // Safari 14 answers by the function, others by the promise.
    const asked = window.Notification.requestPermission(takeAnswer);
    if (asked) {
      asked.then(takeAnswer);
    }
  }

  // What an alert would do now: nothing that is off.
  test() {
    this.sound.alert(3);
    this.sound.quiet();
    this.show(word("pit"), word("notices_test_text"), "test", false);
    setText(byId("notices-state"),
      `${byId("sound").textContent} · ${word(`notices_${this.state()}`)}`);
  }

  show(title, text, id, severe) {
    if (this.state() !== "on") {
      return;
    }
    try {
      const notice = new window.Notification(title, {
        body: text, tag: `shoe ${id}`, lang: document.documentElement.lang,
        requireInteraction: severe
      });
      this.open[id] = notice;
      notice.onclick = () => {
        window.focus();
        notice.close();
        this.onClick(id.split(" ")[0]);
      };
    } catch {
      // Some telephones have them for installed programs only.
      this.isUnusable = true;
      this.update();
    }
  }

  alert(row, alert) {
    const id = alertId(row, alert);
    const stored = loadShown();
    this.shown = stored.length ? stored : this.shown;
    if (this.shown.includes(id)) {
      return;
    }
    this.shown = this.shown.concat(id).slice(-MAX_SHOWN);
    store(SHOWN_KEY, JSON.stringify(this.shown));
    const text = [alert.staff_only ? word("alert_staff_only") : format.kind(alert.data.kind)];
    if (alert.round !== null && alert.round !== undefined) {
      text.push(word("round_number", { number: alert.round }));
    }
    this.show(row.name || row.table, text.join(" · "), id, alert.data.severity >= 3);
  }

  hold(row) {
    this.show(row.name || row.table, word("on_hold"), holdId(row), true);
  }

  closeOthers(row) {
    const ids = row.alerts.map(alert => alertId(row, alert));
    if (row.state && row.state.on_hold) {
      ids.push(holdId(row));
    }
    Object.keys(this.open).forEach(id => {
      if (id.split(" ")[0] === row.key && !ids.includes(id)) {
        this.open[id].close();
        delete this.open[id];
      }
    });
  }
}
