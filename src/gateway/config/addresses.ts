import { isIP } from 'node:net';

/** Whether a host name or address is reachable only from this machine. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);

/** Whether a string is a host name or an address. */
export const isHost = (host: string): boolean =>
  isIP(host) > 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(host);

/**
 * Whether keys can be fetched from a URL without the risk that someone on the network replaces them. Rejects a user
 * name or password: fetch would reject them too, and reveal them in its error message.
 */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Whether a string is an origin, as sent by browsers and app shells (`capacitor://localhost`). */
export function isOrigin(text: string): boolean {
  if (text.includes('*') || !URL.canParse(text)) return false;
  const { protocol, host, username, origin } = new URL(text);
  // For most schemes other than http and https, the URL standard defines the origin as `null`.
  return text === (origin === 'null' && host && !username ? `${protocol}//${host}` : origin);
}
