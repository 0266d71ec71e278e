import { messageOf } from "../shared/describe_error.ts";
import type { ChannelKindEntry, TextMax } from "../domain/delivery.ts";
import { DELIVERED, notDelivered } from "./clean_text.ts";
import { describeItem, OUTPUT_LENGTH_MAX } from "./describe_item.ts";
import { timeText } from "../shared/local_time.ts";

export const LINE_TEXT_MAX: TextMax = { output: OUTPUT_LENGTH_MAX, detail: 0 };

export const consoleKind: ChannelKindEntry<"console"> = {
  deliver: (message, _channel, context) => {
    try {
      for (const item of message.items) {
        // A console is read like a log.
        const time = timeText(item.notification.decidedAtMs, item.timeZone);
        context.writeLine(`${message.isTest ? "TEST " : ""}${time} ${describeItem(item)}`);
      }
    } catch (error) {
      return Promise.resolve(notDelivered(messageOf(error), { retryable: true }));
    }
    context.onStep("written");
    return Promise.resolve(DELIVERED);
  },
  batches: () => true,
  describe: () => "console",
  isPrinted: true,
  requiredPermissions: () => ({}),
  textMax: LINE_TEXT_MAX,
};
