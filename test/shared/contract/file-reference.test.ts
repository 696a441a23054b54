import { describe, expect, it } from "vitest";
import { Connection } from "../../../shared/contract/connection.ts";
import { resolveFileReferences } from "../../../shared/contract/file-reference.ts";
import { Secret } from "../../../shared/secret.ts";

const REFERENCE = { $file: "signing-1" };
const read = async (file: string) => `content of ${file}`;

describe("a file reference in a connection", () => {
  it.each([
    [{ username: REFERENCE }, { username: "content of signing-1" }],
    [{ password: REFERENCE }, { password: "content of signing-1" }],
    [{ ipmi: { kg: REFERENCE } }, { ipmi: { kg: "content of signing-1" } }],
    [{ ipmitool: { kg: REFERENCE } }, { ipmitool: { kg: "content of signing-1" } }],
    [signing([REFERENCE, "a"]), signing(["content of signing-1", "a"])],
    [signing(REFERENCE), signing("content of signing-1")],
  ])("is replaced where a secret belongs: %j", async (document, resolved) => {
    expect(await resolveFileReferences(document, read)).toEqual(resolved);
  });

  it.each([
    REFERENCE,
    [REFERENCE],
    { host: REFERENCE },
    { machine: REFERENCE, bootMode: [REFERENCE] },
    { ipmi: REFERENCE },
    { rpc: { url: REFERENCE } },
    { rpc: { embed: { payload: { text: REFERENCE, deep: [{ password: REFERENCE }] }, path: "call" } } },
    { rpc: { embed: { payload: { rpc: { signature: { secrets: { sha256: [REFERENCE] } } } } } } },
    { rpc: { headers: { "X-Token": [REFERENCE] } } },
    { rpc: { signature: { header: REFERENCE, includedHeaders: [REFERENCE] } } },
    { homeassistant: { url: REFERENCE, password: REFERENCE } },
    { secretInputs: { NEW_PASSWORD: REFERENCE } },
    { password: { $file: "a", also: "b" } },
    { password: [REFERENCE] },
    { password: { text: REFERENCE } },
  ])("is left as it is anywhere else: %j", async (document) => {
    const asked: string[] = [];

    const resolved = await resolveFileReferences(document, async (file) => {
      asked.push(file);
      return file;
    });

    expect(resolved).toEqual(document);
    expect(asked).toEqual([]);
  });

  it("gives text to fields that cannot be printed", () => {
    const parsed = Connection.parse({
      ...{ host: "bmc.example", password: "p", ipmi: { kg: "k" }, ipmitool: { kg: "k" } },
      rpc: { url: "http://hook.example", ...signing(["s"]).rpc },
    });

    const { password, ipmi, ipmitool, rpc } = parsed;
    for (const secret of [password, ipmi.kg, ipmitool.kg, rpc?.signature.secrets.sha256[0]]) {
      expect(secret).toBeInstanceOf(Secret);
    }
  });
});

function signing(sha256: unknown) {
  return { rpc: { signature: { secrets: { sha256 } } } };
}
