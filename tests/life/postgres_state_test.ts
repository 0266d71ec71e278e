/** The program with its state in PostgreSQL. */
import assert from "node:assert/strict";
import { PostgresClient } from "../../src/state/postgres/postgres_client.ts";
import { createCertificate } from "../support/certificates.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { clientOptions, POSTGRES, type PostgresServer, ROLE, startPostgres } from "../support/postgres.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("PostgreSQL as the state");

const GOOD = { kind: "test", parameters: { condition: "ok" } };

function stateOn(host: string): Readonly<Record<string, unknown>> {
  return { state: { postgres: { hosts: [host], database: "postgres", user: ROLE } } };
}

async function countRuns(server: PostgresServer): Promise<number> {
  const client = new PostgresClient(server.place({ schema: "monitor" }), clientOptions());
  const { rows } = await client.query("SELECT sum(observed_ok) AS runs FROM rollups");
  client.close();
  return Number(rows[0]?.["runs"]);
}

test(
  "monitor check: goes on while its database is away, and stores each run once afterwards",
  () =>
    withHarness(async (harness) => {
      await using server = await startPostgres();
      harness.writeConfig({ good: GOOD }, stateOn(server.directory));
      const program = harness.start(["check", "--format", "ndjson"]);
      await program.stdout.event("result");
      await server.kill();
      await program.stderr.next(/cannot write state "postgres:.*; retrying, monitoring continues/);
      const { code, stderr } = await harness.run(["status"]);
      assert.equal(code, 74);
      assert.match(
        stderr,
        /^monitor: error: cannot open state .*; check the path, and that PostgreSQL runs$/m,
      );
      for (let count = 0; count < 2; count++) await program.stdout.event("result");
      await server.start();
      await program.stderr.next(/the state is writable again, nothing was lost/);
      program.signal("SIGTERM");
      const end = await program.end();
      assert.equal(end.code, 0, end.stderr);
      assert.equal(await countRuns(server), end.stdout.match(/"event":"result"/g)?.length);
      const status = await harness.run(["status"]);
      assert.equal(status.code, 3, status.stdout + status.stderr);
      assert.match(status.stdout, /: 1 unknown; monitor stopped \d+ s ago\n$/);
    }),
  POSTGRES,
);

test(
  "monitor permissions: what it prints is enough for a database, and one less is named",
  () =>
    withHarness(async (harness) => {
      await using server = await startPostgres({ certificate: createCertificate() });
      for (const host of [`127.0.0.1:${server.port}`, `${server.directory}/.s.PGSQL.${server.port}`]) {
        harness.writeConfig({ good: GOOD }, stateOn(host));
        const flags = (await harness.run(["permissions"])).stdout.trim().split(" ")
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
    }),
  POSTGRES,
);

test("monitor: commands use a database that --state names", () =>
  withHarness(async (harness) => {
    await using server = await startPostgres();
    harness.writeConfig({
      good: GOOD,
      job: { kind: "job", parameters: { expected_every: "1 day" } },
    });
    const state = `postgres://${ROLE}@/postgres?host=${server.directory}`;
    const run = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await harness.run([...args, "--state", state]);
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
    assert.match(await run("unsilence", "--all"), /ended 1 silence/);
  }), POSTGRES);
