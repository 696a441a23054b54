/** The simulators as one program: `npm run simulate -- tink --help`. */
import { Command } from "commander";

/** Each is loaded only when it is used, because loading all of them takes half a second. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  redfish: async () => (await import("./redfish/main.ts")).redfishCommand(),
  ipmi: async () => (await import("./ipmi/main.ts")).ipmiCommand(),
  kubernetes: async () => (await import("./kubernetes/main.ts")).kubernetesCommand(),
  amt: async () => (await import("./amt/main.ts")).amtCommand(),
  rpc: async () => (await import("./rpc/main.ts")).rpcCommand(),
  homeassistant: async () => (await import("./homeassistant/main.ts")).homeAssistantCommand(),
  ironic: async () => (await import("./ironic/main.ts")).ironicCommand(),
  tink: async () => (await import("./tink/main.ts")).tinkCommand(),
  "tink-legacy": async () => (await import("./tink-legacy/main.ts")).legacyTinkCommand(),
};

const program = new Command("simulate").description(
  "the machines and services that pbnj-worker talks to, simulated",
);
const named = commands[process.argv[2] ?? ""];
for (const load of named ? [named] : Object.values(commands)) program.addCommand(await load());
await program.parseAsync();
