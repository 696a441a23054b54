import { join } from "node:path";
import { stringify } from "yaml";
import { AMT_PORTS } from "../../shared/contract/connection.ts";
import { defined } from "../../shared/defined.ts";
import { printableLine } from "../../shared/printable.ts";
import { FINGERPRINT_ANNOTATION } from "../../worker/features/cluster-machines/connection-problems.ts";
import { apiVersionOf, KINDS } from "../../worker/kubernetes/client/kinds.ts";
import { type Credentials, MachineName } from "../../worker/machines/inventory-schema.ts";
import type { FoundCertificate } from "./bmc.ts";
import type { Discovered } from "./result.ts";

export const FORMATS = ["inventory", "objects"] as const;
export type Format = (typeof FORMATS)[number];

const HEADER = "# Written by pbnj-worker discover. Review it before use.\n";
const LONGEST_SERIAL = 40;
const YAML_FORMAT = { lineWidth: 0, aliasDuplicateObjects: false };
const DEFAULT_PORTS = { redfish: 443, ipmi: 623 };

type Provider = "redfish" | "ipmi" | "amt";

interface Named {
  readonly name: string;
  readonly bmc: Discovered;
  readonly providers: readonly Provider[];
}

export interface Composed {
  readonly text: string;
  readonly machines: number;
}

export interface ComposeOptions {
  readonly format: Format;
  /** The namespace of the objects. */
  readonly namespace: string;
  /** Whether fingerprints of certificates that no authority verifies are written. */
  readonly trustOnFirstUse: boolean;
}

/**
 * Returns the text of an inventory, or of Machine and Hardware objects. BMCs that no provider can use are left out. Objects
 * also leave out BMCs without accepted credentials, because a Machine needs a Secret.
 */
export function compose(found: readonly Discovered[], options: ComposeOptions): Composed {
  const isObjects = options.format === "objects";
  const machines = named(found).filter(
    ({ bmc, providers }) => providers.length > 0 && (!isObjects || bmc.login?.state === "accepted"),
  );
  const text = isObjects
    ? `${secretCommands(machines, options)}${machines.map((machine) => objectsOf(machine, options)).join("")}`
    : `machines:${machines.length === 0 ? " []" : ""}\n${machines.map((machine) => entryOf(machine, options)).join("")}`;
  return { text: `${HEADER}${text}`, machines: machines.length };
}

function named(found: readonly Discovered[]): readonly Named[] {
  const isOther = ({ login }: Discovered) => !(login?.state === "skipped" && login.sameAs !== undefined);
  const bmcs = found.filter(isOther);
  const wanted = bmcs.map(serialName);
  const taken = new Set<string>();
  return bmcs.map((bmc, index) => {
    const bySerial = wanted[index];
    const isUnique = bySerial !== undefined && wanted.indexOf(bySerial) === wanted.lastIndexOf(bySerial);
    const base = isUnique ? bySerial : hostName(bmc.host);
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
    taken.add(name);
    return { name, bmc, providers: providersOf(bmc) };
  });
}

/** Makes a name from the letters and digits of a serial number, which the BMC chose. */
function serialName({ login }: Discovered): string | undefined {
  const serial = login?.state === "accepted" ? login.machine?.serial : undefined;
  const safe = (serial ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return /[1-9a-z]/.test(safe) && safe.length <= LONGEST_SERIAL ? `node-${safe}` : undefined;
}

function hostName(host: string): string {
  const isAddress = /^[\d.]+$|:/.test(host);
  const name = MachineName.safeParse(isAddress ? "" : host.toLowerCase());
  if (name.success && name.data.length <= 63) return name.data;
  return `bmc-${host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 59)
    .replace(/^-+|-+$/g, "")}`;
}

function providersOf({ redfish, ipmi, amt }: Discovered): readonly Provider[] {
  const hasIpmi = ipmi && ipmi.version !== "rmcp" && ipmi.version !== "1.5";
  return [redfish && "redfish", hasIpmi && "ipmi", amt && "amt"].filter(
    (name): name is Provider => typeof name === "string",
  );
}

/** An entry has one fingerprint for all of its providers. */
function fingerprintOf({ bmc }: Named, { trustOnFirstUse }: ComposeOptions): string | undefined {
  const certificates: readonly (FoundCertificate | undefined)[] = [
    bmc.redfish?.certificate,
    bmc.amt?.certificate,
  ];
  const [certificate] = certificates.filter((one) => one !== undefined);
  return trustOnFirstUse && certificate && !certificate.isTrusted ? certificate.fingerprint : undefined;
}

function entryOf(machine: Named, options: ComposeOptions): string {
  const { name, bmc, providers } = machine;
  const { redfish, ipmi, amt, login } = bmc;
  const fingerprint = fingerprintOf(machine, options);
  const ports = {
    redfish: redfish && redfish.port !== DEFAULT_PORTS.redfish ? { port: redfish.port } : undefined,
    ipmi: providers.includes("ipmi") && ipmi?.port !== DEFAULT_PORTS.ipmi ? { port: ipmi?.port } : undefined,
    amt: amt && {
      scheme: amt.scheme,
      ...(amt.port === AMT_PORTS[amt.scheme] ? {} : { port: amt.port }),
    },
  };
  const entry = {
    name,
    host: bmc.host,
    providers,
    ...defined({
      tls: fingerprint === undefined ? undefined : { fingerprint },
      ...ports,
      credentials: login?.state === "accepted" ? defined(login.candidate.source) : undefined,
    }),
  };
  const text = stringify([entry], YAML_FORMAT);
  return indented(`${comment(bmc)}${text}`);
}

function objectsOf(machine: Named, options: ComposeOptions): string {
  const { name, bmc, providers } = machine;
  const { redfish, ipmi, amt, login } = bmc;
  const { namespace } = options;
  const fingerprint = fingerprintOf(machine, options);
  const candidate = login?.state === "accepted" ? login.candidate.number : 0;
  const rufioNames = { redfish: "gofish", ipmi: "ipmitool", amt: "IntelAMT" };
  const connection = {
    host: bmc.host,
    port: ipmi?.port ?? DEFAULT_PORTS.ipmi,
    authSecretRef: { name: secretName(candidate), namespace },
    insecureTLS: false,
    providerOptions: {
      preferredOrder: providers.map((provider) => rufioNames[provider]),
      ...defined({
        redfish: redfish && redfish.port !== DEFAULT_PORTS.redfish ? { port: redfish.port } : undefined,
        intelAMT: amt && { port: amt.port, hostScheme: amt.scheme },
      }),
    },
  };
  const annotations =
    fingerprint === undefined ? {} : { annotations: { [FINGERPRINT_ANNOTATION]: fingerprint } };
  const objects: object[] = [
    {
      apiVersion: apiVersionOf(KINDS.rufioMachine),
      kind: KINDS.rufioMachine.kind,
      metadata: { name, namespace, ...annotations },
      spec: { connection },
    },
  ];
  const macs = login?.state === "accepted" ? (login.machine?.macs ?? []) : [];
  if (macs.length > 0) {
    objects.push({
      apiVersion: apiVersionOf(KINDS.hardware),
      kind: KINDS.hardware.kind,
      metadata: { name, namespace },
      spec: {
        bmcRef: { apiGroup: KINDS.rufioMachine.group, kind: KINDS.rufioMachine.kind, name },
        // Nothing boots from the network until a person has chosen the interface.
        interfaces: macs.map((mac) => ({
          dhcp: { mac },
          netboot: { allowPXE: false, allowWorkflow: false },
        })),
      },
    });
  }
  return objects.map((object) => `---\n${comment(bmc)}${stringify(object, YAML_FORMAT)}`).join("");
}

/** Comments that say how to create the Secrets which the Machines name. Passwords are never written. */
function secretCommands(machines: readonly Named[], { namespace }: ComposeOptions): string {
  const used = machines.flatMap(({ bmc: { login } }) =>
    login?.state === "accepted" ? [login.candidate] : [],
  );
  const secrets = new Map(used.map(({ number, source }) => [number, source]));
  if (secrets.size === 0) return "";
  const lines = [...secrets]
    .toSorted(([a], [b]) => a - b)
    .map(([number, source]) => {
      const given = keyArguments(source);
      return given
        ? `kubectl create secret generic ${secretName(number)} --namespace ${namespace} ${given.join(" ")}`
        : `${secretName(number)} in ${namespace}, with keys username and password: what the command of entry ${number} prints`;
    });
  const intro = "Create the Secrets before you apply the objects. No password is in this text:";
  return [intro, ...lines.map((line) => `  ${printableLine(line)}`)].map((line) => `# ${line}\n`).join("");
}

/** The arguments with which kubectl reads user name and password; undefined if a command prints them. */
function keyArguments(source: Credentials): readonly string[] | undefined {
  if (source.command) return undefined;
  return (["username", "password"] as const).map((key) => {
    const file = source[`${key}File`] ?? (source.directory && join(source.directory, key));
    const variable = source[`${key}Env`];
    if (file) return `--from-file=${quoted(`${key}=${file}`)}`;
    if (variable) return `--from-file=${key}=<(printf %s "$${variable}")`;
    return `--from-literal=${quoted(`${key}=${source.username}`)}`;
  });
}

/** Quotes a word for a shell if it needs it. */
function quoted(word: string): string {
  return /^[\w./=:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function secretName(number: number): string {
  return `bmc-credentials-${number}`;
}

/** A comment for comparison with the label on the machine. */
function comment({ login, redfish }: Discovered): string {
  const machine = login?.state === "accepted" ? login.machine : undefined;
  const { vendor, model } = machine ?? { vendor: redfish?.vendor, model: redfish?.product };
  const parts = [
    [vendor, model].filter(Boolean).join(" "),
    machine?.serial && `serial number ${machine.serial}`,
    machine && machine.macs.length > 0 && `MAC addresses ${machine.macs.join(" ")}`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `# ${printableLine(parts.join(", "))}\n`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
