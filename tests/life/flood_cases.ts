/** Targets that flood the monitor with responses, alongside healthy ones. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { requiresTools, startChild } from "../../testing/tools.ts";
import type { Event } from "./lines.ts";
import { withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const test = concurrentTests("monitor check: floods", requiresTools("time"));

const FLOOD = fileURLToPath(new URL("../fixtures/flood_informational.ts", import.meta.url));

/** Starts four servers in a process of their own, whose work is not that of the test. */
async function startFlood(): Promise<AsyncDisposable & { readonly ports: readonly number[] }> {
  const args = ["run", "--quiet", "--no-check", "--no-config", "--allow-net=127.0.0.1", FLOOD];
  const child = startChild(Deno.execPath(), args, { stdout: "piped" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  for (; !line.includes("\n");) line += (await reader.read()).value ?? "\n";
  return {
    ports: JSON.parse(line),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

const FLOODED =
  /^reading the response head from 127\.0\.0\.1:\d+ failed: more than 100 informational responses/;

test("monitor check: four targets that flood with informational responses hurt no other check", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      await using flood = await startFlood();
      const request = (port: number): unknown => ({
        kind: "http_request",
        parameters: { request: { target: `http://127.0.0.1:${port}/` } },
      });
      const flooding = Object.fromEntries(flood.ports.map((port) => [`flood ${port}`, request(port)]));
      harness.writeConfig({
        healthy: { kind: "http_request", timeout: 2, parameters: target.parameters },
        ...flooding,
      });
      const program = harness.start(["check", "--format", "ndjson", "--state", "none"]);
      const results: Event[] = [];
      // Each runs twice at least.
      while (results.filter(({ name }) => name === "healthy").length < 2 || results.length < 10) {
        results.push(await program.stdout.event("result"));
      }
      for (const { name, condition, output } of results) {
        if (name === "healthy") assert.equal(condition, "ok");
        else assert.match(String(output), FLOODED);
      }
      program.signal("SIGTERM");
      const { code, stderr } = await program.end();
      assert.equal(code, 0);
      assert.doesNotMatch(stderr, /stall: /);
    })
  ));
