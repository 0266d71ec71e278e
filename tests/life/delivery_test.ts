/**
 * Deliveries and output of `monitor`, with secrets and hostile texts. The cases mostly wait for its timers, so they
 * all run at the same time.
 */
import "./due_cases.ts";
import "./summary_cases.ts";
import "./hostile_texts_cases.ts";
import "./notifications_cases.ts";
import "./secrets_cases.ts";
