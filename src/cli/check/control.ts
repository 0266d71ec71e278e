/** The control socket of a service: `monitor reload` and `monitor run`. */
import type { Source } from "../../config/problem.ts";
import type { Log, System } from "../../domain/system.ts";
import type { Scheduler, SchedulerEvent } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { messageOf } from "../../shared/describe_error.ts";
import { jsonText } from "../../shared/text.ts";
import { type CheckFields, checkFields, recordOf } from "../formats/json.ts";
import type { ReloadOutcome } from "./service_output.ts";

export type ControlRequest =
  | { readonly command: "reload" }
  /** Requests the config in use: its files may have been edited since. */
  | { readonly command: "config" }
  /** Requests whether the stored results are up to date. */
  | { readonly command: "state" }
  /** Runs checks, and waits for their results. */
  | { readonly command: "run"; readonly names: readonly string[] };

export type ControlResponse =
  | { readonly reload: ReloadOutcome }
  /** The files of the config in use, as they were read; the config itself first. */
  | { readonly sources: readonly Source[] }
  | { readonly isWritable: boolean }
  /** In the order of the names; `null`: this service does not run the check. */
  | { readonly results: readonly (CheckFields | null)[] }
  | { readonly error: string };

interface ControlOptions {
  readonly system: Pick<System, "clock" | "controlSockets">;
  readonly log: Pick<Log, "warning">;
  /** Possible paths, the best first. */
  readonly paths: readonly string[];
  readonly scheduler: Pick<Scheduler, "runAsked">;
  readonly repository: Pick<StateRepository, "isWritable">;
  reload(): Promise<ReloadOutcome>;
  sources(): readonly Source[];
}

export interface Control {
  /** Its path; `null`: it has none. */
  readonly path: string | null;
  /** Resolves the commands that wait for the event. */
  happened(event: SchedulerEvent): void;
  end(): Promise<void>;
}

/** Starts the socket at the first place that can be used. Without any, it warns that commands cannot reach the service. */
export async function startControl(options: ControlOptions): Promise<Control> {
  const { system: { controlSockets }, log, paths } = options;
  const waiting = new Map<string, PromiseWithResolvers<CheckFields>>();
  const respond = async (line: string): Promise<ControlResponse> => {
    const request = JSON.parse(line) as ControlRequest;
    if (request.command === "reload") return { reload: await options.reload() };
    if (request.command === "config") return { sources: options.sources() };
    if (request.command === "state") return { isWritable: options.repository.isWritable };
    return { results: await Promise.all(request.names.map((name) => run(name))) };
  };
  const run = async (name: string): Promise<CheckFields | null> => {
    if (!options.scheduler.runAsked(name)) return null;
    let result = waiting.get(name);
    if (result === undefined) waiting.set(name, result = Promise.withResolvers());
    return await result.promise;
  };
  const handle = async (line: string): Promise<string> =>
    jsonText(await respond(line).catch((error) => ({ error: messageOf(error) })));
  let path: string | null = null;
  const reasons: string[] = [];
  let close = (): Promise<void> => Promise.resolve();
  for (const place of paths) {
    try {
      close = await controlSockets.listen(place, handle);
      path = place;
      break;
    } catch (error) {
      reasons.push(`"${place}": ${messageOf(error)}`);
    }
  }
  if (path === null) {
    log.warning(
      `no control socket, so monitor run and monitor reload cannot reach this service; ${reasons.join("; ")}`,
    );
  }
  return {
    path,
    happened: (event) => {
      if (event.event !== "result") return;
      const { name } = event.result.check;
      waiting.get(name)?.resolve(checkFields(recordOf(event)));
      waiting.delete(name);
    },
    end: close,
  };
}
