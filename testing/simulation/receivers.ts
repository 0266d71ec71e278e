import type { OutgoingMail } from "../../src/domain/system.ts";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import type { Answer, Host, ReceivedRequest } from "./network.ts";
import { truncate } from "../../src/shared/text.ts";
import { describeItems as describeShown } from "../../src/rehearsal/scenario_text.ts";
import type { World } from "./world.ts";

/** A notification in the request of a webhook, or in the input of a command. */
export interface ReceivedItem {
  readonly id: string;
  readonly check: string;
  readonly title: string | null;
  readonly event: string;
  readonly condition: string;
  readonly previous: string;
  readonly output: string;
  readonly decided_at: string;
  readonly acknowledged: string | null;
  readonly flapping: boolean;
  readonly dependents: number;
  readonly missed_problem: ReceivedItem | null;
  readonly summarized: number;
  readonly headline?: string;
  readonly url?: string;
}

/** A message that has arrived, also if its sender doesn't know. */
export interface Received {
  /** The host of a webhook, the first receiver of an email, or the command. Without `.example`, `@example.org` and
   * directories. */
  readonly channel: string;
  /** Wall time of the world. */
  readonly atMs: number;
  /** The machine that sent it. */
  readonly machine: string;
  /** Of a message, the same each time that it is sent. */
  readonly id: string;
  /** Whether it arrived before. */
  readonly isAgain: boolean;
  /** What it says, in one line. */
  readonly text: string;
  /** Its notifications; empty for an email and for a body of the config's own. */
  readonly items: readonly ReceivedItem[];
  readonly mail: OutgoingMail | null;
  readonly request: ReceivedRequest | null;
}

const STATUSES = { ok: 200, unknown: 503, warning: 500, critical: 500 } as const;

/**
 * The servers of a world: every name resolves. A `POST` and an email are messages to a channel; any other request is one
 * of a check, and is answered by the outcome of the host's name, or of its first label.
 */
export class Receivers {
  readonly #world: World;
  readonly #messages: Received[] = [];
  readonly #seen = new Set<string>();
  constructor(world: World) {
    this.#world = world;
    world.network.onUnknown = (name) => this.#createHost(name);
  }

  get messages(): readonly Received[] {
    return this.#messages;
  }

  /** Makes a command of a channel on each machine; it fails as the server of its name does. */
  addCommand(path: string): void {
    const channel = path.slice(path.lastIndexOf("/") + 1);
    for (const machine of this.#world.machines) {
      machine.files.put(path, "#!/bin/sh\n", { mode: 0o755 });
      machine.commands.set(path, (command) => this.#acceptCommand(command, channel, machine.name));
    }
  }

  #createHost(name: string): Partial<Host> {
    return {
      respond: (request) => this.#respond(name, request),
      accept: (mail, machine) => {
        const [receiver = ""] = mail.receivers;
        this.#add({
          channel: /^(.*)@example\.org$/.exec(receiver)?.[1] ?? receiver,
          machine,
          id: mail.messageId,
          text: mail.subject,
          items: [],
          mail,
          request: null,
        });
      },
    };
  }

  #respond(name: string, request: ReceivedRequest): Answer {
    const label = name.split(".")[0] ?? "";
    const { outcomes } = this.#world;
    if (request.method !== "POST") {
      const { condition, output } = this.#world.outcomeOf(outcomes.has(name) ? name : label);
      return { status: STATUSES[condition], body: output };
    }
    const items = itemsOf(request.body ?? "");
    this.#add({
      channel: shortName(name),
      machine: request.machine,
      id: Object.entries(request.headers).find(([key]) => key.toLowerCase() === "idempotency-key")?.[1] ?? "",
      text: items.length > 0 ? describeItems(items) : request.body ?? "",
      items,
      mail: null,
      request,
    });
    return { status: 200 };
  }

  #acceptCommand({ environment, input = "" }: ProcessCommand, channel: string, machine: string) {
    const fault = this.#world.network.host(`${channel}.example`)?.fault ?? { kind: "up" };
    if (fault.kind === "refuse") return null;
    if (fault.kind === "reset") return { code: 1 };
    if (fault.kind === "reply") return { code: fault.code };
    const items = itemsOf(`{"notifications":[${input}]}`);
    const id = environment["MONITOR_MESSAGE_ID"] ?? "";
    this.#add({ channel, machine, id, text: describeItems(items), items, mail: null, request: null });
    if (fault.kind === "lose") return { code: 1 };
    if (fault.kind === "hang") return { durationMs: Infinity };
    return fault.kind === "slow" ? { durationMs: fault.ms } : {};
  }

  #add(message: Omit<Received, "atMs" | "isAgain">): void {
    const key = `${message.channel} ${message.id}`;
    const isAgain = message.id !== "" && this.#seen.has(key);
    this.#seen.add(key);
    const text = `${message.text}${isAgain ? " again" : ""}`;
    this.#messages.push({ ...message, text, isAgain, atMs: this.#world.nowMs });
    this.#world.trace.add(
      message.machine,
      "received",
      `${message.channel}: ${truncate(text, TRACED_LENGTH_MAX)}`,
    );
  }
}

/** The length of a message in a trace. */
const TRACED_LENGTH_MAX = 2000;

/** `chat` of `chat.example`; other names as they are. */
function shortName(name: string): string {
  return /^([^.]+)\.example$/.exec(name)?.[1] ?? name;
}

function itemsOf(body: string): readonly ReceivedItem[] {
  try {
    const { notifications } = JSON.parse(body);
    return Array.isArray(notifications) ? notifications : [];
  } catch {
    return [];
  }
}

function describeItems(items: readonly ReceivedItem[]): string {
  return describeShown(items.map((item) => ({ ...item, missed: item.missed_problem?.condition ?? null })));
}
