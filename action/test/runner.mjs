// What the runner does with an action: it starts the steps with their variables, and reads their log and files.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';

const here = import.meta.dirname;
export const root = path.resolve(here, '../..');

/** queuelock is the program, which "make action-test" has built. */
export const queuelock = path.join(root, 'bin/queuelock');

/** patience bounds each test and each process: what takes longer hangs. */
export const patience = 60_000;

// What the tests of a file have started and made ends with them.
const servers = [], folders = [];
after(async () => {
  for (const server of servers) {
    server.stdin.end();
    await once(server, 'exit');
  }
  for (const dir of folders) {
    rmSync(dir, { recursive: true, force: true });
  }
});

/** folder returns a new folder, whose path is short enough for sockets. */
export function folder() {
  const dir = mkdtempSync(path.join(tmpdir(), 'ql-action-'));
  folders.push(dir);
  return dir;
}

/** clean is the environment of this process without what a runner, or a lock, has set. */
const set = /^(GITHUB|RUNNER|INPUT|STATE|QUEUELOCK|AWS|NODE)_/;
const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !set.test(name)));

/** limited are the options of processes that must end. */
const limited = { stdio: ['ignore', 'pipe', 'pipe'], timeout: patience, killSignal: 'SIGKILL' };

/**
 * serve starts a table in memory for the tests of a file, and returns the variables by which it is found. The server ends
 * with this process, in whatever way that ends.
 */
export async function serve() {
  const dir = folder();
  const script = '"$0" local --port 0 & cat; kill $!; wait';
  const server = spawn('/bin/sh', ['-c', script, queuelock], { env: clean, stdio: ['pipe', 'pipe', 'inherit'] });
  servers.push(server);
  const settings = {};
  for await (const line of createInterface({ input: server.stdout })) {
    const words = line.split(' ');
    if (words.shift() === 'export') {
      for (const word of words) {
        const [name, value] = word.split('=');
        settings[name] = value;
      }
      break;
    }
  }
  assert.ok(settings.AWS_ENDPOINT_URL_DYNAMODB, 'the server has not printed its address');
  return { TMPDIR: dir, ...settings };
}

/** runURL is the data of a holder. */
export const runURL = 'https://github.example/deploys/actions/runs/7';

/** Job has the state and the variables that the steps of a job pass on. */
export class Job {
  constructor(server) {
    this.server = server;
    this.dir = folder();
    this.state = {};
    this.variables = {};
    this.steps = 0;
  }

  /** main and post run the steps of the action, and return how they have ended. */
  main = (inputs) => this.start('main', inputs).ended;
  post = (inputs) => this.start('post', inputs).ended;

  /** start starts a step. Inputs are those of the workflow; overrides are variables of the runner. */
  start(step, inputs, overrides = {}, command = [process.execPath]) {
    const dir = path.join(this.dir, String(this.steps++));
    const names = ['GITHUB_STATE', 'GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_STEP_SUMMARY'];
    const files = Object.fromEntries(names.map((name) => [name, `${dir}${name}`]));
    for (const file of Object.values(files)) {
      writeFileSync(file, '');
    }
    const given = { path: queuelock, 'max-hold': '1m', data: runURL, ...inputs };
    const env = {
      ...clean,
      ...this.server,
      ...this.variables,
      ...files,
      ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
      ...Object.fromEntries(Object.entries(this.state).map(([name, value]) => [`STATE_${name}`, value])),
      RUNNER_TEMP: this.dir,
      ...overrides,
    };
    const [name, ...before] = command;
    const child = spawn(name, [...before, path.join(root, 'action', `${step}.mjs`)], { env, ...limited });
    const lines = [];
    const reader = createInterface({ input: child.stdout });
    reader.on('line', (line) => lines.push(line));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        Object.assign(this.state, assigned(files.GITHUB_STATE));
        Object.assign(this.variables, assigned(files.GITHUB_ENV));
        const outputs = assigned(files.GITHUB_OUTPUT);
        const summary = readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8');
        resolve({ code: code ?? signal, files, lines, stderr, outputs, summary, commands: commands(lines) });
      });
    });
    /** says waits for a line of the log. */
    const says = async (pattern) => {
      for (const closed = once(reader, 'close'); !lines.some((line) => pattern.test(line)); ) {
        if (await Promise.race([once(reader, 'line').then(() => false), closed.then(() => true)])) {
          assert.match(lines.join('\n'), pattern);
        }
      }
    };
    return { pid: child.pid, kill: (signal) => child.kill(signal), ended, says };
  }
}

/** run runs the program beside the action, and returns its standard output. */
export async function run(server, ...args) {
  const child = spawn(queuelock, args, { env: { ...clean, ...server }, ...limited });
  let stdout = '', stderr = '';
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/** status returns the holders and the waiters of a lock. */
export async function status(server, entity, ...flags) {
  const { code, stdout, stderr } = await run(server, 'status', '--json', ...flags, '--', entity);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** assigned reads a file of assignments as the runner does. */
export function assigned(file) {
  const values = {};
  const lines = readFileSync(file, 'utf8').split('\n');
  assert.equal(lines.pop(), '', 'the last line has no end');
  while (lines.length > 0) {
    const line = lines.shift();
    const [, name, end] = /^([^=<]+)<<(.+)$/.exec(line) ?? assert.fail(`no assignment: ${line}`);
    const last = lines.indexOf(end);
    assert.ok(last >= 0, `${name} has no end`);
    values[name] = lines.splice(0, last).join('\n');
    lines.shift();
  }
  return values;
}

/** commands finds the commands in a log, as the runner does. */
export function commands(lines) {
  const found = [];
  for (const line of lines) {
    const match = /^\s*::([\w-]+)(?: ([^:]*))?::(.*)$/s.exec(line) ?? /##\[([\w-]+)( [^\]]*)?\](.*)/s.exec(line);
    if (match) {
      found.push({ name: match[1], text: match[3].replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%') });
    }
  }
  return found;
}

/** only checks that a step has exactly one annotation, of that kind and with that text. */
export function only(ended, kind, pattern) {
  const annotations = ended.commands.filter(({ name }) => ['error', 'warning', 'notice'].includes(name));
  assert.deepEqual(annotations.map(({ name }) => name), [kind], ended.lines.join('\n'));
  assert.match(annotations[0].text, pattern);
  assert.ok(!annotations[0].text.includes('\n'), 'an annotation of several lines');
  assert.equal(ended.stderr, '');
}
