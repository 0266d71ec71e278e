import type { HttpServers } from "../../src/domain/http_servers.ts";
import type { CapturedText, ProcessCommand } from "../../src/domain/processes.ts";
import { joinBytes } from "../../src/shared/text.ts";
import { MemoryFiles, type Node } from "./memory_files.ts";
import { Program, type ProgramOptions } from "./program.ts";
import type { World } from "./world.ts";

export interface MachineOptions {
  readonly name: string;
  /** @default UTC */
  readonly zone: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly userId: number;
}

/** How a command ends, see {@linkcode Machine.commands}. */
export interface CommandEnd {
  /** @default 0 */
  readonly code?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** @default as the world's scripts; Infinity: it never ends by itself */
  readonly durationMs?: number;
}

/** What a program has printed, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A request to the HTTP endpoint. */
export interface MachineRequest {
  readonly port?: number;
  readonly method?: string;
  /** Of the client. */
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How long after the head the body arrives. */
  readonly bodyMs?: number;
}

/** A response of the HTTP endpoint. */
export interface MachineResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Listener = Parameters<HttpServers["listen"]>[1] & { readonly program: Program };

/** A machine: its clock, files, commands and processes of the program. Its name is its host name. */
export class Machine {
  readonly world: World;
  readonly name: string;
  readonly zone: string;
  readonly files: MemoryFiles;
  readonly userId: number;
  environment: Readonly<Record<string, string>>;
  workingDirectory = "/etc/monitor";
  /** How far its wall clock is ahead. */
  wallOffsetMs = 0;
  /** How long it was suspended so far: its monotonic clock stood. */
  suspendedMs = 0;
  /** Commands by absolute path; `null`: it can't be started. Those that are missing are answered by the world. */
  readonly commands = new Map<string, (command: ProcessCommand) => CommandEnd | null>();
  /** The databases that another application has locked. */
  readonly lockedDatabases = new Set<Node>();
  /** By the file's path. */
  readonly locks = new Map<string, { readonly program: Program; readonly node: Node }>();
  readonly controlSockets = new Map<
    string,
    { readonly program: Program; handle(line: string): Promise<string> }
  >();
  /** By port. */
  readonly listeners = new Map<number, Listener>();
  readonly #cutOff = new Set<string>();
  readonly #programs = new Set<Program>();
  #nextId = 100;

  constructor(world: World, { name, zone, environment, userId }: MachineOptions) {
    this.world = world;
    this.name = name;
    this.zone = zone;
    this.environment = environment;
    this.userId = userId;
    this.files = new MemoryFiles({ userId, nowMs: () => this.wallMs });
    this.files.makeDirectory("/etc/monitor");
    this.files.makeDirectory("/tmp", 0o777);
  }

  /** The time that its clock shows. */
  get wallMs(): number {
    return this.world.nowMs + this.wallOffsetMs;
  }

  /** The processes of the program that run or are paused, the oldest first. */
  get programs(): readonly Program[] {
    return [...this.#programs];
  }

  /** Its one service; the last one started, if there are several. */
  get service(): Program | null {
    return this.programs.findLast(({ args }) => args[0] === "check" && !args.includes("--once")) ?? null;
  }

  /** Starts the program; it runs once time goes on. */
  start(...args: readonly string[]): Program {
    return this.startWith({ args });
  }

  startWith(options: Omit<ProgramOptions, "id">): Program {
    const program = new Program(this, { ...options, id: this.#nextId++ });
    this.#programs.add(program);
    this.world.trace.add(this.name, "start", program.name);
    this.world.follow(program);
    return program;
  }

  /** Runs the program to its end, while time goes on. */
  async run(...args: readonly string[]): Promise<Ran> {
    return await this.runWith({ args });
  }

  async runWith(options: Omit<ProgramOptions, "id">): Promise<Ran> {
    const program = this.startWith(options);
    await this.world.until(() => program.hasEnded, `the end of ${program.name}`);
    const { code, stdout, stderr } = program;
    return { code: code ?? 0, stdout: stdout.text(), stderr: stderr.text() };
  }

  /** Called by a program that has ended. */
  ended(program: Program): void {
    this.#programs.delete(program);
    for (const [path, lock] of this.locks) if (lock.program === program) this.locks.delete(path);
    for (const [path, socket] of this.controlSockets) {
      if (socket.program === program) this.controlSockets.delete(path);
    }
    for (const [port, listener] of this.listeners) {
      if (listener.program === program) this.listeners.delete(port);
    }
  }

  /** Steps the wall clock. */
  stepClock(ms: number): void {
    this.wallOffsetMs += ms;
  }

  /** Suspends the machine for a time: nothing of it happens, and its monotonic clock stands. */
  suspend(ms: number): void {
    const paused = this.programs.filter(({ state }) => state === "running");
    for (const program of paused) program.signal("SIGSTOP");
    this.world.timeline.after(ms, () => {
      this.suspendedMs += ms;
      for (const program of paused) program.signal("SIGCONT");
    });
  }

  /** Cuts the machine off from a server: its connections are refused. */
  cutOff(host: string): void {
    this.#cutOff.add(host);
  }

  reconnect(host: string): void {
    this.#cutOff.delete(host);
  }

  isCutOff(host: string): boolean {
    return this.#cutOff.has(host);
  }

  /** Sends a request to the HTTP endpoint of a service on this machine. */
  async request(target: string, options: MachineRequest = {}): Promise<MachineResponse | null> {
    let response: MachineResponse | null = null;
    let hasEnded = false;
    this.world.timeline.after(this.world.latency("network"), () => {
      this.receive(target, options, (answer) => {
        response = answer;
        hasEnded = true;
      });
    });
    await this.world.until(() => hasEnded, `the response to ${options.method ?? "GET"} ${target}`);
    return response;
  }

  /** Gives a request to the listener; calls back once with the response, or `null` if none comes. */
  receive(
    target: string,
    { port = 9797, method = "GET", address = "127.0.0.1", headers = {}, body = "", bodyMs = 0 }:
      MachineRequest,
    done: (response: MachineResponse | null) => void,
  ): void {
    const listener = this.listeners.get(port);
    if (listener === undefined) return done(null);
    let hasEnded = false;
    const end = (response: MachineResponse | null): void => {
      if (!hasEnded) done(response);
      hasEnded = true;
    };
    const { program } = listener;
    const bytes = new TextEncoder().encode(body);
    const named = new Headers(headers);
    program.atEnd(() => end(null));
    this.world.timeline.after(0, () => {
      listener.handle({
        method,
        target,
        address,
        header: (name) => named.get(name),
        readTail: (bytesMax) =>
          new Promise((resolve) =>
            this.world.timeline.after(bodyMs, () => resolve(bytes.slice(-bytesMax)), program)
          ),
      }).then(async (answer) => {
        const text = typeof answer.body === "string" ? answer.body : new TextDecoder().decode(
          answer.body instanceof Uint8Array ? answer.body : joinBytes(await Array.fromAsync(answer.body)),
        );
        end({ status: answer.status, headers: answer.headers, body: text });
      }, (error) => {
        listener.onBug(error);
        end({ status: 500, headers: {}, body: "" });
      });
    }, program);
  }
}

/** What a command has written, as much of it as is kept. */
export function captured(text: string, bytesMax: number): CapturedText {
  const truncated = text.length > bytesMax;
  return { text: truncated ? text.slice(0, bytesMax) : text, truncated };
}
