import { answerAtOnce } from "./src/cli/answer_at_once.ts";
import { RUNTIME } from "./src/system/runtime.ts";
import { createTextSink } from "./src/system/text_sink.ts";

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
