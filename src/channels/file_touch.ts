import { unlessAborted } from "../shared/deadline.ts";
import type { ChannelKindEntry, Delivery } from "../domain/delivery.ts";
import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";
import { DELIVERED, notDelivered } from "./clean_text.ts";

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
  batches: () => true,
  describe: (channel) => `file ${channel.parameters.path}`,
  requiredPermissions: ({ parameters: { path } }) => ({ write: [path] }),
  textMax: { output: 0, detail: 0 },
};

/** A user has to fix these. Anything else, such as a full disk, may pass. */
const REFUSALS = "EACCES EISDIR ELOOP ENAMETOOLONG ENOENT ENOTDIR ENXIO EPERM EROFS".split(" ");

function explain(error: unknown, path: string): Delivery {
  const isRefusal = error instanceof Deno.errors.NotCapable || REFUSALS.includes(systemCodeOf(error));
  const reason = describeFileError(error, { path, access: "write" });
  return notDelivered(`cannot touch "${path}": ${reason}`, { retryable: !isRefusal });
}
