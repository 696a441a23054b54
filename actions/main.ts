import { exitCodeOf } from "../shared/contract/exit-code.ts";
import { nearestName } from "../shared/nearest-name.ts";
import { catalogue, loadAction } from "./catalogue.ts";
import { main } from "./harness/main.ts";

/** Runs any action from source: `node actions/main.ts power-off --help`. */
const [name = "", ...argv] = process.argv.slice(2);
const action = await loadAction(name);
if (!action) {
  const nearest = nearestName(name, catalogue);
  const problem = name === "" ? "name an action" : `there is no action ${JSON.stringify(name)}`;
  process.stderr.write(
    `${problem}${nearest ? `, did you mean ${nearest}?` : ""}\nActions: ${catalogue.join(", ")}\n`,
  );
  process.exit(exitCodeOf("usage"));
}
await main(action, argv);
