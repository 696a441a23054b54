import { z } from "zod";
import {
  connectionFields,
  connectionRules,
  HomeAssistantOptions,
  IpmiOptions,
  IpmitoolOptions,
  RpcOptions,
  RpcSignature,
  requiredCredentials,
  TlsOptions,
  withHost,
} from "../../shared/contract/connection.ts";
import { DesiredState } from "../../shared/contract/desired-state.ts";
import { type ValueProblem, valueAt } from "../../shared/document/issue-problems.ts";
import { LONGEST_EVERY_MS } from "../core/queue/start-limits.ts";
import { LabelKey, LabelSelector, MachineLabels } from "../document/labels.ts";
import { Count, Duration } from "../document/value-types.ts";
import { LONGEST_REASON } from "./pause.ts";
import { limitId } from "./start-limits-of.ts";

/** A DNS label in lower case (RFC 1123 section 2.1), because the name becomes part of agent IDs and file names. */
export const MachineName = z
  .string()
  .max(200)
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, {
    error: "must be a name such as node-1 or node-1.rack-2: lower-case letters, digits, hyphens and dots",
  });

const Path = z.string().trim().min(1);
const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "must be the name of an environment variable" });

/** An argument; it cannot contain a zero byte (execve(2)). */
const ARGUMENT = /^[^\0]*$/;
/** The keys for a separate user name and password. */
const PARTS = ["username", "usernameFile", "usernameEnv", "passwordFile", "passwordEnv"] as const;

function given<Fields extends object>(
  fields: Fields,
  ...keys: readonly (keyof Fields & string)[]
): readonly (keyof Fields & string)[] {
  return keys.filter((key) => fields[key] !== undefined);
}

function oneWay<Fields extends Readonly<Record<string, unknown>>>(
  ...keys: readonly (keyof Fields & string)[]
) {
  return (fields: Fields, context: z.RefinementCtx) => {
    const found = given(fields, ...keys);
    const last = found.at(-1);
    if (found.length > 1 && last !== undefined) {
      context.addIssue({
        code: "custom",
        message: `and ${found.slice(0, -1).join(", ")} are both set: set only one of them`,
        path: [last],
      });
    }
  };
}

const kgSource = { kgFile: Path.optional(), kgEnv: VariableName.optional() };
const { kg: _ipmiKg, ...ipmiShape } = IpmiOptions.shape;
const { kg: _ipmitoolKg, ...ipmitoolShape } = IpmitoolOptions.shape;
const { secrets: _secrets, ...signatureShape } = RpcSignature.shape;
const { signature: _signature, ...rpcShape } = RpcOptions.shape;
const { powerOperationDelayMs: _powerOperationDelayMs, ...homeAssistantShape } = HomeAssistantOptions.shape;
const { ca: _ca, ...tlsShape } = TlsOptions.shape;
const {
  connectTimeoutMs: _connectTimeoutMs,
  requestTimeoutMs: _requestTimeoutMs,
  headStartMs: _headStartMs,
  ...sharedFields
} = connectionFields;

const Tls = z
  .strictObject({ ...tlsShape, caFile: Path.optional() })
  .superRefine(({ verify, caFile, fingerprint }, context) => {
    const unused = fingerprint !== undefined ? "fingerprint" : "caFile";
    if (verify || (fingerprint ?? caFile) === undefined) return;
    context.addIssue({
      code: "custom",
      message: `is false, which accepts any certificate and so would not look at ${unused}: remove one of them`,
      path: ["verify"],
    });
  });

/** A program with its arguments, run without a shell. */
const Argv = z
  .array(z.string().regex(ARGUMENT, { error: "must be without zero bytes" }))
  .min(1)
  .check((context) => {
    if (context.value[0] !== "") return;
    context.issues.push({ code: "custom", message: "is empty", path: [0], input: context.value });
  })
  .transform(([program = "", ...rest]): readonly [string, ...string[]] => [program, ...rest]);

/** Fields of commands that print credentials or secrets of webhooks. */
const commandFields = {
  command: Argv.optional(),
  timeout: Duration(100, 600_000).optional(),
  environment: z.array(VariableName).optional(),
};

/** Rejects options of a command without the command. */
function needsCommand(
  fields: { readonly command?: unknown; readonly timeout?: unknown; readonly environment?: unknown },
  context: z.RefinementCtx,
): void {
  for (const key of ["timeout", "environment"] as const) {
    if (fields.command !== undefined || fields[key] === undefined) continue;
    context.addIssue({ code: "custom", message: "has no meaning without command", path: [key] });
  }
}

const Credentials = z
  .strictObject({
    username: z.string().min(1).optional(),
    usernameFile: Path.optional(),
    usernameEnv: VariableName.optional(),
    passwordFile: Path.optional(),
    passwordEnv: VariableName.optional(),
    /** A directory with the files `username` and `password`, and optionally `kg`. */
    directory: Path.optional(),
    ...commandFields,
  })
  .superRefine(oneWay("username", "usernameFile", "usernameEnv"))
  .superRefine(oneWay("passwordFile", "passwordEnv"))
  .superRefine((fields, context) => {
    const { directory, command } = fields;
    const [whole, ...rest] = [
      ...given(fields, "command"),
      ...given(fields, "directory"),
      ...given(fields, ...PARTS),
    ];
    if ((directory ?? command) === undefined || whole === undefined || rest.length === 0) return;
    context.addIssue({
      code: "custom",
      message: `provides user and password, and ${rest.join(", ")} is set too: set only one of them`,
      path: [whole],
    });
  })
  .superRefine(needsCommand);
export type Credentials = z.infer<typeof Credentials>;

/** The source of one secret or, for a directory or a command, of several. */
const SecretPlace = z
  .strictObject({
    file: Path.optional(),
    env: VariableName.optional(),
    directory: Path.optional(),
    ...commandFields,
  })
  .superRefine(needsCommand)
  .check((context) => {
    if (given(context.value, "file", "env", "directory", "command").length === 1) return;
    const message = "must have one of file, env, directory and command";
    context.issues.push({ code: "custom", message, input: context.value });
  });
export type SecretPlace = z.infer<typeof SecretPlace>;
const SecretPlaces = z.array(SecretPlace).min(1).optional();

const Rpc = z.strictObject({
  ...rpcShape,
  signature: z
    .strictObject({
      ...signatureShape,
      secrets: z.strictObject({ sha256: SecretPlaces, sha512: SecretPlaces }).prefault({}),
    })
    .prefault({}),
});
export type RpcEntry = z.infer<typeof Rpc>;

const HomeAssistant = z.strictObject({
  ...homeAssistantShape,
  powerOperationDelay: Duration(0, 600_000).optional(),
});

const CONNECT = Duration(1, 600_000);
const HEAD_START = Duration(0, 60_000);

const PAUSED = "must be the reason, such as fan replacement; a machine without this key is in service";

/** Why the machine is out of service. A word that others read as true or false is rejected, because it would be ambiguous. */
const Paused = z
  .string({ error: PAUSED })
  .trim()
  .regex(/^(?!(true|false|yes|no|on|off|null|~)$)./is, { error: PAUSED })
  .max(LONGEST_REASON, { error: `must be at most ${LONGEST_REASON} characters` });

/** Fields of both `machines` and `defaults`: a connection whose secrets are stored elsewhere. */
const entryFields = {
  ...sharedFields,
  connectTimeout: CONNECT.optional(),
  requestTimeout: CONNECT.optional(),
  headStart: HEAD_START.optional(),
  tls: Tls.prefault({}),
  ipmi: z
    .strictObject({ ...ipmiShape, ...kgSource })
    .superRefine(oneWay("kgFile", "kgEnv"))
    .prefault({}),
  ipmitool: z
    .strictObject({ ...ipmitoolShape, ...kgSource })
    .superRefine(oneWay("kgFile", "kgEnv"))
    .prefault({}),
  rpc: Rpc.optional(),
  homeassistant: HomeAssistant.optional(),
  credentials: Credentials.prefault({}),
  desired: z.optional(DesiredState),
  paused: Paused.optional(),
  labels: MachineLabels.optional(),
};

/** A machine merged with the defaults. */
export const MachineEntry = z
  .strictObject({ name: MachineName, ...entryFields })
  .check(connectionRules)
  .superRefine((entry, context) => {
    const { credentials } = entry;
    const has = (...keys: readonly (keyof Credentials)[]) =>
      keys.some((key) => credentials[key] !== undefined);
    if (has("directory", "command")) return;
    const hasUser = has("username", "usernameFile", "usernameEnv");
    const hasPassword = has("passwordFile", "passwordEnv");
    const refuse = (message: string) => context.addIssue({ code: "custom", message, path: ["credentials"] });
    if (hasUser && !hasPassword) refuse("names a user but no password: add passwordFile or passwordEnv");
    if (hasPassword && !hasUser && requiredCredentials(entry).includes("username")) {
      refuse("names a password but no user: add username, usernameFile or usernameEnv");
    }
  })
  .transform(withHost);
export type MachineEntry = z.infer<typeof MachineEntry>;

const { host: _host, ...defaultFields } = entryFields;

/** The defaults of all machines, without host and name. */
export const MachineDefaults = z.strictObject(defaultFields);

/** Takes machines out of service by their labels. */
const PauseRule = z.strictObject({ selector: LabelSelector, reason: Paused });
export type PauseRule = z.infer<typeof PauseRule>;

const MOST_RULES = 200;
const MOST_AT_ONCE = 10_000;

/** How many of these actions run, or begin, at the machines that have the same value of a label. */
const LimitRule = z
  .strictObject({
    per: LabelKey,
    actions: z
      .array(
        z
          .string()
          .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: "must be an action's name, such as power-on" }),
      )
      .min(1)
      .max(MOST_RULES),
    atOnce: Count(1, MOST_AT_ONCE).optional(),
    /** The shortest time between two beginnings, in milliseconds. */
    every: Duration(1, LONGEST_EVERY_MS).optional(),
  })
  .refine(({ atOnce, every }) => (atOnce ?? every) !== undefined, {
    error: "limits nothing: add atOnce, every or both",
  });

/** The whole file, with unmerged entries. */
export const InventoryFile = z.strictObject({
  defaults: z.unknown().optional(),
  machines: z.array(z.unknown()),
  paused: z.array(PauseRule).max(MOST_RULES).prefault([]),
  limits: z
    .array(LimitRule)
    .max(MOST_RULES)
    .superRefine((rules, context) => {
      const first = new Map<string, number>();
      for (const [index, rule] of rules.entries()) {
        const earlier = first.get(limitId(rule));
        if (earlier === undefined) first.set(limitId(rule), index);
        else {
          const message = `has the label and the actions of limits.${earlier}: write atOnce and every into one limit`;
          context.addIssue({ code: "custom", message, path: [index] });
        }
      }
    })
    .prefault([]),
});

const NO_SECRETS = "is a secret and must not be in the inventory";

/** Reports an empty `paused`, which must not count as absent. */
export function pausedProblem(entry: unknown): ValueProblem | undefined {
  return valueAt(entry, ["paused"]) === null ? { path: ["paused"], message: PAUSED } : undefined;
}

export const refusedKeys: Readonly<Record<string, string>> = {
  password: `${NO_SECRETS}: put it into a file and name that with passwordFile, or a variable with passwordEnv`,
  kg: `${NO_SECRETS}: put it into a file and name that with kgFile, or a variable with kgEnv`,
  ca: "is not known: put the certificates into a file and name that with caFile",
  insecureTLS: "is not known: to accept any certificate write tls: {verify: false}",
  connectTimeoutMs: "is not known: write connectTimeout with a unit, such as 5s",
  requestTimeoutMs: "is not known: write requestTimeout with a unit, such as 30s",
  headStartMs: "is not known: write headStart with a unit, such as 1s",
  timeoutMs: "is not known: write timeout with a unit, such as 10s",
  powerOperationDelayMs: "is not known: write powerOperationDelay with a unit, such as 5s",
  powerOperationDelaySeconds: "is not known: write powerOperationDelay with a unit, such as 5s",
};
