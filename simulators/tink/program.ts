/** The tink simulator by itself. */
import { Command } from "commander";
import { tinkCommand } from "./main.ts";

await new Command("simulate").addCommand(tinkCommand()).parseAsync();
