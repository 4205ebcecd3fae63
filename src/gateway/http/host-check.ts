// Browsers resolve localhost themselves (RFC 6761 §6.3), and an IP address needs no DNS.
const WITHOUT_DNS = /^((\w[\w-]*\.)*localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d+)?$/i;

/**
 * Whether a Host header has a name that is resolved by DNS. The owner of another site can let its name
 * point to 127.0.0.1 (DNS rebinding), so that browsers treat its pages as pages of this gateway.
 */
export const canBeRebound = (host: string): boolean => !WITHOUT_DNS.test(host);
