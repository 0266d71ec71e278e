import { channelEntryOf } from "../../channels/registry.ts";
import { type Check, combinedChecks } from "../../domain/check.ts";
import { type ListenAddress, ListenError, type ServeOptions } from "../../domain/http_servers.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { System } from "../../domain/system.ts";
import { type CheckRunner, RUN_HERE } from "../../scheduler/run_checks.ts";
import { counted, printable } from "../../shared/text.ts";
import { toScheduled } from "../check/reload.ts";
import { type ServiceParts, startParts } from "../check/service_parts.ts";
import { readCheckSettings } from "../check/settings.ts";
import { EXIT, Invocation } from "../command_definition.ts";
import { createLog } from "../check/service_output.ts";
import { DEMO_CHECKS, type DemoCheck, DemoPlan, type PlannedResult } from "./demo_checks.ts";
import type { Config } from "../../domain/generated/written_config.ts";
import { type OpenConfig, openConfigAt } from "../open_config.ts";
import { entriesOf } from "../../checks/registry.ts";
import type { Channel } from "../../domain/channel.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { Silence } from "../../domain/outbox.ts";
import { type CheckRecord, NOTHING_KEPT, type Store } from "../../domain/store.ts";
import { conditionOf } from "../../engine/check_status.ts";
import { toNotifyingConfig } from "../../engine/configured_channels.ts";
import { Engine } from "../../engine/engine.ts";
import { BATCHING_DELAY_MS, startSender } from "../../engine/sender.ts";
import { UNTIL_OK_MS_MAX } from "../../engine/suppression.ts";
import { VirtualClock } from "../../rehearsal/rehearsal_world.ts";
import { nextRunAfter } from "../../scheduler/next_run.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../shared/time_units.ts";
import { openStateRepository } from "../../state/state_repository.ts";

/**
 * Runs the service with invented checks until a stop signal. It opens only its listening socket.
 *
 * @throws {ListenError} If it can't listen.
 */
export async function runDemo(address: ListenAddress, machine: System): Promise<number> {
  // An address in use is found before the history is made.
  const probe = await machine.httpServers.listen(address, NO_PAGE).catch((error) => {
    if (!(error instanceof ListenError)) throw error;
    throw new ListenError(`${error.message}; choose another address with --listen`, { cause: error });
  });
  await probe.close();
  const stopped = Promise.withResolvers<void>();
  const endSignals = machine.onStopSignal(() => stopped.resolve());
  const system: System = { ...machine, hostName: () => "demo" };
  try {
    const parts = await startDemo(hostAndPort(address.host, address.port), { system, onBug: stopped.reject });
    try {
      await parts.outputs.listen();
      await stopped.promise;
      return EXIT.ok;
    } finally {
      await parts.scheduler.stop(0);
      await parts.sender.stop();
      await parts.outputs.end();
    }
  } finally {
    endSignals();
  }
}

async function startDemo(
  address: string,
  { system, onBug }: { readonly system: System; onBug(error: unknown): void },
): Promise<ServiceParts> {
  const { clock } = system;
  const checks = DEMO_CHECKS;
  const config = await openDemoConfig(
    demoConfig(checks, {
      listen: { address, interval: "5 seconds" },
      page: {
        title: "Status of example.org",
        url: `http://${address}/`,
        description: "A demonstration of monitor: every check and every result is invented.",
      },
    }),
    system,
  );
  const plan = new DemoPlan({ checks, startMs: clock.wallMs() });
  const store = await system.stores.openInMemory();
  await makeHistory({ store, config, checks, plan, system });
  const writeLine = (line: string): void => system.stdout.write(`${printable(line)}\n`);
  const scheduled = toScheduled(config, { names: [], tags: [] });
  const invocation = new Invocation({});
  const parts = await startParts({
    ...{ system, config, scheduled, invocation, writeLine, onBug },
    settings: readCheckSettings(invocation),
    // A person reads its lines, which have no time.
    log: { ...createLog({ sink: system.stderr, clock, level: "warning", format: "text" }), info: writeLine },
    state: {
      ...{ store, path: null, shared: null, lockPath: null },
      reopen: (error) => Promise.reject(error),
      whileLocked: (work) => work,
      close: () => store.close(),
    },
    onEvent: () => {},
    runner: demoRunner(plan, system),
    deliver: (channel, message, context) =>
      channel.name === "terminal"
        ? channelEntryOf(channel).deliver(message, channel, context)
        : Promise.resolve(seemToDeliver(channel, plan, clock.wallMs())),
  });
  writeLine(`${counted(checks.length, "check")} with 90 days of history, all invented; Ctrl-C ends it`);
  return parts;
}

function demoRunner(plan: DemoPlan, { clock }: System): CheckRunner {
  return {
    limitOf: () => Promise.resolve("none"),
    run: (check, options) => {
      if (combinedChecks(check).length > 0) return RUN_HERE.run(check, options);
      const { durationMs, ...result } = plan.resultOf(check.name, clock.wallMs());
      return Promise.resolve({ check, ...result, startedAtMs: clock.wallMs() - durationMs, durationMs });
    },
  };
}

const NO_PAGE: ServeOptions = {
  handle: () => Promise.resolve({ status: 503, headers: {}, body: "" }),
  onBug: () => {},
};

/** Returns the config of the demonstration, as a user would write it. */
export function demoConfig(
  checks: readonly DemoCheck[],
  others: Omit<Config, "defaults" | "channels" | "checks"> = {},
): Config {
  return {
    ...others,
    channels: {
      terminal: { kind: "console", parameters: {} },
      chat: { kind: "webhook", parameters: { target: "https://hooks.example.org/services/demo" } },
      mail: {
        kind: "email",
        parameters: {
          access: {
            host: "mail.example.org",
            port: 587,
            username: "monitor",
            password: "${env:MAIL_PASSWORD}",
          },
          sender: "monitor@example.org",
          receivers: ["operations@example.org"],
        },
      },
    },
    defaults: {
      threshold: 2,
      schedule: { regular_interval: "20 seconds", attentive_interval: "5 seconds" },
      notifications: ["terminal", "chat", "mail"],
    },
    checks: Object.fromEntries(checks.map(({ name, written }) => [name, written])),
  };
}

/** Opens a config without a file. Its placeholders are not resolved, and nothing of this machine is read. */
export async function openDemoConfig(config: Config, system: System): Promise<OpenConfig> {
  const text = JSON.stringify(config, null, 2);
  const source = { label: "demo", path: null, directory: "/", text, mode: null };
  return await openConfigAt({ path: "demo", named: true, sources: [source] }, {
    invocation: new Invocation({ options: new Map([["state", "none"]]) }),
    system,
    withoutSecrets: true,
  });
}

interface HistoryOptions {
  /** The store for the history; empty. */
  readonly store: Store;
  readonly config: OpenConfig;
  readonly checks: readonly DemoCheck[];
  readonly plan: DemoPlan;
  readonly system: System;
}

const BATCH = 500;

/**
 * The history of the invented checks, on a virtual clock: the real engine decides on planned results, fake channels
 * accept the notifications, and a store gets the records.
 *
 * Writes the history of the checks until the start of the plan.
 */
export async function makeHistory({ store, config, checks, plan, system }: HistoryOptions): Promise<void> {
  const clock = new VirtualClock(plan.beginMs, () => system.settle());
  let ids = 0;
  const newId = (): string => `00000000-0000-4000-8000-${(++ids).toString(16).padStart(12, "0")}`;
  const failing = (error: unknown): void => {
    if (error !== null) throw error;
  };
  const repository = await openStateRepository({
    store: storingAt(plan.startMs, store),
    onFailure: failing,
    reopen: (error) => Promise.reject(error),
  });
  const notified = toNotifyingConfig(config);
  const sender = startSender(notified, {
    system: { ...system, clock, random: () => 0.5, randomId: newId },
    repository,
    kept: NOTHING_KEPT,
    notifies: true,
    batchingMs: BATCHING_DELAY_MS,
    writeLine: () => {},
    deliver: (channel) => Promise.resolve(seemToDeliver(channel, plan, clock.wallMs())),
    onEvent: () => {},
    onBug: failing,
  });
  const engine = new Engine(notified.running, { repository, sender, newId, hostName: system.hostName() });
  const observe = await createObserver(notified.running, {
    plan,
    system: { ...system, clock },
    recordOf: (name) => repository.recordOf(name, clock.wallMs()),
  });
  let unwritten = 0;
  /** `nextMs` is the time of its next run, if there is one. */
  const run = async (check: Check, nowMs: number, nextMs: number | undefined): Promise<void> => {
    const { durationMs, ...result } = await observe(check);
    const { notification, ...decided } = engine.record({
      result: { check, ...result, startedAtMs: nowMs - durationMs, durationMs },
      plan: (state) => {
        const atMs = nextMs ?? nextRunAfter(check, { state, plannedMs: nowMs, nowMs }).atMs;
        return { atMs, overdueAtMs: atMs + MINUTE_MS, missed: 0 };
      },
    }, nowMs);
    if (notification === null && ++unwritten < BATCH) return;
    unwritten = 0;
    await repository.flush();
    if (notification === null) return;
    engine.send({ notification, ...decided });
    await system.settle();
  };
  const silence = async (made: Quiet): Promise<void> => {
    await repository.flush();
    const { condition } = repository.recordOf(made.check ?? "", made.fromMs);
    const problemBeganAtMs = made.kind === "acknowledgement" ? condition.problemBeganAtMs : null;
    await store.addSilences([{ ...made, id: newId(), problemBeganAtMs }]);
    await engine.refresh();
  };
  const turns = [
    ...notified.running.flatMap((check) =>
      timesOf(check, plan).map((atMs, index, times) => ({
        atMs,
        act: () => run(check, atMs, times[index + 1]),
      }))
    ),
    ...quietOf(checks, plan).map((made) => ({ atMs: made.fromMs, act: () => silence(made) })),
  ].sort((one, other) => one.atMs - other.atMs);
  for (const { atMs, act } of turns) {
    while (clock.nextMs <= atMs) await clock.fireNext();
    clock.moveTo(atMs);
    await act();
  }
  while (clock.nextMs <= plan.startMs) await clock.fireNext();
  await repository.flush();
  await sender.stop();
}

/** Returns a store that adds old runs to days, as all that is kept of them in the end. */
function storingAt(storedAtMs: number, store: Store): Store {
  return {
    ...store,
    save: (updates) =>
      store.save(
        updates.map((update) => ({ ...update, rollup: update.rollup && { ...update.rollup, storedAtMs } })),
      ),
  };
}

/** Returns a function that returns the present result of a check: a planned one, or that of a group. */
async function createObserver(
  checks: readonly Check[],
  { plan, system, recordOf }: Pick<HistoryOptions, "plan" | "system"> & {
    recordOf(name: string): CheckRecord;
  },
): Promise<(check: Check) => Promise<PlannedResult>> {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const entryOf = await entriesOf(checks.filter((check) => combinedChecks(check).length > 0));
  const context = {
    ...{ system, jobs: null, directory: "/", signal: new AbortController().signal },
    conditionOf: (name: string): KnownCondition | null => {
      const check = byName.get(name);
      return check === undefined ? null : conditionOf(check, recordOf(name), system.clock.wallMs());
    },
  };
  return async (check) =>
    combinedChecks(check).length === 0
      ? plan.resultOf(check.name, system.clock.wallMs())
      : { ...await entryOf(check).observe(check, context), durationMs: 0 };
}

/** Returns the times at which a check runs. A group runs right after each of its checks. */
function timesOf(check: Check, plan: DemoPlan): readonly number[] {
  const combined = combinedChecks(check);
  if (combined.length === 0) return plan.timesOf(check.name);
  return [...new Set(combined.flatMap((name) => plan.timesOf(name)))].sort((one, other) => one - other);
}

type Quiet = Omit<Silence, "id" | "problemBeganAtMs">;

/** Returns the actions of administrators until the start: they react after a few minutes. */
function quietOf(checks: readonly DemoCheck[], { startMs }: DemoPlan): readonly Quiet[] {
  const made = checks.flatMap(({ name, problem }) => {
    if (problem?.quiet === undefined) return [];
    const [kind, reason] = problem.quiet;
    const fromMs = startMs - (problem.sinceMinutes - 5) * MINUTE_MS;
    const untilMs = kind === "acknowledgement" ? fromMs + UNTIL_OK_MS_MAX : startMs + DAY_MS;
    return [{ kind, check: name, tag: null, fromMs, untilMs, reason, by: null }];
  });
  return [...made, {
    ...{ kind: "maintenance", check: null, tag: "staging", reason: "the next release", by: null },
    fromMs: startMs - 18 * MINUTE_MS,
    untilMs: startMs + HOUR_MS,
  }];
}

/** The mail server is down around the start, so that a message is pending and sent later. */
const MAIL_DOWN_MS = 2 * MINUTE_MS;

function seemToDeliver(channel: Channel, { startMs }: DemoPlan, atMs: number): Delivery {
  if (channel.name !== "mail" || Math.abs(atMs - startMs) > MAIL_DOWN_MS) {
    return { delivered: true, note: null };
  }
  return {
    delivered: false,
    retryable: true,
    mayHaveArrived: false,
    reason: "connecting to mail.example.org:587 failed: connection refused",
    retryAfterMs: null,
  };
}
