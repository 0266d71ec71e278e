import { describePath, type DocumentPath, type Problem } from "./problem.ts";

/** A file that a document names, or that it is. */
export interface NamedFile {
  /** Where it is named; empty for the document itself. */
  readonly path: DocumentPath;
  /** Absolute; `null` or absent where there is none. */
  readonly file: string | null | undefined;
}

/**
 * What is said where a file that is to be replaced again and again is needed for something else. The files are not
 * quoted: a secret may be in them.
 */
export function findFileClashes(
  replaced: readonly NamedFile[],
  others: readonly NamedFile[],
): readonly Problem[] {
  const owners = new Map<string, DocumentPath>();
  for (const { path, file } of others) if (typeof file === "string") owners.set(file, path);
  const problems: Problem[] = [];
  for (const { path, file } of replaced) {
    if (typeof file !== "string") continue;
    const owner = owners.get(file);
    if (owner === undefined) owners.set(file, path);
    else {
      const name = owner.length === 0 ? "this document itself" : `the file of "${describePath(owner)}"`;
      problems.push({ path, message: `is ${name}, expected a file of its own, since it is overwritten` });
    }
  }
  return problems;
}
