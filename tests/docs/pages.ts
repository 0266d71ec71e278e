/** The pages that people read, taken apart: their headings, links and blocks of code. */
import { fileURLToPath } from "node:url";

/** One page. */
export interface Page {
  /** From the project's directory, such as `docs/reference/checks.md`. */
  readonly path: string;
  /** All of it. */
  readonly text: string;
  /** Its blocks of code, in their order. */
  readonly blocks: readonly Block[];
  /** Its text without blocks of code, on the same lines as in the page. */
  readonly prose: string;
}

/** A block of code between fences. */
export interface Block {
  /** The word behind the fence, such as `sh`; empty without one. */
  readonly language: string;
  /** The word after the language: the part of a config in the block. */
  readonly role: string;
  /** The line of its fence, from 1 on. */
  readonly line: number;
  /** The text between the fences, without the indentation of the first one. */
  readonly text: string;
}

/** The project's directory, with a slash at its end. */
export const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

const IN_THE_MAIN_DIRECTORY = ["README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG"];

/** Every page, those of the main directory first. */
export function readPages(): readonly Page[] {
  return [
    ...IN_THE_MAIN_DIRECTORY.map((name) => `${name}.md`),
    ...pagesBelow("docs"),
  ].map((path) => readPage(path));
}

function pagesBelow(directory: string): readonly string[] {
  const entries = [...Deno.readDirSync(PROJECT + directory)].sort((one, other) =>
    one.name < other.name ? -1 : 1
  );
  return entries.flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return pagesBelow(path);
    return name.endsWith(".md") ? [path] : [];
  });
}

/** One page, by its path from the project's directory. */
export function readPage(path: string): Page {
  return { path, ...parsePage(Deno.readTextFileSync(PROJECT + path)) };
}

/** Parses a page. */
export function parsePage(text: string): Omit<Page, "path"> {
  const blocks: Block[] = [];
  let open: { readonly indent: string; readonly block: Block; readonly lines: string[] } | null = null;
  const prose = text.split("\n").map((line, index) => {
    const [, indent = "", info] = /^( *)```(.*)$/.exec(line) ?? [];
    if (open !== null) {
      if (info === "") {
        blocks.push({ ...open.block, text: open.lines.map((each) => `${each}\n`).join("") });
        open = null;
      } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
      return "";
    }
    if (info === undefined) return line;
    const [language = "", role = ""] = info.trim().split(/ +(.*)/);
    open = { indent, block: { language, role, line: index + 1, text: "" }, lines: [] };
    return "";
  });
  if (open !== null) throw new Error("A block of code has no end");
  return { text, blocks, prose: prose.join("\n") };
}

/** The anchors of a page's headings, as GitHub makes them: `Who may report?` is `who-may-report`. */
export function anchorsOf({ prose }: Pick<Page, "prose">): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of prose.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    let anchor = plain;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${plain}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Where the links of a page lead, as they are written. */
export function linksOf({ prose }: Pick<Page, "prose">): readonly string[] {
  const withoutCode = prose.replaceAll(/`[^`\n]*`/g, "");
  return [...withoutCode.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = ""]) => target);
}
