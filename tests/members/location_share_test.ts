import assert from "node:assert/strict";
import { type LocatedCheck, LocationShare } from "../../src/members/location_share.ts";

const CHECKS: readonly LocatedCheck[] = Array.from({ length: 100 }, (_, index) => ({
  name: `check ${index}`,
  locations: { from: index % 2 === 0 ? ["fra", "nyc"] : ["nyc"], agree: 1 },
}));
const MEMBERS = ["fra-1", "fra-2", "nyc-1", "any-1"].map((host) => ({
  host,
  location: host.startsWith("any") ? null : host.slice(0, 3),
}));

function shareOf(host: string, members = MEMBERS): readonly string[] {
  const own = MEMBERS.find((member) => member.host === host) ?? { host, location: null };
  const share = new LocationShare(own);
  share.update(members, CHECKS);
  return CHECKS.filter(({ name }) => share.runs(name)).map(({ name }) => name);
}

Deno.test("LocationShare: each check has one runner among the members of each of its locations", () => {
  const inFra = CHECKS.filter(({ locations }) => locations?.from.includes("fra")).map(({ name }) => name);
  assert.deepEqual([...shareOf("fra-1"), ...shareOf("fra-2")].sort(), inFra.toSorted());
  assert.ok(shareOf("fra-1").length > 10 && shareOf("fra-2").length > 10);
  assert.deepEqual(shareOf("nyc-1"), CHECKS.map(({ name }) => name));
  assert.deepEqual(shareOf("any-1"), []);
});

Deno.test("LocationShare: only the members left at a location take over", () => {
  const left = MEMBERS.filter(({ host }) => host !== "fra-1");
  assert.equal(shareOf("fra-2", left).length, 50);
  assert.deepEqual(shareOf("nyc-1", left), shareOf("nyc-1"));
});

Deno.test("LocationShare: returns the live locations, and the next time its share may change", () => {
  const share = new LocationShare({ host: "fra-1", location: "fra" });
  assert.equal(share.update(MEMBERS, CHECKS), true);
  assert.deepEqual([...share.live], ["fra", "nyc"]);
  assert.equal(share.update(MEMBERS, CHECKS), false);
  assert.equal(share.update(MEMBERS.filter(({ location }) => location !== "nyc"), CHECKS), false);
  assert.deepEqual([...share.live], ["fra"]);
  assert.equal(share.update(MEMBERS.slice(0, 1), CHECKS), true);
  assert.equal(share.update(MEMBERS.slice(0, 1), [...CHECKS]), true);
});
