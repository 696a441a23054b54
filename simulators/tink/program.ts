/** The tink simulator as a program of its own. */
import { Command } from "commander";
import { tinkCommand } from "./main.ts";

await new Command("simulate").addCommand(tinkCommand()).parseAsync();
