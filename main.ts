import { answerAtOnce } from "./src/cli/answer_at_once.ts";
import { createTextSink, RUNTIME } from "./src/system/runtime.ts";

const answer = answerAtOnce(Deno.args, RUNTIME);
if (answer !== null) {
  try {
    createTextSink(Deno.stdout).write(answer);
    Deno.exit(0);
  } catch {
    // The program fails in the same way, and reports it.
  }
}
const { runProgram } = await import("./program.ts");
// A hanging target may have left resources open that would keep the process alive, so it exits explicitly.
Deno.exit(await runProgram(Deno.args));
