import { composeInventory } from "../../../cli/inventory/import/compose-inventory.ts";
import { readCsv } from "../../../cli/inventory/import/csv.ts";
import type { Imported } from "../../../cli/inventory/import/imported-machine.ts";
import { readMaas } from "../../../cli/inventory/import/maas.ts";
import { readRufio } from "../../../cli/inventory/import/rufio.ts";
import { EditError, editFingerprints } from "../../../cli/inventory/pin/edit-fingerprints.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";
import type { Target } from "../target.ts";

const CSV = 'name,bmc,user,password,type,port\nnode-1,192.0.2.1,admin,"a,""b",redfish,8443\nnode-2;b\n';
const MAAS = `[{"system_id": "a", "hostname": "n", "power_type": "ipmi"}]
{"a": {"power_address": "192.0.2.1", "power_user": "u", "power_pass": "p", "cipher_suite_id": "17"}}`;
const RUFIO = `apiVersion: bmc.tinkerbell.org/v1alpha1
kind: Machine
metadata: {name: a, namespace: b}
spec: {connection: {host: c, authSecretRef: {name: d}}}
---
apiVersion: v1
kind: Secret
metadata: {name: d, namespace: b}
data: {username: dQ==, password: cA==}
`;
const INVENTORY = `machines:
  - name: a # one
    host: b
    tls: {verify: false}
  - {name: c, host: d}
`;
const FINGERPRINT = "ab".repeat(32);
/** The limit of the other readers of YAML. */
const YAML_LONGEST = 64 * 1_024;

const composed = (read: (text: string, file: string) => Imported) => (input: string) => {
  const imported = read(input, "file");
  return [imported, composeInventory(imported, "secrets")];
};

/** What operators import, and the inventory that they pin fingerprints in. */
export const inventoryImportTargets: readonly Target[] = [
  {
    name: "import-csv",
    seeds: [CSV],
    tokens: ["a,", '"', '""', "\n", "\r\n", ";", "\t", "name,bmc\n", "a,b\n", "constructor"],
    around: [["name,bmc\n", ""]],
    call: composed(readCsv),
  },
  {
    name: "import-maas",
    seeds: [MAAS],
    tokens: ["{}", "[]", '"', '\\"', "[", "]", '{"system_id": "a", "hostname": "b"},', '"__proto__": {},'],
    around: [["[", "]"]],
    call: composed(readMaas),
  },
  {
    name: "import-rufio",
    seeds: [RUFIO],
    tokens: ["---\n", "--- ", "...\n", "- a\n", "kind: Machine\n", "&a ", "*a,", "items: []\n"],
    longest: YAML_LONGEST,
    call: composed(readRufio),
  },
  {
    name: "fingerprint-edit",
    seeds: [INVENTORY],
    tokens: ["- {name: a, host: b}\n", "tls: {}", "\r\n", "&a ", "*a,", "# a\n", "  "],
    longest: YAML_LONGEST,
    call: (input) => {
      const parsed = parseEntries({ path: "i.yaml", text: input, env: {}, readFile: () => "", alone: true });
      if (!parsed.ok) return undefined;
      const pins = parsed.value.map(({ name, tls }) => {
        return { machine: name, fingerprint: FINGERPRINT, verifies: tls.verify };
      });
      return editFingerprints(input, pins);
    },
    throws: (thrown) => thrown instanceof EditError,
  },
];
