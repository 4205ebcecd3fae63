const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/is;
const PROTOCOL = /^postgres(ql)?:$/;
// Of libpq's values, those that mean the server that accepts writes.
const WRITABLE = ['read-write', 'primary'];
const ATTRIBUTES = 'target_session_attrs';

/**
 * Splits a URL that names several hosts into one URL for each host, in their order
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
 */
export function splitHosts(url: string): string[] {
  const [, head = '', hosts = '', tail = ''] = PARTS.exec(url) ?? [];
  return hosts.split(',').map((host) => {
    const one = new URL(`${head}${host}${tail}`);
    one.searchParams.delete(ATTRIBUTES);
    return one.href;
  });
}

function isUrlOfPostgres(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname } = new URL(text);
  // URLs that are joined by commas would be a URL with a strange name of a database.
  return PROTOCOL.test(protocol) && !pathname.includes('://');
}

/** Whether a text is a URL of PostgreSQL. With several hosts it may only ask for the one that accepts writes. */
export function isDatabaseUrl(text: string): boolean {
  const [, head = '', hosts = '', tail = ''] = PARTS.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => `${head}${host}${tail}`);
  if (!urls.every(isUrlOfPostgres)) return false;
  if (urls.length > 1 && hosts.split(',').includes('')) return false;
  const attributes = urls.flatMap((url) => new URL(url).searchParams.getAll(ATTRIBUTES));
  return attributes.every((attribute) => WRITABLE.includes(attribute));
}
