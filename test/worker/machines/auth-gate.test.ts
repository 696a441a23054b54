import { describe, expect, it } from "vitest";
import { Connection } from "../../../shared/contract/connection.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { Outcome } from "../../../worker/core/action/action.ts";
import { failedLaunch } from "../../../worker/core/ports/outcome.ts";
import { AuthGate, type LoginAttempt } from "../../../worker/machines/auth-gate.ts";
import { SetClock } from "../../support/set-clock.ts";

const AT = new Date("2026-03-01T10:00:00.123Z");

function attempt(
  password: string,
  more: Partial<Omit<LoginAttempt, "connection">> & Record<string, unknown> = {},
): LoginAttempt {
  const { machine = "node-1", lockKey = "bmc-1", ...connection } = more;
  const given = { machine, host: "192.0.2.1", username: "root", password, ...connection };
  return { machine, lockKey, connection: Connection.parse(given) };
}

function ended(result: Partial<ActionResult>): Outcome {
  const { ok = false, class: errorClass } = result;
  return {
    ok,
    ...(errorClass === undefined ? {} : { class: errorClass }),
    message: "m",
    exitCode: ok ? 0 : 10,
    startedAt: AT,
    stoppedAt: AT,
    timedOut: false,
    killed: false,
    result: { action: "power-on", ok, message: "m", durationMs: 1, roundTrips: 1, ...result },
  };
}

const REFUSED = ended({ class: "auth", refused: "login", provider: "redfish" });

function gateAfter(given: LoginAttempt, outcome: Outcome = REFUSED): AuthGate {
  const gate = new AuthGate(new SetClock());
  gate.learn(given, outcome);
  return gate;
}

const MINUTE_MS = 60_000;

/** A gate that was refused once, with its clock. */
function refusedOnce(given: LoginAttempt = attempt("wrong")) {
  const clock = new SetClock();
  const gate = new AuthGate(clock);
  gate.learn(given, REFUSED);
  return { clock, gate };
}

describe("refused credentials", () => {
  it("are not tried again, and the refusal is one line with the time and a fix", () => {
    const gate = gateAfter(attempt("wrong"));

    expect(gate.refusal(attempt("wrong"))).toBe(
      "machine node-1: the BMC refused its credentials via redfish at 2026-03-01T10:00:00Z; because accounts lock, they are " +
        "not offered again before 2026-03-01T08:15:00Z. To retry at once, correct them where the inventory has them, change " +
        "the machine's entry or touch the inventory file",
    );
  });

  it("block neither earlier actions, nor another BMC, nor another user of the same BMC", () => {
    const gate = new AuthGate();
    expect(gate.refusal(attempt("wrong"))).toBeUndefined();
    gate.learn(attempt("wrong"), REFUSED);

    expect(gate.refusal(attempt("wrong", { machine: "node-2", lockKey: "bmc-2" }))).toBeUndefined();
    expect(gate.refusal(attempt("wrong", { machine: "root-of-1", username: "other" }))).toBeUndefined();
  });

  it.each([
    ["password", attempt("right")],
    ["user", attempt("wrong", { username: "admin" })],
    ["Kg", attempt("wrong", { ipmi: { kg: "key" } })],
    ["BMC", attempt("wrong", { lockKey: "bmc-9" })],
    ["entry in the inventory", attempt("wrong", { redfish: { port: 8_443 } })],
  ])("are offered again once the %s is another", (_, changed) => {
    expect(gateAfter(attempt("wrong")).refusal(changed)).toBeUndefined();
  });

  it("are forgotten when changed, so that they may be tried after a change back", () => {
    const gate = gateAfter(attempt("wrong"));

    gate.refusal(attempt("right"));

    expect(gate.refusal(attempt("wrong"))).toBeUndefined();
  });

  it("are not tried under another name of the machine either", () => {
    const gate = gateAfter(attempt("wrong"));

    expect(gate.refusal(attempt("wrong", { machine: "alias" }))).toMatch(/^machine alias: the BMC refused/);
  });

  it("stay refused for a second name when the first name's are corrected", () => {
    const gate = gateAfter(attempt("wrong"));
    gate.refusal(attempt("wrong", { machine: "alias" }));

    gate.refusal(attempt("right"));

    expect(gate.refusal(attempt("wrong", { machine: "alias" }))).toBeDefined();
    expect(gate.refusal(attempt("right"))).toBeUndefined();
  });

  it("of two users of one BMC are remembered separately", () => {
    const gate = gateAfter(attempt("wrong"));

    for (const round of [1, 2]) {
      gate.learn(attempt("fine", { machine: "other", username: "op" }), ended({ ok: true, data: round }));
      expect(gate.refusal(attempt("wrong"))).toBeDefined();
    }
  });

  it("are refused per provider, except that ipmi and ipmitool have the same users", () => {
    const unsaid = ended({ class: "auth", refused: "login" });
    const redfish = gateAfter(attempt("wrong", { providers: ["redfish"] }), unsaid);
    const ipmi = gateAfter(
      attempt("wrong", { providers: ["ipmi"] }),
      ended({ class: "auth", refused: "login", provider: "ipmi" }),
    );

    expect(redfish.refusal(attempt("wrong", { machine: "b", providers: ["ipmi"] }))).toBeUndefined();
    expect(redfish.refusal(attempt("wrong", { machine: "b", providers: ["ipmi", "redfish"] }))).toBeDefined();
    expect(ipmi.refusal(attempt("wrong", { machine: "b", providers: ["ipmitool"] }))).toBeDefined();
  });

  it.each(["create-user", "update-user", "delete-user"])(
    "may be right after all once %s has changed the BMC's users",
    (action) => {
      const gate = gateAfter(attempt("new"));
      const elsewhere = gateAfter(attempt("new"));

      gate.learn(
        attempt("x", { machine: "root-of-1", username: "boss" }),
        ended({ ok: true, action, changed: true }),
      );
      elsewhere.learn(
        attempt("x", { machine: "c", lockKey: "bmc-2" }),
        ended({ ok: true, action, changed: true }),
      );

      expect(gate.refusal(attempt("new"))).toBeUndefined();
      expect(elsewhere.refusal(attempt("new"))).toBeDefined();
    },
  );

  it("stay refused after actions that changed no user", () => {
    const gate = gateAfter(attempt("wrong"));
    const boss = attempt("x", { machine: "root-of-1", username: "boss" });

    gate.learn(boss, ended({ ok: true, action: "power-on", changed: true }));
    gate.learn(boss, ended({ ok: true, action: "update-user", changed: false }));
    gate.learn(boss, ended({ class: "bmc", action: "update-user", changed: true }));

    expect(gate.refusal(attempt("wrong"))).toBeDefined();
  });
});

describe("refused credentials that may be correct now", () => {
  it("are tried once after 15 minutes, and then once per hour", () => {
    const { clock, gate } = refusedOnce();
    const offered: number[] = [];

    for (let minute = 0; minute <= 200; minute += 1) {
      if (gate.refusal(attempt("wrong")) === undefined) {
        offered.push(minute);
        gate.learn(attempt("wrong"), REFUSED);
      }
      clock.pass(MINUTE_MS);
    }

    expect(offered).toEqual([15, 75, 135, 195]);
  });

  it("count as one account under all names of the machine", () => {
    const { clock, gate } = refusedOnce();
    const alias = attempt("wrong", { machine: "alias" });
    expect(gate.refusal(alias)).toBeDefined();
    clock.pass(15 * MINUTE_MS);
    expect(gate.refusal(attempt("wrong"))).toBeUndefined();
    gate.learn(attempt("wrong"), REFUSED);

    expect(gate.refusal(alias)).toContain("before 2026-03-01T09:15:00Z");
    clock.pass(59 * MINUTE_MS);
    expect(gate.refusal(alias)).toBeDefined();
  });

  it("are forgotten once accepted", () => {
    const { clock, gate } = refusedOnce();
    gate.refusal(attempt("wrong", { machine: "alias" }));
    clock.pass(15 * MINUTE_MS);
    gate.learn(attempt("wrong"), ended({ ok: true, provider: "redfish" }));
    gate.learn(attempt("wrong"), REFUSED);

    clock.pass(15 * MINUTE_MS);
    expect(gate.refusal(attempt("wrong"))).toBeUndefined();
    expect(gate.refusal(attempt("wrong", { machine: "alias" }))).toBeUndefined();
  });

  it("stay refused if only another provider accepted them", () => {
    const { gate } = refusedOnce();

    gate.learn(attempt("wrong"), ended({ ok: true, provider: "ipmi" }));

    expect(gate.refusal(attempt("wrong"))).toBeDefined();
  });

  it("are tried on demand, at most once per hour", () => {
    const { clock, gate } = refusedOnce();
    const offered: number[] = [];

    for (let minute = 0; minute <= 74; minute += 1) {
      gate.retryNow();
      if (gate.refusal(attempt("wrong")) === undefined) {
        offered.push(minute);
        gate.learn(attempt("wrong"), REFUSED);
      }
      clock.pass(MINUTE_MS);
    }

    expect(offered).toEqual([0, 60]);
  });

  it("do not use up the demand if there are none", () => {
    const gate = new AuthGate(new SetClock());

    expect(gate.retryNow()).toBe(false);
    gate.learn(attempt("wrong"), REFUSED);
    expect(gate.retryNow()).toBe(true);
    expect(gate.refusal(attempt("wrong"))).toBeUndefined();
  });
});

describe("the gate is open", () => {
  it.each([
    [
      "what the user may not do, such as without an AMT device's consent",
      ended({ class: "auth", refused: "right" }),
    ],
    ["what else went wrong", ended({ class: "unreachable" })],
    ["a registry that refuses the image", failedLaunch("auth", "denied", AT, AT)],
  ])("after %s", (_, outcome) => {
    expect(gateAfter(attempt("fine"), outcome).refusal(attempt("fine"))).toBeUndefined();
  });

  it("for a webhook, which has signatures and no account to lock", () => {
    const hooked = attempt("", {
      rpc: { url: "http://hooks.example", signature: { secrets: { sha256: "s" } } },
    });

    expect(gateAfter(hooked).refusal(hooked)).toBeUndefined();
  });
});

it("the gate closes after an action that reports the refusal only by its exit code", () => {
  const { result: _result, ...outcome } = REFUSED;

  expect(gateAfter(attempt("wrong"), outcome).refusal(attempt("wrong"))).toMatch(
    /refused its credentials at/,
  );
});

describe("a BMC that refuses different credentials", () => {
  const guess = (number: number) =>
    attempt(`guess-${number}`, { machine: `node-${number}`, lockKey: "bmc-1" });
  const guessing = () => {
    const clock = new SetClock();
    const gate = new AuthGate(clock);
    const isOffered = (login: LoginAttempt) => {
      if (gate.refusal(login) !== undefined) return false;
      gate.learn(login, REFUSED);
      return true;
    };
    return { clock, gate, isOffered };
  };

  it("is offered three of twenty, under whatever names and ports, and one more after 15 minutes", () => {
    const { clock, gate, isOffered } = guessing();
    const offered = Array.from({ length: 20 }, (_, number) => isOffered(guess(number)));

    expect(offered.filter(Boolean)).toHaveLength(3);
    expect(gate.refusal(guess(9))).toMatch(
      /^machine node-9: its BMC refused 3 different credentials within 15 minutes; no others are offered before .*Z$/,
    );
    expect(
      gate.refusal(attempt("other-port", { machine: "other", lockKey: "bmc-1 redfish:8443" })),
    ).toBeDefined();
    expect(gate.refusal(attempt("other-bmc", { machine: "other", lockKey: "bmc-2" }))).toBeUndefined();
    clock.pass(15 * MINUTE_MS);
    expect(isOffered(guess(10))).toBe(true);
  });

  it("is still offered the credentials that it accepted before", () => {
    const { gate, isOffered } = guessing();
    const own = attempt("own", { machine: "own", lockKey: "bmc-1" });
    gate.learn(own, ended({ ok: true, provider: "redfish" }));
    for (let number = 0; number < 5; number += 1) isOffered(guess(number));

    expect(gate.refusal(own)).toBeUndefined();
  });
});
