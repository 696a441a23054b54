import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const SERVERS = ["ntp1.example.org", "192.0.2.123"];
const wanted = { NTP_SERVERS: SERVERS.join(", ") };
const kept = { enabled: true, servers: ["192.0.2.7"] };

/** A BMC whose time servers are these. */
async function ntpLab(ntp: { enabled: boolean; servers: string[] }, profile = "generic") {
  const lab = await actionLab({ redfish: { profile } });
  Object.assign(lab.redfish.manager.ntp, ntp);
  return lab;
}

const patches = (lab: Awaited<ReturnType<typeof actionLab>>) =>
  lab.redfish.requests.filter(({ method }) => method === "PATCH").map(({ body }) => body);

describe.concurrent("get-ntp", () => {
  it.each([
    [{ enabled: true, servers: SERVERS }, "NTP on (ntp1.example.org, 192.0.2.123) via redfish"],
    [{ enabled: false, servers: [] }, "NTP off via redfish"],
  ])("says %j", async (ntp, message) => {
    await using lab = await ntpLab(ntp);

    const ended = await runAction("get-ntp", { env: lab.env("redfish") });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message,
      before: ntp,
      after: ntp,
      changed: false,
      data: ntp,
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(lab.writes()).toEqual([]);
  });
});

describe.concurrent("set-ntp", () => {
  it.each([
    ["as they are", "ntp1.example.org,192.0.2.123"],
    ["in other letters", "NTP1.example.ORG,192.0.2.123"],
    ["with repeats", "ntp1.example.org,192.0.2.123,Ntp1.example.org"],
  ])("sends nothing for servers that are set already, given %s", async (_, servers) => {
    await using lab = await ntpLab({ enabled: true, servers: SERVERS });

    const ended = await runAction("set-ntp", { env: { ...lab.env("redfish"), NTP_SERVERS: servers } });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: false });
    expect(resultOf(ended).message).toMatch(/^already NTP on \(/);
    expect(lab.writes()).toEqual([]);
  });

  it.each([
    ["generic", {}, { NTP: { ProtocolEnabled: false } }],
    ["generic", { NTP_SERVERS: " , " }, { NTP: { ProtocolEnabled: false } }],
    ["dell-13g", {}, { Attributes: { "NTPConfigGroup.1.NTPEnable": "Disabled" } }],
  ])("without servers leaves those of a %s BMC there, given %j", async (profile, env, body) => {
    await using lab = await ntpLab({ enabled: true, servers: SERVERS }, profile);

    const ended = await runAction("set-ntp", {
      env: { ...lab.env("redfish"), ...env, NTP_ENABLED: "false" },
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { enabled: false, servers: SERVERS } });
    expect(patches(lab)).toEqual([body]);
    expect(lab.redfish.manager.ntp).toEqual({ enabled: false, servers: SERVERS });
  });

  it("tries a busy BMC until its own timeout is near, and says what the BMC says", async () => {
    await using lab = await ntpLab(kept);
    lab.redfish.fail({ kind: "refuse", method: "PATCH", status: 503, times: 99 });

    const ended = await runAction("set-ntp", {
      env: { ...lab.env("redfish"), ...wanted, TIMEOUT: "20s" },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "busy" });
    expect(resultOf(ended).message).toContain("answered 503");
    expect(patches(lab).length).toBeGreaterThan(3);
  });

  it.each(["-x", "a b", "http://ntp.example.org", "a;b"])("refuses the server %j", async (server) => {
    await using lab = await actionLab();

    const ended = await runAction("set-ntp", { env: { ...lab.env("redfish"), NTP_SERVERS: server } });

    expect(resultOf(ended).class).toBe("usage");
    expect(resultOf(ended).message).toContain("NTP_SERVERS");
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });
});
