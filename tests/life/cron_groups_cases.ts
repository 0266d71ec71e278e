/** A group whose checks are run by `monitor check --once --due` on several machines. */
import assert from "node:assert/strict";
import type { AddCase } from "../support/concurrent_tests.ts";
import { POSTGRES, type PostgresServer } from "../support/postgres.ts";
import { type Installation, withInstallation } from "./installation.ts";
import type { End } from "./program.ts";
import { type Held, type Target, withTarget } from "./target.ts";

/** A call whose check waits for its response, so that it has read the state and written nothing. */
interface HeldCall {
  readonly held: Held;
  readonly end: Promise<End>;
}

/** Calls until the check is due. */
async function callUntilHeld({ run }: Installation, name: string, target: Target): Promise<HeldCall> {
  const held = target.held();
  for (let calls = 0; calls < 100; calls++) {
    const end = run("check", "--once", "--due", name);
    const first = await Promise.race([held, end]);
    if ("answer" in first) return { held: first, end };
    // It exits by what is stored.
    assert.ok([0, 2, 3].includes(first.code), first.stderr);
  }
  return assert.fail(`${name} never became due`);
}

/** Adds the cases. */
export function testCronGroups(test: AddCase, postgres: () => PostgresServer): void {
  test(
    "calls by cron on several machines: a group follows its checks, though the calls overlap",
    () =>
      withTarget((one) =>
        withTarget((other) =>
          withInstallation(async (installation) => {
            const { hook, run, writeConfig } = installation;
            const kind = "http_request";
            writeConfig({
              checks: {
                one: { kind, parameters: one.parameters },
                other: { kind, parameters: other.parameters },
                // Only its checks make it run again.
                group: {
                  kind: "group",
                  schedule: { regular_interval: "1 hour" },
                  parameters: { checks: ["one", "other"], require: "any" },
                  notifications: [hook.channel],
                },
              },
            });
            assert.equal((await run("check", "--once", "--due")).code, 0);
            [one.status, other.status] = [null, null];
            const statuses = [[500, 500], [500, 200], [500, 500], [200, 200]] as const;
            for (const [first, second] of statuses) {
              const calls = [
                await callUntilHeld(installation, "one", one),
                await callUntilHeld(installation, "other", other),
              ] as const;
              for (const [index, status] of [first, second].entries()) {
                calls[index]?.held.answer(status);
                const { code, stderr } = await calls[index]?.end ?? assert.fail();
                assert.equal(code, status === 200 ? 0 : 2, stderr);
              }
            }
            const notifications = new Map(
              hook.posts.flatMap(({ notifications }) => notifications).map((one) => [one.id, one]),
            );
            assert.deepEqual(
              [...notifications.values()].map(({ check, event }) => `${check}: ${event}`),
              ["problem", "recovery", "problem", "recovery"].map((event) => `group: ${event}`),
            );
          }, postgres())
        )
      ),
    POSTGRES,
  );
}
