import type { Difference, DriftSeen } from "../../../action/drift-seen.ts";
import type { BmcAddress, MachineFacts, MachineOrigin } from "../../../action/machine-facts.ts";
import type { ActionRecord } from "../board/action-record.ts";
import type { MachineFailure, MachineRecord, PowerReading } from "../board/machine-record.ts";
import type { PageOptions } from "../board/page-options.ts";
import { fixLink, folded } from "./errors.ts";
import { type Fact, factSection, renderFacts } from "./facts.ts";
import { html } from "./html.ts";
import { renderTable, sectionsOf, tablePart } from "./parts.ts";
import { ACTION_COLUMNS, actionRow, badge, NOTHING, powerText } from "./rows.ts";
import { moment, tickingTime } from "./times.ts";
import { type Row, rowId, textRow, type View } from "./view.ts";

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
  const actions = (id: string, heading: string, records: readonly ActionRecord[], none?: string) =>
    tablePart({
      ...{ id, heading, columns: ACTION_COLUMNS, count: records.length },
      rows: records.map((record) => actionRow(record, nowMs)),
      ...(none !== undefined && { none }),
    });
  const { failures = [], powerChanges = [] } = machine ?? {};
  const parts = [
    tablePart({
      ...{ id: "drift", heading: "Desired state", columns: DRIFT_COLUMNS, count: differences.length },
      rows: differences.map(driftRow),
    }),
    actions("at-hand", "Running and waiting", inFlight),
    tablePart({
      ...{ id: "failures", heading: "Recent failures", columns: FAILURE_COLUMNS, count: failures.length },
      rows: failures.map((failure, index) =>
        failureRow(failure, String(failures.length - index), board.find(failure.key), nowMs),
      ),
    }),
    tablePart({
      ...{ id: "power", heading: "Power history", columns: POWER_COLUMNS, count: powerChanges.length },
      rows: powerChanges.map((change, index) => powerRow(change, String(powerChanges.length - index))),
    }),
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

const DRIFT_COLUMNS = ["Setting", "State", "Wanted", "Actual"] as const;

function driftRow({ field, state, wanted, actual, reason }: Difference): Row {
  const id = rowId(field);
  return textRow(
    id,
    html`<tr data-row="${id}">
<th scope="row" data-label="Setting">${field}</th>
<td data-label="State">${state}</td>
<td data-label="Wanted">${valueText(wanted)}</td>
<td data-label="Actual" class="reason">${reason ?? (actual === undefined ? NOTHING : valueText(actual))}</td>
</tr>`,
  );
}

function valueText(value: Difference["wanted"]): string {
  return Array.isArray(value) ? value.join(", ") || "none" : String(value);
}

const FAILURE_COLUMNS = ["Action", "When", "Class", "Reason"] as const;

function failureRow(
  { key, name, at, sinceMs, class: errorClass, reason }: MachineFailure,
  id: string,
  record: ActionRecord | undefined,
  nowMs: number,
): Row {
  return {
    id,
    version: `${key} ${record !== undefined}`,
    render: () => html`<tr data-row="${id}">
<th scope="row" data-label="Action">${record ? html`<a href="/actions/${key}">${name}</a>` : name}</th>
<td data-label="When" class="time">${tickingTime(sinceMs, nowMs, at, " ago")}</td>
<td data-label="Class">${errorClass ?? NOTHING}${fixLink(errorClass)}</td>
<td data-label="Reason" class="reason">${reason === undefined ? NOTHING : folded(reason)}</td>
</tr>`,
  };
}

const POWER_COLUMNS = ["Power", "First read", "Read by"] as const;

function powerRow({ state, at, by }: PowerReading, id: string): Row {
  return textRow(
    id,
    html`<tr data-row="${id}">
<th scope="row" data-label="Power">${badge(state)}</th>
<td data-label="First read" class="time">${moment(at)}</td>
<td data-label="Read by">${by}</td>
</tr>`,
  );
}
