import { fileURLToPath } from "node:url";

/** Modules that need the machine, or are of no use in a world and slow to load. */
const LEFT_OUT = /^src\/(?:system\/|cli\/(?:import|discover|new_checks)\/|config\/profile_schemas)/;

/**
 * Loads the modules that the program imports at their first use: loading takes real time, and a world waits for its own
 * time only. A module that is loaded resolves at once.
 */
export async function preloadProgram(): Promise<void> {
  await (loaded ??= loadAll());
}

let loaded: Promise<void> | null = null;

async function loadAll(): Promise<void> {
  const project = new URL("../../", import.meta.url);
  const specifiers = new Set<string>();
  for (const path of modulesBelow(fileURLToPath(new URL("src", project)))) {
    if (LEFT_OUT.test(path.slice(fileURLToPath(project).length))) continue;
    for (const [, specifier = ""] of Deno.readTextFileSync(path).matchAll(/\bimport\("([^"]+)"\)/g)) {
      specifiers.add(specifier.startsWith(".") ? new URL(specifier, `file://${path}`).href : specifier);
    }
  }
  for (const specifier of specifiers) await import(specifier);
}

function* modulesBelow(directory: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* modulesBelow(path);
    else if (/\.[jt]s$/.test(name)) yield path;
  }
}
