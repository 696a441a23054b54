import { describe, expect, it } from "vitest";
import { type RedfishProfile, redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS, type TestedProvider } from "./lab.ts";

const generic = redfishProfile("generic");

/** A BMC on 127.0.0.1 that knows this address as its own, as without a router in front of it. */
async function lab(
  profile: Partial<RedfishProfile> = {},
  { tls }: { readonly tls?: "http" | undefined } = { tls: "http" },
) {
  const there = await actionLab({ redfish: { tls, profile: { ...generic, ...profile } } });
  const { machine } = there;
  machine.network = { ...machine.network, address: "127.0.0.1", prefix: 8, gateway: "127.0.0.254" };
  return Object.assign(there, {
    run: (provider: TestedProvider, env: Readonly<Record<string, string>>, name = "set-bmc-network") =>
      runAction(name, {
        env: { ...there.env(provider), IPMI_PRIVILEGE: "administrator", BMC_REQUEST_TIMEOUT: "1s", ...env },
      }),
  });
}

describe.concurrent("set-bmc-network", () => {
  it.each([
    ["redfish", undefined, "127.0.0.3"],
    ["redfish", "old", "127.0.0.4"],
    ["redfish", "no-dhcpv4", "127.0.0.8"],
    ["redfish", "settings", "127.0.0.5"],
    ["redfish", "several", "127.0.0.6"],
    ["ipmi", undefined, "127.0.0.7"],
  ] as const)(
    "verifies a new address there, and goes back with its own line: %s, %s",
    async (provider, network, to) => {
      await using there = await lab(network && { network });

      const ended = await there.run(provider, { ADDRESS: `${to}/255.0.0.0`, VLAN: "42" });
      const said = resultOf(ended);
      const back = Object.fromEntries(
        goBackOf(said.data)
          .split(" ")
          .map((each) => each.split("=")),
      );
      const returned = await there.run(provider, back);

      expect(said).toMatchObject({
        ok: true,
        before: { mode: "static", address: "127.0.0.1", prefix: 8, gateway: "127.0.0.254", vlan: "off" },
        after: { mode: "static", address: to, vlan: 42 },
        changed: true,
        data: { host: to },
      });
      expect(said.message).toContain(`answers at ${to}; to go back: BMC_HOST=${to} ADDRESS=127.0.0.1/8`);
      expect(resultOf(returned)).toMatchObject({ ok: true, after: said.before, data: { host: "127.0.0.1" } });
    },
  );

  it.each(TESTED_PROVIDERS)("sends nothing if all is so already: %s", async (provider) => {
    await using there = await lab();

    const ended = await there.run(provider, { ADDRESS: "127.0.0.1/8", GATEWAY: "127.0.0.254", VLAN: "off" });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: false });
    expect(resultOf(ended).message).toContain("already static 127.0.0.1/8");
    expect(there.writes()).toEqual([]);
  });

  it("keeps the pinned certificate and the credentials at the new address", async () => {
    await using there = await lab({}, {});
    const { fingerprint } = there.redfish;

    const ended = await there.run("redfish", { ADDRESS: "127.0.0.14", BMC_TLS_FINGERPRINT: fingerprint });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { address: "127.0.0.14" } });
  });

  it.each([
    ["and has moved", { ADDRESS: "127.0.0.15" }, true],
    ["and keeps its address", { HOST_NAME: "bmc-9" }, true],
  ])("is done by a BMC that answers 500 after it was, %s", async (_, env, ok) => {
    await using there = await lab();
    there.redfish.fail({ kind: "gateway", method: "PATCH", status: 500 });

    const ended = await there.run("redfish", env);

    expect(resultOf(ended)).toMatchObject({ ok, changed: true });
    expect(there.writes()).toHaveLength(1);
  });

  it("is sent until a BMC that is busy for longer than the verification takes it, and verified then", async () => {
    await using there = await lab();
    there.redfish.fail({ kind: "refuse", method: "PATCH", status: 503, times: 5 });

    const ended = await there.run("redfish", { HOST_NAME: "bmc-9", VERIFY_TIMEOUT: "4s" });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true, after: { hostName: "bmc-9" } });
    expect(there.writes()).toHaveLength(6);
  });

  it("claims a change where a BMC answers 500 after it, and shows it too late", async () => {
    await using there = await lab();
    there.redfish.fail({ kind: "refuse", method: "PATCH", status: 500 });

    const ended = await there.run("redfish", { HOST_NAME: "bmc-9", VERIFY_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({ ok: false, changed: true });
    expect(there.writes()).toHaveLength(1);
  });

  it("ends a change over IPMI whose end was lost, so that other consoles are not locked out", async () => {
    await using there = await lab();
    // The BMC takes the address at once, and the session is gone.
    there.ipmi.faults.ignores = (name, [, parameter]) => {
      const isAddress = name === "Set LAN Configuration Parameters" && parameter === 3;
      if (isAddress) there.machine.changeNetwork({ address: "127.0.0.9" });
      return isAddress;
    };

    const ended = await there.run("ipmi", { ADDRESS: "127.0.0.9" });
    const again = await there.run("ipmi", { BMC_HOST: "127.0.0.9", VLAN: "7" });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { address: "127.0.0.9" } });
    expect(resultOf(again)).toMatchObject({ ok: true, after: { vlan: 7 } });
  });

  it.each(TESTED_PROVIDERS)(
    "IW126: is a verification failure if the BMC stays as it was: %s",
    async (provider) => {
      await using there = await lab();
      there.machine.networkFault = "kept";

      const ended = await there.run(provider, { ADDRESS: "127.0.0.10", VERIFY_TIMEOUT: "1s" });

      expect(resultOf(ended)).toMatchObject({
        class: "verify",
        changed: true,
        data: { goBack: expect.stringContaining("ADDRESS=127.0.0.1/8 GATEWAY=127.0.0.254") },
      });
      expect(resultOf(ended).message).toContain(
        "does not answer at 127.0.0.10 and still answers at 127.0.0.1 with static 127.0.0.1/8",
      );
    },
  );

  it.each(TESTED_PROVIDERS)(
    "is a timeout with the settings before if the BMC is gone: %s",
    async (provider) => {
      await using there = await lab();
      there.machine.networkFault = "gone";

      const ended = await there.run(provider, { ADDRESS: "127.0.0.11", VERIFY_TIMEOUT: "1s" });

      expect(resultOf(ended)).toMatchObject({ class: "timeout", changed: true });
      expect(resultOf(ended).message).toMatch(
        /answers neither at 127\.0\.0\.11 within .* nor at 127\.0\.0\.1: .*; settings before: ADDRESS=127\.0\.0\.1\/8/,
      );
    },
  );

  it("sends all settings when a lease becomes static, and looks again once the BMC has dropped it", async () => {
    await using there = await lab();
    there.machine.network = { ...there.machine.network, mode: "dhcp" };
    const set = new Set<number | undefined>();
    let isGone = false;
    there.ipmi.faults.refuses = (name, data) => {
      if (name === "Set LAN Configuration Parameters") set.add(data[1]);
      return undefined;
    };
    there.ipmi.faults.ignores = () => isGone;
    there.machine.once("network", () => undefined);
    setTimeout(() => {
      isGone = ![3, 4, 6, 12].every((parameter) => set.has(parameter));
    }, 1_000);

    const ended = await there.run("ipmi", { MODE: "static", VERIFY_TIMEOUT: "3s" });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { mode: "static", address: "127.0.0.1" } });
    expect([...set]).toEqual(expect.arrayContaining([3, 4, 6, 12]));
  });

  it("ends DHCP by the origin of the address where the BMC has no DHCPv4", async () => {
    await using there = await lab({ network: "no-dhcpv4" });
    there.machine.network = { ...there.machine.network, mode: "dhcp" };

    const ended = await there.run("redfish", { MODE: "static" });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { mode: "static", address: "127.0.0.1" } });
    expect(there.machine.network.mode).toBe("static");
  });

  it.each(TESTED_PROVIDERS)("switches to DHCP and says what it verified: %s", async (provider) => {
    await using there = await lab();

    const ended = await there.run(provider, { MODE: "dhcp" });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { mode: "dhcp" }, data: { host: "127.0.0.1" } });
    expect(resultOf(ended).message).toContain("DHCP");
    expect(resultOf(ended).message).toContain("read back at 127.0.0.1, the new address is not known");
  });

  it("says that DHCP was not read back where the BMC has left its address", async () => {
    await using there = await lab();
    there.machine.networkFault = "gone";

    const ended = await there.run("redfish", { MODE: "dhcp", VERIFY_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(resultOf(ended).after).toBeUndefined();
    expect(resultOf(ended).message).toContain("accepted, not read back");
  });

  it("does not trust another BMC at the new address", async () => {
    await using there = await lab();
    const { machine } = there;
    machine.once("network", () => {
      machine.network = { ...machine.network, mac: "02:00:00:00:00:99" };
    });

    const ended = await there.run("redfish", { ADDRESS: "127.0.0.12" });

    expect(resultOf(ended)).toMatchObject({ class: "verify" });
    expect(resultOf(ended).message).toContain("another BMC answers at 127.0.0.12: MAC 02:00:00:00:00:99");
  });

  it("sets the host name, and is unsupported over IPMI before anything is sent", async () => {
    await using there = await lab();

    const ended = await there.run("redfish", { HOST_NAME: "bmc-8" });
    const refused = await there.run("ipmi", { HOST_NAME: "bmc-9" });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { hostName: "bmc-8" } });
    expect(resultOf(refused)).toMatchObject({ class: "unsupported" });
    expect(there.writes()).toHaveLength(1);
  });

  it.each([
    [
      { ADDRESS: "127.0.0.3/33", VLAN: "5000", GATEWAY: "127.0.0.300" },
      ["prefix length 33", "VLAN 5000", "gateway 127.0.0.300 is not"],
    ],
    [
      { ADDRESS: "10.0.0.5/24", GATEWAY: "10.0.1.1" },
      ["gateway 10.0.1.1 is not in the subnet of 10.0.0.5/24"],
    ],
    [{ ADDRESS: "10.0.0.255/24" }, ["not a host address"]],
    [{ ADDRESS: "224.0.0.1/24" }, ["not a host address"]],
    [{ MODE: "dhcp", GATEWAY: "10.0.0.1" }, ["DHCP takes no address"]],
    [{}, ["set at least one of MODE, ADDRESS"]],
  ])("lists what is wrong with %j without a connection", async (env, problems) => {
    await using there = await lab();

    const ended = await there.run("redfish", env as Record<string, string>);

    expect(ended.code).toBe(2);
    for (const problem of problems) expect(resultOf(ended).message).toContain(problem);
    expect(there.traffic()).toBe(0);
  });

  it("refuses a new address that leaves the old gateway outside, before anything is sent", async () => {
    await using there = await lab();

    const ended = await there.run("redfish", { ADDRESS: "10.0.0.5/24" });

    expect(resultOf(ended)).toMatchObject({ class: "usage" });
    expect(resultOf(ended).message).toContain("gateway 127.0.0.254 is not in the subnet of 10.0.0.5/24");
    expect(there.writes()).toEqual([]);
  });

  it("asks which of several interfaces if the connection uses none of their addresses", async () => {
    await using there = await lab({ network: "several" });
    there.machine.network = { ...there.machine.network, address: "192.0.2.11" };

    const ended = await there.run("redfish", { VLAN: "7" });
    const named = await there.run("redfish", { VLAN: "7", INTERFACE: "eth0" });

    expect(resultOf(ended).message).toContain("name the interface: the BMC has eth0 (");
    expect(resultOf(named)).toMatchObject({ ok: true, after: { id: "eth0", vlan: 7 } });
  });
});

it.each(TESTED_PROVIDERS)("get-bmc-network lists the interfaces: %s", async (provider) => {
  await using there = await lab();

  const ended = await there.run(provider, {}, "get-bmc-network");

  const shown = { mode: "static", address: "127.0.0.1", prefix: 8, mac: "02:00:00:00:00:0b", vlan: "off" };
  expect(resultOf(ended)).toMatchObject({ ok: true, changed: false, data: { interfaces: [shown] } });
});

function goBackOf(data: unknown): string {
  return (data as { readonly goBack: string }).goBack;
}
