import { describe, expect, it } from "vitest";
import { simulatedDrive } from "../../simulators/redfish/storage.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually } from "./lab.ts";

type Lab = Awaited<ReturnType<typeof actionLab>>;

const offLab = (power: "on" | "off" = "off") => actionLab({ machine: { power } });

async function erase(lab: Lab, input: Readonly<Record<string, string>>) {
  return resultOf(await runAction("erase-drives", { env: { ...lab.env("redfish"), ...input } }));
}

describe.concurrent("erase-drives", () => {
  it("erases each named drive once, by ID or serial number, and waits for the end", async () => {
    await using lab = await offLab();
    lab.redfish.storage.drives.set("2", simulatedDrive());
    lab.redfish.storage.taskMs = 300;

    const ended = await erase(lab, { DRIVES: "2, DISK-0, 0", ERASE_METHOD: "crypto-erase" });

    expect(ended).toMatchObject({
      ok: true,
      changed: true,
      before: "off",
      data: { drives: [{ id: "2" }, {}] },
    });
    expect(ended.message).toBe(
      "erased 2 drives: 2 (serial number DISK-2), 0 (serial number DISK-0) via redfish",
    );
    expect(lab.redfish.storage.erased).toEqual(["2", "0"]);
    expect(lab.writes()).toHaveLength(2);
  });

  it.each([
    ["without a terminal", { answer: "no terminal" }, {}, false],
    ["refused on a terminal", { answer: false }, {}, false],
    ["with --yes", { answer: "no terminal", argv: ["--yes"] }, {}, true],
    ["as the worker runs it", { answer: "no terminal" }, { BMC_CONNECTION_FILE: "-" }, true],
    [
      "with a flag, though with a connection file",
      { answer: "no terminal", argv: ["--while-on=false"] },
      { BMC_CONNECTION_FILE: "-" },
      false,
    ],
  ] as const)("sends nothing by hand that is not confirmed: %s", async (_, options, file, isSent) => {
    await using lab = await offLab();
    const env = lab.env("redfish");
    const stdin = JSON.stringify({
      host: lab.redfish.host,
      username: lab.redfish.username,
      password: lab.redfish.password,
      providers: ["redfish"],
      tls: { fingerprint: lab.redfish.certificate ? lab.redfish.fingerprint : undefined },
      redfish: { port: lab.redfish.port, scheme: lab.redfish.certificate ? "https" : "http" },
    });
    const given =
      "BMC_CONNECTION_FILE" in file
        ? { env: { DRIVES: "0", ...file }, stdin }
        : { env: { ...env, DRIVES: "0" } };

    const ended = await runAction("erase-drives", { ...options, ...given });

    expect(ended.code).toBe(isSent ? 0 : 2);
    expect(lab.writes()).toHaveLength(isSent ? 1 : 0);
  });

  it("erases nothing while the machine is on, unless that is asked for", async () => {
    await using lab = await offLab("on");

    const refused = await erase(lab, { DRIVES: "0" });
    const planned = await erase(lab, { DRIVES: "0", DRY_RUN: "true" });
    const before = [...lab.redfish.storage.erased];
    const asked = await erase(lab, { DRIVES: "0", WHILE_ON: "true" });

    expect(refused).toMatchObject({ ok: false, class: "state" });
    expect(refused.message).toContain("the machine is on: power it off first");
    expect(planned).toMatchObject({ ok: false, class: "state" });
    expect(before).toEqual([]);
    expect(asked).toMatchObject({ ok: true, before: "on" });
  });

  it("reads off twice: a machine that shows it for a moment is not off", async () => {
    await using lab = await offLab();
    await erase(lab, { DRIVES: "0", DRY_RUN: "true" });
    const readings = lab.readings();
    void eventually(() => lab.readings() >= 2 * readings - 1).then(() => lab.machine.do("on"));

    const ended = await erase(lab, { DRIVES: "0" });

    expect(lab.readings()).toBe(2 * readings);
    expect(ended).toMatchObject({ ok: false, class: "state" });
    expect(lab.redfish.storage.erased).toEqual([]);
  });

  it("claims no change where the bay holds another disk right before the request", async () => {
    await using lab = await offLab();
    const { drives } = lab.redfish.storage;
    await erase(lab, { DRIVES: "DISK-0", DRY_RUN: "true" });
    const readings = lab.redfish.log.length;
    const isExchanged = () => lab.redfish.log.length >= 2 * readings;
    const drive = simulatedDrive();
    drives.set(
      "0",
      Object.defineProperty({ ...drive }, "serialNumber", {
        get: () => (isExchanged() ? "DISK-X" : "DISK-0"),
      }),
    );

    const ended = await erase(lab, { DRIVES: "DISK-0" });

    expect(ended).toMatchObject({ ok: false, class: "verify" });
    expect(ended.message).toContain("nothing was sent there");
    expect(ended.changed ?? false).toBe(false);
    expect([lab.redfish.storage.erased, lab.writes()]).toEqual([[], []]);
  });

  it("takes an ID only if every drive was read, because drives of two controllers may have the same", async () => {
    await using lab = await offLab();
    lab.redfish.fail({
      kind: "refuse",
      status: 500,
      messageId: "Contoso.1.0.Broken",
      path: /\/Drives\/1$/,
      times: 100,
    });

    const byId = await erase(lab, { DRIVES: "0" });
    const bySerial = await erase(lab, { DRIVES: "DISK-0" });

    expect(byId).toMatchObject({ ok: false, class: "verify" });
    expect(byId.message).toContain(
      "0 may also be the ID of a drive that was not read: use its serial number",
    );
    expect(bySerial).toMatchObject({ ok: true });
    expect(lab.redfish.storage.erased).toEqual(["0"]);
  });

  it.each([
    [{ DRIVES: "7" }, "usage", "there is no drive 7; the BMC lists 0 (serial number DISK-0), 1"],
    [{ DRIVES: "0", ERASE_METHOD: "overwrite" }, "unsupported", "only by BlockErase, CryptographicErase"],
    [{ DRIVES: "*" }, "usage", "without *"],
    [{ DRIVES: "," }, "usage", "DRIVES names no drive"],
  ])("sends nothing for %j", async (input, errorClass, problem) => {
    await using lab = await offLab();

    const ended = await erase(lab, input);

    expect(ended).toMatchObject({ ok: false, class: errorClass });
    expect(ended.message).toContain(problem);
    expect(lab.writes()).toEqual([]);
  });

  it("is unsupported where the drives do not offer it", async () => {
    await using lab = await offLab();
    lab.redfish.storage.erasing = "none";

    const ended = await erase(lab, { DRIVES: "0,1" });

    expect(ended).toMatchObject({ ok: false, class: "unsupported" });
    expect(ended.message).toContain(
      "does not offer to erase 0 (serial number DISK-0), 1 (serial number DISK-1)",
    );
    expect(lab.writes()).toEqual([]);
  });

  it("is not confirmed where the BMC accepts it without a task", async () => {
    await using lab = await offLab();
    lab.redfish.storage.erasing = "no-task";

    const ended = await erase(lab, { DRIVES: "0" });

    expect(ended).toMatchObject({ ok: false, class: "verify", changed: true });
    expect(ended.message).toContain("accepted the erasure without a task: its outcome is unknown");
  });

  it("fails with the words of a failed task, and says what became of the others", async () => {
    await using lab = await offLab();
    const { storage } = lab.redfish;
    storage.failure = "The drive is locked.";

    const ended = await erase(lab, { DRIVES: "0,1" });

    expect(ended).toMatchObject({ ok: false, class: "bmc" });
    expect(ended.message).toContain("0 (serial number DISK-0): the erasure failed: The drive is locked.");
    expect(ended.message).toContain("1 (serial number DISK-1): the erasure failed");
  });

  it("sends the second drive nothing if the first one's answer is lost, and the first one nothing again", async () => {
    await using lab = await offLab();
    lab.redfish.fail({ kind: "close-after", method: "POST", path: /SecureErase/ });

    const ended = await erase(lab, { DRIVES: "0,1" });

    expect(ended.ok).toBe(false);
    expect(ended.message).toContain("the erasure may have been started and is not sent again");
    expect(lab.writes()).toHaveLength(1);
  });

  it("says which drives were not sent after a refusal, and follows the others to their end", async () => {
    await using lab = await offLab();
    const { storage } = lab.redfish;
    storage.taskMs = 200;
    const refusal = { status: 400, messageId: "Contoso.1.0.Busy", message: "The drive is in use." };
    storage.drives.set("2", simulatedDrive());
    lab.redfish.fail({ kind: "refuse", method: "POST", path: /Drives\/1\/Actions/, ...refusal });

    const ended = await erase(lab, { DRIVES: "0,1,2" });

    expect(ended).toMatchObject({ ok: false, changed: true });
    expect(ended.message).toContain("1 (serial number DISK-1): ");
    expect(ended.message).toContain("erased: 0 (serial number DISK-0); not sent: 2 (serial number DISK-2)");
    expect(storage.erased).toEqual(["0"]);
  });

  it("times out while the BMC still erases", async () => {
    await using lab = await offLab();
    lab.redfish.storage.taskMs = 600_000;

    const ended = await erase(lab, { DRIVES: "0", ERASE_TIMEOUT: "2s" });

    expect(ended).toMatchObject({ ok: false, class: "timeout", changed: true });
    expect(ended.message).toContain("the BMC may continue it");
  });
});
