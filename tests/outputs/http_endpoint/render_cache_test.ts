import assert from "node:assert/strict";
import { RenderCache } from "../../../src/outputs/http_endpoint/render_cache.ts";
import { joinBytes } from "../../../src/shared/text.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";

async function textOf(rendering: Awaited<ReturnType<RenderCache["get"]>>): Promise<string> {
  const body = rendering.body(({ bytes }) => bytes);
  const bytes = body instanceof Uint8Array ? body : joinBytes(await Array.fromAsync(body));
  return new TextDecoder().decode(bytes);
}

/** A cache with texts that take 100 ms each. */
function createScenario() {
  const clock = createFakeClock();
  const cache = new RenderCache(clock);
  const rendered: string[] = [];
  const render = async (key: string): Promise<string> => {
    rendered.push(`${key} at ${clock.monotonicMs()}`);
    await new Promise<void>((resolve) => void clock.after(100, resolve));
    return `${key} ${rendered.length}`;
  };
  return {
    clock,
    rendered,
    get: async (key: string) => await textOf(await cache.get(key, () => render(key))),
  };
}

Deno.test("RenderCache renders one text at a time, with a pause as long as the rendering", async () => {
  const { clock, rendered, get } = createScenario();
  const texts = Promise.all([get("a"), get("b"), get("a"), get("c")]);
  await clock.advance(1_000);
  assert.deepEqual(await texts, ["a 1", "b 2", "a 1", "c 3"]);
  assert.deepEqual(rendered, ["a at 0", "b at 200", "c at 400"]);
});

Deno.test("RenderCache serves a text for 20 times as long as its rendering took", async () => {
  const { clock, rendered, get } = createScenario();
  const first = get("a");
  await clock.advance(2_099);
  assert.equal(await first, "a 1");
  assert.equal(await get("a"), "a 1");
  await clock.advance(1);
  const second = get("a");
  await clock.advance(100);
  assert.equal(await second, "a 2");
  assert.equal(rendered.length, 2);
});

Deno.test("RenderCache renders again after a failure, and caches texts by their tags", async () => {
  const clock = createFakeClock();
  const cache = new RenderCache(clock);
  await assert.rejects(cache.get("a", () => Promise.reject(new Error("no state"))), /no state/);
  const { etag } = await cache.get("a", () => Promise.resolve("text"));
  assert.match(etag, /^"[\w-]+"$/);
  cache.clear();
  const after = cache.get("a", () => Promise.resolve("text"));
  await clock.advance(0);
  assert.notEqual((await after).etag, etag);
});

Deno.test("RenderCache keeps the 32 texts that were asked for last", async () => {
  const clock = createFakeClock();
  const cache = new RenderCache(clock);
  const rendered: string[] = [];
  const get = async (key: string): Promise<void> => {
    const got = cache.get(key, () => {
      rendered.push(key);
      return Promise.resolve(key);
    });
    // The pause after each text.
    await clock.advance(1);
    await got;
  };
  const keys = Array.from({ length: 33 }, (_, index) => `${index}`);
  for (const key of keys) await get(key);
  await get("1");
  assert.deepEqual(rendered, keys);
  await get("0");
  assert.deepEqual(rendered, [...keys, "0"]);
});

Deno.test("RenderCache counts the work on a text in parts, and serves it for 30 s at most", async () => {
  const validMs = async (workMs: number): Promise<number> => {
    const clock = createFakeClock();
    const cache = new RenderCache(clock);
    const { etag } = await cache.get("a", async function* (onWork) {
      onWork(workMs);
      yield ["text"];
    });
    const beganMs = clock.monotonicMs();
    for (;;) {
      await clock.advance(500);
      if ((await cache.get("a", () => Promise.resolve("text"))).etag !== etag) {
        return clock.monotonicMs() - beganMs;
      }
    }
  };
  assert.equal(await validMs(10), 1_000);
  assert.equal(await validMs(100), 2_000);
  assert.equal(await validMs(5_000), 30_000);
});

Deno.test("RenderCache lets at most 256 texts wait, and refuses older ones", async () => {
  const { clock, rendered, get } = createScenario();
  const keys = Array.from({ length: 300 }, (_, index) => `${index}`);
  const texts = Promise.allSettled(keys.map(get));
  await clock.advance(60_000);
  const found = (await texts).map(({ status }) => status === "fulfilled");
  assert.deepEqual(keys.filter((_, index) => found[index]), keys.slice(-256));
  assert.equal(rendered.length, 256);
});

Deno.test("RenderCache sends the parts of a text as they come, to each client, and then the whole text", async () => {
  const clock = createFakeClock();
  const cache = new RenderCache(clock);
  const render = async function* () {
    yield ["a", "b"];
    await new Promise<void>((resolve) => void clock.after(100, resolve));
    yield ["c"];
  };
  const begun = await cache.get("page", render);
  const other = await cache.get("page", render);
  assert.equal(other.etag, begun.etag);
  const seen: string[] = [];
  const following = [begun, other].map(async (rendering) => {
    const body = rendering.body(({ bytes }) => bytes);
    assert.ok(!(body instanceof Uint8Array), "it is not whole yet");
    for await (const part of body) seen.push(`${new TextDecoder().decode(part)} at ${clock.monotonicMs()}`);
  });
  await clock.advance(100);
  await Promise.all(following);
  assert.deepEqual(seen, ["ab at 0", "ab at 0", "c at 100", "c at 100"]);
  const page = await cache.get("page", render);
  const whole = page.body(({ pieces }) => new TextEncoder().encode(pieces.join("-")));
  assert.ok(whole instanceof Uint8Array);
  assert.equal(new TextDecoder().decode(whole), "a-b-c");
  assert.equal(page.body(({ bytes }) => bytes), page.body(({ bytes }) => bytes), "clients share the bytes");
});

Deno.test("RenderCache fails a text whose later part fails, and renders it again", async () => {
  const clock = createFakeClock();
  const cache = new RenderCache(clock);
  const rendering = await cache.get("page", async function* () {
    yield ["a"];
    await Promise.resolve();
    throw new Error("no state");
  });
  await assert.rejects(textOf(rendering), /no state/);
  assert.equal(await textOf(await cache.get("page", () => Promise.resolve("whole"))), "whole");
});
