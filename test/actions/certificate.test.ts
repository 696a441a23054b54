import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCertificate, createKey, fingerprintOf } from "../../simulators/certificate.ts";
import { type RedfishProfile, redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const generic = redfishProfile("generic");
const authority = createCertificate({ commonName: "Test CA", authority: true });
const DAY_MS = 86_400_000;

interface Issued {
  readonly commonName: string;
  readonly altNames?: readonly string[];
  readonly key?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** A certificate of the CA for the lab's BMC. */
const issue = (options: Partial<Issued> = {}) =>
  createCertificate({ commonName: "bmc-7", altNames: ["127.0.0.1"], issuer: authority, ...options });

/** A BMC with TLS that has made a key, and the connection that pins its certificate. */
async function lab(profile: string | Partial<RedfishProfile> = {}) {
  const there = await actionLab({
    redfish: {
      tls: undefined,
      profile: typeof profile === "string" ? profile : { ...generic, ...profile },
      restartMs: 300,
    },
  });
  const { redfish } = there;
  const env = {
    ...there.env("redfish"),
    BMC_TLS_FINGERPRINT: redfish.fingerprint,
    BMC_REQUEST_TIMEOUT: "2s",
  };
  redfish.certificates.key = createKey();
  return Object.assign(there, {
    key: redfish.certificates.key,
    install: (CERTIFICATE: string, given: Readonly<Record<string, string>> = {}) =>
      runAction("set-bmc-certificate", { env: { ...env, CERTIFICATE, ...given } }),
    getCsr: (given: Readonly<Record<string, string>>) =>
      runAction("get-bmc-csr", { env: { ...env, ...given } }),
  });
}

describe.concurrent("get-bmc-csr and set-bmc-certificate", () => {
  it.each([undefined, "several", "post", "hpe", "pem-only"] as const)(
    "take a BMC from its CSR to a certificate of the CA: %s",
    async (certificates) => {
      await using there = await lab(certificates && { certificates });
      const { redfish } = there;

      const csr = resultOf(await there.getCsr({ COMMON_NAME: "bmc-7", ORGANIZATION: "Example" }));
      const leaf = issue(redfish.certificates.key === undefined ? {} : { key: redfish.certificates.key });
      const said = resultOf(await there.install(`${leaf.cert}${authority.cert}`));

      expect(csr).toMatchObject({ ok: true, data: { csr: expect.stringContaining("CERTIFICATE REQUEST") } });
      expect(said).toMatchObject({
        ok: true,
        before: { subject: "CN=simulator" },
        after: { fingerprint: fingerprintOf(leaf), subject: "CN=bmc-7", issuer: "CN=Test CA" },
        changed: true,
        data: { inventory: `tls: {fingerprint: "${fingerprintOf(leaf)}"}` },
      });
      expect(redfish.fingerprint).toBe(fingerprintOf(leaf));
      // The type of a chain is refused first.
      expect(there.writes()).toHaveLength(certificates === "pem-only" ? 3 : 2);
    },
  );

  it("waits for a web server that restarts, and logs in with the new certificate", async () => {
    await using there = await lab();
    there.redfish.certificates.shows = "restarting";
    const leaf = issue({ key: there.key });

    const said = resultOf(await there.install(leaf.cert));

    expect(said).toMatchObject({ ok: true, after: { fingerprint: fingerprintOf(leaf) } });
    expect(there.redfish.log.at(-1)).toMatch(/^GET /);
  });

  it("sends nothing if the BMC shows the certificate already", async () => {
    await using there = await lab();
    const leaf = issue({ key: there.key });
    await there.install(leaf.cert);
    there.redfish.forget();

    const said = resultOf(await there.install(leaf.cert, { BMC_TLS_FINGERPRINT: fingerprintOf(leaf) }));

    expect(said).toMatchObject({ ok: true, changed: false });
    expect(said.message).toContain("already shows certificate CN=bmc-7");
    expect(there.writes()).toEqual([]);
  });

  it("resets a BMC that shows the certificate only then, if it is asked to", async () => {
    await using there = await lab();
    there.redfish.certificates.shows = "after-reset";
    const leaf = issue({ key: there.key });

    const said = resultOf(await there.install(leaf.cert, { RESET_BMC: "true" }));

    expect(said).toMatchObject({ ok: true, after: { fingerprint: fingerprintOf(leaf) } });
    expect(there.redfish.manager.resets).toHaveLength(1);
  });

  it("does not reset a BMC that shows the certificate at once", async () => {
    await using there = await lab();

    const said = resultOf(await there.install(issue({ key: there.key }).cert, { RESET_BMC: "true" }));

    expect(said.ok).toBe(true);
    expect(there.redfish.manager.resets).toEqual([]);
  });

  it("is a verification failure if the BMC keeps showing the old certificate", async () => {
    await using there = await lab();
    there.redfish.certificates.shows = "never";

    const said = resultOf(await there.install(issue({ key: there.key }).cert, { VERIFY_TIMEOUT: "1s" }));

    expect(said).toMatchObject({ class: "verify", changed: true, before: { subject: "CN=simulator" } });
    expect(said.message).toContain("the BMC still shows certificate CN=simulator");
    expect(said.message).toContain("some BMCs need a reset");
    expect(there.writes()).toHaveLength(1);
  });

  it("only looks, and sends no password, after the answer was lost", async () => {
    await using there = await lab();
    const { redfish } = there;
    const leaf = issue({ key: there.key });
    redfish.fail({ kind: "close-after", method: "POST" });

    const said = resultOf(await there.install(leaf.cert));

    expect(said).toMatchObject({ ok: true, changed: true, after: { fingerprint: fingerprintOf(leaf) } });
    expect(said.message).toContain("no login was tried");
    expect(redfish.log.at(-1)).toMatch(/^POST /);
  });

  it("is a timeout if the BMC is gone afterwards", async () => {
    await using there = await lab();
    there.redfish.certificates.onShow = () => setTimeout(() => void there.redfish.stop(), 20);

    const said = resultOf(await there.install(issue({ key: there.key }).cert, { VERIFY_TIMEOUT: "1s" }));

    expect(said).toMatchObject({ class: "timeout", changed: true });
    expect(said.message).toContain("did not answer at 127.0.0.1 with the new certificate");
  });

  it("passes on what the BMC says of a certificate for another key", async () => {
    await using there = await lab();

    const said = resultOf(await there.install(issue().cert));

    expect(said).toMatchObject({ ok: false, class: "bmc" });
    expect(said.message).toContain("does not match the private key");
    expect(said.changed).not.toBe(true);
  });

  it("takes a certificate for another name only if it is told to, and from a file", async () => {
    await using there = await lab();
    const leaf = issue({ key: there.key, altNames: ["bmc-8.example.org"] });
    const file = join(there.folder, "bmc.pem");
    await writeFile(file, leaf.cert);
    const env = { CERTIFICATE: "", CERTIFICATE_FILE: file };

    const refused = await there.install("", env);
    const taken = await there.install("", { ...env, VERIFY_NAME: "false" });

    expect(refused.code).toBe(2);
    expect(resultOf(refused).message).toContain("is for DNS:bmc-8.example.org, not for 127.0.0.1");
    expect(resultOf(taken)).toMatchObject({ ok: true, after: { fingerprint: fingerprintOf(leaf) } });
  });

  it.each([
    [
      "an old one",
      issue({ notBefore: new Date(0), notAfter: new Date(DAY_MS) }).cert,
      "expired on 1970-01-02",
    ],
    ["one of tomorrow", issue({ notBefore: new Date(Date.now() + DAY_MS) }).cert, "is not valid before"],
    ["a chain in the wrong order", `${authority.cert}${issue().cert}`, "did not issue certificate 1"],
    ["a stranger's issuer", issue().cert + issue().cert, "did not issue certificate 1"],
    ["a private key", issue().cert + createKey(), "comes with a private key"],
    ["eleven", authority.cert.repeat(11), "more than 10"],
    ["broken PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is not valid PEM"],
  ])("refuses %s without a connection", async (_, certificate, problem) => {
    await using there = await lab();

    const ended = await there.install(certificate);

    expect(ended.code).toBe(2);
    expect(resultOf(ended).message).toContain(problem);
    expect(there.traffic()).toBe(0);
  });

  it("is a verification failure if the BMC leaves names out of its CSR", async () => {
    await using there = await lab();
    there.redfish.certificates.ignoresNames = true;

    const said = resultOf(
      await there.getCsr({ COMMON_NAME: "bmc-7", ALTERNATIVE_NAMES: "bmc-7.example.org,192.0.2.11" }),
    );

    expect(said).toMatchObject({ ok: false, class: "verify" });
    expect(said.message).toContain("lacks bmc-7.example.org, 192.0.2.11");
  });

  it("show the CSR on a terminal, because the next run makes another key", async () => {
    await using there = await lab();

    const { stdout } = await there.getCsr({ COMMON_NAME: "bmc-7", OUTPUT: "table" });

    expect(stdout).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----/);
  });
});
