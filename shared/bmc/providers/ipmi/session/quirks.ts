import { padKey } from "../commands/credentials.ts";

/** How a BMC may have stored the password that both sides compute with. */
export interface PasswordForm {
  readonly name: string;
  readonly key: (password: Buffer) => Buffer;
}

const STANDARD_PASSWORD: PasswordForm = { name: "standard", key: padKey };

/**
 * BMCs whose user table still has the 16-byte passwords of IPMI 1.5 cut longer ones without a word, and
 * operators set 20-byte passwords through other interfaces. RAKP2 shows which form the BMC holds, so trying
 * both costs no packet and no failed login.
 */
const CUT_PASSWORD: PasswordForm = {
  name: "password-cut-to-16-bytes",
  key: (password) => padKey(password.subarray(0, 16)),
};

/** The forms to compare RAKP2 with, the standard's first. */
export function passwordForms(password: Buffer): readonly PasswordForm[] {
  return password.length > 16 ? [STANDARD_PASSWORD, CUT_PASSWORD] : [STANDARD_PASSWORD];
}

/** IANA enterprise numbers of Supermicro: its own, and the one its older firmware reports. */
const SUPERMICRO = new Set([10_876, 47_488]);

/** Supermicro boots the first UEFI disk for selector 9 ("primary remote media"), not for 2. */
export function bootsUefiDiskAsRemoteMedia(manufacturer: number | undefined): boolean {
  return manufacturer !== undefined && SUPERMICRO.has(manufacturer);
}

/** IANA enterprise number of MontaVista, in the configurations that come with OpenIPMI's `ipmi_sim`. */
const MONTAVISTA = 4_753;

/** `ipmi_sim` uses the boot device but reports it with all flags zero, the valid bit included (OpenIPMI 2.0.33). */
export function reportsNoBootFlags(manufacturer: number | undefined): boolean {
  return manufacturer === MONTAVISTA;
}
