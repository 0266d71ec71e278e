import { openTimes } from "../../engine/maintenance_windows.ts";
import { isAbout } from "../../engine/suppression.ts";
import type { Check } from "../../domain/check.ts";
import { observedGapMs } from "../../domain/schedule.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { Store } from "../../domain/store.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { type Span, type SplitTime, splitTime } from "../../state/split_time.ts";
import { type ObjectiveResult, toObjective } from "./objectives.ts";

/** A check that may have an objective; from the state alone, while the config has errors, it has none. */
type ObjectiveCheck =
  & Pick<Check, "name" | "tags" | "schedule" | "maintenanceWindows" | "locations">
  & Partial<Pick<Check, "objective" | "connectivity">>;

interface ReadOptions {
  /** The end of the times of all objectives; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  /** Until when the service ran; `null`: it runs, or there is none. */
  readonly ranUntilMs: number | null;
}

/**
 * Compares the objectives of some checks with the time before another one. By name; checks without an objective are left
 * out.
 *
 * @throws {StoreError} If the state can't be read.
 */
export async function readObjectives(
  store: Pick<Store, "journal" | "silences"> | null,
  checks: readonly ObjectiveCheck[],
  { untilMs, ranUntilMs }: ReadOptions,
): Promise<ReadonlyMap<string, ObjectiveResult>> {
  const found = new Map<string, ObjectiveResult>();
  const byWindow = Map.groupBy(checks, ({ objective }) => objective?.windowMs ?? 0);
  for (const [windowMs, some] of byWindow) {
    if (windowMs === 0) continue;
    const times = await readTimes(store, some, { sinceMs: untilMs - windowMs, untilMs, ranUntilMs });
    for (const { name, objective, schedule } of some) {
      const time = times.get(name);
      if (objective !== undefined && time !== undefined) {
        found.set(name, toObjective(objective, time, schedule));
      }
    }
  }
  return found;
}

/** Returns how the time of some checks is split in a period, by name. */
async function readTimes(
  store: Pick<Store, "journal" | "silences"> | null,
  checks: readonly ObjectiveCheck[],
  period: ReadOptions & { readonly sinceMs: number },
): Promise<ReadonlyMap<string, SplitTime>> {
  const { sinceMs, untilMs } = period;
  const names = checks.map(({ name }) => name);
  // The results before and after the period show what was known at its begin and at its end.
  const span = { sinceMs: sinceMs - DAY_MS, untilMs: untilMs + DAY_MS };
  const journals = new Map((await store?.journal(names, span) ?? []).map(({ name, rows }) => [name, rows]));
  const started = (await store?.silences(sinceMs) ?? []).filter(({ kind }) => kind === "maintenance");
  return new Map(checks.map((check) => [
    check.name,
    splitTime(journals.get(check.name) ?? [], {
      ...period,
      maintenance: maintenanceOf(check, started, period),
      usesNetwork: check.connectivity === true && check.locations === undefined,
      observedGapMs: observedGapMs(check.schedule),
    }),
  ]));
}

/** The maintenance windows of a check, as the config has them now, and those that were started by hand. */
function maintenanceOf(
  check: ObjectiveCheck,
  started: readonly Silence[],
  period: Readonly<Record<"sinceMs" | "untilMs", number>>,
): readonly Span[] {
  return [
    ...check.maintenanceWindows.flatMap((window) => openTimes(window, period)),
    ...started.filter((silence) => isAbout(silence, check))
      .map(({ fromMs, untilMs }) => ({ fromMs, toMs: untilMs })),
  ];
}
