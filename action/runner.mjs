// What the runner of GitHub Actions reads of a step: lines of its log, and files that it names.

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';

/** Failure is an error that is shown as its message alone. */
export class Failure extends Error {}

/**
 * plain returns a text as one line without commands for the runner. Those begin with "::" at the start of a line, or
 * with "##[" anywhere in it.
 */
export function plain(text) {
  return String(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll('##[', '## [')
    .replace(/^\s*::/, ': :');
}

/** info prints a line. */
export function info(text) {
  process.stdout.write(`${plain(text)}\n`);
}

/** notice, warning and error annotate the run. */
export const notice = (text) => command('notice title=queuelock', text);
export const warning = (text) => command('warning title=queuelock', text);
export const error = (text) => command('error title=queuelock', text);

/** group prints what the function prints as a part of the log that can be folded. */
export async function group(title, print) {
  command('group', plain(title));
  try {
    return await print();
  } finally {
    command('endgroup', '');
  }
}

const command = (head, text) => process.stdout.write(`${commandLine(head, text)}\n`);

/** commandLine returns a command for the runner, which undoes the escapes of its text. */
export function commandLine(head, text) {
  const escaped = String(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return `::${head}::${escaped}`;
}

/** saveState, setOutputs and setVariables take objects. The post step gets the state, later steps get the variables. */
export const saveState = (values) => append('GITHUB_STATE', assignments(values));
export const setOutputs = (values) => append('GITHUB_OUTPUT', assignments(values));
export const setVariables = (values) => append('GITHUB_ENV', assignments(values));

/** summarize adds Markdown to the summary of the job. */
export const summarize = (markdown) => append('GITHUB_STEP_SUMMARY', `${markdown}\n`);

/** state returns what the main step has saved. */
export const state = (name) => process.env[`STATE_${name}`] ?? '';

/** code returns a text as code of Markdown, whatever is in it. */
export function code(text) {
  const escaped = plain(text).replace(/[^\p{L}\p{N} ]/gu, (c) => `&#${c.codePointAt(0)};`);
  return `<code>${escaped}</code>`;
}

/** assignments writes each value between lines that no value can contain, because they are random. */
function assignments(values) {
  return Object.entries(values)
    .map(([name, value]) => {
      const end = `end_${randomUUID()}`;
      return `${name}<<${end}\n${value}\n${end}\n`;
    })
    .join('');
}

function append(variable, text) {
  const file = process.env[variable];
  if (!file) {
    throw new Failure(`${variable} is not set: this program is started by the runner of GitHub Actions`);
  }
  appendFileSync(file, text);
}

/** step runs a step to its end, with one annotation if it fails. */
export async function step(work) {
  try {
    await work();
  } catch (failure) {
    error(failure instanceof Failure ? failure.message : (failure?.stack ?? failure));
    process.exitCode = 1;
  }
}
