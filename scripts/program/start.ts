/** The first module of an executable. */
import { loadProgram } from "./load_program.ts";

await loadProgram(Deno.openSync(new URL("./program.bin", import.meta.url)));
