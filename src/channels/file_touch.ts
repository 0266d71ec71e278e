import type { ChannelKindEntry } from "../domain/deliver.ts";
import type { Delivery } from "../domain/delivery.ts";
import { oneLine } from "../shared/truncate.ts";
import { DELIVERED, notDelivered } from "./failures.ts";

/** The channel that sets a file's modification time for each notification, and creates the file if it is missing. */
export const fileTouchKind: ChannelKindEntry<"file_touch"> = {
  deliver: async (_message, channel, { system, signal, onStep }) => {
    const { path } = channel.parameters;
    signal.throwIfAborted();
    try {
      await unlessAborted(system.files.touch(path), signal);
    } catch (error) {
      signal.throwIfAborted();
      return explain(error, path);
    }
    onStep("touched");
    return DELIVERED;
  },
  gathers: () => true,
  describe: (channel) => `file ${channel.parameters.path}`,
  needs: ({ parameters: { path } }) => Promise.resolve({ write: [path] }),
  staleAfterMs: null,
  textMax: { output: 0, detail: 0 },
};

/** What somebody has to mend, by the system's code. Anything else, such as a full disk, may pass. */
const REFUSALS_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ELOOP: "symbolic links on its path form a loop",
  ENAMETOOLONG: "its path is longer than the system takes",
  ENOENT: "its folder does not exist",
  ENOTDIR: "its path leads through something that is no folder",
  ENXIO: "it is a pipe or a socket that nobody reads",
  EPERM: "it belongs to another user and is not empty, or nobody may change it",
  EROFS: "its file system is read-only",
};

function explain(error: unknown, path: string): Delivery {
  if (error instanceof Deno.errors.NotCapable) {
    return notDelivered(`cannot touch "${path}": grant --allow-write=${path}`, { retryable: false });
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const refusal = REFUSALS_BY_CODE[code];
  const reason = refusal ?? systemWords(error instanceof Error ? error.message : String(error));
  return notDelivered(`cannot touch "${path}": ${reason}`, { retryable: refusal === undefined });
}

/** What stands in `ENOSPC: no space left on device, open '…'` or `No space left on device (os error 28)`. */
function systemWords(message: string): string {
  return oneLine(
    message.replace(/^E[A-Z0-9]+: /, "").replace(/, \w+ '.*$/s, "").replace(/ \(os error \d+\).*$/s, ""),
  );
}

/** A file system that hangs cannot be called off; then this only waits no longer. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
