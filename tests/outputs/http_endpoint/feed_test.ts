import assert from "node:assert/strict";
import { renderFeed } from "../../../src/outputs/http_endpoint/views.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { testCheck } from "../../support/checks.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { changeOf, recordOf, updateOf } from "../../state/records.ts";

const OPTIONS = {
  checks: [testCheck("ok")],
  recordOf,
  title: null,
  hostName: "",
  hasOutputs: true,
  clock: createFakeClock(),
};

async function headOf(title: string | null, hostName: string): Promise<string> {
  const feed = await renderFeed({ ...OPTIONS, store: await openInMemoryStore(), title, hostName });
  return feed.toString().replace(/<updated>[^]*/, "");
}

Deno.test("renderFeed() has the title of the config, else names the host", async () => {
  assert.match(await headOf("Status of <example>", "host"), /<title>Status of &lt;example&gt;<\/title>/);
  assert.match(await headOf(null, "host"), /<title>monitor on host<\/title>/);
  assert.match(await headOf(null, ""), /<title>monitor<\/title>/);
  const idOf = (head: string): string => head.slice(head.indexOf("<id>"), head.indexOf("<title>"));
  assert.equal(idOf(await headOf("Status", "host")), idOf(await headOf(null, "host")), "the id stays");
});

Deno.test("renderFeed() asks the store once for the 50 latest changes, whatever the number of checks", async () => {
  const store = await openInMemoryStore();
  const checks = Array.from({ length: 300 }, (_, index) => testCheck("ok", { name: `check ${index}` }));
  const records = new Map(checks.map(({ name }, index) => {
    const record = recordOf(name);
    const never = { pending: null, unknown: null, warning: null, critical: null };
    const leftAtMs = { ...never, ok: index === 0 ? null : index * 1000 };
    return [name, { ...record, condition: { ...record.condition, leftAtMs } }];
  }));
  // The last check has changed before, too.
  const times = [
    ...checks.slice(1).map(({ name }, index) => [name, (index + 1) * 1000] as const),
    ["check 299", 290_500] as const,
  ];
  await store.save(times.map(([name, atMs]) => updateOf(name, { change: changeOf(name, atMs) })));
  const asked: (readonly string[])[] = [];
  const feed = await renderFeed({
    ...OPTIONS,
    store: {
      latestChanges: (names, limit) => {
        asked.push(names);
        return store.latestChanges(names, limit);
      },
    },
    checks,
    recordOf: (name) => records.get(name) ?? recordOf(name),
  });
  assert.deepEqual(asked.map(({ length }) => length), [50]);
  const found = [...feed.toString().matchAll(/<title>(check \d+):/g)].map(([, name]) => name);
  const expected = times.toSorted(([, one], [, other]) => other - one).slice(0, 50).map(([name]) => name);
  assert.deepEqual(found, expected);
});
