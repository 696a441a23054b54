import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import { TimeoutReached, withTimeout } from "../../../timeout.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import { differenceOf, identityIn } from "../../operations/identity.ts";
import {
  capabilitiesOf,
  defineProvider,
  makeDrivers,
  type ProviderContext,
  type SessionWith,
} from "../../operations/provider.ts";
import { REDFISH_DRIVERS, type RedfishCapability } from "./drivers.ts";
import { type Hint, parseHint, rememberedSystem, systemHint } from "./hint.ts";
import { findSystem, type Known, SYSTEMS } from "./resources/discovery.ts";
import { ManagedManager } from "./resources/managed-manager.ts";
import { Members } from "./resources/members.ts";
import { ManagedSystem, type ManagedSystemOptions, otherSystem } from "./resources/system.ts";
import { SystemReset } from "./resources/system-reset.ts";
import { Tasks } from "./resources/task.ts";
import { Writer } from "./resources/writer.ts";
import { Authentication } from "./service/authentication.ts";
import type { Account } from "./service/basic-authorization.ts";
import { HttpClient } from "./service/http-client.ts";
import { PasswordTrials } from "./service/password-trials.ts";
import { Service } from "./service/service.ts";

const DEFAULT_PORTS = { https: 443, http: 80 } as const;
const CLOSE_MS = 5_000;

/**
 * Redfish (DMTF DSP0266) over one kept-alive connection. With a hint and basic authentication, opening sends
 * nothing: the first operation's own request proves BMC, path and password.
 */
export const redfish = defineProvider({
  name: "redfish",
  capabilities: capabilitiesOf(REDFISH_DRIVERS),
  open,
});

async function open(
  connection: Connection,
  context: ProviderContext,
  signal: AbortSignal,
): Promise<SessionWith<RedfishCapability>> {
  signal.throwIfAborted();
  const options = connection.redfish;
  const hint = parseHint(context.hint);
  const endpoint = endpointOf(connection, context);
  const http = new HttpClient({
    ...endpoint,
    requestTimeoutMs: connection.requestTimeoutMs,
    identityEncoding: hint?.identityEncoding ?? true,
    keepAlive: hint?.keepAlive ?? true,
    ...defined({ onReached: context.onReached, tracer: context.tracer, tap: context.tap }),
  });
  const release = releaseOnce(http);
  try {
    const { clock, log } = context;
    const authentication = new Authentication(
      { http, clock, log },
      accountOf(connection),
      options.auth,
      hint?.auth,
    );
    release.add(authentication);
    const service = new Service(http, authentication, clock, context.onAccepted);
    // The machine that accepted a change is the right one, whatever else the BMC lists while it restarts.
    const changed = parseHint(context.changed);
    const selector = changed?.system ?? options.system;
    let others: readonly string[] = hint?.others ?? [];
    const onChoice = (chosen: string, left: readonly string[]) => {
      others = left;
      log.info({ system: chosen, others }, "several systems, chose the only one that can be reset");
    };
    const isOneOfSeveral = () => options.system !== undefined || others.length > 0;
    const onOther = () => {
      log.info({ path: hint?.system }, "another system is at this path now, finding the system again");
      manager.forget();
      drivers.media.forget();
      drivers.sel.forget();
    };
    const known = { selector, path: undefined, onChoice };
    const moving = { isOneOfSeveral, onOther };
    const system = await openSystem({ service, clock, ...moving }, known, { hint, changed }, signal);
    if (system.isRemembered) await authentication.prove(signal);
    const members = new Members(service, log, hint?.expand);
    const manager = new ManagedManager(system, members, hint?.manager);
    const tasks = new Tasks({ service, members, manager, clock });
    const writer = new Writer(system, tasks, log);
    const reset = new SystemReset(system, writer);
    const resources = { system, manager, members, tasks, writer, log };
    const trial = new PasswordTrials({ http, clock, log }, authentication);
    const parts = { ...resources, reset, trial, endpoint, connection, context, hint };
    const drivers = makeDrivers(REDFISH_DRIVERS, parts);
    return {
      provider: redfish.name,
      ...drivers,
      note: () => (isOneOfSeveral() ? describeChoice(system, others) : undefined),
      insist: () => system.insist(),
      confirm: (limit) => system.confirmNow(limit),
      started: () => writer.started,
      task: (started, looking) => tasks.look(started, looking),
      isForgotten: (looking) => authentication.isForgotten(looking),
      certificateExpiresMs: () => http.certificateExpiresMs,
      roundTrips: () => http.roundTrips,
      hint: () =>
        system.isRefused
          ? undefined
          : {
              ...systemHint(options.system, system),
              ...defined({
                others: others.length > 0 ? others : undefined,
                reset: reset.hint,
                settings: drivers.boot.settings,
                auth: authentication.learned,
                identityEncoding: http.identityEncoding,
                keepAlive: http.keepAlive,
                expand: members.expand,
                manager: manager.path,
                media: drivers.media.hint,
                sel: drivers.sel.path,
                accounts: drivers.users.collection,
              }),
            },
      async close() {
        await drivers.console.close();
        await release.run();
      },
    };
  } catch (error) {
    await release.run();
    throw error;
  }
}

export function endpointOf(
  connection: Connection,
  { nameOption }: Pick<ProviderContext, "nameOption">,
): Endpoint {
  const { scheme, port = DEFAULT_PORTS[scheme] } = connection.redfish;
  const { host, tls, connectTimeoutMs } = connection;
  return { scheme, host, port, tls, connectTimeoutMs, ...defined({ nameOption }) };
}

export function accountOf({ username, password }: Connection): Account | undefined {
  if (username === undefined || password === undefined) return undefined;
  return { username, password };
}

/** The system according to a hint, without a request; otherwise as it is found now. */
async function openSystem(
  options: Pick<ManagedSystemOptions, "service" | "clock" | "isOneOfSeveral" | "onOther">,
  known: Known,
  { hint, changed }: { readonly hint: Hint | undefined; readonly changed: Hint | undefined },
  signal: AbortSignal,
): Promise<ManagedSystem> {
  const { selector } = known;
  const { service } = options;
  if (hint !== undefined && hint.selector === selector) {
    const first = rememberedSystem(hint);
    const { learned, identity } = hint;
    return new ManagedSystem({ ...options, selector, first, remembered: true, learned, known: identity });
  }
  const unknown = { ...options, selector, remembered: false, learned: [], known: changed?.identity };
  try {
    const first = await findSystem(service, known, signal);
    const difference = changed && differenceOf(changed.identity, identityIn(first.value), false);
    if (difference !== undefined) throw otherSystem(first.path, difference);
    return new ManagedSystem({ ...unknown, first });
  } catch (thrown) {
    // The login works and is sufficient to change its own password.
    const refused = BmcError.from(thrown);
    if (refused.class !== "auth" || service.accountToChange === undefined) throw thrown;
    const first = { path: SYSTEMS, value: {}, etag: undefined };
    return new ManagedSystem({ ...unknown, first, remembered: true, refused });
  }
}

/** Which of several systems was selected, for people. */
function describeChoice({ path, known }: ManagedSystem, others: readonly string[]): string {
  const { SerialNumber: serial, UUID: uuid } = known;
  const identity = serial === undefined ? uuid && ` (UUID ${uuid})` : ` (serial number ${serial})`;
  return `system ${path}${identity ?? ""}${others.length > 0 ? `, not ${others.join(", ")}` : ""}`;
}

/** Logs out and then closes the connection, once, within `CLOSE_MS`. */
export function releaseOnce(http: Pick<HttpClient, "close">) {
  let authentication: Authentication | undefined;
  let done: Promise<void> | undefined;
  const release = async () => {
    try {
      await withTimeout(CLOSE_MS, new AbortController().signal, async () => authentication?.close());
    } catch (error) {
      // The logout itself never throws. Only its time can expire, and the connection is closed in any case.
      if (!(error instanceof TimeoutReached)) throw error;
    } finally {
      await http.close();
    }
  };
  return {
    add(opened: Authentication) {
      authentication = opened;
    },
    run: () => {
      done ??= release();
      return done;
    },
  };
}
