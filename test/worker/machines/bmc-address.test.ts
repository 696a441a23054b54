import { describe, expect, test } from "vitest";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";

const FINGERPRINT = "ab".repeat(32);

function addressOf(entry: string) {
  const text = `machines:\n- name: node-01\n  credentials: {username: u, passwordEnv: P}\n  ${entry}\n`;
  const parsed = parseInventory({ path: "i.yaml", text, env: { P: "p" }, readFile: () => "" });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value.bmcAddress?.("node-01");
}

describe("the address of a BMC", () => {
  test.each([
    ["host: 192.0.2.1", "https://192.0.2.1", "of the system's authorities"],
    ["host: '2001:db8::1'\n  tls: {verify: false}", "https://[2001:db8::1]", "any: it is not verified"],
    [
      `host: bmc.example\n  redfish: {port: 8443}\n  tls: {fingerprint: ${FINGERPRINT}}`,
      "https://bmc.example:8443",
      `only the pinned one, SHA-256 ${FINGERPRINT}`,
    ],
    ["host: 192.0.2.1\n  redfish: {scheme: http, port: 8000}", "http://192.0.2.1:8000", undefined],
    ["host: 192.0.2.1\n  providers: [ipmi]", "https://192.0.2.1", undefined],
    ["host: 192.0.2.1\n  providers: [amt]", "http://192.0.2.1:16992", undefined],
    ["host: any text\n  rpc: {url: 'http://192.0.2.9:1/a?token=x'}", "http://192.0.2.9:1", undefined],
  ])("%s is %s", (entry, url, certificate) => {
    const address = addressOf(entry);

    expect(address?.url).toBe(url);
    expect(address?.certificate).toBe(certificate);
  });
});
