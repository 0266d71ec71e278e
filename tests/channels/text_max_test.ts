import assert from "node:assert/strict";
import { describeItem } from "../../src/channels/describe_item.ts";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { itemFields } from "../../src/channels/notification_fields.ts";
import { notificationBody, notificationBrief } from "../../src/channels/email.ts";
import { truncate } from "../../src/shared/text.ts";
import type { MessageItem, TextMax } from "../../src/domain/delivery.ts";
import { makeItem } from "../support/channel_delivery.ts";

/** The text of an item for each kind. */
const WRITERS: Readonly<Record<keyof typeof CHANNEL_KINDS, (item: MessageItem) => unknown>> = {
  console: describeItem,
  desktop_notification: describeItem,
  file_touch: () => "",
  email: (item) => [notificationBody(item), notificationBrief(item)],
  webhook: (item) => [itemFields(item, { isTest: false, itemCount: 1 }), describeItem(item)],
  command: (item) => [itemFields(item, { isTest: false, itemCount: 1 }), describeItem(item)],
};

const TEXTS: Readonly<Record<string, string>> = {
  "short": "short",
  "long lines": "x".repeat(200_000),
  "many lines": "line\n".repeat(50_000),
  "pairs": "😀".repeat(100_000),
  "mostly escape sequences": "\u001b[31mx".repeat(30_000),
};

Deno.test("textMax preserves the part of a text that each channel kind sends", async (t) => {
  for (const [kind, write] of Object.entries(WRITERS)) {
    const { output: outputMax, detail: detailMax }: TextMax =
      CHANNEL_KINDS[kind as keyof typeof WRITERS].textMax;
    for (const [name, text] of Object.entries(TEXTS)) {
      await t.step(`${kind}: ${name}`, () => {
        const output = truncate(text, outputMax);
        const detail = truncate(text, detailMax);
        assert.ok(output.length <= outputMax && detail.length <= detailMax);
        assert.deepEqual(
          write(makeItem({ output, detail })),
          write(makeItem({ output: text, detail: text })),
        );
      });
    }
  }
});
