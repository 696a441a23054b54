/** The simulators as one program: `npm run simulate -- tink --help`. */
import { Command } from "commander";
import { amtCommand } from "./amt/main.ts";
import { homeAssistantCommand } from "./homeassistant/main.ts";
import { ipmiCommand } from "./ipmi/main.ts";
import { ironicCommand } from "./ironic/main.ts";
import { kubernetesCommand } from "./kubernetes/main.ts";
import { redfishCommand } from "./redfish/main.ts";
import { rpcCommand } from "./rpc/main.ts";
import { tinkCommand } from "./tink/main.ts";
import { legacyTinkCommand } from "./tink-legacy/main.ts";

await new Command("simulate")
  .description("the machines and services that pbnj-worker talks to, simulated")
  .addCommand(redfishCommand())
  .addCommand(ipmiCommand())
  .addCommand(kubernetesCommand())
  .addCommand(amtCommand())
  .addCommand(rpcCommand())
  .addCommand(homeAssistantCommand())
  .addCommand(ironicCommand())
  .addCommand(tinkCommand())
  .addCommand(legacyTinkCommand())
  .parseAsync();
