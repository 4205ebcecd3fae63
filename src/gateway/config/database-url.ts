// As in WHATWG's URLs, the last @ before the path ends the password.
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
// An @ behind the hosts can stand in the query behind a path only. Otherwise a / ? or # of a password has
// ended the hosts, and a piece of the password would be the host that errors name.
const TAIL = /^(?:\/[^@?#]*\?[^@#]*=[^#]*|[^@]*)$/s;
const PROTOCOL = /^postgres(ql)?:$/;

const urlsOf = (text: string): string[] => {
  const [, head = '', hosts = '', tail = ''] = PARTS.exec(text) ?? [];
  return hosts.split(',').map((host) => `${head}${host}${tail}`);
};

/**
 * Splits a URL that names several hosts into one URL for each host, in their order
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
 */
export function splitHosts(url: string): string[] {
  return urlsOf(url).map((text) => {
    const one = new URL(text);
    // Of libpq: here the gateway chooses among the hosts.
    one.searchParams.delete('target_session_attrs');
    return one.href;
  });
}

function isUrlOfPostgres(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname } = new URL(text);
  // URLs that are joined by commas would be a URL with a strange name of a database.
  return PROTOCOL.test(protocol) && !pathname.includes('://');
}

/** Whether a text is a URL of PostgreSQL, with one host or several. */
export function isDatabaseUrl(text: string): boolean {
  const [, , , tail = ''] = PARTS.exec(text) ?? [];
  if (!TAIL.test(tail)) return false;
  const urls = urlsOf(text);
  return (
    urls.every(isUrlOfPostgres) && (urls.length === 1 || urls.every((url) => new URL(url).host))
  );
}
