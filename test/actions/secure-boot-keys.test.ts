import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCertificate } from "../../simulators/certificate.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const CA = createCertificate({ commonName: "Example Boot CA", authority: true }).cert;
const HASH = "0123456789abcdef".repeat(4);
const ALLOWED = { ALLOW_USER_MODE: "true" };

type Lab = Awaited<ReturnType<typeof actionLab>>;
type Input = Readonly<Record<string, string>>;

async function keyLab(mode: "setup" | "user" = "setup") {
  const lab = await actionLab({ machine: { power: "on" } });
  lab.machine.secureBoot.hasKeys = mode === "user";
  return lab;
}

async function run(lab: Lab, action: string, input: Input) {
  return resultOf(await runAction(action, { env: { ...lab.env("redfish"), ...input } }));
}

describe.concurrent("Secure Boot keys", () => {
  it("are listed by database, with what tells them apart", async () => {
    await using lab = await keyLab();

    const all = await run(lab, "list-secure-boot-keys", {});
    const some = await run(lab, "list-secure-boot-keys", { DATABASES: "dbx", OUTPUT: "table" });

    expect(all.message).toBe("5 keys: 1 in PK, 1 in KEK, 1 in db, 2 in dbx via redfish");
    expect(all.data).toMatchObject({
      keys: [
        { database: "pk", kind: "certificate", subject: "Contoso Platform Key" },
        { database: "kek", notAfter: "2026-06-24T20:51:29.000Z" },
        { database: "db" },
        { database: "dbx", kind: "signature", id: "1", fingerprint: "a".repeat(64) },
        { database: "dbx", kind: "signature", id: "2" },
      ],
    });
    expect(some.message).toBe("2 keys: 2 in dbx via redfish");
    expect(lab.writes()).toEqual([]);
  });

  it("are enrolled once: a certificate that is there is not sent again", async () => {
    await using lab = await keyLab();
    const file = join(lab.folder, "ca.pem");
    await writeFile(file, CA);

    const first = await run(lab, "enroll-secure-boot-key", { DATABASE: "db", CERTIFICATE_FILE: file });
    const again = await run(lab, "enroll-secure-boot-key", { DATABASE: "db", CERTIFICATE: CA });

    expect(first).toMatchObject({ ok: true, changed: true });
    expect(first.message).toMatch(
      /^certificate CN=Example Boot CA \(.{13}\) enrolled in db, in effect after/,
    );
    expect(again).toMatchObject({ ok: true, changed: false });
    expect(lab.machine.secureBoot.databases.db).toHaveLength(2);
    expect(lab.writes()).toHaveLength(1);
  });

  it("are not enrolled while a key that cannot be read may be the same", async () => {
    await using lab = await keyLab();
    lab.redfish.fail({ kind: "bad-json", path: /db\/Certificates\/1$/, times: 10 });

    const ended = await run(lab, "enroll-secure-boot-key", { DATABASE: "db", CERTIFICATE: CA });

    expect(ended).toMatchObject({ ok: false, class: "verify" });
    expect(ended.message).toContain("whether db has the key is not known; the list is incomplete: ");
    expect(lab.writes()).toEqual([]);
  });

  it("are reported only as far as all of them can be read", async () => {
    await using lab = await keyLab();
    const keys = { method: "GET", path: /db\/Certificates\/1$/ } as const;
    lab.redfish.fail({ kind: "bad-json", ...keys, skip: 1, times: 10 });

    const ended = await run(lab, "enroll-secure-boot-key", { DATABASE: "db", CERTIFICATE: CA });

    expect(ended).toMatchObject({ ok: true, changed: true, before: [{ id: "1" }] });
    expect(ended.after).toBeUndefined();
    expect(ended.message).toContain("; 1 key not read: ");
  });

  it("are not deleted by ID while another one with this ID may not be read", async () => {
    await using lab = await keyLab();
    lab.redfish.fail({ kind: "bad-json", path: /dbx\/Signatures\/2$/, times: 10 });

    const byId = await run(lab, "delete-secure-boot-key", { DATABASE: "dbx", KEY: "1" });
    const before = lab.writes().length;
    await run(lab, "delete-secure-boot-key", {
      ...{ DATABASE: "dbx", KEY: "a".repeat(64) },
    });

    expect(byId).toMatchObject({ ok: false, class: "verify" });
    expect(byId.message).toContain("dbx may have another key 1: use a fingerprint; the list is incomplete: ");
    expect(before).toBe(0);
    expect(lab.writes()).toHaveLength(1);
  });

  it("may be a signature with its owner", async () => {
    await using lab = await keyLab();
    const owner = "77fa9abd-0359-4d32-bd60-28f4e78f784b";

    const ended = await run(lab, "enroll-secure-boot-key", {
      ...{ DATABASE: "dbx", SIGNATURE: HASH, SIGNATURE_OWNER: owner },
    });

    expect(ended).toMatchObject({ ok: true, changed: true });
    expect(lab.machine.secureBoot.databases.dbx.at(-1)?.fields).toMatchObject({
      SignatureString: HASH.toUpperCase(),
      UefiSignatureOwner: owner,
    });
  });

  it("are verified although the answer is lost, and sent once", async () => {
    await using lab = await keyLab();
    lab.redfish.fail({ kind: "close-after", method: "POST" });

    const ended = await run(lab, "enroll-secure-boot-key", { DATABASE: "kek", CERTIFICATE: CA });

    expect(ended).toMatchObject({ ok: true, changed: true });
    expect(lab.writes()).toHaveLength(1);
  });

  it("are a verification failure until the machine boots, if the BMC shows them only then", async () => {
    await using lab = await keyLab();
    lab.machine.secureBoot.keyChanges = "at-boot";
    const input = { DATABASE: "db", CERTIFICATE: CA };

    const ended = await run(lab, "enroll-secure-boot-key", input);
    lab.machine.do("reset");
    const after = await run(lab, "enroll-secure-boot-key", input);

    expect(ended).toMatchObject({ ok: false, class: "verify" });
    expect(ended.message).toContain(
      "the BMC keeps db with 1 key without it; some BMCs change keys only while",
    );
    expect(after).toMatchObject({ ok: true, changed: false });
    expect(lab.writes()).toHaveLength(1);
  });

  it.each([
    ["enroll-secure-boot-key", { DATABASE: "db", CERTIFICATE: CA }],
    ["delete-secure-boot-key", { DATABASE: "db", KEY: "1" }],
  ])("are not changed by %s in user mode unless that is allowed", async (action, input) => {
    await using lab = await keyLab("user");

    const refused = await run(lab, action, input);
    const planned = await run(lab, action, { ...input, DRY_RUN: "true" });
    const before = lab.writes();
    const allowed = await run(lab, action, { ...input, ...ALLOWED });

    expect(refused).toMatchObject({ ok: false, class: "state" });
    expect(refused.message).toContain("the firmware is in user mode, where keys need a signature");
    expect(planned).toMatchObject({ ok: false, class: "state" });
    expect(before).toEqual([]);
    expect(allowed).toMatchObject({ ok: true, changed: true });
  });

  it("are not changed while a BIOS attribute selects the vendor's keys", async () => {
    await using lab = await keyLab("user");
    const { bios } = lab.machine;
    const input = { DATABASE: "db", CERTIFICATE: CA };

    bios.attributes = { ...bios.attributes, SecureBootPolicy: "Standard" };
    const refused = await run(lab, "enroll-secure-boot-key", { ...input, ...ALLOWED });
    const before = lab.writes();
    bios.attributes = { ...bios.attributes, SecureBootPolicy: "Custom" };
    const taken = await run(lab, "enroll-secure-boot-key", input);

    expect(refused).toMatchObject({ ok: false, class: "state" });
    expect(refused.message).toContain("the BIOS attribute SecureBootPolicy is Standard");
    expect(before).toEqual([]);
    expect(taken).toMatchObject({ ok: true, changed: true });
  });

  it("are deleted by fingerprint or ID, also if the others get new IDs", async () => {
    await using lab = await keyLab();

    const first = await run(lab, "delete-secure-boot-key", { DATABASE: "dbx", KEY: "A".repeat(64) });
    const gone = await run(lab, "delete-secure-boot-key", { DATABASE: "dbx", KEY: "a".repeat(64) });

    expect(first).toMatchObject({ ok: true, changed: true, after: [{ fingerprint: "b".repeat(64) }] });
    expect(gone).toMatchObject({ ok: true, changed: false });
    expect(gone.message).toBe(`dbx has no key ${"a".repeat(64)} via redfish`);
    expect(lab.writes()).toHaveLength(1);
  });

  it("are not deleted by an ID that a certificate and a signature have", async () => {
    await using lab = await keyLab();
    const { databases } = lab.machine.secureBoot;
    databases.db = [...databases.db, ...databases.dbx];

    const ended = await run(lab, "delete-secure-boot-key", { DATABASE: "db", KEY: "1" });

    expect(ended).toMatchObject({ ok: false, class: "usage" });
    expect(ended.message).toContain("db has 2 keys 1: certificate CN=Microsoft Corporation UEFI CA 2011 (1)");
    expect(lab.writes()).toEqual([]);
  });

  it("are a verification failure if the BMC accepts the deletion and keeps the key", async () => {
    await using lab = await keyLab();
    lab.redfish.fail({ kind: "forget", method: "DELETE", times: 10 });

    const ended = await run(lab, "delete-secure-boot-key", { DATABASE: "db", KEY: "1" });

    expect(ended).toMatchObject({ ok: false, class: "verify" });
    expect(ended.message).toContain("the BMC keeps db with 1 key");
  });

  it.each([
    [{ DATABASE: "db" }, "set one of CERTIFICATE, CERTIFICATE_FILE and SIGNATURE"],
    [{ DATABASE: "pk", SIGNATURE: HASH }, "SIGNATURE is only for db and dbx"],
    [{ DATABASE: "db", CERTIFICATE: CA + CA }, "there are 2 certificates: enroll one at a time"],
    [{ DATABASE: "db", CERTIFICATE: `${CA}-----BEGIN PRIVATE KEY-----` }, "comes with a private key"],
  ])("are rejected before anything is sent: %j", async (input, problem) => {
    await using lab = await keyLab();

    const ended = await run(lab, "enroll-secure-boot-key", input);

    expect(ended).toMatchObject({ ok: false, class: "usage" });
    expect(ended.message).toContain(problem);
    expect(lab.traffic()).toBe(0);
  });

  it("are reset per database at the next boot", async () => {
    await using lab = await keyLab();
    const { secureBoot } = lab.machine;

    const ended = await run(lab, "reset-secure-boot-keys", {
      ...{ SECURE_BOOT_KEYS: "delete-all", DATABASE: "dbx" },
    });
    const wrong = await run(lab, "reset-secure-boot-keys", {
      ...{ SECURE_BOOT_KEYS: "delete-pk", DATABASE: "dbx" },
    });
    lab.machine.do("reset");

    expect(ended).toMatchObject({ ok: true, changed: true });
    expect(ended.message).toContain("deletion of all Secure Boot keys of dbx accepted, in effect after");
    expect(wrong).toMatchObject({ ok: false, class: "usage" });
    expect(secureBoot.databases).toMatchObject({ dbx: [], db: [{}] });
    expect(lab.writes()).toHaveLength(1);
  });
});
