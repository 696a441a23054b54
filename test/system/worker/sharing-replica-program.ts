import { systemClock } from "../../../shared/clock.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { Cluster } from "../../../worker/cluster/client/cluster.ts";
import { LaneShares } from "../../../worker/cluster/sharing/lane-shares.ts";
import { GROUP, QUICK } from "../../worker/cluster/sharing/replica-settings.ts";

/** A replica as a process: `replica-program.ts <name> <kubeconfig> <agent IDs>` writes what it owns, with the time, until SIGTERM. */
const [name = "", kubeconfig = "", list = ""] = process.argv.slice(2);
const agentIds = list.split(",");
const cluster = await Cluster.open({ kubeconfig });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort(new Error("told to stop")));
const shares = new LaneShares({
  cluster,
  group: GROUP,
  member: name,
  agentIds: () => agentIds,
  onOwned: async () => undefined,
  clock: systemClock,
  log: silentLogger,
  timings: QUICK,
});
const tell = () => {
  const atMs = Date.now();
  const owned = agentIds.filter((agentId) => shares.owns(agentId));
  process.stdout.write(`${JSON.stringify({ atMs, owned })}\n`);
};
const telling = setInterval(tell, 20);
await shares.run(stop.signal);
clearInterval(telling);
tell();
await cluster.close();
