import assert from "node:assert/strict";
import { stableText } from "../../src/state/journal.ts";
import { type Rows, testRows } from "../support/rows.ts";

Deno.test("stableText() replaces the numbers that change from run to run", async (t) => {
  const table: Rows<[text: string, stable: string]> = {
    "a duration": ["no response after 12.5 s", "no response after # s"],
    "a duration without a space": ["took 350ms, 1h30m at most", "took #, # at most"],
    "whole milliseconds that look like a status": ["took 350 ms", "took # ms"],
    "a status": ["status is 503, expected 200", "status is 503, expected 200"],
    "a count": ["3 of 5 failed, 1,234 left", "# of # failed, # left"],
    "a percentage": ["/: 97% used, 3.1 % free", "/: # used, # % free"],
    "a size": ["200 MB free, 1GiB required", "# MB free, # required"],
    "a negative number": ["offset is -12.5", "offset is -#"],
    "times": ["last at 2026-01-31T10:00:12Z, 10:00:12", "last at #, #"],
    "an address with a port": ["refused by 10.0.0.5:443", "refused by 10.0.0.5:443"],
    "names with digits": ["web1 and db-2 failed: sha256", "web1 and db-2 failed: sha256"],
    "an id": ["request 8f3a2b1c4d, 123e4567-e89b-12d3-a456-426614174000", "request #, #"],
    "words that could be hexadecimal": ["defaced facade", "defaced facade"],
    "other scripts": ["Überlast: 4,5 von 8", "Überlast: # von #"],
    "no number": ["connection refused", "connection refused"],
  };
  await testRows(t, table, ([text, stable]) => assert.equal(stableText(text), stable));
});
