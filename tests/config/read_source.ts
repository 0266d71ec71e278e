/** Reads some configs and prints why each cannot be read: a separate program, to be run with fewer permissions. */
import { createRealClock } from "../../testing/real_clock.ts";
import { readSource } from "../../src/config/source.ts";
import type { System } from "../../src/domain/system.ts";
import { createFiles } from "../../src/system/files.ts";

for (const path of Deno.args) {
  try {
    await readSource(
      { path, named: true },
      { files: createFiles(createRealClock()), workingDirectory: "/" } as unknown as System,
    );
    console.log(`"${path}" was read`);
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
  }
}
