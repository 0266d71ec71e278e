/** What one monitor watches: eleven checks, most of which are well all the time. */
import type { Certificate } from "../../support/certificates.ts";
import { until } from "../in_time.ts";
import type { Stage } from "../program.ts";
import { GREETING, startTarget, type Target } from "./targets.ts";

/** The check that runs at each full minute; the others run at an interval. */
export const BY_THE_CALENDAR = "each-minute";

/** The checks that run a program. */
export const SCRIPTS = ["ends", "fails", "hangs", BY_THE_CALENDAR] as const;

/** The checks that ask a server, and the heartbeat. */
export interface Targets {
  /** Its problems are told when the monitor is stopped. */
  readonly trigger: Target;
  /** A problem that begins while the monitor stands still. */
  readonly begins: Target;
  /** A problem that comes and goes meanwhile. */
  readonly blinks: Target;
  readonly plain: Target;
  readonly secret: Target;
  readonly greets: Target;
  readonly heartbeat: Target;
}

/** What a monitor watches. */
export interface World extends AsyncDisposable {
  readonly targets: Targets;
  /** Lets the next run of a script wait; resolves when it does. */
  holdScript(name: typeof SCRIPTS[number]): Promise<void>;
  /** Lets a script end with an exit code from now on, also one that waits. */
  endScript(name: typeof SCRIPTS[number], code: number): void;
}

/** Seconds between two runs of a check. */
export const INTERVAL_SECONDS = 3;
/** After so long a script is ended that hangs; requests and other scripts may take much longer. */
export const SHORT_LIMIT_SECONDS = 5;
const LONG_LIMIT_SECONDS = 30;

/** A program that says how it is, and waits while somebody holds it. */
const LOOK = `[ -e "$1.holds" ] && : >"$1.waits"
while [ -e "$1.holds" ]; do sleep 0.05; done
read -r code <"$1.code"
echo "code $code"
exit "$code"`;

/** Makes the targets, and writes the scripts and the config. */
export function makeWorld(
  stage: Stage,
  { channels, certificateOf }: {
    readonly channels: readonly unknown[];
    readonly certificateOf: (address: string) => Certificate;
  },
): World {
  const targets: Targets = {
    trigger: startTarget({ speaks: "http" }),
    begins: startTarget({ speaks: "http" }),
    blinks: startTarget({ speaks: "http" }),
    plain: startTarget({ speaks: "http" }),
    secret: startTarget({ speaks: "http", certificateOf }),
    greets: startTarget({ speaks: "greeting" }),
    heartbeat: startTarget({ speaks: "http" }),
  };
  const path = (name: string): string => `${stage.folder}/${name}`;
  const endScript: World["endScript"] = (name, code) => {
    Deno.writeTextFileSync(path("code.new"), `${code}\n`);
    Deno.renameSync(path("code.new"), path(`${name}.code`));
    if (isThere(path(`${name}.holds`))) Deno.removeSync(path(`${name}.holds`));
  };
  stage.writeScript("look", LOOK);
  for (const name of SCRIPTS) endScript(name, 0);
  writeConfig(stage, { targets, channels });
  return {
    targets,
    holdScript: async (name) => {
      Deno.writeTextFileSync(path(`${name}.holds`), "");
      await until(`a run of ${name}`, () => isThere(path(`${name}.waits`)));
    },
    endScript,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(targets).map((target) => target[Symbol.asyncDispose]()));
    },
  };
}

function writeConfig(
  stage: Stage,
  { targets, channels }: { readonly targets: Targets; readonly channels: readonly unknown[] },
): void {
  const { trigger, begins, blinks, plain, secret, greets, heartbeat } = targets;
  stage.writeConfig({
    trigger: asking("http", trigger),
    begins: asking("http", begins),
    blinks: asking("http", blinks),
    plain: asking("http", plain),
    secret: asking("https", secret),
    greets: {
      kind: "tcp_connect",
      parameters: { host: greets.hostname, port: greets.port, expect: GREETING },
      timeout: LONG_LIMIT_SECONDS,
    },
    certificate: {
      kind: "tls_certificate",
      parameters: { host: secret.hostname, port: secret.port },
      timeout: LONG_LIMIT_SECONDS,
    },
    ends: script("ends", LONG_LIMIT_SECONDS),
    fails: script("fails", LONG_LIMIT_SECONDS),
    hangs: script("hangs", SHORT_LIMIT_SECONDS),
    [BY_THE_CALENDAR]: { ...script(BY_THE_CALENDAR, LONG_LIMIT_SECONDS), schedule: { cron: "* * * * *" } },
  }, {
    defaults: {
      threshold: 1,
      schedule: { regular_interval: INTERVAL_SECONDS },
      notifications: channels,
    },
    heartbeat: {
      path: "./alive",
      target: `http://${heartbeat.hostname}:${heartbeat.port}/`,
      interval: 1,
    },
    state: "kept.sqlite",
  });
  // Others who can read the password in it would be warned of.
  Deno.chmodSync(`${stage.folder}/monitor.json`, 0o600);
}

function asking(scheme: string, { hostname, port }: Target): unknown {
  return {
    kind: "http_request",
    parameters: {
      request: { target: `${scheme}://${hostname}:${port}/` },
      response: { status_code: "2xx" },
    },
    timeout: LONG_LIMIT_SECONDS,
  };
}

function script(name: string, timeout: number): Readonly<Record<string, unknown>> {
  return { kind: "script", parameters: { path: "./look", arguments: [name] }, timeout };
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
