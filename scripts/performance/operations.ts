/** What every peer is asked for, the machine's power before it, and what the line that says so begins with. */
export const OPERATIONS = {
  state: { title: "power state", before: "on", result: /^on$/ },
  on: { title: "on, verified", before: "off", result: /^on$/ },
  off: { title: "off, verified", before: "on", result: /^off$/ },
  "pxe-once": { title: "PXE once, read back", before: "on", result: /^pxe$/ },
  inventory: { title: "inventory", before: "on", result: /\S/ },
  "insert-media": { title: "insert virtual media", before: "on", result: /^inserted$/ },
} as const satisfies Readonly<
  Record<string, { readonly title: string; readonly before: "on" | "off"; readonly result: RegExp }>
>;
export type Operation = keyof typeof OPERATIONS;
export const operationNames = Object.keys(OPERATIONS) as readonly Operation[];
