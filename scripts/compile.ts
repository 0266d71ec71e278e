/**
 * Makes `dist/monitor`, one executable for this machine: bundles the program first, since `deno compile` would
 * otherwise take along every package that the project names, used or not.
 *
 *     deno task compile
 *
 * `DENORT_BIN` names a base executable for where Deno's own download cannot be reached.
 */
const PROJECT = new URL("..", import.meta.url);

/** What the general executable may do: no FFI, no prompt, and only the system facts it uses. */
const PERMISSIONS = [
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-run",
  "--allow-env",
  "--allow-sys=uid,hostname",
  "--no-prompt",
];

/**
 * Bundles the program into minified modules and answers the path of the first. What the program imports only when
 * it needs it is a module of its own, so that a run that does without it does not read it.
 */
export async function bundle(): Promise<string> {
  // The names change with the contents, so what was made before would stay beside it.
  await removeFolder(new URL("dist/bundle/", PROJECT));
  await deno([
    "bundle",
    "--quiet",
    "--minify",
    "--platform",
    "deno",
    "--code-splitting",
    "--outdir",
    "dist/bundle",
    "main.ts",
  ]);
  return "dist/bundle/main.js";
}

/** Makes an executable of a module. The code cache is left out: it would be read from a folder all may write. */
export async function compileModule(module: string, output: string): Promise<void> {
  await deno([
    "compile",
    "--quiet",
    "--no-config",
    "--no-lock",
    "--no-check",
    "--no-code-cache",
    ...PERMISSIONS,
    "--output",
    output,
    module,
  ]);
}

async function removeFolder(folder: URL): Promise<void> {
  try {
    await Deno.remove(folder, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function deno(args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: PROJECT }).spawn()
    .status;
  if (!success) throw new Error(`Cannot build: "deno ${args[0]}" failed`);
}

if (import.meta.main) {
  const name = Deno.build.os === "windows" ? "dist/monitor.exe" : "dist/monitor";
  await compileModule(await bundle(), name);
  const { size } = await Deno.stat(new URL(name, PROJECT));
  console.log(`made ${name} (${(size / 1e6).toFixed(1)} MB)`);
}
