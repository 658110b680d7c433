// The wait for a lock, by "queuelock lock". Its keeper process holds the lock when it has ended.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { Failure, info } from './runner.mjs';

// The most characters of a holder's data in a line of the log.
const longest = 200;

/**
 * lock waits for the lock and returns
 *   variables  what the program has printed: QUEUELOCK_HANDLE, and those of the command; none if there is no lock
 *   position   the first position in the queue, 0 if it did not wait
 *   waited     seconds
 *   code       the exit code of the program
 *   place      the handle of the place, if it is kept
 *   message    why there is no lock
 *   signal     the signal that this process has received meanwhile
 *
 * A signal is passed on, and the program leaves the queue. The runner waits 7.5 s for that.
 */
export async function lock(program, args) {
  const result = { variables: {}, position: 0, waited: 0, place: '', message: '', signal: '' };
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const passOn = (signal) => {
    result.signal = signal;
    child.kill(signal);
  };
  process.on('SIGINT', passOn).on('SIGTERM', passOn);

  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
  createInterface({ input: child.stderr }).on('line', (line) => report(line, result));
  const begun = Date.now();
  result.code = await new Promise((resolve, reject) => {
    child.on('error', (failure) => reject(new Failure(`${program} cannot be started: ${failure.message}`)));
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  result.waited ||= (Date.now() - begun) / 1000;
  for (const line of printed.split('\n').filter(Boolean)) {
    const [name] = line.split('=', 1);
    result.variables[name] = line.slice(name.length + 1);
  }
  return result;
}

/** report prints a line of the program's wait, and notes what is in it. */
function report(line, result) {
  const event = parsed(line);
  switch (event?.event) {
    case 'waiting':
      result.position ||= event.position;
      info(`${place(event)}; waited ${span(event.waited_seconds)}`);
      return;
    case 'acquired':
      result.waited = event.waited_seconds;
      return;
    case 'kept':
      result.waited = event.waited_seconds;
      result.place = event.place.handle;
      result.message = kept(event.place);
      return;
    case 'not_acquired':
      result.waited = event.waited_seconds;
      result.message = event.message;
      return;
  }
  info(line);
  if (line.startsWith('queuelock: ')) {
    result.message = line.slice('queuelock: '.length);
  }
}

function parsed(line) {
  try {
    return line.startsWith('{') ? JSON.parse(line) : undefined;
  } catch {
    return undefined;
  }
}

function kept({ position, kept_until: until }) {
  const left = until ? `, until ${until} at least` : '';
  return `lock not acquired: place ${position} in the queue is kept${left}: give the output place to the input resume of a later job`;
}

function place({ position, tickets_ahead: ahead, holder }) {
  const text = `position ${position}, ${ahead} ${ahead === 1 ? 'ticket' : 'tickets'} ahead`;
  if (!holder) {
    return text;
  }
  const data = (holder.data ?? '').slice(0, longest);
  return `${text}; held by ${holder.owner} (ticket ${holder.ticket}) ${data}`.trimEnd();
}

/** span returns seconds as people write them. */
export function span(seconds) {
  const whole = Math.round(seconds);
  const parts = [[Math.floor(whole / 3600), 'h'], [Math.floor(whole / 60) % 60, 'm'], [whole % 60, 's']];
  return parts.filter(([n]) => n > 0).map(([n, unit]) => `${n}${unit}`).join(' ') || '0s';
}
