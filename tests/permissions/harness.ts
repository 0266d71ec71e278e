/** A config that requires some of every permission, on a new harness. */
import { permissionFlags, type PermissionsByClass } from "../../src/permissions/required_permissions.ts";
import type { PermissionClass } from "../../src/domain/runtime_permissions.ts";
import { type Mailbox, startMailbox } from "../life/receivers.ts";
import { type Harness, withHarness } from "../life/program.ts";
import { startServer, type TestServer } from "../support/http_servers.ts";

/** One script, one request and one email channel, with their counterparts. */
export interface PermissionHarness extends Harness {
  readonly web: TestServer;
  readonly mailbox: Mailbox;
  /** Makes `/redirect` of the web server redirect to a URL. */
  redirectTo(target: string): void;
  /** Returns the printed requirements of the program. */
  requiredPermissions(): Promise<PermissionsByClass>;
}

/** Runs a test on such a harness: `monitor.json` has the checks `script` (always critical) and `web`. */
export function withPermissions(use: (harness: PermissionHarness) => Promise<void>): Promise<void> {
  return withHarness(async (harness) => {
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
    harness.writeScript("probe.sh", "echo all is lost; exit 2");
    const target = `http://localhost:${web.port}/`;
    harness.writeConfig({
      script: { kind: "script", parameters: { path: "./probe.sh", arguments: [] } },
      web: { kind: "http_request", parameters: { request: { target }, response: { status_code: 200 } } },
    }, {
      defaults: { threshold: 1, schedule: { regular_interval: 1 }, notifications: [mailbox.channel] },
      state: "kept.sqlite",
    });
    Deno.chmodSync(`${harness.directory}/monitor.json`, 0o600);
    const requiredPermissions = async (): Promise<PermissionsByClass> => {
      const { stdout, stderr, code } = await harness.runHere(["permissions", "--format", "json"]);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as PermissionsByClass;
    };
    await use({ ...harness, web, mailbox, requiredPermissions, redirectTo: (target) => redirect = target });
  });
}

/** The flags for needs, without a value of one class where one is named. */
export function flagsFor(
  requiredPermissions: PermissionsByClass,
  without?: { readonly permission: PermissionClass; readonly value: string },
): readonly string[] {
  if (without === undefined) return permissionFlags(requiredPermissions);
  const { permission, value } = without;
  return permissionFlags({
    ...requiredPermissions,
    [permission]: requiredPermissions[permission].filter((other) => other !== value),
  });
}
