import assert from "node:assert/strict";
import { createSteadySink } from "../../../src/cli/terminal.ts";

function harness() {
  const written: string[] = [];
  const troubles: (string | null)[] = [];
  const state = { isFull: false, isLeft: false };
  let closed = false;
  const sink = createSteadySink({
    write: (text) => {
      if (state.isFull) throw new Error("No space left on device");
      if (state.isLeft) closed = true;
      else written.push(text);
    },
    get closed() {
      return closed;
    },
    isTerminal: false,
    columns: () => 80,
  }, (reason) => void troubles.push(reason));
  return { sink, written, troubles, state };
}

Deno.test("createSteadySink() drops lines that cannot be written, and logs the first and the last failure", () => {
  const { sink, written, troubles, state } = harness();
  for (const line of ["one\n", "two\n", "three\n", "four\n", "five\n"]) {
    state.isFull = ["two\n", "three\n"].includes(line);
    sink.write(line);
  }
  assert.deepEqual(troubles, ["No space left on device", null]);
  // The second one may have been written in part.
  assert.deepEqual(written, ["one\n", "\nfour\n", "five\n"]);
});

Deno.test("createSteadySink() logs once that the reader has disconnected", () => {
  const { sink, written, troubles, state } = harness();
  sink.write("one\n");
  state.isLeft = true;
  for (const line of ["two\n", "three\n"]) sink.write(line);
  assert.ok(sink.closed);
  assert.deepEqual([written, troubles], [["one\n"], ["its reader closed it"]]);
});
