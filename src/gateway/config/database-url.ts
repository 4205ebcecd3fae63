// The last @ before the path ends the password, as in WHATWG URLs.
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?]*)\??(.*)$/is;
// After the hosts, an @ is allowed only in a query value, after a path. Elsewhere, it means that an unescaped / ? or #
// in the password ended the host list too early, and errors would show part of the password as the host.
const TAIL = /^(?:\/[^@?#]*\?[^@#]*=[^#]*|[^@#]*)$/s;

const ADDRESS_RULE =
  'must name one host, such as that of HAProxy: DATABASE_URL is the address for writes, DATABASE_REPLICA_URL for reads';
const URL_RULE =
  'must look like postgresql://user@host:5432/name, with each @, /, ? and # in the password percent-encoded (@ as %40)';

/** The parameters of which pg would ignore a wrong value, with their values. */
const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ['channel_binding', ['disable', 'prefer', 'require']],
  ['ssl', ['true', '1', '0', 'no-verify']],
  ['sslmode', ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']],
  ['sslnegotiation', ['postgres', 'direct']],
  ['uselibpqcompat', ['true', 'false']],
]);

/** The parameters that the gateway or pg reads. pg ignores all others. */
const PARAMETERS = [
  ...'application_name fallback_application_name host options password port schema'.split(' '),
  ...'sslcert sslkey sslrootcert target_session_attrs user'.split(' '),
  ...VALUES.keys(),
];

/** The settings to use instead of other parameters of libpq and Prisma. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['connect_timeout', 'CONNECT_TIMEOUT_MS'],
  ['connection_limit', 'POOL_SIZE'],
  ['pgbouncer', 'PGBOUNCER'],
  ['pool_timeout', 'CONNECT_TIMEOUT_MS'],
  ['socket_timeout', 'STATEMENT_TIMEOUT_MS'],
  ['statement_timeout', 'STATEMENT_TIMEOUT_MS'],
]);

/** Writes the host of a parameter as in a URL: `/folder`, of a socket, as `%2Ffolder`. */
const toUrlHost = (host: string): string =>
  host.includes(':') ? `[${host}]` : encodeURIComponent(host);

/** Returns a URL whose authority is the host and the port that the parameters name, if any. */
function withAddress(text: string): string {
  const [, head = '', authority = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  const parameters = new URLSearchParams(query);
  const named = parameters.get('host');
  const host = named === null ? authority : toUrlHost(named);
  const port = parameters.get('port') ?? (named && /:(\d+)$/.exec(authority)?.[1]);
  const place = port == null ? host : `${host.replace(/:\d*$/, '')}:${port}`;
  return `${head}${place}${path}?${query}`;
}

/** Adds a search path to the value of `options`, in which a backslash escapes a space. */
function searchIn(schema: string, options: string): string {
  const quoted = `"${schema.replaceAll('"', '""')}"`.replaceAll(/[\s\\]/g, String.raw`\$&`);
  return `${options} -csearch_path=${quoted}`.trim();
}

/** Returns the sslmode as pg 8 applies it: all modes that check something check everything, with a warning. */
function sslModeOf(parameters: URLSearchParams): string | null {
  const mode = parameters.get('sslmode');
  const isStrict = parameters.get('uselibpqcompat') !== 'true';
  return isStrict && /^(prefer|require|verify-ca)$/.test(mode ?? '') ? 'verify-full' : mode;
}

/** Translates the parameters that pg does not read, or does not read as docs/operations.md says. */
export function toServerUrl(text: string): string {
  const url = new URL(withAddress(text));
  const { searchParams } = url;
  const isSocket = url.hostname.toUpperCase().startsWith('%2F');
  const schema = searchParams.get('schema');
  if (schema) searchParams.set('options', searchIn(schema, searchParams.get('options') ?? ''));
  // target_session_attrs tells libpq which of several hosts to choose.
  for (const name of ['channel_binding', 'host', 'port', 'schema', 'target_session_attrs']) {
    searchParams.delete(name);
  }
  // libpq ignores these for a socket.
  if (isSocket) for (const name of ['ssl', 'sslmode']) searchParams.delete(name);
  const mode = sslModeOf(searchParams);
  if (mode !== null) searchParams.set('sslmode', mode);
  return url.href;
}

function isUrlOfHost(text: string): boolean {
  // URLs joined by commas would parse as one URL with a strange database name.
  return URL.canParse(text) && !new URL(text).pathname.includes('://');
}

function findParameterFault(query: string): string | undefined {
  const parameters = new URLSearchParams(query);
  // Checking the certificate rules out what channel binding would detect.
  const isChecked = sslModeOf(parameters) === 'verify-full';
  if (parameters.get('channel_binding') === 'require' && !isChecked) {
    return 'needs sslmode=verify-full for channel_binding=require';
  }
  for (const [name, value] of parameters) {
    const values = VALUES.get(name);
    if (values && !values.includes(value)) {
      return `needs one of these values for the parameter ${name}: ${values.join(', ')}`;
    }
    if (PARAMETERS.includes(name)) continue;
    const instead = INSTEAD.get(name);
    if (instead) return `must not have the parameter ${name}: set ${instead} instead`;
    // An unescaped & in a password would begin a parameter.
    const shown = /@|password=/.test(query) ? 'an unknown parameter' : `the parameter ${name}`;
    return `must not have ${shown}; known parameters: ${PARAMETERS.join(', ')}`;
  }
  return undefined;
}

/** Returns what is wrong with the URL of a server, without quoting its values; undefined if it can be used. */
export function findUrlFault(text: string): string | undefined {
  const [, head = '', authority = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  if (head === '' || !TAIL.test(query === '' ? path : `${path}?${query}`)) return URL_RULE;
  const host = new URLSearchParams(query).get('host') ?? authority;
  if (host.includes(',')) return ADDRESS_RULE;
  return isUrlOfHost(withAddress(text)) ? findParameterFault(query) : URL_RULE;
}
