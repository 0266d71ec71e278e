import assert from "node:assert/strict";
import { isFound, readFilter } from "../../../src/outputs/html_report/page_filter.ts";
import { PAGE_STATES, writeState } from "../../page/states.ts";
import { testRows } from "../../support/rows.ts";

Deno.test("readFilter() reads words, fields and the order of a query", async (t) => {
  const rows = {
    "nothing": ["", "", "urgent"],
    "words": ["?q=shop+redis", "shop redis", "urgent"],
    "a field": ["?tag=My+Shop&q=web&condition=ok", "web tag:my_shop condition:ok", "urgent"],
    "an order": ["?sort=slowest", "", "slowest"],
    "an unknown order": ["?sort=up", "", "urgent"],
    "words that are too long": [`?q=${"x".repeat(300)}`, "x".repeat(200), "urgent"],
  } as const;
  await testRows(t, rows, ([query, words, sort]) => {
    assert.deepEqual(readFilter(new URLSearchParams(query)), { words, sort });
  });
});

Deno.test("isFound() finds all words anywhere, and fields exactly", async (t) => {
  const [fields, text] = [
    "condition:critical kind:http_request tag:shop",
    "Redis redis-1 Connection refused",
  ];
  const rows = {
    "": true,
    " refused  REDIS ": true,
    "redis mysql": false,
    "tag:shop": true,
    "tag:sho": false,
    "http": true,
    "condition:critical refused": true,
    "condition:ok": false,
  } as const;
  await testRows(t, rows, (found, words) => assert.equal(isFound(words, fields, text), found));
});

Deno.test("writeReport() hides checks that the filter does not match, also without a script, and sorts", async () => {
  const shownOf = async (query: string): Promise<readonly string[]> => {
    const filter = readFilter(new URLSearchParams(query));
    const html = await writeState({
      ...PAGE_STATES["live"] ?? assert.fail(),
      facts: { isLive: true, filter },
    });
    return [...html.matchAll(/<li class=\w id="check-([^"]*)"[^>]*? data-share=\S+( hidden)?>/g)]
      .flatMap(([, name = "", hidden]) => hidden === undefined ? [name.slice(0, 10)] : []);
  };
  assert.deepEqual(await shownOf("?q=refused+condition:critical"), ["silenced"]);
  assert.deepEqual((await shownOf("?sort=slowest")).slice(0, 1), ["database"]);
});
