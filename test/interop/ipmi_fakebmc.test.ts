import { expect, it } from "vitest";
import { eventually, limit, openSession } from "../shared/bmc/providers/ipmi/bench.ts";
import { EVERY_ACTION_MS } from "./compatibility/every-action.ts";
import { startFakeBmc } from "./fake-bmc.ts";
import { describeWithProgram } from "./programs.ts";
import { PEER_PASSWORD, tryRecordedActions } from "./recorded-peer.ts";

const USER = { username: "admin", password: "password" };

/** Suite 3 alone: this BMC drops what it does not know without a word. */
const ALLOWING_SUITE_3 = { ...USER, ipmi: { allowSuite3: true } };
const SUITE_3 = { ...USER, ipmi: { cipherSuite: 3 } };
const AS_ADMINISTRATOR = { ...USER, ipmi: { cipherSuite: 3, privilege: "administrator" } };

describeWithProgram("fakebmc", "the ipmi provider talks to pyghmi's fake BMC", () => {
  it("reads and changes power", async () => {
    const bmc = await startFakeBmc();

    await using session = await openSession(bmc, { overrides: SUITE_3 });
    expect(await session.power.read(limit())).toBe("off");
    await session.power.send("on", limit());
    expect(await session.power.read(limit())).toBe("on");
    await session.power.send("off", limit());
    expect(await session.power.read(limit())).toBe("off");

    await eventually(() => /powered on[\s\S]*abruptly remove power/.test(bmc.output()));
  });

  it("finds the suite that it has, and remembers it", async () => {
    const bmc = await startFakeBmc();
    await using session = await openSession(bmc, { overrides: ALLOWING_SUITE_3 });

    expect(await session.power.read(limit())).toBe("off");
    await using next = await openSession(bmc, { overrides: ALLOWING_SUITE_3, hint: session.hint() });

    expect(await next.power.read(limit())).toBe("off");
    expect(next.roundTrips()).toBe(4);
  });

  it("sets the boot device, which reads back without the mode that this BMC does not keep", async () => {
    const bmc = await startFakeBmc();
    await using session = await openSession(bmc, { overrides: SUITE_3 });

    await session.boot.write({ device: "pxe", persistent: false, mode: "legacy" }, limit());

    expect(await session.boot.read(limit())).toEqual({ device: "pxe", persistent: false, mode: "legacy" });
  });

  it("names a wrong password as such", async () => {
    const bmc = await startFakeBmc();

    await expect(openSession(bmc, { overrides: { ...SUITE_3, password: "wrong" } })).rejects.toMatchObject({
      class: "auth",
    });
  });

  it("says what this BMC does not offer", async () => {
    const bmc = await startFakeBmc();
    await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });

    await expect(session.nmi?.send(limit())).rejects.toMatchObject({ class: "unsupported" });
    await expect(session.sel?.list(limit())).rejects.toMatchObject({ class: "unsupported" });
    await expect(session.users?.list(limit())).rejects.toMatchObject({ class: "unsupported" });
  });

  it("says who it is, ends an unused serial over LAN session, and resets it", async () => {
    const bmc = await startFakeBmc();
    await using session = await openSession(bmc, {
      overrides: { ...AS_ADMINISTRATOR, requestTimeoutMs: 2_000 },
    });

    expect(await session.manager?.info(limit())).toMatchObject({ protocolVersion: "2.0" });
    await session.sol?.deactivate(limit());
    // It ends at once, and answers nothing any more.
    await expect(session.manager?.reset("cold", limit())).rejects.toMatchObject({ uncertain: true });

    await eventually(() => bmc.hasEnded());
  });

  it("carries out each action or says why not, and so does its recording", {
    timeout: EVERY_ACTION_MS,
  }, async ({ task }) => {
    const { port } = await startFakeBmc(PEER_PASSWORD);
    const outcomes = await tryRecordedActions({
      provider: "ipmi",
      env: {
        ...{
          BMC_HOST: "127.0.0.1",
          BMC_USERNAME: "admin",
          BMC_PASSWORD: PEER_PASSWORD,
          BMC_PROVIDERS: "ipmi",
        },
        ...{ IPMI_PORT: String(port), IPMI_CIPHER_SUITE: "3", IPMI_PRIVILEGE: "administrator" },
      },
      inputs: { "watch-console": { UNTIL_TIMEOUT: "3s" }, "bmc-reset": { ANSWER_TIMEOUT: "3s" } },
      limits: {
        "watch-console": ["timeout", "its console is silent"],
        "bmc-reset": ["timeout", "it ends when it is reset"],
      },
    });

    task.meta.actions = { server: "pyghmi fakebmc", outcomes };
  });
});
