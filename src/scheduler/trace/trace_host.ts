/** Traces commands, files and DNS look-ups. */
import type { Dns } from "../../domain/dns.ts";
import type { Files } from "../../domain/files.ts";
import type { CapturedText, Processes } from "../../domain/processes.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { describeFileError } from "../../shared/describe_error.ts";
import { quote } from "../../shared/quote.ts";
import { KEPT_LENGTH_MAX, type Tracer } from "./tracer.ts";
import { timeText } from "../../shared/local_time.ts";

export function traceProcesses(processes: Processes, tracer: Tracer): Processes {
  return {
    ...processes,
    async run(command, signal) {
      tracer.add(`run ${[command.path, ...command.arguments].map(quote).join(" ")}`);
      tracer.addBlock(
        ">",
        `in ${command.directory}, with ${Object.keys(command.environment).join(" ") || "no variables"}`,
      );
      const end = await processes.run(command, signal);
      if (end.ended === "not_started") {
        tracer.add(`cannot start: ${end.reason}`);
        return end;
      }
      tracer.add({
        exited: () => `exit code ${"code" in end ? end.code : ""}`,
        signalled: () => `terminated by ${"signal" in end ? end.signal : ""}`,
        timed_out: () => "timeout",
      }[end.ended]());
      addOutput("stdout", end.stdout, tracer);
      addOutput("stderr", end.stderr, tracer);
      return end;
    },
  };
}

function addOutput(name: string, { text, truncated }: CapturedText, tracer: Tracer): void {
  if (text === "") return;
  tracer.addBlock("<", `${name}${truncated ? " (cut)" : ""}:`);
  tracer.addBlock("<", text.slice(0, KEPT_LENGTH_MAX).trimEnd());
}

export function traceFiles(files: Files, tracer: Tracer): Files {
  const traced = async <T>(
    what: string,
    path: string,
    work: Promise<T>,
    describe: (value: T) => string,
  ): Promise<T> => {
    try {
      const value = await work;
      tracer.add(`${what} ${quote(path)}: ${describe(value)}`);
      return value;
    } catch (error) {
      tracer.add(`${what} ${quote(path)}: ${describeFileError(error, { path })}`);
      throw error;
    }
  };
  return {
    ...files,
    stat: (path, options) =>
      traced(
        "look at",
        path,
        files.stat(path, options),
        ({ kind, sizeBytes, modifiedAtMs }) =>
          `${kind}, ${sizeBytes} B, changed ${modifiedAtMs === null ? "never" : timeText(modifiedAtMs)}`,
      ),
    list: (directory) => traced("list", directory, files.list(directory), ({ length }) => `${length} names`),
  };
}

export function traceDns(dns: Dns, tracer: Tracer): Dns {
  return {
    ...dns,
    async lookUp(question, signal) {
      const { name, type, server } = question;
      const place = server === null ? "" : ` at ${hostAndPort(server.host, server.port)}`;
      const answer = await dns.lookUp(question, signal);
      tracer.add(
        `look up ${type} of ${name}${place}: ${
          "records" in answer ? answer.records.join(", ") : answer.reason
        }`,
      );
      return answer;
    },
  };
}
