/** Names and captured values of steps, which `http_request` and `tcp_connect` have. */

export function stepName({ name }: { readonly name?: string }, index: number): string {
  return name ?? `step ${index + 1}`;
}

export function metricName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, "_").toLowerCase();
}

const CAPTURED = /\$\{captured:([^{}]*)\}/g;

export function capturedNames(text: string): readonly string[] {
  return [...text.matchAll(CAPTURED)].map(([, name = ""]) => name);
}

export function replaceCaptured(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(CAPTURED, (_whole, name: string) => valueOf(name));
}
