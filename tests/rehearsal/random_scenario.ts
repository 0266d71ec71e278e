import { CONDITIONS } from "../../src/domain/condition.ts";
import type { Random } from "../../testing/random.ts";
import type { ScenarioConfig } from "../../testing/simulation/scenario_config.ts";

type Members = Readonly<Record<string, unknown>>;

export interface RandomScenario {
  readonly config: ScenarioConfig;
  readonly scenario: {
    readonly start: string;
    readonly time_zone: string;
    readonly until: string;
    readonly results: Readonly<Record<string, string>>;
    readonly channels: Readonly<Record<string, string>>;
    readonly actions: Readonly<Record<string, string>>;
  };
}

const ZONE = "Europe/Zurich";
/** Around both changes of DST. */
const STARTS = ["2026-03-28 12:00", "2026-10-24 12:00", "2026-03-02 21:55"] as const;
/** No delay is a whole number of intervals: then milliseconds would decide whether a run comes before it. */
const FILTERS = [
  {},
  { after: "20 min 10 s" },
  { after: "45 min 10 s", conditions: ["critical"] },
  { conditions: ["warning"] },
  { conditions: ["critical"], hours: [{ from: "18:00", to: "08:00", time_zone: ZONE }] },
  { hours: [{ from: "08:00", to: "18:00", time_zone: ZONE }] },
  { hours: [{ from: "02:00", to: "02:45", time_zone: ZONE }], outside_hours: "never" },
  { after: "5 min 10 s", conditions: ["warning", "critical"] },
  { events: ["problem", "recovery"] },
  { events: ["change", "reminder"] },
] as const satisfies readonly [Members, ...Members[]];

/** Makes a config with everything that decides about notifications, and days of what happens to its checks. */
export function randomScenario(random: Random, { days }: { readonly days: number }): RandomScenario {
  const { below, pick, oneIn, next } = random;
  const pickFilters = (): Members => ({
    ...oneIn(10) ? { at_most: "3 per hour" } : pick(FILTERS),
    ...oneIn(3) &&
      { group: { by: pick(["all", "tag", "parent"]), wait: pick(["25 s", "95 s", "20 min 10 s"]) } },
  });
  const channels: Members = Object.fromEntries(
    ["chat", "pager", "boss"].map((name) => [name, pickFilters()]),
  );
  const names = ["web", "db", "api", "mail", "job"];
  const checks = Object.fromEntries(names.map((name, index): [string, Members] => [name, {
    ...oneIn(3) && { threshold: 1 + Math.floor(below(4)) },
    ...oneIn(4) && { within: 5 },
    ...oneIn(3) && { recovery_threshold: 1 + Math.floor(below(3)) },
    ...oneIn(3) && { flapping: "all" },
    ...oneIn(2) && { reminders: pick<unknown>(["61 min", "5 min 10 s", true, ["10 min 15 s", "121 min"]]) },
    ...oneIn(2) && index > 0 && {
      depends_on: [oneIn(2) ? names[index - 1] : index > 1 ? { any: names.slice(0, index) } : names[0]],
    },
    ...oneIn(4) && { maintenance_windows: [{ days: ["sun"], from: "01:30", to: "03:30", time_zone: ZONE }] },
    ...oneIn(3) && { notifications: [pick(["chat", "pager", "boss"])] },
    tags: [index % 2 === 0 ? "even" : "odd"],
    schedule: oneIn(12)
      ? { cron: "*/15 * * * *", time_zone: ZONE, ...oneIn(2) && { attentive_interval: "2 minutes" } }
      : { regular_interval: pick(["1 minute", "5 minutes"]), attentive_interval: pick(["1 minute", "30 s"]) },
  }]));
  const groups = oneIn(2)
    ? {
      all: {
        kind: "group",
        flapping: "all",
        parameters: { checks: ["web", "db", "mail"], ...oneIn(2) && { at_least: 2 } },
        ...oneIn(2) && { depends_on: ["api"] },
      },
    }
    : {};
  const minutes = days * 24 * 60;
  /** Words, and the minutes since the one before. */
  const timeline = (meanMinutes: number, word: () => string): readonly (readonly [number, string])[] => {
    const parts: (readonly [number, string])[] = [];
    for (let at = 0;;) {
      const wait = 1 + Math.floor(-Math.log(1 - next()) * meanMinutes);
      at += wait;
      if (at >= minutes) return parts;
      parts.push([wait, word()]);
    }
  };
  const textOf = (parts: ReturnType<typeof timeline>): readonly string[] =>
    parts.map(([wait, word]) => `+${wait}min ${word}`);
  const results = Object.fromEntries(names.map((name) => {
    const mean = pick([5, 60, 60, 400]);
    const parts = timeline(mean, () => oneIn(2) ? "ok" : pick(CONDITIONS as unknown as readonly ["ok"]));
    return [name, ["ok", ...textOf(parts)].join(", ")];
  }));
  const actions = timeline(300, () => {
    const target = oneIn(3) ? `--tag ${pick(["even", "odd"])}` : pick(["web", "db", "api --until-ok"]);
    return pick([
      `silence ${target} --for ${pick(["20 min", "5 h"]).replace(" ", "")}`,
      `acknowledge ${target.replace(" --until-ok", "")} --for 3h`,
      `acknowledge ${target.replace(" --until-ok", "")}`,
      "silence end --all",
      `maintenance start ${target.replace(" --until-ok", "")} --for 30min`,
      `maintenance end ${target.replace(" --until-ok", "")}`,
      "restart",
    ]);
  });
  return {
    config: {
      defaults: { threshold: 1, notifications: Object.keys(channels) },
      channels,
      checks: { ...checks, ...groups },
    },
    scenario: {
      // No check runs at these seconds, at which the service decides again.
      start: `${pick(STARTS)}:20`,
      time_zone: ZONE,
      until: "+60min",
      results,
      channels: Object.fromEntries(
        ["chat", "boss"].filter(() => oneIn(2)).map((name) => {
          const parts = timeline(200, () => pick(["accept", "fail", "reject"]));
          return [name, ["accept", ...textOf(parts)].join(", ")];
        }),
      ),
      actions: Object.fromEntries(timesOf(actions)),
    },
  };
}

/**
 * Returns keys and actions. All but restarts are between the times at which the service decides again, which are those of
 * the start and each half minute after it.
 */
function* timesOf(actions: readonly (readonly [number, string])[]): Generator<readonly [string, string]> {
  const seen = new Set<string>();
  let lastSecond = 0;
  for (const [minutes, action] of actions) {
    const second = action === "restart" ? 0 : 15;
    let wait = minutes * 60 + second - lastSecond;
    // Equal keys get a minute more.
    while (seen.has(`+${wait}s`)) wait += 60;
    lastSecond = second;
    seen.add(`+${wait}s`);
    yield [`+${wait}s`, action];
  }
}
