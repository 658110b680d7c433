// The main step acquires the lock. A keeper process of queuelock holds it until the post step.

import { entities, input, lockArguments, onLost } from './inputs.mjs';
import { lock, span } from './lock.mjs';
import { program } from './program.mjs';
import { code, Failure, group, info, notice, saveState, setOutputs, setVariables, step, summarize } from './runner.mjs';

await step(async () => {
  onLost(); // an error now, and not when the work is done
  const what = entities().join(', ');
  const args = lockArguments();
  saveState({}); // if it cannot be saved, nothing would release the lock
  const binary = await program();
  const result = await group(`Waiting for the lock of ${what}`, () => lock(binary, args));
  const { QUEUELOCK_HANDLE: handle, ...variables } = result.variables;
  if (handle) {
    saveState({ handle, program: binary }); // first: whatever fails from here on, the post step releases the lock
  }
  setOutputs({
    acquired: Boolean(handle),
    ticket: variables.QUEUELOCK_TICKET ?? '',
    position: result.position,
    place: result.place,
    'waited-seconds': result.waited,
    owner: variables.QUEUELOCK_OWNER ?? '',
    handle: handle ?? '',
  });
  if (result.signal) {
    info(`cancelled by ${result.signal} after ${span(result.waited)}`);
    process.exitCode = 1;
    return;
  }
  if (!handle) {
    summarize(`Lock ${code(what)} was not acquired: ${code(result.message)}`);
    if (result.code !== 0 && !(result.place && input('conflict-exit-code') === '0')) {
      throw new Failure(result.message || `${binary} has ended with ${result.code}`);
    }
    notice(`the job continues without the lock: ${result.message}`);
    return;
  }
  setVariables(variables);
  const ticket = variables.QUEUELOCK_TICKET ?? variables.QUEUELOCK_TICKETS;
  info(`acquired the lock of ${what} with ticket ${ticket} after ${span(result.waited)}`);
  summarize(
    `| lock | ticket | position | waited |\n|---|---|---|---|\n` +
      `| ${code(what)} | ${code(ticket)} | ${result.position} | ${span(result.waited)} |\n`,
  );
});
