import type { Family } from "./exposition.ts";

const CODES = "0 ok, 1 warning, 2 critical, 3 unknown";

/** Every metric there is. `docs/reference/metrics.md` lists the same; a test compares them. */
export const FAMILIES = {
  build: gauge("monitor_build_info", "The monitor's version; always 1."),
  running: gauge(
    "monitor_running",
    "Whether the service runs; 0 once it was stopped on purpose. Only where the monitor runs all the time.",
  ),
  lastLoop: gauge(
    "monitor_last_loop_timestamp_seconds",
    "When the monitor was last known to do its work, with no run overdue.",
  ),
  schedulerLag: gauge(
    "monitor_scheduler_lag_seconds",
    "How much later than planned the timer of this file fired; only where the monitor runs all the time.",
  ),
  configLoaded: gauge(
    "monitor_config_loaded_timestamp_seconds",
    "When the config in force was read.",
  ),
  reloadSuccessful: gauge(
    "monitor_config_last_reload_successful",
    "Whether the last reload of the config went well; only where the monitor runs all the time.",
  ),
  stateWritable: gauge("monitor_state_writable", "Whether the state could be written, the last time."),
  checks: gauge("monitor_checks", "Active checks of the config."),
  inactiveChecks: gauge("monitor_checks_inactive", "Inactive checks of the config."),
  checkInfo: gauge("monitor_check_info", "An active check with its kind and title; always 1."),
  condition: gauge("monitor_check_condition", `Condition last observed: ${CODES}.`),
  confirmed: gauge(
    "monitor_check_confirmed_condition",
    `Condition that has occurred often enough to be notified: ${CODES}.`,
  ),
  confirmedSince: gauge(
    "monitor_check_confirmed_timestamp_seconds",
    "Since when the confirmed condition is confirmed.",
  ),
  duration: gauge("monitor_check_duration_seconds", "How long the last run took."),
  lastRun: gauge("monitor_check_last_run_timestamp_seconds", "When the last run began."),
  nextRun: gauge("monitor_check_next_run_timestamp_seconds", "When the next run is planned."),
  late: gauge(
    "monitor_check_late_seconds",
    "How long after its planned time the last run began; not after a run that was not planned.",
  ),
  missedRuns: counter(
    "monitor_check_missed_runs_total",
    "Runs that were left out because the one before had not ended, or the machine slept.",
  ),
  runs: counter("monitor_check_runs_total", "Runs with a result."),
  failures: counter(
    "monitor_check_failures_total",
    "Runs that observed something other than ok, by condition.",
  ),
  runSeconds: counter("monitor_check_run_seconds_total", "How long all runs took together."),
  metric: gauge("monitor_check_metric", "A number that the last run found, such as the status of an answer."),
  performance: gauge(
    "monitor_check_performance",
    "An item of a plugin's performance data; unit is seconds, bytes, ratio, or what the plugin wrote.",
  ),
  performanceTotal: counter(
    "monitor_check_performance_total",
    "An item of a plugin's performance data that the plugin marks as a counter.",
  ),
  performanceBound: gauge(
    "monitor_check_performance_bound",
    "A limit that a plugin gave with an item of its performance data, in the item's unit.",
  ),
  notificationsSent: counter("monitor_notifications_sent_total", "Notifications that a channel accepted."),
  attemptsFailed: counter(
    "monitor_notification_attempts_failed_total",
    "Attempts to send that failed; notifications that were tried together count once.",
  ),
  notificationsDropped: counter("monitor_notifications_dropped_total", "Notifications that were dropped."),
  summarized: counter(
    "monitor_notifications_summarized_total",
    "Problems that recovered before they could be sent, and were counted instead of listed.",
  ),
  notificationsPending: gauge("monitor_notifications_pending", "Notifications on their way to a channel."),
  notificationsRejected: gauge(
    "monitor_notifications_rejected",
    "Notifications that a channel refused for good, so that somebody has to mend something.",
  ),
} as const satisfies Readonly<Record<string, Family>>;

function gauge(name: string, help: string): Family {
  return { name, type: "gauge", help };
}

function counter(name: string, help: string): Family {
  return { name, type: "counter", help };
}
