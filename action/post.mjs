// The post step releases the lock of the main step, also after a failure and when the job is cancelled.

import { execFile } from 'node:child_process';

import { onLost } from './inputs.mjs';
import { code, Failure, info, state, step, summarize, warning } from './runner.mjs';

await step(async () => {
  const handle = state('handle');
  if (!handle) {
    info('no lock is held');
    return;
  }
  const { failed, reason } = await unlock(state('program'), handle);
  if (!failed) {
    info('released the lock, which was held until now');
    return;
  }
  const text = `${reason}: check what the job has done`;
  summarize(`Lock: ${code(text)}`);
  if (onLost() === 'fail') {
    throw new Failure(text);
  }
  warning(text);
});

/** unlock asks the keeper to release the lock. Its answer says whether the lock was held until then. */
function unlock(program, handle) {
  return new Promise((resolve) => {
    execFile(program, ['unlock', handle], (failure, _, stderr) => {
      const reason = stderr.trim().replace(/^queuelock: /, '') || `the lock cannot be released: ${failure?.message}`;
      resolve({ failed: Boolean(failure), reason });
    });
  });
}
