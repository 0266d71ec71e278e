/** The script of the live page asks for the rows that changed since the version that it shows. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const CHECKS = 300;
/** Those with details, in which times pass. */
const DETAILED = 100;

let version = "";
/** A check without details. */
let calm = "";

/** Returns the names of the rows with content and of those without. */
async function rowsOf(world: World, query = `?since=${version}`) {
  const response = await world.machine().request(`/${query}`);
  assert.equal(response?.status, 200);
  [, version = ""] = /<header [^>]*data-version="([^"]*)"/.exec(response.body) ?? [];
  const rows = [...response.body.matchAll(/<li (class=. )?id="check-([^"]*)"/g)];
  assert.equal(rows.length, CHECKS);
  const [whole = [], empty = []] = [true, false].map((isWhole) =>
    rows.filter(([, begin]) => (begin !== undefined) === isWhole).map(([, , name = ""]) => name)
  );
  return { whole, empty };
}

simulate("the live page sends only the rows that changed since a version", {
  start: "2026-03-02 10:00",
  config: {
    listen: { address: "127.0.0.1:9797" },
    defaults: { schedule: { regular_interval: "2 hours" } },
    checks: Object.fromEntries(Array.from({ length: CHECKS }, (_, index) => [`c${index}`, {}])),
  },
  actions: {
    "10:10": async (world) => {
      assert.deepEqual((await rowsOf(world, "")).empty, []);
      assert.match(version, /^[\w-]+-1$/);
    },
    "10:11": async (world) => {
      const { whole, empty } = await rowsOf(world);
      assert.equal(whole.length, DETAILED);
      calm = empty[0] ?? "";
    },
    "10:12": async (world) => {
      const before = version;
      await world.machine().run("run", calm);
      await world.advance(5_000);
      assert.ok((await rowsOf(world)).whole.includes(calm), "it ran");
      await world.advance(1_000);
      assert.ok(!(await rowsOf(world)).whole.includes(calm), "the client has it");
      assert.ok((await rowsOf(world, `?since=${before}`)).whole.includes(calm), "another one has not");
    },
    "10:14": async (world) => {
      for (const query of ["?since=", "?since=other-1", `?since=${version.replace(/\d+$/, "99")}`]) {
        assert.deepEqual((await rowsOf(world, query)).empty, [], query);
      }
      const query = `?since=${version}&tag=x`;
      assert.deepEqual((await rowsOf(world, query)).empty, [], "a filtered page");
    },
  },
  until: "10:15",
});
