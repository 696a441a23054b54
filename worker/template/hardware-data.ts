import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import type { Checked } from "../../shared/document/problem.ts";
import { fileProblemOf } from "../../shared/read-text-file.ts";
import { isList, isMap, plainValue, type Value, type ValueMap } from "./go/value.ts";

/** Abbreviations that Go writes in capitals. */
const CAPITALS = new Set(["dhcp", "id", "ip", "ipxe", "mac", "osie", "pxe", "ssh", "uefi", "url", "vlan"]);

/**
 * The data that Tinkerbell's controller passes to a template for a Hardware object. Reads the object from a YAML or JSON
 * file.
 */
export async function hardwareData(path: string): Promise<Checked<ValueMap>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    return { ok: false, problems: [{ source: "--hardware", message: `${path} ${fileProblemOf(thrown)}` }] };
  }
  const objects = objectsIn(text);
  const hardware = objects?.find((object) => isMap(object) && object["kind"] === "Hardware");
  if (!isMap(hardware)) {
    const message = objects ? "holds no object of kind Hardware" : "is no YAML";
    return { ok: false, problems: [{ source: path, message }] };
  }
  return { ok: true, value: { hardware, Hardware: formerData(hardware), references: {} }, warnings: [] };
}

function objectsIn(text: string): readonly Value[] | undefined {
  const documents = [...parseAllDocuments(text)];
  if (documents.some(({ errors }) => errors.length > 0)) return undefined;
  try {
    return documents.map((document) => plainValue(document.toJS({ maxAliasCount: 100 })));
  } catch {
    return undefined;
  }
}

/** The data of `.Hardware`, which uses the names of the controller's own code. */
function formerData({ spec }: ValueMap): ValueMap {
  const of = isMap(spec) ? spec : {};
  const { disks, interfaces, metadata, userData, vendorData } = of;
  return {
    Disks: isList(disks) ? disks.map((disk) => (isMap(disk) ? (disk["device"] ?? "") : "")) : [],
    Interfaces: isList(interfaces) ? interfaces.map(withGoNames) : [],
    Metadata: withGoNames(metadata ?? {}),
    UserData: userData ?? "",
    VendorData: vendorData ?? "",
  };
}

function withGoNames(value: Value): Value {
  if (isList(value)) return value.map(withGoNames);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [goName(name), withGoNames(inner)]));
}

function goName(name: string): string {
  const words = name.split(/_|(?<=[a-z])(?=[A-Z])/);
  return words
    .map((word) =>
      CAPITALS.has(word.toLowerCase()) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1),
    )
    .join("");
}
