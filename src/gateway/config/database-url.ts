// The last @ before the path ends the password, as in WHATWG URLs.
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
// After the hosts, an @ is allowed only in a query value, after a path. Elsewhere, it means that an unescaped / ? or #
// in the password ended the host list too early, and errors would show part of the password as the host.
const TAIL = /^(?:\/[^@?#]*\?[^@#]*=[^#]*|[^@]*)$/s;
const PROTOCOL = /^postgres(ql)?:$/;

const urlsOf = (text: string): string[] => {
  const [, head = '', hosts = '', tail = ''] = PARTS.exec(text) ?? [];
  return hosts.split(',').map((host) => `${head}${host}${tail}`);
};

/**
 * Splits a URL with several hosts into one URL per host, in order
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
 */
export function splitHosts(url: string): string[] {
  return urlsOf(url).map((text) => {
    const one = new URL(text);
    // This parameter tells libpq which of the hosts to choose. The gateway chooses the host itself.
    one.searchParams.delete('target_session_attrs');
    return one.href;
  });
}

function isUrlOfPostgres(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname } = new URL(text);
  // URLs joined by commas would parse as one URL with a strange database name.
  return PROTOCOL.test(protocol) && !pathname.includes('://');
}

/** Whether a string is a PostgreSQL URL, with one host or several. */
export function isDatabaseUrl(text: string): boolean {
  const [, , , tail = ''] = PARTS.exec(text) ?? [];
  if (!TAIL.test(tail)) return false;
  const urls = urlsOf(text);
  return (
    urls.every(isUrlOfPostgres) && (urls.length === 1 || urls.every((url) => new URL(url).host))
  );
}
