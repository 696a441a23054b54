/** What the owners of a machine should see beside its object. */
export interface MachineNotice {
  readonly machine: string;
  readonly type: "Normal" | "Warning";
  /** One word in upper camel case. */
  readonly reason: string;
  /** One line. */
  readonly message: string;
}
