import assert from "node:assert/strict";
import { test } from "./installation.ts";

test("members share the checks, and the others take over those of one that is killed", async (installation) => {
  const { runs, names } = installation;
  const [killed, b, c] = [installation.start("a"), installation.start("b"), installation.start("c")];
  await installation.turn(500);
  killed.signal("SIGKILL");
  const before = new Map(runs);
  await installation.turn(200);
  await installation.turn(500);
  for (const name of names) assert.ok((runs.get(name) ?? 0) > (before.get(name) ?? 0), name);
  await installation.logged(b, 'member "a" left or died');
  await installation.stop(b, c);
  installation.assertEachOnce();
});
