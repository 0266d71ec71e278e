/** What happened to checks in a span of time, in one list: `monitor history` without the name of a check. */
import type { CheckJournal, CheckRecord, Store } from "../domain/store.ts";
import { describeDuration } from "../domain/duration.ts";
import type { Silence } from "../domain/outbox.ts";
import { describeRun } from "../condition/action.ts";
import { isoTime, isoTimeOrNull } from "../shared/json_values.ts";
import { timeText } from "../shared/local_time.ts";
import { SECOND_MS } from "../shared/time_units.ts";
import { counted, firstItems, quote } from "../shared/text.ts";
import { allChanges } from "../state/read_store.ts";
import type { MonitorStatus } from "./json/monitor_fields.ts";
import { actionFields, deliveryFields, describeAction, describeDelivery } from "./outbox_status.ts";

export interface PastSpan {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface PastEvent {
  readonly atMs: number;
  readonly event: "change" | "delivery" | "command" | "action" | "silence" | "gap" | "service";
  /** `null`: it is of several checks, or of the service. */
  readonly check: string | null;
  /** One line. */
  readonly text: string;
  /** The same for programs; fields are only ever added. */
  readonly details: Readonly<Record<string, unknown>>;
}

interface PastEventsOptions extends PastSpan {
  readonly store: Store;
  readonly names: readonly string[];
  /** Whether these are all checks: then notices, summaries and the service are included. */
  readonly isWhole: boolean;
  readonly monitor: MonitorStatus | null;
  recordOf(name: string): Pick<CheckRecord, "condition"> | null;
  /** The action of a check in the config, such as `restart nginx`; `null`: it has none. */
  actionOf(name: string): string | null;
  readonly timeZone: string;
}

const NAMES_AT_A_TIME = 100;

/** Returns the events of some checks, the oldest first. Rejects with a {@linkcode StoreError}. */
export async function gatherPastEvents(options: PastEventsOptions): Promise<readonly PastEvent[]> {
  const { store, names, isWhole, sinceMs, untilMs, timeZone } = options;
  const events: PastEvent[] = isWhole ? [...serviceEvents(options.monitor)] : [];
  const journals: CheckJournal[] = [];
  for (let index = 0; index < names.length; index += NAMES_AT_A_TIME) {
    const some = names.slice(index, index + NAMES_AT_A_TIME);
    journals.push(...await store.journal(some, options));
    for (const check of some) {
      for await (const { atMs, from, to, output } of allChanges(store, check, options)) {
        const text = `${from} to ${to}${output === "" ? "" : `: ${output}`}`;
        events.push({ atMs, event: "change", check, text, details: { from, to, output } });
      }
    }
  }
  for (const check of names) {
    for (const run of options.recordOf(check)?.condition.actions ?? []) {
      const { atMs, endedAtMs, outcome, reason } = run;
      const what = outcome === "not_started" ? "" : "ran: ";
      const text = `${quote(options.actionOf(check) ?? "action")} ${what}${describeRun(run)}`;
      const details = { ended_at: isoTimeOrNull(endedAtMs), outcome, reason };
      events.push({ atMs, event: "command", check, text, details });
    }
  }
  const actions = (await Promise.all(names.map((name) => store.actions(name)))).flat();
  for (const action of actions) {
    const { at: _, ...details } = actionFields(action);
    const text = describeAction(action, { timeZone });
    events.push({ atMs: action.atMs, event: "action", check: action.check, text, details });
  }
  for (const silence of await store.silences(sinceMs)) {
    const isKnown = actions.some(({ atMs, by }) => atMs === silence.fromMs && by === silence.by);
    if (isKnown || !(isWhole || silence.check === null || names.includes(silence.check))) continue;
    events.push(silenceEvent(silence, timeZone));
  }
  for (const delivery of await store.deliveries({ ...!isWhole && { checks: names }, sinceMs, untilMs })) {
    const { at: _, ...details } = deliveryFields(delivery);
    const text = `${delivery.channelName}: ${describeDelivery(delivery)}`;
    events.push({ atMs: delivery.atMs, event: "delivery", check: delivery.check, text, details });
  }
  return [...gapEvents(journals, sinceMs), ...events]
    .filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs).sort((one, other) => one.atMs - other.atMs);
}

/** Of the last start only: no earlier one is stored. */
function serviceEvents(monitor: MonitorStatus | null): readonly PastEvent[] {
  if (monitor === null || monitor.run.mode !== "service") return [];
  const { run: { startedAtMs, configLoadedAtMs, failedReload, ended } } = monitor;
  const event = (atMs: number, what: string, text: string): PastEvent => ({
    ...{ atMs, event: "service", check: null, text, details: { what } },
  });
  return [
    event(startedAtMs, "started", "the service started"),
    // A start loads it some milliseconds later.
    ...configLoadedAtMs - startedAtMs > SECOND_MS
      ? [event(configLoadedAtMs, "config_loaded", "config reloaded")]
      : [],
    ...failedReload === null
      ? []
      : [event(failedReload.atMs, "reload_failed", `config not reloaded: ${failedReload.reason}`)],
    ...ended === null ? [] : [event(
      ended.sinceMs,
      ended.state,
      ended.state === "stopped" ? "the service stopped" : "the service terminated unexpectedly",
    )],
  ];
}

const SILENCE_WORDS = {
  silence: "silenced",
  acknowledgement: "acknowledged",
  maintenance: "maintenance",
} as const;

function silenceEvent(silence: Silence, timeZone: string): PastEvent {
  const { kind, check, tag, fromMs, untilMs, problemBeganAtMs, reason, by } = silence;
  const end = problemBeganAtMs === null ? timeText(untilMs, timeZone) : "it is ok";
  const scope = tag !== null ? `all checks with the tag ${tag} ` : check === null ? "all checks " : "";
  const text = `${scope}${SILENCE_WORDS[kind]} until ${end}${by === null ? "" : ` by ${by}`}${
    reason === "" ? "" : `: ${reason}`
  }`;
  const details = { kind, tag, until: isoTime(untilMs), until_ok: problemBeganAtMs !== null, reason, by };
  return { atMs: fromMs, event: "silence", check, text, details };
}

interface Gap {
  readonly names: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
}

const NAMES_MAX = 5;

/** One event for each time in which several checks had no results, as while nothing ran them. */
function gapEvents(journals: readonly CheckJournal[], sinceMs: number): readonly PastEvent[] {
  const gaps = journals.flatMap(({ name, rows }) => {
    const results = rows.filter(({ runs }) => runs > 0);
    return results.flatMap(({ firstMs, gap, isInterrupted }, index): readonly Gap[] => {
      const before = results[index - 1];
      if (before === undefined || (gap === "none" && !isInterrupted)) return [];
      const fromMs = Math.max(before.lastMs, sinceMs);
      return firstMs > fromMs ? [{ names: [name], fromMs, toMs: firstMs }] : [];
    });
  }).sort((one, other) => one.toMs - other.toMs);
  const merged: Gap[] = [];
  for (const gap of gaps) {
    const last = merged.at(-1);
    if (last === undefined || gap.fromMs >= last.toMs) merged.push(gap);
    else {
      const names = [...last.names, ...gap.names];
      merged[merged.length - 1] = { names, fromMs: Math.max(last.fromMs, gap.fromMs), toMs: last.toMs };
    }
  }
  return merged.map(({ names, fromMs, toMs }) => ({
    atMs: fromMs,
    event: "gap",
    check: names.length === 1 ? names[0] ?? null : null,
    text: `no results${names.length === 1 ? "" : ` of ${counted(names.length, "check")}`} for ${
      describeDuration(toMs - fromMs)
    }${names.length === 1 ? "" : `: ${firstItems(names.toSorted(), NAMES_MAX).join(", ")}`}`,
    details: { until: isoTime(toMs), checks: names.length },
  }));
}
