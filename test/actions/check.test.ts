import { describe, expect, it } from "vitest";
import { loadCheckReferences } from "../../actions/check/check-references.ts";
import { CHECK_NAMES } from "../../actions/check/checks.ts";
import { reference } from "../../actions/check/reference.ts";
import { CAPABILITIES } from "../../shared/bmc/operations/table.ts";
import { loadProvider } from "../../shared/bmc/providers/load.ts";
import { systemClock } from "../../shared/clock.ts";
import { type ActionRunOptions, resultOf, runAction } from "./action-run.ts";
import { foundBy, rowOf, rowsOf, statesOf } from "./check-lab.ts";
import { actionLab, eventually, REFUSING_PORT, tcpBlackHole, udpBlackHole } from "./lab.ts";

/** Requests that only read, log in or log out. */
const HARMLESS_REQUEST =
  /^(GET |HEAD |POST \/redfish\/v1\/SessionService\/Sessions$|DELETE \/redfish\/v1\/SessionService\/Sessions\/)/;
const HARMLESS_MESSAGE =
  /^(Open Session|RAKP[13]|Set Session Privilege Level|Close Session|Get .*|Read FRU Data|Reserve SEL)$/;

const both = ["redfish", "ipmi"] as const;

function runCheck(env: Readonly<Record<string, string>>, options: Omit<ActionRunOptions, "env"> = {}) {
  // It compares the BMC's clock with this host's.
  return runAction("check", { clock: systemClock, ...options, env });
}

/** Fails when either BMC was sent anything that changes it or its machine. */
function expectNothingChanged({ redfish, ipmi, machine }: Awaited<ReturnType<typeof actionLab>>): void {
  expect(redfish.log.filter((line) => !HARMLESS_REQUEST.test(line))).toEqual([]);
  expect(ipmi.log.filter((name) => !HARMLESS_MESSAGE.test(name))).toEqual([]);
  expect(machine.commands).toEqual([]);
  expect(machine.override).toMatchObject({ device: "none", enabled: "disabled" });
  expect(redfish.manager.resets).toEqual([]);
}

/** The checks of operations that the provider does not have. */
async function unsupportedBy(provider: (typeof both)[number]): Promise<Readonly<Record<string, string>>> {
  const { capabilities } = await loadProvider(provider);
  const missing = CAPABILITIES.filter((name) => !capabilities.has(name));
  return Object.fromEntries(missing.map((name) => [name, "unsupported"]));
}

describe.concurrent("a BMC that is well", () => {
  it.each(["basic", "session"])("has every check of every provider, with %s authentication", async (auth) => {
    await using lab = await actionLab({ redfish: { profile: "dell-idrac9" } });

    const ended = await runCheck({ ...lab.env(...both), REDFISH_AUTH: auth, MACHINE: "node-7" });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: true, machine: "node-7", provider: "redfish", changed: false });
    const names = CHECK_NAMES.filter((name) => name !== "certificate");
    const okChecks = (provider: string) =>
      Object.values(statesOf(ended, provider)).filter((state) => state === "ok").length;
    expect(said.message).toBe(
      `all 3 required checks passed; redfish: ${okChecks("redfish")} of ${names.length}, ipmi: ${okChecks("ipmi")} of ${names.length} (1 warning)`,
    );
    expect(rowsOf(ended).map(({ provider, check }) => `${provider} ${check}`)).toEqual(
      both.flatMap((provider) => names.map((name) => `${provider} ${name}`)),
    );
    expect(statesOf(ended, "redfish")).toEqual({
      ...Object.fromEntries(names.map((name) => [name, "ok"])),
      ...(await unsupportedBy("redfish")),
      ...{ console: "unsupported", restore: "unsupported" },
    });
    expect(statesOf(ended, "ipmi")).toEqual({
      ...Object.fromEntries(names.map((name) => [name, "ok"])),
      ...(await unsupportedBy("ipmi")),
      users: "warning",
      nmi: "not tried",
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expectNothingChanged(lab);
    await eventually(() => lab.redfish.sessions.count + lab.ipmi.sessions() === 0);
  });

  it("costs the documented round trips", async () => {
    await using lab = await actionLab();

    const ended = await runCheck(lab.env(...both));

    for (const { name, roundTrips } of await loadCheckReferences()) {
      const asked = (provider: string) => rowOf(ended, provider, name)?.roundTrips ?? 0;
      const { redfish = 0, ipmi = 0 } = roundTrips;
      expect([name, asked("redfish"), asked("ipmi")]).toEqual([name, redfish, ipmi]);
    }
    const { redfish = 0, ipmi = 0 } = reference.mostRoundTrips;
    expect(foundBy(ended).providers.map(({ roundTrips }) => roundTrips)).toEqual([redfish, ipmi]);
    expect(lab.redfish.requests).toHaveLength(redfish);
    expect(resultOf(ended).roundTrips).toBe(redfish + ipmi);
  });

  it("has a table for people, grouped by provider, before the result", async () => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env(...both), OUTPUT: "table" });

    const lines = ended.stdout.split("\n");
    expect(lines[0]).toMatch(/^provider +check +state +ms +detail$/);
    expect(lines.filter((line) => line.startsWith("redfish "))).toEqual([
      expect.stringMatching(/^redfish +login +ok +\d+ +2 round trips$/),
    ]);
    expect(lines.filter((line) => line.startsWith("ipmi "))).toEqual([
      expect.stringMatching(/^ipmi +login +ok +\d+ +3 round trips$/),
    ]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^ +inventory +ok +\d+ +Contoso 3500, 2 processors, /),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^ +media +unsupported +not part of the provider ipmi$/),
    );
    expect(resultOf(ended).ok).toBe(true);
  });

  it("is looked at all the same in a dry run", async () => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env("ipmi"), DRY_RUN: "true" });

    expect(resultOf(ended).message).toMatch(/^all 3 required checks passed; ipmi: \d+ of \d+ \(1 warning\)$/);
  });

  it("leaves a hint where a worker asks for it, with which the next action needs one round trip", async () => {
    await using lab = await actionLab();
    const connection = lab.connection(...both);
    const env = { BMC_CONNECTION_FILE: "-" };
    const byHand = await runCheck(lab.env(...both));
    const checked = await runCheck(env, { stdin: JSON.stringify(connection) });
    const { hint } = resultOf(checked);

    const ended = await runAction("power-status", {
      env,
      stdin: JSON.stringify({ ...connection, hint }),
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "redfish", roundTrips: 1 });
    expect(resultOf(byHand).hint).toBeUndefined();
  });

  it("is looked at without the hint of earlier runs", async () => {
    await using lab = await actionLab();
    const hint = { provider: "ipmi", providers: { redfish: { system: "/redfish/v1/Systems/gone" } } };

    const ended = await runCheck(
      { BMC_CONNECTION_FILE: "-" },
      { stdin: JSON.stringify({ ...lab.connection(...both), hint }) },
    );

    expect(rowsOf(ended)[0]).toMatchObject({ provider: "redfish", check: "login", state: "ok" });
    expect(lab.redfish.log[0]).toBe("GET /redfish/v1/Systems");
    expect(resultOf(ended).hint).toMatchObject({
      provider: "redfish",
      providers: { redfish: { system: "/redfish/v1/Systems/1" }, ipmi: {} },
    });
  });
});

describe.concurrent("a refused password", () => {
  it.each([
    ["redfish", "ipmi"],
    ["ipmi", "redfish"],
  ] as const)("of %s is offered once, and not to %s", async (first, second) => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env(first, second), BMC_PASSWORD: "not-calvin", OUTPUT: "table" });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: false, class: "auth" });
    expect(said).not.toHaveProperty("provider");
    expect(said.message).toMatch(new RegExp(`^${first}: [^;]+$`));
    expect(ended.code).toBe(10);
    expect(lab.refusals()).toBe(1);
    expect(second === "ipmi" ? lab.ipmi.received : lab.redfish.requests.length).toBe(0);
    expect(rowsOf(ended)).toMatchObject([
      { provider: first, check: "login", state: "failed", class: "auth" },
      { provider: second, check: "login", state: "not tried" },
    ]);
    expect(ended.stdout).toMatch(new RegExp(`^${second} +login +not tried +${first} refused`, "m"));
  });

  it("after a provider that took it leaves what that has shown", async () => {
    await using lab = await actionLab({ ipmi: { users: [{ name: "admin", password: "another" }] } });

    const ended = await runCheck(lab.env(...both));

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: expect.stringMatching(
        /^all 3 required checks passed; redfish: \d+ of \d+, ipmi: login refused$/,
      ),
    });
    expect(lab.refusals()).toBe(1);
  });
});

describe.concurrent("a provider that is dead", () => {
  it("is one line, and not tried again", async () => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env(...both), REDFISH_PORT: String(REFUSING_PORT) });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      provider: "ipmi",
      message: expect.stringMatching(
        /^all 3 required checks passed; redfish: not reachable, ipmi: \d+ of \d+ \(1 warning\)$/,
      ),
    });
    expect(statesOf(ended, "redfish")).toEqual({ login: "failed" });
    expect(rowOf(ended, "redfish", "login")).toMatchObject({
      class: "unreachable",
      detail: expect.stringContaining("connection refused"),
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  it.each(both)("%s costs one time-out when it says nothing at all", async (dead) => {
    await using lab = await actionLab();
    await using tcp = await tcpBlackHole();
    await using udp = await udpBlackHole();
    const silent =
      dead === "redfish"
        ? { REDFISH_SCHEME: "https", REDFISH_PORT: String(tcp.port) }
        : { IPMI_PORT: String(udp.port) };

    const ended = await runCheck({ ...lab.env(...both), ...silent, BMC_CONNECT_TIMEOUT: "2s" });

    expect(resultOf(ended).ok).toBe(true);
    expect(statesOf(ended, dead)).toEqual({ login: "failed" });
    const login = rowOf(ended, dead, "login");
    expect(login).toMatchObject({ class: "unreachable", detail: expect.stringContaining("within 2000 ms") });
    expect(login?.durationMs).toBeGreaterThanOrEqual(1_990);
    // A second attempt would be logged.
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("fails the action when it is not the only one", async () => {
    await using lab = await actionLab();
    const port = String(REFUSING_PORT);

    const ended = await runCheck({
      ...lab.env(...both),
      REDFISH_PORT: port,
      IPMI_PORT: port,
      REQUIRE: "clock",
      OUTPUT: "table",
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: false, class: "unreachable" });
    expect(said.message).toMatch(/^redfish: .*connection refused; ipmi: .*connection refused/);
    expect(ended.code).toBe(11);
    expect(rowsOf(ended)).toHaveLength(2);
    expect(ended.stdout).toMatch(/^ipmi +login +failed +\d+ +cannot reach/m);
    expect(lab.traffic()).toBe(0);
  });

  it("is left alone when it dies in between, with what it has shown", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-before", path: /NetworkProtocol|VirtualMedia/, times: 100 });

    const ended = await runCheck(lab.env("redfish"));

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^all 3 required checks passed; redfish: 5 of \d+$/),
    });
    expect(statesOf(ended, "redfish")).toMatchObject({
      clock: "ok",
      ntp: "failed",
      media: "failed",
      users: "not tried",
      sol: "unsupported",
      screenshot: "not tried",
    });
    expect(lab.redfish.log.filter((line) => line.includes("Accounts"))).toEqual([]);
  });

  it("fails what is required and was not tried any more", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-before", path: /NetworkProtocol|VirtualMedia/, times: 100 });

    const ended = await runCheck({ ...lab.env("redfish"), REQUIRE: "sel" });

    expect(resultOf(ended)).toMatchObject({
      class: "unreachable",
      message: "sel: redfish: the BMC has stopped answering",
    });
    expect(ended.code).toBe(11);
  });

  it("is not taken for dead after one question without an answer", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-before", path: /NetworkProtocol/, times: 100 });

    const ended = await runCheck(lab.env("redfish"));

    expect(statesOf(ended, "redfish")).toMatchObject({ ntp: "failed", media: "ok", inventory: "ok" });
    expect(resultOf(ended).ok).toBe(true);
  });
});

describe.concurrent("what a BMC does not have", () => {
  it("is unsupported, and no failure where it is not required", async () => {
    await using lab = await actionLab({ redfish: { profile: "bare" } });
    lab.ipmi.faults.refuses = (name) =>
      name === "Get SEL Info" || name === "Get Payload Activation Status" ? 0xc1 : undefined;

    const ended = await runCheck(lab.env(...both));

    expect(resultOf(ended).ok).toBe(true);
    expect(statesOf(ended, "redfish")).toMatchObject({
      ntp: "unsupported",
      media: "unsupported",
      sel: "unsupported",
    });
    expect(statesOf(ended, "ipmi")).toMatchObject({ sel: "unsupported", sol: "not tried" });
    expectNothingChanged(lab);
  });

  it.each([
    ["ntp", /^ntp: redfish: the BMC offers no NTP settings; ipmi: not part of the provider ipmi$/],
    [
      "nmi,media",
      /^media: redfish: the BMC offers no virtual drive .*; ipmi: not part of the provider ipmi$/,
    ],
    ["certificate", /^certificate: none of the providers has one$/],
  ])("fails REQUIRE=%s, with all that was found", async (names, message) => {
    await using lab = await actionLab({ redfish: { profile: "bare" } });

    const ended = await runCheck({ ...lab.env(...both), REQUIRE: names, OUTPUT: "table" });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported", provider: "redfish" });
    expect(resultOf(ended).message).toMatch(message);
    expect(ended.code).toBe(13);
    expect(rowsOf(ended)).toHaveLength(2 * (CHECK_NAMES.length - 1));
    expect(ended.stdout).toMatch(/^ipmi +login +ok /m);
    expectNothingChanged(lab);
  });

  it.each([
    ["sol", "unreachable", 11],
    ["ntp", "unsupported", 13],
  ])("is distinguished from what a dead provider may have: %s is %s", async (name, errorClass, code) => {
    await using lab = await actionLab({ redfish: { profile: "bare" } });

    const ended = await runCheck({
      ...lab.env(...both),
      REQUIRE: name,
      IPMI_PORT: String(REFUSING_PORT),
    });

    expect(resultOf(ended).class).toBe(errorClass);
    expect(ended.code).toBe(code);
  });

  it("is a usage error in REQUIRE where there is no such check", async () => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env(...both), REQUIRE: "login,clok" });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "usage" });
    expect(resultOf(ended).message).toMatch(/^REQUIRE "login,clok" must hold only login, .*, clock, /);
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });
});

describe.concurrent("a user with too few rights", () => {
  it("fails a required check that the BMC refuses, and no other one", async () => {
    const users = [{ name: "admin", password: "calvin", privilege: "user" }] as const;
    await using lab = await actionLab({ ipmi: { users } });

    const ended = await runCheck({ ...lab.env("ipmi"), IPMI_PRIVILEGE: "user" });

    expect(resultOf(ended)).toMatchObject({ class: "auth", provider: "ipmi" });
    expect(resultOf(ended).message).toMatch(/^boot: ipmi: .*needs privilege level operator/);
    expect(ended.code).toBe(10);
    expect(statesOf(ended, "ipmi")).toMatchObject({
      power: "ok",
      boot: "failed",
      clock: "ok",
      users: "failed",
    });
  });

  it.each([
    ["operator", "operator", /admin is operator/],
    ["administrator", "operator", /the session is operator/],
  ] as const)("is warned of where users are to be changed: %s as %s", async (privilege, session, detail) => {
    const users = [
      { name: "admin", password: "calvin", privilege },
      { name: "other", password: "secret" },
    ];
    await using lab = await actionLab({ ipmi: { users } });

    const ended = await runCheck({ ...lab.env("ipmi"), IPMI_PRIVILEGE: session });

    expect(rowOf(ended, "ipmi", "login")?.state).toBe("ok");
    expect(rowOf(ended, "ipmi", "users")).toMatchObject({ state: "warning", class: "auth" });
    expect(rowOf(ended, "ipmi", "users")?.detail).toMatch(detail);
  });

  it("may be refused one thing and not the next", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "refuse", status: 403, path: /AccountService/, times: 100 });

    const ended = await runCheck(lab.env(...both));

    expect(rowOf(ended, "redfish", "users")).toMatchObject({ state: "failed", class: "auth" });
    expect(rowOf(ended, "redfish", "sel")?.state).toBe("ok");
    expect(rowOf(ended, "ipmi", "login")?.state).toBe("ok");
  });

  it("is not tried any further once it is refused twice in a row", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "refuse", status: 401, path: /NetworkProtocol|VirtualMedia/, times: 100 });

    const ended = await runCheck(lab.env(...both));

    expect(statesOf(ended, "redfish")).toMatchObject({ ntp: "failed", media: "failed", users: "not tried" });
    expect(statesOf(ended, "ipmi")).toEqual({ login: "not tried" });
    expect(lab.redfish.log.filter((line) => line.includes("Accounts"))).toEqual([]);
    expect(lab.ipmi.received).toBe(0);
  });

  it("is ok with all rights", async () => {
    await using lab = await actionLab();

    const ended = await runCheck({ ...lab.env("ipmi"), IPMI_PRIVILEGE: "administrator", REQUIRE: "users" });

    expect(rowOf(ended, "ipmi", "users")).toMatchObject({ state: "ok", detail: "1 user" });
    expect(ended.code).toBe(0);
  });
});
