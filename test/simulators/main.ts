/** The simulators as one program: `npm run simulate -- tink --help`. */
import { Command } from "commander";
import { ipmiCommand } from "./ipmi/main.ts";
import { redfishCommand } from "./redfish/main.ts";
import { tinkCommand } from "./tink/main.ts";

await new Command("simulate")
  .description("the machines and services that pbnj-worker talks to, simulated")
  .addCommand(redfishCommand())
  .addCommand(ipmiCommand())
  .addCommand(tinkCommand())
  .parseAsync();
