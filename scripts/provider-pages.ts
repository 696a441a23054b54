import { connectionFieldTable } from "../actions/harness/input/connection-input.ts";
import { DRIVER_NAMES, isCapability, OPERATIONS } from "../shared/bmc/operations/table.ts";
import { loadProvider } from "../shared/bmc/providers/load.ts";
import { quirkNotes } from "../shared/bmc/providers/redfish/quirks.ts";
import { ProviderName } from "../shared/contract/vocabulary.ts";
import { fieldTable } from "./action-readme/input-table.ts";
import { markdownTable } from "./markdown-table.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the provider: npm run docs -->";

/** The page of all providers and their capabilities. */
export async function refreshProviderTable(current: string): Promise<string> {
  const providers = await Promise.all(ProviderName.options.map(loadProvider));
  const head = ["operation", ...providers.map(({ name }) => `[${name}](${name}.md)`)];
  const supports = DRIVER_NAMES.map((name) => ({
    title: OPERATIONS[name].title,
    cells: providers.map(({ capabilities }) => (!isCapability(name) || capabilities.has(name) ? "yes" : "")),
  }));
  // Operations that the same providers support are one row.
  const rows = [...Map.groupBy(supports, ({ cells }) => cells.join()).values()].map((same) => [
    same.map(({ title }) => title).join("; "),
    ...(same[0]?.cells ?? []),
  ]);
  return refreshBetweenMarks(current, START, markdownTable(head, rows));
}

/** One provider's page: its options and quirks. */
export async function refreshProviderPage(name: ProviderName, current: string): Promise<string> {
  const prefix = `${name.toUpperCase()}_`;
  const fields = connectionFieldTable.filter(({ env }) => env.startsWith(prefix));
  const quirks = name === "redfish" ? `\n\n## Vendors and quirks\n\n${quirkTable()}` : "";
  return refreshBetweenMarks(current, START, `## Options\n\n${fieldTable(fields)}${quirks}`);
}

function quirkTable(): string {
  const rows = quirkNotes.map(({ name, vendors, reason }) => [`\`${name}\``, vendors, reason]);
  return markdownTable(["quirk", "seen on", "why"], rows);
}
