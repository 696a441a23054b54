import { z } from "zod";
import { startReplica } from "../../worker/features/rufio/replica.ts";

/** A replica as a process of its own, so that it can be killed: `node replica-program.ts '{"kubeconfig": …}'`. */
const Options = z.object({
  kubeconfig: z.string(),
  inventoryFile: z.string(),
  stateDirectory: z.string(),
  runtime: z.enum(["in-process", "process"]),
  flags: z.record(z.string(), z.string()),
});

const replica = await startReplica(Options.parse(JSON.parse(process.argv[2] ?? "{}")), (line) => {
  process.stderr.write(`${JSON.stringify(line)}\n`);
});
process.once("SIGTERM", () => void replica.stop());
