// Browsers know localhost for this machine themselves (RFC 6761 §6.3), and look up no address.
const FIXED = /^((\w[\w-]*\.)*localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d+)?$/i;

/**
 * Whether a Host header has a name that is looked up. A page of another site can have its own name
 * lead to 127.0.0.1 (DNS rebinding), and would then count as one of ours.
 */
export const canBeRebound = (host: string): boolean => !FIXED.test(host);
