import { createCertificate } from "../../simulators/certificate.ts";
import type { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import type { FaultyBmc, SimpleFault } from "./bmc-host.ts";

/** No faults in logins and logouts: a lost one leaves a session open, and open sessions are leaks. */
const OUTSIDE_SESSIONS = /^(?!.*\/SessionService\/Sessions)/;
/** More than any run opens: slots that run out would hide how many are left open. */
const SESSION_LIMIT = 100_000;
/** How long after a restart a login from before it may still be carried out. */
const LATE_LOGIN_MS = 1_500;

const NAMES = { commonName: "bmc" };

export async function startFaultyRedfish(
  machine: SimulatedMachine,
  password: string,
  scheme: "http" | "https",
): Promise<FaultyBmc> {
  const certificate = scheme === "https" ? createCertificate(NAMES) : "http";
  const bmc = await startRedfishBmc({
    machines: [machine],
    tls: certificate,
    password,
    sessionLimit: SESSION_LIMIT,
  });
  let restarting: Promise<void> = Promise.resolve();
  const restart = async (downMs: number) => {
    bmc.latencyMs = 0;
    await bmc.restart(Math.max(downMs, LATE_LOGIN_MS));
    // A request that the BMC had before may have opened one meanwhile.
    bmc.sessions.expireAll();
  };
  const forget = setInterval(() => bmc.forget(), 10_000);
  forget.unref();
  return {
    port: bmc.port,
    sessions: () => bmc.sessions.count,
    ...(scheme === "https" && {
      fingerprint: bmc.fingerprint,
      changeCertificate() {
        bmc.useCertificate(createCertificate(NAMES));
        // Restart like real BMCs. Otherwise a client that must not trust the new certificate cannot log out.
        restarting = restarting.then(() => restart(0));
        return bmc.fingerprint;
      },
    }),
    hurt(fault: SimpleFault) {
      switch (fault.kind) {
        case "slow":
          bmc.latencyMs = fault.latencyMs;
          setTimeout(() => {
            bmc.latencyMs = 0;
          }, fault.forMs);
          return;
        case "busy":
          bmc.fail({
            kind: "refuse",
            status: 503,
            retryAfter: "1",
            times: fault.times,
            path: OUTSIDE_SESSIONS,
          });
          return;
        case "mute":
          bmc.fail({ kind: "silent", times: fault.times, path: OUTSIDE_SESSIONS });
          return;
        case "deaf":
          bmc.fail({ kind: "reset-before", times: fault.times, path: OUTSIDE_SESSIONS });
          return;
        case "garbled":
          bmc.fail({ kind: "truncated", times: fault.times, path: OUTSIDE_SESSIONS });
          return;
        case "forgetful":
          for (const method of ["POST", "PATCH"]) {
            bmc.fail({ kind: "forget", times: fault.times, method, path: OUTSIDE_SESSIONS });
          }
          return;
        case "restart":
          restarting = restarting.then(() => restart(fault.downMs));
          return;
        default:
          fault satisfies never;
      }
    },
    async heal() {
      await restarting;
      bmc.heal();
      bmc.latencyMs = 0;
    },
  };
}
