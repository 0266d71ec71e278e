/** Explains why channels of a check were, or were not, notified at a past time. */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import { conditionOf } from "../engine/check_status.ts";
import { ConfiguredChannels, toNotifyingConfig } from "../engine/configured_channels.ts";
import { PastOutbox, PastRecords } from "./past_records.ts";
import { gatherWhy, type Why, type WhySources } from "../outputs/why/gather_why.ts";
import { timeText } from "../shared/local_time.ts";
import { Past } from "./past.ts";

interface PastSources {
  readonly config: WhySources["config"];
  readonly state: Pick<WhySources, "recordOf" | "monitor"> & { readonly store: Store | null };
  /** The explained and the present time; wall times, milliseconds since 1970. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly timeZone: string;
}

/** Returns the explanation with the present config, or the reason why there is none. */
export async function explainPast(check: Check, sources: PastSources): Promise<Why | string> {
  const { config, state: { store }, atMs, timeZone } = sources;
  const { name } = check;
  const running = new Map(config.checks.filter(({ active }) => active).map((one) => [one.name, one]));
  const span = { sinceMs: -Infinity, untilMs: Infinity };
  const journals = await store?.journal(namesOf(check, running), span) ?? [];
  const firstMs = journals.find((journal) => journal.name === name)?.rows[0]?.firstMs;
  if (store === null || firstMs === undefined) return `no result of "${name}" is stored`;
  if (atMs < firstMs) {
    const [at, first] = [timeText(atMs, timeZone), timeText(firstMs, timeZone)];
    return `no result of "${name}" until ${at} is stored: the first one is of ${first}`;
  }
  const logged = await store.deliveries({ checks: [name], ...span });
  const kept = await store.outbox();
  const silences = await store.silences(firstMs);
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  const keys = new Map(check.notifications.map((channel) => [names.nameOf(channel), channel.key]));
  const known = new Set(keys.values());
  const outbox = new PastOutbox(
    logged,
    kept.notifications.filter(({ notification }) => notification.check === name),
    ({ channelKey, channelName }) => known.has(channelKey) ? channelKey : keys.get(channelName) ?? channelKey,
  );
  const dependencies = new Map([[name, dependencyNames(check)]]);
  const past = new PastRecords(check, {
    past: new Past({ journals, silences, dependencies }),
    ...{ running, outbox },
    lostMs: (one, plannedMs) => lostSince(running.get(one), { ...sources, plannedMs }),
  });
  // The record of the check first, because it advances the outbox.
  const record = past.recordAt(name, atMs);
  outbox.advance(atMs);
  const recordOf = (other: string): CheckRecord | null => {
    if (other === name) return record;
    const found = past.recordAt(other, atMs);
    // A dependency that did not run is unknown.
    return found === null || past.gapAt(other, atMs) === null
      ? found
      : { ...found, condition: { ...found.condition, observedAtMs: null } };
  };
  return gatherWhy(check, {
    ...{ config, recordOf, outbox: outbox.outbox, nowMs: atMs },
    monitor: null,
    silences: silences.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs),
    logged: logged.filter((sent) => sent.atMs <= atMs),
    isPast: true,
    gap: past.gapAt(name, atMs),
  });
}

/** Returns the names of a check, of its dependencies, and of all checks that they combine. */
function namesOf(check: Check, running: ReadonlyMap<string, Check>): readonly string[] {
  const names = new Set([check.name, ...dependencyNames(check)]);
  // The loop also visits the names that it adds.
  for (const name of names) {
    const found = running.get(name);
    if (found !== undefined) combinedChecks(found).forEach((one) => names.add(one));
  }
  return [...names];
}

/** Returns the end of the known time after the last run of a check; `Infinity`: it is known now. */
function lostSince(
  check: Check | undefined,
  { state: { recordOf, monitor }, nowMs, plannedMs }: PastSources & { readonly plannedMs: number },
): number {
  const { run = null, notRunning = null } = monitor ?? {};
  const record = check === undefined ? null : recordOf(check.name);
  const state = check === undefined ? "never_ran" : conditionOf(check, record, nowMs, notRunning).state;
  if (state === "not_running" && notRunning !== null) return Math.min(plannedMs, notRunning.sinceMs);
  const isRestarted = run?.mode === "service" && plannedMs < run.startedAtMs;
  return state !== "current" || isRestarted ? plannedMs : Infinity;
}
