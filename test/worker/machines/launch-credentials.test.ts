import { describe, expect, it, vi } from "vitest";
import { Secret } from "../../../shared/secret.ts";
import type { Outcome } from "../../../worker/core/action/action.ts";
import type { AccessReading } from "../../../worker/core/ports/machines.ts";
import type { MountedConnection } from "../../../worker/core/ports/runtime.ts";
import { AuthGate } from "../../../worker/machines/auth-gate.ts";
import type { ConnectionReading } from "../../../worker/machines/inventory.ts";
import { type CredentialsTarget, LaunchCredentials } from "../../../worker/machines/launch-credentials.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { TARGET } from "../core/run/executor-lab.ts";
import { canary, testConnection } from "../runtimes/launch-request.ts";

const HINT = { provider: "ipmi" };
const REFUSED: Outcome = {
  ok: false,
  class: "auth",
  exitCode: 10,
  message: "login refused",
  startedAt: new Date(0),
  stoppedAt: new Date(0),
  timedOut: false,
  killed: false,
};
const MOUNTED: MountedConnection = {
  document: { host: "bmc.example", password: { file: "password" } },
  files: [{ file: "password", secret: "bmc", key: "password" }],
};

/** Reads the credentials of several launches of one worker. */
function lab({ secretNamespace = "" } = {}) {
  const credentials = new LaunchCredentials({
    secretNamespace: secretNamespace === "" ? undefined : secretNamespace,
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
  });
  const cancel = new AbortController();
  const read = (target: CredentialsTarget, reading: Partial<AccessReading> = {}) =>
    credentials.read(target, { timeoutMs: 60_000, ...reading }, cancel.signal);
  return { cancel, credentials, read };
}

/** Credentials that are never read; rejects when the signal aborts. */
const endless = ({ signal }: ConnectionReading) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("credentials of a launch", () => {
  it("come with the secret inputs, and both are redacted", async () => {
    const secretInputs = { NEW_PASSWORD: new Secret("canary-input") };
    const { connection, mounted, redact } = await lab().read(TARGET, { secretInputs });

    expect(connection).toEqual({ ...testConnection(), secretInputs });
    expect(mounted).toBeUndefined();
    expect(redact(`${canary} canary-input`)).not.toContain("canary");
  });

  it("come with what earlier actions learned about the machine", async () => {
    const { credentials, read } = lab({ secretNamespace: "tink" });
    const mounting = { machine: "m2", mounted: () => MOUNTED };
    for (const target of [TARGET, mounting]) await read(target);
    for (const { machine } of [TARGET, mounting]) credentials.learnHint(machine, HINT);

    expect((await read(TARGET)).connection).toEqual({ ...testConnection(), hint: HINT });
    expect((await read(mounting)).mounted).toEqual({
      ...MOUNTED,
      document: { ...MOUNTED.document, hint: HINT },
    });
  });

  it("are not read if the runtime mounts them", async () => {
    const connect = vi.fn(TARGET.connect);
    const mounted = vi.fn((namespace: string) => (namespace === "tink" ? MOUNTED : undefined));
    const target = { ...TARGET, connect, mounted };

    expect(await lab({ secretNamespace: "tink" }).read(target)).toMatchObject({ mounted: MOUNTED });
    expect(connect).not.toHaveBeenCalled();
  });

  it.each([
    ["the runtime mounts nothing", "", { mounted: () => MOUNTED }],
    ["they are not all in the namespace of the actions", "tink", { mounted: () => undefined }],
    ["they are not in Secrets", "tink", {}],
  ])("are read if %s", async (_, secretNamespace, more) => {
    const { connection, mounted } = await lab({ secretNamespace }).read({ ...TARGET, ...more });

    expect({ connection, mounted }).toEqual({ connection: testConnection(), mounted: undefined });
  });

  it("are none for an action without a BMC", async () => {
    const { connection, mounted } = await lab().read({});

    expect({ connection, mounted }).toEqual({});
  });

  it("that the BMC refused are not tried again", async () => {
    const { read } = lab();
    const { learn } = await read(TARGET);
    learn(REFUSED);

    await expect(read(TARGET)).rejects.toMatchObject({
      class: "auth",
      message: expect.stringMatching(/^machine m1: the BMC refused its credentials/),
    });
  });

  it.each<[string, CredentialsTarget]>([
    ["machine", { lockKey: TARGET.lockKey, connect: TARGET.connect }],
    ["BMC with accounts", { machine: TARGET.machine, connect: TARGET.connect }],
    ["connection", { machine: TARGET.machine, lockKey: TARGET.lockKey }],
  ])("are not known as refused after a launch without a %s", async (_, target) => {
    const { read } = lab();
    const { learn } = await read(target);
    learn(REFUSED);

    await expect(read(TARGET)).resolves.toMatchObject({ connection: { host: "bmc.example" } });
  });
});

describe("credentials that cannot be read", () => {
  it("fail for the reason that is given", async () => {
    const reason = new Error("no such Secret");

    await expect(lab().read({ connect: () => Promise.reject(reason) })).rejects.toBe(reason);
  });

  it("fail within the time of the action", async () => {
    await expect(lab().read({ connect: endless }, { timeoutMs: 100 })).rejects.toMatchObject({
      class: "timeout",
      message: "its credentials were not read within its 0.1 s",
    });
  });

  it("fail at once when the action is cancelled", async () => {
    const { cancel, read } = lab();
    const reading = read({ connect: endless });
    cancel.abort();

    await expect(reading).rejects.toMatchObject({ class: "cancelled" });
  });
});
