/*
 * Lists of open alerts.
 *
 * bySeverity(alerts)      the highest severity first, then the oldest
 * worstSeverity(alerts)   the highest severity, 0 for none
 * alertIds(alerts)        a text that changes with the open alerts, and what is shown of them
 */
export function bySeverity(alerts) {
  return alerts.slice().sort((one, other) =>
    other.data.severity - one.data.severity || one.data.id - other.data.id);
}

export function alertIds(alerts) {
  return alerts.map(alert => alert.data.id + (alert.staff_only ? "s" : "") +
    (alert.ordered ? alert.ordered.action : "") + (alert.data.proposals || []).map(each =>
      each.action.slice(0, 2) + (each.needs || ""))).join();
}

export function worstSeverity(alerts) {
  return alerts.reduce((worst, alert) => Math.max(worst, alert.data.severity), 0);
}
