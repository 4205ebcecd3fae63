import { expect } from 'vitest';

/** Checks that a response is the error object of the specification and nothing more. */
export function expectError(
  response: { status: number; headers: Headers; body: string },
  status: number,
  code: string,
): void {
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const error = JSON.parse(response.body) as Record<string, unknown>;
  expect(error).toEqual({ code, status, message: expect.stringMatching(/./) });
}
