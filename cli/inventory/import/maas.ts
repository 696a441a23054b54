import { isIPv6 } from "node:net";
import * as z from "zod/mini";
import { defined } from "../../../shared/defined.ts";
import type { Problem } from "../../../shared/document/problem.ts";
import { isTooDeep } from "../../../shared/json-depth.ts";
import { Secret } from "../../../shared/secret.ts";
import { type Imported, type ImportedMachine, refusedInput } from "./imported-machine.ts";

const Text = z.optional(z.nullable(z.string()));

/**
 * The fields of `power_parameters` that are read. They are defined in canonical/maas, src/provisioningserver/drivers/power/.
 */
const PowerParameters = z.object({
  power_address: Text,
  power_user: Text,
  power_pass: Text,
  /** IPMI: `LAN` is IPMI 1.5, `LAN_2_0` is IPMI 2.0. */
  power_driver: Text,
  /** IPMI: `auto`, `legacy`, `efi`. */
  power_boot_type: Text,
  cipher_suite_id: Text,
  privilege_level: Text,
  k_g: Text,
  /** Redfish: the last segment of the system's path. */
  node_id: Text,
});
type PowerParameters = z.infer<typeof PowerParameters>;

const MaasMachine = z.object({
  system_id: z.string(),
  hostname: z.string(),
  power_type: Text,
  power_parameters: z.optional(z.nullable(PowerParameters)),
});
type MaasMachine = z.infer<typeof MaasMachine>;

type Translated = Pick<ImportedMachine, "entry" | "username"> | string;

/**
 * Reads the JSON of `maas $PROFILE machines read`, followed by that of `maas $PROFILE machines power-parameters`: objects of
 * parameters by `system_id`. Machines may also contain their `power_parameters`, and the parameters of
 * `machine power-parameters` belong to the only machine of the file. Source: MAAS API reference, `GET
 * /api/2.0/machines/` and `op=power_parameters`; canonical/maas, src/maasserver/api/nodes.py, `PowersMixin`.
 */
export function readMaas(text: string, file: string): Imported {
  let documents: readonly unknown[];
  try {
    documents = parseJsonDocuments(text);
  } catch {
    // The parser's message quotes the text, which contains passwords.
    return refusedInput(file, "is not JSON");
  }
  if (isTooDeep(documents)) return refusedInput(file, "is nested too deeply");
  const machines: MaasMachine[] = [];
  const parameters = new Map<string, unknown>();
  let alone: unknown;
  for (const document of documents) {
    const listed = z.array(MaasMachine).safeParse([document].flat());
    if (listed.success) machines.push(...listed.data);
    else if (Array.isArray(document)) return refusedInput(file, "is not a list of MAAS machines");
    else if (isObject(document) && "power_address" in document) alone = document;
    else
      for (const [id, value] of Object.entries(isObject(document) ? document : {})) parameters.set(id, value);
  }
  if (machines.length === 0)
    return refusedInput(file, "has no machines: add the output of maas machines read");
  const skipped: Problem[] = [];
  const imported = machines.flatMap((machine) => {
    const { system_id: id, power_parameters: own } = machine;
    const found = own ?? parameters.get(id) ?? (machines.length === 1 ? alone : undefined);
    const read = readMachine(machine, found);
    if (typeof read !== "string") return [read];
    skipped.push({ source: machine.hostname, message: read });
    return [];
  });
  return { machines: imported, skipped, problems: [], notes: [] };
}

/** Returns the machine, or the reason why it cannot be imported. */
function readMachine(
  { hostname, system_id, power_type }: MaasMachine,
  found: unknown,
): ImportedMachine | string {
  const translate = TRANSLATIONS.get(power_type ?? "");
  if (!translate)
    return `power type ${power_type || "(none)"} is not supported: only ${[...TRANSLATIONS.keys()].join(", ")}`;
  if (found === undefined) return "has no power parameters: add the output of maas machines power-parameters";
  const parsed = PowerParameters.safeParse(found);
  if (!parsed.success) return "has power parameters that are not text";
  const parameters = parsed.data;
  if (!parameters.power_address) return "has no power_address";
  const translated = translate(parameters);
  if (typeof translated === "string") return translated;
  const { power_pass: password, k_g: kg } = parameters;
  if (password && translated.username === undefined) return "has a password but no power_user";
  return {
    source: `machine ${system_id}`,
    name: hostname.toLowerCase(),
    ...translated,
    ...defined({
      password: password ? new Secret(password) : undefined,
      kg: power_type === "ipmi" && kg ? new Secret(kg) : undefined,
    }),
  };
}

const TRANSLATIONS: ReadonlyMap<string, (parameters: PowerParameters) => Translated> = new Map([
  ["ipmi", ipmi],
  ["redfish", redfish],
  ["amt", amt],
]);

const BOOT_MODES: ReadonlyMap<string, string> = new Map([
  ["efi", "uefi"],
  ["legacy", "legacy"],
]);
const PRIVILEGES: ReadonlyMap<string, string> = new Map([
  ["USER", "user"],
  ["OPERATOR", "operator"],
  ["ADMIN", "administrator"],
]);

function ipmi(parameters: PowerParameters): Translated {
  const { power_driver: driver, cipher_suite_id: suite, power_user: username } = parameters;
  if (driver === "LAN") return "uses IPMI 1.5 (power_driver LAN), which is not supported";
  // Empty is FreeIPMI's default, 3, which may not be what the machine needs: this project's default is tried instead.
  if (suite && !["3", "17"].includes(suite)) return `uses cipher suite ${suite}: only 3 and 17 are supported`;
  return {
    entry: {
      host: parameters.power_address,
      providers: ["ipmi"],
      bootMode: BOOT_MODES.get(parameters.power_boot_type ?? ""),
      ipmi: {
        cipherSuite: suite ? Number(suite) : undefined,
        privilege: PRIVILEGES.get(parameters.privilege_level ?? ""),
      },
    },
    ...defined({ username: username || undefined }),
  };
}

/** MAAS accepts an address or a URL. */
function redfish({ power_address, power_user, node_id }: PowerParameters): Translated {
  const url = URL.parse(urlOf(power_address ?? ""));
  if (url?.username !== "" || url.password !== "") {
    return "has a power_address that is not an address or URL";
  }
  return {
    entry: {
      host: url.hostname,
      providers: ["redfish"],
      redfish: {
        port: url.port === "" ? undefined : Number(url.port),
        scheme: url.protocol === "http:" ? "http" : undefined,
        system: node_id || undefined,
      },
    },
    ...defined({ username: power_user || undefined }),
  };
}

function urlOf(address: string): string {
  if (/^https?:\/\//.test(address)) return address;
  return `https://${isIPv6(address) ? `[${address}]` : address}`;
}

/** MAAS always uses this account and plain HTTP. */
function amt({ power_address }: PowerParameters): Translated {
  return { entry: { host: power_address, providers: ["amt"] }, username: "admin" };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MOST_DOCUMENTS = 10_000;

/** Parses JSON documents that follow one another, as after `cat`. Throws a `SyntaxError` for anything else. */
function parseJsonDocuments(text: string): readonly unknown[] {
  const documents: unknown[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  // Reads each character once, because the text may be 16 MiB of arbitrary content.
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth > 0) continue;
      documents.push(JSON.parse(text.slice(start, at + 1)));
      if (documents.length > MOST_DOCUMENTS) {
        throw new SyntaxError(`has more than ${MOST_DOCUMENTS} documents`);
      }
      start = at + 1;
    }
  }
  if (text.slice(start).trim() !== "") throw new SyntaxError("ends within a document");
  return documents;
}
