/** The cases of `testdata/messages.txt`. */
export interface MessageCase {
  readonly name: string;
  readonly config: string;
  /** Included files, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** The errors of the config, or its warnings. */
  readonly messages: readonly string[];
}

export const MESSAGE_CASES: readonly MessageCase[] = Deno
  .readTextFileSync(new URL("testdata/messages.txt", import.meta.url)).split(/^## /m).slice(1).map((text) => {
    const [name = "", ...lines] = text.trimEnd().split("\n");
    const isMessage = (line: string): boolean => /^(error|warning) /.test(line);
    const [config = "", ...included] = lines.filter((line) => !isMessage(line)).join("\n").split(/^--- /m);
    return {
      name,
      config,
      files: Object.fromEntries(included.map((part) => part.split(/\n([^]*)/) as [string, string])),
      messages: lines.filter(isMessage),
    };
  });
