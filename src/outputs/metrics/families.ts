import { printable } from "../../shared/text.ts";

const CODES = "0 ok, 1 warning, 2 critical, 3 unknown";

/** Every metric there is, with its help. `docs/reference/metrics.md` lists the same; a test compares them. */
export const FAMILIES = {
  monitor_build_info: "Version of monitor; always 1.",
  monitor_running: "1 while the service runs, 0 after it was stopped; service only.",
  monitor_last_loop_timestamp_seconds: "Time of the last progress with no run late.",
  monitor_scheduler_lag_seconds: "Delay of the timer that renders this; service only.",
  monitor_config_loaded_timestamp_seconds: "Time when the active config was loaded.",
  monitor_config_last_reload_successful:
    "1 if the last reload of the config succeeded, else 0; service only.",
  monitor_state_writable: "1 if the last write of the state succeeded, else 0.",
  monitor_shared_state_connected:
    "1 if the last heartbeat of this member succeeded, else 0; shared state only.",
  monitor_served_by_info: "The member that renders this; always 1; shared state only.",
  monitor_members: "1 if this member sees the member live, else 0; shared state only.",
  monitor_checks: "Active checks of the config.",
  monitor_checks_inactive: "Inactive checks of the config.",
  monitor_check_info: "An active check with its kind and title; always 1.",
  monitor_check_status: "Condition as status shows it: ok, pending, unknown, warning, critical; always 1.",
  monitor_check_condition: `Condition of the last run: ${CODES}.`,
  monitor_check_confirmed_condition:
    `Confirmed condition: ${CODES} or overdue; none while the check is pending.`,
  monitor_check_confirmed_timestamp_seconds: "Time of the first run of the confirmed condition.",
  monitor_check_suppressed: "A silence or a maintenance window suppresses its notifications; always 1.",
  monitor_check_burn_rate: "The burn rate that its error budget reached; absent while it does not burn.",
  monitor_check_duration_seconds: "Duration of the last run.",
  monitor_check_duration_percentile_seconds:
    "Duration that a share of the runs did not exceed in the present hour and the one before.",
  monitor_check_last_run_timestamp_seconds: "Start of the last run.",
  monitor_check_next_run_timestamp_seconds: "Planned start of the next run.",
  monitor_check_late_seconds: "Delay of the last planned run.",
  monitor_check_missed_runs_total:
    "Runs skipped because the previous run was in progress or the system was suspended.",
  monitor_check_runs_total: "Runs with a result.",
  monitor_check_failures_total: "Runs with a condition other than ok, by condition.",
  monitor_check_run_seconds_total: "Total duration of all runs.",
  monitor_check_location_condition: `Last condition of a check at a location, if it counted: ${CODES}.`,
  monitor_check_location_duration_seconds: "Duration of the last run of a check at a location.",
  monitor_check_metric: "Metric of the last run, such as the status of a response.",
  monitor_check_metric_percentile:
    "Measured value that a share of those of two hours did not exceed; unit is seconds, bytes, or ratio.",
  monitor_check_performance:
    "Performance data of a plugin; unit is seconds, bytes, ratio, or that of the plugin.",
  monitor_check_performance_cumulative_total: "Performance data that the plugin marks as a counter.",
  monitor_check_performance_bound: "Limit in the performance data of a plugin, in the same unit.",
  monitor_agent_last_report_timestamp_seconds: "Time of the last report of an agent.",
  monitor_agent_waiting_results: "Results that were waiting at an agent.",
  monitor_agent_dropped_results_total: "Results that an agent dropped.",
  monitor_agent_ignored_checks: "Checks whose results are ignored, since the agent does not report them.",
  monitor_reports_last_timestamp_seconds: "Time of the last report to another monitor that it accepted.",
  monitor_reports_waiting: "Results that wait to be reported to another monitor.",
  monitor_reports_dropped_total: "Results that were dropped before they were reported.",
  monitor_notifications_sent_total: "Notifications that a channel accepted.",
  monitor_notification_attempts_failed_total: "Failed delivery attempts; a batch counts once.",
  monitor_notifications_dropped_total: "Notifications that were dropped.",
  monitor_notifications_summarized_total:
    "Problems that recovered before delivery and were counted instead of listed.",
  monitor_notifications_pending: "Notifications that are not delivered yet.",
  monitor_notifications_rejected: "Notifications that a channel rejected; fix the channel.",
  monitor_opentelemetry_spans_dropped_total:
    "Spans that were not delivered to OpenTelemetry; only if it gets traces.",
  monitor_channel_limited: "1 while the limit of a channel lets nothing through.",
} as const;

/** After Prometheus' conventions: base units, and `_total` for counters, which only go up. */
export type MetricName = keyof typeof FAMILIES;

export function metricType(name: string): "gauge" | "counter" {
  return name.endsWith("_total") ? "counter" : "gauge";
}

/** Prometheus' text format, version 0.0.4, or OpenMetrics 1.0. */
export type MetricsFormat = "prometheus" | "openmetrics";

export interface Exposition {
  /** Returns a label in the form of the text; several are joined with commas. */
  label(name: string, value: string): string;
  /**
   * Adds samples to a family; one without samples is omitted. Labels are those that `label` returned. Of two samples
   * in one call with the same labels the first stays, since a file with both is rejected as a whole; the caller
   * ensures that two calls share none. A value that is not a number is omitted.
   */
  add(name: MetricName, samples: Iterable<Sample>): void;
}

/** Labels, as `label` of the exposition makes them, and a value. */
export type Sample = readonly [labels: string, value: number];

/** Begins an empty text. Every sample gets the name of the monitor, if it has one. */
export function createExposition(format: MetricsFormat, monitor?: string): Exposition & { text(): string } {
  const isOpen = format === "openmetrics";
  const commonLabels = monitor === undefined ? "" : labelText("monitor", monitor);
  const blocks = new Map<string, string[]>();
  return {
    label: labelText,
    add: (name, samples) => {
      const seen = new Set<string>();
      const type = metricType(name);
      // In OpenMetrics the suffix belongs to the sample, not to the family.
      const family = isOpen && type === "counter" ? name.replace(/_total$/, "") : name;
      const lines = blocks.get(name) ?? [`# HELP ${family} ${FAMILIES[name]}\n# TYPE ${family} ${type}\n`];
      for (const [labels, value] of samples) {
        if (!Number.isFinite(value) || seen.has(labels)) continue;
        seen.add(labels);
        const all = labels === "" || commonLabels === ""
          ? labels + commonLabels
          : `${labels},${commonLabels}`;
        lines.push(`${name}${all === "" ? "" : `{${all}}`} ${value}\n`);
      }
      if (lines.length > 1) blocks.set(name, lines);
    },
    text: () => [...blocks.values()].map((lines) => lines.join("")).join("") + (isOpen ? "# EOF\n" : ""),
  };
}

/**
 * A label in the text. Line breaks stay, as the escapes of the format; other control characters and lone surrogates,
 * which no reader accepts, are shown as by `printable`.
 */
function labelText(name: string, value: string): string {
  return `${name}="${PLAIN.test(value) ? value : escapeValue(value)}"`;
}

/** Most names: nothing in them is escaped. */
const PLAIN = /^[ !#-[\]-~]*$/;

function escapeValue(value: string): string {
  return value.split("\n").map(printable).join("\n")
    .replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
