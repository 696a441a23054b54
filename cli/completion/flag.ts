/** A flag of a command or an action, as much of it as completion needs. */
export interface Flag {
  /** Such as `--mode`. */
  readonly name: string;
  readonly description: string;
  /** Whether a value follows. */
  readonly value: "none" | "optional" | "required";
  /** Every value there is, where that is known. */
  readonly choices: readonly string[];
  /** Several of the choices may be given, with commas between them. */
  readonly list: boolean;
  /** The choice that stands when none is given. */
  readonly fallback?: string;
  readonly paths?: "files" | "folders";
  /** It may be given more than once. */
  readonly repeatable: boolean;
}
