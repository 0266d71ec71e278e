/** Everything around the program that is soaked: its folder, its targets and where its notifications arrive. */
import { runArguments } from "../../../testing/source.ts";
import { startHook, startMailbox } from "../../../tests/life/receivers.ts";
import type { ArrivedPost } from "./record.ts";
import { killMarked } from "./process_facts.ts";
import { FLAPPING_FILES } from "./families.ts";
import type { Ports } from "./targets_process.ts";

/** A receiver that can be in trouble. */
export interface Receiver {
  /** The channel in a config. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** How many bytes of a connection get through, both ways together, before it breaks. */
  bytesMax(): number;
}

/** A webhook. */
export interface SoakHook extends Receiver {
  /** What it took. */
  readonly posts: readonly ArrivedPost[];
  /** What it answers; what is not 200 was not taken. */
  status: number;
}

/** A mail server. */
export interface SoakMailbox extends Receiver {
  /** Whether it takes mail; otherwise each connection is closed at once. */
  isUp: boolean;
  /** The mails that it took. */
  read(): Promise<readonly { readonly messageId: string; readonly subject: string; readonly text: string }[]>;
}

/** What the program finds. */
export interface Stand extends AsyncDisposable {
  /** Its folder, which is also its `HOME`. */
  readonly folder: string;
  /** The ports of the targets. */
  readonly ports: Ports;
  /** What listens where. */
  readonly portNames: ReadonlyMap<number, string>;
  /** Where webhooks arrive. */
  readonly hook: SoakHook;
  /** Where mails arrive. */
  readonly mailbox: SoakMailbox;
  /** The environment in which it trusts the authority of the targets. */
  readonly environment: Readonly<Record<string, string>>;
}

const DAY_MS = 86_400_000;

/** The config that calls beside the program read: never an invalid one. */
export const CALLS_DOCUMENT = "calls.json";

/** Makes it; disposing of it ends and removes all of it. */
export async function openStand(): Promise<Stand> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "monitor_soak_" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  stack.defer(() => killMarked(folder));
  await writeFiles(folder);
  const targets = startTargets(`${folder}/authority.pem`);
  stack.defer(targets.end);
  const ports = await targets.ports;
  const hook = stack.use(startHook());
  const mailbox = stack.use(await startMailbox());
  const owned = stack.move();
  return {
    folder,
    ports,
    portNames: new Map([
      ...Object.entries(ports).map(([name, port]) => [port, name] as const),
      [portOf(hook.channel), "webhook"],
      [portOf(mailbox.channel), "mail server"],
    ]),
    hook,
    mailbox,
    environment: { DENO_CERT: `${folder}/authority.pem` },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The port in the parameters of a channel. */
function portOf(channel: Readonly<Record<string, unknown>>): number {
  return Number(/"port":(\d+)|127\.0\.0\.1:(\d+)/.exec(JSON.stringify(channel))?.slice(1).find(Boolean));
}

async function writeFiles(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/files`);
  await Deno.mkdir(`${folder}/calls`);
  const fresh = Array.from({ length: 10 }, (_, index) => `files/fresh_${index}`);
  for (const name of [...fresh, ...FLAPPING_FILES, "files/old", "files/future"]) {
    await Deno.writeTextFile(`${folder}/${name}`, "");
  }
  const at = (shiftMs: number): Date => new Date(Date.now() + shiftMs);
  await Deno.utime(`${folder}/files/old`, at(-2 * DAY_MS), at(-2 * DAY_MS));
  await Deno.utime(`${folder}/files/future`, at(DAY_MS), at(DAY_MS));
  await Deno.symlink("nothing", `${folder}/files/dangling`);
  const flap = 'if [ -e "$1" ]; then\n  echo "it is there"\n  exit 0\nfi\necho "it is gone"\nexit 2\n';
  await Deno.writeTextFile(`${folder}/flap.sh`, `#!/bin/sh\n${flap}`, { mode: 0o755 });
}

function startTargets(authorityFile: string): { readonly ports: Promise<Ports>; end(): Promise<void> } {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...runArguments(),
      new URL("targets_process.ts", import.meta.url).pathname,
      authorityFile,
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const firstLine = async (): Promise<Ports> => {
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("\n")) return JSON.parse(text) as Ports;
    }
    throw new Error("Cannot start the targets: they ended before they listened");
  };
  return {
    ports: firstLine(),
    end: async () => {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
      await child.stdin.close().catch(() => {});
    },
  };
}
