import { connectionFieldTable } from "../actions/harness/input/connection-input.ts";
import type { Capability, Provider } from "../shared/bmc/provider.ts";
import { loadProvider } from "../shared/bmc/providers/load.ts";
import { quirkNotes } from "../shared/bmc/providers/redfish/quirks.ts";
import { ProviderName } from "../shared/contract/vocabulary.ts";
import { fieldRow, INPUT_HEAD } from "./action-readme/input-tables.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the provider: npm run docs -->";

/** What people call a capability, in the order of the table. */
const CAPABILITIES: Readonly<Record<Capability, string>> = {
  media: "virtual media",
  users: "users",
  manager: "BMC reset, info, clock",
  ntp: "NTP servers",
  sel: "event log",
  sol: "end a serial-over-LAN session",
  nmi: "NMI",
  screenshot: "screenshot",
  inventory: "inventory",
};

/** The page of all providers: which can do what. */
export async function refreshProviderTable(current: string): Promise<string> {
  const providers = await Promise.all(ProviderName.options.map(loadProvider));
  const head = ["operation", ...providers.map(({ name }) => `[${name}](${name}.md)`)];
  const rows = [
    ["power, boot device", ...providers.map(() => "yes")],
    ...Object.entries(CAPABILITIES).map(([capability, label]) => [
      label,
      ...providers.map((provider) => (has(provider, capability) ? "yes" : "")),
    ]),
  ];
  return refreshBetweenMarks(current, START, markdownTable(head, rows));
}

/** One provider's page: its options, and its quirks where it has any. */
export async function refreshProviderPage(name: ProviderName, current: string): Promise<string> {
  const prefix = `${name.toUpperCase()}_`;
  const fields = connectionFieldTable.filter(({ env }) => env.startsWith(prefix));
  const options = [INPUT_HEAD, ...fields.map(fieldRow)].join("\n");
  const quirks = name === "redfish" ? `\n\n## Vendors and quirks\n\n${quirkTable()}` : "";
  return refreshBetweenMarks(current, START, `## Options\n\n${options}${quirks}`);
}

function quirkTable(): string {
  const rows = quirkNotes.map(({ name, vendors, reason, source }) => [
    `\`${name}\``,
    vendors,
    reason,
    source,
  ]);
  return markdownTable(["quirk", "seen on", "why", "source"], rows);
}

function has(provider: Provider, capability: string): boolean {
  return [...provider.capabilities].some((offered) => offered === capability);
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
