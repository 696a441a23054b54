import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { redfishProfile } from "../../../simulators/redfish/profiles.ts";
import { REFUSING_PORT, tcpBlackHole, udpBlackHole } from "../../actions/lab.ts";
import type { Step } from "../../support/lab.ts";
import type { Failure, Seen } from "./failure.ts";
import { REFUSING, SERVED_BY_HTTPS, SERVED_BY_IPMI, SERVED_BY_REDFISH } from "./machines.ts";
import type { Stage } from "./stage.ts";

/** One action inside the worker, with the workflow's final message about it. */
function actionFailure(stage: Stage, machine: object, step: Step, ...argv: readonly string[]): Promise<Seen> {
  return processFailure(stage, machine, step, "--runtime", "in-process", ...argv);
}

/** One action as a process of its own, with the workflow's final message about it. */
async function processFailure(
  stage: Stage,
  machine: object,
  step: Step,
  ...argv: readonly string[]
): Promise<Seen> {
  const server = await stage.tink();
  const inventory = await stage.inventory(machine);
  stage.start(["--grpc-server", server.address, "--inventory", inventory, ...argv]);
  return stage.statusOf(await stage.ending(server, step));
}

/** In place of a certificate's own, which is another one each time. */
const SHOWN_FINGERPRINT = "5a1f0c9e773bd2448e60f19a2c7db805e34691af0d52c8176bf4398ae0215d93";
const STATUS: Step = { name: "power-status" };
const HARD_OFF: Step = { name: "power-off", environment: { MODE: "hard", STATE_TIMEOUT: "1s" } };
const PXE: Step = { name: "set-pxe-once", environment: { MODE: "uefi" } };

function genericWith(changes: object) {
  const generic = redfishProfile("generic");
  return { ...generic, ...changes };
}

/** What is between an action and its BMC, or wrong with the machine. */
export const machineFailures: readonly Failure[] = [
  {
    name: "machine-unknown",
    provoke: async (stage) => {
      const step = { name: "power-on", worker: "pbnj", environment: { MACHINE: "node-1" } };
      return actionFailure(stage, REFUSING, step, "--agent-id", "pbnj");
    },
  },
  {
    name: "machine-of-another-agent",
    provoke: (stage) =>
      actionFailure(stage, REFUSING, { name: "power-on", environment: { MACHINE: "node-2" } }),
  },
  {
    name: "machine-not-named",
    provoke: (stage) => {
      const step = { name: "power-on", worker: "pbnj" };
      return processFailure(stage, REFUSING, step, "--agent-id", "pbnj");
    },
  },
  {
    name: "secret-missing",
    provoke: (stage) => {
      const credentials = { username: "admin", passwordFile: `${stage.folder}/node-01/password` };
      return actionFailure(stage, { ...REFUSING, credentials }, STATUS);
    },
  },
  {
    name: "bad-input",
    provoke: (stage) =>
      processFailure(stage, REFUSING, { name: "power-off", environment: { MODE: "gently" } }),
  },
  {
    name: "bmc-unreachable",
    provoke: (stage) => {
      stage.hide(`127.0.0.1:${REFUSING_PORT}`, "192.0.2.11:443");
      return actionFailure(stage, REFUSING, STATUS);
    },
  },
  {
    name: "bmc-unknown-host",
    provoke: (stage) => {
      stage.hide(`bmc-01.invalid:${REFUSING_PORT}`, "bmc-01.invalid:443");
      return actionFailure(stage, { ...REFUSING, host: "bmc-01.invalid" }, STATUS);
    },
  },
  {
    name: "bmc-silent",
    provoke: async (stage) => {
      const hole = stage.use(await tcpBlackHole());
      stage.hide(`127.0.0.1:${hole.port}`, "192.0.2.11:443");
      const machine = { ...SERVED_BY_REDFISH(hole), requestTimeout: "500ms" };
      return actionFailure(stage, machine, STATUS);
    },
  },
  {
    name: "bmc-certificate-unknown",
    provoke: async (stage) => {
      const tls = createCertificate({ commonName: "bmc", altNames: ["127.0.0.1"] });
      stage.hide(fingerprintOf(tls), SHOWN_FINGERPRINT);
      return actionFailure(stage, SERVED_BY_HTTPS(await stage.redfish({ tls })), STATUS);
    },
  },
  {
    name: "bmc-certificate-other-name",
    provoke: async (stage) => {
      const tls = createCertificate({ commonName: "bmc", altNames: ["bmc-01.example.org"] });
      const machine = SERVED_BY_HTTPS(await stage.redfish({ tls }));
      stage.hide("127.0.0.1", "192.0.2.11");
      stage.hide(fingerprintOf(tls), SHOWN_FINGERPRINT);
      const caFile = await stage.file("company-ca.pem", tls.cert);
      return actionFailure(stage, { ...machine, tls: { caFile } }, STATUS);
    },
  },
  {
    name: "bmc-fingerprint",
    provoke: async (stage) => {
      const bmc = await stage.redfish({ tls: createCertificate({ commonName: "bmc" }) });
      stage.hide(bmc.fingerprint, SHOWN_FINGERPRINT);
      stage.hide(
        (bmc.fingerprint.toUpperCase().match(/../g) ?? []).join(":"),
        "5A:1F:0C:9E:77:3B:D2:44:8E:60:F1:9A:2C:7D:B8:05:E3:46:91:AF:0D:52:C8:17:6B:F4:39:8A:E0:21:5D:93",
      );
      return actionFailure(stage, { ...SERVED_BY_HTTPS(bmc), tls: { fingerprint: "ab".repeat(32) } }, STATUS);
    },
  },
  {
    name: "password-refused",
    provoke: async (stage) => {
      const bmc = await stage.redfish({ password: "another" });
      return processFailure(stage, SERVED_BY_REDFISH(bmc), STATUS);
    },
  },
  {
    name: "password-not-offered-again",
    provoke: async (stage) => {
      const bmc = await stage.redfish({ password: "another" });
      const server = await stage.tink();
      const inventory = await stage.inventory(SERVED_BY_REDFISH(bmc));
      stage.start(["--grpc-server", server.address, "--inventory", inventory]);
      server.board.delete(await stage.ending(server, STATUS));
      const second = await stage.ending(server, { name: "power-on" });
      if (bmc.refusedCredentials !== 1) throw new Error(`offered ${bmc.refusedCredentials} times`);
      const { status } = stage.statusOf(second);
      const times = ["2026-01-01T03:00:00Z", "2026-01-01T03:15:00Z"];
      const message = status.message.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => times.shift() ?? time);
      return { status: { ...status, message } };
    },
  },
  {
    name: "ipmi-silent",
    provoke: async (stage) => {
      const hole = stage.use(await udpBlackHole());
      stage.hide(`127.0.0.1:${hole.port}`, "192.0.2.11:623");
      return actionFailure(stage, { ...SERVED_BY_IPMI(hole), connectTimeout: "500ms" }, STATUS);
    },
  },
  {
    name: "ipmi-password-refused",
    provoke: async (stage) => {
      const bmc = await stage.ipmi({ users: [{ name: "admin", password: "another" }] });
      return actionFailure(stage, SERVED_BY_IPMI(bmc), STATUS);
    },
  },
  {
    name: "ipmi-kg",
    provoke: async (stage) =>
      actionFailure(stage, SERVED_BY_IPMI(await stage.ipmi({ kg: "secret" })), STATUS),
  },
  {
    name: "ipmi-cipher-suite",
    provoke: async (stage) => {
      const { ipmi, ...machine } = SERVED_BY_IPMI(await stage.ipmi({ cipherSuites: [3] }));
      return actionFailure(stage, { ...machine, ipmi }, STATUS);
    },
  },
  {
    name: "nothing-happens",
    provoke: async (stage) => {
      const bmc = await stage.redfish({}, { power: "on", powerOffMs: 60_000 });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), HARD_OFF);
    },
  },
  {
    name: "boot-override-not-kept",
    provoke: async (stage) => {
      const bmc = await stage.redfish();
      bmc.fail({ kind: "forget", method: "PATCH", times: 10 });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), PXE);
    },
  },
  {
    name: "not-offered",
    provoke: async (stage) => {
      const bmc = await stage.redfish({ profile: genericWith({ resetTypes: ["On", "ForceOff"] }) });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), {
        name: "power-off",
        environment: { MODE: "soft" },
      });
    },
  },
  {
    name: "wrong-state",
    provoke: async (stage) => {
      const bmc = await stage.redfish({}, { power: "off" });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), { name: "power-reset" });
    },
  },
  {
    name: "bmc-busy",
    provoke: async (stage) => {
      const bmc = await stage.redfish();
      bmc.fail({ kind: "refuse", status: 503, times: 100, method: "GET", path: /Systems/ });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), STATUS);
    },
  },
  {
    name: "bmc-refuses",
    provoke: async (stage) => {
      const bmc = await stage.redfish({}, { power: "off" });
      bmc.fail({
        ...{ kind: "refuse", status: 400, times: 100, method: "POST", path: /Reset$/ },
        messageId: "Contoso.1.0.PowerFault",
        message: "The power supply reports a fault.",
      });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), { name: "power-on" });
    },
  },
  {
    name: "no-redfish",
    provoke: async (stage) => {
      const bmc = await stage.redfish();
      bmc.fail({ kind: "wrong-type", times: 100 });
      return actionFailure(stage, SERVED_BY_REDFISH(bmc), STATUS);
    },
  },
  {
    name: "action-timeout",
    provoke: async (stage) => {
      const bmc = await stage.redfish({}, { power: "on", softOffMs: "never" });
      const step = { name: "power-off", environment: { MODE: "soft" }, timeout: 2 };
      return processFailure(stage, SERVED_BY_REDFISH(bmc), step);
    },
  },
];
