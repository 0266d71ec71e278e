import type { DatabaseTarget } from "./connections.ts";

export interface PostgresPlace {
  /** Tried in this order; at least one. */
  readonly targets: readonly DatabaseTarget[];
  readonly database: string;
  readonly user: string;
  /** `null`: none is needed. */
  readonly password: string | null;
  readonly schema: string;
  /** Whether statements are prepared once; not with a pooler. */
  readonly prepare: boolean;
  /** A `postgres://` URL without a password, for messages. */
  readonly url: string;
}
