import { loadCheckReferences } from "../actions/check/check-references.ts";
import { markdownTable } from "./markdown-table.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the checks: npm run docs -->";

/** The page that lists all checks with their cost. */
export async function refreshCheckPage(current: string): Promise<string> {
  const rows = (await loadCheckReferences()).map(({ name, means, roundTrips: { redfish, ipmi } }) => [
    `\`${name}\``,
    means,
    String(redfish ?? "–"),
    String(ipmi ?? "–"),
  ]);
  const table = markdownTable(["check", "`ok` means", "Redfish", "IPMI"], rows);
  return refreshBetweenMarks(current, START, table);
}
