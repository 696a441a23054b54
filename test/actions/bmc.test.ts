import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually } from "./lab.ts";

const asAdministrator = { IPMI_PRIVILEGE: "administrator" };
const dryRun = { DRY_RUN: "true" };

/** A BMC that lists these reset types for its machine. */
function listing(...resetTypes: readonly string[]) {
  const base = redfishProfile("generic");
  return { profile: { ...base, resetTypes } };
}

describe.concurrent("bmc-info", () => {
  it.each([
    {
      provider: "redfish",
      message: "Contoso 3500, firmware 1.2.3 via redfish",
      data: { vendor: "Contoso", model: "3500", firmware: "1.2.3", protocolVersion: "1.11.0" },
    },
    {
      provider: "ipmi",
      message: "Intel product 0x0f02, firmware 3.45 via ipmi",
      data: { vendor: "Intel", model: "product 0x0f02", firmware: "3.45", protocolVersion: "2.0" },
    },
  ] as const)("says what the BMC is via $provider, and changes nothing", async (expected) => {
    await using lab = await actionLab();

    const ended = await runAction("bmc-info", { env: lab.env(expected.provider) });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: true, message: expected.message, data: expected.data, changed: false });
    expect(said).not.toHaveProperty("before");
    expect(ended.code).toBe(0);
    expect(lab.writes()).toEqual([]);
  });
});

describe.concurrent.each([
  { provider: "redfish", cold: /Manager\.Reset$/, types: { cold: "ForceRestart", warm: "GracefulRestart" } },
  { provider: "ipmi", cold: /^Cold Reset$/, types: undefined },
] as const)("bmc-reset via $provider", ({ provider, cold, types }) => {
  it("resets the BMC once, and ends when it was silent and answers again", async () => {
    await using lab = await actionLab({ redfish: { restartMs: 5_000 }, ipmi: { restartMs: 5_000 } });

    const ended = await runAction("bmc-reset", {
      env: { ...lab.env(provider), ...asAdministrator, BMC_CONNECT_TIMEOUT: "1s" },
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: true, changed: true, provider });
    expect(said.message).toMatch(/^BMC reset \(cold\), answers again after \d+\.\d s via /);
    expect(said.durationMs).toBeGreaterThan(1_500);
    expect(ended.code).toBe(0);
    expect(lab.writes()).toEqual([expect.stringMatching(cold)]);
    if (types) expect(lab.redfish.manager.resets).toEqual([types.cold]);
    expect(lab.done()).toEqual([]);
    await eventually(() => lab.ipmi.sessions() === 0);
  });

  it("says that it does not answer again in time", async () => {
    await using lab = await actionLab({ redfish: { restartMs: 60_000 }, ipmi: { restartMs: 60_000 } });

    const ended = await runAction("bmc-reset", {
      env: { ...lab.env(provider), ...asAdministrator, BMC_CONNECT_TIMEOUT: "1s", ANSWER_TIMEOUT: "4s" },
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: false, class: "timeout", changed: true });
    expect(said.message).toContain("the BMC did not answer within 4.0 s of its reset: ");
    expect(said.message).toMatch(/: cold reset of the BMC sent$/);
    expect(ended.code).toBe(16);
    expect(lab.writes()).toHaveLength(1);
  });

  it("is ended by SIGTERM while it waits, and says that the reset was sent", async () => {
    await using lab = await actionLab();
    const action = new ActionRun("bmc-reset", {
      env: { ...lab.env(provider), ...asAdministrator, REDFISH_AUTH: "session" },
    });
    await eventually(() => lab.writes().length === 1);
    const readings = lab.readings();
    await eventually(() => lab.readings() > readings);

    action.kill("SIGTERM");
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "cancelled",
      message: "cancelled by SIGTERM: cold reset of the BMC sent",
      changed: true,
    });
    expect(ended).toMatchObject({ code: 143 });
    expect(lab.writes()).toHaveLength(1);
    await eventually(() => lab.redfish.sessions.count + lab.ipmi.sessions() === 0);
  });
});

/** Both BMCs accept a reset, and do this instead. */
function resetting({ redfish, ipmi }: Awaited<ReturnType<typeof actionLab>>, instead: () => void): void {
  redfish.manager.onReset = instead;
  ipmi.faults.answers = ({ netFn, command }) => {
    if (netFn !== 0x06 || command !== 0x02) return undefined;
    instead();
    return {};
  };
}

describe.concurrent("bmc-reset", () => {
  it.each([
    ["redfish", "basic"],
    ["redfish", "session"],
    ["ipmi", undefined],
  ] as const)(
    "of a BMC that says yes and does nothing is not called done, via %s %s",
    async (provider, auth) => {
      await using lab = await actionLab();
      resetting(lab, () => undefined);

      const ended = await runAction("bmc-reset", {
        env: { ...lab.env(provider), ...asAdministrator, ...(auth && { REDFISH_AUTH: auth }) },
      });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "verify", changed: true });
      expect(resultOf(ended).message).toMatch(
        auth
          ? /but it did not become unreachable within 1m 0s, and its last reset was at .*, as before: the end is unknown/
          : /within 1m 0s, and it still knows the session that it was sent in: the end is unknown/,
      );
      expect(lab.writes()).toHaveLength(1);
      await eventually(() => lab.redfish.sessions.count + lab.ipmi.sessions() === 0);
    },
  );

  it.each([
    ["redfish", "session"],
    ["ipmi", undefined],
  ] as const)(
    "without a moment's silence is proven by the session that has gone, via %s",
    async (provider, auth) => {
      await using lab = await actionLab({ redfish: { profile: "hpe-ilo5" } });
      lab.redfish.manager.onReset = () => lab.redfish.sessions.expireAll();

      const ended = await runAction("bmc-reset", {
        env: { ...lab.env(provider), ...asAdministrator, KIND: "warm", ...(auth && { REDFISH_AUTH: auth }) },
      });

      expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
      expect(resultOf(ended).message).toMatch(/^BMC reset \(warm\), answers again after /);
      expect(lab.writes()).toHaveLength(1);
    },
  );
});

describe.concurrent("send-nmi", () => {
  it("is not sent again when its answer is lost, neither so nor through another provider", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    lab.redfish.fail({ kind: "reset-after", method: "POST" });

    const ended = await runAction("send-nmi", { env: lab.env("redfish", "ipmi") });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unreachable" });
    expect(resultOf(ended).message).toMatch(/; the NMI may have been raised and is not sent again$/);
    expect(lab.done()).toEqual(["nmi"]);
    expect(lab.ipmi.log).toEqual([]);
  });

  it("goes through the next provider where the first has none", async () => {
    await using lab = await actionLab({ machine: { power: "on" }, redfish: listing("On", "ForceOff") });

    const ended = await runAction("send-nmi", { env: lab.env("redfish", "ipmi") });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi" });
    expect(lab.done()).toEqual(["nmi"]);
  });
});

describe.concurrent("deactivate-sol", () => {
  it.each([
    [[1], "SOL session ended via ipmi"],
    [[1, 3], "2 SOL sessions ended via ipmi"],
  ])("ends the sessions %j, through the provider that can", async (sol, message) => {
    await using lab = await actionLab({ ipmi: { sol } });

    const ended = await runAction("deactivate-sol", { env: lab.env("redfish", "ipmi") });

    expect(resultOf(ended)).toMatchObject({ ok: true, message, changed: true, provider: "ipmi" });
    expect(ended.code).toBe(0);
    expect(lab.ipmi.sol.size).toBe(0);
    expect(lab.redfish.log).toEqual([]);
  });

  it.each([
    [[2], "dry run: now one SOL session active, would send SOL deactivation of instance 2 via ipmi"],
    [[], "dry run: now no SOL session active, nothing would be sent via ipmi"],
  ])("says in a dry run with the sessions %j what it would send", async (sol, message) => {
    await using lab = await actionLab({ ipmi: { sol } });

    const ended = await runAction("deactivate-sol", { env: { ...lab.env("ipmi"), ...dryRun } });

    expect(resultOf(ended)).toMatchObject({ ok: true, message, changed: false });
    expect([...lab.ipmi.sol]).toEqual(sol);
  });
});
