/** Calls `monitor` beside the running program, as people and cron do. */
import { programCommand, programEnvironment } from "../../../tests/life/program.ts";
import type { Call } from "./record.ts";
import { CALLS_DOCUMENT } from "./stand.ts";

/** What a call is expected to be. */
interface Plan {
  readonly args: readonly string[];
  /** Exit codes that are right. */
  readonly codes: readonly number[];
  /** What stdout holds when it went well. */
  readonly words?: RegExp;
}

const ANY_CONDITION = [0, 1, 2, 3];

/** So long a call may take; only a fault waits for it. */
const CALL_MS_MAX = 60_000;

const STATUS: Plan = { args: ["status", "--format", "json"], codes: ANY_CONDITION, words: /"checks"/ };

const END_SILENCES: Plan = { args: ["unsilence", "--tag", "silenced"], codes: [0] };

/** What is called, over and over. */
const PLANS: readonly ((round: number) => Plan)[] = [
  (round) => ({ args: ["beat", `job is forgotten ${round % 10}`], codes: [0] }),
  () => STATUS,
  () => ({ args: ["silence", "--tag", "silenced", "--for", "20s", "--reason", "soak"], codes: [0] }),
  (round) => ({
    args: ["beat", `job reports ${round % 45}`, "--", "/bin/sh", "-c", "echo done"],
    codes: [0],
    words: /done/,
  }),
  () => ({ args: ["history", "web plain 1"], codes: [0] }),
  () => ({ args: ["silence", "--list"], codes: [0] }),
  (round) => ({ args: ["beat", "--failed", `job is forgotten ${(round + 5) % 10}`], codes: [0] }),
  () => END_SILENCES,
];

/** What is called at a time. */
export interface Caller {
  /** The calls so far. */
  readonly calls: readonly Call[];
  /** Calls the next one and waits for its end. */
  callNext(): Promise<void>;
  /** Calls nothing any more but for the end of all silences. */
  finish(): Promise<void>;
  /** Ends what is under way. */
  end(): Promise<void>;
}

/** Makes a caller for the config of a folder. */
export function createCaller(folder: string, isPresent: (name: string) => boolean): Caller {
  const calls: Call[] = [];
  let count = 0;
  let running: Promise<unknown> = Promise.resolve();
  let isFinishing = false;
  let child: Deno.ChildProcess | null = null;
  const call = async ({ args, codes, words }: Plan): Promise<void> => {
    const atMs = Date.now();
    const [path = "", ...rest] = programCommand();
    child = new Deno.Command(path, {
      args: [...rest, ...withConfig(args)],
      cwd: folder,
      clearEnv: true,
      // Another home than that of the program, by which the processes of its checks are known.
      env: programEnvironment(`${folder}/calls`),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const timer = setTimeout(() => kill(child), CALL_MS_MAX);
    const { code, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const decoder = new TextDecoder();
    const isRight = codes.includes(code) && (words?.test(decoder.decode(stdout)) ?? true);
    const trouble = isRight ? "" : decoder.decode(stderr).trim().slice(0, 300) || "said nothing of it";
    calls.push({ args, code, atMs, trouble });
  };
  return {
    calls,
    callNext: () => {
      if (isFinishing) return Promise.resolve();
      const plan = PLANS[count % PLANS.length]?.(Math.floor(count / PLANS.length)) ?? STATUS;
      count++;
      const name = plan.args.find((word) => /^(?:job|web) /.test(word));
      if (name !== undefined && !isPresent(name)) return Promise.resolve();
      const done = call(plan);
      running = done;
      return done;
    },
    finish: async () => {
      isFinishing = true;
      await running;
      await (running = call(END_SILENCES));
    },
    end: async () => {
      kill(child);
      await running.catch(() => {});
    },
  };
}

function withConfig([command = "", ...others]: readonly string[]): readonly string[] {
  return [command, "--config", CALLS_DOCUMENT, ...others];
}

function kill(child: Deno.ChildProcess | null): void {
  try {
    child?.kill("SIGKILL");
  } catch {
    // It has ended.
  }
}
