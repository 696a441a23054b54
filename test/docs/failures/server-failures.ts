import { Code, ConnectError } from "@connectrpc/connect";
import { createCertificate } from "../../../simulators/certificate.ts";
import { startLegacyTinkServer } from "../../../simulators/tink-legacy/server.ts";
import type { Failure } from "./failure.ts";
import { REFUSING, SERVED_BY_REDFISH } from "./machines.ts";
import type { Stage } from "./stage.ts";

/** A worker that gets no connection to its server, and what it logs. */
async function outage(stage: Stage, ...argv: readonly string[]) {
  const inventory = await stage.inventory(REFUSING);
  return stage.logged(stage.start(["--inventory", inventory, ...argv]), "tink server unavailable, retrying");
}

/** A worker whose polls are answered with an error, and what it logs. */
async function pollFailure(stage: Stage, ...argv: readonly string[]) {
  const inventory = await stage.inventory(REFUSING);
  return stage.logged(stage.start(["--inventory", inventory, ...argv]), "poll failed, retrying");
}

function serverCertificate() {
  return createCertificate({ commonName: "tink", altNames: ["127.0.0.1"] });
}

/** What is between the worker and its tink server. */
export const serverFailures: readonly Failure[] = [
  {
    name: "tink-unreachable",
    provoke: async (stage) => {
      const server = await stage.tink();
      await server.stop();
      return outage(stage, "--grpc-server", server.address);
    },
  },
  {
    name: "tink-unknown-host",
    provoke: (stage) => outage(stage, "--grpc-server", "tinkerbell.invalid"),
  },
  {
    name: "tink-wants-tls",
    provoke: async (stage) => {
      const server = await stage.tink({ tls: serverCertificate() });
      return outage(stage, "--grpc-server", server.address);
    },
  },
  {
    name: "tink-has-no-tls",
    provoke: async (stage) => {
      const server = await stage.tink();
      return outage(stage, "--grpc-server", server.address, "--grpc-tls", "true");
    },
  },
  {
    name: "tink-unknown-authority",
    provoke: async (stage) => {
      const server = await stage.tink({ tls: serverCertificate() });
      return outage(stage, "--grpc-server", server.address, "--grpc-tls", "true");
    },
  },
  {
    name: "tink-other-name",
    provoke: async (stage) => {
      const certificate = createCertificate({ commonName: "tink", altNames: ["tink.example.org"] });
      const server = await stage.tink({ tls: certificate });
      stage.hide("127.0.0.1", "192.0.2.1");
      const ca = await stage.file("ca.pem", certificate.cert);
      return outage(stage, "--grpc-server", server.address, "--grpc-tls", "true", "--grpc-ca-file", ca);
    },
  },
  {
    name: "tink-deprecated-api",
    provoke: async (stage) => {
      const server = stage.use(await startLegacyTinkServer());
      stage.hide(server.address, "192.0.2.1:42113");
      return pollFailure(stage, "--grpc-server", server.address, "--grpc-api", "current");
    },
  },
  {
    name: "tink-asks-for-login",
    provoke: async (stage) => {
      const server = await stage.tink();
      server.faults.fail("GetAction", new ConnectError("missing token", Code.Unauthenticated), 1_000);
      return pollFailure(stage, "--grpc-server", server.address, "--grpc-api", "current");
    },
  },
  {
    name: "workflow-deleted",
    provoke: async (stage) => {
      // The real one holds a report that it cannot store for a minute.
      const server = await stage.tink({ holdMs: 3_500 });
      const bmc = await stage.redfish({}, { power: "off", powerOnMs: 500 });
      const inventory = await stage.inventory(SERVED_BY_REDFISH(bmc));
      const worker = stage.start(["--grpc-server", server.address, "--inventory", inventory]);
      const workflow = stage.submit(server, { name: "power-on" });
      bmc.machine.once("command", () => server.board.delete(workflow));
      return stage.logged(worker, "action succeeded", "workflow not found, report dropped");
    },
  },
];
