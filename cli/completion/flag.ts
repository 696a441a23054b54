/** What completion needs to know of a flag. */
export interface Flag {
  /** Such as `--mode`. */
  readonly name: string;
  readonly description: string;
  /** Whether a value follows. */
  readonly value: "none" | "optional" | "required";
  /** All possible values, if known. */
  readonly choices: readonly string[];
  /** Accepts several choices, separated by commas. */
  readonly list: boolean;
  /** The default choice. */
  readonly fallback?: string;
  readonly paths?: "files" | "folders";
  /** It can be repeated. */
  readonly repeatable: boolean;
}
