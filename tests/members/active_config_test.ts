import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { activeConfig } from "../../src/members/observer.ts";

/** Members as `config/active`. */
function members(text: string) {
  return text.split(" ").filter((word) => word !== "").map((word) => {
    const [config = "", active = ""] = word.split("/");
    return { config, active };
  });
}

const CASES: Readonly<Record<string, readonly [live: string, active: string | null]>> = {
  "one member": ["a/a", "a"],
  "a roll-out at the first of three": ["b/a a/a a/a", "a"],
  "a roll-out at the second of three": ["b/a b/a a/a", "b"],
  "a member that has just joined another": ["a/ b/b", "b"],
  "a member that has just joined a tie": ["b/ b/a a/a a/a c/", "a"],
  "two that have just joined": ["b/ a/", "a"],
  "two that joined before they saw each other": ["b/b a/a", "a"],
  "a tie": ["b/b b/b a/b a/b", "b"],
  "a present one that no member has": ["b/a c/a", "b"],
  "an old config that returns": ["old/old a/a a/a", "a"],
};

Deno.test("activeConfig() returns the config of most members", async (t) => {
  for (const [name, [live, active]] of Object.entries(CASES)) {
    await t.step(name, () => assert.equal(activeConfig(members(live)), active));
  }
});

Deno.test("activeConfig() returns the config of a majority, whatever was active before", () => {
  const hash = fc.constantFrom("a", "b", "c");
  const member = fc.record({ config: hash, active: hash });
  fc.assert(
    fc.property(fc.array(member), (some) => {
      const live = [
        ...some,
        ...Array.from({ length: some.length + 1 }, () => ({ config: "d", active: "a" })),
      ];
      assert.equal(activeConfig(live), "d");
    }),
  );
});
