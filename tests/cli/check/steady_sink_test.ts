import assert from "node:assert/strict";
import { createSteadySink } from "../../../src/cli/check/steady_sink.ts";
import type { TextSink } from "../../../src/domain/text_sink.ts";

interface Harness {
  readonly sink: TextSink;
  readonly written: string[];
  readonly troubles: (string | null)[];
  fault: "none" | "full" | "closed";
}

function harness(): Harness {
  const written: string[] = [];
  const troubles: (string | null)[] = [];
  let closed = false;
  const inner: TextSink = {
    write: (text) => {
      if (self.fault === "full") throw new Error("No space left on device");
      if (self.fault === "closed") closed = true;
      else written.push(text);
    },
    get closed() {
      return closed;
    },
    isTerminal: false,
    columns: () => 80,
  };
  const sink = createSteadySink(inner, (reason) => void troubles.push(reason));
  const self: Harness = { sink, written, troubles, fault: "none" };
  return self;
}

Deno.test("createSteadySink() drops lines that cannot be written, and logs the first and the last failure", () => {
  const self = harness();
  self.sink.write("one\n");
  self.fault = "full";
  self.sink.write("two\n");
  self.sink.write("three\n");
  assert.deepEqual(self.troubles, ["No space left on device"]);
  self.fault = "none";
  self.sink.write("four\n");
  self.sink.write("five\n");
  assert.deepEqual(self.troubles, ["No space left on device", null]);
  // The second one may have been written in part.
  assert.deepEqual(self.written, ["one\n", "\nfour\n", "five\n"]);
});

Deno.test("createSteadySink() logs once that the reader has disconnected", () => {
  const self = harness();
  self.sink.write("one\n");
  self.fault = "closed";
  self.sink.write("two\n");
  self.sink.write("three\n");
  assert.ok(self.sink.closed);
  assert.deepEqual(self.written, ["one\n"]);
  assert.deepEqual(self.troubles, ["its reader closed it"]);
});
