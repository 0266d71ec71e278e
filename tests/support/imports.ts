import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the static imports of a module of `src`, without types and dynamic imports. */
export function loadedWith(path: string): readonly string[] {
  const text = Deno.readTextFileSync(`${PROJECT}${path}`);
  const statements = text.matchAll(/^(?:import|export) (?!type)([^;]*?)from "(\.[^"]+)";/gm);
  return [...statements].flatMap(([, names = "", specifier = ""]) =>
    names.replaceAll(/\btype \w+/g, "").search(/\w/) === -1
      ? []
      : [new URL(specifier, `file:///${path}`).pathname.slice(1)]
  );
}
