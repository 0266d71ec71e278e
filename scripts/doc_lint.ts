/**
 * Holds the program and its scripts to `deno doc --lint`: every export and every member of one has a doc comment, and
 * every type that they speak of is public. All modules go into one call, since what another module exports counts as
 * public only there. The command takes folders too, but has no way to leave out what is generated.
 *
 *     deno task code
 */
import { SOURCE_FLAGS } from "../testing/source.ts";

const PROJECT = new URL("..", import.meta.url);

/** Files, and folders with all that is below them. */
const CHECKED = ["main.ts", "src", "scripts", "testing"];

/** What `scripts/generate.ts` makes is described in the schema. */
const GENERATED = "src/config/generated";

// `deno doc` finds the config by itself and has no flag for it.
const DOC_FLAGS = SOURCE_FLAGS.filter((flag) => !flag.startsWith("--config"));

const modules = (await Promise.all(CHECKED.map(findModules))).flat();
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", "--quiet", ...DOC_FLAGS, ...modules.sort()],
  cwd: PROJECT,
  stdin: "null",
}).spawn().status;
Deno.exitCode = code;

/** The modules at a path, which starts at the project's folder. */
async function findModules(path: string): Promise<readonly string[]> {
  if (path === GENERATED) return [];
  if (path.endsWith(".ts")) return [path];
  const found: (readonly string[])[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${path}/`, PROJECT))) {
    if (isDirectory || name.endsWith(".ts")) found.push(await findModules(`${path}/${name}`));
  }
  return found.flat();
}
