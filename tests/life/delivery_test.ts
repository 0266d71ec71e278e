/**
 * Deliveries and output of `monitor`, with secrets and hostile texts. The cases mostly wait for its timers, so they
 * all run at the same time.
 */
import "./secrets_cases.ts";
