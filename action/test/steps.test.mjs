// The steps of jobs, one after the other and beside each other.

import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { folder, Job, only, patience, root, run, runURL, serve, status } from './runner.mjs';

const server = await serve();

/** keeper returns the process of the only holder. */
async function keeper(entity) {
  const { serving } = await status(server, entity);
  assert.equal(serving.length, 1);
  return Number(serving[0].owner.split(':').at(-1));
}

/** free waits until the lock is free, by taking it. */
async function free(entity) {
  const { code, stderr } = await run(server, 'run', entity, '--wait=30', '-q', '-c', 'true');
  assert.equal(code, 0, stderr);
}

test('a job holds the lock from the main step to the post step', { timeout: patience }, async () => {
  const job = new Job(server);
  const main = await job.main({ entity: 'deploy/prod' });
  assert.equal(main.code, 0, main.lines.join('\n'));
  const { serving } = await status(server, 'deploy/prod');
  assert.equal(serving[0].data, runURL);
  const { acquired, ticket, position, owner, handle, 'waited-seconds': waited } = main.outputs;
  assert.deepEqual([acquired, ticket, position, owner], ['true', serving[0].ticket, '0', serving[0].owner]);
  assert.ok(Number(waited) >= 0 && waited !== '');
  assert.equal(job.state.handle, handle);
  assert.equal(job.variables.QUEUELOCK_TICKET, ticket);
  assert.equal(job.variables.QUEUELOCK_HANDLE, undefined);
  assert.match(main.summary, new RegExp(`deploy&#47;prod.*${ticket}.* 0 \\| 0s`));
  assert.deepEqual(main.commands.map(({ name }) => name), ['group', 'endgroup']);

  const again = await job.main({ entity: 'deploy/prod' }); // by a mistake in the workflow
  assert.equal(again.code, 1);
  only(again, 'error', /held by a command above this one/);

  job.state = { handle, program: job.state.program };
  const post = await job.post({ entity: 'deploy/prod' });
  assert.equal(post.code, 0, post.lines.join('\n'));
  assert.deepEqual(post.commands, []);
  assert.equal((await status(server, 'deploy/prod')).state, 'idle');
});

test('a busy lock fails a job that does not wait, and nothing is left to release', { timeout: patience }, async () => {
  const holder = new Job(server);
  await holder.main({ entity: 'busy' });
  const job = new Job(server);
  const main = await job.main({ entity: 'busy', wait: '0' });
  assert.equal(main.code, 1);
  only(main, 'error', /lock not acquired after .*: "busy" \(lock\) is held by /);
  assert.deepEqual(job.state, {});
  assert.equal(main.outputs.acquired, 'false');
  assert.match(main.summary, /was not acquired/);
  const post = await job.post({ entity: 'busy' });
  assert.deepEqual([post.code, post.lines], [0, ['no lock is held']]);

  const lenient = await new Job(server).main({ entity: 'busy', wait: '0', 'conflict-exit-code': '0' });
  assert.deepEqual([lenient.code, lenient.outputs.acquired, lenient.outputs.handle], [0, 'false', '']);
  only(lenient, 'notice', /continues without the lock: lock not acquired/);
  assert.equal((await holder.post({})).code, 0);
});

test('a job that a newer one supersedes continues without the lock', { timeout: patience }, async () => {
  const [holder, old, newest] = [new Job(server), new Job(server), new Job(server)];
  const cancels = { entity: 'superseded', 'cancel-in-progress': 'true', group: 'web', 'superseded-exit-code': '0' };
  await holder.main({ entity: 'superseded' });
  const first = old.start('main', cancels);
  await first.says(/^position 1, /);
  const second = newest.start('main', cancels);
  const { code, outputs } = await first.ended;
  assert.deepEqual([code, outputs.acquired, outputs.handle], [0, 'false', '']);
  assert.equal((await holder.post({})).code, 0);
  assert.equal((await second.ended).outputs.acquired, 'true');
  assert.equal((await newest.post({})).code, 0);
});

test('jobs hold the lock in the order of their arrival', { timeout: patience }, async () => {
  const [first, second, third] = [new Job(server), new Job(server), new Job(server)];
  const { outputs } = await first.main({ entity: 'order', data: 'run 1' });
  const two = second.start('main', { entity: 'order' });
  await two.says(/^position 1, 0 tickets ahead; held by \S+ \(ticket \d+\) run 1; waited /);
  const three = third.start('main', { entity: 'order' });
  await three.says(/^position 2, 1 ticket ahead; /);
  assert.equal((await first.post({})).code, 0);
  const secondMain = await two.ended;
  assert.equal((await second.post({})).code, 0);
  const thirdMain = await three.ended;
  assert.equal((await third.post({})).code, 0);
  assert.deepEqual([outputs, secondMain.outputs, thirdMain.outputs].map(({ position }) => position), ['0', '1', '2']);
  const tickets = [outputs, secondMain.outputs, thirdMain.outputs].map(({ ticket }) => BigInt(ticket));
  assert.ok(tickets[0] < tickets[1] && tickets[1] < tickets[2], `${tickets}`);
});

/** laneStep returns the inputs of the action in the example of a lane, for a run with that place. */
function laneStep(place) {
  const text = readFileSync(path.join(root, 'examples/deploys/lane.yml'), 'utf8');
  const [, step] = /- id: lock\n([\s\S]*?)\n {6}- /.exec(text);
  const inputs = [...step.matchAll(/^ {10}([a-z-]+): ([^#\n]+?)(?: #.*)?$/gm)].map(([, name, value]) => [name, value]);
  const { version, ...given } = Object.fromEntries(inputs); // the tests have the program
  assert.equal(given.resume, '${{ inputs.place }}');
  return { ...given, wait: '1s', resume: place };
}

test('jobs of a lane wait in slices, in one place', { timeout: patience }, async () => {
  const entity = 'deploy/staging';
  const holder = new Job(server);
  await holder.main({ entity });
  let { code, outputs, commands } = await new Job(server).main(laneStep(''));
  assert.deepEqual([code, outputs.acquired, outputs.handle], [0, 'false', '']);
  assert.match(commands.at(-1).text, /place 1 in the queue is kept, until 2.*: give the output place to the input resume/);
  const later = new Job(server);
  const waits = later.start('main', { entity });
  await waits.says(/^position 2, /);
  const { place } = outputs;
  ({ code, outputs } = await new Job(server).main(laneStep(place)));
  assert.deepEqual([code, outputs.acquired, outputs.place.startsWith('ql1.'), outputs.place === place], [0, 'false', true, false]);
  assert.equal((await holder.post({})).code, 0);
  const last = new Job(server);
  const served = await last.main(laneStep(outputs.place));
  assert.deepEqual([served.outputs.acquired, served.outputs.place], ['true', '']);
  assert.equal((await last.post({})).code, 0);
  const next = await waits.ended;
  assert.ok(BigInt(served.outputs.ticket) < BigInt(next.outputs.ticket));
  assert.equal((await later.post({})).code, 0);

  const gone = await new Job(server).main(laneStep(place));
  assert.deepEqual([gone.code, gone.outputs.acquired, gone.outputs.place], [0, 'false', '']);
  only(gone, 'notice', /the place of --resume has ended/);
});

test('a kept place fails a job that does not expect it, and one that is cancelled has none', { timeout: patience }, async () => {
  const holder = new Job(server);
  await holder.main({ entity: 'kept' });
  const strict = await new Job(server).main({ entity: 'kept', wait: '1s', keep: '15s' });
  assert.equal(strict.code, 1);
  only(strict, 'error', /^lock not acquired: place 1 in the queue is kept/);
  assert.equal((await run(server, 'unlock', strict.outputs.place)).code, 0);
  const cancelled = new Job(server).start('main', { entity: 'kept', wait: '1m', keep: '1h', 'conflict-exit-code': '0' });
  await cancelled.says(/^position 1/);
  cancelled.kill('SIGTERM');
  const { code, outputs } = await cancelled.ended;
  assert.deepEqual([code, outputs.place], [1, '']);
  assert.deepEqual((await status(server, 'kept')).waiting, []);
  assert.equal((await holder.post({})).code, 0);
});

test('several locks are taken together', { timeout: patience }, async () => {
  const job = new Job(server);
  const main = await job.main({ entity: 'all/a\n\n all/b\n', all: 'true', scope: 'table' });
  assert.equal(main.code, 0, main.lines.join('\n'));
  for (const entity of ['all/a', 'all/b']) {
    assert.equal((await status(server, entity)).state, 'held');
  }
  assert.match(main.outputs.ticket, /^\d+$/);
  assert.equal((await job.post({})).code, 0);
  assert.equal((await status(server, 'all/b')).state, 'idle');
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  test(`a job that is cancelled by ${signal} while it waits leaves the queue`, { timeout: patience }, async () => {
    const entity = `cancelled/${signal}`;
    const holder = new Job(server);
    await holder.main({ entity });
    const job = new Job(server);
    const main = job.start('main', { entity });
    await main.says(/^position 1/);
    main.kill(signal);
    const { code, lines, commands } = await main.ended;
    assert.equal(code, 1);
    assert.match(lines.at(-1), new RegExp(`^cancelled by ${signal} after `));
    assert.deepEqual(commands.filter(({ name }) => name === 'error'), []);
    assert.deepEqual((await status(server, entity)).waiting, []);
    assert.equal((await job.post({})).code, 0);
    assert.equal((await holder.post({})).code, 0);
  });
}

test('a lock that is granted while the job is cancelled is left to the post step', { timeout: patience }, async () => {
  const program = path.join(folder(), 'queuelock');
  writeFileSync(program, `#!${process.execPath}
process.on('SIGINT', () => {
  console.log('QUEUELOCK_HANDLE=/granted');
  process.exit(0);
});
setTimeout(() => process.exit(1), ${patience});
console.error('{"event": "waiting", "position": 1, "tickets_ahead": 0, "waited_seconds": 0}');
`, { mode: 0o755 });
  const job = new Job(server);
  const main = job.start('main', { entity: 'x', path: program });
  await main.says(/^position 1/);
  main.kill('SIGINT');
  const { code, commands } = await main.ended;
  assert.equal(code, 1);
  assert.deepEqual(commands.map(({ name }) => name), ['group', 'endgroup']);
  assert.deepEqual(job.state, { handle: '/granted', program });
});

test('a main step that is killed while it waits does not keep the lock', { timeout: patience }, async () => {
  const holder = new Job(server);
  await holder.main({ entity: 'killed' });
  const main = new Job(server).start('main', { entity: 'killed' });
  await main.says(/^position 1/);
  main.kill('SIGKILL');
  await main.ended;
  assert.equal((await holder.post({})).code, 0);
  await free('killed');
});

test('a main step that fails after the grant leaves the release to the post step', { timeout: patience }, async () => {
  const job = new Job(server);
  const main = await job.start('main', { entity: 'late' }, { GITHUB_OUTPUT: path.join(job.dir, 'no', 'file') }).ended;
  assert.equal(main.code, 1);
  assert.equal((await status(server, 'late')).state, 'held');
  assert.equal((await job.post({})).code, 0);
  assert.equal((await status(server, 'late')).state, 'idle');
});

test('a main step whose state cannot be saved takes no lock', { timeout: patience }, async () => {
  const main = await new Job(server).start('main', { entity: 'stateless' }, { GITHUB_STATE: '' }).ended;
  assert.equal(main.code, 1);
  only(main, 'error', /GITHUB_STATE is not set/);
  assert.equal((await status(server, 'stateless')).state, 'unused');
});

test('the post step reports that the holder was killed, and the lease ends the lock', { timeout: patience }, async () => {
  for (const [onLost, code, kind] of [['', 1, 'error'], ['warn', 0, 'warning']]) {
    const job = new Job(server);
    await job.main({ entity: 'lost', ttl: '1s' });
    process.kill(await keeper('lost'), 'SIGKILL');
    await free('lost');
    const post = await job.post({ 'on-lost': onLost });
    assert.equal(post.code, code);
    only(post, kind, /the lock was lost: its keeper was killed.*: check what the job has done/);
    assert.match(post.summary, /keeper was killed/);
  }
});

test('a step may release the lock early', { timeout: patience }, async () => {
  const job = new Job(server);
  const { outputs } = await job.main({ entity: 'early' });
  assert.equal((await run(server, 'unlock', outputs.handle)).code, 0);
  const post = await job.post({ 'on-lost': 'warn' });
  assert.equal(post.code, 0);
  only(post, 'warning', /^no lock has this handle: it was unlocked before/);
});

test('the post step reports that the program is gone', { timeout: patience }, async () => {
  const job = new Job(server);
  await job.main({ entity: 'gone' });
  const { program } = job.state;
  job.state.program = path.join(job.dir, 'gone');
  const post = await job.post({});
  assert.equal(post.code, 1);
  only(post, 'error', /^the lock cannot be released: .*ENOENT/);
  job.state.program = program;
  assert.equal((await job.post({})).code, 0);
});

test('the post step reports that max-hold was over', { timeout: patience }, async () => {
  const job = new Job(server);
  await job.main({ entity: 'forgotten', 'max-hold': '100ms' });
  await free('forgotten');
  const post = await job.post({});
  assert.equal(post.code, 1);
  only(post, 'error', /--max-hold 100ms is over/);
});

const onLinux = { timeout: patience, skip: process.platform !== 'linux' };
test('the lock is released when the process that runs the job is killed', onLinux, async () => {
  const worker = path.join(folder(), 'Runner.Worker');
  writeFileSync(worker, '#!/bin/sh\n"$@" >&2\necho done\nexec tail -f /dev/null\n');
  chmodSync(worker, 0o755);
  const job = new Job(server);
  const running = job.start('main', { entity: 'worker' }, {}, [worker, process.execPath]);
  await running.says(/^done$/);
  assert.equal((await status(server, 'worker')).state, 'held');
  running.kill('SIGKILL');
  await running.ended;
  await free('worker');
  const post = await job.post({});
  assert.equal(post.code, 1);
  only(post, 'error', /process \d+ of --parent-pid has ended/);
});
