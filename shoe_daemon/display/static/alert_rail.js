/*
 * The open alerts of all tables, beside the tiles of the pit: the highest severity first, then the
 * oldest. Cards move only while the person does not use the page.
 *
 * new AlertRail(rows)   rows: those of all tables, by their keys, which the page changes
 *     .update(key)      shows the changed row of a table
 *     .arrange()        shows the cards in order
 *     .find(key)        the card of a table, or undefined
 */
import { createAlertCard } from "./alert_card.js";
import { alertIds, worstSeverity } from "./alerts.js";
import { byId, setClass } from "./dom.js";
import { arrange, whenIdle } from "./stable_layout.js";

const COMPACT_ABOVE = 5;

function oldestAlert(row) {
  const worst = worstSeverity(row.alerts);
  return row.alerts.reduce((found, alert) =>
    (alert.data.severity === worst && alert.at < found ? alert.at : found), "9");
}

function compareRows(one, other) {
  return worstSeverity(other.alerts) - worstSeverity(one.alerts) ||
    (oldestAlert(one) < oldestAlert(other) ? -1 : 1);
}

export class AlertRail {
  constructor(rows) {
    this.rows = rows;
    this.cards = {};
    this.shown = null;
  }

  find(key) {
    return this.cards[key];
  }

  update(key) {
    const card = this.cards[key];
    const row = this.rows[key];
    if (card && !row.alerts.length) {
      card.close();
    } else if (card && card.ids === alertIds(row.alerts)) {
      card.update(row);
    }
  }

  arrange() {
    const found = this.sorted().map(row => `${row.key}:${alertIds(row.alerts)}`).join(";");
    if (found !== this.shown) {
      this.shown = found;
      whenIdle(() => this.moveCards());
    }
  }

  sorted() {
    return Object.values(this.rows).filter(row => row.alerts.length).sort(compareRows);
  }

  moveCards() {
    const before = this.cards;
    const rows = this.sorted();
    this.cards = {};
    arrange(byId("alarms"), rows.map(row => {
      const card = before[row.key] || createAlertCard(row.key);
      card.update(row);
      card.ids = alertIds(row.alerts);
      this.cards[row.key] = card;
      return card.node;
    }));
    setClass(byId("alarms"), "many", rows.length > COMPACT_ABOVE);
    setClass(byId("calm"), "hidden", rows.length > 0 || !Object.keys(this.rows).length);
  }
}
