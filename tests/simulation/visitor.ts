/** A person with a browser without scripts, who visits the live page of a machine in a world. */
import assert from "node:assert/strict";
import type { World } from "../../testing/simulation/mod.ts";
import type { MachineResponse } from "../../testing/simulation/machine.ts";

export const TOKEN = "sesame-open-sesame";

interface VisitorOptions {
  /** Of the machine. @default a */
  readonly machine?: string;
  readonly port?: number;
  /** Of the visitor. */
  readonly address?: string;
  /** The host in the URL. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long after the head the body of a form arrives. */
  readonly bodyMs?: number;
}

export class Visitor {
  readonly #world: World;
  readonly #options: VisitorOptions;
  /** The header with the cookies; empty: none. */
  cookie = "";

  constructor(world: World, options: VisitorOptions = {}) {
    this.#world = world;
    this.#options = options;
  }

  async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<MachineResponse> {
    return await this.#send(path, { method: "GET", headers });
  }

  /** Sends a form as the page of the same origin does; headers with the value `-` are left out. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>> | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<MachineResponse> {
    const body = typeof fields === "string" ? fields : new URLSearchParams(fields).toString();
    const { host = "127.0.0.1:9797" } = this.#options;
    const all = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": `${new TextEncoder().encode(body).length}`,
      origin: `http://${host}`,
      "sec-fetch-site": "same-origin",
      ...headers,
    };
    const response = await this.#send(path, { method: "POST", headers: all, body });
    const cookie = response.headers["set-cookie"]?.split(";")[0];
    if (cookie !== undefined) this.cookie = cookie;
    return response;
  }

  async signIn(by = "Ada", token = TOKEN): Promise<MachineResponse> {
    return await this.post("/sign-in", { by, token });
  }

  /** Returns the token of the forms on the page of a check. */
  async tokenOf(check: string): Promise<string> {
    const { body } = await this.open(`/checks/${encodeURIComponent(check)}`);
    const [, token] = /action="\.\.\/act"[^]*?name=token value="([^"]+)"/.exec(body) ?? [];
    return token ?? assert.fail(`no form: ${body}`);
  }

  /** Takes an action on the page of a check, and returns what the page says then. */
  async act(check: string, action: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const token = await this.tokenOf(check);
    const { status, headers } = await this.post("/act", {
      check: encodeURIComponent(check),
      token,
      do: action,
      ...fields,
    });
    assert.deepEqual([status, headers["location"]], [303, `checks/${encodeURIComponent(check)}#act`]);
    const { body } = await this.open(`/checks/${encodeURIComponent(check)}`);
    return /<div class=done role="\w+"><p>(.*?)<\/p>/.exec(body)?.[1] ?? "";
  }

  async #send(
    path: string,
    { method, headers, body = "" }: {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
    },
  ): Promise<MachineResponse> {
    const { machine, port = 9797, address = "192.0.2.7", host = "127.0.0.1:9797", bodyMs = 0 } =
      this.#options;
    const all = {
      host,
      ...this.cookie !== "" && { cookie: this.cookie },
      ...this.#options.headers,
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "-"));
    const response = await this.#world.machine(machine).request(path, {
      port,
      method,
      address,
      headers: sent,
      body,
      bodyMs,
    });
    return response ?? assert.fail("nothing listens");
  }
}
