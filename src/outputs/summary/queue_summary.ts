import type { Sender } from "../../engine/sender.ts";
import type { Check } from "../../domain/check.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { SummarySettings } from "../../domain/channel.ts";
import type { System } from "../../domain/system.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { createYield } from "../../shared/deadline.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { gatherSummary } from "./gather_summary.ts";
import { lastTime, type Period, periodOf } from "./outages.ts";
import type { Summary } from "./summarize.ts";
import { summaryNotification } from "./summary_json.ts";

export interface QueueSummaryOptions {
  readonly settings: SummarySettings;
  /** All checks of the config. */
  readonly checks: readonly Check[];
  readonly repository: StateRepository;
  /** The state, if several processes share it. */
  readonly shared: SharedState | null;
  readonly sender: Pick<Sender, "queuedSummary" | "send">;
  readonly system: Pick<System, "clock" | "hostName" | "randomId">;
}

/**
 * Queues the summary of the last scheduled time, unless it was queued. After a downtime that is one summary, however many
 * were missed; with a new schedule, the first one comes at its next time.
 *
 * @throws {StoreError} If the state can't be read or written; a further call queues it.
 */
export async function queueDueSummary(options: QueueSummaryOptions): Promise<void> {
  const { settings, repository, system, sender } = options;
  const { times } = settings;
  const { store } = repository;
  const nowMs = system.clock.wallMs();
  const schedule = `${times.expression} ${times.timeZone}`;
  const last = await store.queuedSummary();
  // Far ahead: the clock was set back since. The clocks of several members differ by less.
  if (last === null || last.schedule !== schedule || last.scheduledMs - nowMs > DAY_MS) {
    await store.queueSummary({ schedule, scheduledMs: nowMs }, last, []);
    return;
  }
  if (times.after(last.scheduledMs) > nowMs) return;
  const scheduledMs = lastTime(times, nowMs);
  if (scheduledMs === null || scheduledMs <= last.scheduledMs) return;
  await repository.flush();
  const summary = await readSummary(options, periodOf(settings, scheduledMs));
  const queued = sender.queuedSummary(
    summaryNotification(summary, {
      // Not derived from the time: another installation may have the same schedule and receivers.
      id: `summary-${system.randomId()}`,
      nowMs,
      nextAtMs: times.after(scheduledMs),
    }),
  );
  if (await store.queueSummary({ schedule, scheduledMs }, last, queued)) sender.send(queued);
}

async function readSummary(
  { settings: { times, tags }, checks, repository, shared, system }: QueueSummaryOptions,
  period: Period,
): Promise<Summary> {
  const { clock } = system;
  const nowMs = clock.wallMs();
  // Those that other members run.
  const others = await shared?.store.readOthers(checks.map(({ name }) => name)) ?? [];
  const byName = new Map(others.map((record) => [record.name, record]));
  return await gatherSummary({
    ...period,
    store: repository.store,
    checks,
    tags,
    recordOf: (name) => byName.get(name) ?? repository.recordOf(name, nowMs),
    nowMs,
    timeZone: times.timeZone,
    hostName: system.hostName(),
    pause: createYield(clock),
  });
}
