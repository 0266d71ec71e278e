import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { FORMATS } from "../../../src/cli/formats/registry.ts";
import { anySummary, optionsOf, recordOf, summaryOf } from "./records.ts";

Deno.test("FORMATS prints whole lines, or nothing, in any run", async (t) => {
  for (const [name, load] of Object.entries(FORMATS)) {
    const format = await load();
    await t.step(name, () => {
      assert.ok(format.summary(summaryOf([]), optionsOf()).endsWith("\n"));
      fc.assert(
        fc.property(anySummary(), (summary) => {
          const atTheEnd = format.summary(summary, optionsOf());
          assert.ok(atTheEnd.endsWith("\n"));
          assert.equal(format.summary(summary, optionsOf()), atTheEnd);
          for (const record of summary.records) assert.match(format.record(record, optionsOf()), /^$|\n$/);
        }),
        { numRuns: 30 },
      );
      const record = format.record(recordOf({}), optionsOf());
      assert.equal(record !== "", name === "ndjson", "the others print nothing before the end");
    });
  }
});
