import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { OPERATIONS } from "../../shared/bmc/operations/table.ts";
import { type RedfishProfile, redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { type actionLab, eventually, type LabOptions, REFUSING_PORT, TESTED_PROVIDERS } from "./lab.ts";
import { documentedResult, findSubjects } from "./subject.ts";
import { CANARY, subjectLab } from "./subject-lab.ts";

/** Far below what an action waits for a BMC, far above what a slow machine needs. */
const SOON_MS = 10_000;

const subjects = await findSubjects();
/** Each action with each of the tested providers that can do it. */
const runs = subjects.flatMap((subject) => subject.able.map((provider) => ({ ...subject, provider })));
/** Actions that need no more than every provider has, and of that no more than the power as it is. */
const NEED_NOTHING = ["power-status", "wait-for-power-state", "check"];

/** The machine boots once it is looked at, which both its progress and its override show. */
async function bootsAtFirstLook(lab: Awaited<ReturnType<typeof subjectLab>>) {
  await runAction("set-pxe-once", { env: { ...lab.env("ipmi"), BMC_PASSWORD: CANARY, MODE: "uefi" } });
  lab.machine.bootProgress = { state: "MemoryInitializationStarted" };
  const before = lab.readings();
  void eventually(() => lab.readings() > before).then(() => {
    lab.machine.bootProgress = { state: "OSBootStarted" };
    lab.machine.do("reset");
  });
}

it("the matrix has every action of the catalogue", () => {
  expect(subjects.map(({ name }) => name)).toEqual(catalogue);
});

describe.concurrent("a refused password", () => {
  it.each(runs)("ends $name via $provider after one refusal", async ({ provider, ...subject }) => {
    await using lab = await subjectLab(subject, { redfish: { password: "calvin" }, ipmi: { users: [] } });

    const ended = await lab.start([provider]).ended;

    const said = resultOf(ended);
    expect(said).toMatchObject({ action: subject.name, ok: false, class: "auth" });
    expect(said.message).toContain(`${provider}: `);
    expect(ended.code).toBe(10);
    expect(lab.refusals()).toBe(1);
    expect(lab.writes()).toEqual([]);
    expect(lab.done()).toEqual([]);
    expect(lab.leaks(ended)).toEqual([]);
  });
});

describe.concurrent("a BMC that cannot be reached", () => {
  it.each(subjects)("is reported by $name without waiting", async (subject) => {
    await using lab = await subjectLab(subject);
    const port = String(REFUSING_PORT);

    const ended = await lab.start(TESTED_PROVIDERS, { REDFISH_PORT: port, IPMI_PORT: port }).ended;

    const said = resultOf(ended);
    expect(said).toMatchObject({ action: subject.name, ok: false, class: "unreachable" });
    for (const provider of subject.able) expect(said.message).toContain(`${provider}: `);
    expect(said.message).toContain("connection refused");
    expect(said.durationMs).toBeLessThan(SOON_MS);
    expect(ended.code).toBe(11);
    expect(lab.writes()).toEqual([]);
    expect(lab.leaks(ended)).toEqual([]);
  });
});

describe.concurrent("what cannot be done", () => {
  it.each(subjects.filter(({ needed }) => needed.length > 0))(
    "is unsupported when no provider of the machine has what $name needs ($needed)",
    async (subject) => {
      await using lab = await subjectLab(subject);
      const providers = subject.unable.join(", ");

      const ended = await lab.start(TESTED_PROVIDERS, { BMC_PROVIDERS: providers }).ended;

      const said = resultOf(ended);
      expect(said).toMatchObject({ ok: false, class: "unsupported" });
      const [needed] = subject.needed;
      if (!needed) throw new Error("it needs nothing");
      expect(said.message).toMatch(new RegExp(`${providers} ha(ve|s) no ${OPERATIONS[needed].title}`));
      expect(ended.code).toBe(13);
      expect(lab.traffic()).toBe(0);
      expect(lab.leaks(ended)).toEqual([]);
    },
  );

  it.each(subjects.filter(({ name, needed }) => needed.length === 0 && !NEED_NOTHING.includes(name)))(
    "is unsupported when the BMC reports power $name and offers nothing, through either provider",
    async (subject) => {
      await using lab = await subjectLab(subject, barrenBmc());
      const before = lab.machine.override;
      offersNothing(lab.ipmi);

      const ended = await lab.start(TESTED_PROVIDERS).ended;

      const said = resultOf(ended);
      expect(said).toMatchObject({ ok: false, class: "unsupported" });
      for (const provider of TESTED_PROVIDERS) expect(said.message).toContain(`${provider}: `);
      expect(ended.code).toBe(13);
      expect(lab.done()).toEqual([]);
      expect(lab.machine.override).toEqual(before);
      expect(lab.redfish.log.filter((line) => !line.startsWith("GET "))).toEqual([]);
      expect(lab.leaks(ended)).toEqual([]);
    },
  );

  it.each(
    subjects.filter(
      ({ able, needed }) => able.includes("redfish") && needed.some((one) => ABSENT.includes(one)),
    ),
  )("is unsupported by $name where the service has none of $needed, in a dry run too", async (subject) => {
    await using lab = await subjectLab(subject, { redfish: { profile: poorBmc(), tls: undefined } });
    const tls = { BMC_TLS_FINGERPRINT: lab.redfish.fingerprint };

    const run = await lab.start(["redfish"], tls).ended;
    const plan = await lab.start(["redfish"], { ...tls, DRY_RUN: "true" }).ended;

    expect([run, plan].map((ended) => resultOf(ended).class)).toEqual(["unsupported", "unsupported"]);
    expect(run.code).toBe(13);
    expect(lab.writes()).toEqual([]);
  });

  it.each(NEED_NOTHING)("does not include %s: a BMC that reports its power is enough", async (name) => {
    const subject = subjects.find((candidate) => candidate.name === name);
    if (!subject) throw new Error(`no action ${name}`);
    await using lab = await subjectLab(subject, barrenBmc());
    offersNothing(lab.ipmi);

    const ended = await lab.start(TESTED_PROVIDERS, name === "check" ? { REQUIRE: "power" } : {}).ended;

    expect(resultOf(ended)).toMatchObject({ ok: true });
    expect(ended.code).toBe(0);
  });
});

function barrenBmc(): LabOptions {
  const generic = redfishProfile("generic");
  const profile: RedfishProfile = { ...generic, name: "barren", resetTypes: ["Nmi"], bootTargets: [] };
  return { redfish: { profile } };
}

/** Operations that this service has nothing for. */
const ABSENT: readonly string[] = [
  ...["bios", "bootorder", "https", "httpboot", "indicator", "media", "network"],
  ...["ntp", "powerlimit", "restore", "screenshot", "sel", "sensors"],
];
const poorBmc = (): RedfishProfile => {
  const bare = redfishProfile("bare");
  return {
    ...bare,
    ...{ name: "poor", indicator: "none", restorePolicy: false, powerLimit: "none", sensors: [] },
    ...{ network: "none", certificates: "none", bootOrder: false, httpBootUri: false },
    media: { ...bare.media, slots: [] },
  };
};

type Bmc = Awaited<ReturnType<typeof actionLab>>["ipmi"];

const INVALID_COMMAND = 0xc1;
const OF_SESSIONS = /Session|^RAKP|^Get Channel (Authentication Capabilities|Cipher Suites)/;

function offersNothing({ faults }: Bmc): void {
  faults.refuses = (name) =>
    OF_SESSIONS.test(name) || name === "Get Chassis Status" ? undefined : INVALID_COMMAND;
}

/** What is asked of a Redfish BMC once its session is open. */
const AFTER_LOGIN = /^(?!\/redfish\/v1\/?$)(?!.*Session)/;

describe.concurrent("SIGTERM while the BMC is silent", () => {
  it.each(runs)("ends $name via $provider and its session", async ({ provider, ...subject }) => {
    await using lab = await subjectLab(subject);
    const { redfish, ipmi } = lab;
    redfish.fail({ kind: "silent", path: AFTER_LOGIN, times: Number.POSITIVE_INFINITY });
    ipmi.faults.ignores = (name) => !OF_SESSIONS.test(name);
    const action = lab.start([provider], { REDFISH_AUTH: "session" });
    await eventually(
      () =>
        redfish.requests.some(({ path }) => AFTER_LOGIN.test(path)) ||
        ipmi.log.some((name) => !OF_SESSIONS.test(name)),
    );
    const open = redfish.sessions.count + ipmi.sessions();

    action.kill("SIGTERM");
    const ended = await action.ended;

    const said = resultOf(ended);
    expect(said).toMatchObject({ action: subject.name, ok: false, class: "cancelled" });
    expect(said.message).toMatch(/^cancelled by SIGTERM/);
    expect(ended).toMatchObject({ code: 143 });
    expect(open).toBe(1);
    await eventually(() => redfish.sessions.count + ipmi.sessions() === 0);
    // A packet that was sent again is the same logout.
    const asked = [...redfish.log, ...ipmi.log].filter((line, index, all) => line !== all[index - 1]);
    expect(asked.filter((line) => /^DELETE|^Close Session/.test(line))).toHaveLength(1);
    expect(lab.done()).toEqual([]);
    expect(lab.leaks(ended)).toEqual([]);
  });
});

/** Neither a file, nor a number, a choice, a duration, a name or a URL. */
const WRONG = "no such value";

describe.concurrent("bad input", () => {
  it.each(subjects)("of $name is listed whole, and nothing is sent", async (subject) => {
    await using lab = await subjectLab(subject);
    const wrong = Object.values(subject.action.input).filter(
      ({ secret, fromFile, schema }) => !secret && (fromFile || !schema.safeParse(WRONG).success),
    );
    const variables = ["TIMEOUT", ...wrong.map(({ env }) => env)];
    const env = Object.fromEntries(variables.map((variable) => [variable, WRONG]));

    const ended = await lab.start(TESTED_PROVIDERS, env, ["--no-such-flag"]).ended;

    const listed = ended.stderr.split("\n").filter((line) => line.startsWith("  - "));
    expect(listed).toHaveLength(variables.length + 1);
    for (const wrongly of ["unknown flag --no-such-flag", ...variables]) {
      expect(listed.filter((line) => line.match(`^  - ${wrongly}([ :]|$)`))).toHaveLength(1);
    }
    expect(resultOf(ended)).toMatchObject({ action: subject.name, ok: false, class: "usage" });
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
    expect(lab.leaks(ended)).toEqual([]);
  });
});

/** A request as a plan names it, without its body. */
const PLANNED = /^(POST|PATCH|PUT|DELETE) \S+/;

describe.concurrent("a dry run", () => {
  it.each(runs.filter(({ reference }) => !reference.readsOnly))(
    "of $name via $provider sends nothing, and names what the run then sends",
    async ({ provider, ...subject }) => {
      await using lab = await subjectLab(subject);
      if (subject.name === "watch-console") lab.machine.print("iPXE initialising devices...\r\n");
      const files = await readdir(lab.folder);

      const planned = await lab.start([provider], { DRY_RUN: "true" }).ended;
      const left = [lab.writes(), lab.done(), await readdir(lab.folder)];
      const ended = await lab.start([provider]).ended;

      const { data, ...said } = resultOf(planned);
      const { wouldSend } = data as { readonly wouldSend: readonly string[] };
      expect(said).toMatchObject({ ok: true, changed: false, message: expect.stringMatching(/^dry run/) });
      expect(left).toEqual([[], [], files]);
      if (resultOf(ended).changed) expect(wouldSend).not.toEqual([]);
      const named = wouldSend.flatMap((step) => PLANNED.exec(step)?.[0] ?? []);
      if (provider === "redfish") {
        expect(lab.redfish.log.filter((line) => named.includes(line))).toEqual(named);
      }
      expect(lab.leaks(planned)).toEqual([]);
    },
  );
});

describe.concurrent("the example", () => {
  it.each(runs)(
    "of $name runs via $provider within its budget of round trips and says what is documented",
    async ({ provider, ...subject }) => {
      await using lab = await subjectLab(subject);
      const { reference } = subject;
      if (subject.name === "wait-for-boot") await bootsAtFirstLook(lab);
      if (subject.name === "watch-console") lab.machine.print("iPXE initialising devices...\r\n");
      if (subject.name === "clear-raid") {
        lab.redfish.storage.add({ name: "os", level: "RAID1", drives: ["0", "1"], bytes: 960e9 });
      }

      const ended = await lab.start([provider]).ended;

      const said = resultOf(ended);
      const raw: unknown = JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "");
      expect(said).toMatchObject({ action: subject.name, machine: "node-01", ok: true, provider });
      expect(ended.code).toBe(0);
      const { [provider]: most } = reference.mostRoundTrips;
      if (most === undefined) throw new Error(`mostRoundTrips in reference.ts lacks ${provider}`);
      expect(said.roundTrips).toBeLessThanOrEqual(most * (reference.polls ? 2 : 1));
      // What a lenient schema would drop is undocumented, too.
      expect(documentedResult(reference).parse(raw)).toEqual(raw);
      if (provider === reference.result.provider) {
        const { hint: _, ...shown } = said;
        expect(Object.keys(shown)).toEqual(Object.keys(reference.result));
      }
      expect(lab.leaks(ended)).toEqual([]);
    },
  );

  it.each(subjects)("of $name has a result as documented", ({ name, reference, able }) => {
    expect(documentedResult(reference).parse(reference.result)).toEqual(reference.result);
    expect(reference.result).toMatchObject({ action: name, machine: "node-01", ok: true });
    expect(able).toContain(reference.result.provider);
  });
});
