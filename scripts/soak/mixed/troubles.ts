/** What befalls the program while it is soaked: the same in each third, so that these can be compared. */
import { invalidConfigs, type SoakConfig } from "./config.ts";
import { passTime } from "./pass_time.ts";
import { describeDescriptors, readFacts, readOffspring } from "./process_facts.ts";
import type { Pause, QuietPoint, Refusal } from "./record.ts";
import { CALLS_DOCUMENT, type Stand } from "./stand.ts";
import { HELD_MS } from "./targets_process.ts";
import type { WatchedProgram } from "./watched_program.ts";

/** What troubles need. */
export interface TroublesOptions {
  /** What is around the program. */
  readonly stand: Stand;
  /** The program. */
  readonly program: WatchedProgram;
  /** Ends everything early. */
  readonly signal: AbortSignal;
  /** Makes the config of a variant. */
  configOf(variant: { readonly number: number; readonly isQuiet: boolean }): SoakConfig;
  /** Told of the config that is in force from then on. */
  onAdopted(config: SoakConfig, atMs: number): void;
}

/** The troubles of a soak. */
export interface Troubles {
  /** When it could not work, so far. */
  readonly pauses: readonly Pause[];
  /** What it held when it was quiet, so far. */
  readonly quietPoints: readonly QuietPoint[];
  /** What became of invalid configs, so far. */
  readonly refusals: readonly Refusal[];
  /** How many valid configs were adopted, so far. */
  readonly adopted: number;
  /** Makes the trouble of a third that begins now; its quiet point comes towards its end. */
  passThird(untilMs: number): Promise<void>;
}

/** So long before the end of a third nothing runs any more. */
const QUIET_SHARE = 0.9;
const QUIET_MS_MAX = 60_000;
const SHOWN_LINES = 20;
const RELOAD_MS_MAX = 30_000;
const LOOK_MS = 1_000;
const IDLE_CPU_MS_MAX = 50;

/** Prepares troubles; the config of variant 0 is in force. */
export function createTroubles(options: TroublesOptions): Troubles {
  const { stand, program, signal } = options;
  const pauses: Pause[] = [];
  const quietPoints: QuietPoint[] = [];
  const refusals: Refusal[] = [];
  let variant = 0;
  let adopted = 0;
  let refusedCount = 0;

  const write = (text: string, name = "monitor.json"): void => {
    const path = `${stand.folder}/${name}`;
    // Whoever reads it meanwhile finds one whole config or the other.
    Deno.writeTextFileSync(`${path}.new`, text, { mode: 0o600 });
    Deno.renameSync(`${path}.new`, path);
  };
  /** Sends SIGHUP, and answers what became of it; `null`: nothing was said in time. */
  const hangUp = async (): Promise<{ readonly adopted: boolean; readonly atMs: number } | null> => {
    const before = program.reloads.length;
    program.signal("SIGHUP");
    for (const endMs = performance.now() + RELOAD_MS_MAX; performance.now() < endMs;) {
      await passTime(20, signal);
      const reload = program.reloads[before];
      if (reload !== undefined) return reload;
    }
    return null;
  };
  const adopt = async (config: SoakConfig): Promise<void> => {
    write(config.text);
    const reload = await hangUp();
    if (reload?.adopted !== true) {
      throw new Error(`A valid config was not adopted:\n${program.recent.slice(-SHOWN_LINES).join("\n")}`);
    }
    adopted++;
    // An inactive check has no silences and no beats.
    if (config.facts.length > 0) write(config.text, CALLS_DOCUMENT);
    options.onAdopted(config, reload.atMs);
  };
  const change = (): Promise<void> => adopt(options.configOf({ number: ++variant, isQuiet: false }));
  const spoil = async (): Promise<void> => {
    const good = options.configOf({ number: variant, isQuiet: false }).text;
    const configs = invalidConfigs(good);
    const bad = configs[refusedCount++ % configs.length];
    if (bad === undefined) return;
    write(bad.text);
    const linesBefore = new Set(program.recent);
    const reload = await hangUp();
    // What is logged and what is printed come by two pipes.
    await passTime(200, signal);
    const said = program.recent.filter((line) => !linesBefore.has(line)).join("\n");
    refusals.push({ word: bad.word, said, isAdopted: reload?.adopted ?? null });
    write(good);
  };
  const hangUpOften = async (): Promise<void> => {
    const before = program.reloads.length;
    for (let time = 0; time < 5; time++) {
      program.signal("SIGHUP");
      await passTime(5, signal);
    }
    await passTime(1_000, signal);
    adopted += program.reloads.slice(before).filter((reload) => reload.adopted).length;
  };
  const freeze = async (ms: number): Promise<void> => {
    const fromMs = Date.now();
    program.signal("SIGSTOP");
    try {
      await passTime(ms, signal);
    } finally {
      program.signal("SIGCONT");
      pauses.push({ reason: "stopped", fromMs, untilMs: Date.now() });
    }
  };
  const disturb = (): void => {
    for (const name of ["SIGCONT", "SIGWINCH", "SIGPIPE", "SIGCHLD"] as const) program.signal(name);
  };
  const setMail = (isUp: boolean, bytesMax = (): number => Infinity): void => {
    stand.mailbox.isUp = isUp;
    stand.mailbox.bytesMax = bytesMax;
  };
  const setHook = (status: number, bytesMax = (): number => Infinity): void => {
    stand.hook.status = status;
    stand.hook.bytesMax = bytesMax;
  };
  const halfTheTime = (bytes: number) => (): number => Math.random() < 0.5 ? Infinity : Math.random() * bytes;

  const look = (): Omit<QuietPoint, "atMs" | "residentBytes"> => {
    const { children, orphans } = readOffspring(program.pid, stand.folder);
    return {
      descriptors: describeDescriptors(program.pid, (port) => stand.portNames.get(port)),
      children,
      orphans: orphans.length,
    };
  };
  const beQuiet = async (): Promise<void> => {
    const fromMs = Date.now();
    await adopt(options.configOf({ number: variant, isQuiet: true }));
    const earliestMs = performance.now() + HELD_MS + 2_000;
    let last = "";
    for (const endMs = performance.now() + QUIET_MS_MAX; performance.now() < endMs;) {
      const { cpuMs } = readFacts(program.pid);
      await passTime(LOOK_MS, signal);
      const facts = readFacts(program.pid);
      const { descriptors, ...others } = look();
      // A report may be on its way, and a server may be about to end its connection.
      const isTalking = Object.keys(descriptors).some((kind) => kind.startsWith("socket to "));
      const holding = JSON.stringify({ descriptors, ...others });
      // A program that has not got round to it yet on a busy machine is not quiet.
      const isIdle = facts.state === "S" && facts.cpuMs - cpuMs < IDLE_CPU_MS_MAX;
      if (performance.now() > earliestMs && isIdle && !isTalking && holding === last) break;
      last = holding;
    }
    quietPoints.push({
      atMs: Date.now(),
      residentBytes: readFacts(program.pid).residentBytes,
      ...look(),
    });
    await change();
    pauses.push({ reason: "quiet", fromMs, untilMs: Date.now() });
  };

  /** What happens, and at which share of a third. */
  const plan: readonly (readonly [share: number, act: (thirdMs: number) => void | Promise<void>])[] = [
    [0.08, () => setMail(false)],
    [0.12, change],
    [0.18, () => setHook(500)],
    [0.22, (thirdMs) => freeze(Math.min(4_000, thirdMs / 20))],
    [0.28, () => setHook(200)],
    [0.32, spoil],
    [0.35, () => setMail(true)],
    [0.38, change],
    [0.42, () => setHook(200, halfTheTime(3_000))],
    [0.46, spoil],
    [0.5, disturb],
    [0.52, () => setHook(200)],
    [0.54, () => setMail(true, halfTheTime(2_500))],
    [0.58, hangUpOften],
    [0.62, (thirdMs) => freeze(Math.min(7_000, thirdMs / 10))],
    [0.66, () => setMail(true)],
    [0.68, () => setHook(429)],
    [0.7, spoil],
    [0.72, () => setHook(200)],
    [0.76, change],
    [0.8, spoil],
    [QUIET_SHARE, beQuiet],
  ];

  return {
    pauses,
    quietPoints,
    refusals,
    get adopted() {
      return adopted;
    },
    passThird: async (untilMs) => {
      const fromMs = Date.now();
      for (const [share, act] of plan) {
        await passTime(Math.max(0, fromMs + share * (untilMs - fromMs) - Date.now()), signal);
        await act(untilMs - fromMs);
      }
      await passTime(Math.max(0, untilMs - Date.now()), signal);
    },
  };
}
