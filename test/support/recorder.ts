import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A value as it was sent to PostgreSQL: text, null, or bytes in hexadecimal. */
export type SentValue = string | null | { readonly hex: string };

/** A statement, and what PostgreSQL returned. */
export interface RecordedStatement {
  readonly sql: string;
  readonly values: readonly SentValue[];
  /** The columns of its rows, each a name and the id of a type. */
  readonly columns: readonly (readonly [name: string, type: number])[];
  /** Its command tag, such as `SELECT 2`, several with commas; or `error` and a SQLSTATE. */
  readonly result: string;
}

interface Message {
  readonly type: string;
  readonly body: Buffer;
}

const HEADER_BYTES = 5;

/** Returns a function that takes bytes and returns the messages that they complete. */
function messageReader(hasStartup: boolean): (chunk: Buffer) => Message[] {
  let unread = Buffer.alloc(0);
  // The first message of a client has no type.
  let isStartup = hasStartup;
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const typeBytes = isStartup ? 0 : 1;
      if (unread.length < HEADER_BYTES) return messages;
      const end = typeBytes + unread.readInt32BE(typeBytes);
      if (unread.length < end) return messages;
      const type = unread.toString('latin1', 0, typeBytes);
      messages.push({ type, body: unread.subarray(typeBytes + 4, end) });
      unread = unread.subarray(end);
      isStartup = false;
    }
  };
}

/** Reads the fields of a message, one after the other. */
function fieldsOf(body: Buffer) {
  let offset = 0;
  const skip = (bytes: number): number => (offset += bytes) - bytes;
  return {
    text: (): string => body.toString('utf8', offset, (offset = body.indexOf(0, offset) + 1) - 1),
    int16: (): number => body.readInt16BE(skip(2)),
    int32: (): number => body.readInt32BE(skip(4)),
    bytes: (length: number): Buffer => body.subarray(skip(length), offset),
  };
}

/** Reads a Bind message: the name of a prepared statement, and its values. */
function readBind(body: Buffer): { name: string; values: SentValue[] } {
  const { text, int16, int32, bytes } = fieldsOf(body);
  text();
  const name = text();
  const formats = Array.from({ length: int16() }, int16);
  const values = Array.from({ length: int16() }, (_, index): SentValue => {
    const length = int32();
    if (length < 0) return null;
    const isBinary = (formats.length > 1 ? formats[index] : formats[0]) === 1;
    return isBinary ? { hex: bytes(length).toString('hex') } : bytes(length).toString();
  });
  return { name, values };
}

/** Reads a RowDescription message. */
function readColumns(body: Buffer): [string, number][] {
  const { text, int16, int32, bytes } = fieldsOf(body);
  return Array.from({ length: int16() }, () => {
    const name = text();
    bytes(6);
    const type = int32();
    bytes(8);
    return [name, type];
  });
}

/** Returns the SQLSTATE of an ErrorResponse message. */
const readSqlState = (body: Buffer): string =>
  /(?:^|\0)C([^\0]*)\0/.exec(body.toString())?.[1] ?? '';

/** `INSERT 0 1` has an id of a row, which is always 0. */
const readTag = (body: Buffer): string =>
  fieldsOf(body)
    .text()
    .replace(/^INSERT 0 /, 'INSERT ');

/** Records the statements of one connection; a client waits for each before it sends the next. */
function recordConnection(record: (statement: RecordedStatement) => void) {
  const prepared = new Map<string, string>();
  const idle = { sql: '', values: [] as SentValue[], columns: [] as [string, number][] };
  let current = idle;
  let results: string[] = [];
  const sent: Record<string, (body: Buffer) => void> = {
    Q: (body) => void (current = { ...idle, sql: fieldsOf(body).text() }),
    P: (body) => {
      const { text } = fieldsOf(body);
      prepared.set(text(), text());
    },
    B: (body) => {
      const { name, values } = readBind(body);
      current = { ...idle, sql: prepared.get(name) ?? '', values };
    },
  };
  const received: Record<string, (body: Buffer) => void> = {
    T: (body) => void (current = { ...current, columns: readColumns(body) }),
    C: (body) => void results.push(readTag(body)),
    E: (body) => void results.push(`error ${readSqlState(body)}`),
    // ReadyForQuery.
    Z: () => {
      if (current.sql !== '') record({ ...current, result: results.join(', ') });
      current = idle;
      results = [];
    },
  };
  const reader = (isClient: boolean, handlers: typeof sent) => {
    const read = messageReader(isClient);
    return (chunk: Buffer): void => {
      for (const { type, body } of read(chunk)) handlers[type]?.(body);
    };
  };
  return { onSent: reader(true, sent), onReceived: reader(false, received) };
}

/** Stands before a PostgreSQL and records what is executed. */
export interface Recorder {
  /** The database's URL through the recorder. */
  readonly url: string;
  /** What was executed, in order; a client must not use TLS. */
  readonly statements: readonly RecordedStatement[];
  /** Resolves when the next statement has been executed. */
  recordsNext(): Promise<unknown>;
  close(): void;
}

/** Starts a recorder before the database at `url`. */
export async function startRecorder(url: string): Promise<Recorder> {
  const { port, hostname } = new URL(url);
  const statements: RecordedStatement[] = [];
  const events = new EventEmitter();
  const record = (statement: RecordedStatement): void => {
    statements.push(statement);
    events.emit('statement');
  };
  const server = createServer((client: Socket) => {
    const upstream = connect(Number(port), hostname);
    const { onSent, onReceived } = recordConnection(record);
    client.on('data', onSent).on('error', () => upstream.destroy());
    upstream.on('data', onReceived).on('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    statements,
    recordsNext: () => once(events, 'statement'),
    close: () => void server.close(),
  };
}
