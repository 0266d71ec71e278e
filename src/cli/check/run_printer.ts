/** Prints a run of `check --once`: progress and messages on stderr, results on stdout and in files. */
import type { Check } from "../../domain/check.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { System } from "../../domain/system.ts";
import { messageOf } from "../../shared/describe_error.ts";
import { printable } from "../../shared/text.ts";
import { failRule } from "../exit_code.ts";
import { OutputError } from "../failure.ts";
import {
  type Format,
  type FormatOptions,
  type RunRecord,
  type RunSummary,
  traceOf,
} from "../formats/format.ts";
import { FORMATS } from "../formats/registry.ts";
import type { CommandContext, OpenConfig } from "../open_config.ts";
import { writeOutput } from "../output_files.ts";
import { type Progress, startProgress, wantsColor } from "../terminal.ts";
import type { CheckCommandSettings } from "./settings.ts";

interface RunPrinterOptions extends CommandContext {
  readonly config: Pick<OpenConfig, "redact" | "placed" | "source">;
  readonly settings: CheckCommandSettings;
  readonly format: Format;
}

const NAMES_MAX = 3;

export class RunPrinter {
  readonly #options: RunPrinterOptions;
  readonly #formatOptions: FormatOptions;
  readonly #checks: readonly Check[];
  readonly #progress: Progress;
  /** Whether results are not printed: cron would send an email of them. */
  readonly #isQuiet: boolean;

  constructor(checks: readonly Check[], options: RunPrinterOptions) {
    const { invocation, system, settings, config } = options;
    this.#options = options;
    this.#checks = checks;
    this.#isQuiet = settings.due && settings.format === null;
    this.#formatOptions = {
      color: wantsColor(invocation, system.stdout, system),
      columns: system.stdout.columns(),
      fails: failRule(settings.failOn),
      locate: (name) => {
        const [place] = config.placed([{ path: ["checks", name], message: "" }]);
        return place === undefined ? null : { ...place, file: (place.source ?? config.source).label };
      },
    };
    this.#progress = startProgress(checks, system);
  }

  message(text: string): void {
    const { system, config } = this.#options;
    this.#progress.clear();
    system.stderr.write(`monitor: ${printable(config.redact(text))}\n`);
  }

  /** Prints a line of the `console` channel: on stderr if a machine reads stdout. */
  line(line: string): void {
    const { system, settings } = this.#options;
    const text = `${printable(line)}\n`;
    this.#progress.clear();
    if (settings.format === null || settings.format === "pretty") print(text, system);
    else system.stderr.write(text);
  }

  record(record: RunRecord): void {
    const { system, settings, format } = this.#options;
    const { check, trace } = record.result;
    this.#progress.finished(check);
    if (this.#isQuiet) return;
    this.#progress.clear();
    print(format.record?.(record, this.#formatOptions) ?? "", system);
    if (!settings.traces) return;
    print(traceOf(check, trace), system);
  }

  retrying(failing: readonly Check[], leftMs: number): void {
    const names = failing.slice(0, NAMES_MAX).map(({ name }) => name).join(", ");
    const more = failing.length > NAMES_MAX ? ", …" : "";
    const count = `${failing.length} of ${this.#checks.length} checks`;
    this.message(`retrying ${count}, ${describeDuration(leftMs)} left: ${names}${more}`);
  }

  end(): void {
    this.#progress.end();
  }

  /** Prints a summary, and writes the files of `--output`. Returns whether all could be written. */
  async summary(summary: RunSummary): Promise<boolean> {
    const { system, settings, format } = this.#options;
    if (!this.#isQuiet) print(format.summary(summary, this.#formatOptions), system);
    let isWritten = true;
    for (const { format: name, path } of settings.outputs) {
      const failure = await writeOutput(path, this.#textOf(summary, await FORMATS[name]()), system);
      if (failure === null) continue;
      isWritten = false;
      system.stderr.write(`monitor: error: ${printable(failure)}\n`);
    }
    return isWritten;
  }

  #textOf(summary: RunSummary, format: Format): string {
    const options = { ...this.#formatOptions, color: false, columns: null };
    const records = summary.records.map((record) => format.record?.(record, options) ?? "");
    return records.join("") + format.summary(summary, options);
  }
}

function print(text: string, system: System): void {
  if (text === "") return;
  try {
    system.stdout.write(text);
  } catch (error) {
    throw new OutputError(`cannot write to stdout: ${messageOf(error)}`);
  }
}
