export const FORMATS = ["csv", "maas", "rufio"] as const;
export type Format = (typeof FORMATS)[number];

const KUBERNETES = /(?:^|[{,])\s*"?apiVersion"?\s*:/m;

/** Guesses from the text: Kubernetes objects are YAML or JSON with an `apiVersion`, and MAAS prints JSON. */
export function detectFormat(text: string): Format {
  if (KUBERNETES.test(text)) return "rufio";
  return /^\s*[[{]/.test(text) ? "maas" : "csv";
}
