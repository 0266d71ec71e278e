/** The output of a command that runs as a plugin: its caller reads the first line of stdout, and the exit codes 0 to 3. */
import { CONDITION_CODES } from "../domain/condition.ts";
import type { System } from "../domain/system.ts";
import type { TextSink } from "../domain/text_sink.ts";
import { messageOf } from "../shared/describe_error.ts";
import { truncate } from "../shared/truncate.ts";
import { EXIT } from "./exit_code.ts";

const REASON_LENGTH_MAX = 1000;

/** The reasons of exit codes that come without an error. */
const REASONS: Readonly<Record<number, string>> = {
  [EXIT.undelivered]: "a notification is not delivered yet",
  [EXIT.interrupted]: "stopped before every check had a result",
  [EXIT.terminated]: "stopped before every check had a result",
};

/** Returns whether the words of a command line ask for the output of a plugin, also if they have errors. */
export function asksForPlugin(args: readonly string[]): boolean {
  const own = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length);
  return (own.includes("check") || own.includes("status")) &&
    own.some((word, index) =>
      word === "--format=plugin" || word === "plugin" && own[index - 1] === "--format"
    );
}

/** Keeps what a command prints until it ends. */
export class PluginOutput {
  readonly system: System;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;
  #printed = "";
  #error: string | null = null;

  constructor(system: System) {
    this.#stdout = system.stdout;
    this.#stderr = system.stderr;
    const stdout = sinkLike(system.stdout, (text) => void (this.#printed += text));
    const stderr = sinkLike(system.stderr, (text) => {
      this.#error ??= /^monitor: error: (.*)$/m.exec(text)?.[1] ?? null;
      this.#stderr.write(text);
    });
    this.system = { ...system, stdout, stderr };
  }

  /** Prints the output. Returns the exit code of the plugin: that of the command, or unknown if it is another one. */
  end(code: number): number {
    const isCondition = Object.values(CONDITION_CODES).includes(code);
    try {
      this.#stdout.write(isCondition ? this.#printed : this.#unknown(code));
    } catch (error) {
      this.#stderr.write(`monitor: error: cannot write to stdout: ${messageOf(error)}\n`);
      return CONDITION_CODES.unknown;
    }
    return isCondition ? code : CONDITION_CODES.unknown;
  }

  /** The results, if there are any, follow the reason. */
  #unknown(code: number): string {
    const reason = this.#error ?? REASONS[code] ?? `exit code ${code}`;
    const status = `MONITOR UNKNOWN - ${truncate(reason, REASON_LENGTH_MAX).replaceAll("|", "¦")}`;
    const results = /^MONITOR \w+ -(.*)$/s.exec(this.#printed)?.[1];
    return results === undefined ? `${status}\n` : `${status};${results}`;
  }
}

function sinkLike(sink: TextSink, write: (text: string) => void): TextSink {
  return {
    write,
    get closed() {
      return sink.closed;
    },
    isTerminal: sink.isTerminal,
    columns: () => sink.columns(),
  };
}
