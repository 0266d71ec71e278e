/**
 * A rehearsal comes to what the simulated service sends: the whole program, with its processes, requests and files. So
 * does the reference model, as far as it goes.
 */
import assert from "node:assert/strict";
import { dependencyNames } from "../../src/domain/check.ts";
import { CONDITIONS } from "../../src/domain/condition.ts";
import { CAUSE_WAIT_MS } from "../../src/engine/causes.ts";
import { describeNotification } from "../../src/rehearsal/message_text.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { requiresTools } from "../../testing/tools.ts";
import { play as playService } from "../../testing/simulation/mod.ts";
import {
  type DueNotification,
  modelMessages,
  type ModelResult,
  type ServiceRun,
  timedActions,
} from "./model_messages.ts";
import { checksOf, play } from "./play.ts";
import { type RandomScenario, randomScenario } from "./random_scenario.ts";

/**
 * What takes time in the service takes none in a rehearsal. What is due at the very moment of a run may be decided by
 * the service half a minute later.
 */
const TOLERANCE_MS = 40_000;
/** A message takes no longer in the simulation. */
const LATENCY_MS_MAX = 1_000;

interface Item {
  readonly atMs: number;
  readonly words: string;
}

/** By channel and check, since what is sent together depends on milliseconds. */
type Items = Readonly<Record<string, readonly Item[]>>;

function byCheck(
  messages: readonly { readonly channel: string; readonly atMs: number; readonly text: string }[],
): Items {
  const items = messages.flatMap(({ channel, atMs, text }) =>
    text.split(/, (?![^(]*\))/).map((words) => {
      const [, check] = words.split(" ");
      // Milliseconds decide how often a group runs, and so whether it flaps.
      const isGroup = check === "all";
      return {
        key: `${channel} ${check}`,
        atMs,
        words: isGroup ? words.replace(/ \(flapping\)|, flapping/, "") : words,
      };
    })
  );
  return Object.fromEntries([...Map.groupBy(items, ({ key }) => key)].sort());
}

const SERVER_WORDS = { accept: "up", fail: "503", reject: "404" } as const;

/** Plays a scenario by a rehearsal and by the simulated service. */
async function playBoth(
  { config, scenario }: RandomScenario,
  seed: number,
  options: Parameters<typeof play>[2] = {},
) {
  const { time_zone: zone, channels, actions, ...rest } = scenario;
  const played = await play(scenario, config, options);
  const changed = <Value>(members: Readonly<Record<string, string>>, change: (text: string) => Value) =>
    Object.fromEntries(Object.entries(members).map(([name, text]) => [name, change(text)]));
  const { world, receivers, failure } = await playService({
    ...{ ...rest, zone, config },
    servers: changed(
      channels,
      (text) =>
        text.replaceAll(/accept|fail|reject/g, (word) => SERVER_WORDS[word as keyof typeof SERVER_WORDS]),
    ),
    actions: changed(actions, (action) => action === "restart" ? ["stop", "start"] : action),
    expect: Object.fromEntries(Object.keys(config["channels"] ?? {}).map((name) => [name, "any"])),
  }, { seed });
  const where = `seed ${seed}: ${JSON.stringify({ config, scenario }, null, 1)}`;
  assert.equal(failure, null, where);
  return {
    rehearsed: byCheck(
      played.channels.flatMap(({ name, sent }) =>
        // In the end, only the rehearsed service is stopped, which sends what waits.
        sent.filter(({ atMs }) => atMs < world.nowMs).map((one) => ({ channel: name, ...one }))
      ),
    ),
    sent: byCheck(receivers.messages.filter(({ isAgain }) => !isAgain)),
    world,
    where,
  };
}

type Played = Awaited<ReturnType<typeof playBoth>>;

/** Asserts that the same was sent at about the same times, and returns how many notifications that were. */
function assertSame({ rehearsed, sent, world, where }: Played): number {
  for (const key of Object.keys({ ...sent, ...rehearsed })) {
    const [expected, actual] = [sent[key] ?? [], rehearsed[key] ?? []];
    const from = expected.findIndex(({ atMs, words }, index) => {
      const other = actual[index];
      return other?.words !== words || Math.abs(other.atMs - atMs) >= TOLERANCE_MS;
    });
    if (from === -1 && expected.length === actual.length) continue;
    const shown = (items: readonly Item[]): readonly string[] =>
      items.slice(from === -1 ? -1 : Math.max(0, from - 1)).slice(0, 4)
        .map(({ atMs, words }) => `${words} ${world.describeTime(atMs)}`);
    assert.deepEqual(shown(actual), shown(expected), `${key}, ${where}`);
  }
  return Object.values(sent).flat().length;
}

Deno.test("rehearse: the messages are those of the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(40, 1); round++) {
    const seed = testSeed() + round;
    const { config, scenario } = randomScenario(createRandom(seed, "service"), { days: 0.15 });
    count += assertSame(await playBoth({ config, scenario: { ...scenario, channels: {} } }, seed));
  }
  assert.ok(count > campaign(400, 10), `only ${count} messages`);
});

/**
 * Once a check asked another one that it depends on to run, both may run at the same moments. Milliseconds decide which of
 * them is first there, so that the service and a rehearsal may differ: each is compared with the model of its own results.
 * What channels that do not fail get of other checks is the same.
 */
const MODEL = "rehearse: the messages are those of the reference model, and so are those of the service";
Deno.test(MODEL, requiresTools("time"), async () => {
  let count = 0;
  for (let round = 0; round < campaign(20); round++) {
    const seed = testSeed() + round;
    const { config, scenario } = randomScenario(createRandom(seed, "model"), { days: 0.08, isPlain: true });
    const { actions } = scenario;
    const results: ModelResult[] = [];
    const { sent, rehearsed, world, where } = await playBoth({ config, scenario }, seed, {
      skips: false,
      onDecided: ({ record: { name: check, last, condition: { observedAtMs: atMs } } }) => {
        const isResult = results.findLast((one) => one.check === check)?.atMs !== atMs;
        if (isResult && last !== null && atMs !== null) {
          results.push({ check, condition: last.condition, atMs });
        }
      },
    });
    const { startMs, nowMs: endMs, trace } = world;
    const started = trace.events.filter(({ what, text }) => what === "start" && text.startsWith("{"));
    const timed = timedActions(actions, startMs);
    const restarts = timed.filter(({ action }) => action === "restart");
    const checks = await checksOf(config);
    const assertModel = (items: Items, played: Pick<ServiceRun, "starts" | "results">): void => {
      const due = modelMessages(checks, { ...played, endMs, actions: timed });
      for (const channel of Object.keys(config["channels"] ?? {})) {
        // A message of many notifications counts them.
        if (Object.keys(items).some((key) => key.startsWith(`${channel} `) && /\d$/.test(key))) continue;
        // Notifications of a cause wait for those of other checks.
        const withinMs = channel in scenario.channels ? Infinity : CAUSE_WAIT_MS;
        for (const { name } of checks) {
          const own = due.filter((one) => one.channel === channel && one.check === name);
          const received = items[`${channel} ${name}`] ?? [];
          count += received.length;
          if (areMerged(own, received, withinMs)) continue;
          const shown = (words: string, atMs: number): string => `${words} ${world.describeTime(atMs)}`;
          assert.deepEqual(
            received.map(({ words, atMs }) => shown(words, atMs)),
            own.map((one) => shown(wordsOf(one), one.atMs)),
            `${channel} ${name}, ${where}`,
          );
        }
      }
    };
    assertModel(sent, { starts: started.map(({ atMs }) => atMs), results: world.results });
    assertModel(rehearsed, { starts: [startMs, ...restarts.map(({ atMs }) => atMs)], results });
    const related = new Set(
      checks.flatMap((check) => check.dependsOn.length === 0 ? [] : [check.name, ...dependencyNames(check)]),
    );
    const comparable = (items: Items): Items =>
      Object.fromEntries(
        Object.entries(items).filter(([key]) => {
          const [channel = "", check = ""] = key.split(" ");
          return !(channel in scenario.channels) && !related.has(check);
        }),
      );
    assertSame({ sent: comparable(sent), rehearsed: comparable(rehearsed), world, where });
  }
  assert.ok(count > campaign(4_000), `only ${count} messages`);
});

/**
 * Returns whether each message has the notifications that were due since the one before. It is sent soon; only a channel
 * that fails gets it later, and those that were decided meanwhile with it, as the jitter of its backoff has it.
 */
function areMerged(due: readonly DueNotification[], items: readonly Item[], withinMs: number): boolean {
  let places = new Set([0]);
  for (const { words, atMs } of items) {
    const ends = (from: number): readonly number[] =>
      due.flatMap((last, index) => {
        const pending = due.slice(from, index + 1);
        const isLate = atMs < last.atMs || atMs - (pending[0]?.atMs ?? atMs) > withinMs + LATENCY_MS_MAX;
        return !isLate && mergedWords(pending) === bare(words) ? [index + 1] : [];
      });
    places = new Set([...places].flatMap(ends));
  }
  return places.has(due.length);
}

/** What is sent of notifications of which none was delivered before the next one; `null`: they are not merged. */
function mergedWords(pending: readonly DueNotification[]): string | null {
  const [first, ...later] = pending.filter(({ event }, index) => index === 0 || event !== "reminder");
  const last = later.at(-1) ?? first;
  if (first === undefined || last === undefined) return null;
  if ([first, ...later].slice(0, -1).some(({ event }) => event === "recovery")) return null;
  if (last === first) return wordsOf(first);
  if (first.event !== "problem") return wordsOf(last);
  if (last.event !== "recovery") return wordsOf({ ...last, event: "problem" });
  return wordsOf(last, (later.at(-2) ?? first).condition);
}

function wordsOf(due: DueNotification, missed: string | null = null): string {
  const acknowledged = due.acknowledged === null ? "" : " (acknowledged)";
  return `${describeNotification(due, missed)}${acknowledged}`.replace(") (", ", ");
}

/** Without what the model does not know: how many checks depend on it, and whether it flaps. */
function bare(words: string): string {
  return words.replace(/(\d+ dependents?|flapping)(, )?/g, "").replace(/(, )?\)$/, ")").replace(" ()", "");
}

/** Results change at full hours, and channels recover long before the next hour: the jitter of retries has no effect. */
function brokenChannels({ pick, oneIn, below }: Random, hours: number): RandomScenario {
  const time = (hour: number, minute: number): string =>
    `2026-03-03 ${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
  const results = (): string =>
    Array.from({ length: hours }, (_, hour) => `${time(hour + 1, 0)} ${pick(["ok", ...CONDITIONS])}`).join(
      ", ",
    );
  const channel = (): string => {
    const parts: string[] = [];
    for (let hour = 0; hour < hours;) {
      const response = pick(["accept", "fail", "reject"] as const);
      // Notifications that are rejected for longer have a backoff of up to an hour.
      const lasts = response === "fail" && oneIn(3) ? 2 : 1;
      if (response !== "accept") parts.push(`${time(hour, 55)} ${response}`);
      hour += lasts;
      parts.push(`${time(hour, 20)} accept`);
    }
    return parts.join(", ");
  };
  const names = ["web", "db", "api"];
  return {
    config: {
      channels: { chat: {}, pager: oneIn(2) ? { conditions: ["critical"] } : {} },
      checks: Object.fromEntries(names.map((name, index) => [name, {
        threshold: 1 + Math.floor(below(3)),
        ...index > 0 && oneIn(2) && { depends_on: ["web"] },
        schedule: { regular_interval: "2 minutes", attentive_interval: "2 minutes" },
      }])),
    },
    scenario: {
      ...{ start: "2026-03-03 00:30:20", time_zone: "UTC", until: time(hours + 4, 0), actions: {} },
      results: Object.fromEntries(names.map((name) => [name, results()])),
      channels: { chat: channel(), pager: channel() },
    },
  };
}

Deno.test("rehearse: channels that fail and reject get the same messages as from the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(20, 1); round++) {
    const seed = testSeed() + round;
    const { rehearsed, sent, where } = await playBoth(
      brokenChannels(createRandom(seed, "broken channels"), campaign(12, 5)),
      seed,
    );
    const words = (items: Items) =>
      Object.fromEntries(
        Object.entries(items).filter(([key]) => !key.endsWith(" channel"))
          .map(([key, own]) => [key, own.map(({ words }) => words)]),
      );
    assert.deepEqual(words(rehearsed), words(sent), where);
    count += Object.values(words(sent)).flat().length;
  }
  assert.ok(count > campaign(200, 4), `only ${count} notifications`);
});
