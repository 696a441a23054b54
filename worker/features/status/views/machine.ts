import type { Difference, DriftSeen } from "../../../core/action/drift-seen.ts";
import type { BmcAddress, MachineFacts, MachineOrigin } from "../../../core/action/machine-facts.ts";
import type { MachineFailure, MachineRecord, PowerReading } from "../board/machine-record.ts";
import type { PageOptions } from "../board/page-options.ts";
import type { ActionRecord } from "../board/shown-action.ts";
import { fixLink, folded } from "./error-list.ts";
import { type Fact, factSection, renderFacts } from "./facts.ts";
import { html } from "./html.ts";
import { renderTable, sectionsOf, tablePart } from "./parts.ts";
import { actionKind, badge, NOTHING, powerText } from "./rows.ts";
import type { RowKind } from "./table-row.ts";
import { moment, tickingTime } from "./times.ts";
import { rowId, type View } from "./view.ts";

/** One machine: what is known of it, its actions, failures and power. Undefined for an unknown machine. */
export function machineView(name: string, { board, facts, clock }: PageOptions): View | undefined {
  const machine = board.machine(name);
  const isListed = facts.machines().includes(name);
  if (!machine && !isListed) return undefined;
  const nowMs = clock.monotonicMs();
  const inFlight = (machine?.inFlight ?? []).flatMap((key) => board.find(key) ?? []);
  const ended = board.ended().filter((record) => record.machine === name);
  const about: Fact[] = [
    ...originFacts(facts.machineOrigin?.(name)),
    ...addressFacts(facts.bmcAddress?.(name), machine),
    ...(machine?.known ? learnedFacts(machine.known.facts) : []),
  ];
  const drift = facts.machineDrift?.(name);
  const differences = drift?.differences ?? [];
  if (drift) about.push(...driftFacts(drift));
  const version = JSON.stringify([machine?.revision, isListed, about.map(([, value]) => value)]);
  const details = factSection("machine", version, () => [
    !isListed && ["Inventory", "no longer has this machine"],
    ["Power, last seen", powerText(machine, nowMs)],
    machine?.power && ["Read by", html`${machine.power.by} at ${moment(machine.power.at)}`],
    ...about,
    machine?.known && ["Details, last read by", html`${machine.known.by} at ${moment(machine.known.at)}`],
  ]);
  const actions = (id: string, heading: string, items: readonly ActionRecord[], none?: string) =>
    tablePart({ id, heading, kind: actionKind, items, nowMs, ...(none !== undefined && { none }) });
  const failures = numbered(machine?.failures ?? [], (failure) => ({ record: board.find(failure.key) }));
  const powerChanges = numbered(machine?.powerChanges ?? [], () => ({}));
  const parts = [
    tablePart({ id: "drift", heading: "Desired state", kind: driftKind, items: differences, nowMs }),
    actions("at-hand", "Running and waiting", inFlight),
    tablePart({ id: "failures", heading: "Recent failures", kind: failureKind, items: failures, nowMs }),
    tablePart({ id: "power", heading: "Power history", kind: powerKind, items: powerChanges, nowMs }),
    actions("ended", "Ended", ended, "No ended action is kept."),
  ];
  return {
    status: 200,
    title: name,
    sections: [details, ...sectionsOf(parts)],
    render: () => html`<h1><span class="kind">Machine</span> ${name}</h1>
${renderFacts(details)}
${parts.map(renderTable)}`,
  };
}

function originFacts(origin: MachineOrigin | undefined): readonly Fact[] {
  if (!origin) return [];
  const { source, object, problem } = origin;
  const from = ["Source", object === undefined ? source : `${source}: ${object}`] as const;
  return problem === undefined ? [from] : [from, ["Problem of the source or object", problem]];
}

/** From the inventory. */
function addressFacts(address: BmcAddress | undefined, machine: MachineRecord | undefined): readonly Fact[] {
  const { url, host, providers = [], certificate } = address ?? {};
  const link = url === undefined ? host : html`<a href="${url}" rel="noreferrer">${host}</a>`;
  const facts: readonly (Fact | false | undefined)[] = [
    link !== undefined && ["BMC", link],
    machine?.provider !== undefined && ["Provider in use", machine.provider],
    providers.length > 0 && ["Providers, in order", providers.join(", ")],
    certificate !== undefined && ["Accepted certificate", certificate],
  ];
  return facts.flatMap((fact) => (fact ? [fact] : []));
}

const LABELS: Readonly<Record<keyof MachineFacts, string>> = {
  vendor: "Vendor",
  model: "Model",
  serial: "Serial number",
  biosVersion: "BIOS version",
  bmcVendor: "BMC vendor",
  bmcModel: "BMC model",
  bmcSerial: "BMC serial number",
  bmcFirmware: "BMC firmware",
  certificate: "Certificate",
};

function learnedFacts(known: MachineFacts): readonly Fact[] {
  return Object.entries(LABELS).flatMap(([key, label]) => {
    const value = known[key as keyof MachineFacts];
    return value === undefined ? [] : [[label, value] as const];
  });
}

function driftFacts({ comparedAt, error, differences, enforcement }: DriftSeen): readonly Fact[] {
  const count = differences.filter(({ state }) => state === "different").length;
  const text =
    count === 0 ? "nothing differs" : `${count} ${count === 1 ? "value differs" : "values differ"}`;
  const facts: readonly (Fact | undefined)[] = [
    comparedAt && ["Desired state, last compared", html`${text} at ${moment(comparedAt)}`],
    error && ["Comparison failed", html`${error.class}: ${folded(error.message)}`],
    enforcement && ["Corrections", html`${enforcement.state}: ${folded(enforcement.reason)}`],
  ];
  return facts.flatMap((fact) => (fact ? [fact] : []));
}

/** The oldest one, which is the last, has the number 1. */
function numbered<T, More>(items: readonly T[], more: (item: T) => More) {
  return items.map((item, index) => ({ ...item, ...more(item), number: String(items.length - index) }));
}

const driftKind: RowKind<Difference> = {
  id: ({ field }) => rowId(field),
  columns: [
    { head: "Setting", show: ({ field }) => field },
    { head: "State", show: ({ state }) => state },
    { head: "Wanted", show: ({ wanted }) => valueText(wanted) },
    {
      ...{ head: "Actual", class: "reason" },
      show: ({ actual, reason }) => reason ?? (actual === undefined ? NOTHING : valueText(actual)),
    },
  ],
};

function valueText(value: Difference["wanted"]): string {
  return Array.isArray(value) ? value.join(", ") || "none" : String(value);
}

interface Numbered {
  readonly number: string;
}

const failureKind: RowKind<MachineFailure & Numbered & { readonly record: ActionRecord | undefined }> = {
  id: ({ number }) => number,
  version: ({ key, record }) => `${key} ${record !== undefined}`,
  columns: [
    {
      head: "Action",
      show: ({ key, name, record }) => (record ? html`<a href="/actions/${key}">${name}</a>` : name),
    },
    {
      ...{ head: "When", class: "time" },
      show: ({ sinceMs, at }, nowMs) => tickingTime(sinceMs, nowMs, at, " ago"),
    },
    { head: "Class", show: ({ class: of }) => html`${of ?? NOTHING}${fixLink(of)}` },
    {
      ...{ head: "Reason", class: "reason" },
      show: ({ reason }) => (reason === undefined ? NOTHING : folded(reason)),
    },
  ],
};

const powerKind: RowKind<PowerReading & Numbered> = {
  id: ({ number }) => number,
  columns: [
    { head: "Power", show: ({ state }) => badge(state) },
    { head: "First read", class: "time", show: ({ at }) => moment(at) },
    { head: "Read by", show: ({ by }) => by },
  ],
};
