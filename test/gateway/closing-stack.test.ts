// The closing stack: what is closed, in which order, and how errors are handled.
import { expect, test } from 'vitest';
import { ClosingStack } from '../../src/gateway/closing-stack.js';

test('close → last opened first, one after the other, each once', async () => {
  const stack = new ClosingStack();
  const closed: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    const opened = stack.opened(name, async (each) => {
      closed.push(`${each} begins`);
      await new Promise(setImmediate);
      closed.push(`${each} ends`);
    });
    expect(opened).toBe(name);
  }
  await stack.close();
  await stack.close();
  expect(closed).toEqual(['third', 'second', 'first'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('close, one fails → the others are still closed, and the error is thrown', async () => {
  const stack = new ClosingStack();
  const closed: string[] = [];
  stack.opened('first', (each) => void closed.push(each));
  stack.opened('second', () => Promise.reject(new Error('will not close')));
  stack.opened('third', (each) => void closed.push(each));
  await expect(stack.close()).rejects.toThrow('will not close');
  expect(closed).toEqual(['third', 'first']);
});

test('open, and the next step throws → everything opened is closed, and that error is thrown even if closing fails', async () => {
  const stack = new ClosingStack();
  const closed: string[] = [];
  const opening = stack.open(async () => {
    stack.opened('first', (each) => void closed.push(each));
    stack.opened('second', () => Promise.reject(new Error('will not close')));
    throw new Error('the third cannot be opened');
  });
  await expect(opening).rejects.toThrow('the third cannot be opened');
  expect(closed).toEqual(['first']);
});

test('open, and every step succeeds → nothing is closed, and the result is returned', async () => {
  const stack = new ClosingStack();
  const closed: string[] = [];
  const made = await stack.open(async () => stack.opened('first', (each) => void closed.push(each)));
  expect([made, closed]).toEqual(['first', []]);
});
