import { run } from "../../src/cli/run.ts";
import { onUncaught } from "../uncaught.ts";
import { createSimulatedSystem } from "./simulated_system.ts";
import type { Machine } from "./machine.ts";
import type { Owner } from "./timeline.ts";

/** Thrown by everything that a dead process does at once. It only unwinds what is left of its code. */
export class KilledError extends Error {
  override readonly name = "KilledError";
}

// What a dead process leaves behind may reject without anybody to catch it. It is no failure of the running test.
onUncaught((error) => error instanceof KilledError);

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGKILL" | "SIGSTOP" | "SIGCONT";

/** The exit code of a process that was killed, as a shell returns it. */
export const KILLED = 137;

export interface ProgramOptions {
  readonly args: readonly string[];
  readonly id: number;
  readonly stdin?: string;
  /** Lines typed on its terminal. @default no terminal */
  readonly typed?: readonly string[];
  /** @default that of the machine */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * A process of the program: the real `run()` on the system of a machine.
 *
 * Everything that it does outside of itself is a step: `ask` for what takes time, `step` for what is done at once. It can
 * be killed at each of them, and then nothing of it ever happens again: no timer fires, nothing returns, nothing is
 * written. What it has done before stays.
 */
export class Program implements Owner {
  readonly machine: Machine;
  readonly id: number;
  readonly args: readonly string[];
  readonly options: ProgramOptions;
  readonly stdout = new Output();
  readonly stderr = new Output();
  state: Owner["state"] = "running";
  /** How many steps it has made. */
  steps = 0;
  /** Its exit code; `null` while it runs. */
  code: number | null = null;
  readonly #atEnd = new Set<() => void>();
  readonly stopListeners = new Set<(signal: "SIGINT" | "SIGTERM") => void>();
  readonly reloadListeners = new Set<() => void>();

  constructor(machine: Machine, options: ProgramOptions) {
    this.machine = machine;
    this.options = options;
    this.args = options.args;
    this.id = options.id;
    const { world } = machine;
    const begin = (): void => {
      run(this.args, createSimulatedSystem(this)).then((code) => this.#end(code), (error) => {
        if (this.state !== "dead") world.fail(error);
      });
    };
    world.timeline.after(world.latency("start"), begin, this);
  }

  /** The last argument-free words of it, for people. */
  get name(): string {
    return this.args.join(" ");
  }

  get hasEnded(): boolean {
    return this.code !== null;
  }

  /** Makes a step that is done at once. */
  step(what: string): void {
    if (this.state === "dead") throw new KilledError(what);
    this.steps++;
    if (this.machine.world.killsAt(this, what)) this.kill(what);
    // It may have been killed.
    if (this.hasEnded) throw new KilledError(what);
  }

  /** Does something that takes time. It happens in the end, and the process may be killed before and after it. */
  ask<T>(what: string, delayMs: number, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.quietly(() => {
        this.step(`before ${what}`);
        this.machine.world.timeline.after(delayMs, () => {
          this.quietly(() => {
            try {
              const value = work();
              this.step(`after ${what}`);
              resolve(value);
            } catch (error) {
              if (error instanceof KilledError) throw error;
              reject(error);
            }
          });
        }, this);
      });
    });
  }

  /** Does something for which a dead process gets no error: it is gone. */
  quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof KilledError)) throw error;
    }
  }

  /** Calls back when it ends, however that is; the returned function stops that. */
  atEnd(callback: () => void): () => void {
    this.#atEnd.add(callback);
    return () => this.#atEnd.delete(callback);
  }

  signal(signal: Signal): void {
    const { world } = this.machine;
    if (this.hasEnded) return;
    if (signal === "SIGKILL") return this.kill();
    if (signal === "SIGSTOP") {
      if (this.state === "running") this.state = "paused";
      return;
    }
    if (signal === "SIGCONT") {
      if (this.state !== "paused") return;
      this.state = "running";
      return world.timeline.release(this);
    }
    world.timeline.after(0, () => {
      if (signal === "SIGHUP") {
        if (this.reloadListeners.size === 0) return this.kill();
        return this.reloadListeners.forEach((listener) => listener());
      }
      // Without a listener it ends as by the system's default.
      if (this.stopListeners.size === 0) return this.#end(signal === "SIGINT" ? 130 : 143);
      for (const listener of [...this.stopListeners]) listener(signal);
    }, this);
  }

  /** Ends it at once, and for ever. */
  kill(where = ""): void {
    if (this.hasEnded) return;
    const at = where === "" ? "" : ` ${where}`;
    this.machine.world.trace.add(this.machine.name, "kill", `${this.name}${at}`);
    this.#end(KILLED);
  }

  /** Ends it with its world. */
  end(): void {
    this.#end(KILLED);
  }

  #end(code: number): void {
    if (this.hasEnded) return;
    this.code = code;
    this.state = "dead";
    for (const callback of this.#atEnd) callback();
    this.#atEnd.clear();
    this.machine.ended(this);
  }
}

/** What a process has written. */
export class Output {
  #text = "";
  /** What it writes fails with this. */
  failure: Error | null = null;
  isClosed = false;
  /** Called with each text. */
  onText: (text: string) => void = () => {};
  /** Whether what was written is kept; not for a service of days. */
  isKept = true;

  write(text: string): void {
    if (this.failure !== null) throw this.failure;
    if (this.isKept) this.#text += text;
    this.onText(text);
  }

  text(): string {
    return this.#text;
  }
}
