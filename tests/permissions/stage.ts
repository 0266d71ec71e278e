/** A config that needs a bit of everything, on a harness of its own. */
import { type NeedsByClass, permissionFlags } from "../../src/permissions/permission_flags.ts";
import type { PermissionClass } from "../../src/domain/needs.ts";
import { type Mailbox, startMailbox } from "../life/receivers.ts";
import { type Stage, withStage } from "../life/program.ts";
import { startServer, type TestServer } from "../support/http_servers.ts";

/** One script, one request and one mail channel, with their counterparts. */
export interface PermissionStage extends Stage {
  readonly web: TestServer;
  readonly mailbox: Mailbox;
  /** Lets `/redirect` of the web server lead to an address. */
  redirectTo(target: string): void;
  /** What the program says it needs. */
  needs(): Promise<NeedsByClass>;
}

/** Runs a test on such a harness: `monitor.json` has the checks `script` (always critical) and `web`. */
export function withNeeds(use: (stage: PermissionStage) => Promise<void>): Promise<void> {
  return withStage(async (stage) => {
    await using mailbox = await startMailbox();
    let redirect: string | null = null;
    await using web = startServer(async (visitor) => {
      const head = await visitor.readHead();
      const isRedirect = redirect !== null && head.includes(" /redirect ");
      await visitor.send(
        `HTTP/1.1 ${isRedirect ? `302 Found\r\nLocation: ${redirect}` : "200 OK"}\r\n` +
          "Content-Length: 0\r\nConnection: close\r\n\r\n",
      );
    });
    stage.writeScript("probe.sh", "echo all is lost; exit 2");
    const target = `http://localhost:${web.port}/`;
    stage.writeConfig({
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
    Deno.chmodSync(`${stage.directory}/monitor.json`, 0o600);
    const needs = async (): Promise<NeedsByClass> => {
      const { stdout, stderr, code } = await stage.run(["permissions", "--format", "json"]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as NeedsByClass;
    };
    await use({ ...stage, web, mailbox, needs, redirectTo: (target) => redirect = target });
  });
}

/** The flags for needs, without a value of one class where one is named. */
export function flagsFor(
  needs: NeedsByClass,
  without?: { readonly permission: PermissionClass; readonly value: string },
): readonly string[] {
  if (without === undefined) return permissionFlags(needs);
  const { permission, value } = without;
  return permissionFlags({ ...needs, [permission]: needs[permission].filter((other) => other !== value) });
}
