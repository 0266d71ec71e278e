import type { ChannelOf } from "../domain/channel.ts";
import { chosenEnvironment, PASSED_VARIABLES } from "../shared/find_command.ts";
import type { ChannelKindEntry, Delivery, Message, MessageItem } from "../domain/delivery.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import { describeItem, describeState, factTexts, ITEM_TEXT_MAX, itemFields } from "./describe_item.ts";
import { afterColon, DELIVERED, firstLine, notDelivered } from "./clean_text.ts";
import { truncate } from "../shared/text.ts";

/** The channel that runs a command, with the notification in its environment and as JSON on its standard input. */
export const commandKind: ChannelKindEntry<"command"> = {
  deliver: async (message, channel, context) => {
    for (const item of message.items) {
      // A batch of the channel as it was before an edit: each command gets its own message.
      const id = message.items.length === 1 ? message.id : item.notification.id;
      const fields = itemFields(item, { isTest: message.isTest, itemCount: 1 });
      const end = await context.system.processes.run({
        path: channel.parameters.path,
        arguments: channel.parameters.arguments,
        environment: chosenEnvironment(context.system.environment, {
          ...channel.parameters.environment,
          ...notificationVariables(item, { id, isTest: message.isTest }),
        }),
        directory: context.directory,
        timeoutMs: channel.parameters.timeoutMs,
        input: `${JSON.stringify(fields)}\n`,
        outputBytesMax: OUTPUT_BYTES_MAX,
      }, context.signal);
      const delivery = evaluate(end, channel);
      if (!delivery.delivered) return delivery;
      context.onStep("exited with code 0");
    }
    return DELIVERED;
  },
  batches: () => false,
  isAboutOne: () => true,
  describe: (channel) => `command ${channel.parameters.path}`,
  requiredPermissions: ({ parameters }) => ({ run: [parameters.path], env: PASSED_VARIABLES }),
  textMax: ITEM_TEXT_MAX,
};

const OUTPUT_BYTES_MAX = 64 * 1024;
/** A variable that is too long prevents the command from starting; the whole text is on its standard input. */
const VARIABLE_LENGTH_MAX = 8 * 1024;
/**
 * Exit codes whose cause has to be fixed: of BSD's sysexits EX_USAGE, EX_DATAERR, EX_NOUSER, EX_NOPERM and EX_CONFIG,
 * and of the shell "cannot execute" and "not found". Commands use most others, 1 above all, for any failure, including
 * an unreachable network; so a retry may help.
 */
const REFUSING_EXIT_CODES: readonly number[] = [64, 65, 67, 77, 78, 126, 127];

function notificationVariables(item: MessageItem, { id, isTest }: Pick<Message, "id" | "isTest">) {
  const { missed_problem: _, ...fields } = itemFields(item, { isTest, itemCount: 1 });
  const summary = `${isTest ? "TEST " : ""}${describeItem(item)}`;
  return Object.fromEntries(
    Object.entries({ ...fields, ...factTexts(item), text: describeState(item), message_id: id, summary }).map(
      ([name, value]) => {
        // A variable cannot contain a NUL.
        const text = String(value ?? "").replaceAll("\0", "\uFFFD");
        return [`MONITOR_${name.toUpperCase()}`, truncate(text, VARIABLE_LENGTH_MAX)];
      },
    ),
  );
}

function evaluate(end: ProcessEnd, channel: ChannelOf<"command">): Delivery {
  const program = `"${channel.parameters.path}"`;
  if (end.ended === "not_started") {
    return notDelivered(`cannot start ${program}: ${end.reason}`, { retryable: end.isShortage ?? false });
  }
  const words = afterColon(firstLine(end.stderr.text) || firstLine(end.stdout.text));
  if (end.ended === "exited") {
    if (end.code === 0) return DELIVERED;
    const retryable = !REFUSING_EXIT_CODES.includes(end.code);
    return notDelivered(`${program} exited with code ${end.code}${words}`, { retryable });
  }
  const what = end.ended === "signalled"
    ? `was terminated by ${end.signal}`
    : `timed out after ${channel.parameters.timeoutMs / 1000} s`;
  return notDelivered(`${program} ${what}${words}`, { retryable: true, mayHaveArrived: true });
}
