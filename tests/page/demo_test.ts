/** 90 days of a generated history, on the page and in `history` and `status`. */
import assert from "node:assert/strict";
import { demoConfig } from "../../scripts/make_history.ts";
import { run } from "../../src/cli/run.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { NOW_MS, withDemo } from "./demo_page.ts";

const COUNT = 12;

interface History {
  readonly changes: readonly { readonly at: string; readonly from: string; readonly to: string }[];
  readonly spans: {
    readonly day: { readonly shares: { readonly ok: number } };
    readonly week: { readonly shares: { readonly ok: number } };
    readonly month: { readonly runs: number };
  };
}

interface Status {
  readonly checks: readonly {
    readonly name: string;
    readonly title: string;
    readonly condition: string;
    readonly state: string;
    readonly confirmed_since: string;
  }[];
}

Deno.test("makeHistory() makes 90 days on which the page, history and status agree", () =>
  withDemo(COUNT, async ({ directory, page }) => {
    await Deno.writeTextFile(
      `${directory}/monitor.json`,
      JSON.stringify({ state: "state.sqlite", ...demoConfig(COUNT) }),
    );
    const monitor = async (...args: readonly string[]): Promise<string> => {
      const system = {
        ...createMemorySystem({ workingDirectory: directory }),
        clock: createFakeClock(NOW_MS),
      };
      const code = await run([...args, "--config", `${directory}/monitor.json`], system);
      assert.ok(code < 64, system.stderr.text());
      return system.stdout.text();
    };
    const { checks } = JSON.parse(await monitor("status", "--format", "json")) as Status;
    assert.equal(checks.length, COUNT);
    assert.ok(checks.every(({ state }) => state === "current"));
    assert.ok(
      checks.some(({ condition }) => condition !== "ok") &&
        checks.some(({ condition }) => condition === "ok"),
    );
    const items = itemsOf(await page());
    const written = itemsOf(await monitor("report"));
    assert.deepEqual([...written.keys()].sort(), [...items.keys()].sort(), "the command's page is the same");
    let changes = 0;
    for (const { name, title, condition, confirmed_since: since } of checks) {
      const item = items.get(title) ?? "";
      const history = JSON.parse(await monitor("history", name, "--format", "json")) as History;
      const percent = (share: number): string =>
        share === 1 ? "100%" : `${(Math.floor(share * 1e4) / 100).toFixed(2)}%`;
      const { day, week, month } = history.spans;
      assert.match(item, new RegExp(`<b>${condition}</b>`, "i"));
      const sinceText = new Date(since).toLocaleString("sv-SE", { timeZone: "Europe/Berlin" }).slice(0, 16);
      assert.ok(item.includes(`<time>${sinceText}</time>`), name);
      assert.ok(
        item.includes(`24 h <b>${percent(day.shares.ok)} ok</b> 7 d <b>${percent(week.shares.ok)} ok</b>`),
        item,
      );
      assert.equal(month.runs, 9 * 24 + (30 - 9) * 2 + 1, name);
      const troubles = history.changes.filter(({ at, to }) =>
        to !== "ok" && Date.parse(at) > NOW_MS - 89 * 86_400_000
      );
      for (const { to } of troubles) {
        assert.match(item, new RegExp(`<title>90 d: ${to}: `), `${name}: ${item}`);
      }
      changes += history.changes.length;
    }
    assert.ok(changes > 10, "something happened");
  }));

/** The items of the page by their headings. */
function itemsOf(html: string): ReadonlyMap<string, string> {
  return new Map(
    html.split("<li class=").slice(1).map((item) => [/<h3>(.*?)<\/h3>/.exec(item)?.[1] ?? "", item]),
  );
}
