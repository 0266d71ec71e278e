import assert from "node:assert/strict";
import { load, problemsOf } from "../../testing/config_system.ts";

const check = (settings: object): object => ({ kind: "test", parameters: {}, ...settings });

Deno.test("loadConfig() rejects a threshold that no window of results can reach", async () => {
  const config = {
    defaults: { threshold: 4, within: 3 },
    checks: { web: check({}), mail: check({ threshold: 3 }), ping: check({ within: 9 }) },
  };
  assert.deepEqual(await problemsOf(config), [
    'checks.web: "within" is 3, expected at least the "threshold" of 4',
  ]);
});

Deno.test("loadConfig() parses several intervals between reminders", async () => {
  const { checks } = await load({ defaults: { annoy: ["1 hour", 60] }, checks: { web: check({}) } });
  assert.deepEqual(checks[0]?.annoy, [3_600_000, 60_000]);
});

Deno.test("loadConfig() locates an invalid interval between reminders", async () => {
  const [problem] = await problemsOf({ defaults: { annoy: ["1 hour", "soon"] }, checks: {} });
  assert.match(String(problem), /^defaults\.annoy\[1\]: /);
});
