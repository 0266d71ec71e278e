import assert from "node:assert/strict";
import { startChild, tool } from "../../../testing/tools.ts";

Deno.test(
  "the status of a child that a real-time signal ends still rejects: delete real_time_signals.ts if this fails",
  { sanitizeResources: false },
  async () => {
    const child = startChild(tool("sh"), ["-c", "kill -34 $$"]);
    await assert.rejects(child.status, { message: "Invalid signal: 34" });
  },
);
