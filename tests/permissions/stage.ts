/** A document that needs a bit of everything, on a stage of its own. */
import { PERMISSION_CLASSES, type PermissionClass } from "../../src/domain/needs.ts";
import { type Mailbox, startMailbox } from "../life/receivers.ts";
import { type Stage, withStage } from "../life/program.ts";
import { startServer, type TestServer } from "../support/http_servers.ts";

/** What is needed of each class, as `monitor permissions --format json` prints it. */
export type PrintedNeeds = Readonly<Record<PermissionClass, readonly string[]>>;

/** One script, one request and one mail channel, with their counterparts. */
export interface PermissionStage extends Stage {
  readonly web: TestServer;
  readonly mailbox: Mailbox;
  /** What the program says it needs. */
  needs(): Promise<PrintedNeeds>;
}

/** Runs a test on such a stage: `monitor.json` has the checks `script` (always critical) and `web`. */
export function withNeeds(use: (stage: PermissionStage) => Promise<void>): Promise<void> {
  return withStage(async (stage) => {
    await using mailbox = await startMailbox();
    await using web = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    stage.writeScript("probe.sh", "echo all is lost; exit 2");
    const target = `http://localhost:${web.port}/`;
    stage.writeDocument({
      script: { kind: "script", parameters: { path: "./probe.sh", arguments: [] } },
      web: {
        kind: "http_request",
        parameters: { request: { target }, response: { status_code: 200 } },
      },
    }, {
      defaults: {
        threshold: 1,
        schedule: { regular_interval: 1 },
        notifications: [mailbox.channel],
      },
      state: "kept.sqlite",
    });
    Deno.chmodSync(`${stage.folder}/monitor.json`, 0o600);
    const needs = async (): Promise<PrintedNeeds> => {
      const { stdout, stderr, code } = await stage.run(["permissions", "--format", "json"]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as PrintedNeeds;
    };
    await use({ ...stage, web, mailbox, needs });
  });
}

/** The flags for needs, without a value of one class where one is named. */
export function flagsFor(
  needs: PrintedNeeds,
  without?: { readonly permission: PermissionClass; readonly value: string },
): readonly string[] {
  return PERMISSION_CLASSES.flatMap((permission) => {
    const values = needs[permission].filter((value) =>
      without?.permission !== permission || without.value !== value
    );
    return values.length === 0 ? [] : [`--allow-${permission}=${values.join(",")}`];
  });
}
