/*
 * Announces new alerts and holds in the pit at once, also on a hidden page: by sound, notification
 * and a sentence for screen readers.
 *
 * new AlertAnnouncer(onClick)   onClick(key): a notification of a table was clicked
 *     .take(row)                receives each row; returns whether an alert of it is new
 *     .forget(key)              the table is gone
 *     .start()                  from now on; what is known already is not new
 *     .quietUnlessUrgent(rows)  ends the sound once no table needs it
 */
import { AlertNotices } from "./alert_notices.js";
import { AlertSound } from "./alert_sound.js";
import { worstSeverity } from "./alerts.js";
import { byId, setText } from "./dom.js";
import * as format from "./format.js";
import { word } from "./translations.js";

const URGENT = 3;

// A dealer who calls the supervisor puts the table on hold, without an irregularity.
function isOnHold(row) {
  return Boolean(row.state && row.state.on_hold);
}

/* The same sentence once more is spoken only if the text differs. */
function speak(node, text) {
  setText(node, node.textContent === text ? `${text}\u00a0` : text);
}

export class AlertAnnouncer {
  constructor(onClick) {
    this.sound = new AlertSound(byId("sound"));
    this.notices = new AlertNotices(this.sound, onClick);
    this.known = {};
    this.isStarted = false;
  }

  start() {
    this.isStarted = true;
  }

  forget(key) {
    delete this.known[key];
  }

  take(row) {
    const before = this.known[row.key] || { alerts: [], isOnHold: false };
    const alerts = row.alerts.filter(alert => !before.alerts.includes(alert.data.id));
    const isCalled = isOnHold(row) && !before.isOnHold;
    const ids = row.alerts.map(alert => alert.data.id);
    this.known[row.key] = { alerts: ids, isOnHold: isOnHold(row) };
    if (this.isStarted && (alerts.length || isCalled)) {
      this.announce(row, alerts, isCalled);
    }
    this.notices.closeOthers(row);
    return this.isStarted && alerts.length > 0;
  }

  /* New alerts, and a hold that may have come with them. */
  announce(row, alerts, isCalled) {
    const worst = worstSeverity(alerts);
    const loud = alerts.find(alert => alert.data.severity === worst);
    const severity = isCalled ? Math.max(worst, URGENT) : worst;
    const said = [loud ? format.kind(loud.data.kind) : "", isCalled ? word("on_hold") : ""];
    this.sound.alert(severity);
    alerts.forEach(alert => this.notices.alert(row, alert));
    if (isCalled) {
      this.notices.hold(row);
    }
    speak(byId(severity >= URGENT ? "spoken-now" : "spoken"),
      `${row.name || row.table}: ${said.filter(Boolean).join(" · ")}`);
  }

  quietUnlessUrgent(rows) {
    if (!rows.some(row => worstSeverity(row.alerts) >= URGENT || isOnHold(row))) {
      this.sound.quiet();
    }
  }
}
