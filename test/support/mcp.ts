import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  Client,
  type JsonSchemaValidator,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { onTestFinished } from 'vitest';

/** Writes the documents of tools to a folder, and returns the folder. */
export function writeTools(folder: string, documents: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(documents)) {
    writeFileSync(join(folder, `${name}.graphql`), text);
  }
  return folder;
}

interface Target {
  readonly url: string;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: Fetch;
  /** `auto` uses the protocol of 2026 if the server has it; `legacy` uses that of 2025. */
  readonly mode?: 'auto' | 'legacy';
}

type JsonSchema = Parameters<AjvJsonSchemaValidator['getValidator']>[0];

/** Each client compiles the output schemas of all tools when it calls the first one, which takes a fifth of a second. */
class CachedValidators extends AjvJsonSchemaValidator {
  readonly #validators = new Map<string, ReturnType<AjvJsonSchemaValidator['getValidator']>>();

  override getValidator<Value>(schema: JsonSchema): JsonSchemaValidator<Value> {
    const text = JSON.stringify(schema);
    const validator = this.#validators.get(text) ?? super.getValidator(schema);
    this.#validators.set(text, validator);
    return validator as JsonSchemaValidator<Value>;
  }
}

const jsonSchemaValidator = new CachedValidators();

/** Connects the SDK's client to a gateway until the test ends. It checks each result against the tool's output schema. */
export async function connectClient(
  { url }: Target,
  { headers = {}, fetch, mode = 'auto' }: ConnectOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, jsonSchemaValidator },
  );
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers },
    ...(fetch && { fetch }),
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  await client.listTools();
  return client;
}

/** Calls a tool and returns its data; or the text of its error, and its details as JSON. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
  const [text = '', details] = content.map((part) => (part.type === 'text' ? part.text : ''));
  // The tool of the test determines the shape of the data.
  // oxlint-disable-next-line typescript/no-explicit-any
  return { error: isError ? text : undefined, details, data: structuredContent as any };
}

/** Posts a message of the protocol of 2025, or any text. */
export const postMessage = (
  { url }: Target,
  message: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });

export const callOf = (name: unknown, args: unknown = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});
