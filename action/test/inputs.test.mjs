// What comes from outside: inputs, the texts of other holders, and the names of flags.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { flags } from '../inputs.mjs';
import { commandLine, plain } from '../runner.mjs';
import { commands, folder, Job, only, patience, queuelock, root, run, serve, status } from './runner.mjs';

const server = await serve();

const wrong = {
  'no entity': [{}, /^entity is missing/],
  'an entity of spaces': [{ entity: ' \n' }, /^entity is missing/],
  'no entity of several': [{ entity: '\n', all: 'true' }, /^entity is missing/],
  'a wait that is none': [{ entity: 'x', wait: 'long' }, /^--wait long: need seconds/],
  'a ttl that is none': [{ entity: 'x', ttl: '60' }, /^--ttl 60: need a duration/],
  'shared that is neither': [{ entity: 'x', shared: 'perhaps' }, /^--shared=perhaps: need true or false/],
  'permits that are no number': [{ entity: 'x', permits: 'two' }, /^--permits two: need a whole number/],
  'shared permits': [{ entity: 'x', permits: '2', shared: 'true' }, /^--shared and --permits/],
  'a table that cannot be': [{ entity: 'x', table: 'a b' }, /^--table "a b": need 3 to 255/],
  'a table that is not there': [{ entity: 'x', table: 'missing' }, /missing/],
  'an endpoint without a server': [{ entity: 'x', wait: '0', endpoint: 'http://127.0.0.1:1' }, /nothing listens at 127\.0\.0\.1:1/],
  'max-hold that is none': [{ entity: 'x', 'max-hold': '-1s' }, /^--max-hold -1s: need a duration/],
  'keep without wait': [{ entity: 'x', keep: '1m' }, /^--keep 1m0s: add --wait/],
  'resume of no place': [{ entity: 'x', wait: '1s', keep: '1m', resume: 'x' }, /^--resume: it has no handle of queuelock/],
  'on-lost that is neither': [{ entity: 'x', 'on-lost': 'ignore' }, /^on-lost "ignore": need fail or warn/],
  'data that is too long': [{ entity: 'x', data: 'x'.repeat(4097) }, /^--data has 4097 bytes/],
  'a program that is not there': [{ entity: 'x', path: './no/queuelock' }, /^path "\.\/no\/queuelock": there is no such program/],
  'a program that is not in PATH': [{ entity: 'x', path: 'no-queuelock' }, /^path "no-queuelock": there is no such program/],
  'a program that is a folder': [{ entity: 'x', path: '/tmp' }, /^path "\/tmp": there is no such program/],
  'a version that is none': [{ entity: 'x', version: 'latest' }, /^version "latest": need a release such as v0\.1\.0/],
};
for (const [name, [inputs, message]] of Object.entries(wrong)) {
  test(`one error for ${name}`, { timeout: patience }, async () => {
    const job = new Job(server);
    const main = await job.main(inputs);
    assert.equal(main.code, 1);
    only(main, 'error', message);
    assert.deepEqual(job.state, {});
    assert.equal((await job.post(inputs['on-lost'] ? {} : inputs)).code, 0);
  });
}

test('one error for a program that cannot be started', { timeout: patience }, async () => {
  const program = path.join(folder(), 'queuelock');
  writeFileSync(program, '#!/no/interpreter\n', { mode: 0o755 });
  const main = await new Job(server).main({ entity: 'x', path: program });
  assert.equal(main.code, 1);
  only(main, 'error', /cannot be started: spawn/);
});

// Each would be a command, an assignment or a row of its own, were it printed as it is.
const hostile = [
  '::error::forged',
  'x\n::set-env name=A::b\r\n::error::forged',
  '##[error]forged ##[endgroup]',
  '100%0A::error::forged%0D%25',
  "it's \"quoted\" `code` $(touch x) ; | <img src=x> [a](b)",
  'a\u2028::error::forged\u0085::error::forged',
  '=<<EOF\nEOF\nhandle<<EOF\n/forged\nEOF',
  '--wait=0',
];
for (const text of hostile) {
  test(`nothing is forged by ${JSON.stringify(text)}`, { timeout: patience }, async () => {
    const holder = new Job(server);
    const main = await holder.main({ entity: text, data: text, reason: 'hostile' });
    assert.equal(main.code, 0, main.lines.join('\n'));
    const { serving } = await status(server, text, '--reason=hostile');
    assert.equal(serving.length, 1);
    assert.equal(serving[0].data, text);
    assert.deepEqual(main.commands.map(({ name }) => name), ['group', 'endgroup']);
    assert.deepEqual(Object.keys(main.outputs), ['acquired', 'ticket', 'position', 'place', 'waited-seconds', 'owner', 'handle']);
    assert.equal(main.outputs.ticket, serving[0].ticket);
    assert.deepEqual(Object.keys(holder.variables).filter((name) => !name.startsWith('QUEUELOCK_')), []);
    assert.doesNotMatch(main.summary, /[[\]<>]img|::|%|\$/);
    assert.equal(main.summary.trimEnd().split('\n').length, 3);

    const busy = await new Job(server).main({ entity: text, reason: 'hostile', wait: '100ms' });
    assert.equal(busy.code, 1);
    assert.deepEqual(busy.commands.map(({ name }) => name), ['group', 'endgroup', 'error']);
    assert.doesNotMatch(busy.commands[2].text, /^forged|\n/);
    assert.equal((await holder.post({})).code, 0);
  });
}

test('a printed line has no command', () => {
  for (const text of hostile) {
    assert.doesNotMatch(plain(text), /^\s*::|##\[|[\r\n\u0085\u2028]/);
  }
});

test('a command is one line, and the runner reads its text', () => {
  for (const text of [...hostile, 'a\nb\r%0A']) {
    const line = commandLine('error title=x', text);
    assert.doesNotMatch(line, /[\r\n]/);
    assert.deepEqual(commands([line]), [{ name: 'error', text }]);
  }
});

test('a text with the end of an assignment stays one value', { timeout: patience }, async () => {
  const job = new Job(server);
  const main = await job.main({ entity: 'end' });
  assert.equal((await job.post({})).code, 0);
  const ends = [...readFileSync(main.files.GITHUB_OUTPUT, 'utf8').matchAll(/<<(\S+)$/gm)].map(([, end]) => end);
  assert.equal(new Set(ends).size, ends.length);
  assert.ok(ends.length > 3 && ends.every((end) => /^end_[\w-]{36}$/.test(end)));
});

test('the inputs are those of action.yml, and the flags those of the program', { timeout: patience }, async () => {
  const metadata = readFileSync(path.join(root, 'action.yml'), 'utf8');
  const declared = [...metadata.split('\noutputs:')[0].matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name);
  const own = ['version', 'path', 'mirror', 'entity', 'on-lost'];
  assert.deepEqual(declared.toSorted(), [...own, ...flags].sort());

  const help = (await run(server, 'help', 'lock')).stdout;
  const known = [...help.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
  // What the action sets itself, or does in its own way, second names, and what needs a file or no keeper.
  const others = ['parent-pid', 'on-lost', 'env', 'export', 'progress', 'nonblock', 'quiet', 'help', 'ticket', 'no-keeper'];
  assert.deepEqual(known.filter((name) => ![...flags, ...others].includes(name)), [], 'flags without an input');
  assert.deepEqual(flags.filter((name) => !known.includes(name)), [], 'inputs without a flag');

  const outputs = [...metadata.split('\noutputs:')[1].split('\nruns:')[0].matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name);
  const job = new Job(server);
  const main = await job.main({ entity: 'outputs' });
  assert.deepEqual(Object.keys(main.outputs), outputs);
  assert.equal((await job.post({})).code, 0);
});

test('the program is found in PATH', { timeout: patience }, async () => {
  const job = new Job(server);
  const empty = path.join(job.dir, 'empty');
  mkdirSync(path.join(empty, 'queuelock'), { recursive: true }); // a folder of that name
  const PATH = [empty, path.dirname(queuelock), process.env.PATH].join(path.delimiter);
  const main = await job.start('main', { entity: 'in/path', path: 'queuelock' }, { PATH }).ended;
  assert.equal(main.code, 0, main.lines.join('\n'));
  assert.equal(job.state.program, queuelock);
  assert.equal((await job.post({})).code, 0);
});
