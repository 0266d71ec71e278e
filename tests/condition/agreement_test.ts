import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { agreeOn } from "../../src/condition/agreement.ts";
import { CONDITIONS, severity } from "../../src/domain/condition.ts";
import type { LocationVote } from "../../src/domain/check.ts";
import { testTable } from "../support/rows.ts";

/** Votes such as `fra critical, nyc -`; `-` does not count. */
function votes(text: string): readonly LocationVote[] {
  return text.split(", ").map((one) => {
    const [location = "", word = ""] = one.split(" ");
    const condition = CONDITIONS.find((known) => known === word) ?? null;
    const output = condition === null ? "no live member" : condition === "ok" ? "" : `${word} there`;
    return { location, condition, output, durationMs: null };
  });
}

Deno.test("agreeOn() returns the highest severity that enough locations reached", async (t) => {
  const table = `
    one of three critical | fra critical, nyc ok, sgp ok | 2 | ok | critical from fra; ok from nyc, sgp
    a critical and a warning | fra critical, nyc warning, sgp ok | 2 | warning | \
      critical from fra; warning from nyc; ok from sgp (nyc: warning there)
    one that does not count | fra critical, nyc critical, sgp - | 2 | critical | \
      critical from fra, nyc; not counted: sgp (no live member) (fra: critical there)
    too few | fra critical, nyc -, sgp - | 2 | unknown | results from 1 of 3 locations, 2 required: \
      critical from fra; not counted: nyc, sgp (no live member)`;
  await testTable(t, table, (_, text, agree, condition, output) => {
    const agreed = agreeOn(votes(text), Number(agree));
    assert.deepEqual([agreed.condition, agreed.output], [condition, output]);
  });
});

const vote = fc.record({
  location: fc.constantFrom("ams", "fra", "gru", "nyc", "sgp", "syd"),
  condition: fc.option(fc.constantFrom(...CONDITIONS)),
  output: fc.constantFrom("", "refused", "timeout"),
  durationMs: fc.constant(null),
});
const locations = fc.uniqueArray(vote, { selector: ({ location }) => location, minLength: 1 });
const located = locations.chain((some) =>
  fc.record({ some: fc.constant(some), agree: fc.integer({ min: 1, max: some.length }) })
);

Deno.test("agreeOn() does not depend on the order", () => {
  fc.assert(
    fc.property(located, fc.nat(), ({ some, agree }, by) => {
      const turned = [...some.slice(by % some.length), ...some.slice(0, by % some.length)];
      assert.deepEqual(agreeOn(turned, agree), agreeOn(some, agree));
      assert.deepEqual(agreeOn(some.toReversed(), agree), agreeOn(some, agree));
    }),
  );
});

Deno.test("agreeOn() requires as many results as must agree, and returns the severity that so many reached", () => {
  fc.assert(fc.property(located, ({ some, agree }) => {
    const agreed = agreeOn(some, agree);
    const counted = some.flatMap((one) => one.condition ?? []).map(severity).toSorted((one, other) =>
      other - one
    );
    assert.equal(agreed.condition, counted.length < agree ? "unknown" : CONDITIONS[counted[agree - 1] ?? 0]);
    assert.equal(agreed.decisive?.condition, counted.length < agree ? undefined : agreed.condition);
    for (const { location } of some) assert.ok(agreed.output.includes(location));
  }));
});
