/** What a config would have sent is what it sent, and a changed one shows what changes. */
import assert from "node:assert/strict";
import { Invocation } from "../../src/cli/command_definition.ts";
import { openConfigAt } from "../../src/cli/open_config.ts";
import type { CheckJournal, JournalRow } from "../../src/domain/store.ts";
import { Past } from "../../src/rehearsal/past.ts";
import { differencesOf, outagesOnlyIn, type Replay, replay } from "../../src/rehearsal/replay.ts";
import { journalRows } from "../../src/state/journal.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { completeConfig, type ScenarioConfig } from "../../testing/simulation/scenario_config.ts";
import { messagesOf, play } from "./play.ts";

const START = Date.UTC(2026, 2, 2, 20);
const HOURS = 8;
const FOREVER = { sinceMs: -Infinity, untilMs: Infinity };
const CONDITIONS = ["ok", "critical", "warning", "unknown"] as const;

async function replayOf(config: ScenarioConfig, journals: readonly CheckJournal[]): Promise<Replay> {
  const path = "/etc/monitor/monitor.jsonc";
  const system = {
    ...createConfigSystem({ files: { [path]: JSON.stringify(completeConfig(config)) } }),
    timeZone: () => "UTC",
  };
  const opened = await openConfigAt({ path, named: true }, {
    invocation: new Invocation({}),
    system,
    withoutSecrets: true,
  });
  const untilMs = START + HOURS * 3_600_000;
  return await replay(opened, { system, past: new Past({ journals }), sinceMs: START, untilMs });
}

/** Few changes, so that the record of a check usually has its whole journal. */
function randomPast(
  random: Random,
): { readonly config: ScenarioConfig; readonly results: Record<string, string> } {
  const checks: Record<string, Readonly<Record<string, unknown>>> = {};
  const results: Record<string, string> = {};
  for (const name of ["web", "db", "api"]) {
    checks[name] = {
      threshold: 1 + Math.floor(random.below(3)),
      ...name === "api" && random.oneIn(2) && { depends_on: ["web"] },
      ...random.oneIn(2) && { reminders: "181 min" },
      schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" },
    };
    const changes = Array.from(
      { length: 3 },
      () => `+${15 + Math.floor(random.below(90))}min ${random.pick(CONDITIONS)}`,
    );
    results[name] = changes.join(", ");
  }
  const chat = random.pick<Readonly<Record<string, unknown>>>([
    {},
    { after: "20 min 10 s" },
    { conditions: ["critical"] },
  ]);
  return { config: { channels: { chat }, checks }, results };
}

Deno.test("replay() of what a service recorded gives the messages that it sent", async () => {
  let messages = 0;
  for (let round = 0; round < campaign(30, 2); round++) {
    const { config, results } = randomPast(createRandom(testSeed() + round, "replay"));
    const journals: CheckJournal[] = [];
    const rehearsal = await play(
      { start: "2026-03-02 20:00", time_zone: "UTC", until: "2026-03-03 04:00", results },
      config,
      {
        skips: false,
        onEnd: (records) =>
          void journals.push(
            ...records.map(({ name, journal }) => ({ name, rows: journalRows([], journal, FOREVER) })),
          ),
      },
    );
    // A record has only the newest part of a long journal.
    if (journals.some(({ rows }) => (rows[0]?.firstMs ?? Infinity) > START + 10 * 60_000)) continue;
    const sent = rehearsal.channels.flatMap(({ name, sent }) =>
      sent.map(({ atMs, text }) => ({ atMs, channel: name, text }))
    );
    const replayed = await replayOf(config, journals);
    assert.deepEqual(
      differencesOf(sent, replayed.messages),
      [],
      JSON.stringify({ round, config, results, sent: messagesOf(rehearsal) }, null, 1),
    );
    messages += sent.length;
  }
  assert.ok(messages > campaign(30, 1), `only ${messages} messages`);
});

function row(condition: JournalRow["condition"], fromMinute: number, toMinute: number): JournalRow {
  return {
    condition,
    awaits: null,
    isLate: false,
    firstMs: START + fromMinute * 60_000 + 500,
    lastMs: START + toMinute * 60_000 + 500,
    runs: toMinute - fromMinute + 1,
    intervalMs: 60_000,
    gap: "none",
    isInterrupted: false,
    output: condition,
  };
}

Deno.test("replay() shows what another threshold would have sent, the nights and the outages", async () => {
  const rows = [row("ok", 0, 9), row("critical", 10, 11), row("ok", 12, 300), row("critical", 301, 400)];
  const configOf = (threshold: number): ScenarioConfig => ({
    channels: { chat: {} },
    checks: {
      web: { threshold, schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" } },
    },
  });
  const one = await replayOf(configOf(1), [{ name: "web", rows }]);
  const three = await replayOf(configOf(3), [{ name: "web", rows }]);
  const texts = ({ messages }: Replay): readonly string[] => messages.map(({ text }) => text);
  assert.deepEqual(texts(one), ["problem web critical", "recovery web ok", "problem web critical"]);
  assert.deepEqual(texts(three), ["problem web critical"]);
  assert.deepEqual([one.nights, three.outages.length], [["2026-03-02"], 1]);
  assert.deepEqual(outagesOnlyIn(one, three).map(({ beganAtMs }) => beganAtMs), [one.outages[0]?.beganAtMs]);
  assert.ok((three.meanDelayMs ?? 0) > (one.meanDelayMs ?? 0));
});

Deno.test("Past: runs have their recorded times, which are exact for runs before a decision", () => {
  const atMs = START + 15 * 60_000 + 1_200;
  const decision: JournalRow = { ...row("ok", 15, 15), firstMs: atMs, lastMs: atMs, runs: 0 };
  const past = new Past({
    journals: [{
      name: "web",
      rows: [row("ok", 10, 20), { ...row("critical", 90, 91), gap: "first", isInterrupted: true }],
    }, { name: "api", rows: [row("critical", 15, 15), decision, { ...row("ok", 15, 15), firstMs: atMs }] }],
    dependencies: new Map([["api", ["web"]]]),
  });
  assert.deepEqual([-1, 0, 1].map((ms) => past.isReview("api", atMs + ms)), [false, true, false]);
  assert.equal(past.runAfter("api", atMs)?.atMs, atMs + 1);
  const after = (minute: number): string => {
    const run = past.runAfter("web", START + minute * 60_000);
    if (run === null) return "none";
    const { atMs, result, isAfterGap, isInterrupted } = run;
    return `${(atMs - START) / 60_000} ${result.condition} ${isAfterGap ? "gap" : ""}${
      isInterrupted ? "!" : ""
    }`;
  };
  assert.deepEqual([5, 14.5, 15.01, 20, 30, 90.5, 92].map(after), [
    "10.008333333333333 ok ",
    "15.02 ok ",
    "15.02 ok ",
    "20.008333333333333 ok ",
    "90.00833333333334 critical gap!",
    "91.00833333333334 critical ",
    "none",
  ]);
  const fromMs = START + 10 * 60_000 + 500;
  assert.equal(past.nextChangeMs("web", fromMs), START + 15 * 60_000 + 1_200);
  assert.deepEqual(past.runsBefore("web", { fromMs, beforeMs: fromMs + 120_000 }), {
    count: 2,
    lastMs: fromMs + 60_000,
    nextMs: fromMs + 120_000,
  });
  const included = past.runsBefore("web", { fromMs, beforeMs: fromMs + 120_000, isIncluded: true });
  assert.equal(included.count, 3);
});
