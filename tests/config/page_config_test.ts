import assert from "node:assert/strict";
import { load, problemsOf, warningsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const CHECK = { kind: "test", tags: ["web"], parameters: {} };

function withPage(keys: Readonly<Record<string, unknown>>): unknown {
  return { ...(withCheck(CHECK) as Readonly<Record<string, unknown>>), ...keys };
}

/** Without the prototypes of parsed objects. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

Deno.test("loadConfig() resolves the texts of the page and the tags of a public report", async () => {
  assert.equal((await load(withPage({}))).page, null);
  assert.deepEqual(plain((await load(withPage({ page: { title: "Status" } }))).page), {
    title: "Status",
    announcements: [],
  });
  const announcements = [{ date: "2026-01-31", text: "One" }, {
    date: "2026-01-31 09:30",
    text: "Two",
    until: "2026-02-01",
  }];
  const { page, report } = await load(withPage({
    page: { title: "Status", description: "Of everything", announcements },
    report: { path: "index.html", public: ["web"] },
  }));
  assert.deepEqual(plain(page), { title: "Status", description: "Of everything", announcements });
  assert.deepEqual(report?.public, ["web"]);
});

Deno.test("loadConfig() removes secrets from the words of the page", async () => {
  const { page } = await load(withPage({ page: { title: "a ${env:TOKEN}" } }), {
    environment: { TOKEN: "0123456789" },
  });
  assert.equal(page?.title, "a [secret]");
});

Deno.test("loadConfig() rejects invalid words of the page", async (t) => {
  const note = { date: "2026-01-31", text: "One" };
  const rows: Readonly<Record<string, readonly [page: unknown, problem: RegExp]>> = {
    "a day that does not exist": [
      { announcements: [{ ...note, date: "2026-02-30" }] },
      /^page\.announcements\[0\]\.date: "2026-02-30" is not a date, expected one such as "2026-01-31"/,
    ],
  };
  await testRows(t, rows, async ([page, problem]) => {
    const problems = await problemsOf(withPage({ page }));
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", problem);
  });
});

Deno.test("loadConfig() warns of a public tag of the HTML report that no check has", async () => {
  assert.deepEqual(await warningsOf(withPage({ report: { path: "index.html", public: ["web", "shop"] } })), [
    'report.public[1]: no check has the tag "shop"',
  ]);
});
