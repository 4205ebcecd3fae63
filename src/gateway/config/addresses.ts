import { isIP } from 'node:net';

/** Whether a host name or an address is of this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);

/** Whether a text is a host name or an address. */
export const isHost = (host: string): boolean =>
  isIP(host) > 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(host);

/**
 * Whether keys can be fetched from a URL without anybody on the way replacing them. No fetch accepts a user name
 * and a password, and its error has them in its message.
 */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Whether a text is an origin, as browsers and app shells (`capacitor://localhost`) send it. */
export function isOrigin(text: string): boolean {
  if (text.includes('*') || !URL.canParse(text)) return false;
  const { protocol, host, username, origin } = new URL(text);
  // A scheme that only one program knows has the origin `null` in the standard of URLs.
  return text === (origin === 'null' && host && !username ? `${protocol}//${host}` : origin);
}
