import { describeExposure } from "../config/listen_rules.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Listen } from "../domain/generated/config.ts";
import { parseListenAddress } from "../shared/listen_address.ts";
import { type Invocation, type OptionSpec, optionValue, UsageError } from "./command_definition.ts";

export const LISTEN_OPTION: OptionSpec = {
  name: "listen",
  value: "ADDRESS",
  description:
    'address of the HTTP endpoint, such as 127.0.0.1:9797 (default: "listen" of the config, else none)',
};

const INTERVAL_MS = 10_000;

/**
 * Returns the HTTP endpoint of a command line and a config; `null`: none.
 *
 * @throws {UsageError} If the address is invalid, or others could connect to it without a token.
 */
export function listenOf(
  invocation: Invocation,
  { listen, written }: Pick<LoadedConfig, "listen" | "written">,
): Listen | null {
  const address = optionValue(invocation, LISTEN_OPTION.name);
  if (address === undefined) return listen;
  // The missing part may be the token.
  if (listen === null && "listen" in written) return null;
  if (parseListenAddress(address) === null) {
    throw new UsageError(
      `--listen is "${address}", expected an IP address with a port, such as 127.0.0.1:9797`,
    );
  }
  const settings = { intervalMs: INTERVAL_MS, ...listen, address };
  const exposure = describeExposure(settings);
  if (exposure !== null) {
    throw new UsageError(`--listen: ${exposure}`, 'set "listen" with a "token" in the config');
  }
  return settings;
}
