/**
 * Sends emails and prints the outcome of each, a line of JSON, as a separate program: a test decides its permissions and
 * its trusted CAs. Arguments, for each email: the email as JSON, and its protection; empty: it follows from the port.
 */
import type { OutgoingMail } from "../../src/domain/system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createMail, type Protection, protectionOf } from "../../src/system/mail/mail.ts";
import { onUncaughtError } from "../../src/system/process_events.ts";

// As in the program itself.
onUncaughtError((error) => {
  console.error(error);
  Deno.exit(70);
});

const args = [...Deno.args];
for (let mail = args.shift(); mail !== undefined; mail = args.shift()) {
  const protection = args.shift() ?? "";
  const steps: string[] = [];
  const protect = protection === "" ? protectionOf : () => protection as Protection;
  const end = await createMail(createRealClock(), protect).send(JSON.parse(mail) as OutgoingMail, {
    onStep: (step) => steps.push(step),
    signal: new AbortController().signal,
  });
  console.log(JSON.stringify({ steps, end }));
}
