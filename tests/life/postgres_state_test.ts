/** The program with its state in PostgreSQL. */
import assert from "node:assert/strict";
import { createCertificate } from "../support/certificates.ts";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { POSTGRES, ROLE, sharedPostgres, startPostgres } from "../support/postgres.ts";
import { withHarness } from "./program.ts";

const test = provided(withHarness, concurrentTests("PostgreSQL as the state"));

const postgres = sharedPostgres();

const GOOD = { kind: "test", parameters: { condition: "ok" } };

function stateOn(host: string): Readonly<Record<string, unknown>> {
  return { state: { postgres: { hosts: [host], database: "postgres", user: ROLE } } };
}

test(
  "monitor permissions: what it prints is enough for a database, and one less is named",
  async (harness) => {
    await using server = await startPostgres({ certificate: createCertificate() });
    for (const host of [`127.0.0.1:${server.port}`, `${server.directory}/.s.PGSQL.${server.port}`]) {
      harness.writeConfig({ good: GOOD }, stateOn(host));
      const flags = (await harness.runHere(["permissions"])).stdout.trim().split(" ")
        .filter((flag) => flag !== "--no-prompt");
      const { code, stderr } = await harness.run(["check", "--once"], { permissions: flags });
      assert.equal(code, 0, stderr);
      const part = host.startsWith("/") ? `--allow-write=${host}` : `--allow-net=${host}`;
      assert.ok(flags.includes(part), flags.join(" "));
      const without = await harness.run(["check", "--once"], {
        permissions: flags.filter((flag) => flag !== part),
      });
      assert.equal(without.code, 77, without.stderr);
      assert.match(without.stderr, new RegExp(part));
    }
  },
  POSTGRES,
);

test("monitor: commands use a database that --state names", async (harness) => {
  const { directory, place } = postgres();
  harness.writeConfig({ good: GOOD, job: { kind: "job", parameters: { expected_every: "1 day" } } });
  const state = `postgres://${ROLE}@/postgres?host=${directory}&schema=${place().schema}`;
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.runHere([...args, "--state", state]);
    assert.equal(code, 0, `${args}: ${stderr}`);
    return stdout;
  };
  await run("beat", "job");
  await run("check", "--once", "--due");
  await run("silence", "good", "--for", "1h");
  assert.match(await run("check", "--once", "job"), /^OK +job .* recorded as successful/m);
  assert.match(await run("status"), /silenced: "good"/);
  assert.match(await run("history", "good"), /, 1 run,/);
  assert.match(await run("report"), /<html/);
  assert.match(await run("silence", "end", "--all"), /ended 1 silence/);
}, POSTGRES);
