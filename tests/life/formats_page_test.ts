/**
 * `docs/reference/output_formats.md` is compared with the real output of the program: the same fields in the same
 * order.
 */
import assert from "node:assert/strict";
import type { Event } from "./lines.ts";
import { withHarness } from "./program.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/reference/output_formats.md", import.meta.url));

/** The first columns of the tables below each heading of the page. */
function tablesOf(page: string): ReadonlyMap<string, readonly (readonly string[])[]> {
  const tables = new Map<string, string[][]>();
  let heading = "";
  for (const block of page.split("\n\n")) {
    const [, title] = /^#+ (.*)$/.exec(block) ?? [];
    if (title !== undefined) heading = title;
    if (!/^\| Field/.test(block)) continue;
    const members = block.split("\n").slice(2).map((row) => /^\| `(\w+)`/.exec(row)?.[1] ?? row);
    tables.set(heading, [...tables.get(heading) ?? [], members]);
  }
  return tables;
}

/**
 * Not everything of its kind has these. Only checks with locations have those, which need PostgreSQL;
 * `tests/simulation/locations_test.ts` has them. Actions are in `tests/simulation/page_actions_test.ts`, agents in
 * `tests/simulation/agents_test.ts`.
 */
const OPTIONAL = ["locations", "reason"];
const ELSEWHERE = ["A location", "An action", "Agents and reports of `status`"];

Deno.test("docs/reference/output_formats.md lists every printed field, in its order, and no other", () =>
  withHarness(async (harness) => {
    const closed = { kind: "webhook", parameters: { target: "http://127.0.0.1:1/" } };
    const bad = {
      kind: "test",
      notifications: [{ kind: "console", parameters: {} }, closed],
      objective: "99 % a week",
      parameters: { condition: "critical", output: "it is gone" },
    };
    harness.writeConfig({ bad }, { state: "kept.sqlite" });
    const objects: [heading: string, value: unknown][] = [];
    const printed = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await harness.runHere(args);
      assert.notEqual(stdout, "", `${args.join(" ")} exited with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    };

    const once = await printed("check", "--once", "--state", "none", "--format", "json");
    objects.push(["`check --once --format json`", once], ["A finished check", once.checks[0]]);
    const lines =
      (await harness.runHere(["check", "--once", "--state", "none", "--format", "ndjson"])).stdout;
    const [result = {}, summary] = lines.trimEnd().split("\n").map((line) => JSON.parse(line) as Event);
    objects.push(["A finished check", without(result, "event")], ["The event `summary`", summary]);

    harness.writeConfig({ bad: { ...bad, active: false } }, { state: "kept.sqlite" });
    const nothing = ["check", "--once", "--state", "none", "--format"];
    objects.push(
      ["`check --once --format json`", await printed(...nothing, "json")],
      ["The event `summary`", await printed(...nothing, "ndjson")],
    );
    harness.writeConfig({ bad }, { state: "kept.sqlite" });

    const program = harness.startHere(
      ["check", "--format", "ndjson", "--log-format", "json", "--log-level", "debug"],
    );
    objects.push(["The event `start`", await program.stdout.event("start")]);
    const { late_ms: lateMs, ...running } = await program.stdout.event("result");
    assert.equal(typeof lateMs, "number");
    objects.push(["A finished check", without(running, "event")]);
    const notification = await program.stdout.event("notification");
    objects.push(["The event `notification`", notification], [
      "A notification",
      notification["notification"],
    ]);
    program.signal("SIGHUP");
    objects.push(["The event `reload`", await program.stdout.event("reload")]);
    await program.stderr.next(/control socket at/);
    const planned = await printed("reload", "--plan", "--yes", "--format", "json");
    objects.push(["`reload --format json`", planned], ["A config of `replay`", planned.plan.configs[1]]);
    await program.stdout.event("reload");
    Deno.writeTextFileSync(`${harness.directory}/monitor.json`, "{");
    program.signal("SIGHUP");
    objects.push(["The event `reload`", await program.stdout.event("reload")]);
    program.signal("SIGTERM");
    objects.push(["The event `stop`", await program.stdout.event("stop")]);
    const { stderr } = await program.end();
    for (const line of stderr.trimEnd().split("\n")) {
      // The fields after them are the facts of that line.
      objects.push(["The log", Object.fromEntries(Object.entries(JSON.parse(line)).slice(0, 3))]);
    }

    harness.writeConfig({ bad }, { state: "kept.sqlite" });
    const status = await printed("status", "--format", "json");
    objects.push(["`status --format json`", status], ["A check of `status`", status.checks[0]]);
    objects.push(["A notification of `status`", status.notifications[0]]);
    objects.push(["The last run", status.checks[0].last], ["The monitor of `status`", status.monitor]);
    const history = await printed("history", "--results", "--deliveries", "--format", "json", "bad");
    objects.push(["`history --format json`", history], ["A change", history.changes[0]]);
    const { events } = await printed("history", "--format", "json");
    objects.push(["An event of `history`", events[0]]);
    assert.deepEqual(Object.keys(history.spans), ["day", "week", "month"]);
    const week = await printed("summary", "--format", "json");
    objects.push(["`summary --format json`", week], ["A list of a summary", week.availability]);
    const { objective } = week.availability.items[0];
    objects.push(["An objective", objective], ["The time of an objective", objective.time]);
    objects.push(["A span", history.spans.day], ["A recent run", history.recent_runs[0]], [
      "Results",
      history.results[0],
    ], ["A delivery", history.deliveries[0]]);
    const why = await printed("why", "bad", "--format", "json");
    objects.push(["`why --format json`", why], ["A channel of `why`", why.channels[0]]);
    const scenario = { start: "2026-03-02 21:55", results: { bad: "critical" } };
    Deno.writeTextFileSync(`${harness.directory}/night.jsonc`, JSON.stringify(scenario));
    const night = ["rehearse", `${harness.directory}/night.jsonc`, "--format", "json"];
    const rehearsed = await printed(...night);
    objects.push(["`rehearse --format json`", rehearsed], ["A scenario", rehearsed.scenarios[0]]);
    objects.push(["A channel of `rehearse`", rehearsed.scenarios[0].channels[0]]);

    harness.writeConfig({ good: { kind: "script", parameters: { path: "/bin/echo" } } });
    const proof = await printed("prove", "good", "--format", "json");
    objects.push(["`prove --format json`", proof], ["A check of `prove`", proof.checks[0]]);
    objects.push(["A fault of `prove`", proof.checks[0].faults[0]]);

    harness.writeConfig({ bad }, { state: "kept.sqlite" });
    const replayed = await printed("replay", "--format", "json");
    objects.push(["`replay --format json`", replayed], ["A config of `replay`", replayed.configs[0]]);

    const tables = tablesOf(PAGE);
    for (const [heading, value] of objects) {
      const printed = Object.keys(value as object).join(" ");
      const described = tables.get(heading)?.flatMap((members) => [
        members.join(" "),
        ...OPTIONAL.map((name) => members.filter((member) => member !== name).join(" ")),
      ]) ?? [];
      assert.ok(described.includes(printed), `${heading}: printed is ${printed}, described ${described}`);
    }
    // Each table was met by something that was printed.
    assert.deepEqual(
      [...tables.keys()].filter((heading) =>
        !ELSEWHERE.includes(heading) && !objects.some(([met]) => met === heading)
      ),
      [],
    );
  }));

function without(event: Event, member: string): Event {
  return Object.fromEntries(Object.entries(event).filter(([name]) => name !== member));
}
