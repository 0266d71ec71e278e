import { fixture } from "./processes.ts";
import { tempDirectory } from "../../testing/builders.ts";

/** A machine to discover: the output of its commands, and its files. */
export interface FakeMachine {
  /** Shell scripts by the name of the command. */
  readonly commands?: Readonly<Record<string, string>>;
  /** Texts by absolute path. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface MachinePaths {
  /** The directory that is used as `/`. */
  readonly root: string;
  readonly bin: string;
}

/** Creates a fake machine in a temporary directory. */
export async function withMachine<T>(
  { commands = {}, files = {} }: FakeMachine,
  use: (paths: MachinePaths) => Promise<T>,
): Promise<T> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const [root, bin] = [`${directory}/root`, `${directory}/bin`];
  await Deno.mkdir(root);
  await Deno.mkdir(bin);
  for (const [name, script] of Object.entries(commands)) {
    await Deno.writeTextFile(`${bin}/${name}.sh`, `${script}\n`);
    await Deno.symlink(fixture("run_alongside.sh"), `${bin}/${name}`);
  }
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${root}${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(root + path, text);
  }
  return await use({ root, bin });
}

export function printing(text: string): string {
  return `cat <<'END'\n${text}\nEND`;
}
