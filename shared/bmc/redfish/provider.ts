import type { Connection } from "../../contract/connection.ts";
import { TimeoutReached, withTimeout } from "../../timeout.ts";
import type { Provider, ProviderContext, Session } from "../provider.ts";
import { type Account, Authentication } from "./auth/authentication.ts";
import { RedfishBoot } from "./boot.ts";
import { findSystem } from "./discovery.ts";
import { type Hint, parseHint } from "./hint.ts";
import { HttpClient } from "./http-client.ts";
import { RedfishPower } from "./power.ts";
import type { Identity } from "./quirks.ts";
import { Service } from "./service.ts";
import { ManagedSystem } from "./system.ts";

const DEFAULT_PORTS = { https: 443, http: 80 } as const;
const CLOSE_MS = 5_000;

/** Redfish (DMTF DSP0266) over one kept-alive connection. */
export const redfish: Provider = { name: "redfish", capabilities: new Set(), open };

async function open(connection: Connection, context: ProviderContext, signal: AbortSignal): Promise<Session> {
  signal.throwIfAborted();
  const options = connection.redfish;
  const hint = parseHint(context.hint);
  const http = new HttpClient({
    scheme: options.scheme,
    host: connection.host,
    port: options.port ?? DEFAULT_PORTS[options.scheme],
    tls: connection.tls,
    connectTimeoutMs: connection.connectTimeoutMs,
    requestTimeoutMs: connection.requestTimeoutMs,
    identityEncoding: hint?.identityEncoding ?? true,
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
    const service = new Service(http, authentication, clock);
    const known = {
      selector: options.system,
      path: hint?.selector === options.system ? hint?.system : undefined,
    };
    const found = await findSystem(service, known, signal);
    const system = new ManagedSystem(service, clock, found, (identity) => learnedFrom(hint, identity));
    const power = new RedfishPower(system, hint?.reset);
    const boot = new RedfishBoot(system, log, learnedOf(hint, system.identity)?.settingsTakeBoot);
    return {
      provider: redfish.name,
      power,
      boot,
      roundTrips: () => http.roundTrips,
      hint: () => toHint(options.system, system, power, boot, authentication, http),
      close: release.run,
    };
  } catch (error) {
    await release.run();
    throw error;
  }
}

function accountOf({ username, password }: Connection): Account | undefined {
  if (username === undefined || password === undefined) return undefined;
  return { username, password };
}

/** The hint, if it was learned on the make and model that answers now. */
function learnedOf(hint: Hint | undefined, identity: Identity): Hint | undefined {
  const same = hint?.manufacturer === identity.manufacturer && hint.model === identity.model;
  return same ? hint : undefined;
}

function learnedFrom(hint: Hint | undefined, identity: Identity): readonly string[] {
  return learnedOf(hint, identity)?.learned ?? [];
}

function toHint(
  selector: string | undefined,
  system: ManagedSystem,
  power: RedfishPower,
  boot: RedfishBoot,
  authentication: Authentication,
  http: HttpClient,
): Hint {
  const { manufacturer, model } = system.identity;
  const { target, values } = power.hint;
  return {
    system: system.path,
    ...(selector === undefined ? {} : { selector }),
    manufacturer,
    model,
    learned: [...system.learned],
    reset: { target, ...(values ? { values: [...values] } : {}) },
    ...(boot.settingsTakeBoot === undefined ? {} : { settingsTakeBoot: boot.settingsTakeBoot }),
    ...(authentication.learned ? { auth: authentication.learned } : {}),
    identityEncoding: http.identityEncoding,
  };
}

/** Logs out, then frees the connection, once, within `CLOSE_MS`. */
function releaseOnce(http: HttpClient) {
  let authentication: Authentication | undefined;
  let done: Promise<void> | undefined;
  const release = async () => {
    try {
      await withTimeout(CLOSE_MS, new AbortController().signal, async () => authentication?.close());
    } catch (error) {
      // The logout itself never throws; only its time can run out, and the connection goes either way.
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
