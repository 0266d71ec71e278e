import assert from "node:assert/strict";
import { testWith } from "../../testing/tools.ts";
import { expect, renderTable } from "../../scripts/simulate_members.ts";

Deno.test("a simulated death is detected within five seconds, and moves the checks of the dead member alone", () => {
  for (const members of [2, 3, 5, 20]) {
    const { shareMax, detectionMs: [first, last], moved, movedNeedlessly } = expect({
      members,
      checks: 20_000,
      intervalSeconds: 60,
    });
    assert.ok(shareMax >= 1 && shareMax < 1.1, `${members} members: ${shareMax}`);
    assert.ok(first >= 3_500 && last <= 5_000, `${members} members: ${first} to ${last} ms`);
    assert.equal(movedNeedlessly, 0);
    assert.ok(Math.abs(moved - 20_000 / members) < 0.1 * 20_000 / members, `${members} members: ${moved}`);
  }
});

testWith("time")("docs/concepts/scale.md has the table of the simulation", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/concepts/scale.md", import.meta.url));
  const cells = (text: string): readonly string[] =>
    text.split("\n").filter((line) => /^\|\s*\d/.test(line)).map((line) => line.replaceAll(/\s+/g, ""));
  for (const line of cells(renderTable())) assert.ok(cells(page).includes(line), line);
});
