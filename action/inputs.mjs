// The inputs of the action, and the arguments of "queuelock lock" that are made of them.

import { readFileSync } from 'node:fs';

import { Failure } from './runner.mjs';

/** flags are the inputs that are flags of "queuelock lock". The program judges their values. */
export const flags = [
  'all', 'reason', 'shared', 'permits', 'scope', 'data', 'owner',
  'wait', 'keep', 'resume', 'conflict-exit-code', 'max-waiters', 'latest', 'cancel-in-progress', 'group',
  'superseded-exit-code', 'no-bell',
  'ttl', 'max-hold', 'at-least', 'every', 'lock-delay', 'fail-closed',
  'table', 'partition-key', 'sort-key', 'region', 'endpoint', 'profile', 'verbose',
];

/** input returns an input as the runner passes it on, without the white space around it. */
export function input(name) {
  return (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
}

/** onLost returns what becomes of the job if the lock was not held to its end. */
export function onLost() {
  const value = input('on-lost') || 'fail';
  if (value !== 'fail' && value !== 'warn') {
    throw new Failure(`on-lost ${JSON.stringify(value)}: need fail or warn`);
  }
  return value;
}

/** entities returns what is locked. */
export function entities() {
  const entity = input('entity');
  if (!entity) {
    throw new Failure('entity is missing: name what is to be locked');
  }
  if (input('all') !== 'true') {
    return [entity];
  }
  return entity.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
}

/** lockArguments returns the arguments of the program. */
export function lockArguments() {
  const given = flags.filter((name) => input(name)).map((name) => `--${name}=${input(name)}`);
  return ['lock', '--env', '--progress=json', ...worker(), ...given, '--', ...entities()];
}

/**
 * worker binds the lock to the process that runs the job, which has started this one. If it is killed, no post step will
 * release the lock. In a container, and on other systems than Linux, it is not visible: max-hold ends the lock then.
 */
function worker() {
  try {
    const name = readFileSync(`/proc/${process.ppid}/comm`, 'utf8').trim();
    return name === 'Runner.Worker' ? [`--parent-pid=${process.ppid}`] : [];
  } catch {
    return [];
  }
}
