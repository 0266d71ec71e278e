/**
 * A port before a database, as the network between one member and it: it can be cut, black-holed, slow, or lose
 * replies.
 */

/** How the network is. */
export type Network =
  | { readonly kind: "fine" }
  /** Connections break, and new ones are closed at once. */
  | { readonly kind: "cut" }
  /** Nothing arrives, either way, until the network is fine again: then it does, as TCP repeats it. */
  | { readonly kind: "black_hole" }
  /** The delay of each piece. */
  | { readonly kind: "slow"; readonly delayMs: number }
  /** A reply of the server is lost together with its connection: the request was executed. */
  | { readonly kind: "loses_replies"; readonly isLost: () => boolean };

/** A separate port; disposing of it closes everything. */
export interface DatabaseProxy extends AsyncDisposable {
  readonly port: number;
  /** How often a reply was lost. */
  readonly lost: number;
  become(network: Network): void;
}

/** How a connection to the database is made. */
export type ConnectDatabase = () => Promise<Deno.Conn>;

/** Starts a proxy. */
export function startDatabaseProxy(connect: ConnectDatabase): DatabaseProxy {
  return new Proxy(connect);
}

class Proxy implements DatabaseProxy {
  readonly #connect: ConnectDatabase;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #talks = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #network: Network = { kind: "fine" };
  #changed = Promise.withResolvers<void>();
  lost = 0;

  constructor(connect: ConnectDatabase) {
    this.#connect = connect;
    this.#accepting = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  become(network: Network): void {
    this.#network = network;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    if (network.kind === "cut") { for (const connection of this.#open) closeQuietly(connection); }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.become({ kind: "cut" });
    await this.#accepting;
    await Promise.all(this.#talks);
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      this.#open.add(client);
      const talk = this.#meet(client).catch(() => {}).finally(() => this.#talks.delete(talk));
      this.#talks.add(talk);
    }
  }

  async #meet(client: Deno.Conn): Promise<void> {
    let server: Deno.Conn | null = null;
    try {
      await this.#passes();
      if (this.#network.kind === "cut") return;
      server = await this.#connect();
      this.#open.add(server);
      const end = (): void => [client, server].forEach((one) => one !== null && closeQuietly(one));
      await Promise.all([
        this.#carry(client, server, () => false).catch(end),
        this.#carry(server, client, () => this.#loses()).catch(end),
      ]);
    } finally {
      for (const connection of [client, server]) {
        if (connection === null) continue;
        closeQuietly(connection);
        this.#open.delete(connection);
      }
    }
  }

  /** Resolves once something can arrive. */
  async #passes(): Promise<void> {
    while (this.#network.kind === "black_hole") await this.#changed.promise;
    if (this.#network.kind === "slow") {
      const { delayMs } = this.#network;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }

  #loses(): boolean {
    if (this.#network.kind !== "loses_replies" || !this.#network.isLost()) return false;
    this.lost++;
    return true;
  }

  async #carry(from: Deno.Conn, to: Deno.Conn, isLost: () => boolean): Promise<void> {
    const chunk = new Uint8Array(16_384);
    for (let count = await from.read(chunk); count !== null; count = await from.read(chunk)) {
      await this.#passes();
      if (isLost()) throw new Error("the reply is lost");
      for (let rest = chunk.subarray(0, count); rest.length > 0;) {
        rest = rest.subarray(await to.write(rest));
      }
    }
    await this.#passes();
    await to.closeWrite();
  }
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed before.
  }
}
