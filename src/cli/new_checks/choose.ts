import type { System } from "../../domain/system.ts";

const PROMPT = "add (numbers such as 1 3-5, all, or none): ";

/** Asks on the terminal which of some numbered items are meant; `null`: the terminal was closed. */
export async function choose(
  count: number,
  { stdout, terminal }: Pick<System, "stdout" | "terminal">,
): Promise<
  readonly number[] | null
> {
  for (;;) {
    stdout.write(PROMPT);
    const line = await terminal.readLine();
    if (line === null) return null;
    const chosen = readChoice(line, count);
    if (chosen !== null) return chosen;
    stdout.write(`expected numbers from 1 to ${count}, all, or none\n`);
  }
}

/**
 * Parses numbers and ranges from 1 on, `all` or `none`; the returned numbers count from 0. An empty line is `none`.
 */
export function readChoice(line: string, count: number): readonly number[] | null {
  const text = line.trim().toLowerCase();
  if (text === "" || text === "none") return [];
  if (text === "all") return Array.from({ length: count }, (_, index) => index);
  const chosen = new Set<number>();
  for (const word of text.split(/[\s,]+/)) {
    const [, from = "", to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(word) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === "" || first < 1 || last > count || first > last) return null;
    for (let number = first; number <= last; number++) chosen.add(number - 1);
  }
  return [...chosen].sort((one, other) => one - other);
}
