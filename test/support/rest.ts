import { expect } from 'vitest';

/** Checks that a response is the error object of the specification and nothing more. */
export function expectError(
  answer: { status: number; headers: Headers; body: string },
  status: number,
  code: string,
): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  const error = JSON.parse(answer.body) as Record<string, unknown>;
  expect(error).toEqual({ code, status, message: expect.stringMatching(/./) });
}
