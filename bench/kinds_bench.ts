/** The load of kinds of checks that run often, next to a bare loop that does the least of the same work. */
import type { ConfigSubject } from "./configs.ts";
import { startDialogServers } from "./dialog_server.ts";
import { measureAtOnce } from "./measure.ts";
import type { Row } from "./row.ts";
import { measureBare, measureService, type ServiceSample, type Span } from "./service_subject.ts";
import type { BareSubject } from "./service_subject.ts";
import type { SteadySample } from "./steady_process.ts";
import { compareSteady } from "./steady_rows.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 3;
const PER_SECOND = 200;
const INTERVAL_SECONDS = 5;
const WARM_UP_SECONDS = 20;

/** A kind, and the same work without the monitor. */
interface Subject extends Pick<BareSubject, "work" | "target"> {
  readonly name: string;
  readonly check: ConfigSubject["check"];
}

/** Runs for some five minutes. */
export async function benchKinds(workplace: Workplace): Promise<readonly Row[]> {
  await using ports = await startDialogServers();
  const path = `${workplace.directory}/bench.log`;
  await Deno.writeTextFile(path, "one line of a log\n".repeat(4_000));
  const host = "127.0.0.1";
  const subjects: readonly Subject[] = [
    {
      name: "redis_command",
      check: { kind: "redis_command", parameters: { host, port: ports.redis, value: "PONG" } },
      work: "redis_commands",
      target: `${host}:${ports.redis}`,
    },
    {
      name: "tcp_connect with SMTP",
      check: { kind: "tcp_connect", parameters: { host, port: ports.smtp, protocol: "smtp" } },
      work: "smtp_dialogs",
      target: `${host}:${ports.smtp}`,
    },
    {
      name: "websocket",
      check: {
        kind: "websocket",
        parameters: { url: `ws://${host}:${ports.websocket}/`, send: "hello", expect: "hello" },
      },
      work: "websockets",
      target: `ws://${host}:${ports.websocket}/`,
    },
    {
      name: "file of 72 kB, its contents",
      check: { kind: "file", parameters: { path, content_pattern: "of a log" } },
      work: "files",
      target: path,
    },
    {
      name: "log without new lines",
      check: { kind: "log", threshold: 1, parameters: { path, pattern: "error" } },
      work: "ends_of_files",
      target: path,
    },
  ];
  const rows: Row[] = [];
  for (const subject of subjects) rows.push(...await benchKind(workplace, subject));
  return rows;
}

async function benchKind(
  workplace: Workplace,
  { name, check, work, target }: Subject,
): Promise<readonly Row[]> {
  const { effort } = workplace;
  const span: Span = {
    warmUpSeconds: effort.seconds(WARM_UP_SECONDS),
    seconds: effort.seconds(2 * INTERVAL_SECONDS),
  };
  const perSecond = workplace.effort.rate(PER_SECOND);
  const rate = { count: perSecond * INTERVAL_SECONDS, intervalSeconds: INTERVAL_SECONDS };
  const samples = await measureAtOnce(effort.rounds(ROUNDS), {
    monitor: (): Promise<ServiceSample | SteadySample> =>
      measureService(workplace, { ...rate, ...span, check }),
    bare: () => measureBare(workplace, { ...span, work, target, perSecond }),
  });
  return compareSteady(
    `${perSecond} times a second ${name}`,
    { name: "watching", samples: samples.monitor, perSecond },
    { name: "a bare loop", samples: samples.bare, perSecond },
  );
}
