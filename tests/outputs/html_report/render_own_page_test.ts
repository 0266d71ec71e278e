import assert from "node:assert/strict";
import { incidentsOf } from "../../../src/outputs/html_report/render_own_page.ts";
import { PAGE_STATES, writeState } from "../../page/states.ts";
import { changeOf } from "../../state/records.ts";
import { testTable } from "../../support/rows.ts";

Deno.test("incidentsOf() joins changes from the first problem until ok", (t) =>
  testTable(
    t,
    `
      none                     |                                   |
      one that lasts           | 1 ok critical                     | 1- critical
      one that is over         | 1 ok critical, 5 critical ok      | 1-5 critical
      it gets worse and better | 1 ok warning, 2 warning critical, 3 critical warning, 4 warning ok | 1-4 critical
      two                      | 1 ok warning, 2 warning ok, 7 ok unknown | 7- unknown, 1-2 warning
      the first ok             | 1 pending ok                      |
      an unobserved end        | 1 ok critical, 9 ok warning       | 9- warning, 1- critical
      only the end             | 4 critical ok                     |
      only a part              | 4 critical warning, 6 warning ok, 8 ok unknown | 8- unknown
      pending before           | 3 pending critical                | 3- critical
    `,
    (_name, text, expected) => {
      const changes = (text === "" ? [] : text.split(", ")).map((change) => {
        const [at = "", from = "", to = ""] = change.split(" ");
        return { ...changeOf("web", Number(at)), from, to } as ReturnType<typeof changeOf>;
      });
      const found = incidentsOf(changes.toReversed()).map(({ beganAtMs, endedAtMs, highest }) =>
        `${beganAtMs}-${endedAtMs ?? ""} ${highest}`
      );
      assert.equal(found.join(", "), expected);
    },
  ));

Deno.test("the page of a check has its response times, incidents, settings and command lines", async () => {
  const { shown: checks, ...state } = PAGE_STATES["one_check"] ?? assert.fail();
  const target = "https://shop.example.org/";
  const html = await writeState({
    ...state,
    shown: checks.map((one) => ({ ...one, check: { ...one.check, target } })),
  });
  const text = html.slice(html.indexOf("<main>")).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assert.match(text, / Response times .*90 d: p50 \d+ ms to \d+ ms, p95 \d+ ms to \d+ ms, p99 \d/);
  assert.match(
    text,
    / Incidents \(2\) 2026-01-31 09:00 critical , for 2 h: .* Trace of the run that confirmed it /,
  );
  assert.match(html, /<details class=trace open>/);
  assert.match(
    text,
    / Settings Kind test Target https:\/\/shop\.example\.org\/ Runs every 1 min, while it fails every /,
  );
  assert.match(
    text,
    / Objective 99\.9% in 30 d missed: [\d.]+% up, .* error budget used Channel chat everything /,
  );
  assert.match(text, / Channel pager only critical /);
  assert.match(text, / monitor why shop monitor history shop monitor run shop monitor acknowledge shop /);
});
