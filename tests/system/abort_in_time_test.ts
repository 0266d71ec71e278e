import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { createRequests } from "../../src/system/http/requests.ts";
import { connectTcp } from "../../src/system/tcp/connect_tcp.ts";
import { closeQuietly } from "../../src/system/tcp/tcp_stream.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { untilLeft } from "../support/http_servers.ts";
import { fixture } from "../support/processes.ts";
import { startChild } from "../../testing/tools.ts";

const clock = createRealClock();

const ROUNDS = 10;
const AT_ONCE = 30;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nand so on";
/** The number and the duration of this process's stalls; events during them are noticed together. */
const STILLS = 10;
const STILL_MS = 3;

/** Runs a test against a server in another process, which does not stall with this one. */
async function withServer(use: (port: number) => Promise<void>): Promise<void> {
  const args = [...runArguments(["--allow-net"]), fixture("answer_and_hold.ts"), HEAD];
  const server = startChild(Deno.execPath(), args, { stdout: "piped" });
  const stdout = server.stdout.getReader();
  try {
    const { value } = await inTime("the server to listen", stdout.read());
    await use(parseInt(new TextDecoder().decode(value)));
  } finally {
    server.kill();
    await inTime("the end of the server", server.status);
    await stdout.cancel();
  }
}

/** Makes attempts whose aborts come about when they are done, and counts those that were aborted. */
async function abortMany(attempt: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const reason = new Error("time is up");
  let aborted = 0;
  const one = async (index: number): Promise<void> => {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(reason), index % (STILLS * STILL_MS / 3));
    try {
      await attempt(abort.signal);
    } catch (error) {
      assert.equal(error, reason);
      aborted++;
    }
    clearTimeout(timer);
  };
  const still = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < ROUNDS; round++) {
    const attempts = Array.from({ length: AT_ONCE }, (_, index) => one(index));
    for (let time = 0; time < STILLS; time++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      Atomics.wait(still, 0, 0, STILL_MS);
    }
    await Promise.all(attempts);
  }
  return aborted;
}

Deno.test("connectTcp() closes a connection that opens at the moment of the abort", () =>
  withServer(async (port) => {
    const aborted = await abortMany(async (signal) =>
      closeQuietly(await connectTcp({ host: "127.0.0.1", port }, { clock, signal }))
    );
    assert.ok(aborted > 0, "no abort ever came first");
    await untilLeft(port);
  }));

Deno.test("send() closes a response that arrives at the moment of the abort", () =>
  withServer(async (port) => {
    const requests = createRequests({ clock });
    const request = { target: `http://127.0.0.1:${port}/`, method: "GET", headers: {} };
    const aborted = await abortMany(async (signal) => (await requests.send(request, signal)).close());
    assert.ok(aborted > 0, "no abort ever came first");
    await untilLeft(port);
  }));
