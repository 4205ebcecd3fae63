import { isIP } from 'node:net';

/** Whether a host name or an address is of this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);

/** Whether a text is a host name or an address. */
export const isHost = (host: string): boolean =>
  isIP(host) > 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(host);

/** Whether keys can be fetched from a URL without anybody on the way replacing them. */
export function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}

/** Whether a URL has a user name or a password. */
export const hasCredentials = (text: string): boolean => {
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
};

/** Whether a text is an origin, as browsers send it. */
export const isOrigin = (text: string): boolean =>
  URL.canParse(text) && new URL(text).origin === text;
