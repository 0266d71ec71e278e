import assert from "node:assert/strict";
import type { CheckStatus } from "../../../src/engine/check_status.ts";
import { publicChecks, publicStatus } from "../../../src/outputs/html_report/public_report.ts";
import { recordOf, resultOf, silenceOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";
import { PAGE_STATES, writeState } from "../../page/states.ts";

function pageOf(name: string): Promise<string> {
  return writeState(PAGE_STATES[name] ?? assert.fail(name));
}

const TAGGED = (PAGE_STATES["everything"]?.shown ?? []).filter(({ check: { name } }) =>
  ["shop", "maintained", "silenced"].includes(name)
).map((one) => ({ ...one, check: { ...one.check, tags: ["website"] } }));

Deno.test("publicChecks() keeps active checks with one of the tags, and these tags alone", () => {
  const checks = Object.entries({ a: ["website", "inner"], b: ["inner"], c: [], d: ["website"], e: ["api"] })
    .map(([name, tags]) => ({ ...testCheck("ok", { name }), tags, active: name !== "d" }));
  assert.deepEqual(publicChecks(checks, ["website", "api"]).map(({ tags }) => tags), [["website"], ["api"]]);
});

Deno.test("writeReport() shows only checks with its tags on a public page, without private fields", async () => {
  const [whole, open] = [await pageOf("everything"), await pageOf("public")];
  const hidden = ["host.example", "monitor.jsonc", "status is 503", "retry-after", "192.0.2.7", "Mail queue"]
    .concat("connection refused", "<p class=n>shop", "silenced", "Pending notifications", "Inactive");
  for (const text of hidden) {
    assert.ok(whole.includes(text), text);
    assert.ok(!open.includes(text), text);
  }
  for (const text of ["Status of example.org", "slow responses of the shop", "<h3>Shop</h3>"]) {
    assert.ok(open.includes(text), text);
  }
});

Deno.test("writeReport() shows maintenance windows on a public page, but not which notifications were sent", async () => {
  const text = await writeState({ shown: TAGGED, public: ["website"] });
  assert.match(text, /<em>maintenance until <time>2026-01-31 13:00<\/time><\/em>/);
  assert.doesNotMatch(text, /silenced<|suppressed|not notified/);
});

Deno.test("writeReport() shows started maintenance windows, with their note only on a private page", async () => {
  const untilMs = Date.UTC(2026, 1, 1);
  const silences = [
    silenceOf("a", { kind: "maintenance", check: null, tag: "website", untilMs, reason: "move <of> racks" }),
  ];
  const text = await writeState({ shown: TAGGED, silences });
  assert.match(text, /<em>maintenance until <time>2026-02-01 01:00<\/time> \(move &lt;of&gt; racks\)<\/em>/);
  assert.doesNotMatch(text, /<h2>Silences/);
  const open = await writeState({ shown: TAGGED, silences, public: ["website"] });
  assert.match(open, /<em>maintenance until <time>2026-02-01 01:00<\/time><\/em>/);
  assert.doesNotMatch(open, /racks/);
});

Deno.test("writeReport() shows the note of an acknowledgement only on a private page", async () => {
  const silences = [silenceOf("a", { check: null, kind: "acknowledgement", reason: "Ada is on it" })];
  const text = await writeState({ shown: TAGGED, silences });
  assert.match(text, /acknowledged: Ada is on it/);
  assert.match(
    text,
    /<a href=#acknowledgements>acknowledgements<[^]*<h2 id=acknowledgements>Acknowledgements \(1\)</,
  );
  assert.doesNotMatch(text, /id=silences/);
  assert.doesNotMatch(await writeState({ shown: TAGGED, silences, public: ["website"] }), /acknowledged|Ada/);
});

Deno.test("publicStatus() omits notes and notifications", () => {
  const record = recordOf("web", { last: resultOf({ output: "secret", locations: [] }) });
  const status = {
    check: {},
    record: { ...record, condition: { ...record.condition, confirmed: "critical", notified: "ok" } },
    acknowledged: "secret",
    isSilenced: true,
    waitsFor: ["secret"],
  } as unknown as CheckStatus;
  const open = publicStatus(status);
  assert.equal(open.record?.condition.notified, "critical");
  assert.deepEqual([open.acknowledged, open.isSilenced, open.waitsFor], [null, false, []]);
  assert.deepEqual([open.record?.last?.output, open.record?.last?.detail], ["", ""]);
  assert.doesNotMatch(JSON.stringify(open), /secret|locations/);
});
