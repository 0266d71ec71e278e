/** Targets and receivers that echo their requests, in every form, whole and truncated. */
import assert from "node:assert/strict";
import { type ScriptedServer, startScriptedServer, talkUpTo } from "../support/mail_server.ts";
import { type Harness, withHarness } from "./program.ts";
import { startEchoServer } from "./receivers.ts";

const ENVIRONMENT = {
  PIPED: "pi|pe-5e1f",
  TABBED: "tab\tbed 77aa",
  INVISIBLE: "in\u200bvis\u202eible-9",
  BLANKS: "  bl  anks-42 ",
  SHORT: "q7#z",
  LONG: `Zq9!${"0123456789abcdef".repeat(4)}`,
  RECEIVER: "someone-17@b.example",
  MAIL_PASSWORD: 'ma"il&p ass/w+rd',
};
/** Written out in the config. */
const URL_PASSWORD = "url:pass-31";
const API_KEY = "a/p+i-key 8";
const HEADER = "Bearer he\\ader-token";

/** Texts that must not be anywhere, by description. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  ...ENVIRONMENT,
  "BLANKS without them": ENVIRONMENT.BLANKS.trim(),
  "BLANKS folded": "bl anks-42",
  "TABBED folded": "tab bed 77aa",
  "INVISIBLE with blanks": "in vis ible-9",
  "INVISIBLE without": "invisible-9",
  "a part of PIPED": "pe-5e1f",
  "the beginning of LONG": "Zq9!",
  "MAIL_PASSWORD in JSON": JSON.stringify(ENVIRONMENT.MAIL_PASSWORD).slice(1, -1),
  "MAIL_PASSWORD in base64": base64(ENVIRONMENT.MAIL_PASSWORD),
  "MAIL_PASSWORD in AUTH PLAIN": base64(`\0monitor\0${ENVIRONMENT.MAIL_PASSWORD}`),
  URL_PASSWORD,
  "URL_PASSWORD in an address": encodeURIComponent(URL_PASSWORD),
  "URL_PASSWORD in base64": base64(`hook:${URL_PASSWORD}`),
  API_KEY,
  "API_KEY in an address": encodeURIComponent(API_KEY),
  "API_KEY in a form": "a%2Fp%2Bi-key+8",
  HEADER,
  "HEADER in JSON": "he\\\\ader-token",
  "HEADER without its scheme": "he\\ader-token",
};

Deno.test("monitor: an echoed secret is never shown, sent or persisted, in any form", () =>
  withHarness(async (harness) => {
    await using web = startEchoServer();
    await using plain = startEchoMail("PLAIN");
    await using login = startEchoMail("LOGIN");
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    await using chat = startScriptedServer(async (visitor) => {
      await visitor.send(`hello ${ENVIRONMENT.LONG.slice(0, 20)}`);
      await isOver;
    });
    writeConfig(harness, { web: web.port, plain: plain.port, login: login.port, chat: chat.port });
    const texts = new Map<string, string>();
    const run = async (args: readonly string[]): Promise<void> => {
      const { stdout, stderr } = await harness.runHere(args, { environment: ENVIRONMENT });
      texts.set(`stdout of ${args.join(" ")}`, stdout);
      texts.set(`stderr of ${args.join(" ")}`, stderr);
    };
    await run(["check", "--once", "--format", "json"]);
    for (const format of ["pretty", "junit"]) {
      await run(["check", "--once", "--no-notify", "--format", format, "says", "floods", "web"]);
    }
    for (
      const words of ["status", "status --format json", "history says", "report -o page.html", "notify says"]
    ) {
      await run(words.split(" "));
    }
    end();
    for (const [index, body] of web.bodies.entries()) texts.set(`the body of request ${index}`, body);
    for (const name of ["kept.sqlite", "page.html", "monitor.prom", "channel_input"]) {
      const bytes = Deno.readFileSync(`${harness.directory}/${name}`);
      texts.set(`the file ${name}`, new TextDecoder().decode(bytes));
    }

    const results = texts.get("stdout of check --once --format json") ?? "";
    const shown = (name: string): string => {
      const { checks } = JSON.parse(results) as { checks: readonly Readonly<Record<string, string>>[] };
      const { output = "", detail = "", performance_data = "" } = checks.find((check) =>
        check.name === name
      ) ?? {};
      return `${output}\n${detail}\n${performance_data}`;
    };
    assert.match(shown("says"), /^says \[secret\] and \[secret\]\n.*\[secret\]/);
    assert.match(shown("says"), /\n'\[secret\]'=1$/);
    assert.match(shown("floods"), /x\[secret\]\n/);
    assert.match(shown("web"), /X-Asked.*Basic \[secret\].*api_key=\[secret\]/);
    assert.match(shown("chat"), /it had sent "hello \[secret\]…"/);
    const status = texts.get("stdout of status --format json") ?? "";
    for (
      const reason of [
        /status is 500: \[[^\n]*Basic \[secret\]/,
        /535 not AUTH PLAIN \[secret\]/,
        /535 not \S+ \[secret\]/,
        /exited with code 1: I got \[secret\]/,
      ]
    ) {
      assert.match(status, reason);
    }
    for (const [where, text] of texts) {
      for (const [name, secret] of Object.entries(FORBIDDEN)) {
        const at = text.indexOf(secret);
        assert.ok(at < 0, `${where} has ${name}: ${text.slice(Math.max(0, at - 100), at + 100)}`);
      }
    }
  }));

/** Starts an SMTP server that quotes all parts of a login when it rejects it. */
function startEchoMail(method: "PLAIN" | "LOGIN"): ScriptedServer {
  return startScriptedServer(async (visitor) => {
    await talkUpTo(/^AUTH LOGIN$/, visitor, [`AUTH ${method}`], (line) => `535 not ${line}`);
    await visitor.send("334 VXNlcm5hbWU6\r\n");
    const name = await visitor.readLine();
    await visitor.send("334 UGFzc3dvcmQ6\r\n");
    await visitor.send(`535 not ${name} ${await visitor.readLine()}\r\n`);
    await visitor.untilGone();
  });
}

function writeConfig(
  harness: Harness,
  ports: Readonly<Record<"web" | "plain" | "login" | "chat", number>>,
): void {
  const { PIPED, TABBED, INVISIBLE, BLANKS, SHORT, LONG } = Object.fromEntries(
    Object.keys(ENVIRONMENT).map((name) => [name, `\${env:${name}}`]),
  );
  harness.writeScript(
    "says",
    `printf 'says %s and %s\\t|%s=1\\n' "$PIPED" "$TABBED" "'$PIPED'"; echo "$INVISIBLE" $BLANKS "<$BLANKS>" $TABBED $SHORT; exit 2`,
  );
  // 65,536 bytes are kept, so the secret is cut in its middle.
  harness.writeScript("floods", `head -c 65526 /dev/zero | tr '\\0' x; echo "$LONG"; exit 1`);
  harness.writeScript("channel", `cat >channel_input; echo "I got $PIPED" >&2; exit 1`);
  const script = (path: string, environment: object) => ({
    kind: "script",
    parameters: { path, environment },
  });
  const mail = (port: number) => ({
    kind: "email",
    parameters: {
      access: { host: "127.0.0.1", port, username: "monitor", password: "${env:MAIL_PASSWORD}" },
      sender: "a@b.example",
      receivers: ["${env:RECEIVER}"],
    },
  });
  const credentials = `hook:${encodeURIComponent(URL_PASSWORD)}`;
  const query = `api_key=${encodeURIComponent(API_KEY)}`;
  harness.writeConfig({
    says: script("./says", { PIPED, TABBED, INVISIBLE, BLANKS, SHORT }),
    floods: script("./floods", { LONG }),
    web: {
      kind: "http_request",
      parameters: {
        request: {
          target: `http://${credentials}@127.0.0.1:${ports.web}/?${query}`,
          headers: { "X-Token": HEADER },
        },
        response: {
          headers: { "X-Asked": `not ${PIPED}` },
          json: { "$[0][1]": "nothing", "$[-1]": `no ${TABBED}` },
        },
      },
    },
    chat: {
      kind: "tcp_connect",
      timeout: 1,
      parameters: { host: "127.0.0.1", port: ports.chat, expect: "x" },
    },
  }, {
    state: "kept.sqlite",
    metrics: { path: "monitor.prom" },
    defaults: {
      threshold: 1,
      notifications: [
        mail(ports.plain),
        mail(ports.login),
        {
          kind: "webhook",
          parameters: {
            target: `http://${credentials}@127.0.0.1:${ports.web}/hook?${query}`,
            headers: { "X-Token": HEADER },
          },
        },
        { kind: "command", parameters: { path: "./channel", environment: { PIPED } } },
      ],
    },
  });
}

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}
