import { readFile } from "node:fs/promises";

const PAGE = new URL("../../docs/reference/check.md", import.meta.url);
const ROW = /^\| `(\w+)` \| .+ \| (\d+|–) \| (\d+|–) \|$/gm;

/** The round trips of each check as its page documents them, in the page's order, and their sums. */
export async function documentedRoundTrips() {
  const rows = [...(await readFile(PAGE, "utf8")).matchAll(ROW)];
  const checks = rows.map(([, check = "", redfish, ipmi]) => ({
    check,
    redfish: roundTrips(redfish),
    ipmi: roundTrips(ipmi),
  }));
  const sum = (provider: "redfish" | "ipmi") => checks.reduce((total, row) => total + row[provider], 0);
  return { checks, total: { redfish: sum("redfish"), ipmi: sum("ipmi") } };
}

const roundTrips = (cell = "–") => (cell === "–" ? 0 : Number(cell));
