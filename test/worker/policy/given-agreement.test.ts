import fc from "fast-check";
import { expect, it } from "vitest";
import { fieldNames } from "../../../actions/harness/input/environment.ts";
import { parseFlags } from "../../../actions/harness/input/flags.ts";
import { readInput } from "../../../actions/harness/input/read-input.ts";
import powerOff from "../../../actions/power-off/action.ts";
import { type Connection, serialiseConnection } from "../../../shared/contract/connection.ts";
import { connectionGiven, flagOfVariable, type GivenText } from "../../../shared/contract/given.ts";
import { emptyInventory } from "../../../worker/machines/inventory.ts";
import { resolveMachine } from "../../../worker/machines/resolve-machine.ts";
import { refusals } from "../../../worker/policy/decide.ts";
import { Policy } from "../../../worker/policy/policy.ts";
import { circumstances } from "../../support/circumstances.ts";

/** What an action would do with a template's text, and what the policy says of the same text: they must agree. */

const NAMES = fieldNames(powerOff);
const WORKER_HOST = "192.0.2.1";
const VALUES = [
  "",
  " ",
  "-",
  "--",
  "192.0.2.9",
  "true",
  "623",
  "--bmc-host",
  "--bmc-host=192.0.2.9",
  "http://x",
  "hard",
];

const name = fc.constantFrom(...NAMES, "BMC_HOST", "BMC_USERNAME", "BMC_PASSWORD", "RPC_URL");
const spelling = fc
  .tuple(name, fc.constantFrom("flag", "flag", "flag", "name", "upper", "snake", "double"))
  .map(([variable, how]) => {
    const flag = flagOfVariable(variable);
    switch (how) {
      case "name":
        return variable;
      case "upper":
        return flag.toUpperCase();
      case "snake":
        return `--${variable.toLowerCase()}`;
      case "double":
        return flag.replace(/-(?=[a-z]+$)/, "--");
      default:
        return flag;
    }
  });
const value = fc.oneof(fc.constantFrom(...VALUES), fc.string({ maxLength: 6 }));
const argument = fc.oneof(
  spelling,
  value,
  fc.tuple(spelling, value).map(([flag, text]) => `${flag}=${text}`),
);
const given: fc.Arbitrary<GivenText> = fc.record({
  environment: fc.dictionary(fc.oneof(name, spelling), value, { maxKeys: 4 }),
  command: fc.array(argument, { maxLength: 6 }),
});

/** With an empty variable for each flag, named like the flag itself. */
function withNamesakes({ environment, command }: GivenText): GivenText {
  const flags = command.filter((text) => text.startsWith("--")).map((text) => text.replace(/=.*$/s, ""));
  return { command, environment: { ...environment, ...Object.fromEntries(flags.map((flag) => [flag, ""])) } };
}

/** The connection that the action would use, if it ran; beside the worker's own if it is given one. */
async function connectionUsed({ environment, command }: GivenText, own?: Connection) {
  const flags = parseFlags(powerOff, command);
  const env = { ...environment, ...(own && { BMC_CONNECTION_FILE: "-" }) };
  const stdin = async function* () {
    if (own) yield Buffer.from(serialiseConnection(own));
  };
  const signal = AbortSignal.timeout(10_000);
  const read = await readInput(powerOff, { env, flags: flags.values, stdin, signal });
  return read.ok && !flags.print && flags.problems.length === 0 ? read.input.connection : undefined;
}

async function connectionOf(given: GivenText): Promise<Connection> {
  const used = await connectionUsed(given);
  if (!used) throw new Error("the action refuses this connection");
  return used;
}

const OWN = { BMC_HOST: WORKER_HOST, BMC_USERNAME: "admin", BMC_PASSWORD: "secret" };
const policy = Policy.parse({ trustedImages: ["**"], ownConnections: "deny" });

function rulesBroken(given: GivenText): readonly string[] {
  const action = { workflowId: "default/w", image: "x/power-off", volumes: [], ...withText(given) };
  return refusals(policy, circumstances, action).map(({ rule }) => rule);
}

function withText({ environment, command }: GivenText) {
  const pairs = Object.entries(environment).map(([key, text]) => [key, text ?? ""]);
  return { command, environment: Object.fromEntries(pairs) };
}

it("what the policy lets pass leaves the worker's connection as it is", async () => {
  const own = await connectionOf({ environment: OWN, command: [] });

  await fc.assert(
    fc.asyncProperty(given, async (text) => {
      const used = await connectionUsed(text, own);
      if (used === undefined || rulesBroken(text).length > 0) return;
      const { machine: _, ...connection } = used;
      expect(JSON.parse(serialiseConnection(connection))).toEqual(JSON.parse(serialiseConnection(own)));
    }),
    { numRuns: 400 },
  );
});

it("a connection that the action would use is one that the policy and the worker see", async () => {
  await fc.assert(
    fc.asyncProperty(given, fc.boolean(), fc.boolean(), async (text, byFlag, hidden) => {
      const { BMC_HOST: host, ...login } = OWN;
      const asked = byFlag
        ? { environment: { ...login, ...text.environment }, command: ["--bmc-host", host, ...text.command] }
        : { ...text, environment: { ...OWN, ...text.environment } };
      const whole = hidden ? withNamesakes(asked) : asked;
      const used = await connectionUsed(whole);
      if (used === undefined) return;
      expect(connectionGiven(whole)).toContain("BMC_HOST");
      expect(rulesBroken(whole)).toContain("ownConnections");
      const located = resolveMachine({ agentId: "a", ...withText(whole) }, emptyInventory, "pbnj-{machine}");
      // The machine of another name would be looked up, and is not there.
      if (used.machine?.trim()) expect(located.ok).toBe(false);
      else expect(located).toHaveProperty("lockKey");
    }),
    { numRuns: 400 },
  );
});

it("a connection value that the policy sees is one that the action reads or refuses to run with", async () => {
  const own = await connectionOf({ environment: OWN, command: [] });

  await fc.assert(
    fc.asyncProperty(given, async (text) => {
      // The worker says itself that the connection is on stdin.
      const found = connectionGiven(text).filter((variable) => variable !== "BMC_CONNECTION_FILE");
      if (found.length === 0) return;
      expect(await connectionUsed(text, own)).toBeUndefined();
    }),
    { numRuns: 400 },
  );
});

it("retries that the policy lets pass are those that the action makes, within the limit", async () => {
  const limited = Policy.parse({ trustedImages: ["**"], maxRetries: 2 });
  const count = fc.constantFrom(
    "0",
    "1",
    "2",
    " 2 ",
    "02",
    "3",
    "-0",
    "-1",
    "+1",
    "1.0",
    "1e0",
    "0x1",
    "٢",
    "",
    " ",
  );
  const flag = fc.oneof(
    count.map((text) => [`--retries=${text}`]),
    count.map((text) => ["--retries", text]),
  );
  const asked = fc.record({
    environment: fc.dictionary(fc.constant("RETRIES"), count),
    command: fc.array(flag, { maxLength: 3 }).map((flags) => flags.flat()),
  });

  await fc.assert(
    fc.asyncProperty(asked, async ({ environment, command }) => {
      const action = { workflowId: "default/w", image: "x/power-off", volumes: [], environment, command };
      if (refusals(limited, circumstances, action).length > 0) return;
      const flags = parseFlags(powerOff, command);
      const sources = { env: { ...OWN, ...environment }, flags: flags.values };
      const signal = AbortSignal.timeout(10_000);
      const read = await readInput(powerOff, { ...sources, stdin: async function* () {}, signal });
      if (!read.ok || flags.problems.length > 0) return;
      expect(read.input.common.retries).toBeGreaterThanOrEqual(0);
      expect(read.input.common.retries).toBeLessThanOrEqual(2);
    }),
    { numRuns: 400 },
  );
});
