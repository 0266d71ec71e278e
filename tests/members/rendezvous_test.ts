import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createPlacement, hostOf, placesOf } from "../../src/members/rendezvous.ts";
import { type LocatedCheck, LocationShare } from "../../src/members/location_share.ts";

const HOSTS = ["fra-1", "fra-2", "nyc-1", "nyc-2", "sgp-1"];
const NAMES = Array.from({ length: 10_000 }, (_, index) => `check ${index}`);

Deno.test("hostOf() does not depend on the order of the hosts", () => {
  fc.assert(
    fc.property(fc.string(), fc.uniqueArray(fc.string(), { maxLength: 8 }), (name, hosts) => {
      assert.equal(hostOf(name, hosts), hostOf(name, hosts.toReversed()));
      assert.equal(hostOf(name, hosts), hostOf(name, hosts.toSorted()));
    }),
  );
});

Deno.test("hostOf() moves only the names of a host that leaves", () => {
  fc.assert(
    fc.property(fc.string(), fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 8 }), (name, hosts) => {
      const [leaving, ...others] = hosts;
      const before = hostOf(name, hosts);
      if (before !== leaving) assert.equal(hostOf(name, others), before);
    }),
  );
});

Deno.test("createPlacement() assigns each name to the host that hostOf() returns", () => {
  const placeOn = createPlacement(HOSTS);
  for (const name of NAMES) assert.equal(placeOn(name), hostOf(name, HOSTS));
});

Deno.test("hostOf() spreads names evenly, also those of a host that left", () => {
  for (const hosts of [HOSTS, HOSTS.slice(1), HOSTS.slice(0, 2)]) {
    const counts = Map.groupBy(NAMES, (name) => hostOf(name, hosts));
    const fair = NAMES.length / hosts.length;
    for (const host of hosts) {
      const count = counts.get(host)?.length ?? 0;
      assert.ok(Math.abs(count - fair) < 0.06 * fair, `${host} has ${count} of ${NAMES.length}`);
    }
  }
});

Deno.test("placesOf() puts a check in the place of its root dependency", () => {
  const check = (name: string, ...dependsOn: string[]) => ({ name, dependsOn });
  const places = placesOf([
    check("page", "web", "mail"),
    check("web", "router"),
    check("router"),
    check("mail"),
    check("left", "gone"),
    check("one", "other"),
    check("other", "one"),
  ]);
  assert.deepEqual(Object.fromEntries(places), {
    page: "router",
    web: "router",
    router: "router",
    mail: "mail",
    left: "left",
    one: "one",
    other: "one",
  });
});

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
