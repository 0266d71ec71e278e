import type { Page } from "./pages.ts";

/** A call of `monitor` in a page. */
export interface CommandLine {
  /** The page. */
  readonly path: string;
  /** The arguments. */
  readonly words: readonly string[];
  /** Whether it is to be typed as it is; one within a sentence may be a part of a call, or name a placeholder. */
  readonly isWhole: boolean;
}

/** Every call of `monitor` in the blocks of code for a shell, and in the code within sentences. */
export function commandLinesOf(
  { path, blocks, prose }: Pick<Page, "path" | "blocks" | "prose">,
): CommandLine[] {
  const typed = blocks.filter(({ language }) => ["sh", "console", "crontab"].includes(language)).flatMap((
    { language, text },
  ) =>
    text.replaceAll(/\\\n\s*/g, "").split("\n").flatMap((line) => {
      if (language === "sh") return callsIn(line);
      if (language === "crontab") return callsIn(line.replace(/^(?:\S+ +){5}/, ""));
      return line.startsWith("$ ") ? callsIn(line.slice(2)) : [];
    })
  );
  const notified = [...prose.matchAll(/`((?:\$ )?monitor [a-z][^`]*)`/g)].flatMap(([, code = ""]) =>
    // A call may end with a placeholder.
    callsIn(code.replaceAll(/\s+/g, " ").replace(/ --$/, " -- COMMAND"))
  );
  return [
    ...typed.map((words) => ({ path, words, isWhole: true })),
    ...notified.map((words) => ({ path, words, isWhole: false })),
  ];
}

/** Everything between the shell's own signs, in words; a comment ends the line. */
function callsIn(line: string): string[][] {
  const calls: string[][] = [[]];
  const pieces = /\s+#.*|^#.*|(\|\||&&|[|;])|(?:\d?>>?|<)\s*\S+|((?:'[^']*'|"[^"]*"|[^\s'"|;&<>])+)/g;
  for (const [, separator, word] of line.matchAll(pieces)) {
    if (separator !== undefined) calls.push([]);
    if (word !== undefined) {
      calls.at(-1)?.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2").replaceAll(/\$(\w+)/g, "$1"));
    }
  }
  return calls.flatMap((words) => {
    const program = words.findLastIndex((word, index) =>
      /^(?:\S*\/)?monitor$/.test(word) && words.slice(0, index).every(isBeforeProgram)
    );
    return program < 0 ? [] : [words.slice(program + 1)];
  });
}

/** Returns whether a word may precede the program's name: another command that calls it, and variables. */
function isBeforeProgram(word: string): boolean {
  return /^(?:sudo|podman|exec|monitor|\w+=.*)$/.test(word);
}
