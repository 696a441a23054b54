/** Values of the chart, as a file of them would hold them. */
export interface Values {
  readonly [key: string]: unknown;
}

/** What every installation must say. */
export const needed: Values = {
  image: { repository: "registry.example/pbnj-worker/worker" },
  tink: { address: "tinkerbell:42113" },
  http: { auth: "none" },
};

/** Maps merge key by key, and everything else replaces, as Helm does it. */
export function mergeValues(...all: readonly Values[]): Values {
  return all.reduce(merge, {});
}

function merge(one: Values, other: Values): Values {
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const present = merged[key];
    merged[key] = isMap(present) && isMap(value) ? merge(present, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
