import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type CertificateResult, surveyCertificates } from "../../../cli/inventory/pin/survey.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { type Certificate, createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";
import { startSilentPort } from "../../support/proxy/silent-port.ts";

const bmcs: RedfishBmc[] = [];
afterEach(async () => {
  for (const bmc of bmcs.splice(0)) await bmc.close();
});

const authority = createCertificate({ commonName: "Example CA", authority: true });
const issued = createCertificate({ commonName: "bmc-1", altNames: ["127.0.0.1"], issuer: authority });
const folder = mkdtempSync(join(tmpdir(), "pbnj-survey-"));
const caFile = join(folder, "ca.pem");
writeFileSync(caFile, authority.cert);
afterAll(() => rmSync(folder, { recursive: true }));

async function start(tls?: Certificate | "http") {
  const bmc = await startRedfishBmc(tls ? { tls } : {});
  bmcs.push(bmc);
  return bmc;
}

/** The certificates of these machines, each an entry without name and host. */
function survey(entries: readonly object[], more: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const machines = entries.map((entry, index) => ({
    name: `node-${index + 1}`,
    host: "127.0.0.1",
    ...entry,
  }));
  const text = JSON.stringify({ defaults: { connectTimeout: "10s" }, machines });
  const parsed = parseEntries({ path: "i.yaml", text, env: {}, readFile: readTextFile });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { timeoutMs, signal = new AbortController().signal } = more;
  return surveyCertificates(parsed.value, { concurrency: 2, timeoutMs }, signal);
}

function brief(result: CertificateResult | undefined) {
  if (result?.kind === "seen") return [result.comparison, result.certificate.fingerprint];
  return result?.kind === "failed" ? [result.error.class, result.error.message] : [result?.kind];
}

describe("the certificates of BMCs", () => {
  it("are compared with the inventory", async () => {
    const bmc = await start(issued);
    const redfish = { port: bmc.port };
    const fingerprint = fingerprintOf(issued);

    const results = await survey([
      { redfish },
      { redfish, tls: { fingerprint: fingerprint.toUpperCase() } },
      { redfish, tls: { fingerprint: "ab".repeat(32) } },
      { redfish, tls: { verify: false } },
    ]);

    expect(results.map(brief)).toEqual(
      ["new", "pinned", "changed", "new"].map((comparison) => [comparison, fingerprint]),
    );
    expect(results[0]).toMatchObject({
      address: `127.0.0.1:${bmc.port}`,
      certificate: { subject: "bmc-1", issuer: "Example CA", term: "ends-soon" },
    });
  });

  it("are trusted if the machine's CA issued them, else changed", async () => {
    const [one, other] = [await start(issued), await start()];

    const results = await survey([
      { redfish: { port: one.port }, tls: { caFile } },
      { redfish: { port: other.port }, tls: { caFile } },
    ]);

    expect(results.map((result) => brief(result)[0])).toEqual(["trusted", "changed"]);
  });

  it("are not read of a paused machine", async () => {
    const bmc = await start();

    const results = await survey([{ redfish: { port: bmc.port }, paused: "fan replacement" }]);

    expect(results).toMatchObject([{ kind: "paused", reason: "fan replacement" }]);
    expect(bmc.connections).toBe(0);
  });

  it("are read without a request or a password", async () => {
    const bmc = await start();

    await survey([{ redfish: { port: bmc.port }, credentials: { username: "admin", passwordEnv: "NONE" } }]);

    expect(bmc.connections).toBe(1);
    expect(bmc.requests).toEqual([]);
  });

  it("are read of every provider that uses TLS", async () => {
    const [bmc, other, plain] = [await start(issued), await start(), await start("http")];
    const redfish = { port: bmc.port };
    const webhook = { url: `https://localhost:${other.port}/hook` };

    const results = await survey([
      { providers: ["ipmi"] },
      { redfish: { port: plain.port, scheme: "http" } },
      { providers: ["amt"], amt: { ...redfish, scheme: "https" } },
      { providers: ["redfish", "amt"], redfish, amt: { port: other.port, scheme: "https" } },
      { rpc: webhook },
    ]);

    expect(results.map(brief)).toEqual([
      ["skipped"],
      ["skipped"],
      ["new", fingerprintOf(issued)],
      ["tls", "its providers present different certificates: trust their CA with caFile instead"],
      ["new", other.fingerprint],
    ]);
    expect(plain.connections).toBe(0);
  });

  it("are missing with the reason if a BMC is unreachable, silent or without TLS", async () => {
    const [plain, gone] = [await start("http"), await start()];
    await gone.close();
    await using silent = await startSilentPort();

    const answered = await survey([plain.port, gone.port].map((port) => ({ redfish: { port } })));
    const unanswered = await survey([{ redfish: { port: silent.port } }], { timeoutMs: 200 });

    expect([...answered, ...unanswered].map(brief)).toEqual([
      ["tls", expect.stringContaining("the peer does not speak TLS on this port")],
      ["unreachable", expect.stringContaining("connection refused")],
      ["unreachable", expect.stringContaining("within 200 ms")],
    ]);
  });

  it("are not waited for after a signal", async () => {
    await using silent = await startSilentPort();
    const redfish = { port: silent.port };
    const reason = new Error("stopped");

    await expect(survey([{ redfish }], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(survey([{ redfish }], { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });
});
