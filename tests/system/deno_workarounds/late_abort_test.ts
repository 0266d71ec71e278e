import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { abortLate } from "../../../src/system/deno_workarounds/late_abort.ts";
import { runArguments } from "../../../testing/source.ts";
import { inTime } from "../../life/in_time.ts";
import { response, startServer } from "../../support/http_servers.ts";
import { testRandom } from "../../../testing/seed.ts";
import { runChild } from "../../../testing/tools.ts";
import { countResources } from "./resources.ts";

Deno.test("abortLate() aborts with the reason of its signal, after all ready events", async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const first = new AbortController();
  const { signal } = abortLate(first.signal);
  signal.addEventListener("abort", () => resolve());
  first.abort("enough");
  assert.equal(signal.aborted, false);
  await inTime("the abort", aborted);
  assert.equal(signal.reason, "enough");
});

Deno.test("abortLate() is aborted at once if its signal is", () => {
  const { signal } = abortLate(AbortSignal.abort("over"));
  assert.equal(signal.reason, "over");
});

Deno.test("abortLate() stops following on request", async () => {
  const first = new AbortController();
  const { signal, stop } = abortLate(first.signal);
  stop();
  first.abort();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(signal.aborted, false);
});

Deno.test("a timeout that coincides with its event leaks nothing", async () => {
  const program = fileURLToPath(new URL("../../fixtures/meet_time_limits.ts", import.meta.url));
  const { success, stdout, stderr } = await runChild(Deno.execPath(), [...runArguments(), program]);
  assert.ok(success, stderr);
  const found = JSON.parse(stdout);
  assert.ok(found.answered > 0 && found.late > 0, `both happened: ${JSON.stringify(found)}`);
  assert.equal(found.sockets, found.socketsBefore, JSON.stringify(found));
});

Deno.test(
  "fetch() still leaks a response that arrives as it is aborted: delete late_abort.ts if this fails",
  { sanitizeResources: false },
  async () => {
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(response(200, {}, "body"));
      await visitor.untilGone();
    });
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const { below } = testRandom("aborts");
    let limitMs = 5;
    const meet = async (): Promise<void> => {
      const end = new AbortController();
      const timer = setTimeout(() => end.abort(), below(limitMs * 2));
      try {
        const { body } = await fetch(server.origin, { signal: end.signal, client });
        await body?.cancel();
        limitMs = Math.max(0.5, limitMs * 0.99);
      } catch {
        limitMs = Math.min(1000, limitMs / 0.99);
      } finally {
        clearTimeout(timer);
      }
    };
    for (let round = 0; round < 100 && countResources("fetchResponse") === 0; round++) {
      await Promise.all(Array.from({ length: 50 }, meet));
    }
    assert.ok(countResources("fetchResponse") > 0);
  },
);
